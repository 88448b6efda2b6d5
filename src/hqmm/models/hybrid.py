"""Hybrid models: a classical label, and a small quantum state on each label.

They stand between hidden Markov models (q = 1) and hidden quantum Markov models (k = 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm import channels
from hqmm._typing import AnyArray, ComplexArray, FloatArray, IntArray
from hqmm.errors import DataError, ModelError
from hqmm.linear import LinearForm
from hqmm.models import _checks, _passes
from hqmm.models.base import Model

if TYPE_CHECKING:
    from hqmm.models.hqmm import HQMM
    from hqmm.models.oom import OOM


class HybridHQMM(Model):
    """A hidden quantum Markov model whose density matrix is block-diagonal: k labels, a q × q block on each.

    ρ_i ← Σ_j Σ_w K[y, w, i, j] ρ_j K[y, w, i, j]† / tr(…), and the total trace is the probability of the symbol y.
    With q = 1 it is a hidden Markov model that emits on its transitions, with probabilities |K|²; with k = 1 an
    `HQMM`. It is an HQMM of dimension kq, so no probability is ever negative, but costs (k q²)² a symbol where
    that costs (kq)⁴.

    Parameters
    ----------
    kraus : (s, w, k, k, q, q) array
        Kraus operators by symbol, operator, the label they lead to and the label they come from.
    initial : (k, q, q) array, optional
        State before the first symbol: one positive semi-definite matrix for each label, of total trace one. The
        maximally mixed state by default.
    alphabet : Alphabet, optional
        The symbols; 0 … s−1 by default.

    Examples
    --------
    Two coins, one fair and one that always repeats itself; the label says which is tossed:

    >>> import numpy as np
    >>> from hqmm import HybridHQMM
    >>> kraus = np.zeros((2, 1, 2, 2, 1, 1))
    >>> kraus[:, 0, 0, 0] = np.sqrt(0.5)  # both symbols keep label 0
    >>> kraus[0, 0, 1, 1] = 1  # label 1 emits nothing but symbol 0
    >>> coins = HybridHQMM(kraus)
    >>> coins.label_probabilities([0, 0, 0]).round(3)
    array([[0.333, 0.667],
           [0.2  , 0.8  ],
           [0.111, 0.889]])
    """

    _parameters = ("kraus", "initial")
    kraus: ComplexArray
    initial: ComplexArray

    def __init__(self, kraus: Any, initial: Any = None, *, alphabet: Any = None) -> None:
        name = "HybridHQMM"
        K = _checks.complex_array(name, "kraus", kraus, (None,) * 6)
        s, w, k, _, q, _ = K.shape
        K = _checks.complex_array(name, "kraus", K, (s, w, k, k, q, q))
        mixed = np.broadcast_to(np.eye(q) / (k * q), (k, q, q))
        rho = _checks.complex_array(name, "initial", mixed if initial is None else initial, (k, q, q))
        _checks.check_block_density(name, ("i", "ii"), "initial", rho)
        for label in range(k):
            _checks.check_trace_preserving(name, "iii", f"kraus from label {label}", K[:, :, :, label])
        self._set(alphabet, s, kraus=K, initial=rho)

    @property
    def n_blocks(self) -> int:
        """Number k of labels."""
        return len(self.initial)

    @property
    def n_states(self) -> int:
        """Dimension q of the quantum state on each label."""
        return self.initial.shape[-1]

    @property
    def n_symbols(self) -> int:
        """Number of symbols s."""
        return len(self.kraus)

    @property
    def kraus_rank(self) -> int:
        """Number w of Kraus operators held for each symbol and pair of labels."""
        return self.kraus.shape[1]

    def _sizes(self) -> str:
        return f"{self.n_blocks} labels × {self.n_states} dimensions, Kraus rank {self.kraus_rank}"

    @cached_property
    def linear(self) -> LinearForm:
        """The action on k real vectors, one for each label's matrix in an orthonormal Hermitian basis."""
        k, size = self.n_blocks, self.n_states**2
        blocks = channels.real_operators(np.moveaxis(self.kraus, 1, 3))
        operators = blocks.transpose(0, 1, 3, 2, 4).reshape(self.n_symbols, k * size, k * size)
        trace = np.tile(channels.to_real(np.eye(self.n_states)), k)
        return LinearForm(operators, channels.to_real(self.initial).ravel(), trace)

    def _native(self, states: FloatArray) -> AnyArray:
        return channels.from_real(states.reshape(len(states), self.n_blocks, self.n_states**2))

    def label_probabilities(self, sequence: Any) -> FloatArray:
        """Return P(label at t | symbols so far), one row for each symbol of one sequence.

        Examples
        --------
        >>> from hqmm.datasets import hmm_6_6
        >>> hmm_6_6().to_hybrid().label_probabilities([0, 1, 2]).shape
        (3, 6)
        """
        return _traces(self.filter(sequence))

    def conditional_states(self, sequence: Any) -> ComplexArray:
        """Return the density matrix on each label after each symbol, (T, k, q, q); a label ruled out has I/q.

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().to_hybrid().conditional_states([0]).real.round(3)
        array([[[[1., 0.],
                 [0., 0.]]]])
        """
        blocks = self.filter(sequence)
        weights = _traces(blocks)[..., None, None]
        mixed = np.eye(self.n_states) / self.n_states
        conditional: ComplexArray = np.where(weights > 0, blocks / np.where(weights > 0, weights, 1.0), mixed)
        return conditional

    def smooth(self, sequence: Any) -> FloatArray:
        """Return P(label at t | whole sequence), one row for each symbol: the label entered with it.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0.5], [0, 0.5]]).to_hybrid().smooth([0, 1]).round(3)
        array([[0.483, 0.517],
               [0.   , 1.   ]])
        """
        states, effects = _passes.forward_backward(self.linear, self.alphabet.encode(sequence))
        joint: FloatArray = (states[1:] * effects[1:]).reshape(-1, self.n_blocks, self.n_states**2).sum(axis=2)
        return np.maximum(joint, 0.0)

    def decode(self, sequence: Any) -> IntArray:
        """Return a most probable path of labels: Viterbi over labels and basis states of the classical twin.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.2], [0.1, 0.8]], [[0.9, 0.1], [0.1, 0.9]]).to_hybrid().decode([0, 0, 1, 1, 1])
        array([0, 0, 1, 1, 1])
        """
        twin = self.decohere().linear
        path = _passes.best_path(twin.operators, twin.initial, self.alphabet.encode(sequence))
        return path // self.n_states

    def decohere(self) -> OOM:
        """Return the classical twin, measured in the standard basis after every step: kq states, no coherence.

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().to_hybrid().decohere()
        OOM(dimension 2, standard, 6 symbols)
        """
        from hqmm.models.oom import OOM

        size = self.n_blocks * self.n_states
        moduli = (np.abs(self.kraus) ** 2).sum(axis=1)
        operators = moduli.transpose(0, 1, 3, 2, 4).reshape(self.n_symbols, size, size)
        weights = np.maximum(np.diagonal(self.initial, axis1=1, axis2=2).real.ravel(), 0)
        return OOM(operators, weights / weights.sum(), alphabet=self.alphabet)

    def canonical(self) -> HybridHQMM:
        """Return the same model with the canonical Kraus operators of every (symbol, label, label).

        Examples
        --------
        >>> import numpy as np
        >>> from hqmm import HybridHQMM
        >>> HybridHQMM(np.full((1, 3, 1, 1, 1, 1), 3**-0.5)).canonical()
        HybridHQMM(1 labels × 1 dimensions, Kraus rank 1, 1 symbols)
        """
        liouville = channels.liouville_from_kraus(np.moveaxis(self.kraus, 1, 3))
        choi = channels.choi_from_liouville(liouville)
        found = {place: channels.canonical_kraus(choi[place]) for place in np.ndindex(choi.shape[:3])}
        rank = max(1, *(len(operators) for operators in found.values()))
        kraus = np.zeros((self.n_symbols, rank, *self.kraus.shape[2:]), dtype=np.complex128)
        for (y, i, j), operators in found.items():
            kraus[y, : len(operators), i, j] = operators
        return self.replace(kraus=isometric_blocks(kraus))

    def prune(self, threshold: float) -> HybridHQMM:
        """Return the model without the transitions that are rarer than ``threshold``, the rest made whole again.

        A transition (y, i, j) counts as rare where Σ_w ‖K[y, w, i, j]‖² / q, its probability from the mixed state
        of label j, is below the threshold; the last ones of a label stay where nothing else would.

        Examples
        --------
        >>> from hqmm.datasets import hmm_6_6
        >>> model = hmm_6_6().to_hybrid().prune(1e-3)
        >>> bool((model.kraus == 0).mean() > 0.3)
        True
        """
        strength = (np.abs(self.kraus) ** 2).sum(axis=(1, 4, 5)) / self.n_states
        keep = strength >= min(threshold, 1.0)
        for label in range(self.n_blocks):
            # what stays must still hold an isometry: strongest first until it does
            order = np.argsort(-strength[:, :, label], axis=None)
            for place in order:
                remaining = np.where(keep[:, None, :, label, None, None], self.kraus[:, :, :, label], 0)
                if _has_full_rank(remaining):
                    break
                keep[(*np.unravel_index(place, strength.shape[:2]), label)] = True
        kraus = np.where(keep[:, None, :, :, None, None], self.kraus, 0)
        return self.replace(kraus=isometric_blocks(kraus))

    def to_oom(self) -> OOM:
        """Return an equivalent general OOM of dimension k q².

        Examples
        --------
        >>> from hqmm.datasets import hqmm_2_6
        >>> hqmm_2_6().to_hybrid().to_oom()
        OOM(dimension 4, general, 6 symbols)
        """
        from hqmm.models.oom import OOM

        linear = self.linear
        return OOM(linear.operators, linear.initial, linear.evaluation, alphabet=self.alphabet)

    def to_hqmm(self, method: str = "shifts") -> HQMM:
        """Return an equivalent HQMM of dimension kq.

        Parameters
        ----------
        method : "shifts" or "blocks"
            ``"blocks"``: wk² operators for each symbol, each with one non-zero block. ``"shifts"``: wk operators,
            each holding the blocks (j + d, j) of one shift d of the labels; as the state is block-diagonal, and
            each operator keeps it so, it is the same process.

        Examples
        --------
        >>> from hqmm.datasets import hmm_6_6
        >>> hmm_6_6().to_hybrid().to_hqmm()
        HQMM(n=6, Kraus rank 6, 6 symbols)
        """
        from hqmm.models.hqmm import HQMM

        if method not in ("shifts", "blocks"):
            raise ValueError(f"method must be 'shifts' or 'blocks', not {method!r}")
        s, w, k, _, q, _ = self.kraus.shape
        count = k if method == "shifts" else k * k
        kraus = np.zeros((s, w, count, k, q, k, q), dtype=np.complex128)
        for i in range(k):
            for j in range(k):
                place = (i - j) % k if method == "shifts" else i * k + j
                kraus[:, :, place, i, :, j, :] = self.kraus[:, :, i, j]
        initial = np.zeros((k, q, k, q), dtype=np.complex128)
        initial[np.arange(k), :, np.arange(k), :] = self.initial
        n = k * q
        return HQMM(kraus.reshape(s, w * count, n, n), initial.reshape(n, n), alphabet=self.alphabet)

    def to_hybrid(self) -> HybridHQMM:
        """Return the model itself."""
        return self


