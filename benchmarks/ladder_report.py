"""The table and the figure of `benchmarks.ladder`, and what they show, judged by code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hqmm.estimators.counting import n_parameters
from hqmm.learning import random_hybrid

HMM_DATA, HMM_SYMBOLS = "HMM(6,6)", 6
FAMILIES = {"HMM": "#c77d0a", "hybrid": "#2a9d5c", "HQMM": "#3366a8"}


class Ladder:
    """The runs, by data, dimension and size."""

    def __init__(self, runs: Iterable[Any]) -> None:
        self.runs = list(runs)

    @property
    def data(self) -> list[str]:
        return list(dict.fromkeys(run.data for run in self.runs))

    @property
    def dimensions(self) -> list[int]:
        return sorted({run.m for run in self.runs})

    def sizes(self, m: int, data: str | None = None) -> list[tuple[int, int]]:
        """Return (k, q) of a dimension, from the HMM's end to the HQMM's."""
        found = {(run.k, run.q) for run in self.runs if run.m == m and data in (None, run.data)}
        return sorted(found, key=lambda size: size[1])

    def mean(self, data: str, m: int, size: tuple[int, int], column: str = "excess") -> float:
        """Return a mean over the seeds."""
        values = [getattr(r, column) for r in self.runs if (r.data, r.m, (r.k, r.q)) == (data, m, size)]
        return float(np.mean(values)) if values else float("nan")

    def seeds(self, data: str, m: int) -> int:
        """Return how many seeds every size of a dimension has."""
        counts = [sum((r.data, r.m, (r.k, r.q)) == (data, m, size) for r in self.runs) for size in self.sizes(m)]
        return min(counts, default=0)

    def complete(self, data: str) -> list[int]:
        """Return the dimensions of which every size was run."""
        return [m for m in self.dimensions if self.seeds(data, m)]


def family(size: tuple[int, int]) -> str:
    """Return which part of the ladder a size belongs to."""
    k, q = size
    return "HMM" if q == 1 else "HQMM" if k == 1 else "hybrid"


def front(ladder: Ladder, data: str, name: str) -> list[float]:
    """Return the excess, for each dimension, of the size up to it in a family that validation data choose.

    Means over seeds; in the test data's own nats above the true model.
    """
    best, result = (-np.inf, np.inf), []
    for m in ladder.complete(data):
        best = max([best, *(one[1:] for one in scores(ladder, data, m, name))])
        result.append(best[1])
    return result


def scores(ladder: Ladder, data: str, m: int, name: str) -> list[tuple[tuple[int, int], float, float]]:
    """Return size, mean validation score and mean excess of each member of a family at a dimension."""
    return [
        (size, ladder.mean(data, m, size, "validation"), ladder.mean(data, m, size))
        for size in ladder.sizes(m, data)
        if family(size) == name
    ]


def dominates(ladder: Ladder, data: str) -> bool:
    """Return whether the hybrid front is nowhere above that of either pure family, and somewhere below both."""
    ours, *pure = (np.array(front(ladder, data, name)) for name in ("hybrid", "HMM", "HQMM"))
    other = np.minimum(*pure)
    return bool(np.all(ours <= other) and np.any(ours < other))


def chosen(ladder: Ladder, data: str, m: int) -> dict[str, tuple[float, float]]:
    """Return, for each family, the mean validation score and excess of the size of one dimension that has most."""
    nothing = (-np.inf, np.inf)
    return {
        name: max(((score, excess) for _, score, excess in scores(ladder, data, m, name)), default=nothing)
        for name in FAMILIES
    }


def beats_both(ladder: Ladder, data: str, m: int) -> bool:
    """Return whether the hybrid of one dimension that validation data choose is better than both pure models."""
    found = chosen(ladder, data, m)
    return bool(found["hybrid"][1] < min(found["HMM"][1], found["HQMM"][1]))


def no_worse_than_both(ladder: Ladder, data: str, m: int) -> bool:
    """Return whether the choice of validation data among all sizes is no worse than that among either end."""
    found = chosen(ladder, data, m)
    return bool(max(found.values())[1] <= min(found["HMM"][1], found["HQMM"][1]))


def write(folder: Path, runs: Sequence[Any], climbs: Sequence[Any]) -> None:
    """Write summary.md and ladder.svg."""
    ladder = Ladder(runs)
    (folder / "summary.md").write_text("\n".join(_lines(ladder, climbs)) + "\n", encoding="utf-8")
    if runs:
        draw(folder / "ladder.svg", ladder)
        draw_costs(folder / "costs.svg", ladder)


def _lines(ladder: Ladder, climbs: Sequence[Any]) -> Iterator[str]:
    yield "# From HMM to HQMM at equal cost"
    yield ""
    yield f"{len(ladder.runs)} runs, written by `python -m benchmarks.ladder`. k labels with a q-dimensional"
    yield "quantum state on each have the linear dimension k q² ≈ m, and a symbol costs m² whatever k and q are:"
    yield "q = 1 is an HMM, k = 1 an HQMM. All are learned in the same number of passes by the default learner."
    yield ""
    yield "![Excess over the true model against q](ladder.svg)"
    yield ""
    yield "## What holds"
    yield ""
    yield from _verdicts(ladder)
    yield ""
    yield "## Cost and parameters against accuracy"
    yield ""
    yield "![Excess over the true model against dimension and parameters](costs.svg)"
    yield ""
    yield f"Every size on {HMM_DATA}, mean over seeds; the lines join what validation data choose of all that cost"
    yield "no more. Parameters are those that change the process (`hqmm.estimators.counting.n_parameters`)."
    yield ""
    yield "## Where each part of the ladder wins"
    yield ""
    yield from _winners(ladder)
    yield ""
    yield "## Every size"
    yield ""
    yield "Test log-likelihood below the true model's, mean over seeds, in 10⁻³ nats: per symbol for the synthetic"
    yield "sets, per string for PAutomaC (the logarithm of the ratio of perplexities). Less is better."
    for m in ladder.dimensions:
        yield ""
        yield from _every_size(ladder, m)
    if climbs:
        yield ""
        yield "## HMMs: the polar fixed point against Baum–Welch"
        yield ""
        yield from _methods(climbs)


def _verdicts(ladder: Ladder) -> Iterator[str]:
    judged = [data for data in ladder.data if ladder.complete(data)]
    won = [data for data in judged if dominates(ladder, data)]
    on_hmm = "—" if HMM_DATA not in judged else "yes" if HMM_DATA in won else "**NO**"
    problems = [data for data in judged if data.startswith("#")]
    share = len([data for data in won if data in problems]) / max(1, len(problems))
    yield "The front of a family at m is the size up to m that does best on validation data; one front dominates"
    yield "others if it is nowhere worse on test data, and somewhere better."
    yield ""
    yield "| claim | measured | holds |"
    yield "|---|---|---|"
    what = f"the hybrid front dominates both pure families on {HMM_DATA} (10⁻³ nats above the truth)"
    yield f"| {what} | {_fronts(ladder, HMM_DATA)} | {on_hmm} |"
    yield (
        f"| … and on at least three quarters of PAutomaC's problems | {share:.0%} of {len(problems)}: "
        f"{', '.join(d for d in won if d in problems)} | {'yes' if share >= 0.75 else '**NO**'} |"
    )
    for m in ladder.dimensions:
        if any(k == 1 for k, _ in ladder.sizes(m)):
            yield from _at_one_cost(ladder, m)
    yield from _small_against_large(ladder)


def _at_one_cost(ladder: Ladder, m: int) -> Iterator[str]:
    """Yield on how many problems the hybrid of one cost is better than the others of the same cost."""
    problems = [data for data in ladder.data if data.startswith("#") and ladder.seeds(data, m)]
    won = [data for data in problems if beats_both(ladder, data, m)]
    holds = "—" if not problems else "yes" if len(won) >= 0.75 * len(problems) else "**NO**"
    what = f"at m ≈ {m} alone, the hybrid that validation data choose is better than both pure models so chosen"
    what += " on at least three quarters of the problems"
    safe = sum(no_worse_than_both(ladder, data, m) for data in problems)
    measured = f"{len(won)} of {len(problems)}; what they choose of all sizes is no worse than both in {safe}"
    yield f"| {what} | {measured} | {holds} |"


def _small_against_large(ladder: Ladder) -> Iterator[str]:
    """Yield whether a hybrid of dimension 12 explains the paper's data better than HQMMs of 16 and of 36."""
    sizes = {(3, 2): 12, (1, 4): 16, (1, 6): 32}
    found = {size: ladder.mean(HMM_DATA, m, size, "test") for size, m in sizes.items()}
    if any(value != value for value in found.values()):
        return
    accuracies = {size: 1 + value / np.log(HMM_SYMBOLS) for size, value in found.items()}
    holds = "yes" if max(accuracies, key=lambda size: accuracies[size]) == (3, 2) else "**NO**"
    measured = ", ".join(f"({k}, {q}): {da:.4f}" for (k, q), da in accuracies.items())
    what = (
        f"on {HMM_DATA} the hybrid (3, 2), m = 12, has a higher test DA than HQMMs of n = 4 and 6, m = 16 and 36"
    )
    yield f"| {what} | {measured} | {holds} |"


