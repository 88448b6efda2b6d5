"""Form 1: one sequence after the other; with checkpoints, so that a sequence may be of any length.

States keep a scale 2^k, as in ``batched``. A sequence is walked in segments: the state at the start of each is
kept, and the backward pass computes a segment's states again from there.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.engine.batched import magnify, settle
from hqmm.engine.tiles import advance, outer
from hqmm.linear import ROUNDING

kernel = njit(nogil=True, cache=True)

FINE, ZERO, NEGATIVE, BROKEN = 0, 1, 2, 3

# What is smaller has lost digits, and its sign means nothing.
_TINY = 2.0**-1000

# States between two checkpoints should fit into a core's private cache.
_SEGMENT_BYTES = 2**18


class Letters(NamedTuple):
    """A piece of the sequences: numbers of operators, and where each sequence starts."""

    tokens: AnyArray
    starts: IntArray
    weights: FloatArray
    burn_in: int
    whole: bool  # differentiate the burn-in too


class Room(NamedTuple):
    """Working memory: states and functionals of a segment, and the state each segment starts from."""

    X: AnyArray
    Z: AnyArray
    marks: AnyArray


def segment_rows(width: int, dtype: Any) -> int:
    """Return how many symbols stand between two checkpoints."""
    return max(16, _SEGMENT_BYTES // (width * np.dtype(dtype).itemsize))


@kernel
def _walk(of, tokens, start, stop, X, powers, mask):
    """Step from ``start`` to ``stop``, from row 0 of X on; return the first place not positive, or stop."""
    # Arrays of a tuple are counted at each access: hot loops take them out first.
    address, T, m, vectors, low, high = of.tiles[0], of.transposed, of.m, of.vectors, of.low, 1 / of.low
    for t in range(start, stop):
        row, after = (t - start) & mask, (t - start + 1) & mask
        advance(address, X, row, T, tokens[t] * m, m, X, after, vectors)
        powers[after] = powers[row]
        if not low < X[after, m] < high:
            powers[after] += settle(X, after, m, 1, of.least)
            if not X[after, m] > 0:
                return t
    return stop


@kernel
def _log(of, x, power):
    return np.log(np.float64(x[of.m])) - np.log(2.0) * power


@kernel
def score(of, piece, X, result):
    """Fill ``result`` with ℓ of every sequence; −inf where a step is not positive. X has two rows."""
    powers = np.zeros(2, np.int64)
    tokens, starts, burn_in = piece.tokens, piece.starts, piece.burn_in
    for i in range(len(result)):
        start, stop = starts[i], starts[i + 1]
        split = min(start + burn_in, stop)
        X[0], powers[0] = of.start, of.start_power
        result[i] = -np.inf
        if _walk(of, tokens, start, split, X, powers, 1) < split:
            continue
        row = (split - start) & 1
        before = _log(of, X[row], powers[row]) if burn_in > 0 else 0.0
        X[0], powers[0] = X[row], powers[row]
        if _walk(of, tokens, split, stop, X, powers, 1) < stop:
            continue
        row = (stop - split) & 1
        result[i] = 0.0 if split == stop and burn_in > 0 else _log(of, X[row], powers[row]) - before


@kernel
def inspect(of, piece, X, possible):
    """Find the first sequence with a step that is negative or not a number; mark those that are ``possible``.

    Returns the verdict, the sequence, the position and the conditional probability. X has two rows.
    """
    powers = np.zeros(2, np.int64)
    for n in range(len(piece.weights)):
        start, stop = piece.starts[n], piece.starts[n + 1]
        X[0], powers[0] = of.start, of.start_power
        place = _walk(of, piece.tokens, start, stop, X, powers, 1)
        if place == stop:
            possible[n] = not _was_impossible(of, piece.tokens, start, stop, X)
        else:
            row, where = (place - start) & 1, piece.tokens[place] * of.m
            advance(of.tiles[0], X, row, of.transposed, where, of.m, X, 1 - row, of.vectors)
            verdict, probability = _judge(of, where, X[row], X[1 - row, of.m])
            if verdict == NEGATIVE and _was_impossible(of, piece.tokens, start, place, X):
                continue
            if verdict != ZERO:
                return verdict, n, place - start, probability
    return FINE, 0, 0, 0.0


@kernel
def _judge(of, where, x, step):
    """Say whether a step that is not positive is zero but for rounding, negative, or not a number."""
    if not np.isfinite(step):
        return BROKEN, step
    return (NEGATIVE if step < -ROUNDING * _bound(of, where, x) - _TINY else ZERO), step / x[of.m]


@kernel
def _bound(of, where, x):
    """Return the sum of absolute values that make up the probability of a step from x."""
    bound = 0.0
    for i in range(of.m):
        for j in range(of.m):
            bound += abs(of.evaluation[i] * of.plain[where + i, j] * x[j])
    return bound


@kernel
def _was_impossible(of, tokens, start, place, X):
    """Say whether a step before ``place`` was positive by rounding alone: what follows such a state is noise."""
    X[0] = of.start
    for t in range(start, place):
        row, where = (t - start) & 1, tokens[t] * of.m
        bound = _bound(of, where, X[row])
        advance(of.tiles[0], X, row, of.transposed, where, of.m, X, 1 - row, of.vectors)
        if X[1 - row, of.m] <= ROUNDING * bound + _TINY:
            return True
        settle(X, 1 - row, of.m, 1, 0.0)
    return False


@kernel
def differentiate(of, piece, room, G, initial, evaluation, result):
    """Add the gradients of all sequences to G, ``initial`` and ``evaluation``; fill ``result`` with ℓ."""
    powers = np.zeros(len(room.X), np.int64)
    mark_powers = np.zeros(len(room.marks), np.int64)
    burned = np.empty(room.X.shape[1], room.X.dtype)
    places = np.empty((2, len(room.X)), np.int64)
    counts = np.zeros((2, len(of.plain) // of.m), np.int64)
    for i in range(len(result)):
        start, stop, weight = piece.starts[i], piece.starts[i + 1], piece.weights[i]
        split = min(start + piece.burn_in, stop)
        result[i], last = _ascend(of, piece, start, split, stop, room, powers, mark_powers, burned)
        if last < 0 or weight == 0:
            continue
        X, Z = room.X, room.Z
        Z[last] = 0
        for j in range(of.m):
            Z[last, j] = weight / X[last, of.m] * of.evaluation[j]
            evaluation[j] += weight * X[last, j] / X[last, of.m]
            if piece.whole and piece.burn_in > 0:
                evaluation[j] -= weight * burned[j] / burned[of.m]
        back = weight / burned[of.m] if piece.whole and piece.burn_in > 0 else 0.0
        _descend(of, piece, start, split, stop, room, powers, mark_powers, back, G, places, counts)
        if piece.whole:
            initial += Z[0, : of.m]


@kernel
def _ascend(of, piece, start, split, stop, room, powers, mark_powers, burned):
    """Walk a sequence; return ℓ and the row of X the last state stands in (−1: nothing to differentiate)."""
    X, size = room.X, len(room.X) - 1
    X[0], powers[0] = of.start, of.start_power
    origin = start
    if not piece.whole:
        if _walk(of, piece.tokens, start, split, X, powers, 1) < split:
            return -np.inf, -1
        origin, row = split, (split - start) & 1
        X[0], powers[0] = X[row], powers[row]
    before, last = 0.0, 0
    for segment in range(max(1, (stop - origin + size - 1) // size)):
        begin = origin + segment * size
        end = min(begin + size, stop)
        X[0], powers[0] = X[last], powers[last]
        room.marks[segment], mark_powers[segment] = X[0], powers[0]
        if _walk(of, piece.tokens, begin, end, X, powers, -1) < end:
            return -np.inf, -1
        last = end - begin
        if begin <= split <= end and piece.burn_in > 0:
            burned[:] = X[split - begin]
            before = _log(of, burned, powers[split - begin])
    if split == stop and piece.burn_in > 0:
        return 0.0, -1
    return _log(of, X[last], powers[last]) - before, last


@kernel
def _descend(of, piece, start, split, stop, room, powers, mark_powers, back, G, places, counts):
    """Carry the functional in the last row of Z back to row 0, adding β xᵀ to G; at the split, less ``back`` σ."""
    X, Z, tokens, size = room.X, room.Z, piece.tokens, len(room.X) - 1
    address, N, m, vectors = of.tiles[0], of.plain, of.m, of.inner_vectors
    origin = start if piece.whole else split
    last_segment = max(1, (stop - origin + size - 1) // size) - 1
    for segment in range(last_segment, -1, -1):
        begin = origin + segment * size
        end = min(begin + size, stop)
        if segment < last_segment:
            X[0], powers[0] = room.marks[segment], mark_powers[segment]
            _walk(of, tokens, begin, end, X, powers, -1)
            Z[end - begin] = Z[0]
        for t in range(end - 1, begin - 1, -1):
            after = t - begin + 1
            if back != 0 and t + 1 == split:
                for j in range(m):
                    Z[after, j] -= back * of.evaluation[j]
            if powers[after] != powers[after - 1]:
                magnify(Z, after, powers[after] - powers[after - 1])
            advance(address, Z, after, N, tokens[t] * m, m, Z, after - 1, vectors)
        _collect(of, tokens, begin, end, X, Z, G, places, counts)


@kernel
def _collect(of, tokens, begin, end, X, Z, G, places, counts):
    """Add β xᵀ over the symbols from ``begin`` to ``end`` to G, all places of one symbol in one product."""
    fill, starts = counts
    left, right = places
    letters = len(fill)
    fill[:] = 0
    for t in range(begin, end):
        fill[tokens[t]] += 1
    place = 0
    for letter in range(letters):
        place += fill[letter]
        fill[letter] = place - fill[letter]
        starts[letter] = fill[letter]
    for t in range(begin, end):
        letter = tokens[t]
        left[fill[letter]], right[fill[letter]] = t - begin + 1, t - begin
        fill[letter] += 1
    for letter in range(letters):
        first, count = starts[letter], fill[letter] - starts[letter]
        if count > 0:
            where, vectors = letter * of.m, of.inner_vectors
            outer(of.tiles[1], count, Z, left, first, left, -1, of.m, X, right, first, G, where, vectors)
