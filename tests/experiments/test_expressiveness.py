"""Section 2: what is measured is right, and each claim is judged from rows that confirm it and that contradict it."""

import numpy as np
import pytest

from hqmm import HMM, Sequences, certify
from hqmm.datasets import probability_clock
from hqmm.experiments import expressiveness as about
from hqmm.experiments.tables import where


def included(source, target, **changes):
    row = {"part": "inclusion", "source": source, "target": target, "dimension": 2, "bound": 2, "words": 9}
    return [{**row, "difference": 1e-16, "equivalent": True, **changes}]


def clocks(*differences, quantum=1e-16):
    hmms = [
        {"part": "clock", "model": "HMM", "n": n, "fitted": d, "divergence": d, "difference": d}
        for n, d in enumerate(differences, start=2)
    ]
    return [*hmms, {"part": "clock", "model": "HQMM", "n": 0, "divergence": 0.0, "difference": quantum}]


def spectra(hmm, clock):
    return [
        {"part": "spectrum", "source": source, "turns": turns}
        for source, turns in (("HMM", hmm), ("CLOCK", clock))
    ]


def visited(**changes):
    row = {"part": "states", "states": 5, "smallest_eigenvalue": 0.1, "trace_error": 1e-16, "asymmetry": 0.0}
    return [{**row, **changes}]


def written(form=about.FORMS[3], **changes):
    row = {"part": "forms", "form": form, "difference": 1e-16, "liouville_distance": 1e-16, "kraus_distance": 1.0}
    return [{**row, **changes}]


def tried(share):
    return [{"part": "candidates", "noise": 1.0, "invalid": share}, {"part": "spectral", "negative": share > 0}]


CASES = {
    "HMM": (about.hmms_are_hqmms, included("HMM", "HQMM"), included("HMM", "HQMM", difference=1e-9)),
    "HMM, in too many dimensions": (
        about.hmms_are_hqmms,
        included("HMM", "HQMM"),
        included("HMM", "HQMM", dimension=3),
    ),
    "NOOM": (about.nooms_are_hqmms, included("NOOM", "HQMM"), included("NOOM", "HQMM", equivalent=False)),
    "NOOM as OOM": (about.nooms_are_ooms, included("NOOM", "OOM"), included("NOOM", "OOM", difference=1e-9)),
    "HQMM": (about.hqmms_are_ooms, included("HQMM", "OOM, real"), included("HQMM", "OOM, real", difference=1e-9)),
    "clock": (about.clock_is_no_hmm, clocks(0.1, 0.001), clocks(0.1, 1e-13)),
    "clock as HQMM": (about.clock_is_no_hmm, clocks(0.1), clocks(0.1, quantum=0.1)),
    "operators": (about.operators_turn, spectra(False, True), spectra(True, True)),
    "operators of the clock": (about.operators_turn, spectra(False, True), spectra(False, False)),
    "states": (about.states_are_a_spectraplex, visited(), visited(smallest_eigenvalue=-1e-9)),
    "states of trace one": (about.states_are_a_spectraplex, visited(), visited(trace_error=1e-9)),
    "pure and mixed states": (
        about.nooms_are_extremal,
        [*visited(source="NOOM", largest_rank=1), *visited(source="HQMM", largest_rank=2)],
        [*visited(source="NOOM", largest_rank=2), *visited(source="HQMM", largest_rank=2)],
    ),
    "mixed states": (
        about.nooms_are_extremal,
        [*visited(source="NOOM", largest_rank=1), *visited(source="HQMM", largest_rank=2)],
        [*visited(source="NOOM", largest_rank=1), *visited(source="HQMM", largest_rank=1)],
    ),
    "forms": (about.forms_agree, written("Choi"), written("Choi", difference=1e-9)),
    "uniqueness": (about.liouville_is_unique, written(), written(liouville_distance=1e-9)),
    "uniqueness, of one and the same": (about.liouville_is_unique, written(), written(kraus_distance=0.0)),
    "negative": (about.ooms_can_be_negative, tried(0.1), tried(0.0)),
}


@pytest.mark.parametrize(("judge", "confirming", "contradicting"), CASES.values(), ids=CASES.keys())
def test_a_claim_holds_on_rows_that_confirm_it_and_fails_on_others(judge, confirming, contradicting):
    assert judge(confirming).holds is True
    assert judge(contradicting).holds is False


def test_every_claim_has_a_case_and_an_explanation_and_is_open_without_rows():
    judges = {judge for judge, *_ in CASES.values()}
    for claim in about.EXPERIMENT.claims:
        assert claim.judge in judges
        assert claim.otherwise.endswith(".")
        with pytest.raises((LookupError, ValueError)):
            claim.judge([])


def test_all_words_are_there_once():
    words = about.all_words(3, 2000)
    assert len(words) == 3 + 9 + 27 + 81 + 243 + 729
    assert len({tuple(row) for row in words}) == len(words)


def test_the_divergence_is_that_of_the_definition():
    a, b = HMM([[1.0]], [[0.5], [0.5]]), HMM([[1.0]], [[0.4], [0.6]])
    expected = 0.5 * np.log(0.5 / 0.4) + 0.5 * np.log(0.5 / 0.6)
    assert about.divergence(a, b, about._words_of(3)) == pytest.approx(3 * expected)
    words = Sequences([[0, 0], [1]], alphabet=2)
    assert about.largest_difference(a, b, words) == pytest.approx(0.1)


def test_the_hmm_is_fitted_to_the_clock_itself():
    """With one state the best HMM is a coin, with the clock's share of each symbol in words of that length."""
    [row] = about.clock(n=1, seed=0, passes=50)
    clock = probability_clock()
    words = about._words_of(about.CLOCK_WORD)
    weights = clock.probability(words)
    ones = weights @ [row.mean() for row in words]
    coin = HMM([[1.0]], [[1 - ones], [ones]])
    assert row["fitted"] == pytest.approx(about.divergence(clock, coin, words) / about.CLOCK_WORD)
    assert about.clock(n=0)[0]["difference"] == pytest.approx(0, abs=1e-15)


def test_candidates_are_normalised_and_without_noise_valid():
    generator = np.random.default_rng(0)
    model = about.disturbed(3, 1.0, generator)
    np.testing.assert_allclose(model.operators.sum(axis=(0, 1)), 1)
    assert certify(about.disturbed(3, 0.0, generator)).verdict == "valid"


def test_the_smallest_runs_work_confirm_every_claim_but_those_of_chance_and_can_be_shown():
    runs = about.runs("tiny", 0)
    rows = [{**run.settings, **row} for run in runs for row in about.execute(**run.settings)]
    for claim in about.EXPERIMENT.claims:
        assert claim.judge(rows).holds, claim.statement
    assert where(rows, part="counts", n=6, kraus_rank=6)[0]["hqmm"] == 1296
    assert set(about.draw(rows)) == {"clock", "candidates", "counts"}
    assert about.table(rows)[0]["equivalent"] is True
    assert "nats per symbol" in about.see(rows)
