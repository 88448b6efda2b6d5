"""Parquet, read whole; `hqmm.engine.parquet` reads what does not fit in memory."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hqmm.errors import DataError, HqmmError
from hqmm.readers.columns import assemble, choose, numbered_rows
from hqmm.readers.encoding import split_texts
from hqmm.readers.source import Options, Rows, Source

if TYPE_CHECKING:
    from hqmm.engine.parquet import ParquetCorpus


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


def corpus_of(path: Path, alphabet: Any, end: bool) -> ParquetCorpus:
    """Return a file as a corpus in shards, its columns found as `read_parquet` finds them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow, pyarrow.parquet
    >>> from hqmm.readers.parquet import corpus_of
    >>> path = Path(tempfile.mkdtemp(), "dna.parquet")
    >>> pyarrow.parquet.write_table(pyarrow.table({"sequence": ["GATTACA"], "weight": [2.0]}), path)
    >>> corpus_of(path, None, end=False)
    ParquetCorpus(1 sequences, 7 symbols, 1 shards, Alphabet(['A', 'C', 'G', 'T']))
    """
    import pyarrow.parquet as pq

    from hqmm.engine.parquet import ParquetCorpus

    chosen = choose(pq.read_schema(path).names, Options(), Source(str(path), b""))
    return ParquetCorpus(path, chosen["column"], alphabet, weights=chosen.get("weight"), end=end)
