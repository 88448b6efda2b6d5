"""The loop that works through a schedule, alone or with other processes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hqmm._random import RandomState, as_generator
from hqmm.errors import DataError, HqmmError
from hqmm.tuning.executors import opened
from hqmm.tuning.schedules import Schedule
from hqmm.tuning.spaces import Range, Space, as_space, draw
from hqmm.tuning.trials import Job, Ledger, MemoryLedger, Outcome, Trial, open_jobs

Evaluate: TypeAlias = Callable[[Trial], float | Mapping[str, float]]

# How often to look whether other processes have finished what this one waits for.
POLL = 0.25


@dataclass(frozen=True)
class Result:
    """One configuration at one rung: what it was, and what came of it.

    Examples
    --------
    >>> from hqmm.tuning import Uniform, successive_halving
    >>> found = successive_halving(lambda trial: 0.0, {"x": Uniform(0, 1)}, 3, min_resource=1, random_state=0)
    >>> [(result.configuration, result.rung, result.resource) for result in found.results]
    [(0, 0, 1), (1, 0, 1), (2, 0, 1), (0, 1, 3)]
    """

    bracket: int
    rung: int
    configuration: int
    resource: int
    parameters: dict[str, Any]
    seed: int
    score: float
    seconds: float
    details: dict[str, float]
    error: str | None


@dataclass(frozen=True)
class SearchResult:
    """What a search found: every result, in the order of the schedule, and the seed that repeats it.

    Examples
    --------
    >>> from hqmm.tuning import Uniform, hyperband
    >>> found = hyperband(lambda trial: -abs(trial.parameters["x"] - 0.5), {"x": Uniform(0, 1)}, 9, random_state=0)
    >>> round(found.best.parameters["x"], 1)
    0.5
    """

    results: tuple[Result, ...]
    schedule: Schedule
    seed: int

    @property
    def best(self) -> Result:
        """The result with the highest score at any rung; among equal ones the longest trained, then the first."""
        sound = [result for result in self.results if result.error is None]
        return max(sound, key=lambda one: (one.score, one.resource, -one.configuration))

    def rows(self) -> list[dict[str, Any]]:
        """Return the results as rows of a table."""
        names = ("bracket", "rung", "configuration", "resource", "score", "seconds", "error")
        return [
            {**{name: getattr(one, name) for name in names}, **one.parameters, **one.details}
            for one in self.results
        ]


def search(
    evaluate: Evaluate,
    space: Space,
    schedule: Schedule,
    *,
    random_state: RandomState = None,
    storage: str | Path | None = None,
    study_name: str = "hqmm",
    folder: str | Path | None = None,
    executor: Any = "threads",
    n_jobs: int = 1,
    grace: float = 60.0,
    on_result: Callable[[Result], Any] | None = None,
) -> SearchResult:
    """Work through a schedule: draw configurations, train them, and go on with the best.

    Parameters
    ----------
    evaluate : function of a Trial
        Trains a configuration until it has had ``trial.resource`` in total, going on from ``trial.checkpoint`` if
        something is there, and returns its score: a number, higher is better, or a mapping with one under
        ``"score"`` and other numbers to keep. A ValueError or ArithmeticError takes the configuration out.
    space : mapping of str to range
        `Uniform`, `Whole`, a list of options, or a distribution of SciPy's for each name.
    schedule : Schedule
        How many configurations are trained for how long.
    random_state : None, int or numpy.random.Generator
        The same seed draws the same configurations. With a storage, None means the seed of the study, 0 if it is
        new: processes that share it need not be told.
    storage : path or URL, optional
        Where to keep the trials, in an Optuna study: a SQLite file, or a database that many machines reach
        (``"postgresql://…"``). Processes that work on the same study share the work; one that ends before the
        search does loses nothing but the trials it was running. In memory by default.
    study_name : str
        Which study of the storage.
    folder : path, optional
        Where checkpoints are kept: next to a SQLite file by default, else in a temporary folder. What is not there
        is trained again from the start.
    executor : "threads", "processes", dask.distributed.Client or concurrent.futures.Executor
        Who trains.
    n_jobs : int
        How many at once, in this process; −1 for every core, or every thread of a cluster.
    grace : float
        Seconds without a sign of life after which another process counts as dead.
    on_result : function of a Result
        Called for every result, also for those of other processes.

    Returns
    -------
    SearchResult

    Examples
    --------
    >>> from hqmm.tuning import Schedule, Uniform, search
    >>> def evaluate(trial):
    ...     return trial.resource - trial.parameters["x"] ** 2
    >>> found = search(evaluate, {"x": Uniform(-1, 1)}, Schedule.hyperband(9), random_state=0)
    >>> found.best.resource, len(found.results) == found.schedule.n_trials
    (9, True)
    """
    ranges = as_space(space)
    asked = as_seed(random_state)
    plan = _plan(evaluate, ranges, schedule)
    with _ledger(storage, study_name, asked, plan, ranges, grace) as (ledger, seed):
        with checkpoint_folder(folder, storage, study_name) as place:
            work = _Work(evaluate, ranges, schedule, seed, place, ledger, on_result)
            with opened(executor, n_jobs) as (pool, width):
                work.run(pool, width)
        return work.result()


def successive_halving(
    evaluate: Evaluate,
    space: Space,
    configurations: int,
    *,
    min_resource: int,
    max_resource: int | None = None,
    factor: int = 3,
    **options: Any,
) -> SearchResult:
    """Search by successive halving (Jamieson and Talwalkar 2016).

    Parameters
    ----------
    evaluate, space
        As for `search`.
    configurations, min_resource, max_resource, factor
        As for `Schedule.halving`.
    **options
        Further arguments of `search`.

    Examples
    --------
    >>> from hqmm.tuning import Uniform, successive_halving
    >>> found = successive_halving(
    ...     lambda trial: trial.parameters["x"], {"x": Uniform(0, 1)}, 9, min_resource=1, random_state=0
    ... )
    >>> found.best.resource
    9
    """
    schedule = Schedule.halving(configurations, min_resource, max_resource, factor)
    return search(evaluate, space, schedule, **options)


def hyperband(
    evaluate: Evaluate,
    space: Space,
    max_resource: int,
    *,
    min_resource: int = 1,
    factor: int = 3,
    **options: Any,
) -> SearchResult:
    """Search by Hyperband (Li et al. 2018): successive halving from several beginnings.

    Parameters
    ----------
    evaluate, space
        As for `search`.
    max_resource, min_resource, factor
        As for `Schedule.hyperband`.
    **options
        Further arguments of `search`.

    Examples
    --------
    >>> from hqmm.tuning import Uniform, hyperband
    >>> found = hyperband(lambda trial: trial.parameters["x"], {"x": Uniform(0, 1)}, 27, random_state=0)
    >>> found.schedule.n_configurations
    49
    """
    return search(evaluate, space, Schedule.hyperband(max_resource, min_resource, factor), **options)


class _Work:
    """One process's part in a search."""

    def __init__(
        self,
        evaluate: Evaluate,
        space: dict[str, Range],
        schedule: Schedule,
        seed: int,
        folder: Path,
        ledger: Ledger,
        on_result: Callable[[Result], Any] | None,
    ) -> None:
        self.evaluate, self.schedule, self.seed = evaluate, schedule, seed
        self.folder, self.ledger, self.on_result = folder, ledger, on_result
        self.space = space
        self.outcomes: dict[Job, Outcome] = {}

    def run(self, pool: Any, width: int) -> None:
        running: dict[Future[Outcome], Job] = {}
        try:
            while True:
                self._look()
                jobs = [job for job in open_jobs(self.schedule, self.outcomes) if job not in running.values()]
                if not jobs and not running:
                    return
                while len(running) < width and (job := self._claim(jobs)) is not None:
                    self._begin(pool, job, running)
                    jobs.remove(job)
                if not running:
                    time.sleep(POLL)
                    continue
                # with hands free, look from time to time whether others have opened a rung
                pause = POLL if len(running) < width else None
                done, _ = wait(running, pause, FIRST_COMPLETED)
                for future in done:
                    self.ledger.finish(running[future], future.result())
                    del running[future]
        finally:
            for future, job in running.items():
                future.cancel()
                self.ledger.abandon(job)

    def _begin(self, pool: Any, job: Job, running: dict[Future[Outcome], Job]) -> None:
        try:
            running[pool.submit(attempt, self.evaluate, self._trial(job))] = job
        except BaseException:
            self.ledger.abandon(job)
            raise

    def _claim(self, jobs: list[Job]) -> Job | None:
        return self.ledger.claim(jobs, {job: self._trial(job).parameters for job in jobs}) if jobs else None

    def _look(self) -> None:
        outcomes = self.ledger.outcomes()
        new = [job for job in outcomes if job not in self.outcomes]
        self.outcomes = outcomes
        if self.on_result is not None:
            for job in sorted(new):
                self.on_result(self._result_of(job))

    def _trial(self, job: Job) -> Trial:
        return trial_of(self.space, self.seed, job.configuration, job.resource, self.folder)

    def _result_of(self, job: Job) -> Result:
        trial, outcome = self._trial(job), self.outcomes[job]
        return Result(**vars(job), parameters=dict(trial.parameters), seed=trial.seed, **vars(outcome))

    def result(self) -> SearchResult:
        found = tuple(self._result_of(job) for job in sorted(self.outcomes))
        errors = [one.error for one in found if one.error is not None]
        if len(errors) == len(found):
            raise HqmmError(f"every configuration failed; the first with: {errors[0]}")
        return SearchResult(found, self.schedule, self.seed)


