"""COSM: constrained optimisation on the Stiefel manifold, the paper's Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hqmm.learning.settings import at_least, between
from hqmm.learning.space import Point
from hqmm.learning.stiefel import UPDATES, feasibility_error, polar, spectral_norm
from hqmm.learning.stiefel_learner import StiefelLearner, StiefelState, largest_error
from hqmm.learning.task import Task, mean_log_likelihood


@dataclass(frozen=True)
class COSMState(StiefelState):
    """A point with the momentum, which is empty at the start of an epoch unless it is kept."""

    momentum: Point = ()


@dataclass(frozen=True)
class COSM(StiefelLearner):
    """Mini-batch gradient descent with momentum, feasible by a retraction (Algorithm 1).

    The gradient is normalised to spectral norm one before and after momentum, so that a step's size is τ alone.

    Parameters
    ----------
    step : float
        τ of the first epoch.
    decay : float
        α: τ is multiplied by it after each epoch.
    batch_size : int
        Sequences in a batch.
    momentum : float
        β.
    keep_momentum : bool
        Carry the momentum over to the next epoch; the authors' code forgets it.
    update : str
        ``"wen-yin"`` (the paper), ``"jiang-dai"``, ``"gradient-projection"``, ``"polar"``, ``"qr"`` or
        ``"newton-schulz"``.
    max_iter : int
        Epochs.
    batches : int, optional
        Use only so many random batches in each epoch.
    learn_initial : bool, optional
        Also learn the initial state; by default only where there is no burn-in. If true, the gradient goes through
        the burn-in, whose end is otherwise a constant, as in the authors' code.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import COSM, fit, random_hqmm
    >>> data = hqmm_2_6().sample(40, 100, random_state=0)
    >>> result = fit(COSM(step=0.75, decay=0.92), random_hqmm(2, 6), data, max_iter=5, random_state=0)
    >>> bool(result.history["train"][-1] > result.history["train"][1])
    True
    """

    step: float = 0.75
    decay: float = 0.92
    batch_size: int = 20
    momentum: float = 0.9
    keep_momentum: bool = False
    update: str = "wen-yin"
    max_iter: int = 60
    batches: int | None = None
    learn_initial: bool | None = None

    def __post_init__(self) -> None:
        if self.update not in UPDATES:
            raise ValueError(f"update must be one of {', '.join(map(repr, UPDATES))}, not {self.update!r}")
        at_least("batch_size", self.batch_size, 1)
        if self.batches is not None:
            at_least("batches", self.batches, 1)
        between("step", self.step, 0, np.inf)
        between("decay", self.decay, 0, np.inf)
        between("momentum", self.momentum, 0, 1)

    def _begin(self, state: StiefelState, task: Task) -> COSMState:
        values = self.space(state, task).log_likelihood(state.point, task.data, task.burn_in, task.threads)
        objective, n_zero = mean_log_likelihood(values, task.data, task.burn_in)
        return COSMState(
            objective=objective, n_zero=n_zero, step=self.step, point=state.point, initial=state.initial
        )

    def advance(self, state: COSMState, task: Task, generator: np.random.Generator) -> COSMState:
        """Return the state after one epoch: every batch once, in a new random order."""
        space, update = self.space(state, task), UPDATES[self.update]
        order = generator.permutation(len(task.data))
        starts = range(0, len(order), self.batch_size)[: self.batches]
        point, momentum = state.point, state.momentum if self.keep_momentum else ()
        values = np.zeros(len(order))
        for start in starts:
            chosen = order[start : start + self.batch_size]
            batch = task.data[chosen]
            result = space.evaluate(
                point, batch, task.burn_in, task.threads, burn_in_gradient=bool(self.learn_initial)
            )
            values[chosen] = result.log_likelihood
            uphill = tuple(_normalised(part) for part in result.gradient)
            if momentum:
                uphill = tuple(
                    _normalised(self.momentum * before + (1 - self.momentum) * now)
                    for before, now in zip(momentum, uphill, strict=True)
                )
            momentum = uphill
            point = tuple(
                _feasible(update(part, -direction, state.step))
                for part, direction in zip(point, uphill, strict=True)
            )
        used = task.data[order[: starts[-1] + self.batch_size]] if self.batches else task.data
        seen = values[order[: starts[-1] + self.batch_size]] if self.batches else values
        objective, n_zero = mean_log_likelihood(seen, used, task.burn_in)
        return replace(
            state,
            point=point,
            momentum=momentum if self.keep_momentum else (),
            objective=objective,
            n_zero=n_zero,
            passes=state.passes + len(used) / len(order),
            step=state.step * self.decay,
            feasibility=largest_error(point),
        )


def _normalised(part: np.ndarray) -> np.ndarray:
    norm = spectral_norm(part)
    return part / norm if norm > 0 else part


def _feasible(part: np.ndarray) -> np.ndarray:
    """Return to the manifold before rounding adds up."""
    return polar(part) if feasibility_error(part) > 1e-10 else part
