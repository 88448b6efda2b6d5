"""What is trained, what came of it, and who has taken what: the ledger of one process."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hqmm.tuning.schedules import Schedule


@dataclass(frozen=True, order=True)
class Job:
    """A configuration, by its number, to be trained until it has had so much of the resource."""

    bracket: int
    rung: int
    configuration: int
    resource: int


@dataclass(frozen=True)
class Trial:
    """What a job is to do, for whoever does it.

    Attributes
    ----------
    configuration : int
        Its number.
    parameters : dict
        What was drawn for it.
    resource : int
        How much it will have had in total, such as epochs.
    seed : int
        Of this configuration: the same at every rung and in every process.
    checkpoint : Path
        Where it may keep what it needs to go on from its last rung. Nothing is there at its first rung, nor where
        another machine, with another folder, trained it so far.
    """

    configuration: int
    parameters: Mapping[str, Any]
    resource: int
    seed: int
    checkpoint: Path


@dataclass(frozen=True)
class Outcome:
    """What came of a job: its score, higher is better, or the error that it ended with."""

    score: float
    seconds: float
    details: dict[str, float] = field(default_factory=dict)
    error: str | None = None


class Ledger(ABC):
    """Who does what, and what came of it. Every process that works on the same search looks into the same one."""

    @abstractmethod
    def outcomes(self) -> dict[Job, Outcome]:
        """Return what is finished."""

    @abstractmethod
    def claim(self, jobs: Iterable[Job], parameters: Mapping[Job, Mapping[str, Any]]) -> Job | None:
        """Take one of some jobs that nobody has taken, if there is one."""

    @abstractmethod
    def finish(self, job: Job, outcome: Outcome) -> None:
        """Enter what came of a job."""

    @abstractmethod
    def abandon(self, job: Job) -> None:
        """Give a job back."""


class MemoryLedger(Ledger):
    """A ledger for one process."""

    def __init__(self) -> None:
        self._outcomes: dict[Job, Outcome] = {}
        self._taken: set[Job] = set()
        self._lock = threading.Lock()

    def outcomes(self) -> dict[Job, Outcome]:
        """Return what is finished."""
        with self._lock:
            return dict(self._outcomes)

    def claim(self, jobs: Iterable[Job], parameters: Mapping[Job, Mapping[str, Any]]) -> Job | None:
        """Take the first job that is free."""
        with self._lock:
            job = next((one for one in jobs if one not in self._taken), None)
            if job is not None:
                self._taken.add(job)
            return job

    def finish(self, job: Job, outcome: Outcome) -> None:
        """Enter what came of a job."""
        with self._lock:
            self._outcomes[job] = outcome

    def abandon(self, job: Job) -> None:
        """Give a job back."""
        with self._lock:
            self._taken.discard(job)


def open_jobs(schedule: Schedule, outcomes: Mapping[Job, Outcome]) -> list[Job]:
    """Return what can be done now: a rung opens when all of the one before it are finished.

    The best go on: the higher score, among equal ones the lower number; so what is promoted does not depend on who
    did what, or in which order.

    Examples
    --------
    >>> from hqmm.tuning import Schedule
    >>> from hqmm.tuning.trials import Outcome, open_jobs
    >>> schedule = Schedule.halving(3, min_resource=1)
    >>> first = open_jobs(schedule, {})
    >>> open_jobs(schedule, {job: Outcome(score=job.configuration, seconds=0.0) for job in first})
    [Job(bracket=0, rung=1, configuration=2, resource=3)]
    """
    found: list[Job] = []
    begin = 0
    for number, bracket in enumerate(schedule.brackets):
        going = range(begin, begin + bracket[0].configurations)
        begin += bracket[0].configurations
        jobs = [Job(number, 0, configuration, bracket[0].resource) for configuration in going]
        for step, rung in enumerate(bracket):
            if step:
                going_on = _promoted(jobs, outcomes, rung.configurations)
                jobs = [Job(number, step, job.configuration, rung.resource) for job in going_on]
            waiting = [job for job in jobs if job not in outcomes]
            found += waiting
            if waiting:
                break
    return found


def _promoted(jobs: list[Job], outcomes: Mapping[Job, Outcome], count: int) -> list[Job]:
    sound = [job for job in jobs if outcomes[job].error is None]
    best = sorted(sound, key=lambda job: (-outcomes[job].score, job.configuration))[:count]
    return sorted(best)
