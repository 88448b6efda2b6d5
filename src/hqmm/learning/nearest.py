"""Starts made from models of other classes: an HMM, an n-gram, a spectral OOM, whatever has a linear form.

What a linear model remembers is a point of R^m; an HQMM's density matrix is one of R^(n²) that stays positive.
Nothing in the process says which direction of the one should be which of the other, so they are matched by how
much they vary: the states met along a sample are whitened, the leading directions laid at random along traceless
Hermitian matrices around I/n, and scaled until the states are (nearly all) positive. In these coordinates every
operator has a Choi matrix, whose leading positive part makes the Kraus operators.

That is near enough to be a start: an OOM that learned the words of some data in a moment is usually nearer, as an
HQMM, to the best HQMM than a random one after some passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from hqmm import channels
from hqmm._random import RandomState, as_generator
from hqmm._typing import ComplexArray, FloatArray
from hqmm.errors import DataError, ModelError
from hqmm.learning.grow import enlarge, shrink
from hqmm.learning.initial import random_hqmm
from hqmm.learning.settings import at_least, between
from hqmm.learning.spectral import learn_spectral
from hqmm.linear import LinearForm
from hqmm.models import HQMM, HybridHQMM, Model
from hqmm.sequences import Sequences

_QUBIT = 4  # real dimensions of its density matrices
_STEPS = 500  # symbols of the sample
_POSITIVE = 0.9  # share of its states that become positive
_STILL = 1e-12  # variance below which a direction counts as none
_UNDECIDED = 1e-6  # noise that decides what the Choi matrices leave open


def start_from(
    model: Model, n_states: int = 1, kraus_rank: int = 1, n_blocks: int = 1, *, noise: float = 0.05
) -> Callable[[np.random.Generator], HQMM | HybridHQMM]:
    """Return a function that makes a start of the wanted sizes out of a model.

    An HMM, a Markov chain or another model with labels becomes a hybrid model with ``n_blocks`` > 1 by dropping
    labels or splitting them; one that is small enough becomes an HQMM as it is. Anything else, such as an OOM,
    becomes the near HQMM of `nearest_hqmm`.

    Parameters
    ----------
    model : Model
        An HMM, MarkovChain, OOM, NOOM, HQMM or HybridHQMM.
    n_states, kraus_rank, n_blocks : int
        The sizes q, w and k of the start; with one block it is an HQMM.
    noise : float
        From 0 to 1: about the length of the noise on each column of κ. An OOM gets it only where the start is
        larger than its states need.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import MarkovChain
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import Polar, fit, start_from
    >>> from hqmm.learning.spectral import learn_spectral
    >>> data = hmm_6_6().sample(20, 300, random_state=0)
    >>> bigram = MarkovChain.from_sequences(data, 1)
    >>> start_from(bigram, n_blocks=7, n_states=2)(np.random.default_rng(0))
    HybridHQMM(7 labels × 2 dimensions, Kraus rank 1, 6 symbols)
    >>> start = start_from(learn_spectral(data, 6), n_states=3, kraus_rank=2)
    >>> fit(Polar(sweeps=0), start, data, max_iter=5, random_state=0).model
    HQMM(n=3, Kraus rank 2, 6 symbols)
    """
    for name, value in (("n_states", n_states), ("kraus_rank", kraus_rank), ("n_blocks", n_blocks)):
        at_least(name, value, 1, ModelError)
    between("noise", noise, 0, 1)
    if n_blocks > 1:
        if not hasattr(model, "to_hybrid"):
            raise ModelError(f"{model!r} has no labels to make {n_blocks} blocks of; use n_blocks=1")
        return lambda generator: _resized(model.to_hybrid(), generator, n_states, kraus_rank, n_blocks, noise)

    def start(generator: np.random.Generator) -> HQMM:
        exact = _as_it_is(model, n_states, kraus_rank)
        if exact is None:
            return nearest_hqmm(model, n_states, kraus_rank, noise=noise, random_state=generator)
        return enlarge(exact, generator, n_states=n_states, kraus_rank=kraus_rank, noise=noise)

    return start


def start_from_counts(
    sequences: Any, n_states: int, kraus_rank: int = 1, *, noise: float = 0.05
) -> Callable[[np.random.Generator], HQMM]:
    """Return a function that makes an HQMM near a spectral OOM, which counts the words of some data.

    The OOM has four dimensions, as many as a qubit (or fewer, if the data support no more): these are counted
    reliably. A larger HQMM starts as that qubit, in a space with room to grow. Where not even one dimension can be
    had, as from sequences too short to have words, the start is random.

    `~hqmm.HQMMEstimator` starts so with one Kraus operator.

    Parameters
    ----------
    sequences : Sequences
        The data to learn from.
    n_states, kraus_rank : int
        Sizes n and w of the start.
    noise : float
        As in `start_from`.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import Polar, fit, start_from_counts
    >>> data = hmm_6_6().sample(20, 300, random_state=0)
    >>> fit(Polar(max_iter=20), start_from_counts(data, 4), data, random_state=0).model
    HQMM(n=4, Kraus rank 1, 6 symbols)
    """
    for name, value in (("n_states", n_states), ("kraus_rank", kraus_rank)):
        at_least(name, value, 1, ModelError)
    between("noise", noise, 0, 1)
    data = sequences if isinstance(sequences, Sequences) else Sequences(sequences)
    for longest in (2, 1):
        for dimension in range(min(n_states**2, _QUBIT), 0, -1):
            try:
                oom = learn_spectral(data, dimension, longest=longest)
            except (ModelError, DataError):  # fewer are needed, or shorter words
                continue
            return cast(Callable[[np.random.Generator], HQMM], start_from(oom, n_states, kraus_rank, noise=noise))
    return random_hqmm(n_states, data.alphabet, kraus_rank)


def nearest_hqmm(
    model: Model, n_states: int, kraus_rank: int = 1, *, noise: float = 0.05, random_state: RandomState = None
) -> HQMM:
    """Return an HQMM near a model of any class: of those that match directions at random, one.

    Parameters
    ----------
    model : Model
        Negative probabilities, such as an OOM learned from a sample has, are left out of the walk that finds its
        states.
    n_states, kraus_rank : int
        Sizes n and w.
    noise : float
        From 0 to 1: about the length of the noise on each column of κ where n² is more than the model's states
        need.
    random_state : None, int or numpy.random.Generator
        Another seed matches the directions otherwise.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import nearest_hqmm
    >>> near = nearest_hqmm(hqmm_2_6().to_oom(), 2, random_state=0)
    >>> near
    HQMM(n=2, Kraus rank 1, 6 symbols)
    >>> bool(abs(near.predict([0]) - hqmm_2_6().predict([0])).max() < 0.1)
    True
    """
    between("noise", noise, 0, 1)
    generator = as_generator(random_state)
    form = model.linear
    states = _states_along_a_sample(form, generator)
    mean, deviations, directions = _variation(states)
    enough = min(n_states, int(np.ceil((1 + len(deviations)) ** 0.5)))
    fewer = slice(enough**2 - 1)
    into, back = _matched(states - mean, deviations[fewer], directions[:, fewer], enough, generator)
    # traceless parts follow the deviations from the mean, and the mean is the mixed state
    trace = channels.to_real(np.eye(enough))
    into = into + np.outer(trace / enough - into @ mean, form.evaluation)
    back = back + np.outer(mean, trace)
    kraus = _leading_kraus(into @ form.operators @ back, kraus_rank)
    undecided = _UNDECIDED * (generator.normal(size=kraus.shape) + 1j * generator.normal(size=kraus.shape))
    initial = _nearest_density_matrix(into @ form.initial)
    near = HQMM(channels.nearest_isometry(kraus + undecided), initial, alphabet=model.alphabet)
    return enlarge(
        near, generator, n_states=n_states, kraus_rank=kraus_rank, noise=noise if n_states > enough else 0
    )


def _as_it_is(model: Any, n_states: int, kraus_rank: int) -> HQMM | None:
    """Return the equivalent HQMM if there is one and it is not too large."""
    if not hasattr(model, "to_hqmm") or getattr(model, "n_blocks", 1) * model.n_states > n_states:
        return None
    exact: HQMM = model.to_hqmm().canonical()
    return exact if exact.n_states <= n_states and exact.kraus_rank <= kraus_rank else None


def _resized(
    hybrid: HybridHQMM, generator: np.random.Generator, q: int, w: int, k: int, noise: float
) -> HybridHQMM:
    if q < hybrid.n_states:
        raise ModelError(
            f"the model has {hybrid.n_states} dimensions on each label, more than n_states={q}; ask for as many"
        )
    visits = hybrid.label_probabilities(hybrid.sample(1, _STEPS, random_state=generator)[0]).sum(axis=0)
    fewer = shrink(hybrid, n_blocks=min(k, hybrid.n_blocks), kraus_rank=min(w, hybrid.kraus_rank), weights=visits)
    return enlarge(fewer, generator, n_blocks=k, n_states=q, kraus_rank=w, noise=noise)


def _states_along_a_sample(form: LinearForm, generator: np.random.Generator) -> FloatArray:
    """Return the normalised states of a walk that draws symbols by their probabilities, negative ones never."""
    weights = np.einsum("i,yij->yj", form.evaluation, form.operators)
    state, states = form.initial, np.empty((_STEPS, form.dimension))
    for step in range(_STEPS):
        probabilities = np.maximum(weights @ state, 0)
        if not probabilities.any():  # an OOM may lead itself astray
            state = form.initial
            probabilities = np.maximum(weights @ state, 0)
        state = form.operators[generator.choice(len(probabilities), p=probabilities / probabilities.sum())] @ state
        state = state / (form.evaluation @ state)
        states[step] = state
    return states


def _variation(states: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean, and standard deviations with their directions, as columns, the largest first."""
    variances, directions = np.linalg.eigh(np.cov(states.T).reshape(states.shape[1], -1))
    moving = int(np.sum(variances > _STILL * (1 + np.abs(states).max()) ** 2))
    order = slice(None, -moving - 1, -1)
    return states.mean(axis=0), np.sqrt(variances[order]), directions[:, order]


