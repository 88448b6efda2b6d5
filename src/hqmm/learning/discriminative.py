"""Discriminative training: one model for each class, learned to tell the classes apart.

A model P_c for each class c gives p(c|x) ∝ π_c P_c(x). What is maximised is the mean of log p(c_i|x_i) over
labelled sequences, whose derivative by the parameters of P_c is that of Σ_i v_ic log P_c(x_i) at fixed weights
v_ic = 1[c = c_i] − p(c|x_i): the likelihood's own engine computes it.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hqmm._random import RandomState, as_generator
from hqmm._typing import FloatArray, IntArray
from hqmm.errors import DataError, ModelError
from hqmm.learning.driver import Reason, guarded
from hqmm.learning.interrupt import interruptible
from hqmm.learning.quasi_newton import (
    ObjectiveLearner,
    RiemannianLBFGS,
    Value,
    mean_value,
)
from hqmm.learning.settings import at_least
from hqmm.learning.space import Evaluation, Point, space_of, start_of
from hqmm.learning.stiefel_learner import StiefelState
from hqmm.learning.task import Task
from hqmm.models import HQMM, NOOM, HybridHQMM, Model
from hqmm.sequences import Sequences

Label: TypeAlias = Hashable
Monitor: TypeAlias = Literal["likelihood", "accuracy"]


@dataclass(frozen=True)
class ClassFit:
    """One model for each class, why training stopped, and how it got there.

    ``history`` holds one array per column: iteration, passes over the data, train and validation conditional
    log-likelihood (the mean of log p(c_i|x_i)), train and validation accuracy, seconds, and step.
    """

    models: dict[Label, HQMM | HybridHQMM]
    prior: FloatArray
    reason: Reason
    history: dict[str, FloatArray]
    best_iteration: int
    seconds: float


def log_posterior(
    models: Mapping[Any, Model], sequences: Any, *, prior: ArrayLike | None = None, burn_in: int = 0
) -> FloatArray:
    """Return log p(c|x) of every sequence, one column for each class, in the order of the models.

    Parameters
    ----------
    models : mapping of label to Model
        One for each class.
    sequences : Sequences or anything it accepts
        The data.
    prior : array, optional
        π_c, in the order of the models; all equal by default.
    burn_in : int
        Symbols at the start of each sequence that are not scored.

    Returns
    -------
    array (N, classes)
        NaN for a sequence that is impossible under every model.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.datasets import hqmm_2_4
    >>> from hqmm.models import HQMM
    >>> from hqmm.learning.discriminative import log_posterior
    >>> coin = HQMM(np.full((4, 1, 1, 1), 0.5))
    >>> np.exp(log_posterior({"coin": coin, "quantum": hqmm_2_4()}, [[0, 1, 0]])).round(3)
    array([[1., 0.]])
    """
    columns = [model.log_likelihood(sequences, burn_in) for model in models.values()]
    chosen = np.full(len(columns), 1 / len(columns)) if prior is None else _checked_prior(prior, len(columns))
    return _normalised(np.stack(columns, axis=1) + np.log(chosen))


def fit_discriminative(
    models: Mapping[Any, Model],
    sequences: Any,
    labels: Iterable[Any],
    *,
    prior: ArrayLike | None = None,
    burn_in: int = 0,
    validation: tuple[Any, Iterable[Any]] | None = None,
    monitor: Monitor = "likelihood",
    patience: int | None = None,
    max_iter: int | None = None,
    pull: float = 0.0,
    learner: ObjectiveLearner | None = None,
    random_state: RandomState = None,
    threads: int | None = None,
) -> ClassFit:
    """Train one model for each class to maximise the mean of log p(c_i|x_i).

    Parameters
    ----------
    models : mapping of label to HQMM or HybridHQMM
        Where to start: one model for each class, each learned from the sequences of its class.
    sequences : Sequences or anything it accepts
        Training data of all classes; weights of sequences count.
    labels : iterable
        The class of each sequence, a key of ``models``.
    prior : array, optional
        π_c, in the order of the models; by default the share of each class in the training data, by weight.
    burn_in : int
        Symbols at the start of each sequence that are not scored.
    validation : (sequences, labels), optional
        Held-out data; the iterate that scores best on it is kept.
    monitor : "likelihood" or "accuracy"
        What scores best on held-out data: the conditional log-likelihood, or the accuracy, and among equal ones
        the log-likelihood.
    patience : int, optional
        Stop after so many iterations without a better score.
    max_iter : int, optional
        Iterations (epochs for mini-batches); the learner's by default.
    pull : float
        λ of a penalty λ/2 Σ_c ‖κ_c − κ_c at the start‖², which holds models near where they started.
    learner : RiemannianLBFGS or RiemannianAdam, optional
        The first by default. Its ``tol`` is in nats per sequence here.
    random_state : None, int or numpy.random.Generator
        For mini-batches.
    threads : int, optional
        Threads of the engine; the result does not depend on it.

    Returns
    -------
    ClassFit

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.learning import random_hqmm
    >>> from hqmm.learning.discriminative import fit_discriminative
    >>> models = {name: random_hqmm(2, "ab")(np.random.default_rng(0)) for name in ("few", "many")}
    >>> data = Sequences(["abbbb", "bbab", "aabaa", "aaab"], alphabet="ab")
    >>> result = fit_discriminative(models, data, ["many", "many", "few", "few"], max_iter=20)
    >>> result.history["train_accuracy"][[0, -1]]
    array([0.5, 1. ])
    """
    began = time.perf_counter()
    chosen = RiemannianLBFGS() if learner is None else learner
    if not isinstance(chosen, ObjectiveLearner):
        raise DataError(
            f"learner must be RiemannianLBFGS or RiemannianAdam, which climb any objective, not {chosen!r}"
        )
    kinds, starts = _check_models(models)
    _check_options(monitor, patience, pull)
    data = next(iter(starts.values())).encode(sequences)
    classes = _classes(labels, data, kinds)
    shares = np.bincount(classes, weights=data.weights, minlength=len(kinds))
    priors = _checked_prior(shares if prior is None else prior, len(kinds))
    learn_initial = burn_in == 0 if chosen.learn_initial is None else chosen.learn_initial
    objective = Conditional(
        list(starts.values()), Task(data, burn_in, threads=threads), classes, priors, pull, learn_initial
    )
    held_out = None
    if validation is not None:
        other = next(iter(starts.values())).encode(validation[0])
        held_out = other, _classes(validation[1], other, kinds)
    limit = chosen.max_iter if max_iter is None else max_iter
    at_least("max_iter", limit, 0)
    run = _Run(chosen, objective, held_out, monitor, as_generator(random_state), began)
    with interruptible() as asked:
        while (reason := run.reason(limit, patience)) is None:
            if asked.is_set():
                reason = "interrupted"
                break
            try:
                run.advance()
            except KeyboardInterrupt:  # of a program's own handler
                asked.set()
    fitted = dict(zip(kinds, objective.models(run.best), strict=True))
    return ClassFit(fitted, priors, reason, run.columns, run.best_iteration, time.perf_counter() - began)


class Conditional:
    """The mean of log p(c_i|x_i) minus the penalty; its point is those of all models, one after another."""

    def __init__(
        self,
        starts: list[HQMM | HybridHQMM],
        task: Task,
        classes: IntArray,
        prior: FloatArray,
        pull: float,
        learn_initial: bool,
    ) -> None:
        self.task, self.classes, self.prior, self.pull = task, classes, prior, pull
        self.size = len(task.data)
        self.spaces = [space_of(model.alphabet, model.initial) for model in starts]
        points = [start_of(model, learn_initial, "fit_discriminative")[0] for model in starts]
        self.parts = len(points[0])
        self.start: Point = tuple(part for point in points for part in point)

    def models(self, point: Point) -> list[HQMM | HybridHQMM]:
        """Return the model of each class."""
        return [space.model(part) for space, part in zip(self.spaces, self._split(point), strict=True)]

    def log_posterior(self, point: Point, data: Sequences) -> FloatArray:
        """Return log p(c|x), (N, classes)."""
        columns = [
            space.log_likelihood(part, data, self.task.burn_in, self.task.threads)
            for space, part in zip(self.spaces, self._split(point), strict=True)
        ]
        return _normalised(np.stack(columns, axis=1) + np.log(self.prior))

    def evaluate(self, point: Point, chosen: IntArray | None = None) -> Value:
        """Return the mean over all or the chosen sequences, and its derivatives."""
        rows = np.arange(self.size) if chosen is None else chosen
        data, classes = self.task.data[rows], self.classes[rows]
        posterior = self.log_posterior(point, data)
        values = _of_class(posterior, classes)
        weights = np.where(np.isfinite(values), data.weights, 0.0)
        gradient: list[Any] = []
        for kind, part in enumerate(self._split(point)):
            # Weights of data are never negative, so a class is pulled up by its own sequences, with weight
            # 1 − p(c|x), and down by those of other classes, with weight p(c|x).
            own = classes == kind
            share = np.exp(np.where(weights > 0, posterior[:, kind], -np.inf))
            up = self._derivative(kind, part, data, own, weights * (1 - share))
            down = self._derivative(kind, part, data, ~own, weights * share)
            gradient += [plus - minus for plus, minus in zip(up, down, strict=True)]
        mean = mean_value(Evaluation(values, tuple(gradient), 0), data.weights, data.weights)
        return self._pulled(point, mean)

    def _derivative(self, kind: int, part: Point, data: Sequences, rows: np.ndarray, weights: FloatArray) -> Point:
        needed = np.flatnonzero(rows & (weights > 0))
        if len(needed) == 0:
            return tuple(np.zeros_like(one) for one in part)
        weighted = data[needed].with_weights(weights[needed])
        return self.spaces[kind].evaluate(part, weighted, self.task.burn_in, self.task.threads).gradient

    def _pulled(self, point: Point, mean: Value) -> Value:
        """Subtract λ/2 ‖κ − κ₀‖², whose derivative by κ* is λ/2 (κ − κ₀)."""
        if self.pull == 0:
            return mean
        away = tuple(now - first for now, first in zip(point, self.start, strict=True))
        penalty = self.pull / 2 * sum(float(np.linalg.norm(part)) ** 2 for part in away)
        gradient = tuple(one - self.pull / 2 * part for one, part in zip(mean.gradient, away, strict=True))
        return replace(mean, objective=mean.objective - penalty, gradient=gradient)

    def _split(self, point: Point) -> list[Point]:
        return [point[first : first + self.parts] for first in range(0, len(point), self.parts)]


COLUMNS = (
    "iteration",
    "passes",
    "train",
    "validation",
    "train_accuracy",
    "validation_accuracy",
    "seconds",
    "step",
)


class _Run:
    """One run of a learner on the conditional likelihood: its state, history and best iterate."""

    def __init__(
        self,
        learner: ObjectiveLearner,
        objective: Conditional,
        held_out: tuple[Sequences, IntArray] | None,
        monitor: Monitor,
        generator: np.random.Generator,
        began: float,
    ) -> None:
        self.learner, self.objective, self.held_out = learner, objective, held_out
        self.monitor, self.generator, self.began = monitor, generator, began
        self.history: list[list[float]] = []
        self.best, self.best_iteration = objective.start, 0
        self.best_score: tuple[float, ...] = ()
        self.state = learner.start(StiefelState(point=objective.start), objective)
        self._record()

    @property
    def columns(self) -> dict[str, FloatArray]:
        return dict(zip(COLUMNS, np.array(self.history).T, strict=True))

    def advance(self) -> None:
        self.state = guarded(
            lambda: self.learner.improve(self.state, self.objective, self.generator), otherwise=self.state
        )
        if np.isfinite(self.state.objective):
            self._record()

    def reason(self, max_iter: int, patience: int | None) -> Reason | None:
        iteration = len(self.history) - 1
        if not np.isfinite(self.state.objective):
            return "non_finite"
        if self.learner.done(self.state):
            return "converged"
        if patience is not None and iteration - self.best_iteration >= patience:
            return "no_progress"
        return "max_iter" if iteration >= max_iter else None

    def _record(self) -> None:
        iteration, state = len(self.history), self.state
        train, train_accuracy = self._score(self.objective.task.data, self.objective.classes)
        held, held_accuracy = (np.nan, np.nan) if self.held_out is None else self._score(*self.held_out)
        seconds = time.perf_counter() - self.began
        self.history.append(
            [iteration, state.passes, train, held, train_accuracy, held_accuracy, seconds, state.step]
        )
        score = self._rank(held, held_accuracy)
        # without held-out data the last iterate is kept
        if self.held_out is None or not self.best_score or score > self.best_score:
            self.best, self.best_score, self.best_iteration = state.point, score, iteration

    def _rank(self, held: float, accuracy: float) -> tuple[float, ...]:
        return (accuracy, held) if self.monitor == "accuracy" else (held,)

    def _score(self, data: Sequences, classes: IntArray) -> tuple[float, float]:
        """Return the mean of log p(c_i|x_i) and the accuracy, by weight."""
        posterior = self.objective.log_posterior(self.state.point, data)
        counted = data.weights > 0
        values = np.nan_to_num(_of_class(posterior, classes), nan=-np.inf)[counted]
        right = _guesses(posterior)[counted] == classes[counted]
        weights = data.weights[counted]
        return float(np.average(values, weights=weights)), float(np.average(right, weights=weights))


def _normalised(joint: FloatArray) -> FloatArray:
    """Return log p(c|x) from log π_c P_c(x); NaN where x is impossible under every model."""
    largest = joint.max(axis=1, keepdims=True)
    safe = np.where(np.isfinite(largest), largest, 0.0)
    total = np.exp(joint - safe).sum(axis=1, keepdims=True)
    return np.where(total > 0, joint - safe - np.log(np.where(total > 0, total, 1.0)), np.nan)


def _of_class(posterior: FloatArray, classes: IntArray) -> FloatArray:
    return posterior[np.arange(len(classes)), classes]


def _guesses(posterior: FloatArray) -> IntArray:
    """Return the most probable class, −1 where every model says impossible."""
    impossible = np.isnan(posterior).any(axis=1)
    return np.where(impossible, -1, np.argmax(np.nan_to_num(posterior, nan=-np.inf), axis=1))


# --- what is asked for ----------------------------------------------------------------------------------------


def _check_models(models: Mapping[Any, Model]) -> tuple[list[Label], dict[Label, HQMM | HybridHQMM]]:
    if len(models) < 2:
        raise ModelError("there is nothing to tell apart: models must name at least two classes")
    starts: dict[Label, HQMM | HybridHQMM] = {}
    for label, model in models.items():
        if not isinstance(model, HQMM | NOOM | HybridHQMM):
            raise ModelError(
                f"the model of class {label!r} must be an HQMM or a HybridHQMM, not {model!r}; see to_hqmm()"
            )
        starts[label] = model.to_hqmm() if isinstance(model, NOOM) else model
    alphabets = {model.alphabet for model in starts.values()}
    if len(alphabets) > 1:
        raise ModelError("the models of all classes must have the same alphabet")
    return list(starts), starts


def _check_options(monitor: str, patience: int | None, pull: float) -> None:
    if monitor not in ("likelihood", "accuracy"):
        raise ValueError(f"monitor must be 'likelihood' or 'accuracy', not {monitor!r}")
    if patience is not None:
        at_least("patience", patience, 1)
    if not pull >= 0:
        raise DataError(f"pull must not be negative, but is {pull}")


def _classes(labels: Iterable[Any], data: Sequences, kinds: list[Label]) -> IntArray:
    """Return the number of each sequence's class."""
    listed = list(labels)
    if len(listed) != len(data):
        raise DataError(f"there must be one label per sequence: {len(data)}, not {len(listed)}")
    number = {label: index for index, label in enumerate(kinds)}
    for place, label in enumerate(listed):
        if label not in number:
            raise DataError(f"the label {label!r} has no model; the classes are {kinds}", sequence=place)
    return np.array([number[label] for label in listed], dtype=np.int64)


def _checked_prior(prior: ArrayLike, count: int) -> FloatArray:
    array = np.array(prior, dtype=np.float64)
    if array.shape != (count,):
        raise DataError(f"prior must have one number for each class: shape ({count},), not {array.shape}")
    if not np.all(np.isfinite(array) & (array > 0)):
        raise DataError(
            f"every class needs a positive prior, but they are {array}; pass prior= where a class has no sequences"
        )
    return array / array.sum()
