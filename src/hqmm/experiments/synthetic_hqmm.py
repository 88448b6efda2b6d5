"""Appendix A: the (2, 6, 1)-HQMM learned back from its data, and how many states an HMM needs for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hqmm.experiments import protocol
from hqmm.experiments.experiment import Claim, Experiment, Row, Rows, Run, Scale, Verdict
from hqmm.experiments.scored import chosen, learned, score_table
from hqmm.experiments.tables import only, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N, W = 2, 1
LEARNERS = ("gs", "cosm", "polar")
# Of whole sequences: as many steps in an epoch, and symbols in a step, as with the paper's batches of 20 pieces.
WHOLE_BATCH = 2
# For each scale: states of the HMMs, starts, processor seconds of a Givens search.
PLAN: dict[Scale, tuple[tuple[int, ...], int, float]] = {
    "tiny": ((2,), 1, 0.2),
    "quick": ((2, 3, 4, 5, 6), 2, 2.0),
    "paper": ((2, 3, 4, 5, 6), 5, 10.0),
}


def runs(scale: Scale, seed: int) -> list[Run]:
    """Return one run for each learner, size and start, and for each baseline."""
    states, starts, gs_seconds = PLAN[scale]
    common = {"data": protocol.source("hqmm")}
    found = [
        Run({**common, "model": "truth", "n": N, "w": W}, 0.1),
        *(Run({**common, "model": "markov", "order": order}, 0.1) for order in range(3)),
    ]
    short = {"epochs": 3} if scale == "tiny" else {}
    for number in range(starts):
        size = {**common, "n": N, "w": W, "seed": seed + number}
        found += [
            Run({**size, "model": "cosm", "epochs": protocol.EPOCHS, **short}, 1.0),
            Run({**size, "model": "cosm-whole", "epochs": protocol.EPOCHS, **short}, 1.5),
            Run({**size, "model": "gs", "seconds": gs_seconds}, gs_seconds),
            Run({**size, "model": "polar", **short}, 1.0),
            *(Run({**size, "model": "em", "n": n, **short}, 1.0) for n in states),
        ]
    return found


def execute(
    data: str,
    model: str,
    n: int = 0,
    w: int = 1,
    order: int = 0,
    seed: int = 0,
    epochs: int | None = None,
    seconds: float | None = None,
) -> Rows:
    """Learn one model and score it."""
    if model == "cosm-whole":
        return _whole(data, n, w, seed, epochs)
    return learned("hqmm", data, model, n, w, order, seed, epochs, seconds)


def _whole(data: str, n: int, w: int, seed: int, epochs: int | None) -> Rows:
    """Learn from sequences of 3000 with a burn-in of 1000, as Srinivasan et al. (2018) did."""
    learner = protocol.learner("cosm", n, w, "hqmm", epochs, batch_size=WHOLE_BATCH)
    parts = protocol.splits("hqmm", data, whole=True)
    fitted, spent = protocol.learn("cosm", n, w, parts, learner, seed, burn_in=protocol.TEST_BURN_IN)
    costs: Row = {"numbers": protocol.n_numbers("cosm", n, w), "iterations": fitted.n_iter, "cpu_seconds": spent}
    return [{**protocol.scores(fitted.model, protocol.splits("hqmm", data)), **costs}]


def draw(rows: Rows) -> dict[str, Figure]:
    """Draw test DA of the HQMM's learners and of HMMs with more and more states."""
    from hqmm.experiments import figures

    best = chosen(rows)
    with figures.panel("Who models the (2, 6, 1)-HQMM?", "", "test DA (± sd over sequences)", (6.2, 3.9)) as (
        figure,
        axes,
    ):
        shown = [only(best, model=model) for model in LEARNERS]
        shown += sorted(where(best, model="em"), key=lambda row: row["n"])
        for place, row in enumerate(shown):
            figures.point(axes, row["model"], place, row["test_da"], row["test_sd"])
        figures.reference(axes, only(best, model="truth")["test_da"], "true model")
        chain = only(best, model="markov", order=1)
        figures.reference(axes, chain["test_da"], "bigram chain", ":", figures.COLOURS["markov"])
        names = {"gs": "HQMM\nGivens", "cosm": "HQMM\nCOSM", "polar": "HQMM\npolar"}
        axes.set_xticks(
            range(len(shown)), [names.get(row["model"], f"HMM\nn = {row['n']}") for row in shown], fontsize=9
        )
        figures.spread(axes)
    return {"models": figure}


def see(rows: Rows) -> str:
    """Say how near the learned HQMMs and HMMs come, and that a bigram chain does as well."""
    best = chosen(rows)
    truth, chain = only(best, model="truth"), only(best, model="markov", order=1)
    cosm = only(best, model="cosm")
    enough = _states_needed(rows)
    return (
        f"The true model has a test DA of {truth['test_da']:.4f}; COSM's (2,6,1)-HQMM {cosm['test_da']:.4f}. "
        + (f"An HMM comes as near with {enough} states. " if enough else "No HMM that was run comes as near. ")
        + f"A bigram chain has {chain['test_da']:.4f}: the true model's operators have rank one, so the state "
        "after a symbol is known, and the process is a first-order Markov chain. It shows that the quantum state "
        "saves states, not that anything is hidden."
    )


