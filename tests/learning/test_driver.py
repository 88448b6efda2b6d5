"""The loop that runs every learner: what it keeps, when it stops, and that a killed fit goes on where it was."""

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from hqmm import DataError, FileFormatError, ModelError, Sequences
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.learning import (
    COSM,
    BaumWelch,
    GivensSearch,
    Polar,
    RiemannianAdam,
    RiemannianLBFGS,
    fit,
    random_hmm,
    random_hqmm,
    random_hybrid,
    random_noom,
)
from hqmm.learning.driver import COLUMNS, split_validation
from hqmm.learning.stiefel import UPDATES

TRAIN = hqmm_2_6().sample(40, 40, random_state=0)
VALIDATION = hqmm_2_6().sample(10, 60, random_state=1)
LEARNERS = {
    "cosm": (COSM(batch_size=10), random_hqmm(2, 6)),
    "polar": (Polar(sweeps=2, batches=4), random_hqmm(2, 6)),
    "lbfgs": (RiemannianLBFGS(), random_hqmm(2, 6)),
    "adam": (RiemannianAdam(), random_hqmm(2, 6)),
    "givens": (GivensSearch(schedule=((2, 2, 6),)), random_hqmm(2, 6)),
    "baum-welch": (BaumWelch(), random_hmm(3, 6)),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def without_time(history):
    return {name: column for name, column in history.items() if name != "seconds"}


def assert_same_fit(a, b):
    assert a.model == b.model
    assert a.reason == b.reason
    for name, column in without_time(a.history).items():
        np.testing.assert_array_equal(column, b.history[name], err_msg=name)


@every_learner
def test_a_fit_improves_reproduces_and_explains_itself(name):
    learner, start = LEARNERS[name]
    first = fit(learner, start, TRAIN, max_iter=5, random_state=3)
    assert set(first.history) == set(COLUMNS)
    assert first.n_iter <= 5
    assert first.reason in ("max_iter", "converged")
    assert first.history["train"][-1] > first.history["train"][0]
    assert np.all(np.diff(first.history["passes"]) > 0)
    assert np.all(first.history["feasibility"] < 1e-9)
    assert_same_fit(first, fit(learner, start, TRAIN, max_iter=5, random_state=3, threads=2))


@every_learner
def test_a_fit_resumed_from_a_checkpoint_ends_where_an_uninterrupted_one_does(name, tmp_path):
    learner, start = LEARNERS[name]
    options = {"validation": VALIDATION, "random_state": 5}
    path = tmp_path / "fit.checkpoint"
    whole = fit(learner, start, TRAIN, max_iter=6, **options)
    fit(learner, start, TRAIN, max_iter=3, checkpoint=path, **options)
    resumed = fit(learner, start, TRAIN, max_iter=6, checkpoint=path, **options)
    assert_same_fit(whole, resumed)


KILLED = """
    import sys
    from hqmm.datasets import hqmm_2_6
    from hqmm.learning import COSM, fit, random_hqmm

    data = hqmm_2_6().sample(40, 40, random_state=0)

    def slowly(row, model):
        print(int(row["iteration"]), flush=True)
        import time
        time.sleep(0.05)

    fit(COSM(batch_size=10), random_hqmm(2, 6), data, validation=data, max_iter=40, random_state=5,
        checkpoint=sys.argv[1], checkpoint_every=0, callbacks=[slowly])
"""


def test_a_fit_killed_with_sigkill_goes_on_bit_for_bit(tmp_path):
    path = tmp_path / "fit.checkpoint"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(path)], stdout=subprocess.PIPE, text=True
    )
    with process:
        for line in process.stdout:
            if int(line) == 7:
                os.kill(process.pid, signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(FileFormatError, match="another seed"):
        fit(COSM(batch_size=10), random_hqmm(2, 6), TRAIN, validation=TRAIN, checkpoint=path, random_state=6)
    options = {"validation": TRAIN, "max_iter": 40, "random_state": 5}
    learner, start = COSM(batch_size=10), random_hqmm(2, 6)
    done = []
    resumed = fit(learner, start, TRAIN, checkpoint=path, callbacks=[lambda row, _: done.append(row)], **options)
    assert 6 <= done[0]["iteration"] - 1 <= 8  # what was saved before the kill is not done again
    assert_same_fit(fit(learner, start, TRAIN, **options), resumed)
    assert resumed.history["seconds"][-1] > resumed.history["seconds"][7]  # the time before the kill counts


@pytest.mark.parametrize(
    ("saving", "saved"),
    [({"checkpoint_iterations": 4}, [4, 8]), ({"checkpoint_every": 0.0}, list(range(1, 11))), ({}, [])],
)
def test_checkpoints_are_written_every_so_many_iterations_or_seconds(saving, saved, tmp_path):
    path, found = tmp_path / "fit.checkpoint", []

    def look(row, model):  # called before the iteration is saved
        if path.exists():
            found.append(path.stat().st_mtime_ns)

    fit(COSM(), random_hqmm(2, 6), TRAIN, max_iter=11, random_state=0, checkpoint=path, callbacks=[look], **saving)
    assert len(found) == (11 - saved[0] if saved else 0)
    assert len(set(found)) == len(saved)


def test_a_checkpoint_of_another_seed_or_start_is_refused(tmp_path):
    path, drawn = tmp_path / "fit.checkpoint", random_hqmm(2, 6)
    one, other = (drawn(np.random.default_rng(seed)) for seed in (0, 1))
    fit(COSM(), drawn, TRAIN, max_iter=1, checkpoint=path, random_state=0)
    for random_state in (1, np.random.default_rng(1)):
        with pytest.raises(FileFormatError, match="another seed"):
            fit(COSM(), drawn, TRAIN, max_iter=1, checkpoint=path, random_state=random_state)
    path.unlink()
    fit(COSM(), one, TRAIN, max_iter=1, checkpoint=path)
    with pytest.raises(FileFormatError, match="another start"):
        fit(COSM(), other, TRAIN, max_iter=1, checkpoint=path)


def test_without_a_seed_a_fit_goes_on_from_its_checkpoint(tmp_path):
    path = tmp_path / "fit.checkpoint"
    cut = fit(COSM(), random_hqmm(2, 6), TRAIN, max_iter=2, checkpoint=path)
    resumed = fit(COSM(), random_hqmm(2, 6), TRAIN, max_iter=4, checkpoint=path)
    np.testing.assert_array_equal(resumed.history["train"][:3], cut.history["train"])


def test_restarts_that_run_at_once_are_resumed_each_where_it_was(tmp_path):
    options = {"validation": VALIDATION, "random_state": 5, "n_init": 3}
    learner, start = COSM(batch_size=10), random_hqmm(2, 6)
    path = tmp_path / "fit.checkpoint"
    fit(learner, start, TRAIN, max_iter=3, n_jobs=2, checkpoint=path, **options)
    (tmp_path / "fit.checkpoint.1").unlink()  # killed before its first
    resumed = fit(learner, start, TRAIN, max_iter=6, n_jobs=2, checkpoint=path, **options)
    whole = fit(learner, start, TRAIN, max_iter=6, **options)
    for one, other in zip(whole.restarts, resumed.restarts, strict=True):
        assert_same_fit(one, other)
    assert_same_fit(whole, resumed)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"
    fit(COSM(), random_hqmm(2, 6), TRAIN, max_iter=1, checkpoint=path, random_state=0)
    with pytest.raises(FileFormatError, match="other data, settings or sizes"):
        fit(COSM(step=0.5), random_hqmm(2, 6), TRAIN, max_iter=1, checkpoint=path, random_state=0)
    with pytest.raises(FileFormatError, match="other data, settings or sizes"):
        fit(COSM(), random_hqmm(2, 6), TRAIN[:20], max_iter=1, checkpoint=path, random_state=0)
    path.write_bytes(b"rubbish")
    with pytest.raises(FileFormatError, match="damaged"):
        fit(COSM(), random_hqmm(2, 6), TRAIN, max_iter=1, checkpoint=path, random_state=0)


def test_an_interrupt_ends_all_restarts_with_what_they_have():
    def interrupt(row, model):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    result = fit(Polar(sweeps=0), random_hqmm(2, 6), TRAIN, n_init=3, random_state=0, callbacks=[interrupt])
    assert result.reason == "interrupted"
    assert [one.n_iter for one in result.restarts] == [3, 0, 0]


def test_a_fit_that_was_interrupted_says_so_even_if_its_best_restart_converged():
    calls = itertools.count(1)

    def interrupt(row, model):
        if row["iteration"] == 1 and next(calls) == 2:
            raise KeyboardInterrupt

    learner = Polar(sweeps=0, tol=1e-3)
    result = fit(learner, random_hqmm(2, 6), TRAIN, n_init=2, random_state=0, callbacks=[interrupt])
    assert [one.reason for one in result.restarts] == ["converged", "interrupted"]
    assert result.score == result.restarts[0].score
    assert result.reason == "interrupted"


@pytest.mark.parametrize("where", ["advance", "model"])
def test_a_fit_interrupted_within_an_iteration_resumes_as_if_it_had_not_been(where, tmp_path):
    learner, start = LEARNERS["cosm"]
    whole = fit(learner, start, TRAIN, validation=VALIDATION, max_iter=6, random_state=0)

    class Interrupted(COSM):
        calls = 0

        def identity(self):  # the checkpoint is for the same learner
            return learner.identity()

    def interrupting(self, *arguments):
        result = getattr(COSM, where)(self, *arguments)
        Interrupted.calls += 1
        if Interrupted.calls == 4:
            raise KeyboardInterrupt
        return result

    setattr(Interrupted, where, interrupting)
    options = {"validation": VALIDATION, "max_iter": 6, "random_state": 0, "checkpoint": tmp_path / "fit"}
    cut = fit(Interrupted(batch_size=10), start, TRAIN, **options)
    assert (cut.reason, cut.n_iter) == ("interrupted", 3 if where == "advance" else 2)
    assert_same_fit(fit(learner, start, TRAIN, **options), whole)


def test_settings_decide_the_iterates_but_the_number_of_iterations_only_where_steps_are_planned_over_it():
    assert COSM(max_iter=3).identity() == COSM(max_iter=6).identity() != COSM(step=0.5).identity()
    assert BaumWelch().identity() != Polar().identity()
    assert RiemannianAdam(max_iter=3).identity() != RiemannianAdam(max_iter=6).identity()
    constant = RiemannianAdam(schedule="constant")
    assert constant.identity() == RiemannianAdam(schedule="constant", max_iter=6).identity()


def test_an_interrupt_returns_the_best_model_so_far():
    def interrupt(row, model):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    result = fit(Polar(sweeps=0), random_hqmm(2, 6), TRAIN, random_state=0, callbacks=[interrupt])
    assert result.reason == "interrupted"
    assert result.n_iter == 3
    assert not result.converged
    assert result.model.log_likelihood(TRAIN).sum() == pytest.approx(
        result.history["train"].max() * TRAIN.n_symbols, rel=1e-9
    )


def test_a_callback_can_stop_a_fit():
    result = fit(
        COSM(), random_hqmm(2, 6), TRAIN, random_state=0, callbacks=[lambda row, model: row["iteration"] == 2]
    )
    assert (result.reason, result.n_iter) == ("interrupted", 2)


def test_the_best_iterate_on_validation_data_is_kept():
    result = fit(
        COSM(step=2.0, decay=1.0), random_hqmm(2, 6), TRAIN, validation=VALIDATION, max_iter=8, random_state=0
    )
    scores = [result.model.log_likelihood(VALIDATION).sum() / VALIDATION.n_symbols]
    np.testing.assert_allclose(scores, result.history["validation"].max())
    assert result.best_iteration == np.argmax(result.history["validation"])
    assert result.score == result.history["validation"].max()


def test_patience_ends_a_fit_that_makes_no_progress():
    result = fit(
        COSM(step=2.0, decay=1.0),
        random_hqmm(2, 6),
        TRAIN,
        validation=VALIDATION,
        max_iter=60,
        patience=3,
        random_state=0,
    )
    assert result.reason == "no_progress"
    assert result.n_iter == result.best_iteration + 3


def test_time_ends_a_fit():
    result = fit(
        Polar(sweeps=0, tol=0),
        random_hqmm(2, 6),
        TRAIN,
        random_state=0,
        time_limit=0.2,
        callbacks=[lambda row, model: time.sleep(0.05)],
    )
    assert result.reason == "time"
    assert 0.2 <= result.seconds < 5


def test_full_batch_learners_converge_and_say_so():
    result = fit(Polar(sweeps=0, tol=1e-4), random_hqmm(2, 6), TRAIN, random_state=0)
    assert result.converged
    assert result.reason == "converged"


def test_a_parameter_that_is_not_finite_ends_the_fit_with_the_model_before():
    class Broken(COSM):
        def advance(self, state, task, generator):
            from dataclasses import replace

            following = super().advance(state, task, generator)
            return replace(following, objective=np.nan) if following.step < 0.6 else following

    result = fit(Broken(step=0.75, decay=0.9), random_hqmm(2, 6), TRAIN, max_iter=20, random_state=0)
    assert result.reason == "non_finite"
    assert np.all(np.isfinite(result.model.kraus))


@pytest.mark.parametrize("update", UPDATES)
def test_a_step_out_of_range_ends_the_fit_with_the_model_before(update, tmp_path):
    learner = COSM(step=0.5, decay=1e200, batch_size=10, update=update)
    path = tmp_path / "fit.checkpoint"
    result = fit(learner, random_hqmm(2, 6), TRAIN, random_state=0, checkpoint=path)
    assert result.reason == "non_finite"
    assert 1 <= result.n_iter <= 4
    assert result.history["feasibility"][: result.best_iteration + 1].max() < 1e-9
    assert np.isfinite(result.score)
    assert_same_fit(result, fit(learner, random_hqmm(2, 6), TRAIN, random_state=0, checkpoint=path))


def test_restarts_keep_the_best_and_do_not_depend_on_the_number_of_jobs():
    options = {"validation": VALIDATION, "n_init": 4, "max_iter": 4, "random_state": 0}
    one = fit(COSM(), random_hqmm(2, 6), TRAIN, n_jobs=1, **options)
    two = fit(COSM(), random_hqmm(2, 6), TRAIN, n_jobs=2, **options)
    assert_same_fit(one, two)
    assert one.score == max(restart.score for restart in one.restarts)
    assert len({restart.score for restart in one.restarts}) == 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, burn_in=40), DataError, "nothing to score.*40 symbols.*burn-in is 40"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, validation=VALIDATION, validation_burn_in=90), DataError, "validation data"),
        (lambda: fit(Polar(), random_hqmm(2, 5), TRAIN), DataError, "is not in Alphabet"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, burn_in=-1), DataError, "burn_in must be a whole number"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, burn_in=0.5), DataError, "burn_in must be a whole number"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, validation=TRAIN, validation_burn_in="no"), DataError, "validation_burn_in must be"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, max_iter=2.5), DataError, "max_iter must be a whole number from 0 up"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, n_init=0), DataError, "n_init must be a whole number from 1 up, but is 0"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, n_jobs=0), DataError, "n_jobs must be a whole number from 1 up, or -1"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, patience=0), DataError, "patience must be a whole number from 1 up"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, time_limit="soon"), DataError, "time_limit must be a number from 0"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, time_limit=np.nan), DataError, "time_limit must be a number from 0"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, checkpoint_every=-1), DataError, "checkpoint_every must be a number from 0"),
        (lambda: fit(Polar(), random_hqmm(2, 6), TRAIN, checkpoint="."), DataError, "checkpoint must be a file"),
        (lambda: fit(Polar, random_hqmm(2, 6), TRAIN), DataError, "learner must be a learner, such as Polar"),
        (lambda: fit("polar", random_hqmm(2, 6), TRAIN), DataError, "learner must be a learner, such as Polar"),
        (lambda: fit(Polar(), None, TRAIN), ModelError, "start must be a model or draw one, not None"),
        (lambda: fit(Polar(), lambda generator: 5, TRAIN), ModelError, "start must be a model or draw one, not 5"),
        (lambda: fit(Polar(), random_hqmm(0, 6), TRAIN), ModelError, "n_states must be"),
        (lambda: fit(Polar(), random_hqmm(2, 6, kraus_rank=0), TRAIN), ModelError, "kraus_rank must be"),
        (lambda: fit(Polar(), random_hmm(2, 6), TRAIN), ModelError, "Polar learns an HQMM"),
        (lambda: fit(BaumWelch(), random_hqmm(2, 6), TRAIN), ModelError, "BaumWelch learns an HMM"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@every_learner
@pytest.mark.parametrize(
    "data",
    [
        Sequences([[0, 0, 0, 0]] * 4, alphabet=6),  # one symbol only
        Sequences([[0, 1, 2, 3]] * 4, alphabet=6),  # all sequences identical, symbols never seen
        Sequences([[0]], alphabet=6),  # a single symbol
    ],
)
def test_poor_data_give_a_sensible_model(name, data):
    learner, start = LEARNERS[name]
    result = fit(learner, start, data, max_iter=20, random_state=0)
    assert np.all(np.isfinite(result.model.log_likelihood(data)))
    assert result.history["train"][-1] >= result.history["train"][0]


def test_a_share_of_the_data_can_be_set_aside():
    train, held_out = split_validation(TRAIN, 0.25, np.random.default_rng(0))
    assert (len(train), len(held_out)) == (30, 10)
    with pytest.raises(DataError, match="leaves one part empty"):
        split_validation(TRAIN[:2], 0.1, np.random.default_rng(0))


def test_an_hmm_is_recovered_well_enough_to_beat_the_bigram():
    from hqmm import MarkovChain, description_accuracy

    data = hmm_6_6().sample(60, 300, random_state=0)
    train, test = data[:40], data[40:]
    learned = fit(BaumWelch(), random_hmm(6, 6), train, max_iter=60, n_init=3, random_state=0).model
    assert description_accuracy(learned, test) > description_accuracy(MarkovChain.from_sequences(train), test)


def test_a_pure_initial_state_stays_pure():
    """In a full square root of ρ₀, rounding would grow into a mixture; the columns it needs cannot."""
    start = random_noom(2, 3)(np.random.default_rng(0))
    data = np.random.default_rng(1).integers(0, 3, (30, 3))
    for learner in (Polar(max_iter=60), RiemannianAdam(max_iter=20), COSM(max_iter=20)):
        model = fit(learner, start, data, random_state=0).model
        weights = np.linalg.eigvalsh(model.initial)
        np.testing.assert_allclose(weights, [0, 1], atol=1e-12)
        assert not np.allclose(np.abs(model.initial), np.abs(start.to_hqmm().initial))


def with_one_impossible(validation):
    """Validation data with a seventh symbol once, which the training data do not have."""
    return Sequences([*map(list, validation), [0, 6, 1]], alphabet=7)


def test_a_random_start_is_not_kept_because_it_has_nothing_impossible():
    train, validation = Sequences([*map(list, TRAIN)], alphabet=7), with_one_impossible(VALIDATION)
    result = fit(BaumWelch(), random_hmm(3, 7), train, validation=validation, max_iter=30, random_state=0)
    alone = fit(BaumWelch(), random_hmm(3, 7), train, validation=validation[:-1], max_iter=30, random_state=0)
    assert np.all(result.history["validation"][1:] == -np.inf)
    assert result.model == alone.model  # the iterate that is best on the sequences that are possible


def test_one_impossible_sequence_does_not_hide_which_restart_is_best():
    train, validation = Sequences([*map(list, TRAIN)], alphabet=7), with_one_impossible(VALIDATION)
    options = {"max_iter": 10, "n_init": 4, "random_state": 0}
    result = fit(BaumWelch(), random_hmm(3, 7), train, validation=validation, **options)
    alone = fit(BaumWelch(), random_hmm(3, 7), train, validation=validation[:-1], **options)
    assert [one.score for one in result.restarts] == [-np.inf] * 4
    assert result.model == alone.model != result.restarts[0].model


def test_a_start_that_is_given_is_kept_where_learning_makes_sequences_impossible():
    train, validation = Sequences([*map(list, TRAIN)], alphabet=7), with_one_impossible(VALIDATION)
    start = random_hmm(3, 7)(np.random.default_rng(0))
    assert fit(BaumWelch(), start, train, validation=validation, max_iter=5).best_iteration == 0


@pytest.mark.parametrize("other", [random_hqmm(2, 6, 2), random_hqmm(3, 6), random_hybrid(1, 2, 6)])
def test_a_checkpoint_of_other_sizes_or_another_class_is_refused(tmp_path, other):
    path = tmp_path / "fit.checkpoint"
    fit(COSM(), random_hqmm(2, 6), TRAIN, max_iter=1, checkpoint=path, random_state=0)
    with pytest.raises(FileFormatError, match="settings or sizes"):
        fit(COSM(), other, TRAIN, max_iter=1, checkpoint=path, random_state=0)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_learning(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        fit(COSM(), random_hqmm(2, 6), TRAIN, checkpoint=tmp_path / "nowhere" / "fit.checkpoint")


def test_restarts_share_the_time(monkeypatch):
    ticks = itertools.count()  # a clock that moves only when it is read: no machine is too slow, or too fast
    monkeypatch.setattr("hqmm.learning.driver.time.perf_counter", lambda: float(next(ticks)))
    result = fit(COSM(), random_hqmm(2, 6), TRAIN, max_iter=10**6, time_limit=90, n_init=3, random_state=0)
    assert [one.reason for one in result.restarts] == ["time"] * 3
    assert all(20 <= one.seconds <= 40 for one in result.restarts)
