"""Tuning from the command line."""

import csv
import json

import pytest

from hqmm import load
from hqmm.datasets import hqmm_2_6
from hqmm.tuning import parse_range, tune

SMALL = ["--max-iter", "3", "--schedule", "halving"]


@pytest.fixture
def seqs(folder):
    drawn = hqmm_2_6().sample(20, 30, random_state=0)
    (folder / "seqs.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in drawn.decode()))
    return drawn


def test_tune_writes_the_best_model_and_all_trials(hqmm, seqs):
    options = ["--range", "step=0.5:0.9", "--range", "rank=1,2", "--results", "trials.csv", "--seed", 5, "--json"]
    facts = json.loads(hqmm("tune", "seqs.txt", "--output", "best.hqmm", *SMALL, *options).stdout)
    space = {"step": parse_range("0.5:0.9"), "kraus_rank": [1, 2]}
    expected = tune(seqs, space=space, schedule="halving", max_iter=3, random_state=5)
    assert load("best.hqmm") == expected.model
    assert facts["validation_per_symbol"] == pytest.approx(expected.search.best.score)
    assert facts["kraus_rank"] == expected.parameters["kraus_rank"]
    with open("trials.csv", newline="") as file:
        assert [float(row["score"]) for row in csv.DictReader(file)] == [
            one.score for one in expected.search.results
        ]


def test_a_stored_search_is_not_done_again(hqmm, seqs, folder):
    pytest.importorskip("optuna")
    command = ["tune", "seqs.txt", "--output", "best.hqmm", *SMALL, "--storage", "trials.db", "--json"]
    first = hqmm(*command).stdout
    assert (folder / "trials.db").exists()
    assert hqmm(*command).stdout == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.txt"], "nothing.txt: no such file"),
        (["seqs.txt", "--range", "pace=1:2"], "COSM has no setting 'pace'"),
        (["seqs.txt", "--range", "step=a:b"], "'a:b' is not a range"),
        (["seqs.txt", "--learner", "polar"], "say what to tune of Polar"),
        (["seqs.txt", "--validation", "days.txt"], "days.txt, line 1: the symbol 's'"),
    ],
)
def test_what_cannot_be_tuned_is_one_line(hqmm, seqs, arguments, message):
    assert message in hqmm("tune", *arguments, *SMALL, "--output", "best.hqmm", code=1).stderr


@pytest.mark.parametrize(
    "arguments", [[], ["--output", "a", "--range", "step"], ["--output", "a", "--schedule", "slow"]]
)
def test_wrong_usage_of_tune_exits_with_two(hqmm, seqs, arguments):
    hqmm("tune", "seqs.txt", *arguments, code=2)
