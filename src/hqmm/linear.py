"""The real linear form: an initial vector, one square matrix per symbol, an evaluation functional.

Every model of the paper evaluates through it (HMM ⊂ HQMM ⊆ OOM), so scoring, filtering, forecasting,
sampling and gradients are written once, against this form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hqmm._typing import AnyArray, FloatArray
from hqmm.errors import ModelError, NegativeProbabilityError

# A conditional probability below zero by less than this share of the sum of absolute values that make it up
# is rounding, and counts as zero; anything lower is a real negative probability and an error.
ROUNDING = 1e-12

MISSING = -1


@dataclass(frozen=True, eq=False)
class LinearForm:
    """P(y₁…y_t) = σᵀ T_{y_t} ⋯ T_{y_1} r₀ with real operators T (s, m, m), initial r₀ (m), evaluation σ (m).

    The methods work on batches of states, one per row; a missing symbol (code −1) uses Σ_y T_y.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.linear import LinearForm
    >>> coin = LinearForm(np.array([[[0.25]], [[0.75]]]), np.ones(1), np.ones(1))
    >>> coin.next_distribution(coin.start(1))
    array([[0.25, 0.75]])
    """

    operators: FloatArray
    initial: FloatArray
    evaluation: FloatArray

    def __post_init__(self) -> None:
        for name in ("operators", "initial", "evaluation"):
            array = _real(name, getattr(self, name))
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        # Kernels read by these sizes without looking.
        m = self.initial.size
        wanted = {"operators": (len(np.atleast_1d(self.operators)), m, m), "initial": (m,), "evaluation": (m,)}
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                raise ModelError(
                    "a linear form has operators (s, m, m), initial (m,) and evaluation (m,); the initial vector "
                    f"holds {m} numbers, so {name} must have shape {shape}, not {getattr(self, name).shape}"
                )

    @property
    def n_symbols(self) -> int:
        """Number of symbols s."""
        return len(self.operators)

    @property
    def dimension(self) -> int:
        """Dimension m of the state."""
        return len(self.initial)

    def start(self, batch: int) -> FloatArray:
        """Return ``batch`` copies of the initial state."""
        return np.repeat(self.initial[None], batch, axis=0)

    @cached_property
    def _functionals(self) -> tuple[FloatArray, FloatArray]:
        """σᵀT_y for every y, and |σ|ᵀ|T_y|, which bounds what rounding can do to it."""
        return self.evaluation @ self.operators, np.abs(self.evaluation) @ np.abs(self.operators)

    def next_distribution(self, states: FloatArray, position: int = 0) -> FloatArray:
        """Return the probability of each next symbol, (batch, s), for normalised states.

        A negative one is an error that names the row as the sequence, and ``position``.
        """
        functionals, bounds = self._functionals
        probabilities = states @ functionals.T
        negative = probabilities < -ROUNDING * (np.abs(states) @ bounds.T)
        if np.any(negative):
            row, symbol = np.argwhere(negative)[0]
            raise NegativeProbabilityError(int(row), position, float(probabilities[row, symbol]))
        result: FloatArray = np.maximum(probabilities, 0.0)
        return result

    def advance(self, states: FloatArray, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Apply each row's operator (Σ_y T_y where the code is −1) and normalise.

        Also returns the conditional probability of each step; a row where that is zero, or so small that it is
        rounding and the state after it noise, has no next state: its probability is returned as zero.
        """
        result = np.empty_like(states)
        smallest = np.zeros(len(states))
        bounds = self._functionals[1]
        for code in np.unique(codes):
            operator = self.operators.sum(axis=0) if code == MISSING else self.operators[code]
            rows = codes == code
            result[rows] = states[rows] @ operator.T
            if code != MISSING:
                smallest[rows] = ROUNDING * (np.abs(states[rows]) @ bounds[code])
        weights = result @ self.evaluation
        weights[np.abs(weights) <= smallest] = 0.0
        return result / np.where(weights > 0, weights, 1.0)[:, None], weights


def _real(name: str, value: object) -> FloatArray:
    """Return a copy in float64; refuse what is not made of finite real numbers."""
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise TypeError("it is complex")
        result: FloatArray = np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ModelError(f"the {name} of a linear form must be an array of real numbers: {error}") from error
    if not np.isfinite(result).all():
        raise ModelError(f"the {name} of the model hold NaN or infinity")
    return result
