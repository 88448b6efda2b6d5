"""Where data comes from, what a reader is asked for, and what it hands back."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from hqmm.errors import DataError
from hqmm.sequences import Alphabet, Sequences, Symbol

STANDARD_INPUT = "-"
_GZIP = b"\x1f\x8b"

Column: TypeAlias = str | int


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds.

    Attributes
    ----------
    sequences : Sequences
    labels : tuple of str or int, or None
        The class of each sequence, where the file tells.
    names : tuple of str, or None
        The name of each sequence, where the file tells.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.readers import Contents
    >>> Contents(Sequences(["ab", "b"]), labels=("x", "y")).labels
    ('x', 'y')
    """

    sequences: Sequences
    labels: tuple[Symbol, ...] | None = None
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Options:
    """What the caller says about a file; None where it says nothing."""

    sep: str | None = None
    column: Column | None = None
    label: Column | None = None
    weight: Column | None = None
    name: Column | None = None
    alphabet: Alphabet | None = None
    missing: Symbol | None = None
    end: bool = False


@dataclass(frozen=True)
class Source:
    """The whole content of a file, or of standard input, decompressed."""

    name: str
    content: bytes

    @classmethod
    def open(cls, path: str) -> Source:
        """Read a file; ``-`` is standard input, and gzip is recognised by its first two bytes."""
        if path == STANDARD_INPUT:
            name, content = "standard input", sys.stdin.buffer.read()
        else:
            name, content = path, _bytes_of(path)
        if content.startswith(_GZIP):
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error) as error:
                raise DataError(f"{name} is a damaged gzip file: {error}") from None
        return cls(name, content)

    def text(self) -> str:
        """Return the content as text, which must be UTF-8."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise DataError(
                f"{self.name}, line {line}: this is not UTF-8 text; is it of another format?"
            ) from None

    def refuse(self, place: str, complaint: str) -> NoReturn:
        """Raise an error that names the file and a place in it."""
        raise DataError(f"{self.name}, {place}: {complaint}")


@dataclass(frozen=True)
class Rows:
    """Sequences as a reader finds them: symbols not yet encoded, and the place of each row in the file.

    A row is a string (each character a symbol), a list of strings, whole numbers and None, or a 1-D array.
    """

    rows: list[Any]
    place: Callable[[int], str]
    labels: tuple[Symbol, ...] | None = None
    names: tuple[str, ...] | None = None
    weights: list[float] | None = None


def at_lines(numbers: list[int]) -> Callable[[int], str]:
    """Return the places of rows that begin on these lines."""
    return lambda row: f"line {numbers[row]}"


def _bytes_of(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
