"""Every learner on the four synthetic data sets: test DA, seconds and data passes, beside the paper's COSM.

Usage: python -m benchmarks.learners [--minutes M] [--folder FOLDER] [--only LEARNER …] [--profile]

As in the paper: 20 training and 10 validation sequences of 3000 symbols, cut into 300 with a burn-in of 100; the
iterate that scores best on validation data is tested on 10 × 3000 with a burn-in of 1000. The two data sets of the
paper are read from the folder HQMM_DATA where it is set, and drawn from the true models otherwise.

Each run is a row of runs.csv, added when it ends; a second call goes on where the first stopped. summary.md is
written from the rows at the end of every call. One thread.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.learners_report as report
from benchmarks.runs import append, read
from hqmm import MarkovChain, Model, ModelError, Sequences, description_accuracy
from hqmm.datasets import hmm_6_6, hqmm_2_4, hqmm_2_6, probability_clock
from hqmm.learning import (
    COSM,
    BaumWelch,
    GivensSearch,
    Polar,
    RiemannianAdam,
    RiemannianLBFGS,
    fit,
    random_hmm,
    random_hqmm,
    start_from_counts,
)
from hqmm.learning.spectral import learn_spectral, score_leniently
from hqmm.metrics import accuracies_from

FOLDER = Path(__file__).parent.parent / "docs" / "results" / "learners"
TRUE_MODELS: dict[str, Callable[[], Any]] = {
    "HMM(6,6)": hmm_6_6,
    "HQMM(2,6)": hqmm_2_6,
    "HQMM(2,4)": hqmm_2_4,
    "clock": probability_clock,
}
PAPER_FILES = {"HMM(6,6)": "synthetic_hmm_data.mat", "HQMM(2,6)": "synthetic_hqmm_data.mat"}
SEEDS = (0, 1, 2)
KEY_SIZES = [(2, 1), (4, 1), (4, 2), (5, 3), (6, 1), (6, 6)]
STATES = (2, 3, 4, 5, 6)
BURN_IN, TEST_BURN_IN = 100, 1000
NAN = float("nan")
GIVENS_SECONDS = 10.0

LEARNERS = {
    "Baum-Welch": BaumWelch(),
    "COSM": COSM(),
    "Polar": Polar(),
    "Polar from counts": Polar(),  # what `HQMMEstimator` does at w = 1
    "L-BFGS": RiemannianLBFGS(),
    "Adam": RiemannianAdam(),
    "Givens": GivensSearch(),
}


@dataclass(frozen=True)
class Cell:
    """What is run: a learner on a data set at a size; n is an n-gram's order, w is 0 where it means nothing."""

    data: str
    learner: str
    n: int
    w: int
    seed: int


@dataclass(frozen=True)
class Outcome(Cell):
    """A row of the table; ``passes_to_cosm`` counts until COSM's last validation DA (same start) is reached;
    ``seconds`` are of processor time."""

    test_da: float
    validation_da: float
    last_validation_da: float
    passes: float
    passes_to_cosm: float = NAN
    seconds: float = NAN
    reason: str = "counted"
    negative: int = 0


@dataclass(frozen=True)
class Parts:
    """A data set."""

    train: Sequences
    validation: Sequences
    test: Sequences


@cache
def load(name: str) -> Parts:
    """Return a data set: the paper's where it can be read, else one drawn from the true model."""
    path = Path(os.environ.get("HQMM_DATA", "")) / PAPER_FILES.get(name, "none")
    if path.is_file():
        import scipy.io

        content = scipy.io.loadmat(path, simplify_cells=True)["data"]
        train, validation, test = (
            Sequences(content[f"{part}_data"].astype(int) - 1, alphabet=6) for part in ("trn", "val", "test")
        )
    else:
        drawn = TRUE_MODELS[name]().sample(40, 3000, random_state=2026)
        train, validation, test = drawn[:20], drawn[20:30], drawn[30:]
    return Parts(train.split(300), validation.split(300), test)


def cells() -> Iterator[Cell]:
    """Yield what to run, the most telling first, and COSM before those that are compared with it."""
    for name in ("truth", "n-gram", "spectral", "Baum-Welch"):
        for data in TRUE_MODELS:
            sizes = {"truth": (0,), "n-gram": range(6), "spectral": range(2, 7), "Baum-Welch": range(2, 7)}[name]
            for n in sizes:
                for seed in SEEDS if name == "Baum-Welch" else SEEDS[:1]:
                    yield Cell(data, name, n, 0, seed)
    both, near, others = ("COSM", "Polar"), ("Polar from counts",), ("Adam", "L-BFGS")
    pure = [(n, 1) for n in STATES if (n, 1) not in KEY_SIZES]
    middle = [(n, w) for w in (2, 3, 6) for n in STATES if (n, w) not in KEY_SIZES]
    last = [(n, w) for w in (4, 5) for n in STATES]
    blocks = (
        (both, [*KEY_SIZES, *pure]),
        (near, [*KEY_SIZES, *pure]),
        (others, KEY_SIZES),
        (("Givens",), KEY_SIZES[:3]),
        (both, middle + last),
        (near, middle + last),
        (others, pure + middle + last),
    )
    for names, sizes in blocks:
        for n, w in sizes:
            for data in TRUE_MODELS:
                for seed in SEEDS:
                    yield from (Cell(data, name, n, w, seed) for name in names)
    for seed in SEEDS:  # slow: one seed in every cell before the next
        for n, w in KEY_SIZES[3:] + pure + middle + last:
            yield from (Cell(data, "Givens", n, w, seed) for data in TRUE_MODELS)


