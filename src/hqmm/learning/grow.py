"""Models made from learned ones: larger ones that start where a smaller one ended, and smaller ones.

Each way of growing leaves the process as it is, but for noise that breaks the symmetry: a label is split into two
that the same future follows, a new dimension is one that nothing leads to, a new Kraus operator is zero. Shrinking
drops what counts least and makes the rest whole again.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from hqmm._typing import ComplexArray, FloatArray
from hqmm.channels import choi_from_liouville, liouville_from_kraus, nearest_isometry
from hqmm.engine.blocks import block_gradient
from hqmm.errors import DataError, ModelError
from hqmm.learning.settings import at_least, between
from hqmm.learning.task import mean_log_likelihood, scored_symbols
from hqmm.models import HQMM, HybridHQMM
from hqmm.models.compress import nearest_of_rank
from hqmm.models.hybrid import isometric_blocks
from hqmm.sequences import Sequences

AnyModel = TypeVar("AnyModel", HQMM, HybridHQMM)
_RANK_TOLERANCE = 1e-6
_MOST_PRUNING_DIGITS, _PRUNING_STEP = 12.0, 0.25


def with_noise(model: AnyModel, amount: float, generator: np.random.Generator) -> AnyModel:
    """Return a model with Gaussian noise on κ, brought back to the manifold.

    Parameters
    ----------
    model : HQMM or HybridHQMM
    amount : float
        About the length of the noise on each column of κ, which has length one; from 0 up.
    generator : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import with_noise
    >>> with_noise(hqmm_2_6(), 0.01, np.random.default_rng(0))
    HQMM(n=2, Kraus rank 1, 6 symbols)
    """
    between("amount", amount, 0, np.finfo(float).max)
    hybrid = _hybrid("with_noise", model)
    return _like(model, hybrid.replace(kraus=_shaken(hybrid.kraus, amount, generator)))


def enlarge(
    model: AnyModel,
    generator: np.random.Generator,
    *,
    n_states: int | None = None,
    n_blocks: int | None = None,
    kraus_rank: int | None = None,
    noise: float = 0.1,
    weights: FloatArray | None = None,
) -> AnyModel:
    """Return a larger model that starts where a smaller one ended; the process is the same as ``noise`` → 0.

    Parameters
    ----------
    model : HQMM or HybridHQMM
    generator : numpy.random.Generator
    n_states, n_blocks, kraus_rank : int, optional
        The new q, k and w; by default as they are. An HQMM has one label, and keeps it.
    noise : float
        From 0 to 1: about the length of the noise on each column of κ; also the weight that new dimensions have
        at the start.
    weights : (k,) array, optional
        How much each label counts (see `label_weights`): the heaviest are split. By default all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import enlarge
    >>> enlarge(hqmm_2_6(), np.random.default_rng(0), n_states=3, kraus_rank=2)
    HQMM(n=3, Kraus rank 2, 6 symbols)
    >>> enlarge(hqmm_2_6().to_hybrid(), np.random.default_rng(0), n_blocks=2)
    HybridHQMM(2 labels × 2 dimensions, Kraus rank 1, 6 symbols)
    """
    hybrid = _hybrid("enlarge", model)
    between("noise", noise, 0, 1)
    old = (hybrid.n_states, hybrid.n_blocks, hybrid.kraus_rank)
    wanted = [now if new is None else new for new, now in zip((n_states, n_blocks, kraus_rank), old, strict=True)]
    for name, size in zip(("n_states", "n_blocks", "kraus_rank"), wanted, strict=True):
        at_least(name, size, 1, ModelError)
    if any(new < now for new, now in zip(wanted, old, strict=True)):
        raise ModelError("enlarge: the new sizes must not be smaller than the old; see shrink")
    if isinstance(model, HQMM) and wanted[1] > 1:
        raise ModelError("enlarge: an HQMM has one label; enlarge model.to_hybrid() instead")
    q, k, w = wanted
    kraus, initial = _split_labels(hybrid.kraus, hybrid.initial, k, weights, generator)
    kraus, initial = _add_dimensions(kraus, initial, q, noise)
    kraus = np.concatenate([kraus, np.zeros((kraus.shape[0], w - kraus.shape[1], k, k, q, q))], axis=1)
    return _like(model, HybridHQMM(_shaken(kraus, noise, generator), initial, alphabet=model.alphabet))


def shrink(
    model: AnyModel,
    *,
    n_blocks: int | None = None,
    kraus_rank: int | None = None,
    weights: FloatArray | None = None,
    max_iter: int = 200,
) -> AnyModel:
    """Return a smaller model near a larger one: without the labels that count least, with fewer Kraus operators.

    What leads to a dropped label is left out, and the rest of each κ_j made an isometry again. Kraus operators are
    the leading eigenvectors of the Choi matrices, brought as near as descent gets them (as `HQMM.compress` does).

    Parameters
    ----------
    model : HQMM or HybridHQMM
    n_blocks, kraus_rank : int, optional
        The new k and w; by default as they are.
    weights : (k,) array, optional
        How much each label counts (see `label_weights`). By default all the same: the last ones go.
    max_iter : int
        Steps of the descent.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import shrink
    >>> shrink(hmm_6_6().to_hybrid(), n_blocks=4)
    HybridHQMM(4 labels × 1 dimensions, Kraus rank 1, 6 symbols)
    >>> shrink(hmm_6_6().to_hqmm(), kraus_rank=2)
    HQMM(n=6, Kraus rank 2, 6 symbols)
    """
    hybrid = _hybrid("shrink", model)
    k = hybrid.n_blocks if n_blocks is None else n_blocks
    w = hybrid.kraus_rank if kraus_rank is None else kraus_rank
    at_least("n_blocks", k, 1, ModelError)
    at_least("kraus_rank", w, 1, ModelError)
    if k > hybrid.n_blocks or w > hybrid.kraus_rank:
        raise ModelError("shrink: the new sizes must not be larger than the old; see enlarge")
    if k < hybrid.n_blocks:
        hybrid = _without_labels(hybrid, k, _checked(weights, hybrid.n_blocks))
    if w < hybrid.kraus_rank:
        hybrid = hybrid.replace(kraus=_compressed(hybrid.kraus, w, max_iter))
    return _like(model, hybrid)


def prune(model: AnyModel, sequences: Any, *, max_loss: float = 1e-4, burn_in: int = 0) -> AnyModel:
    """Return the model without as many rare transitions as cost at most ``max_loss`` log-likelihood a symbol.

    Transitions (y, i, j) go in the order of their strength, as in `HybridHQMM.prune`; the threshold is found by
    bisection on the data. Rows of T_y that are zero cost the engine nothing, and learners keep zeros.

    Parameters
    ----------
    model : HQMM or HybridHQMM
        An HQMM has one label, and so one transition for each symbol.
    sequences : Sequences or anything it accepts
        What the loss is measured on; at least one sequence must be possible and go on after the burn-in.
    max_loss : float
        In nats for each scored symbol.
    burn_in : int
        Symbols at the start of each sequence that are not scored.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import prune
    >>> model = hmm_6_6().to_hybrid()
    >>> pruned = prune(model, model.sample(20, 100, random_state=0), max_loss=1e-3)
    >>> bool((pruned.kraus == 0).sum() >= (model.kraus == 0).sum())
    True
    """
    hybrid = _hybrid("prune", model)
    between("max_loss", max_loss, 0, np.inf)
    at_least("burn_in", burn_in, 0)
    data = hybrid.encode(sequences)

    def score(candidate: HybridHQMM) -> tuple[float, int]:
        return mean_log_likelihood(candidate.log_likelihood(data, burn_in), data, burn_in)

    before, unreachable = score(hybrid)
    if before == -np.inf:
        raise DataError(f"prune cannot measure what it costs: {_why_nothing_is_scored(data, burn_in)}")
    low, high, best = -_MOST_PRUNING_DIGITS, 0.0, hybrid
    while high - low > _PRUNING_STEP:  # of log10 of the threshold
        middle = (low + high) / 2
        candidate = hybrid.prune(10**middle)
        after, n_zero = score(candidate)
        if n_zero == unreachable and after >= before - max_loss:
            low, best = middle, candidate
        else:
            high = middle
    return _like(model, best)


def label_weights(model: HybridHQMM, sequences: Sequences, threads: int | None = None) -> FloatArray:
    """Return the share of all steps that are taken from each label, expected given the whole sequences.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import label_weights
    >>> model = hmm_6_6().to_hybrid()
    >>> float(label_weights(model, model.sample(5, 20, random_state=0)).sum().round(12))
    1.0
    """
    gradient = block_gradient(model.kraus, model.initial, sequences, threads=threads).kraus
    # tr κ_j†(∂ℓ/∂κ_j*) = Σ_t P(label j before step t | the sequence)
    steps: FloatArray = (model.kraus.conj() * gradient).real.sum(axis=(0, 1, 2, 4, 5))
    total = steps.sum()
    return steps / total if total > 0 else np.full(len(steps), 1 / len(steps))


def _hybrid(function: str, model: Any) -> HybridHQMM:
    if not hasattr(model, "to_hybrid"):
        raise ModelError(
            f"{function}: {model!r} has no labels; give an HQMM or a HybridHQMM (nearest_hqmm finds an HQMM near "
            "any model)"
        )
    hybrid: HybridHQMM = model.to_hybrid()
    return hybrid


def _why_nothing_is_scored(data: Sequences, burn_in: int) -> str:
    if scored_symbols(data, burn_in) > 0:
        return "the model says that every sequence is impossible; give data that it can have made"
    longest = int(data.lengths[data.weights > 0].max(initial=0))
    return (
        f"the longest sequence that counts has {longest} symbols and burn_in is {burn_in}, so there is nothing to "
        "score; lower burn_in, or give longer sequences"
    )


def _like(model: AnyModel, hybrid: HybridHQMM) -> AnyModel:
    return hybrid.to_hqmm() if isinstance(model, HQMM) else hybrid


def _shaken(kraus: ComplexArray, amount: float, generator: np.random.Generator) -> ComplexArray:
    """Add noise of about that length to each column; real for one dimension, where phases mean nothing."""
    s, w, k, _, q, _ = kraus.shape
    noise = generator.normal(size=kraus.shape) + (1j * generator.normal(size=kraus.shape) if q > 1 else 0)
    return isometric_blocks(kraus + amount / np.sqrt(s * w * k * q) * noise)


def _split_labels(
    kraus: ComplexArray,
    initial: ComplexArray,
    k: int,
    weights: FloatArray | None,
    generator: np.random.Generator,
) -> tuple[ComplexArray, ComplexArray]:
    """Split the heaviest label until there are k.

    The halves go on alike, so that how what leads to the label is shared among them makes no difference to the
    process. It is shared at random, differently for each symbol and label of origin: the halves then stand for
    different pasts, and learning tells their futures apart without waiting for noise to grow.
    """
    remaining = _checked(weights, len(initial)).copy()
    while len(initial) < k:
        old = int(np.argmax(remaining))
        kraus = np.concatenate([kraus, kraus[:, :, :, old : old + 1]], axis=3)
        angles = generator.uniform(0, np.pi / 2, (len(kraus), 1, kraus.shape[3], 1, 1))
        incoming = kraus[:, :, old]
        kraus = np.concatenate([kraus, (np.sin(angles) * incoming)[:, :, None]], axis=2)
        kraus[:, :, old] = np.cos(angles) * incoming
        initial = np.concatenate([initial, initial[old : old + 1] / 2])
        initial[old] /= 2
        remaining[old] /= 2
        remaining = np.append(remaining, remaining[old])
    return kraus, initial


def _add_dimensions(
    kraus: ComplexArray, initial: ComplexArray, q: int, noise: float
) -> tuple[ComplexArray, ComplexArray]:
    """Embed every block in q dimensions; new ones move among themselves with the probabilities of old ones."""
    s, w, k, _, old, _ = kraus.shape
    if q == old:
        return kraus, initial
    larger = np.zeros((s, w, k, k, q, q), dtype=np.complex128)
    larger[..., :old, :old] = kraus
    moduli = np.sqrt((np.abs(kraus) ** 2).sum(axis=(1, 4)))  # from a basis state, by symbol and label
    for new in range(old, q):
        larger[:, 0, :, :, new, new] = moduli[..., new % old]
    state = np.zeros((k, q, q), dtype=np.complex128)
    state[:, :old, :old] = initial
    labels = np.trace(initial, axis1=1, axis2=2).real[:, None, None]
    return larger, (1 - noise) * state + noise * labels * np.eye(q) / q


def _without_labels(model: HybridHQMM, k: int, weights: FloatArray) -> HybridHQMM:
    keep = np.sort(np.argsort(-weights, kind="stable")[:k])
    gone = np.setdiff1d(np.arange(model.n_blocks), keep)
    kraus, lost = model.kraus[:, :, keep][:, :, :, keep], model.kraus[:, :, gone][:, :, :, keep].sum(axis=2)
    for label in range(k):
        values = np.linalg.svd(kraus[:, :, :, label].reshape(-1, model.n_states), compute_uv=False)
        if values[-1] < _RANK_TOLERANCE:  # all that led from here is gone: it leads to the heaviest label instead
            kraus[:, :, np.argmax(weights[keep]), label] += lost[:, :, label]
    initial = model.initial[keep]
    total = np.trace(initial, axis1=1, axis2=2).real.sum()
    mixed = np.eye(model.n_states, dtype=np.complex128) / (k * model.n_states)
    initial = initial / total if total > 0 else np.stack([mixed] * k)
    return HybridHQMM(isometric_blocks(kraus), initial, alphabet=model.alphabet)


def _compressed(kraus: ComplexArray, rank: int, max_iter: int) -> ComplexArray:
    """Compress what leads from each label, an isometry whose symbols are pairs of a symbol and a label."""
    s, _, k, _, q, _ = kraus.shape
    columns = []
    for label in range(k):
        operators = kraus[:, :, :, label].swapaxes(1, 2).reshape(s * k, -1, q, q)
        choi = choi_from_liouville(liouville_from_kraus(operators))
        near = nearest_isometry(nearest_of_rank(choi, rank, max_iter))
        columns.append(near.reshape(s, k, rank, q, q).swapaxes(1, 2))
    return np.stack(columns, axis=3)


def _checked(weights: FloatArray | None, k: int) -> FloatArray:
    if weights is None:
        return np.full(k, 1 / k)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (k,) or not np.all(given >= 0):
        raise ModelError(f"weights must be {k} numbers from 0 up, one for each label, not {weights!r}")
    return given
