"""The commands that work with a model that is there: what they print is what the library computes."""

import json
import os

import numpy as np
import pytest

from hqmm import Sequences, description_accuracy, load, save
from hqmm.cli.main import COMMANDS
from hqmm.estimators.counting import n_parameters


def parsed(result):
    return json.loads(result.stdout)


def table(result):
    """Return tab-separated output as a list of dictionaries."""
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def test_score_agrees_with_the_library(hqmm):
    model = load("weather.hqmm")
    values = model.log_likelihood(["ssrs", "rrs"])
    found = parsed(hqmm("score", "weather.hqmm", "days.txt", "--json"))
    assert found["sequences"] == 2
    assert found["scored_symbols"] == 7
    assert found["log_likelihood"] == pytest.approx(values.sum())
    assert found["per_symbol"] == pytest.approx(values.sum() / 7)
    assert found["perplexity"] == pytest.approx(np.exp(-values.sum() / 7))
    assert found["description_accuracy"] == pytest.approx(description_accuracy(model, ["ssrs", "rrs"]))
    assert "per symbol" in hqmm("score", "weather.hqmm", "days.txt").stdout
    rows = table(hqmm("score", "weather.hqmm", "days.txt", "--each", "--burn-in", 1))
    burnt = model.log_likelihood(["ssrs", "rrs"], 1)
    assert [float(row["log_likelihood"]) for row in rows] == pytest.approx(burnt)
    assert [row["sequence"] for row in rows] == ["0", "1"]


def test_score_reads_standard_input_and_columns_with_weights_and_names(hqmm):
    text = "name,sequence,weight\nx,ssrs,2\ny,rrs,0\n"
    found = parsed(hqmm("score", "weather.hqmm", "-", "--format", "csv", "--json", text=text))
    assert found["log_likelihood"] == pytest.approx(2 * load("weather.hqmm").log_likelihood(["ssrs"])[0])
    rows = parsed(hqmm("score", "weather.hqmm", "-", "--format", "csv", "--each", "--json", text=text))
    assert [row["sequence"] for row in rows] == ["x", "y"]


def test_tokens_can_stand_between_tabs(hqmm):
    text = "s\ts\tr\n"
    found = parsed(hqmm("score", "weather.hqmm", "-", "--sep", "\\t", "--json", text=text))
    assert found["log_likelihood"] == pytest.approx(load("weather.hqmm").log_likelihood(["ssr"])[0])


def test_scores_of_impossible_sequences_are_null_in_json(hqmm, folder):
    (folder / "odd.txt").write_text("0 1\n")
    found = parsed(hqmm("score", "clock.hqmm", "odd.txt", "--json"))
    assert found["impossible_sequences"] == 0
    save(load("weather.hqmm").replace(emission=[[1, 1], [0, 0]]), "sun.hqmm")
    found = parsed(hqmm("score", "sun.hqmm", "days.txt", "--json"))
    assert found["impossible_sequences"] == 2
    assert found["log_likelihood"] is None


