"""The loop: who goes on, what is trained from where, and that it does not matter who does the work."""

import logging
import threading
from dataclasses import replace

import numpy as np
import pytest

from hqmm import DataError, HqmmError
from hqmm.datasets import hqmm_2_6
from hqmm.learning import COSM, BaumWelch, fit, random_hqmm
from hqmm.tuning import PAPER, Schedule, Uniform, search, successive_halving, tune
from hqmm.tuning.learners import LEARNERS

SPACE = {"x": Uniform(0, 1)}
DATA = hqmm_2_6().sample(40, 40, random_state=0)
VALIDATION = hqmm_2_6().sample(10, 60, random_state=1)


def slow_starter(trial):
    """A score that favours small x early and large x late."""
    return trial.parameters["x"] * (trial.resource - 5)


def without_time(found):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found.rows()]


def test_the_best_of_each_rung_go_on():
    found = successive_halving(slow_starter, SPACE, 9, min_resource=3, random_state=0)
    first, second, third = ([one for one in found.results if one.rung == rung] for rung in range(3))
    xs = {one.configuration: one.parameters["x"] for one in first}
    smallest = sorted(xs, key=xs.get)[:3]
    assert sorted(one.configuration for one in second) == sorted(smallest)
    assert [one.resource for one in (first[0], second[0], third[0])] == [3, 9, 27]
    assert third[0].configuration == max(smallest, key=xs.get)  # after 9 the larger x is ahead
    assert found.best == third[0]


def test_equal_scores_are_decided_by_number():
    found = successive_halving(lambda trial: 0.0, SPACE, 9, min_resource=1, random_state=0)
    assert [one.configuration for one in found.results if one.rung == 1] == [0, 1, 2]


def test_brackets_have_configurations_of_their_own():
    found = search(slow_starter, SPACE, Schedule.hyperband(9), random_state=0)
    firsts = [one for one in found.results if one.rung == 0]
    assert [one.configuration for one in firsts] == list(range(found.schedule.n_configurations))
    assert len({one.parameters["x"] for one in firsts}) == len(firsts)
    assert len({one.seed for one in firsts}) == len(firsts)


def test_a_seed_repeats_a_search_and_another_does_not():
    one, two, three = (search(slow_starter, SPACE, Schedule.hyperband(9), random_state=s) for s in (1, 1, 2))
    assert without_time(one) == without_time(two)
    assert without_time(one) != without_time(three)
    fresh = search(slow_starter, SPACE, Schedule.hyperband(9))
    again = search(slow_starter, SPACE, Schedule.hyperband(9), random_state=fresh.seed)
    assert without_time(fresh) == without_time(again)


def test_threads_really_work_at_once_and_change_nothing():
    meeting = threading.Barrier(3, timeout=20)

    def together(trial):
        if trial.resource == 1 and trial.configuration < 9:
            meeting.wait()
        return slow_starter(trial)

    schedule = Schedule.halving(9, 1)
    threaded = search(together, SPACE, schedule, random_state=0, n_jobs=3)
    assert without_time(threaded) == without_time(search(slow_starter, SPACE, schedule, random_state=0))


def test_processes_change_nothing():
    options = {"schedule": Schedule.halving(3, 1), "max_iter": 3, "random_state": 0}
    alone = tune(DATA, **options)
    shared = tune(DATA, **options, executor="processes", n_jobs=2)
    assert without_time(alone.search) == without_time(shared.search)
    assert alone.model == shared.model


def test_a_dask_cluster_changes_nothing():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = search(slow_starter, SPACE, Schedule.halving(9, 1), random_state=0, executor=client, n_jobs=-1)
    assert without_time(found) == without_time(search(slow_starter, SPACE, Schedule.halving(9, 1), random_state=0))


def test_a_configuration_that_fails_is_out_and_says_why():
    def evaluate(trial):
        if trial.configuration == 0:
            raise DataError("the step is too large")
        return {"score": np.nan if trial.configuration == 1 else -trial.configuration, "size": 3}

    found = successive_halving(evaluate, SPACE, 9, min_resource=1, random_state=0)
    assert found.results[0].error == "DataError: the step is too large"
    assert found.results[1].error == "the score is not a number"
    assert [one.configuration for one in found.results if one.rung == 1] == [2, 3, 4]
    assert found.best.configuration == 2
    assert found.best.details == {"size": 3}


