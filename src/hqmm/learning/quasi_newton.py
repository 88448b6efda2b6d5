"""Riemannian L-BFGS: curvature learned from the last few steps, on a product of complex Stiefel manifolds.

Functions here are maximised. Complex matrices count as real vectors with the inner product Re⟨·,·⟩: the Wirtinger
derivative G = ∂f/∂κ* has df = Re⟨2G, dκ⟩, so that 2G, projected on the tangent space, is the gradient of f.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from hqmm._typing import ComplexArray, FloatArray, IntArray
from hqmm.learning.settings import at_least, between
from hqmm.learning.space import Evaluation, Point, Space
from hqmm.learning.stiefel import euclidean_tangent, polar
from hqmm.learning.stiefel_learner import StiefelLearner, StiefelState, largest_error
from hqmm.learning.task import Task

# A step must bring this share of the gain that the slope promises (Armijo).
_ENOUGH = 1e-4
_SHORTEST_STEP = 1e-7
# A step along which the gradient changes with less curvature than this share of ‖change‖² teaches nothing.
_FLAT = 1e-10
_STATIONARY = 1e-9


# --- what is maximised ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A weighted mean over examples, its derivatives ∂/∂(each part)*, and the sum of the weights.

    Impossible examples are counted in ``n_zero`` and left out of all three.
    """

    objective: float
    gradient: Point
    weight: float
    n_zero: int


class Objective(Protocol):
    """A mean over examples, as a function of a point."""

    size: int

    def evaluate(self, point: Point, chosen: IntArray | None = None) -> Value:
        """Return the mean over all examples, or over the chosen ones, and its derivatives."""


class Likelihood:
    """The log-likelihood per scored symbol of a task's training data."""

    def __init__(self, space: Space, task: Task) -> None:
        self.space, self.task = space, task
        self.size = len(task.data)

    def evaluate(self, point: Point, chosen: IntArray | None = None) -> Value:
        """Return the mean over the symbols of all or the chosen sequences, and its derivatives."""
        task = self.task
        data = task.data if chosen is None else task.data[chosen]
        result = self.space.evaluate(point, data, task.burn_in, task.threads)
        return mean_value(result, np.maximum(data.lengths - task.burn_in, 0) * data.weights, data.weights)


def mean_value(total: Evaluation, shares: FloatArray, weights: FloatArray) -> Value:
    """Return the mean of what was summed by ``weights`` over examples that count for ``shares`` of it."""
    counted, possible = weights != 0, np.isfinite(total.log_likelihood)
    used = counted & possible
    weight = float(shares[used].sum())
    objective = float(weights[used] @ total.log_likelihood[used]) / weight if weight else -np.inf
    gradient = tuple(part / weight if weight else part for part in total.gradient)
    return Value(objective, gradient, weight, int(np.count_nonzero(counted & ~possible)))


class ObjectiveLearner(StiefelLearner):
    """A learner that can maximise any objective over a point; in a fit it is the likelihood."""

    @abstractmethod
    def start(self, state: StiefelState, objective: Objective) -> Any:
        """Return the learner's own state at the point of a state."""

    @abstractmethod
    def improve(self, state: Any, objective: Objective, generator: np.random.Generator) -> Any:
        """Return the state after one iteration."""

    def _begin(self, state: StiefelState, task: Task) -> Any:
        return self.start(state, Likelihood(self.space(state, task), task))

    def advance(self, state: Any, task: Task, generator: np.random.Generator) -> Any:
        """Return the state after one iteration."""
        return self.improve(state, Likelihood(self.space(state, task), task), generator)


