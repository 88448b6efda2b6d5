"""Splice junctions of primate genes: 60 bases around a border of an exon, or around none.

EI is a border from exon to intron, IE one from intron to exon, N neither (Noordewier, Towell and Shavlik 1991, UCI
machine learning repository). The paper keeps the 762, 765 and 1648 sequences without ambiguous bases.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hqmm._typing import AnyArray
from hqmm.datasets.fetch import DataUnavailableError, data_folder, fetch_file
from hqmm.errors import DataError
from hqmm.sequences import Alphabet, Sequences

LABELS = ("EI", "IE", "N")
BASES = "ACGT"
LENGTH = 60
# In the authors' file 1 … 4 stand for these: GT opens every intron and AG closes it.
AUTHORS_BASES = "GACT"
RAW_FILE = "splice.data"


@dataclass(frozen=True, eq=False)
class Splice:
    """Sequences of 60 bases with the label of each, "EI", "IE" or "N"."""

    sequences: Sequences
    labels: AnyArray
    source: str

    def of(self, label: str) -> Sequences:
        """Return the sequences of one label."""
        return self.sequences[np.flatnonzero(self.labels == label)]


def load_splice(*, download: bool = True) -> Splice:
    """Return the splice data: the authors' file, or UCI's ``splice.data`` in the folder ``HQMM_DATA`` names.

    Parameters
    ----------
    download : bool
        Whether to download the authors' file where neither is at hand.

    Raises
    ------
    DataUnavailableError
        Where there is neither a file nor a way to download it.
    """
    try:
        path = fetch_file("splice_data.mat", download=False)
    except DataUnavailableError:
        folder = data_folder()
        if folder is not None and (folder / RAW_FILE).is_file():
            return read_splice(folder / RAW_FILE)
        path = fetch_file("splice_data.mat", download=download)
    from scipy.io import loadmat

    content = loadmat(path)
    parts = [content[f"splice{label.lower()}"].astype(int) - 1 for label in LABELS]
    coded = Sequences(np.vstack(parts), alphabet=len(BASES))
    named = Sequences.from_arrays(coded.codes, coded.offsets, Alphabet(AUTHORS_BASES))
    labels = np.repeat(LABELS, [len(part) for part in parts])
    return Splice(named.recode(Alphabet(BASES)), labels, f"the authors' file {path.name}")


def read_splice(path: str | os.PathLike[str]) -> Splice:
    r"""Read UCI's raw text, lines of label, name and bases between commas, and leave ambiguous sequences out.

    Ambiguous bases are D (A, G or T), N (any), S (C or G) and R (A or G).

    Parameters
    ----------
    path : path
        The file, ``splice.data``.

    Returns
    -------
    Splice

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from hqmm.datasets import read_splice
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "splice.data"
    >>> _ = path.write_text(f"EI,  ONE-1,   {'ACGT' * 15}\nN,TWO-2,{'ACGN' * 15}\n")
    >>> read_splice(path).labels.tolist()
    ['EI']
    """
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    rows = [_row(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    clear = [(label, bases) for label, bases in rows if set(bases) <= set(BASES)]
    if not clear:
        raise DataError(f"{path} holds no sequence of {LENGTH} bases A, C, G and T")
    sequences = Sequences([bases for _, bases in clear], alphabet=BASES)
    return Splice(sequences, np.array([label for label, _ in clear]), f"UCI's file {Path(path).name}")


def _row(path: str | os.PathLike[str], number: int, line: str) -> tuple[str, str]:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != 3 or fields[0] not in LABELS:
        raise DataError(
            f"{path}, line {number}: expected a label ({', '.join(LABELS)}), a name and bases between commas"
        )
    bases = fields[2].upper()
    odd = set(bases) - set(BASES + "DNSR")
    if len(bases) != LENGTH or odd:
        what = f"{len(bases)} bases instead of {LENGTH}" if not odd else f"{sorted(odd)[0]!r}, which is not a base"
        raise DataError(f"{path}, line {number}: found {what}")
    return fields[0], bases
