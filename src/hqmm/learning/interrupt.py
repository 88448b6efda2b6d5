"""Ctrl-C, heard between iterations: an exception within compiled code could take the interpreter along."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_listening: list[threading.Event] = []  # of the outermost block, in the main thread


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets; what runs looks at it where it can stop. A second Ctrl-C raises, as ever.

    Blocks within one another share the event of the outermost. Python tells only the main thread of signals, and a
    program's own handler is left in place: elsewhere, and with that, nobody sets the event.

    Examples
    --------
    >>> import signal
    >>> from hqmm.learning.interrupt import interruptible
    >>> with interruptible() as asked:
    ...     asked.is_set()
    False
    """
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and _listening:
        yield _listening[0]
        return
    event = threading.Event()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield event
        return

    def hear(*_: Any) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    _listening.append(event)
    signal.signal(signal.SIGINT, hear)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _listening.clear()
