"""Runs, one process and one thread each; what is finished is stored at once and never done again."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hqmm.datasets import DataUnavailableError
from hqmm.experiments.experiment import Experiment, Rows, Run
from hqmm.experiments.provenance import today
from hqmm.storage import write_atomically

RUNS = "runs"


@dataclass
class Progress:
    """How far an experiment is: its runs, how many have stored results, and why others have none.

    ``unavailable`` says what data could not be had, ``failures`` what went wrong; ``waiting_cost`` is the cost of
    the runs that had no stored result at the beginning.
    """

    experiment: Experiment
    runs: list[Run]
    finished: int = 0
    unavailable: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    waiting_cost: float = 0.0

    @property
    def problems(self) -> list[str]:
        """What kept runs from finishing."""
        return self.unavailable + self.failures

    @property
    def complete(self) -> bool:
        """Whether every run has been tried."""
        return self.finished + len(self.problems) == len(self.runs)


Watcher = Callable[[Progress, Run | None], None]


def perform(
    work: Iterable[tuple[Experiment, list[Run]]], output: Path, jobs: int, watch: Watcher = lambda *_: None
) -> list[Progress]:
    """Do every run that has no stored result yet, the long ones first, ``jobs`` at a time.

    ``watch`` is called with an experiment's progress at the beginning (without a run) and after each of its runs.
    """
    from joblib import Parallel, delayed, parallel_config

    progress = [Progress(experiment, runs) for experiment, runs in work]
    waiting: list[tuple[int, Run, Path]] = []
    for number, one in enumerate(progress):
        (output / RUNS / one.experiment.name).mkdir(parents=True, exist_ok=True)
        missing = [
            (number, run, path) for run in one.runs if not (path := _path(output, one.experiment, run)).exists()
        ]
        one.finished = len(one.runs) - len(missing)
        one.waiting_cost = sum(run.cost for _, run, _ in missing)
        waiting += missing
        watch(one, None)
    waiting.sort(key=lambda entry: -entry[1].cost)
    with _ctrl_c_stops(here=jobs == 1), parallel_config("loky", inner_max_num_threads=1):
        tasks = (
            delayed(_one)(place, progress[number].experiment.execute, run.settings, path, os.getpid())
            for place, (number, run, path) in enumerate(waiting)
        )
        for place, failed, problem in Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs)(tasks):
            number, run, _ = waiting[place]
            one = progress[number]
            if problem is None:
                one.finished += 1
            else:
                (one.failures if failed else one.unavailable).append(problem)
            watch(one, run)
    return progress


def collect(experiment: Experiment, runs: Iterable[Run], output: Path) -> tuple[Rows, float]:
    """Return the rows of the stored runs, settings first, and the processor seconds that they took."""
    rows: Rows = []
    seconds = 0.0
    for run in runs:
        path = _path(output, experiment, run)
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            rows += [{**run.settings, **row} for row in stored["rows"]]
            seconds += stored["seconds"]
    return rows, seconds


def _path(output: Path, experiment: Experiment, run: Run) -> Path:
    return output / RUNS / experiment.name / f"{experiment.key(run)}.json"


def _one(
    place: int, execute: Callable[..., Rows], settings: dict[str, Any], path: Path, parent: int
) -> tuple[int, bool, str | None]:
    """Do one run and store its rows; return its place, whether it failed, and why it has none."""
    if os.getpid() != parent:
        # Ctrl-C reaches workers too, where `fit` would take it for the end of a fit: the parent ends them instead
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end_with_parent()
    began = time.process_time()
    try:
        rows = execute(**settings)
    except DataUnavailableError as error:
        return place, False, str(error)
    except Exception as error:  # one broken run must not take the others with it; it is reported
        return place, True, f"{type(error).__name__}: {error} (settings {settings})"
    content = {"settings": settings, "rows": rows, "seconds": time.process_time() - began, "date": today()}
    write_atomically(path, json.dumps(content, default=_plain).encode())
    return place, False, None


class _StopError(BaseException):
    """Ctrl-C, by a name that `fit` does not know."""


@contextmanager
def _ctrl_c_stops(here: bool) -> Iterator[None]:
    """Let Ctrl-C end runs that are done in this process, where `fit` would take it for the end of a fit."""
    if not here or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise _StopError

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    except _StopError:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


@cache
def _end_with_parent() -> None:
    """Let this worker end soon after its parent, however that ended, instead of computing for nobody."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _plain(value: Any) -> Any:
    """Turn NumPy's scalars and arrays into what JSON knows."""
    return value.tolist()
