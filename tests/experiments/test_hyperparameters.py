"""Hyperparameters: the paper's schedule, trained in rungs, and claims judged from made-up rows."""

import numpy as np
import pytest

from hqmm import Sequences
from hqmm.datasets import Splice
from hqmm.datasets.splice import LABELS
from hqmm.experiments import hyperparameters as about
from hqmm.experiments import splice
from hqmm.experiments.tables import only, where


@pytest.fixture
def junctions(monkeypatch):
    generator = np.random.default_rng(0)
    data = Splice(Sequences(generator.integers(0, 4, (45, 60)), alphabet=4), np.repeat(LABELS, 15), "made up")
    monkeypatch.setattr(splice, "junctions", lambda: data)


def test_a_search_takes_the_papers_configurations_through_the_papers_epochs():
    [run] = about.runs("tiny", 0)
    rows = [{**run.settings, **row} for row in about.execute(**run.settings)]
    trials = where(rows, kind="trial")
    assert [len(where(trials, rung=rung)) for rung in range(4)] == [27, 9, 3, 1]
    assert [where(trials, rung=rung)[0]["resource"] for rung in range(4)] == [3, 12, 21, 48]
    assert all(0.55 <= row["step"] <= 0.95 and 0.9 <= row["decay"] <= 0.99 for row in trials)
    found = only(rows, kind="found")
    assert found["score"] == max(row["score"] for row in trials)
    assert found["step"] == next(row["step"] for row in trials if row["score"] == found["score"])
    assert set(about.draw(rows)) == {"search", "found", "gain"}
    assert about.table(rows)[0]["set"] == "HQMM data"
    assert "τ = " in about.see(rows)


def test_splice_goes_on_from_rung_to_rung_and_ends_where_one_training_does(junctions, tmp_path, monkeypatch):
    evaluate = about.TrainSplice(2, 1, 0)
    once = evaluate.score(0.8, 0.9, 4)
    epochs = []
    advance = about.COSM.advance
    monkeypatch.setattr(about.COSM, "advance", lambda self, *args: epochs.append(1) or advance(self, *args))
    evaluate.score(0.8, 0.9, 2, tmp_path)
    assert evaluate.score(0.8, 0.9, 4, tmp_path) == once
    assert len(epochs) == 4 * len(LABELS) * len(about.SPLICE_FOLDS)


def test_splice_takes_nine_configurations(junctions, monkeypatch):
    monkeypatch.setattr(about, "SPLICE_SCHEDULE", about.Schedule.stages((9, 1), (3, 1), (1, 1)))
    rows = about.execute("splice", "authors", 2, 1, 0, 60)
    trials = where(rows, kind="trial")
    assert len(trials) == 13
    assert all(0.7 <= row["step"] <= 0.9 and 0.88 <= row["decay"] <= 0.92 for row in trials)


def found(name="hmm", **gains):
    return [
        {
            "kind": "found",
            "set": name,
            "n": int(size[1]),
            "w": int(size[3]),
            "step": 0.9,
            "decay": 0.95,
            "tuned_validation_da": 0.1 + gain,
            "default_validation_da": 0.1,
        }
        for size, gain in gains.items()
    ]


CASES = {
    "default": (about.default_is_good, found(n2w1=0.009), found(n2w1=0.011)),
    "some": (about.some_gain, found(n2w1=0.0, n5w1=0.002), found(n2w1=0.0005)),
    "others": (about.others_do_not, found(n2w1=0.002, n5w1=0.0), found(n2w1=0.002, n5w1=0.002)),
}


@pytest.mark.parametrize(("judge", "confirming", "contradicting"), CASES.values(), ids=CASES.keys())
def test_a_claim_holds_on_rows_that_confirm_it_and_fails_on_others(judge, confirming, contradicting):
    assert judge(confirming).holds is True
    assert judge(contradicting).holds is False


def test_every_claim_has_a_case_and_an_explanation_and_is_open_without_rows():
    assert {claim.judge for claim in about.EXPERIMENT.claims} == {judge for judge, *_ in CASES.values()}
    for claim in about.EXPERIMENT.claims:
        assert claim.otherwise.endswith(".")
        with pytest.raises(LookupError):
            claim.judge(found("splice", n2w1=0.1))


def test_gains_are_means_over_seeds():
    rows = found(n2w1=0.004) + found(n2w1=-0.002)
    assert about.by_model(rows)[0]["gain"] == pytest.approx(0.001)
    assert about.by_model(rows)[0]["paper_step"] == 0.95
