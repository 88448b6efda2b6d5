"""The paper's equations written out plainly, one matrix product after the other, and random things to try them on."""

from __future__ import annotations

import numpy as np
from tests.zoo import random_hmm, random_hqmm, random_oom

from hqmm import Sequences
from hqmm.linear import LinearForm

METHODS = ["single", "batched", "pairs", "triples", "prefixes"]


def sparse_form(rng, m, s):
    """An HMM that emits on its transitions, each symbol from a few states to a few others."""
    operators = np.zeros((s, m, m))
    few = max(1, m // 3)
    for y in range(s):
        rows, columns = (rng.choice(m, few, replace=False) for _ in range(2))
        operators[y][np.ix_(rows, columns)] = rng.random((few, few))
    operators[:, 0, 0] += 0.1  # something is always possible
    return LinearForm(operators / operators.sum(axis=(0, 1)).max(), np.full(m, 1 / m), np.ones(m))


KINDS = {
    "sparse": sparse_form,
    "hmm": lambda rng, m, s: random_hmm(rng, m, s).linear,
    "oom": lambda rng, m, s: random_oom(rng, m, s).linear,
    "hqmm": lambda rng, m, s: random_hqmm(rng, max(1, round(m**0.5)), s, 2).linear,
}


def random_form(rng, kind="hmm", m=4, s=3) -> LinearForm:
    return KINDS[kind](rng, m, s)


def random_sequences(rng, s, count, longest, missing=False, weights=(1.0,)) -> Sequences:
    """Ragged sequences, some of them empty, drawn so that beginnings are shared now and then."""
    lowest = -1 if missing else 0
    stem = rng.integers(lowest, s, longest)
    rows = []
    for _ in range(count):
        row = rng.integers(lowest, s, rng.integers(0, longest + 1))
        shared = rng.integers(0, len(row) + 1)
        row[:shared] = stem[:shared]
        rows.append(row)
    return Sequences(rows, alphabet=s, weights=rng.choice(weights, count), allow_empty=True)


def plain_log_likelihood(form, codes, burn_in=0, np=np):
    """Return log σᵀ T_{y_T} ⋯ T_{y_{b+1}} x_b; ``np`` may be autograd's."""
    state = form.initial
    for code in codes[:burn_in]:
        state = _operator(form, code, np) @ state
    if burn_in > 0:
        if len(codes) <= burn_in:
            return 0.0
        state = state / (form.evaluation @ state)
    for code in codes[burn_in:]:
        state = _operator(form, code, np) @ state
    return np.log(form.evaluation @ state)


def _operator(form, code, np=np):
    return np.sum(form.operators, axis=0) if code < 0 else form.operators[code]


def plain_gradient(form, sequences, burn_in=0, whole=False):
    """Return ∂/∂(T, r₀, σ) of the weighted sum: G_y = Σ β_t α_{t-1}ᵀ / P, without any scaling."""
    total = [np.zeros_like(form.operators), np.zeros_like(form.initial), np.zeros_like(form.evaluation)]
    for codes, weight in zip(sequences, sequences.weights, strict=True):
        if burn_in == 0:
            _add(total, weight, form, form.initial, codes, True)
        elif len(codes) > burn_in and whole:
            _add(total, weight, form, form.initial, codes, True)
            _add(total, -weight, form, form.initial, codes[:burn_in], True)
        elif len(codes) > burn_in:
            state = form.initial
            for code in codes[:burn_in]:
                state = _operator(form, code) @ state
            _add(total, weight, form, state / (form.evaluation @ state), codes[burn_in:], False)
    return total


def _add(total, weight, form, state, codes, free_start):
    states = [state]
    for code in codes:
        states.append(_operator(form, code) @ states[-1])
    probability = form.evaluation @ states[-1]
    back = form.evaluation
    for code, before in zip(codes[::-1], states[-2::-1], strict=True):
        for y in range(form.n_symbols) if code < 0 else [code]:
            total[0][y] += weight / probability * np.outer(back, before)
        back = back @ _operator(form, code)
    if free_start:
        total[1] += weight / probability * back
    total[2] += weight / probability * states[-1]


def assert_close(got, want, tolerance=1e-9, scale=0.0):
    """Compare entries relative to the largest one (or to ``scale``, where terms cancel)."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    largest = max(float(np.max(np.abs(want), initial=0.0)), float(np.max(np.abs(scale), initial=0.0)))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * largest)
