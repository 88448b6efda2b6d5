"""Between the Kraus blocks of a hybrid model and the blocks of its real operators, as compiled kernels."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import njit

from hqmm.engine.kraus_kernels import from_real, to_real

kernel = njit(nogil=True, cache=True)


@kernel
def to_real_blocks(kraus, T):
    """Fill the blocks (y, i, j) of T, zero so far, with the real matrices of ρ ↦ Σ_w K ρ K†, K = K[y, w, i, j]."""
    s, w, k, _, q, _ = kraus.shape
    size = q * q
    products = np.empty((1, q, q, q, q), np.complex128)
    for y in range(s):
        for i in range(k):
            for j in range(k):
                if q == 1:
                    total = 0.0
                    for v in range(w):
                        K = kraus[y, v, i, j, 0, 0]
                        total += K.real * K.real + K.imag * K.imag
                    T[y, i, j] = total
                elif _occupied(kraus, y, i, j):
                    _products(kraus, y, i, j, products)
                    to_real(products, T[y : y + 1, i * size : (i + 1) * size, j * size : (j + 1) * size])


@kernel
def from_real_blocks(kraus, G, result):
    """Fill ``result`` with ∂ℓ/∂K* from G = ∂ℓ/∂T, block by block; zero operators get zero."""
    s, w, k, _, q, _ = kraus.shape
    size = q * q
    units = np.empty((1, q, q, q, q), np.complex128)
    for y in range(s):
        for i in range(k):
            for j in range(k):
                if q == 1:
                    for v in range(w):
                        result[y, v, i, j, 0, 0] = G[y, i, j] * kraus[y, v, i, j, 0, 0]
                elif _occupied(kraus, y, i, j):
                    from_real(G[y : y + 1, i * size : (i + 1) * size, j * size : (j + 1) * size], units)
                    _contract(kraus, y, i, j, units, result)


@kernel
def _occupied(kraus, y, i, j):
    for v in range(kraus.shape[1]):
        for a in range(kraus.shape[4]):
            for b in range(kraus.shape[5]):
                if kraus[y, v, i, j, a, b] != 0:
                    return True
    return False


@kernel
def _products(kraus, y, i, j, products):
    """Set products[0, a, b, c, d] to Σ_w K_w[a, b] K_w*[c, d]."""
    w, q = kraus.shape[1], kraus.shape[4]
    products[:] = 0
    for v in range(w):
        for a in range(q):
            for b in range(q):
                entry = kraus[y, v, i, j, a, b]
                for c in range(q):
                    for d in range(q):
                        products[0, a, b, c, d] += entry * kraus[y, v, i, j, c, d].conjugate()


@kernel
def _contract(kraus, y, i, j, units, result):
    """Set result[y, w, i, j, c, d] to Σ_ab K_w[a, b] units[0, a, b, c, d]."""
    w, q = kraus.shape[1], kraus.shape[4]
    for v in range(w):
        for c in range(q):
            for d in range(q):
                result[y, v, i, j, c, d] = 0
        for a in range(q):
            for b in range(q):
                entry = kraus[y, v, i, j, a, b]
                for c in range(q):
                    for d in range(q):
                        result[y, v, i, j, c, d] += entry * units[0, a, b, c, d]
