import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM
from hypothesis import given
from hypothesis import strategies as st

from hqmm import HMM, DataError, Sequences, engine
from hqmm.learning import BaumWelch, fit, random_hmm
from hqmm.learning.task import Task


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


# --- streams --------------------------------------------------------------------------------------------------


def test_a_stream_starts_from_counts_that_agree_with_the_model():
    model = random_hmm(3, 4)(np.random.default_rng(0))
    learner = BaumWelch()
    state = learner.open(model, Task(Sequences([[0]], alphabet=4)))
    for found, expected in zip(learner._maximise(state, 0.0), model.parameters.values(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-15)


def test_a_batch_enters_the_counts_with_a_share_that_falls():
    rng = np.random.default_rng(0)
    model = random_hmm(2, 3)(rng)
    learner = BaumWelch()
    one, two = (Sequences(rng.integers(0, 3, (4, 6)), alphabet=3) for _ in range(2))
    first = learner.absorb(learner.open(model, Task(one)), Task(one))
    second = learner.absorb(first, Task(two))
    middle = learner.model(first, Task(one))
    result = engine.gradient(middle.linear, two)
    fresh = middle.linear.operators * result.operators / 24
    np.testing.assert_allclose(second.counts, first.counts + 3**-0.55 * (fresh - first.counts))
    starts = middle.initial * result.initial / 4
    np.testing.assert_allclose(second.starts, first.starts + 3**-0.55 * (starts - first.starts))
    assert second.objective == pytest.approx(middle.log_likelihood(two).mean() / 6)


def test_a_long_stream_comes_to_a_maximum_of_the_likelihood():
    truth = HMM([[0.9, 0.3], [0.1, 0.7]], [[0.8, 0.1], [0.2, 0.9]])
    learner = BaumWelch()
    start = HMM([[0.8, 0.2], [0.2, 0.8]], [[0.6, 0.4], [0.4, 0.6]])
    data = truth.sample(3000, 20, random_state=0)
    state = learner.open(start, Task(data))
    for first in range(0, 3000, 20):
        state = learner.absorb(state, Task(data[first : first + 20]))
    test = truth.sample(1000, 20, random_state=1)
    streamed, best = learner.model(state, Task(data)), fit(learner, start, data).model
    gap = (best.log_likelihood(test) - streamed.log_likelihood(test)).mean() / 20
    assert abs(gap) < 0.002


def test_pseudo_counts_weigh_less_the_longer_the_stream():
    data = Sequences([[0, 0, 0, 0]] * 20, alphabet=2)
    learner = BaumWelch(prior=1.0)
    state = learner.open(HMM([[1.0]], [[0.5], [0.5]]), Task(data))
    unseen = []
    for _ in range(100):
        state = learner.absorb(state, Task(data))
        unseen.append(learner.model(state, Task(data)).emission[1, 0])
    assert unseen[0] > 0.1
    assert 1 / 8002 <= unseen[-1] < 0.001


@pytest.mark.parametrize("settings", [{"tol": "small"}, {"tol": -1}, {"prior": -1}])
def test_wrong_settings_are_refused(settings):
    with pytest.raises(DataError, match=next(iter(settings))):
        BaumWelch(**settings)
