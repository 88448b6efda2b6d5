"""Hidden quantum Markov models, in Kraus (Definition 6) and Liouville (Definition 5) form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm import channels
from hqmm._typing import AnyArray, ComplexArray, FloatArray, IntArray
from hqmm.errors import ModelError
from hqmm.linear import LinearForm
from hqmm.models import _checks, _passes
from hqmm.models.base import Model
from hqmm.models.oom import OOM

if TYPE_CHECKING:
    from hqmm.models.hybrid import HybridHQMM


class HQMM(Model):
    """A hidden quantum Markov model: a density matrix moved by Kraus operators (Definition 6).

    ρ ← Σ_w K_{y,w} ρ K_{y,w}† / tr(…), and the trace is the probability of the symbol y.

    Parameters
    ----------
    kraus : (s, w, n, n) array
        Kraus operators by symbol and operator; (s, n, n) means one per symbol, and a list of one (w_y, n, n) array
        per symbol is padded with zero operators.
    initial : (n, n) or (n,) array, optional
        Density matrix before the first symbol; a unit vector means a pure state. I/n by default.
    alphabet : Alphabet, optional
        The symbols; 0 … s−1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import HQMM
    >>> up, right = np.array([1, 0]), np.array([1, 1]) / np.sqrt(2)
    >>> projectors = [np.outer(v, v) / np.sqrt(2) for v in (up, [0, 1], right, right * [1, -1])]
    >>> spin = HQMM(projectors)
    >>> spin.predict([0]).round(2)  # having seen "up", "down" is impossible
    array([0.5 , 0.  , 0.25, 0.25])
    """

    _parameters = ("kraus", "initial")
    kraus: ComplexArray
    initial: ComplexArray

    def __init__(self, kraus: Any, initial: Any = None, *, alphabet: Any = None) -> None:
        K = _kraus_array(kraus)
        n = K.shape[-1]
        rho = np.eye(n) / n if initial is None else _checks.numbers("HQMM", "initial", initial)
        if rho.ndim == 1:
            vector = _checks.complex_array("HQMM", "initial", rho, (n,))
            rho = np.outer(vector, vector.conj())
        rho = _checks.complex_array("HQMM", "initial", rho, (n, n))
        _checks.check_density_matrix("HQMM", ("i", "ii"), "initial", rho)
        _checks.check_trace_preserving("HQMM", "iii", "kraus", K)
        self._set(alphabet, len(K), kraus=K, initial=rho)

    @classmethod
    def from_liouville(cls, liouville: Any, initial: Any = None, *, alphabet: Any = None) -> HQMM:
        """Return the HQMM with the given Liouville superoperators (s, n², n²), checking Definition 5.

        The Kraus operators are the canonical ones; ``initial`` is a density matrix or its column-stacked vector.

        Examples
        --------
        >>> from hqmm import HQMM
        >>> from hqmm.datasets import hqmm_2_6
        >>> model = hqmm_2_6()
        >>> HQMM.from_liouville(model.liouville())
        HQMM(n=2, Kraus rank 1, 6 symbols)
        """
        L = _checks.complex_array("L-HQMM", "liouville", liouville, (None, None, None))
        n = round(L.shape[-1] ** 0.5)
        L = _checks.complex_array("L-HQMM", "liouville", L, (None, n * n, n * n))
        return cls.from_choi(channels.choi_from_liouville(L), initial, alphabet=alphabet)

    @classmethod
    def from_choi(cls, choi: Any, initial: Any = None, *, alphabet: Any = None) -> HQMM:
        """Return the HQMM with the given Choi matrices (s, n², n²), checking Definition 5.

        Examples
        --------
        >>> from hqmm import HQMM
        >>> from hqmm.datasets import hqmm_2_6
        >>> HQMM.from_choi(hqmm_2_6().choi())
        HQMM(n=2, Kraus rank 1, 6 symbols)
        """
        C = _checks.complex_array("L-HQMM", "choi", choi, (None, None, None))
        n = round(C.shape[-1] ** 0.5)
        C = _checks.complex_array("L-HQMM", "choi", C, (None, n * n, n * n))
        _check_definition_5(C, n)
        rho = np.eye(n) / n if initial is None else _checks.numbers("L-HQMM", "initial", initial)
        if rho.shape == (n * n,):
            rho = rho.reshape(n, n).T
        rho = _checks.complex_array("L-HQMM", "initial", rho, (n, n))
        _checks.check_density_matrix("L-HQMM", ("i", "ii"), "initial", rho)
        kraus = [channels.canonical_kraus(matrix) for matrix in C]
        return cls(channels.nearest_isometry(_kraus_array(kraus)), rho, alphabet=alphabet)

    @property
    def n_states(self) -> int:
        """Dimension n of the Hilbert space."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols s."""
        return len(self.kraus)

    @property
    def kraus_rank(self) -> int:
        """Number w of Kraus operators held for each symbol."""
        return self.kraus.shape[1]

    def _sizes(self) -> str:
        return f"n={self.n_states}, Kraus rank {self.kraus_rank}"

    @cached_property
    def linear(self) -> LinearForm:
        """The action on density matrices in an orthonormal Hermitian basis, where it is real."""
        return LinearForm(
            channels.real_operators(self.kraus),
            channels.to_real(self.initial),
            channels.to_real(np.eye(self.n_states)),
        )

    def _native(self, states: FloatArray) -> AnyArray:
        return channels.from_real(states)

    def liouville(self) -> ComplexArray:
        """Return the Liouville superoperators L_y = Σ_w K* ⊗ K (s, n², n²), unique for the model's maps."""
        return channels.liouville_from_kraus(self.kraus)

    def choi(self) -> ComplexArray:
        """Return the Choi matrices, the reshuffled Liouville superoperators (s, n², n²)."""
        return channels.choi_from_liouville(self.liouville())

    def canonical(self) -> HQMM:
        """Return the same model with its canonical Kraus operators: the fewest, orthogonal, largest first.

        Examples
        --------
        >>> import numpy as np
        >>> from hqmm import HQMM
        >>> HQMM(np.full((1, 3, 1, 1), 3**-0.5)).canonical()
        HQMM(n=1, Kraus rank 1, 1 symbols)
        """
        return HQMM.from_choi(self.choi(), self.initial, alphabet=self.alphabet)

    def compress(self, rank: int, max_iter: int = 200) -> HQMM:
        """Return a near model with at most ``rank`` Kraus operators for each symbol.

        The Choi matrices are truncated to their leading eigenvectors and made trace-preserving, and then brought
        as near to the original as descent on the Stiefel manifold gets them (a local minimum of the Frobenius
        distance between Choi matrices).

        Examples
        --------
        >>> from hqmm.datasets import hmm_6_6
        >>> hmm_6_6().to_hqmm().compress(2)
        HQMM(n=6, Kraus rank 2, 6 symbols)
        """
        from hqmm.models.compress import nearest_of_rank

        _checks.whole_number("rank", rank, 1, ModelError)
        kraus = nearest_of_rank(self.choi(), rank, max_iter)
        return HQMM(kraus, self.initial, alphabet=self.alphabet)

    def decohere(self, basis: Any = None) -> OOM:
        """Return the classical twin: the model that is measured in ``basis`` after every step.

        Its operators T_y[j, i] = Σ_w |⟨b_j|K_{y,w}|b_i⟩|² have no negative entries: it is an HMM of n states that
        emits on its transitions (``.to_hmm()`` gives it in the form of Definition 1).

        Parameters
        ----------
        basis : (n, n) unitary array, optional
            Columns are the basis vectors; the standard basis by default.

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().decohere().to_hmm()
        HMM(12 states, 6 symbols)
        """
        b = _unitary(basis, self.n_states)
        inside = b.conj().T @ self.kraus @ b
        operators = (np.abs(inside) ** 2).sum(axis=1)
        initial = np.maximum(np.einsum("ik,ij,jk->k", b.conj(), self.initial, b).real, 0)
        return OOM(operators, initial / initial.sum(), alphabet=self.alphabet)

    def smooth(self, sequence: Any) -> PastQuantumState:
        """Return the past quantum state of each time, given the whole sequence.

        It pairs ρ_t, from the symbols so far, with the effect matrix E_t, from those to come (Gammelmark,
        Julsgaard and Mølmer, 2013); together they give the probabilities of any measurement made at t.

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> past = hqmm_2_6().smooth([2, 0])
        >>> past.probabilities().round(2)  # after + and before "up": the state in between was surely up
        array([[1., 0.],
               [1., 0.]])
        """
        states, effects = _passes.forward_backward(self.linear, self.alphabet.encode(sequence))
        return PastQuantumState(channels.from_real(states[1:]), channels.from_real(effects[1:]))

    def decode(self, sequence: Any, basis: Any = None) -> IntArray:
        """Return the most probable path of basis states (Viterbi on the classical twin `decohere`).

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().decode([0, 2, 1])
        array([0, 1, 1])
        """
        twin = self.decohere(basis).linear
        return _passes.best_path(twin.operators, twin.initial, self.alphabet.encode(sequence))

    def to_oom(self, form: str = "real") -> OOM:
        """Return an equivalent general OOM of dimension n² (Theorem 1).

        Parameters
        ----------
        form : "real" or "liouville"
            Density matrices as real vectors in an orthonormal Hermitian basis, or as complex column-stacked ones.

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().to_oom()
        OOM(dimension 4, general, 6 symbols)
        """
        if form == "real":
            linear = self.linear
            return OOM(linear.operators, linear.initial, linear.evaluation, alphabet=self.alphabet)
        if form == "liouville":
            trace = np.eye(self.n_states, dtype=np.complex128).ravel()
            return OOM(self.liouville(), self.initial.T.ravel(), trace, alphabet=self.alphabet)
        raise ValueError(f"form must be 'real' or 'liouville', not {form!r}")

    def to_hqmm(self) -> HQMM:
        """Return the model itself."""
        return self

    def to_hybrid(self) -> HybridHQMM:
        """Return the same model as a hybrid one with a single label.

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().to_hybrid()
        HybridHQMM(1 labels × 2 dimensions, Kraus rank 1, 6 symbols)
        """
        from hqmm.models.hybrid import HybridHQMM

        return HybridHQMM(self.kraus[:, :, None, None], self.initial[None], alphabet=self.alphabet)


