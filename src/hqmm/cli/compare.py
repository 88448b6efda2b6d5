"""``hqmm compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hqmm.cli.options import DATA_FILE, MODEL_FILE, burn_in_option, json_option, reading_options, seed_option

if TYPE_CHECKING:
    from hqmm.models import Model


@click.command()
@click.argument("models", type=MODEL_FILE, nargs=-1, required=True)
@click.option("--data", type=DATA_FILE, help="Sequences to score all models on.")
@click.option(
    "--length", type=click.IntRange(min=1), default=1000, show_default=True, help="Of sampled sequences."
)
@click.option("--count", type=click.IntRange(min=2), default=100, show_default=True, help="How many are sampled.")
@burn_in_option
@seed_option
@reading_options
@json_option
def compare(
    models: tuple[str, ...],
    data: str | None,
    length: int,
    count: int,
    burn_in: int,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Say how MODELS differ.

    Two models: whether they define the same process (exactly, with a sequence that tells them apart if not), and
    the divergence of each from the other in nats per symbol, estimated from sampled sequences. With --data, how
    well each of any number of models explains it, best first.
    """
    from hqmm.cli.options import read_for
    from hqmm.cli.output import print_json, show_facts, show_rows
    from hqmm.cli.scoring import scores
    from hqmm.models import load

    if len(models) < 2 or (len(models) > 2 and data is None):
        raise click.UsageError("name two models, or more with --data")
    loaded = {path: load(path) for path in models}
    table = []
    if data is not None:
        table = [
            {"model": path, **scores(model, read_for(model, data, reading).sequences, burn_in)}
            for path, model in loaded.items()
        ]
        table.sort(key=lambda row: -row["per_symbol"])
    if len(models) > 2:
        show_rows(table, as_json)
        return
    facts = _difference(loaded[models[0]], loaded[models[1]], count, length, seed)
    if as_json:
        print_json({**facts, "scores": table} if table else facts)
        return
    show_facts(facts, as_json=False)
    if table:
        click.echo()
        show_rows(table, as_json=False)


def _difference(a: Model, b: Model, count: int, length: int, seed: int) -> dict[str, Any]:
    from hqmm.theory import divergence_rate, equivalent

    same = equivalent(a, b)
    facts: dict[str, Any] = {"equivalent": same.equal}
    if not same.equal:
        facts |= {"told_apart_by": same.witness, "its_probabilities": same.probabilities}
        if same.probabilities is not None:
            one, other = same.probabilities
            facts["which_differ_by"] = abs(one - other) / max(abs(one), abs(other))  # as a share of the larger
        for name, (first, second) in {"divergence": (a, b), "divergence_back": (b, a)}.items():
            estimate = divergence_rate(first, second, count, length, random_state=seed)
            facts |= {name: estimate.value, f"{name}_error": estimate.error}
    return facts
