"""Work in fixed pieces, summed in a fixed order: the result does not depend on the number of threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np

from hqmm.errors import ModelError

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def available() -> int:
    """Return how many cores this process may use.

    Examples
    --------
    >>> from hqmm.engine.threads import available
    >>> available() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: Any) -> None:
    """Refuse a number of threads that is none.

    Examples
    --------
    >>> from hqmm import ModelError
    >>> from hqmm.engine.threads import check_threads
    >>> try:
    ...     check_threads(0)
    ... except ModelError as error:
    ...     print(error)
    threads must be at least 1, not 0
    """
    if threads is not None and (not isinstance(threads, int | np.integer) or threads < 1):
        raise ModelError(f"threads must be at least 1, not {threads!r}")


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # One pool for each process: threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="hqmm")


def in_order(work: Callable[[Piece], Result], pieces: Sequence[Piece], threads: int) -> Iterator[Result]:
    """Yield ``work(piece)`` in the order of the pieces; at most two results per thread wait to be fetched.

    Examples
    --------
    >>> from hqmm.engine.threads import in_order
    >>> list(in_order(lambda piece: piece**2, [3, 1, 2], threads=2))
    [9, 1, 4]
    """
    if threads == 1 or len(pieces) == 1:
        yield from map(work, pieces)
        return
    pool = _pool(threads, os.getpid())
    waiting: deque[Future[Result]] = deque()
    try:
        for piece in pieces:
            if len(waiting) == 2 * threads:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, piece))
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
