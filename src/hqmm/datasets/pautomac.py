"""Problems of the PAutomaC competition (Verwer, Eyraud, de la Higuera 2012): strings and their probabilities.

A data file begins with the numbers of strings and of symbols; each further line holds a string's length and its
symbols 0 … s−1. The solution holds the number of test strings and the probability of each. Nothing is shipped: the
files are for academic use, and are read from a folder that has them.
"""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.sequences import Alphabet, Sequences


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem: training strings, test strings, and the target's probability of each test string.

    Strings end with the end symbol, so that a model of them is a distribution over strings.
    """

    name: str
    train: Sequences
    test: Sequences
    truth: FloatArray

    @property
    def target(self) -> float:
        """The target's own perplexity, which nothing can beat."""
        return perplexity(self.truth, np.log(self.truth))

    def gap(self, log_probabilities: ArrayLike) -> float:
        """Return how far the perplexity of a model's log-probabilities is above the target's."""
        return perplexity(self.truth, log_probabilities) - self.target


def perplexity(truth: ArrayLike, log_probabilities: ArrayLike) -> float:
    """Return the competition's score 2^(−Σ p_T log₂ p_M), both made to sum to one over the test strings.

    Parameters
    ----------
    truth : array (N,)
        The target's probabilities of the test strings.
    log_probabilities : array (N,)
        A model's natural log-probabilities of the same strings.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.datasets.pautomac import perplexity
    >>> perplexity([0.5, 0.25, 0.25], np.log([0.1, 0.1, 0.1])).__round__(6)  # a uniform guess among three
    3.0
    """
    p = np.asarray(truth, dtype=np.float64)
    logs = np.asarray(log_probabilities, dtype=np.float64)
    if p.shape != logs.shape or p.ndim != 1:
        raise DataError(f"there must be one log-probability for each true one: {p.shape}, not {logs.shape}")
    highest = logs.max(initial=-np.inf)
    if not np.isfinite(highest):
        return float("inf")
    normalised = logs - highest - np.log(np.exp(logs - highest).sum())
    counted = p > 0
    return float(np.exp(-(p[counted] / p.sum()) @ normalised[counted]))


def read_problem(folder: str | os.PathLike[str], name: str | int) -> Problem:
    r"""Read one problem from ``NAME.pautomac.train``, ``NAME.pautomac.test`` and ``NAME.pautomac_solution.txt``.

    Parameters
    ----------
    folder : path
        Where the three files are (each may end in ``.gz``).
    name : str or int
        Which problem.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from hqmm.datasets.pautomac import read_problem
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "1.pautomac.train").write_text("2 2\n2 0 1\n0\n")
    >>> _ = (folder / "1.pautomac.test").write_text("1 2\n1 0\n")
    >>> _ = (folder / "1.pautomac_solution.txt").write_text("1\n0.25\n")
    >>> read_problem(folder, 1).train
    Sequences(2 sequences, 4 symbols, Alphabet(2, end=True))
    """
    stem = f"{name}.pautomac"
    train = read_strings(Path(folder) / f"{stem}.train")
    test = read_strings(Path(folder) / f"{stem}.test", n_symbols=len(train.alphabet) - 1)
    path = Path(folder) / f"{stem}_solution.txt"
    values = _numbers(_text(path), str(path), float)
    if len(values) - 1 != len(test) or int(values[0]) != len(test):
        raise DataError(f"{path} should hold the number of test strings, {len(test)}, and then that many numbers")
    return Problem(str(name), train, test, np.array(values[1:]))


def find_problems(folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of the problems in a folder whose three files are there, in numerical order."""
    found = [re.fullmatch(r"(.+)\.pautomac\.train(\.gz)?", path.name) for path in Path(folder).glob("*")]
    names = {match.group(1) for match in found if match}
    complete = [
        name
        for name in names
        if _present(Path(folder) / f"{name}.pautomac.test")
        and _present(Path(folder) / f"{name}.pautomac_solution.txt")
    ]
    return sorted(complete, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name))


def read_strings(path: str | os.PathLike[str], n_symbols: int | None = None) -> Sequences:
    """Read the strings of one data file; the end symbol closes each.

    Parameters
    ----------
    path : path
        The file; with ``.gz`` appended if only that is there.
    n_symbols : int, optional
        Size of the alphabet, if it should be larger than the file says.
    """
    return parse_strings(_text(Path(path)), str(path), n_symbols)


def parse_strings(text: str, name: str, n_symbols: int | None = None) -> Sequences:
    r"""Return the strings that the text of a data file holds; ``name`` says in errors which file it is.

    Examples
    --------
    >>> from hqmm.datasets.pautomac import parse_strings
    >>> parse_strings("2 2\n2 0 1\n0\n", "a file").decode()
    [[0, 1, '<end>'], ['<end>']]
    """
    numbers = _numbers(text, name, int)
    if len(numbers) < 2 or numbers[0] < 0 or numbers[1] < 1:
        raise DataError(f"{name} should begin with the numbers of strings and of symbols")
    count, symbols = int(numbers[0]), int(numbers[1])
    alphabet = Alphabet(max(symbols, n_symbols or 0), end=True)
    end = len(alphabet) - 1
    try:
        body = np.array(numbers[2:], dtype=np.int64)
    except OverflowError:
        raise DataError(f"{name} holds a number that is neither a length nor a symbol") from None
    offsets = np.zeros(min(count, len(body)) + 1, dtype=np.int64)  # every string takes at least one number
    place = 0
    codes = np.empty(len(body), dtype=np.int64)  # every length makes room for an end symbol
    for row in range(count):
        if place >= len(body):
            raise DataError(f"{name} promises {count} strings, but ends before this one", sequence=row)
        length = int(body[place])
        if length < 0 or place + 1 + length > len(body):
            raise DataError(f"{name} promises a string of {length} symbols, but holds fewer", sequence=row)
        string = body[place + 1 : place + 1 + length]
        wrong = np.flatnonzero((string < 0) | (string >= end))
        if len(wrong):
            complaint = f"{name}: {string[wrong[0]]} is not one of the {end} symbols"
            raise DataError(complaint, sequence=row, position=int(wrong[0]))
        start = int(offsets[row])
        codes[start : start + length] = string
        codes[start + length] = end
        offsets[row + 1] = start + length + 1
        place += 1 + length
    if place != len(body):
        raise DataError(f"{name} holds more numbers than its {count} strings have")
    return Sequences.from_arrays(codes.astype(alphabet.dtype), offsets, alphabet)


def _present(path: Path) -> bool:
    return path.exists() or path.with_name(path.name + ".gz").exists()


def _text(path: Path) -> str:
    compressed = path.with_name(path.name + ".gz")
    try:
        if not path.exists() and compressed.exists():
            return gzip.decompress(compressed.read_bytes()).decode()
        return path.read_text()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _numbers(text: str, name: str, kind: type[int] | type[float]) -> list[int] | list[float]:
    try:
        return [kind(word) for word in text.split()]
    except ValueError as error:
        raise DataError(f"{name} should hold only numbers: {error}") from None
