"""Rungs are whole numbers, and none is lost to rounding."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm import DataError
from hqmm.tuning import PAPER, Rung, Schedule


def pairs(schedule):
    return [[(rung.configurations, rung.resource) for rung in bracket] for bracket in schedule.brackets]


@pytest.mark.parametrize("factor", [2, 3, 4, 5, 10])
@pytest.mark.parametrize("power", range(7))
def test_a_power_of_the_factor_loses_no_bracket(factor, power):
    schedule = Schedule.hyperband(factor**power, factor=factor)
    assert [len(bracket) for bracket in schedule.brackets] == list(range(power + 1, 0, -1))
    assert schedule.brackets[0][0] == Rung(factor**power, 1)


def test_floating_point_would_lose_one():
    """So that the test above is known to be about something: this is what the formula in the paper gives."""
    wrong = [(f, p) for f in (3, 5, 10) for p in range(7) if int(math.log(f**p) / math.log(f)) != p]
    assert wrong


@given(st.integers(1, 500), st.integers(1, 20), st.integers(2, 6))
def test_hyperband_is_as_defined(most, least, factor):
    if least > most:
        with pytest.raises(DataError, match="must not be above"):
            Schedule.hyperband(most, least, factor)
        return
    schedule = Schedule.hyperband(most, least, factor)
    top = max(s for s in range(10) if least * factor**s <= most)
    assert len(schedule.brackets) == top + 1
    for s, bracket in zip(range(top, -1, -1), schedule.brackets, strict=True):
        begin = math.ceil(Fraction(top + 1, s + 1) * factor**s)
        assert [rung.configurations for rung in bracket] == [begin // factor**i for i in range(s + 1)]
        assert [rung.resource for rung in bracket] == [
            math.floor(Fraction(most, factor ** (s - i))) for i in range(s + 1)
        ]
        assert bracket[-1].resource == most
        assert bracket[0].resource >= least


def test_the_papers_schedule():
    assert pairs(PAPER) == [[(27, 3), (9, 12), (3, 21), (1, 48)]]
    assert PAPER.n_configurations == 27
    assert PAPER.n_trials == 40
    assert PAPER.max_resource == 48
    assert PAPER.cost == 27 * 3 + 9 * 9 + 3 * 9 + 1 * 27


def test_halving_goes_on_while_one_in_factor_is_at_least_one():
    assert pairs(Schedule.halving(27, 1)) == [[(27, 1), (9, 3), (3, 9), (1, 27)]]
    assert pairs(Schedule.halving(26, 1)) == [[(26, 1), (8, 3), (2, 9)]]
    assert pairs(Schedule.halving(27, 2, max_resource=10)) == [[(27, 2), (9, 6)]]
    assert pairs(Schedule.halving(1, 5)) == [[(1, 5)]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Schedule(()), "at least one bracket"),
        (lambda: Schedule(((),)), "at least one rung"),
        (lambda: Schedule(((Rung(1, 1), Rung(2, 2)),)), "no rung may have more"),
        (lambda: Schedule(((Rung(2, 2), Rung(1, 2)),)), "must train further"),
        (lambda: Schedule.stages((9, 3), (3, 0)), "further resource of a stage must be a whole number from 1 up"),
        (lambda: Schedule.hyperband(2.5), "max_resource must be a whole number"),
        (lambda: Schedule.hyperband(9, factor=1), "factor must be a whole number from 2 up"),
        (lambda: Schedule.halving(0, 1), "configurations must be a whole number"),
    ],
)
def test_impossible_schedules_are_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()
