"""Classifiers from the command line, and the file that holds their models."""

import json

import numpy as np
import pytest

from hqmm import HMM, FileFormatError, HMMEstimator, ModelError, SequenceClassifier, Sequences
from hqmm.models.classes import Classes
from hqmm.storage import read_bundle, write_bundle

WORDS = ["aabab", "aabb", "abaa", "bbbab", "babb", "bbba"]
LABELS = ["x", "x", "x", "y", "y", "y"]
SMALL = ["--model", "hmm", "--states", "2", "--max-iter", "3"]


@pytest.fixture
def words(folder):
    lines = [f"{word},{label}" for word, label in zip(WORDS, LABELS, strict=True)]
    (folder / "words.csv").write_text("\n".join(["sequence,label", *lines]) + "\n")
    return folder


@pytest.fixture
def classifier():
    inner = HMMEstimator(2, max_iter=3, random_state=0)
    with pytest.warns(match="has not converged"):
        return SequenceClassifier(inner, random_state=0).fit(Sequences(WORDS), LABELS)


def test_training_gives_the_classifier_of_the_library(hqmm, words, classifier):
    facts = json.loads(hqmm("classify", "train", "words.csv", "--output", "c.hqmm", *SMALL, "--json").stdout)
    assert facts["accuracy"] == np.mean(classifier.predict(WORDS) == LABELS)
    assert len(facts["classes"]) == 2
    assert "raise max_iter" in facts["advice"]
    rows = json.loads(hqmm("classify", "predict", "c.hqmm", "-", "--json", text="aab\nbba\n").stdout)
    assert [row["class"] for row in rows] == classifier.predict(["aab", "bba"]).tolist()
    np.testing.assert_allclose([[row["x"], row["y"]] for row in rows], classifier.predict_proba(["aab", "bba"]))
    tested = json.loads(hqmm("classify", "test", "c.hqmm", "words.csv", "--json").stdout)
    expected = classifier.predict_log_proba(WORDS)[np.arange(6), [0, 0, 0, 1, 1, 1]]
    assert tested["log_probability"] == pytest.approx(expected.mean())
    assert sum(row["x"] + row["y"] for row in tested["confusion"]) == 6
    assert "confusion" not in hqmm("classify", "test", "c.hqmm", "words.csv").stdout


def test_inspect_says_what_is_in_a_file_of_classes(hqmm, words):
    hqmm("classify", "train", "words.csv", "--output", "c.hqmm", *SMALL)
    found = json.loads(hqmm("inspect", "c.hqmm", "--json").stdout)
    assert found["class x"] == found["class y"] == "HMM(2 states, 2 symbols), prior 0.5"


def test_one_file_for_each_class_is_the_same(hqmm, words):
    for name in ("x", "y"):
        lines = [word for word, label in zip(WORDS, LABELS, strict=True) if label == name]
        (words / f"{name}.txt").write_text("\n".join(lines) + "\n")
    hqmm("classify", "train", "words.csv", "--output", "c.hqmm", *SMALL)
    hqmm("classify", "train", "--class", "x=x.txt", "--class", "y=y.txt", "--output", "d.hqmm", *SMALL)
    one, other = Classes.load("c.hqmm"), Classes.load("d.hqmm")
    assert one.models == other.models
    np.testing.assert_array_equal(one.prior, other.prior)


