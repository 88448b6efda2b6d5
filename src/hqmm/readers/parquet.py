"""Parquet, read whole; `hqmm.engine.parquet` reads what does not fit in memory."""

from __future__ import annotations

import io

from hqmm.errors import DataError, HqmmError
from hqmm.readers.columns import assemble, choose, numbered_rows
from hqmm.readers.encoding import split_texts
from hqmm.readers.source import Options, Rows, Source


def read_parquet(source: Source, options: Options) -> Rows:
    """Read a column of strings, or of lists of whole numbers or strings; null in a list is a missing symbol."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise HqmmError("reading Parquet files needs pyarrow: pip install 'hqmm[parquet]'") from None
    try:
        file = pq.ParquetFile(io.BytesIO(source.content))
        chosen = choose(file.schema_arrow.names, options, source)
        table = file.read(columns=sorted(set(chosen.values())))
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{source.name} is not a Parquet file, or is damaged: {str(error).splitlines()[0]}"
        ) from None
    columns = {role: table.column(name).to_pylist() for role, name in chosen.items()}
    rows = columns.pop("column")
    for row, value in enumerate(rows):
        if not isinstance(value, str | list):
            source.refuse(numbered_rows(row), f"a sequence is a string or a list, not {value!r}")
    if all(isinstance(value, str) for value in rows):
        rows = split_texts(rows, options)
    return assemble(rows, numbered_rows, columns, source)