def _fronts(ladder: Ladder, data: str) -> str:
    dimensions = ladder.complete(data)
    parts = [
        f"{name} {', '.join(f'{1e3 * value:.2f}' for value in front(ladder, data, name))}"
        for name in ("hybrid", "HMM", "HQMM")
    ]
    return f"m = {', '.join(map(str, dimensions))}: {'; '.join(parts)}" if dimensions else "not run"


def best(ladder: Ladder, data: str, m: int) -> tuple[int, int]:
    """Return the size of a dimension with the least mean excess."""
    return min(ladder.sizes(m), key=lambda size: ladder.mean(data, m, size))


def wins(ladder: Ladder, m: int) -> dict[str, int]:
    """Return on how many data sets each family has the best size of a dimension."""
    found = [family(best(ladder, data, m)) for data in ladder.data if ladder.seeds(data, m)]
    return {name: found.count(name) for name in FAMILIES}


def _winners(ladder: Ladder) -> Iterator[str]:
    dimensions = ladder.dimensions
    yield "(k, q) with the least mean excess; in brackets the number of seeds."
    yield ""
    yield "| data | " + " | ".join(f"m ≈ {m}" for m in dimensions) + " |"
    yield "|---|" + "---|" * len(dimensions)
    for data in ladder.data:
        cells = []
        for m in dimensions:
            (k, q), seeds = best(ladder, data, m), ladder.seeds(data, m)
            cells.append(f"{k}, {q} {family((k, q))} [{seeds}]" if seeds else "")
        yield f"| {data} | " + " | ".join(cells) + " |"
    yield ""
    yield "| wins | " + " | ".join(f"m ≈ {m}" for m in dimensions) + " |"
    yield "|---|" + "---|" * len(dimensions)
    counts = [wins(ladder, m) for m in dimensions]
    for name in FAMILIES:
        yield f"| {name} | " + " | ".join(f"{one[name]} of {sum(one.values())}" for one in counts) + " |"


