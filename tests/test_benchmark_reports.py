"""The verdicts of the benchmark reports follow from the rows, and change when the rows do."""

from dataclasses import replace

import pytest

learners = pytest.importorskip("benchmarks.learners")
from benchmarks import ladder  # noqa: E402
from benchmarks.ladder_report import Ladder, beats_both, dominates, front, no_worse_than_both, wins  # noqa: E402
from benchmarks.learners_report import Results, claims, write  # noqa: E402
from benchmarks.runs import append, perform, read  # noqa: E402


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


def test_the_estimators_default_is_near_counts_at_rank_one_and_random_elsewhere():
    def never_behind(rows):
        return next(
            one.holds for one in claims(Results(rows)) if one.what.startswith("HQMMEstimator's default as")
        )

    at_one = [row("COSM", 0.15), row("Polar from counts", 0.151), row("Polar", 0.14)]
    at_two = [row("COSM", 0.16, w=2), row("Polar from counts", 0.14, w=2), row("Polar", 0.161, w=2)]
    assert never_behind(at_one + at_two) is True
    assert never_behind([*at_one, row("COSM", 0.16, w=2)]) is True  # what was not run says nothing
    assert never_behind([*at_one, row("COSM", 0.16, w=2), row("Polar", 0.159, w=2)]) is False
    assert never_behind([row("COSM", 0.15), row("Polar from counts", 0.149), row("Polar", 0.151)]) is False


def test_rows_are_read_as_they_were_written(tmp_path):
    for one in ROWS:
        append(tmp_path / "runs.csv", one)
    back = read(tmp_path / "runs.csv", learners.Outcome)
    assert [repr(one) for one in back] == [repr(one) for one in ROWS]
    write(tmp_path / "summary.md", back)
    assert "| 2, 1 | 0.15400 [2] | 0.15500 [2] |" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize("jobs", [1, 2])
def test_work_is_done_in_its_order_until_the_end(tmp_path, jobs):
    path = tmp_path / "runs.csv"
    work = [(replace, one) for one in ROWS]
    perform(path, work, float("-inf"), jobs)
    assert not path.exists()
    perform(path, work, float("inf"), jobs)
    assert [repr(one) for one in read(path, learners.Outcome)] == [repr(one) for one in ROWS]


def test_every_cell_comes_once_and_cosm_before_those_compared_with_it():
    cells = list(learners.cells())
    assert len(set(cells)) == len(cells)
    for number, cell in enumerate(cells):
        if cell.learner in ("Polar", "Adam", "L-BFGS", "Givens"):
            assert cells.index(replace(cell, learner="COSM")) < number


def rung(k, q, excess, m=8, seed=0, data="HMM(6,6)", validation=None):
    return ladder.Run(
        data,
        m,
        k,
        q,
        2,
        seed,
        40,
        1.0,
        -1.5,
        -excess if validation is None else validation,
        excess,
        -1.5,
        "max_iter",
    )


EIGHT = [rung(8, 1, 0.03), rung(2, 2, 0.01), rung(1, 3, 0.02)]


def test_a_front_dominates_where_it_is_nowhere_worse():
    assert dominates(Ladder(EIGHT), "HMM(6,6)")
    assert not dominates(Ladder([*EIGHT[:2], rung(1, 3, 0.005)]), "HMM(6,6)")
    assert not dominates(Ladder([rung(k, q, 0.01) for k, q in ((8, 1), (2, 2), (1, 3))]), "HMM(6,6)")
    later = [rung(16, 1, 0.001, m=16), rung(4, 2, 0.005, m=16), rung(1, 4, 0.02, m=16)]
    assert not dominates(Ladder(EIGHT + later), "HMM(6,6)")


def test_the_size_of_a_front_is_chosen_on_validation_data():
    lucky = [*EIGHT, rung(16, 1, 0.05, m=16), rung(4, 2, 0.001, m=16, validation=-1.0), rung(1, 4, 0.02, m=16)]
    assert front(Ladder(lucky), "HMM(6,6)", "hybrid") == [0.01, 0.01]


