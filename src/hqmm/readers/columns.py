"""What tables, objects and archives have in common: columns with names, one of which holds the sequences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from hqmm.errors import DataError
from hqmm.readers.source import Options, Rows, Source
from hqmm.sequences import Symbol

# What a column is for, and what it is called where nobody says otherwise.
ROLES = {"column": "sequence", "label": "label", "weight": "weight", "name": "name"}


def choose(held: Collection[str], options: Options, source: Source) -> dict[str, str]:
    """Return the column of each role that has one; there is always one for the sequences."""
    chosen: dict[str, str] = {}
    for role, usual in ROLES.items():
        asked = getattr(options, role)
        if asked is not None and asked not in held:
            raise DataError(f"{source.name}: there is no {asked!r} ({role}); {_listed(held)}")
        if asked is not None or usual in held:
            chosen[role] = usual if asked is None else asked
    if "column" not in chosen:
        if len(held) != 1:
            raise DataError(f"{source.name}: which holds the sequences? Say column=… (--column); {_listed(held)}")
        chosen["column"] = next(iter(held))
    return chosen


def assemble(
    rows: list[Any], place: Callable[[int], str], beside: Mapping[str, Collection[Any]], source: Source
) -> Rows:
    """Return rows with what stands beside them: labels, weights and names, by role."""
    for role, values in beside.items():
        if len(values) != len(rows):
            raise DataError(
                f"{source.name}: there must be one {role} for each of {len(rows)} sequences, not {len(values)}"
            )

    def checked(role: str, check: Callable[[Source, str, Any], Any]) -> list[Any] | None:
        if role not in beside:
            return None
        return [check(source, place(row), value) for row, value in enumerate(beside[role])]

    labels, names = checked("label", _label), checked("name", _name)
    return Rows(
        rows,
        place,
        labels=None if labels is None else tuple(labels),
        names=None if names is None else tuple(names),
        weights=checked("weight", _weight),
    )


def numbered_rows(row: int) -> str:
    """Return the place of a row in an array or a column, from 1."""
    return f"row {row + 1}"


def _label(source: Source, place: str, value: Any) -> Symbol:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # all numbers of MATLAB are floats
    if isinstance(value, bool) or not isinstance(value, str | int):
        source.refuse(place, f"a label is a text or a whole number, not {_short(value)}")
    return value


def _name(source: Source, place: str, value: Any) -> str:
    return str(value)


def _weight(source: Source, place: str, value: Any) -> float:
    try:
        weight = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        weight = -1.0
    if not 0 <= weight < float("inf"):
        source.refuse(place, f"the weight {_short(value)} is not a number from 0 up")
    return weight


def _short(value: Any) -> str:
    return repr(value)[:40]


def _listed(held: Collection[str]) -> str:
    return f"it has {', '.join(map(repr, held)) or 'nothing'}"