def _every_size(ladder: Ladder, m: int) -> Iterator[str]:
    sizes = ladder.sizes(m)
    yield f"| m ≈ {m} | " + " | ".join(f"{k}, {q}" for k, q in sizes) + " | seconds |"
    yield "|---|" + "---|" * (len(sizes) + 1)
    for data in ladder.data:
        values = [ladder.mean(data, m, size) for size in sizes]
        if np.all(np.isnan(values)):
            continue
        least = np.nanmin(values)
        cells = ["" if v != v else f"**{1e3 * v:.2f}**" if v == least else f"{1e3 * v:.2f}" for v in values]
        seconds = [ladder.mean(data, m, size, "seconds") for size in sizes]
        yield f"| {data} | " + " | ".join(cells) + f" | {np.nanmin(seconds):.0f}–{np.nanmax(seconds):.0f} |"


def _methods(climbs: Sequence[Any]) -> Iterator[str]:
    yield "From the same HMM of k states, every symbol scored; log-likelihood per symbol at the end and passes"
    yield "until it was within 10⁻⁴ of that, means over seeds. `EM, q = 1` is Baum–Welch on the same, slightly"
    yield "larger, class of models as the polar fixed point: HMMs that emit on their transitions."
    yield ""
    methods = list(dict.fromkeys(climb.method for climb in climbs))
    yield "| data, k | " + " | ".join(f"{method}: train, passes" for method in methods) + " |"
    yield "|---|" + "---|" * len(methods)
    for data, k in dict.fromkeys((climb.data, climb.k) for climb in climbs):
        cells = []
        for method in methods:
            found = [c for c in climbs if (c.data, c.k, c.method) == (data, k, method)]
            cells.append(
                f"{np.mean([c.train for c in found]):.5f}, {np.mean([c.passes_to_end for c in found]):.0f}"
                if found
                else ""
            )
        yield f"| {data}, {k} | " + " | ".join(cells) + " |"
    yield ""
    keys = {(c.data, c.k, c.seed) for c in climbs}
    by_key = {(c.data, c.k, c.seed, c.method): c for c in climbs}
    keys = {key for key in keys if all((*key, method) in by_key for method in methods)}
    for method in methods[1:]:
        better = sum(by_key[(*key, method)].train >= by_key[(*key, methods[0])].train for key in keys)
        faster = sum(
            by_key[(*key, method)].passes_to_end <= by_key[(*key, methods[0])].passes_to_end for key in keys
        )
        yield (
            f"- {method}: at least as likely as {methods[0]} in {better} of {len(keys)} runs, "
            f"and in as few passes in {faster}."
        )


