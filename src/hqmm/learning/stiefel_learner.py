"""What the learners of Kraus operators share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from hqmm._typing import ComplexArray
from hqmm.errors import ModelError
from hqmm.learning.driver import Learner, State
from hqmm.learning.space import KrausSpace, Point
from hqmm.learning.stiefel import feasibility_error
from hqmm.learning.task import Task
from hqmm.models import HQMM, NOOM, Model


@dataclass(frozen=True)
class StiefelState(State):
    """A point on a product of Stiefel manifolds, and the initial state where the point does not hold one."""

    point: Point = ()
    initial: ComplexArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.complex128))


AnyState = TypeVar("AnyState", bound=StiefelState)


class StiefelLearner(Learner):
    """A learner of HQMMs.

    Real operators stay real and zero operators stay zero under every update (each is a product with κ or its
    gradient from the left), so that a start with real Kraus operators learns a real model, and one with fewer
    operators for some symbols keeps their numbers.
    """

    learn_initial: bool | None = None

    def init(self, model: Model, task: Task, generator: np.random.Generator) -> StiefelState:
        """Return the point of an HQMM (or of a NOOM, which is one)."""
        if not isinstance(model, HQMM | NOOM):
            raise ModelError(f"{type(self).__name__} learns an HQMM; start from one, not from {model!r}")
        start = model.to_hqmm()
        # a state before the burn-in gets no gradient, so there is nothing to learn it from
        learn_initial = task.burn_in == 0 if self.learn_initial is None else self.learn_initial
        point = KrausSpace.point(start, learn_initial)
        return self._begin(StiefelState(point=point, initial=start.initial), task)

    def _begin(self, state: StiefelState, task: Task) -> StiefelState:
        return state

    def space(self, state: StiefelState, task: Task) -> KrausSpace:
        """Return the manifold that the state's point lies on."""
        return KrausSpace(task.data.alphabet, state.initial)

    def model(self, state: StiefelState, task: Task) -> HQMM:
        """Return the HQMM of a state."""
        return self.space(state, task).model(state.point)


def largest_error(point: Point) -> float:
    """Return ‖κ†κ − I‖, the largest over the parts."""
    return max(feasibility_error(part) for part in point)
