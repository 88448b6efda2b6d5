import numpy as np
import pytest
from click.testing import CliRunner

from hqmm import HMM, OOM, MarkovChain, Sequences, save
from hqmm.cli import main
from hqmm.datasets import hmm_6_6, probability_clock
from hqmm.learning import random_hqmm


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with a few models and sequences."""
    monkeypatch.chdir(tmp_path)
    weather = HMM([[0.9, 0.3], [0.1, 0.7]], [[0.8, 0.1], [0.2, 0.9]], alphabet="sr")
    save(weather, "weather.hqmm")
    save(weather.to_hqmm(), "quantum.hqmm")
    save(hmm_6_6(), "six.hqmm")
    save(probability_clock(), "clock.hqmm")
    words = Sequences(["ab", "b", "aab"], end=True)
    save(MarkovChain.from_sequences(words, order=1), "words.hqmm")
    (tmp_path / "days.txt").write_text("ssrs\nrrs\n")
    return tmp_path


@pytest.fixture
def hqmm(folder):
    """Run the command in this process; what it prints on standard output and error is kept apart."""

    def run(*arguments, code=0, text=None):
        result = CliRunner().invoke(main, [str(one) for one in arguments], input=text, prog_name="hqmm")
        shown = result.stdout + result.stderr
        assert result.exit_code == code, shown or repr(result.exception)
        if code:
            assert result.stderr.strip(), "a failure says why"
            assert "Traceback" not in shown
        if code == 1:
            assert len(result.stderr.strip().splitlines()) == 1, result.stderr
        return result

    return run


@pytest.fixture
def invalid_oom(folder):
    save(OOM([[[1.5]], [[-0.5]]], [1.0], check_length=0), "invalid.hqmm")
    return "invalid.hqmm"


@pytest.fixture
def spin(folder):
    model = random_hqmm(2, "ab", kraus_rank=2)(np.random.default_rng(0))
    save(model, "spin.hqmm")
    return model