def gain(row: Row, truth: Row) -> float:
    """Return how much of the true model's DA a model reaches."""
    return float(row["test_da"] / truth["test_da"])


MATCH = 0.99
SAME_DA = 0.001  # a tenth of the sd between test sequences, and less


def _states_needed(rows: Rows) -> int | None:
    best = chosen(rows)
    truth = only(best, model="truth")
    return min((row["n"] for row in where(best, model="em") if gain(row, truth) >= MATCH), default=None)


def cosm_at_least_gs(rows: Rows) -> Verdict:
    """Compare COSM with Givens search."""
    best = chosen(rows)
    cosm, gs = only(best, model="cosm"), only(best, model="gs")
    return Verdict(f"{cosm['test_da']:.4f} against {gs['test_da']:.4f}", cosm["test_da"] >= gs["test_da"])


def cutting_is_free(rows: Rows) -> Verdict:
    """Ask whether COSM learns as well from pieces as from whole sequences, in less time."""
    best = chosen(rows)
    cut, whole = only(best, model="cosm"), only(best, model="cosm-whole")
    # the shortest, because the first run in a process also loads what was compiled
    times = [min(row["cpu_seconds"] for row in where(rows, model=model)) for model in ("cosm", "cosm-whole")]
    measured = (
        f"{cut['test_da']:.4f} in {times[0]:.2g} s against {whole['test_da']:.4f} in {times[1]:.2g} s "
        f"(the shortest of {cut['starts']} starts)"
    )
    as_good = cut["test_da"] >= whole["test_da"] - SAME_DA
    return Verdict(measured, bool(as_good and times[0] < times[1]))


def four_states_at_least(rows: Rows) -> Verdict:
    """Ask whether HMMs with fewer than four states fall short of 99 % of the true model's DA."""
    best = chosen(rows)
    truth, small = only(best, model="truth"), [row for row in where(best, model="em") if row["n"] < 4]
    if not {2, 3} <= {row["n"] for row in small}:
        return Verdict("HMMs of 2 and 3 states were not both run", None)
    measured = ", ".join(f"n={row['n']}: {gain(row, truth):.1%} of the true model's DA" for row in small)
    return Verdict(measured, all(gain(row, truth) < MATCH for row in small))


def six_states(rows: Rows) -> Verdict:
    """Ask how many states an HMM needs for 99 % of the true model's DA."""
    if not {5, 6} <= {row["n"] for row in where(rows, model="em")}:
        return Verdict("HMMs of 5 and 6 states were not both run", None)
    best, needed = chosen(rows), _states_needed(rows)
    line = sorted(where(best, model="em"), key=lambda row: row["n"])
    truth = only(best, model="truth")["test_da"]
    measured = ", ".join(f"n={row['n']}: {row['test_da']:.4f}" for row in line) + f"; true model {truth:.4f}"
    return Verdict(measured, needed == 6)


def two_states_suffice(rows: Rows) -> Verdict:
    """Ask whether COSM's (2, 6, 1) reaches 99 % of the true model's DA."""
    best = chosen(rows)
    share = gain(only(best, model="cosm"), only(best, model="truth"))
    return Verdict(f"{share:.1%} of the true model's DA", share >= MATCH)


EXPERIMENT = Experiment(
    name="synthetic-hqmm",
    title="HQMMs and HMMs on data from the (2, 6, 1)-HQMM",
    place="Figure 5, appendix A",
    says=(
        "COSM achieves a slightly better DA than Givens search on data of the model after the Stern–Gerlach "
        "experiment, and an HMM needs 6 states for what this HQMM does with 2."
    ),
    settings=f"{protocol.SETTINGS} Of several starts the one with the best validation DA is shown.",
    runs=runs,
    execute=execute,
    draw=draw,
    see=see,
    table=score_table,
    claims=(
        Claim(
            "Appendix A, figure 5",
            "COSM achieves a slightly better DA than Givens search",
            cosm_at_least_gs,
            "Compiled, Givens search has the time to reach the same optimum here; what remains between the two is "
            "less than the differences between test sequences.",
        ),
        Claim(
            "Appendix A, figure 5",
            "COSM learns the (2,6,1)-HQMM back: 99 % of the true model's DA",
            two_states_suffice,
            "The starts ended in other optima.",
        ),
        Claim(
            "Appendix A",
            "Cutting sequences of 3000 (burn-in 1000) into 300 (burn-in 100) saves time at no cost in accuracy",
            cutting_is_free,
            "Where the gradient has a closed form and is compiled, a symbol takes as long in a short sequence as "
            "in a long one: both forms hold as many symbols, so that there is little to save. The paper "
            "differentiates automatically, which records every step of a sequence.",
        ),
        Claim(
            "Appendix A",
            "At least 4 states of an HMM are required for this HQMM",
            four_states_at_least,
            "An HMM with fewer states reached 99 % of the true model's DA, so the criterion is too weak to tell.",
        ),
        Claim(
            "Appendix A, figure 5",
            "An HMM needs 6 states to match this 2-state HQMM (99 % of the true model's DA)",
            six_states,
            "See the numbers: an HMM with fewer states came as near, or none did from these starts.",
        ),
    ),
    edition=2,
)
