"""Text with one sequence a line."""

from __future__ import annotations

from hqmm.readers.encoding import split_texts
from hqmm.readers.source import Options, Rows, Source, at_lines


def read_lines(source: Source, options: Options) -> Rows:
    """Read one sequence from each line. Blank lines at the end do not count, unless sequences may be empty."""
    strip = "\r" if options.sep == "" else None  # where every character counts, blanks do too
    texts = [line.strip(strip) for line in source.text().split("\n")]
    if texts[-1] == "":
        texts.pop()
    while not options.end and texts and not texts[-1]:
        texts.pop()
    if options.sep is None:
        _refuse_blanks(texts, source, options)
    return Rows(split_texts(texts, options), at_lines(list(range(1, len(texts) + 1))))


def _refuse_blanks(texts: list[str], source: Source, options: Options) -> None:
    """Nobody means the blanks in ``ACGT ACGT`` as symbols without saying so."""
    rows = split_texts(texts, options)
    for number, row in enumerate(rows, 1):
        if isinstance(row, str) and row.split() not in ([row], []):
            source.refuse(
                f"line {number}",
                "there is a blank between symbols; sep=' ' separates at blanks, sep='' makes them symbols "
                "(--sep on the command line)",
            )
