"""The probability clock and the (2, 4)-HQMM of Srinivasan et al. (2018): what is learned, and what HMMs need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hqmm.experiments import protocol
from hqmm.experiments.experiment import Claim, Experiment, Row, Rows, Run, Scale, Verdict
from hqmm.experiments.tables import groups, only, where
from hqmm.metrics import description_accuracies
from hqmm.models import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETS = {"clock": "the probability clock", "hqmm-2-4": "the (2, 4)-HQMM"}
SYMBOLS = {"clock": 2, "hqmm-2-4": 4}
STATES = 2  # of both true models
LEARNERS = ("cosm", "gs", "polar")
# For each scale: states of HMMs, starts of an HQMM and of EM, passes of EM, processor seconds of a Givens search.
PLAN: dict[Scale, tuple[tuple[int, ...], int, int, int, float]] = {
    "tiny": ((2,), 1, 1, 5, 0.2),
    "quick": ((2, 4, 8), 1, 1, 200, 1.0),
    "paper": ((2, 3, 4, 5, 6, 8, 12, 16), 3, 5, 600, 10.0),
}
ORDERS = {"clock": range(11), "hqmm-2-4": range(5)}
# A model counts as the true one's equal where its mean deficit is below two standard errors.
ERRORS = 2.0


def runs(scale: Scale, seed: int) -> list[Run]:
    """Return one run for each learner, size and start, and for each baseline."""
    sizes, starts, em_starts, passes, gs_seconds = PLAN[scale]
    found = []
    for name in SETS:
        common = {"set": name, "data": "generated"}
        found.append(Run({**common, "model": "truth", "n": STATES}, 0.1))
        found += [Run({**common, "model": "markov", "order": order}, 0.1) for order in ORDERS[name]]
        for number in range(em_starts):
            found += [
                Run(
                    {**common, "model": "em", "n": n, "seed": seed + number, "passes": passes},
                    0.003 * passes * n / 4,
                )
                for n in sizes
            ]
        for number in range(starts):
            size = {**common, "n": STATES, "seed": seed + number}
            found += [
                Run({**size, "model": "cosm", "epochs": protocol.EPOCHS if scale != "tiny" else 3}, 1.0),
                Run({**size, "model": "gs", "seconds": gs_seconds}, gs_seconds),
                Run({**size, "model": "polar"}, 1.0),
            ]
    return found


def execute(
    set: str,
    data: str,
    model: str,
    n: int = 0,
    order: int = 0,
    seed: int = 0,
    passes: int = 0,
    epochs: int = protocol.EPOCHS,
    seconds: float | None = None,
) -> Rows:
    """Learn one model and score it, also beside the true model, sequence by sequence."""
    parts, symbols = protocol.splits(set, data), SYMBOLS[set]
    if model in ("truth", "markov"):
        found = protocol.baseline(model, order, parts)
        numbers = symbols * n * n if model == "truth" else symbols ** (order + 1)
        return [{**scores(found, parts), "numbers": numbers}]
    options = {"max_iter": passes} if model == "em" else {}
    chosen_learner = protocol.learner(model, n, 1, set, epochs, **options)
    fitted, spent = protocol.learn(model, n, 1, parts, chosen_learner, seed, cpu_limit=seconds)
    about = {
        "numbers": protocol.n_numbers(model, n, 1, symbols),
        "iterations": fitted.n_iter,
        "cpu_seconds": spent,
    }
    return [{**scores(fitted.model, parts), **about}]


def scores(model: Model, parts: protocol.Splits) -> Row:
    """Return the DA of all three parts, and the mean deficit to the true model with its standard error."""
    test = description_accuracies(model, parts.test, protocol.TEST_BURN_IN)
    train = description_accuracies(model, parts.train, protocol.BURN_IN)
    deficit = description_accuracies(parts.truth, parts.test, protocol.TEST_BURN_IN) - test
    return {
        **protocol.scores(model, parts),
        "train_da": float(train.mean()),
        "deficit": float(deficit.mean()),
        "deficit_error": float(deficit.std(ddof=1) / np.sqrt(len(deficit))),
    }


def chosen(rows: Rows) -> Rows:
    """Return, of the starts of each model, the one with the best validation DA."""
    return [
        {**max(same, key=lambda row: row["validation_da"]), "starts": len(same)}
        for same in groups(rows, "set", "model", "n", "order").values()
    ]


def equals(row: Row) -> bool:
    """Whether a model predicts as well as the true one, as far as the test sequences can tell."""
    return bool(row["deficit"] <= ERRORS * row["deficit_error"])


def draw(rows: Rows) -> dict[str, Figure]:
    """Draw the test DA of HMMs against n with the HQMMs of two states, and what HMMs of the clock still lack."""
    from hqmm.experiments import figures

    best = chosen(rows)
    drawn: dict[str, Figure] = {}
    for name, title in SETS.items():
        mine = where(best, set=name)
        hmms = sorted(where(mine, model="em"), key=lambda row: row["n"])
        with figures.panel(f"Data of {title}", "hidden states n", "test DA (± sd over sequences)") as (
            figure,
            axes,
        ):
            axes.errorbar(
                [row["n"] for row in hmms],
                [row["test_da"] for row in hmms],
                [row["test_sd"] for row in hmms],
                color=figures.COLOURS["em"],
                marker=figures.MARKERS["em"],
                elinewidth=1,
                label=protocol.LABELS["em"],
            )
            for number, model in enumerate(LEARNERS):
                row = only(mine, model=model)
                axes.errorbar(
                    [STATES + 0.12 * (number - 1)],
                    [row["test_da"]],
                    [row["test_sd"]],
                    color=figures.COLOURS[model],
                    marker=figures.MARKERS[model],
                    linestyle="none",
                    elinewidth=1,
                    label=f"{protocol.LABELS[model]}, n = {STATES}",
                )
            axes.axhline(
                only(mine, model="truth")["test_da"],
                linestyle="--",
                linewidth=1.3,
                color="#8a8a8a",
                label="true model",
            )
            chain = _best_chain(mine)
            axes.axhline(
                chain["test_da"],
                linestyle=":",
                linewidth=1.3,
                color=figures.COLOURS["markov"],
                label=f"Markov chain of order {chain['order']}",
            )
            axes.legend(loc="lower right", fontsize=8)
            figures.whole(axes, [row["n"] for row in hmms])
        drawn[name] = figure
    drawn["deficit"] = _draw_deficit(best)
    return drawn


def _draw_deficit(best: Rows) -> Figure:
    from hqmm.experiments import figures

    mine = where(best, set="clock")
    hmms = sorted(where(mine, model="em"), key=lambda row: row["n"])
    with figures.panel(
        "The clock: what HMMs still lack", "hidden states n", "DA of the clock − DA of the HMM"
    ) as (
        figure,
        axes,
    ):
        axes.errorbar(
            [row["n"] for row in hmms],
            [row["deficit"] for row in hmms],
            [row["deficit_error"] for row in hmms],
            color=figures.COLOURS["em"],
            marker=figures.MARKERS["em"],
            elinewidth=1,
        )
        axes.set_yscale("log")
        figures.whole(axes, [row["n"] for row in hmms])
    return figure


def table(rows: Rows) -> Rows:
    """Return the chosen models, in the order of the 2018 paper's tables."""
    order = {model: number for number, model in enumerate(("truth", *LEARNERS, "em", "markov"))}
    names = ("n", "order", "numbers", "train_da", "test_da", "test_sd", "deficit", "deficit_error", "starts")
    shown = sorted(
        chosen(rows),
        key=lambda row: (
            list(SETS).index(row["set"]),
            order[row["model"]],
            row.get("n") or 0,
            row.get("order") or 0,
        ),
    )
    return [
        {
            "data of": SETS[row["set"]],
            "model": protocol.LABELS[row["model"]],
            **{name: row.get(name) for name in names},
        }
        for row in shown
    ]


