"""The verdicts of the benchmark reports follow from the rows, and change when the rows do."""

from dataclasses import replace

import pytest

learners = pytest.importorskip("benchmarks.learners")
from benchmarks.learners_report import Results, claims, write  # noqa: E402


def row(learner, test_da, n=2, w=1, seed=0, data="HMM(6,6)", passes=60.0, reached=float("nan")):
    return learners.Outcome(data, learner, n, w, seed, test_da, 0.1, 0.1, passes, reached, 1.0, "max_iter")


ROWS = [
    row("COSM", 0.153, seed=0),
    row("COSM", 0.155, seed=1),
    row("Polar", 0.156, seed=0, reached=15.0),
    row("Polar", 0.154, seed=1, reached=20.0),
    row("truth", 0.16, n=0, w=0, data="clock"),
    row("n-gram", 0.15, n=5, w=0, data="clock"),
    row("Polar", 0.1596, data="clock"),
]


def verdicts(rows):
    return {claim.what[:22]: claim.holds for claim in claims(Results(rows))}


def test_claims_are_judged_on_means_over_seeds():
    found = verdicts(ROWS)
    assert found["COSM reproduces: mean "] is None  # the last cell, which was not run
    assert found["Polar as it comes is a"] is True
    assert found["Polar reaches COSM's l"] is True
    assert found["probability clock: Pol"] is True


@pytest.mark.parametrize(
    ("number", "change", "claim"),
    [
        (2, {"test_da": 0.151}, "Polar as it comes is a"),
        (3, {"passes_to_cosm": 21.0}, "Polar reaches COSM's l"),
        (3, {"passes_to_cosm": float("nan")}, "Polar reaches COSM's l"),
        (5, {"test_da": 0.1597}, "probability clock: Pol"),
    ],
)
def test_a_claim_that_fails_says_so(number, change, claim):
    rows = [replace(one, **change) if i == number else one for i, one in enumerate(ROWS)]
    assert verdicts(rows)[claim] is False


def test_rows_are_read_as_they_were_written(tmp_path):
    for one in ROWS:
        learners.append(tmp_path / "runs.csv", one)
    back = learners.read(tmp_path / "runs.csv")
    assert [repr(one) for one in back] == [repr(one) for one in ROWS]
    write(tmp_path / "summary.md", back)
    assert "| 2, 1 | 0.15400 [2] | 0.15500 [2] |" in (tmp_path / "summary.md").read_text()


def test_every_cell_comes_once_and_cosm_before_those_compared_with_it():
    cells = list(learners.cells())
    assert len(set(cells)) == len(cells)
    for number, cell in enumerate(cells):
        if cell.learner in ("Polar", "Adam", "L-BFGS", "Givens"):
            assert cells.index(replace(cell, learner="COSM")) < number
