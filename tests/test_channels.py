import warnings

import numpy as np
import pytest

from hqmm._random import as_generator
from hqmm.channels import (
    canonical_kraus,
    choi_from_liouville,
    from_real,
    hermitian_basis,
    is_cp,
    is_tp,
    kraus_rank,
    liouville_from_choi,
    liouville_from_kraus,
    liouville_from_real,
    nearest_isometry,
    random_density_matrix,
    random_kraus,
    random_unitary,
    real_from_liouville,
    real_operators,
    to_real,
)
from hqmm.errors import ModelError

TRANSPOSITION = np.eye(4)[[0, 2, 1, 3]]  # positive and Hermiticity-preserving, the classic map that is not CP


@pytest.fixture(scope="module")
def qutip():
    with warnings.catch_warnings():
        # qutip warns of optional packages that it does not find
        warnings.simplefilter("ignore")
        return pytest.importorskip("qutip")


def some_kraus(w=3, n=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((w, n, n)) + 1j * rng.standard_normal((w, n, n))


def choi_of(kraus):
    return choi_from_liouville(liouville_from_kraus(kraus))


# --- against qutip --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("w", "n"), [(1, 2), (3, 2), (2, 3), (16, 4)])
def test_liouville_and_choi_matrices_are_those_of_qutip(qutip, w, n):
    kraus = some_kraus(w, n)
    theirs = [qutip.Qobj(operator) for operator in kraus]
    liouville = qutip.kraus_to_super(theirs)
    choi = qutip.kraus_to_choi(theirs)

    np.testing.assert_allclose(liouville_from_kraus(kraus), liouville.full(), atol=1e-12)
    np.testing.assert_allclose(choi_from_liouville(liouville.full()), choi.full(), atol=1e-12)
    np.testing.assert_allclose(liouville_from_choi(choi.full()), qutip.to_super(choi).full(), atol=1e-12)


def test_canonical_operators_are_those_of_qutip_up_to_a_phase(qutip):
    kraus = some_kraus(w=2, n=3)
    theirs = qutip.to_kraus(qutip.kraus_to_choi([qutip.Qobj(operator) for operator in kraus]), tol=1e-9)
    theirs = sorted((operator.full() for operator in theirs), key=np.linalg.norm, reverse=True)

    ours = canonical_kraus(choi_of(kraus))

    assert len(ours) == len(theirs) == 2
    for our, their in zip(ours, theirs, strict=True):
        overlap = np.vdot(our, their)
        np.testing.assert_allclose(our * overlap / abs(overlap), their, atol=1e-10)


def test_qutip_agrees_which_maps_are_channels(qutip):
    def verdicts(liouville):
        theirs = qutip.Qobj(liouville, dims=[[[2], [2]], [[2], [2]]])
        return bool(theirs.iscp), is_cp(choi_from_liouville(liouville))

    assert verdicts(liouville_from_kraus(some_kraus(2, 2))) == (True, True)
    assert verdicts(TRANSPOSITION) == (False, False)


# --- Liouville and Choi ---------------------------------------------------------------------------------------


def test_the_columns_of_the_liouville_matrix_fill_the_choi_blocks_column_first():
    liouville = np.arange(81.0).reshape(9, 9)
    choi = choi_from_liouville(liouville)
    for column in range(9):
        block_column, block_row = divmod(column, 3)
        block = choi[3 * block_row : 3 * block_row + 3, 3 * block_column : 3 * block_column + 3]
        np.testing.assert_array_equal(block, liouville[:, column].reshape(3, 3, order="F"))


def test_no_operators_are_the_zero_map():
    nothing = np.zeros((0, 2, 2))
    np.testing.assert_array_equal(liouville_from_kraus(nothing), np.zeros((4, 4)))
    np.testing.assert_array_equal(real_operators(nothing), np.zeros((4, 4)))


@pytest.mark.parametrize("convert", [choi_from_liouville, liouville_from_choi])
@pytest.mark.parametrize("n", [1, 2])
def test_conversions_return_fresh_arrays(convert, n):
    given = np.ones((n * n, n * n), dtype=complex)
    convert(given)[:] = 0
    assert np.all(given == 1)


def test_the_map_may_be_real_or_given_as_lists():
    flip = [[[0, 1], [1, 0]]]
    assert liouville_from_kraus(flip).dtype == np.complex128
    np.testing.assert_array_equal(liouville_from_kraus(flip), np.fliplr(np.eye(4)))


# --- canonical Kraus operators --------------------------------------------------------------------------------


def test_canonical_operators_do_not_depend_on_the_operators_given():
    kraus = some_kraus(w=3, n=3)
    mixed = np.einsum("vw,wij->vij", random_unitary(5, random_state=1)[:, :3], kraus)  # isometries mix freely
    first, second = canonical_kraus(choi_of(kraus)), canonical_kraus(choi_of(mixed))
    assert first.shape == (3, 3, 3)
    np.testing.assert_allclose(first, second, atol=1e-10)


def test_canonical_operators_are_orthogonal_and_sorted():
    operators = canonical_kraus(choi_of(some_kraus(w=4, n=3))).reshape(4, -1)
    gram = operators.conj() @ operators.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert np.all(np.diff(np.diag(gram).real) < 0)


def test_the_largest_entry_of_a_canonical_operator_is_real_and_positive():
    for operator in canonical_kraus(choi_of(some_kraus(w=4, n=3))):
        largest = operator.ravel()[np.argmax(np.abs(operator))]
        assert largest.real > 0
        assert abs(largest.imag) < 1e-14


def test_the_phase_is_fixed_by_the_first_of_tied_entries():
    half = np.array([[1, 1j], [-1j, 1]]) / 2  # all four entries tie; the first is real
    for seed in range(20):
        noise = 1 + 1e-14 * np.random.default_rng(seed).standard_normal((2, 2))
        operators = canonical_kraus(choi_of([1j * half * noise]))
        np.testing.assert_allclose(operators, [half], atol=1e-12)


def test_real_maps_have_real_canonical_operators():
    operators = canonical_kraus(choi_of(some_kraus(w=2, n=3).real))
    np.testing.assert_allclose(operators.imag, 0, atol=1e-14)


def test_the_zero_map_has_no_canonical_operators():
    operators = canonical_kraus(np.zeros((9, 9)))
    assert operators.shape == (0, 3, 3)
    assert kraus_rank(np.zeros((9, 9))) == 0


def test_operators_below_the_tolerance_are_left_out():
    choi = np.diag([1.0, 1e-6, 0, 0])
    assert len(canonical_kraus(choi)) == 2
    assert len(canonical_kraus(choi, tol=1e-5)) == 1
    assert kraus_rank(choi) == 2
    assert kraus_rank(choi, tol=1e-5) == 1


def test_the_tolerance_is_relative():
    choi = 1e-30 * np.diag([1.0, 1e-6, 0, 0])
    assert len(canonical_kraus(choi)) == kraus_rank(choi) == 2


def test_the_kraus_rank_counts_independent_operators():
    a, b = some_kraus(w=2, n=2)
    ranks = kraus_rank(choi_of([[a, b, a + b], [a, 2 * a, -a], [a, b, a.T]]))
    assert ranks.dtype == np.int64
    np.testing.assert_array_equal(ranks, [2, 1, 3])


# --- CP and TP ------------------------------------------------------------------------------------------------


def test_a_choi_matrix_that_is_not_hermitian_is_not_cp():
    assert not is_cp(np.eye(4) + 1e-3 * np.eye(4, k=1))
    assert is_cp(np.eye(4) + 1e-12 * np.eye(4, k=1))


def test_one_bad_map_spoils_a_stack():
    good, bad = choi_of(some_kraus(2, 2)), choi_from_liouville(TRANSPOSITION)
    assert is_cp([good, good])
    assert not is_cp([good, bad])


@pytest.mark.parametrize("choi", [-np.eye(4), np.full((4, 4), np.nan), np.diag([1, 1, 1, -1e-6])])
def test_not_cp(choi):
    assert not is_cp(choi)


def test_the_cp_tolerance_is_relative_to_the_trace():
    assert is_cp(np.diag([1e6, 0, 0, -1e-5]))
    assert not is_cp(np.diag([1e-6, 0, 0, -1e-12]))
    assert is_cp(np.diag([1e-6, 0, 0, -1e-12]), tol=1e-5)
    assert is_cp(np.zeros((4, 4)))


def test_trace_preservation_counts_every_symbol():
    kraus = random_kraus(3, 2, 4, random_state=0)
    assert is_tp(kraus)
    assert not is_tp(kraus[:2])
    assert not is_tp(kraus * (1 + 1e-8))
    assert is_tp(kraus * (1 + 1e-8), tol=1e-7)
    assert not is_tp(np.full((1, 2, 2), np.nan))


def test_trace_preservation_is_not_unitality():
    reset = np.array([[[1, 0], [0, 0]], [[0, 1], [0, 0]]])  # Σ K†K = I, Σ KK† = diag(2, 0)
    assert is_tp(reset)
    assert not is_tp(reset.swapaxes(-1, -2))


# --- the real form --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_basis_is_hermitian_and_orthonormal(n):
    basis = hermitian_basis(n)
    np.testing.assert_array_equal(basis, basis.conj().swapaxes(-1, -2))
    gram = np.einsum("kij,lji->kl", basis, basis)
    np.testing.assert_allclose(gram, np.eye(n * n), atol=1e-15)


def test_the_basis_is_computed_once_and_cannot_be_changed():
    assert hermitian_basis(3) is hermitian_basis(3)
    with pytest.raises(ValueError, match="read-only"):
        hermitian_basis(3)[0, 0, 0] = 2


def test_coordinates_are_the_diagonal_then_real_then_imaginary_upper_triangle():
    rho = np.array([[1, 4 + 7j, 5 + 8j], [4 - 7j, 2, 6 + 9j], [5 - 8j, 6 - 9j, 3]])
    root = np.sqrt(2)
    expected = [1, 2, 3, 4 * root, 5 * root, 6 * root, 7 * root, 8 * root, 9 * root]
    np.testing.assert_allclose(to_real(rho), expected, rtol=1e-15)
    np.testing.assert_allclose(from_real(expected), rho, rtol=1e-15)


def test_a_matrix_that_is_not_hermitian_counts_by_its_hermitian_part():
    (matrix,) = some_kraus(1, 3)
    naive = [np.trace(element @ matrix).real for element in hermitian_basis(3)]
    np.testing.assert_allclose(to_real(matrix), naive, atol=1e-14)


def test_real_operators_are_traces_with_the_basis():
    kraus = some_kraus(w=2, n=3)
    basis = hermitian_basis(3)
    naive = [[sum(np.trace(b @ K @ c @ K.conj().T) for K in kraus) for c in basis] for b in basis]
    np.testing.assert_allclose(np.imag(naive), 0, atol=1e-12)
    np.testing.assert_allclose(real_operators(kraus), np.real(naive), atol=1e-12)


def test_maps_that_are_not_cp_have_a_real_form_too():
    T = real_from_liouville(TRANSPOSITION)
    rho = random_density_matrix(2, random_state=0)
    np.testing.assert_allclose(from_real(T @ to_real(rho)), rho.T, atol=1e-15)
    np.testing.assert_allclose(liouville_from_real(T), TRANSPOSITION, atol=1e-15)


# --- random states and channels -------------------------------------------------------------------------------


def mean_purity(n, samples=4000, **options):
    rng = np.random.default_rng(5)
    states = np.array([random_density_matrix(n, random_state=rng, **options) for _ in range(samples)])
    purity = np.einsum("tij,tji->t", states, states).real
    return purity.mean(), purity.std() / np.sqrt(samples)


def within_four_errors(measured, expected):
    mean, error = measured
    return error < 0.01 and abs(mean - expected) < 4 * error


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_mean_purity_of_random_states_is_that_of_their_measure(n):
    # Życzkowski and Sommers 2001 (real: moments of the Wishart distribution); Sommers and Życzkowski 2004
    hilbert_schmidt, real = 2 * n / (n**2 + 1), (2 * n + 1) / (n**2 + 2)
    bures = (5 * n**2 + 1) / (2 * n * (n**2 + 2))
    assert within_four_errors(mean_purity(n), hilbert_schmidt)
    assert within_four_errors(mean_purity(n, real=True), real)
    assert within_four_errors(mean_purity(n, method="bures"), bures)
    assert not within_four_errors(mean_purity(n), bures)


def test_real_bures_states_of_two_levels_are_uniform_on_a_hemisphere():
    # There the Bures metric of the disk of real states is that of a hemisphere: 1 − |r|² = z², z uniform.
    assert within_four_errors(mean_purity(2, method="bures", real=True), 5 / 6)


def test_real_bures_states_of_three_levels_have_the_eigenvalues_of_their_measure():
    # The volume of the Bures metric on real states is Π λ^(−1/2) Π |λ_i − λ_j| / √(λ_i + λ_j); averaged over
    # points from the Dirichlet(1/2) distribution, which brings the first factor.
    rng = np.random.default_rng(6)
    a, b, c = points = rng.dirichlet([0.5, 0.5, 0.5], size=400_000).T
    weights = np.abs((a - b) * (b - c) * (c - a)) / np.sqrt((a + b) * (b + c) * (c + a))
    purity = np.average((points**2).sum(axis=0), weights=weights)
    assert within_four_errors(mean_purity(3, method="bures", real=True), purity)


@pytest.mark.parametrize("method", ["hilbert-schmidt", "bures"])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("n", [1, 4])
def test_random_density_matrices_are_density_matrices(method, real, n):
    rho = random_density_matrix(n, method, real, random_state=2)
    np.testing.assert_allclose(rho, rho.conj().T, atol=1e-15)
    assert np.trace(rho) == pytest.approx(1, abs=1e-14)
    assert np.linalg.eigvalsh(rho).min() > 0
    assert np.all(rho.imag == 0) == (real or n == 1)


@pytest.mark.parametrize(("real", "moments"), [(False, (1, 2, 6)), (True, (1, 3, 15))])
def test_random_unitaries_have_the_trace_moments_of_the_haar_measure(real, moments):
    # Diaconis and Shahshahani 1994: E|tr U|^2j = j! for j ≤ n; tr of an orthogonal matrix is normal to that order
    rng = np.random.default_rng(3)
    traces = np.array([np.trace(random_unitary(6, real, rng)) for _ in range(20000)])
    for j, expected in enumerate(moments, start=1):
        powers = np.abs(traces) ** (2 * j)
        assert abs(powers.mean() - expected) < 5 * powers.std() / np.sqrt(len(powers))
    first = np.abs(traces.mean())  # without fixing the phase of R, eigenvalues gather on one side
    assert first < 5 / np.sqrt(len(traces))


def test_random_kraus_operators_spread_evenly_over_the_stiefel_manifold():
    # κ with orthonormal columns of length N: E|κ_ij|² = 1/N, E|κ_ij|⁴ = 2/(N(N+1))
    rng = np.random.default_rng(4)
    kappa = np.array([random_kraus(3, 2, 2, random_state=rng) for _ in range(4000)]).reshape(4000, 12, 2)
    square = np.abs(kappa) ** 2
    np.testing.assert_allclose(square.mean(axis=0), 1 / 12, rtol=0.07)
    np.testing.assert_allclose((square**2).mean(), 2 / (12 * 13), rtol=0.02)
    np.testing.assert_allclose(kappa.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose((kappa**2).mean(axis=0), 0, atol=0.01)  # phases are uniform


def test_real_random_kraus_operators_are_real():
    kraus = random_kraus(3, 1, 2, real=True, random_state=0)
    assert kraus.dtype == np.complex128
    assert np.all(kraus.imag == 0)
    assert is_tp(kraus)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: random_unitary(3, random_state=seed),
        lambda seed: random_kraus(2, 2, 3, random_state=seed),
        lambda seed: random_density_matrix(3, random_state=seed),
        lambda seed: random_density_matrix(3, "bures", random_state=seed),
    ],
)
def test_a_seed_reproduces_bit_for_bit(draw):
    np.testing.assert_array_equal(draw(9), draw(9))
    np.testing.assert_array_equal(draw(np.int64(9)), draw(np.random.default_rng(9)))
    assert not np.array_equal(draw(9), draw(10))
    assert not np.array_equal(draw(None), draw(None))
    generator = np.random.default_rng(9)
    assert not np.array_equal(draw(generator), draw(generator))


