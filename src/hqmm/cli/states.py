"""States in columns of real numbers, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hqmm._typing import AnyArray

if TYPE_CHECKING:
    from hqmm.models import Model


def columns_of(model: Model, states: AnyArray) -> dict[str, AnyArray]:
    """Return what to show of states, one row for each time."""
    from hqmm.models import HMM, MarkovChain

    if states.ndim == 4:  # labels with a density matrix on each
        labels = np.einsum("tkii->tk", states).real
        return {**_numbered("label", labels), "purity": _purity(states)}
    if states.ndim == 3:
        return {**_numbered("state", np.einsum("tii->ti", states).real), "purity": _purity(states)}
    if np.iscomplexobj(states):
        real, imaginary = _numbered("real", states.real), _numbered("imag", states.imag)
        return {**real, **imaginary}
    kind = "state" if isinstance(model, HMM) else "context" if isinstance(model, MarkovChain) else "entry"
    return _numbered(kind, states)


def _numbered(kind: str, values: AnyArray) -> dict[str, AnyArray]:
    return {f"{kind}_{number}": column for number, column in enumerate(values.T)}


def _purity(states: AnyArray) -> AnyArray:
    """Return tr ρ², the sum of squared magnitudes of all entries of ρ."""
    return (np.abs(states) ** 2).reshape(len(states), -1).sum(axis=1)
