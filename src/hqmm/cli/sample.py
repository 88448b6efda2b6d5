"""``hqmm sample``."""

from __future__ import annotations

from typing import Any

import click

from hqmm.cli.options import json_option, model_argument, seed_option


@click.command()
@model_argument
@click.option(
    "-n", "--count", type=click.IntRange(min=1), default=1, show_default=True, help="How many sequences."
)
@click.option(
    "--length", type=click.IntRange(min=1), help="Symbols of each; 100 by default, or until the end symbol."
)
@click.option("--prefix", default="", help="Symbols already seen: characters, or tokens between blanks.")
@seed_option
@json_option
def sample(model: str, count: int, length: int | None, prefix: str, seed: int, as_json: bool) -> None:
    """Draw sequences from MODEL, one a line.

    Symbols are characters where each is one, and stand between blanks otherwise. With --json each line is a list.
    """
    from hqmm.cli.output import print_json
    from hqmm.cli.writing import as_text, without_end
    from hqmm.models import load

    chosen = load(model)
    if length is None and chosen.alphabet.end is None:
        length = 100
    drawn = chosen.sample(count, length, prefix=_symbols(prefix, chosen), random_state=seed)
    for line in without_end(drawn) if as_json else as_text(drawn):
        if as_json:
            print_json(line)
        else:
            click.echo(line)


def _symbols(text: str, model: Any) -> list[Any]:
    from hqmm.errors import DataError
    from hqmm.readers.encoding import symbols_of

    found = symbols_of(text, model.alphabet)
    for position, symbol in enumerate(found):
        if symbol is not None and symbol not in model.alphabet:
            raise DataError(f"--prefix, position {position}: the symbol {symbol!r} is not in {model.alphabet!r}")
    return found
