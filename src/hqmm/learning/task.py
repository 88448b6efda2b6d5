"""What is to be learned from: training data, validation data, and how both are scored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.learning.settings import at_least
from hqmm.sequences import Sequences


@dataclass(frozen=True)
class Task:
    """Training data, validation data if any, and the symbols at the start of each that are not scored."""

    data: Sequences
    burn_in: int = 0
    validation: Sequences | None = None
    validation_burn_in: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        for name, part, burn_in in (
            ("training", self.data, self.burn_in),
            ("validation", self.validation, self.validation_burn_in),
        ):
            if part is None:
                continue
            at_least("burn_in" if name == "training" else f"{name}_burn_in", burn_in, 0)
            if scored_symbols(part, burn_in) == 0:
                longest = int(part.lengths.max(initial=0))
                raise DataError(
                    f"the {name} data has nothing to score: its longest sequence has {longest} symbols and "
                    f"the burn-in is {burn_in}"
                )


def scored_symbols(sequences: Sequences, burn_in: int) -> float:
    """Return the number of symbols after the burn-in, by weight."""
    return float(np.maximum(sequences.lengths - burn_in, 0) @ sequences.weights)


def mean_log_likelihood(values: FloatArray, sequences: Sequences, burn_in: int) -> tuple[float, int]:
    """Return the log-likelihood per scored symbol of the possible sequences, and the number of impossible ones.

    A value that is NaN makes the mean NaN.
    """
    counted = sequences.weights != 0
    possible = counted & (values != -np.inf)
    symbols = np.maximum(sequences.lengths - burn_in, 0)[possible] @ sequences.weights[possible]
    n_zero = int(np.count_nonzero(counted & ~possible))
    if symbols == 0:
        return -np.inf, n_zero
    return float(values[possible] @ sequences.weights[possible] / symbols), n_zero
