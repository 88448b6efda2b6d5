"""Laws that hold for every completely positive map, whatever its dimension, Kraus rank and stacking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm.channels import (
    canonical_kraus,
    choi_from_liouville,
    from_real,
    is_cp,
    is_tp,
    kraus_rank,
    liouville_from_choi,
    liouville_from_kraus,
    liouville_from_real,
    random_density_matrix,
    random_kraus,
    random_unitary,
    real_from_liouville,
    real_operators,
    to_real,
)

seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 5)
batches = st.lists(st.integers(1, 3), max_size=2).map(tuple)


def gaussian(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@st.composite
def kraus_stacks(draw, batch=batches):
    n, w = draw(dimensions), draw(st.integers(1, 6))
    return gaussian(np.random.default_rng(draw(seeds)), *draw(batch), w, n, n)


@st.composite
def states_for(draw, kraus):
    n = kraus.shape[-1]
    return random_density_matrix(n, random_state=draw(seeds))


def vec(matrices):
    return matrices.swapaxes(-1, -2).reshape(*matrices.shape[:-2], -1)


def apply(kraus, rho):
    return sum(K @ rho @ K.conj().swapaxes(-1, -2) for K in np.moveaxis(kraus, -3, 0))


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12 * (1 + np.abs(expected).max()))


@given(st.data(), kraus_stacks())
def test_the_liouville_matrix_acts_on_stacked_columns(data, kraus):
    rho = data.draw(states_for(kraus))
    assert_close(liouville_from_kraus(kraus) @ vec(rho), vec(apply(kraus, rho)))


@given(st.data(), kraus_stacks())
def test_the_real_form_acts_on_coordinates(data, kraus):
    rho = data.draw(states_for(kraus))
    assert_close(from_real(real_operators(kraus) @ to_real(rho)), apply(kraus, rho))


@given(kraus_stacks())
def test_the_liouville_matrix_is_a_sum_of_kronecker_products(kraus):
    flat = kraus.reshape(-1, *kraus.shape[-3:])
    naive = [sum(np.kron(K.conj(), K) for K in operators) for operators in flat]
    liouville = liouville_from_kraus(kraus)
    assert liouville.shape[:-2] == kraus.shape[:-3]
    assert_close(liouville.reshape(-1, *liouville.shape[-2:]), np.array(naive))


@given(kraus_stacks())
def test_the_choi_matrix_is_a_sum_of_outer_products(kraus):
    vectors = vec(kraus)
    naive = np.einsum("...wi,...wj->...ij", vectors, vectors.conj())
    assert_close(choi_from_liouville(liouville_from_kraus(kraus)), naive)


@given(dimensions, batches, seeds)
def test_the_reshuffle_is_an_involution(n, batch, seed):
    matrices = gaussian(np.random.default_rng(seed), *batch, n * n, n * n)
    np.testing.assert_array_equal(choi_from_liouville(choi_from_liouville(matrices)), matrices)
    np.testing.assert_array_equal(liouville_from_choi(choi_from_liouville(matrices)), matrices)


@given(dimensions, batches, seeds)
def test_coordinates_round_trip_and_keep_inner_products(n, batch, seed):
    vectors = np.random.default_rng(seed).standard_normal((2, *batch, n * n))
    matrices = from_real(vectors)
    assert_close(to_real(matrices), vectors)
    np.testing.assert_array_equal(matrices, matrices.conj().swapaxes(-1, -2))
    a, b = matrices
    assert_close(np.einsum("...ij,...ji->...", a, b), (vectors[0] * vectors[1]).sum(axis=-1))


@given(dimensions, batches, seeds)
def test_taking_coordinates_is_the_adjoint_of_building_the_matrix(n, batch, seed):
    rng = np.random.default_rng(seed)
    vector, matrix = rng.standard_normal((*batch, n * n)), gaussian(rng, *batch, n, n)
    assert_close(np.vdot(from_real(vector), matrix).real, np.vdot(vector, to_real(matrix)))


@given(dimensions, batches, seeds)
def test_real_matrices_and_liouville_matrices_round_trip(n, batch, seed):
    T = np.random.default_rng(seed).standard_normal((*batch, n * n, n * n))
    assert_close(real_from_liouville(liouville_from_real(T)), T)


@given(kraus_stacks())
def test_both_ways_to_the_real_form_agree(kraus):
    liouville = liouville_from_kraus(kraus)
    assert_close(real_from_liouville(liouville), real_operators(kraus))
    assert_close(liouville_from_real(real_operators(kraus)), liouville)


@given(dimensions, seeds)
def test_composition_is_multiplication_in_every_form(n, seed):
    first, second = gaussian(np.random.default_rng(seed), 2, 2, n, n)
    both = (second[:, None] @ first[None]).reshape(4, n, n)
    assert_close(liouville_from_kraus(both), liouville_from_kraus(second) @ liouville_from_kraus(first))
    assert_close(real_operators(both), real_operators(second) @ real_operators(first))


@given(kraus_stacks(batch=st.just(())))
def test_canonical_operators_give_the_same_map_with_the_fewest_operators(kraus):
    choi = choi_from_liouville(liouville_from_kraus(kraus))
    canonical = canonical_kraus(choi)
    w, n, _ = kraus.shape
    assert len(canonical) == kraus_rank(choi) == min(w, n * n)
    assert_close(liouville_from_kraus(canonical), liouville_from_kraus(kraus))


@given(kraus_stacks(batch=st.just(())), seeds)
def test_canonical_operators_do_not_see_a_unitary_mixing(kraus, seed):
    w = len(kraus)
    mixed = np.einsum("vw,wij->vij", random_unitary(w, random_state=seed), kraus)
    first, second = (canonical_kraus(choi_from_liouville(liouville_from_kraus(k))) for k in (kraus, mixed))
    weights = (np.abs(first) ** 2).sum(axis=(1, 2))
    gaps = -np.diff(weights, append=0) / weights[0]
    if gaps.min() > 1e-4:  # operators of nearly equal weight are not determined to many digits
        np.testing.assert_allclose(first, second, atol=1e-9 * np.abs(first).max())


@given(kraus_stacks())
def test_maps_with_kraus_operators_are_cp(kraus):
    assert is_cp(choi_from_liouville(liouville_from_kraus(kraus)))


@given(st.integers(1, 4), st.integers(1, 4), dimensions, st.booleans(), seeds)
def test_random_kraus_operators_preserve_the_trace(s, w, n, real, seed):
    kraus = random_kraus(s, w, n, real, seed)
    assert kraus.shape == (s, w, n, n)
    assert is_tp(kraus, tol=1e-13)
    rho = random_density_matrix(n, random_state=seed)
    assert apply(kraus, rho).trace(axis1=-2, axis2=-1).sum() == pytest.approx(1, abs=1e-12)
    identity = to_real(np.eye(n))
    assert_close(identity @ real_operators(kraus).sum(axis=0), identity)


@given(dimensions, st.booleans(), seeds)
def test_random_unitaries_are_unitary(n, real, seed):
    U = random_unitary(n, real, seed)
    assert_close(U.conj().T @ U, np.eye(n))
    assert not real or np.all(U.imag == 0)
