"""Trials in an Optuna study: several processes, one of them killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from hqmm import DataError
from hqmm.datasets import hqmm_2_6
from hqmm.tuning import Choice, Schedule, Uniform, Whole, search, tune
from hqmm.tuning.study import StudyLedger, sqlite_file
from hqmm.tuning.trials import Job, Outcome

optuna = pytest.importorskip("optuna")

SPACE = {"x": Uniform(0, 1), "n": Whole(1, 8, log=True), "kind": Choice(("a", ("b", 1)))}
SCHEDULE = Schedule.halving(9, 1)


def evaluate(trial):
    return {"score": trial.parameters["x"], "size": trial.parameters["n"]}


def without_time(found):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found.rows()]


def load(path, name="hqmm"):
    return optuna.load_study(study_name=name, storage=f"sqlite:///{path}")


def test_a_study_holds_what_a_search_in_memory_finds(tmp_path, capfd):
    path = tmp_path / "trials.db"
    kept = search(evaluate, SPACE, SCHEDULE, storage=path, random_state=3)
    assert without_time(kept) == without_time(search(evaluate, SPACE, SCHEDULE, random_state=3))
    trials = load(path).trials
    assert len(trials) == SCHEDULE.n_trials
    assert load(path).best_value == kept.best.score
    assert trials[0].params["x"] == kept.results[0].parameters["x"]
    assert trials[0].user_attrs["detail size"] == trials[0].params["n"]
    assert trials[0].intermediate_values == {1: kept.results[0].score}
    assert capfd.readouterr().err == ""


def test_a_finished_search_is_read_not_repeated(tmp_path):
    found = search(evaluate, SPACE, SCHEDULE, storage=tmp_path / "trials.db", random_state=3)

    def never(trial):
        raise TypeError("there is nothing left to do")

    again = search(never, SPACE, SCHEDULE, storage=f"sqlite:///{tmp_path}/trials.db")
    assert again == found


def test_processes_that_disagree_do_not_share_a_study(tmp_path):
    options = {"storage": tmp_path / "trials.db"}
    search(evaluate, SPACE, SCHEDULE, **options, random_state=3)
    with pytest.raises(DataError, match="another space, schedule or data"):
        search(evaluate, SPACE, Schedule.halving(3, 1), **options)
    with pytest.raises(DataError, match="made with random_state=3, not 4"):
        search(evaluate, SPACE, SCHEDULE, **options, random_state=4)
    optuna.create_study(storage=f"sqlite:///{options['storage']}", study_name="other").ask()
    with pytest.raises(DataError, match="was not made by hqmm"):
        search(evaluate, SPACE, SCHEDULE, **options, study_name="other")
    data = hqmm_2_6().sample(20, 20, random_state=0)
    tune(data, schedule=Schedule.halving(1, 1), **options, study_name="mine")
    with pytest.raises(DataError, match="another space, schedule or data"):
        tune(data[:10], schedule=Schedule.halving(1, 1), **options, study_name="mine")


def test_a_study_that_another_process_begins_at_the_same_moment_is_shared(tmp_path, monkeypatch):
    options = {"storage": tmp_path / "trials.db", "random_state": 3}
    get_trials, found = optuna.Study.get_trials, []

    def after_the_other(study, *args, **keywords):
        if not found:
            found.append(None)
            found[0] = search(evaluate, SPACE, SCHEDULE, **options)  # the other process
        return get_trials(study, *args, **keywords)

    monkeypatch.setattr(optuna.Study, "get_trials", after_the_other)
    assert search(evaluate, SPACE, SCHEDULE, **options) == found[0]
    assert len(load(options["storage"]).trials) == SCHEDULE.n_trials


def test_a_failed_configuration_stays_failed(tmp_path):
    def fails(trial):
        if trial.configuration == 1:
            raise ValueError("no")
        return 1.0

    options = {"storage": tmp_path / "trials.db"}
    found = search(fails, SPACE, SCHEDULE, **options)
    assert found.results[1].error == "ValueError: no"
    assert search(evaluate, SPACE, SCHEDULE, **options) == found


WORKER = """
    import sys, time
    import numpy as np
    from hqmm.datasets import hqmm_2_6
    from hqmm.tuning import Schedule, tune

    path, pause = sys.argv[1], float(sys.argv[2])
    data = hqmm_2_6().sample(20, 30, random_state=0)

    def slowly(result):
        print(result.configuration, result.rung, flush=True)
        time.sleep(pause)

    tuned = tune(data, schedule=Schedule.stages((6, 1), (2, 2), (1, 2)), storage=path, on_result=slowly)
    print("done", len(tuned.search.results), flush=True)
