"""Kraus ranks of their own for symbols: zero operators fill the places of those that are not there."""

import numpy as np
import pytest

from hqmm import COSM, GivensSearch, ModelError, Polar, RiemannianAdam, RiemannianLBFGS, fit
from hqmm.channels import random_kraus
from hqmm.datasets import hqmm_2_6
from hqmm.learning import random_hqmm
from hqmm.learning.givens import _random_pairs
from hqmm.learning.stiefel import UPDATES, feasibility_error

RANKS = [1, 3, 2, 1, 1, 2]
THERE = np.arange(3) < np.array(RANKS)[:, None]
DATA = hqmm_2_6().sample(40, 30, random_state=0)
LEARNERS = {
    "polar": Polar(),
    "sweepless polar": Polar(sweeps=0),
    "lbfgs": RiemannianLBFGS(),
    "adam": RiemannianAdam(),
    "givens": GivensSearch(((4, 20, 4), (10, 5, 2))),
    **{f"cosm by {update}": COSM(update=update, step=0.1) for update in UPDATES},
}


@pytest.mark.parametrize("real", [False, True], ids=["complex", "real"])
@pytest.mark.parametrize("method", ["haar", "uniform"])
def test_symbols_get_the_ranks_asked_for(method, real):
    model = random_hqmm(2, 6, RANKS, method=method, real=real)(np.random.default_rng(0))
    np.testing.assert_array_equal(model.kraus.any(axis=(2, 3)), THERE)
    assert feasibility_error(model.kraus.reshape(1, -1, 2)) < 1e-14
    assert real != np.any(model.kraus.imag)


@pytest.mark.parametrize("method", ["haar", "uniform"])
def test_one_rank_for_all_is_the_same_rank_for_each(method):
    one, each, array = (
        random_hqmm(2, 3, rank, method=method)(np.random.default_rng(0)) for rank in (2, (2, 2, 2), np.full(3, 2))
    )
    assert one == each == array


def test_the_operators_that_are_there_are_drawn_from_the_haar_measure():
    kraus = random_hqmm(2, 3, [1, 2, 1])(np.random.default_rng(0)).kraus
    expected = random_kraus(1, 4, 2, random_state=np.random.default_rng(0))[0]
    np.testing.assert_array_equal(kraus[[0, 1, 1, 2], [0, 0, 1, 0]], expected)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([1, 2], "kraus_rank must be one number, or one for each of the 3 symbols, but has 2"),
        ([], "one for each of the 3 symbols, but has 0"),
        ([1, 0, 2], r"kraus_rank\[1\] must be a whole number from 1 up, but is 0"),
        ([1, 2, 1.5], r"kraus_rank\[2\] must be a whole number from 1 up, but is 1.5"),
        (np.ones((3, 2), dtype=int), r"kraus_rank\[0\] must be a whole number from 1 up, but is \[1, 1\]"),
        (0, "kraus_rank must be a whole number from 1 up, but is 0"),
        ("121", "kraus_rank must be a whole number from 1 up, but is '121'"),
    ],
)
def test_ranks_that_are_none_are_refused(ranks, message):
    with pytest.raises(ModelError, match=message):
        random_hqmm(2, 3, ranks)


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())
def test_every_learner_keeps_the_ranks_of_the_symbols(learner):
    result = fit(learner, random_hqmm(2, 6, RANKS), DATA, max_iter=6, random_state=0)
    np.testing.assert_array_equal(result.model.kraus.any(axis=(2, 3)), THERE)
    assert feasibility_error(result.model.kraus.reshape(1, -1, 2)) < 1e-12
    assert result.history["train"][-1] > result.history["train"][0] + 0.01


def test_givens_search_turns_only_rows_that_are_there():
    kappa = random_hqmm(2, 6, RANKS)(np.random.default_rng(0)).kraus.reshape(1, -1, 2)
    drawn = {int(row) for *_, rows in _random_pairs((kappa,), 500, np.random.default_rng(0)) for row in rows}
    assert drawn == set(np.flatnonzero(np.repeat(THERE, 2)))