@dataclass(frozen=True, eq=False)
class PastQuantumState:
    """States ρ_t and effects E_t of each time, scaled so that tr(E_t ρ_t) = 1.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> hqmm_2_6().smooth([0, 2, 4]).states.shape
    (3, 2, 2)
    """

    states: ComplexArray
    effects: ComplexArray

    def probabilities(self, basis: Any = None) -> FloatArray:
        """Return P(outcome b at t | whole sequence), had the state been measured in ``basis`` at t.

        Proportional to ⟨b|ρ_t|b⟩⟨b|E_t|b⟩; the columns of ``basis`` are the outcomes, the standard basis by
        default.

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().smooth([0]).probabilities()
        array([[1., 0.]])
        """
        b = _unitary(basis, self.states.shape[-1])
        before = np.einsum("ib,tij,jb->tb", b.conj(), self.states, b).real
        after = np.einsum("ib,tij,jb->tb", b.conj(), self.effects, b).real
        joint: FloatArray = np.maximum(before, 0) * np.maximum(after, 0)
        return joint / joint.sum(axis=1, keepdims=True)


def _unitary(basis: Any, n: int) -> ComplexArray:
    """Return a basis as the columns of a unitary matrix, the standard one by default."""
    b = _checks.complex_array("HQMM", "basis", np.eye(n) if basis is None else basis, (n, n))
    if np.abs(b.conj().T @ b - np.eye(n)).max() > _checks.TOLERANCE:
        raise ModelError("HQMM: basis must be unitary, with one basis vector in each column")
    return b


