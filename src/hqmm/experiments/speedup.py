"""Appendix E: how many times faster COSM is than Givens search, as the paper estimates it and as measured."""

from __future__ import annotations

from math import inf, isfinite
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from hqmm.experiments import protocol
from hqmm.experiments.experiment import Claim, Experiment, Row, Rows, Run, Scale, Verdict
from hqmm.experiments.tables import groups, values, where
from hqmm.metrics import description_accuracy
from hqmm.models import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-5
LAST_STEPS = 10
FRACTIONS = (0.5, 0.75, 0.9, 1.0)
N_FIXED = 5
LARGEST = (6, 6)
# For each scale: n at w = 1, w at n = 5, seeds, most epochs, processor seconds of a Givens search, and of the
# first one in the largest model (0: that model is not run).
PLAN: dict[Scale, tuple[tuple[int, ...], tuple[int, ...], int, int, float, float]] = {
    "tiny": ((2,), (), 1, 4, 0.3, 0.0),
    "quick": ((2, 4, 6), (3,), 1, 200, 3.0, 6.0),
    "paper": ((2, 3, 4, 5, 6), (2, 3, 4, 5, 6), 3, 200, 10.0, 150.0),
}


def runs(scale: Scale, seed: int) -> list[Run]:
    """Return one run for each size and seed; both learners are in it, so that they meet the same machine."""
    by_n, by_w, seeds, epochs, short, long = PLAN[scale]
    sizes = [*((n, 1) for n in by_n), *((N_FIXED, w) for w in by_w), *([LARGEST] if long else [])]
    data = protocol.source("hmm")

    def limit(size: tuple[int, int], number: int) -> float:
        """Once, in the largest model, Givens search gets long enough to show how far behind it is."""
        return long if size == LARGEST and number == 0 else short

    return [
        Run(
            {
                "data": data,
                "n": n,
                "w": w,
                "seed": seed + number,
                "epochs": epochs,
                "limit": limit((n, w), number),
            },
            limit((n, w), number) + 5,
        )
        for n, w in sizes
        for number in range(seeds)
    ]


def execute(data: str, n: int, w: int, seed: int, epochs: int, limit: float) -> Rows:
    """Return, for each fraction of COSM's solution, how long both learners take to it, estimated and measured."""
    parts = protocol.splits("hmm", data)

    def validation_da(model: Model) -> Row:
        return {"da": description_accuracy(model, parts.validation, protocol.BURN_IN)}

    def converged(rows: Rows) -> bool:
        return len(rows) > 2 and abs(rows[-1]["da"] - rows[-2]["da"]) < TOLERANCE

    cosm_learner = protocol.learner("cosm", n, w, epochs=epochs)
    cosm = protocol.timed("cosm", n, w, parts, cosm_learner, seed, measure=validation_da, stop=converged)
    seconds, goal = cosm[-1]["seconds"], cosm[-1]["da"]
    gs = protocol.timed(
        "gs",
        n,
        w,
        parts,
        protocol.learner("gs", n, w),
        seed,
        measure=validation_da,
        cpu_limit=max(limit, 2 * seconds),
        stop=lambda rows: rows[-1]["da"] >= goal,
    )
    common: Row = {
        "numbers": protocol.n_numbers("cosm", n, w),
        "cosm_seconds": seconds,
        "cosm_epochs": cosm[-1]["iteration"],
        "cosm_da": goal,
        "gs_seconds": gs[-1]["seconds"],
        "gs_da": gs[-1]["da"],
    }
    return [{**common, "fraction": fraction, **compare(cosm, gs, fraction)} for fraction in FRACTIONS]


