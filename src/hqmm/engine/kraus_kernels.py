"""Forms 4 and 5, and the way between Kraus operators and the real form, as compiled kernels.

A state is c complex vectors of length n. In form 4 ("kraus") they are the n rows of the density matrix ρ; in form
5 ("pure") they are the vectors v_j of the mixture ρ = Σ_j v_j v_j†. A vector is stored as its real parts and then
its imaginary parts, and a complex matrix to its right as the real matrix [[Re, Im], [−Im, Re]]: then complex
products are real ones of the same cost, and ``tiles`` does them.

States stand in the rows of ``layout``, those of shared prefixes once, so that no two states of a block have the
same parent. They and the backward functionals keep a scale 2^k each, as in ``batched``.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from hqmm._typing import FloatArray, IntArray
from hqmm.engine.tiles import VECTOR_BYTES, outer, product

kernel = njit(nogil=True, cache=True)

_LANES = VECTOR_BYTES // 8
# A state is rescaled when its trace leaves [2^-64, 2^64].
_LOW, _HIGH = 2.0**-64, 2.0**64
_SQRT_2, _SQRT_HALF = math.sqrt(2), math.sqrt(0.5)


class Maps(NamedTuple):
    """Kraus operators as the kernels read them: real matrices, rows padded to whole vectors.

    A state's vectors are multiplied with ``first`` and, in form 4, the adjoint of what comes out with ``second``;
    the backward functional's likewise with ``first_back`` and ``second_back``.
    """

    tiles: IntArray
    first: FloatArray
    second: FloatArray
    first_back: FloatArray
    second_back: FloatArray
    start: FloatArray  # the vectors of ρ₀
    n: int
    counted: int  # of the vectors of a state in form 5, those that ρ is made of
    mixed: bool  # form 4


# --- forms 4 and 5 --------------------------------------------------------------------------------------------


@kernel
def forward(of, layout, X, traces, powers, M, P):
    """Fill X, ``traces`` and ``powers`` below state 0, block by block; X holds 2^powers times the true states."""
    n, c, counted, mixed, s = of.n, len(of.start), of.counted, of.mixed, len(of.first)
    run, first_map, second_map = of.tiles[0], of.first, of.second
    block_start, block_token, parent, own = (
        layout.block_start,
        layout.block_token,
        layout.parent,
        np.arange(len(traces)),
    )
    room, rows = len(M) // c, np.arange(len(M))
    take, put = np.empty(len(M), np.int64), np.empty(len(M), np.int64)
    for block in range(len(block_token)):
        last = block_start[block + 1]
        low, high = _symbols(block_token[block], s)
        for first in range(block_start[block], last, room):
            states = min(room, last - first)
            _places(take, parent, first, states, c, c, -1)
            _places(put, own, first, states, c, c, -1)
            for y in range(low, high):
                if mixed:
                    _multiply(run, states * c, X, take, first_map, y, M, rows, 0)
                    _adjoint(M, P, states * c, n, second_map.shape[1] // 2)
                    _multiply(run, states * c, P, rows, second_map, y, X, put, y > low)
                else:
                    _multiply(run, states * c, X, take, first_map, y, X, put, 0)
        for state in range(block_start[block], last):
            powers[state] = powers[parent[state]]
            traces[state] = trace(X, state * c, n, counted, mixed)
            if not _LOW < traces[state] < _HIGH:
                powers[state] += _settle(X, traces, state, c, mixed)


@kernel
def backward(of, layout, X, traces, powers, Z, G, M, P, sources, amounts, incoming, first_level, to_root):
    """Add the gradient to G and return the functional at state 0 (meaningful where ``to_root``).

    A functional begins at each of ``sources`` (states, in falling order), times its amount; ``incoming`` is added
    at the last state. ``Z`` is a ring: the functional of state r stands in place r mod its length.
    """
    n, c, counted, mixed, s = of.n, len(of.start), of.counted, of.mixed, len(of.first)
    run, collect, first_map, second_map = of.tiles[0], of.tiles[1], of.first_back, of.second_back
    block_start, level_block, parent, own = (
        layout.block_start,
        layout.level_block,
        layout.parent,
        np.arange(len(traces)),
    )
    room, rows, mask = len(M) // c, np.arange(len(M)), len(Z) // c - 1
    here, above, before = np.empty(len(M), np.int64), np.empty(len(M), np.int64), np.empty(len(M), np.int64)
    last = len(level_block) - 1
    begun = _open(X, traces, Z, _level(block_start, level_block, last), c, mixed, sources, amounts, 0)
    bottom = ((len(traces) - 1) & mask) * c
    Z[bottom : bottom + c] += incoming
    for level in range(last - 1, first_level - 1, -1):
        onward = to_root or level > first_level
        if onward:
            opened = _level(block_start, level_block, level)
            begun = _open(X, traces, Z, opened, c, mixed, sources, amounts, begun)
        for block in range(level_block[level], level_block[level + 1]):
            start, end = block_start[block], block_start[block + 1]
            for state in range(start, end):
                _magnify(Z, (state & mask) * c, c, powers[state] - powers[parent[state]])
            low, high = _symbols(layout.block_token[block], s)
            for first in range(start, end, room):
                states = min(room, end - first)
                _places(here, own, first, states, c, c, mask)
                _places(above, parent, first, states, c, c, mask)
                for y in range(low, high):
                    if mixed:
                        _multiply(run, states * c, Z, here, first_map, y, M, rows, 0)
                        _adjoint(M, P, states * c, n, second_map.shape[1] // 2)
                        _places(before, parent, first, states, c, c, -1)
                        _collect(collect, states * c, P, rows, X, before, G, y)
                        if onward:
                            _multiply(run, states * c, P, rows, second_map, y, Z, above, 1)
                    else:
                        if onward:
                            _multiply(run, states * c, Z, here, first_map, y, Z, above, 1)
                        _places(here, own, first, states, c, counted, mask)
                        _places(before, parent, first, states, c, counted, -1)
                        _collect(collect, states * counted, Z, here, X, before, G, y)
    return Z[:c].copy()


@kernel
def _places(places, states, first, count, c, used, mask):
    """List where the first ``used`` vectors of ``count`` states stand; ``mask`` is that of a ring."""
    k = 0
    for i in range(first, first + count):
        place = (states[i] & mask) * c
        for j in range(used):
            places[k] = place + j
            k += 1


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def trace(X, first, n, counted, mixed):
    """Return tr ρ of a state: the sum of its diagonal, or of its vectors' squared lengths."""
    total = 0.0
    if mixed:
        for j in range(n):
            total += X[first + j, j]
    else:
        for j in range(counted):
            for i in range(2 * n):
                total += X[first + j, i] * X[first + j, i]
    return total


