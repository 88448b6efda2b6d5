"""Probabilities far below the range of floating point, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.plain import METHODS, assert_close, random_form

from hqmm import Sequences
from hqmm.channels import random_kraus
from hqmm.datasets import hqmm_2_6
from hqmm.engine import evaluate, explain_plan, gradient, log_likelihood
from hqmm.engine.kraus import linear_form
from hqmm.linear import LinearForm

exact = np.vectorize(Fraction, otypes=[object])


def exact_counts(form, codes):
    """Return log P and T ∘ ∂ log P/∂T, in fractions."""
    operators, start, end = (exact(part) for part in (form.operators, form.initial, form.evaluation))
    states = [start]
    for code in codes:
        states.append(operators[code] @ states[-1])
    probability = end @ states[-1]
    counts = np.zeros(operators.shape)
    if probability == 0:
        return -math.inf, counts
    for code, before in zip(codes[::-1], states[-2::-1], strict=True):
        counts[code] += (operators[code] * np.outer(end, before) / probability).astype(float)
        end = end @ operators[code]
    return math.log(probability.numerator) - math.log(probability.denominator), counts


def small_form(rng, m, s, scale, depth):
    """Transitions, many of them impossible, others 10^-depth; each symbol's are 10^-scale of what they were."""
    operators = rng.random((s, m, m)) * (rng.random((s, m, m)) < 0.6)
    operators *= 10.0 ** -(depth * rng.integers(0, 2, (s, m, m)))
    operators *= 10.0 ** -(scale * rng.integers(0, 2, (s, 1, 1)))
    start = rng.random(m)
    return LinearForm(operators, start / start.sum(), np.ones(m))


def check(form, rows, method, dtype, tolerance):
    sequences = Sequences(rows, alphabet=form.n_symbols)
    wanted = [exact_counts(form, list(row)) for row in rows]
    got = gradient(form, sequences, method=method, dtype=dtype)
    values = log_likelihood(form, sequences, method=method, dtype=dtype)
    for mine in (values, got.log_likelihood):
        np.testing.assert_allclose(mine, [value for value, _ in wanted], rtol=tolerance, atol=tolerance)
    assert got.n_zero == sum(value == -math.inf for value, _ in wanted)
    assert_close(form.operators * got.operators, sum(counts for _, counts in wanted), tolerance=tolerance)


@pytest.mark.parametrize("method", METHODS)
@given(
    seed=st.integers(0, 2**32),
    m=st.integers(1, 4),
    s=st.integers(1, 3),
    sizes=st.sampled_from([(0, 0), (0, 50), (30, 50), (70, 50), (120, 20), (200, 10)]),
)
def test_what_is_possible_symbol_by_symbol_is_possible_in_words(method, seed, m, s, sizes):
    rng, (scale, depth) = np.random.default_rng(seed), sizes
    form = small_form(rng, m, s, scale, depth)
    check(form, rng.integers(0, s, (6, 5)), method, np.float64, 1e-9)


@pytest.mark.parametrize("method", METHODS)
@given(
    seed=st.integers(0, 2**32),
    m=st.integers(1, 4),
    s=st.integers(1, 3),
    scale=st.sampled_from([0, 10, 25, 40, 120]),
)
def test_what_is_possible_in_float64_is_possible_in_float32(method, seed, m, s, scale):
    rng = np.random.default_rng(seed)
    form = small_form(rng, m, s, scale, 0)
    check(form, rng.integers(0, s, (6, 9)), method, np.float32, 1e-4)