def trial_of(space: Mapping[str, Range], seed: int, configuration: int, resource: int, folder: Path) -> Trial:
    """Return a trial, drawn from the seed: every process draws the same."""
    generator = np.random.default_rng([seed, configuration])
    parameters = draw(space, generator)
    return Trial(configuration, parameters, resource, int(generator.integers(2**31)), folder / f"{configuration}")


def attempt(evaluate: Evaluate, trial: Trial) -> Outcome:
    """Return what comes of a trial; an error that a configuration can be blamed for is an outcome, too."""
    began = time.perf_counter()
    try:
        answer = evaluate(trial)
    except (ValueError, ArithmeticError) as error:
        return Outcome(-np.inf, time.perf_counter() - began, error=f"{type(error).__name__}: {error}")
    details = {name: float(value) for name, value in answer.items()} if isinstance(answer, Mapping) else {}
    score = float(details.pop("score")) if isinstance(answer, Mapping) else float(answer)
    seconds = time.perf_counter() - began
    if np.isnan(score):
        return Outcome(-np.inf, seconds, details, error="the score is not a number")
    return Outcome(score, seconds, details)


def as_seed(random_state: RandomState) -> int | None:
    """Return the number that stands for ``random_state`` in a study; None is left to the study."""
    if random_state is None:
        return None
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    return int(as_generator(random_state).integers(2**31))


