"""Ctrl-C, as the signal that it is: it ends a fit after the iteration it falls into, and breaks nothing."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from hqmm import Sequences
from hqmm.datasets import hqmm_2_6
from hqmm.learning import COSM, Polar, fit, fit_auto, fit_discriminative, random_hqmm
from hqmm.learning.interrupt import interruptible

DATA = hqmm_2_6().sample(30, 30, random_state=0)


@pytest.fixture(autouse=True)
def as_in_a_terminal():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # what was there is put back
    signal.signal(signal.SIGINT, before)


def press_at(iteration):
    def callback(row, model):
        if row["iteration"] == iteration:
            os.kill(os.getpid(), signal.SIGINT)

    return callback


def test_a_fit_ends_after_its_iteration_with_the_best_model():
    result = fit(Polar(sweeps=0, tol=0), random_hqmm(2, 6), DATA, random_state=0, callbacks=[press_at(3)])
    assert (result.reason, result.n_iter) == ("interrupted", 3)
    whole = fit(Polar(sweeps=0, tol=0), random_hqmm(2, 6), DATA, random_state=0, max_iter=3)
    assert result.model == whole.model


def test_an_iteration_is_never_cut_in_half():
    class Pressed(COSM):
        def advance(self, state, task, generator):
            signal.raise_signal(signal.SIGINT)  # an exception here could be one within compiled code
            return super().advance(state, task, generator)

    result = fit(Pressed(), random_hqmm(2, 6), DATA, random_state=0)
    assert (result.reason, result.n_iter) == ("interrupted", 1)


def test_restarts_that_run_at_once_all_end():
    result = fit(
        Polar(sweeps=0, tol=0, max_iter=10**6),
        random_hqmm(2, 6),
        DATA,
        n_init=3,
        n_jobs=2,
        random_state=0,
        callbacks=[press_at(2)],
    )
    assert result.reason == "interrupted"
    assert len(result.restarts) == 3
    assert all(one.reason == "interrupted" for one in result.restarts)


def test_the_automatic_mode_ends_with_the_best_so_far():
    result = fit_auto(DATA, max_dimension=8, random_state=0, callbacks=[press_at(1)])
    assert result.reason == "interrupted"
    assert len(result.restarts) == 2
    assert result.score == max(one.score for one in result.restarts)


def test_discriminative_training_ends_with_the_best_so_far(monkeypatch):
    from hqmm.learning import discriminative

    advance = discriminative._Run.advance

    def pressed(self):
        signal.raise_signal(signal.SIGINT)
        advance(self)

    monkeypatch.setattr(discriminative._Run, "advance", pressed)
    models = {name: random_hqmm(2, "ab")(np.random.default_rng(0)) for name in ("few", "many")}
    data = Sequences(["abbbb", "bbab", "aabaa", "aaab"], alphabet="ab")
    result = fit_discriminative(models, data, ["many", "many", "few", "few"])
    assert (result.reason, len(result.history["iteration"])) == ("interrupted", 2)


def test_a_second_ctrl_c_raises():
    with interruptible() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_blocks_within_one_another_share_the_event():
    with interruptible() as outer:
        with interruptible() as inner:
            signal.raise_signal(signal.SIGINT)
        assert inner is outer
        assert outer.is_set()
    with interruptible() as later:
        assert not later.is_set()


def test_a_programs_own_handler_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    result = fit(
        Polar(sweeps=0, tol=0), random_hqmm(2, 6), DATA, max_iter=4, random_state=0, callbacks=[press_at(2)]
    )
    signal.signal(signal.SIGINT, before)
    assert heard == [1]
    assert result.n_iter == 4


def test_restarts_end_where_a_programs_own_handler_raises():
    def own(*_):
        raise KeyboardInterrupt

    pressed = threading.Event()

    def press_once(row, model):
        if row["iteration"] == 2 and not pressed.is_set():
            pressed.set()
            time.sleep(0.5)  # the main thread waits for the restarts by now
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, own)
    options = {"n_init": 2, "n_jobs": 2, "random_state": 0, "callbacks": [press_once]}
    learner = Polar(sweeps=0, tol=0, max_iter=10**6)
    try:
        result = fit(learner, random_hqmm(2, 6), DATA, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.reason == "interrupted"
    assert "interrupted" in [one.reason for one in result.restarts]  # the other may have converged meanwhile


def test_other_threads_leave_signals_alone():
    found = []

    def run():
        with interruptible() as asked:
            found.append((asked.is_set(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [(False, signal.default_int_handler)]
