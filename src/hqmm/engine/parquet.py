"""Parquet files as a corpus: one column, memory-mapped, read shard by shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.engine.corpus import cuts
from hqmm.errors import DataError
from hqmm.linear import MISSING
from hqmm.sequences import Alphabet, Sequences, Symbol

# What is read at once counts in rows, before their lengths are known; this many short ones are enough.
_MOST_ROWS = 4096

AnyPath: TypeAlias = str | PathLike[str]


class ParquetCorpus:
    """Sequences in a column of Parquet files: one row, one sequence.

    The column holds strings (each character a symbol), or lists of whole numbers or of strings. Making the
    corpus reads it once: that checks every row, finds the alphabet where none is given, and decides where the
    shards are cut, so that errors come now and not in the middle of a fit. Afterwards shards are read when
    they are needed.

    Parameters
    ----------
    paths : path or list of paths
        Files, in the order in which their rows count; a folder stands for its ``*.parquet`` files by name.
        Workers on other machines read them under the same path.
    column : str
        Name of the column that holds the sequences. A null inside a list is a missing symbol.
    alphabet : Alphabet, iterable of symbols, int or "learn", optional
        As for `hqmm.Sequences`: strings learn their alphabet, whole numbers are codes unless this is ``"learn"``.
    weights : str, optional
        Name of a column with the weight of each sequence; 1 by default.
    end : bool
        Append the end symbol to every sequence.
    missing : symbol, optional
        A symbol of the data that means "missing", such as ``"?"``.
    shard_symbols : int
        About how many symbols make a shard: what is held in memory at a time. A row is never cut.

    Attributes
    ----------
    alphabet : Alphabet
    bounds : ndarray
        Number of the sequence each shard starts at, and the number of sequences.
    n_symbols : int
        Number of symbols in all sequences together.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> from hqmm.engine.parquet import ParquetCorpus
    >>> path = tempfile.mkdtemp() + "/dna.parquet"
    >>> pyarrow.parquet.write_table(pyarrow.table({"dna": ["GATTACA", "CAT"]}), path)
    >>> corpus = ParquetCorpus(path, "dna", shard_symbols=7)
    >>> corpus
    ParquetCorpus(2 sequences, 10 symbols, 2 shards, Alphabet(['A', 'C', 'G', 'T']))
    >>> [shard.decode() for shard in corpus.shards([1])]
    [[['C', 'A', 'T']]]
    """

    def __init__(
        self,
        paths: AnyPath | Iterable[AnyPath],
        column: str,
        alphabet: Alphabet | Iterable[Symbol] | int | None = None,
        *,
        weights: str | None = None,
        end: bool = False,
        missing: Symbol | None = None,
        shard_symbols: int = 2**20,
    ) -> None:
        if shard_symbols < 1:
            raise DataError(f"shard_symbols must be at least 1, not {shard_symbols}")
        self._rows = _Rows.of(_listed(paths), column, weights, shard_symbols)
        self._end = end
        distinct = isinstance(alphabet, str) and alphabet == "learn"
        known = None if alphabet is None or distinct else _as_alphabet(alphabet)
        lookup = None if known is None else _lookup(self._rows.kind, known, missing)
        found: set[Any] = set()
        bounds, total = [np.zeros(1, np.int64)], 0
        for row, batch in self._rows.batches(0, len(self._rows)):
            values, lengths = self._rows.symbols(row, batch)
            if not end and not np.all(lengths):
                empty = row + int(np.argmin(lengths))
                self._rows.refuse(empty, "is empty; drop it, or pass end=True (finite strings)")
            self._rows.weights_of(row, batch)
            if lookup is None:
                found.update(self._rows.distinct(row, values, lengths, lowest=None if distinct else MISSING))
            else:
                self._rows.codes(row, values, lengths, lookup)
            ends = total + np.concatenate([[0], np.cumsum(lengths + end)])
            bounds.append(row + cuts(ends, shard_symbols))
            total = int(ends[-1])
        if known is None:
            known = _learned(self._rows.kind, found - _absent(self._rows.kind, missing), distinct, total)
        self.alphabet = known.with_end() if end else known
        self.bounds: IntArray = np.unique(np.concatenate([*bounds, [len(self._rows)]]))
        self.n_symbols = total
        self._lookup = _lookup(self._rows.kind, self.alphabet, missing)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        shards = len(self.bounds) - 1
        return (
            f"ParquetCorpus({len(self)} sequences, {self.n_symbols} symbols, {shards} shards, {self.alphabet!r})"
        )

    def shards(self, numbers: Iterable[int]) -> Iterable[Sequences]:
        """Return the shards of these ascending numbers, each one read when it is reached."""
        return _Shards(self, tuple(numbers))

    def _read(self, first: int, last: int) -> Iterator[Sequences]:
        """Yield the shards first … last − 1, in one pass over their rows."""
        pieces: list[tuple[AnyArray, IntArray, FloatArray]] = []
        shard = first
        for row, batch in self._rows.batches(int(self.bounds[first]), int(self.bounds[last])):
            done = 0
            while done < len(batch):
                part = batch.slice(done, int(self.bounds[shard + 1]) - row - done)
                pieces.append(self._encode(row + done, part))
                done += len(part)
                if row + done == self.bounds[shard + 1]:
                    yield self._join(pieces)
                    pieces, shard = [], shard + 1

    def _encode(self, row: int, batch: Any) -> tuple[AnyArray, IntArray, FloatArray]:
        values, lengths = self._rows.symbols(row, batch)
        codes = self._rows.codes(row, values, lengths, self._lookup).astype(self.alphabet.dtype)
        if self.alphabet.end is not None and self._end:
            codes = np.insert(codes, np.cumsum(lengths), self.alphabet.end)
        return codes, lengths + self._end, self._rows.weights_of(row, batch)

    def _join(self, pieces: list[tuple[AnyArray, IntArray, FloatArray]]) -> Sequences:
        codes, lengths, weights = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Sequences.from_arrays(codes, offsets, self.alphabet, weights)


@dataclass(frozen=True)
class _Shards:
    """Some shards of a corpus: small enough to send, read where it is iterated."""

    corpus: ParquetCorpus
    numbers: tuple[int, ...]

    def __iter__(self) -> Iterator[Sequences]:
        start = 0
        for stop in range(1, len(self.numbers) + 1):
            if stop == len(self.numbers) or self.numbers[stop] != self.numbers[stop - 1] + 1:
                yield from self.corpus._read(self.numbers[start], self.numbers[stop - 1] + 1)
                start = stop


@dataclass(frozen=True)
class _File:
    """One file: the row of the corpus each of its row groups starts at, the row it ends at, and how to read it."""

    path: str
    bounds: IntArray
    rows_at_once: int


@dataclass(frozen=True)
class _Rows:
    """The rows of all files, numbered through."""

    files: tuple[_File, ...]
    column: str
    weights: str | None
    kind: str

    @classmethod
    def of(cls, paths: list[str], column: str, weights: str | None, at_once: int) -> _Rows:
        """Read what the files say about themselves."""
        files: list[_File] = []
        kind = ""
        for path in paths:
            with _open(path) as file:
                here = _kind(path, file.schema_arrow, column, weights)
                if kind and here != kind:
                    raise DataError(f"{path}: the column {column!r} holds {here}, but {kind} in {files[0].path}")
                kind = here
                files.append(
                    _described(path, file.metadata, column, int(files[-1].bounds[-1]) if files else 0, at_once)
                )
        rows = cls(tuple(files), column, weights, kind)
        if len(rows) == 0:
            raise DataError(f"there are no sequences: {', '.join(paths) or 'no files'}")
        return rows

    def __len__(self) -> int:
        return int(self.files[-1].bounds[-1]) if self.files else 0

    def batches(self, start: int, stop: int) -> Iterator[tuple[int, Any]]:
        """Yield the rows start … stop − 1 in batches, each with the number of its first row."""
        columns = [self.column] if self.weights is None else [self.column, self.weights]
        for described in self.files:
            bounds = described.bounds
            groups = np.flatnonzero((bounds[1:] > start) & (bounds[:-1] < stop)).tolist()
            if not groups:
                continue
            row = int(bounds[groups[0]])
            with _open(described.path) as file:
                for batch in file.iter_batches(described.rows_at_once, groups, columns, use_threads=False):
                    low, high = max(start - row, 0), min(stop - row, len(batch))
                    if low < high:
                        yield row + low, batch.slice(low, high - low)
                    row += len(batch)
                    if row >= stop:
                        break

    def symbols(self, row: int, batch: Any) -> tuple[Any, IntArray]:
        """Return the symbols of all rows one after the other, and how many each row has."""
        pa, pc, _ = _arrow()
        array = batch.column(self.column)
        self._refuse_null(row, array, self.column)
        if self.kind == "text":
            return _code_points(array), pc.utf8_length(array).to_numpy().astype(np.int64)
        kind = pa.int64() if self.kind == "numbers" else pa.large_string()
        return array.flatten().cast(kind), pc.list_value_length(array).to_numpy().astype(np.int64)

    def codes(self, row: int, values: Any, lengths: IntArray, lookup: dict[Any, int]) -> AnyArray:
        """Return the codes of the symbols; one without a code is an error that names its place."""
        pa, pc, _ = _arrow()
        keys = pa.array(list(lookup), type=values.type)
        found = pc.index_in(values, value_set=keys)
        if found.null_count:
            self._refuse_symbol(row, values, lengths, found.is_null(), "is not in the alphabet")
        return np.array(list(lookup.values()), np.int32)[found.to_numpy()]

    def distinct(self, row: int, values: Any, lengths: IntArray, lowest: int | None) -> list[Any]:
        """Return what occurs; numbers below ``lowest`` are an error."""
        _, pc, _ = _arrow()
        if self.kind == "numbers" and lowest is not None:
            wrong = pc.less(values, lowest).fill_null(False)
            if pc.any(wrong).as_py():
                self._refuse_symbol(
                    row, values, lengths, wrong, "is not a code; codes are 0, 1, 2, … and −1 for missing"
                )
        symbols: list[Any] = values.unique().to_pylist()
        return symbols

    def weights_of(self, row: int, batch: Any) -> FloatArray:
        """Return the weight of every row."""
        if self.weights is None:
            return np.ones(len(batch))
        array = batch.column(self.weights)
        self._refuse_null(row, array, self.weights)
        weights = array.to_numpy(zero_copy_only=False).astype(np.float64)
        right = np.isfinite(weights) & (weights >= 0)
        if not np.all(right):
            wrong = int(np.argmin(right))
            self.refuse(row + wrong, f"has the weight {weights[wrong]}; weights are numbers from 0 up")
        return weights

    def _refuse_symbol(self, row: int, values: Any, lengths: IntArray, wrong: Any, complaint: str) -> NoReturn:
        place = int(np.argmax(wrong.to_numpy(zero_copy_only=False)))
        value = values[place].as_py()
        symbol = chr(value) if self.kind == "text" else value
        within = int(np.searchsorted(np.cumsum(lengths), place, side="right"))
        position = place - int(lengths[:within].sum())
        self.refuse(row + within, f"holds {symbol!r}, which {complaint}", position)

    def _refuse_null(self, row: int, array: Any, column: str) -> None:
        if array.null_count:
            null = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
            self.refuse(row + null, f"is null in the column {column!r}; drop it, or fill it in")

    def refuse(self, row: int, complaint: str, position: int | None = None) -> NoReturn:
        """Raise an error that names the row and its file."""
        file = next(file for file in self.files if row < file.bounds[-1])
        raise DataError(f"row {row - int(file.bounds[0])} of {file.path} {complaint}", row, position)


def _arrow() -> tuple[Any, Any, Any]:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("reading Parquet files needs pyarrow: pip install 'hqmm[parquet]'") from error
    return pyarrow, pyarrow.compute, pyarrow.parquet


def _open(path: str) -> Any:
    pa, _, pq = _arrow()
    try:
        # Buffering ahead would hold whole row groups in memory.
        return pq.ParquetFile(path, memory_map=True, pre_buffer=False)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path} is not a Parquet file: {error}") from error


def _listed(paths: AnyPath | Iterable[AnyPath]) -> list[str]:
    files: list[str] = []
    for path in map(Path, [paths] if isinstance(paths, str | PathLike) else paths):
        files += sorted(map(str, path.glob("*.parquet"))) if path.is_dir() else [str(path)]
    return files


def _kind(path: str, schema: Any, column: str, weights: str | None) -> str:
    """Return what the column's symbols are: "text", "numbers" or "tokens"."""
    types = _arrow()[0].types
    for name in (column, weights):
        if name is not None and name not in schema.names:
            raise DataError(f"{path} has no column {name!r}; its columns are {', '.join(map(repr, schema.names))}")
    if weights is not None:
        held = schema.field(weights).type
        if not (types.is_integer(held) or types.is_floating(held)):
            raise DataError(f"{path}: the column {weights!r} holds {held}; weights are numbers")
    held = schema.field(column).type
    if types.is_string(held) or types.is_large_string(held):
        return "text"
    if types.is_list(held) or types.is_large_list(held):
        if types.is_integer(held.value_type):
            return "numbers"
        if types.is_string(held.value_type) or types.is_large_string(held.value_type):
            return "tokens"
    raise DataError(
        f"{path}: the column {column!r} holds {held}; sequences are strings, or lists of integers or strings"
    )


