"""Splice junctions: folds, choices and scores are as told, and each claim is judged from made-up rows."""

from itertools import combinations

import numpy as np
import pytest

from hqmm import Sequences
from hqmm.datasets import DataUnavailableError, Splice, splice
from hqmm.experiments import splice as about
from hqmm.experiments.tables import where

LABELS = splice.LABELS
BORDER = {"EI": "CAGGTAAG", "IE": "TTTCAGGT", "N": "ACGTACGT"}


@pytest.fixture
def junctions(monkeypatch):
    """Made-up junctions: bases at random, and a motif of the label at position 30."""
    generator = np.random.default_rng(0)
    labels = np.repeat(LABELS, [20, 25, 40])
    texts = []
    for label in labels:
        bases = generator.choice(list("ACGT"), 60)
        bases[30:38] = list(BORDER[label])
        texts.append("".join(bases))
    data = Splice(Sequences(texts, alphabet="ACGT"), labels, "made up")
    monkeypatch.setattr(about, "junctions", lambda: data)
    return data


def test_a_file_that_cannot_be_had_is_looked_for_once(monkeypatch):
    attempts = []

    def nowhere():
        attempts.append(None)
        raise DataUnavailableError("no network")

    monkeypatch.setattr(about, "load_splice", nowhere)
    about._looked_for.cache_clear()
    try:
        for _ in range(3):
            with pytest.raises(DataUnavailableError, match="no network"):
                about.junctions()
    finally:
        about._looked_for.cache_clear()
    assert len(attempts) == 1


def test_a_fold_holds_a_fifth_of_each_label_and_all_folds_hold_everything(junctions):
    folds = [about.split(junctions, "paper", fold, 3) for fold in range(5)]
    for fold in folds:
        assert np.bincount(fold.test.labels).tolist() == [4, 5, 8]
        assert np.bincount(fold.train.labels).tolist() == [16, 20, 32]
        assert fold.choice is fold.test or np.array_equal(fold.choice.sequences.codes, fold.test.sequences.codes)
    tested = {row.tobytes() for fold in folds for row in fold.test.sequences}
    assert tested == {row.tobytes() for row in junctions.sequences}


def test_the_clean_protocol_keeps_what_it_reports_away_from_learning_and_choosing(junctions):
    for number in range(5):
        paper, clean = (about.split(junctions, name, number, 3) for name in ("paper", "clean"))
        parts = [{row.tobytes() for row in part.sequences} for part in (clean.train, clean.choice, clean.test)]
        assert not any(one & other for one, other in combinations(parts, 2))
        assert parts[2] == {row.tobytes() for row in paper.test.sequences}  # the folds are the same
        assert np.bincount(clean.choice.labels).tolist() == [4, 4, 7]
        assert sum(map(len, parts)) == len(junctions.labels)


def test_position_weights_are_counts_and_find_the_motif(junctions):
    fold = about.split(junctions, "none", 0, 0)
    scores = about.position_weights(fold.train, fold.test.sequences)
    assert about.mean_accuracy(scores, fold.test.labels) == 1
    own = fold.train.of(1).codes.reshape(-1, 60)
    query = fold.test.sequences.codes.reshape(-1, 60)[0]
    expected = sum(np.log(((own[:, i] == query[i]).sum() + 0.5) / (len(own) + 2)) for i in range(60))
    assert scores[0, 1] == pytest.approx(expected)


def test_accuracy_is_that_of_labels_not_of_sequences():
    labels = np.array([0, 1, 1, 1])
    scores = np.where(np.eye(2)[[0, 1, 0, 0]] > 0, -1.0, -2.0)
    assert about.mean_accuracy(scores, labels) == pytest.approx((1 + 1 / 3) / 2)
    part = about.Part(Sequences(["a"] * 4), labels)
    assert part.balanced().weights.tolist() == [1, 1 / 3, 1 / 3, 1 / 3]


def test_the_epoch_is_chosen_on_the_data_for_choosing(junctions, monkeypatch):
    """COSM is led through three models that are known, of which the second is best on the data for choosing."""

    def led(learner, start, data, *, callbacks, **options):
        for epoch, by_label in enumerate(SCORES):
            callbacks[0]({}, Told(by_label[len(seen) % 3], epoch))
        seen.append(1)

    class Told:
        def __init__(self, score, epoch):
            self.score, self.epoch = score, epoch

        def log_likelihood(self, sequences):
            kinds = fold.choice if sequences is fold.choice.sequences else fold.test
            good = kinds.labels == len(seen) % 3
            # on the data for choosing, epoch 1 tells all; on the reported ones, epoch 2 does
            knows = self.epoch == (1 if kinds is fold.choice else 2)
            return np.where(good & knows, 0.0, -1.0 - len(seen) % 3 * 0.1)

    seen = []
    SCORES = [[0, 0, 0]] * 3
    fold = about.split(junctions, "clean", 0, 0)
    monkeypatch.setattr(about, "fit", led)
    rows = about._best_epoch(fold, 2, 1, 3, 0)
    assert {row["epoch"] for row in rows} == {2}
    assert {row["choice_accuracy"] for row in rows} == {1.0}
    assert np.mean([row["accuracy"] for row in rows]) < 0.5  # not the best epoch of what is reported


