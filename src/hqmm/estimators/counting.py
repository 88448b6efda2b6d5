"""How many numbers a model is free to choose: what AIC and BIC charge for.

Parameters that change nothing are not counted. Kraus operators of one symbol may be mixed by a unitary matrix, and
the basis of the state may be turned; whatever the parameters, a process whose linear form has dimension m cannot
take more than those of an OOM.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Literal, TypeAlias, get_args

import numpy as np

from hqmm._typing import ComplexArray, IntArray
from hqmm.errors import ModelError
from hqmm.models import HMM, HQMM, NOOM, OOM, HybridHQMM, MarkovChain, Model

Counted: TypeAlias = Literal["learned", "fixed", "stationary"]

# Eigenvalues of the initial state that differ by less than this count as equal, or as zero.
_EQUAL = 1e-9


def n_parameters(model: Model, *, initial: Counted = "learned") -> int:
    """Return the dimension of the set of processes that models of this class and these sizes define.

    Parameters
    ----------
    model : Model
        The model, for its class and sizes.
    initial : "learned", "fixed" or "stationary"
        Whether the initial state is counted, is given, or counts for nothing because sequences are looked at long
        after their start (a burn-in).

    Notes
    -----
    An HQMM with n dimensions, w Kraus operators and s symbols has κ with 2swn² − n² real parameters, of which
    sw² + n² − 1 only choose among equivalent ones: w is at most n². The initial state adds n² − 1. Hybrid models,
    real ones, those with an end symbol, and those whose symbols have ranks of their own (operators that are zero
    are none: learning keeps them so) are counted likewise. An OOM of dimension m has (s − 1)m², and m − 1 for
    its initial state; no model has more.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.estimators.counting import n_parameters
    >>> n_parameters(hqmm_2_6())  # 2·6·1·4 − 4, less 6 + 3, and 3
    38
    """
    if initial not in get_args(Counted):
        raise ValueError(f"initial must be 'learned', 'fixed' or 'stationary', not {initial!r}")
    return min(_own(model, initial), _of_oom(model, initial))


def _of_oom(model: Model, initial: Counted) -> int:
    """Count the parameters of an OOM whose linear form has the dimension of the model's."""
    m = model.n_contexts if isinstance(model, MarkovChain) else model.linear.dimension
    if model.alphabet.end is not None:  # after the end nothing counts, but the probability of the end does
        return (model.n_symbols - 2) * m * m + 2 * m - 1
    return (model.n_symbols - 1) * m * m + (m - 1 if initial != "stationary" else 0)


@singledispatch
def _own(model: Model, initial: Counted) -> int:
    raise ModelError(f"it is not known how many parameters {model!r} has")


@_own.register
def _(model: HMM, initial: Counted) -> int:
    n, s = model.n_states, model.n_symbols
    return n * (n - 1) + n * (s - 1) + (n - 1 if initial == "learned" else 0)


@_own.register
def _(model: OOM, initial: Counted) -> int:
    return _of_oom(model, initial)


@_own.register
def _(model: MarkovChain, initial: Counted) -> int:
    del initial  # the start is a context as any other
    return len(_reachable(model)) * (model.n_symbols - 1)


@_own.register
def _(model: HQMM, initial: Counted) -> int:
    return _of_kraus(model.kraus[:, :, None, None], model.initial[None], model.alphabet.end, initial)


@_own.register
def _(model: HybridHQMM, initial: Counted) -> int:
    return _of_kraus(model.kraus, model.initial, model.alphabet.end, initial)


@_own.register
def _(model: NOOM, initial: Counted) -> int:
    state = np.outer(model.initial, model.initial)[None].astype(np.complex128)
    kraus = model.operators[:, None, None, None].astype(np.complex128)
    return _of_kraus(kraus, state, model.alphabet.end, initial)


def _of_kraus(kraus: ComplexArray, state: ComplexArray, end: int | None, initial: Counted) -> int:
    """Count for Kraus operators (s, w, k, k, q, q) and an initial state (k, q, q)."""
    _, _, k, _, q, _ = kraus.shape
    real = not np.any(kraus.imag) and not np.any(state.imag)
    entries = 1 if real else 2
    of_symbol = [k * k * (entries * w * q * q - _rotations(w, real)) for w in _ranks(kraus)]
    count = sum(of_symbol) - k * _hermitian(q, real)
    if end is not None:  # of the end's operators only Σ K†K counts, which the others decide
        count -= of_symbol[end] - k * _hermitian(q, real)
    turning = [_rotations(q, real) - (0 if real else 1)] * k
    ranks = [np.linalg.eigvalsh(block) for block in state]
    if initial == "learned":
        rank = max(int(np.count_nonzero(values > _EQUAL)) for values in ranks)
        count += k * (entries * q * rank - _rotations(rank, real)) - 1
    if initial == "fixed":
        turning = [
            sum(_rotations(int(size), real) for size in _multiplicities(values)) - (0 if real else 1)
            for values in ranks
        ]
    return count - sum(turning)


def _ranks(kraus: ComplexArray) -> list[int]:
    """Return how many operators each symbol has, up to q²; one that never occurs has what there is room for."""
    room, q = kraus.shape[1], kraus.shape[-1]
    there = np.count_nonzero(kraus.any(axis=(2, 3, 4, 5)), axis=1)
    return [min(int(count) or room, q * q) for count in there]


def _rotations(size: int, real: bool) -> int:
    """Return the dimension of the orthogonal or unitary group."""
    return size * (size - 1) // 2 if real else size * size


def _hermitian(size: int, real: bool) -> int:
    """Return the dimension of the symmetric or Hermitian matrices."""
    return size * (size + 1) // 2 if real else size * size


def _multiplicities(values: np.ndarray) -> IntArray:
    """Return how many of the ascending eigenvalues are equal, group by group."""
    ends = np.flatnonzero(np.diff(values) > _EQUAL) + 1
    return np.diff(np.concatenate([[0], ends, [len(values)]]))


def _reachable(chain: MarkovChain) -> set[int]:
    """Return the contexts that the start leads to, before the end."""
    found, fresh = {0}, [0]
    symbols = [code for code in range(chain.n_symbols) if code != chain.alphabet.end]
    while fresh:
        following = {int(context) for context in chain.successors[fresh.pop(), symbols]} - found
        found |= following
        fresh += following
    return found
