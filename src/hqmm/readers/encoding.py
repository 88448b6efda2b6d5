"""From symbols as they stand in a file to Sequences."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np

from hqmm._typing import AnyArray, IntArray
from hqmm.errors import DataError
from hqmm.linear import MISSING
from hqmm.readers.source import Options, Rows, Source
from hqmm.sequences import END, Alphabet, Sequences, Symbol

_UNKNOWN = -2
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def split_texts(texts: list[str], options: Options) -> list[Any]:
    """Return texts as rows of symbols.

    ``sep`` separates symbols; any stretch of blanks does if it is a blank, and the empty one means characters.
    Without it, symbols are characters, unless all texts are numbers between blanks, or the alphabet has longer
    names.
    """
    sep = options.sep
    if sep is None and (_has_long_names(options.alphabet) or _are_numbers(texts)):
        sep = " "
    if sep == " ":
        return [text.split() for text in texts]
    if sep:
        return [[token.strip() for token in text.split(sep)] if text.strip() else [] for text in texts]
    return list(texts)


def symbols_of(text: str, alphabet: Alphabet) -> list[Symbol | None]:
    """Return the symbols of one text over an alphabet; those it does not have are left as they stand."""
    options = Options(alphabet=alphabet)
    return _symbols(list(split_texts([text], options)[0]), options)


def encode(rows: Rows, options: Options, source: Source) -> Sequences:
    """Return rows as Sequences over the given alphabet, or over the symbols that occur."""
    if not rows.rows:
        raise DataError(f"{source.name} holds no sequences")
    lengths = np.array([len(row) for row in rows.rows], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if not options.end and not np.all(lengths):
        place = rows.place(int(np.argmin(lengths)))
        source.refuse(place, "the sequence is empty; drop it, or let sequences end with an end symbol (end=True)")
    tokens, which = _tokens(rows, offsets, source)
    symbols = _symbols(tokens, options)
    alphabet = _without_end(options.alphabet) if options.alphabet is not None else _learned(symbols, source)
    codes = np.array([_code(symbol, alphabet) for symbol in symbols], dtype=np.int64)[which]
    if np.any(codes == _UNKNOWN):
        place, position = _where(int(np.argmax(codes == _UNKNOWN)), offsets, rows)
        symbol = symbols[which[np.argmax(codes == _UNKNOWN)]]
        source.refuse(place, f"the symbol {symbol!r} at position {position} is not in {alphabet!r}")
    weights = None if rows.weights is None else np.array(rows.weights)
    sequences = Sequences.from_arrays(codes.astype(alphabet.dtype), offsets, alphabet, weights)
    if not options.end:
        return sequences
    closed = Sequences(sequences, end=True)
    has_end = options.alphabet is not None and options.alphabet.end is not None
    return closed.recode(options.alphabet) if has_end and options.alphabet is not None else closed


def _has_long_names(alphabet: Alphabet | None) -> bool:
    return alphabet is not None and any(len(str(symbol)) > 1 and symbol != END for symbol in alphabet)


def _are_numbers(texts: list[str]) -> bool:
    """Whether all texts are whole numbers between blanks, and blanks do occur."""
    rows = [text.split() for text in texts[:1]]
    if rows and not all(_WHOLE.fullmatch(token) for token in rows[0]):
        return False  # the common case, without splitting the rest
    rows = [text.split() for text in texts]
    return any(len(row) > 1 for row in rows) and all(_WHOLE.fullmatch(token) for token in set().union(*rows))


def _tokens(rows: Rows, offsets: IntArray, source: Source) -> tuple[list[Any], IntArray]:
    """Return the distinct symbols as they stand, and which of them stands at each position."""
    if all(isinstance(row, np.ndarray) and row.dtype.kind in "biuf" for row in rows.rows):
        flat = np.concatenate(rows.rows)
        _refuse_fractions(flat, offsets, rows, source)
        distinct, which = np.unique(flat.astype(np.int64), return_inverse=True)
        return distinct.tolist(), which
    listed = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows.rows]
    for row, symbols in enumerate(listed):
        if not isinstance(symbols, str):
            _refuse_strange(row, symbols, rows, source)
    tokens = list(set().union(*listed))
    number = {token: index for index, token in enumerate(tokens)}
    count = int(offsets[-1])
    return tokens, np.fromiter(map(number.__getitem__, chain.from_iterable(listed)), np.int64, count)


def _refuse_fractions(flat: AnyArray, offsets: IntArray, rows: Rows, source: Source) -> None:
    if flat.dtype.kind != "f":
        return
    wrong = ~np.isfinite(flat) | (flat != np.round(flat))
    if np.any(wrong):
        first = int(np.argmax(wrong))
        place, position = _where(first, offsets, rows)
        source.refuse(place, f"{flat[first]} at position {position} is not a whole number")


def _refuse_strange(row: int, symbols: list[Any], rows: Rows, source: Source) -> None:
    for position, symbol in enumerate(symbols):
        if symbol is not None and type(symbol) not in (str, int):
            source.refuse(
                rows.place(row),
                f"{symbol!r} at position {position} cannot be a symbol; symbols are strings or whole numbers",
            )


def _symbols(tokens: list[Any], options: Options) -> list[Symbol | None]:
    """Return what each token stands for: itself, a number, or None where it means missing."""
    absent = options.missing
    missing = {None} if absent is None else {None, absent, str(absent), _number(absent)}  # as text or as a number
    known = options.alphabet
    if known is None:
        numbers = all(_number(token) is not None for token in tokens if token not in missing)
        chosen = [_number(token) if numbers and token not in missing else token for token in tokens]
    else:
        chosen = [token if token in known or _number(token) is None else _number(token) for token in tokens]
    return [None if token in missing else symbol for token, symbol in zip(tokens, chosen, strict=True)]


def _number(token: Any) -> int | None:
    """Return the whole number that a token is or spells; ``007`` is a name."""
    if isinstance(token, int):
        return token
    return int(token) if isinstance(token, str) and _WHOLE.fullmatch(token) else None


def _learned(symbols: list[Symbol | None], source: Source) -> Alphabet:
    found = {symbol for symbol in symbols if symbol is not None and symbol != MISSING}
    if not found:
        raise DataError(f"{source.name} holds no symbols")
    return Alphabet(sorted(found, key=lambda symbol: (isinstance(symbol, str), symbol)))


def _without_end(alphabet: Alphabet) -> Alphabet:
    return alphabet if alphabet.end is None else Alphabet(symbol for symbol in alphabet if symbol != END)


def _code(symbol: Symbol | None, alphabet: Alphabet) -> int:
    if symbol is None or (symbol == MISSING and symbol not in alphabet):
        return MISSING
    return int(alphabet.encode([symbol])[0]) if symbol in alphabet else _UNKNOWN


def _where(index: int, offsets: IntArray, rows: Rows) -> tuple[str, int]:
    row = int(np.searchsorted(offsets, index, side="right")) - 1
    return rows.place(row), index - int(offsets[row])
