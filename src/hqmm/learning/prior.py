"""A prior on the transitions of a model: pseudo-counts, for data too thin to tell never from not yet.

A transition is a symbol, a label that it leads to and a label that it comes from; it owns the block K[y, :, i, j]
of Kraus operators, and Σ_w ‖K[y, w, i, j]‖² / q is its probability from the mixed state. The prior density is the
product of those probabilities to the power a: with one dimension to a label a Dirichlet distribution, under which
each transition counts as seen a times more than it was.
"""

from __future__ import annotations

import numpy as np

from hqmm._typing import ComplexArray, FloatArray
from hqmm.learning.space import Point

_SMALLEST = 1e-300


def log_prior(point: Point, n_symbols: int) -> float:
    """Return Σ log ‖K‖² over all transitions, and over the labels at the start where a point holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning.prior import log_prior
    >>> coin = np.sqrt([[[0.25], [0.75]]])  # κ of two symbols and no memory
    >>> bool(np.isclose(log_prior((coin,), 2), np.log(0.25 * 0.75)))
    True
    """
    return float(sum(np.log(np.maximum(_sizes(part), _SMALLEST)).sum() for part in _blocks(point, n_symbols)))


def prior_gradient(point: Point, n_symbols: int) -> Point:
    """Return ∂(log prior)/∂κ* = K / ‖K‖² for each block, of the shapes of the point.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning.prior import prior_gradient
    >>> coin = np.sqrt([[[0.25], [0.75]]])
    >>> (coin * prior_gradient((coin,), 2)[0]).ravel()  # each symbol counts once
    array([1., 1.])
    """
    scaled = [blocks / np.maximum(_sizes(blocks), _SMALLEST) for blocks in _blocks(point, n_symbols)]
    return tuple(blocks.reshape(part.shape) for blocks, part in zip(scaled, point, strict=True))


def _blocks(point: Point, n_symbols: int) -> list[ComplexArray]:
    """Return each part as (label from, symbol, operator, label to, entries)."""
    k, _, q = point[0].shape
    shapes = [(k, n_symbols, -1, k, q * q), (k, 1, 1, 1, -1)]
    return [part.reshape(shape) for part, shape in zip(point, shapes, strict=False)]


def _sizes(blocks: ComplexArray) -> FloatArray:
    sizes: FloatArray = (np.abs(blocks) ** 2).sum(axis=(2, 4), keepdims=True)
    return sizes
