"""Markov chains of any order, with smoothing: the n-gram baseline."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.errors import ModelError
from hqmm.linear import MISSING, LinearForm
from hqmm.models import _checks
from hqmm.models.base import Model, Process
from hqmm.models.hybrid import HybridHQMM, hybrid_from_probabilities
from hqmm.models.oom import OOM
from hqmm.sequences import Alphabet, Sequences

DENSE_LIMIT = 50_000_000


class MarkovChain(Model):
    """A Markov chain of order k, as the automaton of its contexts.

    A context is the longest recorded stretch of at most k symbols that the past ends with; it alone decides the
    next symbol. State 0 is the context at the start of a sequence.

    Parameters
    ----------
    probabilities : (S, s) array
        P(next symbol y | context c), one row per context.
    successors : (S, s) array of int
        The context after context c and symbol y.
    order : int, optional
        The largest number of symbols that a context looks back, if known.
    alphabet : Alphabet, optional
        The symbols; 0 … s−1 by default.

    Examples
    --------
    >>> from hqmm import MarkovChain, Sequences
    >>> chain = MarkovChain.from_sequences(Sequences(["abab", "abba"]), order=1)
    >>> chain
    MarkovChain(order 1, 4 contexts, 2 symbols)
    >>> chain.predict("a").round(3)
    array([0.125, 0.875])
    """

    _parameters = ("probabilities", "successors", "order")
    probabilities: FloatArray
    successors: IntArray
    order: IntArray

    def __init__(self, probabilities: Any, successors: Any, order: Any = 1, *, alphabet: Any = None) -> None:
        P = _checks.real_array("MarkovChain", "probabilities", probabilities, (None, None))
        given = _checks.real_array("MarkovChain", "successors", successors, P.shape)
        if np.any((given < 0) | (given >= len(P)) | (given != np.round(given))):
            raise ModelError(f"MarkovChain: successors must be whole numbers from 0 to {len(P) - 1}")
        following = given.astype(np.int64)
        following.setflags(write=False)
        _checks.check_non_negative("MarkovChain", "i", "probabilities", P)
        worst = int(np.argmax(np.abs(P.sum(axis=1) - 1)))
        _checks.check_sums_to_one("MarkovChain", "ii", f"probabilities[{worst}]", P[worst])
        longest = _checks.real_array("MarkovChain", "order", order, ())
        if not (longest >= 0 and longest == np.round(longest)):
            raise ModelError(f"MarkovChain: order must be a whole number from 0 up, not {longest}")
        depth = longest.astype(np.int64)
        depth.setflags(write=False)
        self._set(alphabet, P.shape[1], probabilities=P, successors=following, order=depth)

    @classmethod
    def from_transition(cls, transition: Any, initial: Any, *, alphabet: Any = None) -> MarkovChain:
        """Return the first-order chain with P(next y | now z) = transition[y, z] and first symbol ~ initial.

        Examples
        --------
        >>> from hqmm import MarkovChain
        >>> MarkovChain.from_transition([[0.9, 0.5], [0.1, 0.5]], [1, 0]).probability([[0, 0, 1]])
        array([0.09])
        """
        first = _checks.real_array("MarkovChain", "initial", initial, (None,))
        s = len(first)
        step = _checks.real_array("MarkovChain", "transition", transition, (s, s))
        successors = np.tile(np.arange(1, s + 1), (s + 1, 1))
        return cls(np.vstack([first, step.T]), successors, 1, alphabet=alphabet)

    @classmethod
    def from_sequences(
        cls, sequences: Any, order: int = 1, smoothing: str | float = "witten-bell", *, alphabet: Any = None
    ) -> MarkovChain:
        """Count contexts of up to ``order`` symbols and smooth.

        Parameters
        ----------
        sequences : Sequences or anything it accepts
            Weights count; stretches with missing symbols are left out.
        order : int
            The largest number of symbols a context looks back. The start of a sequence counts as a symbol.
        smoothing : "witten-bell" or float
            Witten–Bell interpolates each context with the one that forgets its oldest symbol, down to the uniform
            distribution. A number is added to every count; contexts never seen forget their oldest symbol.
        alphabet : Alphabet, optional
            The symbols; by default those of the data. One with an end symbol closes raw sequences, as in scoring.

        Examples
        --------
        >>> from hqmm import MarkovChain
        >>> MarkovChain.from_sequences(["aab", "ab"], order=2, smoothing=0.5).predict("aa").round(3)
        array([0.25, 0.75])
        """
        from hqmm.models.contexts import count_contexts, smooth

        _checks.whole_number("order", order, 0, ModelError)
        data = Sequences(sequences, alphabet, end=isinstance(alphabet, Alphabet) and alphabet.end is not None)
        tree = count_contexts(data, order)
        swap = np.arange(len(tree.shorter))
        swap[[0, tree.start]] = [tree.start, 0]  # the chain starts in its state 0
        return cls(smooth(tree, smoothing)[swap], swap[tree.successors[swap]], order, alphabet=data.alphabet)

    @property
    def n_contexts(self) -> int:
        """Number of contexts S."""
        return len(self.probabilities)

    @property
    def n_symbols(self) -> int:
        """Number of symbols s."""
        return self.probabilities.shape[1]

    def _sizes(self) -> str:
        return f"order {int(self.order)}, {self.n_contexts} contexts"

    @property
    def _process(self) -> Process:
        return _Automaton(self.probabilities, self.successors)

    @cached_property
    def linear(self) -> LinearForm:
        """The chain over its contexts: T_y[c′, c] = P(y | c) where c′ follows c with y."""
        S, s = self.probabilities.shape
        if S * S * s > DENSE_LIMIT:
            raise ModelError(f"a chain with {S} contexts and {s} symbols is too large for dense operators")
        operators = np.zeros((s, S, S))
        symbols, contexts = np.arange(s)[:, None], np.arange(S)
        operators[symbols, self.successors.T, contexts] = self.probabilities.T
        return LinearForm(operators, np.eye(S)[0], np.ones(S))

    def _native(self, states: Any) -> AnyArray:
        result: AnyArray = states.toarray() if hasattr(states, "toarray") else states
        return result

    def _log_likelihood(self, sequences: Sequences, burn_in: int) -> FloatArray:
        if not sequences.has_missing:
            return self._score_whole(sequences, burn_in)
        places = np.flatnonzero(sequences.codes == MISSING)
        gapped = np.zeros(len(sequences), dtype=np.bool_)
        gapped[np.searchsorted(sequences.offsets, places, side="right") - 1] = True
        scores = np.empty(len(sequences))
        scores[~gapped] = self._score_whole(sequences[~gapped], burn_in)
        scores[gapped] = [self._score_with_missing(row, burn_in) for row in sequences[gapped]]
        return scores

    def _score_whole(self, sequences: Sequences, burn_in: int) -> FloatArray:
        contexts = self._contexts_along(sequences)
        with np.errstate(divide="ignore"):
            scores = np.log(self.probabilities[contexts, sequences.codes])
        position = np.arange(sequences.n_symbols) - np.repeat(sequences.offsets[:-1], sequences.lengths)
        scores[(position < burn_in) & (scores > -np.inf)] = 0.0
        owner = np.repeat(np.arange(len(sequences)), sequences.lengths)
        return np.bincount(owner, scores, len(sequences)).astype(np.float64)

    def _contexts_along(self, sequences: Sequences) -> IntArray:
        """Return the context before every symbol.

        Many sequences are walked side by side, the longest first; few one by one, as a step of NumPy's takes as
        long as about a hundred of plain Python's.
        """
        if sequences.n_symbols < 100 * sequences.lengths.max(initial=0):
            return np.array([context for row in sequences for context in self._walk(row)], dtype=np.int64)
        contexts = np.zeros(sequences.n_symbols, dtype=np.int64)
        rows = np.argsort(-sequences.lengths, kind="stable")
        lengths, starts = sequences.lengths[rows], sequences.offsets[:-1][rows]
        state = np.zeros(len(rows), dtype=np.int64)
        alive = np.searchsorted(-lengths, -np.arange(lengths.max(initial=0)), side="left")
        for t, count in enumerate(alive):
            places = starts[:count] + t
            contexts[places] = state[:count]
            state[:count] = self.successors[state[:count], sequences.codes[places]]
        return contexts

    def _walk(self, codes: AnyArray) -> Iterator[int]:
        """Yield the context before every symbol of one sequence."""
        successors, context = self._successor_lists, 0
        for code in codes.tolist():
            yield context
            context = successors[context][code]

    @cached_property
    def _successor_lists(self) -> list[list[int]]:
        result: list[list[int]] = self.successors.tolist()
        return result

    def _score_with_missing(self, codes: AnyArray, burn_in: int) -> float:
        process, total = self._process, 0.0
        states = process.start(1)
        for t, code in enumerate(codes):
            states, weight = process.advance(states, np.array([code]))
            if not weight[0] > 0:
                return -np.inf
            total += float(np.log(weight[0])) if t >= burn_in else 0.0
        return total

    def stationary_state(self) -> FloatArray:
        """Return the long-run share of time in each context.

        Examples
        --------
        >>> from hqmm import MarkovChain
        >>> MarkovChain.from_transition([[0.9, 0.5], [0.1, 0.5]], [1, 0]).stationary_state().round(4)
        array([0.    , 0.8333, 0.1667])
        """
        return super().stationary_state()

    def to_oom(self) -> OOM:
        """Return the equivalent standard OOM, one dimension per context.

        Examples
        --------
        >>> from hqmm import MarkovChain
        >>> MarkovChain.from_transition([[0.9, 0.5], [0.1, 0.5]], [1, 0]).to_oom()
        OOM(dimension 3, standard, 2 symbols)
        """
        return OOM(self.linear.operators, self.linear.initial, alphabet=self.alphabet)

    def to_hybrid(self) -> HybridHQMM:
        """Return the equivalent hybrid model: the contexts are its labels, of one dimension each.

        Examples
        --------
        >>> from hqmm import MarkovChain
        >>> MarkovChain.from_transition([[0.9, 0.5], [0.1, 0.5]], [1, 0]).to_hybrid()
        HybridHQMM(3 labels × 1 dimensions, Kraus rank 1, 2 symbols)
        """
        return hybrid_from_probabilities(self.linear.operators, self.linear.initial, self.alphabet)


class _Automaton:
    """Distributions over contexts as sparse rows: one entry each until a symbol is missing."""

    def __init__(self, probabilities: FloatArray, successors: IntArray) -> None:
        self.probabilities = probabilities
        self.successors = successors

    def start(self, batch: int) -> Any:
        from scipy.sparse import csr_array

        rows, first = np.arange(batch), np.zeros(batch, dtype=np.int64)
        return csr_array((np.ones(batch), (rows, first)), shape=(batch, len(self.probabilities)))

    def next_distribution(self, states: Any, position: int = 0) -> FloatArray:
        del position  # only a model that can fail needs to say where
        distribution: FloatArray = states @ self.probabilities
        return distribution

    def advance(self, states: Any, codes: AnyArray) -> tuple[Any, FloatArray]:
        from scipy.sparse import coo_array, diags_array

        entries = states.tocoo()
        rows, contexts = entries.coords
        symbols = np.asarray(codes)[rows]
        free = symbols == MISSING
        n_symbols = self.probabilities.shape[1]
        rows = np.concatenate([rows[~free], np.repeat(rows[free], n_symbols)])
        data = np.concatenate([entries.data[~free], np.repeat(entries.data[free], n_symbols)])
        origin = np.concatenate([contexts[~free], np.repeat(contexts[free], n_symbols)])
        symbols = np.concatenate([symbols[~free], np.tile(np.arange(n_symbols), int(free.sum()))])
        data = data * self.probabilities[origin, symbols]
        following = coo_array((data, (rows, self.successors[origin, symbols])), shape=states.shape).tocsr()
        weights = np.asarray(following.sum(axis=1), dtype=np.float64)
        scale = 1.0 / np.where(weights > 0, weights, 1.0)
        return (diags_array(scale) @ following).tocsr(), weights
