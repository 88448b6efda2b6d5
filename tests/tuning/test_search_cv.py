"""HyperbandSearchCV: scikit-learn's face, by its own results and by those of scikit-learn."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

from hqmm import DataError, HMMEstimator, HQMMEstimator
from hqmm.datasets import hqmm_2_6
from hqmm.learning import COSM
from hqmm.tuning import HyperbandSearchCV, Schedule

DATA = hqmm_2_6().sample(30, 30, random_state=0)
SPACE = {"kraus_rank": [1, 2], "n_states": [1, 2]}


def tuned(estimator, space=SPACE, **options):
    options = {"max_resource": 3, "cv": 2, "random_state": 0, **options}
    return HyperbandSearchCV(estimator, space, **options).fit(DATA)


def test_results_are_as_scikit_learns():
    found = tuned(HQMMEstimator(learner="cosm", random_state=0))
    results = found.cv_results_
    rows = found.search_.schedule.n_trials
    assert all(len(column) == rows for column in results.values())
    assert {"param_kraus_rank", "split0_test_score", "split1_test_score", "mean_fit_time"} <= set(results)
    np.testing.assert_allclose(
        results["mean_test_score"], (results["split0_test_score"] + results["split1_test_score"]) / 2
    )
    np.testing.assert_allclose(
        results["std_test_score"], np.abs(results["split0_test_score"] - results["split1_test_score"]) / 2
    )
    assert results["rank_test_score"][found.best_index_] == 1
    assert found.best_score_ == results["mean_test_score"].max()
    assert found.best_params_ == results["params"][found.best_index_]
    assert results["n_resources"][found.best_index_] == found.best_resource_


def test_each_score_is_what_cross_validation_gives_with_that_resource():
    """Training in rungs, from checkpoints, is training at once."""
    estimator = HQMMEstimator(learner="cosm", random_state=0)
    found = tuned(estimator)
    results = found.cv_results_
    for params, resource, score in zip(
        results["params"], results["n_resources"], results["mean_test_score"], strict=True
    ):
        at_once = clone(estimator).set_params(**params, max_iter=int(resource))
        with pytest.warns(match="has not converged"):
            assert score == cross_val_score(at_once, DATA, cv=2).mean()


def test_training_goes_on_from_rung_to_rung(monkeypatch):
    epochs = []
    advance = COSM.advance
    monkeypatch.setattr(COSM, "advance", lambda self, *args: epochs.append(1) or advance(self, *args))
    schedule = Schedule.stages((3, 2), (1, 3))
    tuned(HQMMEstimator(learner="cosm", random_state=0), schedule=schedule, refit=False)
    assert len(epochs) == 2 * schedule.cost  # two folds


def test_a_learner_that_plans_its_steps_is_trained_anew():
    estimator = HQMMEstimator(learner="adam", random_state=0)
    found = tuned(estimator, {"kraus_rank": [1]}, schedule=Schedule.stages((1, 1), (1, 2)))
    with pytest.warns(match="has not converged"):
        expected = cross_val_score(clone(estimator).set_params(max_iter=3), DATA, cv=2).mean()
    assert found.cv_results_["mean_test_score"][1] == expected


def test_the_best_is_refitted_and_asked():
    found = tuned(HMMEstimator(random_state=0), {"n_states": [1, 3]})
    best = found.best_estimator_
    assert best.max_iter == found.best_resource_
    assert best.n_states == found.best_params_["n_states"]
    np.testing.assert_array_equal(found.predict_next(DATA[:3]), best.predict_next(DATA[:3]))
    assert found.score(DATA) == best.score(DATA)
    assert not hasattr(found, "predict_proba")
    without = tuned(HMMEstimator(random_state=0), {"n_states": [1]}, refit=False)
    with pytest.raises(NotFittedError, match="refit=True"):
        without.predict_next(DATA)


def test_any_classifier_of_scikit_learns():
    X, y = make_classification(120, 6, random_state=0)
    names = np.array(["no", "yes"])[y]
    weights = np.linspace(0.5, 1.5, len(y))
    search = HyperbandSearchCV(
        RandomForestClassifier(random_state=0),
        {"max_depth": stats.randint(1, 5)},
        resource="n_estimators",
        max_resource=9,
        min_resource=3,
        scoring="roc_auc",
        cv=StratifiedKFold(3),
        random_state=0,
    ).fit(X, names, sample_weight=weights)
    row = search.best_index_
    model = RandomForestClassifier(
        random_state=0, n_estimators=search.best_resource_, max_depth=search.best_params_["max_depth"]
    )
    expected = cross_val_score(
        model, X, names, scoring="roc_auc", cv=StratifiedKFold(3), params={"sample_weight": weights}
    )
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][row], expected.mean())
    assert search.classes_.tolist() == ["no", "yes"]
    assert search.predict(X[:5]).tolist() == search.best_estimator_.predict(X[:5]).tolist()
    assert 0.5 < search.score(X, names) <= 1


def test_it_can_be_cloned_and_searched_in_folds_itself():
    X, y = make_classification(60, 4, class_sep=3, random_state=0)
    search = HyperbandSearchCV(
        SGDClassifier(random_state=0, tol=None), {"alpha": [1e-4, 1e-2]}, max_resource=3, cv=2, random_state=0
    )
    assert cross_val_score(clone(search), X, y, cv=2).min() > 0.5


def test_a_study_keeps_it(tmp_path):
    pytest.importorskip("optuna")
    options = {"storage": tmp_path / "trials.db", "refit": False}
    kept = tuned(HMMEstimator(random_state=0), {"n_states": [1, 3]}, **options)
    again = tuned(HMMEstimator(random_state=0), {"n_states": [1, 3]}, **options)
    assert kept.search_ == again.search_
    assert np.array_equal(kept.cv_results_["split1_test_score"], again.cv_results_["split1_test_score"])
    with pytest.raises(DataError, match="another space, schedule or data"):
        tuned(HMMEstimator(random_state=1), {"n_states": [1, 3]}, **options)


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        ({"states": [1]}, {}, "HQMMEstimator has no parameter 'states'; it has alphabet"),
        ({"n_states": [1]}, {"resource": "epochs"}, "has no parameter 'epochs'"),
        ({"max_iter": [1]}, {}, "is the resource"),
    ],
)
def test_names_that_do_not_fit_are_refused(space, options, message):
    with pytest.raises(DataError, match=message):
        tuned(HQMMEstimator(), space, **options)
