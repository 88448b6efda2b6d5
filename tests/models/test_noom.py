import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import random_noom

from hqmm import NOOM, DataError
from hqmm.datasets import probability_clock


@given(seed=st.integers(0, 1000), n=st.integers(1, 4), s=st.integers(1, 3))
def test_states_are_unit_vectors_whose_outer_products_are_the_hqmms_states(seed, n, s):
    model = random_noom(np.random.default_rng(seed), n, s)
    word = model.sample(1, 5, random_state=0)[0]
    vectors = model.filter(word)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    np.testing.assert_allclose(np.einsum("ti,tj->tij", vectors, vectors), model.to_hqmm().filter(word), atol=1e-8)


def test_the_kronecker_form_is_the_papers():
    clock = probability_clock()
    oom = clock.to_oom()
    phi, v = clock.operators, clock.initial
    np.testing.assert_array_equal(oom.operators, [np.kron(phi[0], phi[0]), np.kron(phi[1], phi[1])])
    np.testing.assert_array_equal(oom.initial, np.kron(v, v))
    np.testing.assert_array_equal(oom.evaluation, [1, 0, 0, 1])


def test_the_linear_form_has_the_dimension_of_symmetric_matrices():
    assert random_noom(np.random.default_rng(0), 4, 2).linear.dimension == 10


def test_there_is_no_vector_after_a_missing_symbol():
    with pytest.raises(DataError, match=r"to_hqmm\(\)\.filter") as error:
        probability_clock().filter([0, None])
    assert error.value.position == 1


def test_the_clock_oscillates():
    clock = probability_clock()
    resets = np.array([clock.predict([1] + [0] * t)[1] for t in range(40)])
    turning_points = np.flatnonzero(np.diff(np.sign(np.diff(resets))))
    assert len(turning_points) > 10
    assert resets[-10:].max() - resets[-10:].min() > 0.3  # and the oscillation does not die out


def test_an_impossible_symbol_is_an_error_with_its_place():
    with pytest.raises(DataError, match="probability zero") as error:
        NOOM([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])], [1.0, 0.0]).filter([0, 1])
    assert error.value.position == 1