def test_discriminative_training_and_a_uniform_prior(hqmm, words):
    hqmm("classify", "train", "words.csv", "--output", "c.hqmm", *SMALL, "--prior", "uniform")
    chosen = [*SMALL, "--objective", "discriminative", "--validation", "0.34"]
    shown = hqmm("classify", "train", "words.csv", "--output", "d.hqmm", *chosen).stdout
    assert "HybridHQMM" in shown
    assert Classes.load("c.hqmm").prior.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "days.txt", "--output", "c.hqmm"], "days.txt has no labels; name their column with --label"),
        (["train", "nothing.csv", "--output", "c.hqmm"], "nothing.csv: no such file"),
        (["train", "words.csv", "--label", "kind", "--output", "c.hqmm"], "there is no 'kind' (label)"),
        (["train", "words.csv", "--output", "no/c.hqmm"], "there is no folder no"),
        (["predict", "weather.hqmm", "days.txt"], "weather.hqmm holds no classes but a 'HMM'"),
        (["predict", "c.hqmm", "days.txt"], "days.txt, line 1: the symbol 's' at position 0 is not in"),
        (["test", "c.hqmm", "bare.txt"], "the data have no labels"),
        (["test", "c.hqmm", "odd.csv"], "sequence 1: the label 'z' is none of the classes ['x', 'y']"),
    ],
)
def test_wrong_data_and_files_are_one_line(hqmm, words, classifier, arguments, message):
    Classes(dict(zip("xy", classifier.models_, strict=True)), classifier.prior_).save("c.hqmm")
    (words / "bare.txt").write_text("ab\n")
    (words / "odd.csv").write_text("sequence,label\nab,x\nab,z\n")
    assert message in hqmm("classify", *arguments, code=1).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "words.csv"],
        ["train", "--output", "c.hqmm"],
        ["train", "words.csv", "--class", "x=words.csv", "--output", "c.hqmm"],
        ["train", "--class", "words.csv", "--output", "c.hqmm"],
        ["train", "words.csv", "--output", "c.hqmm", "--validation", "0.2"],
        ["train", "words.csv", "--output", "c.hqmm", "--objective", "magic"],
        ["predict", "c.hqmm"],
        ["forget"],
    ],
)
def test_wrong_usage_exits_with_two(hqmm, words, arguments):
    hqmm("classify", *arguments, code=2)


def test_sequences_that_no_class_explains_leave_the_prior(hqmm, folder):
    silent = HMM([[1.0]], [[1.0], [0.0]])
    Classes({"p": silent, "q": silent}, [0.25, 0.75]).save("c.hqmm")
    (row,) = json.loads(hqmm("classify", "predict", "c.hqmm", "-", "--json", text="0 1\n").stdout)
    assert (row["class"], row["p"], row["q"]) == ("q", 0.25, 0.75)


def test_whole_numbers_are_labels_in_files_and_in_models(hqmm, folder):
    coin, die = HMM([[1.0]], [[0.5], [0.5]]), HMM([[1.0]], [[0.9], [0.1]])
    saved = Classes({1: coin, "2": die}, [1, 1], burn_in=1)
    found = Classes.load(saved.save("c.hqmm"))
    assert list(found.models) == [1, "2"]
    assert found.burn_in == 1
    assert found.models == saved.models
    (folder / "d.csv").write_text("sequence,label\n0 0 0 0 0,2\n")
    assert json.loads(hqmm("classify", "test", "c.hqmm", "d.csv", "--json").stdout)["accuracy"] == 1


def test_classes_must_fit_together_and_damaged_files_are_refused(folder):
    coin = HMM([[1.0]], [[0.5], [0.5]])
    with pytest.raises(ModelError, match="over one alphabet"):
        Classes({"a": coin, "b": coin.replace(alphabet="xy")}, [1, 1])
    for prior in ([1], [1, -1], [0, 0], [1, np.nan]):
        with pytest.raises(ModelError, match="prior must have one probability"):
            Classes({"a": coin, "b": coin}, prior)
    path = Classes({"a": coin, "b": coin}, [1, 1]).save("c.hqmm")
    arrays, header = read_bundle(path)
    damages = [
        ({**arrays, "2.transition": np.eye(1)}, header),
        ({name: array for name, array in arrays.items() if name != "1.emission"}, header),
        ({name: array for name, array in arrays.items() if name != "prior"}, header),
        (arrays, {**header, "labels": ["a"]}),
        (arrays, {**header, "labels": ["a", "a"]}),
        (arrays, {**header, "labels": ["a", None]}),
        (arrays, {**header, "burn_in": -1}),
        (arrays, {**header, "models": header["models"][:1]}),
        (arrays, {**header, "models": 3}),
        ({**arrays, "prior": np.array([0.0, 0.0])}, header),
    ]
    for number, damage in enumerate(damages):
        write_bundle(path, *damage)
        with pytest.raises(FileFormatError, match=r"c.hqmm"):
            print(number, Classes.load(path))
