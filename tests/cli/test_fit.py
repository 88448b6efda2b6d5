"""Learning from the command line."""

import csv
import errno
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hqmm import HMM, HMMEstimator, HQMMEstimator, MarkovChain, Sequences, load, save
from hqmm.datasets import hqmm_2_6

COMMAND = Path(sys.executable).parent / "hqmm"


@pytest.fixture
def seqs(folder):
    """A file of 30 sequences of 60 symbols of the (2, 6)-HQMM."""
    drawn = hqmm_2_6().sample(30, 60, random_state=0)
    (folder / "seqs.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in drawn.decode()))
    return drawn


def test_fit_writes_the_model_of_the_estimator(hqmm, seqs):
    options = ["--states", 2, "--rank", 2, "--max-iter", 5, "--seed", 3, "--history", "history.csv"]
    facts = json.loads(hqmm("fit", "seqs.txt", "--output", "a.hqmm", *options, "--json").stdout)
    with pytest.warns(match="has not converged"):
        expected = HQMMEstimator(2, kraus_rank=2, max_iter=5, random_state=3).fit(seqs)
    assert load("a.hqmm") == expected.model_
    assert facts["per_symbol"] == pytest.approx(expected.score(seqs))
    assert facts["iterations"] == 5
    assert facts["converged"] is False
    assert "raise max_iter" in facts["advice"]
    with open("history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["train"]) for row in rows] == expected.history_["train"].tolist()
    assert not list(Path().glob("*.checkpoint*"))


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["--model", "hmm", "--states", "3"], "HMM(3 states, 6 symbols)"),
        (["--model", "noom", "--states", "2"], "NOOM(2 states, 6 symbols)"),
        (["--model", "oom", "--states", "2"], "OOM(dimension 2"),
        (["--model", "markov", "--order", "2"], "MarkovChain(order 2"),
        (["--model", "markov", "--set", "smoothing=0.5"], "MarkovChain(order 1"),
        (["--blocks", "2", "--states", "2"], "HybridHQMM(2 labels × 2 dimensions"),
        (
            ["--learner", "cosm", "--set", "step=0.5", "--set", "batch_size=5", "--states", "2"],
            "HQMM(n=2, Kraus rank 1",
        ),
        (["--start", "spin.hqmm", "--n-init", "1"], "HQMM(n=2, Kraus rank 1, 6 symbols)"),
    ],
)
def test_every_model_and_learner_can_be_had(hqmm, seqs, options, shown):
    save(hqmm_2_6(), "spin.hqmm")
    limit = [] if {"oom", "markov"} & set(options) else ["--max-iter", "2"]
    assert shown in hqmm("fit", "seqs.txt", "--output", "a.hqmm", *options, *limit).stdout
    assert shown in repr(load("a.hqmm"))


def test_sizes_are_chosen_where_none_is_given(hqmm, seqs):
    facts = json.loads(hqmm("fit", "seqs.txt", "--output", "a.hqmm", "--time-limit", 0, "--json").stdout)
    assert facts["converged"] is False
    with pytest.warns(match="has not converged"):
        expected = HQMMEstimator("auto", kraus_rank="auto", n_blocks="auto", time_limit=0, random_state=0).fit(
            seqs
        )
    assert load("a.hqmm") == expected.model_
    assert "validation_per_symbol" in facts
    chosen = ["--states", "auto", "--blocks", "1", "--rank", "1", "--json"]
    facts = json.loads(hqmm("fit", "-", "--output", "b.hqmm", *chosen, text="0 1 0\n1 1 0\n" * 8).stdout)
    assert facts["converged"] is True  # as growing gains no more
    assert None not in facts.values()
    assert load("b.hqmm").kraus_rank == 1
    assert type(load("b.hqmm")).__name__ == "HQMM"


def test_sizes_are_chosen_within_the_largest_dimension(hqmm, seqs):
    chosen = ["--blocks", "auto", "--states", "1", "--rank", "1", "--max-dimension", 4]
    hqmm("fit", "seqs.txt", "--output", "a.hqmm", *chosen)
    expected = HQMMEstimator(1, n_blocks="auto", kraus_rank=1, max_dimension=4, random_state=0).fit(seqs)
    assert load("a.hqmm") == expected.model_
    assert max(one.model.n_blocks for one in expected.result_.restarts) == 4


