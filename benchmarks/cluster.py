"""Many workers against one: the same corpus, the same shards, one thread each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
from distributed import Client, LocalCluster

from benchmarks.measure import Row, best_times
from hqmm import HQMM, Sequences
from hqmm.channels import random_kraus
from hqmm.engine import corpus
from hqmm.engine.cluster import ClusterEngine


@contextmanager
def workers(count: int) -> Iterator[Client]:
    """Start worker processes of one thread each."""
    cluster = LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    )
    with cluster, Client(cluster, set_as_default=False, direct_to_workers=True) as client:
        yield client


def two_workers(symbols: int = 10**7) -> Iterator[Row]:
    """Gradient of sequences of 300 symbols by an HQMM with n = 6 on dask.distributed workers of one thread."""
    form = HQMM(random_kraus(6, 2, 6, random_state=0)).linear
    codes = np.random.default_rng(0).integers(0, 6, (-(-symbols // 300), 300), dtype=np.int8)
    data = Sequences(codes, alphabet=6)
    with ExitStack() as stack:
        one, two = (
            stack.enter_context(ClusterEngine(data, stack.enter_context(workers(count)))) for count in (1, 2)
        )
        here, alone, shared = best_times(
            lambda: corpus.gradient(form, data, threads=1),
            lambda: one.gradient(form),
            lambda: two.gradient(form),
            least=4,
            clock=time.perf_counter,
        )
        same = np.array_equal(one.gradient(form).operators, two.gradient(form).operators)
    note = f"{alone:.3f} s and {shared:.3f} s; gradients {'the same bit for bit' if same else 'DIFFER'}"
    yield Row(f"{data.n_symbols:,} symbols, 2 workers against 1", alone / shared, "times", 1.7, note=note)
    yield Row("time on one worker against no cluster at all", alone / here, "times", note=f"{here:.3f} s")


ROWS = [two_workers]
