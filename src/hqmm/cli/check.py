"""``hqmm check``."""

from __future__ import annotations

import click

from hqmm.cli.options import json_option, model_argument


@click.command()
@model_argument
@click.option(
    "--length", type=click.IntRange(min=1), default=100, show_default=True, help="Longest sequence to try."
)
@click.option("--effort", type=click.IntRange(min=1), default=500, show_default=True, help="States to follow.")
@json_option
def check(model: str, length: int, effort: int, as_json: bool) -> None:
    """Search MODEL for negative probabilities, or prove that there are none.

    Exit code 1 if there is one. "undecided" means that none was found, and no proof either.
    """
    from hqmm.cli.output import show_facts
    from hqmm.models import load
    from hqmm.theory import certify

    found = certify(load(model), max_length=length, max_nodes=effort)
    facts = {"verdict": found.verdict, "reason": found.reason}
    if found.witness is not None:
        facts |= {"witness": found.witness, "probability": found.probability}  # type: ignore[dict-item]
    show_facts(facts, as_json)
    if found.verdict == "invalid":
        raise click.ClickException(f"{model} gives a negative probability; it is not a valid model")
