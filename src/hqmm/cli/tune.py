"""``hqmm tune``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hqmm.cli.learning import LEARNERS, PARAMETERS, symbols
from hqmm.cli.options import (
    DATA_FILE,
    OutputFile,
    burn_in_option,
    data_argument,
    json_option,
    output_option,
    reading_options,
    seed_option,
)
from hqmm.cli.remembering import Remembering

if TYPE_CHECKING:
    from hqmm.tuning import Result, Tuned

_POSITIVE = click.IntRange(min=1)


def named_range(text: str) -> tuple[str, str]:
    """Return the name and the range of NAME=RANGE."""
    name, separator, values = text.partition("=")
    if not (name and separator and values):
        raise click.BadParameter(f"{text!r} should be NAME=RANGE, as in states=2:6 or step=0.1:1:log")
    return name, values


@click.command(cls=Remembering)
@data_argument()
@output_option("Model file to write.")
@click.option("--learner", type=click.Choice(LEARNERS), default="cosm", show_default=True, help="What to tune.")
@click.option(
    "--range",
    "ranges",
    type=named_range,
    metavar="NAME=RANGE",
    multiple=True,
    help="A setting of the learner, or states, blocks or rank: low:high, low:high:log, or options with commas.",
)
@click.option("--states", type=_POSITIVE, default=2, show_default=True, help="Where no range names them.")
@click.option("--blocks", type=_POSITIVE, default=1, show_default=True, help="Labels of a hybrid model.")
@click.option("--rank", type=_POSITIVE, default=1, show_default=True, help="Kraus operators.")
@click.option(
    "--schedule",
    type=click.Choice(["hyperband", "halving", "paper"]),
    default="hyperband",
    show_default=True,
    help="How many configurations are trained for how long.",
)
@click.option("--max-iter", type=_POSITIVE, default=27, show_default=True, help="Iterations of the longest.")
@click.option("--validation", type=DATA_FILE, help="Held-out data; a fifth of DATA by default.")
@burn_in_option
@click.option("--alphabet", type=symbols, metavar="SYMBOLS", help="All that may occur: ACGT, 'x y z', or 6 (0–5).")
@click.option("--end", is_flag=True, help="Sequences end: learn distributions of finite strings.")
@click.option("--jobs", type=_POSITIVE, default=1, show_default=True, help="Trials at once.")
@click.option("--storage", help="SQLite file or database that keeps the trials and lets processes share the work.")
@click.option("--study", default="hqmm", show_default=True, help="Which study of the storage.")
@click.option("--results", type=OutputFile(), help="Write all trials as CSV.")
@seed_option
@reading_options
@json_option
@click.pass_context
def tune(
    context: click.Context,
    /,
    data: str,
    output: Path,
    learner: str,
    ranges: tuple[tuple[str, str], ...],
    states: int,
    blocks: int,
    rank: int,
    schedule: str,
    max_iter: int,
    validation: str | None,
    burn_in: int,
    alphabet: Any,
    end: bool,
    jobs: int,
    storage: str | None,
    study: str,
    results: Path | None,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Search for settings and sizes that predict held-out data best, and write the best model.

    Many configurations are trained for a short time, and the best of them for longer. With --storage an
    interrupted search goes on where it was when the same command is given again.
    """
    from hqmm.cli.options import read_data
    from hqmm.cli.output import show_facts
    from hqmm.models import save
    from hqmm.tuning import parse_range
    from hqmm.tuning import tune as search

    space = {PARAMETERS.get(name, name): parse_range(text) for name, text in ranges}
    train = read_data(data, reading, alphabet=alphabet, end=end).sequences
    held_out = None
    if validation is not None:
        end = train.alphabet.end is not None
        held_out = read_data(validation, reading, alphabet=train.alphabet, end=end).sequences
    try:
        with _progress(schedule, max_iter) as report:
            found = search(
                train,
                validation=held_out,
                learner=learner,
                n_states=states,
                n_blocks=blocks,
                kraus_rank=rank,
                space=space or None,
                schedule=schedule,
                max_iter=max_iter,
                burn_in=burn_in,
                random_state=seed,
                storage=storage,
                study_name=study,
                n_jobs=jobs,
                on_result=report,
            )
    except KeyboardInterrupt:
        again = f". To go on: {shlex.join(context.meta['arguments'])}" if storage is not None else ""
        raise click.ClickException(f"interrupted{again}") from None
    save(found.model, output)
    if results is not None:
        _write(found, results)
    show_facts(_summary(found), as_json)


def _summary(found: Tuned) -> dict[str, Any]:
    failed = sum(result.error is not None for result in found.search.results)
    return {
        "model": repr(found.model),
        **found.parameters,
        "iterations": found.search.best.resource,
        "validation_per_symbol": found.search.best.score,
        "validation_description_accuracy": found.search.best.details.get("validation_da"),
        "trials": len(found.search.results),
        **({"failed": failed} if failed else {}),
    }


def _write(found: Tuned, path: Path) -> None:
    import csv

    rows = found.search.rows()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


@contextmanager
def _progress(schedule: str, max_iter: int) -> Iterator[Callable[[Result], None]]:
    """Yield what is told of every result; silent unless standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda result: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from hqmm.tuning.schedules import as_schedule

    best = float("-inf")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("tuning", total=as_schedule(schedule, max_iter).n_trials)

        def report(result: Result) -> None:
            nonlocal best
            best = max(best, result.score) if result.error is None else best
            bar.update(task, advance=1, description=f"best log-likelihood per symbol {best:.5f}")

        yield report