"""


def start(path, pause):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WORKER), str(path), str(pause)], stdout=subprocess.PIPE, text=True
    )


def test_processes_share_a_study_and_a_killed_one_loses_only_its_running_trial(tmp_path):
    path = tmp_path / "trials.db"
    # It stops for good while it holds a trial, so that there is one to lose.
    blocked = """
        import sys, threading
        from hqmm.tuning import learners

        train = learners.TrainLearner.train
        def stopping(self, parameters, resource, *args):
            if resource == 3:
                print("holding", flush=True)
                threading.Event().wait()
            return train(self, parameters, resource, *args)
        learners.TrainLearner.train = stopping
    """
    victim = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(blocked) + textwrap.dedent(WORKER), str(path), "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with victim:
        for line in victim.stdout:
            if line.startswith("holding"):
                break
        os.kill(victim.pid, signal.SIGKILL)
    assert victim.returncode == -signal.SIGKILL
    states = [trial.state.name for trial in load(path).trials]
    assert states == ["COMPLETE"] * 6 + ["RUNNING"]
    workers = [start(path, 0.02) for _ in range(2)]
    for worker in workers:
        assert worker.communicate(timeout=120)[0].splitlines()[-1] == "done 9"
        assert worker.returncode == 0
    trials = load(path).trials
    finished = [trial for trial in trials if trial.state.name == "COMPLETE"]
    jobs = {(trial.user_attrs["configuration"], trial.user_attrs["rung"]) for trial in finished}
    assert len(finished) == len(jobs) == 9  # every job once, those from before the kill included
    assert trials[6].state.name == "FAIL"  # the one that ran
    alone = tune(
        hqmm_2_6().sample(20, 30, random_state=0), schedule=Schedule.stages((6, 1), (2, 2), (1, 2)), random_state=0
    )
    expected = {(one.configuration, one.rung): one.score for one in alone.search.results}
    assert {
        (trial.user_attrs["configuration"], trial.user_attrs["rung"]): trial.value for trial in finished
    } == expected


def ledger(path, grace=60.0):
    return StudyLedger.open(path, "hqmm", 0, {}, {}, grace)


JOBS = [Job(0, 0, configuration, 1) for configuration in range(3)]
NOTHING = {job: {} for job in JOBS}


def test_a_job_is_taken_once(tmp_path):
    one, two = ledger(tmp_path / "trials.db"), ledger(tmp_path / "trials.db")
    assert [one.claim(JOBS, NOTHING), two.claim(JOBS, NOTHING), one.claim(JOBS, NOTHING)] == JOBS
    assert two.claim(JOBS, NOTHING) is None
    one.abandon(JOBS[2])
    assert two.claim(JOBS, NOTHING) == JOBS[2]
    one.finish(JOBS[0], Outcome(1.0, 0.0))
    assert two.outcomes() == {JOBS[0]: Outcome(1.0, 0.0)}
    one.close()
    two.close()


def test_of_two_that_take_a_job_at_the_same_moment_the_first_has_it(tmp_path, monkeypatch):
    one, two = ledger(tmp_path / "trials.db"), ledger(tmp_path / "trials.db")
    with monkeypatch.context() as patch:
        # neither sees the other's trial when it looks what is taken
        patch.setattr("hqmm.tuning.study._free", lambda jobs, trials: list(jobs))
        assert one.claim(JOBS[:1], NOTHING) == JOBS[0]
        assert two.claim(JOBS[:1], NOTHING) is None
    states = [trial.state.name for trial in load(tmp_path / "trials.db").trials]
    assert states == ["RUNNING", "FAIL"]
    one.close()
    two.close()


def test_a_process_that_gives_no_sign_of_life_loses_its_trial_and_cannot_enter_it_later(tmp_path, monkeypatch):
    # as if on two machines: nobody can see whether the other's process is there
    monkeypatch.setattr("hqmm.tuning.study._is_gone", lambda attributes: False)
    silent, watcher = ledger(tmp_path / "trials.db"), ledger(tmp_path / "trials.db", grace=0.4)
    assert silent.claim(JOBS[:1], NOTHING) == JOBS[0]
    assert watcher.claim(JOBS[:1], NOTHING) is None
    time.sleep(0.6)
    assert watcher.claim(JOBS[:1], NOTHING) == JOBS[0]
    silent.finish(JOBS[0], Outcome(5.0, 0.0))  # too late
    assert watcher.outcomes() == {}
    watcher.finish(JOBS[0], Outcome(1.0, 0.0))
    assert silent.outcomes() == {JOBS[0]: Outcome(1.0, 0.0)}
    silent.close()
    watcher.close()


def test_a_process_that_is_gone_from_this_machine_loses_its_trial_at_once(tmp_path, monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    one, two = ledger(tmp_path / "trials.db"), ledger(tmp_path / "trials.db")
    with monkeypatch.context() as patch:
        patch.setattr("hqmm.tuning.study.os.getpid", lambda: gone.pid)
        assert one.claim(JOBS[:1], NOTHING) == JOBS[0]
    assert two.claim(JOBS[:1], NOTHING) == JOBS[0]
    one.close()
    two.close()


def test_a_process_that_gives_signs_of_life_keeps_its_trial(tmp_path, monkeypatch):
    monkeypatch.setattr("hqmm.tuning.study._is_gone", lambda attributes: False)
    living, watcher = ledger(tmp_path / "trials.db", grace=0.6), ledger(tmp_path / "trials.db", grace=1.0)
    assert living.claim(JOBS[:1], NOTHING) == JOBS[0]
    end = time.monotonic() + 1.6
    while time.monotonic() < end:
        assert watcher.claim(JOBS[:1], NOTHING) is None
        time.sleep(0.2)
    living.close()
    watcher.close()


def test_an_interrupted_search_gives_its_trials_back(tmp_path):
    def interrupted(trial):
        if trial.configuration == 2:
            raise KeyboardInterrupt
        return evaluate(trial)

    path = tmp_path / "trials.db"
    with pytest.raises(KeyboardInterrupt):
        search(interrupted, SPACE, SCHEDULE, storage=path)
    assert [trial.state.name for trial in load(path).trials] == ["COMPLETE", "COMPLETE", "FAIL"]
    found = search(evaluate, SPACE, SCHEDULE, storage=path)
    assert without_time(found) == without_time(search(evaluate, SPACE, SCHEDULE, random_state=0))


def test_storages(monkeypatch):
    assert sqlite_file("sqlite:////tmp/trials.db").as_posix() == "/tmp/trials.db"
    assert sqlite_file("postgresql://server/trials") is None
    with pytest.raises(DataError, match=r"storage: odd://me:\*\*\*@server cannot be opened"):
        search(evaluate, SPACE, SCHEDULE, storage="odd://me:secret@server")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        ImportError, match=r"me:\*\*\*@server/trials needs a database driver .*'psycopg\[binary\]'"
    ):
        search(evaluate, SPACE, SCHEDULE, storage="postgresql://me:secret@server/trials")


def test_without_optuna_the_error_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"pip install 'hqmm\[tune\]'"):
        search(evaluate, SPACE, SCHEDULE, storage=tmp_path / "trials.db")
    assert search(evaluate, SPACE, SCHEDULE, random_state=0).best.score > 0  # in memory it is not needed