def run(cell: Cell, goal: float) -> Outcome:
    """Learn, and score the model that did best on validation data."""
    start = time.process_time()  # what passes on an idle core: the turns of other processes do not count
    return replace(_run(cell, goal), seconds=time.process_time() - start)


def _run(cell: Cell, goal: float) -> Outcome:
    if cell.learner == "spectral":
        return _run_spectral(cell)
    if cell.learner not in LEARNERS:
        return _run_direct(cell)
    limit = GIVENS_SECONDS if cell.learner == "Givens" else None
    symbols = _symbols(cell)
    if cell.learner == "Baum-Welch":
        start: Any = random_hmm(cell.n, symbols)
    elif cell.learner == "Polar from counts":
        start = start_from_counts(load(cell.data).train, cell.n, cell.w)
    else:
        start = random_hqmm(cell.n, symbols, cell.w)
    return _from_fit(cell, _fit(LEARNERS[cell.learner], start, load(cell.data), cell.seed, limit), goal)


def _symbols(cell: Cell) -> int:
    return len(load(cell.data).train.alphabet)


def _fit(learner: Any, start: Any, parts: Parts, seed: int, time_limit: float | None = None) -> Any:
    return fit(
        learner,
        start,
        parts.train,
        validation=parts.validation,
        burn_in=BURN_IN,
        time_limit=time_limit,
        random_state=seed,
        threads=1,
    )


def _from_fit(cell: Cell, result: Any, goal: float) -> Outcome:
    history = result.history
    reached = history["passes"][history["validation_da"] >= goal]
    return Outcome(
        **asdict(cell),
        test_da=description_accuracy(result.model, load(cell.data).test, TEST_BURN_IN),
        validation_da=float(history["validation_da"][result.best_iteration]),
        last_validation_da=float(history["validation_da"][-1]),
        passes=float(history["passes"][-1]),
        passes_to_cosm=float(reached[0]) if len(reached) else NAN,
        reason=result.reason,
    )


def _run_direct(cell: Cell) -> Outcome:
    """Count n-grams, or take the true model: nothing is iterated."""
    parts = load(cell.data)
    truth = cell.learner == "truth"
    model: Model = TRUE_MODELS[cell.data]() if truth else MarkovChain.from_sequences(parts.train, cell.n)
    validation = description_accuracy(model, parts.validation, BURN_IN)
    return _counted(cell, description_accuracy(model, parts.test, TEST_BURN_IN), validation)


def _run_spectral(cell: Cell) -> Outcome:
    parts = load(cell.data)
    try:
        model = learn_spectral(parts.train, cell.n)
    except ModelError:  # the rank of the process is smaller
        return _counted(cell, NAN, NAN)
    validation, _ = _lenient_accuracy(model, parts.validation, BURN_IN)
    test, negative = _lenient_accuracy(model, parts.test, TEST_BURN_IN)
    return replace(_counted(cell, test, validation), negative=negative)


def _lenient_accuracy(model: Model, data: Sequences, burn_in: int) -> tuple[float, int]:
    """Return the DA with negative probabilities clipped, and how many there were."""
    lenient = score_leniently(model, data, on_negative="clip", burn_in=burn_in)
    accuracies = accuracies_from(lenient.log_likelihood, data.lengths - burn_in, len(data.alphabet))
    return float(np.mean(accuracies)), lenient.n_negative


def _counted(cell: Cell, test: float, validation: float) -> Outcome:
    return Outcome(
        **asdict(cell), test_da=test, validation_da=validation, last_validation_da=validation, passes=1.0
    )


def main() -> None:
    """Run what is missing, then write the summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="start no further run after so many")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where runs.csv and summary.md are")
    parser.add_argument("--only", nargs="*", help="learners to run; all by default")
    parser.add_argument("--profile", action="store_true", help="also time and profile COSM at (6, 6, 6)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    path, end = arguments.folder / "runs.csv", time.monotonic() + 60 * arguments.minutes
    done = {(o.data, o.learner, o.n, o.w, o.seed): o for o in read(path, Outcome)}
    for cell in cells():
        key = (cell.data, cell.learner, cell.n, cell.w, cell.seed)
        if key in done or (arguments.only and cell.learner not in arguments.only):
            continue
        if time.monotonic() > end:
            break
        cosm = done.get((cell.data, "COSM", cell.n, cell.w, cell.seed))
        done[key] = run(cell, cosm.last_validation_da if cosm else NAN)
        append(path, done[key])
    report.write(arguments.folder / "summary.md", read(path, Outcome))
    if arguments.profile:
        profile = report.profile(
            "60 epochs of COSM at (6, 6, 6) on 200 × 300 symbols",
            lambda: _fit(COSM(), random_hqmm(6, 6, 6), load("HMM(6,6)"), 0),
        )
        (arguments.folder / "profile.md").write_text(profile)
        print(profile)


if __name__ == "__main__":
    main()
