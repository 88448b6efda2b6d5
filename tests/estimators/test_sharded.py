"""Learning from a corpus in shards is learning from the same sequences in memory."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from hqmm import (
    COSM,
    DataError,
    HMMEstimator,
    HQMMEstimator,
    MarkovChainEstimator,
    NOOMEstimator,
    Polar,
    Sequences,
)
from hqmm.datasets import hmm_6_6
from hqmm.engine.corpus import InMemory
from hqmm.engine.parquet import ParquetCorpus
from hqmm.estimators import learned, sharded
from hqmm.estimators.streaming import Stream
from hqmm.learning import fit, random_hmm, random_hqmm, random_hybrid, random_noom

DATA = hmm_6_6().sample(40, 50, random_state=0).with_weights(np.random.default_rng(0).uniform(0.5, 2, 40))
HELD_OUT = hmm_6_6().sample(10, 50, random_state=1)
FULL = Polar(sweeps=0)


def drawn(start):
    return start(np.random.default_rng(0))


def learners():
    yield HMMEstimator(start=drawn(random_hmm(3, 6)), max_iter=6)
    yield HQMMEstimator(start=drawn(random_hqmm(2, 6, 2)), learner=FULL, max_iter=6)
    yield HQMMEstimator(start=drawn(random_hqmm(2, 6)), learner="lbfgs", max_iter=6, burn_in=5)
    yield HQMMEstimator(start=drawn(random_hybrid(2, 2, 6)), learner=FULL, max_iter=6)
    # from here each iteration magnifies rounding fifty times, with or without shards
    yield NOOMEstimator(start=drawn(random_noom(2, 6)), learner=FULL, max_iter=3)


@pytest.fixture
def parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"event": [row.tolist() for row in DATA], "weight": DATA.weights})
    pq.write_table(table, tmp_path / "events.parquet")
    return ParquetCorpus(tmp_path, "event", 6, weights="weight", shard_symbols=300)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", list(learners()), ids=lambda one: f"{type(one).__name__} {one.learner}")
def test_the_iterates_are_those_of_the_sequences_in_memory(estimator, parquet):
    for more in ({}, {"validation": HELD_OUT}):
        in_memory = clone(estimator).set_params(**more).fit(DATA)
        in_shards = clone(estimator).set_params(**more).fit(parquet)
        for column in ("train", "validation", "feasibility"):
            np.testing.assert_allclose(
                in_shards.history_[column], in_memory.history_[column], rtol=1e-9, atol=1e-12
            )
        assert repr(in_shards.model_) == repr(in_memory.model_)
        assert in_shards.score(HELD_OUT) == pytest.approx(in_memory.score(HELD_OUT), rel=1e-7)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [next(learners()), HQMMEstimator(n_blocks=2, max_iter=5, random_state=0)])
def test_a_current_client_has_its_workers_do_it_bit_for_bit(estimator, parquet):
    distributed = pytest.importorskip("distributed")
    alone = clone(estimator).fit(parquet)
    asked = []
    quiet = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(**quiet) as client:
        submit, client.submit = client.submit, lambda *a, **k: asked.append(a) or submit(*a, **k)
        together = clone(estimator).fit(parquet)
        assert len(asked) == 2, "each worker keeps shards"
    assert together.model_ == alone.model_
    np.testing.assert_array_equal(together.history_["train"], alone.history_["train"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_restarts_of_one_corpus_run_one_after_the_other_and_leave_nothing_behind(monkeypatch):
    asked = []
    monkeypatch.setattr(
        learned, "fit", lambda *a, **options: asked.append(options["n_jobs"]) or fit(*a, **options)
    )
    estimator = HMMEstimator(2, n_init=2, n_jobs=2, max_iter=3, random_state=0).fit(InMemory(DATA))
    assert asked == [1]
    assert estimator.model_ == clone(estimator).fit(InMemory(DATA)).model_
    assert pickle.loads(pickle.dumps(estimator)).model_ == estimator.model_


def test_polar_begins_with_the_stream_of_the_shards():
    corpus = InMemory(DATA, n_shards=4)  # of ten sequences, two steps, each
    model = drawn(random_hqmm(2, 6))
    expected = Stream(Polar(), model).continued(DATA, 3, None).model
    with pytest.warns(match="has not converged"):
        fitted = HQMMEstimator(start=model, burn_in=3, max_iter=1).fit(corpus)
    with pytest.warns(match="has not converged"):
        by_hand = HQMMEstimator(start=expected, learner=FULL, burn_in=3, max_iter=1).fit(corpus)
    assert fitted.model_ == by_hand.model_


def test_a_checkpoint_belongs_to_the_symbols_of_the_corpus(tmp_path):
    estimator = HMMEstimator(2, max_iter=2, random_state=0, checkpoint=tmp_path / "c")
    with pytest.warns(match="has not converged"):
        estimator.fit(InMemory(DATA))
    other = Sequences([row[::-1] for row in DATA], DATA.alphabet, weights=DATA.weights)  # of the same lengths
    with pytest.raises(ValueError, match="belongs to a fit with other data"):
        estimator.fit(InMemory(other))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (HQMMEstimator(learner=COSM()), "COSM picks sequences at random"),
        (HQMMEstimator("auto"), "name them for a corpus in shards"),
        (HMMEstimator(validation=0.2), "pass held-out data"),
        (HMMEstimator(alphabet=5), r"alphabet: the corpus is over Alphabet\(6\); make it with alphabet=5"),
        (HMMEstimator(end=True), "make the corpus with end=True, too"),
        (MarkovChainEstimator(), "expected a collection of sequences"),
    ],
)
def test_what_shards_do_not_allow_is_said(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(InMemory(DATA))
    with pytest.raises(DataError, match="brings its own weights"):
        HMMEstimator().fit(InMemory(DATA), sample_weight=np.ones(40))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_path_of_a_parquet_file_is_read_whole_or_in_shards_where_there_are_workers_or_too_much(
    tmp_path, monkeypatch
):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"sequence": [row.tolist() for row in DATA], "weight": DATA.weights}), path)
    estimator = HMMEstimator(start=drawn(random_hmm(3, 6)), alphabet=6, max_iter=4)
    digests = []

    def watched(source, threads):
        digests.append(len(source))
        return opened(source, threads)

    opened = sharded.opened
    monkeypatch.setattr(sharded, "opened", watched)
    whole = clone(estimator).fit(path).history_["train"]
    assert digests == []
    monkeypatch.setattr(sharded, "LARGE_FILE", 0)
    large = clone(estimator).fit(path).history_["train"]
    assert digests == [len(DATA)]
    monkeypatch.setattr(sharded, "LARGE_FILE", 2**60)
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
        together = clone(estimator).fit(path).history_["train"]
    assert len(digests) == 2
    np.testing.assert_allclose(large, whole, rtol=1e-9)
    np.testing.assert_array_equal(together, large)
