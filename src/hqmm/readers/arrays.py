"""Arrays: NumPy's .npy and .npz, and MATLAB's .mat."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from hqmm._typing import AnyArray
from hqmm.errors import DataError
from hqmm.readers.columns import ROLES, assemble, choose, numbered_rows
from hqmm.readers.encoding import split_texts
from hqmm.readers.source import Options, Rows, Source

_BEGINNINGS = (b"\x93NUMPY", b"PK")  # of .npy, and of .npz, which is a zip file


def read_npy(source: Source, options: Options) -> Rows:
    """Read an array with one sequence a row; a flat array of numbers is one sequence, one of texts a column."""
    for role in ROLES:
        if getattr(options, role) is not None:
            raise DataError(f"{source.name} holds one array without a name, so {role} has nothing to choose from")
    return assemble(_rows_of(_loaded(source, "npy"), options, source), numbered_rows, {}, source)


def read_npz(source: Source, options: Options) -> Rows:
    """Read named arrays."""
    return _named(_loaded(source, "npz"), options, source)


def read_mat(source: Source, options: Options) -> Rows:
    """Read variables of MATLAB; cells hold sequences of different lengths, ``a.b`` looks into a structure."""
    from scipy.io import loadmat

    if source.content.startswith((b"\x89HDF", b"MATLAB 7.3")):
        raise DataError(f"{source.name} is a file of MATLAB 7.3; save it with the option '-v7'")
    try:
        content = loadmat(io.BytesIO(source.content), simplify_cells=True)  # type: ignore[arg-type]
    except Exception as error:  # its parser, too, fails in ways that it does not list
        raise DataError(f"{source.name} is not a MATLAB file, or is damaged: {_said(error)}") from None
    return _named(_flattened(content), options, source)


def _loaded(source: Source, expected: str) -> Any:
    """Return the array of ``.npy``, or the arrays of ``.npz`` by name."""
    if not source.content.startswith(_BEGINNINGS):  # NumPy would take it for a pickle, and advise to trust it
        raise DataError(f"{source.name} is not a file of NumPy; is it of another format?")
    try:
        found = np.load(io.BytesIO(source.content), allow_pickle=False)
        kind = "npy" if isinstance(found, np.ndarray) else "npz"
        content = found if kind == "npy" else {name: found[name] for name in found.files}
    except Exception as error:  # damaged headers fail in the tokenizer, the zip file, the allocation, …
        raise DataError(f"{source.name} is not NumPy's, or is damaged: {_said(error)}") from None
    if kind != expected:
        raise DataError(f"{source.name} is of the format {kind}, not {expected}")
    return content


def _flattened(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the variables by name, those inside structures as ``structure.name``."""
    found: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            found |= _flattened(value, f"{prefix}{name}.")
        elif not name.startswith("__"):
            found[prefix + name] = value
    return found


def _named(arrays: Mapping[str, Any], options: Options, source: Source) -> Rows:
    chosen = choose(arrays, options, source)
    rows = _rows_of(arrays[chosen.pop("column")], options, source)
    beside = {role: np.asarray(arrays[name]).ravel().tolist() for role, name in chosen.items()}
    return assemble(rows, numbered_rows, beside, source)


def _rows_of(value: Any, options: Options, source: Source) -> list[Any]:
    """Return the rows of a matrix, the elements of a cell array, or texts."""
    array = np.asarray(value)
    if array.dtype.kind == "U" and array.ndim <= 1:
        return split_texts([str(text).strip() for text in np.atleast_1d(array)], options)
    if array.dtype.kind == "O" and array.ndim == 1:
        return _cells(list(array), options, source)
    if array.dtype.kind not in "biufU":
        raise DataError(f"{source.name}: symbols must be whole numbers or texts, not {array.dtype}")
    table: AnyArray = np.atleast_2d(array)
    if table.ndim != 2:
        raise DataError(f"{source.name}: an array has one sequence a row, but the shape is {table.shape}")
    return table.tolist() if array.dtype.kind == "U" else list(table)


def _cells(cells: list[Any], options: Options, source: Source) -> list[Any]:
    """Return the elements of a cell array, each a vector of numbers or a text."""
    if all(isinstance(cell, str) for cell in cells):
        return split_texts(cells, options)
    rows = [np.atleast_1d(np.asarray(cell)) for cell in cells]
    for number, row in enumerate(rows):
        if row.ndim != 1 or row.dtype.kind not in "biuf":
            source.refuse(numbered_rows(number), "cells must all be vectors of whole numbers, or all be texts")
    return rows


def _said(error: BaseException) -> str:
    return str(error).split("\n", 1)[0] or type(error).__name__
