import subprocess
import sys


def run(*arguments):
    command = [sys.executable, "-m", "hqmm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_reproduce_writes_tables_figures_and_a_page_and_does_nothing_twice(tmp_path):
    arguments = ("reproduce", "synthetic-hmm", "--scale", "tiny", "--output", str(tmp_path / "r"), "--jobs", "1")
    first = run(*arguments)
    assert first.returncode == 0, first.stderr
    assert "COSM finds better optima" in first.stdout
    assert first.stderr == ""  # no progress where nobody looks
    written = {path.name for path in (tmp_path / "r").iterdir()}
    assert {"report.html", "claims.csv", "synthetic-hmm.csv", "synthetic-hmm.json"} <= written
    table = (tmp_path / "r" / "synthetic-hmm.csv").read_bytes()
    second = run(*arguments)
    assert second.stdout == first.stdout
    assert (tmp_path / "r" / "synthetic-hmm.csv").read_bytes() == table


def test_an_unknown_experiment_is_an_error_that_names_those_there_are(tmp_path):
    result = run("reproduce", "figure-9", "--output", str(tmp_path))
    assert result.returncode == 1
    assert "there is no experiment 'figure-9'; there are expressiveness, synthetic-hmm, " in result.stderr


def test_the_help_names_the_commands():
    assert "reproduce" in run("--help").stdout


def test_wrong_usage_exits_with_two():
    assert run("fly").returncode == 2