# State 1 is nearly left by every step but those of symbol 1, which comes from there alone: 10^-90 for each state.
FADING = LinearForm(
    np.array([[[1.0, 0.0], [1e-90, 1.0]], [[0.0, 1e-100], [0.0, 1e-100]]]), np.eye(2)[0], np.ones(2)
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("burn_in", [0, 2])
def test_words_within_range_may_meet_states_that_are_not(method, dtype, burn_in):
    form = LinearForm(FADING.operators * np.array([1.0, 1e60])[:, None, None], FADING.initial, FADING.evaluation)
    rows = Sequences([[0, 0, 1, 1, 0], [0, 0, 0], [0, 1, 0, 1, 1]], alphabet=2, weights=[1, 2, 3])
    got = gradient(form, rows, burn_in=burn_in, burn_in_gradient=True, method=method, dtype=dtype)
    want = gradient(form, rows, burn_in=burn_in, burn_in_gradient=True, method="single")
    assert want.n_zero == 0
    np.testing.assert_allclose(got.log_likelihood, want.log_likelihood, rtol=1e-6, atol=1e-6)
    for name in ("operators", "initial", "evaluation"):
        assert_close(getattr(got, name), getattr(want, name), tolerance=1e-6)


def two_ways(*steps):
    """From state 0 on over state 1 or 2, by (symbol, from, to, probability); what state 3 does is never seen."""
    operators = np.zeros((3, 4, 4))
    operators[:, 3, 3] = 1.0
    for symbol, before, after, probability in steps:
        operators[symbol, after, before] = probability
    return LinearForm(operators, np.eye(4)[0], np.ones(4))


def test_the_way_that_a_word_loses_may_turn_out_the_likelier_one():
    form = two_ways((0, 0, 1, 1e-150), (1, 1, 1, 1e-150), (1, 1, 2, 1e-180), (2, 1, 1, 1e-60), (2, 2, 2, 1.0))
    rows = Sequences([[0, 1, 2, 2]])
    assert explain_plan(form, rows, method="pairs").method == "pairs"
    got = log_likelihood(form, rows, method="pairs")  # its gradient is not in the range of float64
    np.testing.assert_allclose(got, [exact_counts(form, rows[0])[0]], rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_the_way_that_float32_loses_may_turn_out_the_likelier_one(method):
    form = two_ways((0, 0, 1, 1e-30), (0, 0, 2, 1e-50), (1, 1, 1, 1e-30), (1, 2, 2, 1.0))
    assert explain_plan(form, Sequences([[0, 1, 2]]), dtype=np.float32).dtype == np.float32
    check(form, np.array([[0, 1], [0, 1]]), method, np.float32, 1e-4)


def test_the_plan_says_what_the_operators_sizes_allow():
    form, rows = random_form(np.random.default_rng(0), m=3, s=2), Sequences([[0, 1, 1, 0]] * 9, alphabet=2)

    def planned(scale, **options):
        scaled = LinearForm(form.operators * np.array([1.0, scale])[:, None, None], form.initial, form.evaluation)
        return explain_plan(scaled, rows, **options)

    assert planned(1e-20, method="triples").method == "triples"
    assert planned(1e-50, method="triples").method != "triples"
    assert "the operators of triples would leave the range of float64" in str(planned(1e-50, method="triples"))
    assert planned(1e-50, method="pairs").method == "pairs"
    for scale in (1e-90, 1e90):
        plan = planned(scale, method="pairs")
        assert plan.word_length == 1
        assert planned(scale, method="batched").method == "batched"
    assert planned(1e-9, dtype=np.float32).dtype == np.float32
    for scale in (1e-40, 1e40):
        assert planned(scale, dtype=np.float32).dtype == np.float64
        assert "in float64, as the operators would leave the range of float32" in str(
            planned(scale, dtype=np.float32)
        )


@pytest.mark.parametrize("method", METHODS)
def test_a_gradient_too_large_for_float32_is_computed_in_float64(method):
    # Symbol 1 comes from a state that symbols 0 make rarer and rarer, but that is where it pays to be.
    operators = np.array([[[1.0, 0.0], [0.0, 1e-12]], [[1e-12, 0.0], [0.0, 1.0]]]) / 2
    form = LinearForm(operators, np.array([0.5, 0.5]), np.ones(2))
    rows = Sequences([[0, 0, 0, 0, 1, 1, 1, 1]], alphabet=2)
    got, want = (gradient(form, rows, method=method, dtype=dtype) for dtype in (np.float32, np.float64))
    assert np.isfinite(got.operators).all()
    assert got.total == pytest.approx(want.total, rel=1e-6)


@pytest.mark.parametrize(("method", "dtype"), [("triples", np.float64), ("single", np.float32)])
def test_what_is_possible_by_rounding_alone_is_not_looked_for_again(method, dtype):
    # After 5 (spin backwards) comes 4 (spin forwards) with probability zero.
    rows = Sequences([[a, b, c, d, 5, 4] for a, b, c, d in np.ndindex(6, 6, 6, 6)], alphabet=6)
    form = hqmm_2_6().linear
    plan = explain_plan(form, rows, method=method, dtype=dtype)
    job = evaluate.job_of(form, rows, plan, 0, False)
    values = evaluate.log_likelihood(job)
    assert np.isneginf(values).any()
    assert len(evaluate.look_again(form, job, values)) == 0


@pytest.mark.parametrize("method", METHODS)
def test_the_sign_of_what_is_below_all_range_means_nothing(method):
    # A symbol that learning has all but forgotten: its Kraus operator is 10^-160.
    kraus = random_kraus(3, 1, 5, random_state=1) * np.array([1e-160, 1.0, 1.0])[:, None, None, None]
    rows = np.random.default_rng(0).integers(0, 3, (2000, 12))
    form = linear_form(kraus, np.eye(5) / 5)
    values = log_likelihood(form, Sequences(rows, alphabet=3), method=method)
    common = (rows > 0).all(axis=1)
    assert np.isfinite(values[common]).all()
    assert (values[~common] < -700).all()
