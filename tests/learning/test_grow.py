import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import assert_same_process

from hqmm import HMM, HQMM, DataError, HybridHQMM, ModelError
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.learning import enlarge, label_weights, prune, random_hqmm, random_hybrid, shrink, with_noise

sizes = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))


def assert_isometric(model):
    kraus = model.to_hybrid().kraus
    products = np.einsum("ywijab,ywijac->jbc", kraus.conj(), kraus)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(kraus.shape[-1]), products.shape), atol=1e-9)


def drawn(seed, size, s=3):
    k, q, w = size
    return random_hybrid(k, q, s, w)(np.random.default_rng(seed))


@given(seed=st.integers(0, 1000), size=sizes, more=st.tuples(*[st.integers(0, 2)] * 3))
def test_growing_without_noise_keeps_the_process(seed, size, more):
    model = drawn(seed, size)
    k, q, w = (old + new for old, new in zip(size, more, strict=True))
    larger = enlarge(model, np.random.default_rng(seed), n_blocks=k, n_states=q, kraus_rank=w, noise=0)
    assert (larger.n_blocks, larger.n_states, larger.kraus_rank) == (k, q, w)
    assert_same_process(model, larger, longest=3, atol=1e-9)


@given(seed=st.integers(0, 1000), size=sizes)
def test_growing_with_noise_stays_on_the_manifold_and_near(seed, size):
    model = drawn(seed, size)
    k, q, w = (number + 1 for number in size)
    rng = np.random.default_rng(seed)
    larger = enlarge(model, rng, n_blocks=k, n_states=q, kraus_rank=w, noise=1e-4)
    assert_isometric(larger)
    assert np.any(larger.kraus[:, -1])  # noise reaches the new operator
    assert_same_process(model, larger, longest=2, atol=2e-3)


def test_the_halves_of_a_label_stand_for_different_pasts():
    model = drawn(0, (2, 1, 1))
    larger = enlarge(model, np.random.default_rng(0), n_blocks=3, noise=0, weights=np.array([0.1, 0.9]))
    shares = np.abs(larger.kraus[:, 0, 2, :, 0, 0]) ** 2 / (
        np.abs(larger.kraus[:, 0, 1, :, 0, 0]) ** 2 + np.abs(larger.kraus[:, 0, 2, :, 0, 0]) ** 2
    )
    assert np.ptp(shares) > 0.3
    np.testing.assert_array_equal(larger.kraus[:, :, 0, 0], model.kraus[:, :, 0, 0])  # the light one is as it was


def test_an_hqmm_grows_to_an_hqmm():
    rng = np.random.default_rng(0)
    small = random_hqmm(2, 3)(rng)
    larger = enlarge(small, rng, n_states=4, kraus_rank=3, noise=0)
    assert isinstance(larger, HQMM)
    assert_same_process(small, larger)
    with pytest.raises(ModelError, match="must not be smaller"):
        enlarge(small, rng, n_states=1)
    with pytest.raises(ModelError, match="one label"):
        enlarge(small, rng, n_blocks=2)


def test_noise_moves_a_model_a_little():
    for small in (random_hqmm(2, 3)(np.random.default_rng(0)), drawn(0, (2, 2, 1)), drawn(0, (3, 1, 1))):
        moved = with_noise(small, 1e-3, np.random.default_rng(1))
        assert type(moved) is type(small)
        assert 0 < np.abs(moved.kraus - small.kraus).max() < 1e-2
        assert_isometric(moved)


def test_shrinking_undoes_growing():
    model = drawn(1, (2, 2, 1))
    rng = np.random.default_rng(0)
    wider = enlarge(model, rng, kraus_rank=3, noise=1e-9)
    assert_same_process(model, shrink(wider, kraus_rank=1), atol=1e-6)

    kraus = np.zeros((3, 1, 3, 3, 2, 2), complex)
    kraus[:, :, :2, :2] = model.kraus
    kraus[0, 0, 0, 2] = np.eye(2)  # a label that nothing leads to
    padded = HybridHQMM(kraus, np.concatenate([model.initial, np.zeros((1, 2, 2))]))
    assert_same_process(
        model, shrink(padded, n_blocks=2, weights=label_weights(padded, model.encode([[0, 1, 2]])))
    )


