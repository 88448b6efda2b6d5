import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "hqmm"


def run(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_reproduce_prints_the_score_table_the_same_each_time():
    first = run("reproduce")
    assert first.returncode == 0, first.stderr
    assert "true model" in first.stdout
    assert "order 2" in first.stdout
    assert first.stdout == run("reproduce", "--seed", "0").stdout
    assert first.stdout != run("reproduce", "--seed", "1").stdout


def test_the_help_names_the_commands():
    assert "reproduce" in run("--help").stdout


def test_wrong_usage_exits_with_two():
    assert run("fly").returncode == 2
