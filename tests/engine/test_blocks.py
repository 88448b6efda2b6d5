import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import random_hybrid

from hqmm import Sequences
from hqmm.engine.blocks import block_gradient, block_linear_form, block_log_likelihood
from hqmm.engine.kraus import kraus_gradient
from hqmm.errors import ModelError

SIZES = {"k": st.integers(1, 3), "q": st.integers(1, 3), "s": st.integers(1, 3), "w": st.integers(1, 3)}


def some_sequences(rng, s, n=4):
    rows = [rng.integers(0, s, rng.integers(1, 7)) for _ in range(n)]
    return Sequences(rows, alphabet=s, weights=rng.uniform(0.5, 2, n))


@given(seed=st.integers(0, 10_000), **SIZES)
def test_the_real_form_is_that_of_the_channels(seed, k, q, s, w):
    """Two ways to the same operators: compiled kernels here, `hqmm.channels` in the model."""
    model = random_hybrid(np.random.default_rng(seed), k, s, q, w)
    form = block_linear_form(model.kraus, model.initial)
    for name in ("operators", "initial", "evaluation"):
        np.testing.assert_allclose(getattr(form, name), getattr(model.linear, name), atol=1e-13)


@given(seed=st.integers(0, 10_000), burn_in=st.integers(0, 2), **SIZES)
def test_the_gradient_is_that_of_the_equivalent_hqmm(seed, burn_in, k, q, s, w):
    """An HQMM whose operators are the blocks one by one: its gradient at those entries is ours."""
    rng = np.random.default_rng(seed)
    model = random_hybrid(rng, k, s, q, w)
    whole = model.to_hqmm("blocks")
    data = some_sequences(rng, s)
    ours = block_gradient(model.kraus, model.initial, data, burn_in=burn_in, burn_in_gradient=True)
    theirs = kraus_gradient(whole.kraus, whole.initial, data, burn_in=burn_in, burn_in_gradient=True)
    np.testing.assert_allclose(ours.log_likelihood, theirs.log_likelihood, rtol=1e-9, atol=1e-12)
    large = theirs.kraus.reshape(s, w, k * k, k, q, k, q)
    scale = np.abs(large).max() + 1
    for i in range(k):
        for j in range(k):
            np.testing.assert_allclose(
                ours.kraus[:, :, i, j], large[:, :, i * k + j, i, :, j, :], rtol=0, atol=1e-10 * scale
            )
        block = theirs.initial.reshape(k, q, k, q)[i, :, i, :]
        np.testing.assert_allclose(ours.initial[i], block, atol=1e-9 * (np.abs(block).max() + 1))


def test_the_gradient_is_its_finite_differences():
    rng = np.random.default_rng(3)
    model = random_hybrid(rng, 2, 2, 2, 2)
    data = some_sequences(rng, 2)
    G = block_gradient(model.kraus, model.initial, data).kraus
    move = rng.normal(size=G.shape) + 1j * rng.normal(size=G.shape)

    def value(step):
        values = block_log_likelihood(model.kraus + step * move, model.initial, data)
        return float(values @ data.weights)

    numeric = (value(1e-5) - value(-1e-5)) / 2e-5
    assert numeric == pytest.approx(2 * np.vdot(G, move).real, rel=1e-7)


def test_blocks_that_are_zero_get_no_gradient():
    model = random_hybrid(np.random.default_rng(0), 3, 2, 2, 1).prune(0.15)
    empty = np.all(model.kraus == 0, axis=(-1, -2))
    assert empty.any()
    G = block_gradient(model.kraus, model.initial, Sequences([[0, 1, 1, 0]])).kraus
    assert not G[empty].any()
    assert G[~empty].any()


def test_arrays_of_another_shape_are_refused():
    with pytest.raises(ModelError, match=r"kraus must have shape \(s, w, k, k, q, q\)"):
        block_linear_form(np.ones((2, 1, 2, 3, 1, 1)), np.ones((2, 1, 1)))
