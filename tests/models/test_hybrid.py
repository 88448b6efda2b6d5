import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import assert_same_process, random_hmm, random_hqmm, random_hybrid, words

from hqmm import HMM, DataError, HybridHQMM, ModelError, Sequences, equivalent, load, minimize, mixture, save
from hqmm.channels import random_kraus
from hqmm.datasets import hqmm_2_6
from hqmm.models.hybrid import hybrid_from_probabilities

SIZES = {"k": st.integers(1, 3), "q": st.integers(1, 3), "s": st.integers(1, 3), "w": st.integers(1, 2)}


def drawn(seed, k=2, q=2, s=2, w=2):
    return random_hybrid(np.random.default_rng(seed), k, s, q, w)


@given(seed=st.integers(0, 10_000), **SIZES)
def test_states_are_positive_blocks_of_total_trace_one(seed, k, q, s, w):
    model = drawn(seed, k, q, s, w)
    sequence = np.random.default_rng(seed).integers(0, s, 6)
    states = model.filter(sequence)
    assert states.shape == (6, k, q, q)
    np.testing.assert_allclose(np.trace(states, axis1=2, axis2=3).sum(axis=1), 1)
    assert np.linalg.eigvalsh(states).min() > -1e-12
    labels, conditional = model.label_probabilities(sequence), model.conditional_states(sequence)
    np.testing.assert_allclose(labels[..., None, None] * conditional, states, atol=1e-12)
    np.testing.assert_allclose(np.trace(conditional, axis1=2, axis2=3), 1)


@given(seed=st.integers(0, 10_000))
def test_with_one_dimension_it_filters_smooths_and_decodes_as_the_hmm(seed):
    rng = np.random.default_rng(seed)
    model = random_hmm(rng, 3, 2)
    sequence = rng.integers(0, 2, 5)
    hybrid = model.to_hybrid()
    np.testing.assert_allclose(hybrid.label_probabilities(sequence), model.filter(sequence), atol=1e-12)
    np.testing.assert_allclose(hybrid.smooth(sequence), model.smooth(sequence), atol=1e-12)
    # paths may differ where two are equally probable
    mine, theirs = (path_probability(model, sequence, one.decode(sequence)) for one in (hybrid, model))
    assert mine == pytest.approx(theirs, rel=1e-9)


def path_probability(model, sequence, path):
    """P(path, sequence), summed over the state before the first symbol, as `decode` does."""
    weight = model.linear.operators[sequence[0]][path[0]] @ model.linear.initial
    for symbol, before, after in zip(sequence[1:], path[:-1], path[1:], strict=True):
        weight *= model.linear.operators[symbol][after, before]
    return weight


