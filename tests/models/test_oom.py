import numpy as np
import pytest
from tests.zoo import random_hqmm

from hqmm import OOM, DataError, ModelError, NegativeProbabilityError

BAD = OOM([[[1.5]], [[-0.5]]], [1.0], check_length=0)
# A walk through three states; in the third, the second symbol has probability −½.
LATE = OOM(
    [[[0, 0, 0], [1, 0, 0], [0, 1, 1.5]], [[0, 0, 0], [0, 0, 0], [0, 0, -0.5]]], [1.0, 0, 0], check_length=0
)


@pytest.mark.parametrize(
    ("call", "position"),
    [
        (lambda: LATE.predict([0, 0]), 2),
        (lambda: LATE.predict([0, 0], along=True), 2),
        (lambda: LATE.filter([0, 0, 1]), 2),
        (lambda: LATE.forecast(horizon=3), 2),
        (lambda: LATE.forecast([0], horizon=3), 2),
        (lambda: LATE.sample(2, 3, random_state=0), 2),
        (lambda: LATE.sample(2, 3, prefix=[0], random_state=0), 2),
        (lambda: BAD.filter([1]), 0),
    ],
)
def test_a_negative_probability_is_an_error_with_its_position(call, position):
    with pytest.raises(NegativeProbabilityError, match=r"conditional probability -0\.5") as error:
        call()
    assert (error.value.sequence, error.value.position) == (0, position)


def test_an_impossible_symbol_is_the_fault_of_the_data():
    with pytest.raises(DataError, match="the symbol 1 probability zero") as error:
        LATE.filter([0, 1])
    assert error.value.position == 1


def test_a_model_once_accepted_is_not_judged_again():
    renamed = BAD.replace(alphabet="ab")
    assert renamed.operators[1, 0, 0] == -0.5
    with pytest.raises(ModelError, match=r"condition \(iii\): the sequence \['b'\]"):
        renamed.replace(check_length=1)


def test_a_complex_model_becomes_standard_in_its_smallest_form():
    general = random_hqmm(np.random.default_rng(0), 2, 2, 2).to_oom("liouville")
    assert (general.dimension, general.linear.dimension) == (4, 8)
    assert general.standard().dimension == 4