@pytest.mark.parametrize("random_state", [-1, 1.5, "seed", np.random.RandomState(0)])
def test_other_random_states_are_refused(random_state):
    with pytest.raises(ModelError, match="random_state must be"):
        as_generator(random_state)


# --- wrong arguments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: liouville_from_kraus(np.eye(2)), r"kraus must have shape \(..., w, n, n\).*not \(2, 2\)"),
        (lambda: liouville_from_kraus(np.ones((1, 2, 3))), r"kraus must have shape"),
        (lambda: liouville_from_kraus(np.ones((1, 0, 0))), r"n ≥ 1"),
        (lambda: liouville_from_kraus([[["a"]]]), "kraus must be an array of numbers"),
        (lambda: real_operators(np.eye(2)), r"kraus must have shape \(..., w, n, n\)"),
        (lambda: choi_from_liouville(np.eye(3)), r"liouville must have a last axis of n²"),
        (lambda: choi_from_liouville(np.ones((4, 2))), "liouville must have shape"),
        (lambda: choi_from_liouville(np.ones(4)), "liouville must have shape"),
        (lambda: liouville_from_choi(np.eye(8)), r"choi must have a last axis of n²"),
        (lambda: canonical_kraus(np.ones((2, 4, 4))), "choi must be one matrix"),
        (lambda: canonical_kraus(TRANSPOSITION), "positive semidefinite.*eigenvalue is -1"),
        (lambda: canonical_kraus(np.eye(4, k=1)), "choi must preserve Hermiticity.*by 1$"),
        (lambda: canonical_kraus(np.full((4, 4), np.nan)), "choi must be finite"),
        (lambda: kraus_rank(np.eye(4, k=1)), "choi must preserve Hermiticity"),
        (lambda: is_cp(np.eye(5)), "choi must have a last axis"),
        (lambda: is_tp(np.ones((2, 3))), r"kraus must have shape \(..., n, n\)"),
        (lambda: nearest_isometry(np.zeros((2, 2, 2))), "do not have full column rank"),
        (lambda: nearest_isometry(np.full((2, 2, 2), np.nan)), "kraus must hold .* no nan or inf"),
        (lambda: nearest_isometry(np.zeros((0, 2, 2))), "kraus must hold at least one operator"),
        (lambda: to_real(np.ones((2, 3))), "rho must have shape"),
        (lambda: from_real(np.ones(3)), "vector must have a last axis of n²"),
        (lambda: from_real(1.0), "vector must have a last axis of n²"),
        (lambda: from_real([]), "vector must have a last axis of n²"),
        (lambda: from_real([1j]), "vector must be an array of real numbers"),
        (lambda: real_from_liouville(1j * np.eye(4)), "liouville must preserve Hermiticity.*by 2$"),
        (lambda: real_from_liouville(np.full((4, 4), np.inf)), "liouville must be finite"),
        (lambda: liouville_from_real(np.eye(3)), "operators must have a last axis of n²"),
        (lambda: liouville_from_real(np.ones((4, 1))), "operators must have shape"),
        (lambda: liouville_from_real(1j * np.eye(4)), "operators must be an array of real numbers"),
        (lambda: hermitian_basis(0), "n must be a whole number from 1 up, not 0"),
        (lambda: hermitian_basis(2.0), "n must be a whole number"),
        (lambda: random_unitary(-1), "n must be a whole number"),
        (lambda: random_kraus(0, 1, 2), "n_symbols must be a whole number"),
        (lambda: random_kraus(2, 0, 2), "kraus_rank must be a whole number"),
        (lambda: random_kraus(2, 1, 0), "n must be a whole number"),
        (lambda: random_density_matrix(0), "n must be a whole number"),
        (lambda: random_density_matrix(2, "haar"), "method must be .* not .haar."),
    ],
)
def test_wrong_arguments_are_refused_by_name(call, message):
    with pytest.raises(ModelError, match=message):
        call()
