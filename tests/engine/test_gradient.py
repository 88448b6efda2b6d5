from types import SimpleNamespace

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.plain import (
    KINDS,
    METHODS,
    assert_close,
    plain_gradient,
    plain_log_likelihood,
    random_form,
    random_sequences,
)

from hqmm import Sequences
from hqmm.engine import explain_plan, gradient, log_likelihood
from hqmm.engine.words import letters, operators_of
from hqmm.linear import LinearForm


@pytest.mark.parametrize("method", METHODS)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(list(KINDS)),
    m=st.integers(1, 40),
    s=st.integers(1, 4),
    count=st.integers(1, 12),
    longest=st.integers(0, 60),
    burn_in=st.sampled_from([0, 0, 1, 2, 5]),
    whole=st.booleans(),
    missing=st.booleans(),
)
def test_every_method_gives_the_plain_gradient(method, seed, kind, m, s, count, longest, burn_in, whole, missing):
    rng = np.random.default_rng(seed)
    form = random_form(rng, kind, m, s)
    sequences = random_sequences(rng, s, count, longest, missing, weights=(0.0, 1.0, 2.5))
    got = gradient(form, sequences, burn_in=burn_in, burn_in_gradient=whole, method=method)
    want = plain_gradient(form, sequences, burn_in, whole)
    scales = plain_gradient(form, sequences)  # a burn-in is subtracted from this
    for mine, plain, scale in zip((got.operators, got.initial, got.evaluation), want, scales, strict=True):
        assert_close(mine, plain, scale=scale)
    likelihoods = [plain_log_likelihood(form, codes, burn_in) for codes in sequences]
    np.testing.assert_allclose(got.log_likelihood, likelihoods, rtol=1e-9, atol=1e-9)
    assert got.total == pytest.approx(float(sequences.weights @ likelihoods), rel=1e-9, abs=1e-9)
    assert got.n_zero == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("burn_in", [0, 3])
def test_autograd_agrees(method, whole, burn_in):
    rng = np.random.default_rng(burn_in)
    form = random_form(rng, "oom", 5, 3)
    sequences = random_sequences(rng, 3, 8, 12, missing=True, weights=(1.0, 0.5))

    def loss(parts):
        free = SimpleNamespace(operators=parts[0], initial=parts[1], evaluation=parts[2])
        total = 0.0
        for codes, weight in zip(sequences, sequences.weights, strict=True):
            if len(codes) <= burn_in and burn_in > 0:
                continue
            if whole or burn_in == 0:
                value = plain_log_likelihood(free, codes, 0, anp) - (
                    plain_log_likelihood(free, codes[:burn_in], 0, anp) if burn_in else 0.0
                )
            else:
                state = form.initial  # the burn-in is computed with the fixed model
                for code in codes[:burn_in]:
                    state = (form.operators.sum(axis=0) if code < 0 else form.operators[code]) @ state
                rest = SimpleNamespace(
                    operators=parts[0], initial=state / (form.evaluation @ state), evaluation=parts[2]
                )
                value = plain_log_likelihood(rest, codes[burn_in:], 0, anp)
            total = total + weight * value
        return total

    parts = tuple(np.array(array) for array in (form.operators, form.initial, form.evaluation))
    want = autograd.grad(loss)(parts)
    got = gradient(form, sequences, burn_in=burn_in, burn_in_gradient=whole, method=method)
    for mine, theirs in zip((got.operators, got.initial, got.evaluation), want, strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("part", ["operators", "initial", "evaluation"])
def test_finite_differences_agree(method, part):
    rng = np.random.default_rng(5)
    form = random_form(rng, "hqmm", 9, 4)
    sequences = random_sequences(rng, 4, 15, 20, missing=True, weights=(1.0, 2.0))
    array = getattr(form, part)
    direction = rng.normal(size=array.shape)

    def total(step):
        parts = {name: getattr(form, name) for name in ("operators", "initial", "evaluation")}
        parts[part] = array + step * direction
        values = log_likelihood(LinearForm(**parts), sequences, burn_in=2, method=method)
        return float(sequences.weights @ values)

    got = gradient(form, sequences, burn_in=2, burn_in_gradient=True, method=method)
    slope = (total(1e-5) - total(-1e-5)) / 2e-5
    assert float(np.sum(getattr(got, part) * direction)) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("burn_in", [0, 700])
@pytest.mark.parametrize("whole", [False, True])
def test_checkpoints_do_not_change_the_gradient(burn_in, whole, monkeypatch):
    rng = np.random.default_rng(2)
    form = random_form(rng, "oom", 6, 3)
    sequences = Sequences([rng.integers(0, 3, n) for n in (1000, 701, 50, 1, 999)], alphabet=3)
    want = gradient(form, sequences, burn_in=burn_in, burn_in_gradient=whole, method="batched")
    from hqmm.engine import single

    for rows in (1, 7, 100, 350, 5000):
        monkeypatch.setattr(single, "segment_rows", lambda width, dtype, rows=rows: rows)
        got = gradient(form, sequences, burn_in=burn_in, burn_in_gradient=whole, method="single")
        assert_close(got.operators, want.operators)
        assert_close(got.initial, want.initial, scale=np.ones(1))
        assert_close(got.evaluation, want.evaluation)
        np.testing.assert_allclose(got.log_likelihood, want.log_likelihood, rtol=1e-11)


def test_expected_counts_add_up_to_the_number_of_symbols():
    rng = np.random.default_rng(3)
    form = random_form(rng, "hmm", 7, 4)
    sequences = random_sequences(rng, 4, 30, 40, missing=True, weights=(1.0, 3.0))
    for method in METHODS:
        got = gradient(form, sequences, method=method)
        assert np.sum(form.operators * got.operators) == pytest.approx(sequences.weights @ sequences.lengths)
        assert form.initial @ got.initial == pytest.approx(sequences.weights.sum())
        assert form.evaluation @ got.evaluation == pytest.approx(sequences.weights.sum())


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method):
    rng = np.random.default_rng(4)
    form = random_form(rng, "oom", 5, 2)
    rows = [rng.integers(0, 2, n) for n in (4, 9, 6)]
    weighted = gradient(form, Sequences(rows, alphabet=2, weights=[2, 0, 1]), method=method)
    repeated = gradient(form, Sequences([rows[0], rows[0], rows[2]], alphabet=2), method=method)
    assert_close(weighted.operators, repeated.operators)
    assert weighted.total == pytest.approx(repeated.total)


