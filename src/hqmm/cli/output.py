"""What commands print: tables for people, tab-separated values in a pipe, JSON for machines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np

if TYPE_CHECKING:
    from rich.table import Table


def show_rows(rows: Iterable[Mapping[str, Any]], as_json: bool, told: Collection[str] = ()) -> None:
    """Print rows that have the same columns; columns that are called what the data ``told`` keep their names."""
    listed = list(rows)
    if as_json:
        print_json(listed)
    elif sys.stdout.isatty():
        _rich_table(listed, told)
    else:
        _tab_separated(listed)


def show_facts(facts: Mapping[str, Any], as_json: bool) -> None:
    """Print names with their values, one a line."""
    if as_json:
        print_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        for number, line in enumerate(_lines(value)):
            click.echo(f"{'' if number else name.replace('_', ' '):<{width}}  {line}")


def print_json(value: Any) -> None:
    """Print JSON; what is not finite becomes null, and a complex number the list of its two parts."""
    click.echo(json.dumps(plain(value), ensure_ascii=False))


def plain(value: Any) -> Any:
    """Return a value in JSON's own types.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.cli.output import plain
    >>> plain({"a": np.array([1.5, -np.inf]), "b": np.array([1j])})
    {'a': [1.5, None], 'b': [[0.0, 1.0]]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def short(value: Any, digits: int = 6) -> str:
    """Return a value for people."""
    if value is None:
        return "·"
    if isinstance(value, float | np.floating):
        return f"{value:.{digits}g}"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return str(value)


def note(text: str) -> None:
    """Say something beside the result, on standard error."""
    click.echo(text, err=True)


@contextmanager
def waiting(text: str | None) -> Iterator[None]:
    """Show that something goes on, on a terminal only."""
    if text is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def _lines(value: Any) -> Sequence[str]:
    if isinstance(value, list | tuple | np.ndarray):
        return [" ".join(map(short, value))]
    return short(value).splitlines() or [""]


def _rich_table(rows: list[Mapping[str, Any]], told: Collection[str]) -> None:
    """Print a table with fewer digits where it would be too wide; what still is, is folded, and nothing lost."""
    from rich.console import Console

    console = Console()
    endless = console.options.update(max_width=10**6)
    table = _laid_out(rows, told, digits=6)
    if console.measure(table, options=endless).maximum > console.width:
        table = _laid_out(rows, told, digits=3)
    console.print(table, markup=False)


def _laid_out(rows: list[Mapping[str, Any]], told: Collection[str], digits: int) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, pad_edge=False)
    for name, value in (rows[0] if rows else {}).items():
        title = name if name in told else name.replace("_", " ")
        justify: Literal["right", "left"] = "right" if isinstance(value, int | float) else "left"
        table.add_column(title, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(short(value, digits) for value in row.values()))
    return table


def _tab_separated(rows: list[Mapping[str, Any]]) -> None:
    for number, row in enumerate(rows):
        if not number:
            click.echo("\t".join(row))
        click.echo("\t".join("" if value is None else str(value) for value in row.values()))
