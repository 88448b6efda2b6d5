"""Checks of the settings of learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from hqmm.errors import DataError, HqmmError


def at_least(name: str, value: Any, lowest: int, error: type[HqmmError] = DataError) -> None:
    """Refuse what is not a whole number from ``lowest`` up.

    Examples
    --------
    >>> from hqmm.learning.settings import at_least
    >>> at_least("sweeps", -1, 0)
    Traceback (most recent call last):
    hqmm.errors.DataError: sweeps must be a whole number from 0 up, but is -1
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < lowest:
        raise error(f"{name} must be a whole number from {lowest} up, but is {value!r}")


def between(name: str, value: Any, low: float, high: float) -> None:
    """Refuse what is not a number from ``low`` to ``high``, NaN included.

    Examples
    --------
    >>> from hqmm.learning.settings import between
    >>> between("momentum", 2, 0, 1)
    Traceback (most recent call last):
    hqmm.errors.DataError: momentum must be a number from 0 to 1, but is 2
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
        raise DataError(f"{name} must be a number from {low:g} to {high:g}, but is {value!r}")
