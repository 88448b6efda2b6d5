"""The splice data, from the authors' file and from UCI's text."""

import numpy as np
import pytest
from scipy.io import loadmat

from hqmm import Alphabet, DataError
from hqmm.datasets import DataUnavailableError, load_splice, read_splice

COUNTS = {"EI": 762, "IE": 765, "N": 1648}


def lines(data):
    """The sequences in UCI's format, whose columns are padded with blanks."""
    rows = zip(data.labels, data.sequences.decode(), strict=True)
    return [f"{label + ',':<5}NAME-{i},{' ' * 15}{''.join(row)}" for i, (label, row) in enumerate(rows)]


def test_the_authors_file_holds_the_papers_counts(data_folder):
    data = load_splice()
    assert {label: len(data.of(label)) for label in COUNTS} == COUNTS
    assert data.sequences.alphabet == Alphabet("ACGT")
    assert set(data.sequences.lengths) == {60}


def test_introns_begin_with_gt_and_end_with_ag(data_folder):
    """Biology checks the code of the bases: nothing in the file names them."""
    data = load_splice()
    donors = ["".join(row[30:32]) for row in data.of("EI").decode()]
    acceptors = ["".join(row[28:30]) for row in data.of("IE").decode()]
    assert np.mean([pair == "GT" for pair in donors]) > 0.98
    assert np.mean([pair == "AG" for pair in acceptors]) > 0.98


def test_the_bases_are_the_files_codes(data_folder):
    codes = loadmat(data_folder / "splice_data.mat")["spliceie"][5]
    assert "".join(load_splice().of("IE").decode()[5]) == "".join("GACT"[code - 1] for code in codes)


def test_the_raw_text_gives_the_same_after_leaving_ambiguous_sequences_out(data_folder, tmp_path):
    data = load_splice()
    text = lines(data)
    for label, extra in (("EI", 5), ("IE", 3), ("N", 7)):  # as in UCI's file of 3190
        text += [f"{label},AMBIGUOUS-{i}, {'ACGT' * 14}AC{'DNSR'[i % 4]}T" for i in range(extra)]
    path = tmp_path / "splice.data"
    path.write_text("\n".join(text) + "\n")
    assert len(text) == 3190
    read = read_splice(path)
    assert {label: len(read.of(label)) for label in COUNTS} == COUNTS
    assert read.sequences == data.sequences
    assert read.labels.tolist() == data.labels.tolist()


def test_the_raw_text_is_found_where_the_authors_file_is_not(tmp_path, monkeypatch):
    (tmp_path / "splice.data").write_text(f"EI,A,{'ACGT' * 15}\nN,B,{'CCGT' * 15}\n")
    monkeypatch.setenv("HQMM_DATA", str(tmp_path))
    monkeypatch.setenv("HQMM_CACHE", str(tmp_path / "cache"))
    assert load_splice(download=False).source == "UCI's file splice.data"


def test_without_any_file_the_error_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HQMM_DATA", str(tmp_path))
    monkeypatch.setenv("HQMM_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataUnavailableError, match="HQMM_DATA"):
        load_splice(download=False)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("EI,A,ACGT", "line 2: found 4 bases instead of 60"),
        (f"XX,A,{'ACGT' * 15}", "line 2: expected a label"),
        (f"EI,A,{'ACGX' * 15}", "line 2: found 'X', which is not a base"),
        (f"EI {'ACGT' * 15}", "line 2: expected a label"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, message):
    path = tmp_path / "splice.data"
    path.write_text(f"N,B,{'CCGT' * 15}\n{line}\n")
    with pytest.raises(DataError, match=message):
        read_splice(path)


def test_a_file_with_only_ambiguous_sequences_is_an_error(tmp_path):
    path = tmp_path / "splice.data"
    path.write_text(f"N,B,{'CCGN' * 15}\n")
    with pytest.raises(DataError, match="no sequence of 60 bases"):
        read_splice(path)


def test_a_missing_file_is_an_error_of_ours(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_splice(tmp_path / "splice.data")
