"""The operators the kernels read, of symbols or (form 3) of words of symbols: T_ab = T_b T_a.

A step by a word consumes several symbols. The gradient with respect to a word's operator is pulled back to its
letters once, at the end: G_b += G_ab T_aᵀ and G_a += T_bᵀ G_ab.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.engine.layout import mark_words
from hqmm.engine.tiles import addresses, aligned, lanes, outer, padded, product
from hqmm.linear import LinearForm

kernel = njit(nogil=True, cache=True)

# Rows of zeros are left out of operators that are so large, if at most that share of rows and columns is filled.
SMALLEST_SPARSE, SPARSE = 16, 0.9

# A state is rescaled when σᵀx leaves [low, 1/low]; what remains of the exponent's range is for a single step.
_LOWEST = {"d": 2.0**-64, "f": 2.0**-16}
# A step by a word, or in float32, leads to no less: below it, what was lost to the limited range would count.
_LEAST = {"d": 2.0**-512, "f": 2.0**-64}


class Words(NamedTuple):
    """The words that occur, shortest first, each with its prefix and its last letter; letter s is "missing"."""

    length: int
    base: int  # number of letters
    token_of: IntArray  # from the number of a word (``layout._key``) to its place here
    prefix: IntArray
    last: IntArray


def letters(n_symbols: int) -> Words:
    """Return the words of one letter: the symbols and "missing"."""
    letter = np.arange(n_symbols + 1)
    return Words(1, n_symbols + 1, letter, np.full(n_symbols + 1, -1), letter)


def words_of(codes: AnyArray, offsets: IntArray, n_symbols: int, length: int, burn_in: int) -> Words:
    """Return the words of up to ``length`` letters that occur, with all their prefixes."""
    if length == 1:
        return letters(n_symbols)
    base = n_symbols + 1
    first = np.cumsum([0] + [base**n for n in range(1, length + 1)])
    seen = np.zeros(first[-1], np.bool_)
    mark_words(codes, offsets, burn_in, length, base, seen)
    seen[:base] = True
    for n in range(length - 1, 0, -1):
        longer = np.flatnonzero(seen[first[n] : first[n + 1]])
        seen[first[n - 1] + longer % base**n] = True
    keys = np.flatnonzero(seen)
    token_of = np.cumsum(seen) - 1
    size = np.searchsorted(first, keys, side="right") - 1  # letters in the prefix
    digits = keys - first[size]
    prefix = token_of[first[np.maximum(size - 1, 0)] + digits % base**size]
    return Words(length, base, token_of, np.where(size == 0, -1, prefix), digits // base**size)


class Rows(NamedTuple):
    """Which rows of every operator are kept, and how many: ``entries[y·m + i]`` for i < ``counts[y]``.

    Unless it is ``closed`` up all are, and the kernels do not read ``entries``.
    """

    entries: IntArray
    counts: IntArray
    closed: bool


class Operators(NamedTuple):
    """A linear form as the kernels read it, rows padded to whole vectors.

    Column m of ``transposed`` and of every state holds the functional σᵀT, so that a product yields σᵀx beside x;
    behind it stand those of the word's prefixes, the ``checks`` of a step being all of them.

    Rows of zeros may be left out: of ``transposed`` those that ``sources`` does not name, of ``plain`` those that
    ``targets`` does not, and of the gradient those that ``slopes`` does not.
    """

    tiles: IntArray
    plain: AnyArray
    targets: Rows
    transposed: AnyArray
    sources: Rows
    slopes: Rows
    start: AnyArray  # r₀ · 2^start_power
    start_power: int
    evaluation: AnyArray
    m: int
    checks: int
    vectors: int  # in a row of ``transposed``
    inner_vectors: int  # in a row of ``plain``
    low: float
    least: float  # 0 where nothing has a larger range


def operators_of(
    form: LinearForm, words: Words, dtype: Any, *, dense: bool = True, slopes_of_zeros: bool = True
) -> Operators:
    """Return the operators of every word; unless ``dense``, without rows of zeros where there are many.

    Without ``slopes_of_zeros`` rows of zeros get no gradient.
    """
    m, count, checks = form.dimension, len(words.last), words.length
    plain = aligned((count * m, padded(m, dtype)), dtype)
    transposed = aligned((count * m, padded(m + checks, dtype)), dtype)
    _spell(form.operators, form.evaluation, plain, transposed, checks)
    weight = float(form.evaluation @ form.initial)
    power = -int(np.frexp(weight)[1])
    start = np.zeros(transposed.shape[1], dtype)
    start[:m], start[m : m + checks] = np.ldexp(form.initial, power), np.ldexp(weight, power)
    evaluation = np.zeros(plain.shape[1], dtype)
    evaluation[:m] = form.evaluation
    vectors, inner_vectors = (array.shape[1] // lanes(dtype) for array in (transposed, plain))
    every = _every_row(m, count)
    targets = sources = every
    if not dense and checks == 1 and filled(form.operators) < SPARSE:
        targets, sources = _close_up(plain, m), _close_up(transposed, m)
    slopes = every if slopes_of_zeros else targets
    kind = np.dtype(dtype).char
    least = _LEAST[kind] if checks > 1 or kind == "f" else 0.0
    result = Operators(addresses(dtype), plain, targets, transposed, sources, slopes, start, power,
                       evaluation, m, checks, vectors, inner_vectors, _LOWEST[kind], least)  # fmt: skip
    if checks > 1:
        _compose(result, words)
        flipped = transposed.reshape(count, m, -1)[words.base :, :, :m]
        plain.reshape(count, m, -1)[words.base :, :, :m] = flipped.transpose(0, 2, 1)
    return result


def longest_words(form: LinearForm, dtype: Any) -> int:
    """Return how many symbols a word may have so that usual steps stay in the range of ``dtype``; 0 if none do.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.engine.words import longest_words
    >>> from hqmm.linear import LinearForm
    >>> rare = LinearForm(np.array([[[1.0]], [[1e-60]]]), np.ones(1), np.ones(1))
    >>> longest_words(rare, np.float64), longest_words(rare, np.float32)
    (2, 0)
    """
    kind = np.dtype(dtype).char
    room = int(math.log2(_LOWEST[kind] / _LEAST[kind])) - _extent(form.evaluation[None, None], 0)
    return max(0, room // max(1, _extent(form.operators, form.dimension.bit_length())))


@kernel  # type: ignore[untyped-decorator]
def _extent(matrices: AnyArray, growth: int) -> int:
    """Return how far matrices take from one, in powers of two: their largest entry, 2^growth of them upwards."""
    result = 0
    for matrix in matrices:
        size = 0.0
        for row in matrix:
            for entry in row:
                size = max(size, abs(entry))
        if size > 0:
            exponent = math.frexp(size)[1]
            result = max(result, -exponent, exponent + growth)
    return result


def filled(operators: FloatArray) -> float:
    """Return the share of rows and columns of the operators that are not all zero."""
    if operators.shape[1] < SMALLEST_SPARSE:
        return 1.0
    occupied = operators != 0
    return float(occupied.any(axis=1).mean() + occupied.any(axis=2).mean()) / 2


def _every_row(m: int, count: int) -> Rows:
    return Rows(np.zeros(1, np.int64), np.full(count, m), False)


@kernel  # type: ignore[untyped-decorator]
def _close_up(operators: AnyArray, m: int) -> Rows:
    """Move the rows of every operator that are not zero to its front, and say which they were."""
    entries, counts = np.zeros(len(operators), np.int64), np.zeros(len(operators) // m, np.int64)
    for y in range(len(counts)):
        for i in range(m):
            if np.any(operators[y * m + i] != 0):
                place = y * m + counts[y]
                operators[place] = operators[y * m + i]
                entries[place] = i
                counts[y] += 1
    return Rows(entries, counts, True)


@kernel  # type: ignore[untyped-decorator]
def _spell(operators: AnyArray, evaluation: AnyArray, plain: AnyArray, transposed: AnyArray, checks: int) -> None:
    """Write the letters, and behind them their functionals; the last letter, "missing", is their sum."""
    s, m = len(operators), len(evaluation)
    total, functionals = np.zeros((m, m)), np.zeros((s + 1, m))
    for y in range(s + 1):
        T = operators[y] if y < s else total
        for i in range(m):
            for j in range(m):
                if y < s:
                    total[i, j] += T[i, j]
                plain[y * m + i, j] = T[i, j]
                transposed[y * m + j, i] = T[i, j]
                functionals[y, j] += evaluation[i] * T[i, j]
        for j in range(m):
            transposed[y * m + j, m : m + checks] = functionals[y, j]


@kernel  # type: ignore[untyped-decorator]
def _compose(of: Operators, words: Words) -> None:
    """Multiply every word's prefix with its last letter; behind its own functional stand its prefix's."""
    m, T, rows = of.m, of.transposed, np.arange(len(of.transposed))
    for word in range(words.base, len(words.last)):
        a, b, ab = words.prefix[word] * m, words.last[word] * m, word * m
        product(of.tiles[0], m, T, rows, a, rows, -1, T, b, m, T, rows, ab, of.vectors, 0)
        for i in range(m):
            for j in range(1, words.length):
                T[ab + i, m + j] = T[a + i, m + j - 1]


def pull_back(of: Operators, words: Words, gradient: AnyArray) -> FloatArray:
    """Return ∂ℓ/∂T of the symbols from ∂ℓ/∂T of the words; what "missing" gets goes to every symbol."""
    if words.length > 1:
        _pull_back(of, words, gradient)
    letter = gradient.reshape(len(words.last), of.m, -1)[: words.base, :, : of.m].astype(np.float64, copy=False)
    if of.slopes.closed:
        letter = _spread_out(letter, of.slopes)
    result: FloatArray = letter[:-1] + letter[-1]
    return result


def _spread_out(gradient: FloatArray, rows: Rows) -> FloatArray:
    """Return the gradient with every row in its place; those that were left out are zero."""
    result = np.zeros(gradient.shape)
    for y, count in enumerate(rows.counts):
        result[y, rows.entries[y * gradient.shape[1] :][:count]] = gradient[y, :count]
    return result


@kernel  # type: ignore[untyped-decorator]
def _pull_back(of: Operators, words: Words, G: AnyArray) -> None:
    m, rows = of.m, np.arange(len(of.plain))
    for word in range(len(words.last) - 1, words.base - 1, -1):
        a, b, ab = words.prefix[word] * m, words.last[word] * m, word * m
        product(of.tiles[0], m, G, rows, ab, rows, -1, of.transposed, a, m, G, rows, b, of.inner_vectors, 1)
        outer(of.tiles[1], m, of.plain, rows, b, rows, -1, m, G, rows, ab, G, a, of.inner_vectors)
