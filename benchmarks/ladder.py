"""From HMM to HQMM at equal cost: every (k, q) with k q² ≈ m, on the synthetic data sets and on PAutomaC.

Usage: python -m benchmarks.ladder [--minutes M] [--folder FOLDER] [--passes N] [--jobs J] [--data NAME …]

k labels with a q-dimensional quantum state on each make a linear model of dimension k q², so that a symbol costs
(k q²)² whatever k and q are. Every model is learned from the same data in the same number of passes by `Polar` as
it comes, with w = 1 at q = 1 (an HMM that emits on its transitions) and w = 2 elsewhere; the iterate best on
validation data is scored. PAutomaC's problems are read from the folder pautomac in HQMM_DATA, if it is there; a
tenth of their training strings are validation data.

At q = 1 also: `Polar` against expectation–maximisation and against `BaumWelch`, from the same HMM.

Each run is a row of runs.csv (or em.csv), added when it ends; a second call goes on where the first stopped. The
summary and the figure are written from the rows at the end of every call. One thread.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import benchmarks.ladder_report as report
from benchmarks import learners
from benchmarks.runs import perform, read
from hqmm import Sequences, engine
from hqmm.datasets.pautomac import Problem, find_problems, read_problem
from hqmm.learning import BaumWelch, Polar, fit, random_hmm, random_hybrid
from hqmm.learning.driver import split_validation
from hqmm.linear import LinearForm
from hqmm.models import HMM, Model

FOLDER = Path(__file__).parent.parent / "docs" / "results" / "ladder"
PAUTOMAC = Path(os.environ.get("HQMM_DATA", "")) / "pautomac"
DIMENSIONS = (8, 12, 16, 32, 64, 128)
CHEAP = 4  # of these dimensions
SEEDS = (0, 1, 2)
EM_LABELS = (8, 16)
EM_PASSES = 300


@dataclass(frozen=True)
class Rung:
    """What is run: ``m`` is the wanted dimension, k q² the one that is had."""

    data: str
    m: int
    k: int
    q: int
    w: int
    seed: int


@dataclass(frozen=True)
class Run(Rung):
    """A row of the table.

    ``validation`` is the log-likelihood per symbol there; ``excess`` how far the test data's negative
    log-likelihood is above the true model's, in nats: per symbol of the synthetic sets, per string of PAutomaC,
    where it is the logarithm of the ratio of perplexities. ``test`` is the log-likelihood per symbol, or the
    perplexity. ``seconds`` are of processor time.
    """

    passes: float
    seconds: float
    train: float
    validation: float
    excess: float
    test: float
    reason: str


@dataclass(frozen=True)
class Climb:
    """A run of one method from an HMM of k states.

    ``train`` and ``test`` as in `Run`; ``passes_to_end`` until the likelihood was within 1e-4 of its last.
    """

    data: str
    method: str
    k: int
    seed: int
    passes: float
    passes_to_end: float
    seconds: float
    train: float
    test: float


@dataclass(frozen=True)
class Data:
    """A data set with its score: a model's test log-likelihood per symbol, or the logarithm of its perplexity."""

    train: Sequences
    validation: Sequences
    test: Sequences
    burn_in: int
    test_burn_in: int
    problem: Problem | None = None
    truth: Model | None = None

    def score(self, model: Model) -> tuple[float, float]:
        """Return the excess above the true model, and the test log-likelihood per symbol or the perplexity."""
        if self.problem is not None:
            gap = self.problem.gap(model.log_likelihood(self.test))
            return float(np.log1p(gap / self.problem.target)), self.problem.target + gap
        ours, true = (self._per_symbol(one) for one in (model, self.truth))
        return true - ours, ours

    def _per_symbol(self, model: Any) -> float:
        scored = (self.test.lengths - self.test_burn_in).sum()
        return float(model.log_likelihood(self.test, self.test_burn_in).sum() / scored)


def names() -> list[str]:
    """Return the data sets: the synthetic ones, and then PAutomaC's problems from the smallest to the largest."""
    if not PAUTOMAC.is_dir():
        return list(learners.TRUE_MODELS)
    problems = sorted(find_problems(PAUTOMAC), key=lambda name: _problem(name).train.n_symbols)
    return [*learners.TRUE_MODELS, *(f"#{name}" for name in problems)]


@cache
def _problem(name: str) -> Problem:
    return read_problem(PAUTOMAC, name)


@cache
def load(name: str) -> Data:
    """Return a data set."""
    if name.startswith("#"):
        problem = _problem(name[1:])
        train, validation = split_validation(problem.train, 0.1, np.random.default_rng(0))
        return Data(train, validation, problem.test, 0, 0, problem=problem)
    parts, truth = learners.load(name), learners.TRUE_MODELS[name]()
    return Data(*vars(parts).values(), learners.BURN_IN, learners.TEST_BURN_IN, truth=truth)


def sizes(m: int) -> list[tuple[int, int, int]]:
    """Return every (k, q, w) whose k q² is within an eighth of m."""
    pairs = [(max(1, round(m / q**2)), q) for q in range(1, round(m**0.5) + 1)]
    return [(k, q, 1 if q == 1 else 2) for k, q in pairs if abs(k * q * q - m) <= m / 8]


