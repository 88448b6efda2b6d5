"""Scores of a model on data, in the words that commands print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm._typing import FloatArray, IntArray
from hqmm.errors import DataError
from hqmm.metrics import accuracies_from

if TYPE_CHECKING:
    from hqmm.models import Model
    from hqmm.sequences import Sequences


def scores(model: Model, sequences: Sequences, burn_in: int) -> dict[str, Any]:
    """Return the scores of a data set; sequences count by weight."""
    values, lengths = _values(model, sequences, burn_in)
    weights = sequences.weights
    symbols = float(lengths @ weights)
    counted = weights > 0  # an impossible sequence of weight zero is no matter
    total = float(values[counted] @ weights[counted])
    return {
        "sequences": len(sequences),
        "scored_symbols": int(symbols) if symbols.is_integer() else symbols,
        "impossible_sequences": int(np.isneginf(values).sum()),
        "log_likelihood": total,
        "per_symbol": total / symbols,
        "perplexity": float(np.exp(-total / symbols)),
        "description_accuracy": float(np.average(_accuracies(model, values, lengths), weights=weights)),
    }


def each_score(model: Model, sequences: Sequences, burn_in: int, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the scores of each sequence."""
    values, lengths = _values(model, sequences, burn_in)
    rows = zip(names, lengths, values, _accuracies(model, values, lengths), strict=True)
    for name, length, value, accuracy in rows:
        yield {
            "sequence": name,
            "scored_symbols": int(length),
            "log_likelihood": float(value),
            "per_symbol": float(value / length),
            "description_accuracy": float(accuracy),
        }


def _values(model: Model, sequences: Sequences, burn_in: int) -> tuple[FloatArray, IntArray]:
    lengths = sequences.lengths - burn_in
    if np.any(lengths <= 0):
        raise DataError(
            f"nothing is left to score after a burn-in of {burn_in} symbols", int(np.argmax(lengths <= 0))
        )
    if not np.any(sequences.weights):
        raise DataError("all sequences have weight zero")
    return model.log_likelihood(sequences, burn_in), lengths


def _accuracies(model: Model, values: FloatArray, lengths: IntArray) -> FloatArray:
    if model.n_symbols < 2:  # there is nothing to describe
        return np.full(len(values), np.nan)
    return accuracies_from(values, lengths, model.n_symbols)
