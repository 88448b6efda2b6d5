"""Checkpoints of a running fit: arrays and scalars in a bundle, nothing pickled."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from hqmm._typing import AnyArray, FloatArray
from hqmm.errors import FileFormatError
from hqmm.learning.task import Task
from hqmm.storage import read_bundle, write_bundle


@dataclass(frozen=True)
class Checkpoint:
    """A learner's state, its best state, the history so far and the driver's own notes."""

    state: Any
    best: Any
    history: FloatArray
    header: dict[str, Any]

    def write(self, path: Path) -> None:
        """Save, atomically."""
        arrays: dict[str, AnyArray] = {"history": self.history}
        scalars: dict[str, Any] = {}
        for name, state in (("state", self.state), ("best", self.best)):
            _flatten(name, state, arrays, scalars)
        write_bundle(path, arrays, {"driver": self.header, "scalars": scalars})

    @classmethod
    def read(cls, path: Path, expected: str, template: Any) -> Checkpoint:
        """Load, refusing a file of another fit; ``template`` is a state of the kind that was saved."""
        arrays, header = read_bundle(path)
        try:
            driver, scalars = header["driver"], header["scalars"]
            if driver["fingerprint"] != expected:
                raise FileFormatError(
                    f"{path} belongs to a fit with other data, settings or sizes, another start or another seed; "
                    "delete it to start again, or name another checkpoint"
                )
            state, best = (_rebuild(name, template, arrays, scalars) for name in ("state", "best"))
            return cls(state, best, arrays["history"], driver)
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise FileFormatError(f"{path} is not a checkpoint of this learner: {error}") from None


def save_state(path: str | Path, state: Any) -> None:
    """Save a learner's state alone, atomically: that of a stream, between two batches.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import Polar
    >>> from hqmm.learning.checkpoint import load_state, save_state
    >>> from hqmm.learning.task import Task
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "state"
    >>> batch = Task(hqmm_2_6().sample(10, 20, random_state=0))
    >>> state = Polar().open(hqmm_2_6(), batch)
    >>> save_state(path, Polar().absorb(state, batch))
    >>> load_state(path, state).absorbed
    1
    """
    arrays: dict[str, AnyArray] = {}
    scalars: dict[str, Any] = {}
    _flatten("state", state, arrays, scalars)
    write_bundle(Path(path), arrays, {"scalars": scalars})


def load_state(path: str | Path, template: Any) -> Any:
    """Load a state that `save_state` saved; ``template`` is any state of the same kind."""
    arrays, header = read_bundle(Path(path))
    try:
        return _rebuild("state", template, arrays, header["scalars"])
    except (KeyError, TypeError, IndexError) as error:
        raise FileFormatError(f"{path} does not hold a {type(template).__name__}: {error}") from None


def _flatten(prefix: str, state: Any, arrays: dict[str, AnyArray], scalars: dict[str, Any]) -> None:
    for item in fields(state):
        name, value = f"{prefix}.{item.name}", getattr(state, item.name)
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif isinstance(value, tuple):
            scalars[name] = len(value)
            arrays.update({f"{name}.{number}": part for number, part in enumerate(value)})
        else:
            scalars[name] = value.item() if isinstance(value, np.generic) else value


def _rebuild(prefix: str, template: Any, arrays: dict[str, AnyArray], scalars: dict[str, Any]) -> Any:
    values: dict[str, Any] = {}
    for item in fields(template):
        name, like = f"{prefix}.{item.name}", getattr(template, item.name)
        if isinstance(like, np.ndarray):
            values[item.name] = arrays[name]
        elif isinstance(like, tuple):
            values[item.name] = tuple(arrays[f"{name}.{number}"] for number in range(scalars[name]))
        else:
            values[item.name] = scalars[name]
    return replace(template, **values)


def fingerprint(learner: Any, task: Task, *beginning: Any) -> str:
    """Return a digest of what a fit is: learner and settings, data and their scoring, and what it begins with.

    Of the beginning arrays count by their numbers, and anything else by its repr.
    """
    digest = hashlib.sha256(learner.identity().encode())
    for part, burn_in in ((task.data, task.burn_in), (task.validation, task.validation_burn_in)):
        if part is not None:
            beginning += (part.codes, part.offsets, part.weights, (part.alphabet, burn_in))
    for one in beginning:
        digest.update(np.ascontiguousarray(one).tobytes() if isinstance(one, np.ndarray) else repr(one).encode())
    return digest.hexdigest()
