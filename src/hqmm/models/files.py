"""Model files: safetensors with a JSON header. Nothing in them is executed."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hqmm._typing import AnyArray
from hqmm.errors import FileFormatError, HqmmError
from hqmm.models.base import Model
from hqmm.models.hmm import HMM
from hqmm.models.hqmm import HQMM
from hqmm.models.markov import MarkovChain
from hqmm.models.noom import NOOM
from hqmm.models.oom import OOM
from hqmm.sequences import Alphabet

FORMAT_VERSION = 1
CLASSES: dict[str, type[Model]] = {cls.__name__: cls for cls in (HMM, OOM, NOOM, HQMM, MarkovChain)}
_IMAGINARY = ".imag"


def save(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model to a file, atomically: a crash leaves the old file or the new one, never half of one.

    Parameters
    ----------
    model : Model
        Any model of hqmm.
    path : path
        Where to; ``.hqmm`` is the customary ending.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from hqmm import HMM, load, save
    >>> model = HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0], [0, 1]])
    >>> load(save(model, tempfile.mkdtemp() + "/weather.hqmm")) == model
    True
    """
    from safetensors.numpy import save as to_bytes

    if type(model) not in CLASSES.values():
        raise TypeError(f"save takes a model of hqmm, not {type(model).__name__}")
    tensors: dict[str, AnyArray] = {}
    for name, array in model.parameters.items():
        tensors[name] = np.asarray(array.real, order="C")
        if np.iscomplexobj(array):  # the format has no complex numbers
            tensors[name + _IMAGINARY] = np.asarray(array.imag, order="C")
    header = {
        "class": type(model).__name__,
        "version": FORMAT_VERSION,
        "alphabet": list(model.alphabet.symbols),
        "shapes": {name: list(array.shape) for name, array in model.parameters.items()},
    }
    return write_atomically(Path(path), to_bytes(tensors, metadata={"hqmm": json.dumps(header)}))


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save` wrote, checking everything: header, shapes and the conditions of its definition.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Model

    Examples
    --------
    >>> import tempfile
    >>> from hqmm import load, save
    >>> from hqmm.datasets import hqmm_2_6
    >>> load(save(hqmm_2_6(), tempfile.mkdtemp() + "/spin.hqmm"))
    HQMM(n=2, Kraus rank 1, 6 symbols)
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise FileFormatError(f"{path} is not a model file, or is damaged: {error}") from None
    cls, alphabet = _read_header(path, metadata)
    parameters = _assemble(path, cls, tensors)
    arguments: dict[str, Any] = {**parameters, "alphabet": alphabet}
    if cls is OOM:
        arguments["check_length"] = 0
    try:
        return cls(**arguments)
    except HqmmError as error:
        raise FileFormatError(f"{path} holds parameters that are not a model: {error}") from error


def _read_header(path: Path, metadata: dict[str, str]) -> tuple[type[Model], Alphabet]:
    try:
        header = json.loads(metadata["hqmm"])
        name, version, symbols = header["class"], header["version"], header["alphabet"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise FileFormatError(f"{path} is a safetensors file, but not one that hqmm wrote") from None
    if not isinstance(name, str) or name not in CLASSES:
        raise FileFormatError(f"{path} holds a {name!r}; known are {', '.join(CLASSES)}")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FileFormatError(f"{path} was written in format {version!r}; this hqmm reads up to {FORMAT_VERSION}")
    try:
        if not isinstance(symbols, list):  # a bare number would mean that many symbols
            raise TypeError("it is not a list")
        return CLASSES[name], Alphabet(symbols)
    except (HqmmError, TypeError) as error:
        raise FileFormatError(f"{path} has no valid alphabet: {error}") from None


def _assemble(path: Path, cls: type[Model], tensors: dict[str, AnyArray]) -> dict[str, AnyArray]:
    parameters = {}
    for name in cls._parameters:
        if name not in tensors:
            raise FileFormatError(f"{path} is damaged: {cls.__name__} needs {name!r}")
        parameters[name] = tensors.pop(name)
        imaginary = tensors.pop(name + _IMAGINARY, None)
        if imaginary is not None:
            if imaginary.shape != parameters[name].shape:
                raise FileFormatError(f"{path} is damaged: the two parts of {name!r} differ in shape")
            parameters[name] = parameters[name] + 1j * imaginary
    if tensors:
        raise FileFormatError(f"{path} holds arrays that do not belong to {cls.__name__}: {sorted(tensors)}")
    return parameters


def write_atomically(path: Path, content: bytes) -> Path:
    """Write ``content`` to a neighbouring file, flush it to disk, and put it in place of ``path``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hqmm.models.files import write_atomically
    >>> write_atomically(Path(tempfile.mkdtemp()) / "note", b"safe").read_bytes()
    b'safe'
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's files are private; a model file is an ordinary one
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
