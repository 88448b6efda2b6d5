import numpy as np
import pytest

from hqmm.datasets.pautomac import perplexity, read_problem
from hqmm.experiments import pautomac
from hqmm.experiments.pautomac import best_rows, folder_of_problems, made_up_problem, mean_gap, measure, table
from hqmm.experiments.tables import only, where
from hqmm.models import MarkovChain


@pytest.fixture(scope="module")
def rows():
    problem = made_up_problem(1)
    return [
        {"problem": problem.name, "model": model, **row}
        for model in ("markov", "em", "spectral")
        for row in measure(problem, model)
    ]


def test_made_up_problems_repeat_and_their_strings_end():
    problem = made_up_problem(0)
    end = problem.train.alphabet.end
    np.testing.assert_array_equal(problem.train.codes[problem.train.offsets[1:] - 1], end)
    assert problem.truth.sum() < 1  # of distinct strings
    made_up_problem.cache_clear()
    assert made_up_problem(0).train == problem.train


def test_gaps_are_distances_from_the_target_in_perplexity(rows):
    problem = made_up_problem(1)
    chain = MarkovChain.from_sequences(problem.train, 2)
    row = only(rows, model="markov", order=2)
    assert row["perplexity"] == pytest.approx(perplexity(problem.truth, chain.log_likelihood(problem.test)))
    assert row["gap"] == pytest.approx(row["perplexity"] - perplexity(problem.truth, np.log(problem.truth)))
    for model in ("em", "spectral"):
        assert 0 < only(rows, model=model)["gap"] < only(rows, model="markov", order=0)["gap"]


def test_of_n_grams_the_best_order_stands_in_the_table(rows):
    [best] = best_rows(rows).values()
    assert best["markov"]["gap"] == min(row["gap"] for row in where(rows, model="markov"))
    [row] = table(rows)
    assert row["markov_gap"] == best["markov"]["gap"]
    assert row["order"] == best["markov"]["order"]


def test_the_mean_is_geometric_and_small_gaps_have_a_floor():
    gaps = {"1": 0.04, "2": 0.01, "3": -1e-9}
    rows = [{"problem": name, "model": "auto", "gap": gap} for name, gap in gaps.items()]
    assert mean_gap(rows[:2]) == pytest.approx(0.02)
    assert mean_gap(rows) == pytest.approx((0.04 * 0.01 * 1e-4) ** (1 / 3), rel=1e-5)


def test_the_automatic_mode_is_nearer_than_any_n_gram(rows):
    [row] = measure(made_up_problem(1), "auto", seconds=12.0)
    assert row["gap"] < min(row["gap"] for row in where(rows, model="markov"))


def test_problems_are_found_in_the_folder_of_data(monkeypatch, tmp_path):
    monkeypatch.setenv("HQMM_DATA", str(tmp_path))
    assert folder_of_problems() is None
    assert {run.settings["problem"] for run in pautomac.runs("paper", 0)} == {"made-up-0", "made-up-1"}
    (tmp_path / "pautomac").mkdir()
    for name, text in (("train", "2 2\n2 0 1\n1 1\n"), ("test", "2 2\n1 0\n0\n")):
        (tmp_path / "pautomac" / f"9.pautomac.{name}").write_text(text)
    (tmp_path / "pautomac" / "9.pautomac_solution.txt").write_text("2\n0.25\n0.5\n")
    assert {run.settings["problem"] for run in pautomac.runs("paper", 0)} == {"9"}
    [first, *_] = pautomac.execute(problem="9", model="markov")
    assert first["target"] == pytest.approx(read_problem(tmp_path / "pautomac", 9).target)
    assert pautomac.run(tmp_path / "pautomac", models=["markov"])[0]["gap"] == first["gap"]
