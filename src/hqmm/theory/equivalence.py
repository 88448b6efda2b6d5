"""Whether two models define the same process, the smallest model of a process, and distances between models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import DataError, ModelError
from hqmm.linear import ROUNDING, LinearForm
from hqmm.models._checks import whole_number
from hqmm.reduction import extend, reduce

if TYPE_CHECKING:
    from hqmm._random import RandomState
    from hqmm.models import HQMM, OOM
    from hqmm.models.base import Model
    from hqmm.sequences import Symbol

EPSILON = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Equivalence:
    """The answer of `equivalent`: true where the models agree, with a distinguishing sequence where they do not.

    Attributes
    ----------
    equal : bool
        Whether the models define the same process; ``bool()`` of the answer gives it too.
    witness : list of symbols, or None
        A sequence, among the shortest, to which the models give different probabilities.
    probabilities : pair of float, or None
        What the first and the second model give it.

    Examples
    --------
    >>> from hqmm.theory import Equivalence
    >>> bool(Equivalence(False, witness=["a"], probabilities=(0.5, 0.4)))
    False
    """

    equal: bool
    witness: list[Symbol | None] | None = None
    probabilities: tuple[float, float] | None = None

    def __bool__(self) -> bool:
        return self.equal


@dataclass(frozen=True)
class Estimate:
    """A Monte Carlo estimate with its standard error.

    Examples
    --------
    >>> from hqmm.theory import Estimate
    >>> print(Estimate(0.25, 0.01))
    0.25 ± 0.01
    """

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.6g} ± {self.error:.2g}"


def equivalent(a: Model, b: Model, tol: float = 1e-8) -> Equivalence:
    """Decide whether two models, of any classes, give every sequence the same probability.

    The test is exact up to ``tol``, not a sample (Tzeng 1992): the models differ somewhere if and only if they
    differ on one of at most m_a + m_b sequences, whose states in the pair of models span every state that
    the pair can reach. Probabilities are compared relative to their size, so that long sequences count as much
    as short ones.

    Parameters
    ----------
    a, b : models over the same alphabet
        Of any class.
    tol : float
        Relative difference of the probabilities of a sequence that counts as a difference.

    Returns
    -------
    Equivalence
        True or false, with a distinguishing sequence where there is one.

    Examples
    --------
    A hidden state that is never told apart from another one makes no difference:

    >>> from hqmm import HMM
    >>> from hqmm.theory import equivalent
    >>> coin = HMM([[1.0]], [[0.3], [0.7]])
    >>> bool(equivalent(coin, HMM([[0.9, 0.2], [0.1, 0.8]], [[0.3, 0.3], [0.7, 0.7]])))
    True
    >>> equivalent(coin, HMM([[1.0]], [[0.4], [0.6]]))
    Equivalence(equal=False, witness=[0], probabilities=(0.3, 0.4))
    """
    if a.alphabet != b.alphabet:
        raise ModelError(
            f"models over different alphabets cannot be compared: {a.alphabet!r} and {b.alphabet!r}; "
            "make one of them with the other's alphabet"
        )
    word = _distinguishing_word(a.linear, b.linear, tol)
    if word is None:
        return Equivalence(True)
    witness = a.alphabet.decode(word)
    return Equivalence(False, witness, (_probability(a.linear, word), _probability(b.linear, word)))


def minimize(model: Model, tol: float = 1e-10) -> OOM:
    """Return the smallest observable operator model of the same process, over the same alphabet.

    The result is a general OOM (Definition 3) in an arbitrary orthonormal basis of what is both reachable and
    observable; its dimension is the rank of the process.

    Parameters
    ----------
    model : model of any class
    tol : float
        Directions shorter than this, relative to the norm of the operator that leads there, do not count.

    Returns
    -------
    OOM

    Examples
    --------
    >>> from hqmm import HMM
    >>> from hqmm.theory import minimize
    >>> minimize(HMM([[0.9, 0.2], [0.1, 0.8]], [[0.3, 0.3], [0.7, 0.7]])).linear.dimension
    1
    """
    from hqmm.models import OOM

    form = reduce(model.linear, tol)
    # The smallest model is as valid as the given one: there is nothing to check again.
    return OOM(form.operators, form.initial, form.evaluation, alphabet=model.alphabet, check_length=0)


def liouville_distance(a: HQMM, b: HQMM) -> float:
    """Return the Frobenius norm of the difference of two HQMMs' Liouville superoperators.

    The Liouville form of a completely positive map is unique, so the distance is zero exactly when the maps are
    the same, however they are split into Kraus operators. It compares maps, not processes: models that differ by
    a unitary change of basis of the hidden space are `equivalent`, yet lie at a positive distance. The initial
    states play no role.

    Parameters
    ----------
    a, b : HQMM
        Of the same dimension and number of symbols.

    Returns
    -------
    float

    Examples
    --------
    Reordering the Kraus operators, or changing their phases, changes nothing:

    >>> import numpy as np
    >>> from hqmm import HQMM
    >>> from hqmm.theory import liouville_distance
    >>> up, down = [[1, 0], [0, 0]], [[0, 0], [0, 1]]
    >>> kraus = np.sqrt(0.5) * np.array([[up, down], [down, up]])
    >>> liouville_distance(HQMM(kraus), HQMM(-kraus[:, ::-1]))
    0.0
    """
    for name, model in (("a", a), ("b", b)):
        if not hasattr(model, "liouville"):
            raise ModelError(
                f"{name} must be an HQMM, not {model!r}; convert it with to_hqmm(), or compare processes with "
                "equivalent()"
            )
    first, second = a.liouville(), b.liouville()
    if first.shape != second.shape:
        raise ModelError(
            f"the Liouville forms have shapes {first.shape} and {second.shape}; only models of one dimension and "
            "one number of symbols have a distance (equivalent() compares processes of any dimension)"
        )
    return float(np.linalg.norm(first - second))


def divergence_rate(
    a: Model,
    b: Model,
    n_sequences: int = 100,
    length: int = 1000,
    burn_in: int = 0,
    random_state: RandomState = None,
) -> Estimate:
    """Estimate the Kullback–Leibler divergence of ``b`` from ``a`` in nats per symbol, by sampling from ``a``.

    The mean of log P_a(y) − log P_b(y) over sampled sequences y, divided by the mean number of scored symbols,
    estimates D(a ‖ b) per symbol for sequences of that length; it tends to the rate as the length grows.

    Parameters
    ----------
    a, b : models over the same alphabet
    n_sequences : int
        How many sequences are drawn; at least 2, for the standard error.
    length : int
        Their length.
    burn_in : int
        The first symbols of each are not scored, so that the initial states matter less.
    random_state : None, int or numpy.random.Generator
        The same seed gives the same estimate.

    Returns
    -------
    Estimate
        ``inf`` with error zero if ``b`` gives one of the sequences probability zero: then the divergence is
        infinite for certain.

    Examples
    --------
    Two coins, where the rate is .5 log(.5/.4) + .5 log(.5/.6) = .0204:

    >>> from hqmm import HMM
    >>> from hqmm.theory import divergence_rate
    >>> fair, bent = HMM([[1.0]], [[0.5], [0.5]]), HMM([[1.0]], [[0.4], [0.6]])
    >>> rate = divergence_rate(fair, bent, random_state=0)
    >>> abs(rate.value - 0.0204) < 4 * rate.error
    True
    """
    for name, value, least in (("n_sequences", n_sequences, 2), ("length", length, 1), ("burn_in", burn_in, 0)):
        whole_number(name, value, least)
    if burn_in >= length:
        raise DataError(f"burn_in must lie between 0 and length − 1 = {length - 1}, but is {burn_in}")
    sequences = a.sample(n_sequences, length, random_state=random_state)
    scored = np.maximum(sequences.lengths - burn_in, 0)
    gains = a.log_likelihood(sequences, burn_in) - b.log_likelihood(sequences, burn_in)
    if np.any(np.isposinf(gains)):
        return Estimate(math.inf, 0.0)
    # A ratio of means, because models with an end symbol stop early.
    rate = gains.sum() / max(scored.sum(), 1)
    spread = np.std(gains - rate * scored, ddof=1) / max(scored.mean(), 1.0)
    return Estimate(float(rate), float(spread / math.sqrt(n_sequences)))


def _distinguishing_word(a: LinearForm, b: LinearForm, tol: float) -> tuple[int, ...] | None:
    """Return a shortest sequence on which two forms differ, or None where there is none.

    Breadth-first over sequences: those whose pair of states lies in the span of earlier pairs are not continued.
    """
    pair = _Pair(a, b)
    basis = np.empty((pair.dimension, 0))
    level = [_Reached((), pair.initial, EPSILON)]
    while level:
        for reached in level:
            if pair.differs(reached, tol):
                return reached.word
        level, basis = _outside(level, basis)
        level = [following for reached in level for following in pair.after(reached)]
    return None


def _outside(level: list[_Reached], basis: FloatArray) -> tuple[list[_Reached], FloatArray]:
    """Pick the words whose states extend the span, farthest first, and extend the basis by them."""
    kept: list[_Reached] = []
    parts = np.array([reached.state for reached in level]).T
    parts = parts - basis @ (basis.T @ parts)
    while True:
        lengths = np.linalg.norm(parts, axis=0)
        farthest = int(np.argmax(lengths))
        if lengths[farthest] <= 1e-10 or basis.shape[1] == len(basis):
            return kept, basis
        basis, parts = extend(basis, parts, farthest)
        kept.append(level[farthest])


class _Reached(NamedTuple):
    """The states of both models after a word, of length one together, and how much of that may be rounding."""

    word: tuple[int, ...]
    state: FloatArray
    noise: float


class _Pair:
    """The difference automaton: both models side by side, each in its smallest form, evaluating P_a − P_b."""

    def __init__(self, a: LinearForm, b: LinearForm) -> None:
        self._parts = [_unit_evaluation(reduce(form)) for form in (a, b)]
        first = self._parts[0].dimension
        self._cut = first
        start = np.concatenate([part.initial for part in self._parts])
        self.initial: FloatArray = start / np.linalg.norm(start)
        self.dimension = len(start)
        self.norms = np.max([np.linalg.norm(part.operators, ord=2, axis=(1, 2)) for part in self._parts], axis=0)

    def after(self, reached: _Reached) -> Iterator[_Reached]:
        """Yield the states after one more symbol, but for those that rounding alone makes possible.

        Where a symbol shrinks the state far below its operator, the rounding of what cancelled is what grows.
        """
        first, second = self._parts
        x, y = reached.state[: self._cut], reached.state[self._cut :]
        images = np.concatenate([first.operators @ x, second.operators @ y], axis=1)
        for code, following in enumerate(images):
            size = np.linalg.norm(following)
            if size > ROUNDING * self.norms[code]:
                noise = (reached.noise + EPSILON) * max(1.0, float(self.norms[code] / size))
                yield _Reached((*reached.word, code), following / size, noise)

    def differs(self, reached: _Reached, tol: float) -> bool:
        first, second = self._parts
        x, y = reached.state[: self._cut], reached.state[self._cut :]
        p, q = float(first.evaluation @ x), float(second.evaluation @ y)
        rounding = max(ROUNDING, reached.noise) * (np.linalg.norm(x) + np.linalg.norm(y))
        return bool(abs(p - q) > tol * max(abs(p), abs(q)) + rounding)


def _unit_evaluation(form: LinearForm) -> LinearForm:
    size = np.linalg.norm(form.evaluation)
    return LinearForm(form.operators, form.initial * size, form.evaluation / size)


def _probability(form: LinearForm, word: tuple[int, ...]) -> float:
    state = form.initial
    for code in word:
        state = form.operators[code] @ state
    return float(form.evaluation @ state)
