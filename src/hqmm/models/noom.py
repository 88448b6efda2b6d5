"""Norm-observable operator models (Definition 4)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from hqmm._typing import AnyArray, FloatArray
from hqmm.channels import from_real, real_operators, to_real
from hqmm.errors import DataError
from hqmm.linear import MISSING, LinearForm
from hqmm.models import _checks
from hqmm.models.base import Model
from hqmm.models.hqmm import HQMM
from hqmm.models.hybrid import HybridHQMM
from hqmm.models.oom import OOM


class NOOM(Model):
    """A norm-observable operator model (Definition 4): P(y₁…y_t) = ‖φ_{y_t} ⋯ φ_{y_1} v₀‖².

    Parameters
    ----------
    operators : (s, n, n) real array
        With Σ_y φ_yᵀφ_y = I.
    initial : (n,) real array
        Unit vector.
    alphabet : Alphabet, optional
        The symbols; 0 … s−1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import NOOM
    >>> c, s = np.cos(0.6), np.sin(0.6)
    >>> clock = NOOM([[[0.6 * c, -s], [0.6 * s, c]], [[0.8, 0], [0, 0]]], [1, 0])
    >>> clock.probability([[0], [1]]).round(2)
    array([0.36, 0.64])
    """

    _parameters = ("operators", "initial")
    operators: FloatArray
    initial: FloatArray

    def __init__(self, operators: Any, initial: Any, *, alphabet: Any = None) -> None:
        phi = _checks.real_array("NOOM", "operators", operators, (None, None, None))
        n = phi.shape[-1]
        phi = _checks.real_array("NOOM", "operators", phi, (None, n, n))
        v = _checks.real_array("NOOM", "initial", initial, (n,))
        norm = float(v @ v)
        _checks.check(abs(norm - 1) <= _checks.TOLERANCE, "NOOM", "i", f"‖initial‖² must be 1, but is {norm:.6g}")
        _checks.check_trace_preserving("NOOM", "ii", "operators", phi)
        self._set(alphabet, len(phi), operators=phi, initial=v)

    @property
    def n_states(self) -> int:
        """Dimension n of the state vector."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols s."""
        return len(self.operators)

    def _sizes(self) -> str:
        return f"{self.n_states} states"

    @cached_property
    def linear(self) -> LinearForm:
        """The action on vvᵀ: symmetric matrices in an orthonormal basis, n(n+1)/2 coordinates."""
        n = self.n_states
        kept = np.r_[0 : n * (n + 1) // 2]  # diagonal and real parts; a real model never leaves them
        operators = real_operators(self.operators[:, None])[:, kept[:, None], kept]
        state = to_real(np.outer(self.initial, self.initial))[kept]
        return LinearForm(operators, state, to_real(np.eye(n))[kept])

    def _native(self, states: FloatArray) -> AnyArray:
        n = self.n_states
        padded = np.zeros((len(states), n * n))
        padded[:, : states.shape[1]] = states
        return from_real(padded).real

    def filter(self, sequence: Any) -> FloatArray:
        """Return the unit vector v_t after each symbol of one sequence (paper, equation 5).

        Examples
        --------
        >>> from hqmm.datasets import probability_clock
        >>> probability_clock().filter([1, 0]).round(3)
        array([[1.   , 0.   ],
               [0.825, 0.565]])
        """
        codes = self.alphabet.encode(sequence)
        vectors = np.empty((len(codes), self.n_states))
        vector = self.initial
        for t, code in enumerate(codes):
            if code == MISSING:
                raise DataError(
                    "after a missing symbol the state is a mixture, not a vector; use to_hqmm().filter",
                    sequence=0,
                    position=t,
                )
            vector = self.operators[code] @ vector
            norm = np.linalg.norm(vector)
            if norm == 0:
                raise DataError("the model gives this symbol probability zero", sequence=0, position=t)
            vector = vector / norm
            vectors[t] = vector
        return vectors

    def stationary_state(self) -> FloatArray:
        """Return the long-run average of vvᵀ (a mixture, hence a matrix rather than a vector).

        Examples
        --------
        >>> from hqmm.datasets import probability_clock
        >>> float(probability_clock().stationary_state().trace().round(6))
        1.0
        """
        return super().stationary_state()

    def to_oom(self) -> OOM:
        """Return the equivalent general OOM φ_y ⊗ φ_y with σ = vec(I) (paper, equation 7).

        Examples
        --------
        >>> from hqmm.datasets import probability_clock
        >>> probability_clock().to_oom()
        OOM(dimension 4, general, 2 symbols)
        """
        operators = np.stack([np.kron(phi, phi) for phi in self.operators])
        return OOM(
            operators,
            np.kron(self.initial, self.initial),
            np.eye(self.n_states).ravel(),
            alphabet=self.alphabet,
        )

    def to_hqmm(self) -> HQMM:
        """Return the equivalent HQMM: one Kraus operator per symbol and a pure initial state.

        Examples
        --------
        >>> from hqmm.datasets import probability_clock
        >>> probability_clock().to_hqmm()
        HQMM(n=2, Kraus rank 1, 2 symbols)
        """
        return HQMM(self.operators[:, None], self.initial, alphabet=self.alphabet)

    def to_hybrid(self) -> HybridHQMM:
        """Return the equivalent hybrid model with a single label.

        Examples
        --------
        >>> from hqmm.datasets import probability_clock
        >>> probability_clock().to_hybrid()
        HybridHQMM(1 labels × 2 dimensions, Kraus rank 1, 2 symbols)
        """
        return self.to_hqmm().to_hybrid()
