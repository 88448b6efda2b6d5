"""What the README tells of results is what the rows in docs/results say."""

from pathlib import Path

import pytest

from hqmm.experiments.pautomac import best_rows, mean_gap
from hqmm.experiments.tables import read_csv
from hqmm.report import claims_table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "docs" / "results"


def test_the_claims_are_those_that_were_judged():
    assert claims_table(read_csv(RESULTS / "paper" / "claims.csv")) in README


def test_the_gaps_on_pautomac_are_those_of_the_rows():
    rows = read_csv(RESULTS / "pautomac" / "pautomac.csv")
    means = {model: f"{mean_gap(rows, model):.3f}" for model in ("auto", "markov", "em", "spectral")}
    assert "| **{auto}** | {markov} | {em} | {spectral} |".format(**means) in README
    best = best_rows(rows)
    ahead = sum(models["auto"]["gap"] < models["markov"]["gap"] for models in best.values())
    assert f"nearer than the best n-gram in all {len(best)}" in README
    assert ahead == len(best)


@pytest.mark.parametrize("line", [line for line in README.splitlines() if "](docs/" in line])
def test_what_is_linked_is_there(line):
    for part in line.split("](docs/")[1:]:
        assert (ROOT / "docs" / part.split(")")[0].split("#")[0]).exists()
