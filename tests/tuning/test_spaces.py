"""Ranges: what is drawn lies in them, evenly, and depends on the seed alone."""

import numpy as np
import pytest
from scipy import stats

from hqmm import DataError
from hqmm.tuning import Choice, Uniform, Whole, parse_range
from hqmm.tuning.spaces import as_space, draw


def drawn(range_, n=4000):
    generator = np.random.default_rng(0)
    return np.array([range_.draw(generator) for _ in range(n)])


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        (Uniform(-1, 3), stats.uniform(-1, 4)),
        (Uniform(0.01, 10, log=True), stats.loguniform(0.01, 10)),
    ],
)
def test_real_ranges_have_the_distribution_that_they_say(range_, expected):
    assert stats.kstest(drawn(range_), expected.cdf).pvalue > 0.01


def test_whole_ranges_include_both_ends_and_are_even():
    counts = np.unique(drawn(Whole(2, 5)), return_counts=True)
    assert counts[0].tolist() == [2, 3, 4, 5]
    assert stats.chisquare(counts[1]).pvalue > 0.01


def test_logarithmic_whole_ranges_give_each_octave_as_much():
    values = drawn(Whole(1, 15, log=True))
    assert set(values) == set(range(1, 16))
    octaves = np.bincount(np.log2(values).astype(int))  # 1, 2–3, 4–7, 8–15
    assert stats.chisquare(octaves).pvalue > 0.01


def test_a_configuration_does_not_depend_on_the_order_of_the_names():
    one = {"a": Uniform(0, 1), "b": [1, 2, 3]}
    other = dict(reversed(one.items()))
    seeds = range(5)
    assert [draw(as_space(one), np.random.default_rng(s)) for s in seeds] == [
        draw(as_space(other), np.random.default_rng(s)) for s in seeds
    ]


def test_lists_and_distributions_are_ranges():
    space = as_space({"list": np.array([1, 2]), "normal": stats.norm(100, 1), "count": stats.randint(3, 4)})
    configuration = draw(space, np.random.default_rng(0))
    assert configuration["list"] in (1, 2)
    assert type(configuration["list"]) is int
    assert configuration["normal"] == pytest.approx(100, abs=6)
    assert configuration["count"] == 3
    assert "norm" in repr(space["normal"])  # two studies with other distributions must not look the same
    assert "100" in repr(space["normal"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(1, 0), "low must not be above high"),
        (lambda: Uniform(0, 1, log=True), "must be above 0"),
        (lambda: Whole(0, 8, log=True), "must be above 0"),
        (lambda: Choice(()), "at least one option"),
        (lambda: as_space({}), "at least one name"),
        (lambda: as_space({"step": 0.5}), "step: 0.5 is not a range"),
        (lambda: parse_range("1:2:lin"), "is not a range"),
        (lambda: parse_range("a:b"), "is not a range"),
        (lambda: parse_range("1:2:log:3"), "is not a range"),
    ],
)
def test_what_is_not_a_range_is_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_texts_are_read_as_typed():
    assert parse_range("true,none,x") == Choice((True, None, "x"))
    assert parse_range(" 2 : 8 ") == Whole(2, 8)
    assert parse_range("2:8.0") == Uniform(2, 8.0)
