"""From names and a scale to a folder with tables, figures, the claims and a page that shows them all."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqmm.experiments import provenance, registry
from hqmm.experiments.claims import judge_all
from hqmm.experiments.experiment import Experiment, Rows, Run, Scale
from hqmm.experiments.figures import standalone, to_svg
from hqmm.experiments.runner import Progress, Watcher, collect, perform
from hqmm.experiments.tables import write_csv
from hqmm.storage import write_atomically

# How long the calls took that did any of the runs in a folder, and how many runs they did at once.
ELAPSED = "elapsed.json"


@dataclass(frozen=True)
class Outcome:
    """What a reproduction came to: how each experiment went, every claim's verdict, and the page."""

    progress: list[Progress]
    claims: Rows
    page: Path


def reproduce(
    names: Iterable[str] = (),
    scale: Scale = "quick",
    output: Path = Path("results"),
    jobs: int = 1,
    seed: int = 0,
    watch: Watcher = lambda *_: None,
) -> Outcome:
    """Run experiments (the paper's by default) and write their tables, figures, claims and the page into a folder.

    Runs whose results are in the folder already are not done again.
    """
    output.mkdir(parents=True, exist_ok=True)
    chosen = list(names)
    experiments = registry.select(chosen) if chosen else registry.of_the_paper()
    work = [(experiment, experiment.runs(scale, seed)) for experiment in experiments]
    before, began = _elapsed(output), time.monotonic()

    def publishing(progress: Progress, run: Run | None) -> None:
        watch(progress, run)
        if run is not None:
            clock = {"seconds": round(before + time.monotonic() - began, 1), "jobs": jobs}
            write_atomically(output / ELAPSED, json.dumps(clock).encode())
        if progress.complete:
            publish(progress, output, scale, seed)

    progress = perform(work, output, jobs, publishing)
    claims, page = summarise(output)
    return Outcome(progress, claims, page)


def _elapsed(output: Path) -> float:
    path = output / ELAPSED
    return float(json.loads(path.read_text(encoding="utf-8"))["seconds"]) if path.exists() else 0.0


def publish(progress: Progress, output: Path, scale: Scale, seed: int) -> None:
    """Write an experiment's table, figures and provenance."""
    experiment = progress.experiment
    rows, seconds = collect(experiment, progress.runs, output)
    if rows:
        write_csv(output / f"{experiment.name}.csv", rows)
    about = {
        "scale": scale,
        "seed": seed,
        "runs": len(progress.runs),
        "finished": progress.finished,
        "problems": sorted(set(progress.problems)),
        "settings": _distinct(progress.runs),
        "seconds": round(seconds, 1),
        "date": provenance.today(),
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        "figures": redraw(experiment, rows, output) if rows else [],
    }
    write_atomically(output / f"{experiment.name}.json", json.dumps(about, indent=1).encode())


def _distinct(runs: Iterable[Run]) -> dict[str, list[Any]]:
    """Return every setting with all its values, in order of first appearance."""
    found: dict[str, list[Any]] = {}
    for run in runs:
        for name, value in run.settings.items():
            if value not in (known := found.setdefault(name, [])):
                known.append(value)
    return found


def redraw(experiment: Experiment, rows: Rows, output: Path) -> list[str]:
    """Draw an experiment's figures anew from its rows; return the names of the files, in order."""
    for old in output.glob(f"{experiment.name}.*.svg"):
        old.unlink()
    files = []
    for name, figure in experiment.draw(rows).items():
        svg = standalone(to_svg(figure, f"{experiment.name}.{name}"))
        files.append(write_atomically(output / f"{experiment.name}.{name}.svg", svg.encode()).name)
    return files


def summarise(output: Path) -> tuple[Rows, Path]:
    """Judge the claims and build the page from all results that are in the folder."""
    from hqmm.report import page, summary

    experiments = _shown(output)
    claims = judge_all(experiments, output)
    write_csv(output / "claims.csv", claims)
    write_atomically(output / "README.md", summary(experiments, claims, output).encode())
    path = output / "report.html"
    write_atomically(path, page(experiments, claims, output).encode())
    return claims, path


def _shown(output: Path) -> list[Experiment]:
    """Return the experiments with results in a folder, and with any of the paper's all of them."""
    done = {one.name: (output / f"{one.name}.json").exists() for one in registry.select()}
    paper = any(done[one.name] for one in registry.of_the_paper())
    return [one for one in registry.select() if done[one.name] or (paper and not one.beyond)]
