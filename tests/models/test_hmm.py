import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import random_hmm, stochastic, words

from hqmm import HMM, DataError
from hqmm.models.circuit import controlled_unitary

sizes = st.tuples(st.integers(0, 10_000), st.integers(1, 4), st.integers(2, 4))


def peer(model):
    """The same process in hmmlearn's convention, where the first state is drawn without a transition."""
    other = CategoricalHMM(n_components=model.n_states, implementation="scaling")
    other.n_features = model.n_symbols
    other.startprob_ = model.transition @ model.initial
    other.transmat_ = model.transition.T
    other.emissionprob_ = model.emission.T
    return other


@given(size=sizes)
def test_likelihood_smoothing_and_decoding_agree_with_hmmlearn(size):
    seed, n, s = size
    model = random_hmm(np.random.default_rng(seed), n, s)
    sequence = model.sample(1, 12, random_state=seed)[0].astype(int)
    other = peer(model)
    column = sequence[:, None]
    np.testing.assert_allclose(model.log_likelihood([sequence])[0], other.score(column))
    np.testing.assert_allclose(model.smooth(sequence), other.predict_proba(column), atol=1e-10)
    score, path = other.decode(column)
    np.testing.assert_allclose(_path_score(model, sequence, model.decode(sequence)), score)
    np.testing.assert_allclose(_path_score(model, sequence, path), score)


def _path_score(model, sequence, path):
    """log P(path, sequence), summed over the state before the first transition."""
    total = np.log((model.transition @ model.initial)[path[0]]) + np.log(model.emission[sequence[0], path[0]])
    for (i, j), y in zip(zip(path[1:], path[:-1], strict=True), sequence[1:], strict=True):
        total += np.log(model.transition[i, j]) + np.log(model.emission[y, i])
    return total


def test_decoding_takes_missing_symbols():
    model = HMM([[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.1, 0.9]])
    assert model.decode([0, 0, None, None, 1, 1]).tolist() in (
        [0, 0, 0, 0, 1, 1],
        [0, 0, 0, 1, 1, 1],
        [0, 0, 1, 1, 1, 1],
    )


@given(size=sizes, gap=st.integers(0, 3))
def test_a_missing_symbol_is_summed_over_in_smoothing_and_decoding(size, gap):
    seed, n, s = size
    model = random_hmm(np.random.default_rng(seed), n, s)
    word = model.sample(1, 4, random_state=seed)[0].tolist()
    filled = [[*word[:gap], y, *word[gap + 1 :]] for y in range(s)]
    possible = [(p, w) for p, w in zip(model.probability(filled), filled, strict=True) if p > 0]
    word[gap] = None
    expected = sum(p * model.smooth(w) for p, w in possible) / sum(p for p, _ in possible)
    np.testing.assert_allclose(model.smooth(word), expected, atol=1e-9)

    steps = [model.transition if y is None else model.emission[y][:, None] * model.transition for y in word]

    def score(path):
        best = (steps[0] @ model.initial)[path[0]]
        for step, i, j in zip(steps[1:], path[1:], path[:-1], strict=True):
            best *= step[i, j]
        return best

    assert score(model.decode(word)) == pytest.approx(max(score(path) for path in words(n, 4, 4)), rel=1e-9)


def test_smoothing_the_last_symbol_is_filtering():
    model = random_hmm(np.random.default_rng(0), 3, 3)
    np.testing.assert_allclose(model.smooth([0, 1, None, 2])[-1], model.filter([0, 1, None, 2])[-1])


@pytest.mark.parametrize("method", ["filter", "smooth", "decode", "predict"])
def test_an_impossible_sequence_is_named(method):
    model = HMM(np.eye(2), np.eye(2), [1, 0])
    with pytest.raises(DataError, match="probability zero") as error:
        getattr(model, method)([0, 0, 1])
    assert (error.value.sequence, error.value.position) == (0, 2)
    assert model.log_likelihood([[0, 0, 1], [0]]).tolist() == [-np.inf, 0.0]


def test_both_ways_to_kraus_operators_agree_up_to_a_unitary_mixing():
    model = random_hmm(np.random.default_rng(1), 3, 2)
    np.testing.assert_allclose(model.to_hqmm("circuit").choi(), model.to_hqmm().choi(), atol=1e-12)
    assert model.to_hqmm().kraus_rank == model.n_states
    with pytest.raises(ValueError, match="'rank-one', 'circuit'"):
        model.to_hqmm("magic")


@given(size=sizes)
def test_the_circuit_is_unitary_and_prepares_the_amplitudes(size):
    seed, n, s = size
    amplitudes = np.sqrt(stochastic(np.random.default_rng(seed), s, n))
    U = controlled_unitary(amplitudes)
    np.testing.assert_allclose(U @ U.T, np.eye(n * s), atol=1e-12)
    for j in range(n):
        start = np.kron(np.eye(n)[j], np.eye(s)[0])
        np.testing.assert_allclose(U @ start, np.kron(np.eye(n)[j], amplitudes[:, j]), atol=1e-12)


def test_the_default_start_is_uniform():
    np.testing.assert_array_equal(HMM(np.eye(4), np.eye(4)).initial, np.full(4, 0.25))


def test_filtered_states_are_distributions_from_the_forward_recursion():
    model = random_hmm(np.random.default_rng(2), 3, 2)
    x = model.initial
    for t, y in enumerate([0, 1, 1]):
        x = model.emission[y] * (model.transition @ x)
        x = x / x.sum()
        np.testing.assert_allclose(model.filter([0, 1, 1])[t], x)
