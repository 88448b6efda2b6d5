"""NumPy, MATLAB and Parquet."""

import gzip
import io
from contextlib import suppress

import numpy as np
import pytest
import scipy.io

from hqmm import Alphabet, DataError, Sequences
from hqmm.readers import read


def npy(path, array):
    np.save(path, array)
    return path


def rows(contents):
    return contents.sequences.decode()


def test_a_matrix_has_one_sequence_a_row(tmp_path):
    path = npy(tmp_path / "a.npy", np.array([[3, 1], [1, -1]]))
    assert rows(read(path)) == [[3, 1], [1, None]]
    assert read(path, alphabet=4).sequences == Sequences([[3, 1], [1, -1]], alphabet=4)
    whole = npy(tmp_path / "f.npy", np.array([[3.0, 1.0]]))
    assert rows(read(whole)) == [[3, 1]]


def test_a_flat_array_is_one_sequence_of_numbers_or_a_column_of_texts(tmp_path):
    assert rows(read(npy(tmp_path / "a.npy", np.array([2, 0, 1])))) == [[2, 0, 1]]
    assert rows(read(npy(tmp_path / "a.npy", np.array(["ab", "b"])))) == [["a", "b"], ["b"]]
    assert rows(read(npy(tmp_path / "a.npy", np.array([["to", "be"]])))) == [["to", "be"]]


def test_an_archive_has_names_and_may_be_compressed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, sequence=[[0, 1], [1, 1]], label=["x", "y"], weight=[1, 3], other=[[5]])
    contents = read(path)
    assert contents.sequences == Sequences([[0, 1], [1, 1]], weights=[1, 3])
    assert contents.labels == ("x", "y")
    packed = tmp_path / "b.npz.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed).sequences == contents.sequences


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[0, 1], [1, 1.5]]), r"row 2: 1.5 at position 1 is not a whole number"),
        (np.array([[0, np.nan]]), r"row 1: nan at position 1"),
        (np.zeros((2, 2, 2), int), r"one sequence a row, but the shape is \(2, 2, 2\)"),
        (np.array([[1j]]), "whole numbers or texts, not complex128"),
        (np.array([], dtype=int), "empty"),
    ],
)
def test_other_arrays_are_refused(tmp_path, array, message):
    with pytest.raises(DataError, match=message):
        read(npy(tmp_path / "a.npy", array))


def test_what_is_no_array_is_not_taken_for_a_pickle(tmp_path):
    path = tmp_path / "a.npy"
    path.write_text("GATTACA\n")
    with pytest.raises(DataError, match=r"a.npy is not a file of NumPy; is it of another format\?"):
        read(path)


def test_pickles_are_never_opened(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([[1], [1, 2]], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"a.npy is not NumPy's, or is damaged: .*allow_pickle=False"):
        read(path)


def test_foreign_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(100))
    content = path.read_bytes()
    for damaged in (b"GATTACA\n", b"", content[:-40], content[:60], b"\x93NUMPY\x01\x00"):
        for ending in ("npy", "npz"):
            other = tmp_path / f"other.{ending}"
            other.write_bytes(damaged)
            with pytest.raises(DataError, match=f"other.{ending}"):
                read(other)
    with pytest.raises(DataError, match="is of the format npz, not npy"):
        read(path, "npy")
    with pytest.raises(DataError, match="holds one array without a name, so label"):
        read(npy(tmp_path / "a.npy", np.zeros((1, 1))), label="x")


def mat(path, **variables):
    scipy.io.savemat(path, variables)
    return path


def cell(*elements):
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array


def test_matlab_matrices_cells_texts_and_structures(tmp_path):
    path = tmp_path / "a.mat"
    assert rows(read(mat(path, data=np.array([[1, 2], [2, 1]])))) == [[1, 2], [2, 1]]
    assert rows(read(mat(path, data=cell(np.array([1, 2, 2]), np.array([2]))))) == [[1, 2, 2], [2]]
    assert rows(read(mat(path, data=cell("GAT", "CA")))) == [list("GAT"), list("CA")]
    contents = read(mat(path, all={"train": [[1, 2]], "test": [[2, 2]]}, label=[7]), column="all.test")
    assert rows(contents) == [[2, 2]]
    assert contents.labels == (7,)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"a": [[1]], "b": [[2]]}, "which holds the sequences.* it has 'a', 'b'"),
        ({"sequence": [[1]], "label": ["x", "y"]}, "one label for each of 1 sequences, not 2"),
        ({"a": cell(np.array([1.5]), np.array([2]))}, r"row 1: 1.5 at position 0"),
        ({"a": cell(np.eye(2), np.array([2]))}, "row 1: cells must all be vectors"),
        ({"a": cell("x", np.array([2]))}, "row 1: cells must all be vectors"),
        ({"sequence": [[1]], "weight": [-1]}, "row 1: the weight -1"),
        ({"sequence": [[1]], "label": [0.5]}, "row 1: a label is a text or a whole number, not 0.5"),
    ],
)
def test_wrong_matlab_variables_are_refused(tmp_path, variables, message):
    with pytest.raises(DataError, match=message):
        read(mat(tmp_path / "a.mat", **variables))


