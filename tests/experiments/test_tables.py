import numpy as np
import pytest

from hqmm.experiments.tables import groups, only, read_csv, where, write_csv


def test_what_is_written_is_read_back_exactly(tmp_path):
    rows = [
        {"n": 2, "da": 0.1 + 0.2, "ok": True, "name": "a, b"},
        {"n": 10**12, "da": 1e-17, "ok": False, "name": None},
    ]
    assert read_csv(write_csv(tmp_path / "a.csv", rows)) == rows


def test_not_a_number_survives(tmp_path):
    [row] = read_csv(write_csv(tmp_path / "a.csv", [{"x": float("nan"), "y": -np.inf}]))
    assert np.isnan(row["x"])
    assert row["y"] == -np.inf


def test_rows_are_found_by_values():
    rows = [{"n": 2, "w": 1}, {"n": 2, "w": 2}, {"n": 3}]
    assert where(rows, n=2, w=(2, 3)) == [{"n": 2, "w": 2}]
    assert where(rows, w=None) == [{"n": 3}]
    assert list(groups(rows, "n")) == [(2,), (3,)]
    with pytest.raises(LookupError, match="2 rows have"):
        only(rows, n=2)
