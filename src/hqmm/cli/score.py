"""``hqmm score``."""

from __future__ import annotations

from typing import Any

import click

from hqmm.cli.options import burn_in_option, data_argument, json_option, model_argument, reading_options


@click.command()
@model_argument
@data_argument()
@click.option("--each", is_flag=True, help="One line for each sequence.")
@burn_in_option
@reading_options
@json_option
def score(model: str, data: str, each: bool, burn_in: int, as_json: bool, **reading: Any) -> None:
    """Say how well MODEL explains the sequences of DATA (- is standard input).

    Log-likelihoods are natural; description accuracy is the paper's: 1 is certainty about every symbol, 0 no
    better than guessing.
    """
    from hqmm.cli.options import names_of, read_for
    from hqmm.cli.output import show_facts, show_rows
    from hqmm.cli.scoring import each_score, scores
    from hqmm.models import load

    chosen = load(model)
    contents = read_for(chosen, data, reading)
    if each:
        show_rows(each_score(chosen, contents.sequences, burn_in, names_of(contents)), as_json)
    else:
        show_facts(scores(chosen, contents.sequences, burn_in), as_json)
