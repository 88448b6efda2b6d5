"""Scores of a model on data."""

from __future__ import annotations

from typing import Any

import numpy as np

from hqmm._typing import AnyArray, FloatArray
from hqmm.errors import DataError
from hqmm.models import Model


def description_accuracies(model: Model, sequences: Any, burn_in: int = 0, squash: bool = True) -> FloatArray:
    """Return the paper's description accuracy of each sequence, DA = f(1 + log_s P(Y) / ℓ).

    ℓ counts the scored symbols, and f(x) = x above zero and tanh(x/8) below. One means certainty about every
    symbol, zero no better than guessing.

    Parameters
    ----------
    model : Model
        The model.
    sequences : Sequences or anything it accepts
        The data.
    burn_in : int
        Symbols of each sequence that update the state but are not scored.
    squash : bool
        Apply f; without it DA is 1 + log_s P(Y) / ℓ, down to −∞.

    Examples
    --------
    >>> from hqmm import HMM, description_accuracies
    >>> coin = HMM([[1.0]], [[0.5], [0.5]])
    >>> description_accuracies(coin, [[0, 1, 1, 0]])
    array([0.])
    """
    data = model.encode(sequences)
    if model.n_symbols < 2:
        raise DataError("description accuracy needs an alphabet of at least two symbols")
    short = data.lengths <= burn_in
    if np.any(short):
        raise DataError(
            f"nothing is left to score after a burn-in of {burn_in} symbols", sequence=int(np.argmax(short))
        )
    return accuracies_from(model.log_likelihood(data, burn_in), data.lengths - burn_in, model.n_symbols, squash)


def accuracies_from(
    log_likelihood: FloatArray, lengths: AnyArray, n_symbols: int, squash: bool = True
) -> FloatArray:
    """Return description accuracies from log-likelihoods and the numbers of scored symbols.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.metrics import accuracies_from
    >>> accuracies_from(np.log([0.5, 1.0]), np.array([1, 1]), 2)
    array([0., 1.])
    """
    scaled = 1 + log_likelihood / (lengths * np.log(n_symbols))
    return np.where(scaled > 0, scaled, np.tanh(scaled / 8)) if squash else scaled


def description_accuracy(model: Model, sequences: Any, burn_in: int = 0, squash: bool = True) -> float:
    """Return the mean `description_accuracies` over sequences, by weight.

    Examples
    --------
    >>> from hqmm import description_accuracy
    >>> from hqmm.datasets import hmm_6_6
    >>> data = hmm_6_6().sample(10, 300, random_state=0)
    >>> round(description_accuracy(hmm_6_6(), data, burn_in=100), 2)
    0.19
    """
    data = model.encode(sequences)
    if not np.any(data.weights):
        raise DataError("there is no mean: no sequence has a weight above zero")
    return float(np.average(description_accuracies(model, data, burn_in, squash), weights=data.weights))
