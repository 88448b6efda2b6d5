"""Figure 3: test DA against training time for the smallest and the largest models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hqmm.experiments import protocol
from hqmm.experiments.experiment import Claim, Experiment, Row, Rows, Run, Scale, Verdict
from hqmm.experiments.tables import groups, only, where
from hqmm.metrics import description_accuracy
from hqmm.models import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = ((2, 1), (6, 1), (6, 6))
RIVALS = ("gs-30", "gs")
LEARNERS = ("cosm", *RIVALS, "polar")
BATCH = 30  # of both, as the paper has it; "gs" keeps its own batches, of 1 to 10
ROTATIONS = 3  # on each batch of 30, as in the last stage of its own schedule
# For each scale: the sizes, COSM's epochs, seeds, processor seconds of a Givens search.
PLAN: dict[Scale, tuple[tuple[tuple[int, int], ...], int, int, float]] = {
    "tiny": (SIZES[:1], 3, 1, 0.2),
    "quick": (SIZES, 60, 1, 3.0),
    "paper": (SIZES, 60, 3, 15.0),
}


def runs(scale: Scale, seed: int) -> list[Run]:
    """Return one run for each learner, size and seed, and the true model."""
    sizes, epochs, seeds, gs_seconds = PLAN[scale]
    data = protocol.source("hmm")
    found = [Run({"data": data, "model": "truth", "n": 6, "w": 1}, 0.1)]
    for n, w in sizes:
        for number in range(seeds):
            common = {"data": data, "n": n, "w": w, "seed": seed + number}
            found += [
                Run({**common, "model": "cosm", "epochs": epochs}, 3.0),
                *(Run({**common, "model": rival, "limit": gs_seconds}, 1.5 * gs_seconds) for rival in RIVALS),
                Run({**common, "model": "polar", **({"epochs": epochs} if scale == "tiny" else {})}, 10.0),
            ]
    return found


def execute(
    data: str,
    model: str,
    n: int,
    w: int,
    seed: int = 0,
    epochs: int | None = None,
    limit: float | None = None,
) -> Rows:
    """Return test DA and processor seconds after every epoch, or batch, or pass."""
    parts = protocol.splits("hmm", data)

    def test_da(model: Model) -> Row:
        return {"test_da": description_accuracy(model, parts.test, protocol.TEST_BURN_IN)}

    if model == "truth":
        return [test_da(parts.truth)]
    options: dict[str, Any] = {}
    if model == "cosm":
        options = {"batch_size": BATCH}
    if model == "gs-30":
        options = {"schedule": ((BATCH, ROTATIONS, BATCH),)}
    chosen = protocol.learner("gs" if model in RIVALS else model, n, w, epochs=epochs, **options)
    return protocol.timed(model, n, w, parts, chosen, seed, measure=test_da, cpu_limit=limit)


def draw(rows: Rows) -> dict[str, Figure]:
    """Draw test DA against processor time for each size."""
    from hqmm.experiments import figures

    truth = only(rows, model="truth")["test_da"]
    drawn: dict[str, Figure] = {}
    for (n, w), same in groups(where(rows, model=LEARNERS), "n", "w").items():
        title = f"({n}, 6, {w})-HQMM"
        with figures.panel(title, "processor time of training (s)", "test DA") as (figure, axes):
            for model in LEARNERS:
                for number, curve in enumerate(groups(where(same, model=model), "seed").values()):
                    times = [row["seconds"] for row in curve if row["seconds"] > 0]
                    scores = [row["test_da"] for row in curve if row["seconds"] > 0]
                    axes.plot(times, scores, color=figures.COLOURS[model], alpha=1 if number == 0 else 0.4)
                    axes.plot(times[-1:], scores[-1:], color=figures.COLOURS[model], marker=figures.MARKERS[model])
                    if number == 0:
                        figures.note(axes, scores[-1], figures.NAMES[model], figures.COLOURS[model])
            figures.reference(axes, truth, "true model")
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            figures.spread(axes)
        drawn[f"{n}-6-{w}"] = figure
    return drawn


def last(rows: Rows) -> Rows:
    """Return, for each size and learner, the medians over seeds of how far it came and what that took."""
    found: Rows = []
    for (n, w, model), same in groups(where(rows, model=LEARNERS), "n", "w", "model").items():
        curves = list(groups(same, "seed").values())
        found.append(
            {
                "n": n,
                "w": w,
                "model": model,
                "seeds": len(curves),
                "seconds": _median([curve[-1]["seconds"] for curve in curves]),
                "iterations": int(_median([curve[-1]["iteration"] for curve in curves])),
                "final_test_da": _median([curve[-1]["test_da"] for curve in curves]),
                "best_test_da": _median([max(row["test_da"] for row in curve) for curve in curves]),
            }
        )
    return found


def table(rows: Rows) -> Rows:
    """Return the ends of the curves, and when COSM passed the best of the Givens search."""
    ends = last(rows)
    for row in ends:
        if row["model"] not in RIVALS:
            rival = _rival(ends, row["n"], row["w"])
            row["seconds_to_pass_gs"] = _passed(where(rows, n=row["n"], w=row["w"], model=row["model"]), rival)
    return [{**row, "model": protocol.LABELS[row["model"]]} for row in ends]


def see(rows: Rows) -> str:
    """Say how long COSM took to what Givens search ended with."""
    ends = last(rows)
    parts = []
    for row in where(ends, model="cosm"):
        rival = _rival(ends, row["n"], row["w"])
        passed = _passed(where(rows, n=row["n"], w=row["w"], model="cosm"), rival)
        when = "never came so far" if passed is None else f"was there after {passed:.2g} s"
        parts.append(
            f"({row['n']},6,{row['w']}): Givens search ends at {rival['final_test_da']:.4f} after "
            f"{rival['seconds']:.2g} s, COSM {when} and ends at {row['final_test_da']:.4f}"
        )
    return "; ".join(parts) + ". Processor seconds of one core; thin lines are further seeds."


def _rival(ends: Rows, n: int, w: int) -> Row:
    """Return the Givens search that ends higher: with batches of 30, or with its own."""
    found = where(ends, n=n, w=w, model=RIVALS)
    if not found:
        raise LookupError("Givens search")
    return max(found, key=lambda row: row["final_test_da"])


def _passed(curves: Rows, rival: Row) -> float | None:
    """Return the median seconds after which the curves of the seeds first reach the rival's end."""
    times = [
        next((row["seconds"] for row in curve if row["test_da"] >= rival["final_test_da"]), None)
        for curve in groups(curves, "seed").values()
    ]
    reached = [time for time in times if time is not None]
    return _median(reached) if 2 * len(reached) > len(times) else None


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def better_and_faster(rows: Rows) -> Verdict:
    """Ask whether, for every size, COSM ends higher than Givens search, and is sooner where that ends."""
    ends = last(rows)
    verdicts, measured = [], []
    for row in where(ends, model="cosm"):
        n, w = row["n"], row["w"]
        rival = _rival(ends, n, w)
        own, its = (_passed(where(rows, n=n, w=w, model=model), rival) for model in ("cosm", rival["model"]))
        sooner = own is not None and (its is None or own < its)
        verdicts.append(row["final_test_da"] > rival["final_test_da"] and sooner)
        measured.append(
            f"({n},6,{w}): {row['final_test_da']:.4f} after {row['seconds']:.2g} s against "
            f"{rival['final_test_da']:.4f} after {rival['seconds']:.2g} s, which COSM "
            + ("does not reach" if own is None else f"has after {own:.2g} s")
        )
    return Verdict("; ".join(measured), all(verdicts) if verdicts else None)


