import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import polar

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


@pytest.mark.parametrize("real", [True, False])
def test_uniform_entries_leave_their_mean_in_kappa_and_the_haar_measure_leaves_none(real):
    rng = np.random.default_rng(0)
    uniform = rng.random((300, 6, 2)) + (0 if real else 1j * rng.random((300, 6, 2)))
    expected = np.mean([polar(matrix)[0] for matrix in uniform])

    def mean_entry(method):
        draw = random_hqmm(2, 3, real=real, method=method)
        return np.mean([draw(np.random.default_rng(seed)).kraus for seed in range(300)])

    assert abs(expected) > 0.2
    assert abs(mean_entry("uniform") - expected) < 0.01
    assert abs(mean_entry("haar")) < 0.03
