"""How long it takes until something happens: importing the package, and help."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Row

REPEATS = 7
LIMITS = {"import hqmm": 0.7, "hqmm --help": 1.0, "hqmm fit --help": 1.0, "hqmm --version": 1.0}


def startup() -> list[Row]:
    """The shortest of seven times of a new process; on a busy machine the processor time says more."""
    command = str(Path(sys.executable).parent / "hqmm")
    rows = [_row("python, doing nothing", [sys.executable, "-c", ""])]
    for what, limit in LIMITS.items():
        words = what.split()
        process = [sys.executable, "-c", what] if words[0] == "import" else [command, *words[1:]]
        rows.append(_row(what, process, limit))
    return rows


def _row(what: str, process: list[str], limit: float | None = None) -> Row:
    times, busy = zip(*(_times(process) for _ in range(REPEATS)), strict=True)
    return Row(what, min(times), "s", reach=limit, low=True, note=f"{min(busy):.2f} s of processor time")


def _times(process: list[str]) -> tuple[float, float]:
    """Return the time that passes and the processor time of a process."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(process, check=True, capture_output=True)
    passed, after = time.perf_counter() - start, os.times()
    return passed, sum(after[2:4]) - sum(before[2:4])


ROWS: list[Callable[[], list[Row]]] = [startup]
