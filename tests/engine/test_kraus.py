"""Forms 4 and 5 and the pull-back, against the real forms, the paper's formula and autograd differentiating it."""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm import DataError, ModelError, Sequences
from hqmm.channels import hermitian_basis, random_density_matrix, random_kraus, real_operators, to_real
from hqmm.engine import kraus as engine
from hqmm.engine.kraus import (
    explain,
    kraus_gradient,
    kraus_log_likelihood,
    linear_form,
    pull_back,
    pull_back_initial,
)
from hqmm.errors import NegativeProbabilityError

FORMS = ["real", "kraus", "pure"]


def plain_state(K, rho, codes):
    """ρ after the symbols, not normalised: the formula below equation 9, a missing symbol summing over all."""
    for code in codes:
        operators = [K[y, w] for y in (range(K.shape[0]) if code < 0 else [code]) for w in range(K.shape[1])]
        rho = sum(anp.dot(anp.dot(A, rho), anp.conj(A).T) for A in operators)
    return rho


def plain_log_likelihood(K, rho, codes, burn_in):
    if 0 < burn_in and len(codes) <= burn_in:
        return 0.0
    if burn_in == 0:
        return anp.log(anp.real(anp.trace(plain_state(K, rho, codes))))
    burned = plain_state(K, rho, codes[:burn_in])
    return anp.log(anp.real(anp.trace(plain_state(K, burned, codes[burn_in:])))) - anp.log(
        anp.real(anp.trace(burned))
    )


def plain_gradient(K, rho, data, burn_in, through_burn_in):
    """ℓ of each sequence, ∂ℓ/∂K* and ∂ℓ/∂ρ₀, by autograd with respect to real and imaginary parts."""

    def total(k_re, k_im, r_re, r_im):
        A, R, value = k_re + 1j * k_im, r_re + 1j * r_im, 0.0
        for codes, weight in zip(data, data.weights, strict=True):
            if through_burn_in or burn_in == 0:
                value = value + weight * plain_log_likelihood(A, R, codes, burn_in)
            elif len(codes) > burn_in:
                start = plain_state(K, rho, codes[:burn_in])
                value = value + weight * plain_log_likelihood(A, start / np.trace(start), codes[burn_in:], 0)
        return value + 0.0 * (anp.sum(k_re) + anp.sum(k_im) + anp.sum(r_re) + anp.sum(r_im))

    by = autograd.grad(total, (0, 1, 2, 3))(K.real, K.imag, rho.real, rho.imag)
    W = (by[2] - 1j * by[3]).T
    values = [plain_log_likelihood(K, rho, codes, burn_in) for codes in data]
    return np.array(values), (by[0] + 1j * by[1]) / 2, (W + W.conj().T) / 2


def assert_close(result, expected, tol=1e-9):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(result, expected, rtol=0, atol=tol * scale)


def state_of_rank(rng, n, rank):
    A = rng.normal(size=(n, rank)) + 1j * rng.normal(size=(n, rank))
    rho = A @ A.conj().T
    return rho / np.trace(rho).real


def possible_forms(w, data):
    return FORMS if w == 1 and not data.has_missing else FORMS[:2]


@st.composite
def problems(draw, longest=7):
    n, s, w = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(0, longest), min_size=1, max_size=5))
    lowest = draw(st.sampled_from([0, -1]))
    data = Sequences(
        [rng.integers(lowest, s, length) for length in lengths],
        alphabet=s,
        weights=rng.choice([0.0, 0.5, 1.0, 3.0], len(lengths)),
        allow_empty=True,
    )
    kraus = random_kraus(s, w, n, random_state=rng)
    return kraus, state_of_rank(rng, n, draw(st.integers(1, n))), data, draw(st.sampled_from([0, 1, 3]))


# --- the pull-back --------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_pull_back_is_the_adjoint_of_the_way_to_the_real_form(n, s, w, seed):
    rng = np.random.default_rng(seed)
    K, step = rng.normal(size=(2, s, w, n, n)) + 1j * rng.normal(size=(2, s, w, n, n))
    G = rng.normal(size=(s, n * n, n * n))

    def value(t):
        return np.sum(G * real_operators(K + t * step))

    # The operators are quadratic in K, so the central difference is exact.
    slope = value(0.5) - value(-0.5)
    assert_close(2 * np.sum(pull_back(K, G).conj() * step).real, slope)


