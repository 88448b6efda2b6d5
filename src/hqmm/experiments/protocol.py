"""What the paper's experiments on synthetic data share: the data and their use, the learners, the baselines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hqmm.datasets import Synthetic, generate, load_synthetic
from hqmm.experiments.experiment import Row
from hqmm.learning import COSM, BaumWelch, Fit, GivensSearch, Learner, Polar, fit, random_hmm, random_hqmm
from hqmm.metrics import description_accuracies
from hqmm.models import MarkovChain, Model
from hqmm.sequences import Sequences

PIECE, BURN_IN = 300, 100
TEST_BURN_IN = 1000
EPOCHS = 60
STEP, DECAY = 0.75, 0.92
# Step sizes and decay rates of appendix D, where they are not the ones above: of (n, w), on the HMM's data.
TUNED = {
    (2, 1): (0.95, 0.99),
    (4, 6): (0.95, 0.96),
    (5, 1): (0.55, 0.96),
    (5, 2): (0.95, 0.98),
    (5, 6): (0.95, 0.99),
}
LABELS = {
    "truth": "true model",
    "em": "HMM, EM",
    "gs": "HQMM, Givens search",
    "gs-30": "HQMM, Givens search, batches of 30",
    "cosm": "HQMM, COSM",
    "cosm-whole": "HQMM, COSM, sequences not cut",
    "polar": "HQMM, polar (hqmm's default)",
    "markov": "Markov chain",
}
SETTINGS = (
    f"20 training and 10 validation sequences of 3000 symbols, cut into pieces of {PIECE} with a burn-in of "
    f"{BURN_IN}; the iterate with the best validation DA is tested on 10 sequences of 3000 with a burn-in of "
    f"{TEST_BURN_IN}. COSM: {EPOCHS} epochs of batches of 20, τ and α as in the paper's appendix D."
)


@dataclass(frozen=True)
class Splits:
    """A synthetic data set as the paper uses it: pieces to learn from and to choose by, whole test sequences."""

    truth: Model
    train: Sequences
    validation: Sequences
    test: Sequences


@lru_cache
def source(name: str) -> str:
    """Return "authors" where the authors' own sequences can be had, else "generated".

    Examples
    --------
    >>> from hqmm.experiments.protocol import source
    >>> source("clock")
    'generated'
    """
    return "authors" if "authors" in load_synthetic(name).source else "generated"


@lru_cache
def splits(name: str, origin: str, whole: bool = False) -> Splits:
    """Return a synthetic data set, the authors' or generated, cut as the paper does, or ``whole``.

    Examples
    --------
    >>> from hqmm.experiments.protocol import splits
    >>> data = splits("hqmm", "generated")
    >>> len(data.train), len(data.validation), len(data.test)
    (200, 100, 10)
    """
    data: Synthetic = generate(name) if origin == "generated" else load_synthetic(name, download=False)
    if whole:
        return Splits(data.truth, data.train, data.validation, data.test)
    return Splits(data.truth, data.train.split(PIECE), data.validation.split(PIECE), data.test)


def scores(model: Model, data: Splits) -> Row:
    """Return the validation DA, and the mean and standard deviation of the DA of the test sequences."""
    test = description_accuracies(model, data.test, TEST_BURN_IN)
    validation = description_accuracies(model, data.validation, BURN_IN)
    return {
        "validation_da": float(validation.mean()),
        "test_da": float(test.mean()),
        "test_sd": float(test.std(ddof=1)),
    }


def learner(name: str, n: int, w: int, data: str = "hmm", epochs: int | None = None, **options: Any) -> Learner:
    """Return a learner by its short name, with the paper's settings for the model's size.

    ``epochs`` bounds its iterations; by default COSM does the paper's 60 and others stop by themselves.

    Examples
    --------
    >>> from hqmm.experiments.protocol import learner
    >>> learner("cosm", 5, 1).step
    0.55
    """
    if name == "cosm":
        step, decay = TUNED.get((n, w), (STEP, DECAY)) if data == "hmm" else (STEP, DECAY)
        return COSM(step=step, decay=decay, max_iter=epochs or EPOCHS, **options)
    if name == "gs":
        return GivensSearch(**options)
    if epochs is not None:
        options["max_iter"] = epochs
    return Polar(**options) if name == "polar" else BaumWelch(**options)


def start(name: str, n: int, w: int, symbols: int = 6) -> Callable[[np.random.Generator], Model]:
    """Return the function that draws a model to start from."""
    return random_hmm(n, symbols) if name == "em" else random_hqmm(n, symbols, w)


def learn(
    name: str,
    n: int,
    w: int,
    data: Splits,
    chosen: Learner,
    seed: int,
    *,
    burn_in: int = BURN_IN,
    cpu_limit: float | None = None,
) -> tuple[Fit, float]:
    """Fit by the paper's protocol; return the fit and the processor seconds.

    With ``cpu_limit`` the learner goes on, past its own number of iterations, until these seconds are spent.
    """
    began = time.process_time()
    watched = [] if cpu_limit is None else [lambda row, model: time.process_time() - began > cpu_limit]
    result = fit(
        chosen,
        start(name, n, w, len(data.train.alphabet)),
        data.train,
        validation=data.validation,
        burn_in=burn_in,
        max_iter=None if cpu_limit is None else 10**9,
        callbacks=watched,
        random_state=seed,
        threads=1,
    )
    return result, time.process_time() - began


def timed(
    name: str,
    n: int,
    w: int,
    data: Splits,
    chosen: Learner,
    seed: int,
    *,
    measure: Callable[[Model], Row],
    cpu_limit: float | None = None,
    stop: Callable[[list[Row]], bool] = lambda _: False,
) -> list[Row]:
    """Fit and measure the model after every iteration, with the clock stopped meanwhile.

    Returns a row for each iteration, from 0 on, with the processor ``seconds`` of training alone. Compilation and
    caches do not count: one iteration is done beforehand.
    """
    draw = start(name, n, w, len(data.train.alphabet))
    fit(chosen, draw, data.train, burn_in=BURN_IN, max_iter=1, random_state=seed, threads=1)
    rows: list[Row] = []
    clock = began = 0.0

    def watch(row: dict[str, float], model: Model) -> bool:
        nonlocal clock, began
        clock += time.process_time() - began
        rows.append({"iteration": int(row["iteration"]), "seconds": clock, **measure(model)})
        ended = (cpu_limit is not None and clock > cpu_limit) or stop(rows)
        began = time.process_time()
        return ended

    generator = np.random.default_rng(seed)
    first = draw(generator)
    rows.append({"iteration": 0, "seconds": 0.0, **measure(first)})
    began = time.process_time()
    fit(
        chosen,
        first,
        data.train,
        burn_in=BURN_IN,
        max_iter=None if cpu_limit is None else 10**9,
        callbacks=[watch],
        random_state=generator,
        threads=1,
    )
    return rows


def n_numbers(name: str, n: int, w: int, symbols: int = 6) -> int:
    """Return how many numbers a model holds: the entries of A and C, or of all Kraus operators.

    Examples
    --------
    >>> from hqmm.experiments.protocol import n_numbers
    >>> n_numbers("em", 6, 1), n_numbers("cosm", 6, 6)
    (72, 1296)
    """
    return n * n + symbols * n if name == "em" else symbols * w * n * n


def baseline(model: str, order: int, data: Splits) -> Model:
    """Return the true model, or a Markov chain of an order counted on the training data."""
    return data.truth if model == "truth" else MarkovChain.from_sequences(data.train, order)
