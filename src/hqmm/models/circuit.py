"""From an HMM's matrices to Kraus operators, directly and through the circuit of Srinivasan et al. (2018)."""

from __future__ import annotations

import numpy as np

from hqmm._typing import ComplexArray, FloatArray


def kraus_rank_one(transition: FloatArray, emission: FloatArray) -> ComplexArray:
    """K_{y,j} = Σ_i √(C[y, i] A[i, j]) |i⟩⟨j|, shape (s, n, n, n)."""
    n = len(transition)
    amplitudes = np.sqrt(emission[:, :, None] * transition)  # (y, i, j)
    kraus = np.einsum("yij,jk->yjik", amplitudes, np.eye(n))
    return kraus.astype(np.complex128)


def kraus_from_circuit(transition: FloatArray, emission: FloatArray) -> ComplexArray:
    """Trace the old state out of the circuit and project the emission register on each symbol.

    The transition unitary takes |j⟩ ⊗ |0⟩ to |j⟩ ⊗ Σ_i √A[i, j] |i⟩ (old state ⊗ new state), the emission
    unitary takes |i⟩ ⊗ |0⟩ to |i⟩ ⊗ Σ_y √C[y, i] |y⟩. With the old state traced out in the basis ⟨k| and the
    symbol measured, K_{y,k} = ⟨y| U_C |0⟩ · ⟨k| U_A |0⟩.
    """
    n, s = len(transition), len(emission)
    transit = controlled_unitary(np.sqrt(transition)).reshape(n, n, n, n)  # (old, new, old, ancilla)
    emit = controlled_unitary(np.sqrt(emission)).reshape(n, s, n, s)  # (state, symbol, state, ancilla)
    from_old = transit[:, :, :, 0]  # ⟨k| U_A |0⟩ as (k, new, old)
    to_symbol = emit[:, :, :, 0]  # (state out, symbol, state in)
    return np.einsum("iym,kmj->ykij", to_symbol, from_old).astype(np.complex128)


def controlled_unitary(amplitudes: FloatArray) -> FloatArray:
    """Return the unitary that, controlled by |j⟩, rotates an ancilla from |0⟩ to column j of ``amplitudes``."""
    size, n = amplitudes.shape
    unitary = np.zeros((n, size, n, size))
    for j in range(n):
        unitary[j, :, j, :] = _reflection_onto(amplitudes[:, j])
    return unitary.reshape(n * size, n * size)


def _reflection_onto(target: FloatArray) -> FloatArray:
    """Return a Householder reflection whose first column is the unit vector ``target``."""
    difference = target.copy()
    difference[0] -= 1.0
    length = difference @ difference
    identity = np.eye(len(target))
    return identity if length == 0 else identity - 2 * np.outer(difference, difference) / length
