"""The spectral estimator, and what it does with negative probabilities."""

import numpy as np
import pytest

from hqmm import DataError, NegativeProbabilityError, OOMEstimator, Sequences
from hqmm.datasets import hmm_6_6
from hqmm.learning.spectral import learn_spectral, score_leniently

TRAIN = hmm_6_6().sample(10, 60, random_state=3)
TEST = hmm_6_6().sample(30, 40, random_state=4)


def test_it_learns_what_the_spectral_method_does():
    estimator = OOMEstimator(4, longest=2).fit(TRAIN)
    assert estimator.model_ == learn_spectral(TRAIN, 4, longest=2)


def test_a_negative_probability_is_an_error_by_default():
    estimator = OOMEstimator(10).fit(TRAIN)
    for method in (estimator.score, estimator.score_samples, estimator.predict_next):
        with pytest.raises(NegativeProbabilityError):
            method(TEST)


@pytest.mark.parametrize("on_negative", ["clip", "reset"])
def test_a_negative_probability_may_be_replaced(on_negative):
    estimator = OOMEstimator(10, on_negative=on_negative, floor=1e-6, burn_in=3).fit(TRAIN)
    expected = score_leniently(estimator.model_, TEST, on_negative=on_negative, floor=1e-6, burn_in=3)
    np.testing.assert_array_equal(estimator.score_samples(TEST), expected.log_likelihood)
    probabilities = estimator.predict_next(TEST)
    assert (probabilities > 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_next_symbols_are_those_that_are_scored():
    estimator = OOMEstimator(10, on_negative="clip", floor=1e-6).fit(TRAIN)
    before = Sequences([row[:-1] for row in TEST], alphabet=6)
    gained = estimator.score_samples(TEST) - estimator.score_samples(before)
    last = np.array([row[-1] for row in TEST])
    np.testing.assert_allclose(np.exp(gained), estimator.predict_next(before)[np.arange(30), last])


def test_fewer_states_are_learned_where_the_data_support_no_more():
    with pytest.warns(UserWarning, match="support 1 states, not 2; raise longest"):
        estimator = OOMEstimator(2).fit(["aaaaaa"])
    assert estimator.model_.dimension == 1


def test_short_sequences_shorten_the_words():
    with pytest.warns(UserWarning, match="words of up to 0 symbols"):
        OOMEstimator(2, longest=3).fit(["ab", "ba"])
    with pytest.raises(DataError, match="no sequence has"):
        OOMEstimator(2).fit([[0, None, 1, None, 0]])
