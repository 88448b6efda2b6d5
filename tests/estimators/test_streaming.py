"""Learning from sequences that come batch by batch."""

import copy
import pickle

import numpy as np
import pytest

from hqmm import (
    COSM,
    NOOM,
    DataError,
    HMMEstimator,
    HQMMEstimator,
    MarkovChainEstimator,
    NOOMEstimator,
    OOMEstimator,
    Polar,
)
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.learning import BaumWelch, random_hmm, random_hqmm
from hqmm.learning.task import Task

DATA = hqmm_2_6().sample(100, 30, random_state=0)
LEARNED = [
    HQMMEstimator(2, random_state=0),
    HQMMEstimator(2, n_blocks=2, random_state=0),
    HMMEstimator(5, random_state=0),
    NOOMEstimator(2, random_state=0),
]
ids = [repr(estimator) for estimator in LEARNED]


@pytest.mark.parametrize(
    ("estimator", "learner", "start"),
    [(LEARNED[0], Polar(), random_hqmm(2, 6)), (LEARNED[2], BaumWelch(), random_hmm(5, 6))],
    ids=["hqmm", "hmm"],
)
def test_every_five_sequences_are_one_step_of_the_learner(estimator, learner, start):
    streamed = copy.deepcopy(estimator).partial_fit(DATA[:12])
    state = learner.open(start(np.random.default_rng(0)), Task(DATA))
    scores = []
    for batch in (DATA[:5], DATA[5:10], DATA[10:12]):
        state = learner.absorb(state, Task(batch))
        scores.append(state.objective)
    assert streamed.model_ == learner.model(state, Task(DATA))
    np.testing.assert_array_equal(streamed.history_["train"], scores)
    assert streamed.n_iter_ == 3


@pytest.mark.parametrize("estimator", LEARNED, ids=ids)
def test_calls_go_on_where_the_last_one_stopped_and_after_pickle(estimator):
    whole = copy.deepcopy(estimator).partial_fit(DATA)
    parts = copy.deepcopy(estimator).partial_fit(DATA[:40])
    parts = pickle.loads(pickle.dumps(parts)).partial_fit(DATA[40:])
    assert parts.model_ == whole.model_
    np.testing.assert_array_equal(parts.history_["train"], whole.history_["train"])


@pytest.mark.parametrize("estimator", LEARNED[:3], ids=ids[:3])
def test_a_stream_comes_near_what_a_fit_finds(estimator):
    """On a thousand fresh sequences, nearly as good as all at once; far better than a guess."""
    truth = hqmm_2_6() if isinstance(estimator, HQMMEstimator) else hmm_6_6()
    stream, test = truth.sample(1000, 30, random_state=1), truth.sample(200, 30, random_state=2)
    streamed = copy.deepcopy(estimator).partial_fit(stream)
    guess = -np.log(6)
    possible = truth.log_likelihood(test).mean() / 30
    assert (streamed.score(test) - guess) > (0.8 if truth.n_states == 2 else 0.5) * (possible - guess)


def test_a_fitted_model_is_the_start_and_is_not_forgotten():
    fitted = HQMMEstimator(2, tol=1e-4, random_state=0).fit(DATA)
    before = fitted.score(DATA)
    fitted.partial_fit(DATA[:20])
    assert fitted.history_["train"][0] == pytest.approx(
        HQMMEstimator(2, tol=1e-4, random_state=0).fit(DATA).score(DATA[:5])
    )
    assert not hasattr(fitted, "result_")
    assert not hasattr(fitted, "converged_")
    assert fitted.score(DATA) == pytest.approx(before, abs=0.02)
    again = fitted.fit(DATA)
    assert again.converged_
    assert not hasattr(again, "_stream")


def test_a_stream_of_nooms_stays_among_them():
    assert isinstance(NOOMEstimator(2, random_state=0).partial_fit(DATA).partial_fit(DATA).model_, NOOM)


def test_learners_that_need_all_data_do_not_stream():
    for estimator in (HQMMEstimator(learner="lbfgs"), HQMMEstimator(learner=COSM())):
        assert not hasattr(estimator, "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as error:
        HQMMEstimator(learner="lbfgs").partial_fit(DATA)
    assert "'lbfgs' needs all data at once; partial_fit is for polar" in str(error.value.__cause__)


def test_the_first_batch_decides_the_alphabet_unless_it_is_given():
    with pytest.raises(DataError, match="the symbol 'c' is not in Alphabet"):
        HMMEstimator(2, random_state=0).partial_fit(["abab"]).partial_fit(["abc"])
    HMMEstimator(2, alphabet="abc", random_state=0).partial_fit(["abab"]).partial_fit(["abc"])


def test_sequences_shorter_than_the_burn_in_and_of_no_weight_teach_nothing():
    estimator = HQMMEstimator(2, burn_in=5, alphabet=6, random_state=0).partial_fit(DATA[:20])
    before, steps = estimator.model_, estimator.n_iter_
    estimator.partial_fit([[0, 1, 2]])
    assert (estimator.model_, estimator.n_iter_) == (before, steps)
    weights = np.zeros(40)
    weights[20:] = 1
    weighed = copy.deepcopy(estimator).partial_fit(DATA[20:60], sample_weight=weights)
    assert weighed.model_ == estimator.partial_fit(DATA[40:60]).model_


@pytest.mark.parametrize(
    "estimator", [MarkovChainEstimator(2), OOMEstimator(3), MarkovChainEstimator(1, end=True)]
)
def test_what_is_counted_in_parts_is_what_is_counted_at_once(estimator):
    whole = copy.deepcopy(estimator).fit(DATA)
    parts = copy.deepcopy(estimator).partial_fit(DATA[:30]).partial_fit(DATA[30:], sample_weight=np.ones(70))
    np.testing.assert_allclose(parts.score_samples(DATA[:5]), whole.score_samples(DATA[:5]), rtol=1e-9)
    again = copy.deepcopy(estimator).fit(DATA[:30]).partial_fit(DATA[30:])
    assert again.model_ == parts.model_
