"""Large arrays that a thread keeps: to ask the system for fresh memory costs as much as the work done in it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from hqmm._typing import AnyArray
from hqmm.engine.tiles import aligned


class _Kept(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[tuple[str, str], AnyArray] = {}


_KEPT = _Kept()


def borrow(name: str, shape: tuple[int, int], dtype: Any) -> AnyArray:
    """Return this thread's array of that name; what it holds is arbitrary."""
    size = shape[0] * shape[1]
    key = (name, np.dtype(dtype).char)
    memory = _KEPT.arrays.get(key)
    if memory is None or memory.size < size:
        memory = _KEPT.arrays[key] = aligned((size,), dtype)
    result: AnyArray = memory[:size].reshape(shape)
    return result
