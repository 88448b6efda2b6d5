"""Many machines: shards stay on dask.distributed workers, parameters go out, gradients come home.

Sums are made here, in the order of the shards, so the number of workers changes nothing but the time.
"""

from __future__ import annotations

import copyreg
import logging
import pickle
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from hqmm import engine
from hqmm._typing import FloatArray
from hqmm.engine import Gradient
from hqmm.engine.corpus import Corpus, InMemory, Source, add_up, as_corpus, counting_from
from hqmm.engine.threads import check_threads
from hqmm.errors import DataError, HqmmError, NegativeProbabilityError
from hqmm.linear import LinearForm
from hqmm.sequences import Sequences

# How often to ask whether a silent worker is still there.
_SECONDS_BETWEEN_CHECKS = 1.0


class WorkersLostError(HqmmError, RuntimeError):
    """Workers died again and again, or none is there to work.

    Examples
    --------
    >>> from hqmm import HqmmError
    >>> from hqmm.engine.cluster import WorkersLostError
    >>> issubclass(WorkersLostError, HqmmError)
    True
    """


class ClusterEngine:
    """Likelihood and gradient of a corpus whose shards stay in the memory of many workers.

    Each step sends the model (a few kB) to every worker, which works through its shards with its own threads,
    and adds up what comes back in the order of the shards: the result is the same bit for bit with any number of
    workers. Shards of a worker that dies are loaded on the others, and their part of the step is done again.

    Parameters
    ----------
    source : Sequences or ParquetCorpus
        Sequences are sent to the workers; a Parquet corpus is read by the workers themselves.
    client : dask.distributed.Client, optional
        Where the workers are; SLURM, Kubernetes and SSH launchers come with dask. By default a cluster of
        processes on this machine, which ends with the context. As with everything that starts processes, a
        script then needs ``if __name__ == "__main__":``.
    n_shards : int, optional
        About how many shards to cut from `Sequences`. The last bits of sums depend on it.
    threads_per_worker : int, optional
        Threads that work on a shard; by default as many as the worker has.
    retries : int
        How many times a step may lose workers before it gives up.
    timeout : float
        How many seconds to wait for a worker where there is none.

    Examples
    --------
    >>> from hqmm import HMM, Sequences
    >>> from hqmm.engine.cluster import ClusterEngine
    >>> coin = HMM([[1.0]], [[0.5], [0.5]])
    >>> with ClusterEngine(Sequences([[0, 1], [1, 1, 0]])) as cluster:  # doctest: +SKIP
    ...     cluster.gradient(coin.linear).operators.ravel()
    array([4., 6.])
    """

    def __init__(
        self,
        source: Source,
        client: Any = None,
        n_shards: int | None = None,
        threads_per_worker: int | None = None,
        *,
        retries: int = 3,
        timeout: float = 60.0,
    ) -> None:
        if client is not None and client.asynchronous:
            raise ValueError("ClusterEngine needs a synchronous client: Client(..., asynchronous=False)")
        check_threads(threads_per_worker)
        if retries < 0:
            raise DataError(f"retries must not be negative, as {retries} is")
        self._corpus = _as_shards(source, n_shards)
        self._n_shards = len(self._corpus.bounds) - 1
        self._threads = threads_per_worker
        self._retries = retries
        self._timeout = timeout
        self._homes: dict[str, _Home] = {}
        self._trouble: Exception | None = None
        self._closing = ExitStack()
        self._client = _local_client(threads_per_worker, self._closing) if client is None else client

    def __enter__(self) -> ClusterEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the workers' memory, and end the cluster where it is our own."""
        self._dismiss()
        self._closing.close()

    def log_likelihood(
        self, form: LinearForm, *, burn_in: int = 0, method: str | None = None, dtype: Any = np.float64
    ) -> FloatArray:
        """Return the log-likelihood of every sequence, in the order of the corpus.

        Parameters are those of `hqmm.engine.log_likelihood`.
        """
        options = {"burn_in": burn_in, "method": method, "dtype": dtype}
        return np.concatenate(self._step("log_likelihood", form, options))

    def gradient(
        self,
        form: LinearForm,
        *,
        burn_in: int = 0,
        burn_in_gradient: bool = False,
        method: str | None = None,
        dtype: Any = np.float64,
    ) -> Gradient:
        """Return log-likelihoods in the order of the corpus, and the gradient.

        Parameters are those of `hqmm.engine.gradient`.
        """
        options = {"burn_in": burn_in, "burn_in_gradient": burn_in_gradient, "method": method, "dtype": dtype}
        return add_up(self._step("gradient", form, options))

    def _step(self, work: str, form: LinearForm, options: dict[str, Any]) -> list[Any]:
        """Return what every shard gives, in their order; what lost workers owed is done again by others."""
        results: dict[int, Any] = {}
        # Actors bind to the current client.
        with self._client.as_current():
            for _ in range(self._retries + 1):
                self._settle()
                for answer in self._ask(
                    {
                        address: ("work", work, sorted(home.numbers - results.keys()), form, options)
                        for address, home in self._homes.items()
                    }
                ):
                    results.update(answer)
                self._raise_first_error(results)
                if len(results) == self._n_shards:
                    return [results[number] for number in range(self._n_shards)]
        raise WorkersLostError(
            f"workers were lost in each of {self._retries + 1} attempts at one step; their logs say why. "
            "Where they run out of memory, use more workers or smaller shards"
        ) from self._trouble

    def _settle(self) -> None:
        """Give every worker that is there its share of the shards."""
        threads = self._workers()
        held = {address: self._homes[address].numbers if address in self._homes else set() for address in threads}
        shares = share_out(self._n_shards, held)
        self._homes = {address: home for address, home in self._homes.items() if address in threads}
        fresh = {
            address: self._hire(address, threads[address]) for address in shares if address not in self._homes
        }
        for address, future in fresh.items():
            keeper = self._answer(address, future)
            if keeper is not None:
                self._homes[address] = _Home(future, keeper)
        moves = {}
        for address, home in self._homes.items():
            if home.numbers != shares[address]:
                new = sorted(shares[address] - home.numbers)
                home.numbers = shares[address]
                moves[address] = ("keep", sorted(home.numbers), new, self._corpus.shards(new))
        for answer in self._ask(moves):
            if "error" in answer:
                self._dismiss()
                raise answer["error"]

    def _workers(self) -> dict[str, int]:
        """Return the number of threads of every worker."""
        threads: dict[str, int] = self._client.nthreads()
        if not threads:
            try:
                self._client.wait_for_workers(1, timeout=self._timeout)
            except TimeoutError as error:
                raise WorkersLostError(f"no worker has come within {self._timeout:g} s") from error
            threads = self._client.nthreads()
        return dict(sorted(threads.items()))

    def _hire(self, address: str, threads: int) -> Any:
        return self._client.submit(
            _Keeper, self._threads or threads, workers=[address], allow_other_workers=False, actor=True, pure=False
        )

    def _dismiss(self) -> None:
        """Free what the workers hold: to drop the actors here is not enough, they must be called off."""
        if self._client.status == "running":
            self._client.cancel([home.future for home in self._homes.values()])
        self._homes.clear()

    def _ask(self, requests: dict[str, tuple[Any, ...]]) -> list[Any]:
        """Call methods of several actors at once; return what those say that are not lost."""
        promises = {}
        for address, (method, *arguments) in requests.items():
            try:
                promises[address] = getattr(self._homes[address].keeper, method)(*arguments)
            except RuntimeError as error:  # dask knows already that the worker is lost
                self._lose(address, error)
        answers = [self._answer(address, promise) for address, promise in promises.items()]
        return [answer for answer in answers if answer is not None]

    def _lose(self, address: str, reason: Exception) -> None:
        self._trouble = reason
        self._homes.pop(address, None)

    def _answer(self, address: str, promise: Any) -> Any:
        """Wait for what a worker promised; None if it is lost, and then it is forgotten."""
        while True:
            try:
                return promise.result(timeout=_SECONDS_BETWEEN_CHECKS)
            except TimeoutError as silence:
                # Nothing tells a waiting promise that its worker has gone.
                if address in self._client.nthreads():
                    continue
                self._lose(address, silence)
            except Exception as error:  # Errors of the work itself come as values: this one is about the worker.
                self._lose(address, error)
            return None

    def _raise_first_error(self, results: dict[int, Any]) -> None:
        for number in sorted(results):
            if isinstance(results[number], Exception):
                with counting_from(int(self._corpus.bounds[number])):
                    raise results[number]


