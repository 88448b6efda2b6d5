"""The nearest Kraus operators of a given rank."""

from __future__ import annotations

import numpy as np

from hqmm._typing import ComplexArray
from hqmm.channels import nearest_isometry


def nearest_of_rank(choi: ComplexArray, rank: int, max_iter: int) -> ComplexArray:
    """Return the κ with ``rank`` operators per symbol that locally minimises Σ_y ‖V_y V_y† − C_y‖².

    V_y has the column-stacked operators of symbol y as its columns. Starts from the truncated
    eigen-decompositions and descends along −∂/∂κ* with a polar retraction, accepting only steps that come nearer.
    """
    n = round(choi.shape[-1] ** 0.5)
    values, vectors = np.linalg.eigh(choi)
    leading = vectors[:, :, ::-1][:, :, :rank] * np.sqrt(np.maximum(values[:, ::-1][:, :rank], 0))[:, None, :]
    kappa = nearest_isometry(_operators(leading, n))
    residual = _residual(kappa, choi)
    distance, step = float(np.linalg.norm(residual)), 1.0
    for _ in range(max_iter):
        gradient = _operators(residual @ _columns(kappa), n)
        while step > 1e-8:
            candidate = nearest_isometry(kappa - step * gradient)
            residual_there = _residual(candidate, choi)
            there = float(np.linalg.norm(residual_there))
            if there < distance:
                break
            step /= 2
        else:
            break
        gain = distance - there
        kappa, residual, distance, step = candidate, residual_there, there, 2 * step
        if gain <= 1e-10 * distance:
            break
    return kappa


def _residual(kappa: ComplexArray, choi: ComplexArray) -> ComplexArray:
    columns = _columns(kappa)
    return columns @ columns.conj().transpose(0, 2, 1) - choi


def _columns(kappa: ComplexArray) -> ComplexArray:
    """(s, w, n, n) to (s, n², w): column-stacked operators side by side."""
    s, w, n, _ = kappa.shape
    return kappa.transpose(0, 3, 2, 1).reshape(s, n * n, w)


def _operators(columns: ComplexArray, n: int) -> ComplexArray:
    """(s, n², w) to (s, w, n, n), the inverse of `_columns`."""
    s, _, w = columns.shape
    return columns.reshape(s, n, n, w).transpose(0, 3, 2, 1)
