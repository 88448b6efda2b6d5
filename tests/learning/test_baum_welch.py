import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM
from hypothesis import given
from hypothesis import strategies as st

from hqmm import HMM, Sequences
from hqmm.learning import BaumWelch, fit, random_hmm


@given(seed=st.integers(0, 1000), n=st.integers(1, 4), s=st.integers(2, 4))
def test_the_likelihood_never_falls(seed, n, s):
    rng = np.random.default_rng(seed)
    data = Sequences([rng.integers(0, s, rng.integers(1, 12)) for _ in range(8)], alphabet=s)
    history = fit(BaumWelch(), random_hmm(n, s), data, max_iter=30, random_state=seed).history["train"]
    assert np.all(np.diff(history) >= -1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_iterations_are_those_of_hmmlearn():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (5, 30))
    start = random_hmm(3, 4)(rng)
    peer = CategoricalHMM(
        3, n_features=4, n_iter=5, tol=-np.inf, init_params="", params="ste", implementation="scaling"
    )
    # hmmlearn draws the first state without a transition; a first transition that ignores its origin matches
    peer.startprob_ = start.transition @ start.initial
    peer.transmat_, peer.emissionprob_ = start.transition.T, start.emission.T
    ours = fit(BaumWelch(tol=0), start, Sequences(rows, alphabet=4), max_iter=1).model
    expected = _one_step(start, rows)
    np.testing.assert_allclose(ours.transition, expected[0], atol=1e-10)
    np.testing.assert_allclose(ours.emission, expected[1], atol=1e-10)
    peer.n_iter = 1
    peer.fit(rows.reshape(-1, 1), [30] * 5)
    np.testing.assert_allclose(peer.emissionprob_.T, expected[1], atol=1e-6)  # emissions do not see the difference


def _one_step(model, rows):
    """The textbook E- and M-step with posteriors of pairs of states, in plain loops."""
    n, s = model.n_states, model.n_symbols
    pairs, emitted = np.zeros((n, n)), np.zeros((s, n))
    for row in rows:
        T = len(row)
        alpha, beta = np.zeros((T + 1, n)), np.zeros((T + 1, n))
        alpha[0], beta[T] = model.initial, 1
        for t in range(T):
            alpha[t + 1] = model.emission[row[t]] * (model.transition @ alpha[t])
        for t in range(T - 1, -1, -1):
            beta[t] = model.transition.T @ (model.emission[row[t]] * beta[t + 1])
        total = alpha[T].sum()
        for t in range(T):
            joint = (model.emission[row[t]] * beta[t + 1])[:, None] * model.transition * alpha[t]
            pairs += joint / total
            emitted[row[t]] += joint.sum(axis=1) / total
    return pairs / pairs.sum(axis=0), emitted / emitted.sum(axis=0)


def test_a_state_never_visited_stays_as_it_was():
    start = HMM([[1, 0.5], [0, 0.5]], [[0.5, 0.2], [0.5, 0.8]], [1, 0])
    model = fit(BaumWelch(), start, [[0, 1, 1]], max_iter=2).model
    np.testing.assert_array_equal(model.transition[:, 1], start.transition[:, 1])
    np.testing.assert_array_equal(model.emission[:, 1], start.emission[:, 1])


def test_a_prior_keeps_unseen_symbols_possible():
    data = Sequences([[0, 1, 0]], alphabet=3)
    assert fit(BaumWelch(), random_hmm(2, 3), data, random_state=0).model.probability([[2]])[0] < 1e-12
    assert fit(BaumWelch(prior=0.1), random_hmm(2, 3), data, random_state=0).model.probability([[2]])[0] > 1e-3


def test_weights_count_as_repetitions():
    start = random_hmm(2, 2)(np.random.default_rng(0))
    weighted = fit(BaumWelch(), start, Sequences([[0, 1], [1, 1]], weights=[3, 1]), max_iter=3).model
    repeated = fit(BaumWelch(), start, [[0, 1], [0, 1], [0, 1], [1, 1]], max_iter=3).model
    np.testing.assert_allclose(weighted.transition, repeated.transition, atol=1e-12)
