import os
import pty
import re
import subprocess
import sys

from tests.experiments.made_up import made_up

from hqmm.experiments.experiment import Run
from hqmm.experiments.runner import Progress

WATCH = """
from hqmm.cli.live import live
from tests.cli.test_live import steps
import time
with live() as watch:
    for step in steps():
        watch(*step)
        time.sleep(0.3)
print("done")
"""


def steps():
    progress = Progress(made_up(), [Run({"number": n}) for n in range(4)], finished=1, waiting_cost=3.0)
    yield progress, None
    for number in range(1, 4):
        progress.finished += 1
        yield progress, progress.runs[number]


def watched(terminal):
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PYTHONPATH": os.pathsep.join(["", *sys.path])}
    if not terminal:
        result = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, env=environment)
        return result.stdout, result.stderr
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", WATCH], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.communicate()[0].decode(), shown.decode()


def test_a_terminal_shows_the_experiment_its_runs_and_the_time_left():
    out, shown = watched(terminal=True)
    assert out == "done\n"
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert "made-up" in plain
    assert re.search(r"[23]/4", plain)
    assert re.search(r"about \d+ s left", plain)


def test_a_pipe_shows_nothing():
    assert watched(terminal=False) == ("done\n", "")
