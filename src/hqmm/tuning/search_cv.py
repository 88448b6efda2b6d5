"""Hyperband with scikit-learn's face: any estimator, judged by cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hqmm._random import RandomState
from hqmm._typing import FloatArray
from hqmm.errors import DataError, FileFormatError
from hqmm.tuning.schedules import Schedule, as_schedule
from hqmm.tuning.search import Result, SearchResult, search
from hqmm.tuning.spaces import Space
from hqmm.tuning.trials import Trial

Self = TypeVar("Self", bound="HyperbandSearchCV")


def _best_has(name: str) -> Callable[[HyperbandSearchCV], bool]:
    def check(self: HyperbandSearchCV) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return check


def _passed_on(name: str) -> Any:
    """Return a method that asks the best estimator."""

    def method(self: HyperbandSearchCV, *args: Any, **options: Any) -> Any:
        check_is_fitted(self, "best_estimator_", msg=f"fit this search, with refit=True, before using {name}")
        return getattr(self.best_estimator_, name)(*args, **options)

    method.__name__ = name
    method.__doc__ = f"Call ``best_estimator_.{name}``."
    return available_if(_best_has(name))(method)


class HyperbandSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Search for an estimator's parameters by Hyperband, with cross-validation.

    hqmm's estimators go on training from rung to rung, from checkpoints; others are trained anew with more of the
    resource. A fit that stops where its rung ends gives no ``ConvergenceWarning``.

    Parameters
    ----------
    estimator : estimator
        What to tune.
    param_distributions : mapping of str to range
        `Uniform`, `Whole`, a list of options, or a distribution of SciPy's for each parameter.
    resource : str
        The parameter that says how long is trained.
    max_resource, min_resource, factor : int
        As for `Schedule.hyperband`.
    schedule : "hyperband", "halving", "paper" or Schedule
        All brackets, the most daring one alone, the paper's schedule, or another.
    scoring : str, function or None
        As in scikit-learn; by default the estimator's ``score``.
    cv : int, splitter or iterable
        As in scikit-learn.
    refit : bool
        Fit the best parameters to all data at the end, with the resource that they did best with.
    n_jobs, executor, storage, study_name, folder, grace, on_result
        As for `search`; ``n_jobs`` counts configurations.
    random_state : None, int or numpy.random.Generator
        Draws the configurations; the estimator has a ``random_state`` of its own.

    Attributes
    ----------
    cv_results_ : dict of arrays
        A row for each configuration at each rung: ``params``, ``param_…``, ``n_resources``, ``iter`` (the rung),
        ``bracket``, ``configuration``, ``split…_test_score``, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``, ``mean_fit_time``.
    best_index_, best_params_, best_score_ : int, dict, float
        The row with the highest mean score, at any rung.
    best_resource_ : int
        What it was trained with.
    best_estimator_ : estimator
        Fitted to all data, with ``refit``.
    n_splits_ : int
        Number of folds.
    search_ : SearchResult
        The search itself, with its seed.

    Examples
    --------
    >>> from hqmm import HQMMEstimator
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.tuning import HyperbandSearchCV
    >>> data = hqmm_2_6().sample(60, 50, random_state=0)
    >>> estimator = HQMMEstimator(learner="cosm", random_state=0)
    >>> space = {"kraus_rank": [1, 2]}
    >>> found = HyperbandSearchCV(estimator, space, max_resource=3, cv=2, random_state=0).fit(data)
    >>> sorted(found.best_params_), found.best_resource_
    (['kraus_rank'], 3)
    >>> found.predict_next([[0, 2]]).shape
    (1, 6)
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Space,
        *,
        resource: str = "max_iter",
        max_resource: int = 27,
        min_resource: int = 1,
        factor: int = 3,
        schedule: str | Schedule = "hyperband",
        scoring: Any = None,
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        executor: Any = "threads",
        storage: str | Path | None = None,
        study_name: str = "hqmm",
        folder: str | Path | None = None,
        grace: float = 60.0,
        random_state: RandomState = None,
        on_result: Callable[[Result], Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.resource = resource
        self.max_resource = max_resource
        self.min_resource = min_resource
        self.factor = factor
        self.schedule = schedule
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.executor = executor
        self.storage = storage
        self.study_name = study_name
        self.folder = folder
        self.grace = grace
        self.random_state = random_state
        self.on_result = on_result

    def fit(self: Self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Search, and fit the best parameters to all data.

        Parameters
        ----------
        X : Sequences, array, data frame or list
            One row for each sequence.
        y : array, optional
            Labels, for classifiers.
        **fit_params
            Passed on to the estimator's ``fit``; arrays with a number for each row are split like the rows.

        Returns
        -------
        self
        """
        self._check_names()
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        evaluate = CrossValidate(
            clone(self.estimator),
            self.resource,
            X,
            y,
            fit_params,
            tuple(cv.split(X, y)),
            check_scoring(self.estimator, scoring=self.scoring),
        )
        self.search_ = search(
            evaluate,
            self.param_distributions,
            as_schedule(self.schedule, self.max_resource, self.min_resource, self.factor),
            random_state=self.random_state,
            storage=self.storage,
            study_name=self.study_name,
            folder=self.folder,
            executor=self.executor,
            n_jobs=1 if self.n_jobs is None else self.n_jobs,
            grace=self.grace,
            on_result=self.on_result,
        )
        self.n_splits_ = len(evaluate.splits)
        self._set_results(self.search_)
        if self.refit:
            began = time.perf_counter()
            best = clone(self.estimator).set_params(**self.best_params_, **{self.resource: self.best_resource_})
            self.best_estimator_ = _fitted(best, X, y, fit_params)
            self.refit_time_ = time.perf_counter() - began
        return self

    def _check_names(self) -> None:
        known = self.estimator.get_params()
        for name in (self.resource, *self.param_distributions):
            if name not in known:
                raise DataError(
                    f"{type(self.estimator).__name__} has no parameter {name!r}; it has {', '.join(sorted(known))}"
                )
        if self.resource in self.param_distributions:
            raise DataError(
                f"{self.resource!r} is the resource, which the schedule sets, and cannot be tuned as well"
            )

    def _set_results(self, found: SearchResult) -> None:
        results = found.results
        mean = np.array([one.score for one in results])
        splits = [np.array([one.details.get(_split(k), np.nan) for one in results]) for k in range(self.n_splits_)]
        with np.errstate(invalid="ignore"):  # scores of −∞ have no standard deviation
            spread = np.std(splits, axis=0)
        self.cv_results_ = {
            "params": [one.parameters for one in results],
            **{
                f"param_{name}": np.ma.array([one.parameters[name] for one in results])
                for name in sorted(self.param_distributions)
            },
            "bracket": np.array([one.bracket for one in results]),
            "iter": np.array([one.rung for one in results]),
            "configuration": np.array([one.configuration for one in results]),
            "n_resources": np.array([one.resource for one in results]),
            **{_split(k): scores for k, scores in enumerate(splits)},
            "mean_test_score": mean,
            "std_test_score": spread,
            "rank_test_score": 1 + np.sum(mean[:, None] < mean[None, :], axis=1),
            "mean_fit_time": np.array([one.details.get("fit_time", np.nan) for one in results]) / self.n_splits_,
        }
        self.best_index_ = results.index(found.best)
        self.best_params_ = found.best.parameters
        self.best_score_ = found.best.score
        self.best_resource_ = found.best.resource

    def score(self, X: Any, y: Any = None) -> float:
        """Return the score of the best estimator, by ``scoring``."""
        check_is_fitted(self, "best_estimator_")
        return float(check_scoring(self.estimator, scoring=self.scoring)(self.best_estimator_, X, y))

    predict = _passed_on("predict")
    predict_proba = _passed_on("predict_proba")
    predict_log_proba = _passed_on("predict_log_proba")
    decision_function = _passed_on("decision_function")
    transform = _passed_on("transform")
    score_samples = _passed_on("score_samples")
    predict_next = _passed_on("predict_next")
    forecast = _passed_on("forecast")
    sample = _passed_on("sample")

    @property
    def classes_(self) -> Any:
        """Labels of the best estimator, a classifier."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.classes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags


@dataclass(frozen=True)
class CrossValidate:
    """What a trial does: fit the estimator to each fold with so much of the resource, and score the rest."""

    estimator: Any
    resource: str
    X: Any
    y: Any
    fit_params: dict[str, Any]
    splits: tuple[tuple[FloatArray, FloatArray], ...]
    scorer: Any

    def __call__(self, trial: Trial) -> dict[str, float]:
        """Return the mean score, that of each fold, and the time spent on fitting."""
        scores, spent = [], 0.0
        for number, (train, test) in enumerate(self.splits):
            began = time.perf_counter()
            fitted = self._fit(trial, number, train)
            spent += time.perf_counter() - began
            scores.append(float(self.scorer(fitted, *_part(self.X, self.y, test))))
        details = {_split(number): score for number, score in enumerate(scores)}
        return {"score": float(np.mean(scores)), **details, "fit_time": spent}

    def _fit(self, trial: Trial, number: int, train: FloatArray) -> Any:
        X, y = _part(self.X, self.y, train)
        options = {name: _of_rows(value, train, self.X) for name, value in self.fit_params.items()}
        estimator = clone(self.estimator).set_params(**trial.parameters, **{self.resource: trial.resource})
        if "__" in self.resource or "checkpoint" not in estimator.get_params(deep=False):
            return _fitted(estimator, X, y, options)
        place = trial.checkpoint / f"fold{number}"
        place.parent.mkdir(parents=True, exist_ok=True)
        estimator.set_params(checkpoint=place)
        try:
            return _fitted(estimator, X, y, options)
        except FileFormatError:
            # Nothing to go on from: a learner that plans its steps over all iterations, or an estimator that sets
            # other data aside at each fit, is trained anew.
            for file in place.parent.glob(f"{place.name}*"):
                file.unlink()
            return _fitted(estimator, X, y, options)

    def fingerprint(self) -> str:
        """Return a digest of the data, the folds and the estimator, which processes of one study must share."""
        import joblib

        settings = sorted(self.estimator.get_params().items(), key=lambda item: item[0])
        parts = (type(self.estimator).__name__, settings, self.resource, self.X, self.y, self.splits)
        return str(joblib.hash((parts, self.fit_params)))


def _fitted(estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it stops where the rung ends
        return estimator.fit(X, **options) if y is None else estimator.fit(X, y, **options)


def _split(number: int) -> str:
    return f"split{number}_test_score"


def _part(X: Any, y: Any, rows: Any) -> tuple[Any, Any]:
    return _of_rows(X, rows, X), None if y is None else _of_rows(y, rows, X)


def _of_rows(values: Any, rows: Any, X: Any) -> Any:
    """Return the chosen rows of what has as many as X; other things are for all rows."""
    if not hasattr(values, "__len__") or isinstance(values, str) or len(values) != len(X):
        return values
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]
