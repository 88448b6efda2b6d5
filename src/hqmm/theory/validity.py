"""Whether an observable operator model ever gives a negative probability: searched for, proved, or left open."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from hqmm._typing import AnyArray, FloatArray
from hqmm.linear import LinearForm
from hqmm.models._checks import whole_number
from hqmm.reduction import reduce
from hqmm.theory import cones
from hqmm.theory.witnesses import exact_probabilities, is_genuine

if TYPE_CHECKING:
    from hqmm.models import OOM
    from hqmm.models.base import Model
    from hqmm.sequences import Symbol

# A cone or an operator proves validity if it misses its conditions by no more than rounding.
_PROOF = 1e-12
# How far the corners of a cone are pushed outwards, from quick and coarse to slow and fine.
_PUSHES = (0.1, 0.01, 0.001, 0.0)

_BY_CONSTRUCTION = {
    "HMM": "an HMM's probabilities are sums of products of non-negative numbers (Definition 1)",
    "MarkovChain": "a Markov chain's probabilities are products of non-negative numbers",
    "NOOM": "a NOOM's probabilities are squared norms (Definition 4)",
    "HQMM": "an HQMM's probabilities are traces of positive semi-definite matrices (Definition 6)",
    "HybridHQMM": "a hybrid's probabilities are traces of positive semi-definite matrices, added up over labels",
}


@dataclass(frozen=True)
class NegativeSearch:
    """What a search for a negative probability found.

    Attributes
    ----------
    found : bool
        Whether a sequence with a negative probability was found.
    sequence : list of symbols, or None
        That sequence.
    probability : float or None
        Its probability, which may underflow to −0.0 for a long sequence.
    conditional : float or None
        The probability of its last symbol given those before: negative, and never too small to see (−∞ where those
        before are impossible).
    searched_length : int
        Every sequence up to this length was covered, and none but ``sequence`` found negative.
    n_states : int
        How many states were followed.
    closed : bool
        Whether the search ended because every further state lies in the cone of earlier ones (to the tolerance).
        Then no longer sequence is negative either.

    Examples
    --------
    >>> from hqmm import HMM
    >>> from hqmm.theory import find_negative_probability
    >>> search = find_negative_probability(HMM([[0.9, 0.2], [0.1, 0.8]], [[0.7, 0.4], [0.3, 0.6]]))
    >>> search.found, search.closed
    (False, True)
    """

    found: bool
    sequence: list[Symbol | None] | None
    probability: float | None
    conditional: float | None
    searched_length: int
    n_states: int
    closed: bool


@dataclass(frozen=True, eq=False)
class Certificate:
    """The verdict of `certify`, with its proof.

    Attributes
    ----------
    verdict : "valid", "invalid" or "undecided"
    reason : str
        Why, in words.
    witness : list of symbols, or None
        For an invalid model, a sequence with a negative probability.
    probability : float or None
        Its probability, which may underflow to −0.0 (see ``searched.conditional``).
    generators : array of shape (r, k), or None
        The columns V of an invariant polyhedral cone, where one was found.
    form : LinearForm or None
        The form that the cone belongs to: T_y V = V N_y and r₀ = V n for some N_y, n ≥ 0, and σᵀV ≥ 0. It is the
        smallest form of the model, or that form read backwards in time (operators transposed, r₀ and σ exchanged),
        whose sequences have the same probabilities in reverse.
    searched : NegativeSearch or None
        What was searched, where the model was searched.

    Examples
    --------
    >>> from hqmm import HMM
    >>> from hqmm.theory import certify
    >>> certify(HMM([[1.0]], [[0.3], [0.7]])).verdict
    'valid'
    """

    verdict: Literal["valid", "invalid", "undecided"]
    reason: str
    witness: list[Symbol | None] | None = None
    probability: float | None = None
    generators: FloatArray | None = None
    form: LinearForm | None = None
    searched: NegativeSearch | None = None


def find_negative_probability(
    model: Model, max_length: int = 100, max_nodes: int = 1000, tol: float = 1e-9
) -> NegativeSearch:
    """Search for a sequence with a negative probability.

    First all sequences, shortest first, by branch and bound: what follows a state in the cone of earlier states
    can only be negative if something that follows those is. Then, if that search is cut off, repetitions of
    short words with all they contain, up to ``max_length``: an operator with a complex leading eigenvalue turns
    its state until a probability is negative. What is found is checked in exact arithmetic on the model's own
    numbers. That nothing is found proves nothing about longer sequences, unless the search closed.

    Parameters
    ----------
    model : model of any class
    max_length : int
        The longest sequence to try.
    max_nodes : int
        How many states to follow; if they run out, ``searched_length`` says how far all sequences were covered.
    tol : float
        In the smallest form of the model: the angle that a state may lie outside a cone and count as inside, and
        by which a probability must be negative (as the angle between state and functional) to count.

    Returns
    -------
    NegativeSearch

    Examples
    --------
    This one-dimensional model is normalised, but its second symbol has probability −½:

    >>> from hqmm import OOM
    >>> from hqmm.theory import find_negative_probability
    >>> search = find_negative_probability(OOM([[[1.5]], [[-0.5]]], [1.0], check_length=0))
    >>> search.sequence, search.probability
    ([1], -0.5)
    """
    whole_number("max_length", max_length, 1)
    whole_number("max_nodes", max_nodes, 1)
    form = reduce(model.linear)
    explored = cones.explore(form, max_length, max_nodes, tol)
    word = explored.word
    if word is None and not explored.closed:
        word = cones.repeat_short_words(form, max_length, tol)
    reach = (explored.covered, explored.followed, explored.closed)
    if word is None:
        return NegativeSearch(False, None, None, None, *reach)
    before, probability = exact_probabilities(model.linear, word)
    if not is_genuine(model.linear, word, probability):
        return NegativeSearch(False, None, None, None, *reach)
    conditional = float(probability / before) if before > 0 else -np.inf
    return NegativeSearch(True, model.alphabet.decode(word), float(probability), conditional, *reach)


def certify(model: Model, max_length: int = 100, max_nodes: int = 500, tol: float = 1e-9) -> Certificate:
    """Prove that a model never gives a negative probability, prove that it does, or say that neither succeeded.

    The question is undecidable in general (Wiewiora 2007), so ``"undecided"`` is an honest answer and nothing is
    ever guessed. Tried in turn, for validity alone (normalisation is checked when a model is made):

    1. the class of the model allows no negative probability;
    2. no parameter is negative;
    3. the model is an HQMM in disguise: its dimension is a square n², and read in the Liouville basis (columns of
       n×n matrices stacked) or in the Hermitian basis of `hqmm.channels`, as it stands or before the paper's
       similarity made it standard, its operators are completely positive and its initial state and functional
       positive semi-definite;
    4. a sequence with a negative probability (see `find_negative_probability`);
    5. a polyhedral cone of states, or of functionals, that the operators map into itself and that is nowhere
       negative (Jaeger's proposition, with finitely many generators). Whatever it was found by, the cone is then
       checked against the conditions as such, to 1e-12.

    A valid model may have no polyhedral cone at all (the probability clock has none); written in a basis where
    step 3 does not recognise it, it stays undecided.

    Parameters
    ----------
    model : model of any class
    max_length : int
        The longest sequence to try.
    max_nodes : int
        How many states to follow, and how many generators a cone may have.
    tol : float
        As in `find_negative_probability`.

    Returns
    -------
    Certificate

    Examples
    --------
    An observable operator model with negative entries, which yet never gives a negative probability:

    >>> from hqmm import OOM
    >>> from hqmm.theory import certify
    >>> model = OOM([[[0.5, -0.1], [0.0, 0.2]], [[0.5, 0.3], [0.0, 0.6]]], [0.6, 0.4])
    >>> certify(model).verdict
    'valid'
    >>> certify(OOM([[[1.5]], [[-0.5]]], [1.0], check_length=0)).reason
    'the sequence [1] has the probability -0.5'
    """
    reason = _reason_in_parameters(model)
    if reason is not None:
        return Certificate("valid", reason)
    search = find_negative_probability(model, max_length, max_nodes, tol)
    if search.sequence is not None:
        return Certificate(
            "invalid",
            _describe(search),
            witness=search.sequence,
            probability=search.probability,
            searched=search,
        )
    smallest = reduce(model.linear)
    backwards = LinearForm(smallest.operators.transpose(0, 2, 1), smallest.evaluation, smallest.initial)
    for push in _PUSHES:
        for form, kind in ((smallest, "states"), (backwards, "functionals")):
            generators = _proven_cone(form, push, max_nodes)
            if generators is not None:
                reason = (
                    f"the operators map a cone of {kind} with {generators.shape[1]} generators into itself, "
                    "and it is nowhere negative"
                )
                return Certificate("valid", reason, generators=generators, form=form, searched=search)
    reason = (
        f"no sequence of up to {search.searched_length} symbols has a negative probability, no repetition of a "
        f"short word up to {max_length} symbols has, and no invariant cone with up to {max_nodes} generators was "
        "found; the question is undecidable in general: larger max_length or max_nodes may or may not settle it"
    )
    return Certificate("undecided", reason, searched=search)


def _describe(search: NegativeSearch) -> str:
    assert search.sequence is not None
    if len(search.sequence) <= 20:
        return f"the sequence {search.sequence} has the probability {search.probability:.6g}"
    return (
        f"the witness, a sequence of {len(search.sequence)} symbols, has a negative probability; "
        f"its last symbol has the conditional probability {search.conditional:.6g}"
    )


def _proven_cone(form: LinearForm, push: float, max_nodes: int) -> FloatArray | None:
    generators = cones.invariant_cone(form, push, max_nodes)
    if generators is None:
        return None
    generators = cones.extreme_rays(generators, cones.ROUNDED)
    return generators if cones.residual(form, generators) <= _PROOF else None


def _reason_in_parameters(model: Model) -> str | None:
    """Return why the parameters as they stand rule out negative probabilities, if they do."""
    from hqmm import models

    for name, reason in _BY_CONSTRUCTION.items():
        if isinstance(model, getattr(models, name)):
            return reason
    form = model.linear
    if min(part.min() for part in (form.operators, form.initial, form.evaluation)) >= 0:
        return "no parameter is negative"
    basis = _positive_basis(model) if isinstance(model, models.OOM) else None
    if basis is not None:
        return (
            f"read in the {basis}, the operators are completely positive, and the initial state and the "
            "functional positive semi-definite: the model is an HQMM"
        )
    return None


def _positive_basis(model: OOM) -> str | None:
    """Return the basis in which an OOM is an HQMM, if it is one of those that conversions lead to."""
    from hqmm.channels import from_real, liouville_from_real, to_real

    n = isqrt(model.dimension)
    if n * n != model.dimension:
        return None
    given = (model.operators, model.initial, model.evaluation)
    readings = [("Liouville basis", given), ("Hermitian basis", given)]
    if model.is_standard:
        remark = "before the similarity that made the model standard"
        readings.append((f"Liouville basis, {remark}", _before_standard(model, np.eye(n).ravel())))
        readings.append((f"Hermitian basis, {remark}", _before_standard(model, to_real(np.eye(n)))))
    for basis, (operators, initial, evaluation) in readings:
        # Read by rows instead of columns, every matrix is its complex conjugate, and as positive.
        maps, rho, effect = operators, initial.reshape(n, n), evaluation.reshape(n, n)
        if basis.startswith("Hermitian"):
            if np.iscomplexobj(operators):
                continue
            maps, rho, effect = liouville_from_real(operators), from_real(initial), from_real(evaluation)
        if _is_positive(maps, rho, effect):
            return basis
    return None


def _before_standard(model: OOM, sigma: FloatArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Undo the paper's similarity S = I + (1/m) 1 (σᵀ − 1ᵀ), which takes the functional σ to 1."""
    change = np.tile((sigma - 1) / len(sigma), (len(sigma), 1))
    similarity, inverse = np.eye(len(sigma)) + change, np.eye(len(sigma)) - change / sigma.mean()
    return inverse @ model.operators @ similarity, inverse @ model.initial, sigma


def _is_positive(liouville: AnyArray, initial: AnyArray, evaluation: AnyArray) -> bool:
    from hqmm.channels import choi_from_liouville, is_cp

    return (
        is_cp(choi_from_liouville(liouville), _PROOF)
        and _is_semidefinite(initial)
        and _is_semidefinite(evaluation)
    )


def _is_semidefinite(matrix: AnyArray) -> bool:
    scale = _PROOF * np.abs(matrix).max()
    return bool(np.abs(matrix - matrix.conj().T).max() <= scale and np.linalg.eigvalsh(matrix)[0] >= -scale)
