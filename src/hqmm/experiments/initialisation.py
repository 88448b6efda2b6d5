"""Appendix C: how much COSM's result depends on the start."""

from __future__ import annotations

from statistics import mean, stdev
from typing import TYPE_CHECKING

from hqmm.experiments import protocol
from hqmm.experiments.experiment import Claim, Experiment, Row, Rows, Run, Scale, Verdict
from hqmm.experiments.tables import groups, only, values, where
from hqmm.metrics import description_accuracy
from hqmm.models import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS = 10
NAMES = {"hmm": "data of the HMM", "hqmm": "data of the HQMM"}
NINE = tuple((n, w) for n in (2, 4, 6) for w in (1, 3, 6))
# For each scale: the models (n, w), seeds, the data sets.
PLAN: dict[Scale, tuple[tuple[tuple[int, int], ...], int, tuple[str, ...]]] = {
    "tiny": (((2, 1), (3, 2)), 2, ("hqmm",)),
    "quick": (((2, 1), (2, 3), (4, 1), (4, 3), (6, 6)), 3, ("hmm", "hqmm")),
    "paper": (NINE, 10, ("hmm", "hqmm")),
}
PAPERS_SEEDS = 3


def runs(scale: Scale, seed: int) -> list[Run]:
    """Return one run for each data set, model and seed."""
    sizes, seeds, names = PLAN[scale]
    return [
        Run({"set": name, "data": protocol.source(name), "n": n, "w": w, "seed": seed + number}, 0.3)
        for name in names
        for n, w in sizes
        for number in range(seeds)
    ]


def execute(set: str, data: str, n: int, w: int, seed: int) -> Rows:
    """Return validation DA after every epoch."""
    parts = protocol.splits(set, data)

    def validation_da(model: Model) -> Row:
        return {"validation_da": description_accuracy(model, parts.validation, protocol.BURN_IN)}

    chosen = protocol.learner("cosm", n, w, set, EPOCHS)
    return protocol.timed("cosm", n, w, parts, chosen, seed, measure=validation_da)


def draw(rows: Rows) -> dict[str, Figure]:
    """Draw, for each data set, the mean and the range over seeds at every epoch, and the sd against size."""
    from hqmm.experiments import figures

    drawn: dict[str, Figure] = {}
    for name in values(rows, "set"):
        mine = where(rows, set=name)
        with figures.panel(f"D{NAMES[name][1:]}", "epoch", "validation DA") as (figure, axes):
            for number, ((n, w), same) in enumerate(groups(mine, "n", "w").items()):
                colour = figures.CYCLE[{2: 0, 4: 1, 6: 2}.get(n, 3)]
                epochs = values(same, "iteration")[1:]
                scores = [[row["validation_da"] for row in where(same, iteration=epoch)] for epoch in epochs]
                middle = [mean(score) for score in scores]
                style = {1: "-", 3: "--", 6: ":"}.get(w, "-.")
                axes.plot(epochs, middle, color=colour, linestyle=style, linewidth=1.4, zorder=10 - number)
                low, high = [min(score) for score in scores], [max(score) for score in scores]
                axes.fill_between(epochs, low, high, color=colour, alpha=0.12, linewidth=0)
                figures.note(axes, middle[-1], f"({n}, 6, {w})", colour)
            figures.spread(axes, 10)
        drawn[name] = figure
    ends = table(rows)
    title, label = f"Spread after {EPOCHS} epochs", "sd of validation DA over seeds"
    with figures.panel(title, "numbers in the model (s·w·n²)", label) as (figure, axes):
        for name, colour in zip(values(rows, "set"), figures.CYCLE, strict=False):
            line = sorted(where(ends, set=name), key=lambda row: row["numbers"])
            axes.plot(
                [row["numbers"] for row in line],
                [row["sd"] for row in line],
                color=colour,
                marker="o",
                label=NAMES[name],
            )
            for row in line:
                axes.annotate(
                    f"({row['n']},{row['w']})",
                    (row["numbers"], row["sd"]),
                    xytext=(3, 4),
                    textcoords="offset points",
                    fontsize=7,
                    color=colour,
                )
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=9)
    drawn["sd"] = figure
    return drawn


def table(rows: Rows) -> Rows:
    """Return, for each data set and model, mean, sd and range of the validation DA at the end."""
    found: Rows = []
    for (name, n, w), same in groups(rows, "set", "n", "w").items():
        final = [row["validation_da"] for row in where(same, iteration=max(values(same, "iteration")))]
        found.append(
            {
                "set": name,
                "n": n,
                "w": w,
                "numbers": protocol.n_numbers("cosm", n, w),
                "seeds": len(final),
                "mean": mean(final),
                "sd": stdev(final) if len(final) > 1 else None,
                "lowest": min(final),
                "highest": max(final),
            }
        )
    return found


