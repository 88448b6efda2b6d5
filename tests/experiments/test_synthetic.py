import numpy as np
import pytest

from hqmm.experiments import protocol, registry, synthetic_hmm, synthetic_hqmm, training_time
from hqmm.experiments.tables import only, where
from hqmm.learning import GivensSearch
from hqmm.metrics import description_accuracy


@pytest.mark.parametrize("scale", ["tiny", "quick", "paper"])
@pytest.mark.parametrize("name", registry.MODULES)
def test_no_run_is_listed_twice_and_seeds_shift_with_the_seed(name, scale):
    experiment = registry.get(name)
    keys = [experiment.key(run) for run in experiment.runs(scale, 0)]
    assert len(set(keys)) == len(keys) > 0
    assert all(run.cost > 0 for run in experiment.runs(scale, 0))


def test_the_paper_scale_covers_what_figure_two_shows():
    settings = [run.settings for run in synthetic_hmm.EXPERIMENT.runs("paper", 0)]
    for model in ("cosm", "gs", "polar"):
        assert {(one["n"], one["w"]) for one in where(settings, model=model)} >= {
            *((n, 1) for n in range(2, 7)),
            *((5, w) for w in range(1, 7)),
        }
    assert len(where(settings, model="em", n=4)) == 5
    assert {one["epochs"] for one in where(settings, model="cosm")} == {60}


def test_a_run_is_scored_as_the_paper_does_and_repeats_bit_for_bit():
    [row] = synthetic_hmm.execute(data="generated", model="cosm", n=2, w=1, seed=3, epochs=2)
    [again] = synthetic_hmm.execute(data="generated", model="cosm", n=2, w=1, seed=3, epochs=2)
    assert {**row, "cpu_seconds": 0} == {**again, "cpu_seconds": 0}
    [other] = synthetic_hmm.execute(data="generated", model="cosm", n=2, w=1, seed=4, epochs=2)
    assert other["test_da"] != row["test_da"]
    [truth] = synthetic_hmm.execute(data="generated", model="truth")
    parts = protocol.splits("hmm", "generated")
    each = [description_accuracy(parts.truth, parts.test[[i]], burn_in=1000) for i in range(10)]
    assert truth["test_da"] == pytest.approx(np.mean(each))
    assert truth["test_sd"] == pytest.approx(np.std(each, ddof=1))


def test_a_clock_runs_only_while_training_and_a_budget_ends_it():
    def slow(model):
        return {"n": sum(range(10**6))}

    parts = protocol.splits("hqmm", "generated")
    rows = protocol.timed("gs", 2, 1, parts, protocol.learner("gs", 2, 1), 0, measure=slow, cpu_limit=0.2)
    assert [row["iteration"] for row in rows] == list(range(len(rows)))
    seconds = [row["seconds"] for row in rows]
    assert seconds[0] == 0 < seconds[1]
    assert seconds == sorted(seconds)
    assert seconds[-2] <= 0.2 < seconds[-1] < 2


def test_curves_start_before_training_and_end_after_the_last_epoch():
    rows = training_time.execute(data="generated", model="cosm", n=2, w=1, seed=0, epochs=2)
    assert [row["iteration"] for row in rows] == [0, 1, 2]
    assert only(rows, iteration=2)["test_da"] > only(rows, iteration=0)["test_da"]


def test_both_learners_take_the_papers_batches_of_thirty(monkeypatch):
    learners = {}

    def keep(name, n, w, parts, chosen, seed, **options):
        learners[len(learners)] = chosen
        return []

    monkeypatch.setattr(protocol, "timed", keep)
    for model in ("cosm", "gs-30", "gs"):
        training_time.execute(data="generated", model=model, n=2, w=1)
    assert learners[0].batch_size == 30
    assert {batch for batch, _, _ in learners[1].schedule} == {30}
    assert learners[2] == GivensSearch()


def test_sequences_that_are_not_cut_have_their_own_burn_in_and_as_many_steps(monkeypatch):
    seen = {}

    def keep(name, n, w, parts, chosen, seed, burn_in=protocol.BURN_IN, **options):
        cut = burn_in == protocol.BURN_IN
        seen[cut] = (parts.train.lengths.max(), burn_in, len(parts.train) / chosen.batch_size)
        return learn(name, n, w, parts, chosen, seed, burn_in=burn_in, **options)

    learn = protocol.learn
    monkeypatch.setattr(protocol, "learn", keep)
    for model in ("cosm", "cosm-whole"):
        [row] = synthetic_hqmm.execute(data="generated", model=model, n=2, w=1, epochs=2)
        assert row["iterations"] == 2
    assert seen == {True: (300, 100, 10), False: (3000, 1000, 10)}


def test_the_source_says_generated_where_the_authors_files_cannot_be_had(monkeypatch, tmp_path):
    from hqmm.datasets import synthetic
    from hqmm.datasets.fetch import DataUnavailableError

    def nowhere(name, **options):
        raise DataUnavailableError("no network")

    monkeypatch.setattr(synthetic, "fetch_file", nowhere)
    protocol.source.cache_clear()
    try:
        assert protocol.source("hmm") == "generated"
    finally:
        protocol.source.cache_clear()


def test_the_authors_data_are_found_and_scored_as_known(data_folder):
    protocol.source.cache_clear()
    assert protocol.source("hmm") == "authors"
    [truth] = synthetic_hmm.execute(data="authors", model="truth")
    assert truth["test_da"] == pytest.approx(0.18008, abs=1e-4)
    assert truth["validation_da"] == pytest.approx(0.19, abs=0.01)