def test_models_with_an_end_symbol_score_its_end(hqmm, folder):
    (folder / "words.txt").write_text("ab\n\n")
    found = parsed(hqmm("score", "words.hqmm", "words.txt", "--json"))
    model = load("words.hqmm")
    assert found["log_likelihood"] == pytest.approx(model.log_likelihood(Sequences(["ab", ""], end=True)).sum())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "nothing.hqmm", "days.txt"], "nothing.hqmm: no such file"),
        (["score", "days.txt", "days.txt"], "days.txt is not a file of hqmm"),
        (["score", "weather.hqmm", "nothing.txt"], "nothing.txt: no such file"),
        (
            ["score", "six.hqmm", "days.txt"],
            "days.txt, line 1: the symbol 's' at position 0 is not in Alphabet(6)",
        ),
        (["score", "weather.hqmm", "days.txt", "--burn-in", "3"], "sequence 1: nothing is left to score"),
        (["predict", "weather.hqmm", "nothing.txt"], "nothing.txt: no such file"),
        (["sample", "weather.hqmm", "--prefix", "sx"], "--prefix, position 1: the symbol 'x' is not in"),
        (["filter", "weather.hqmm", "weather.hqmm"], "weather.hqmm, line "),
        (["convert", "weather.hqmm", "--to", "canonical", "--output", "x"], "cannot be turned into 'canonical'"),
        (
            ["convert", "clock.hqmm", "--to", "hmm", "--output", "x"],
            "cannot be turned into 'hmm'; it can into oom, hqmm, hybrid, minimal",
        ),
        (["convert", "weather.hqmm", "--to", "oom", "--output", "no/such/x"], "no/such"),
        (["compare", "weather.hqmm", "six.hqmm"], "models over different alphabets cannot be compared"),
        (["inspect", "days.txt"], "days.txt is not a file of hqmm"),
        (["check", "nothing.hqmm"], "nothing.hqmm: no such file"),
        (["datasets", "describe", "weather"], "there is no data set 'weather'; there are 'hmm'"),
        (["datasets", "fetch", "weather"], "there is no data set 'weather'"),
    ],
)
def test_wrong_data_and_models_are_one_line_and_exit_code_one(hqmm, arguments, message):
    assert message in hqmm(*arguments, code=1).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["score", "weather.hqmm"],
        ["score", "weather.hqmm", "days.txt", "--burn-in", "-1"],
        ["score", "weather.hqmm", "days.txt", "--format", "xml"],
        ["predict", "weather.hqmm", "--along"],
        ["sample", "weather.hqmm", "-n", "0"],
        ["filter", "weather.hqmm"],
        ["convert", "weather.hqmm", "--to", "butterfly", "--output", "x"],
        ["convert", "weather.hqmm", "--to", "oom", "--rank", "1", "--output", "x"],
        ["compare", "weather.hqmm"],
        ["compare", "weather.hqmm", "six.hqmm", "clock.hqmm"],
        ["inspect"],
        ["check", "weather.hqmm", "--length", "none"],
        ["bench", "--seconds", "0"],
        ["datasets", "burn"],
    ],
)
def test_wrong_usage_exits_with_two(hqmm, arguments):
    hqmm(*arguments, code=2)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_says_what_it_does(hqmm, command):
    shown = hqmm(command, "--help").stdout
    assert f"Usage: hqmm {command}" in shown
    assert len(shown.splitlines()) > 5
    assert "..." not in shown.partition("Commands:")[2], "a summary that is cut off"
    assert f"{command} " in hqmm("--help").stdout


@pytest.mark.parametrize("closed", ["weather.hqmm", "days.txt"])
def test_what_may_not_be_read_is_no_wrong_usage(hqmm, monkeypatch, closed):
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed)
    message = hqmm("score", "weather.hqmm", "days.txt", code=1).stderr
    assert message == f"Error: {closed} cannot be read: permission denied\n"


def test_predict_gives_the_forecast_of_each_sequence(hqmm):
    model = load("weather.hqmm")
    rows = table(hqmm("predict", "weather.hqmm", "days.txt", "--horizon", 2))
    expected = np.concatenate([model.forecast("ssrs", 2), model.forecast("rrs", 2)])
    assert [[float(row["s"]), float(row["r"])] for row in rows] == [pytest.approx(row) for row in expected]
    assert [(row["sequence"], row["ahead"]) for row in rows] == [("0", "1"), ("0", "2"), ("1", "1"), ("1", "2")]
    first = parsed(hqmm("predict", "weather.hqmm", "--json"))
    assert [first[0]["s"], first[0]["r"]] == pytest.approx(model.predict())


def test_predict_along_a_sequence_knows_only_what_came_before(hqmm):
    rows = parsed(hqmm("predict", "weather.hqmm", "-", "--along", "--json", text="sr\n"))
    expected = load("weather.hqmm").predict("sr", along=True)
    assert [row["symbol"] for row in rows] == ["s", "r"]
    np.testing.assert_allclose([[row["s"], row["r"]] for row in rows], expected[:2])


def test_predictions_after_impossible_sequences_name_them(hqmm):
    save(load("weather.hqmm").replace(emission=[[1, 1], [0, 0]]), "sun.hqmm")
    message = hqmm("predict", "sun.hqmm", "-", code=1, text="s\nssr\n").stderr
    assert "sequence 1, position 2: the model gives the symbol 'r' probability zero" in message


def test_samples_repeat_by_seed_and_can_be_read_again(hqmm, folder):
    one = hqmm("sample", "weather.hqmm", "-n", 3, "--length", 7, "--seed", 5).stdout
    assert one == hqmm("sample", "weather.hqmm", "-n", 3, "--length", 7, "--seed", 5).stdout
    assert one != hqmm("sample", "weather.hqmm", "-n", 3, "--length", 7).stdout
    drawn = load("weather.hqmm").sample(3, 7, random_state=5)
    assert one.splitlines() == ["".join(row) for row in drawn.decode()]
    for name in ("six.hqmm", "words.hqmm"):
        (folder / "drawn.txt").write_text(hqmm("sample", name, "-n", 4).stdout)
        (folder / "drawn.jsonl").write_text(hqmm("sample", name, "-n", 4, "--json").stdout)
        model = load(name)
        expected = model.log_likelihood(model.sample(4, None if name == "words.hqmm" else 100, random_state=0))
        for written in ("drawn.txt", "drawn.jsonl"):
            rows = parsed(hqmm("score", name, written, "--each", "--json"))
            assert [row["log_likelihood"] for row in rows] == pytest.approx(expected)


