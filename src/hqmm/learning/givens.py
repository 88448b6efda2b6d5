"""Givens search: random rotations of two rows of κ at a time (Srinivasan et al. 2018)."""

from __future__ import annotations

import operator
import threading
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hqmm._typing import ComplexArray, FloatArray, IntArray
from hqmm.errors import DataError
from hqmm.learning.space import Point, Space
from hqmm.learning.stiefel_learner import StiefelLearner, StiefelState, largest_error
from hqmm.learning.task import Task, mean_log_likelihood
from hqmm.sequences import Sequences

# What a symbol of an impossible sequence counts: finite, so that a rotation can make the sequence possible.
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class GivensState(StiefelState):
    """The best point so far.

    ``trace`` is the last batch's log-likelihood per symbol before its first iteration and after each.
    """

    batch: int = 0
    trace: FloatArray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class GivensSearch(StiefelLearner):
    """Rotate two random rows of κ at a time, by the angles that suit a few random sequences best.

    A batch draws sequences and rotates random pairs of rows, whichever operators they belong to; each time the
    four angles of ``rotation`` are optimised from zero (SciPy's L-BFGS-B, with the exact gradient) and kept if the
    batch becomes more likely. Then all data are scored, and the next batch starts from the best point so far, so
    that what suited only a few sequences is forgotten.

    One iteration of the driver is one batch. Its passes count every sequence evaluated (to optimise or to score)
    over the number of sequences. It never converges, it only runs out of batches: past the end of the schedule,
    if ``fit(max_iter=…)`` asks for it, the last stage goes on.

    Parameters
    ----------
    schedule : tuple of (batch size, iterations, batches)
        The stages, in order: sequences drawn for a batch, pairs of rows tried on it, and number of batches.
    learn_initial : bool, optional
        Also rotate rows of vec X, where ρ₀ = XX†; by default only where there is no burn-in. A pair is drawn with
        equal chances from all pairs within κ or within vec X.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import fit, random_hqmm
    >>> from hqmm.learning.givens import GivensSearch
    >>> data = hqmm_2_6().sample(20, 100, random_state=0)
    >>> result = fit(GivensSearch(((1, 3, 4), (4, 3, 2))), random_hqmm(2, 6), data, random_state=0)
    >>> result.n_iter, result.reason
    (6, 'max_iter')
    >>> bool((result.history["train"][1:] >= result.history["train"][:-1]).all())
    True
    """

    schedule: tuple[tuple[int, int, int], ...] = ((1, 6, 30), (4, 5, 15), (10, 3, 10))
    learn_initial: bool | None = None
    max_iter: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            stages = tuple(tuple(map(operator.index, stage)) for stage in self.schedule)
        except TypeError:
            stages = ()
        if not stages or any(len(stage) != 3 or min(stage) < 1 for stage in stages):
            raise DataError(
                "schedule must hold stages (batch size, iterations, batches) of whole numbers from 1 up, "
                f"but is {self.schedule!r}"
            )
        object.__setattr__(self, "schedule", stages)
        object.__setattr__(self, "max_iter", sum(batches for _, _, batches in stages))

    def _begin(self, state: StiefelState, task: Task) -> GivensState:
        objective, n_zero = _score(self.space(state, task), state.point, task)
        return GivensState(
            objective=objective,
            n_zero=n_zero,
            passes=1.0,
            feasibility=largest_error(state.point),
            point=state.point,
            initial=state.initial,
        )

    def advance(self, state: GivensState, task: Task, generator: np.random.Generator) -> GivensState:
        """Return the state after one batch."""
        space = self.space(state, task)
        batch_size, iterations = self._stage(state.batch)
        batch = _draw(task, batch_size, generator)
        pairs = _random_pairs(state.point, iterations, generator)
        with _ONE_BLAS_THREAD:
            point, trace, evaluations = _rotated(space, state.point, pairs, batch, task)
        objective, n_zero = _score(space, point, task)
        passes = state.passes + evaluations * len(batch) / len(task.data) + 1
        state = replace(state, batch=state.batch + 1, trace=trace, passes=passes)
        if (n_zero, -objective) >= (state.n_zero, -state.objective):
            return state
        feasibility = largest_error(point)
        return replace(state, point=point, objective=objective, n_zero=n_zero, feasibility=feasibility)

    def _stage(self, batch: int) -> tuple[int, int]:
        """Return the batch size and the iterations of a batch."""
        ends = np.cumsum([batches for _, _, batches in self.schedule])
        stage = min(int(np.searchsorted(ends, batch, side="right")), len(ends) - 1)
        return self.schedule[stage][:2]