def test_at_one_cost_the_size_of_each_family_is_chosen_on_validation_data():
    assert beats_both(Ladder(EIGHT), "HMM(6,6)", 8)
    assert not beats_both(Ladder([*EIGHT[:2], rung(1, 3, 0.01)]), "HMM(6,6)", 8)
    unlucky = [*EIGHT, rung(3, 2, 0.05, validation=0.0)]  # validation data would take this hybrid
    assert not beats_both(Ladder(unlucky), "HMM(6,6)", 8)
    assert not beats_both(Ladder([rung(8, 1, 0.03), rung(1, 3, 0.02)]), "HMM(6,6)", 8)  # no hybrid was run
    assert no_worse_than_both(Ladder(EIGHT), "HMM(6,6)", 8)
    assert not no_worse_than_both(Ladder(unlucky), "HMM(6,6)", 8)
    assert no_worse_than_both(Ladder([*EIGHT[:2], rung(1, 3, 0.001)]), "HMM(6,6)", 8)  # an end is chosen


def test_each_data_set_is_won_by_the_family_of_the_least_excess():
    second = [rung(8, 1, 0.01, data="#1"), rung(2, 2, 0.03, data="#1"), rung(1, 3, 0.02, data="#1")]
    assert wins(Ladder(EIGHT + second), 8) == {"HMM": 1, "hybrid": 1, "HQMM": 0}


def test_the_readme_and_the_guide_tell_the_wins_that_the_rows_have():
    found = Ladder(read(ladder.FOLDER / "runs.csv", ladder.Run))
    counts = {m: wins(found, m) for m in found.dimensions}
    root = ladder.FOLDER.parent.parent.parent
    text = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"hybrids were best on {counts[64]['hybrid']} of 20 data sets; with 8 numbers, HMMs on {counts[8]['HMM']}"
        in text
    )
    guide = (root / "docs" / "guide" / "ladder.md").read_text(encoding="utf-8")
    for name, words in (("HMM", "HMM, q = 1"), ("hybrid", "hybrid"), ("HQMM", "HQMM, k = 1")):
        assert f"| {words} | " + " | ".join(str(one[name]) for one in counts.values()) + " |" in guide


def test_every_size_of_a_dimension_costs_about_the_same():
    for m in ladder.DIMENSIONS:
        sizes = ladder.sizes(m)
        assert {1, max(q for _, q, _ in sizes)} <= {q for _, q, _ in sizes}
        assert all(abs(k * q * q - m) <= m / 8 for k, q, _ in sizes)
        assert any(k == 1 for k, _, _ in sizes) or m == 12  # 9 and 16 are the squares beside it


def test_the_ladder_s_summary_and_figure_are_made_from_the_rows(tmp_path):
    climbs = [ladder.Climb("HMM(6,6)", method, 8, 0, 50, 20, 1.0, -1.4, -1.5) for method in ladder.METHODS]
    ladder.report.write(tmp_path, EIGHT, climbs)
    text = (tmp_path / "summary.md").read_text()
    assert "| HMM(6,6) | 30.00 | **10.00** | 20.00 | 1–1 |" in text
    assert "| HMM(6,6) | 2, 2 hybrid [1] |" in text
    assert "q: from an HMM" in (tmp_path / "ladder.svg").read_text()
    assert "parameters" in (tmp_path / "costs.svg").read_text()


def test_em_at_one_dimension_is_the_polar_learner_s_equal():
    """The benchmark's own EM raises the likelihood at every step, and ends near where the polar fixed point does."""
    import numpy as np

    from hqmm.datasets import hmm_6_6
    from hqmm.learning import random_hmm

    data = hmm_6_6().sample(10, 60, random_state=0)
    start = random_hmm(2, 6)(np.random.default_rng(0))
    ends = {}
    for method in ("EM, q = 1", "polar"):
        history, passes, model = ladder.METHODS[method](start, data, 0)
        assert np.all(np.diff(history) >= -1e-12)
        assert len(history) == len(passes)
        ends[method] = history[-1]
        assert model.log_likelihood(data).sum() / data.n_symbols == pytest.approx(history[-1], abs=1e-9)
    assert ends["polar"] == pytest.approx(ends["EM, q = 1"], abs=2e-3)
