import numpy as np
import pytest
from tests.engine.plain import METHODS

from hqmm import Sequences
from hqmm.engine import explain_plan
from hqmm.engine.plan import Work, predict
from hqmm.linear import LinearForm


def plan_of(m, rows, s=6, **options):
    form = LinearForm(np.full((s, m, m), 1 / (s * m)), np.full(m, 1 / m), np.ones(m))
    return explain_plan(form, Sequences(rows, alphabet=s, allow_empty=True), **options)


def some(count, length, s=6):
    return np.random.default_rng(0).integers(0, s, (count, length))


def test_one_long_sequence_goes_alone():
    assert plan_of(4, some(1, 100_000)).method == "single"
    assert plan_of(4, some(20, 300), burn_in=100).method == "single"


def test_many_sequences_of_a_large_model_run_abreast():
    assert plan_of(64, some(50, 300)).method == "batched"


def test_words_pay_where_there_are_far_more_symbols_than_words():
    assert plan_of(36, some(2000, 200)).method == "pairs"
    assert plan_of(36, some(2000, 200, s=2), s=2).method == "triples"
    assert plan_of(36, some(300, 30, s=200), s=200).method in ("single", "batched")


def test_repeated_beginnings_are_shared():
    rows = np.repeat(some(40, 12), 50, axis=0)
    assert plan_of(36, rows).method == "prefixes"


def test_a_sequence_too_long_to_be_kept_goes_alone():
    assert plan_of(400, some(1, 100_000, s=1), s=1).method == "single"


@pytest.mark.parametrize("method", [None, *METHODS])
def test_the_pieces_hold_every_sequence_once_and_do_not_depend_on_the_threads(method):
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 6, n) for n in rng.integers(0, 200, 500)]
    plans = [plan_of(36, rows, method=method, threads=n) for n in (1, 2, 8)]
    assert sorted(np.concatenate(plans[0].pieces)) == list(range(500))
    assert len(plans[0].pieces) > 1 or method in ("pairs", "triples")
    for plan in plans[1:]:
        assert plan.method == plans[0].method
        assert all(np.array_equal(a, b) for a, b in zip(plan.pieces, plans[0].pieces, strict=True))


def test_pieces_are_bounded_in_memory():
    for method in METHODS[1:]:
        plan = plan_of(36, some(4000, 100), method=method)
        assert max(len(piece) for piece in plan.pieces) * 100 * 40 * 8 <= 2**27


def test_a_plan_explains_itself():
    text = str(plan_of(36, some(200, 300)))
    for word in ("pieces: ", "threads: ", "predicted gradient on one thread", "batched", " ms"):
        assert word in text
    assert "as asked for" in str(plan_of(36, some(2, 3), method="pairs"))


def test_small_work_stays_on_one_thread():
    assert plan_of(4, some(20, 30)).threads == 1
    assert plan_of(4, some(200, 300), threads=2).threads == 2


@pytest.mark.parametrize("method", METHODS)
def test_more_work_is_predicted_to_take_longer(method):
    small = Work(16, 4, 100, 10_000, 10_000, 100, 5_000, 8, 8)
    more = small._replace(n_sequences=200, total=20_000, scored=20_000, edges=10_000)
    assert predict(small, method) < predict(more, method)
    assert predict(small._replace(scored=5_000), method) < predict(small, method)
    assert predict(small, method) < predict(small._replace(m=64), method)
