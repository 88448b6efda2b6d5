"""The paper's synthetic data: sequences of a known model, the authors' own or drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hqmm._random import RandomState
from hqmm.datasets.fetch import SHA256, DataUnavailableError, fetch_file
from hqmm.datasets.true_models import hmm_6_6, hqmm_2_4, hqmm_2_6, probability_clock
from hqmm.errors import DataError
from hqmm.models import Model
from hqmm.sequences import Sequences

LENGTH = 3000
TRAIN, VALIDATION, TEST = 20, 10, 10

TRUTHS: dict[str, Callable[[], Model]] = {
    "hmm": hmm_6_6,
    "hqmm": hqmm_2_6,
    "hqmm-2-4": hqmm_2_4,
    "clock": probability_clock,
}


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Sequences of a known model: what to learn from, what to choose by, what to report on.

    ``source`` says where they come from.
    """

    name: str
    truth: Model
    train: Sequences
    validation: Sequences
    test: Sequences
    source: str


def generate(name: str, random_state: RandomState = 0) -> Synthetic:
    """Draw a data set as large as the paper's: 20 sequences to learn from, 10 + 10 to validate and test on.

    Parameters
    ----------
    name : "hmm", "hqmm", "hqmm-2-4" or "clock"
        The true model: the (6, 6)-HMM, the (2, 6)-HQMM, the (2, 4)-HQMM or the probability clock.
    random_state : None, int or numpy.random.Generator
        The same seed gives the same data.

    Examples
    --------
    >>> from hqmm.datasets import generate
    >>> data = generate("clock")
    >>> data.train, len(data.validation), len(data.test)
    (Sequences(20 sequences, 60000 symbols, Alphabet(2)), 10, 10)
    """
    if name not in TRUTHS:
        raise DataError(f"there is no synthetic data set {name!r}; there are {', '.join(map(repr, TRUTHS))}")
    truth = TRUTHS[name]()
    drawn = truth.sample(TRAIN + VALIDATION + TEST, LENGTH, random_state=random_state)
    seed = f"seed {random_state}" if isinstance(random_state, int) else "seed not recorded"
    train, held_out = drawn[:TRAIN], drawn[TRAIN:]
    return Synthetic(name, truth, train, held_out[:VALIDATION], held_out[VALIDATION:], f"generated ({seed})")


def load_synthetic(name: str, *, download: bool = True) -> Synthetic:
    """Return the authors' own sequences, or generated ones where theirs cannot be had; ``source`` says which.

    Parameters
    ----------
    name : "hmm", "hqmm", "hqmm-2-4" or "clock"
        The true model. The authors published sequences of the first two; the others are always generated.
    download : bool
        Whether to download a file that is not at hand.

    Examples
    --------
    >>> from hqmm.datasets import load_synthetic
    >>> load_synthetic("clock").source
    'generated (seed 0)'
    """
    file = f"synthetic_{name}_data.mat"
    if file not in SHA256:
        return generate(name)
    try:
        path = fetch_file(file, download=download)
    except DataUnavailableError:
        return generate(name)
    from scipy.io import loadmat

    content = loadmat(path, simplify_cells=True)["data"]
    train, validation, test = (
        Sequences(content[f"{part}_data"].astype(int) - 1, alphabet=6) for part in ("trn", "val", "test")
    )
    return Synthetic(name, TRUTHS[name](), train, validation, test, f"the authors' file {file}")