def see(rows: Rows) -> str:
    """Say what the learned HQMMs and the HMMs reach."""
    best = chosen(rows)
    parts = []
    for name, title in SETS.items():
        mine = where(best, set=name)
        truth, chain = only(mine, model="truth"), _best_chain(mine)
        quantum = max(where(mine, model=LEARNERS), key=lambda row: row["validation_da"])
        largest = max(where(mine, model="em"), key=lambda row: row["n"])
        parts.append(
            f"On data of {title}, whose own test DA is {truth['test_da']:.4f}, "
            f"{protocol.LABELS[quantum['model']]} with n = {STATES} has {quantum['test_da']:.4f}, the HMM with "
            f"{largest['n']} states {largest['test_da']:.4f}, and the best Markov chain, of order "
            f"{chain['order']}, {chain['test_da']:.4f}."
        )
    parts.append(
        "The (2, 4)-HQMM's operators all have rank one: its process is a Markov chain of order one, so a chain "
        "that counts pairs predicts it as well. The clock is no Markov chain of any order, nor any finite HMM."
    )
    return " ".join(parts)


def _best_chain(best: Rows) -> Row:
    return max(where(best, model="markov"), key=lambda row: row["validation_da"])


def _in_words(row: Row) -> str:
    return f"{row['test_da']:.4f} (short of the truth by {row['deficit']:.5f} ± {row['deficit_error']:.5f})"


