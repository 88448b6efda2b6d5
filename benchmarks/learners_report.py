"""The tables of `benchmarks.learners`, and what they show, judged by code."""

from __future__ import annotations

import cProfile
import io
import pstats
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Size: TypeAlias = tuple[int, int]

KRAUS_LEARNERS = ("COSM", "Polar", "Polar from counts", "L-BFGS", "Adam", "Givens")
DEFAULT = "HQMMEstimator's default"
# least mean test DA of COSM, by data and (n, w)
REPRODUCED = {
    ("HMM(6,6)", (2, 1)): 0.152,
    ("HMM(6,6)", (4, 2)): 0.176,
    ("HMM(6,6)", (5, 3)): 0.1775,
    ("HMM(6,6)", (6, 6)): 0.178,
    ("HQMM(2,6)", (2, 1)): 0.129,
}


@dataclass(frozen=True)
class Claim:
    """What should hold, what was measured, and whether it does; ``None`` where too little was run."""

    what: str
    measured: str
    holds: bool | None

    @property
    def line(self) -> str:
        verdict = {None: "—", True: "yes", False: "**NO**"}[self.holds]
        return f"| {self.what} | {self.measured} | {verdict} |"


class Results:
    """The runs, looked up by data, learner and size."""

    def __init__(self, rows: Iterable[Any]) -> None:
        runs = list(rows)
        self.n_runs = len(runs)
        self.rows = runs + [replace(run, learner=DEFAULT) for run in runs if is_default(run)]

    def values(self, data: str, learner: str, size: Size, column: str = "test_da") -> list[float]:
        """Return one number for each seed."""
        return [
            getattr(row, column)
            for row in self.rows
            if (row.data, row.learner, (row.n, row.w)) == (data, learner, size)
        ]

    def mean(self, data: str, learner: str, size: Size, column: str = "test_da") -> float:
        """Return the mean over the seeds, NaN where there are none."""
        values = self.values(data, learner, size, column)
        return float(np.mean(values)) if values else float("nan")

    def sizes(self, data: str, *learners: str) -> list[Size]:
        """Return the sizes that every one of some learners was run at."""
        sets = [
            {(row.n, row.w) for row in self.rows if (row.data, row.learner) == (data, one)} for one in learners
        ]
        return sorted(set.intersection(*sets))

    @property
    def data(self) -> list[str]:
        return list(dict.fromkeys(row.data for row in self.rows))


def is_default(run: Any) -> bool:
    """Return whether a run is what `HQMMEstimator` does: near counts at w = 1, from a random start elsewhere."""
    return bool(run.learner == ("Polar from counts" if run.w == 1 else "Polar"))


# --- what should hold -----------------------------------------------------------------------------------------


def claims(results: Results) -> Iterator[Claim]:
    """Yield every claim with its verdict."""
    yield from _reproduced(results)
    for learner in (DEFAULT, "Polar"):
        yield _never_behind(results, learner)
        yield _in_fewer_passes(results, learner)
    yield from _at_rank_one(results)
    yield _clock(results)
    yield _beyond_counting(results)


def _reproduced(results: Results) -> Iterator[Claim]:
    for (data, size), reach in REPRODUCED.items():
        values = results.values(data, "COSM", size)
        holds = bool(np.mean(values) >= reach) if values else None
        what = f"COSM reproduces: mean test DA on {data} at (n, w) = {size} ≥ {reach}"
        yield Claim(what, _listed(values), holds)


def _never_behind(results: Results, learner: str) -> Claim:
    data = results.data
    cells = [(name, size) for name in data for size in results.sizes(name, "COSM", learner)]
    ahead = {
        cell: results.mean(cell[0], learner, cell[1]) - results.mean(cell[0], "COSM", cell[1]) for cell in cells
    }
    behind = {cell: gain for cell, gain in ahead.items() if gain < 0}
    mean = np.mean(list(ahead.values())) if ahead else float("nan")
    far = sum(gain < -1e-4 for gain in behind.values())
    measured = f"in {len(cells) - len(behind)} of {len(cells)}, by over .0001 behind in {far}; mean {mean:+.5f}"
    for (name, size), gain in sorted(behind.items(), key=lambda item: item[1]):
        measured += f"; {name} {size} {gain:+.5f}"
    what = f"{learner} as it comes is at least as good as COSM in every cell (mean test DA over seeds)"
    return Claim(what, measured, not behind if cells else None)


