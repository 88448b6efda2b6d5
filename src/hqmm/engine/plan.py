"""Which form computes an evaluation, in which pieces, on how many threads; and why.

Form and pieces depend on the work alone, never on the number of threads: so neither does the result.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hqmm._typing import AnyArray, IntArray
from hqmm.engine.threads import available, check_threads
from hqmm.errors import ModelError
from hqmm.linear import LinearForm
from hqmm.sequences import Sequences

# The cost model, measured on one core of an AVX-512 machine; `python -m benchmarks` sets it beside measurements.
# Seconds, but for the rates. Only their ratios decide.
_FLOPS = 100e9  # operations per second in a product, float64
_READ = ((2**17, 250e9), (2**20, 80e9), (math.inf, 40e9))  # bytes per second of operators up to that size
_FRESH = 4e9  # bytes per second of memory new from the system
_STATE_READ = 25e9  # bytes per second of states written long ago
_SMALL_STEP = 6e-9  # one state of at most two vectors, inlined
_CALL = 25e-9  # one block of rows
_ROW = 8e-9  # looking after one row: scale, check, address
_ARRANGE = 10e-9  # laying out one symbol
_LEVEL = 100e-9  # starting a level
_MARK = 5e-9  # looking up one symbol's word
_PIECE = 40e-6  # starting an evaluation or a piece

# A piece should take that long: cutting one sequence from another costs nothing, thinner products do.
_PIECE_SECONDS = {True: 25e-5, False: 1e-3}
_MOST_PIECES = 32
# The states of a piece, beside a neighbour's in the shared cache; of a piece of words, whose many operators need
# many sequences abreast; and of a few long sequences, which must run abreast at all.
_PIECE_BYTES, _WORDS_BYTES, _LONG_BYTES = 2**23, 2**25, 2**26
_ABREAST = 24
# From when on threads are used, and from when on the choice of a form expects two.
_THREADED_SECONDS, _TWO_THREADS_SECONDS = 5e-4, 2e-3
_MOST_WORDS = 2**16
# Trees are counted where sequences are short enough to share a good part, and only on the first so many symbols.
_TREE_LENGTH, _TREE_SEQUENCES, _TREE_SYMBOLS = 128, 64, 2**18

_LETTERS = {"single": 1, "batched": 1, "pairs": 2, "triples": 3, "prefixes": 1}
_REASONS = {
    "single": "one sequence at a time, as there is too little side by side to fill matrix products",
    "batched": "sequences abreast, grouped by their symbol, so that each step is a few matrix products",
    "pairs": "steps of two symbols, as the pairs are far fewer than the symbols",
    "triples": "steps of three symbols, as the triples are far fewer than the symbols",
    "prefixes": "shared prefixes computed once, as the prefix tree has far fewer edges than the data have symbols",
}


@dataclass(frozen=True, eq=False)
class Plan:
    """How an evaluation is computed.

    Attributes
    ----------
    method : {"single", "batched", "pairs", "triples", "prefixes"}
        The form: one sequence at a time; sequences grouped by their current symbol; the same with operators of two
        or three symbols; the same with shared prefixes computed once.
    threads : int
        Threads that work on the pieces.
    pieces : list of arrays
        The sequences that are computed together; results are added in this order.
    predicted_seconds : dict
        What the cost model expects of a gradient on one thread, by every form.
    reason : str
        Why this form.
    dtype : dtype
        Precision of the computation: float64 where the operators leave the range of float32.
    """

    method: str
    threads: int
    pieces: list[IntArray] = field(repr=False)
    predicted_seconds: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    @property
    def word_length(self) -> int:
        """Symbols that one step consumes."""
        return _LETTERS[self.method]

    @property
    def share(self) -> bool:
        """Whether shared prefixes are computed once."""
        return self.method == "prefixes"

    def __str__(self) -> str:
        costs = ", ".join(f"{name} {1e3 * cost:.3g} ms" for name, cost in self.predicted_seconds.items())
        counts = f"pieces: {len(self.pieces)}, threads: {self.threads}"
        return f"{self.method} ({self.reason}); {counts}; predicted gradient on one thread: {costs}"


class Work(NamedTuple):
    """What the cost of an evaluation depends on."""

    m: int
    n_symbols: int
    n_sequences: int
    total: int  # symbols
    scored: int  # symbols behind the burn-in
    longest: int
    edges: int  # of the prefix tree
    itemsize: int
    lanes: int
    filled: float = 1.0  # of the operators' rows and columns; the others are left out of matrix products
    letters: int = 3  # that a word may have

    def width(self, extra: int) -> int:
        """Numbers in a row of m + ``extra``, padded to whole vectors."""
        return -(-(self.m + extra) // self.lanes) * self.lanes

    def product(self, rows: float, operators: float, extra: int, filled: float = 1.0) -> float:
        """Seconds of a product of ``rows`` states with one of so many operators."""
        size = filled * self.m * self.width(extra) * self.itemsize
        read = next(speed for limit, speed in _READ if size * operators <= limit)
        return max(2 * rows * filled * self.m * self.width(extra) * self.itemsize / (8 * _FLOPS), size / read)

    def rows(self, method: str) -> float:
        """Return the number of steps."""
        return (self.edges if method == "prefixes" else self.total) / _LETTERS[method]

    def operators(self, method: str) -> float:
        """Return (at most) how many operators a method has."""
        return float(min((self.n_symbols + 1) ** _LETTERS[method], self.n_symbols + self.rows(method)))

    def abreast(self, method: str) -> float:
        """Return how many states a level has on average."""
        return max(1.0, self.rows(method) * _LETTERS[method] / max(1, self.longest))


def predict(work: Work, method: str, pieces: int = 1) -> float:
    """Return the seconds a gradient should take on one thread.

    Examples
    --------
    >>> from hqmm.engine.plan import Work, predict
    >>> many = Work(36, 6, 200, 60000, 60000, 300, 60000, 8, 8)
    >>> predict(many, "batched") < predict(many, "single")
    True
    """
    letters, operators = _LETTERS[method], work.operators(method)
    each = 1.0
    if method != "single":
        abreast = work.abreast(method) / pieces
        each = max(1.0, abreast / max(1.0, -operators * math.expm1(-abreast / operators)))
    call = _SMALL_STEP if method == "single" and work.m + 1 <= 2 * work.lanes else _CALL
    row = 0.0 if method == "single" else _ROW
    filled = work.filled if method in ("batched", "prefixes") else 1.0
    forward = (call + work.product(each, operators, letters, filled)) / each + row
    backward = (call + work.product(each, operators, 0, filled)) / each + work.product(6, 1, 0, filled) / 6 + row
    backward += work.width(letters) * work.itemsize / _STATE_READ if method != "single" else _SMALL_STEP
    seconds = work.rows(method) * (forward + backward * work.scored / max(1, work.total)) + _PIECE * (1 + pieces)
    if method != "single":
        seconds += _ARRANGE * work.total + _LEVEL * work.longest * pieces / letters
    if letters > 1:
        memory = 5 * operators * work.m * work.width(0) * work.itemsize
        seconds += _MARK * work.total + 3 * operators * work.product(work.m, 1, 0) + memory / _FRESH
    return seconds


def _piece_count(work: Work, method: str) -> int:
    """Return into how many pieces to cut: by memory, and so that threads find work."""
    by_time = min(_MOST_PIECES, int(predict(work, method) / _PIECE_SECONDS[method == "single"]))
    if method == "single":
        return max(1, min(by_time, work.n_sequences))
    row = work.width(_LETTERS[method]) * work.itemsize
    usual = _WORDS_BYTES if _LETTERS[method] > 1 else _PIECE_BYTES
    budget = max(usual, min(_LONG_BYTES, _ABREAST * work.longest * row))
    by_memory = math.ceil(work.rows(method) * row / budget)
    # Several rows of each operator in each step are what makes a product fast: finer cuts gain nothing.
    by_crowd = int(work.abreast(method) / (8 * work.operators(method)))
    pieces = max(1, by_memory, min(by_time, by_crowd))
    return max(1, min(work.n_sequences, pieces + pieces % 2 if pieces > 1 else 1))


@lru_cache(maxsize=256)
def _choose(work: Work) -> tuple[str, dict[str, int], dict[str, float]]:
    """Return the best method for two threads, and pieces and seconds of every one."""
    possible = [name for name in _LETTERS if (work.n_symbols + 1) ** _LETTERS[name] <= _MOST_WORDS]
    possible = [name for name in possible if _LETTERS[name] <= work.letters]
    possible = [name for name in possible if name != "prefixes" or work.edges < work.total]
    pieces = {name: _piece_count(work, name) for name in possible}
    seconds = {name: predict(work, name, pieces[name]) for name in possible}
    small = [name for name in possible if name == "single" or _fits(work, name)]
    large = min(seconds.values()) > _TWO_THREADS_SECONDS
    return min(small, key=lambda name: seconds[name] / min(2 if large else 1, pieces[name])), pieces, seconds


def _fits(work: Work, method: str) -> bool:
    """Whether the longest sequence can be kept whole; "single" computes states again from checkpoints."""
    longest = work.longest / _LETTERS[method]
    return longest * work.width(_LETTERS[method]) * work.itemsize <= _LONG_BYTES


def make_plan(
    form: LinearForm,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    threads: int | None = None,
    method: str | None = None,
    dtype: Any = np.float64,
) -> Plan:
    """Choose form, pieces and threads; ``hqmm.engine.explain_plan`` is its public face."""
    if method is not None and method not in _LETTERS:
        raise ModelError(f"method must be one of {', '.join(_LETTERS)}, not {method!r}")
    check_threads(threads)
    asked, (dtype, letters) = np.dtype(dtype), _range(form, np.dtype(dtype))
    work = _work(form, sequences, burn_in, method, dtype)._replace(letters=letters)
    best, counts, seconds = _choose(work)
    chosen = method if method is not None and _LETTERS[method] <= work.letters else best
    if chosen not in counts:
        counts = {**counts, chosen: _piece_count(work, chosen)}
        seconds = {**seconds, chosen: predict(work, chosen, counts[chosen])}
    pieces = _cut(sequences, chosen, counts[chosen])
    if threads is None:
        threads = available() if seconds[chosen] > _THREADED_SECONDS else 1
    reason = "as asked for" if method == chosen else _REASONS[chosen]
    if method not in (None, chosen):
        reason += f"; the operators of {method} would leave the range of {dtype}"
    if asked != dtype:
        reason += f"; in {dtype}, as the operators would leave the range of {asked}"
    return Plan(chosen, max(1, min(threads, len(pieces))), pieces, seconds, reason, dtype)


def _range(form: LinearForm, dtype: np.dtype[Any]) -> tuple[np.dtype[Any], int]:
    """Return ``dtype``, or float64 where the operators need its range, and how many symbols a word may have."""
    from hqmm.engine.words import longest_words

    letters = longest_words(form, dtype)
    if letters == 0 and dtype == np.float32:
        return _range(form, np.dtype(np.float64))
    return dtype, max(1, min(3, letters))


def _work(form: LinearForm, sequences: Sequences, burn_in: int, method: str | None, dtype: Any) -> Work:
    from hqmm.engine.tiles import lanes
    from hqmm.engine.words import filled

    lengths, total = sequences.lengths, sequences.n_symbols
    scored = total if burn_in == 0 else int(np.maximum(lengths - burn_in, 0).sum())
    edges, count = total, len(lengths)
    short = count >= _TREE_SEQUENCES and total <= _TREE_LENGTH * count
    if method == "prefixes" or (method is None and short):
        edges = _prefixes(sequences).edges
    longest = int(lengths.max()) if count else 0
    size = np.dtype(dtype).itemsize
    share = round(filled(form.operators), 2)
    return Work(form.dimension, form.n_symbols, count, total, scored, longest, edges, size, lanes(dtype), share)


class _Prefixes(NamedTuple):
    """What sequences share: about how many edges their prefix tree has, and an order by how they begin."""

    edges: int
    order: IntArray


_KNOWN: dict[int, tuple[Any, _Prefixes]] = {}


def _prefixes(sequences: Sequences) -> _Prefixes:
    """Look at the prefixes of sequences; once for the same data, which cannot change."""
    codes: AnyArray = sequences.codes
    known = _KNOWN.get(id(codes))
    if known is not None and known[0]() is codes:
        return known[1]
    found = _Prefixes(_edges(sequences), np.argsort(_beginnings(sequences), kind="stable"))
    _KNOWN[id(codes)] = weakref.ref(codes), found
    weakref.finalize(codes, _KNOWN.pop, id(codes), None)
    return found


def _edges(sequences: Sequences) -> int:
    """Count the edges of the prefix tree on the first symbols, and draw the conclusion for all."""
    from hqmm.engine.layout import arrange, tokenise

    sample = sequences[: int(np.searchsorted(sequences.offsets, _TREE_SYMBOLS)) or 1]
    kinds = len(sequences.alphabet) + 1
    chosen = np.arange(len(sample))
    tokens, starts = tokenise(sample.codes, sample.offsets, chosen, 0, 1, kinds, np.arange(kinds))
    found = len(arrange(tokens, starts, kinds, 0, True).parent) - 1
    return math.ceil(found * sequences.n_symbols / max(1, sample.n_symbols))


def _cut(sequences: Sequences, method: str, pieces: int) -> list[IntArray]:
    """Cut the sequences into pieces of about as many symbols; in an order that puts like beside like."""
    if len(sequences) == 0:
        return []
    if pieces <= 1:
        return [np.arange(len(sequences))]
    lengths = sequences.lengths
    order = np.arange(len(lengths))
    if method == "prefixes":
        order = _prefixes(sequences).order
    elif method != "single" and np.ptp(lengths) > 0:
        order = np.argsort(lengths, kind="stable")
    done = np.cumsum(lengths[order] + 1)
    cuts = np.searchsorted(done, done[-1] * np.arange(1, pieces) / pieces)
    return [piece for piece in np.split(order, cuts) if len(piece)]


def _beginnings(sequences: Sequences) -> IntArray:
    """Return a number for each sequence, the same where they begin alike."""
    base = len(sequences.alphabet) + 2
    key = np.zeros(len(sequences), np.int64)
    for place in range(int(40 / math.log2(base))):
        inside = place < sequences.lengths
        key *= base
        key[inside] += sequences.codes[sequences.offsets[:-1][inside] + place] + 2
    return key
