"""What scikit-learn does with estimators: copies, splits, searches, pipelines, data frames and metadata."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._set_output import ADAPTERS_MANAGER

from hqmm import (
    COSM,
    HMM,
    HMMEstimator,
    HQMMEstimator,
    MarkovChainEstimator,
    NOOMEstimator,
    OOMEstimator,
    Polar,
    SequenceClassifier,
    Sequences,
)
from hqmm.estimators import description_accuracy_scorer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASSES = [HQMMEstimator, HMMEstimator, NOOMEstimator, OOMEstimator, MarkovChainEstimator, SequenceClassifier]


def ragged(count, seed):
    """Sequences of two kinds, of many lengths, as lists of letters."""
    rng = np.random.default_rng(seed)
    kinds = [HMM([[stay, 1 - stay], [1 - stay, stay]], [[0.9, 0.1], [0.1, 0.9]]) for stay in (0.95, 0.2)]
    labels = np.arange(count) % 2
    rows = [kinds[label].sample(1, int(rng.integers(8, 25)), random_state=rng)[0] for label in labels]
    return ["".join("ab"[code] for code in row) for row in rows], labels


STRINGS, LABELS = ragged(60, 0)
LISTS = [[int(symbol == "b") for symbol in row] for row in STRINGS]
FORMS = {
    "strings": STRINGS,
    "lists": LISTS,
    "arrays": [np.array(row) for row in LISTS],
    "sequences": Sequences(LISTS),
    "table": np.random.default_rng(0).integers(0, 2, (60, 10)),
}
every_form = pytest.mark.parametrize("X", FORMS.values(), ids=FORMS)
QUICK = HQMMEstimator(2, learner=Polar(sweeps=2), max_iter=4, random_state=0)


# --- copies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSES)
def test_constructors_only_store_and_every_parameter_has_a_default(kind):
    estimator = kind()
    assert vars(estimator).keys() == estimator.get_params(deep=False).keys()
    assert clone(estimator).get_params(deep=False) == estimator.get_params(deep=False)


def test_a_clone_has_the_settings_and_not_the_model():
    fitted = HQMMEstimator(3, learner=COSM(step=0.5), max_iter=1, alphabet="ab", random_state=0).fit(STRINGS)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    assert copy.fit(STRINGS).model_ == fitted.model_
    nested = SequenceClassifier(QUICK).set_params(estimator__kraus_rank=2)
    assert clone(nested).get_params()["estimator__kraus_rank"] == 2
    assert QUICK.set_params(kraus_rank=1).kraus_rank == 1


@every_form
@pytest.mark.parametrize(
    "estimator", [QUICK, HMMEstimator(2, max_iter=3, random_state=0), MarkovChainEstimator(2)]
)
def test_a_pickled_estimator_says_the_same(estimator, X):
    fitted = clone(estimator).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.model_ == fitted.model_
    np.testing.assert_array_equal(again.score_samples(X), fitted.score_samples(X))
    classifier = SequenceClassifier(estimator).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


# --- splits and searches --------------------------------------------------------------------------------------


@every_form
def test_cross_validation_splits_by_sequences(X):
    estimator = MarkovChainEstimator(1, alphabet="ab" if X is STRINGS else 2)
    scores = cross_val_score(estimator, X, cv=KFold(3))
    expected = []
    for train, test in KFold(3).split(LABELS):
        take = X.__getitem__ if isinstance(X, Sequences | np.ndarray) else lambda rows: [X[row] for row in rows]
        expected.append(clone(estimator).fit(take(train)).score(take(test)))
    np.testing.assert_array_equal(scores, expected)


@every_form
def test_a_grid_search_finds_the_better_setting(X):
    grid = {"order": [0, 1], "smoothing": ["witten-bell", 0.1]}
    estimator = MarkovChainEstimator(alphabet="ab" if X is STRINGS else 2)
    search = GridSearchCV(estimator, grid, cv=3, scoring=description_accuracy_scorer).fit(X)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    if X is not FORMS["table"]:  # which is noise
        assert search.best_params_["order"] == 1
    assert search.best_estimator_.predict_next(X).shape == (60, 2)


def test_a_grid_search_tries_learners_and_reaches_into_the_classifier():
    grid = {"estimator__learner": [Polar(sweeps=1), COSM(batch_size=5)], "prior": ["uniform", "empirical"]}
    search = GridSearchCV(SequenceClassifier(QUICK), grid, cv=2).fit(STRINGS, LABELS)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.score(STRINGS, LABELS) > 0.8


@every_form
def test_classifiers_are_cross_validated_on_any_form(X):
    probabilities = cross_val_predict(
        SequenceClassifier(MarkovChainEstimator(1, alphabet="ab" if X is STRINGS else 2)),
        X,
        LABELS,
        cv=3,
        method="predict_proba",
    )
    assert probabilities.shape == (60, 2)
    if X is not FORMS["table"]:
        assert np.mean((probabilities[:, 1] > 0.5) == LABELS) > 0.85


# --- pipelines ------------------------------------------------------------------------------------------------


@every_form
def test_filtered_states_are_features_for_other_estimators(X):
    pipeline = make_pipeline(clone(QUICK), StandardScaler(), LogisticRegression())
    predicted = pipeline.fit(X, LABELS).predict(X)
    features = clone(QUICK).fit(X).transform(X)
    alone = make_pipeline(StandardScaler(), LogisticRegression()).fit(features, LABELS).predict(features)
    np.testing.assert_array_equal(predicted, alone)
    np.testing.assert_array_equal(clone(QUICK).fit_transform(X), features)
    assert list(pipeline[:2].get_feature_names_out()) == [f"hqmmestimator{i}" for i in range(4)]


class Table(dict):
    """A data frame of the smallest kind."""


class Tables:
    """What tells scikit-learn about them (pandas and polars tell it in the same way)."""

    container_lib = "tests"

    def create_container(self, X_output, X_original, columns, inplace=True):
        names = columns() if callable(columns) else columns
        return Table(zip(names, np.asarray(X_output).T, strict=True))

    def is_supported_container(self, X):
        return isinstance(X, Table)


@every_form
def test_features_come_as_data_frames_where_that_is_asked_for(X, monkeypatch):
    monkeypatch.setitem(ADAPTERS_MANAGER.adapters, "tests", Tables())
    fitted = MarkovChainEstimator(1).fit(X)
    plain = fitted.transform(X)
    table = fitted.set_output(transform="tests").transform(X)
    assert isinstance(table, Table)
    assert list(table) == [f"markovchainestimator{i}" for i in range(plain.shape[1])]
    np.testing.assert_array_equal(np.array(list(table.values())).T, plain)
    assert isinstance(fitted.set_output(transform="default").transform(X), np.ndarray)


def test_features_come_as_pandas_frames():
    pandas = pytest.importorskip("pandas")
    frame = MarkovChainEstimator(1).set_output(transform="pandas").fit_transform(STRINGS)
    assert isinstance(frame, pandas.DataFrame)


# --- metadata -------------------------------------------------------------------------------------------------


@every_form
def test_weights_are_routed_to_fit_and_score(X):
    weights = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    estimator = MarkovChainEstimator(1, alphabet="ab" if X is STRINGS else 2)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = estimator.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_validate(routed, X, cv=KFold(2), params={"sample_weight": weights})["test_score"]
        unrouted = clone(estimator).set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        plain = cross_validate(unrouted, X, cv=KFold(2))["test_score"]
    expected = []
    for train, test in KFold(2).split(LABELS):
        take = X.__getitem__ if isinstance(X, Sequences | np.ndarray) else lambda rows: [X[row] for row in rows]
        fitted = clone(estimator).fit(take(train), sample_weight=weights[train])
        expected.append(fitted.score(take(test), sample_weight=weights[test]))
    np.testing.assert_array_equal(scores, expected)
    assert not np.array_equal(scores, plain)


def test_weights_are_routed_through_a_pipeline_and_to_the_classifier():
    weights = np.where(LABELS == 0, 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            MarkovChainEstimator(1).set_fit_request(sample_weight=True),
            LogisticRegression().set_fit_request(sample_weight=False),
        ).fit(STRINGS, LABELS, sample_weight=weights)
        classifier = SequenceClassifier(MarkovChainEstimator(1))
        classifier.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(classifier, {"prior": ["empirical"]}, cv=2)
        search.fit(STRINGS, LABELS, sample_weight=weights)
    assert pipeline[0].model_ == MarkovChainEstimator(1).fit(STRINGS, sample_weight=weights).model_
    np.testing.assert_allclose(search.best_estimator_.prior_, [0.75, 0.25])


def test_weights_of_sequences_follow_them_into_the_folds():
    weights = np.random.default_rng(0).random(60)
    data = Sequences(LISTS, weights=weights)
    scores = cross_val_score(MarkovChainEstimator(1), data, cv=KFold(2))
    train, test = next(KFold(2).split(LABELS))
    fitted = MarkovChainEstimator(1).fit([LISTS[row] for row in train], sample_weight=weights[train])
    assert scores[0] == fitted.score([LISTS[row] for row in test], sample_weight=weights[test])
