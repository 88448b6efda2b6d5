"""Tables of runs that grow row by row, so that a benchmark can be stopped and go on."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

Row = TypeVar("Row")


def read(path: Path, kind: type[Row]) -> list[Row]:
    """Return the rows so far, as instances of a dataclass of words and numbers."""
    if not path.exists():
        return []
    kinds: dict[str, Callable[[str], Any]] = {
        field.name: {"str": str, "int": int, "float": float}[str(field.type)]
        for field in fields(kind)  # type: ignore[arg-type]
    }
    with path.open(newline="") as file:
        return [kind(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(file)]


def append(path: Path, row: Any) -> None:
    """Add a row, and print it."""
    new = not path.exists()
    words = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in asdict(row).items()}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, words, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(words)
    print(*words.values(), flush=True)


def perform(path: Path, work: Iterable[tuple[Any, ...]], end: float, jobs: int) -> None:
    """Call each function with what follows it, ``jobs`` at a time, and append the rows in the order of the work.

    Nothing is begun after ``end``, a time of the monotonic clock. Each runs in one thread.
    """
    from joblib import Parallel, delayed, parallel_config

    tasks = (delayed(function)(*arguments) for function, *arguments in work if time.monotonic() < end)
    with parallel_config("loky", inner_max_num_threads=1):
        for row in Parallel(jobs, return_as="generator", pre_dispatch=jobs)(tasks):
            append(path, row)
