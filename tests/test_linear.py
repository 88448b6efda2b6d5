import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import ZOO, plain_probability

from hqmm import ModelError, NegativeProbabilityError
from hqmm.linear import LinearForm

GOOD = {"operators": np.full((2, 3, 3), 1 / 6), "initial": np.full(3, 1 / 3), "evaluation": np.ones(3)}


@given(seed=st.integers(0, 10_000), kind=st.sampled_from(sorted(ZOO)))
def test_a_batch_takes_one_step_for_each_row(seed, kind):
    model = ZOO[kind](np.random.default_rng(seed), 2, 2)
    form = model.linear
    codes = np.array([0, 1, -1, 1, 0])
    states, weights = form.advance(form.start(5), codes)
    single = [plain_probability(model, [0]), plain_probability(model, [1])]
    np.testing.assert_allclose(weights, [*single, 1, single[1], single[0]], atol=1e-12)
    np.testing.assert_allclose(form.next_distribution(form.start(1))[0], single, atol=1e-12)
    for row, code in enumerate(codes):
        operator = form.operators.sum(axis=0) if code == -1 else form.operators[code]
        if weights[row] > 1e-9:
            np.testing.assert_allclose(states[row], operator @ form.initial / weights[row], atol=1e-9)
            assert form.evaluation @ states[row] == pytest.approx(1)


def test_what_is_possible_only_by_rounding_has_no_state_after_it():
    form = LinearForm(
        np.array([[[1.0, 0], [0, 1]], [[1.0, -1], [0, 0]]]), np.array([1.0, 1 - 1e-14]), np.ones(2) / 2
    )
    _, weights = form.advance(form.start(2), np.array([0, 1]))
    assert weights[0] == pytest.approx(1)
    assert weights[1] == 0
    np.testing.assert_array_equal(form.next_distribution(form.start(1))[0] < 1e-13, [False, True])


def test_a_negative_probability_names_row_and_position():
    form = LinearForm(np.array([[[1.5]], [[-0.5]]]), np.ones(1), np.ones(1))
    with pytest.raises(NegativeProbabilityError, match=r"-0\.5") as error:
        form.next_distribution(np.array([[0.0], [1.0]]), position=7)
    assert (error.value.sequence, error.value.position) == (1, 7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operators": np.ones((2, 3, 2))}, r"operators must have shape \(2, 3, 3\), not \(2, 3, 2\)"),
        ({"operators": np.eye(3)}, r"operators must have shape \(3, 3, 3\), not \(3, 3\)"),
        ({"operators": 1.0}, r"operators must have shape \(1, 3, 3\), not \(\)"),
        ({"initial": np.ones((3, 1))}, r"initial must have shape \(3,\), not \(3, 1\)"),
        ({"initial": np.ones(2)}, r"initial vector holds 2 numbers, so operators must have shape \(2, 2, 2\)"),
        ({"evaluation": np.ones(4)}, r"evaluation must have shape \(3,\), not \(4,\)"),
        (
            {"evaluation": 1j * np.ones(3)},
            "evaluation of a linear form must be an array of real numbers: it is complex",
        ),
        ({"initial": "state"}, "initial of a linear form must be an array of real numbers"),
        ({"initial": [[1], [2, 3]]}, "initial of a linear form must be an array of real numbers"),
        ({"initial": [0, np.nan, 1]}, "the initial of the model hold NaN or infinity"),
        ({"operators": np.full((2, 3, 3), np.inf)}, "the operators of the model hold NaN or infinity"),
    ],
)
def test_sizes_and_numbers_are_checked(changes, message):
    with pytest.raises(ModelError, match=message):
        LinearForm(**{**GOOD, **changes})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_are_copied_and_read_only(dtype):
    given = {name: array.astype(dtype) for name, array in GOOD.items()}
    form = LinearForm(**given)
    for name, array in given.items():
        array[...] = 7
        held = getattr(form, name)
        assert held.dtype == np.float64
        assert held.max() <= 1
        with pytest.raises(ValueError, match="read-only"):
            held[...] = 0
