"""Sequences as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hqmm.errors import DataError
from hqmm.sequences import END

if TYPE_CHECKING:
    from hqmm.sequences import Sequences, Symbol


def without_end(sequences: Sequences) -> Iterator[list[Symbol | None]]:
    """Yield the symbols of each sequence, without the end symbol."""
    for row in sequences.decode():
        yield row[:-1] if row and row[-1] == END else row


def as_text(sequences: Sequences) -> Iterator[str]:
    """Yield a line for each sequence, as `hqmm.readers` reads it: characters, or tokens between blanks.

    A missing symbol is -1 between blanks, and ? among characters.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.cli.writing import as_text
    >>> list(as_text(Sequences(["GATTACA"]))), list(as_text(Sequences([[3, 0]])))
    (['GATTACA'], ['3 0'])
    """
    names = [str(symbol) for symbol in sequences.alphabet if symbol != END]
    if any(name.split() != [name] for name in names):
        raise DataError("symbols with blanks in them cannot be written as text; use --json")
    characters = all(len(name) == 1 for name in names) and not all(name.isdecimal() for name in names)
    between, gap = ("", "?") if characters else (" ", "-1")
    for row in without_end(sequences):
        yield between.join(gap if symbol is None else str(symbol) for symbol in row)
