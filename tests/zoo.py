"""Random models of every class, and the paper's formulas for them written out plainly."""

from __future__ import annotations

from itertools import product

import numpy as np

from hqmm import HMM, HQMM, NOOM, OOM, HybridHQMM, MarkovChain, Model, Sequences, learning
from hqmm.channels import random_density_matrix, random_kraus


def stochastic(rng, rows, columns):
    matrix = rng.dirichlet(np.full(rows, 0.7), size=columns).T
    return matrix / matrix.sum(axis=0)


def random_hmm(rng, n=3, s=2):
    return HMM(stochastic(rng, n, n), stochastic(rng, s, n), stochastic(rng, n, 1)[:, 0])


def random_hqmm(rng, n=2, s=2, w=2):
    return HQMM(random_kraus(s, w, n, random_state=rng), random_density_matrix(n, random_state=rng))


def random_hybrid(rng, n=2, s=2, q=2, w=2):
    return learning.random_hybrid(n, q, s, w)(rng)


def random_noom(rng, n=3, s=2):
    phi = random_kraus(s, 1, n, real=True, random_state=rng)[:, 0].real
    v = rng.normal(size=n)
    return NOOM(phi, v / np.linalg.norm(v))


def random_oom(rng, n=3, s=2):
    """A general OOM: an HMM seen through a random change of basis."""
    hmm = random_hmm(rng, n, s)
    change = np.eye(n) + 0.3 * rng.normal(size=(n, n))
    inverse = np.linalg.inv(change)
    return OOM(change @ hmm.linear.operators @ inverse, change @ hmm.initial, np.ones(n) @ inverse)


def random_complex_oom(rng, n=2, s=2):
    return random_hqmm(rng, n, s).to_oom("liouville")


def random_chain(rng, n=2, s=2):
    return MarkovChain.from_sequences(Sequences(rng.integers(0, s, (6, 7)), alphabet=s), order=n)


ZOO = {
    "hmm": random_hmm,
    "hqmm": random_hqmm,
    "hybrid": random_hybrid,
    "noom": random_noom,
    "oom": random_oom,
    "complex oom": random_complex_oom,
    "chain": random_chain,
}


def words(n_symbols, longest, shortest=1):
    """All sequences of codes of the given lengths."""
    return [list(w) for length in range(shortest, longest + 1) for w in product(range(n_symbols), repeat=length)]


def plain_probability(model: Model, word) -> float:
    """P(word), straight from the equations of the paper."""
    if isinstance(model, HMM):  # equation 2
        x = model.initial
        for y in word:
            x = np.diag(model.emission[y]) @ model.transition @ x
        return float(x.sum())
    if isinstance(model, NOOM):  # equation 6
        v = model.initial
        for y in word:
            v = model.operators[y] @ v
        return float(v @ v)
    if isinstance(model, HQMM):  # the formula below equation 9
        rho = model.initial
        for y in word:
            rho = sum(K @ rho @ K.conj().T for K in model.kraus[y])
        return float(np.trace(rho).real)
    if isinstance(model, HybridHQMM):  # the same, label by label
        blocks = model.initial
        for y in word:
            blocks = np.einsum("wijab,jbc,wijdc->iad", model.kraus[y], blocks, model.kraus[y].conj())
        return float(np.trace(blocks, axis1=1, axis2=2).real.sum())
    if isinstance(model, OOM):  # equation 5
        x = model.initial
        for y in word:
            x = model.operators[y] @ x
        return float((model.evaluation.conj() @ x).real)
    assert isinstance(model, MarkovChain)
    state, total = 0, 1.0
    for y in word:
        total *= model.probabilities[state, y]
        state = model.successors[state, y]
    return float(total)


def assert_same_process(a: Model, b: Model, longest: int = 5, atol: float = 1e-10) -> None:
    """Every sequence up to the given length has the same probability."""
    data = words(a.n_symbols, longest)
    np.testing.assert_allclose(b.probability(data), a.probability(data), rtol=0, atol=atol)