def test_held_out_data_choose_the_iterate(hqmm, seqs, folder):
    (folder / "held.txt").write_text("0 2 4\n1 3 5\n")
    command = [
        "fit",
        "seqs.txt",
        "--output",
        "a.hqmm",
        "--model",
        "hmm",
        "--states",
        "2",
        "--max-iter",
        4,
        "--json",
    ]
    by_file = json.loads(hqmm(*command, "--validation", "held.txt").stdout)
    model = load("a.hqmm")
    assert by_file["validation_per_symbol"] == pytest.approx(
        model.log_likelihood([[0, 2, 4], [1, 3, 5]]).sum() / 6
    )
    by_share = json.loads(hqmm(*command, "--validation", "0.2").stdout)
    with pytest.warns(match="has not converged"):
        expected = HMMEstimator(2, max_iter=4, validation=0.2, random_state=0).fit(seqs)
    assert by_share["validation_per_symbol"] == pytest.approx(expected.result_.score)


def test_alphabets_ends_and_standard_input(hqmm):
    text = "ab\nb\n\n"
    hqmm("fit", "-", "--output", "a.hqmm", "--model", "markov", "--end", "--alphabet", "abc", text=text)
    expected = MarkovChain.from_sequences(Sequences(["ab", "b", ""], alphabet="abc", end=True), order=1)
    assert load("a.hqmm") == expected
    for given, symbols in (("3", [0, 1, 2]), ("x y", ["x", "y"])):
        line = "0\n1\n" if given == "3" else "x\ny\n"
        hqmm("fit", "-", "--output", "a.hqmm", "--model", "markov", "--alphabet", given, text=line)
        assert list(load("a.hqmm").alphabet) == symbols


def test_spectral_models_that_are_none_are_told(hqmm, folder):
    generator = np.random.default_rng(3)
    drawn = generator.integers(0, 2, (10, 12))
    drawn[:, 1::2] = drawn[:, ::2]
    (folder / "pairs.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in drawn))
    shown = hqmm("fit", "pairs.txt", "--output", "a.hqmm", "--model", "oom", "--states", "4").stdout
    assert ("negative probability" in shown) != ("per symbol" in shown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.txt"], "nothing.txt: no such file"),
        (["days.txt", "--validation", "nothing.txt"], "nothing.txt: no such file"),
        (["days.txt", "--alphabet", "sx"], "days.txt, line 1: the symbol 'r' at position 2 is not in"),
        (["days.txt", "--start", "days.txt"], "days.txt is not a file of hqmm"),
        (["days.txt", "--model", "hmm", "--start", "quantum.hqmm"], "starts from a model of class HMM"),
        (["days.txt", "--burn-in", "9"], "burn-in"),
        (["days.txt", "--learner", "givens", "--tol", "1"], "GivensSearch has no tol"),
    ],
)
def test_what_cannot_be_learned_is_one_line(hqmm, arguments, message):
    assert message in hqmm("fit", *arguments, "--output", "a.hqmm", "--states", 2, code=1).stderr
    assert not Path("a.hqmm").exists()


@pytest.mark.parametrize("option", ["--output", "--history"])
def test_a_folder_that_is_not_there_is_noticed_before_the_work(hqmm, option):
    arguments = ["--output", "a.hqmm", option, "no/a", "--states", 2]
    assert "there is no folder no to write a into" in hqmm("fit", "nothing.txt", *arguments, code=1).stderr


