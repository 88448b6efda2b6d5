"""An experiment that takes no time, and a command that runs it, so that tests can watch and kill it."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from hqmm.datasets import DataUnavailableError
from hqmm.experiments.experiment import Claim, Experiment, Run, Verdict
from hqmm.experiments.figures import panel
from hqmm.experiments.runner import perform


def execute(number, log, pause=0.0):
    """Note that the run was done, and return two rows."""
    if number == 13:
        raise DataUnavailableError("the thirteenth file is not at hand")
    if number == 99:
        raise ValueError("this run is broken")
    if pause:
        (Path(log).parent / f"worker-{os.getpid()}").touch()
    with suppress(KeyboardInterrupt):  # as `fit` does, which then returns what it has
        time.sleep(pause)
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
    return [{"square": number**2, "half": number / 2}, {"square": None}]


def draw(rows):
    with panel("Squares", "number", "square") as (figure, axes):
        axes.plot([row["number"] for row in rows], [row["square"] or 0 for row in rows])
    return {"squares": figure}


def judge(rows):
    largest = max(row["square"] or 0 for row in rows)
    return Verdict(f"at most {largest}", largest < 10)


def made_up(**changes):
    return Experiment(
        **{
            "name": "made-up",
            "title": "Squares of numbers",
            "place": "Figure 0",
            "says": "Squares are small.",
            "settings": "none",
            "runs": lambda scale, seed: [],
            "execute": execute,
            "draw": draw,
            "see": lambda rows: f"We see {len(rows)} rows.",
            "claims": (Claim("Section 0", "all squares are < 10", judge, "Some numbers are larger."),),
            **changes,
        }
    )


def numbered(numbers, log, pause=0.0):
    return [Run({"number": number, "log": str(log), "pause": pause}, cost=number) for number in numbers]


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # shells switch it off for what runs in the background
    folder = Path(sys.argv[1])
    perform([(made_up(), numbered(range(6), folder / "log", pause=0.5))], folder, jobs=int(sys.argv[2]))
