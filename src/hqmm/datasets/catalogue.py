"""What data sets there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hqmm.datasets.splice import Splice, load_splice
from hqmm.datasets.synthetic import Synthetic, load_synthetic
from hqmm.errors import DataError


@dataclass(frozen=True)
class Entry:
    """A data set: its name, what it is, where it comes from, and how to load it."""

    name: str
    summary: str
    origin: str
    load: Callable[[], Synthetic | Splice]


_AUTHORS = "the authors' file (HQMM_DATA, then the cache, then a checked download), or else generated"
_GENERATED = "generated from the true model"
_SIZES = "20 + 10 + 10 sequences of 3000 symbols"


def _synthetic(name: str, summary: str, origin: str) -> Entry:
    return Entry(name, f"{summary}: {_SIZES}", origin, lambda: load_synthetic(name))


CATALOGUE = {
    entry.name: entry
    for entry in (
        _synthetic("hmm", "An HMM with 6 states and 6 symbols (section 4.1)", _AUTHORS),
        _synthetic("hqmm", "A (2, 6, 1)-HQMM, spin measured along three axes (appendix A)", _AUTHORS),
        _synthetic("hqmm-2-4", "A (2, 4, 1)-HQMM, spin measured along two axes", _GENERATED),
        _synthetic("clock", "The probability clock, which no finite HMM equals", _GENERATED),
        Entry(
            "splice",
            "DNA of 60 bases around exon–intron borders (762), intron–exon borders (765) and neither (1648)",
            "the authors' file (HQMM_DATA, then the cache, then a checked download), or UCI's splice.data",
            load_splice,
        ),
    )
}


def list_datasets() -> list[str]:
    """Return the names of the data sets.

    Examples
    --------
    >>> from hqmm.datasets import list_datasets
    >>> list_datasets()
    ['hmm', 'hqmm', 'hqmm-2-4', 'clock', 'splice']
    """
    return list(CATALOGUE)


def describe(name: str) -> Entry:
    """Return what is known about a data set.

    Examples
    --------
    >>> from hqmm.datasets import describe
    >>> describe("clock").origin
    'generated from the true model'
    """
    if name not in CATALOGUE:
        raise DataError(f"there is no data set {name!r}; there are {', '.join(map(repr, CATALOGUE))}")
    return CATALOGUE[name]


def load_dataset(name: str) -> Synthetic | Splice:
    """Return a data set by its name.

    Examples
    --------
    >>> from hqmm.datasets import load_dataset
    >>> load_dataset("hqmm-2-4").train
    Sequences(20 sequences, 60000 symbols, Alphabet(4))
    """
    return describe(name).load()
