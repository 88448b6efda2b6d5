"""AIC, BIC and the description accuracy as a scorer."""

import numpy as np
import pytest

from hqmm import (
    DataError,
    HMMEstimator,
    HQMMEstimator,
    MarkovChainEstimator,
    NOOMEstimator,
    OOMEstimator,
    Sequences,
    description_accuracy,
)
from hqmm.datasets import hmm_6_6
from hqmm.estimators import description_accuracy_scorer

DATA = hmm_6_6().sample(40, 30, random_state=0)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@quiet
def test_criteria_charge_for_parameters():
    fitted = HMMEstimator(2, burn_in=10, max_iter=5, random_state=0).fit(DATA)
    total = fitted.score_samples(DATA).sum()
    k = 2 * 1 + 2 * 5 + 1  # transition, emission, start
    assert fitted.n_parameters_ == k
    assert fitted.aic(DATA) == pytest.approx(2 * k - 2 * total)
    assert fitted.bic(DATA) == pytest.approx(k * np.log(40 * 20) - 2 * total)
    double = Sequences(DATA, weights=np.full(40, 2.0))
    assert fitted.bic(double) == pytest.approx(k * np.log(2 * 40 * 20) - 4 * total)


@quiet
@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (HQMMEstimator(2), 48 - 4 - 6 - 3 + 3),
        (HQMMEstimator(2, burn_in=3), 48 - 4 - 6 - 3),
        (HQMMEstimator(2, burn_in=3, initial_state="learn"), 48 - 4 - 6 - 3 + 3),
        (HQMMEstimator(2, initial_state="mixed"), 48 - 4 - 6 - 3),
        (NOOMEstimator(2), 5 * 4 + 1),
        (HMMEstimator(3, initial_state="mixed"), 6 + 15),
        (OOMEstimator(2), 5 * 4),
        (MarkovChainEstimator(1), 5 + 6 * 5),
    ],
)
def test_the_initial_state_is_counted_where_it_is_learned(estimator, expected):
    params = {"max_iter": 1, "random_state": 0} if "max_iter" in estimator.get_params() else {}
    assert estimator.set_params(**params).fit(DATA).n_parameters_ == expected


@quiet
def test_bic_finds_the_right_order_of_a_chain():
    chain = MarkovChainEstimator(1).fit(hmm_6_6().sample(20, 100, random_state=0)).model_
    data = chain.sample(300, 50, random_state=1)
    scores = [MarkovChainEstimator(order).fit(data).bic(data) for order in (0, 1, 2)]
    assert np.argmin(scores) == 1


@pytest.mark.parametrize("burn_in", [0, 10])
def test_the_scorer_is_the_description_accuracy(burn_in):
    fitted = MarkovChainEstimator(1, burn_in=burn_in).fit(DATA)
    weights = np.arange(40.0)
    expected = description_accuracy(fitted.model_, DATA.with_weights(weights), burn_in=burn_in)
    assert description_accuracy_scorer(fitted, DATA, sample_weight=weights) == pytest.approx(expected)
    worse = MarkovChainEstimator(1, alphabet=6).fit([[0, 0, 0, 1]])
    squashed, raw = (description_accuracy_scorer(worse, DATA, squash=squash) for squash in (True, False))
    assert raw < squashed < 0


def test_nothing_to_score_is_an_error():
    fitted = MarkovChainEstimator(burn_in=3).fit(["abab"])
    with pytest.raises(DataError, match="sequence 1: nothing is left to score after a burn-in of 3"):
        description_accuracy_scorer(fitted, ["abab", "ab"])
    with pytest.raises(DataError, match="at least two symbols"):
        description_accuracy_scorer(MarkovChainEstimator().fit(["aa"]), ["aa"])