@given(seed=st.integers(0, 10_000), k=SIZES["k"], q=st.integers(1, 2))
def test_decoding_gives_the_labels_of_the_best_path_of_the_twin(seed, k, q):
    model = drawn(seed, k, q)
    sequence, twin = [0, 1, 0], model.decohere()
    best = max(words(k * q, 3, 3), key=lambda path: path_probability(twin, sequence, path))
    labels = model.decode(sequence)
    within = [list(path) for path in words(k * q, 3, 3) if [state // q for state in path] == list(labels)]
    found = max(path_probability(twin, sequence, path) for path in within)
    assert found == pytest.approx(path_probability(twin, sequence, best), rel=1e-9)


@given(seed=st.integers(0, 10_000), **SIZES)
def test_smoothing_is_what_joint_probabilities_say(seed, k, q, s, w):
    """P(label at t | sequence), from the label-by-label sum over what follows."""
    rng = np.random.default_rng(seed)
    model = drawn(seed, k, q, s, w)
    sequence = rng.integers(0, s, 4)
    smoothed = model.smooth(sequence)
    operators, size = model.linear.operators, q * q
    for t in range(4):
        state = model.linear.initial
        for y in sequence[: t + 1]:
            state = operators[y] @ state
        joint = []
        for label in range(k):
            only = np.zeros_like(state)
            only[label * size : (label + 1) * size] = state[label * size : (label + 1) * size]
            for y in sequence[t + 1 :]:
                only = operators[y] @ only
            joint.append(model.linear.evaluation @ only)
        np.testing.assert_allclose(smoothed[t], np.array(joint) / sum(joint), atol=1e-9)


@given(seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_a_mixture_gives_the_weighted_average_of_probabilities(seed, share):
    rng = np.random.default_rng(seed)
    parts = [random_hmm(rng, 2, 2), random_hqmm(rng, 2, 2, 2), drawn(seed, 2, 3, 2, 1)]
    weights = np.array([share, (1 - share) / 3, (1 - share) * 2 / 3])
    both = mixture(parts, weights / weights.sum())
    assert (both.n_blocks, both.n_states, both.kraus_rank) == (5, 3, 2)
    data = words(2, 4)
    expected = sum(w * part.probability(data) for w, part in zip(weights / weights.sum(), parts, strict=True))
    np.testing.assert_allclose(both.probability(data), expected, atol=1e-12)


@given(seed=st.integers(0, 10_000), threshold=st.floats(0, 2))
def test_whatever_is_pruned_a_model_remains(seed, threshold):
    model = drawn(seed, 3, 2, 2, 1)
    pruned = model.prune(threshold)
    assert (pruned.kraus == 0).sum() >= (model.kraus == 0).sum()
    np.testing.assert_allclose(pruned.probability(words(2, 3, 3)).sum(), 1)


def test_pruning_leaves_out_what_is_negligible_and_nothing_else():
    kraus = np.zeros((2, 1, 2, 2, 1, 1))
    kraus[0, 0, 0, 0], kraus[1, 0, 1, 1] = 1, 1
    kraus[0, 0, 1, 0] = kraus[1, 0, 0, 1] = 1e-4
    model = HybridHQMM(kraus / np.sqrt(1 + 1e-8))
    pruned = model.prune(1e-6)
    assert (pruned.kraus != 0).sum() == 2
    assert model.prune(1e-9) == model.replace(kraus=model.kraus)
    assert_same_process(model, pruned, atol=1e-6)


def test_no_two_labels_are_ever_coherent():
    """Through `to_hqmm` the density matrix stays block-diagonal, with the same blocks."""
    model = drawn(0, 3, 2, 2, 2)
    for method in ("shifts", "blocks"):
        whole = model.to_hqmm(method).filter([0, 1, 1]).reshape(3, 3, 2, 3, 2)
        for i in range(3):
            for j in range(3):
                expected = model.filter([0, 1, 1])[:, i] if i == j else 0
                np.testing.assert_allclose(whole[:, i, :, j, :], np.broadcast_to(expected, (3, 2, 2)), atol=1e-12)


def test_theory_works_through_the_linear_form():
    model = drawn(1, 2, 2, 2, 1)
    assert equivalent(model, model.to_hqmm())
    assert not equivalent(model, drawn(2, 2, 2, 2, 1))
    assert minimize(mixture([model, model]).to_oom()).dimension == 8


def test_it_survives_a_file(tmp_path):
    model = drawn(4, 3, 2, 2, 2)
    assert load(save(model, tmp_path / "hybrid.hqmm")) == model


def test_it_samples_and_scores_missing_symbols():
    model = hqmm_2_6().to_hybrid()
    data = model.sample(3, 20, random_state=0)
    assert data.lengths.tolist() == [20, 20, 20]
    np.testing.assert_allclose(
        model.log_likelihood(Sequences([[0, None, 2]], alphabet=6)),
        hqmm_2_6().log_likelihood(Sequences([[0, None, 2]], alphabet=6)),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K, r: (1.1 * K, r), r"condition \(iii\): kraus from label 0 must satisfy Σ K†K = I"),
        (lambda K, r: (K, 2 * r), r"condition \(ii\): the traces of initial must sum to 1"),
        (lambda K, r: (K, r + 1j * np.ones((2, 2))), r"condition \(i\): initial\[0\] must be Hermitian"),
        (lambda K, r: (K, r * np.diag([3, -1])), r"condition \(i\): initial\[0\] must be positive semi-definite"),
        (lambda K, r: (K[:, :, :1], r), r"kraus must have shape \(2, 1, 1, 1, 2, 2\)"),
        (lambda K, r: (K[0], r), "kraus must have shape"),
        (lambda K, r: (K, r[0]), "initial must have shape"),
    ],
)
def test_every_condition_is_checked_by_name(change, message):
    kraus = np.stack([random_kraus(4, 1, 2, random_state=j).reshape(2, 1, 2, 2, 2) for j in range(2)], axis=3)
    initial = np.stack([np.eye(2) / 4] * 2)
    HybridHQMM(kraus, initial)
    with pytest.raises(ModelError, match=message):
        HybridHQMM(*change(kraus, initial))


def test_a_mixture_refuses_what_does_not_fit():
    model = drawn(0)
    with pytest.raises(ModelError, match="at least one model"):
        mixture([])
    with pytest.raises(ModelError, match="model 1 has another alphabet"):
        mixture([model, HMM([[1.0]], [[0.5], [0.5]], alphabet="ab")])
    with pytest.raises(ModelError, match=r"model 1, .* has no to_hybrid"):
        mixture([model, model.to_oom()])
    with pytest.raises(ModelError, match="weights must sum to 1"):
        mixture([model, model], [0.5, 0.6])
    with pytest.raises(ModelError, match=r"weights\[1\] is negative: -0\.5"):
        mixture([model, model], [1.5, -0.5])


def test_a_label_that_nothing_leads_to_is_kept():
    kraus = np.zeros((2, 1, 2, 2, 1, 1))
    kraus[:, 0, 0, 0] = kraus[:, 0, 1, 1] = np.sqrt(0.5)
    model = HybridHQMM(kraus, np.array([1.0, 0.0])[:, None, None])
    np.testing.assert_array_equal(model.label_probabilities([0, 1])[:, 1], 0)
    np.testing.assert_array_equal(model.conditional_states([0])[0, 1], [[1]])


def test_there_are_two_ways_into_an_hqmm():
    with pytest.raises(ValueError, match="method must be"):
        drawn(0).to_hqmm("sideways")


def test_probabilities_of_a_classical_model_must_not_be_negative():
    with pytest.raises(DataError, match="must not be negative"):
        hybrid_from_probabilities(np.array([[[1.5]], [[-0.5]]]), np.ones(1), None)
