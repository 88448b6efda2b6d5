"""Likelihood and gradient of the real linear form."""

from __future__ import annotations

from typing import Any

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import ModelError, NegativeProbabilityError
from hqmm.linear import MISSING, ROUNDING, LinearForm
from hqmm.sequences import Sequences

__all__ = ["log_likelihood"]


def log_likelihood(
    form: LinearForm,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    threads: int | None = None,
    method: str | None = None,
    dtype: Any = np.float64,
) -> FloatArray:
    """Return log σᵀ T_{y_T} ⋯ T_{y_{b+1}} x_b of every sequence, with x_b the state after the burn-in."""
    total = form.operators.sum(axis=0)
    result = np.zeros(len(sequences))
    for number, codes in enumerate(sequences):
        result[number] = _one(form, total, codes, burn_in, number)
    return result


def _one(form: LinearForm, total: FloatArray, codes: Any, burn_in: int, number: int) -> float:
    weight = float(form.evaluation @ form.initial)
    state, value = form.initial, 0.0
    if burn_in == 0:
        value = float(np.log(weight)) if weight > 0 else -np.inf
    if weight <= 0:
        return -np.inf
    state = state / weight
    for position, code in enumerate(codes):
        operator = total if code == MISSING else form.operators[code]
        step = operator @ state
        probability = float(form.evaluation @ step)
        bound = float(np.abs(form.evaluation) @ np.abs(operator) @ np.abs(state))
        if not np.isfinite(probability):
            raise ModelError("the operators hold NaN or infinity")
        if probability < -ROUNDING * bound:
            raise NegativeProbabilityError(number, position, probability)
        if probability <= 0:
            return -np.inf
        state = step / probability
        if position >= burn_in:
            value += float(np.log(probability))
    return value
