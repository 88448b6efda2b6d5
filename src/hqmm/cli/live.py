"""How far a reproduction is: a line for each experiment and the time left, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from hqmm.experiments.experiment import Run
    from hqmm.experiments.runner import Progress, Watcher


@contextmanager
def live() -> Iterator[Watcher]:
    """Yield what `hqmm.experiments.runner.perform` may call; silent unless standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda progress, run: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TextColumn("{task.fields[left]}"), console=Console(stderr=True), transient=True
    ) as bars:
        yield _Watch(bars)


class _Watch:
    """A bar for each experiment and one for all; the time left follows from what the finished runs took."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.all = bars.add_task("all runs", total=0, left="")
        self.tasks: dict[str, TaskID] = {}
        self.began = time.perf_counter()
        self.waiting = self.done = 0.0

    def __call__(self, progress: Progress, run: Run | None) -> None:
        name, tried = progress.experiment.name, progress.finished + len(progress.problems)
        if run is None:
            self.tasks[name] = self.bars.add_task(name, total=len(progress.runs), completed=tried, left="")
            self.bars.update(self.all, total=self._total() + len(progress.runs))
            self.bars.advance(self.all, tried)
            self.waiting += progress.waiting_cost
            return
        self.waiting -= run.cost
        self.done += run.cost
        self.bars.update(self.tasks[name], completed=tried)
        self.bars.advance(self.all)
        left = (time.perf_counter() - self.began) * max(0.0, self.waiting) / self.done
        self.bars.update(self.all, left=f"about {duration(left)} left")

    def _total(self) -> float:
        return next(task.total or 0.0 for task in self.bars.tasks if task.id == self.all)


def duration(seconds: float) -> str:
    """Return a length of time in words.

    Examples
    --------
    >>> from hqmm.cli.live import duration
    >>> duration(8), duration(200), duration(5000)
    ('10 s', '3 min', '1 h 23 min')
    """
    if seconds < 90:
        return f"{max(10, round(seconds, -1)):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
