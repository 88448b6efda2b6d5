"""Reachable and observable subspaces of a linear form, and the smallest equivalent form."""

from __future__ import annotations

import numpy as np

from hqmm._typing import FloatArray
from hqmm.linear import LinearForm


def reachable_basis(form: LinearForm, tol: float = 1e-10) -> FloatArray:
    """Return an orthonormal basis of the span of the states T_w r₀ over all sequences w.

    Parameters
    ----------
    form : LinearForm
        The model.
    tol : float
        A direction counts when an operator scaled to norm one maps a unit vector of the basis at least this far
        out of the space found so far.

    Returns
    -------
    array of shape (m, r)

    Examples
    --------
    A third state that nothing leads to is not reachable:

    >>> import numpy as np
    >>> from hqmm.linear import LinearForm
    >>> from hqmm.reduction import reachable_basis
    >>> transition = np.array([[0.9, 0.2, 0.3], [0.1, 0.8, 0.3], [0.0, 0.0, 0.4]])
    >>> emission = np.array([[0.7, 0.1, 0.5], [0.3, 0.9, 0.5]])
    >>> form = LinearForm(emission[:, :, None] * transition, np.array([1.0, 0, 0]), np.ones(3))
    >>> reachable_basis(form).shape
    (3, 2)
    """
    return _invariant_span(form.operators, form.initial, tol)


def observable_basis(form: LinearForm, tol: float = 1e-10) -> FloatArray:
    """Return an orthonormal basis of the span of the functionals T_wᵀ σ over all sequences w.

    Two states whose difference is orthogonal to it give every sequence the same probability.

    Parameters
    ----------
    form : LinearForm
        The model.
    tol : float
        As in `reachable_basis`.

    Returns
    -------
    array of shape (m, r)

    Examples
    --------
    The two states of a coin that ignores its state cannot be told apart:

    >>> import numpy as np
    >>> from hqmm.linear import LinearForm
    >>> from hqmm.reduction import observable_basis
    >>> transition = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> form = LinearForm(np.array([0.5 * transition, 0.5 * transition]), np.array([1.0, 0]), np.ones(2))
    >>> observable_basis(form).shape
    (2, 1)
    """
    return _invariant_span(form.operators.transpose(0, 2, 1), form.evaluation, tol)


def reduce(form: LinearForm, tol: float = 1e-10) -> LinearForm:
    """Return the smallest linear form that gives every sequence the same probability.

    The form is restricted to its reachable subspace, then projected onto what is observable of that; no other
    form of the same process has a lower dimension. Its basis is orthonormal but otherwise arbitrary.

    Parameters
    ----------
    form : LinearForm
        The model.
    tol : float
        As in `reachable_basis`.

    Returns
    -------
    LinearForm

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.linear import LinearForm
    >>> from hqmm.reduction import reduce
    >>> transition = np.array([[0.9, 0.2], [0.1, 0.8]])
    >>> coin = LinearForm(np.array([0.5 * transition, 0.5 * transition]), np.array([1.0, 0]), np.ones(2))
    >>> reduce(coin).dimension
    1
    """
    reachable = _project(form, reachable_basis(form, tol))
    return _project(reachable, observable_basis(reachable, tol))


def _project(form: LinearForm, basis: FloatArray) -> LinearForm:
    return LinearForm(basis.T @ form.operators @ basis, basis.T @ form.initial, basis.T @ form.evaluation)


def _invariant_span(operators: FloatArray, start: FloatArray, tol: float) -> FloatArray:
    """Return an orthonormal basis of the smallest subspace that holds ``start`` and is closed under the operators.

    Columns are pivoted: of all images of the basis, the one that lies farthest outside is added next, so that
    rounding is amplified least. Operators are scaled to norm one, because rare symbols have small operators, and
    only images of unit vectors are formed, because long products shrink.
    """
    m = len(start)
    norms = np.linalg.norm(operators, ord=2, axis=(1, 2)) if m else np.zeros(0)
    kept = norms > 0
    scaled = operators[kept] / norms[kept, None, None]
    basis = np.empty((m, 0))
    outside = start[:, None] / (np.linalg.norm(start) or 1.0)  # the parts of the images that the basis misses
    while basis.shape[1] < m:
        lengths = np.linalg.norm(outside, axis=0)
        if lengths.max(initial=0.0) <= tol:
            break
        basis, outside = extend(basis, outside, int(np.argmax(lengths)))
        images = (scaled @ basis[:, -1]).T
        outside = np.column_stack([outside[:, lengths > tol], images - basis @ (basis.T @ images)])
    return basis


def extend(basis: FloatArray, outside: FloatArray, column: int) -> tuple[FloatArray, FloatArray]:
    """Add one column of ``outside`` to an orthonormal basis, and take its direction out of the other columns.

    Parameters
    ----------
    basis : array of shape (m, r)
        Orthonormal columns.
    outside : array of shape (m, k)
        Vectors orthogonal to the basis.
    column : int
        The one to add; it must not be zero.

    Returns
    -------
    basis, outside
        Of shapes (m, r + 1) and (m, k), again orthogonal to each other.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.reduction import extend
    >>> basis, outside = extend(np.empty((2, 0)), np.array([[2.0, 1.0], [0.0, 1.0]]), 0)
    >>> basis.ravel(), outside[:, 1]
    (array([1., 0.]), array([0., 1.]))
    """
    direction = outside[:, column] / np.linalg.norm(outside[:, column])
    direction -= basis @ (basis.T @ direction)  # once more: the first pass left rounding errors behind
    direction /= np.linalg.norm(direction)
    return np.column_stack([basis, direction]), outside - np.outer(direction, direction @ outside)
