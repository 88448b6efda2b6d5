"""What every benchmark needs: the best of several times, the core's own rate, a table, a file."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One measured number; ``reach`` is what it should be at least (or at most, where ``low``)."""

    what: str
    value: float
    unit: str = ""
    reach: float | None = None
    low: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.reach is None:
            return ""
        return "yes" if (self.value <= self.reach if self.low else self.value >= self.reach) else "NO"


def best_times(
    *functions: Callable[[], Any],
    seconds: float = 1.5,
    least: int = 5,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """Return the shortest time of each function; they take turns, so that all see the same machine.

    The clock counts the processor time of this process, on all its threads: on one core that is the time that
    passes on an idle machine, and the turns of other processes do not count. What runs on several threads or
    processes needs ``time.perf_counter``.
    """
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < least:
        for function, found in zip(functions, times, strict=True):
            found += _turn(function, clock)
    return [min(found) for found in times]


def _turn(function: Callable[[], Any], clock: Callable[[], float]) -> list[float]:
    """Return the times of at least two runs: the first finds the caches as another function left them."""
    found: list[float] = []
    while len(found) < 2 or (sum(found) < 0.01 and len(found) < 20):
        start = clock()
        function()
        found.append(clock() - start)
    return found


def matrix_product(size: int = 768) -> tuple[Callable[[], Any], int]:
    """Return a product of square matrices by BLAS, and its number of operations."""
    A, B = np.random.default_rng(0).random((2, size, size))
    C = np.empty_like(A)
    return lambda: np.dot(A, B, out=C), 2 * size**3


@contextmanager
def one_core() -> Iterator[None]:
    """Pin this process to one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def surroundings() -> dict[str, Any]:
    """Return what the numbers depend on."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "removed OPENBLAS_CORETYPE": benchmarks.REMOVED,
    }


def show(name: str, function: Callable[[], Iterable[Row]]) -> list[Row]:
    """Run a benchmark and print its rows as they come."""
    summary = (function.__doc__ or function.__name__).splitlines()[0]
    removed = f"; OPENBLAS_CORETYPE={benchmarks.REMOVED} removed" if benchmarks.REMOVED else ""
    print(f"\n{name}: {summary} (load {os.getloadavg()[0]:.1f}{removed})")
    rows = []
    for row in function():
        reach = "" if row.reach is None else f"{'≤' if row.low else '≥'} {row.reach:g}"
        print(f"  {row.what:58} {row.value:10.3f} {row.unit:12} {reach:9} {row.verdict:4} {row.note}", flush=True)
        rows.append(row)
    return rows


def write(name: str, rows: list[Row], about: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    content = {"about": about, "rows": [asdict(row) for row in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False))