def rungs() -> Iterator[Rung]:
    """Yield what to run: cheap dimensions first, and one seed of everything cheap before the next seed."""
    for dimensions in (DIMENSIONS[:CHEAP], *((m,) for m in DIMENSIONS[CHEAP:])):
        for seed in SEEDS:
            for name in names():
                for m in dimensions:
                    yield from (Rung(name, m, k, q, w, seed) for k, q, w in sizes(m))


def run(rung: Rung, passes: int) -> Run:
    """Learn a model of one size."""
    data, began = load(rung.data), time.process_time()
    start = random_hybrid(rung.k, rung.q, data.train.alphabet, rung.w)
    result = fit(
        Polar(),
        start,
        data.train,
        validation=data.validation,
        burn_in=data.burn_in,
        max_iter=passes,
        random_state=rung.seed,
        threads=1,
    )
    excess, test = data.score(result.model)
    train = float(result.history["train"][result.best_iteration])
    return Run(
        **asdict(rung),
        passes=float(result.history["passes"][-1]),
        seconds=time.process_time() - began,
        train=train,
        validation=result.score,
        excess=excess,
        test=test,
        reason=result.reason,
    )


# --- at q = 1, against expectation–maximisation ---------------------------------------------------------------


def climbs() -> Iterator[tuple[str, str, int, int]]:
    """Yield data, method, k and seed."""
    for seed in SEEDS:
        for k in EM_LABELS:
            for name in names()[:8]:
                for method in METHODS:
                    yield name, method, k, seed


def climb(name: str, method: str, k: int, seed: int) -> Climb:
    """Run one method from the HMM that the seed draws; every symbol is scored, so that all maximise the same."""
    data, began = load(name), time.process_time()
    start = random_hmm(k, data.train.alphabet)(np.random.default_rng(seed))
    likelihoods, passes, model = METHODS[method](start, data.train, seed)
    near = int(np.argmax(likelihoods >= likelihoods[-1] - 1e-4))
    return Climb(
        name,
        method,
        k,
        seed,
        passes=float(passes[-1]),
        passes_to_end=float(passes[near]),
        seconds=time.process_time() - began,
        train=float(likelihoods[-1]),
        test=data.score(model)[1],
    )


def _baum_welch(start: HMM, data: Sequences, seed: int) -> Any:
    return _climbed(BaumWelch(tol=1e-7), start, data, seed)


def _polar(start: HMM, data: Sequences, seed: int) -> Any:
    return _climbed(Polar(tol=1e-7, sweeps=0), start.to_hybrid(), data, seed)


def _polar_swept(start: HMM, data: Sequences, seed: int) -> Any:
    return _climbed(Polar(tol=1e-7), start.to_hybrid(), data, seed)


def _climbed(learner: Any, start: Model, data: Sequences, seed: int) -> Any:
    result = fit(learner, start, data, max_iter=EM_PASSES, random_state=seed, threads=1)
    return result.history["train"], result.history["passes"], result.model


def _edge_em(start: HMM, data: Sequences, seed: int) -> Any:
    """Expectation–maximisation of the model that q = 1 is: T_y[i, j] ∝ its expected counts, for every j."""
    del seed
    form, symbols, history = start.linear, data.n_symbols, []
    while True:
        result = engine.gradient(form, data, threads=1)
        history.append(float(result.log_likelihood @ data.weights) / symbols)
        if len(history) > EM_PASSES or (len(history) > 1 and history[-1] - history[-2] < 1e-7):
            break
        counts, starts = form.operators * result.operators, form.initial * result.initial
        totals = counts.sum(axis=(0, 1))
        operators = np.where(totals > 0, counts / np.where(totals > 0, totals, 1), form.operators)
        form = LinearForm(operators, starts / starts.sum(), form.evaluation)
    from hqmm import OOM

    model = OOM(form.operators, form.initial, alphabet=data.alphabet, check_length=0)
    return np.array(history), np.arange(len(history)) + 1.0, model


METHODS = {"Baum-Welch": _baum_welch, "EM, q = 1": _edge_em, "polar": _polar, "polar after sweeps": _polar_swept}


def main() -> None:
    """Run what is missing, then write the summary and the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="start no further run after so many")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the tables and the figure are")
    parser.add_argument("--passes", type=int, default=40, help="passes over the data of each fit")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    parser.add_argument("--data", nargs="*", help="data sets to run; all by default")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    table, em = arguments.folder / "runs.csv", arguments.folder / "em.csv"
    end = time.monotonic() + 60 * arguments.minutes
    done = {(r.data, r.m, r.k, r.q, r.w, r.seed) for r in read(table, Run)}
    climbed = {(c.data, c.method, c.k, c.seed) for c in read(em, Climb)}
    wanted = arguments.data or names()
    waiting = [rung for rung in rungs() if tuple(asdict(rung).values()) not in done and rung.data in wanted]
    first = [rung for rung in waiting if rung.m <= DIMENSIONS[CHEAP - 1]]
    learned, climbing = (
        partial(run, passes=arguments.passes),
        [key for key in climbs() if key not in climbed and key[0] in wanted],
    )
    perform(table, ((learned, rung) for rung in first), end, arguments.jobs)
    perform(em, ((climb, *key) for key in climbing), end, arguments.jobs)
    perform(table, ((learned, rung) for rung in waiting if rung not in first), end, arguments.jobs)
    report.write(arguments.folder, read(table, Run), read(em, Climb))


if __name__ == "__main__":
    from benchmarks import ladder  # worker processes find functions by the name of their module

    ladder.main()