def rotation(angles: ArrayLike) -> ComplexArray:
    """Return the complex Givens rotation of two rows by the angles (φ, ψ, δ, θ).

    e^{iφ/2} [[e^{iψ} cos θ, e^{iδ} sin θ], [−e^{−iδ} sin θ, e^{−iψ} cos θ]]: every unitary 2 × 2 matrix is one.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning.givens import rotation
    >>> rotation([0, 0, 0, np.pi / 2]).real.round(3)
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    return _rotation_and_slopes(np.asarray(angles, dtype=np.float64))[0]


def _rotation_and_slopes(angles: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """Return the rotation and its derivatives by the four angles, (4, 2, 2)."""
    phi, psi, delta, theta = angles
    cos, sin = np.cos(theta), np.sin(theta)
    common, p, d = np.exp(0.5j * phi), np.exp(1j * psi), np.exp(1j * delta)
    U = common * np.array([[p * cos, d * sin], [-sin / d, cos / p]])
    slopes = np.array(
        [
            0.5j * U,
            1j * common * np.array([[p * cos, 0], [0, -cos / p]]),
            1j * common * np.array([[0, d * sin], [sin / d, 0]]),
            common * np.array([[-p * sin, d * cos], [-cos / d, -sin / p]]),
        ]
    )
    return U, slopes


@dataclass(frozen=True)
class _Rotation:
    """The likelihood of a batch as a function of the angles that rotate two rows of one part of a point."""

    space: Space
    point: Point
    batch: Sequences
    task: Task
    part: int
    label: int
    rows: IntArray

    def at(self, U: ComplexArray) -> Point:
        """Return the point with its rows rotated."""
        rotated = self.point[self.part].copy()
        rotated[self.label, self.rows] = U @ rotated[self.label, self.rows]
        return (*self.point[: self.part], rotated, *self.point[self.part + 1 :])

    def value_and_gradient(self, angles: FloatArray) -> tuple[float, FloatArray]:
        """Return the batch's log-likelihood per symbol and its derivatives, dℓ = 2 Re⟨∂ℓ/∂κ*, dκ⟩."""
        U, slopes = _rotation_and_slopes(angles)
        values, uphill = self._uphill(self.at(U))
        moves = slopes @ self.point[self.part][self.label, self.rows]
        gradient: FloatArray = 2 * np.einsum("ij,kij->k", uphill.conj(), moves).real
        scored = self.batch.lengths - self.task.burn_in
        values = np.where(values > -np.inf, values, scored * _LOG_TINY)
        symbols = float(scored @ self.batch.weights)
        return float(values @ self.batch.weights) / symbols, gradient / symbols

    def _uphill(self, point: Point) -> tuple[FloatArray, ComplexArray]:
        """Return ℓ of each sequence and the rows of ∂ℓ/∂κ*; a line search needs it in full, burn-in included."""
        result = self.space.evaluate(point, self.batch, self.task.burn_in, self.task.threads)
        return result.log_likelihood, result.gradient[self.part][self.label, self.rows]

    def maximise(self) -> tuple[float, float, FloatArray, int]:
        """Return the value at zero, the best value found, its angles, and how often the batch was evaluated."""
        from scipy.optimize import minimize

        values: list[float] = []

        def loss(angles: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.value_and_gradient(angles)
            values.append(value)
            return -value, -gradient

        found: Any = minimize(loss, np.zeros(4), jac=True, method="L-BFGS-B", bounds=[(-np.pi, np.pi)] * 4)
        return values[0], -float(found.fun), found.x, len(values)


def _rotated(
    space: Space, point: Point, pairs: list[tuple[int, int, IntArray]], batch: Sequences, task: Task
) -> tuple[Point, FloatArray, int]:
    """Rotate pair after pair; also return the batch's likelihood on the way, and how often it was evaluated."""
    trace: list[float] = []
    evaluations = 0
    for part, label, rows in pairs:
        problem = _Rotation(space, point, batch, task, part, label, rows)
        before, after, angles, count = problem.maximise()
        if after > before:
            point = problem.at(rotation(angles))
        trace = [*(trace or [before]), max(before, after)]
        evaluations += count
    return point, np.array(trace), evaluations


class _OneBlasThread:
    """Keep BLAS on one thread: L-BFGS-B wakes all of them for its tiny systems, and waits up to 8 ms each time.

    The limit holds for the process, and restarts may overlap: the first to enter sets it, the last to leave
    lifts it.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limits = threadpool_limits(1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


_ONE_BLAS_THREAD = _OneBlasThread()


def _score(space: Space, point: Point, task: Task) -> tuple[float, int]:
    values = space.log_likelihood(point, task.data, task.burn_in, task.threads)
    return mean_log_likelihood(values, task.data, task.burn_in)


def _draw(task: Task, batch_size: int, generator: np.random.Generator) -> Sequences:
    """Return random sequences among those that have something to score."""
    useful = np.flatnonzero((task.data.lengths > task.burn_in) & (task.data.weights > 0))
    return task.data[generator.choice(useful, min(batch_size, len(useful)), replace=False)]


def _random_pairs(point: Point, count: int, generator: np.random.Generator) -> list[tuple[int, int, IntArray]]:
    """Draw matrices of the point, by part and label, and two rows of each; rows of zero operators stay zero."""
    matrices = [(part, label) for part, stack in enumerate(point) for label in range(len(stack))]
    rows = [
        _movable(point[part][label]) if part == 0 else np.arange(point[part].shape[1]) for part, label in matrices
    ]
    pairs = np.array([len(choice) * (len(choice) - 1) // 2 for choice in rows])
    if not pairs.any():  # one symbol, one operator, one state: a model with nothing to learn
        return []
    drawn = generator.choice(len(rows), count, p=pairs / pairs.sum())
    return [(*matrices[number], generator.choice(rows[number], 2, replace=False)) for number in drawn]


def _movable(kappa: ComplexArray) -> IntArray:
    """Return the rows of a stack of square operators that are not zero throughout."""
    size = kappa.shape[-1]
    return np.flatnonzero(np.repeat(np.any(kappa.reshape(-1, size, size) != 0, axis=(1, 2)), size))
