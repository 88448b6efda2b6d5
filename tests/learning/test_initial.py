import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import assert_same_process

from hqmm import Alphabet, ModelError
from hqmm.learning import enlarge, random_hmm, random_hqmm, random_noom, with_noise


@given(seed=st.integers(0, 1000), n=st.integers(1, 4), s=st.integers(1, 4), w=st.integers(1, 3))
def test_drawn_models_are_valid_and_reproduce(seed, n, s, w):
    for draw in (
        random_hqmm(n, s, w),
        random_hqmm(n, s, w, method="uniform"),
        random_hmm(n, s),
        random_noom(n, s),
    ):
        model = draw(np.random.default_rng(seed))
        assert model == draw(np.random.default_rng(seed))
        assert model.n_symbols == s
        assert model.n_states == n


def test_the_alphabet_and_the_field_can_be_given():
    assert random_hmm(2, Alphabet("ab"))(np.random.default_rng(0)).alphabet == Alphabet("ab")
    assert not np.any(random_hqmm(2, 3, real=True)(np.random.default_rng(0)).kraus.imag)
    assert not np.any(random_hqmm(2, 3, real=True, method="uniform")(np.random.default_rng(0)).kraus.imag)
    with pytest.raises(ValueError, match="'haar' or 'uniform'"):
        random_hqmm(2, 3, method="normal")


def test_a_larger_model_starts_where_the_smaller_one_ended():
    rng = np.random.default_rng(0)
    small = random_hqmm(2, 3)(rng)
    assert_same_process(small, enlarge(small, rng, kraus_rank=3, noise=1e-9), atol=1e-7)
    assert_same_process(small, enlarge(small, rng, n_states=4, noise=0), longest=1, atol=0.1)
    with pytest.raises(ModelError, match="must not be smaller"):
        enlarge(small, rng, n_states=1)


def test_noise_moves_a_model_a_little():
    small = random_hqmm(2, 3)(np.random.default_rng(0))
    moved = with_noise(small, 1e-3, np.random.default_rng(1))
    assert 0 < np.abs(moved.kraus - small.kraus).max() < 1e-2
