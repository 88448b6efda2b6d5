"""``hqmm convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from hqmm.cli.options import model_argument, output_option
from hqmm.errors import ModelError

if TYPE_CHECKING:
    from hqmm.models import Model

# For each target the method that leads there, with its options, and the class that has it where only one does.
WAYS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "hmm": ("to_hmm", {}, None),
    "oom": ("to_oom", {}, None),
    "hqmm": ("to_hqmm", {}, None),
    "hybrid": ("to_hybrid", {}, None),
    "canonical": ("canonical", {}, None),
    "standard": ("standard", {}, None),
    "classical": ("decohere", {}, None),
    "liouville": ("to_oom", {"form": "liouville"}, "HQMM"),
    "circuit": ("to_hqmm", {"method": "circuit"}, "HMM"),
}


@click.command()
@model_argument
@click.option(
    "--to",
    "target",
    type=click.Choice([*WAYS, "minimal"]),
    required=True,
    help="A class that holds the model, or a form: canonical (fewest Kraus operators), minimal (smallest OOM), "
    "standard (an OOM whose states sum to one), liouville (the complex OOM of an HQMM), circuit (the HQMM of an "
    "HMM's unitary circuit), classical (measured after every step: another process).",
)
@click.option(
    "--rank", type=click.IntRange(min=1), help="Then reduce an HQMM to so many Kraus operators a symbol."
)
@output_option("File to write.")
def convert(model: str, target: str, rank: int | None, output: Path) -> None:
    """Turn MODEL into another class or form and write it.

    The process stays the same, except with --to classical and --rank.
    """
    from hqmm.cli.output import note
    from hqmm.models import HQMM, load, save

    source = load(model)
    converted = _converted(source, target)
    if rank is not None:
        if not isinstance(converted, HQMM):
            raise click.UsageError("--rank reduces an HQMM; say --to hqmm or --to canonical")
        converted = converted.compress(rank)
    save(converted, output)
    note(f"{source!r} → {converted!r}, written to {output}")


def _converted(model: Any, target: str) -> Model:
    from hqmm.theory import minimize

    if target == "minimal":
        return minimize(model)
    if target == type(model).__name__.lower():  # an HMM has no method that returns itself
        return cast("Model", model)
    if not _leads(model, target):
        possible = ", ".join(other for other in WAYS if _leads(model, other))
        raise ModelError(f"{model!r} cannot be turned into {target!r}; it can into {possible}, minimal")
    name, options, _ = WAYS[target]
    return cast("Model", getattr(model, name)(**options))


def _leads(model: Any, target: str) -> bool:
    name, _, only = WAYS[target]
    return hasattr(model, name) and only in (None, type(model).__name__)
