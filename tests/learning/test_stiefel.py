import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymanopt.manifolds import Stiefel

from hqmm.learning import stiefel
from hqmm.learning.stiefel import UPDATES, adjoint, euclidean_tangent, feasibility_error, polar, tangent

CANONICAL = ("wen-yin", "jiang-dai", "polar", "qr")


def draw_complex(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@st.composite
def points(draw):
    """A stack of k orthonormal r × q matrices and a gradient of any size."""
    k, q = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    r = draw(st.integers(q, 3 * q + 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kappa = np.linalg.qr(draw_complex(rng, k, r, q))[0]
    return kappa, 10 ** rng.uniform(-3, 2) * draw_complex(rng, k, r, q)


def svd_polar(matrices):
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    return left @ right


def derivative(curve, h=1e-5):
    return (curve(-2 * h) - 8 * curve(-h) + 8 * curve(h) - curve(2 * h)) / (12 * h)


def unit(gradient):
    return gradient / np.linalg.norm(gradient)


@pytest.mark.parametrize("name", ["wen-yin", "jiang-dai", "gradient-projection", "polar", "qr"])
@given(case=points(), step=st.floats(0, 2))
def test_every_update_stays_on_the_manifold(name, case, step):
    kappa, gradient = case
    assert feasibility_error(UPDATES[name](kappa, gradient, step)) < 1e-10


@given(case=points(), step=st.floats(0, 0.9))
def test_newton_schulz_stays_on_the_manifold_for_steps_below_one(case, step):
    # its direction has spectral norm at most one, so that κ − τ(direction) keeps full rank
    kappa, gradient = case
    assert feasibility_error(UPDATES["newton-schulz"](kappa, gradient, step)) < 1e-10


@pytest.mark.parametrize("name", UPDATES)
@given(case=points())
def test_no_step_and_no_gradient_leave_the_point_where_it_is(name, case):
    kappa, gradient = case
    np.testing.assert_allclose(UPDATES[name](kappa, gradient, 0.0), kappa, atol=1e-12)
    np.testing.assert_allclose(UPDATES[name](kappa, 0 * gradient, 1.0), kappa, atol=1e-12)


@pytest.mark.parametrize("name", CANONICAL)
@given(case=points())
def test_the_canonical_updates_leave_along_minus_the_canonical_gradient(name, case):
    kappa, gradient = case[0], unit(case[1])
    slope = derivative(lambda step: UPDATES[name](kappa, gradient, step))
    np.testing.assert_allclose(slope, -tangent(kappa, gradient), atol=1e-9)


@given(case=points())
def test_gradient_projection_leaves_along_the_projected_gradient(case):
    kappa, gradient = case[0], unit(case[1])
    slope = derivative(lambda step: UPDATES["gradient-projection"](kappa, gradient, step))
    np.testing.assert_allclose(slope, -euclidean_tangent(kappa, gradient), atol=1e-9)


@given(case=points())
def test_newton_schulz_leaves_along_the_orthogonalised_gradient_where_that_is_tangent(case):
    kappa, gradient = case
    gradient = gradient - kappa @ (adjoint(kappa) @ gradient)  # κ†D = 0, and so for every D·H
    direction = stiefel.newton_schulz(tangent(kappa, gradient), iterations=5)
    slope = derivative(lambda step: UPDATES["newton-schulz"](kappa, gradient, step))
    np.testing.assert_allclose(slope, -direction, atol=1e-8)


@given(case=points(), step=st.floats(-3, 3))
def test_wen_yin_is_the_cayley_transform_in_its_long_form(case, step):
    kappa, gradient = case[0], unit(case[1])
    identity = np.eye(kappa.shape[-2])
    a = gradient @ adjoint(kappa) - kappa @ adjoint(gradient)
    expected = np.linalg.solve(identity + step / 2 * a, (identity - step / 2 * a) @ kappa)
    np.testing.assert_allclose(stiefel.wen_yin(kappa, gradient, step), expected, atol=1e-12)


@given(case=points(), step=st.floats(-3, 3))
def test_jiang_dai_and_wen_yin_are_the_same_curve(case, step):
    kappa, gradient = case[0], unit(case[1])
    np.testing.assert_allclose(
        stiefel.jiang_dai(kappa, gradient, step), stiefel.wen_yin(kappa, gradient, step), atol=1e-12
    )


@given(case=points())
def test_tangents_are_tangent_and_the_projection_is_orthogonal(case):
    kappa, gradient = case
    scale = np.linalg.norm(gradient)
    for vector in (tangent(kappa, gradient), euclidean_tangent(kappa, gradient)):
        inner = adjoint(kappa) @ vector
        assert np.abs(inner + adjoint(inner)).max() < 1e-12 * scale
    projected = euclidean_tangent(kappa, gradient)
    np.testing.assert_allclose(euclidean_tangent(kappa, projected), projected, atol=1e-12 * scale)
    assert abs(np.vdot(projected, gradient - projected).real) < 1e-12 * scale**2


@given(case=points(), spread=st.floats(0, 15))
def test_polar_is_the_unitary_factor_however_ill_conditioned(case, spread):
    kappa, gradient = case
    q = kappa.shape[-1]
    matrices = kappa @ (np.geomspace(1, 10.0**-spread, q)[:, None] * svd_polar(gradient[:, :q]))
    assert feasibility_error(polar(matrices)) < 1e-10
    # what the smallest singular value leaves undetermined grows with the condition number
    np.testing.assert_allclose(polar(matrices), svd_polar(matrices), atol=1e-10)


@given(case=points(), spread=st.floats(0, 4))
def test_newton_schulz_is_the_unitary_factor_up_to_condition_ten_thousand(case, spread):
    kappa, gradient = case
    q = kappa.shape[-1]
    matrices = kappa @ (np.geomspace(1, 10.0**-spread, q)[:, None] * svd_polar(gradient[:, :q]))
    np.testing.assert_allclose(stiefel.newton_schulz(matrices), svd_polar(matrices), atol=1e-10)


@given(case=points())
def test_polar_is_the_nearest_point(case):
    kappa, gradient = case
    nearest = np.linalg.norm(polar(gradient) - gradient)
    for other in (kappa, stiefel.orthonormal(gradient), polar(gradient + 0.01 * np.linalg.norm(gradient) * kappa)):
        assert nearest <= np.linalg.norm(other - gradient) + 1e-12 * nearest


def test_a_matrix_without_full_rank_still_gets_a_point():
    assert feasibility_error(polar(np.zeros((1, 4, 2), dtype=complex))) < 1e-14


def test_a_matrix_of_zeros_has_no_direction():
    np.testing.assert_array_equal(stiefel.newton_schulz(np.zeros((2, 4, 2), dtype=complex)), 0)


@given(case=points())
def test_orthonormal_is_the_qr_decomposition_with_a_positive_diagonal(case):
    matrices = case[1]
    q = stiefel.orthonormal(matrices)
    r = adjoint(q) @ matrices
    assert feasibility_error(q) < 1e-12
    np.testing.assert_allclose(np.tril(r, -1), 0, atol=1e-12 * np.linalg.norm(matrices))
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    assert np.all(diagonal.real > 0)
    np.testing.assert_allclose(diagonal.imag, 0, atol=1e-12 * np.linalg.norm(matrices))


@given(case=points())
def test_the_norms_are_those_of_each_matrix(case):
    matrices = case[1]
    largest = max(np.linalg.norm(one, 2) for one in matrices)
    assert stiefel.spectral_norm(matrices) == pytest.approx(largest)
    defect = max(np.linalg.norm(one.conj().T @ one - np.eye(one.shape[1])) for one in matrices)
    assert feasibility_error(matrices) == pytest.approx(defect)


@given(case=points())
def test_real_matrices_agree_with_pymanopt(case):
    kappa, vector = stiefel.orthonormal(case[0].real), unit(case[1].real)
    for one, along in zip(kappa, vector, strict=True):
        exact = Stiefel(*one.shape, retraction="polar")
        step = exact.projection(one, along)
        np.testing.assert_allclose(euclidean_tangent(one, along), step, atol=1e-13)
        np.testing.assert_allclose(polar(one + step), exact.retraction(one, step), atol=1e-12)
        np.testing.assert_allclose(
            stiefel.orthonormal(one + step), Stiefel(*one.shape).retraction(one, step), atol=1e-12
        )


@pytest.mark.parametrize("name", UPDATES)
@given(case=points())
def test_real_stays_real(name, case):
    kappa, gradient = stiefel.orthonormal(case[0].real), unit(case[1].real)
    assert not np.iscomplexobj(UPDATES[name](kappa, gradient, 0.5))
    assert np.abs(UPDATES[name](kappa + 0j, gradient + 0j, 0.5).imag).max() == 0
