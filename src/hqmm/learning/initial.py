"""Where learning starts: functions that draw a model, for `fit`'s ``start``, and models made from other models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hqmm import channels
from hqmm._typing import IntArray
from hqmm.errors import ModelError
from hqmm.learning.settings import at_least
from hqmm.models import HMM, HQMM, NOOM, HybridHQMM
from hqmm.sequences import Alphabet


def _alphabet(symbols: int | Alphabet) -> Alphabet:
    return symbols if isinstance(symbols, Alphabet) else Alphabet(symbols)


def random_hmm(
    n_states: int, symbols: int | Alphabet, concentration: float = 1.0
) -> Callable[[np.random.Generator], HMM]:
    """Return a function that draws an HMM with Dirichlet-distributed columns.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning import random_hmm
    >>> random_hmm(3, 6)(np.random.default_rng(0))
    HMM(3 states, 6 symbols)
    """
    at_least("n_states", n_states, 1, ModelError)
    alphabet = _alphabet(symbols)

    def draw(generator: np.random.Generator) -> HMM:
        def columns(rows: int, count: int) -> np.ndarray:
            return generator.dirichlet(np.full(rows, concentration), size=count).T

        return HMM(
            columns(n_states, n_states),
            columns(len(alphabet), n_states),
            columns(n_states, 1)[:, 0],
            alphabet=alphabet,
        )

    return draw


def random_hqmm(
    n_states: int,
    symbols: int | Alphabet,
    kraus_rank: int | Sequence[int] | IntArray = 1,
    *,
    real: bool = False,
    method: str = "haar",
) -> Callable[[np.random.Generator], HQMM]:
    """Return a function that draws an HQMM: κ on the Stiefel manifold and a Hilbert–Schmidt random ρ₀.

    Parameters
    ----------
    n_states, symbols : int
        The sizes n and s (or the alphabet for s).
    kraus_rank : int, or a sequence of them
        Number w of Kraus operators for each symbol, or one number for each, in the order of the alphabet (an end
        symbol included). Symbols with fewer operators than others get zero operators, which every learner keeps
        zero; κ is drawn on the manifold of the others.
    real : bool
        Real Kraus operators and initial state.
    method : "haar" or "uniform"
        κ from the Haar measure, or, as the authors', the nearest isometry to a matrix of uniform entries.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning import random_hqmm
    >>> random_hqmm(3, 6, kraus_rank=2)(np.random.default_rng(0))
    HQMM(n=3, Kraus rank 2, 6 symbols)
    >>> uneven = random_hqmm(3, 3, kraus_rank=[1, 2, 1])(np.random.default_rng(0))
    >>> uneven.kraus.any(axis=(2, 3))  # which operators of which symbol there are
    array([[ True, False],
           [ True,  True],
           [ True, False]])
    """
    at_least("n_states", n_states, 1, ModelError)
    if method not in ("haar", "uniform"):
        raise ValueError(f"method must be 'haar' or 'uniform', not {method!r}")
    alphabet = _alphabet(symbols)
    ranks = _ranks(kraus_rank, len(alphabet))
    there = np.arange(ranks.max()) < ranks[:, None]
    count = int(ranks.sum())

    def draw(generator: np.random.Generator) -> HQMM:
        kraus = np.zeros((*there.shape, n_states, n_states), dtype=np.complex128)
        if method == "haar":
            kraus[there] = channels.random_kraus(1, count, n_states, real=real, random_state=generator)[0]
        else:
            shape = (count, n_states, n_states)
            imaginary = 0.0 if real else 1j * generator.random(shape)
            kraus[there] = channels.nearest_isometry(generator.random(shape) + imaginary)
        initial = channels.random_density_matrix(n_states, real=real, random_state=generator)
        return HQMM(kraus, initial, alphabet=alphabet)

    return draw


def _ranks(kraus_rank: int | Sequence[int] | IntArray, n_symbols: int) -> IntArray:
    """Return how many Kraus operators each symbol has."""
    given = kraus_rank.tolist() if isinstance(kraus_rank, np.ndarray) else kraus_rank
    if isinstance(given, str) or not isinstance(given, Sequence):
        at_least("kraus_rank", given, 1, ModelError)
        return np.full(n_symbols, given)
    if len(given) != n_symbols:
        raise ModelError(
            f"kraus_rank must be one number, or one for each of the {n_symbols} symbols, but has {len(given)}"
        )
    for code, rank in enumerate(given):
        at_least(f"kraus_rank[{code}]", rank, 1, ModelError)
    return np.array(given)


def random_hybrid(
    n_blocks: int, n_states: int, symbols: int | Alphabet, kraus_rank: int = 1
) -> Callable[[np.random.Generator], HybridHQMM]:
    """Return a function that draws a hybrid model: κ_j of every label from the Haar measure, and a random state.

    With one dimension on each label, where phases mean nothing, they are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning import random_hybrid
    >>> random_hybrid(4, 2, symbols=6)(np.random.default_rng(0))
    HybridHQMM(4 labels × 2 dimensions, Kraus rank 1, 6 symbols)
    """
    sizes = {"n_blocks": n_blocks, "n_states": n_states, "kraus_rank": kraus_rank}
    for name, value in sizes.items():
        at_least(name, value, 1, ModelError)
    alphabet = _alphabet(symbols)
    s, w, k, q = len(alphabet), kraus_rank, n_blocks, n_states

    def draw(generator: np.random.Generator) -> HybridHQMM:
        columns = [
            channels.random_kraus(s * w * k, 1, q, real=q == 1, random_state=generator).reshape(s, w, k, q, q)
            for _ in range(k)
        ]
        weights = generator.dirichlet(np.ones(k))
        states = [channels.random_density_matrix(q, real=q == 1, random_state=generator) for _ in range(k)]
        initial = weights[:, None, None] * np.stack(states)
        return HybridHQMM(np.stack(columns, axis=3), initial, alphabet=alphabet)

    return draw


def random_noom(n_states: int, symbols: int | Alphabet) -> Callable[[np.random.Generator], NOOM]:
    """Return a function that draws a NOOM: real κ from the Haar measure and a random unit vector.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning import random_noom
    >>> random_noom(3, 6)(np.random.default_rng(0))
    NOOM(3 states, 6 symbols)
    """
    at_least("n_states", n_states, 1, ModelError)
    alphabet = _alphabet(symbols)

    def draw(generator: np.random.Generator) -> NOOM:
        kraus = channels.random_kraus(len(alphabet), 1, n_states, real=True, random_state=generator)
        vector = generator.normal(size=n_states)
        return NOOM(kraus[:, 0].real, vector / np.linalg.norm(vector), alphabet=alphabet)

    return draw