@given(seed=st.integers(0, 1000), size=sizes)
def test_shrunk_models_are_valid(seed, size):
    model = drawn(seed, size)
    smaller = shrink(model, n_blocks=1, kraus_rank=1)
    assert (smaller.n_blocks, smaller.kraus_rank, smaller.n_states) == (1, 1, size[1])
    assert_isometric(smaller)


def test_a_label_that_only_led_to_dropped_ones_leads_somewhere_else():
    kraus = np.zeros((1, 1, 2, 2, 1, 1))
    kraus[0, 0, 1, 0] = kraus[0, 0, 0, 1] = 1  # two labels in turn
    assert_isometric(shrink(HybridHQMM(kraus), n_blocks=1))


@pytest.mark.parametrize(("k", "q", "left"), [(3, 1, 2), (3, 2, 2), (4, 2, 1), (5, 3, 3)])
def test_where_only_dropped_labels_could_be_the_first_all_others_are_alike(k, q, left):
    model = drawn(0, (k, q, 1))
    initial = np.zeros((k, q, q))
    initial[-1] = np.eye(q) / q
    smaller = shrink(model.replace(initial=initial), n_blocks=left)  # the last labels go
    np.testing.assert_allclose(smaller.initial, [np.eye(q) / (left * q)] * left)


def test_shrinking_an_hqmm_is_compressing_it():
    model = hmm_6_6().to_hqmm()
    assert_same_process(shrink(model, kraus_rank=3), model.compress(3), longest=2, atol=1e-6)


def test_sizes_and_weights_that_make_no_sense_are_refused():
    model = hqmm_2_6().to_hybrid()
    with pytest.raises(ModelError, match="must not be larger"):
        shrink(model, kraus_rank=2)
    with pytest.raises(ModelError, match="one for each label"):
        enlarge(model, np.random.default_rng(0), n_blocks=2, weights=np.ones(3))


def test_label_weights_are_the_smoothed_label_probabilities():
    """`smooth` gives the label entered with each symbol; the weights count the label left by it."""
    model = drawn(2, (3, 2, 2))
    word = [0, 2, 1, 1, 0]
    after = model.smooth(word)
    weights = label_weights(model, model.encode([word]))
    # what comes before the first symbol, by Bayes' rule from each label's own likelihood
    parts = []
    for label in range(3):
        initial = np.zeros_like(model.initial)
        initial[label] = model.initial[label] / np.trace(model.initial[label])
        parts.append(np.trace(model.initial[label]).real * model.replace(initial=initial).probability([word])[0])
    first = np.array(parts) / np.sum(parts)
    np.testing.assert_allclose(weights, (first + after[:-1].sum(axis=0)) / len(word), atol=1e-10)


@given(seed=st.integers(0, 1000), size=sizes, max_loss=st.sampled_from([1e-6, 1e-3, 1e-1]))
def test_pruning_costs_no_more_than_allowed(seed, size, max_loss):
    model = drawn(seed, size)
    data = model.sample(10, 20, random_state=seed)
    pruned = prune(model, data, max_loss=max_loss)
    assert_isometric(pruned)
    before, after = (one.log_likelihood(data).sum() / data.n_symbols for one in (model, pruned))
    assert after >= before - max_loss - 1e-9
    assert ((model.kraus == 0) <= (pruned.kraus == 0)).all()


def test_rare_transitions_go_and_common_ones_stay():
    strengths = np.array([[0.5, 1e-9], [0.5 - 2e-9, 1e-9]])  # from label 0: symbol, to label
    columns = np.stack([strengths, np.array([[0.3, 0.3], [0.2, 0.2]])], axis=2)
    model = HybridHQMM(np.sqrt(columns)[:, None, :, :, None, None])
    pruned = prune(model, model.sample(50, 20, random_state=0), max_loss=1e-4)
    np.testing.assert_array_equal(pruned.kraus[:, 0, 1, 0, 0, 0], 0)
    assert (pruned.kraus != 0).sum() == 6