@kernel
def _multiply(run, count, A, take, E, y, C, put, add):
    """C[put[q]] (+)= A[take[q]] E[y] for q < count."""
    inner = E.shape[1]
    product(run, count, A, take, 0, take, -1, E, y * inner, inner, C, put, 0, C.shape[1] // _LANES, add)


@kernel
def _collect(run, count, A, take, X, before, G, y):
    """G[y] += Aᵀ X over ``count`` pairs of vectors."""
    rows = G.shape[1]
    outer(run, count, A, take, 0, take, -1, rows, X, before, 0, G, y * rows, G.shape[2] // _LANES)


@kernel
def _adjoint(M, P, count, n, wn):
    """Set P to the adjoint of M, state by state and operator by operator."""
    for first in range(0, count, n):
        for w in range(0, wn, n):
            for j in range(n):
                for i in range(n):
                    P[first + j, w + i] = M[first + i, w + j]
                    P[first + j, wn + w + i] = -M[first + i, wn + w + j]


@kernel
def _symbols(token, s):
    """Return the range of symbols a token stands for: itself, or all of them where it is "missing"."""
    return (token, token + 1) if token < s else (0, s)


@kernel
def _level(block_start, level_block, level):
    """Return the range of states after ``level`` symbols."""
    if level == 0:
        return 0, 1
    return block_start[level_block[level - 1]], block_start[level_block[level]]


@kernel
def _settle(X, traces, state, c, mixed):
    """Bring a trace near one by a power of two, which is returned; a state without probability becomes zero."""
    if not 0 < traces[state] < np.inf:
        X[state * c : (state + 1) * c] = 0
        traces[state] = 0
        return 0
    degree = 1 if mixed else 2
    _, power = math.frexp(traces[state])
    power = min(max(-power, -1000), 1000) // degree
    _magnify(X, state * c, c, power)
    traces[state] = math.ldexp(traces[state], degree * power)
    return power


@kernel
def _magnify(X, first, c, power):
    """Multiply a state by 2^power."""
    if power != 0:
        factor = math.ldexp(1.0, power)
        for row in range(first, first + c):
            for i in range(X.shape[1]):
                X[row, i] *= factor


@kernel
def _open(X, traces, Z, states, c, mixed, sources, amounts, begun):
    """Begin the functionals of a level: zero, plus what ``sources`` say.

    The derivative of log tr ρ is 1/tr ρ; form 5 keeps the products of functional and vectors.
    """
    mask = len(Z) // c - 1
    for state in range(states[0], states[1]):
        place = (state & mask) * c
        Z[place : place + c] = 0
    while begun < len(sources) and sources[begun] >= states[0]:
        state, place = sources[begun], (sources[begun] & mask) * c
        factor = amounts[begun] / traces[state]
        for j in range(c):
            if mixed:
                Z[place + j, j] += factor
            else:
                Z[place + j] += factor * X[state * c + j]
        begun += 1
    return begun


@kernel
def inspect(kraus, rho, codes):
    """Follow a sequence plainly to its first step that is not positive: place, probability, size of its terms."""
    s, w, _, _ = kraus.shape
    for t in range(len(codes)):
        after, bound, size = np.zeros_like(rho), 0.0, np.abs(rho)
        for y in range(codes[t], codes[t] + 1) if codes[t] >= 0 else range(s):
            for k in range(w):
                K, modulus = kraus[y, k], np.abs(kraus[y, k])
                after += K @ rho @ K.conj().T
                bound += np.sum((modulus @ size) * modulus)
        probability = np.trace(after).real
        if not 0 < probability < np.inf:
            return t, probability, bound
        rho = after / probability
    return len(codes), 0.0, 0.0


# --- between Kraus operators and the real form ----------------------------------------------------------------


@kernel
def coordinates(matrix, real):
    """Fill ``real`` with the diagonal of a Hermitian matrix, then √2 Re and √2 Im of its upper triangle."""
    n = len(matrix)
    column, pairs = n, n * (n - 1) // 2
    for a in range(n):
        real[a] = matrix[a, a].real
        for b in range(a + 1, n):
            real[column] = _SQRT_2 * matrix[a, b].real
            real[column + pairs] = _SQRT_2 * matrix[a, b].imag
            column += 1


@kernel
def combine(row, matrix):
    """Set ``matrix`` to Σ_k row[k] B_k, B being the Hermitian basis; the coordinates may be complex."""
    n = len(matrix)
    column, pairs = n, n * (n - 1) // 2
    for a in range(n):
        matrix[a, a] = row[a]
        for b in range(a + 1, n):
            real, imaginary = _SQRT_HALF * row[column], 1j * _SQRT_HALF * row[column + pairs]
            matrix[a, b], matrix[b, a] = real + imaginary, real - imaginary
            column += 1


@kernel
def to_real(products, T):
    """Fill T with the real matrices of ρ ↦ Σ_w K_w ρ K_w†, in the order of ``channels.hermitian_basis``.

    ``products[y, i, a, j, b]`` is Σ_w K_w[i, a] K_w*[j, b], the entry (i, j) of the image of |a⟩⟨b|.
    """
    n = products.shape[1]
    pairs = n * (n - 1) // 2
    for y in range(len(T)):
        row = n
        for i in range(n):
            coordinates(products[y, i, :, i].T, T[y, i])
            for j in range(i + 1, n):
                _upper_rows(products[y, i, :, j], T[y, row], T[y, row + pairs], pairs)
                row += 1


@kernel
def _upper_rows(of_units, real, imag, pairs):
    """Set two rows of T to √2 Re and √2 Im of ⟨i|Λ(B)|j⟩ for every B, given ⟨i|Λ(|a⟩⟨b|)|j⟩."""
    n = len(of_units)
    column = n
    for a in range(n):
        real[a], imag[a] = _SQRT_2 * of_units[a, a].real, _SQRT_2 * of_units[a, a].imag
        for b in range(a + 1, n):
            total, difference = of_units[a, b] + of_units[b, a], of_units[a, b] - of_units[b, a]
            real[column], imag[column] = total.real, total.imag
            real[column + pairs], imag[column + pairs] = -difference.imag, difference.real
            column += 1


@kernel
def from_real(G, units):
    """Fill units[y, a, b, i, j] with Σ_kl G[y, k, l] B_k[i, a] B_l[b, j], B being ``channels.hermitian_basis``."""
    n = units.shape[1]
    pairs = n * (n - 1) // 2
    row, matrix = np.empty(n * n, np.complex128), np.empty((n, n), np.complex128)
    for y in range(len(G)):
        left = n
        for i in range(n):
            row[:] = G[y, i]
            combine(row, matrix)
            units[y, i, :, i] = matrix
            for a in range(i + 1, n):
                for k in range(n * n):
                    row[k] = complex(_SQRT_HALF * G[y, left, k], _SQRT_HALF * G[y, left + pairs, k])
                combine(row, matrix)
                left += 1
                for b in range(n):
                    for j in range(n):
                        units[y, a, b, i, j], units[y, i, j, a, b] = matrix[b, j], matrix[b, j].conjugate()
