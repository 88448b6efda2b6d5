"""What the learners of Kraus operators share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from hqmm._typing import ComplexArray
from hqmm.learning.driver import Learner, State
from hqmm.learning.space import Point, Space, space_of, start_of
from hqmm.learning.stiefel import feasibility_error
from hqmm.learning.task import Task
from hqmm.models import HQMM, HybridHQMM, Model


@dataclass(frozen=True)
class StiefelState(State):
    """A point on a product of Stiefel manifolds, and the initial state where the point does not hold one."""

    point: Point = ()
    initial: ComplexArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.complex128))


AnyState = TypeVar("AnyState", bound=StiefelState)


class StiefelLearner(Learner):
    """A learner of HQMMs and hybrid models.

    Real operators stay real and zero operators stay zero under every update (each is a product with κ or its
    gradient from the left), so that a start with real Kraus operators learns a real model, and one with fewer
    operators for some symbols keeps their numbers.
    """

    learn_initial: bool | None = None

    def init(self, model: Model, task: Task, generator: np.random.Generator) -> StiefelState:
        """Return the point of an HQMM or a hybrid model (or of a NOOM, which is an HQMM)."""
        return self._begin(self._start(model, task), task)

    def _start(self, model: Model, task: Task) -> StiefelState:
        # a state before the burn-in gets no gradient, so there is nothing to learn it from
        learn_initial = task.burn_in == 0 if self.learn_initial is None else self.learn_initial
        point, initial = start_of(model, learn_initial, type(self).__name__)
        return StiefelState(point=point, initial=initial)

    def _begin(self, state: StiefelState, task: Task) -> StiefelState:
        return state

    def space(self, state: StiefelState, task: Task) -> Space:
        """Return the manifold that the state's point lies on."""
        return space_of(task.data.alphabet, state.initial)

    def model(self, state: StiefelState, task: Task) -> HQMM | HybridHQMM:
        """Return the model of a state."""
        model: HQMM | HybridHQMM = self.space(state, task).model(state.point)
        return model


def largest_error(point: Point) -> float:
    """Return ‖κ†κ − I‖, the largest over the parts."""
    return max(feasibility_error(part) for part in point)
