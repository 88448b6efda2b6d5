"""``hqmm reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from hqmm.experiments.experiment import Rows, Scale
    from hqmm.experiments.reproduce import Outcome
    from hqmm.experiments.runner import Progress


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--scale",
    type=click.Choice(["tiny", "quick", "paper"]),
    default="quick",
    show_default=True,
    help="paper: everything in full; quick: the same with fewer and shorter runs; tiny: only whether it runs.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for tables, figures and the page; results that are there already are not computed again.  "
    "[default: results/SCALE]",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at once.  [default: one for each core]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every run.")
def reproduce(names: tuple[str, ...], scale: str, output: Path | None, jobs: int | None, seed: int) -> None:
    """Run the paper's experiments (all, or those NAMED) and judge its claims.

    One goes beyond the paper, and is run only by its name: pautomac, distributions over strings.

    What is finished is stored at once: after Ctrl-C or a crash the same command goes on where it was.
    """
    from joblib import cpu_count

    from hqmm.cli.live import live
    from hqmm.errors import HqmmError
    from hqmm.experiments.reproduce import reproduce as run

    try:
        with live() as watch:
            folder = output or Path("results", scale)
            outcome = run(names, cast("Scale", scale), folder, jobs or cpu_count(), seed, watch)
    except HqmmError as error:
        raise click.ClickException(str(error)) from None
    _show(outcome)
    if any(one.failures for one in outcome.progress):
        raise click.exceptions.Exit(1)


def _show(outcome: Outcome) -> None:
    for one in outcome.progress:
        if not one.experiment.claims:
            _show_rows(one, outcome.page.parent)
    names = {one.experiment.name for one in outcome.progress}
    claims = [row for row in outcome.claims if row["experiment"] in names]
    if claims:
        _show_claims(claims)
    for one in outcome.progress:
        for problem in sorted(set(one.problems)):
            click.echo(f"{one.experiment.name}: {problem}", err=True)
    click.echo(f"Everything, with figures: {outcome.page}")


def _show_claims(claims: Rows) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="The paper's claims")
    table.add_column("verdict", no_wrap=True)
    for column in ("claim", "measured"):
        table.add_column(column)
    colours = {"holds": "green", "does not hold": "red", "not run": "dim"}
    for row in claims:
        verdict = f"[{colours[row['verdict']]}]{row['verdict']}[/]"
        table.add_row(verdict, f"{row['claim']} ({row['place']})", row["measured"])
    Console().print(table)


def _show_rows(progress: Progress, folder: Path) -> None:
    """Show the table of an experiment that the paper claims nothing about, and what we see in it."""
    from hqmm.cli.output import show_rows
    from hqmm.experiments.runner import collect

    experiment = progress.experiment
    rows, _ = collect(experiment, progress.runs, folder)
    shown = experiment.table(rows) if rows else []
    if shown:
        click.echo(experiment.title)
        show_rows(shown, as_json=False)
        click.echo(experiment.see(rows))
