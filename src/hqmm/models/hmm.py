"""Hidden Markov models (Definition 1)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.linear import LinearForm
from hqmm.models import _checks, _passes
from hqmm.models.base import Model

if TYPE_CHECKING:
    from hqmm.models.hqmm import HQMM
    from hqmm.models.hybrid import HybridHQMM
    from hqmm.models.oom import OOM


class HMM(Model):
    """A hidden Markov model (Definition 1): x′ = A x, then emit y with probability C[y, ·]ᵀx′.

    Parameters
    ----------
    transition : (n, n) array
        A[i, j] = P(next state i | state j); columns sum to one.
    emission : (s, n) array
        C[y, j] = P(emit y | state j); columns sum to one.
    initial : (n,) array, optional
        Distribution of the state *before* the first transition; uniform by default.
    alphabet : Alphabet, optional
        The symbols; 0 … s−1 by default.

    Examples
    --------
    >>> from hqmm import HMM, Alphabet
    >>> weather = HMM([[0.9, 0.3], [0.1, 0.7]], [[0.8, 0.1], [0.2, 0.9]], alphabet=Alphabet("sr"))
    >>> weather
    HMM(2 states, 2 symbols)
    >>> weather.predict("sssr").round(3)
    array([0.581, 0.419])
    """

    _parameters = ("transition", "emission", "initial")
    transition: FloatArray
    emission: FloatArray
    initial: FloatArray

    def __init__(self, transition: Any, emission: Any, initial: Any = None, *, alphabet: Any = None) -> None:
        A = _checks.real_array("HMM", "transition", transition, (None, None))
        n = len(A)
        A = _checks.real_array("HMM", "transition", A, (n, n))
        C = _checks.real_array("HMM", "emission", emission, (None, n))
        x = _checks.real_array("HMM", "initial", np.full(n, 1 / n) if initial is None else initial, (n,))
        for name, array in (("transition", A), ("emission", C), ("initial", x)):
            _checks.check_non_negative("HMM", "i", name, array)
        _checks.check_sums_to_one("HMM", "ii", "initial", x)
        _checks.check_column_stochastic("HMM", "iii", "transition", A)
        _checks.check_column_stochastic("HMM", "iii", "emission", C)
        self._set(alphabet, len(C), transition=A, emission=C, initial=x)

    @property
    def n_states(self) -> int:
        """Number of hidden states n."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols s."""
        return len(self.emission)

    def _sizes(self) -> str:
        return f"{self.n_states} states"

    @cached_property
    def linear(self) -> LinearForm:
        """T_y = diag(C[y, ·]) A, evaluated by the vector of ones (paper, equation 3)."""
        operators = self.emission[:, :, None] * self.transition
        return LinearForm(operators, self.initial, np.ones(self.n_states))

    def _native(self, states: FloatArray) -> AnyArray:
        return states

    def smooth(self, sequence: Any) -> FloatArray:
        """Return P(state at t | whole sequence), one row per symbol: the state that emitted it.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0.5], [0, 0.5]]).smooth([0, 1]).round(3)
        array([[0.483, 0.517],
               [0.   , 1.   ]])
        """
        states, effects = _passes.forward_backward(self.linear, self.alphabet.encode(sequence))
        posterior: FloatArray = states[1:] * effects[1:]
        return posterior

    def decode(self, sequence: Any) -> IntArray:
        """Return the most probable path of hidden states (Viterbi), one state per symbol.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.2], [0.1, 0.8]], [[0.9, 0.1], [0.1, 0.9]]).decode([0, 0, 1, 1, 1])
        array([0, 0, 1, 1, 1])
        """
        form = self.linear
        return _passes.best_path(form.operators, form.initial, self.alphabet.encode(sequence))

    def to_oom(self) -> OOM:
        """Return the equivalent standard OOM.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[1.0]], [[0.25], [0.75]]).to_oom()
        OOM(dimension 1, standard, 2 symbols)
        """
        from hqmm.models.oom import OOM

        return OOM(self.linear.operators, self.initial, alphabet=self.alphabet)

    def to_hqmm(self, method: str = "rank-one") -> HQMM:
        """Return an equivalent HQMM of dimension n with n Kraus operators per symbol.

        Parameters
        ----------
        method : "rank-one" or "circuit"
            ``"rank-one"``: K_{y,j} = Σ_i √(C[y, i] A[i, j]) |i⟩⟨j|. ``"circuit"``: the unitary circuit of
            Srinivasan et al. (2018), one unitary for the transition and one for the emission, with the old state
            traced out and the emission measured; its operators agree with the first up to a mixing by a unitary.

        Examples
        --------
        >>> from hqmm import HMM
        >>> model = HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0.5], [0, 0.5]])
        >>> model.to_hqmm().probability([[0, 1, 0]]).round(6) == model.probability([[0, 1, 0]]).round(6)
        array([ True])
        """
        from hqmm.models.circuit import kraus_from_circuit, kraus_rank_one
        from hqmm.models.hqmm import HQMM

        methods = {"rank-one": kraus_rank_one, "circuit": kraus_from_circuit}
        if method not in methods:
            raise ValueError(f"method must be one of {', '.join(map(repr, methods))}, not {method!r}")
        kraus = methods[method](self.transition, self.emission)
        return HQMM(kraus, np.diag(self.initial), alphabet=self.alphabet)

    def to_hybrid(self) -> HybridHQMM:
        """Return the equivalent hybrid model: n labels of one dimension, K[y, i, j] = √(C[y, i] A[i, j]).

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0.5], [0, 0.5]]).to_hybrid()
        HybridHQMM(2 labels × 1 dimensions, Kraus rank 1, 2 symbols)
        """
        from hqmm.models.hybrid import hybrid_from_probabilities

        return hybrid_from_probabilities(self.linear.operators, self.initial, self.alphabet)
