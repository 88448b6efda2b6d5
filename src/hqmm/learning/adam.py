"""Riemannian Adam: adaptive steps from batches or from all the data, on a product of complex Stiefel manifolds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hqmm._typing import FloatArray, IntArray
from hqmm.learning.quasi_newton import Objective, ObjectiveLearner, moved, project, riemannian
from hqmm.learning.settings import at_least, between
from hqmm.learning.space import Point
from hqmm.learning.stiefel_learner import StiefelState, largest_error

_STATIONARY = 1e-9
_SMALL = 1e-8  # Adam's ε: keeps an entry whose gradient is all but zero where it is
SCHEDULES = ("cosine", "constant")


@dataclass(frozen=True)
class AdamState(StiefelState):
    """A point, the derivative there (full batch only), the two moments of the gradients, and counts.

    ``mean`` is tangent at the point; ``square`` holds an average of |g|² for each complex entry.
    """

    gradient: Point = ()
    mean: Point = ()
    square: tuple[FloatArray, ...] = ()
    updates: int = 0
    epoch: int = 0


@dataclass(frozen=True)
class RiemannianAdam(ObjectiveLearner):
    """Adam with gradients projected on the tangent space, and the polar retraction.

    The second moment of a complex entry is that of its modulus, so that a step does not turn its phase; the first
    is carried from point to point by projection (Bécigneul and Ganea 2019 treat products of whole manifolds
    likewise; here every entry has its own scale, as in Adam).

    Parameters
    ----------
    step : float
        Size of a step: about how far an entry of κ moves.
    batch_size : int, optional
        Sequences in a batch; None means all of them.
    schedule : "cosine" or "constant"
        How the step falls over ``max_iter`` epochs: along half a cosine to zero, or not at all.
    max_iter : int
        Epochs.
    decay : (float, float)
        β₁ and β₂: what the moments keep at each update.
    learn_initial : bool, optional
        Also learn the initial state; by default only where there is no burn-in.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import fit, random_hqmm
    >>> from hqmm.learning.adam import RiemannianAdam
    >>> data = hqmm_2_6().sample(40, 100, random_state=0)
    >>> result = fit(RiemannianAdam(max_iter=10), random_hqmm(2, 6), data, random_state=0)
    >>> bool(result.history["train"][-1] > result.history["train"][0])
    True
    """

    step: float = 0.02
    batch_size: int | None = 20
    schedule: str = "cosine"
    max_iter: int = 60
    decay: tuple[float, float] = (0.9, 0.99)
    learn_initial: bool | None = None

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(map(repr, SCHEDULES))}, not {self.schedule!r}")
        if self.batch_size is not None:
            at_least("batch_size", self.batch_size, 1)
        between("step", self.step, 0, np.finfo(float).max)
        if not all(0 <= beta < 1 for beta in self.decay):
            raise ValueError(f"decay must be two numbers from 0 up to, not including, 1, not {self.decay}")

    def start(self, state: StiefelState, objective: Objective) -> AdamState:
        """Return the value and gradient at the point of a state, with moments of zero."""
        begun = AdamState(
            step=self._length(0),
            feasibility=largest_error(state.point),
            point=state.point,
            initial=state.initial,
            mean=tuple(np.zeros_like(part) for part in state.point),
            square=tuple(np.zeros(part.shape) for part in state.point),
        )
        return _evaluated(begun, objective)

    def improve(self, state: AdamState, objective: Objective, generator: np.random.Generator) -> AdamState:
        """Return the state after one epoch: one step on all the data, or one on every batch in random order."""
        if self.batch_size is None or self.batch_size >= objective.size:
            following = _evaluated(self._updated(state, state.gradient), objective)
            steepest = riemannian(following.point, following.gradient)
            flat = all(np.linalg.norm(part) < _STATIONARY for part in steepest)
            return self._closed(replace(following, converged=flat))
        return self._closed(self._sweep(state, objective, generator.permutation(objective.size), self.batch_size))

    def _sweep(self, state: AdamState, objective: Objective, order: IntArray, size: int) -> AdamState:
        batches = [order[first : first + size] for first in range(0, len(order), size)]
        values = []
        for batch in batches:
            values.append(objective.evaluate(state.point, batch))
            state = self._updated(state, values[-1].gradient)
        weight = sum(value.weight for value in values)
        total = sum(value.weight * value.objective for value in values if value.weight)
        return replace(
            state,
            objective=total / weight if weight else -np.inf,
            n_zero=sum(value.n_zero for value in values),
            passes=state.passes + 1,
        )

    def _closed(self, state: AdamState) -> AdamState:
        epoch = state.epoch + 1
        return replace(state, epoch=epoch, step=self._length(epoch), feasibility=largest_error(state.point))

    def identity(self) -> str:
        """Return what decides the iterates, the number of epochs included where the step falls over them."""
        return repr(self) if self.schedule == "cosine" else super().identity()

    def _length(self, epoch: int) -> float:
        if self.schedule == "constant":
            return self.step
        return self.step * (1 + float(np.cos(np.pi * min(epoch / max(self.max_iter, 1), 1)))) / 2

    def _updated(self, state: AdamState, derivative: Point) -> AdamState:
        gradient = riemannian(state.point, derivative)
        (beta, gamma), count = self.decay, state.updates + 1
        mean = tuple(beta * old + (1 - beta) * new for old, new in zip(state.mean, gradient, strict=True))
        square = tuple(
            gamma * old + (1 - gamma) * np.abs(new) ** 2 for old, new in zip(state.square, gradient, strict=True)
        )
        scaled = tuple(
            (first / (1 - beta**count)) / (np.sqrt(second / (1 - gamma**count)) + _SMALL)
            for first, second in zip(mean, square, strict=True)
        )
        step = tuple(state.step * part for part in project(state.point, scaled))
        point = moved(state.point, step)
        return replace(state, point=point, mean=project(point, mean), square=square, updates=count)


def _evaluated(state: AdamState, objective: Objective) -> AdamState:
    value = objective.evaluate(state.point)
    return replace(
        state,
        objective=value.objective,
        n_zero=value.n_zero,
        gradient=value.gradient,
        passes=state.passes + 1,
    )
