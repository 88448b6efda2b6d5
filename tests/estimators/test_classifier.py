"""The classifier: Bayes' rule over the models of the classes, and what is learned beyond that."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hqmm import (
    HMM,
    DataError,
    HMMEstimator,
    HQMMEstimator,
    MarkovChainEstimator,
    ModelError,
    OOMEstimator,
    Polar,
    RiemannianLBFGS,
    SequenceClassifier,
    Sequences,
)
from hqmm.learning import fit_discriminative
from hqmm.learning.discriminative import log_posterior

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def labelled(count, seed):
    """Sequences of two sticky processes that differ in how long they stay."""
    sticky, restless = (
        HMM([[stay, 1 - stay], [1 - stay, stay]], [[0.9, 0.1], [0.1, 0.9]]) for stay in (0.95, 0.3)
    )
    rows = [
        *sticky.sample(count, 12, random_state=seed),
        *restless.sample(2 * count, 12, random_state=seed + 1),
    ]
    return Sequences(rows, alphabet=2), np.array(["sticky"] * count + ["restless"] * 2 * count)


X, Y = labelled(20, 0)
TEST_X, TEST_Y = labelled(100, 10)
QUICK = HQMMEstimator(2, learner=Polar(sweeps=2), max_iter=4, random_state=0)


def test_probabilities_follow_bayes_rule():
    classifier = SequenceClassifier(MarkovChainEstimator(2)).fit(X, Y)
    assert classifier.classes_.tolist() == ["restless", "sticky"]
    chains = {
        label: MarkovChainEstimator(2, alphabet=2).fit(X[Y == label]).model_ for label in classifier.classes_
    }
    np.testing.assert_allclose(classifier.prior_, [2 / 3, 1 / 3])
    joint = np.stack([chain.probability(TEST_X) for chain in chains.values()], axis=1) * [2 / 3, 1 / 3]
    np.testing.assert_allclose(classifier.predict_proba(TEST_X), joint / joint.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(classifier.predict(TEST_X), classifier.classes_[joint.argmax(axis=1)])
    np.testing.assert_allclose(
        classifier.predict_log_proba(TEST_X), log_posterior(chains, TEST_X, prior=classifier.prior_)
    )
    assert classifier.score(TEST_X, TEST_Y) > 0.8


def test_the_prior_may_be_uniform_or_given():
    for prior, expected in (("uniform", [0.5, 0.5]), ([1, 9], [0.1, 0.9]), ("empirical", [2 / 3, 1 / 3])):
        classifier = SequenceClassifier(MarkovChainEstimator(), prior=prior).fit(X, Y)
        np.testing.assert_allclose(classifier.prior_, expected)
    weights = np.where(Y == "sticky", 2.0, 1.0)
    np.testing.assert_allclose(
        SequenceClassifier(MarkovChainEstimator()).fit(X, Y, sample_weight=weights).prior_, [0.5, 0.5]
    )


def test_a_sequence_that_no_class_can_make_is_left_to_the_prior():
    classifier = SequenceClassifier(MarkovChainEstimator(1, smoothing=0.0, alphabet="ab"))
    classifier.fit(["aa", "aaa", "bb"], [0, 0, 1])
    np.testing.assert_allclose(classifier.predict_proba(["ab", "aa", "b"]), [[2 / 3, 1 / 3], [1, 0], [0, 1]])


@quiet
def test_the_burn_in_of_the_estimator_is_not_scored():
    classifier = SequenceClassifier(HMMEstimator(2, burn_in=4, max_iter=3, random_state=0)).fit(X, Y)
    models = dict(zip(classifier.classes_, classifier.models_, strict=True))
    np.testing.assert_allclose(
        classifier.predict_log_proba(TEST_X), log_posterior(models, TEST_X, prior=classifier.prior_, burn_in=4)
    )


@quiet
def test_the_discriminative_objective_goes_on_from_the_generative_models():
    generative = SequenceClassifier(QUICK).fit(X, Y)
    classifier = SequenceClassifier(QUICK, objective="discriminative", learner=RiemannianLBFGS(max_iter=5)).fit(
        X, Y
    )
    expected = fit_discriminative(
        dict(enumerate(generative.models_)), X, Y == "sticky", learner=RiemannianLBFGS(max_iter=5)
    )
    assert classifier.models_ == list(expected.models.values())
    np.testing.assert_array_equal(classifier.history_["train"], expected.history["train"])
    before, after = (
        one.predict_log_proba(X)[np.arange(60), (Y == "sticky").astype(int)].mean()
        for one in (generative, classifier)
    )
    assert after > before
    assert after == pytest.approx(classifier.history_["train"][-1])


@quiet
@pytest.mark.parametrize("inner", [HMMEstimator(2, max_iter=3, random_state=0), MarkovChainEstimator(1)])
def test_classical_models_become_hybrid_ones_to_be_told_apart(inner):
    generative = SequenceClassifier(inner).fit(X, Y)
    start = SequenceClassifier(inner, objective="discriminative", learner=RiemannianLBFGS(max_iter=0)).fit(X, Y)
    np.testing.assert_allclose(start.predict_proba(TEST_X), generative.predict_proba(TEST_X), atol=1e-9)
    classifier = SequenceClassifier(inner, objective="discriminative", learner=RiemannianLBFGS(max_iter=3)).fit(
        X, Y
    )
    assert classifier.history_["train"][-1] > classifier.history_["train"][0]


@quiet
def test_held_out_data_choose_the_iterate():
    for validation in (0.25, labelled(20, 20)):
        classifier = SequenceClassifier(
            QUICK, objective="discriminative", validation=validation, patience=3, random_state=0
        ).fit(X, Y)
        assert classifier.result_.best_iteration == np.argmax(classifier.history_["validation"])
    with pytest.raises(DataError, match="sequence 0: the label lazy is not one of the training data's"):
        SequenceClassifier(QUICK, objective="discriminative", validation=(X[:1], ["lazy"])).fit(X, Y)
    with pytest.raises(DataError, match="validation must be a share between 0 and 1, or data, but is 1"):
        SequenceClassifier(QUICK, objective="discriminative", validation=1).fit(X, Y)


def test_a_discriminative_fit_that_has_not_converged_says_so():
    inner = HMMEstimator(2, tol=1e-2, random_state=0)
    classifier = SequenceClassifier(inner, objective="discriminative", learner=RiemannianLBFGS(max_iter=1))
    with pytest.warns(
        ConvergenceWarning, match="SequenceClassifier has not converged .* raise the learner's max_iter"
    ):
        classifier.fit(X, Y)
    assert not classifier.converged_
    assert classifier.n_iter_ == 1


def test_classes_without_weight_and_single_classes_are_no_trouble():
    weights = np.where(Y == "sticky", 0.0, 1.0)
    classifier = SequenceClassifier(MarkovChainEstimator(), objective="discriminative").fit(X, Y, weights)
    assert classifier.predict(TEST_X).tolist() == ["restless"] * 300


def test_models_that_end_are_classified_by_their_whole_strings():
    words, labels = ["a", "aa", "a", "aaaa", "aaaaa", "aaaaaa"], [0, 0, 0, 1, 1, 1]
    classifier = SequenceClassifier(MarkovChainEstimator(1, end=True)).fit(words, labels)
    assert classifier.alphabet_.end == 1
    assert classifier.predict(["a", "aaaaaaa"]).tolist() == [0, 1]


def test_what_cannot_be_is_refused():
    with pytest.raises(NotFittedError):
        SequenceClassifier().predict(X)
    with pytest.raises(ValueError, match="requires y to be passed"):
        SequenceClassifier().fit(X, None)
    with pytest.raises(ValueError, match="objective must be"):
        SequenceClassifier(objective="both").fit(X, Y)
    with pytest.raises(TypeError, match="estimator must be one of hqmm's"):
        SequenceClassifier(RiemannianLBFGS()).fit(X, Y)
    with pytest.raises(DataError, match="prior must have one positive number for each of the 2 classes"):
        SequenceClassifier(MarkovChainEstimator(), prior=[1, 0]).fit(X, Y)
    with pytest.raises(ValueError, match="prior must be"):
        SequenceClassifier(MarkovChainEstimator(), prior="flat").fit(X, Y)
    with pytest.raises(ModelError, match="no discriminative objective for OOM"):
        SequenceClassifier(OOMEstimator(1), objective="discriminative").fit(X, Y)
