"""From a path to its contents: which format it is, and which reader reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, TypeAlias

from hqmm.errors import DataError
from hqmm.readers.arrays import read_mat, read_npy, read_npz
from hqmm.readers.encoding import encode
from hqmm.readers.fasta import read_fasta
from hqmm.readers.jsonl import read_json_lines
from hqmm.readers.lines import read_lines
from hqmm.readers.parquet import read_parquet
from hqmm.readers.pautomac import read_pautomac
from hqmm.readers.source import STANDARD_INPUT, Column, Contents, Options, Rows, Source
from hqmm.readers.table import read_table
from hqmm.sequences import Alphabet, Sequences, Symbol

AnyPath: TypeAlias = str | PathLike[str]


@dataclass(frozen=True)
class Format:
    """How files of a format end, what they hold, and who reads them."""

    endings: tuple[str, ...]
    summary: str
    read: Callable[[Source, Options], Rows | Contents]


FORMATS: dict[str, Format] = {
    "lines": Format((".txt",), "one sequence a line, characters or tokens", read_lines),
    "csv": Format((".csv",), "comma-separated values", partial(read_table, delimiter=",")),
    "tsv": Format((".tsv", ".tab"), "tab-separated values", partial(read_table, delimiter="\t")),
    "fasta": Format((".fasta", ".fa", ".fna", ".faa"), "named records of DNA or protein", read_fasta),
    "jsonl": Format((".jsonl", ".ndjson"), "a JSON string, list or object a line", read_json_lines),
    "parquet": Format((".parquet", ".pq"), "a column of strings or lists", read_parquet),
    "npy": Format((".npy",), "a NumPy array, one sequence a row", read_npy),
    "npz": Format((".npz",), "NumPy arrays by name", read_npz),
    "mat": Format((".mat",), "MATLAB variables (up to version 7)", read_mat),
    "pautomac": Format((".train", ".test"), "the PAutomaC and SPiCe competitions'", read_pautomac),
}
_COMPRESSED = ".gz"


def read(
    path: AnyPath,
    format: str | None = None,
    *,
    sep: str | None = None,
    column: Column | None = None,
    label: Column | None = None,
    weight: Column | None = None,
    name: Column | None = None,
    alphabet: Alphabet | Iterable[Symbol] | int | None = None,
    missing: Symbol | None = None,
    end: bool = False,
) -> Contents:
    r"""Read the sequences of a file, with their labels and names where it has them.

    Parameters
    ----------
    path : path
        The file, which may be compressed with gzip; ``-`` is standard input.
    format : str, optional
        One of `FORMATS`; by default what the name ends in says, and any other ending means lines of text.
    sep : str, optional
        What separates the symbols of a text; ``" "`` is any stretch of blanks and ``""`` makes every character a
        symbol. By default symbols are characters, but whole numbers between blanks are numbers.
    column, label, weight, name : str or int, optional
        Which column holds the sequences, their classes, weights and names: a heading or a number from 1 in a
        table, a column of Parquet, a member of a JSON object, an array of ``.npz``, a variable of ``.mat``
        (``a.b`` inside a structure). Columns called "sequence", "label", "weight" and "name" are found by
        themselves.
    alphabet : Alphabet, iterable of symbols or int, optional
        The symbols that may occur, such as a model's ``alphabet``; by default those that do, sorted.
    missing : str or int, optional
        What stands for a missing symbol; where -1 is not in the alphabet, it always does.
    end : bool
        Append the end symbol to every sequence, for models of finite strings; the PAutomaC format always does.

    Returns
    -------
    Contents

    Raises
    ------
    DataError
        Where the file is not what it should be; the message names the file and the place in it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hqmm.readers import read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "dna.csv"
    >>> _ = path.write_text("sequence,label\nGATTACA,yes\nCAT,no\n")
    >>> contents = read(path)
    >>> contents.sequences, contents.labels
    (Sequences(2 sequences, 10 symbols, Alphabet(['A', 'C', 'G', 'T'])), ('yes', 'no'))
    """
    symbols = alphabet if alphabet is None or isinstance(alphabet, Alphabet) else Alphabet(alphabet)
    options = Options(sep, column, label, weight, name, symbols, missing, end)
    chosen = format_of(path) if format is None else format
    if chosen not in FORMATS:
        raise DataError(f"there is no format {chosen!r}; there are {', '.join(map(repr, FORMATS))}")
    source = Source.open(fspath(path))
    found = FORMATS[chosen].read(source, options)
    if isinstance(found, Contents):
        return found
    return Contents(encode(found, options, source), found.labels, found.names)


def read_classes(
    paths: Mapping[Symbol, AnyPath],
    format: str | None = None,
    *,
    alphabet: Alphabet | None = None,
    **options: Any,
) -> Contents:
    r"""Read one file for each class; the options are those of `read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hqmm.readers import read_classes
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "few.txt").write_text("abaa\naaa\n")
    >>> _ = (folder / "many.txt").write_text("bbab\n")
    >>> read_classes({"few": folder / "few.txt", "many": folder / "many.txt"}).labels
    ('few', 'few', 'many')
    """
    if not paths:
        raise DataError("read_classes needs at least one file")
    parts = [read(path, format, alphabet=alphabet, **options).sequences for path in paths.values()]
    shared = _union(parts) if alphabet is None else parts[0].alphabet
    labels = [label for label, part in zip(paths, parts, strict=True) for _ in range(len(part))]
    return Contents(Sequences.concatenate([part.recode(shared) for part in parts]), tuple(labels))


def format_of(path: AnyPath) -> str:
    """Return the format that the name of a file tells.

    Examples
    --------
    >>> from hqmm.readers import format_of
    >>> format_of("genes.fa.gz"), format_of("3.pautomac.train"), format_of("notes")
    ('fasta', 'pautomac', 'lines')
    """
    name = PurePath(path).name.lower().removesuffix(_COMPRESSED)
    if name == STANDARD_INPUT:
        return "lines"
    if ".pautomac" in name or ".spice" in name:
        return "pautomac"
    matching = [format for format, known in FORMATS.items() if name.endswith(known.endings)]
    return matching[0] if matching and matching[0] != "pautomac" else "lines"


def _union(parts: list[Sequences]) -> Alphabet:
    """Return the alphabet of all symbols of the parts, sorted, the end symbol last."""
    symbols = {symbol for part in parts for code, symbol in enumerate(part.alphabet) if code != part.alphabet.end}
    ends = any(part.alphabet.end is not None for part in parts)
    return Alphabet(sorted(symbols, key=lambda symbol: (isinstance(symbol, str), symbol)), end=ends)
