"""``hqmm filter``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hqmm.cli.options import (
    data_argument,
    json_option,
    model_argument,
    naming,
    output_option,
    read_beginnings,
    reading_options,
)

if TYPE_CHECKING:
    from hqmm._typing import AnyArray
    from hqmm.models import Model


@click.command()
@model_argument
@data_argument()
@output_option("Write the whole states to a file of NumPy (.npz).", required=False)
@reading_options
@json_option
def filter(model: str, data: str, output: Path | None, as_json: bool, **reading: Any) -> None:
    """Follow the state of MODEL along the sequences of DATA (- is standard input).

    One line tells the state after one symbol: probabilities of an HMM's states and of a hybrid model's labels, the
    diagonal of a density matrix and its purity, the entries of other states. --json and --output have all entries.
    """
    from hqmm.cli.output import note, print_json, show_rows
    from hqmm.models import load

    chosen = load(model)
    rows, names = read_beginnings(chosen, data, reading)
    states = []
    for number, row in enumerate(rows):
        with naming(number):
            states.append(chosen.filter(row))
    if output is not None:
        with output.open("wb") as file:
            arrays: dict[str, Any] = {f"states_{number}": one for number, one in enumerate(states)}
            np.savez_compressed(file, **arrays)
        note(f"{sum(map(len, states))} states written to {output}")
    elif as_json:
        print_json([{"sequence": name, "states": one} for name, one in zip(names, states, strict=True)])
    else:
        show_rows(_lines(chosen, rows, names, states), as_json=False)


def _lines(model: Model, rows: list[Any], names: list[str], states: list[AnyArray]) -> Iterator[dict[str, Any]]:
    from hqmm.cli.states import columns_of

    for name, row, along in zip(names, rows, states, strict=True):
        columns = columns_of(model, along)
        for position, symbol in enumerate(row):
            entries = {title: values[position].item() for title, values in columns.items()}
            yield {"sequence": name, "position": position, "symbol": symbol, **entries}