# --- the learner ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LBFGSState(StiefelState):
    """A point, the gradient there, and the last steps and the falls of the gradient along them.

    The gradient is a flat real vector; steps and falls hold one for each row, all tangent at the point.
    """

    gradient: FloatArray = field(default_factory=lambda: np.zeros(0))
    steps: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    falls: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class RiemannianLBFGS(ObjectiveLearner):
    """Limited-memory BFGS on the manifold: full batch, without a step size; the likelihood never falls.

    Directions come from the two-loop recursion (Nocedal and Wright, Algorithm 7.4) on tangent vectors, which are
    carried from point to point by projection (Huang, Gallivan and Absil 2015); points move by the polar
    retraction, as far as an Armijo line search allows.

    Parameters
    ----------
    max_iter : int
        Iterations: passes over the data, unless a line search needs a second trial.
    tol : float
        Stop when an iteration gains less than this much log-likelihood per symbol.
    memory : int
        Number of steps remembered.
    learn_initial : bool, optional
        Also learn the initial state; by default only where there is no burn-in.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import fit, random_hqmm
    >>> from hqmm.learning.quasi_newton import RiemannianLBFGS
    >>> data = hqmm_2_6().sample(20, 100, random_state=0)
    >>> result = fit(RiemannianLBFGS(), random_hqmm(2, 6), data, random_state=0)
    >>> result.reason, bool((result.history["train"][1:] >= result.history["train"][:-1]).all())
    ('converged', True)
    """

    max_iter: int = 300
    tol: float = 1e-7
    memory: int = 10
    learn_initial: bool | None = None

    def __post_init__(self) -> None:
        at_least("memory", self.memory, 1)
        between("tol", self.tol, 0, np.inf)

    def start(self, state: StiefelState, objective: Objective) -> LBFGSState:
        """Return the value and gradient at the point of a state, with nothing remembered."""
        value = objective.evaluate(state.point)
        gradient = _flat(riemannian(state.point, value.gradient))
        nothing = np.zeros((0, len(gradient)))
        return LBFGSState(
            objective=value.objective,
            n_zero=value.n_zero,
            passes=1.0,
            feasibility=largest_error(state.point),
            point=state.point,
            initial=state.initial,
            gradient=gradient,
            steps=nothing,
            falls=nothing,
        )

    def improve(self, state: LBFGSState, objective: Objective, generator: np.random.Generator) -> LBFGSState:
        """Return the state after one line search."""
        if not np.linalg.norm(state.gradient) > _STATIONARY:
            return replace(state, converged=True)
        direction = _projected(state.point, _ascent(state.gradient, state.steps, state.falls))
        slope = max(float(direction @ state.gradient), 0.0)
        length = 1.0
        while length > _SHORTEST_STEP:
            step = length * direction
            point = moved(state.point, _shaped(step, state.point))
            value = objective.evaluate(point)
            state = replace(state, passes=state.passes + 1)
            promised, gain = length * slope, value.objective - state.objective
            if value.n_zero < state.n_zero or (value.n_zero == state.n_zero and gain >= _ENOUGH * promised):
                return replace(self._arrived(state, point, value, step), step=length)
            length *= _shortened(promised, gain)
        # the remembered curvature was wrong; if there was none, there is nothing left to gain
        return replace(state, steps=state.steps[:0], falls=state.falls[:0], converged=len(state.steps) == 0)

    def _arrived(self, state: LBFGSState, point: Point, value: Value, step: FloatArray) -> LBFGSState:
        gradient = _flat(riemannian(point, value.gradient))
        steps = _projected(point, np.concatenate([state.steps, step[None]]))
        fall = _projected(point, state.gradient) - gradient
        falls = np.concatenate([_projected(point, state.falls), fall[None]])
        same = value.n_zero == state.n_zero  # otherwise this is another function, and its curvature unknown
        curved = np.einsum("ij,ij->i", steps, falls) > _FLAT * np.einsum("ij,ij->i", falls, falls)
        kept = np.flatnonzero(curved & same)[-self.memory :]
        return replace(
            state,
            objective=value.objective,
            n_zero=value.n_zero,
            point=point,
            gradient=gradient,
            steps=steps[kept],
            falls=falls[kept],
            feasibility=largest_error(point),
            converged=bool(same and value.objective - state.objective < self.tol),
        )


def _ascent(gradient: FloatArray, steps: FloatArray, falls: FloatArray) -> FloatArray:
    """Return the inverse Hessian of −f times the gradient of f, by the two-loop recursion."""
    if len(steps) == 0:
        return gradient
    curvatures = np.einsum("ij,ij->i", steps, falls)
    direction = gradient.copy()
    shares = np.zeros(len(steps))
    for i in reversed(range(len(steps))):
        shares[i] = steps[i] @ direction / curvatures[i]
        direction -= shares[i] * falls[i]
    direction *= curvatures[-1] / (falls[-1] @ falls[-1])
    for i in range(len(steps)):
        direction += (shares[i] - falls[i] @ direction / curvatures[i]) * steps[i]
    return direction


def _shortened(promised: float, gain: float) -> float:
    """Return what to shorten a step by: to the top of the parabola through what is known of it, within reason."""
    missed = promised - gain
    return float(np.clip(promised / (2 * missed), 0.1, 0.5)) if np.isfinite(missed) else 0.1


# --- tangent vectors ------------------------------------------------------------------------------------------


def riemannian(point: Point, derivative: Point) -> Point:
    """Return the gradient on the manifold from the derivatives ∂f/∂(each part)*."""
    return project(point, tuple(2 * part for part in derivative))


def project(point: Point, vectors: Point) -> Point:
    """Return the projection of vectors, or of stacks of them, on the tangent space."""
    return tuple(euclidean_tangent(part, vector) for part, vector in zip(point, vectors, strict=True))


def moved(point: Point, step: Point) -> Point:
    """Return the point after a tangent step, by the polar retraction."""
    return tuple(polar(part + by) for part, by in zip(point, step, strict=True))


def _flat(vectors: Point) -> FloatArray:
    """Return vectors, or stacks of them, as rows of real numbers, whose dot product is Re⟨·,·⟩."""
    rows: list[ComplexArray] = [part.reshape(*part.shape[:-3], math.prod(part.shape[-3:])) for part in vectors]
    return np.concatenate(rows, axis=-1).view(np.float64)


def _shaped(rows: FloatArray, like: Point) -> Point:
    """Return what `_flat` made rows of, in the shapes of a point."""
    ends = np.cumsum([part.size for part in like])[:-1]
    pieces = np.split(rows.view(np.complex128), ends, axis=-1)
    return tuple(piece.reshape(*rows.shape[:-1], *part.shape) for piece, part in zip(pieces, like, strict=True))


def _projected(point: Point, rows: FloatArray) -> FloatArray:
    return _flat(project(point, _shaped(rows, point)))