def mixture(models: Sequence[Any], weights: Any = None) -> HybridHQMM:
    """Return the model that follows each of several with a given probability: their labels side by side.

    Its predictions for a whole sequence are the weighted average of theirs, P = Σ_i w_i P_i.

    Parameters
    ----------
    models : sequence of HybridHQMM, or of models with ``to_hybrid()``
        Over one alphabet. Smaller blocks are embedded in the largest, unused dimensions staying empty.
    weights : array, optional
        Non-negative, summing to one; all equal by default.

    Examples
    --------
    >>> from hqmm import mixture
    >>> from hqmm.datasets import hmm_6_6, hqmm_2_6
    >>> both = mixture([hmm_6_6(), hqmm_2_6()], [0.25, 0.75])
    >>> both
    HybridHQMM(7 labels × 2 dimensions, Kraus rank 1, 6 symbols)
    >>> both.probability([[0, 1, 2]]).round(6) == (
    ...     0.25 * hmm_6_6().probability([[0, 1, 2]]) + 0.75 * hqmm_2_6().probability([[0, 1, 2]])
    ... ).round(6)
    array([ True])
    """
    if not len(models):
        raise ModelError("mixture: there must be at least one model")
    shares = _checks.real_array(
        "mixture", "weights", np.full(len(models), 1 / len(models)) if weights is None else weights, (len(models),)
    )
    _checks.check_non_negative("mixture", "i", "weights", shares)
    _checks.check_sums_to_one("mixture", "ii", "weights", shares)
    for number, model in enumerate(models):
        if not hasattr(model, "to_hybrid"):
            raise ModelError(f"mixture: model {number}, {model!r}, has no to_hybrid(); convert it first")
        if model.alphabet != models[0].alphabet:
            raise ModelError(f"mixture: model {number} has another alphabet than model 0")
    parts = [model.to_hybrid() for model in models]
    q, w = max(part.n_states for part in parts), max(part.kraus_rank for part in parts)
    k, s = sum(part.n_blocks for part in parts), parts[0].n_symbols
    kraus = np.zeros((s, w, k, k, q, q), dtype=np.complex128)
    initial = np.zeros((k, q, q), dtype=np.complex128)
    first = 0
    for part, share in zip(parts, shares, strict=True):
        labels = slice(first, first + part.n_blocks)
        kraus[:, :, labels, labels] = _embedded(part.kraus, w, q)
        initial[labels, : part.n_states, : part.n_states] = share * part.initial
        first = labels.stop
    return HybridHQMM(kraus, initial, alphabet=parts[0].alphabet)


