import pytest
from tests.experiments.made_up import made_up

from hqmm.experiments.claims import judge_all
from hqmm.experiments.tables import write_csv


@pytest.mark.parametrize(
    ("squares", "verdict", "explanation"),
    [([1, 4], "holds", ""), ([1, 16], "does not hold", "Some numbers are larger."), ([], "not run", "")],
)
def test_a_claim_is_judged_by_the_csv_file(tmp_path, squares, verdict, explanation):
    if squares:
        write_csv(tmp_path / "made-up.csv", [{"square": square} for square in squares])
    [row] = judge_all([made_up()], tmp_path)
    assert (row["verdict"], row["explanation"]) == (verdict, explanation)


def test_a_claim_whose_rows_are_missing_was_not_run(tmp_path):
    write_csv(tmp_path / "made-up.csv", [{"cube": 8}])
    [row] = judge_all([made_up()], tmp_path)
    assert row["verdict"] == "not run"
    assert "not among these results" in row["measured"]