@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_pull_back_is_the_sum_over_basis_elements(n, s, w, seed):
    rng = np.random.default_rng(seed)
    K, G, B = random_kraus(s, w, n, random_state=rng), rng.normal(size=(s, n * n, n * n)), hermitian_basis(n)
    assert_close(pull_back(K, G), np.einsum("ykl,kia,ywab,lbj->ywij", G, B, K, B), 1e-13)


def test_the_initial_pull_back_is_the_gradient_by_the_density_matrix():
    g, rho = np.random.default_rng(0).normal(size=9), random_density_matrix(3, random_state=1)
    Z = pull_back_initial(g)
    assert np.array_equal(Z, Z.conj().T)
    assert_close(np.trace(Z @ rho).real, g @ to_real(rho), 1e-14)


@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_linear_form_is_that_of_the_channels(n, s, w, seed):
    K, rho = random_kraus(s, w, n, random_state=seed), random_density_matrix(n, random_state=seed)
    form = linear_form(K, rho)
    assert_close(form.operators, real_operators(K), 1e-14)
    assert_close(form.initial, to_real(rho), 1e-15)
    assert_close(form.evaluation, to_real(np.eye(n)), 0)


# --- all forms, one result ------------------------------------------------------------------------------------


@given(problems(), st.booleans())
def test_every_form_agrees_with_autograd_on_the_papers_formula(problem, through_burn_in):
    K, rho, data, burn_in = problem
    values, by_kraus, by_initial = plain_gradient(K, rho, data, burn_in, through_burn_in)
    for method in possible_forms(K.shape[1], data):
        result = kraus_gradient(K, rho, data, burn_in=burn_in, burn_in_gradient=through_burn_in, method=method)
        assert_close(result.log_likelihood, values)
        assert_close(result.kraus, by_kraus)
        assert_close(result.initial, by_initial)
        assert result.n_zero == 0
        assert_close(kraus_log_likelihood(K, rho, data, burn_in=burn_in, method=method), values)


@pytest.mark.parametrize("method", ["real", "kraus"])
def test_a_missing_symbol_sums_over_all_symbols(method):
    rng = np.random.default_rng(7)
    K, rho = random_kraus(3, 2, 3, random_state=rng), random_density_matrix(3, random_state=rng)
    data = Sequences([[-1, 0, 2], [0, -1, 1, -1], [-1], [0, -1, -1, 2, 2]], alphabet=3, weights=[1, 2, 3, 0.5])
    for burn_in, through_burn_in in [(0, False), (2, False), (2, True)]:
        values, by_kraus, by_initial = plain_gradient(K, rho, data, burn_in, through_burn_in)
        result = kraus_gradient(K, rho, data, burn_in=burn_in, burn_in_gradient=through_burn_in, method=method)
        assert_close(result.log_likelihood, values)
        assert_close(result.kraus, by_kraus)
        assert_close(result.initial, by_initial)


@pytest.mark.parametrize("method", ["kraus", "pure"])
def test_products_of_few_states_at_a_time_give_the_same(monkeypatch, method):
    rng = np.random.default_rng(8)
    K, rho = random_kraus(2, 1, 5, random_state=rng), random_density_matrix(5, random_state=rng)
    data = Sequences(rng.integers(0, 2, (30, 12)))
    expected = kraus_gradient(K, rho, data, method=method)
    monkeypatch.setattr(engine, "_WORK_BYTES", 1)
    result = kraus_gradient(K, rho, data, method=method)
    assert_close(result.log_likelihood, expected.log_likelihood, 1e-12)
    assert_close(result.kraus, expected.kraus, 1e-12)
    assert_close(result.initial, expected.initial, 1e-12)


@given(problems(longest=150), st.booleans())
def test_forms_agree_on_longer_sequences(problem, through_burn_in):
    K, rho, data, burn_in = problem
    forms = [
        kraus_gradient(K, rho, data, burn_in=burn_in, burn_in_gradient=through_burn_in, method=method)
        for method in possible_forms(K.shape[1], data)
    ]
    for other in forms[1:]:
        for name in ("log_likelihood", "kraus", "initial"):
            assert_close(getattr(other, name), getattr(forms[0], name))


