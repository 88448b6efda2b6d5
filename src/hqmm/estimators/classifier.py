"""A classifier of sequences: one model for each class."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted, column_or_1d

from hqmm._random import RandomState, as_generator
from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.errors import DataError, ModelError
from hqmm.estimators.base import SequenceEstimator, SequenceTags
from hqmm.estimators.hqmm import HQMMEstimator
from hqmm.estimators.learned import checked_share, not_converged
from hqmm.estimators.learners import OBJECTIVE, chosen_learner
from hqmm.estimators.reading import read, weighted
from hqmm.learning import ClassFit, Learner, fit_discriminative
from hqmm.learning.discriminative import Monitor
from hqmm.learning.driver import split_validation
from hqmm.learning.quasi_newton import ObjectiveLearner
from hqmm.models import HMM, HQMM, NOOM, HybridHQMM, MarkovChain, Model
from hqmm.sequences import Alphabet, Sequences

Self = TypeVar("Self", bound="SequenceClassifier")


class SequenceClassifier(SequenceTags, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns one model for each class, p(c|x) ∝ π_c P_c(x).

    Parameters
    ----------
    estimator : an estimator of hqmm, optional
        Learns the model of each class from its sequences; ``HQMMEstimator()`` by default.
    objective : "generative" or "discriminative"
        "generative" leaves it at that. "discriminative" goes on from there to maximise the mean of log p(c|x) over
        the training data, which only models of HQMMs, hybrids and what converts to them (HMMs, NOOMs, Markov
        chains) can: see `hqmm.learning.fit_discriminative`.
    prior : "empirical", "uniform" or array
        π_c: the share of each class in the training data by weight, all the same, or in the order of ``classes_``.
    learner : str or Learner
        Of the discriminative objective: "lbfgs", "adam", or one of them with settings of its own.
    pull : float
        Of the discriminative objective: how strongly models are held near where they started.
    validation : float, or (sequences, labels), optional
        Of the discriminative objective: share of each class to set aside (from the first fit too), or data. The
        iterate that scores best on it is kept.
    monitor : "likelihood" or "accuracy"
        What scores best on held-out data.
    patience : int, optional
        Stop after so many iterations of the discriminative objective without a better score on held-out data.
    random_state : None, int or numpy.random.Generator
        The seed of all classes; by default that of ``estimator``.

    Attributes
    ----------
    classes_ : array
        The labels.
    models_ : list of Model
        One for each class.
    estimators_ : list of estimators
        Those that learned from the sequences of each class.
    prior_ : array
        π_c.
    alphabet_ : Alphabet
        The symbols of all models.
    result_ : ClassFit
        What the discriminative learner reports; ``history_``, ``n_iter_`` and ``converged_`` come from it.

    Examples
    --------
    >>> from hqmm import HMMEstimator, SequenceClassifier
    >>> words, labels = ["abab", "ababab", "baba", "aabb", "bbaa", "abba"], ["x", "x", "x", "y", "y", "y"]
    >>> classifier = SequenceClassifier(HMMEstimator(2, random_state=0)).fit(words, labels)
    >>> classifier.predict(["babab", "aabbb"])
    array(['x', 'y'], dtype='<U1')
    """

    classes_: AnyArray
    models_: list[Model]
    estimators_: list[SequenceEstimator]
    prior_: FloatArray
    alphabet_: Alphabet
    result_: ClassFit
    history_: dict[str, FloatArray]
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        estimator: Any = None,
        *,
        objective: Literal["generative", "discriminative"] = "generative",
        prior: str | ArrayLike = "empirical",
        learner: str | Learner = "lbfgs",
        pull: float = 0.0,
        validation: Any = None,
        monitor: Monitor = "likelihood",
        patience: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.prior = prior
        self.learner = learner
        self.pull = pull
        self.validation = validation
        self.monitor = monitor
        self.patience = patience
        self.random_state = random_state

    def fit(self: Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : Sequences or anything it accepts, or a data frame
            One sequence a row; of any lengths where it is not a table.
        y : array
            The label of each.
        sample_weight : array, optional
            How often each sequence counts; multiplied with the weights of `Sequences`.

        Returns
        -------
        self
        """
        if self.objective not in ("generative", "discriminative"):
            raise ValueError(f"objective must be 'generative' or 'discriminative', not {self.objective!r}")
        inner = self._inner()
        data = weighted(read(self, X, inner.alphabet, inner.end, reset=True), sample_weight)
        labels = _labels(y, data)
        counted = np.flatnonzero(data.weights)
        data, labels = data[counted], labels[counted]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.alphabet_ = data.alphabet
        self.prior_ = self._priors(np.bincount(codes, weights=data.weights).astype(np.float64))
        generator = as_generator(self.random_state)
        data, codes, held_out = self._held_out(data, codes, generator)
        self.estimators_ = [
            self._seeded(clone(inner), generator).fit(data[codes == kind]) for kind in range(len(self.classes_))
        ]
        self.models_ = [estimator.model_ for estimator in self.estimators_]
        for name in ("result_", "history_", "n_iter_", "converged_"):
            self.__dict__.pop(name, None)
        if self.objective == "discriminative" and len(self.classes_) > 1:
            self._tell_apart(data, codes, held_out, generator)
        return self

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log p(c|x) of each sequence; one that is impossible in every class leaves the prior."""
        check_is_fitted(self, "models_")
        data = read(self, X, self.alphabet_, self.alphabet_.end is not None, reset=False)
        burn_in = self._inner().burn_in
        if self.objective == "generative":
            columns = [estimator._log_likelihood(data) for estimator in self.estimators_]
        else:
            columns = [model.log_likelihood(data, burn_in) for model in self.models_]
        values = np.stack(columns, axis=1)
        values[np.isneginf(values).all(axis=1)] = 0.0
        joint = values + np.log(self.prior_)
        result: FloatArray = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return result

    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(c|x) of each sequence, one column for each of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each sequence."""
        columns = np.argmax(self.predict_log_proba(X), axis=1)
        chosen: AnyArray = self.classes_[columns]
        return chosen

    def _inner(self) -> SequenceEstimator:
        inner = HQMMEstimator() if self.estimator is None else self.estimator
        if not isinstance(inner, SequenceEstimator):
            raise TypeError(f"estimator must be one of hqmm's, such as HQMMEstimator(), not {inner!r}")
        return inner

    def _seeded(self, estimator: Any, generator: np.random.Generator) -> Any:
        estimator.set_params(alphabet=self.alphabet_)
        if self.random_state is not None:
            estimator.set_params(random_state=int(generator.integers(2**31)))
        return estimator

    def _priors(self, shares: FloatArray) -> FloatArray:
        if isinstance(self.prior, str):
            if self.prior not in ("empirical", "uniform"):
                raise ValueError(f"prior must be 'empirical', 'uniform' or an array, not {self.prior!r}")
            given = shares if self.prior == "empirical" else np.ones(len(shares))
        else:
            given = np.array(self.prior, dtype=np.float64)
            if given.shape != shares.shape or not np.all(np.isfinite(given) & (given > 0)):
                raise DataError(
                    f"prior must have one positive number for each of the {len(shares)} classes, not {given}"
                )
        result: FloatArray = given / given.sum()
        return result

    def _held_out(
        self, data: Sequences, codes: IntArray, generator: np.random.Generator
    ) -> tuple[Sequences, IntArray, tuple[Sequences, IntArray] | None]:
        """Return training and validation data with the numbers of their classes."""
        if self.validation is None or self.objective == "generative":
            return data, codes, None
        if isinstance(self.validation, Real):
            share = checked_share(self.validation)
            rows = [np.flatnonzero(codes == kind) for kind in range(len(self.classes_))]
            pairs = [split_validation(data[chosen], share, generator) for chosen in rows]
            train, held = (Sequences.concatenate([pair[part] for pair in pairs]) for part in (0, 1))
            numbers = [np.repeat(np.arange(len(pairs)), [len(pair[part]) for pair in pairs]) for part in (0, 1)]
            return train, numbers[0], (held, numbers[1])
        end = self.alphabet_.end is not None
        other = read(self, self.validation[0], self.alphabet_, end, reset=False)
        labels = _labels(self.validation[1], other)
        unknown = ~np.isin(labels, self.classes_)
        if np.any(unknown):
            place = int(np.argmax(unknown))
            raise DataError(f"the label {labels[place]} is not one of the training data's", sequence=place)
        return data, codes, (other, np.searchsorted(self.classes_, labels))

    def _objective_learner(self) -> ObjectiveLearner:
        learner = chosen_learner(self.learner, OBJECTIVE)
        if not isinstance(learner, ObjectiveLearner):
            raise ValueError(f"the discriminative objective is for 'lbfgs' and 'adam', not for {learner!r}")
        return learner

    def _tell_apart(
        self,
        data: Sequences,
        codes: IntArray,
        held_out: tuple[Sequences, IntArray] | None,
        generator: np.random.Generator,
    ) -> None:
        inner = self._inner()
        self.result_ = fit_discriminative(
            {kind: _as_quantum(model) for kind, model in enumerate(self.models_)},
            data,
            codes,
            prior=self.prior_,
            burn_in=inner.burn_in,
            validation=held_out,
            monitor=self.monitor,
            patience=self.patience,
            pull=self.pull,
            learner=self._objective_learner(),
            random_state=generator,
            threads=getattr(inner, "threads", None),
        )
        self.models_ = list(self.result_.models.values())
        self.history_ = self.result_.history
        self.n_iter_ = len(self.history_["iteration"]) - 1
        self.converged_ = self.result_.reason == "converged"
        if not self.converged_:
            advice = not_converged(
                type(self).__name__, self.n_iter_, self.result_.reason, "the learner's max_iter"
            )
            warnings.warn(advice, ConvergenceWarning, stacklevel=3)


def _labels(y: Any, data: Sequences) -> AnyArray:
    if y is None:
        raise ValueError("SequenceClassifier requires y to be passed, but the target y is None")
    labels: AnyArray = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    check_consistent_length(data, labels)
    return labels


def _as_quantum(model: Model) -> HQMM | HybridHQMM | NOOM:
    """Return the model in a class that has a discriminative objective."""
    if isinstance(model, HMM | MarkovChain):
        return model.to_hybrid()
    if not isinstance(model, HQMM | HybridHQMM | NOOM):
        raise ModelError(f"there is no discriminative objective for {model!r}; use objective='generative'")
    return model
