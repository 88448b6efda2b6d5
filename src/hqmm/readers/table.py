"""Tables: comma- or tab-separated values with a column of sequences."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator

from hqmm.readers.columns import ROLES, assemble, choose
from hqmm.readers.encoding import split_texts
from hqmm.readers.source import Options, Rows, Source, at_lines


def read_table(source: Source, options: Options, delimiter: str) -> Rows:
    """Read one sequence from each row.

    The first row names the columns; where columns are given by number (from 1), there is no such row.
    """
    records = list(_records(source, delimiter))
    given = {role: getattr(options, role) for role in ROLES if getattr(options, role) is not None}
    if any(isinstance(column, int) for column in given.values()):
        places = {role: _number(role, column, source) for role, column in given.items()}
        if "column" not in places:
            source.refuse("line 1", "which column holds the sequences? Say column=… (--column), by number too")
    else:
        header = [cell.strip() for cell in records.pop(0)[1]] if records else ["sequence"]
        places = {role: header.index(name) for role, name in choose(header, options, source).items()}
    columns = {role: _column(records, index, source) for role, index in places.items()}
    texts = columns.pop("column")
    return assemble(split_texts(texts, options), at_lines([line for line, _ in records]), columns, source)


def _number(role: str, column: str | int, source: Source) -> int:
    if not isinstance(column, int):
        source.refuse("line 1", f"{role} is {column!r}; give all columns by number, or all by name")
    if column < 1:
        source.refuse("line 1", f"{role} is {column}, but columns count from 1")
    return column - 1


def _column(records: list[tuple[int, list[str]]], index: int, source: Source) -> list[str]:
    for line, record in records:
        if len(record) <= index:
            source.refuse(f"line {line}", f"column {index + 1} is missing; the line has {len(record)}")
    return [record[index].strip() for _, record in records]


def _records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with its line."""
    reader = csv.reader(io.StringIO(source.text(), newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(sys.maxsize)  # sequences are longer than the cells csv expects
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                yield reader.line_num, record
    except csv.Error as error:
        source.refuse(f"line {reader.line_num}", str(error))
    finally:
        csv.field_size_limit(limit)
