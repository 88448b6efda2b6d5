"""JSON lines: each line a string, a list of symbols, or an object that holds one."""

from __future__ import annotations

import json
from typing import Any

from hqmm.readers.columns import ROLES, assemble, choose
from hqmm.readers.encoding import split_texts
from hqmm.readers.source import Options, Rows, Source, at_lines


def read_json_lines(source: Source, options: Options) -> Rows:
    """Read one sequence from each line; null in a list is a missing symbol."""
    lines = [(number, line) for number, line in enumerate(source.text().split("\n"), 1) if line.strip()]
    place = at_lines([number for number, _ in lines])
    values = [_parse(source, place(row), line) for row, (_, line) in enumerate(lines)]
    if values and isinstance(values[0], dict):
        chosen = choose(values[0], options, source)
        columns = {
            role: [_member(source, place(k), v, name) for k, v in enumerate(values)]
            for role, name in chosen.items()
        }
    else:
        for role in ROLES:
            if values and getattr(options, role) is not None:
                source.refuse(place(0), f"{role} names a member of an object, but this is not an object")
        columns = {"column": values}
    rows = [_sequence(source, place(row), value) for row, value in enumerate(columns.pop("column"))]
    if options.sep:  # strings hold tokens only if somebody says so
        rows = [split_texts([row], options)[0] if isinstance(row, str) else row for row in rows]
    return assemble(rows, place, columns, source)


def _parse(source: Source, place: str, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        source.refuse(place, f"this is not JSON: {error}")


def _member(source: Source, place: str, value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        source.refuse(place, "either all lines are objects, or none")
    if name not in value:
        source.refuse(place, f"there is no {name!r}; the object has {', '.join(map(repr, value)) or 'nothing'}")
    return value[name]


def _sequence(source: Source, place: str, value: Any) -> str | list[Any]:
    if isinstance(value, dict):
        source.refuse(place, "either all lines are objects, or none")
    if not isinstance(value, str | list):
        source.refuse(place, f"a sequence is a string or a list, not {json.dumps(value)[:40]}")
    return value