def compare(cosm: Rows, gs: Rows, fraction: float) -> Row:
    """Return the paper's estimate of the speedup and the measured one.

    The paper stops both when COSM has converged, fits a line to the last steps of Givens search, and follows it to
    the fraction of COSM's DA. Measured is when each first had that DA; None where Givens search never had it.

    Examples
    --------
    >>> from hqmm.experiments.speedup import compare
    >>> cosm = [{"seconds": float(t), "da": min(0.1 * t, 0.2)} for t in range(4)]
    >>> gs = [{"seconds": float(t), "da": 0.01 * t} for t in range(21)]
    >>> result = compare(cosm, gs, 1.0)
    >>> round(result["estimated_speedup"], 3), round(result["measured_speedup"], 3)
    (6.667, 10.0)
    """
    seconds, goal = cosm[-1]["seconds"], fraction * cosm[-1]["da"]
    seen = [row for row in gs if row["seconds"] <= seconds]
    seen = seen if len(seen) > LAST_STEPS else gs[: LAST_STEPS + 1]
    there = _reached(seen, goal)
    estimate = _extrapolated(seen[-LAST_STEPS:], goal) if there is None else there
    measured, own = _reached(gs, goal), _reached(cosm, goal)
    return {
        "gs_seconds_estimated": estimate,
        "estimated_speedup": estimate / seconds,
        "gs_seconds_measured": measured,
        "cosm_seconds_measured": own,
        "measured_speedup": None if measured is None or not own else measured / own,
        "speedup_is_more_than": gs[-1]["seconds"] / own if measured is None and own else None,
    }


def _reached(rows: Rows, goal: float) -> float | None:
    return next((float(row["seconds"]) for row in rows if row["da"] >= goal), None)


def _extrapolated(rows: Rows, goal: float) -> float:
    """Return when the line through the rows reaches the goal: never, if it does not rise."""
    times, scores = (np.array([row[name] for row in rows]) for name in ("seconds", "da"))
    if len(rows) < 2 or np.ptp(times) == 0:
        return inf
    slope, start = np.polyfit(times - times[-1], scores, 1)
    return float(times[-1] + (goal - start) / slope) if slope > 0 else inf


def typical(rows: Rows) -> Rows:
    """Return, for each size and fraction, the medians over seeds.

    Where Givens search never came so far, the speedup is more than the time that it was given, in COSM's.
    """
    found: Rows = []
    for (n, w, fraction), same in groups(rows, "n", "w", "fraction").items():
        measured = [row["measured_speedup"] for row in same]
        found.append(
            {
                "n": n,
                "w": w,
                "numbers": same[0]["numbers"],
                "fraction": fraction,
                "seeds": len(same),
                "cosm_seconds": median(row["cosm_seconds"] for row in same),
                "cosm_da": median(row["cosm_da"] for row in same),
                "gs_da": median(row["gs_da"] for row in same),
                "estimated_speedup": median(row["estimated_speedup"] for row in same),
                "reached": sum(value is not None for value in measured),
                "measured_speedup": None if None in measured else median(measured),
                "speedup_is_more_than": max(
                    (row["speedup_is_more_than"] for row in same if row["measured_speedup"] is None), default=None
                ),
            }
        )
    return found


