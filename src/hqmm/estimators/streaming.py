"""Learning from sequences that come batch by batch and are seen once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from hqmm.learning.task import Task
from hqmm.models import Model
from hqmm.sequences import Sequences

BATCH = 5  # sequences to a step: more steps learn sooner, fewer learn a little better in the end


@runtime_checkable
class StreamLearner(Protocol):
    """A learner that needs each batch once."""

    def open(self, model: Model, task: Task) -> Any:
        """Return the state that a stream starts from."""

    def absorb(self, state: Any, task: Task) -> Any:
        """Return the state after one batch."""

    def model(self, state: Any, task: Task) -> Model:
        """Return the model of a state."""


@dataclass
class Stream:
    """Where a stream stands: the learner, its state, the model there, and how well each batch was foreseen."""

    learner: Any
    model: Model
    state: Any = None
    scores: list[float] = field(default_factory=list)

    def continued(self, data: Sequences, burn_in: int, threads: int | None) -> Stream:
        """Learn from more data; return itself."""
        scored = data[data.lengths > burn_in]
        for first in range(0, len(scored), BATCH):
            batch = scored[first : first + BATCH]
            if not batch.weights.any():
                continue
            task = Task(batch, burn_in, threads=threads)
            if self.state is None:
                self.state = self.learner.open(self.model, task)
            self.state = self.learner.absorb(self.state, task)
            self.model = self.learner.model(self.state, task)
            self.scores.append(float(self.state.objective))
        return self