@pytest.mark.parametrize("method", FORMS)
def test_the_gradient_is_the_slope_of_the_log_likelihood(method):
    rng = np.random.default_rng(3)
    K, rho = random_kraus(3, 1, 9, random_state=rng), random_density_matrix(9, random_state=rng)
    data = Sequences(rng.integers(0, 3, (4, 30)), alphabet=3, weights=[1, 2, 0, 0.5])
    step = rng.normal(size=K.shape) + 1j * rng.normal(size=K.shape)
    turn = state_of_rank(rng, 9, 9) - state_of_rank(rng, 9, 9)
    gradient = kraus_gradient(K, rho, data, method=method)

    def value(t):
        return data.weights @ kraus_log_likelihood(K + t * step, rho + t * turn / 50, data, method=method)

    slope = 2 * np.sum(gradient.kraus.conj() * step).real + np.trace(gradient.initial @ turn).real / 50
    assert (value(1e-5) - value(-1e-5)) / 2e-5 == pytest.approx(slope, rel=1e-6)


def test_the_chosen_form_gives_the_same_result():
    rng = np.random.default_rng(5)
    data = Sequences(rng.integers(0, 2, (5, 20)), alphabet=2)
    for n, w in [(2, 1), (3, 2), (6, 1), (12, 1), (20, 2)]:
        K, rho = random_kraus(2, w, n, random_state=n), random_density_matrix(n, random_state=n)
        chosen, expected = kraus_gradient(K, rho, data), kraus_gradient(K, rho, data, method="kraus")
        assert_close(chosen.kraus, expected.kraus)
        assert_close(chosen.initial, expected.initial)


# --- zero and negative probabilities, scale, length -----------------------------------------------------------


def never_01():
    """Projectors onto |0⟩ and |1⟩: one never follows the other."""
    return np.array([[np.diag([1.0, 0.0])], [np.diag([0.0, 1.0])]])


@pytest.mark.parametrize("method", FORMS)
@pytest.mark.parametrize("burn_in", [0, 1])
def test_impossible_sequences_are_counted_and_left_out(method, burn_in):
    possible, both = Sequences([[0, 0, 0]], alphabet=2), Sequences([[0, 1], [0, 0, 0], [1, 1, 0]])
    K, rho = never_01(), np.eye(2) / 2
    result = kraus_gradient(K, rho, both, burn_in=burn_in, method=method)
    alone = kraus_gradient(K, rho, possible, burn_in=burn_in, method=method)
    assert result.n_zero == 2
    assert np.isneginf(result.log_likelihood).tolist() == [True, False, True]
    assert_close(result.kraus, alone.kraus, 1e-15)
    assert_close(result.initial, alone.initial, 1e-15)


@pytest.mark.parametrize("method", ["real", "kraus"])
def test_a_negative_probability_is_an_error_that_names_the_place(method):
    plus = np.array([[1, 1], [1, 1]]) / 2
    K = np.array([[plus], [np.eye(2) - plus]])
    rho = np.array([[0.5, 0.6], [0.6, 0.5]])  # ⟨−|ρ|−⟩ = −0.1
    with pytest.raises(NegativeProbabilityError) as caught:
        kraus_gradient(K, rho, Sequences([[0, 0], [0, 1], [-1, 1]]), method=method)
    assert (caught.value.sequence, caught.value.position) == (2, 1)
    assert caught.value.probability == pytest.approx(-0.1)


@pytest.mark.parametrize("method", FORMS)
@pytest.mark.parametrize("factor", [1e-40, 1e40])
def test_operators_of_any_scale_neither_underflow_nor_overflow(method, factor):
    rng = np.random.default_rng(0)
    K, rho = random_kraus(2, 1, 5, random_state=rng), random_density_matrix(5, random_state=rng)
    data = Sequences([rng.integers(0, 2, length) for length in (38, 39, 40)])
    plain = kraus_gradient(K, rho, data, method="real")
    scaled = kraus_gradient(factor * K, rho, data, method=method)
    assert_close(scaled.log_likelihood, plain.log_likelihood + 2 * data.lengths * np.log(factor))
    assert_close(scaled.kraus * factor, plain.kraus)
    assert_close(scaled.initial, plain.initial)