def test_samples_continue_a_prefix(hqmm):
    drawn = load("six.hqmm").sample(2, 5, prefix=[0, 3], random_state=0)
    lines = hqmm("sample", "six.hqmm", "-n", 2, "--length", 5, "--prefix", "0 3").stdout.splitlines()
    assert lines == [" ".join(map(str, row)) for row in drawn.decode()]


@pytest.mark.parametrize(
    ("name", "columns"), [("weather", ["state_0"]), ("quantum", ["state_0", "purity"]), ("clock", ["entry_0"])]
)
def test_filter_shows_states_after_each_symbol(hqmm, name, columns):
    text = "0\n" if name == "clock" else "sr\n"
    rows = table(hqmm("filter", f"{name}.hqmm", "-", text=text))
    assert len(rows) == len(text) - 1
    assert set(columns) <= set(rows[0])


def test_filter_agrees_with_the_library(hqmm, spin, folder):
    states = spin.filter("abba")
    found = parsed(hqmm("filter", "spin.hqmm", "-", "--json", text="abba\n"))[0]["states"]
    np.testing.assert_allclose(np.array(found) @ [1, 1j], states)
    rows = table(hqmm("filter", "spin.hqmm", "-", text="abba\n"))
    purity = np.einsum("tij,tji->t", states, states).real
    assert [float(row["purity"]) for row in rows] == pytest.approx(purity)
    assert [float(row["state_1"]) for row in rows] == pytest.approx(states[:, 1, 1].real)
    result = hqmm("filter", "spin.hqmm", "-", "--output", "states.npz", text="abba\nb\n")
    assert "5 states written" in result.stderr
    with np.load("states.npz") as file:
        np.testing.assert_array_equal(file["states_0"], states)
        assert file["states_1"].shape == (1, 2, 2)


def test_filter_shows_labels_of_hybrids(hqmm):
    hqmm("convert", "weather.hqmm", "--to", "hybrid", "--output", "hybrid.hqmm")
    rows = table(hqmm("filter", "hybrid.hqmm", "-", text="sr\n"))
    expected = load("weather.hqmm").filter("sr")
    np.testing.assert_allclose([[float(row["label_0"]), float(row["label_1"])] for row in rows], expected)


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("weather", "hmm", "HMM"),
        ("weather", "oom", "OOM"),
        ("weather", "hqmm", "HQMM"),
        ("weather", "hybrid", "HybridHQMM"),
        ("weather", "circuit", "HQMM"),
        ("weather", "minimal", "OOM"),
        ("quantum", "canonical", "HQMM"),
        ("quantum", "liouville", "OOM"),
        ("clock", "hqmm", "HQMM"),
        ("words", "oom", "OOM"),
    ],
)
def test_convert_keeps_the_process(hqmm, source, target, kind):
    result = hqmm("convert", f"{source}.hqmm", "--to", target, "--output", "new.hqmm")
    assert "written to new.hqmm" in result.stderr
    assert type(load("new.hqmm")).__name__ == kind
    assert parsed(hqmm("compare", f"{source}.hqmm", "new.hqmm", "--json")) == {"equivalent": True}


def test_convert_reduces_the_rank_and_takes_coherence_away(hqmm):
    hqmm("convert", "six.hqmm", "--to", "hqmm", "--rank", 2, "--output", "new.hqmm")
    assert load("new.hqmm").kraus_rank == 2
    hqmm("convert", "quantum.hqmm", "--to", "classical", "--output", "new.hqmm")
    hqmm("convert", "new.hqmm", "--to", "hmm", "--output", "newer.hqmm")
    assert load("newer.hqmm") == load("quantum.hqmm").decohere().to_hmm()


