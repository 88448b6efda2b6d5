"""Forms 2, 3 and 6: many sequences at once, every step a few matrix–matrix products.

States x and backward functionals β are kept at a scale 2^k each, so that most steps need neither a division nor a
logarithm: with β_T = w σ / σᵀx_T the gradient is G_y = Σ β_t x_{t-1}ᵀ, whatever the scale of x.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from hqmm.engine.tiles import outer, prefetch, product

kernel = njit(nogil=True, cache=True)

# Backward functionals of one segment, and the states they meet, should fit into a core's private cache.
_SEGMENT_BYTES = 2**17


def segment_rows(width: int, dtype: Any) -> int:
    """Return how many rows of ``width`` numbers a segment should hold."""
    return _SEGMENT_BYTES // (width * np.dtype(dtype).itemsize)


@kernel
def settle(X, row, m, checks, least):
    """Bring σᵀx near one by a power of two, which is returned; a state at or below ``least`` becomes zero."""
    for j in range(checks):
        if not least < X[row, m + j] < np.inf:
            X[row] = 0
            return 0
    _, power = math.frexp(np.float64(X[row, m]))
    power = min(max(-power, -1000), 1000)
    magnify(X, row, power)
    return power


@kernel
def magnify(X, row, power):
    """Multiply a row by 2^power."""
    factor = math.ldexp(1.0, power)
    for j in range(X.shape[1]):
        X[row, j] *= factor


@kernel
def forward(of, layout, X, powers):
    """Fill X, block after block; row r holds 2^powers[r] times its state."""
    address, T, m, vectors, checks = of.tiles[0], of.transposed, of.m, of.vectors, of.checks
    tokens, starts, parent, rows = layout.block_token, layout.block_start, layout.parent, np.arange(len(X))
    pick, inner, closed = of.sources
    low, high = of.low, 1 / of.low
    X[0], powers[0] = of.start, of.start_power
    for block in range(len(tokens)):
        first, last = starts[block], starts[block + 1]
        count, where = inner[tokens[block]], tokens[block] * m
        p = where if closed else -1
        product(address, last - first, X, parent, first, pick, p, T, where, count, X, rows, first, vectors, 0)
        for row in range(first, last):
            powers[row] = powers[parent[row]]
            fine = low < X[row, m] < high
            for j in range(1, checks):
                fine &= X[row, m + j] > of.least
            if not fine:
                powers[row] += settle(X, row, m, checks, of.least)


@kernel
def likelihoods(of, layout, X, powers, burn_level, scored):
    """Return ℓ of every sequence: −inf without probability, 0 with nothing to score."""
    result = np.zeros(len(layout.final))
    for n in range(len(layout.final)):
        row, split = layout.final[n], layout.burned[n]
        if not X[row, of.m] > 0:
            result[n] = -np.inf
        elif scored[n]:
            result[n] = np.log(np.float64(X[row, of.m])) - np.log(2.0) * powers[row]
            if burn_level > 0:
                result[n] -= np.log(np.float64(X[split, of.m])) - np.log(2.0) * powers[split]
    return result


@kernel
def segments(layout, rows_wanted, first_level):
    """Cut the levels, from the last one down, into segments of about ``rows_wanted`` rows.

    Returns the level each segment starts at, in the order of the backward pass, and the number of rows alive at
    once: those of a segment and of the level above it.
    """
    level_row = layout.block_start[layout.level_block]
    cuts = np.empty(len(level_row), np.int64)
    count, alive = 0, 1
    last = len(level_row) - 1
    while last > first_level:
        start = last - 1
        while start > first_level and level_row[last] - level_row[start] < rows_wanted:
            start -= 1
        alive = max(alive, level_row[last] - (level_row[start - 1] if start > 0 else 0))
        cuts[count] = start
        count += 1
        last = start
    return cuts[:count], alive


@kernel
def backward(of, layout, X, powers, Z, G, weights, cuts, first_level, burn_level, whole):
    """Add Σ β xᵀ to G, one segment of levels after the other, and return ∂ℓ/∂r₀ (zero unless ``whole``).

    ``Z`` is a ring: the functional of row r stands in row r mod its length, a power of two.
    """
    address, N, m, vectors, mask = of.tiles[0], of.plain, of.m, of.inner_vectors, len(Z) - 1
    pick, inner, closed = of.targets
    tokens, starts, parent = layout.block_token, layout.block_start, layout.parent
    rows, parents = np.arange(len(X)) & mask, parent & mask
    left, right = np.empty(len(Z), np.int64), np.empty(len(Z), np.int64)
    sizes = np.zeros(len(G) // of.m, np.int64)
    present = np.empty(len(sizes), np.int64)
    last = len(layout.level_block) - 1
    _open(of, layout, X, Z, weights, last, burn_level, whole)
    for start in cuts:
        for level in range(last - 1, start - 1, -1):
            _scale(layout, powers, Z, level)
            if level == first_level and not whole:
                continue
            _open(of, layout, X, Z, weights, level, burn_level, whole)
            for block in range(layout.level_block[level], layout.level_block[level + 1]):
                first, end = starts[block], starts[block + 1]
                for row in range(first, end):
                    prefetch(X, parent[row])
                if level > 0:
                    count, where = inner[tokens[block]], tokens[block] * m
                    p, height = where if closed else -1, end - first
                    product(
                        address, height, Z, rows, first, pick, p, N, where, count, Z, parents, first, vectors, 1
                    )
        _collect(of, layout, X, Z, G, start, last, left, right, sizes, present)
        last = start
    if not whole:
        return np.zeros(of.m, Z.dtype)
    if len(cuts) > 0:
        _to_root(of, layout, Z, rows)
    return Z[0, : of.m].copy()


@kernel
def _open(of, layout, X, Z, weights, level, burn_level, whole):
    """Begin the functionals of the rows after ``level`` tokens: zero, plus wσ/σᵀx where a sequence ends.

    The likelihood of a burn-in that is differentiated is subtracted: the functional is linear.
    """
    first, last = 0, 1
    if level > 0:
        first = layout.block_start[layout.level_block[level - 1]]
        last = layout.block_start[layout.level_block[level]]
    for row in range(first, last):
        for j in range(Z.shape[1]):
            Z[row & (len(Z) - 1), j] = 0
    for i in range(layout.level_ends[level], layout.level_ends[level + 1]):
        n = layout.ends[i]
        _add_evaluation(of, X, Z, layout.final[n], weights[n])
    if whole and level == burn_level and level > 0:
        for n in range(len(layout.burned)):
            _add_evaluation(of, X, Z, layout.burned[n], -weights[n])


@kernel
def _add_evaluation(of, X, Z, row, weight):
    if weight != 0:
        factor, evaluation, place = weight / X[row, of.m], of.evaluation, row & (len(Z) - 1)
        for j in range(of.m):
            Z[place, j] += factor * evaluation[j]


@kernel
def _scale(layout, powers, Z, level):
    """Undo the rescaling of a level's states in its functionals."""
    start, stop = layout.level_block[level], layout.level_block[level + 1]
    parent = layout.parent
    for row in range(layout.block_start[start], layout.block_start[stop]):
        power = powers[row] - powers[parent[row]]
        if power != 0:
            magnify(Z, row & (len(Z) - 1), power)


