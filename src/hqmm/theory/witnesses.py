"""Exact probabilities of single sequences, in whole-number arithmetic: what a witness is judged by."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hqmm._typing import AnyArray, FloatArray
from hqmm.linear import ROUNDING, LinearForm

# A witness counts if plain float64 arithmetic comes this close to its exact probability: then roundings of the
# parameters, which are of the size of those of the arithmetic, do not decide its sign.
_AGREEMENT = Fraction(1, 100)


def exact_probabilities(form: LinearForm, word: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Return the exact probabilities of a word without its last symbol, and of the word.

    They are σᵀ T_w r₀ for the very numbers that the floating-point parameters stand for.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.linear import LinearForm
    >>> from hqmm.theory.witnesses import exact_probabilities
    >>> exact_probabilities(LinearForm(np.array([[[0.25]], [[0.75]]]), np.ones(1), np.ones(1)), (0, 1))
    (Fraction(1, 4), Fraction(3, 16))
    """
    state, scale = _whole(form.initial)
    operators = {code: _whole(form.operators[code]) for code in set(word)}
    functional, last = _whole(form.evaluation)
    before = probability = Fraction(int(functional @ state), scale * last)
    for position, code in enumerate(word):
        operator, unit = operators[code]
        state, scale = operator @ state, scale * unit
        if position >= len(word) - 2:
            before, probability = probability, Fraction(int(functional @ state), scale * last)
    return before, probability


def is_genuine(form: LinearForm, word: tuple[int, ...], exact: Fraction) -> bool:
    """Whether the exact probability of a word is negative, and not so by an artefact of rounding."""
    value, size = _float_probability(form, word)
    return exact < -Fraction(ROUNDING) * size and abs(value - exact) <= _AGREEMENT * abs(exact)


def _float_probability(form: LinearForm, word: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Return a word's probability in float64, and the sum of absolute values that the last step makes it of.

    The binary exponent is kept apart, so that long words do not underflow.
    """
    state, exponent = form.initial, 0
    for code in word[:-1]:
        state = form.operators[code] @ state
        shift = int(np.frexp(np.abs(state).max())[1])
        state, exponent = np.ldexp(state, -shift), exponent + shift
    functional = form.evaluation @ form.operators[word[-1]]
    unit = Fraction(2) ** exponent
    return Fraction(float(functional @ state)) * unit, Fraction(float(np.abs(functional) @ np.abs(state))) * unit


def _whole(array: FloatArray) -> tuple[AnyArray, int]:
    """Return whole numbers and the power of two that they must be divided by."""
    ratios = [float(value).as_integer_ratio() for value in array.ravel()]
    unit = max(denominator for _, denominator in ratios)
    numbers = np.empty(len(ratios), dtype=object)
    numbers[:] = [numerator * (unit // denominator) for numerator, denominator in ratios]
    return numbers.reshape(array.shape), unit
