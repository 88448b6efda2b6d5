"""Alphabet and Sequences: the one form in which data travels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NoReturn, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from hqmm._typing import AnyArray, CodeArray, FloatArray, IntArray
from hqmm.errors import DataError
from hqmm.linear import MISSING

Symbol: TypeAlias = str | int
END = "<end>"


class Alphabet:
    """The symbols of a process, in the order of their codes.

    Parameters
    ----------
    symbols : iterable of str or int, or an int
        The symbols; code ``i`` stands for the ``i``-th. A number ``s`` means the symbols 0 … s−1.
    end : bool
        Append the end symbol ``"<end>"``, which closes every sequence of a model of finite strings. It may only
        stand last in a sequence.

    Examples
    --------
    >>> from hqmm import Alphabet
    >>> dna = Alphabet("ACGT")
    >>> dna.encode("GATTACA")
    array([2, 0, 3, 3, 0, 1, 0], dtype=int8)
    >>> dna.decode([2, 0, -1])
    ['G', 'A', None]
    """

    __slots__ = ("_code_of", "end", "symbols")

    symbols: tuple[Symbol, ...]
    end: int | None
    _code_of: dict[Symbol, int]

    def __init__(self, symbols: Iterable[Symbol] | int, end: bool = False) -> None:
        names = [_plain(symbol) for symbol in _listed(symbols)]
        if end and END not in names:
            names.append(END)
        if not names:
            raise DataError("an alphabet needs at least one symbol")
        code_of: dict[Symbol, int] = {}
        for code, symbol in enumerate(names):
            if symbol in code_of:
                raise DataError(f"the alphabet names {symbol!r} twice, as codes {code_of[symbol]} and {code}")
            code_of[symbol] = code
        object.__setattr__(self, "symbols", tuple(names))
        object.__setattr__(self, "end", code_of.get(END))
        object.__setattr__(self, "_code_of", code_of)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an Alphabet cannot be changed; make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("an Alphabet cannot be changed; make a new one")

    def __reduce__(self) -> tuple[type[Alphabet], tuple[tuple[Symbol, ...]]]:
        return Alphabet, (self.symbols,)

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._code_of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alphabet) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    def __repr__(self) -> str:
        if self.is_codes:
            return f"Alphabet({len(self)})" if self.end is None else f"Alphabet({self.end}, end=True)"
        more = f", … {len(self) - 8} more" if len(self) > 8 else ""
        return f"Alphabet([{', '.join(map(repr, self.symbols[:8]))}{more}])"

    @property
    def is_codes(self) -> bool:
        """Whether the symbols are the codes 0 … s−1 themselves (an end symbol may follow)."""
        count = len(self) if self.end is None else self.end
        return self.symbols[:count] == tuple(range(count)) and count >= len(self) - 1

    @property
    def dtype(self) -> np.dtype[np.signedinteger[Any]]:
        """The smallest signed integer type that holds every code."""
        for kind in (np.int8, np.int16):
            if len(self) <= np.iinfo(kind).max:
                return np.dtype(kind)
        return np.dtype(np.int32)

    def with_end(self) -> Alphabet:
        """Return the alphabet with the end symbol appended."""
        return self if self.end is not None else Alphabet(self.symbols, end=True)

    def encode(self, sequence: Iterable[Any], missing: Hashable = None) -> CodeArray:
        """Return the codes of one sequence; ``None`` (or ``missing``) becomes −1.

        The sequence is an iterable of symbols, or a ``Sequences`` of one row: the one form in which codes of
        another alphabet are told from symbols.
        """
        if isinstance(sequence, Sequences):
            if len(sequence) != 1:
                raise DataError(
                    f"expected one sequence, not Sequences with {len(sequence)}; pick one with data[i:i+1]"
                )
            return sequence.recode(self).codes
        return Sequences([sequence], alphabet=self, missing=missing, allow_empty=True).codes

    def decode(self, codes: Iterable[int]) -> list[Symbol | None]:
        """Return the symbols that codes stand for; −1 becomes ``None``."""
        values = np.asarray(codes if isinstance(codes, np.ndarray) else list(codes))
        if values.ndim != 1:
            raise DataError(f"decode takes the codes of one sequence, not an array of shape {values.shape}")
        if values.size == 0:
            return []
        _check_codes(values, np.array([0, len(values)]), self)
        names = (*self.symbols, None)  # −1 picks the last
        return [names[code] for code in values.tolist()]


class Sequences:
    """Discrete sequences, held as one flat array of codes with offsets and weights.

    Parameters
    ----------
    data : sequences, one per row
        A 2-D integer array, a list of 1-D arrays or lists (of any lengths), a list of strings (each character a
        symbol), a list of lists of tokens, or another ``Sequences``. Missing symbols are ``None``, masked entries
        or, in integer data, −1. Whole numbers under an alphabet of the codes 0 … s−1 with an end symbol may name
        the end by its code s, too.
    alphabet : Alphabet, iterable of symbols, int or "learn", optional
        By default strings learn their alphabet (sorted), while whole numbers *are* codes 0 … max. Pass ``"learn"``
        to collect the distinct numbers instead, or the alphabet of a model to use its codes.
    weights : array of non-negative numbers, optional
        How often each sequence counts; 1 by default.
    end : bool
        Append the end symbol to every sequence that does not end with it, so that models of finite strings are
        proper distributions. A ``Sequences`` whose alphabet has an end symbol is left as it is: there, a sequence
        without it was cut off. Wherever an end symbol does not stand last, it is refused.
    missing : symbol, optional
        A symbol of the data that means "missing", such as ``"?"``.
    allow_empty : bool
        Accept sequences without symbols (they are always accepted with ``end=True``).

    Notes
    -----
    ``data[i]`` is an array of codes, and means nothing without ``data.alphabet``; ``data[i:i+1]`` is data: the
    same sequence with its alphabet. Models take the latter wherever they take one sequence, as in
    ``model.predict(data[i:i+1])``; plain arrays are read as symbols.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> words = Sequences(["abba", "ab", "abba"], end=True)
    >>> words
    Sequences(3 sequences, 13 symbols, Alphabet(['a', 'b', '<end>']))
    >>> words.deduplicate().weights
    array([2., 1.])
    >>> words[1]
    array([0, 1, 2], dtype=int8)
    >>> words[1:2]
    Sequences(1 sequences, 3 symbols, Alphabet(['a', 'b', '<end>']))
    """

    __slots__ = ("alphabet", "codes", "offsets", "weights")

    alphabet: Alphabet
    codes: CodeArray
    offsets: IntArray
    weights: FloatArray

    def __init__(
        self,
        data: Any,
        alphabet: Alphabet | Iterable[Symbol] | int | None = None,
        *,
        weights: ArrayLike | None = None,
        end: bool = False,
        missing: Hashable = None,
        allow_empty: bool = False,
    ) -> None:
        learn = isinstance(alphabet, str) and alphabet == "learn"
        given = None if alphabet is None or learn else _as_alphabet(alphabet)
        if isinstance(data, Sequences):
            source = data if given is None else data.recode(given)
            codes, offsets, learned = source.codes, source.offsets, source.alphabet
            weights = source.weights if weights is None else weights
        else:
            rows = _rows(data)
            offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
            codes, learned = _encode(rows, offsets, given, missing, learn=learn, end=end)
            _refuse_inner_end(codes, offsets, learned)
        if end and not (isinstance(data, Sequences) and data.alphabet.end is not None):
            learned = learned.with_end()
            codes, offsets = _close(codes.astype(learned.dtype), offsets, learned._code_of[END])
        elif not allow_empty:
            _refuse_empty(offsets)
        self._set(codes, offsets, _check_weights(weights, len(offsets) - 1), learned)

    def _set(self, codes: CodeArray, offsets: IntArray, weights: FloatArray, alphabet: Alphabet) -> None:
        for name, array in (("codes", codes), ("offsets", offsets), ("weights", weights)):
            view = array.view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)
        object.__setattr__(self, "alphabet", alphabet)

    @classmethod
    def from_arrays(
        cls,
        codes: CodeArray,
        offsets: IntArray,
        alphabet: Alphabet,
        weights: FloatArray | None = None,
    ) -> Sequences:
        """Wrap a flat code array and its offsets without copying (Arrow's list layout, offsets from zero).

        Examples
        --------
        >>> import numpy as np
        >>> from hqmm import Alphabet, Sequences
        >>> Sequences.from_arrays(np.array([0, 1, 1], np.int8), np.array([0, 1, 3]), Alphabet("ab")).lengths
        array([1, 2])
        """
        codes = np.asarray(codes)
        if codes.ndim != 1:
            raise DataError(f"codes must be one flat array, not of shape {codes.shape}; offsets cut it into rows")
        offsets = np.asarray(offsets, dtype=np.int64)
        if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(codes):
            raise DataError("offsets must be a 1-D array that starts at 0 and ends at the number of codes")
        if np.any(np.diff(offsets) < 0):
            raise DataError("offsets must not decrease", sequence=int(np.argmax(np.diff(offsets) < 0)))
        _check_codes(codes, offsets, alphabet)
        _refuse_inner_end(codes, offsets, alphabet)
        return cls._wrap(codes, offsets, _check_weights(weights, len(offsets) - 1), alphabet)

    @classmethod
    def _wrap(cls, codes: CodeArray, offsets: IntArray, weights: FloatArray, alphabet: Alphabet) -> Sequences:
        self = object.__new__(cls)
        self._set(codes, offsets, weights, alphabet)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Sequences cannot be changed; slice, concatenate or make new ones")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Sequences cannot be changed; slice, concatenate or make new ones")

    def __reduce__(self) -> tuple[Any, ...]:
        return Sequences.from_arrays, (self.codes, self.offsets, self.alphabet, self.weights)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[CodeArray]:
        for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            yield self.codes[start:stop]

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> CodeArray: ...
    @overload
    def __getitem__(self, index: slice | AnyArray | list[int] | list[bool]) -> Sequences: ...
    def __getitem__(self, index: Any) -> CodeArray | Sequences:
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]  # how scikit-learn picks the rows of whatever has a shape
        if isinstance(index, int | np.integer):
            if not -len(self) <= index < len(self):
                raise IndexError(f"sequence {index} of {len(self)}")
            row = int(index) % len(self)
            return self.codes[self.offsets[row] : self.offsets[row + 1]]
        if isinstance(index, slice) and index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            stop = max(start, stop)
            first, last = self.offsets[start], self.offsets[stop]
            offsets = self.offsets[start : stop + 1] - first
            return self._wrap(self.codes[first:last], offsets, self.weights[start:stop], self.alphabet)
        return self._take(np.arange(len(self))[index])

    def _take(self, rows: IntArray) -> Sequences:
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return self._wrap(self.codes[positions], offsets, self.weights[rows], self.alphabet)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequences)
            and self.alphabet == other.alphabet
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        # Equal sequences may hold their codes in different types, and a weight of −0 equals one of 0.
        codes, weights = self.codes.astype(np.int64), self.weights + 0.0
        return hash((self.alphabet, codes.tobytes(), self.offsets.tobytes(), weights.tobytes()))

    def __repr__(self) -> str:
        return f"Sequences({len(self)} sequences, {self.n_symbols} symbols, {self.alphabet!r})"

    @property
    def shape(self) -> tuple[int]:
        """Number of sequences, as the shape of a 1-D array: scikit-learn then splits them with ``[rows]``."""
        return (len(self),)

    @property
    def lengths(self) -> IntArray:
        """Number of symbols in each sequence."""
        return np.diff(self.offsets)

    @property
    def n_symbols(self) -> int:
        """Number of symbols in all sequences together, not counting weights."""
        return len(self.codes)

    @property
    def has_missing(self) -> bool:
        """Whether any symbol is missing."""
        return bool(np.any(self.codes == MISSING))

    def decode(self) -> list[list[Symbol | None]]:
        """Return the sequences as lists of symbols."""
        return [self.alphabet.decode(row) for row in self]

    def with_weights(self, weights: ArrayLike) -> Sequences:
        """Return the same sequences with other weights."""
        return self._wrap(self.codes, self.offsets, _check_weights(weights, len(self)), self.alphabet)

    def recode(self, alphabet: Alphabet) -> Sequences:
        """Return the same symbols under the codes of another alphabet, which must hold all that occur."""
        if alphabet == self.alphabet:
            return self
        table = np.array([alphabet._code_of.get(symbol, -2) for symbol in self.alphabet] + [MISSING])
        codes = table[self.codes]
        if np.any(codes == -2):
            place = int(np.argmax(codes == -2))
            _raise_unseen(self.alphabet.symbols[self.codes[place]], alphabet, self.offsets, place)
        return self._wrap(codes.astype(alphabet.dtype), self.offsets, self.weights, alphabet)

    def split(self, length: int) -> Sequences:
        """Cut every sequence into consecutive pieces of ``length`` symbols (the last one may be shorter).

        Pieces keep the weight of their sequence; no codes are copied.

        Examples
        --------
        >>> from hqmm import Sequences
        >>> Sequences(["abcdefg"]).split(3).lengths
        array([3, 3, 1])
        """
        if not isinstance(length, int | np.integer) or length < 1:
            raise DataError(f"split needs a length of at least 1, a whole number, not {length!r}")
        pieces = np.maximum(1, -(-self.lengths // length))
        first = np.concatenate([[0], np.cumsum(pieces)])[:-1]
        within = np.arange(pieces.sum()) - np.repeat(first, pieces)
        starts = np.repeat(self.offsets[:-1], pieces) + within * length
        offsets = np.concatenate([starts, [self.offsets[-1]]])
        return self._wrap(self.codes, offsets, np.repeat(self.weights, pieces), self.alphabet)

    def deduplicate(self) -> Sequences:
        """Return each distinct sequence once, in order of first appearance, with summed weights."""
        seen: dict[bytes, int] = {}
        group = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in self], dtype=np.int64)
        weights = np.bincount(group, weights=self.weights, minlength=len(seen))
        first = np.unique(group, return_index=True)[1]
        return self._take(first).with_weights(weights)

    @staticmethod
    def concatenate(parts: Sequence[Sequences]) -> Sequences:
        """Join sequences over one alphabet, in order.

        Examples
        --------
        >>> from hqmm import Sequences
        >>> Sequences.concatenate([Sequences(["ab"]), Sequences(["ba", "b"], alphabet="ab")]).decode()
        [['a', 'b'], ['b', 'a'], ['b']]
        """
        if not parts:
            raise DataError("nothing to concatenate")
        alphabet = parts[0].alphabet
        for number, part in enumerate(parts):
            if part.alphabet != alphabet:
                raise DataError(
                    f"part {number} has another alphabet, {part.alphabet!r} instead of {alphabet!r}; recode() it"
                )
        if len(parts) == 1:
            return parts[0]
        shifts = np.cumsum([0] + [part.n_symbols for part in parts[:-1]])
        offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=True)]
        return Sequences._wrap(
            np.concatenate([part.codes for part in parts]),
            np.concatenate([np.zeros(1, np.int64), *offsets]),
            np.concatenate([part.weights for part in parts]),
            alphabet,
        )


def _plain(symbol: Any) -> Symbol:
    if isinstance(symbol, str):
        return str(symbol)
    if isinstance(symbol, int | np.integer) and not isinstance(symbol, bool):
        return int(symbol)
    raise DataError(f"{symbol!r} cannot be a symbol; symbols are strings or whole numbers")


def _listed(symbols: Any) -> Iterable[Any]:
    """Return what an alphabet is to name: 0 … s−1 for a number s."""
    if isinstance(symbols, int | np.integer) and not isinstance(symbols, bool):
        return range(int(symbols))
    if not isinstance(symbols, Iterable):
        raise DataError(f"an alphabet is made of symbols, or of their number, not of {symbols!r}")
    if isinstance(symbols, set | frozenset):
        raise DataError("a set has no order, so its symbols would get other codes each time; pass sorted(symbols)")
    return symbols


def _as_alphabet(alphabet: Alphabet | Iterable[Symbol] | int) -> Alphabet:
    return alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)


def _rows(data: Any) -> list[Any]:
    if isinstance(data, str):
        raise DataError("expected a collection of sequences, not one string; wrap it in a list: [text]")
    if isinstance(data, Mapping):
        raise DataError("expected a collection of sequences, not a mapping of names; pass list(data.values())")
    if isinstance(data, set | frozenset):
        raise DataError("expected sequences in order, and a set has none; pass sorted(data)")
    if isinstance(data, np.ndarray):
        if data.ndim != 2 and data.dtype != object:
            raise DataError(
                f"expected a 2-D array with one sequence per row, not {data.ndim}-D; "
                "reshape a single sequence with x.reshape(1, -1), or pass an array of whole strings as x.tolist()"
            )
    elif not isinstance(data, Iterable):
        raise DataError(f"expected a collection of sequences, not {type(data).__name__}")
    rows = [row if isinstance(row, str | list | tuple) else _one_row(row, i) for i, row in enumerate(data)]
    if not rows:
        raise DataError("there are no sequences")
    return rows


def _one_row(row: Any, index: int) -> list[Any] | AnyArray:
    if isinstance(row, np.ndarray) and row.ndim:
        return row
    if isinstance(row, np.ndarray) or not isinstance(row, Iterable):
        raise DataError(
            f"expected a sequence of symbols, not {row!r}; a single sequence goes in a list: [sequence]",
            sequence=index,
        )
    if isinstance(row, Mapping | set | frozenset):
        raise DataError(f"a {type(row).__name__} has no order and is not a sequence of symbols", sequence=index)
    return list(row)


def _encode(
    rows: list[Any], offsets: IntArray, alphabet: Alphabet | None, missing: Hashable, *, learn: bool, end: bool
) -> tuple[CodeArray, Alphabet]:
    if missing is None and not learn and all(isinstance(row, np.ndarray) for row in rows):
        whole = _integers(rows, offsets)
        if whole is not None and (alphabet is None or alphabet.is_codes):
            return _number_codes(whole, offsets, alphabet)
    flat = list(chain.from_iterable(row.tolist() if isinstance(row, np.ndarray) else row for row in rows))
    symbols = [_symbol(value, missing, place, offsets) for place, value in enumerate(flat)]
    if alphabet is None and not learn and _are_numbers(symbols):
        numbers, alphabet = _number_codes(_as_numbers(symbols, offsets), offsets, None)
        if END not in symbols:
            return numbers, alphabet
        alphabet = alphabet.with_end()
    elif alphabet is None:
        alphabet = _learned(symbols)
    code_of: dict[Any, int] = {None: MISSING, MISSING: MISSING, **_end_by_code(alphabet)}
    if end:
        alphabet = alphabet.with_end()  # data that was sampled and decoded ends with it already
    code_of.update(alphabet._code_of)
    codes = np.empty(len(symbols), dtype=alphabet.dtype)
    for place, symbol in enumerate(symbols):
        code = code_of.get(symbol)
        if code is None:
            _raise_unseen(symbol, alphabet, offsets, place)
        codes[place] = code
    return codes, alphabet


def _are_numbers(symbols: list[Symbol | None]) -> bool:
    """Whether all symbols are whole numbers, but for the end symbol."""
    return all(symbol is None or symbol == END or isinstance(symbol, int) for symbol in symbols)


def _as_numbers(symbols: list[Symbol | None], offsets: IntArray) -> IntArray:
    """Return symbols as numbers; those that are missing, and the end symbol, as −1."""
    numbers = [symbol if isinstance(symbol, int) else MISSING for symbol in symbols]
    for place, number in enumerate(numbers):
        if number.bit_length() > 63:
            _raise_too_large(f"a number of {number.bit_length()} bits", offsets, place)
    return np.array(numbers, dtype=np.int64)


def _learned(symbols: list[Symbol | None]) -> Alphabet:
    """Return the alphabet of the symbols that occur, sorted, the end symbol last."""
    found = {symbol for symbol in symbols if symbol is not None and symbol != MISSING}
    ordered = sorted(found - {END}, key=lambda symbol: (isinstance(symbol, str), symbol))
    return Alphabet(ordered, end=END in found)


def _end_by_code(alphabet: Alphabet) -> dict[Symbol, int]:
    """Where symbols are the codes 0 … s−1, the number s stands for the end symbol as its code does in arrays."""
    return {alphabet.end: alphabet.end} if alphabet.end is not None and alphabet.is_codes else {}


def _close(codes: CodeArray, offsets: IntArray, end: int) -> tuple[CodeArray, IntArray]:
    """Append the end's code to the sequences that do not end with it."""
    last = codes[np.maximum(offsets[1:] - 1, 0)] if len(codes) else np.full(len(offsets) - 1, MISSING)
    is_open = (np.diff(offsets) == 0) | (last != end)
    added = np.concatenate([[0], np.cumsum(is_open)])
    return np.insert(codes, offsets[1:][is_open], end), offsets + added


def _refuse_inner_end(codes: AnyArray, offsets: IntArray, alphabet: Alphabet) -> None:
    if alphabet.end is None:
        return
    places = np.flatnonzero(codes == alphabet.end)
    inner = places[places + 1 != offsets[np.searchsorted(offsets, places, side="right")]]
    if len(inner):
        _raise_at(
            f"the end symbol {END!r} closes a sequence, but more follows here; cut the sequence after it",
            offsets,
            int(inner[0]),
        )


def _integers(rows: list[AnyArray], offsets: IntArray) -> IntArray | None:
    """Return the flat numbers of integer or whole-float rows (masked entries as −1), or None for other kinds."""
    for index, row in enumerate(rows):
        if row.ndim != 1 and row.dtype != object:
            raise DataError(f"expected a 1-D sequence, not an array of shape {row.shape}", sequence=index)
    if not all(row.dtype.kind in "iuf" for row in rows):
        return None
    flat = np.concatenate([_unmasked(row) for row in rows])
    if flat.dtype.kind == "f":
        wrong = ~np.isfinite(flat) | (flat != np.round(flat))
        if np.any(wrong):
            place = int(np.argmax(wrong))
            _symbol(float(flat[place]), None, place, offsets)
    if flat.dtype.kind == "f" or flat.dtype == np.uint64:
        beyond = np.abs(flat.astype(np.float64)) >= 2.0**63  # what int64 would wrap around
        if np.any(beyond):
            place = int(np.argmax(beyond))
            _raise_too_large(str(flat[place]), offsets, place)
    return flat.astype(np.int64)


def _unmasked(row: AnyArray) -> AnyArray:
    """Return a row with −1 in place of masked entries, in a type that has a −1."""
    if not isinstance(row, np.ma.MaskedArray):
        return row
    signed = row if row.dtype.kind in "if" else row.astype(np.float64 if row.dtype == np.uint64 else np.int64)
    return np.ma.filled(signed, MISSING)


def _number_codes(numbers: IntArray, offsets: IntArray, alphabet: Alphabet | None) -> tuple[CodeArray, Alphabet]:
    if alphabet is None:
        if np.any(numbers < MISSING):
            place = int(np.argmax(numbers < MISSING))
            _raise_at(f"{numbers[place]} is not a code; codes are 0, 1, 2, … and −1 for missing", offsets, place)
        largest = int(numbers.max(initial=0))
        # Event identifiers are not codes: an alphabet of a million symbols would be a million matrices.
        if largest > 10_000 + 10 * len(numbers):
            place = int(np.argmax(numbers))
            _raise_too_large(str(largest), offsets, place)
        alphabet = Alphabet(largest + 1)
    _check_codes(numbers, offsets, alphabet)
    return numbers.astype(alphabet.dtype), alphabet


def _check_codes(codes: AnyArray, offsets: IntArray, alphabet: Alphabet) -> None:
    if codes.dtype.kind not in "iu":
        raise DataError(f"codes must be integers, not {codes.dtype}")
    wrong = (codes < MISSING) | (codes >= len(alphabet))
    if np.any(wrong):
        place = int(np.argmax(wrong))
        _raise_unseen(int(codes[place]), alphabet, offsets, place)


def _symbol(value: Any, missing: Hashable, place: int, offsets: IntArray) -> Symbol | None:
    """Return one raw value as a symbol, None where it is missing."""
    if value is None or value is np.ma.masked or (missing is not None and value == missing):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if np.isfinite(value) and value == round(float(value)):
            return int(value)
        kind = "is NaN" if np.isnan(value) else "is infinity" if np.isinf(value) else "is not a whole number"
        hint = "; write None or −1 for a missing symbol" if np.isnan(value) else ""
        _raise_at(f"{value} {kind}; symbols are strings or whole numbers{hint}", offsets, place)
    _raise_at(
        f"{value!r} cannot be a symbol; symbols are strings or whole numbers, and sequences are not nested",
        offsets,
        place,
    )


def _check_weights(weights: ArrayLike | None, count: int) -> FloatArray:
    if weights is None:
        return np.ones(count)
    try:
        if np.iscomplexobj(weights):
            raise TypeError
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("weights must be real numbers, one for each sequence") from None
    if array.shape != (count,):
        raise DataError(f"weights must have one number per sequence: shape ({count},), not {array.shape}")
    if not np.all(np.isfinite(array) & (array >= 0)):
        wrong = int(np.argmin(np.isfinite(array) & (array >= 0)))
        raise DataError(f"the weight {array[wrong]} is not a non-negative number", sequence=wrong)
    return array


def _refuse_empty(offsets: IntArray) -> None:
    empty = np.diff(offsets) == 0
    if np.any(empty):
        raise DataError(
            "the sequence is empty; drop it, or pass end=True (finite strings) or allow_empty=True",
            sequence=int(np.argmax(empty)),
        )


def _raise_unseen(symbol: object, alphabet: Alphabet, offsets: IntArray, place: int) -> NoReturn:
    _raise_at(
        f"the symbol {symbol!r} is not in {alphabet!r}; alphabet= must name every symbol that may occur",
        offsets,
        place,
    )


def _raise_too_large(number: str, offsets: IntArray, place: int) -> NoReturn:
    _raise_at(f"{number} is too large for a code; pass alphabet='learn' to number the values", offsets, place)


def _raise_at(message: str, offsets: IntArray, place: int) -> NoReturn:
    sequence = int(np.searchsorted(offsets, place, side="right")) - 1
    raise DataError(message, sequence=sequence, position=place - int(offsets[sequence]))
