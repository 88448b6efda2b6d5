"""The installed command, as users run it: in a pipe and in a terminal."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from hqmm import HMM, save

COMMAND = Path(sys.executable).parent / "hqmm"


def in_terminal(*arguments):
    """Return the exit code and all that the command shows in a terminal of its own."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen([COMMAND, *arguments], **streams, env=environment, start_new_session=True) as process:
        os.close(theirs)
        shown = b"".join(pieces(ours))
        os.close(ours)
    return process.returncode, shown.decode()


def pieces(terminal):
    with suppress(OSError):  # how Linux says that the other side is closed
        while piece := os.read(terminal, 65536):
            yield piece


def test_a_terminal_gets_a_table_and_a_pipe_tab_separated_values(folder):
    arguments = ["score", "weather.hqmm", "days.txt", "--each"]
    code, shown = in_terminal(*arguments)
    assert code == 0, shown
    assert "\t" not in shown
    assert "─" in shown
    assert "log likelihood" in shown
    piped = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True)
    assert piped.stdout.splitlines()[0].split("\t")[0] == "sequence"
    assert piped.stderr == ""


def test_wide_tables_lose_no_digits_and_symbols_keep_their_names(folder):
    events = ["add_to_cart", "[bold]", *(f"event_{number}" for number in range(6))]
    save(HMM([[1.0]], np.linspace(1, 2, 8)[:, None] / 12, alphabet=events), "events.hqmm")
    code, shown = in_terminal("predict", "events.hqmm")
    assert code == 0
    assert "…" not in shown
    assert {"0.0833", "0.167"} <= set(shown.split())
    few = HMM([[1.0]], [[1 / 3], [2 / 3]], alphabet=["add_to_cart", "[bold]"])
    save(few, "few.hqmm")
    code, shown = in_terminal("predict", "few.hqmm")
    assert "add_to_cart" in shown
    assert "[bold]" in shown
    assert "0.333333" in shown


def test_standard_input_can_be_a_pipe_and_a_closed_pipe_is_no_accident(folder):
    line = f"{COMMAND} sample weather.hqmm -n 50000 --length 20 | head -n 1"
    first = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert len(first.stdout) == 21
    assert first.stderr == ""
    scored = subprocess.run(
        [COMMAND, "score", "weather.hqmm", "-", "--json"],
        input="ssr\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"sequences": 1' in scored.stdout


def test_errors_are_one_line_in_a_terminal_too(folder):
    code, shown = in_terminal("score", "weather.hqmm", "nothing.txt")
    assert code == 1
    assert shown.strip() == "Error: nothing.txt: no such file"
    code, shown = in_terminal("score")
    assert code == 2
    assert "Usage: hqmm score" in shown