def draw(rows: Rows) -> dict[str, Figure]:
    """Draw the estimated speedup against the number of parameters, by n and by w; and the measured one."""
    from hqmm.experiments import figures

    medians = typical(rows)
    colours = dict(zip(FRACTIONS, figures.CYCLE, strict=False))
    drawn: dict[str, Figure] = {}
    for name, title, fixed, x in (
        ("by-n", "Estimated, w = 1, growing n", {"w": 1}, "n"),
        ("by-w", f"Estimated, n = {N_FIXED}, growing w", {"n": N_FIXED}, "w"),
    ):
        label = "numbers in the model (s·w·n²)"
        with figures.panel(title, label, "time of Givens search / time of COSM") as (figure, axes):
            for fraction in FRACTIONS:
                line = sorted(where(medians, fraction=fraction, **fixed), key=lambda row: row[x])
                line = [row for row in line if isfinite(row["estimated_speedup"])]
                if line:
                    heights = [row["estimated_speedup"] for row in line]
                    axes.plot([row["numbers"] for row in line], heights, marker="o", color=colours[fraction])
                    figures.note(axes, heights[-1], f"{fraction:.0%} of DA", colours[fraction])
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            figures.reference(axes, 1, "as fast", ":", figures.COLOURS["markov"])
            figures.spread(axes)
        drawn[name] = figure
    title, label = "Measured", "numbers in the model (s·w·n²)"
    with figures.panel(title, label, "time of Givens search / time of COSM") as (figure, axes):
        for fraction in FRACTIONS:
            line = sorted(where(medians, fraction=fraction), key=lambda row: (row["numbers"], row["n"]))
            reached = [row for row in line if row["measured_speedup"] is not None]
            never = [row for row in line if row["measured_speedup"] is None]
            colour = colours[fraction]
            axes.plot(
                [row["numbers"] for row in reached],
                [row["measured_speedup"] for row in reached],
                "o",
                color=colour,
                label=f"{fraction:.0%} of COSM's DA",
            )
            axes.plot(
                [row["numbers"] for row in never],
                [row["speedup_is_more_than"] for row in never],
                "^",
                color=colour,
                fillstyle="none",
            )
        axes.plot([], [], "^", color=figures.CYCLE[-1], fillstyle="none", label="at least (not reached)")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize=8)
    drawn["measured"] = figure
    return drawn


