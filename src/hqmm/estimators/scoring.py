"""Scorers for scikit-learn's cross-validation and searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hqmm.errors import DataError
from hqmm.metrics import accuracies_from


def description_accuracy_scorer(
    estimator: Any, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, squash: bool = True
) -> float:
    """Return the mean description accuracy of an estimator's model, for ``scoring=``.

    Parameters
    ----------
    estimator : a fitted estimator of hqmm
        Its ``burn_in`` symbols are not scored.
    X : Sequences or anything it accepts
        The data.
    y : ignored
        For scikit-learn's sake.
    sample_weight : array, optional
        How often each sequence counts; multiplied with the weights of `Sequences`.
    squash : bool
        tanh(x/8) below zero, as in the paper.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from hqmm import MarkovChainEstimator
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.estimators import description_accuracy_scorer
    >>> data = hmm_6_6().sample(20, 300, random_state=0)
    >>> cross_val_score(MarkovChainEstimator(1), data, scoring=description_accuracy_scorer, cv=2).round(2)
    array([0.17, 0.17])
    """
    values = estimator.score_samples(X)
    data = estimator._scored(X, sample_weight)
    lengths, symbols = data.lengths - estimator.burn_in, len(data.alphabet)
    if symbols < 2:
        raise DataError("description accuracy needs an alphabet of at least two symbols")
    if np.any(lengths <= 0):
        raise DataError(
            f"nothing is left to score after a burn-in of {estimator.burn_in} symbols",
            sequence=int(np.argmax(lengths <= 0)),
        )
    return float(np.average(accuracies_from(values, lengths, symbols, squash), weights=data.weights))