def gap_grows(rows: Rows) -> Verdict:
    """Ask whether the difference at COSM's end is larger for (6, 6, 6) than for (2, 6, 1)."""
    ends = last(rows)
    gaps = []
    for n, w in (SIZES[0], SIZES[-1]):
        cosm = only(ends, n=n, w=w, model="cosm")
        gaps.append(cosm["final_test_da"] - _at_time(where(rows, n=n, w=w, model=RIVALS), cosm["seconds"]))
    measured = f"COSM's lead when it ends: {gaps[0]:.4f} for (2,6,1), {gaps[1]:.4f} for (6,6,6)"
    return Verdict(measured, gaps[1] > gaps[0])


def _at_time(curves: Rows, seconds: float) -> float:
    """Return the best DA up to a time, the median over seeds, of whichever Givens search is ahead then."""
    return max(
        _median(
            [
                max(row["test_da"] for row in curve if row["seconds"] <= seconds)
                for curve in groups(same, "seed").values()
            ]
        )
        for same in groups(curves, "model").values()
    )


EXPERIMENT = Experiment(
    name="training-time",
    title="Test DA against training time",
    place="Figure 3, section 4.1",
    says=(
        "COSM converges much faster than Givens search, and to a better optimum, for all models; the difference "
        "is largest for the largest: COSM converges within a few hundred seconds, while Givens search is still "
        "very poor after 2000."
    ),
    settings=(
        f"{protocol.SETTINGS} Here all batches are of {BATCH}, as the paper has it, and nothing is chosen by "
        "validation: the curves show the model as it is trained. Givens search is also run with its own schedule "
        "(batches of 1, 4 and 10), and compared as the one of the two that ends higher; both go on until their "
        "processor time is spent. Time is processor time of one core, of training alone; compilation is done "
        "beforehand."
    ),
    runs=runs,
    execute=execute,
    draw=draw,
    see=see,
    table=table,
    claims=(
        Claim(
            "Section 4.1, figure 3",
            "COSM converges to a better optimum than Givens search, and faster, for all models",
            better_and_faster,
            "A Givens search that is given long enough can reach a better optimum than one COSM start in the "
            "smallest model, whose optima are many; both are compiled here, so a given time is worth more "
            "rotations than in the paper. Differences below .001 are less than these test sequences can tell.",
        ),
        Claim(
            "Section 4.1, figure 3",
            "The difference is especially pronounced for the larger models",
            gap_grows,
            "Givens search was not slower in the larger model.",
        ),
    ),
    edition=2,
)