def learned_equals_true(name: str, rows: Rows) -> Verdict:
    """Ask whether the learned HQMM of two states predicts as well as the true one."""
    mine = where(chosen(rows), set=name, model=LEARNERS)
    if not mine:
        raise LookupError(name)
    best = max(mine, key=lambda row: row["validation_da"])
    return Verdict(f"{protocol.LABELS[best['model']]}: {_in_words(best)}", equals(best))


def hmms_need_more_states(name: str, rows: Rows) -> Verdict:
    """Ask whether the HMM of two states falls short, and say which is the first that does not."""
    hmms = sorted(where(chosen(rows), set=name, model="em"), key=lambda row: row["n"])
    two = only(hmms, n=STATES)
    enough = [row["n"] for row in hmms if equals(row)]
    which = f"{enough[0]} states suffice" if enough else f"not even {hmms[-1]['n']} states suffice"
    return Verdict(f"HMM with {STATES} states: {_in_words(two)}; {which}", not equals(two))


def no_hmm_is_the_clock(rows: Rows) -> Verdict:
    """Ask whether every HMM that was tried falls short of the clock."""
    hmms = sorted(where(chosen(rows), set="clock", model="em"), key=lambda row: row["n"])
    if len(hmms) < 2:
        raise LookupError("fewer than two sizes")
    measured = ", ".join(f"n={row['n']}: {row['deficit']:.5f} ± {row['deficit_error']:.5f}" for row in hmms)
    return Verdict(f"short by {measured}", not any(equals(row) for row in hmms))


def clock_learned(rows: Rows) -> Verdict:
    """Judge the learned HQMM on the clock's data."""
    return learned_equals_true("clock", rows)


def small_learned(rows: Rows) -> Verdict:
    """Judge the learned HQMM on the (2, 4)-HQMM's data."""
    return learned_equals_true("hqmm-2-4", rows)


def clock_needs_states(rows: Rows) -> Verdict:
    """Judge HMMs on the clock's data."""
    return hmms_need_more_states("clock", rows)


def small_needs_states(rows: Rows) -> Verdict:
    """Judge HMMs on the (2, 4)-HQMM's data."""
    return hmms_need_more_states("hqmm-2-4", rows)


EXPERIMENT = Experiment(
    name="clock",
    title="The probability clock and the (2, 4)-HQMM: small quantum models, and what HMMs need",
    place="Srinivasan et al. (2018), section 5; section 2.3",
    says=(
        "On data of HQMMs, HQMMs of the same number of states can be learned that predict as well as the true "
        "ones, while HMMs learned by EM need more states. No finite HMM equals the probability clock."
    ),
    settings=(
        f"{protocol.SETTINGS} The data are drawn from the true models. HMMs by EM and HQMMs from several "
        "starts, of which the one with the best validation DA is shown. The deficit is the mean over test "
        "sequences of the true model's DA minus the learned one's, with its standard error; a model counts as "
        "equal to the true one where the deficit is below two standard errors. Added: hqmm's default learner, "
        "and Markov chains."
    ),
    runs=runs,
    execute=execute,
    draw=draw,
    see=see,
    table=table,
    claims=(
        Claim(
            "Srinivasan et al. (2018)",
            "On data of the (2,4)-HQMM a learned HQMM with 2 states predicts as well as the true one",
            small_learned,
            "Learning stopped before it came close enough.",
        ),
        Claim(
            "Srinivasan et al. (2018)",
            "On data of the (2,4)-HQMM an HMM needs more than 2 states",
            small_needs_states,
            "The HMM of two states came as close as the test sequences can tell.",
        ),
        Claim(
            "Srinivasan et al. (2018)",
            "On data of the probability clock a learned HQMM with 2 states predicts as well as the true one",
            clock_learned,
            "Learning stopped before it came close enough.",
        ),
        Claim(
            "Srinivasan et al. (2018)",
            "On data of the probability clock an HMM needs more than 2 states",
            clock_needs_states,
            "The HMM of two states came as close as the test sequences can tell.",
        ),
        Claim(
            "Section 2.2, section 2.3",
            "No finite HMM models the probability clock exactly",
            no_hmm_is_the_clock,
            "An HMM of finite size can come closer than so few test sequences can tell apart: the statement is "
            "about equality, which the experiment on expressiveness measures without sampling.",
        ),
    ),
    edition=2,
)
