"""What every estimator does with its model, against the model itself."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hqmm import HMMEstimator, HQMMEstimator, MarkovChainEstimator, Sequences
from hqmm.errors import DataError

WORDS = ["abba", "ab", "b", "aabab", "bbab", "abbab", "ba"]
ESTIMATORS = {
    "hqmm": HQMMEstimator(2, tol=1e-4, random_state=0),
    "hybrid": HQMMEstimator(2, n_blocks=2, tol=1e-4, random_state=0),
    "hmm": HMMEstimator(2, tol=1e-4, random_state=0),
    "chain": MarkovChainEstimator(2),
}


@pytest.fixture(params=ESTIMATORS)
def fitted(request):
    return ESTIMATORS[request.param].fit(WORDS)


def test_scores_are_those_of_the_model(fitted):
    values = fitted.model_.log_likelihood(WORDS)
    np.testing.assert_array_equal(fitted.score_samples(WORDS), values)
    assert fitted.score(WORDS) == pytest.approx(values.sum() / sum(map(len, WORDS)))


def test_the_score_weighs_sequences(fitted):
    twice = fitted.score([*WORDS, WORDS[0]])
    assert fitted.score(WORDS, sample_weight=[2, 1, 1, 1, 1, 1, 1]) == pytest.approx(twice)
    assert fitted.score(Sequences(WORDS, weights=[2, 1, 1, 1, 1, 1, 1])) == pytest.approx(twice)


def test_next_symbols_are_those_of_the_model_row_by_row(fitted):
    prefixes = ["", "abba", "b", "ab", "aaa"]
    expected = [fitted.model_.predict(prefix) for prefix in prefixes]
    np.testing.assert_allclose(fitted.predict_next(prefixes), expected, atol=1e-12)


def test_forecasts_are_those_of_the_model_row_by_row(fitted):
    prefixes = ["", "abba", "b"]
    expected = [fitted.model_.forecast(prefix, 4) for prefix in prefixes]
    np.testing.assert_allclose(fitted.forecast(prefixes, 4), expected, atol=1e-12)


def test_features_are_filtered_states_in_real_coordinates(fitted):
    form = fitted.model_.linear
    expected = []
    for word in WORDS:
        state = form.initial
        for code in fitted.alphabet_.encode(word):
            state = form.operators[code] @ state
            state = state / (form.evaluation @ state)
        expected.append(state)
    np.testing.assert_allclose(fitted.transform(WORDS), expected, atol=1e-12)
    assert len(fitted.get_feature_names_out()) == form.dimension


def test_samples_repeat_with_the_seed(fitted):
    assert fitted.sample(3, 5, random_state=1) == fitted.model_.sample(3, 5, random_state=1)


def test_an_unfitted_estimator_says_so():
    for estimator in (HQMMEstimator(), HMMEstimator(), MarkovChainEstimator()):
        for method in ("score", "score_samples", "predict_next", "forecast", "transform"):
            with pytest.raises(NotFittedError):
                getattr(estimator, method)(WORDS)


def test_an_end_symbol_is_appended_where_it_is_scored_and_not_where_it_is_predicted():
    fitted = MarkovChainEstimator(1, end=True).fit(WORDS)
    assert fitted.alphabet_.end == 2
    np.testing.assert_array_equal(fitted.score_samples(WORDS), fitted.model_.log_likelihood(WORDS))
    closed = Sequences(WORDS, alphabet="ab", end=True)
    np.testing.assert_array_equal(fitted.score_samples(closed), fitted.score_samples(WORDS))
    expected = [fitted.model_.predict(word) for word in WORDS]
    np.testing.assert_allclose(fitted.predict_next(WORDS), expected, atol=1e-12)
    np.testing.assert_allclose(fitted.predict_next(closed), expected, atol=1e-12)


def test_an_impossible_sequence_scores_minus_infinity_and_has_no_state_after_it():
    fitted = MarkovChainEstimator(1, smoothing=0.0).fit(["abab", "ab"])
    assert fitted.score(["abab", "aa"]) == -np.inf
    with pytest.raises(DataError, match="sequence 1, position 1: the model gives the symbol 'a' probability zero"):
        fitted.predict_next(["abab", "aab"])


def test_a_burn_in_is_not_scored():
    fitted = HMMEstimator(2, burn_in=2, random_state=0).fit(WORDS)
    np.testing.assert_array_equal(fitted.score_samples(WORDS), fitted.model_.log_likelihood(WORDS, burn_in=2))
    with pytest.raises(DataError, match="nothing is left to score"):
        fitted.score(["ab", "b"])