def _plan(evaluate: Evaluate, space: dict[str, Range], schedule: Schedule) -> dict[str, Any]:
    """Return what processes must agree on to share a study."""
    plan = {
        "space": {name: repr(space[name]) for name in sorted(space)},
        "schedule": [[[rung.configurations, rung.resource] for rung in bracket] for bracket in schedule.brackets],
    }
    fingerprint = getattr(evaluate, "fingerprint", None)
    return plan if fingerprint is None else {**plan, "fingerprint": fingerprint()}


@contextmanager
def _ledger(
    storage: str | Path | None,
    study_name: str,
    seed: int | None,
    plan: dict[str, Any],
    space: Mapping[str, Range],
    grace: float,
) -> Iterator[tuple[Ledger, int]]:
    if storage is None:
        yield MemoryLedger(), int(np.random.default_rng().integers(2**31)) if seed is None else seed
        return
    from hqmm.tuning.study import StudyLedger

    ledger = StudyLedger.open(storage, study_name, seed, plan, space, grace)
    try:
        yield ledger, ledger.seed
    finally:
        ledger.close()


@contextmanager
def checkpoint_folder(folder: str | Path | None, storage: str | Path | None, study_name: str) -> Iterator[Path]:
    """Yield the folder for checkpoints: the one that was named, one next to a SQLite file, or a temporary one."""
    if folder is None and storage is not None:
        from hqmm.tuning.study import sqlite_file

        file = sqlite_file(storage)
        folder = None if file is None else file.with_name(f"{file.name}.checkpoints") / study_name
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="hqmm-tuning-") as temporary:
            yield Path(temporary)
        return
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"folder: checkpoints cannot be kept in {place}: {error}") from None
    yield place
