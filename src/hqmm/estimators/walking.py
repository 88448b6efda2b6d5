"""The states that sequences lead to, many sequences abreast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from hqmm._typing import FloatArray, IntArray
from hqmm.errors import DataError, NegativeProbabilityError
from hqmm.linear import MISSING
from hqmm.models.base import Process
from hqmm.sequences import Sequences

Question: TypeAlias = Callable[[Any, int], FloatArray]


def after(process: Process, data: Sequences, ask: Question) -> FloatArray:
    """Return what ``ask(states, position)`` says of the states after each sequence, one row for each.

    An end symbol that closes a sequence is not stepped over: there is no state after it.
    """
    lengths = _without_end(data)
    order = np.argsort(-lengths, kind="stable")
    states = process.start(len(order))
    answers: list[FloatArray] = []
    for position in range(int(lengths.max(initial=0)) + 1):
        going = int(np.count_nonzero(lengths > position))
        if going < len(order) - sum(map(len, answers)):
            done = order[going : len(order) - sum(map(len, answers))]
            answers.append(_asked(ask, states[going:], done, position))
            states = states[:going]
        if going:
            states = _step(process, data, states, order[:going], position)
    result = np.concatenate(answers[::-1])
    return result[np.argsort(order)]


def _without_end(data: Sequences) -> IntArray:
    lengths = data.lengths
    if data.alphabet.end is None or data.n_symbols == 0:
        return lengths
    closed = (lengths > 0) & (data.codes[np.maximum(data.offsets[1:] - 1, 0)] == data.alphabet.end)
    return lengths - closed


def _step(process: Process, data: Sequences, states: Any, rows: IntArray, position: int) -> Any:
    codes = data.codes[data.offsets[rows] + position]
    following, weights = process.advance(states, codes)
    if not np.all(weights > 0):
        # raises where the model itself is at fault
        _asked(process.next_distribution, states, rows, position)
        wrong = int(np.argmin(weights))
        symbol = None if codes[wrong] == MISSING else data.alphabet.symbols[codes[wrong]]
        raise DataError(
            f"the model gives the symbol {symbol!r} probability zero here, so there is no state after it",
            sequence=int(rows[wrong]),
            position=position,
        )
    return following


def _asked(ask: Question, states: Any, rows: IntArray, position: int) -> FloatArray:
    """Let a negative probability name the sequence by its number in the data."""
    try:
        return ask(states, position)
    except NegativeProbabilityError as error:
        raise NegativeProbabilityError(int(rows[error.sequence]), position, error.probability) from None
