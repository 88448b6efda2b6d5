import threading
import time

import numpy as np
import pytest
from tests.engine.plain import METHODS, random_form, random_sequences

from hqmm.engine import explain_plan, gradient, log_likelihood
from hqmm.engine.threads import available, in_order


@pytest.fixture
def many_pieces(monkeypatch):
    """Cut even small work into many pieces."""
    from hqmm.engine import plan

    monkeypatch.setattr(plan, "_piece_count", lambda work, method: 7)
    plan._choose.cache_clear()
    yield
    plan._choose.cache_clear()


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
def test_the_result_is_the_same_bit_for_bit_for_any_number_of_threads(method, dtype):
    rng = np.random.default_rng(0)
    form = random_form(rng, "hqmm", 16, 4)
    sequences = random_sequences(rng, 4, 60, 30, missing=True, weights=(1.0, 0.3))
    assert len(explain_plan(form, sequences, method=method).pieces) > 3
    one, *more = (
        gradient(form, sequences, burn_in=2, method=method, dtype=dtype, threads=n) for n in (1, 2, 3, 5, 2)
    )
    for other in more:
        for name in ("log_likelihood", "operators", "initial", "evaluation"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    scores = [log_likelihood(form, sequences, burn_in=2, method=method, dtype=dtype, threads=n) for n in (1, 2, 4)]
    assert scores[0].tobytes() == scores[1].tobytes() == scores[2].tobytes()


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("method", METHODS)
def test_several_evaluations_may_run_at_once(method):
    rng = np.random.default_rng(1)
    forms = [random_form(rng, "oom", m, 3) for m in (3, 9, 17)]
    sequences = random_sequences(rng, 3, 40, 30)
    alone = [gradient(form, sequences, method=method, threads=1).operators for form in forms]
    found = [None] * len(forms)

    def work(number):
        for _ in range(5):
            found[number] = gradient(forms[number], sequences, method=method, threads=2).operators

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(forms))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mine, want in zip(found, alone, strict=True):
        assert mine.tobytes() == want.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_order(threads):
    def slow_at_first(piece):
        time.sleep(0.02 / (1 + piece))
        return piece

    assert list(in_order(slow_at_first, range(12), threads)) == list(range(12))


def test_an_error_in_a_thread_is_raised_and_the_rest_is_dropped():
    started = []

    def fail(piece):
        started.append(piece)
        if piece == 3:
            raise ValueError("three")
        return piece

    with pytest.raises(ValueError, match="three"):
        list(in_order(fail, range(1000), 2))
    assert len(started) < 100


def test_few_results_wait_to_be_fetched():
    running, most = 0, 0
    lock = threading.Lock()

    def work(piece):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        return piece

    for _ in in_order(work, range(50), 2):
        time.sleep(0.001)
        with lock:
            running -= 1
    assert most <= 5


def test_the_process_may_use_at_least_one_core():
    assert available() >= 1
