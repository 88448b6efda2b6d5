"""``hqmm bench``."""

from __future__ import annotations

import click

from hqmm.cli.options import json_option


@click.command()
@click.option(
    "--seconds", type=click.FloatRange(min=0.01), default=0.7, show_default=True, help="For each number."
)
@click.option(
    "--states", type=click.IntRange(min=1), multiple=True, default=(2, 4, 6, 8), show_default=True, help="Sizes n."
)
@json_option
def bench(seconds: float, states: tuple[int, ...], as_json: bool) -> None:
    """Measure the engine's gradient on one thread, and a matrix product beside it."""
    from dataclasses import asdict

    from hqmm.cli.output import note, print_json
    from hqmm.engine.speed import measure

    speed = measure(states, seconds)
    if as_json:
        print_json({**asdict(speed), "advice": speed.advice})
    else:
        click.echo(speed)
    if speed.advice:
        note(f"Warning: {speed.advice}")
