"""A progress bar that vanishes where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show(wanted: bool, max_iter: int) -> Iterator[Callable[[dict[str, float]], None]]:
    """Yield a function that reports a row of the history; silent unless standard error is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield lambda row: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        handle = bar.add_task("fitting", total=max_iter)

        def report(row: dict[str, float]) -> None:
            score = row["train"] if row["validation"] != row["validation"] else row["validation"]
            bar.update(handle, completed=row["iteration"], description=f"log-likelihood per symbol {score:.5f}")

        yield report
