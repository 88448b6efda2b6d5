"""Rows of results: kept as CSV, with numbers that read back as they were written."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hqmm.experiments.experiment import Row, Rows
from hqmm.storage import write_atomically


def write_csv(path: Path, rows: Rows) -> Path:
    """Write rows, with every column that occurs in any of them, in order of first appearance.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hqmm.experiments.tables import read_csv, write_csv
    >>> path = write_csv(Path(tempfile.mkdtemp()) / "a.csv", [{"n": 2, "da": 0.1}, {"n": 3, "name": "x"}])
    >>> read_csv(path)
    [{'n': 2, 'da': 0.1, 'name': None}, {'n': 3, 'da': None, 'name': 'x'}]
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return write_atomically(path, text.getvalue().encode())


def read_csv(path: Path) -> Rows:
    """Return the rows of a file: whole numbers, numbers, True and False as such; nothing as None."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def columns(rows: Rows) -> list[str]:
    """Return the names of the columns in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def written(value: Any) -> str:
    """Return a value as readers of tables want it.

    Examples
    --------
    >>> from hqmm.experiments.tables import written
    >>> [written(value) for value in (None, True, 1234, 0.12345, 12.345678, 3.14e-16, "x")]
    ['', 'yes', '1,234', '0.1235', '12.35', '3.1e-16', 'x']
    """
    if value is None or isinstance(value, bool):
        return "" if value is None else "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if 0 < abs(value) < 0.00005:  # what four digits would show as nothing
            return f"{value:.1e}"
        return f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"
    return str(value)


# What is not written in small letters.
_CAPITALS = {"da": "DA", "gs": "GS", "cosm": "COSM", "cpu": "CPU"}


def heading(column: str) -> str:
    """Return the name of a column as readers want it.

    Examples
    --------
    >>> from hqmm.experiments.tables import heading
    >>> heading("best_test_da")
    'best test DA'
    """
    return " ".join(_CAPITALS.get(word, word) for word in column.split("_"))


def where(rows: Iterable[Row], **wanted: Any) -> Rows:
    """Return the rows that have these values; a collection stands for any of its members.

    Examples
    --------
    >>> from hqmm.experiments.tables import where
    >>> where([{"n": 2}, {"n": 3}, {"n": 4}], n=(2, 4))
    [{'n': 2}, {'n': 4}]
    """
    tests = {
        name: set(value) if isinstance(value, list | tuple | set) else {value} for name, value in wanted.items()
    }
    return [row for row in rows if all(row.get(name) in values for name, values in tests.items())]


def values(rows: Iterable[Row], column: str) -> list[Any]:
    """Return the distinct values of a column, sorted.

    Examples
    --------
    >>> from hqmm.experiments.tables import values
    >>> values([{"n": 3}, {"n": 2}, {"n": 3}], "n")
    [2, 3]
    """
    return sorted({row[column] for row in rows if row.get(column) is not None})


def groups(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], Rows]:
    """Return the rows by their values in these columns, in order of first appearance.

    Examples
    --------
    >>> from hqmm.experiments.tables import groups
    >>> groups([{"n": 2, "da": 0.1}, {"n": 2, "da": 0.2}], "n")
    {(2,): [{'n': 2, 'da': 0.1}, {'n': 2, 'da': 0.2}]}
    """
    found: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return found


def only(rows: Iterable[Row], **wanted: Any) -> Row:
    """Return the one row that has these values; none, or several, is a LookupError.

    Examples
    --------
    >>> from hqmm.experiments.tables import only
    >>> only([{"n": 2, "da": 0.1}, {"n": 3, "da": 0.2}], n=3)
    {'n': 3, 'da': 0.2}
    """
    found = where(rows, **wanted)
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows have {wanted}, not one")
    return found[0]


def _value(text: str | None) -> Any:
    if not text:
        return None
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
