"""Bundles of arrays with a JSON header, written atomically and read without executing anything."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hqmm._typing import AnyArray
from hqmm.errors import FileFormatError

_HEADER = "hqmm"
_IMAGINARY = ".imag"


def write_bundle(path: Path, arrays: dict[str, AnyArray], header: dict[str, Any]) -> Path:
    """Write arrays and a JSON header as safetensors; complex arrays in two parts, as the format has none.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from hqmm.storage import read_bundle, write_bundle
    >>> path = write_bundle(Path(tempfile.mkdtemp()) / "bundle", {"a": np.array([1j])}, {"answer": 42})
    >>> read_bundle(path)
    ({'a': array([0.+1.j])}, {'answer': 42})
    """
    from safetensors.numpy import save

    tensors: dict[str, AnyArray] = {}
    for name, array in arrays.items():
        tensors[name] = np.asarray(array.real, order="C")
        if np.iscomplexobj(array):
            tensors[name + _IMAGINARY] = np.asarray(array.imag, order="C")
    return write_atomically(path, save(tensors, metadata={_HEADER: json.dumps(header)}))


def read_bundle(path: Path) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the arrays and the header of a bundle; a damaged or foreign file is a FileFormatError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hqmm.storage import read_bundle
    >>> read_bundle(Path(tempfile.mkdtemp()) / "nothing")
    Traceback (most recent call last):
    FileNotFoundError: ...nothing: no such file
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise FileFormatError(f"{path} is not a file of hqmm, or is damaged: {error}") from None
    try:
        header = json.loads(metadata[_HEADER])
        if not isinstance(header, dict):
            raise TypeError
    except (KeyError, TypeError, ValueError, RecursionError):
        raise FileFormatError(f"{path} is a safetensors file, but not one that hqmm wrote") from None
    for name in [name for name in tensors if name.endswith(_IMAGINARY)]:
        imaginary, whole = tensors.pop(name), name.removesuffix(_IMAGINARY)
        if whole not in tensors or tensors[whole].shape != imaginary.shape:
            raise FileFormatError(f"{path} is damaged: the two parts of {whole!r} do not match")
        tensors[whole] = tensors[whole] + 1j * imaginary
    return tensors, header


def write_atomically(path: Path, content: bytes) -> Path:
    """Write ``content`` to a neighbouring file, flush it to disk, and put it in place of ``path``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hqmm.storage import write_atomically
    >>> write_atomically(Path(tempfile.mkdtemp()) / "note", b"safe").read_bytes()
    b'safe'
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's files are private; these are ordinary ones
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
