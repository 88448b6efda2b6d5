"""Files of sequences: text, tables, FASTA, JSON lines, Parquet, arrays, PAutomaC."""

from hqmm.readers.reading import FORMATS, format_of, read, read_classes
from hqmm.readers.source import Contents

__all__ = ["FORMATS", "Contents", "format_of", "read", "read_classes"]
