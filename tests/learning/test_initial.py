import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm import Alphabet
from hqmm.learning import random_hmm, random_hqmm, random_noom


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