def test_the_smallest_runs_work_and_can_be_shown(junctions):
    runs = about.runs("tiny", 0)
    rows = [{**run.settings, **row} for run in runs for row in about.execute(**run.settings)]
    assert {row["model"] for row in rows} == set(about.NAMES)
    found = about.summary(rows)
    assert where(found, model="weights")[0]["accuracy"] == 1
    assert set(about.draw(rows)) == {"paper", "clean", "numbers", "beside"}
    assert len(about.table(rows)) == len(found)
    assert "position-weight matrix: 1.000" in about.see(rows)


def test_the_paper_scale_is_the_papers():
    settings = [run.settings for run in about.runs("paper", 0)]
    for way in ("paper", "clean"):
        cosm = where(settings, model="cosm", protocol=way)
        assert {(one["n"], one["w"]) for one in cosm} == {(n, w) for n in (2, 4, 6, 8) for w in (1, 2, 4, 6)}
        assert {one["fold"] for one in cosm} == set(range(5))
        assert {one["passes"] for one in cosm} == {40}
    assert {one["restarts"] for one in where(settings, model="em")} == {5}


def test_the_real_data_give_the_known_error_of_a_position_weight_matrix(data_folder):
    about._looked_for.cache_clear()  # another test may have looked where nothing was
    rows = [row for fold in range(5) for row in about.execute("authors", fold, 0, "none", "weights")]
    right = sum(row["accuracy"] * row["sequences"] for row in rows)
    assert sum(row["sequences"] for row in rows) == 762 + 765 + 1648
    assert 1 - right / 3175 == pytest.approx(0.046, abs=0.004)


# --- claims ---------------------------------------------------------------------------------------------------


def scored(way, model="cosm", **accuracies):
    """Rows of one fold where every label has the accuracy that is told for n and w, such as n2w1=.5."""
    return [
        {
            "model": model,
            "protocol": way,
            "n": int(name[1]),
            "w": int(name[3]),
            "order": None,
            "fold": 0,
            "label": label,
            "accuracy": value,
            "choice_accuracy": value if model == "cosm" else None,
        }
        for name, value in accuracies.items()
        for label in LABELS
    ]


HMMS = scored("none", "em", n2w1=0.5, n4w1=0.55)
CASES = {
    "HQMMs win": (
        about.hqmm_beats_hmm,
        [*HMMS, *scored("paper", n2w1=0.4, n2w2=0.51, n4w1=0.56)],
        [*HMMS, *scored("paper", n2w1=0.4, n2w2=0.51, n4w1=0.54)],
    ),
    "HQMMs win cleanly": (
        about.hqmm_beats_hmm_cleanly,
        [*HMMS, *scored("clean", n2w1=0.51), *scored("paper", n2w1=0.1)],
        [*HMMS, *scored("clean", n2w1=0.49), *scored("paper", n2w1=0.9)],
    ),
    "w = 2 helps": (
        about.two_helps,
        scored("paper", n2w1=0.5, n2w2=0.55, n4w1=0.5, n4w2=0.49),
        scored("paper", n2w1=0.5, n2w2=0.51, n4w1=0.5, n4w2=0.505),
    ),
    "more helps less": (
        about.more_helps_less,
        scored("paper", n2w1=0.5, n2w2=0.55, n2w6=0.56),
        scored("paper", n2w1=0.5, n2w2=0.55, n2w6=0.66),
    ),
    "n helps": (
        about.states_help,
        scored("paper", n2w1=0.5, n4w1=0.4, n4w2=0.55, n6w1=0.56),
        scored("paper", n2w1=0.5, n4w1=0.55, n6w1=0.54),
    ),
    "not a guess": (about.better_than_guessing, scored("paper", n2w1=0.4), scored("paper", n2w1=0.4, n4w1=0.3)),
}


@pytest.mark.parametrize(("judge", "confirming", "contradicting"), CASES.values(), ids=CASES.keys())
def test_a_claim_holds_on_rows_that_confirm_it_and_fails_on_others(judge, confirming, contradicting):
    assert judge(confirming).holds is True
    assert judge(contradicting).holds is False


def test_the_number_of_parameters_is_counted():
    rows = [*HMMS, *scored("paper", n2w1=0.5, n4w1=0.5)]
    verdict = about.numbers_grow(rows)
    assert verdict.measured == "from n=2 to 4: HMM 12 to 32, HQMM (w=1) 16 to 64"
    assert verdict.holds is True


def test_every_claim_has_a_case_and_an_explanation_and_is_open_without_rows():
    judges = {judge for judge, *_ in CASES.values()} | {about.numbers_grow}
    for claim in about.EXPERIMENT.claims:
        assert claim.judge in judges
        assert claim.otherwise.endswith(".")
        with pytest.raises(LookupError):
            claim.judge([])


def test_the_w_of_the_clean_claim_is_chosen_on_the_data_for_choosing():
    better = [{**row, "choice_accuracy": 0.3} for row in scored("clean", n2w2=0.9)]
    verdict = about.hqmm_beats_hmm_cleanly([*HMMS, *better, *scored("clean", n2w1=0.4)])
    assert verdict.measured == "n=2: 0.400 (w=1) against 0.500"
