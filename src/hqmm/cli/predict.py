"""``hqmm predict``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from hqmm.cli.options import data_argument, json_option, model_argument, naming, read_beginnings, reading_options

if TYPE_CHECKING:
    from hqmm.models import Model
    from hqmm.sequences import Symbol


@click.command()
@model_argument
@data_argument(required=False)
@click.option(
    "--horizon", type=click.IntRange(min=1), default=1, show_default=True, help="How many symbols ahead."
)
@click.option("--along", is_flag=True, help="Predict every symbol of a sequence from those before it.")
@reading_options
@json_option
def predict(model: str, data: str | None, horizon: int, along: bool, as_json: bool, **reading: Any) -> None:
    """Say with what probabilities each symbol comes next after the sequences of DATA (- is standard input).

    Without DATA, what a sequence begins with. Further ahead, probabilities are those of a symbol whatever comes
    between.
    """
    from hqmm.cli.output import show_rows
    from hqmm.models import load

    if along and (horizon > 1 or data is None):
        raise click.UsageError("--along needs DATA, and goes without --horizon")
    chosen = load(model)
    rows, names = ([[]], ["0"]) if data is None else read_beginnings(chosen, data, reading)
    show_rows(_predicted(chosen, rows, names, horizon, along), as_json, told=set(map(str, chosen.alphabet)))


def _predicted(
    model: Model, rows: list[list[Symbol | None]], names: list[str], horizon: int, along: bool
) -> Iterator[dict[str, Any]]:
    for number, (row, name) in enumerate(zip(rows, names, strict=True)):
        with naming(number):
            found = model.predict(row, along=True)[:-1] if along else model.forecast(row, horizon)
        for step, distribution in enumerate(found):
            place = {"position": step, "symbol": row[step]} if along else {"ahead": step + 1}
            chances = zip(map(str, model.alphabet), distribution.tolist(), strict=True)
            yield {"sequence": name, **place, **dict(chances)}
