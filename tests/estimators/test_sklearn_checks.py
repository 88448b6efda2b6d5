"""scikit-learn's own checks, which every estimator of its kind must pass."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hqmm import (
    COSM,
    HMMEstimator,
    HQMMEstimator,
    MarkovChainEstimator,
    NOOMEstimator,
    OOMEstimator,
    Polar,
    RiemannianLBFGS,
    SequenceClassifier,
)

FRACTIONS = (
    "the check learns from random fractions, which are not symbols; see the tests of weights for whole numbers"
)
NEGATIVE = "its spectral model has negative probabilities, which on_negative='raise' does not hide"

# Few iterations: what is checked is not how well they learn.
QUICK = {"learner": Polar(sweeps=3), "max_iter": 8}
ESTIMATORS = [
    HQMMEstimator(**QUICK),
    HQMMEstimator(n_blocks=2, kraus_rank=2, **QUICK),
    HQMMEstimator(learner=COSM(), max_iter=3),
    HMMEstimator(max_iter=8),
    NOOMEstimator(**QUICK),
    OOMEstimator(),
    OOMEstimator(on_negative="clip"),
    MarkovChainEstimator(),
    SequenceClassifier(MarkovChainEstimator()),
    SequenceClassifier(
        HQMMEstimator(learner=Polar(sweeps=1), max_iter=2, random_state=0),
        objective="discriminative",
        learner=RiemannianLBFGS(max_iter=2),
    ),
]


def expected_failures(estimator):
    failures = {"check_sample_weight_equivalence_on_dense_data": FRACTIONS}
    if isinstance(estimator, SequenceClassifier):
        failures["check_classifiers_one_label_sample_weights"] = FRACTIONS
    if isinstance(estimator, OOMEstimator) and estimator.on_negative == "raise":
        failures["check_pipeline_consistency"] = NEGATIVE
    return failures


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:the words of up to:UserWarning")  # data that support fewer states
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_tags_say_that_rows_are_tables_of_codes():
    for estimator in ESTIMATORS:
        tags = estimator.__sklearn_tags__().input_tags
        assert (tags.two_d_array, tags.categorical, tags.positive_only) == (True, True, True)
