"""Markov chains against the true model, on data generated from the paper's (6, 6)-HMM."""

from __future__ import annotations

from dataclasses import dataclass

from hqmm.datasets import hmm_6_6
from hqmm.metrics import description_accuracy
from hqmm.models import MarkovChain, Model

BURN_IN = 1000


@dataclass(frozen=True)
class Score:
    """One row of the table: a model's description accuracy."""

    model: str
    validation: float
    test: float


def run(random_state: int = 0, max_order: int = 3) -> list[Score]:
    """Fit chains of each order on 20 × 3000 symbols and score them on 10 × 3000 + 10 × 3000 others.

    Examples
    --------
    >>> from hqmm.experiments.quick import run
    >>> [row.model for row in run(max_order=1)]
    ['Markov chain, order 0', 'Markov chain, order 1', 'true model, HMM(6 states, 6 symbols)']
    """
    truth = hmm_6_6()
    data = truth.sample(40, 3000, random_state=random_state)
    train, validation, test = data[:20], data[20:30], data[30:]
    models: dict[str, Model] = {
        f"Markov chain, order {order}": MarkovChain.from_sequences(train, order) for order in range(max_order + 1)
    }
    models[f"true model, {truth}"] = truth
    return [
        Score(
            name,
            description_accuracy(model, validation, BURN_IN),
            description_accuracy(model, test, BURN_IN),
        )
        for name, model in models.items()
    ]