def draw(path: Path, ladder: Ladder) -> None:
    """Draw the excess against q, one panel for each data set and one line for each dimension."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    columns = 5
    rows = -(-len(ladder.data) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.5 * columns, 2.1 * rows), squeeze=False)
    colours = plt.get_cmap("viridis")(np.linspace(0.85, 0.1, max(2, len(ladder.dimensions))))
    for axis, data in zip(axes.flat, ladder.data, strict=False):
        for colour, m in zip(colours, ladder.dimensions, strict=False):
            sizes = [size for size in ladder.sizes(m) if ladder.mean(data, m, size) > 0]
            values = [ladder.mean(data, m, size) for size in sizes]
            axis.plot([q for _, q in sizes], values, "o-", color=colour, ms=3, lw=1, label=f"m ≈ {m}")
        axis.set(title=data, yscale="log")
        axis.set_xscale("log", base=2)
        axis.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axis.tick_params(which="both", labelsize=7)
    for axis in list(axes.flat)[len(ladder.data) :]:
        axis.set_axis_off()
    figure.supxlabel("q: from an HMM (q = 1) to an HQMM (one label)", fontsize=9)
    figure.supylabel("excess over the true model, nats", fontsize=9)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=len(labels), fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


@cache
def parameters(size: tuple[int, int], w: int) -> int:
    """Return how many parameters a model of the paper's six symbols has, its start apart."""
    k, q = size
    return n_parameters(random_hybrid(k, q, HMM_SYMBOLS, w)(np.random.default_rng(0)), initial="stationary")


def draw_costs(path: Path, ladder: Ladder) -> None:
    """Draw the excess on the paper's HMM data against the dimension, and against the number of parameters."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for name, colour in FAMILIES.items():
        found = [
            (size, score, 1e3 * excess)
            for m in ladder.dimensions
            for size, score, excess in scores(ladder, HMM_DATA, m, name)
        ]
        costs = (
            [k * q * q for (k, q), _, _ in found],
            [parameters(size, 1 if name == "HMM" else 2) for size, _, _ in found],
        )
        for axis, cost in zip(axes, costs, strict=True):
            axis.plot(cost, [excess for *_, excess in found], "o", color=colour, ms=4, alpha=0.6)
            stairs = list(_chosen_so_far(sorted(zip(cost, found, strict=True), key=lambda pair: pair[0])))
            axis.step(*zip(*stairs, strict=True), where="post", color=colour, lw=1.2, label=name)
    for axis in axes:
        axis.set_xscale("log")
    axes[0].set(xlabel="m = k q²; a symbol costs m²", ylabel="10⁻³ nats per symbol above the truth")
    axes[0].set_xticks(ladder.dimensions, [str(m) for m in ladder.dimensions])
    axes[0].minorticks_off()
    axes[1].set(xlabel="parameters", ylim=(0, None))
    axes[1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _chosen_so_far(ordered: Iterable[tuple[int, tuple[Any, float, float]]]) -> Iterator[tuple[int, float]]:
    """Yield each cost with the excess of the best on validation data of all that cost no more."""
    best = (-np.inf, np.inf)
    for cost, (_, score, excess) in ordered:
        best = max(best, (score, excess))
        yield cost, best[1]
