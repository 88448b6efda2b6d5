"""Model files: safetensors with a JSON header. Nothing in them is executed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hqmm._typing import AnyArray
from hqmm.errors import FileFormatError, HqmmError
from hqmm.models.base import Model
from hqmm.models.hmm import HMM
from hqmm.models.hqmm import HQMM
from hqmm.models.hybrid import HybridHQMM
from hqmm.models.markov import MarkovChain
from hqmm.models.noom import NOOM
from hqmm.models.oom import OOM
from hqmm.sequences import Alphabet
from hqmm.storage import read_bundle, write_bundle

FORMAT_VERSION = 1
CLASSES: dict[str, type[Model]] = {cls.__name__: cls for cls in (HMM, OOM, NOOM, HQMM, HybridHQMM, MarkovChain)}


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
    header = header_of(model)
    return write_bundle(Path(path), model.parameters, header)


def header_of(model: Model) -> dict[str, Any]:
    """Return what a file says of a model beside its arrays."""
    if type(model) not in CLASSES.values():
        raise TypeError(f"save takes a model of hqmm, not {type(model).__name__}")
    return {
        "class": type(model).__name__,
        "version": FORMAT_VERSION,
        "alphabet": list(model.alphabet.symbols),
        "shapes": {name: list(array.shape) for name, array in model.parameters.items()},
    }


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
    path = Path(path)
    return model_from(path, *read_bundle(path))


def model_from(path: Path, parameters: dict[str, AnyArray], header: dict[str, Any]) -> Model:
    """Return the model of arrays and a header, which were found in the file ``path``."""
    cls, alphabet = _read_header(path, header)
    for name in cls._parameters:
        if name not in parameters:
            raise FileFormatError(f"{path} is damaged: {cls.__name__} needs {name!r}")
    foreign = sorted(set(parameters) - set(cls._parameters))
    if foreign:
        raise FileFormatError(f"{path} holds arrays that do not belong to {cls.__name__}: {foreign}")
    shapes = {name: list(array.shape) for name, array in parameters.items()}
    if header.get("shapes") != shapes:
        raise FileFormatError(f"{path} is damaged: its header speaks of other shapes than {shapes}")
    arguments: dict[str, Any] = {**parameters, "alphabet": alphabet}
    if cls is OOM:
        arguments["check_length"] = 0
    try:
        return cls(**arguments)
    except HqmmError as error:
        raise FileFormatError(f"{path} holds parameters that are not a model: {error}") from error


def _read_header(path: Path, header: dict[str, Any]) -> tuple[type[Model], Alphabet]:
    name, version, symbols = header.get("class"), header.get("version"), header.get("alphabet")
    if not isinstance(name, str) or name not in CLASSES:
        raise FileFormatError(f"{path} holds a {name!r}; known models are {', '.join(CLASSES)}")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise FileFormatError(f"{path} was written in format {version!r}; this hqmm reads up to {FORMAT_VERSION}")
    try:
        if not isinstance(symbols, list):  # a bare number would mean that many symbols
            raise TypeError("it is not a list")
        return CLASSES[name], Alphabet(symbols)
    except (HqmmError, TypeError) as error:
        raise FileFormatError(f"{path} has no valid alphabet: {error}") from None
