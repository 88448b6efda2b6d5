"""What is known about results: where they come from, and how long they took."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hqmm.experiments.experiment import Experiment
from hqmm.experiments.reproduce import ELAPSED


def read_about(experiment: Experiment, folder: Path) -> dict[str, Any] | None:
    """Return where an experiment's results come from; None where there are none."""
    path = folder / f"{experiment.name}.json"
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def command(experiment: Experiment, known: dict[str, Any] | None) -> str:
    """Return the command that makes an experiment's results alone.

    Examples
    --------
    >>> from hqmm.experiments import registry
    >>> from hqmm.report.about import command
    >>> command(registry.get("clock"), {"scale": "quick", "seed": 7})
    'hqmm reproduce clock --scale quick --seed 7'
    """
    scale, seed = (known["scale"], known["seed"]) if known else ("paper", 0)
    return f"hqmm reproduce {experiment.name} --scale {scale}" + (f" --seed {seed}" if seed else "")


def run_time(folder: Path, known: Iterable[dict[str, Any]]) -> str:
    """Return in words how long the results in a folder took.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hqmm.report.about import run_time
    >>> run_time(Path("nowhere"), [{"seconds": 50.0}, {"seconds": 100.0}])
    '2.5 min of processor time'
    """
    parts = [f"{in_words(sum(one['seconds'] for one in known))} of processor time"]
    if (folder / ELAPSED).exists():
        clock = json.loads((folder / ELAPSED).read_text(encoding="utf-8"))
        at_once = "one run" if clock["jobs"] == 1 else f"{clock['jobs']} runs"
        parts.insert(0, f"{in_words(clock['seconds'])} by the clock with {at_once} at once")
    return ", ".join(parts)


def in_words(seconds: float) -> str:
    """Return a time as readers want it.

    Examples
    --------
    >>> from hqmm.report.about import in_words
    >>> in_words(12.34), in_words(2280)
    ('12 s', '38.0 min')
    """
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