def test_what_may_not_be_written_is_noticed_before_the_work(hqmm, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    message = hqmm("fit", "nothing.txt", "--output", "a.hqmm", "--states", 2, code=1).stderr
    assert message == "Error: a.hqmm cannot be written: permission denied\n"


def test_a_history_that_cannot_be_written_leaves_the_model_and_no_checkpoint(hqmm, monkeypatch):
    monkeypatch.setattr("hqmm.cli.fit._write_history", fails)
    command = ["fit", "days.txt", "--output", "a.hqmm", "--states", 2, "--max-iter", 2, "--history", "h.csv"]
    assert hqmm(*command, code=1).stderr == "Error: h.csv: No space left on device\n"
    assert load("a.hqmm").n_states == 2
    assert not list(Path().glob("*.checkpoint*"))


def fails(*arguments):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "h.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--output"),
        (["--output", "."], ". is a folder; name a file in it"),
        (["--output", "a", "--states", "0"], "'--states': '0' is neither a whole number from 1 up nor 'auto'"),
        (["--output", "a", "--states", "many"], "'--states': 'many' is neither a whole number"),
        (["--output", "a", "--set", "step"], "'--set': 'step' should be NAME=VALUE"),
        (["--output", "a", "--validation", "1.5"], "'--validation': 1.5 is not between 0 and 1"),
        (["--output", "a", "--model", "hmm", "--rank", "2"], "--rank does not go with --model hmm"),
        (["--output", "a", "--model", "markov", "--max-iter", "2"], "--max-iter does not go with --model markov"),
        (["--output", "a", "--model", "markov", "--history", "h"], "--history does not go with this model"),
        (
            ["--output", "a", "--model", "markov", "--validation", "0.5"],
            "--validation does not go with this model",
        ),
        (["--output", "a", "--model", "hmm", "--learner", "cosm"], "its learners: baum-welch"),
        (
            ["--output", "a", "--states", "2", "--learner", "cosm", "--set", "pace=1"],
            "COSM has no pace; its settings are",
        ),
        (["--output", "a", "--max-iter", "3"], "--max-iter has no meaning where sizes are chosen; name them"),
        (["--output", "a", "--max-dimension", "0"], "0 is not in the range x>=1"),
        (
            ["--output", "a", "--states", "2", "--max-dimension", "9"],
            "no meaning where no size is auto",
        ),
        (
            ["--output", "a", "--model", "hmm", "--max-dimension", "9"],
            "--max-dimension does not go with --model hmm",
        ),
        (["--output", "a", "--resume"], "there is nothing to resume"),
    ],
)
def test_wrong_usage_of_fit_exits_with_two(hqmm, arguments, message):
    assert message in hqmm("fit", "days.txt", *arguments, code=2).stderr


@pytest.mark.parametrize("restarts", [[], ["--n-init", "3", "--jobs", "2"]], ids=["one", "restarts"])
def test_an_interrupted_fit_says_how_to_resume_and_ends_where_an_uninterrupted_one_does(seqs, folder, restarts):
    settings = ["--states", "2", "--learner", "cosm", "--set", "batch_size=1", "--set", "decay=0.99", *restarts]
    command = [COMMAND, "fit", "few.txt", "--output", "a.hqmm", *settings, "--max-iter", "80"]
    (folder / "few.txt").write_text("".join((folder / "seqs.txt").read_text().splitlines(keepends=True)[:5]))
    code, shown = interrupted_in_terminal(command)
    assert code == 1, shown
    assert "interrupted after" in shown
    assert "".join(shown.split()).endswith("--max-iter80--resume")
    assert load("a.hqmm").n_states == 2
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "what an interrupted fit left" in refused.stderr
    resumed = subprocess.run([*command, "--resume", "--json"], check=True, capture_output=True, text=True)
    assert json.loads(resumed.stdout)["iterations"] == 80
    assert resumed.stderr == ""
    first = load("a.hqmm")
    assert not list(Path().glob("*.checkpoint*"))
    subprocess.run(command, check=True, capture_output=True)
    assert load("a.hqmm") == first


def interrupted_in_terminal(command):
    """Run a fit in a terminal and press Ctrl-C once it shows its progress."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # shells switch it off in the background
    with subprocess.Popen(
        command, **streams, env=environment, start_new_session=True, preexec_fn=heard
    ) as process:
        os.close(theirs)
        shown, pressed = b"", False
        with suppress(OSError):  # how Linux says that the other side is closed
            while piece := os.read(ours, 65536):
                shown += piece
                if not pressed and b"log-likelihood per symbol" in shown:
                    pressed = True
                    process.send_signal(signal.SIGINT)
        os.close(ours)
    assert pressed, shown
    return process.returncode, shown.decode()


def test_a_model_can_be_improved_from_where_it_stands(hqmm, seqs):
    first = HMM(np.full((2, 2), 0.5), np.full((6, 2), 1 / 6), initial=[0.6, 0.4])
    save(first, "first.hqmm")
    hqmm("fit", "seqs.txt", "--output", "a.hqmm", "--model", "hmm", "--start", "first.hqmm", "--max-iter", 3)
    assert load("a.hqmm").log_likelihood(seqs).sum() > first.log_likelihood(seqs).sum()