def _kraus_array(kraus: Any) -> ComplexArray:
    """Return Kraus operators as (s, w, n, n), padding symbols that have fewer with zeros."""
    if isinstance(kraus, list | tuple):
        arrays = [_checks.numbers("HQMM", f"kraus[{symbol}]", K) for symbol, K in enumerate(kraus)]
        if all(K.ndim == 3 for K in arrays):
            rank = max([1, *(len(K) for K in arrays)])
            arrays = [np.concatenate([K, np.zeros((rank - len(K), *K.shape[1:]))]) for K in arrays]
        kraus = arrays
    array = _checks.numbers("HQMM", "kraus", kraus)
    if array.ndim == 3:
        array = array[:, None]
    K = _checks.complex_array("HQMM", "kraus", array, (None, None, None, None))
    return _checks.complex_array("HQMM", "kraus", K, (None, None, K.shape[-1], K.shape[-1]))


def _check_definition_5(choi: ComplexArray, n: int) -> None:
    """Complete positivity (iii), trace preservation (iv) and Hermiticity preservation (v) of Choi matrices."""
    scale = _checks.TOLERANCE * n
    asymmetry = float(np.abs(choi - choi.conj().transpose(0, 2, 1)).max())
    _checks.check(
        asymmetry <= scale, "L-HQMM", "v", f"Choi matrices must be Hermitian, but are off by {asymmetry:.3g}"
    )
    lowest = np.linalg.eigvalsh(choi)[:, 0]
    symbol = int(np.argmin(lowest))
    _checks.check(
        bool(lowest[symbol] >= -scale),
        "L-HQMM",
        "iii",
        f"the Choi matrix of symbol {symbol} must be positive semi-definite (CP), but has the eigenvalue "
        f"{lowest[symbol]:.3g}",
    )
    trace = np.eye(n).ravel()
    defect = float(np.abs(trace @ channels.liouville_from_choi(choi).sum(axis=0) - trace).max())
    _checks.check(defect <= scale, "L-HQMM", "iv", f"Σ_y L_y must preserve the trace, but is off by {defect:.3g}")
