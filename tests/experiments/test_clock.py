"""The clock: how its runs are scored, and each claim from made-up rows that confirm it and that contradict it."""

import numpy as np
import pytest

from hqmm import HMM
from hqmm.experiments import clock, protocol
from hqmm.metrics import description_accuracy


def row(model, deficit, n=2, name="clock", error=0.001, da=0.15):
    return {
        "set": name,
        "model": model,
        "n": n,
        "order": None,
        "validation_da": da - deficit,
        "test_da": da - deficit,
        "test_sd": 0.01,
        "deficit": deficit,
        "deficit_error": error,
    }


def rows(*pairs, name="clock"):
    return [row(model, deficit, n, name) for model, n, deficit in pairs]


CASES = {
    "the clock is learned": (
        clock.clock_learned,
        rows(("cosm", 2, 0.0015), ("gs", 2, 0.1)),
        rows(("cosm", 2, 0.0025), ("gs", 2, 0.1)),
    ),
    "the small model is learned": (
        clock.small_learned,
        rows(("polar", 2, -0.001), name="hqmm-2-4"),
        rows(("polar", 2, 0.003), name="hqmm-2-4"),
    ),
    "the clock needs more states": (
        clock.clock_needs_states,
        rows(("em", 2, 0.1), ("em", 4, 0.0)),
        rows(("em", 2, 0.001), ("em", 4, 0.0)),
    ),
    "the small model needs more states": (
        clock.small_needs_states,
        rows(("em", 2, 0.1), name="hqmm-2-4"),
        rows(("em", 2, 0.001), name="hqmm-2-4"),
    ),
    "no HMM is the clock": (
        clock.no_hmm_is_the_clock,
        rows(("em", 2, 0.1), ("em", 8, 0.003)),
        rows(("em", 2, 0.1), ("em", 8, 0.001)),
    ),
}


@pytest.mark.parametrize(("judge", "confirming", "contradicting"), CASES.values(), ids=CASES.keys())
def test_a_claim_holds_on_rows_that_confirm_it_and_fails_on_others(judge, confirming, contradicting):
    assert judge(confirming).holds is True
    assert judge(contradicting).holds is False


def test_every_claim_has_a_case_and_an_explanation():
    judges = {judge for judge, *_ in CASES.values()}
    assert {claim.judge for claim in clock.EXPERIMENT.claims} == judges
    assert all(claim.otherwise.endswith(".") for claim in clock.EXPERIMENT.claims)


def test_the_start_with_the_best_validation_da_is_the_one_that_counts():
    good, bad = row("cosm", 0.0), {**row("cosm", 0.1), "validation_da": 0.2}
    assert clock.chosen([good, bad])[0]["deficit"] == 0.1
    assert clock.clock_learned([good, bad]).holds is False


def test_the_deficit_is_measured_sequence_by_sequence():
    parts = protocol.splits("clock", "generated")
    coin = HMM([[1.0]], [[0.7], [0.3]])
    found = clock.scores(coin, parts)
    each = [
        description_accuracy(parts.truth, parts.test[[i]], 1000)
        - description_accuracy(coin, parts.test[[i]], 1000)
        for i in range(10)
    ]
    assert found["deficit"] == pytest.approx(np.mean(each))
    assert found["deficit_error"] == pytest.approx(np.std(each, ddof=1) / np.sqrt(10))


@pytest.mark.parametrize("name", clock.SETS)
def test_the_smallest_runs_work_and_can_be_shown(name):
    runs = [run for run in clock.runs("tiny", 0) if run.settings["set"] == name]
    found = [{**run.settings, **one} for run in runs for one in clock.execute(**run.settings)]
    truth = next(one for one in found if one["model"] == "truth")
    assert truth["deficit"] == 0
    assert all(one["test_da"] <= truth["test_da"] + 0.001 for one in found)
    other = [{**one, "set": other} for other in clock.SETS for one in found]
    assert set(clock.draw(other)) == {"clock", "hqmm-2-4", "deficit"}
    assert "true model" in clock.table(other)[0]["model"]
    assert f"{truth['test_da']:.4f}" in clock.see(other)
