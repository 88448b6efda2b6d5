"""Where results come from: versions, the kind of machine, the date. No paths, no names of machines or users."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("hqmm", "numpy", "scipy", "numba", "scikit-learn", "matplotlib")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute.

    Examples
    --------
    >>> from hqmm.experiments.provenance import versions
    >>> list(versions())[:3]
    ['python', 'hqmm', 'numpy']
    """
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def machine() -> str:
    """Return the kind of machine: processor, cores and system.

    Examples
    --------
    >>> from hqmm.experiments.provenance import machine
    >>> "cores" in machine()
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.system()} {platform.machine()}"


def today() -> str:
    """Return the date and time in UTC, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
