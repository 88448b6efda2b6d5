import logging
import os
import signal
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import random_hqmm

from hqmm import DataError, HqmmError, ModelError, NegativeProbabilityError, Sequences, engine
from hqmm.engine import corpus
from hqmm.engine.cluster import ClusterEngine, WorkersLostError, share_out
from hqmm.engine.corpus import InMemory
from hqmm.engine.parquet import ParquetCorpus
from hqmm.linear import LinearForm

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
N_SHARDS = 7
QUIET = {
    "dashboard_address": None,
    "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
    "silence_logs": logging.CRITICAL,
}


def same_bits(left, right):
    names = ("log_likelihood", "operators", "initial", "evaluation", "n_zero", "total")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in names)


@pytest.fixture(scope="module")
def model():
    return random_hqmm(np.random.default_rng(0), 3, 4).linear


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return [rng.integers(-1, 4, rng.integers(3, 40)).tolist() for _ in range(80)]


@pytest.fixture(scope="module")
def sequences(rows):
    return Sequences(rows, alphabet=4, weights=np.random.default_rng(2).uniform(0, 2, len(rows)))


@pytest.fixture(scope="module")
def parquet(rows, sequences, tmp_path_factory):
    pa = pytest.importorskip("pyarrow")

    path = tmp_path_factory.mktemp("cluster") / "rows.parquet"
    pq.write_table(pa.table({"y": rows, "w": sequences.weights}), path, row_group_size=13)
    return ParquetCorpus(path, "y", 4, weights="w", shard_symbols=-(-sequences.n_symbols // N_SHARDS))


@pytest.fixture(scope="module")
def expected(model, sequences):
    return corpus.gradient(model, InMemory(sequences, N_SHARDS), burn_in=1)


@contextmanager
def threads_only(n_workers, threads_per_worker=1):
    """A cluster inside this process: quick to start."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=threads_per_worker, processes=False, **QUIET
        ) as here,
        distributed.Client(here, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def processes():
    # A while after a worker died, a local cluster drops its place if it is empty just then; these workers die often.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 h"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as here,
        distributed.Client(here, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("n_workers", [1, 2, 3, 9])
def test_the_number_of_workers_changes_no_bit(model, sequences, expected, n_workers):
    with threads_only(n_workers) as client, ClusterEngine(sequences, client, N_SHARDS) as cluster:
        for _ in range(2):
            assert same_bits(cluster.gradient(model, burn_in=1), expected)
        likelihoods = cluster.log_likelihood(model, burn_in=1)
    whole = engine.gradient(model, sequences, burn_in=1)
    np.testing.assert_allclose(likelihoods, whole.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(expected.operators, whole.operators, rtol=1e-11, atol=1e-11)


def test_workers_read_parquet_files_themselves(model, parquet, expected, processes):
    with ClusterEngine(parquet, processes) as cluster:
        assert same_bits(cluster.gradient(model, burn_in=1), expected)


def test_options_reach_the_workers(model, sequences):
    source = InMemory(sequences, N_SHARDS)
    options = {"burn_in": 2, "burn_in_gradient": True, "method": "single", "dtype": np.float32}
    with threads_only(2) as client, ClusterEngine(sequences, client, N_SHARDS) as cluster:
        assert same_bits(cluster.gradient(model, **options), corpus.gradient(model, source, **options))
        del options["burn_in_gradient"]
        expected = corpus.log_likelihood(model, source, **options)
        assert np.array_equal(cluster.log_likelihood(model, **options), expected)


@pytest.mark.parametrize(("asked", "used"), [(None, 3), (2, 2)])
def test_workers_use_the_threads_they_have_or_are_given(sequences, model, asked, used):
    with threads_only(2, threads_per_worker=3) as client, ClusterEngine(sequences, client, 4, asked) as cluster:
        cluster.log_likelihood(model)
        assert [keeper.threads for keeper in keepers(client)] == [used, used]


def keepers(client):
    """The actors of a cluster inside this process."""
    workers = client.cluster.workers.values()
    return [keeper for worker in workers for keeper in worker.state.actors.values()]


def test_by_default_a_cluster_starts_and_ends_with_the_context(model, sequences, expected):
    with (
        threads_only(1) as other,
        other.as_current(),
    ):  # which the user may have, and is not to be mistaken for ours
        with ClusterEngine(sequences, n_shards=N_SHARDS) as cluster:
            assert same_bits(cluster.gradient(model, burn_in=1), expected)
            client = cluster._client
            pids = client.run(os.getpid)
            assert os.getpid() not in pids.values()
        assert client.status == "closed"
        assert not any(alive(pid) for pid in pids.values())
        assert distributed.Client.current() is other


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_users_cluster_stays_and_its_memory_is_freed(model, sequences, processes):
    with ClusterEngine(sequences, processes, N_SHARDS) as cluster:
        cluster.gradient(model)
        assert count_actors(processes) == 2
    assert processes.status == "running"
    deadline = time.monotonic() + 10
    while count_actors(processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert count_actors(processes) == 0


def count_actors(client):
    return sum(client.run(lambda dask_worker: len(dask_worker.state.actors)).values())


def die_in_the_next_step(client, address, after):
    """Let a worker process kill itself the hard way when it has worked on some shards of the next step."""

    def arm():
        from hqmm import engine

        gradient, done = engine.gradient, []

        def dying(*args, **options):
            if len(done) == after:
                os.kill(os.getpid(), signal.SIGKILL)
            done.append(gradient(*args, **options))
            return done[-1]

        engine.gradient = dying

    client.run(arm, workers=[address])


@pytest.mark.parametrize(("source", "after"), [("sequences", 2), ("parquet", 0)])
def test_a_worker_killed_in_mid_step_changes_no_bit(request, model, expected, processes, source, after):
    processes.wait_for_workers(2)
    n_shards = N_SHARDS if source == "sequences" else None
    with ClusterEngine(request.getfixturevalue(source), processes, n_shards) as cluster:
        assert same_bits(cluster.gradient(model, burn_in=1), expected)
        victim = next(iter(cluster._homes))
        pid = processes.run(os.getpid, workers=[victim])[victim]
        die_in_the_next_step(processes, victim, after)
        assert same_bits(cluster.gradient(model, burn_in=1), expected)
        assert not alive(pid)
        assert victim not in cluster._homes
        processes.wait_for_workers(2)
        assert same_bits(cluster.gradient(model, burn_in=1), expected)
        assert len(cluster._homes) == 2, "the worker that came back has its share again"


def test_a_worker_killed_between_steps_is_replaced(model, sequences, expected, processes):
    processes.wait_for_workers(2)
    with ClusterEngine(sequences, processes, N_SHARDS) as cluster:
        cluster.gradient(model)
        victim = next(iter(cluster._homes))
        os.kill(processes.run(os.getpid, workers=[victim])[victim], signal.SIGKILL)
        assert same_bits(cluster.gradient(model, burn_in=1), expected)


def test_an_actor_that_dask_has_given_up_is_a_lost_worker(model, sequences, expected):
    class GivenUp:
        def __getattr__(self, name):
            raise RuntimeError("Worker holding Actor was lost")

    with threads_only(2) as client, ClusterEngine(sequences, client, N_SHARDS) as cluster:
        cluster.gradient(model)
        next(iter(cluster._homes.values())).keeper = GivenUp()
        assert same_bits(cluster.gradient(model, burn_in=1), expected)


def test_workers_that_come_later_take_their_share(model, sequences, expected):
    with threads_only(1) as client, ClusterEngine(sequences, client, N_SHARDS) as cluster:
        assert same_bits(cluster.gradient(model, burn_in=1), expected)
        client.cluster.scale(3)
        client.wait_for_workers(3)
        assert same_bits(cluster.gradient(model, burn_in=1), expected)
        assert sorted(len(keeper.held) for keeper in keepers(client)) == [2, 2, 3]


def test_workers_that_die_again_and_again_are_an_error(model, sequences, processes):
    processes.wait_for_workers(2)

    def arm():
        from hqmm.engine.cluster import _Keeper

        _Keeper.work = lambda *_: os.kill(os.getpid(), signal.SIGKILL)

    processes.run(arm)
    with (
        ClusterEngine(sequences, processes, N_SHARDS, retries=0) as cluster,
        pytest.raises(WorkersLostError, match="lost in each of 1 attempts at one step"),
    ):
        cluster.gradient(model)


def test_a_cluster_without_workers_is_an_error(model, sequences):
    with (
        threads_only(0) as client,
        ClusterEngine(sequences, client, timeout=0.1) as cluster,
        pytest.raises(WorkersLostError, match=r"no worker has come within 0\.1 s"),
    ):
        cluster.gradient(model)


def test_a_negative_probability_names_the_sequence_of_the_corpus(processes):
    processes.wait_for_workers(2)
    form = LinearForm(np.array([[[1.5]], [[-0.5]]]), np.ones(1), np.ones(1))
    rows = [[0, 0]] * 20
    rows[13], rows[17] = [0, 1, 0], [1]
    with ClusterEngine(Sequences(rows), processes, 5) as cluster:
        for work in (cluster.gradient, cluster.log_likelihood):
            with pytest.raises(NegativeProbabilityError) as raised:
                work(form)
            assert (raised.value.sequence, raised.value.position) == (13, 1)
            assert raised.value.probability == pytest.approx(-0.5)
        fine = LinearForm(np.array([[[0.5]], [[0.5]]]), np.ones(1), np.ones(1))
        assert cluster.gradient(fine).n_zero == 0, "an error does not end the engine"


def test_a_symbol_the_model_does_not_know_names_the_sequence_of_the_corpus(model, processes):
    rows = [[0, 1]] * 10 + [[0, 4]]
    with ClusterEngine(Sequences(rows), processes, 3) as cluster, pytest.raises(DataError) as raised:
        cluster.gradient(model)
    assert str(raised.value).startswith("sequence 10, position 1: the code 4 is not")
    assert (raised.value.sequence, raised.value.position) == (10, 1)


def test_data_that_have_not_been_read_are_refused():
    with pytest.raises(DataError, match="sequences must be Sequences, not list"):
        ClusterEngine([[0, 1]])


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(DataError, match="retries must not be negative"):
        ClusterEngine(Sequences([[0, 1]]), retries=-1)
    with pytest.raises(ModelError, match="threads must be at least 1"):
        ClusterEngine(Sequences([[0, 1]]), threads_per_worker=0)


def test_an_error_that_cannot_travel_is_told_all_the_same(model, sequences):
    class OddError(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} and {two}")

    def fail(*_, **__):
        raise OddError(1, 2)

    with (
        threads_only(1) as client,
        ClusterEngine(sequences, client) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(engine, "gradient", fail)
        with pytest.raises(HqmmError, match="OddError: 1 and 2"):
            cluster.gradient(model)


def test_a_file_that_a_worker_cannot_read_is_an_error_and_no_lost_worker(processes, tmp_path):
    pa = pytest.importorskip("pyarrow")

    path = tmp_path / "moved.parquet"
    pq.write_table(pa.table({"y": ["ab", "ba"]}), path)
    source = ParquetCorpus(path, "y")
    path.rename(tmp_path / "elsewhere.parquet")
    form = LinearForm(np.full((2, 1, 1), 0.5), np.ones(1), np.ones(1))
    with ClusterEngine(source, processes) as cluster:
        for _ in range(2):
            with pytest.raises(FileNotFoundError, match=r"moved\.parquet"):
                cluster.gradient(form)
        (tmp_path / "elsewhere.parquet").rename(path)
        assert cluster.gradient(form).total == pytest.approx(4 * np.log(0.5))


def test_shards_are_cut_in_one_place_only(parquet, sequences, processes):
    with pytest.raises(DataError, match="set its shard_symbols"):
        ClusterEngine(parquet, processes, n_shards=3)
    with pytest.raises(DataError, match="n_shards must be at least 1, not 0"):
        ClusterEngine(sequences, processes, n_shards=0)


def test_an_asynchronous_client_is_refused(sequences):
    class Asynchronous:
        asynchronous = True

    with pytest.raises(ValueError, match="synchronous client"):
        ClusterEngine(sequences, Asynchronous())


def test_without_dask_the_error_says_what_to_install(sequences, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'hqmm\[cluster\]'"):
        ClusterEngine(sequences)


@given(st.integers(0, 20), st.lists(st.integers(0, 6), min_size=20, max_size=20), st.integers(1, 5))
def test_shares_are_even_and_cover_every_shard_once(n_shards, holder, n_workers):
    """Workers 5 and 6 are gone; the others hold some shards already."""
    held = {f"w{i}": {k for k in range(n_shards) if holder[k] == i} for i in range(n_workers)}
    shares = share_out(n_shards, held)
    assert sorted(k for share in shares.values() for k in share) == list(range(n_shards))
    sizes = [len(share) for share in shares.values()]
    assert max(sizes) - min(sizes) <= 1
    moved = sum(len(held[worker] - shares[worker]) for worker in held)
    assert moved == sum(max(0, len(held[w]) - len(shares[w])) for w in held), "only what is too much moves"


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 50))
def test_cuts_depend_on_the_data_alone_and_cover_it(lengths, n_shards):
    sequences = Sequences([np.zeros(length, np.int8) for length in lengths])
    source = InMemory(sequences, n_shards)
    joined = Sequences.concatenate(source.shards(range(len(source.bounds) - 1)))
    assert joined == sequences
    assert len(source.bounds) - 1 <= n_shards
    sizes = np.diff(sequences.offsets[source.bounds])
    assert max(sizes) <= -(-sequences.n_symbols // n_shards) + max(lengths)
