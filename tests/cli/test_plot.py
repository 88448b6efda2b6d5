"""Pictures from the command line."""

import matplotlib.pyplot as plt
import pytest

from hqmm import HMM, save
from hqmm.models.classes import Classes
from hqmm.plots import HistoryDisplay, StateDisplay


@pytest.fixture
def studio(folder, hqmm, spin):
    (folder / "spins.txt").write_text("abba\nba\n")
    (folder / "labelled.csv").write_text("sequence,label\nab,x\nba,y\n")
    coins = {"x": HMM([[1.0]], [[0.5], [0.5]], alphabet="ab"), "y": HMM([[1.0]], [[0.9], [0.1]], alphabet="ab")}
    Classes(coins, [1, 1]).save("c.hqmm")
    (folder / "h.csv").write_text("iteration,passes,train,train_da,validation\n0,1,-2,0.1,nan\n1,2,-1,0.2,nan\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "picture"),
    [
        (["history", "h.csv"], "a.svg"),
        (["history", "h.csv", "--x", "passes", "--accuracy"], "a.pdf"),
        (["prediction", "spin.hqmm", "spins.txt"], "a.png"),
        (["states", "spin.hqmm", "spins.txt", "--sequence", "1"], "a.png"),
        (["labels", "weather.hqmm", "days.txt"], "a.png"),
        (["bloch", "spin.hqmm", "spins.txt"], "a.png"),
        (["bloch", "spin.hqmm", "spins.txt"], "a.gif"),
        (["operators", "spin.hqmm"], "a.png"),
        (["choi", "spin.hqmm"], "a.png"),
        (["graph", "weather.hqmm", "--threshold", "0.2"], "a.png"),
        (["sizes", "spins.txt", "spin.hqmm", "spin.hqmm"], "a.png"),
        (["confusion", "c.hqmm", "labelled.csv"], "a.png"),
    ],
)
def test_every_picture_is_written_in_the_format_of_its_name(hqmm, studio, arguments, picture):
    hqmm("plot", *arguments, "--output", picture)
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG", "gif": b"GIF8"}[picture[2:]]
    assert (studio / picture).read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["history", "days.txt"], "days.txt is not a history that `hqmm fit --history` wrote"),
        (["history", "labelled.csv"], "labelled.csv is not a history"),
        (["history", "none.csv"], "none.csv: No such file or directory"),
        (["prediction", "spin.hqmm", "days.txt"], "days.txt, line 1: the symbol 's'"),
        (["states", "spin.hqmm", "spins.txt", "--sequence", "2"], "there is no sequence 2"),
        (["labels", "spin.hqmm", "spins.txt"], "has no classical labels"),
        (["bloch", "six.hqmm", "none.txt"], "none.txt: no such file"),
        (["bloch", "weather.hqmm", "days.txt"], "only an HQMM or NOOM of two states"),
        (["operators", "none.hqmm"], "none.hqmm: no such file"),
        (["choi", "words.hqmm"], "has no Kraus operators"),
        (["graph", "spin.hqmm"], "a graph is for an HMM or a hybrid model"),
        (["sizes", "spins.txt", "weather.hqmm"], "spins.txt, line 1: the symbol 'a'"),
        (["confusion", "c.hqmm", "spins.txt"], "the data have no labels"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(hqmm, studio, arguments, message):
    save(HMM([[1.0]], [[0.5], [0.5]], alphabet="ab").to_oom(), "words.hqmm")
    assert message in hqmm("plot", *arguments, "--output", "a.png", code=1).stderr


@pytest.mark.parametrize(("options", "length"), [([], 200), (["--first", "7"], 7)])
def test_long_sequences_are_cut_to_what_can_be_seen(hqmm, studio, monkeypatch, options, length):
    (studio / "long.txt").write_text("ab" * 300)
    drawn = []
    monkeypatch.setattr(
        StateDisplay, "plot", lambda display, ax: drawn.append(len(display.codes)) or figure(display)
    )
    hqmm("plot", "states", "spin.hqmm", "long.txt", *options, "--output", "a.png")
    assert drawn == [length]


def test_a_history_shows_what_was_kept(hqmm, studio, monkeypatch):
    (studio / "h.csv").write_text("iteration,passes,train,validation\n0,1,-2,-3\n1,2,-1,-1\n2,3,-0.5,-2\n")
    kept = []
    monkeypatch.setattr(
        HistoryDisplay, "plot", lambda display, **_: kept.append(display.best_iteration) or figure(display)
    )
    hqmm("plot", "history", "h.csv", "--output", "a.png")
    assert kept == [1]


def figure(display):
    display._open(None)
    return display


def test_nothing_stays_open(hqmm, studio):
    before = plt.get_fignums()
    hqmm("plot", "operators", "spin.hqmm", "--output", "a.png")
    hqmm("plot", "bloch", "spin.hqmm", "spins.txt", "--output", "a.gif")
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["operators", "spin.hqmm"],
        ["operators", "spin.hqmm", "--output", "a.xyz"],
        ["sunset"],
        ["graph", "--output", "a"],
    ],
)
def test_wrong_usage_exits_with_two(hqmm, studio, arguments):
    hqmm("plot", *arguments, code=2)
