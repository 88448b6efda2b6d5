"""What `fit` and its like are given, as `Sequences`: scikit-learn's rules for tables, ours for everything else."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.sequences import Sequences


def read(estimator: Any, X: Any, alphabet: Any, end: bool, *, reset: bool, any_width: bool = False) -> Sequences:
    """Return data as `Sequences`.

    A 2-D array or a data frame is a table to scikit-learn: it must have as many columns as there were in ``fit``,
    where sequences had one length (``any_width`` lifts that). Lists, strings and `Sequences` may hold sequences of
    any length.

    Parameters
    ----------
    estimator : estimator
        Remembers ``n_features_in_`` and the names of columns.
    X : anything `Sequences` accepts, a data frame, what NumPy makes an array of, or a path
        One sequence a row; of a path, what `hqmm.readers.read` finds in the file.
    alphabet : Alphabet, or what `Sequences` makes one of
        Symbols.
    end : bool
        Append the end symbol.
    reset : bool
        Whether this is the data to remember the columns of.
    any_width : bool
        Accept tables of any number of columns.
    """
    X = _as_list(X)
    if _is_table(X):
        X = _checked_table(estimator, X, reset, any_width)
    elif reset:
        for name in ("n_features_in_", "feature_names_in_"):
            estimator.__dict__.pop(name, None)
        if _is_rectangular(X):
            estimator.n_features_in_ = len(X[0])
    if isinstance(X, PathLike):
        return _from_file(X, alphabet, end)
    return Sequences(X, alphabet, end=end, allow_empty=not reset)


def weighted(data: Sequences, sample_weight: ArrayLike | None) -> Sequences:
    """Return data with its weights multiplied by those of `fit`; refuse those that leave nothing."""
    if sample_weight is not None:
        extra = np.asarray(sample_weight, dtype=np.float64)
        if extra.ndim == 0:
            extra = np.full(len(data), float(extra))
        if extra.shape != (len(data),):
            raise DataError(
                f"sample_weight must have one number per sequence: sample_weight.shape == ({len(data)},), "
                f"not {extra.shape}"
            )
        data = data.with_weights(data.weights * extra)
    if not np.any(data.weights):
        raise DataError("Sample weights must contain at least one non-zero number")
    return data


def canonical(data: Sequences) -> Sequences:
    """Return each distinct sequence once, sorted, with the sum of its weights, and none of weight zero.

    A weight of two then gives the same model, bit for bit, as two copies, and the order of rows means nothing.
    """
    kept = data[np.flatnonzero(data.weights)].deduplicate()
    rows = [row.tobytes() for row in kept]
    return kept[np.array(sorted(range(len(rows)), key=rows.__getitem__), dtype=np.int64)]


def shares(data: Sequences, burn_in: int) -> FloatArray:
    """Return how many symbols each sequence has after the burn-in."""
    return np.maximum(data.lengths - burn_in, 0).astype(np.float64)


def _from_file(path: Any, alphabet: Any, end: bool) -> Sequences:
    from hqmm.readers import read as read_file

    learns = isinstance(alphabet, str) and alphabet == "learn"  # as files do in any case
    return read_file(path, alphabet=None if learns else alphabet, end=end).sequences


def _as_list(X: Any) -> Any:
    """Return a column of strings or lists, of NumPy or a data frame, as a list; all else as it is."""
    if isinstance(X, str):
        raise DataError(
            "expected a collection of sequences, not one string; wrap it in a list, "
            "or in pathlib.Path if it names a file"
        )
    if isinstance(X, Sequences | list | tuple) or getattr(X, "ndim", None) != 1:
        return X
    column = np.asarray(X)
    return list(column) if column.dtype.kind in "OUT" else X


def _is_table(X: Any) -> bool:
    """Return whether scikit-learn would call it a table: not what is made of Python's own sequences, or ragged."""
    if isinstance(X, Sequences | str | list | tuple | np.ma.MaskedArray):
        return False
    if isinstance(X, np.ndarray):
        return X.dtype.kind not in "OUS" or (X.dtype.kind == "O" and X.ndim == 2 and not _holds_symbols(X))
    return any(hasattr(X, name) for name in ("__array__", "__dataframe__", "toarray"))


def _is_rectangular(X: Any) -> bool:
    """Return whether it is a table written as lists of lists."""
    rows = isinstance(X, list | tuple) and all(isinstance(row, list | tuple) for row in X)
    return rows and len({len(row) for row in X}) == 1


def _holds_symbols(X: Any) -> bool:
    return all(value is None or isinstance(value, str) for value in X.flat)


def _checked_table(estimator: Any, X: Any, reset: bool, any_width: bool) -> Any:
    from sklearn.utils.validation import check_array, validate_data

    if any_width:
        table = check_array(X, dtype="numeric", ensure_min_samples=1, input_name="X", estimator=estimator)
    else:
        table = validate_data(estimator, X, reset=reset, dtype="numeric")
        if reset and table.shape[0] > 1 and table.shape[1] == 1:
            warnings.warn(
                f"X has one column, so it holds {len(table)} sequences of one symbol; "
                "if they are one sequence, pass X.reshape(1, -1), and several as a list",
                stacklevel=5,
            )
    lowest = -1 if table.dtype.kind in "iu" else 0  # −1 is a missing symbol, but there are no floats missing
    if table.size and table.min() < lowest:
        place = np.unravel_index(np.argmin(table), table.shape)
        raise DataError(
            f"Negative values in data passed to {type(estimator).__name__}: {table[place]} is not a code; "
            "codes are 0, 1, 2, … and, in whole numbers, −1 for missing",
            int(place[0]),
            int(place[1]),
        )
    return table