def test_damaged_matlab_files_are_refused(tmp_path):
    content = mat(tmp_path / "a.mat", data=np.arange(200)).read_bytes()
    for damaged in (b"", b"GATTACA\n" * 100, content[:150], content[:-30]):
        other = tmp_path / "other.mat"
        other.write_bytes(damaged)
        with pytest.raises(DataError, match=r"other.mat is not a MATLAB file, or is damaged"):
            read(other)
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    with pytest.raises(DataError, match=r"MATLAB 7.3; save it with the option '-v7'"):
        read(tmp_path / "new.mat")


def test_the_authors_files_are_read_by_variable(data_folder):
    contents = read(data_folder / "synthetic_hmm_data.mat", column="data.trn_data")
    assert len(contents.sequences) == 20
    assert contents.sequences.alphabet == Alphabet([1, 2, 3, 4, 5, 6])
    assert len(read(data_folder / "splice_data.mat", column="spliceei").sequences) == 762


@pytest.fixture
def parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    def write(**columns):
        path = tmp_path / "a.parquet"
        pyarrow.parquet.write_table(pa.table(columns), path)
        return path

    return write


def test_parquet_columns(parquet, tmp_path):
    contents = read(parquet(sequence=["GAT", "CA"], label=[1, 0], weight=[1.0, 0.5], name=["x", "y"]))
    assert contents.sequences == Sequences(["GAT", "CA"], weights=[1, 0.5])
    assert contents.labels == (1, 0)
    assert contents.names == ("x", "y")
    assert rows(read(parquet(any=[[3, None], [1]]))) == [[3, None], [1]]
    assert rows(read(parquet(any=["to be"], other=[0]), column="any", sep=" ")) == [["to", "be"]]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": ["x"], "b": ["y"]}, {}, "a.parquet: which holds the sequences"),
        ({"a": ["x"]}, {"column": "b"}, r"a.parquet: there is no 'b' \(column\); it has 'a'"),
        ({"a": ["x", None]}, {}, "a.parquet, row 2: a sequence is a string or a list, not None"),
        ({"a": [1.5]}, {}, "a.parquet, row 1: a sequence is a string or a list"),
        ({"a": [[1.5]]}, {}, "a.parquet, row 1: 1.5 at position 0 cannot be a symbol"),
    ],
)
def test_wrong_parquet_is_refused(parquet, columns, options, message):
    with pytest.raises(DataError, match=message):
        read(parquet(**columns), **options)


def test_damaged_parquet_is_refused(parquet, tmp_path):
    content = parquet(a=["x" * 100, "y"]).read_bytes()
    for damaged in (b"", b"PAR1", content[:-20], content[: len(content) // 2]):
        (tmp_path / "b.parquet").write_bytes(damaged)
        with pytest.raises(DataError, match=r"b.parquet is not a Parquet file, or is damaged"):
            read(tmp_path / "b.parquet")


def test_random_bytes_are_never_more_than_a_data_error(tmp_path):
    """Reading succeeds or says what is wrong. (Not so for .mat: SciPy's parser crashes on some damage.)"""
    rng = np.random.default_rng(0)
    buffer = io.BytesIO()
    np.save(buffer, np.arange(12).reshape(3, 4))
    good = buffer.getvalue()
    seeds = {
        "npy": good,
        "csv": b'sequence,label\nab,1\n"ba",2\n',
        "jsonl": b'{"sequence": "ab", "weight": 1}\n{"sequence": ["b"], "weight": 2}\n',
        "pautomac.train": b"2 3\n2 0 1\n3 0 2 1\n",
    }
    for ending, content in seeds.items():
        for _ in range(60):
            bytes_ = bytearray(content)
            for place in rng.integers(0, len(bytes_), 3):
                bytes_[place] = rng.integers(0, 256)
            path = tmp_path / f"fuzzed.{ending}"
            path.write_bytes(bytes_)
            with suppress(DataError):
                read(path)