def isometric_blocks(kraus: ComplexArray) -> ComplexArray:
    """Return the nearest blocks (s, w, k, k, q, q) that preserve the trace from every label."""
    columns = [channels.nearest_isometry(kraus[:, :, :, label]) for label in range(kraus.shape[3])]
    return np.stack(columns, axis=3)


def _embedded(kraus: ComplexArray, w: int, q: int) -> ComplexArray:
    """Pad blocks to more operators and dimensions; what is added stays where it is and is never reached."""
    s, rank, k, _, size, _ = kraus.shape
    result = np.zeros((s, w, k, k, q, q), dtype=np.complex128)
    result[:, :rank, :, :, :size, :size] = kraus
    for label in range(k):
        for dimension in range(size, q):
            result[0, 0, label, label, dimension, dimension] = 1
    return result


def _has_full_rank(operators: ComplexArray) -> bool:
    stacked = operators.reshape(-1, operators.shape[-1])
    values = np.linalg.svd(stacked, compute_uv=False)
    return bool(values[-1] > 1e-6 * max(values[0], 1e-300)) and bool(values[0] > 0)


def _traces(blocks: AnyArray) -> FloatArray:
    traces: FloatArray = np.trace(blocks, axis1=-2, axis2=-1).real
    return np.maximum(traces, 0.0)


def hybrid_from_probabilities(operators: FloatArray, initial: FloatArray, alphabet: Any) -> HybridHQMM:
    """Return the model with q = 1 whose |K[y, i, j]|² are the given non-negative operators (s, k, k).

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.models.hybrid import hybrid_from_probabilities
    >>> hybrid_from_probabilities(np.full((2, 1, 1), 0.5), np.ones(1), None).predict()
    array([0.5, 0.5])
    """
    if np.any(operators < 0):
        raise DataError("operators of a classical model must not be negative")
    return HybridHQMM(np.sqrt(operators)[:, None, :, :, None, None], initial[:, None, None], alphabet=alphabet)