@dataclass
class _Home:
    """A worker's actor, the future that keeps it alive, and the shards it holds."""

    future: Any
    keeper: Any
    numbers: set[int] = field(default_factory=set)


class _Keeper:
    """The actor: holds shards in a worker's memory and works on them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.held: dict[int, Sequences] = {}

    def keep(self, numbers: list[int], new: list[int], shards: Iterable[Sequences]) -> dict[str, Exception]:
        """Hold these shards, and no others; an error comes back as a value."""
        self.held = {number: self.held[number] for number in numbers if number in self.held}
        try:
            self.held.update(zip(new, shards, strict=True))
        except Exception as error:
            return {"error": _portable(error)}
        return {}

    def work(self, work: str, numbers: list[int], form: LinearForm, options: dict[str, Any]) -> dict[int, Any]:
        """Return what the shards give, up to the first error, which takes the place of a result."""
        results: dict[int, Any] = {}
        for number in numbers:
            try:
                results[number] = getattr(engine, work)(form, self.held[number], threads=self.threads, **options)
            except Exception as error:
                results[number] = _portable(error)
                break
        return results


def share_out(n_shards: int, held: dict[str, set[int]]) -> dict[str, set[int]]:
    """Return an even share of the shards for every worker, moving as few as possible.

    Examples
    --------
    >>> from hqmm.engine.cluster import share_out
    >>> share_out(4, {"a": {0, 1, 2, 3}, "b": set()})
    {'a': {0, 1}, 'b': {2, 3}}
    """
    most_first = sorted(held, key=lambda worker: -len(held[worker]))
    sizes = {worker: (n_shards - i - 1) // len(held) + 1 for i, worker in enumerate(most_first)}
    kept = {worker: sorted(held[worker])[: sizes[worker]] for worker in held}
    free = iter(sorted(set(range(n_shards)).difference(*kept.values())))
    return {worker: {*kept[worker], *islice(free, sizes[worker] - len(kept[worker]))} for worker in held}


def _as_shards(source: Source, n_shards: int | None) -> Corpus:
    if isinstance(source, Sequences):
        return InMemory(source, n_shards)
    corpus = as_corpus(source)
    if n_shards is not None:
        raise DataError("n_shards cuts Sequences; a ParquetCorpus has its shards already: set its shard_symbols")
    return corpus


def _local_client(threads: int | None, closing: ExitStack) -> Any:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("a cluster needs dask.distributed: pip install 'hqmm[cluster]'") from error
    cluster = LocalCluster(
        threads_per_worker=threads,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
        # Without a dashboard it still opens a port, and warns where another cluster has the usual one.
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    )
    closing.enter_context(cluster)
    return closing.enter_context(Client(cluster, set_as_default=False, direct_to_workers=True))


def _portable(error: Exception) -> Exception:
    """Return the error, or one that says the same where pickle cannot take it home."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return HqmmError(f"{type(error).__name__}: {error}")
    return error


def _negative_probability(error: NegativeProbabilityError) -> tuple[Any, ...]:
    return NegativeProbabilityError, (error.sequence, error.position, error.probability)


# Its arguments are not those of the exception it derives from, so pickle must be told.
copyreg.pickle(NegativeProbabilityError, _negative_probability)
