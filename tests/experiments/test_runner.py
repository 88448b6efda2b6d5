import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.experiments import made_up
from tests.experiments.made_up import numbered

from hqmm.experiments.runner import collect, perform


def done(log):
    return Counter(int(line) for line in log.read_text().split()) if log.exists() else Counter()


def stored(folder):
    return len(list(folder.glob("runs/made-up/*.json")))


def test_rows_carry_the_settings_and_come_in_the_order_of_the_runs(tmp_path):
    runs = numbered([3, 1, 2], tmp_path / "log")
    [progress] = perform([(made_up.made_up(), runs)], tmp_path, jobs=1)
    assert (progress.finished, progress.problems, progress.complete) == (3, [], True)
    rows, seconds = collect(made_up.made_up(), runs, tmp_path)
    assert [(row["number"], row["square"]) for row in rows] == [
        (3, 9),
        (3, None),
        (1, 1),
        (1, None),
        (2, 4),
        (2, None),
    ]
    assert seconds > 0


def test_a_second_time_nothing_is_done_again_but_new_runs_are(tmp_path):
    log = tmp_path / "log"
    perform([(made_up.made_up(), numbered([1, 2], log))], tmp_path, jobs=1)
    watched = []
    perform(
        [(made_up.made_up(), numbered([1, 2, 4], log))],
        tmp_path,
        jobs=1,
        watch=lambda one, run: watched.append((one.finished, run and run.settings["number"])),
    )
    assert done(log) == {1: 1, 2: 1, 4: 1}
    assert watched == [(2, None), (3, 4)]


def test_a_new_edition_is_computed_anew(tmp_path):
    log = tmp_path / "log"
    perform([(made_up.made_up(), numbered([1], log))], tmp_path, jobs=1)
    perform([(made_up.made_up(edition=2), numbered([1], log))], tmp_path, jobs=1)
    assert done(log) == {1: 2}


def test_a_broken_run_and_missing_data_are_told_apart_and_stop_nothing(tmp_path):
    runs = numbered([1, 99, 13, 2], tmp_path / "log")
    [progress] = perform([(made_up.made_up(), runs)], tmp_path, jobs=2)
    assert progress.finished == 2
    assert progress.complete
    assert progress.unavailable == ["the thirteenth file is not at hand"]
    assert len(progress.failures) == 1
    assert progress.failures[0].startswith("ValueError: this run is broken (settings {'number': 99")
    assert stored(tmp_path) == 2


def test_one_job_leaves_the_process_as_it_was(tmp_path):
    threads, handler = threading.active_count(), signal.getsignal(signal.SIGINT)
    perform([(made_up.made_up(), numbered([1], tmp_path / "log"))], tmp_path, jobs=1)
    assert (threading.active_count(), signal.getsignal(signal.SIGINT)) == (threads, handler)


def alive(process_id):
    try:
        os.kill(process_id, 0)
        zombie = Path("/proc/self").exists() and Path(f"/proc/{process_id}/stat").read_text().split()[2] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
    return not zombie


# Ctrl-C reaches the whole group; other blows may hit the command alone, and its workers must not go on without it
@pytest.mark.parametrize(
    ("send", "blow", "jobs"),
    [
        (os.killpg, signal.SIGKILL, 2),
        (os.killpg, signal.SIGINT, 2),
        (os.kill, signal.SIGTERM, 2),
        (os.killpg, signal.SIGINT, 1),
    ],
)
def test_after_a_kill_or_ctrl_c_the_same_command_goes_on_where_it_was(tmp_path, send, blow, jobs):
    command = [sys.executable, "-m", "tests.experiments.made_up", str(tmp_path), str(jobs)]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    options = {"cwd": root, "env": environment, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        until = time.monotonic() + 60
        while stored(tmp_path) < 2 and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        send(process.pid, blow)
        assert process.wait(30) != 0
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    assert workers
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(alive, workers))
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs/made-up").glob("*.json")}
    assert 2 <= len(before) < 6
    subprocess.run(command, check=True, timeout=60, **options)
    assert stored(tmp_path) == 6
    for path in (tmp_path / "runs/made-up").glob("*.json"):
        assert path.stat().st_mtime_ns == before.get(path.name, path.stat().st_mtime_ns)
    times = done(tmp_path / "log")
    assert set(times) == set(range(6))
    assert sum(times.values()) <= 6 + 2  # at most the two that were cut off between noting and storing