def see(rows: Rows) -> str:
    """Say what the estimate and the measurement come to for the largest model."""
    row, run = _largest(typical(rows)), _longest(rows)
    measured = (
        f"measured it is {run['measured_speedup']:.0f}"
        if run["measured_speedup"] is not None
        else f"Givens search never came there, given {run['speedup_is_more_than']:.0f} times as long"
    )
    return (
        f"For the largest model, ({row['n']},6,{row['w']}), the paper's estimate of the speedup to COSM's own DA "
        f"is {_number(row['estimated_speedup'])}; {measured}. COSM converges there in {row['cosm_seconds']:.2g} "
        "s. Where the last steps of Givens search gained nothing, the line never arrives and the estimate is "
        "infinite (left out of the figures, inf in the table). Medians over seeds, processor time of one core."
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if isfinite(value) else "infinite"


def _largest(medians: Rows) -> Row:
    return max(where(medians, fraction=1.0), key=lambda row: row["numbers"])


def _longest(rows: Rows) -> Row:
    """Return the run of the largest model that gave Givens search most time."""
    return max(where(rows, fraction=1.0), key=lambda row: (row["numbers"], row["gs_seconds"]))


def more_than_150(rows: Rows) -> Verdict:
    """Ask whether the estimate for the largest model and all of COSM's DA is above 150."""
    if not where(rows, n=LARGEST[0], w=LARGEST[1]):
        return Verdict("the largest model, (6,6,6), was not run", None)
    row = _largest(typical(rows))
    measured = f"({row['n']},6,{row['w']}): {_number(row['estimated_speedup'])} (median of {row['seeds']} seeds)"
    return Verdict(measured, row["estimated_speedup"] > 150)


def measured_150(rows: Rows) -> Verdict:
    """Ask whether Givens search was given 150 times COSM's time in the largest model without reaching its DA."""
    if not where(rows, n=LARGEST[0], w=LARGEST[1]):
        return Verdict("the largest model, (6,6,6), was not run", None)
    row = _longest(rows)
    if row["measured_speedup"] is not None:
        return Verdict(f"measured: {row['measured_speedup']:.0f} times", row["measured_speedup"] > 150)
    least = row["speedup_is_more_than"]
    measured = f"not there after {least:.0f} times COSM's time: DA {row['gs_da']:.4f} against {row['cosm_da']:.4f}"
    return Verdict(measured, True if least > 150 else None)


def grows_either_way(rows: Rows) -> Verdict:
    """Ask whether the estimate at COSM's own DA is larger for the largest n, and the largest w, than the least."""
    medians = where(typical(rows), fraction=1.0)
    ends = []
    for line in (
        sorted(where(medians, w=1), key=lambda row: row["n"]),
        sorted(where(medians, n=N_FIXED), key=lambda row: row["w"]),
    ):
        if len(line) < 2:
            return Verdict("too few sizes were run", None)
        ends.append((line[0], line[-1]))
    measured = "; ".join(
        f"({small['n']},6,{small['w']}) {_number(small['estimated_speedup'])} → "
        f"({large['n']},6,{large['w']}) {_number(large['estimated_speedup'])}"
        for small, large in ends
    )
    return Verdict(measured, all(large["estimated_speedup"] > small["estimated_speedup"] for small, large in ends))


def understated(rows: Rows) -> Verdict:
    """Ask whether the estimate is below what was measured, in the runs that tell."""
    below = above = 0
    for row in where(rows, fraction=1.0):
        measured, least = row["measured_speedup"], row["speedup_is_more_than"]
        if measured is None and least is not None and row["estimated_speedup"] <= least:
            below += 1
        elif measured is not None:
            below += row["estimated_speedup"] <= measured
            above += row["estimated_speedup"] > measured
    if not below + above:
        return Verdict("no run tells: Givens search never came there, in less time than the estimate", None)
    listed = f"of {below + above} runs that tell, the estimate is at most the measured speedup in {below}"
    return Verdict(listed, not above)


def always_first(rows: Rows) -> Verdict:
    """Ask whether COSM reached its own DA before Givens search in every run."""
    final = where(rows, fraction=values(rows, "fraction")[-1])
    slower = [row for row in final if row["measured_speedup"] is not None and row["measured_speedup"] <= 1]
    reached = [row for row in final if row["measured_speedup"] is not None]
    measured = f"{len(final)} runs: Givens search came there in {len(reached)}, before COSM in {len(slower)}"
    return Verdict(measured, not slower)


EXPERIMENT = Experiment(
    name="speedup",
    title="How many times faster COSM is than Givens search",
    place="Figure 8, appendix E",
    says=(
        "Givens search cannot be run to the end for large models, so its time is extrapolated: a line through the "
        "DA of its last 10 steps, when COSM has converged, is followed to a fraction of COSM's DA. At fraction 1 "
        "the speedup is more than 150 for the largest models, and grows with n as with w."
    ),
    settings=(
        f"{protocol.SETTINGS} Here the DA is that of the validation data after every epoch or batch of rotations; "
        f"COSM ends when an epoch changes it by less than {TOLERANCE:g}. Beside the estimate, Givens search is "
        "run on until it has COSM's DA or its processor time is spent: the measured ratio, or what it is at least."
    ),
    runs=runs,
    execute=execute,
    draw=draw,
    see=see,
    table=typical,
    claims=(
        Claim(
            "Appendix E, figure 8",
            "The estimated speedup to COSM's own DA is more than 150 for the largest model",
            more_than_150,
            "The line is laid through the steps of Givens search at the moment when COSM has converged. Both are "
            "compiled here, and COSM needs a second or two: by then Givens search has done few steps, "
            "its first and steepest, and the line rises much faster than the search ever will again. How far off "
            "the estimate is, the measured ratio shows.",
        ),
        Claim(
            "Appendix E, caption of figure 8",
            "Givens search can take more than 150 times COSM's time to reach COSM's DA (measured, largest model)",
            measured_150,
            "Givens search, compiled, was quicker than that.",
        ),
        Claim(
            "Appendix E, figure 8",
            "The speedup grows with the number of parameters, by n as well as by w",
            grows_either_way,
            "The estimate rests on the slope of ten noisy steps, and on how soon COSM happens to change by less "
            "than the tolerance; it varies much between seeds.",
        ),
        Claim(
            "Appendix E",
            "The linear estimate understates how much faster COSM is",
            understated,
            "A line through ten steps is optimistic only while the search slows down. Where those steps happen to "
            "gain little, or nothing, and later ones more, the line is too flat.",
        ),
        Claim(
            "Appendix E",
            "COSM always converges first",
            always_first,
            "In small models Givens search sometimes finds a better optimum than the one COSM starts towards.",
        ),
    ),
)
