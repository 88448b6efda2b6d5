"""Spectral learning: an OOM from the singular vectors of a Hankel matrix, without iterations or local optima.

Pasts are rows and futures columns. With the Hankel matrix F[p, f] ∝ P(pf) and F_y[p, f] ∝ P(pyf), and the leading
singular vectors F ≈ UΣVᵀ, the state after the past p is Vᵀ F[p, :]ᵀ: all that matters of it for the futures. The
operators that move these states are T_y = Vᵀ F_yᵀ U Σ⁻¹ (Hsu, Kakade, Zhang 2012; Boots, Siddiqi, Gordon 2011).

Nothing in it keeps probabilities positive: an OOM learned from a sample has negative ones for some sequences, and
evaluates with an error there. `score_leniently` counts them, and goes on in the way it is told to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.errors import DataError, ModelError, NegativeProbabilityError
from hqmm.learning.settings import at_least
from hqmm.linear import MISSING, ROUNDING, LinearForm
from hqmm.models import OOM
from hqmm.sequences import Alphabet, Sequences

OnNegative: TypeAlias = Literal["raise", "clip", "reset"]

# Singular values below this share of the largest count as zero: the sparse solver, which squares the matrix, finds
# no smaller ones, and no sample is large enough to.
_RANK_TOLERANCE = 1e-7
# Hankel matrices with more entries stay sparse.
_DENSE_ENTRIES = 1_000_000
_SEPARATOR = -2


@dataclass(frozen=True, eq=False)
class Hankel:
    """Statistics of words: F, the F_y side by side, and the futures at the start of a sequence.

    Attributes
    ----------
    joint : array or sparse array (pasts, futures)
        F[p, f] ∝ P(pf). The first column belongs to the empty future.
    shifted : array or sparse array (pasts, s · futures)
        F_y[p, f] ∝ P(pyf), the symbols y one after the other; that of the end symbol, if any, is not used.
    start : array (futures,)
        P(f) from the state that sequences start in.
    closing : array (pasts,), optional
        P(p end), in the proportion of ``joint``, for an alphabet with an end symbol.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.learning.spectral import count_words
    >>> counted = count_words(Sequences(["abab", "abba"]), longest=1)
    >>> counted.joint.toarray().round(3)  # pasts and futures: empty, a, b
    array([[1.   , 0.5  , 0.5  ],
           [0.5  , 0.   , 0.5  ],
           [0.5  , 0.333, 0.167]])
    """

    joint: Any
    shifted: Any
    start: FloatArray
    closing: FloatArray | None = None


def learn_spectral(sequences: Any, n_states: int, *, longest: int = 2, at_most: bool = False) -> OOM:
    """Learn an OOM from the frequencies of words.

    Words are counted wherever they occur. Without an end symbol the process is taken to be stationary, and the
    initial state is the average one. With an end symbol the initial state comes from the words that sequences
    start with, and after the end the process starts again. Sequences count by weight; words with a missing symbol
    are left out.

    Parameters
    ----------
    sequences : Sequences or anything it accepts
        The data.
    n_states : int
        The dimension of the OOM: the number of singular values kept.
    longest : int
        Pasts and futures are all observed words of up to so many symbols.
    at_most : bool
        Keep fewer states where the data support no more, instead of an error.

    Returns
    -------
    OOM
        A general one, whose probabilities may be negative.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_4
    >>> from hqmm.learning.spectral import learn_spectral
    >>> data = hqmm_2_4().sample(50, 1000, random_state=0)
    >>> learn_spectral(data, 3).predict([0]).round(1)  # in truth .5, 0, .25, .25
    array([0.5, 0. , 0.2, 0.3])
    """
    data = sequences if isinstance(sequences, Sequences) else Sequences(sequences)
    return realise(count_words(data, longest), n_states, alphabet=data.alphabet, at_most=at_most)


# --- counting -------------------------------------------------------------------------------------------------


def count_words(sequences: Sequences, longest: int = 2) -> Hankel:
    """Count the words of up to 2 · longest + 1 symbols, taken apart as a past, a symbol between, and a future.

    Parameters
    ----------
    sequences : Sequences
        The data.
    longest : int
        Length of the longest pasts and futures; with 0 (and no end symbol) there are none, and one state.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.learning.spectral import count_words
    >>> count_words(Sequences(["ab", "b", "b"], end=True), longest=1).start  # empty, a, b, end
    array([1.        , 0.33333333, 0.66666667, 0.        ])
    """
    data = sequences[sequences.weights > 0]
    s, end = len(data.alphabet), data.alphabet.end
    least = 0 if end is None else 1  # the end is a future of one symbol
    if longest < least:
        raise DataError(f"longest must be at least {least}, but is {longest}")
    # a place on the tape is before a symbol or, at a separator, after the last one
    tape = np.insert(data.codes.astype(np.int64), data.offsets[1:], _SEPARATOR)
    weights = np.repeat(data.weights, data.lengths + 1)
    pasts, futures = _pasts(tape, s, longest, end), _futures(tape, s, longest, end)
    n_pasts, n_futures = (max(int(each.max(initial=-1)) for each in words) + 1 for words in (pasts, futures))

    windows = np.zeros(2 * longest + 2)
    joint, shifted = [], []
    middle = np.flatnonzero((tape >= 0) & (tape != end))
    for a, past in enumerate(pasts):
        for b, future in enumerate(futures):
            places = np.flatnonzero((past >= 0) & (future >= 0))
            joint.append((a + b, past[places], future[places], weights[places]))
            windows[a + b] = weights[places].sum()
            places = middle[(past[middle] >= 0) & (future[middle + 1] >= 0)]
            columns = tape[places] * n_futures + future[places + 1]
            shifted.append((a + 1 + b, past[places], columns, weights[places]))
            windows[a + 1 + b] = weights[places].sum()
    if end is None:
        if not windows.all():
            raise DataError(
                f"no sequence has {2 * longest + 1} symbols in a row without a missing one; "
                f"lower longest={longest}"
            )
        F = _gather(joint, windows, (n_pasts, n_futures))
        return Hankel(F, _gather(shifted, windows, (n_pasts, s * n_futures)), F[[0]].toarray()[0])
    if not np.any(tape == end):
        raise DataError("the alphabet has an end symbol, but no sequence ends with it")
    # every window is followed by a symbol or contains the end: the counts of all lengths fit together as they are
    windows[:] = windows[0]
    F = _gather(joint, windows, (n_pasts, n_futures))
    closing = F[:, [futures[1][tape == end][0]]].toarray()[:, 0]
    start = _start(data, futures, n_futures)
    return Hankel(F, _gather(shifted, windows, (n_pasts, s * n_futures)), start, closing)


def _pasts(tape: IntArray, s: int, longest: int, end: int | None) -> list[IntArray]:
    """Return the numbers of the words of each length that end before each place, −1 for none (after the end)."""
    before = np.concatenate([[_SEPARATOR], tape[:-1]])
    words = [np.where(before == end, -1, 0)]
    for _ in range(longest):
        shorter = np.concatenate([[-1], words[-1][:-1]])
        words.append(_lengthened(words[-1], shorter, before, (before >= 0) & (before != end), s))
    return words


def _futures(tape: IntArray, s: int, longest: int, end: int | None) -> list[IntArray]:
    """Return the numbers of the words of each length that start at each place; the end can only come last."""
    words = [np.zeros(len(tape), dtype=np.int64)]
    for length in range(1, longest + 1):
        shorter = np.concatenate([words[-1][1:], [-1]])
        words.append(_lengthened(words[-1], shorter, tape, (tape >= 0) & ((tape != end) | (length == 1)), s))
    return words


def _lengthened(last: IntArray, shorter: IntArray, symbols: IntArray, possible: AnyArray, s: int) -> IntArray:
    """Return new numbers, beyond the last ones, for words made of a shorter word and a symbol."""
    possible = possible & (shorter >= 0)
    number = np.unique(shorter[possible] * s + symbols[possible], return_inverse=True)[1]
    words = np.full(len(shorter), -1)
    words[possible] = last.max(initial=-1) + 1 + number
    return words


def _gather(
    entries: list[tuple[int, IntArray, IntArray, FloatArray]], windows: FloatArray, shape: tuple[int, int]
) -> Any:
    """Add up the windows of each entry, as a share of all windows of its length."""
    from scipy.sparse import coo_array

    values = np.concatenate([weights / windows[length] for length, _, _, weights in entries])
    rows, columns = (np.concatenate([entry[axis] for entry in entries]) for axis in (1, 2))
    return coo_array((values, (rows, columns)), shape=shape).tocsr()


def _start(data: Sequences, futures: list[IntArray], n_futures: int) -> FloatArray:
    """Return the share of sequences that start with each word, of those whose start is not missing."""
    owner = np.repeat(np.arange(len(data)), data.lengths)
    position = np.arange(data.n_symbols) - data.offsets[owner]
    weights = data.weights.copy()
    weights[owner[(data.codes == MISSING) & (position < len(futures) - 1)]] = 0
    if not weights.any():
        raise DataError(f"every sequence has a missing symbol among its first {len(futures) - 1}")
    first = data.offsets[:-1] + np.arange(len(data))
    start = np.zeros(n_futures)
    for words in futures:
        seen = words[first] >= 0
        start += np.bincount(words[first][seen], weights[seen], n_futures)
    return start / weights.sum()


# --- realisation ----------------------------------------------------------------------------------------------


def realise(hankel: Hankel, n_states: int, *, alphabet: Alphabet | None = None, at_most: bool = False) -> OOM:
    """Return the OOM of the given dimension that Hankel matrices lead to; exact ones give the exact process.

    What is estimated satisfies the definition of an OOM only nearly, so the functional σ is chosen to satisfy it
    exactly. Without an end symbol σ is the left eigenvector of Σ_y T_y whose eigenvalue λ is nearest to 1, and the
    operators are divided by λ: then σᵀ Σ_y T_y = σᵀ, and words of one length keep their relative probabilities.
    With an end symbol and τᵀ the functional of its probability, σᵀ = τᵀ(I − Σ_y T_y)⁻¹ adds up the probabilities
    of all ways to end. In both, the initial state fixes the scale: σᵀx₀ = 1.

    Parameters
    ----------
    hankel : Hankel
        Statistics of words, such as `count_words` returns.
    n_states : int
        Dimension; at most the rank of ``hankel.joint``.
    alphabet : Alphabet, optional
        The symbols, 0 … s−1 by default; to say which one is the end, if there is one.
    at_most : bool
        Keep fewer states where the rank is lower, instead of an error.

    Examples
    --------
    A coin with P(heads) = ¼, from pasts and futures of no symbols at all:

    >>> import numpy as np
    >>> from hqmm.learning.spectral import Hankel, realise
    >>> realise(Hankel(np.ones((1, 1)), np.array([[0.25, 0.75]]), np.ones(1)), 1).predict()
    array([0.25, 0.75])
    """
    U, singular, V = _leading_vectors(hankel.joint, n_states, at_most)
    n_states = len(singular)
    to_pasts = U / singular
    n_futures = len(V)
    T = V.T @ (hankel.shifted.T @ to_pasts).reshape(-1, n_futures, n_states)
    initial = V.T @ hankel.start
    if hankel.closing is None:
        scale, sigma = _nearest_fixed_functional(T.sum(axis=0), V[0])
        total = _positive_weight(sigma, initial)
        return OOM(T / scale, initial, sigma / total, alphabet=alphabet, check_length=0)
    if alphabet is None or alphabet.end is None:
        raise ModelError("statistics of sequences that end need an alphabet with an end symbol")
    tau = hankel.closing @ to_pasts
    sigma = np.linalg.solve(np.eye(n_states) - T.sum(axis=0).T, tau)
    total = _positive_weight(sigma, initial)
    T[alphabet.end] = np.outer(initial, tau / total)  # after the end the process starts again
    return OOM(T, initial, sigma / total, alphabet=alphabet, check_length=0)


def _leading_vectors(matrix: Any, count: int, at_most: bool) -> tuple[Any, Any, Any]:
    """Return the leading singular vectors and values, U (P, n), Σ (n) and V (F, n)."""
    at_least("n_states", count, 1, ModelError)
    smaller = min(matrix.shape)
    if matrix.shape[0] * matrix.shape[1] > _DENSE_ENTRIES and count < smaller:
        from scipy.sparse.linalg import svds

        U, singular, Vt = svds(matrix, count, v0=np.ones(smaller))
    else:
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        U, singular, Vt = np.linalg.svd(dense, full_matrices=False)
    rank = int(np.count_nonzero(singular > _RANK_TOLERANCE * singular.max()))
    if at_most:
        count = min(count, rank)
    if count > rank:
        raise ModelError(
            f"n_states={count} is more than the data support: the Hankel matrix of {matrix.shape[0]} pasts and "
            f"{matrix.shape[1]} futures has rank {rank}; ask for at most {rank}, or for longer pasts and futures "
            "(longest=…)"
        )
    return U[:, :count], singular[:count], Vt[:count].T


def _nearest_fixed_functional(transfer: FloatArray, estimate: FloatArray) -> tuple[float, FloatArray]:
    """Return the eigenvalue nearest to one and its left eigenvector, of the sign of the estimated functional."""
    values, vectors = np.linalg.eig(transfer.T)
    real = np.flatnonzero((np.abs(values.imag) <= 1e-12 * np.abs(values)) & (values.real > 0))
    if not len(real):
        raise ModelError("Σ_y T_y has no positive eigenvalue, so that no functional is fixed; use fewer states")
    nearest = real[np.argmin(np.abs(values[real] - 1))]
    functional = vectors[:, nearest].real
    return float(values[nearest].real), functional * np.sign(functional @ estimate)


def _positive_weight(sigma: FloatArray, initial: FloatArray) -> float:
    """Return σᵀx₀; refuse it unless it is positive."""
    weight = float(sigma @ initial)
    if not weight > 0:
        raise ModelError(f"the estimated initial state has the weight σᵀx₀ = {weight:.3g}; use other n_states")
    return weight


# --- scoring with negative probabilities ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LenientScores:
    """What `score_leniently` returns.

    Attributes
    ----------
    log_likelihood : array (N,)
        Of each sequence.
    n_negative : int
        How many symbols came with a negative probability.
    n_improper : int
        How many symbols met a distribution with a negative probability, of whichever next symbol.
    n_symbols : int
        How many symbols were looked at.
    """

    log_likelihood: FloatArray
    n_negative: int
    n_improper: int
    n_symbols: int


def score_leniently(
    oom: OOM, sequences: Any, *, on_negative: OnNegative = "raise", floor: float = 1e-9, burn_in: int = 0
) -> LenientScores:
    """Score sequences with a model that may give negative probabilities, and count how often it does.

    All counts are of symbols that are not missing, and include the burn-in. A probability that is negative by no
    more than rounding is zero; a sequence with a symbol of probability zero scores −inf and is left there.

    Parameters
    ----------
    oom : OOM
        The model.
    sequences : Sequences or anything it accepts
        The data.
    on_negative : {"raise", "clip", "reset"}
        ``"raise"`` stops with a NegativeProbabilityError at a symbol with negative probability, and scores as
        `OOM.log_likelihood` does. ``"clip"`` replaces every negative entry of a next-symbol distribution by
        ``floor`` and normalises it, to score; the state stays the model's own, T_y x / σᵀT_y x. ``"reset"`` scores
        likewise, and starts again from the initial state after a symbol with negative probability.
    floor : float
        What a negative probability is replaced by.
    burn_in : int
        Symbols at the start of each sequence that are not scored.

    Examples
    --------
    >>> from hqmm import OOM
    >>> from hqmm.learning.spectral import score_leniently
    >>> broken = OOM([[[1.25]], [[-0.25]]], [1.0], check_length=0)
    >>> scores = score_leniently(broken, [[0, 0, 1]], on_negative="clip", floor=0.25)
    >>> scores.n_negative, scores.n_improper, scores.n_symbols
    (1, 3, 3)
    >>> scores.log_likelihood.round(3)  # each distribution becomes (1.25, 0.25) / 1.5
    array([-2.156])
    """
    if on_negative not in get_args(OnNegative):
        raise ValueError(f"on_negative must be 'raise', 'clip' or 'reset', not {on_negative!r}")
    if not floor > 0:
        raise ValueError(f"floor must be positive, but is {floor}")
    if burn_in < 0:
        raise DataError(f"burn_in must not be negative, but is {burn_in}")
    data, form = oom.encode(sequences), oom.linear
    rows = np.argsort(-data.lengths, kind="stable")  # the longest first, so that those still going lead
    states, totals = form.start(len(data)), np.zeros(len(data))
    n_negative = n_improper = n_symbols = 0
    for t in range(int(data.lengths.max(initial=0))):
        going = rows[: int(np.count_nonzero(data.lengths > t))]
        codes, states = data.codes[data.offsets[going] + t], states[: len(going)]
        probabilities, below = _next_probabilities(form, states)
        present = (codes != MISSING) & (totals[going] > -np.inf)
        negative = present & below[np.arange(len(going)), codes]
        n_symbols += int(np.count_nonzero(present))
        n_negative += int(np.count_nonzero(negative))
        n_improper += int(np.count_nonzero(present & below.any(axis=1)))
        if on_negative != "raise":
            clipped = np.where(below, floor, probabilities)
            probabilities = clipped / clipped.sum(axis=1, keepdims=True)
        elif negative.any():
            row = int(np.argmax(negative))
            raise NegativeProbabilityError(int(going[row]), t, float(probabilities[row, codes[row]]))
        chosen = np.where(present, probabilities[np.arange(len(going)), codes], 1.0)
        totals[going[chosen == 0]] = -np.inf
        if t >= burn_in:
            totals[going] += np.log(np.where(chosen > 0, chosen, 1.0))
        states = _follow(form, states, codes)
        if on_negative == "reset":
            states[negative] = form.initial
    return LenientScores(totals, n_negative, n_improper, n_symbols)


def _next_probabilities(form: LinearForm, states: FloatArray) -> tuple[FloatArray, AnyArray]:
    """Return the next-symbol probabilities, rounding below zero removed, and which of them are negative."""
    probabilities = states @ (form.evaluation @ form.operators).T
    bounds = np.abs(states) @ (np.abs(form.evaluation) @ np.abs(form.operators)).T
    negative = probabilities < -ROUNDING * bounds
    return np.where(negative, probabilities, np.maximum(probabilities, 0)), negative


def _follow(form: LinearForm, states: FloatArray, codes: AnyArray) -> FloatArray:
    """Return T_y x / σᵀT_y x for each row, whatever the sign; a row without weight stays where it is."""
    following, weights = form.advance(states, codes)
    negative = weights < 0
    following[negative] /= weights[negative, None]
    return np.where(weights[:, None] != 0, following, states)


@dataclass(frozen=True)
class Lenient:
    """A process that goes on where probabilities are negative, as `score_leniently` does, to predict.

    Parameters
    ----------
    form : LinearForm
        The model.
    reset : bool
        Start again from the initial state after a symbol with negative probability.
    floor : float
        What a negative probability is replaced by.

    Examples
    --------
    >>> from hqmm import OOM
    >>> from hqmm.learning.spectral import Lenient
    >>> broken = Lenient(OOM([[[1.25]], [[-0.25]]], [1.0], check_length=0).linear, reset=False, floor=0.25)
    >>> broken.next_distribution(broken.start(1)).round(3)
    array([[0.833, 0.167]])
    """

    form: LinearForm
    reset: bool
    floor: float

    def start(self, batch: int) -> FloatArray:
        """Return copies of the initial state."""
        return self.form.start(batch)

    def next_distribution(self, states: FloatArray, position: int = 0) -> FloatArray:
        """Return the next-symbol probabilities, the negative ones replaced, each row with the sum one."""
        del position  # nothing can go wrong
        probabilities, below = _next_probabilities(self.form, states)
        clipped = np.where(below, self.floor, probabilities)
        result: FloatArray = clipped / clipped.sum(axis=1, keepdims=True)
        return result

    def advance(self, states: FloatArray, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Apply one symbol to each row; also return the probabilities that `next_distribution` gives them."""
        rows, present = np.arange(len(codes)), codes != MISSING
        weights = np.where(present, self.next_distribution(states)[rows, codes], 1.0)
        following = _follow(self.form, states, codes)
        if self.reset:
            following[present & _next_probabilities(self.form, states)[1][rows, codes]] = self.form.initial
        return following, weights
