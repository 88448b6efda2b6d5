"""Likelihood and gradient of the real linear form: the one computation under everything.

Both are computed by the form that suits the work (`explain_plan` says which, and why): one sequence at a time;
many abreast, grouped by their current symbol so that a step is a few matrix products; with operators of pairs or
triples of symbols; or on the tree of shared prefixes. The kernels are compiled on first use and kept on disk.

Memory is bounded by the pieces the work is cut into, not by the amount of data: a symbol of a piece takes m + 1
numbers (padded to whole vectors) for its state and about 60 bytes for its place, and pieces are cut at 8 to 64 MB.
A sequence too long for that goes alone: one state in 256 kB of them is kept, the others are computed twice.

``dtype=np.float32`` halves the memory and nearly doubles the speed; log-likelihoods are then good to about
1e-6 for each symbol (relative to its probability), gradients to about 1e-4 of their largest entry, unless
probabilities are small differences of large numbers. A state may be lost in it whose weight is below
1e-19 of the others' (in words of symbols 1e-150, otherwise 1e-300).

A plan avoids words, or float32, where the sizes of the operators are out of their range. A step that leaves it
nevertheless is noticed, and its sequence computed again, symbol by symbol in float64, before it counts as
impossible.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import DataError, ModelError
from hqmm.linear import ROUNDING, LinearForm
from hqmm.sequences import Sequences

if TYPE_CHECKING:
    from hqmm.engine.plan import Plan

__all__ = ["Gradient", "explain_plan", "gradient", "log_likelihood"]


OVERFLOW = "the gradient overflows: the model's states are far larger than their probabilities"


@dataclass(frozen=True, eq=False)
class Gradient:
    """Log-likelihoods and the gradient of their weighted sum.

    Attributes
    ----------
    log_likelihood : array (N,)
        ℓ of every sequence; −inf where it has no probability.
    operators : array (s, m, m)
        ∂ℓ/∂T, summed over the sequences with their weights.
    initial, evaluation : array (m,)
        ∂ℓ/∂r₀ and ∂ℓ/∂σ, likewise.
    n_zero : int
        How many sequences have no probability; they are left out of the gradient and of ``total``.
    total : float
        Weighted sum of the log-likelihoods.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.engine import gradient
    >>> from hqmm.linear import LinearForm
    >>> coin = LinearForm(np.array([[[0.25]], [[0.75]]]), np.ones(1), np.ones(1))
    >>> result = gradient(coin, Sequences([[0, 1, 1]], weights=[2]))
    >>> result.operators[:, 0, 0]  # twice (one head / 0.25, two tails / 0.75)
    array([8.        , 5.33333333])
    >>> round(result.total, 6)
    -3.923317
    """

    log_likelihood: FloatArray
    operators: FloatArray
    initial: FloatArray
    evaluation: FloatArray
    n_zero: int
    total: float


def log_likelihood(
    form: LinearForm,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    threads: int | None = None,
    method: str | None = None,
    dtype: Any = np.float64,
) -> FloatArray:
    """Return the log-likelihood of every sequence, log σᵀ T_{y_T} ⋯ T_{y_{b+1}} x_b.

    Parameters
    ----------
    form : LinearForm
        The model.
    sequences : Sequences
        The data; a missing symbol (code −1) steps by Σ_y T_y.
    burn_in : int
        The first b symbols are not scored: x_b is the normalised state after them. Without burn-in x_0 = r₀.
    threads : int, optional
        By default all cores, where that pays. The result is the same, bit for bit, for any number.
    method : {"single", "batched", "pairs", "triples", "prefixes"}, optional
        The form to compute by; by default a cost model chooses (`explain_plan`).
    dtype : float64 or float32
        Precision of the computation; results are float64.

    Returns
    -------
    array (N,)
        −inf for a sequence without probability; 0 where the burn-in leaves nothing to score.

    Raises
    ------
    NegativeProbabilityError
        A step has a negative probability: names the first such sequence and the position.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.engine import log_likelihood
    >>> from hqmm.linear import LinearForm
    >>> coin = LinearForm(np.array([[[0.25]], [[0.75]]]), np.ones(1), np.ones(1))
    >>> np.exp(log_likelihood(coin, Sequences([[0, 1], [0, -1]])))
    array([0.1875, 0.25  ])
    """
    burn_in = _check(form, sequences, burn_in, dtype)
    if _weight(form) == 0:
        return np.full(len(sequences), -np.inf)
    from hqmm.engine import evaluate
    from hqmm.engine.plan import make_plan

    plan = make_plan(form, sequences, burn_in=burn_in, threads=threads, method=method, dtype=dtype)
    job = evaluate.job_of(form, sequences, plan, burn_in, False)
    values = evaluate.log_likelihood(job)
    again = evaluate.look_again(form, job, values)
    if len(again):
        values[again] = log_likelihood(form, sequences[again], burn_in=burn_in, threads=threads, method="single")
    return values


def gradient(
    form: LinearForm,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    burn_in_gradient: bool = False,
    threads: int | None = None,
    method: str | None = None,
    dtype: Any = np.float64,
    slopes_of_zeros: bool = True,
) -> Gradient:
    """Return the log-likelihoods and the gradient of their weighted sum by T, r₀ and σ.

    With normalised states α, backward functionals β and step probabilities c it is G_y = Σ w β_t α_{t-1}ᵀ / c_t
    over every t with symbol y. The same G serves all learners: Baum–Welch's expected counts are T ∘ G.

    Parameters
    ----------
    form, sequences, burn_in, threads, method, dtype
        As for `log_likelihood`.
    burn_in_gradient : bool
        By default the state x_b after the burn-in is a constant (as in the paper's code), and r₀ has no gradient
        if b > 0. If true, ℓ = log P(all) − log P(first b) is differentiated in full.
    slopes_of_zeros : bool
        If false, the gradient by a row of T_y that is zero throughout may be left at zero, which saves its cost:
        for learners under whose updates zeros stay.

    Returns
    -------
    Gradient

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.engine import gradient
    >>> from hqmm.linear import LinearForm
    >>> coin = LinearForm(np.array([[[0.25]], [[0.75]]]), np.ones(1), np.ones(1))
    >>> gradient(coin, Sequences([[0, 1, 1]]), burn_in=1).operators[:, 0, 0]
    array([0.        , 2.66666667])
    """
    burn_in = _check(form, sequences, burn_in, dtype)
    if _weight(form) == 0:
        return _nothing(form, len(sequences))
    from hqmm.engine import evaluate
    from hqmm.engine.plan import make_plan

    plan = make_plan(form, sequences, burn_in=burn_in, threads=threads, method=method, dtype=dtype)
    job = evaluate.job_of(form, sequences, plan, burn_in, burn_in_gradient, slopes_of_zeros)
    values, *parts = evaluate.gradient(job)
    again = evaluate.look_again(form, job, values)
    finite = all(np.isfinite(part).all() for part in parts)
    if not finite and job.exact:
        raise ModelError(OVERFLOW)
    if not finite:
        parts, again = [np.zeros_like(part) for part in parts], np.arange(len(values))
    if len(again):
        rest = gradient(
            form, sequences[again], burn_in=burn_in, burn_in_gradient=burn_in_gradient, threads=threads,
            method="single", slopes_of_zeros=slopes_of_zeros,
        )  # fmt: skip
        values[again] = rest.log_likelihood
        parts = [
            part + more for part, more in zip(parts, (rest.operators, rest.initial, rest.evaluation), strict=True)
        ]
    operators, initial, evaluation = parts
    possible = np.isfinite(values)
    total = float(sequences.weights[possible] @ values[possible])
    return Gradient(values, operators, initial, evaluation, int(len(values) - possible.sum()), total)


def explain_plan(
    form: LinearForm,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    threads: int | None = None,
    method: str | None = None,
    dtype: Any = np.float64,
) -> Plan:
    """Return how the engine would compute this: form, pieces, threads, and the cost it predicts for every form.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.engine import explain_plan
    >>> from hqmm.linear import LinearForm
    >>> form = LinearForm(np.full((2, 36, 36), 1 / 72), np.full(36, 1 / 36), np.ones(36))
    >>> data = Sequences(np.random.default_rng(0).integers(0, 2, (3000, 200)))
    >>> print(explain_plan(form, data, threads=2))
    triples (steps of three symbols, ...); pieces: ..., threads: 2; predicted gradient on one thread: single ...
    """
    from hqmm.engine.plan import make_plan

    burn_in = _check(form, sequences, burn_in, dtype)
    return make_plan(form, sequences, burn_in=burn_in, threads=threads, method=method, dtype=dtype)


def _check(form: Any, sequences: Any, burn_in: int, dtype: Any) -> int:
    """Refuse what cannot be computed; return the burn-in as a plain int."""
    if not isinstance(form, LinearForm):
        hint = "; pass its real form, model.linear" if hasattr(form, "linear") else ""
        raise ModelError(f"form must be a LinearForm, not {type(form).__name__}{hint}")
    try:
        known = np.dtype(dtype) in (np.float64, np.float32)
    except TypeError:
        known = False
    if not known:
        raise ModelError(f"dtype must be float64 or float32, not {dtype!r}")
    return check_data(sequences, form.n_symbols, burn_in)


def check_data(sequences: Any, n_symbols: int, burn_in: Any) -> int:
    """Refuse sequences that a model of so many symbols cannot read; return the burn-in as a plain int.

    Examples
    --------
    >>> from hqmm import DataError, Sequences
    >>> from hqmm.engine import check_data
    >>> try:
    ...     check_data(Sequences([[0, 1], [1, 2]]), n_symbols=2, burn_in=0)
    ... except DataError as error:
    ...     print(error)
    sequence 1, position 1: the code 2 is not one of the model's 2 symbols
    """
    refuse_raw(sequences)
    try:
        burn_in = operator.index(burn_in)
    except TypeError as error:
        raise ModelError(f"burn_in must be a whole number, not {burn_in!r}") from error
    if burn_in < 0:
        raise ModelError(f"burn_in must not be negative, as {burn_in} is")
    if len(sequences.alphabet) > n_symbols and np.any(sequences.codes >= n_symbols):
        place = int(np.argmax(sequences.codes >= n_symbols))
        row = int(np.searchsorted(sequences.offsets, place, side="right")) - 1
        raise DataError(
            f"the code {sequences.codes[place]} is not one of the model's {n_symbols} symbols",
            sequence=row,
            position=place - int(sequences.offsets[row]),
        )
    return int(burn_in)


def refuse_raw(sequences: object) -> None:
    """Refuse data that have not been read: the engine knows no alphabet to read them with.

    Examples
    --------
    >>> from hqmm import DataError
    >>> from hqmm.engine import refuse_raw
    >>> try:
    ...     refuse_raw([[0, 1]])
    ... except DataError as error:
    ...     print(error)
    sequences must be Sequences, not list; pass Sequences(…), or model.encode(…) to read them as the model does
    """
    if not isinstance(sequences, Sequences):
        raise DataError(
            f"sequences must be Sequences, not {type(sequences).__name__}; pass Sequences(…), or model.encode(…) "
            "to read them as the model does"
        )


def _weight(form: LinearForm) -> float:
    """Return σᵀr₀, zero where it is rounding; refuse it where it is negative."""
    weight = float(form.evaluation @ form.initial)
    if weight > 0:
        return weight
    if weight < -ROUNDING * float(np.abs(form.evaluation) @ np.abs(form.initial)):
        raise ModelError(f"the initial state has the negative weight σᵀr₀ = {weight:.3g}")
    return 0.0


def _nothing(form: LinearForm, count: int) -> Gradient:
    """Return the gradient of a model that gives every sequence no probability."""
    values = np.full(count, -np.inf)
    zero = np.zeros(form.dimension)
    return Gradient(values, np.zeros(form.operators.shape), zero, zero.copy(), count, 0.0)
