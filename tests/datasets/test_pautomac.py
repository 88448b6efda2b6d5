"""The competition's files, and its score."""

import gzip

import numpy as np
import pytest

from hqmm import DataError
from hqmm.datasets.pautomac import find_problems, perplexity, read_problem, read_strings


def write(folder, train="3 2\n2 0 1\n0\n1 1\n", test="2 2\n0\n1 0\n", solution="2\n0.5\n0.25\n", name="7"):
    (folder / f"{name}.pautomac.train").write_text(train)
    (folder / f"{name}.pautomac.test").write_text(test)
    (folder / f"{name}.pautomac_solution.txt").write_text(solution)
    return folder


def test_strings_end_with_the_end_symbol(tmp_path):
    problem = read_problem(write(tmp_path), 7)
    assert [problem.train[i].tolist() for i in range(3)] == [[0, 1, 2], [2], [1, 2]]
    assert problem.train.alphabet.end == 2
    assert problem.test.alphabet == problem.train.alphabet
    np.testing.assert_array_equal(problem.truth, [0.5, 0.25])


def test_compressed_files_are_read(tmp_path):
    write(tmp_path)
    for path in list(tmp_path.glob("*")):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert find_problems(tmp_path) == ["7"]
    assert len(read_problem(tmp_path, "7").train) == 3


def test_problems_are_listed_in_numerical_order_and_only_when_complete(tmp_path):
    for name in ("10", "9", "extra"):
        write(tmp_path, name=name)
    (tmp_path / "3.pautomac.train").write_text("0 2\n")
    assert find_problems(tmp_path) == ["9", "10", "extra"]


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ("3 2\n2 0 1\n", "ends before this one"),
        ("1 2\n3 0 1\n", "holds fewer"),
        ("1 2\n1 0 1\n", "more numbers"),
        ("1 2\n2 0 5\n", "5 is not one of the 2 symbols"),
        ("1 2\n2 2 0\n", "sequence 0, position 0: .*2 is not one of the 2 symbols"),
        ("1 2\n2 0 x\n", "only numbers"),
        ("-1 2\n", "should begin with"),
        ("", "should begin with"),
    ],
)
def test_damaged_files_are_refused_with_the_place(tmp_path, train, message):
    path = write(tmp_path, train=train) / "7.pautomac.train"
    with pytest.raises(DataError, match=message):
        read_strings(path)


def test_a_solution_of_another_length_is_refused(tmp_path):
    with pytest.raises(DataError, match="number of test strings"):
        read_problem(write(tmp_path, solution="1\n0.5\n"), 7)


def test_a_missing_file_is_an_error_with_its_name(tmp_path):
    with pytest.raises(DataError, match=r"1\.pautomac\.train"):
        read_problem(tmp_path, 1)


def test_perplexity_is_the_formula_of_the_competition():
    rng = np.random.default_rng(0)
    truth, model = rng.random(9), rng.random(9)
    p, q = truth / truth.sum(), model / model.sum()
    assert perplexity(truth, np.log(model)) == pytest.approx(2 ** -(p @ np.log2(q)))
    assert perplexity(truth, np.log(truth)) < perplexity(truth, np.log(model))
    assert perplexity(truth, np.full(9, -np.inf)) == np.inf


def test_the_target_of_problem_24_is_the_published_one(data_folder):
    problem = read_problem(data_folder / "pautomac", 24)
    assert problem.target == pytest.approx(38.72878, abs=5e-5)
    assert problem.gap(np.log(problem.truth)) == 0