def test_compare_tells_models_apart_and_estimates_their_divergence(hqmm):
    save(load("weather.hqmm").replace(initial=[1, 0]), "other.hqmm")
    found = parsed(hqmm("compare", "weather.hqmm", "other.hqmm", "--count", 20, "--length", 50, "--json"))
    assert found["equivalent"] is False
    a, b = load("weather.hqmm"), load("other.hqmm")
    expected = [float(model.probability([found["told_apart_by"]])[0]) for model in (a, b)]
    assert found["its_probabilities"] == pytest.approx(expected)
    assert abs(expected[0] - expected[1]) > 1e-3
    assert found["which_differ_by"] == pytest.approx(abs(expected[0] - expected[1]) / max(expected))
    assert found["divergence"] > -4 * found["divergence_error"]
    shown = hqmm("compare", "weather.hqmm", "other.hqmm", "--data", "days.txt", "--count", 5).stdout
    assert "equivalent" in shown
    assert "per_symbol" in shown


def test_compare_ranks_any_number_of_models_on_data(hqmm):
    save(load("weather.hqmm").replace(emission=[[0.5, 0.5], [0.5, 0.5]]), "coin.hqmm")
    (name, *_), *_ = sorted(
        ((path, load(path).log_likelihood(["ssrs", "rrs"]).sum()) for path in ("weather.hqmm", "coin.hqmm")),
        key=lambda pair: -pair[1],
    )
    rows = table(hqmm("compare", "coin.hqmm", "weather.hqmm", "quantum.hqmm", "--data", "days.txt"))
    assert [row["model"] for row in rows].index(name) == min(
        [row["model"] for row in rows].index(path) for path in ("weather.hqmm", "coin.hqmm")
    )
    assert len(rows) == 3


def test_inspect_says_what_is_in_a_file(hqmm):
    found = parsed(hqmm("inspect", "six.hqmm", "--json"))
    assert found["class"] == "HMM"
    assert found["states"] == found["symbol_count"] == found["dimension"] == 6
    assert found["validity"] == "valid"
    transfer = load("six.hqmm").transition
    moduli = np.sort(np.abs(np.linalg.eigvals(transfer)))[::-1]
    assert found["spectrum"] == pytest.approx(moduli, abs=1e-5)
    assert found["memory"] == pytest.approx(-1 / np.log(moduli[1]))
    found = parsed(hqmm("inspect", "quantum.hqmm", "--json"))
    assert found["kraus_rank"] == 2
    assert found["dimension"] == 4
    assert found["free_parameters"] == n_parameters(load("quantum.hqmm"))
    assert found["dimension_needed"] == 2
    assert "Kraus" not in hqmm("inspect", "words.hqmm").stdout
    assert "kraus rank needed" in hqmm("inspect", "quantum.hqmm").stdout


def test_check_proves_or_refutes(hqmm, invalid_oom):
    assert parsed(hqmm("check", "weather.hqmm", "--json"))["verdict"] == "valid"
    assert "valid" in hqmm("check", "clock.hqmm").stdout
    result = hqmm("check", invalid_oom, "--json", code=1)
    assert parsed(result)["verdict"] == "invalid"
    assert parsed(result)["probability"] < 0
    assert "negative probability" in result.stderr


def test_negative_probabilities_are_the_models_fault(hqmm, invalid_oom):
    message = hqmm("score", invalid_oom, "-", code=1, text="0 1\n0 0\n").stderr
    assert "sequence 0, position 1" in message


def test_bench_measures(hqmm):
    found = parsed(hqmm("bench", "--seconds", 0.01, "--states", 2, "--json"))
    assert found["product"] > 0
    assert all(size["rate"] > 0 for size in found["gradients"])


def test_datasets_are_listed_described_and_fetched(hqmm, folder, monkeypatch):
    monkeypatch.delenv("HQMM_DATA", raising=False)
    assert "clock" in [row["name"] for row in table(hqmm("datasets", "list"))]
    assert parsed(hqmm("datasets", "describe", "clock", "--json"))["origin"] == "generated from the true model"
    rows = table(hqmm("datasets", "fetch", "clock", "--output", "data"))
    assert [row["sequences"] for row in rows] == ["20", "10", "10", ""]
    scores = parsed(hqmm("score", "data/truth.hqmm", "data/test.txt", "--burn-in", 1000, "--json"))
    assert scores["description_accuracy"] == pytest.approx(0.16, abs=0.01)


def test_labelled_data_become_a_table(hqmm, data_folder):
    rows = table(hqmm("datasets", "fetch", "splice"))
    assert rows == [{"file": "splice/splice.csv", "sequences": "3175", "symbols": "190500"}]
    from hqmm.readers import read

    contents = read("splice/splice.csv")
    assert len(contents.sequences) == 3175
    assert contents.labels.count("N") == 1648