def _described(path: str, metadata: Any, column: str, first: int, at_once: int) -> _File:
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    bounds = first + np.cumsum([0] + [group.num_rows for group in groups], dtype=np.int64)
    size = sum(_size(group, column) for group in groups)
    rows = at_once * max(1, metadata.num_rows) // max(1, size)
    return _File(path, bounds, min(max(rows, 1), _MOST_ROWS))


def _size(group: Any, column: str) -> int:
    """Return about how many symbols a row group holds: entries of lists, bytes of strings."""
    for k in range(group.num_columns):
        chunk = group.column(k)
        if chunk.path_in_schema == column:
            return int(chunk.total_uncompressed_size)
        if chunk.path_in_schema.startswith(f"{column}."):
            return int(chunk.num_values)
    return 0


def _code_points(array: Any) -> Any:
    """Return the characters of all strings one after the other, as numbers."""
    pa, _, _ = _arrow()
    array = array.cast(pa.large_string())
    _, offsets, text = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    characters = b"" if text is None else text[int(ends[0]) : int(ends[-1])].to_pybytes()
    return pa.array(np.frombuffer(characters.decode().encode("utf-32-le"), np.int32))


def _as_alphabet(alphabet: Alphabet | Iterable[Symbol] | int) -> Alphabet:
    return alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)


