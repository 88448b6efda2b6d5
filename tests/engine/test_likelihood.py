import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.plain import KINDS, METHODS, plain_log_likelihood, random_form, random_sequences

from hqmm import Alphabet, DataError, ModelError, Sequences
from hqmm.engine import gradient, log_likelihood
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
    missing=st.booleans(),
)
def test_every_method_gives_the_plain_product(method, seed, kind, m, s, count, longest, burn_in, missing):
    rng = np.random.default_rng(seed)
    form = random_form(rng, kind, m, s)
    sequences = random_sequences(rng, s, count, longest, missing)
    got = log_likelihood(form, sequences, burn_in=burn_in, method=method)
    want = [plain_log_likelihood(form, codes, burn_in) for codes in sequences]
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_long_sequence_does_not_underflow(method):
    rng = np.random.default_rng(0)
    form = random_form(rng, m=3, s=4)
    length = 200_000 if method == "single" else 20_000
    codes = rng.integers(0, 4, length)
    state, want = form.initial, 0.0
    for code in codes:
        state = form.operators[code] @ state
        want += np.log(form.evaluation @ state)
        state = state / (form.evaluation @ state)
    got = log_likelihood(form, Sequences([codes], alphabet=4), method=method)
    np.testing.assert_allclose(got, [want], rtol=1e-11)
    assert np.isfinite(gradient(form, Sequences([codes], alphabet=4), method=method).operators).all()


@pytest.mark.parametrize("method", METHODS)
def test_very_small_and_very_large_steps_keep_their_scale(method):
    rng = np.random.default_rng(0)
    form = random_form(rng, m=5, s=3)
    scale = np.array([1e-90, 1.0, 1e60])
    bent = LinearForm(form.operators * scale[:, None, None], form.initial * 1e-200, form.evaluation * 1e-50)
    codes = rng.integers(0, 3, 60)
    got = log_likelihood(bent, Sequences([codes], alphabet=3), method=method)
    want = plain_log_likelihood(form, codes) + np.log(scale[codes]).sum() + np.log(1e-200) + np.log(1e-50)
    np.testing.assert_allclose(got, [want], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_sequence_without_scored_symbols_scores_zero(method):
    form = random_form(np.random.default_rng(0), m=3, s=2)
    sequences = Sequences([[0, 1], [], [1, 1, 0]], alphabet=2, allow_empty=True)
    assert log_likelihood(form, sequences, burn_in=2, method=method)[:2].tolist() == [0, 0]
    double = LinearForm(form.operators, 2 * form.initial, form.evaluation)
    assert log_likelihood(double, sequences, method=method)[1] == pytest.approx(np.log(2))


@pytest.mark.parametrize("method", METHODS)
def test_no_sequences_at_all_are_fine(method):
    form = random_form(np.random.default_rng(0), m=3, s=2)
    nothing = Sequences.from_arrays(np.zeros(0, np.int8), np.zeros(1, np.int64), Alphabet(2))
    assert log_likelihood(form, nothing, method=method).shape == (0,)
    assert gradient(form, nothing, method=method).total == 0


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32])
def test_codes_of_any_width_are_read(kind):
    form = random_form(np.random.default_rng(0), m=3, s=3)
    codes = np.array([0, 2, -1, 1], kind)
    sequences = Sequences.from_arrays(codes, np.array([0, 4]), Alphabet(3))
    for method in METHODS:
        got = log_likelihood(form, sequences, method=method)
        np.testing.assert_allclose(got, [plain_log_likelihood(form, codes)], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_float32_is_good_to_a_millionth_for_each_symbol(method):
    rng = np.random.default_rng(1)
    for kind in KINDS:
        form = random_form(rng, kind, 16, 4)
        sequences = random_sequences(rng, 4, 20, 200)
        exact = log_likelihood(form, sequences, method=method)
        rough = log_likelihood(form, sequences, method=method, dtype=np.float32)
        assert np.all(np.abs(rough - exact) <= 1e-6 * (sequences.lengths + 1))


def test_wrong_arguments_are_named():
    form = random_form(np.random.default_rng(0), m=3, s=2)
    sequences = Sequences([[0, 1], [1, 0]], alphabet=2)
    with pytest.raises(ModelError, match="method must be one of"):
        log_likelihood(form, sequences, method="fast")
    with pytest.raises(ModelError, match="threads must be at least 1"):
        log_likelihood(form, sequences, threads=0)
    with pytest.raises(ModelError, match=r"threads must be at least 1, not 1\.5"):
        log_likelihood(form, sequences, threads=1.5)
    with pytest.raises(ModelError, match="burn_in must not be negative"):
        gradient(form, sequences, burn_in=-1)
    with pytest.raises(ModelError, match="float64 or float32"):
        log_likelihood(form, sequences, dtype=np.int64)
    with pytest.raises(ModelError, match="float64 or float32, not 'double double'"):
        log_likelihood(form, sequences, dtype="double double")
    with pytest.raises(ModelError, match="burn_in must be a whole number, not 'two'"):
        log_likelihood(form, sequences, burn_in="two")
    with pytest.raises(DataError, match="sequence 1, position 1: the code 2 is not one of the model's 2 symbols"):
        log_likelihood(form, Sequences([[0, 1], [1, 2]], alphabet=3))


@pytest.mark.parametrize("name", ["operators", "initial", "evaluation"])
def test_a_model_with_nan_is_refused(name):
    form = random_form(np.random.default_rng(0), m=3, s=2)
    parts = {key: getattr(form, key).copy() for key in ("operators", "initial", "evaluation")}
    parts[name].flat[1] = np.nan
    with pytest.raises(ModelError, match=f"the {name} of the model hold NaN or infinity"):
        log_likelihood(LinearForm(**parts), Sequences([[0, 1]], alphabet=2))
