"""Likelihood and gradient of an HQMM with respect to its Kraus operators and its initial state.

The gradient is the Wirtinger derivative ∂ℓ/∂K*, of the shape of K, in the convention

    dℓ = 2 Re Σ conj(∂ℓ/∂K*) · dK,    that is    ∂ℓ/∂K* = (∂ℓ/∂Re K + i ∂ℓ/∂Im K) / 2,

so it points uphill. ∂ℓ/∂ρ₀ is the Hermitian matrix with dℓ = tr(∂ℓ/∂ρ₀ dρ₀).

With ρ_t the states and Z_t the backward functionals (Z_{t−1} = Σ_w K_w† Z_t K_w, and I / tr ρ_T at the end),

    ∂ℓ/∂K*_{y,w} = Σ_{t: y_t = y} Z_t K_{y,w} ρ_{t−1},    ∂ℓ/∂ρ₀ = Z_0.

Three forms compute it, see `explain`; which one is a matter of cost, not of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hqmm._typing import AnyArray, ComplexArray, FloatArray, IntArray
from hqmm.channels import TOLERANCE
from hqmm.engine import OVERFLOW, check_data
from hqmm.errors import ModelError, NegativeProbabilityError
from hqmm.linear import ROUNDING, LinearForm
from hqmm.sequences import Sequences

if TYPE_CHECKING:
    from hqmm.engine.kraus_kernels import Maps
    from hqmm.engine.layout import Layout
    from hqmm.engine.plan import Plan

METHODS = ("real", "kraus", "pure")

# States of one piece in bytes; a longer sequence is computed in stretches, and its forward pass twice.
_PIECE_BYTES = 2**23
# What one product works on, in form 4, in bytes.
_WORK_BYTES = 2**16
_SHORTEST_STRETCH = 64
_PIECE_SECONDS, _MOST_PIECES = 2e-3, 16
_THREADED_SECONDS = 5e-4

# The cost model of forms 4 and 5, measured on one core of an AVX-512 machine, beside that of ``plan``.
_RATE, _PURE_RATE = 75e9, 50e9  # operations per second
_TRANSPOSE = 0.9e-9  # seconds for a complex number of K ρ
_STATE, _PURE_STATE = 80e-9, 40e-9  # seconds for looking after a state, and for each of its vectors
_VECTOR = 12e-9
_START = 150e-6
_PULL_BACK = 2e-9  # seconds for an entry of T, both ways
_MOST_WORDS = 2**16
_ALWAYS_REAL = 3

_REASONS = {
    "small": "real operators, as the dimension is small",
    "real": "real operators, whose step of n⁴ operations is cheapest at this dimension and Kraus rank",
    "kraus": "K ρ K† with complex operators, as 2wn³ is below n⁴",
    "pure": "the pure states that ρ₀ mixes stay pure, as there is one operator per symbol",
}

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class KrausGradient:
    """Log-likelihoods and the gradient of their weighted sum.

    Attributes
    ----------
    log_likelihood : (N,) array
        Of each sequence; −inf where it is impossible.
    kraus : (s, w, n, n) complex array
        ∂ℓ/∂K*, so that dℓ = 2 Re Σ conj(∂ℓ/∂K*) dK.
    initial : (n, n) complex array
        ∂ℓ/∂ρ₀, Hermitian, so that dℓ = tr(∂ℓ/∂ρ₀ dρ₀); zero where the burn-in carries no gradient.
    n_zero : int
        Number of impossible sequences, which are left out of the gradient.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.engine.kraus import kraus_gradient
    >>> model = hqmm_2_6()
    >>> result = kraus_gradient(model.kraus, model.initial, model.encode([[0, 2, 4], [0, 1]]))
    >>> result.log_likelihood.round(3), result.n_zero
    (array([-5.375,   -inf]), 1)
    """

    log_likelihood: FloatArray
    kraus: ComplexArray
    initial: ComplexArray
    n_zero: int


# --- the way from and to the real form ------------------------------------------------------------------------


def pull_back(kraus: ArrayLike, operators: ArrayLike) -> ComplexArray:
    """Return ∂ℓ/∂K* from ∂ℓ/∂T, where T are the real operators of the Kraus operators.

    With B the Hermitian basis of T (`hqmm.channels.hermitian_basis`) it is Σ_kl (∂ℓ/∂T)_kl B_k K B_l: w n⁴ complex
    multiply-adds for each symbol.

    Parameters
    ----------
    kraus : (s, w, n, n) array
    operators : (s, n², n²) array of float
        ∂ℓ/∂T, as `hqmm.engine.gradient` returns it.

    Returns
    -------
    (s, w, n, n) complex array
        dℓ = 2 Re Σ conj(∂ℓ/∂K*) dK.

    Examples
    --------
    The derivative of log |k|² with respect to k* is 1/k*:

    >>> from hqmm.engine.kraus import pull_back
    >>> k = 0.6 + 0.8j
    >>> pull_back([[[[k]]]], [[[1 / abs(k) ** 2]]]).ravel()
    array([0.6+0.8j])
    """
    K = _kraus_array(kraus)
    s, _, n, _ = K.shape
    G = np.ascontiguousarray(operators, dtype=np.float64)
    if G.shape != (s, n * n, n * n):
        raise ModelError(f"operators must have shape (s, n², n²) = {(s, n * n, n * n)}, not {G.shape}")
    return _pull_back(K, G)


def pull_back_initial(initial: ArrayLike) -> ComplexArray:
    """Return ∂ℓ/∂ρ₀ from ∂ℓ/∂r₀, where r₀ are the real coordinates of ρ₀.

    As the basis is orthonormal, they are the coordinates of ∂ℓ/∂ρ₀.

    Parameters
    ----------
    initial : (n²,) array of float

    Returns
    -------
    (n, n) complex array
        Hermitian, with dℓ = tr(∂ℓ/∂ρ₀ dρ₀).

    Examples
    --------
    >>> from hqmm.engine.kraus import pull_back_initial
    >>> pull_back_initial([1.0, 1.0, 0.0, 0.0]).real
    array([[1., 0.],
           [0., 1.]])
    """
    coordinates = np.asarray(initial, dtype=np.float64)
    n = isqrt(coordinates.size)
    if coordinates.shape != (n * n,):
        raise ModelError(f"initial must have shape (n²,), not {coordinates.shape}")
    return _hermitian(coordinates, n)


def linear_form(kraus: ArrayLike, initial: ArrayLike) -> LinearForm:
    """Return the real linear form of Kraus operators and an initial state, in the Hermitian basis.

    Parameters
    ----------
    kraus : (s, w, n, n) array
    initial : (n, n) array

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.engine.kraus import linear_form
    >>> model = hqmm_2_6()
    >>> linear_form(model.kraus, model.initial).dimension
    4
    """
    K = _kraus_array(kraus)
    return _linear_form(K, _state(initial, K.shape[-1]))


def _linear_form(K: ComplexArray, rho: ComplexArray) -> LinearForm:
    from hqmm.engine import kraus_kernels

    s, w, n, _ = K.shape
    rows = K.reshape(s, w, n * n)
    products = rows.swapaxes(1, 2) @ rows.conj()
    operators = np.empty((s, n * n, n * n))
    kraus_kernels.to_real(products.reshape(s, n, n, n, n), operators)
    initial, evaluation = np.empty(n * n), np.zeros(n * n)
    kraus_kernels.coordinates(rho, initial)
    evaluation[:n] = 1.0
    return LinearForm(operators, initial, evaluation)


def _pull_back(K: ComplexArray, G: FloatArray) -> ComplexArray:
    from hqmm.engine import kraus_kernels

    s, w, n, _ = K.shape
    units = np.empty((s, n, n, n, n), dtype=np.complex128)
    kraus_kernels.from_real(G, units)
    result: ComplexArray = K.reshape(s, w, n * n) @ units.reshape(s, n * n, n * n)
    return result.reshape(K.shape)


def _hermitian(coordinates: FloatArray, n: int) -> ComplexArray:
    from hqmm.engine import kraus_kernels

    result = np.empty((n, n), dtype=np.complex128)
    kraus_kernels.combine(coordinates, result)
    return result


# --- likelihood and gradient ----------------------------------------------------------------------------------


def kraus_log_likelihood(
    kraus: ArrayLike,
    initial: ArrayLike,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    threads: int | None = None,
    method: str | None = None,
) -> FloatArray:
    """Return the natural log-probability of each sequence, −inf where it is impossible.

    Parameters
    ----------
    kraus : (s, w, n, n) array
        Kraus operators by symbol and operator.
    initial : (n, n) array
        State before the first symbol: Hermitian, of positive trace.
    sequences : Sequences
        Over an alphabet of s symbols; a missing symbol applies the operators of all symbols.
    burn_in : int
        The first symbols of each sequence update the state but are not scored.
    threads : int, optional
        All cores by default. The result is the same, bit for bit, for any number.
    method : {"real", "kraus", "pure"}, optional
        The form to compute in; by default what `explain` expects to be fastest.

    Returns
    -------
    (N,) array

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.engine.kraus import kraus_log_likelihood
    >>> model = hqmm_2_6()
    >>> kraus_log_likelihood(model.kraus, model.initial, model.encode([[0, 2, 4], [0, 1]])).round(3)
    array([-5.375,   -inf])
    """
    K, rho, burn_in = _checked(kraus, initial, sequences, burn_in)
    plan, mixture = _plan(K, rho, sequences, burn_in, False, threads, method)
    if plan.method == "real":
        from hqmm import engine

        return engine.log_likelihood(_linear_form(K, rho), sequences, burn_in=burn_in, threads=threads)
    job = _job(K, rho, sequences, burn_in, False, mixture)
    values = np.empty(len(sequences))
    for run in _in_order(partial(_run, job), plan):
        values[run.chosen] = run.log_likelihood
    _refuse_negative(job, values)
    return values


def kraus_gradient(
    kraus: ArrayLike,
    initial: ArrayLike,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    burn_in_gradient: bool = False,
    threads: int | None = None,
    method: str | None = None,
) -> KrausGradient:
    """Return log-likelihoods and the gradient of their weighted sum, with respect to K* and ρ₀.

    Parameters
    ----------
    kraus, initial, sequences, burn_in, threads, method
        As for `kraus_log_likelihood`; the sequences' weights are those of the sum.
    burn_in_gradient : bool
        Differentiate through the burn-in too. By default the state after it counts as a constant, as in the
        paper's code, and ρ₀ has no gradient.

    Returns
    -------
    KrausGradient

    Examples
    --------
    The derivative of log |k|² with respect to k* is 1/k*:

    >>> from hqmm import Sequences
    >>> from hqmm.engine.kraus import kraus_gradient
    >>> kraus_gradient([[[[0.6 + 0.8j]]]], [[1]], Sequences([[0]])).kraus.ravel()
    array([0.6+0.8j])
    """
    K, rho, burn_in = _checked(kraus, initial, sequences, burn_in)
    whole = burn_in_gradient or burn_in == 0
    plan, mixture = _plan(K, rho, sequences, burn_in, whole, threads, method)
    if plan.method == "real":
        return _real_gradient(K, rho, sequences, burn_in, burn_in_gradient, threads)
    job = _job(K, rho, sequences, burn_in, whole, mixture)
    values = np.empty(len(sequences))
    total, root = np.zeros(job.gradient_shape), np.zeros(job.maps.start.shape)
    for part in _in_order(partial(_differentiate, job), plan):
        values[part.chosen] = part.log_likelihood
        total += part.operators
        root += part.root
    _refuse_negative(job, values)
    slopes, start = job.to_kraus(total), job.to_initial(root)
    if not (np.isfinite(slopes).all() and np.isfinite(start).all()):
        raise ModelError(OVERFLOW)
    return KrausGradient(values, slopes, start, int(np.isneginf(values).sum()))


def _real_gradient(
    K: ComplexArray,
    rho: ComplexArray,
    sequences: Sequences,
    burn_in: int,
    burn_in_gradient: bool,
    threads: int | None,
) -> KrausGradient:
    from hqmm import engine

    real = engine.gradient(
        _linear_form(K, rho), sequences, burn_in=burn_in, burn_in_gradient=burn_in_gradient, threads=threads
    )
    return KrausGradient(
        real.log_likelihood, _pull_back(K, real.operators), _hermitian(real.initial, K.shape[-1]), real.n_zero
    )


# --- which form -----------------------------------------------------------------------------------------------


def explain(
    kraus: ArrayLike,
    initial: ArrayLike,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    burn_in_gradient: bool = False,
    threads: int | None = None,
    method: str | None = None,
) -> Plan:
    """Return how `kraus_gradient` would compute this, and the cost it predicts for every form.

    With c complex multiply-adds for a step of one state (a complex one is four real ones):

    - "real": real operators, n⁴ real ones, with all the means of `hqmm.engine.gradient`, then `pull_back`;
    - "kraus": ρ ← Σ_w K_w ρ K_w†, c = 2wn³ forward, 3wn³ backward;
    - "pure": for w = 1, no missing symbols and ρ₀ = Σ_j v_j v_j† of rank r: the v_j stay apart, c = rn² forward,
      2rn² backward, or (r + n)n² where ρ₀ has a gradient.

    Parameters
    ----------
    kraus, initial, sequences, burn_in, burn_in_gradient, threads, method
        As for `kraus_gradient`.

    Returns
    -------
    Plan
        Its ``method`` is one of the above.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.channels import random_kraus
    >>> from hqmm.engine.kraus import explain
    >>> data = Sequences(np.random.default_rng(0).integers(0, 4, (20, 300)))
    >>> explain(random_kraus(4, 2, 2), np.eye(2) / 2, data).method
    'real'
    >>> explain(random_kraus(4, 2, 40), np.eye(40) / 40, data).method
    'kraus'
    >>> explain(random_kraus(4, 1, 20), np.eye(20) / 20, data).method
    'pure'
    """
    K, rho, burn_in = _checked(kraus, initial, sequences, burn_in)
    plan, _ = _plan(K, rho, sequences, burn_in, burn_in_gradient or burn_in == 0, threads, method)
    return plan


class _Mixture(NamedTuple):
    """ρ₀ = Σ_{j < counted} v_j v_j†, and v_j = scale_j times the columns of an isometry."""

    columns: ComplexArray
    scale: FloatArray
    counted: int


class _Size(NamedTuple):
    """What the cost of an evaluation depends on."""

    s: int
    w: int
    n: int
    n_sequences: int
    total: int
    scored: int
    longest: int
    counted: int  # vectors of a pure form, 0 where it is impossible
    followed: int  # the same with those that only ∂ℓ/∂ρ₀ needs


def _plan(
    K: ComplexArray,
    rho: ComplexArray,
    sequences: Sequences,
    burn_in: int,
    whole: bool,
    threads: int | None,
    method: str | None,
) -> tuple[Plan, _Mixture | None]:
    """Choose a form; also return ρ₀ as a mixture, if the form is "pure"."""
    from hqmm.engine.plan import Plan
    from hqmm.engine.threads import available, check_threads

    if method not in (None, *METHODS):
        raise ModelError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    check_threads(threads)
    s, w, n, _ = K.shape
    if method == "real" or (method is None and n <= _ALWAYS_REAL):
        return Plan("real", 1, [], {}, "as asked for" if method else _REASONS["small"]), None
    lengths = sequences.lengths
    total = sequences.n_symbols
    mixture = _mixture(rho, whole) if w == 1 and method != "kraus" and not sequences.has_missing else None
    counted, followed = (mixture.counted, len(mixture.scale)) if mixture else (0, 0)
    scored = int(np.maximum(lengths - burn_in, 0).sum()) if burn_in else total
    longest = int(lengths.max(initial=0))
    seconds = _seconds(_Size(s, w, n, len(lengths), total, scored, longest, counted, followed))
    chosen = method or min(seconds, key=lambda name: seconds[name])
    if chosen not in seconds:
        raise ModelError(
            'method "pure" needs one Kraus operator per symbol (w = 1), no missing symbols and a positive '
            'semidefinite initial state; use "kraus" or "real"'
        )
    if threads is None:
        threads = available() if seconds[chosen] > _THREADED_SECONDS else 1
    reason = "as asked for" if method else _REASONS[chosen]
    if chosen == "real":
        return Plan("real", threads, [], seconds, reason), None
    state = 16 * n * (followed if chosen == "pure" else n)
    limit = min(_PIECE_BYTES // state, total // max(1, min(_MOST_PIECES, int(seconds[chosen] / _PIECE_SECONDS))))
    pieces = _cut(lengths, max(1, limit))
    return Plan(chosen, max(1, min(threads, len(pieces))), pieces, seconds, reason), mixture


def _cut(lengths: IntArray, limit: int) -> list[IntArray]:
    """Cut into pieces of at most twice ``limit`` symbols, like lengths together; longer sequences go alone."""
    if len(lengths) == 0:
        return []
    order = np.argsort(lengths, kind="stable")
    number = (np.cumsum(lengths[order]) - 1) // limit
    return np.split(order, np.flatnonzero(np.diff(number)) + 1)


@lru_cache(maxsize=256)
def _seconds(size: _Size) -> dict[str, float]:
    """Return the seconds a gradient should take on one thread, by every form that is possible."""
    result = {"real": _real_seconds(size), "kraus": _kraus_seconds(size)}
    if size.counted:
        result["pure"] = _pure_seconds(size)
    return result


def _real_seconds(size: _Size) -> float:
    from hqmm.engine.plan import Work, predict
    from hqmm.engine.tiles import lanes

    m = size.n**2
    work = Work(m, size.s, size.n_sequences, size.total, size.scored, size.longest, size.total, 8, lanes(float))
    letters = {"single": 1, "batched": 1, "pairs": 2, "triples": 3}
    possible = [name for name, count in letters.items() if (size.s + 1) ** count <= _MOST_WORDS]
    return min(predict(work, name) for name in possible) + size.s * size.w * m * m * _PULL_BACK


def _kraus_seconds(size: _Size) -> float:
    n, w = size.n, size.w
    each = 16 * w * n**3 / _RATE + 2 * w * n * n * _TRANSPOSE + _STATE
    collect = 8 * w * n**3 / _RATE
    return size.total * each + size.scored * (each + collect) + _START


def _pure_seconds(size: _Size) -> float:
    step = 8 * size.followed * size.n**2 / _PURE_RATE + size.followed * _VECTOR + _PURE_STATE
    collect = 8 * size.counted * size.n**2 / _PURE_RATE
    return size.total * step + size.scored * (step + collect) + _START


def _mixture(rho: ComplexArray, whole: bool) -> _Mixture | None:
    """Return the eigenvectors of ρ₀ as a mixture of pure states, or None where one has a negative weight.

    Those of weight zero are kept where ∂ℓ/∂ρ₀ is wanted (``whole``): it has a component along them.
    """
    values, vectors = np.linalg.eigh(rho)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = len(values) * np.finfo(float).eps * values[0]
    if values[-1] < -rounding:
        return None
    counted = int(np.sum(values > rounding))
    kept = len(values) if whole else counted
    scale = np.sqrt(np.where(values > rounding, values, 1.0))[:kept]
    return _Mixture(vectors[:, :kept], scale, counted)


# --- forms 4 and 5 --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """One evaluation: what its pieces share."""

    maps: Maps
    kraus: ComplexArray
    rho: ComplexArray
    mixture: _Mixture | None
    codes: AnyArray
    sequences: Sequences
    burn_in: int
    whole: bool

    @property
    def gradient_shape(self) -> tuple[int, ...]:
        """Shape of Σ Aᵀ X over pairs of vectors, for each symbol."""
        return len(self.kraus), self.maps.first_back.shape[1] * self.kraus.shape[1], self.maps.start.shape[1]

    def to_kraus(self, total: FloatArray) -> ComplexArray:
        """Return ∂ℓ/∂K* = A†X from the products of real and imaginary parts; in form 5 its conjugate."""
        s, w, n, _ = self.kraus.shape
        of = total.reshape(s, 2, w, n, -1)[..., : 2 * n].reshape(s, 2, w, n, 2, n)
        real, imag = of[:, 0, ..., 0, :] + of[:, 1, ..., 1, :], of[:, 0, ..., 1, :] - of[:, 1, ..., 0, :]
        result: ComplexArray = real + 1j * imag if self.mixture is None else real - 1j * imag
        return result

    def to_initial(self, root: FloatArray) -> ComplexArray:
        """Return ∂ℓ/∂ρ₀ = Z_0 from the functional at the root: its rows or, in form 5, its products with v_j."""
        n = self.maps.n
        rows: ComplexArray = root[:, :n] + 1j * root[:, n : 2 * n]
        if not self.whole:
            return np.zeros((n, n), dtype=np.complex128)
        if self.mixture is not None:
            rows = (rows / self.mixture.scale[:, None]).T @ self.mixture.columns.conj().T
        result: ComplexArray = (rows + rows.conj().T) / 2
        return result


class _Stretch(NamedTuple):
    """Sequences side by side, or a part of one that is too long."""

    tokens: IntArray
    starts: IntArray
    begin: int  # symbols before it
    split: int  # symbols in it that belong to the burn-in


class _Sweep(NamedTuple):
    """The forward pass over a stretch."""

    layout: Layout
    X: FloatArray
    traces: FloatArray
    powers: IntArray


class _Run(NamedTuple):
    """The forward pass over a piece."""

    chosen: IntArray
    stretches: list[_Stretch]
    marks: list[tuple[FloatArray, int]]  # state and power before each stretch
    last: _Sweep
    scored: AnyArray
    log_likelihood: FloatArray


class _Part(NamedTuple):
    """What one piece adds to the gradient."""

    chosen: IntArray
    log_likelihood: FloatArray
    operators: FloatArray
    root: FloatArray


def _job(
    K: ComplexArray, rho: ComplexArray, sequences: Sequences, burn_in: int, whole: bool, mixture: _Mixture | None
) -> _Job:
    from hqmm.engine.kraus_kernels import Maps
    from hqmm.engine.tiles import addresses

    s, w, n, _ = K.shape
    beside, below = K.swapaxes(1, 2).reshape(s, n, w * n), K.reshape(s, w * n, n)
    if mixture is None:
        adjoint = K.conj().swapaxes(2, 3)
        first, second = (
            _as_real(adjoint.swapaxes(1, 2).reshape(s, n, w * n)),
            _as_real(adjoint.reshape(s, w * n, n)),
        )
        back = _as_real(beside), _as_real(below)
        start, counted = rho, n
    else:
        first = second = _as_real(K[:, 0].swapaxes(1, 2))
        back = (_as_real(K[:, 0].conj()),) * 2
        start, counted = (mixture.columns * mixture.scale).T, mixture.counted
    maps = Maps(addresses(np.float64), first, second, *back, _side_by_side(start), n, counted, mixture is None)
    return _Job(maps, K, rho, mixture, sequences.codes.astype(np.int32), sequences, burn_in, whole)


def _side_by_side(rows: ComplexArray) -> FloatArray:
    """Return real parts and imaginary parts side by side, padded to whole vectors."""
    from hqmm.engine.tiles import aligned, padded

    n = rows.shape[-1]
    result = aligned((*rows.shape[:-1], padded(2 * n, np.float64)), np.float64)
    result[..., :n], result[..., n : 2 * n] = rows.real, rows.imag
    return result


def _as_real(matrices: ComplexArray) -> FloatArray:
    """Return [[Re, Im], [−Im, Re]] of each matrix: it multiplies rows of real and imaginary parts side by side."""
    return _side_by_side(np.concatenate([matrices, 1j * matrices], axis=1))


def _in_order(work: Callable[[IntArray], _Result], plan: Plan) -> Iterator[_Result]:
    from hqmm.engine.threads import in_order

    return in_order(work, plan.pieces, plan.threads)


def _stretches(job: _Job, chosen: IntArray) -> list[_Stretch]:
    from hqmm.engine.layout import tokenise

    letters = len(job.kraus) + 1
    tokens, starts = tokenise(
        job.codes, job.sequences.offsets, chosen, job.burn_in, 1, letters, np.arange(letters)
    )
    longest = max(_SHORTEST_STRETCH, _PIECE_BYTES // job.maps.start.nbytes)
    if len(chosen) > 1 or len(tokens) <= longest:
        return [_Stretch(tokens, starts, 0, job.burn_in)]
    cuts = [*range(0, len(tokens), longest), len(tokens)]
    return [
        _Stretch(tokens[a:b], np.array([0, b - a]), a, min(max(job.burn_in - a, 0), b - a))
        for a, b in pairwise(cuts)
    ]


def _run(job: _Job, chosen: IntArray) -> _Run:
    stretches = _stretches(job, chosen)
    lengths = job.sequences.lengths[chosen]
    scored = (lengths > job.burn_in) | (job.burn_in == 0)
    mark, marks = (job.maps.start, 0), []
    before = np.zeros(len(chosen))
    for stretch in stretches:
        marks.append(mark)
        sweep = _sweep(job, stretch, mark)
        if _holds_split(job, stretch):
            before = _log_traces(job, sweep, sweep.layout.burned)
        mark = sweep.X[-len(job.maps.start) :].copy(), int(sweep.powers[-1])
    after = _log_traces(job, sweep, sweep.layout.final)
    before[np.isneginf(before)] = 0.0
    values = np.where(np.isneginf(after), after, np.where(scored, after - before, 0.0))
    return _Run(chosen, stretches, marks, sweep, scored, values)


def _holds_split(job: _Job, stretch: _Stretch) -> bool:
    """Whether the burn-in ends in a stretch."""
    return stretch.split > 0 and stretch.begin + stretch.split == job.burn_in


def _sweep(job: _Job, stretch: _Stretch, mark: tuple[FloatArray, int]) -> _Sweep:
    from hqmm.engine import kraus_kernels
    from hqmm.engine.layout import arrange
    from hqmm.engine.workspace import borrow

    layout = arrange(stretch.tokens, stretch.starts, len(job.kraus) + 1, stretch.split, True)
    count, c = len(layout.parent), len(job.maps.start)
    X = borrow("X", (count * c, job.maps.start.shape[1]), np.float64)
    traces, powers = np.empty(count), np.empty(count, np.int64)
    X[:c], powers[0] = mark
    traces[0] = kraus_kernels.trace(X, 0, job.maps.n, job.maps.counted, job.maps.mixed)
    kraus_kernels.forward(job.maps, layout, X, traces, powers, *_room(job))
    return _Sweep(layout, X, traces, powers)


def _room(job: _Job) -> tuple[FloatArray, FloatArray]:
    """Return working memory for one product, in form 4 for K ρ: as many whole states as a near cache holds."""
    from hqmm.engine.workspace import borrow

    c, width = len(job.maps.start), job.maps.first.shape[2]
    rows = c * max(1, _WORK_BYTES // (8 * c * width))
    return borrow("M", (rows, width), np.float64), borrow("P", (rows, width), np.float64)


def _log_traces(job: _Job, sweep: _Sweep, states: IntArray) -> FloatArray:
    """Return log tr ρ of the true states: without their scales, which count twice in form 5."""
    traces = sweep.traces[states]
    powers = sweep.powers[states] * (1 if job.mixture is None else 2)
    logs = np.log(np.where(traces > 0, traces, 1.0)) - np.log(2.0) * powers
    return np.where(traces > 0, logs, -np.inf)


def _differentiate(job: _Job, chosen: IntArray) -> _Part:
    from hqmm.engine import kraus_kernels
    from hqmm.engine.tiles import aligned

    run = _run(job, chosen)
    weights = np.where(run.scored & np.isfinite(run.log_likelihood), job.sequences.weights[chosen], 0.0)
    operators, functional = aligned(job.gradient_shape, np.float64), np.zeros(job.maps.start.shape)
    for number in range(len(run.stretches) - 1, -1, -1):
        stretch, final = run.stretches[number], number == len(run.stretches) - 1
        if not job.whole and stretch.begin > 0 and stretch.split == len(stretch.tokens):
            break
        sweep = run.last if final else _sweep(job, stretch, run.marks[number])
        sources, amounts = _sources(job, stretch, sweep.layout, weights, final)
        first_level = 0 if job.whole else stretch.split
        functional = kraus_kernels.backward(
            job.maps, sweep.layout, sweep.X, sweep.traces, sweep.powers, _ring(job, sweep.layout), operators,
            *_room(job), sources, amounts, functional, first_level, job.whole or stretch.begin > job.burn_in,
        )  # fmt: skip
    return _Part(chosen, run.log_likelihood, operators, functional)


def _sources(
    job: _Job, stretch: _Stretch, layout: Layout, weights: FloatArray, final: bool
) -> tuple[IntArray, FloatArray]:
    """Return where functionals begin, last state first: at the ends and, less the same, after the burn-in."""
    states, amounts = np.zeros(0, np.int64), np.zeros(0)
    if final:
        states, amounts = layout.final, weights
    if job.whole and _holds_split(job, stretch):
        states, amounts = np.concatenate([states, layout.burned]), np.concatenate([amounts, -weights])
    order = np.argsort(-states, kind="stable")
    order = order[amounts[order] != 0]
    return states[order], amounts[order]


def _ring(job: _Job, layout: Layout) -> FloatArray:
    """Return room for the functionals of two levels, a power of two of them."""
    from hqmm.engine.workspace import borrow

    level_row = layout.block_start[layout.level_block]
    counts = np.concatenate([[1], np.diff(level_row)])
    alive = int((counts[1:] + counts[:-1]).max(initial=1))
    c, width = job.maps.start.shape
    return borrow("Z", ((1 << (alive - 1).bit_length()) * c, width), np.float64)


def _refuse_negative(job: _Job, values: FloatArray) -> None:
    """Look again, symbol by symbol, at sequences without probability; refuse a negative one."""
    from hqmm.engine import kraus_kernels

    for number in np.flatnonzero(np.isneginf(values)):
        position, probability, bound = kraus_kernels.inspect(job.kraus, job.rho, job.sequences[number])
        if probability < -ROUNDING * bound:
            raise NegativeProbabilityError(int(number), position, probability)
        if not np.isfinite(probability):
            raise ModelError(
                f"sequence {number}, position {position}: the state overflows; "
                "rescale the operators so that Σ K†K = I (see hqmm.channels.nearest_isometry)"
            )


# --- what is accepted -----------------------------------------------------------------------------------------


def _checked(
    kraus: ArrayLike, initial: ArrayLike, sequences: Sequences, burn_in: int
) -> tuple[ComplexArray, ComplexArray, int]:
    K = _kraus_array(kraus)
    burn_in = check_data(sequences, len(K), burn_in)
    return K, _state(initial, K.shape[-1]), burn_in


def _kraus_array(kraus: ArrayLike) -> ComplexArray:
    K = np.ascontiguousarray(kraus, dtype=np.complex128)
    if K.ndim != 4 or K.shape[2] != K.shape[3] or 0 in K.shape:
        raise ModelError(f"kraus must have shape (s, w, n, n), none of them 0, not {K.shape}")
    if not np.isfinite(K).all():
        raise ModelError("kraus must be finite, but it holds nan or inf")
    return K


def _state(initial: ArrayLike, n: int) -> ComplexArray:
    rho = np.ascontiguousarray(initial, dtype=np.complex128)
    if rho.shape != (n, n):
        raise ModelError(f"initial must have shape (n, n) = {(n, n)}, not {rho.shape}")
    weight = rho.trace().real
    if not (weight > 0 and np.abs(rho - rho.conj().T).max() <= TOLERANCE * weight):
        raise ModelError(f"initial must be Hermitian and of positive trace; its trace is {weight:.3g}")
    return rho