def _in_fewer_passes(results: Results, learner: str) -> Claim:
    cosm = {(row.data, row.n, row.w, row.seed): row.passes for row in results.rows if row.learner == "COSM"}
    ours = [row for row in results.rows if row.learner == learner and (row.data, row.n, row.w, row.seed) in cosm]
    shares = np.array([row.passes_to_cosm / cosm[row.data, row.n, row.w, row.seed] for row in ours])
    shares = np.where(np.isfinite(shares), shares, np.inf)
    in_time, never = int(np.sum(shares <= 1 / 3)), int(np.sum(np.isinf(shares)))
    median = np.median(shares) if ours else float("nan")
    by_cell: dict[tuple[str, Size], list[float]] = {}
    for row, share in zip(ours, shares, strict=True):
        by_cell.setdefault((row.data, (row.n, row.w)), []).append(share)
    cells = sum(np.median(found) <= 1 / 3 for found in by_cell.values())
    return Claim(
        f"{learner} reaches COSM's last validation DA of the same seed in at most a third of COSM's passes",
        f"in {in_time} of {len(ours)} runs, and by the median of seeds in {cells} of {len(by_cell)} cells; "
        f"median share {median:.2f}; never reached in {never}",
        in_time == len(ours) if ours else None,
    )


def _at_rank_one(results: Results) -> Iterator[Claim]:
    for learner, start in (("Polar", "a random start"), ("Polar from counts", "a start near a spectral OOM")):
        for n in (4, 5, 6):
            values = results.values("HMM(6,6)", learner, (n, 1))
            what = f"Polar at w = 1 on HMM(6,6), n = {n}, from {start}: mean test DA ≥ .175"
            yield Claim(what, _listed(values), bool(np.mean(values) >= 0.175) if values else None)


def _clock(results: Results) -> Claim:
    values, truth = results.values("clock", "Polar", (2, 1)), results.mean("clock", "truth", (0, 0))
    holds = bool(abs(np.mean(values) - truth) <= 0.0005) if values else None
    what = "probability clock: Polar at (2, 1) within .0005 of the true model's test DA (mean over seeds)"
    return Claim(what, f"{_listed(values)}; true {truth:.5f}", holds)


def _beyond_counting(results: Results) -> Claim:
    """The probability clock is the one set that no Markov chain of any order explains."""
    chains = {size[0]: results.mean("clock", "n-gram", size) for size in results.sizes("clock", "n-gram")}
    best = results.mean("clock", "Polar", (2, 1))
    holds = bool(best > max(chains.values())) if chains and best == best else None
    order = max(chains, key=lambda k: chains[k], default=0)
    measured = f"{best:.5f}; order {order}: {chains.get(order, float('nan')):.5f}"
    return Claim("probability clock: Polar at (2, 1) beats Markov chains of every order up to 5", measured, holds)


def _listed(values: list[float]) -> str:
    return f"{np.mean(values):.5f} ({', '.join(f'{v:.5f}' for v in sorted(values))})" if values else "not run"


# --- tables ---------------------------------------------------------------------------------------------------


def write(path: Path, rows: Iterable[Any]) -> None:
    """Write the summary."""
    path.write_text("\n".join(_lines(Results(rows))) + "\n", encoding="utf-8")


