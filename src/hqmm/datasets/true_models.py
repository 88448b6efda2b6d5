"""The true models behind the paper's synthetic data (numbers are from the authors' data files)."""

from __future__ import annotations

import numpy as np

from hqmm._typing import ComplexArray
from hqmm.models import HMM, HQMM, NOOM


def hmm_6_6() -> HMM:
    """Return the HMM with 6 states and 6 symbols of the paper's section 4.1, uniform before the first symbol.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> hmm_6_6()
    HMM(6 states, 6 symbols)
    """
    transition = [
        [0.80, 0.01, 0.00, 0.10, 0.30, 0.00],
        [0.02, 0.02, 0.10, 0.15, 0.05, 0.00],
        [0.08, 0.03, 0.10, 0.40, 0.05, 0.50],
        [0.05, 0.04, 0.50, 0.35, 0.00, 0.50],
        [0.03, 0.50, 0.03, 0.00, 0.60, 0.00],
        [0.02, 0.40, 0.27, 0.00, 0.00, 0.00],
    ]
    emission = [
        [0.20, 0.00, 0.05, 0.95, 0.01, 0.05],
        [0.70, 0.10, 0.05, 0.01, 0.05, 0.05],
        [0.05, 0.80, 0.10, 0.02, 0.05, 0.04],
        [0.04, 0.04, 0.02, 0.00, 0.84, 0.11],
        [0.01, 0.03, 0.70, 0.01, 0.02, 0.20],
        [0.00, 0.03, 0.08, 0.01, 0.03, 0.55],
    ]
    return HMM(transition, emission)


def hqmm_2_6() -> HQMM:
    """Return the (2, 6, 1)-HQMM of appendix A: projectors on the six Pauli eigenstates over √3.

    A measurement of spin along z, x or y, each a third of the time; symbols 0 and 1 are z up and down, 2 and 3
    are x, 4 and 5 are y.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> hqmm_2_6().predict([0]).round(3)
    array([0.333, 0.   , 0.167, 0.167, 0.167, 0.167])
    """
    spins: list[list[complex]] = [[1, 0], [0, 1], [1, 1], [1, -1], [1, 1j], [1, -1j]]  # z, x, y
    return HQMM(_projectors(spins) / np.sqrt(3))


def hqmm_2_4() -> HQMM:
    """Return the (2, 4, 1)-HQMM of Srinivasan et al. (2018): projectors on |0⟩, |1⟩, |+⟩, |−⟩ over √2.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_4
    >>> hqmm_2_4().predict([0])
    array([0.5 , 0.  , 0.25, 0.25])
    """
    return HQMM(_projectors([[1, 0], [0, 1], [1, 1], [1, -1]]) / np.sqrt(2))


def probability_clock() -> NOOM:
    """Return the probability clock of Zhao and Jaeger (2010), a NOOM that no finite HMM equals.

    Symbol 0 turns the state, symbol 1 resets it; the chance of a reset oscillates with the time since the last.

    Examples
    --------
    >>> from hqmm.datasets import probability_clock
    >>> clock = probability_clock()
    >>> [float(clock.predict([0] * t)[1].round(2)) for t in range(5)]
    [0.64, 0.44, 0.01, 0.16, 0.42]
    """
    c, s = np.cos(0.6), np.sin(0.6)
    return NOOM([[[0.6 * c, -s], [0.6 * s, c]], [[0.8, 0], [0, 0]]], [1, 0])


def _projectors(vectors: list[list[complex]]) -> ComplexArray:
    kets = np.array(vectors, dtype=np.complex128)
    kets /= np.linalg.norm(kets, axis=1, keepdims=True)
    return kets[:, :, None] * kets[:, None, :].conj()
