"""Cones of states: the search through them that finds negative probabilities, or proves that there are none."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from hqmm._typing import FloatArray
from hqmm.linear import LinearForm

# An image this much shorter than the norm of its operator is rounding: the exact image is zero.
VANISHING = 1e-12
# Distances of unit vectors below this are rounding.
ROUNDED = 1e-13


@dataclass(frozen=True)
class Exploration:
    """What `explore` found: a negative word, how far every word is covered, and how many states it followed."""

    word: tuple[int, ...] | None
    covered: int
    followed: int
    closed: bool


def explore(form: LinearForm, max_length: int, max_nodes: int, tol: float) -> Exploration:
    """Search words breadth-first for a negative probability, leaving out states inside the cone of earlier ones.

    What follows a state is linear in it, so what follows a non-negative combination of states can only be negative
    if it is for one of them; and as these were reached by words at most as long, they are followed at least as
    far. When no state is left to follow, the cone is closed under the operators: no word at all is negative
    (Jaeger's proposition: an observable operator model is valid if and only if there is such a cone).

    Parameters
    ----------
    form : LinearForm
        In its smallest form, where distances between states mean something.
    max_length : int
        Words up to this length are searched.
    max_nodes : int
        How many states may be followed.
    tol : float
        Angle below which a state counts as inside the cone, and above which a probability counts as negative.
    """
    tester = unit_columns((form.evaluation @ form.operators).T).T
    norms = np.linalg.norm(form.operators, ord=2, axis=(1, 2))
    states = unit_columns(form.initial[:, None])
    words: list[tuple[int, ...]] = [()]
    followed = np.empty((form.dimension, 0))
    covered = 0
    while True:
        negative = np.argwhere((tester @ states).T < -tol)
        if len(negative):
            node, code = negative[0]
            return Exploration((*words[node], int(code)), covered, followed.shape[1], False)
        covered += 1
        if covered >= max_length:
            return Exploration(None, covered, followed.shape[1], False)
        kept = []
        for index, state in enumerate(states.T):
            if distance_to_cone(followed, state) > tol:
                if followed.shape[1] == max_nodes:
                    return Exploration(None, covered, followed.shape[1], False)
                followed = np.column_stack([followed, state])
                kept.append(index)
        images = form.operators @ states[:, kept]
        lengths = np.linalg.norm(images, axis=1)
        alive = np.argwhere((lengths > VANISHING * norms[:, None]).T)
        words = [(*words[kept[node]], int(code)) for node, code in alive]
        states = np.array([images[code][:, node] / lengths[code, node] for node, code in alive]).T
        if not words:
            return Exploration(None, max_length, followed.shape[1], True)


def repeat_short_words(form: LinearForm, max_length: int, tol: float, longest: int = 3) -> tuple[int, ...] | None:
    """Return a negative word v·wᵏ·y with short v and w, or None.

    An operator whose leading eigenvalue is not positive makes its states turn, until one day a probability is
    negative; such words are too long for a search through all.
    """
    tester = unit_columns((form.evaluation @ form.operators).T).T
    words = short_words(form.n_symbols, longest)
    starts: list[tuple[int, ...]] = [(), *((code,) for code in range(form.n_symbols))]
    first = np.column_stack([_image(form, form.initial, word) for word in starts])
    for length in range(1, longest + 1):
        loops = [word for word in words if len(word) == length]
        if not loops:
            break
        operators = np.array([_operator(form, word) for word in loops])
        states = np.repeat(unit_columns(first)[None], len(loops), axis=0)
        alive = np.ones((len(loops), len(starts)), dtype=bool)
        norms = np.linalg.norm(operators, ord=2, axis=(1, 2))
        for power in range(1, (max_length - 2) // length + 1):
            states = operators @ states
            lengths = np.linalg.norm(states, axis=1)
            alive &= lengths > VANISHING * norms[:, None]
            states = np.where(alive[:, None], states / np.where(alive, lengths, 1)[:, None], 0)
            values = tester @ states
            if values.min() < -tol:
                loop, code, start = (int(i) for i in np.unravel_index(int(np.argmin(values)), values.shape))
                return (*starts[start], *(loops[loop] * power), code)
            if not alive.any():
                break
    return None


def invariant_cone(form: LinearForm, push: float, max_nodes: int) -> FloatArray | None:
    """Look for a polyhedral cone that proves a form valid; the columns are its generators. `residual` checks it.

    The cone grows from the initial state and the average state g. An image T_y v outside the cone is pushed away
    from g before it joins: x + push·(x − g), for x and g scaled to equal weight. So a cone whose corners would
    only be reached in infinitely many steps closes after finitely many, with room to spare. ``push=0`` suits
    processes whose states lie where some sequence has probability zero: there is no room to push.

    Returns None where the cone gives something a negative probability or needs more than ``max_nodes`` generators.
    """
    norms = np.linalg.norm(form.operators, ord=2, axis=(1, 2))
    total = form.operators.sum(axis=0)
    center, weight = _average(total, form.initial), _average(total.T, form.evaluation)
    center = center / (weight @ center)
    cone = np.empty((form.dimension, 0))
    images = [center, form.initial]
    tested = 0
    while True:
        for image in images:
            state = image / np.linalg.norm(image)
            if not weight @ state > 0:
                return None
            if distance_to_cone(cone, state) > ROUNDED:
                if cone.shape[1] == max_nodes:
                    return None
                pushed = state + push * (state - center * (weight @ state))
                cone = np.column_stack([cone, pushed / np.linalg.norm(pushed)])
        if tested == cone.shape[1]:
            return cone
        state = cone[:, tested]
        if form.evaluation @ state < -ROUNDED * np.linalg.norm(form.evaluation):
            return None
        images = [
            image
            for image, norm in zip(form.operators @ state, norms, strict=True)
            if np.linalg.norm(image) > VANISHING * norm
        ]
        tested += 1


def _average(total: FloatArray, start: FloatArray) -> FloatArray:
    """Return the mean of total^k start over the first steps: inside the cone, rather than on its boundary."""
    states = [start]
    with np.errstate(over="ignore", invalid="ignore"):  # only a model without a cone of states can overflow
        for _ in range(4 * len(start)):
            states.append(total @ states[-1])
    mean: FloatArray = np.mean(states, axis=0)
    return mean


def residual(form: LinearForm, generators: FloatArray) -> float:
    """Return by how much a cone fails to prove a form valid: 0 for a perfect proof.

    With the generators V, r₀ and σ scaled to length one and the operators to norm one, this is the largest of the
    distances of r₀ and of the columns of each T_y V to the cone {V λ : λ ≥ 0}, and of the negative parts of σᵀV.
    """
    cone = unit_columns(generators)
    norms = np.linalg.norm(form.operators, ord=2, axis=(1, 2))
    scaled = form.operators[norms > 0] / norms[norms > 0, None, None]
    points = [form.initial / np.linalg.norm(form.initial), *np.concatenate(list(scaled @ cone), axis=1).T]
    weights = form.evaluation @ cone / np.linalg.norm(form.evaluation)
    return max(*(distance_to_cone(cone, point) for point in points), float(-weights.min()), 0.0)


def extreme_rays(generators: FloatArray, tol: float) -> FloatArray:
    """Leave out generators that lie in the cone of the others."""
    kept = np.ones(generators.shape[1], dtype=bool)
    for index in range(generators.shape[1]):
        kept[index] = False
        kept[index] = distance_to_cone(generators[:, kept], generators[:, index]) > tol
    return generators[:, kept]


def distance_to_cone(generators: FloatArray, point: FloatArray) -> float:
    """Return the distance of a point to {V λ : λ ≥ 0} (infinity where the solver does not converge)."""
    from scipy.optimize import nnls

    if generators.shape[1] == 0:
        return float(np.linalg.norm(point))
    try:
        weights, _ = nnls(generators, point)
    except RuntimeError:
        return np.inf
    return float(np.linalg.norm(generators @ weights - point))


def unit_columns(array: FloatArray) -> FloatArray:
    """Scale columns to length one (zero columns stay)."""
    lengths = np.linalg.norm(array, axis=0)
    scaled: FloatArray = array / np.where(lengths > 0, lengths, 1)
    return scaled


def short_words(n_symbols: int, longest: int, limit: int = 300) -> list[tuple[int, ...]]:
    """Return all words up to a length, shortest first, but at most ``limit`` of them."""
    words: list[tuple[int, ...]] = []
    for length in range(1, longest + 1):
        if len(words) + n_symbols**length > limit:
            break
        words.extend(product(range(n_symbols), repeat=length))
    return words


def _operator(form: LinearForm, word: tuple[int, ...]) -> FloatArray:
    return _image(form, np.eye(form.dimension), word)


def _image(form: LinearForm, start: FloatArray, word: tuple[int, ...]) -> FloatArray:
    for code in word:
        start = form.operators[code] @ start
    return start
