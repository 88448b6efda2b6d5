"""Who does the work: this thread, threads or processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from hqmm.errors import DataError

KINDS = ("threads", "processes")


class Inline(Executor):
    """An executor that does its work at once, where it is asked to."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future that is done; what interrupts the program is not kept back in it."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def opened(executor: Any, n_jobs: int) -> Iterator[tuple[Executor, int]]:
    """Yield an executor, and how many jobs to give it at once.

    Parameters
    ----------
    executor : "threads", "processes", dask.distributed.Client or concurrent.futures.Executor
        Processes are joblib's (loky), which are kept for the next time.
    n_jobs : int
        How many at once; −1 means one for each core, or each thread of a cluster.
    """
    if not isinstance(n_jobs, int) or n_jobs == 0 or n_jobs < -1:
        raise DataError(f"n_jobs must be a whole number from 1 up, or -1 for all cores, not {n_jobs!r}")
    if hasattr(executor, "get_executor"):  # Dask's client
        width = sum(executor.nthreads().values()) if n_jobs == -1 else n_jobs
        # what is trained reads and writes checkpoints, so that equal arguments do not mean equal work
        yield executor.get_executor(pure=False), max(1, width)
        return
    if isinstance(executor, Executor):
        yield executor, _cores() if n_jobs == -1 else n_jobs
        return
    if executor not in KINDS:
        raise DataError(
            "executor must be 'threads', 'processes', a Dask client or a concurrent.futures.Executor, "
            f"not {executor!r}"
        )
    width = _cores() if n_jobs == -1 else n_jobs
    if width == 1:
        yield Inline(), 1
    elif executor == "threads":
        with ThreadPoolExecutor(width) as pool:
            yield pool, width
    else:
        from joblib.externals.loky import get_reusable_executor

        yield get_reusable_executor(max_workers=width), width


def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())