@pytest.mark.parametrize("method", ["kraus", "pure"])
def test_overflow_in_a_single_step_is_an_error(method):
    with pytest.raises(ModelError, match="sequence 0, position 1: the state overflows"):
        kraus_log_likelihood([[[[1.0]]], [[[1e200]]]], [[1.0]], Sequences([[0, 1]]), method=method)


@pytest.mark.parametrize("method", ["kraus", "pure"])
def test_a_million_symbols_do_not_underflow(method):
    rng = np.random.default_rng(0)
    K, rho = random_kraus(3, 1, 2, random_state=rng), random_density_matrix(2, random_state=rng)
    data = Sequences(rng.integers(0, 3, (1, 1_000_000)))
    result, expected = (kraus_gradient(K, rho, data, burn_in=10, method=name) for name in (method, "real"))
    np.testing.assert_allclose(result.log_likelihood, expected.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(result.kraus, expected.kraus, rtol=1e-9)


# --- pieces, stretches, threads -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["kraus", "pure"])
@pytest.mark.parametrize("through_burn_in", [False, True])
@pytest.mark.parametrize("burn_in", [0, 5, 16, 17, 50, 99])
def test_a_sequence_computed_in_stretches_gives_the_same(monkeypatch, method, through_burn_in, burn_in):
    rng = np.random.default_rng(burn_in)
    K, rho = random_kraus(2, 1, 3, random_state=rng), random_density_matrix(3, random_state=rng)
    data = Sequences([rng.integers(0, 2, length) for length in (30, 90, 3, 16, 48)], weights=[1, 2, 3, 4, 0.5])
    options = {"burn_in": burn_in, "burn_in_gradient": through_burn_in, "method": method}
    whole = kraus_gradient(K, rho, data, **options)
    monkeypatch.setattr(engine, "_PIECE_BYTES", 1)
    monkeypatch.setattr(engine, "_SHORTEST_STRETCH", 16)
    cut = kraus_gradient(K, rho, data, **options)
    assert len(explain(K, rho, data, **options).pieces) == len(data)
    assert_close(cut.log_likelihood, whole.log_likelihood, 1e-12)
    assert_close(cut.kraus, whole.kraus, 1e-12)
    assert_close(cut.initial, whole.initial, 1e-12)


@pytest.mark.parametrize("method", FORMS)
def test_the_result_does_not_depend_on_the_number_of_threads(monkeypatch, method):
    monkeypatch.setattr(engine, "_PIECE_BYTES", 2**13)
    rng = np.random.default_rng(1)
    K, rho = random_kraus(3, 1, 8, random_state=rng), random_density_matrix(8, random_state=rng)
    data = Sequences([rng.integers(0, 3, length) for length in rng.integers(1, 60, 40)], alphabet=3)
    one, two, five = (kraus_gradient(K, rho, data, threads=threads, method=method) for threads in (1, 2, 5))
    for other in (two, five):
        for name in ("log_likelihood", "kraus", "initial"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 60))
def test_pieces_hold_every_sequence_once_and_only_lone_ones_are_large(lengths, limit):
    lengths = np.array(lengths, dtype=np.int64)
    pieces = engine._cut(lengths, limit)
    assert sorted(np.concatenate([*pieces, []])) == list(range(len(lengths)))
    for piece in pieces:
        assert len(piece) == 1 or lengths[piece].sum() <= 2 * limit


def test_memory_is_bounded_by_the_piece(monkeypatch):
    monkeypatch.setattr(engine, "_PIECE_BYTES", 2**14)
    largest = []
    plain = engine._sweep
    monkeypatch.setattr(engine, "_sweep", lambda *given: largest.append(plain(*given)) or largest[-1])
    data = Sequences(np.zeros((50, 200), np.int8), alphabet=2)
    kraus_gradient(random_kraus(2, 1, 4, random_state=0), np.eye(4) / 4, data, method="kraus")
    assert max(sweep.X.nbytes for sweep in largest) <= 2 * 2**14