def _lookup(kind: str, alphabet: Alphabet, missing: Symbol | None) -> dict[Any, int]:
    """Return the code of everything the column may hold."""
    table = {_key(kind, symbol): code for code, symbol in enumerate(alphabet) if _occurs(kind, symbol)}
    return table | dict.fromkeys(_absent(kind, missing), MISSING)


def _absent(kind: str, missing: Symbol | None) -> set[Any]:
    """Return what stands for a missing symbol in the column."""
    given = {_key(kind, missing)} if missing is not None and _occurs(kind, missing) else set()
    return {None, MISSING, *given} if kind == "numbers" else {None, *given}


def _occurs(kind: str, symbol: Symbol) -> bool:
    """Return whether the column can hold the symbol at all."""
    if kind == "numbers":
        return isinstance(symbol, int)
    return isinstance(symbol, str) and (kind == "tokens" or len(symbol) == 1)


def _key(kind: str, symbol: Any) -> Any:
    return ord(symbol) if kind == "text" else symbol


def _learned(kind: str, found: set[Any], distinct: bool, total: int) -> Alphabet:
    if kind == "text":
        return Alphabet(map(chr, sorted(found)))
    if kind == "tokens" or distinct:
        return Alphabet(sorted(found))
    largest = max(found, default=0)
    if largest > 10_000 + 10 * total:
        raise DataError(f"{largest} is too large for a code; pass alphabet='learn' to number the values")
    return Alphabet(largest + 1)
