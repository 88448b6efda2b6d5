"""Leading eigenvalues of the operators: what tells the probability clock from every hidden Markov model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm._typing import ComplexArray, FloatArray
from hqmm.errors import DataError
from hqmm.models._checks import whole_number
from hqmm.reduction import reduce

if TYPE_CHECKING:
    from hqmm.models.base import Model

# Relative rounding that the entries of an operator of the smallest form are taken to carry.
_NOISE = 1e-12


def peripheral_spectrum(model: Model, symbol: Any, tol: float = 1e-9) -> ComplexArray:
    """Return the eigenvalues of largest modulus of one symbol's operator, in the smallest form of the model.

    The smallest form has no eigenvalues that the process does not show: parts that cannot be reached or observed
    are gone, and its operators are determined up to a change of basis.

    Parameters
    ----------
    model : model of any class
    symbol : symbol of the model's alphabet
    tol : float
        Eigenvalues whose modulus falls short of the largest by this share still count.

    Returns
    -------
    array of complex
        Sorted by phase, in (−π, π].

    Examples
    --------
    >>> from hqmm import HMM
    >>> from hqmm.theory import peripheral_spectrum
    >>> flip = HMM([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.4], [0.5, 0.6]], initial=[0.9, 0.1])
    >>> peripheral_spectrum(flip, 0).real.round(6)
    array([ 0.447214, -0.447214])
    """
    return _peripheral(_operator(model, symbol), tol)[0]


def has_oscillating_operator(model: Model, max_states: int = 100, tol: float = 1e-9) -> bool:
    """Show that no hidden Markov model with up to ``max_states`` states generates the same process.

    True if, for some symbol y, the operator T_y of the smallest form has an eigenvalue of largest modulus
    whose phase is not a root of unity of any order up to ``max_states``. Then no such HMM exists:

    Suppose there were one, and drop its states that no sequence leads to. Its operator N_y is non-negative. Some
    combination of reachable states is positive everywhere, and so is the functional 1, so the probability of
    repeating y from that combination shrinks at the rate of the spectral radius of N_y: the smallest form sees
    that radius. Its T_y comes from N_y by restriction to what is reachable and division by what is not
    observable, so each eigenvalue of T_y is one of N_y; those of largest modulus are then of largest
    modulus for N_y too. By Perron and Frobenius these are the radius times roots of unity, of orders up to the
    number of states. (Without the reduction to the smallest form, unreachable or unobservable parts could show
    any spectrum, and prove nothing.) Only N_y ≥ 0 is used, so HMMs that emit on their transitions are excluded
    too.

    It is a sufficient condition: False means "not shown". An HMM may also fail to exist for other reasons, such
    as a cone of states that is not polyhedral although no single operator turns. And it is numerical: a phase
    counts as a root of unity if it is within ``tol``, or within what rounding can do to this eigenvalue. Whether
    the phase is irrational, which would exclude every finite HMM, cannot be seen from floating-point numbers; for
    the probability clock it follows from its closed form: its eigenvalues are those of K₁* ⊗ K₁, with
    phases 0 and ±2 arccos(tr K₁ / (2 √det K₁)).

    Parameters
    ----------
    model : model of any class
    max_states : int
        The number of states that the excluded HMMs may have.
    tol : float
        Share by which a modulus may miss the largest, and turns by which a phase may miss a root of unity.

    Returns
    -------
    bool

    Examples
    --------
    >>> from hqmm import HMM
    >>> from hqmm.datasets import probability_clock
    >>> from hqmm.theory import has_oscillating_operator
    >>> has_oscillating_operator(probability_clock())
    True
    >>> has_oscillating_operator(HMM([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.4], [0.5, 0.6]]))
    False
    """
    whole_number("max_states", max_states, 1)
    return any(_oscillates(operator, max_states, tol) for operator in reduce(model.linear).operators)


def _operator(model: Model, symbol: Any) -> FloatArray:
    code = int(model.alphabet.encode([symbol])[0])
    if code < 0:
        raise DataError("a missing symbol has no operator of its own; name a symbol of the alphabet")
    operator: FloatArray = reduce(model.linear).operators[code]
    return operator


def _oscillates(operator: FloatArray, max_states: int, tol: float) -> bool:
    values, errors = _peripheral(operator, tol)
    turns = np.angle(values) / (2 * np.pi)
    orders = np.arange(1, max_states + 1)
    misses = np.abs(turns[:, None] - np.round(turns[:, None] * orders) / orders).min(axis=1, initial=np.inf)
    return bool(np.any(misses > np.maximum(tol, errors)))


def _peripheral(operator: FloatArray, tol: float) -> tuple[ComplexArray, FloatArray]:
    """Return the eigenvalues of largest modulus, by phase, and how far rounding may turn each, relative to it."""
    from scipy.linalg import eig

    decomposition: tuple[Any, ...] = eig(operator, left=True)
    values, left, right = decomposition
    moduli = np.abs(values)
    largest = moduli.max(initial=0.0)
    if largest == 0:
        return values.astype(np.complex128), np.full(len(values), np.inf)
    # An eigenvalue moves by at most ‖E‖ / |left* right| to first order, for unit eigenvectors.
    overlaps = np.abs(np.sum(left.conj() * right, axis=0))
    errors = _NOISE * np.linalg.norm(operator, 2) / np.maximum(overlaps, np.finfo(float).tiny) / largest
    kept = np.flatnonzero(moduli >= largest * (1 - tol))
    kept = kept[np.argsort(np.angle(values[kept]))]
    return values[kept], errors[kept]
