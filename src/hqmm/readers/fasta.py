"""FASTA: records of a line that begins with > and names a sequence, and lines that hold it."""

from __future__ import annotations

from hqmm.readers.source import Options, Rows, Source


def read_fasta(source: Source, options: Options) -> Rows:
    """Read all records; the name is the first word after >. Lines that begin with ; are comments."""
    names: list[str] = []
    lines: list[int] = []
    parts: list[list[str]] = []
    for number, line in enumerate(source.text().splitlines(), 1):
        if line.startswith(">"):
            names.append((line[1:].split() or [""])[0])
            lines.append(number)
            parts.append([])
        elif line.startswith(";") or not line.strip():
            continue
        elif not parts:
            source.refuse(f"line {number}", "a FASTA file begins with a line that begins with >")
        else:
            parts[-1].append("".join(line.split()))
    rows = ["".join(part) for part in parts]
    return Rows(rows, lambda row: f"record {names[row]!r} (line {lines[row]})", names=tuple(names))