def test_a_rung_with_fewer_sound_configurations_than_places_is_smaller():
    def evaluate(trial):
        if trial.configuration != 2:
            raise ValueError("no")
        return 1.0

    found = successive_halving(evaluate, SPACE, 9, min_resource=1, random_state=0)
    assert [(one.rung, one.configuration) for one in found.results[9:]] == [(1, 2), (2, 2)]


def test_if_all_fail_the_search_does():
    def evaluate(trial):
        raise ValueError("nothing works")

    with pytest.raises(HqmmError, match="every configuration failed; the first with: ValueError: nothing works"):
        successive_halving(evaluate, SPACE, 3, min_resource=1)


def test_an_error_that_no_configuration_can_be_blamed_for_ends_the_search():
    def evaluate(trial):
        raise TypeError("a mistake in the program")

    with pytest.raises(TypeError, match="a mistake"):
        successive_halving(evaluate, SPACE, 3, min_resource=1)


def test_results_are_reported_as_they_come():
    seen = []
    found = successive_halving(slow_starter, SPACE, 9, min_resource=1, random_state=0, on_result=seen.append)
    assert sorted(seen, key=found.results.index) == list(found.results)


# --- hqmm's own learners ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cosm", "polar", "adam"])
def test_training_in_rungs_ends_where_training_at_once_does(name):
    learner = LEARNERS[name]()
    options = {"validation": VALIDATION, "random_state": 3}
    space = {"learn_initial": [True]}
    tuned = tune(DATA, learner=learner, space=space, schedule=Schedule.stages((3, 2), (1, 3)), **options)
    best = tuned.search.best
    if name == "adam":  # whose steps shrink over all iterations of the schedule
        learner = replace(learner, max_iter=5)
    whole = fit(
        learner, random_hqmm(2, 6), DATA, validation=VALIDATION, max_iter=best.resource, random_state=best.seed
    )
    assert best.resource == 5
    assert tuned.model == whole.model
    assert tuned.score == whole.score
    np.testing.assert_array_equal(tuned.fit.history["validation"], whole.history["validation"])


def test_rungs_are_trained_from_checkpoints(monkeypatch):
    epochs = []
    advance = COSM.advance

    def counted(self, *args):
        epochs.append(1)
        return advance(self, *args)

    monkeypatch.setattr(COSM, "advance", counted)
    tuned = tune(DATA, validation=VALIDATION, schedule=Schedule.stages((3, 2), (1, 3)), random_state=0)
    assert len(epochs) == tuned.search.schedule.cost == 3 * 2 + 3


def test_the_papers_schedule_runs_in_full():
    learner = COSM(batches=3, batch_size=4)
    tuned = tune(DATA, validation=VALIDATION, learner=learner, schedule="paper", random_state=0)
    assert len(tuned.search.results) == PAPER.n_trials
    assert tuned.search.best.resource in (3, 12, 21, 48)
    assert tuned.fit.n_iter == tuned.search.best.resource
    assert 0.55 <= tuned.parameters["step"] <= 0.95
    assert 0.9 <= tuned.parameters["decay"] <= 0.99
    assert tuned.score == max(one.score for one in tuned.search.results)


def test_sizes_are_tuned_too():
    space = {"n_states": [1, 2], "kraus_rank": [2], "n_blocks": [1, 2]}
    tuned = tune(DATA, validation=VALIDATION, learner="polar", space=space, max_iter=3, random_state=0)
    sizes = {type(tuned.model).__name__, tuned.model.n_states, tuned.parameters["kraus_rank"]}
    assert tuned.model.kraus_rank == 2
    assert sizes <= {"HQMM", "HybridHQMM", 1, 2}
    hmm = tune(DATA, learner=BaumWelch(), space={"n_states": [1, 3]}, max_iter=3, random_state=0).model
    assert type(hmm).__name__ == "HMM"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "sgd"}, "learner must be one of 'cosm'"),
        ({"learner": "polar"}, "space: say what to tune of Polar: tol, sweeps"),
        ({"space": {"steps": [1]}}, "COSM has no setting 'steps'; it has step, decay"),
        ({"schedule": "asha"}, "schedule must be 'hyperband'"),
        ({"n_jobs": 0}, "n_jobs must be a whole number from 1 up, or -1"),
        ({"executor": "ray"}, "executor must be 'threads'"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        tune(DATA, **{"max_iter": 1, **options})