# --- the choice of form ---------------------------------------------------------------------------------------


def test_the_cost_model_follows_dimension_and_rank():
    rng = np.random.default_rng(0)
    data = Sequences(rng.integers(0, 6, (20, 300)))
    chosen = {
        (n, w): explain(random_kraus(6, w, n, random_state=0), np.eye(n) / n, data, burn_in=100).method
        for n, w in [(2, 1), (2, 6), (6, 6), (32, 1), (32, 2)]
    }
    assert chosen == {(2, 1): "real", (2, 6): "real", (6, 6): "real", (32, 1): "pure", (32, 2): "kraus"}


def test_the_plan_explains_itself():
    data = Sequences([[0, 1, 0, -1]])
    K, rho = random_kraus(2, 1, 16, random_state=0), np.eye(16) / 16
    plan = explain(K, rho, data)
    assert set(plan.predicted_seconds) == {"real", "kraus"}
    assert plan.reason
    assert "asked for" in explain(K, rho, data, method="real").reason


@pytest.mark.parametrize(
    ("w", "codes", "rho"),
    [(2, [0, 1], np.eye(2) / 2), (1, [0, -1, 1], np.eye(2) / 2), (1, [0, 1], np.diag([1.5, -0.5]))],
    ids=["two operators", "a missing symbol", "a negative weight"],
)
def test_what_does_not_stay_pure_is_refused(w, codes, rho):
    with pytest.raises(ModelError, match='"pure" needs one Kraus operator'):
        kraus_gradient(random_kraus(2, w, 2, random_state=0), rho, Sequences([codes], alphabet=2), method="pure")


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"kraus": np.eye(2)}, ModelError, r"kraus must have shape \(s, w, n, n\)"),
        ({"kraus": np.full((2, 1, 2, 2), np.nan)}, ModelError, "kraus must be finite"),
        ({"initial": np.eye(3)}, ModelError, r"initial must have shape \(n, n\) = \(2, 2\)"),
        ({"initial": [[0.5, 1.0], [0.0, 0.5]]}, ModelError, "Hermitian"),
        ({"initial": -np.eye(2)}, ModelError, "positive trace"),
        ({"initial": np.full((2, 2), np.nan)}, ModelError, "initial must be"),
        ({"sequences": Sequences([[0, 1], [1, 2]])}, DataError, "sequence 1, position 1: the code 2 is not one"),
        ({"sequences": [[0, 1]]}, DataError, "sequences must be Sequences, not list"),
        ({"burn_in": -1}, ModelError, "burn_in must not be negative"),
        ({"burn_in": 1.5}, ModelError, "burn_in must be a whole number, not 1.5"),
        ({"threads": 0}, ModelError, "threads must be at least 1"),
        ({"method": "fast"}, ModelError, "method must be one of real, kraus, pure"),
    ],
)
@pytest.mark.parametrize("function", [kraus_gradient, kraus_log_likelihood, explain])
def test_what_is_wrong_is_named(function, changes, error, message):
    given = {"kraus": never_01(), "initial": np.eye(2) / 2, "sequences": Sequences([[0, 1]]), **changes}
    with pytest.raises(error, match=message):
        function(**given)


@pytest.mark.parametrize("method", ["real", "kraus"])
def test_a_gradient_out_of_range_is_an_error_and_not_nan(method):
    kraus = random_kraus(3, 1, 3, random_state=1) * np.array([1e-158, 1.0, 1.0])[:, None, None, None]
    rows = Sequences(np.random.default_rng(0).integers(0, 3, (200, 12)), alphabet=3)
    with pytest.raises(ModelError, match="the gradient overflows"):
        kraus_gradient(kraus, np.eye(3) / 3, rows, method=method)


def test_a_gradient_of_the_wrong_shape_is_refused():
    with pytest.raises(ModelError, match=r"operators must have shape"):
        pull_back(never_01(), np.zeros((2, 2, 2)))
    with pytest.raises(ModelError, match=r"initial must have shape \(n²,\), not \(5,\)"):
        pull_back_initial(np.zeros(5))