def _lines(results: Results) -> Iterator[str]:
    seeds = len({row.seed for row in results.rows})
    yield "# Learners compared"
    yield ""
    yield f"{results.n_runs} runs, up to {seeds} seeds a cell, written by `python -m benchmarks.learners`."
    yield "The paper's protocol: 20 training and 10 validation sequences of 3000 symbols, cut into 300 with a"
    yield "burn-in of 100; the iterate best on validation data is tested on 10 × 3000 symbols with a burn-in of"
    yield "1000. Every learner has its default settings; Givens search stops after ten seconds. One thread."
    yield "`Polar from counts` starts near a spectral OOM (`start_from_counts`) in every cell alike; the others"
    yield "start from a random HQMM, the same for all of one seed. `HQMMEstimator` does the former at w = 1 and"
    yield "the latter elsewhere."
    yield ""
    yield "## What holds"
    yield ""
    yield from _table(("claim", "measured: mean (each seed)", "holds"), (claim.line for claim in claims(results)))
    for data in results.data:
        yield ""
        yield f"## {data}"
        yield ""
        yield "Test DA, mean over seeds; in brackets the number of seeds where it is not three."
        yield ""
        yield from _baselines(results, data)
        yield ""
        yield from _accuracies(results, data)
    yield ""
    yield "## Time and passes"
    yield ""
    yield "Means over the cells that every learner of Kraus operators was run in. A pass is one look at every"
    yield "training sequence; the seconds are of processor time, which includes scoring the validation data after"
    yield "every iteration, and the test data once."
    yield ""
    yield from _costs(results)


def _table(heads: tuple[str, ...], lines: Iterable[str]) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    yield from lines


def _baselines(results: Results, data: str) -> Iterator[str]:
    lines = []
    for learner, unit in (("truth", "n ="), ("n-gram", "order"), ("Baum-Welch", "n ="), ("spectral", "n =")):
        cells = [(size[0], results.mean(data, learner, size)) for size in results.sizes(data, learner)]
        shown = [f"{mean:.4f}" if learner == "truth" else f"{unit} {n}: {mean:.4f}" for n, mean in cells]
        negative = [row.negative for row in results.rows if (row.data, row.learner) == (data, learner)]
        note = f" (up to {max(negative)} negative probabilities clipped)" if any(negative) else ""
        lines.append(f"| {learner} | {', '.join(shown)}{note} |")
    yield from _table(("baseline", "test DA"), lines)


def _accuracies(results: Results, data: str) -> Iterator[str]:
    sizes = sorted({(row.n, row.w) for row in results.rows if row.data == data and row.learner in KRAUS_LEARNERS})
    lines = (
        f"| {n}, {w} | " + " | ".join(_cell(results.values(data, name, (n, w))) for name in KRAUS_LEARNERS) + " |"
        for n, w in sizes
    )
    yield from _table(("n, w", *KRAUS_LEARNERS), lines)


def _cell(values: list[float]) -> str:
    if not values:
        return ""
    return f"{np.mean(values):.5f}" + ("" if len(values) == 3 else f" [{len(values)}]")


def _costs(results: Results) -> Iterator[str]:
    lines = []
    for data in results.data:
        sizes = results.sizes(data, *KRAUS_LEARNERS)
        for name in KRAUS_LEARNERS if sizes else ():
            means = [
                np.mean([results.mean(data, name, size, column) for size in sizes])
                for column in ("seconds", "passes")
            ]
            reached = [v for size in sizes for v in results.values(data, name, size, "passes_to_cosm")]
            share = np.mean(np.isfinite(reached))
            lines.append(f"| {data} | {name} | {means[0]:.2f} | {means[1]:.0f} | {share:.0%} |")
    yield from _table(("data", "learner", "seconds", "passes", "reached COSM's last validation DA"), lines)


# --- the profile ----------------------------------------------------------------------------------------------


def profile(name: str, run: Callable[[], Any]) -> str:
    """Return how long a run takes and where its time goes, as a page."""
    run()  # compiled now
    wall, work = time.perf_counter(), time.process_time()
    run()
    wall, work = time.perf_counter() - wall, time.process_time() - work
    profiler = cProfile.Profile()
    profiler.runcall(run)
    stream = io.StringIO()
    statistics = pstats.Stats(profiler, stream=stream)
    statistics.strip_dirs().sort_stats("tottime").print_stats(12)
    table = "\n".join(line.rstrip() for line in stream.getvalue().splitlines() if line.strip())
    return (
        f"# {name}\n\n{wall:.2f} s of wall time, {work:.2f} s of processor time, one thread "
        f"(should be at most 5 s). Where it goes:\n\n```\n{table}\n```\n"
    )