def test_sizes_of_zero_are_refused():
    hybrid = hmm_6_6().to_hybrid()
    with pytest.raises(ModelError, match="n_blocks must be a whole number from 1 up, but is 0"):
        shrink(hybrid, n_blocks=0)
    for wrong in (0, 1.5, "more"):
        with pytest.raises(ModelError, match="n_states must be a whole number from 1 up"):
            enlarge(hybrid, np.random.default_rng(0), n_states=wrong)


@pytest.mark.parametrize("sequences", [[[0, 1, 2], [2]], [[1]] * 5])
def test_nothing_is_pruned_where_nothing_can_be_scored(sequences):
    model = drawn(0, (2, 2, 1))
    with pytest.raises(DataError, match=r"that counts has \d symbols and burn_in is 3.*; lower burn_in"):
        prune(model, sequences, burn_in=3)
    with pytest.raises(DataError, match="that counts has 0 symbols"):
        prune(model, model.encode(sequences)[:0])


def test_nothing_is_pruned_where_the_model_says_that_all_is_impossible():
    after_0_never_1 = hqmm_2_6().to_hybrid()
    with pytest.raises(DataError, match="every sequence is impossible"):
        prune(after_0_never_1, [[0, 1], [0, 1, 2]])


def test_pruning_reads_data_as_fit_does():
    model = drawn(0, (2, 2, 1)).replace(alphabet="abc")
    words = ["abca", "bbc", "cab"]
    assert prune(model, words, max_loss=0.1) == prune(model, model.encode(words), max_loss=0.1)


def test_rare_symbols_of_an_hqmm_and_rare_transitions_of_an_hmm_are_pruned():
    rare = HQMM(np.sqrt([0.6, 0.4 - 1e-9, 1e-9])[:, None, None, None] * np.eye(2))
    pruned = prune(rare, [[0, 1, 1, 0]])
    assert isinstance(pruned, HQMM)
    assert not np.any(pruned.kraus[2])
    chain = HMM([[0.5, 1e-9], [0.5, 1 - 1e-9]], np.eye(2))
    assert (prune(chain, [[0, 1, 1, 1]]).kraus != 0).sum() < (chain.to_hybrid().kraus != 0).sum()


@pytest.mark.parametrize(("name", "value"), [("max_loss", np.nan), ("max_loss", -1e-3), ("burn_in", -1)])
def test_a_loss_or_burn_in_that_makes_no_sense_is_refused(name, value):
    model = drawn(0, (2, 2, 1))
    with pytest.raises(DataError, match=f"{name} must be a"):
        prune(model, [[0, 1, 2]], **{name: value})


def test_models_without_labels_are_refused():
    oom, rng = hmm_6_6().to_oom(), np.random.default_rng(0)
    for change in (lambda: prune(oom, [[0]]), lambda: enlarge(oom, rng), lambda: with_noise(oom, 0.1, rng)):
        with pytest.raises(ModelError, match=r"OOM.* has no labels; give an HQMM or a HybridHQMM"):
            change()
    with pytest.raises(ModelError, match=r"shrink: OOM.* has no labels"):
        shrink(oom)


@pytest.mark.parametrize("wrong", [-0.1, np.nan, np.inf, "some", None])
def test_noise_that_makes_no_sense_is_refused(wrong):
    model, rng = drawn(0, (2, 2, 1)), np.random.default_rng(0)
    with pytest.raises(DataError, match="noise must be a number from 0 to 1, but is"):
        enlarge(model, rng, n_states=3, noise=wrong)
    with pytest.raises(DataError, match="amount must be a number from 0"):
        with_noise(model, wrong, rng)


def test_new_dimensions_can_have_all_the_weight_but_not_more():
    model, rng = drawn(0, (2, 2, 1)), np.random.default_rng(0)
    larger = enlarge(model, rng, n_states=3, noise=1)
    mixed = np.trace(model.initial, axis1=1, axis2=2)[:, None, None] * np.eye(3) / 3
    np.testing.assert_allclose(larger.initial, mixed, atol=1e-15)
    with pytest.raises(DataError, match=r"noise must be .*, but is 1\.01"):
        enlarge(model, rng, n_states=3, noise=1.01)
