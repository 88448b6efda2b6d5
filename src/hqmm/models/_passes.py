"""Passes over one sequence that look both ways: smoothing and the most probable path."""

from __future__ import annotations

import numpy as np

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.errors import DataError
from hqmm.linear import MISSING, LinearForm


def forward_backward(form: LinearForm, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return the normalised states x_t (t = 0 … T) and the backward functionals e_t with e_tᵀx_t = 1.

    e_t ∝ σᵀT_{y_T} ⋯ T_{y_{t+1}}: what the future symbols say about the state at t.
    """
    states = np.empty((len(codes) + 1, form.dimension))
    effects = np.empty_like(states)
    states[0] = form.initial
    for t, code in enumerate(codes):
        following, weight = form.advance(states[t][None], np.array([code]))
        if not weight[0] > 0:
            form.next_distribution(states[t][None], t)  # raises where the model itself is at fault
            raise DataError("the model gives this symbol probability zero", sequence=0, position=t)
        states[t + 1] = following[0]
    effects[-1] = form.evaluation / (form.evaluation @ states[-1])
    for t in range(len(codes) - 1, -1, -1):
        effect = effects[t + 1] @ operator_of(form.operators, codes[t])
        effects[t] = effect / (effect @ states[t])
    return states, effects


def best_path(operators: FloatArray, initial: FloatArray, codes: AnyArray) -> IntArray:
    """Return the most probable path of hidden states of a model with non-negative operators (Viterbi).

    One state per symbol: the one entered with it, summed over the state before the first. Ties go to the lower
    state.
    """
    with np.errstate(divide="ignore"):
        steps = np.log(np.concatenate([operators, operators.sum(axis=0, keepdims=True)]))  # last: missing
        origins = np.zeros((len(codes), len(initial)), dtype=np.int64)
        for t, code in enumerate(codes):
            if t == 0:
                score = np.log(operator_of(operators, code) @ initial)
            else:
                candidates = steps[code] + score
                origins[t] = np.argmax(candidates, axis=1)
                score = candidates[np.arange(len(initial)), origins[t]]
            if np.max(score) == -np.inf:
                raise DataError("the model gives this symbol probability zero", sequence=0, position=t)
    path = np.empty(len(codes), dtype=np.int64)
    state = int(np.argmax(score)) if len(codes) else 0
    for t in range(len(codes) - 1, -1, -1):
        path[t] = state
        state = int(origins[t, state])
    return path


def operator_of(operators: FloatArray, code: int) -> FloatArray:
    """Return T_y, or Σ_y T_y for a missing symbol."""
    operator: FloatArray = operators.sum(axis=0) if code == MISSING else operators[code]
    return operator
