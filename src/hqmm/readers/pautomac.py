"""The format of the PAutomaC and SPiCe competitions."""

from __future__ import annotations

from hqmm.datasets.pautomac import parse_strings
from hqmm.readers.source import Contents, Options, Source


def read_pautomac(source: Source, options: Options) -> Contents:
    """Read strings, each closed by the end symbol."""
    strings = parse_strings(source.text(), source.name)
    return Contents(strings if options.alphabet is None else strings.recode(options.alphabet))