def _matched(
    moves: FloatArray, deviations: FloatArray, directions: FloatArray, n: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return a map of directions into the real basis of traceless Hermitian n × n matrices, and the way back."""
    count = len(deviations)
    drawn = np.column_stack([channels.to_real(np.eye(n)), generator.normal(size=(n * n, count))])
    traceless = np.linalg.qr(drawn)[0][:, 1:]
    into, back = traceless @ (directions / deviations).T, (directions * deviations) @ traceless.T
    if not count:
        return into, back
    lowest = np.linalg.eigvalsh(channels.from_real(moves @ into.T))[:, 0]
    scale = 1 / (n * float(np.quantile(-lowest, _POSITIVE)))
    return scale * into, back / scale


def _leading_kraus(operators: FloatArray, rank: int) -> ComplexArray:
    """Return the Kraus operators (s, w, n, n) of the leading positive part of each operator's Choi matrix."""
    choi = channels.choi_from_liouville(channels.liouville_from_real(operators))
    n = round(choi.shape[-1] ** 0.5)
    values, vectors = np.linalg.eigh((choi + choi.conj().swapaxes(-1, -2)) / 2)
    kept = min(rank, n * n)
    roots = np.sqrt(np.maximum(values[:, ::-1][:, :kept], 0))
    columns = vectors[:, :, ::-1][:, :, :kept] * roots[:, None, :]
    kraus: ComplexArray = columns.reshape(len(choi), n, n, kept).transpose(0, 3, 2, 1)
    return kraus


def _nearest_density_matrix(real: FloatArray) -> ComplexArray:
    values, vectors = np.linalg.eigh(channels.from_real(real))
    positive = np.maximum(values, 0)
    rho: ComplexArray = (vectors * (positive / positive.sum())) @ vectors.conj().T
    return rho
