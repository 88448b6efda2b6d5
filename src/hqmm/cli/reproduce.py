"""``hqmm reproduce``."""

from __future__ import annotations

import click


@click.command()
@click.option("--seed", default=0, show_default=True, help="Seed of the generated data.")
def reproduce(seed: int) -> None:
    """Fit models on data generated from the paper's HMM and print their scores."""
    from rich.console import Console
    from rich.table import Table

    from hqmm.experiments import quick

    table = Table(title="Description accuracy on data from the paper's (6, 6)-HMM (20 × 3000 symbols)")
    table.add_column("model")
    table.add_column("validation", justify="right")
    table.add_column("test", justify="right")
    for row in quick.run(seed):
        table.add_row(row.model, f"{row.validation:.4f}", f"{row.test:.4f}")
    Console().print(table)