@kernel
def _collect(of, layout, X, Z, G, start_level, stop_level, left, right, sizes, present):
    """Add β xᵀ over the rows of a segment to G, all rows of a token in one product."""
    address, m, vectors = of.tiles[1], of.m, of.inner_vectors
    tokens, starts, parent = layout.block_token, layout.block_start, layout.parent
    pick, inner, closed = of.slopes
    start, stop = layout.level_block[start_level], layout.level_block[stop_level]
    kinds = 0
    for block in range(start, stop):
        token = tokens[block]
        if sizes[token] == 0:
            present[kinds] = token
            kinds += 1
        sizes[token] += starts[block + 1] - starts[block]
    place = 0
    for i in range(kinds):
        place += sizes[present[i]]
        sizes[present[i]] = place - sizes[present[i]]
    for block in range(start, stop):
        place = sizes[tokens[block]]
        for row in range(starts[block], starts[block + 1]):
            left[place], right[place] = row & (len(Z) - 1), parent[row]
            place += 1
        sizes[tokens[block]] = place
    place = 0
    for i in range(kinds):
        token = present[i]
        end, sizes[token] = sizes[token], 0
        count, where = inner[token], token * m
        p = where if closed else -1
        outer(address, end - place, Z, left, place, pick, p, count, X, right, place, G, where, vectors)
        place = end


@kernel
def _to_root(of, layout, Z, rows):
    """Carry the functionals of the first level to row 0: a block has one parent, so its rows are summed first."""
    address, N, vectors = of.tiles[0], of.plain, of.inner_vectors
    pick, inner, closed = of.targets
    for block in range(layout.level_block[1]):
        first, last = layout.block_start[block], layout.block_start[block + 1]
        for row in range(first + 1, last):
            for j in range(Z.shape[1]):
                Z[rows[first], j] += Z[rows[row], j]
        count, where = inner[layout.block_token[block]], layout.block_token[block] * of.m
        p = where if closed else -1
        product(address, 1, Z, rows, first, pick, p, N, where, count, Z, rows, 0, vectors, 1)


@kernel
def evaluation_gradient(of, layout, X, weights, burn_level, whole):
    """Return ∂ℓ/∂σ: Σ w x_T / σᵀx_T, less the same at the end of a burn-in that is differentiated."""
    result = np.zeros(of.m)
    for n in range(len(weights)):
        if weights[n] != 0:
            _add_state(result, X, layout.final[n], weights[n], of.m)
            if whole and burn_level > 0:
                _add_state(result, X, layout.burned[n], -weights[n], of.m)
    return result


@kernel
def _add_state(result, X, row, weight, m):
    factor = weight / X[row, m]
    for j in range(m):
        result[j] += factor * X[row, j]
