from itertools import pairwise

import numpy as np
import pytest
from tests.engine.plain import METHODS, assert_close, random_form

from hqmm import ModelError, NegativeProbabilityError, Sequences
from hqmm.datasets import hqmm_2_6
from hqmm.engine import gradient, log_likelihood
from hqmm.linear import LinearForm

# A walk 0 → 1 → 2 → 0 that emits where it stands: only 012012… is possible.
CYCLE = LinearForm(
    np.array([np.outer(np.eye(3)[(y + 1) % 3], np.eye(3)[y]) for y in range(3)]), np.eye(3)[0], np.ones(3)
)


@pytest.mark.parametrize("method", METHODS)
def test_impossible_sequences_score_minus_infinity(method):
    sequences = Sequences([[0, 1, 2, 0], [0, 1, 1, 2], [1], [0, -1, 2, 0, 1], [0, 1, 2, 2]], alphabet=3)
    got = log_likelihood(CYCLE, sequences, method=method)
    assert got.tolist() == [0, -np.inf, -np.inf, 0, -np.inf]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("burn_in", [0, 2])
def test_impossible_sequences_are_left_out_of_the_gradient_and_counted(method, burn_in):
    possible = Sequences([[0, 1, 2, 0], [0, 1, 2]], alphabet=3, weights=[1, 2])
    mixed = Sequences([[0, 1, 2, 0], [0, 1, 0], [2, 1], [0, 1, 2]], alphabet=3, weights=[1, 5, 5, 2])
    got = gradient(CYCLE, mixed, burn_in=burn_in, method=method)
    want = gradient(CYCLE, possible, burn_in=burn_in, method=method)
    assert got.n_zero == 2
    assert got.total == want.total == 0
    assert_close(got.operators, want.operators)
    assert_close(got.initial, want.initial)
    assert_close(got.evaluation, want.evaluation)


@pytest.mark.parametrize("method", METHODS)
def test_an_impossible_burn_in_is_impossible(method):
    sequences = Sequences([[1, 2, 0], [0, 1, 2], [1, 2]], alphabet=3)
    assert log_likelihood(CYCLE, sequences, burn_in=2, method=method).tolist() == [-np.inf, 0, -np.inf]


@pytest.mark.parametrize("method", METHODS)
def test_the_end_of_a_shared_prefix_may_be_impossible_for_one_and_not_for_the_other(method):
    sequences = Sequences([[0, 1, 2], [0, 1, 0], [0, 1], [0, 1, 2, 0]], alphabet=3)
    assert gradient(CYCLE, sequences, method=method).log_likelihood.tolist() == [0, -np.inf, 0, 0]


def negative_form(rng, bad):
    """An HMM whose last symbol has negative probability once symbol ``bad`` has been seen."""
    form = random_form(rng, "hmm", 4, 3)
    operators = np.zeros((4, 5, 5))
    operators[:3, :4, :4] = form.operators
    operators[bad, 4, :4] = 1.0  # remembers
    operators[3, 0, 4] = -0.5
    operators[3, 0, :4] = 0.1
    return LinearForm(operators, np.append(form.initial, 0.0), np.append(form.evaluation, 0.0))


@pytest.mark.parametrize("compute", [log_likelihood, gradient])
@pytest.mark.parametrize("method", METHODS)
def test_a_negative_probability_is_an_error_that_names_the_first_sequence_and_the_position(method, compute):
    form = negative_form(np.random.default_rng(0), bad=2)
    sequences = Sequences([[0, 3, 1], [0, 1, 0, 2, 3, 0], [2, 3]], alphabet=4)
    with pytest.raises(NegativeProbabilityError) as caught:
        compute(form, sequences, method=method, threads=2)
    error = caught.value
    assert (error.sequence, error.position) == (1, 4)
    state = form.initial
    for code in [0, 1, 0, 2]:
        state = form.operators[code] @ state
        state = state / (form.evaluation @ state)
    assert error.probability == pytest.approx(form.evaluation @ form.operators[3] @ state, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_negative_probability_that_turns_positive_again_is_still_found(method):
    form = negative_form(np.random.default_rng(0), bad=2)
    turned = form.operators.copy()
    turned[1] *= -1
    sequences = Sequences([[0, 0, 0, 0], [0, 2, 3, 1]], alphabet=4)
    with pytest.raises(NegativeProbabilityError) as caught:
        log_likelihood(LinearForm(turned, form.initial, form.evaluation), sequences, method=method)
    assert (caught.value.sequence, caught.value.position) == (1, 2)


@pytest.mark.parametrize("method", METHODS)
def test_a_negative_probability_in_the_burn_in_is_found(method):
    form = negative_form(np.random.default_rng(0), bad=2)
    with pytest.raises(NegativeProbabilityError) as caught:
        gradient(form, Sequences([[2, 3, 0, 0]], alphabet=4), burn_in=3, method=method)
    assert caught.value.position == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("share", "error"), [(1e-14, False), (1e-9, True)])
def test_rounding_below_zero_counts_as_zero_and_more_does_not(method, share, error):
    # The probability of symbol 1 is (0.5 − 0.5 (1 + 2 share)) of terms that add up to about 1.
    operators = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, -1.0 - 2 * share], [0.0, 0.0]]])
    form = LinearForm(operators, np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    sequences = Sequences([[0, 1]], alphabet=2)
    if error:
        with pytest.raises(NegativeProbabilityError, match="sequence 0, position 1"):
            log_likelihood(form, sequences, method=method)
    else:
        assert log_likelihood(form, sequences, method=method).tolist() == [-np.inf]


@pytest.mark.parametrize("method", METHODS)
def test_what_follows_an_impossible_symbol_is_no_negative_probability(method):
    # After 4 (spin forwards) comes 5 (spin backwards) with probability zero, or 10⁻¹⁷ by rounding; the state after
    # it is noise, and need not be a state at all.
    rows = np.random.default_rng(0).integers(0, 6, (3000, 12))
    rows = [row for row in rows.tolist() if (4, 5) in pairwise(row)]
    values = log_likelihood(hqmm_2_6().linear, Sequences(rows, alphabet=6), method=method)
    assert values.max() < np.log(1e-12)


def test_an_initial_state_of_zero_or_negative_weight_is_told_apart():
    sequences = Sequences([[0], [1]], alphabet=2)
    form = random_form(np.random.default_rng(0), m=2, s=2)
    nowhere = LinearForm(form.operators, np.array([1.0, -1.0]), np.ones(2))
    assert log_likelihood(nowhere, sequences).tolist() == [-np.inf, -np.inf]
    result = gradient(nowhere, sequences)
    assert result.n_zero == 2
    assert not result.operators.any()
    with pytest.raises(ModelError, match="negative weight"):
        log_likelihood(LinearForm(form.operators, -form.initial, form.evaluation), sequences)


# The first coordinate is the probability, 1 at every step; the second grows by 10^200.
RUNAWAY = LinearForm(np.array([[[1.0, 0.0], [1e200, 1e200]]]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))


@pytest.mark.parametrize("method", METHODS)
def test_an_overflow_is_an_error_and_not_nan(method):
    with pytest.raises(ModelError, match="sequence 1, position 2: the state overflows"):
        log_likelihood(RUNAWAY, Sequences([[0], [0, 0, 0, 0]], alphabet=1), method=method)


@pytest.mark.parametrize("method", METHODS)
def test_an_overflow_of_the_gradient_alone_is_an_error_too(method):
    with pytest.raises(ModelError, match="the gradient overflows"):
        gradient(RUNAWAY, Sequences([[0, 0]], alphabet=1), method=method)