@pytest.mark.parametrize("method", METHODS)
def test_negative_weights_subtract(method):
    rng = np.random.default_rng(4)
    form = random_form(rng, "oom", 5, 2)
    rows = Sequences([rng.integers(0, 2, n) for n in (4, 9)], alphabet=2)
    both = Sequences._wrap(rows.codes, rows.offsets, np.array([1.0, -2.0]), rows.alphabet)
    got = gradient(form, both, method=method)
    want = gradient(form, rows[:1]).operators - 2 * gradient(form, rows[1:]).operators
    assert_close(got.operators, want)


@pytest.mark.parametrize("method", METHODS)
def test_float32_gradients_are_good_to_four_digits(method):
    rng = np.random.default_rng(6)
    for kind in KINDS:
        form = random_form(rng, kind, 16, 4)
        sequences = random_sequences(rng, 4, 20, 200)
        exact = gradient(form, sequences, burn_in=5, method=method)
        rough = gradient(form, sequences, burn_in=5, method=method, dtype=np.float32)
        assert rough.operators.dtype == np.float64
        assert_close(rough.operators, exact.operators, tolerance=1e-4)
        assert_close(rough.evaluation, exact.evaluation, tolerance=1e-4)


@given(seed=st.integers(0, 2**32), m=st.integers(16, 40), s=st.integers(1, 4), missing=st.booleans())
def test_zeros_need_no_gradient_where_the_caller_says_so(seed, m, s, missing):
    rng = np.random.default_rng(seed)
    form = random_form(rng, "sparse", m, s)
    sequences = random_sequences(rng, s, 12, 20, missing)
    whole, part = (gradient(form, sequences, method="batched", slopes_of_zeros=zeros) for zeros in (True, False))
    np.testing.assert_array_equal(part.log_likelihood, whole.log_likelihood)
    np.testing.assert_array_equal(part.initial, whole.initial)
    occupied = form.operators.any(axis=2)
    assert_close(part.operators[occupied], whole.operators[occupied])
    if not missing:
        assert not part.operators[~occupied].any()


def test_rows_of_zeros_are_left_out_where_there_are_many():
    form = random_form(np.random.default_rng(0), "sparse", 30, 3)
    words = letters(3)
    dense, closed = (operators_of(form, words, np.float64, dense=dense) for dense in (True, False))
    assert (dense.sources.counts == 30).all()
    assert (closed.sources.counts[:3] <= 11).all()
    assert closed.sources.counts[3] > 11  # "missing" is the sum of all
    assert explain_plan(form, Sequences([[0, 1, 2]] * 3), method="batched").predicted_seconds["batched"] > 0