def see(rows: Rows) -> str:
    """Say how the spread over seeds changes with size."""
    parts = []
    for name in values(rows, "set"):
        line = sorted(where(table(rows), set=name), key=lambda row: row["numbers"])
        first, final = line[0], line[-1]
        parts.append(
            f"on the {NAMES[name]} the sd over {first['seeds']} seeds is {first['sd']:.4f} for "
            f"({first['n']},6,{first['w']}) and {final['sd']:.4f} for ({final['n']},6,{final['w']})"
        )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}. Lines are means, bands run from the lowest to the highest seed."


def _sd(rows: Rows, name: str, n: int, w: int) -> float:
    return float(only(table(rows), set=name, n=n, w=w)["sd"])


def smallest_is_sensitive(rows: Rows) -> Verdict:
    """Ask whether (2, 6, 1) varies most of all models on the HQMM's data."""
    ends = where(table(rows), set="hqmm")
    if len(ends) < 2:
        return Verdict("fewer than two models were run on the HQMM's data", None)
    largest = max(ends, key=lambda row: row["sd"])
    mine = _sd(rows, "hqmm", 2, 1)
    measured = f"sd {mine:.4f}; the largest is {largest['sd']:.4f}, of ({largest['n']},6,{largest['w']})"
    return Verdict(measured, largest["sd"] == mine)


def falls_with_size(rows: Rows) -> Verdict:
    """Ask whether the sd falls from (2, 6, 1) when n grows, and when w grows, on both data sets."""
    measured, verdicts = [], []
    for name in values(rows, "set"):
        ends = where(table(rows), set=name)
        small = _sd(rows, name, 2, 1)
        by_n = max(where(ends, w=1), key=lambda row: row["n"])
        by_w = max(where(ends, n=2), key=lambda row: row["w"])
        if by_n["n"] == 2 or by_w["w"] == 1:
            return Verdict("larger models were not run", None)
        verdicts += [by_n["sd"] < small, by_w["sd"] < small]
        measured.append(
            f"{NAMES[name]}: {small:.4f} for (2,6,1), {by_n['sd']:.4f} for ({by_n['n']},6,1), "
            f"{by_w['sd']:.4f} for (2,6,{by_w['w']})"
        )
    return Verdict("; ".join(measured), all(verdicts))


def lower_on_hmm(rows: Rows) -> Verdict:
    """Compare the mean sd over models between the data sets."""
    if values(rows, "set") != ["hmm", "hqmm"]:
        return Verdict("the data sets were not both run", None)
    sds = {name: mean(row["sd"] for row in where(table(rows), set=name)) for name in ("hmm", "hqmm")}
    return Verdict(f"mean sd {sds['hmm']:.4f} against {sds['hqmm']:.4f}", sds["hmm"] < sds["hqmm"])


EXPERIMENT = Experiment(
    name="initialisation",
    title="Sensitivity of COSM to its start",
    place="Figure 7, appendix C",
    says=(
        "COSM is sensitive to its start for the smallest, (2,6,1), model, but the variance decreases quickly with "
        "the size of the model, by n as well as by w; on the HMM's data it is lower still."
    ),
    settings=(
        f"{protocol.SETTINGS} Here {EPOCHS} epochs and nothing chosen. The paper has {PAPERS_SEEDS} seeds, from "
        f"which no variance can be told; at paper scale there are {PLAN['paper'][1]}. The sizes are ours: n in 2, "
        "4, 6 and w in 1, 3, 6."
    ),
    runs=runs,
    execute=execute,
    draw=draw,
    see=see,
    table=lambda rows: [{**row, "set": NAMES[row["set"]]} for row in table(rows)],
    claims=(
        Claim(
            "Appendix C, figure 7a",
            "COSM is sensitive to its start for the smallest, (2,6,1), model on the HQMM's data",
            smallest_is_sensitive,
            "With more seeds than the paper's three another small model varies more.",
        ),
        Claim(
            "Appendix C, figure 7",
            "The variance over starts decreases with the size of the model, both with n and with w",
            falls_with_size,
            "With w = 1 the optima of larger models are many, too: it is the Kraus rank that makes the start "
            "matter less. Three seeds, as in the paper, do not show it.",
        ),
        Claim(
            "Appendix C, figure 7b",
            "The variance over starts is lower on the HMM's data",
            lower_on_hmm,
            "On the HQMM's data the larger models all reach the true model, so that nothing is left to vary; on "
            "the HMM's data those with w = 1 end in different optima.",
        ),
    ),
)
