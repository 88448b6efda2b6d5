"""``hqmm inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hqmm.cli.options import json_option, model_argument

if TYPE_CHECKING:
    from hqmm.models import Model
    from hqmm.models.classes import Classes

# Above this dimension of the real form, what needs decompositions of it is left out.
LARGEST = 400


@click.command()
@model_argument
@json_option
def inspect(model: str, as_json: bool) -> None:
    """Say what is in MODEL: class, sizes, parameters, spectrum, validity.

    Of a file that `hqmm classify train` wrote, the model of each class and the prior.
    """
    from hqmm.cli.output import show_facts
    from hqmm.models import load
    from hqmm.models.classes import KIND, Classes
    from hqmm.storage import read_bundle

    if read_bundle(Path(model))[1].get("class") == KIND:
        facts = _of_classes(Classes.load(model))
    else:
        facts = _facts(load(model))
    show_facts(facts, as_json)


def _of_classes(found: Classes) -> dict[str, Any]:
    priors = zip(found.models.items(), found.prior.tolist(), strict=True)
    return {
        "class": "classes",
        **{f"class {label}": f"{model!r}, prior {prior:.6g}" for (label, model), prior in priors},
        "burn_in": found.burn_in,
    }


def _facts(model: Model) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": repr(model),
        "class": type(model).__name__,
        "symbols": list(model.alphabet.symbols[:50]),
        "symbol_count": model.n_symbols,
        "end_symbol": model.alphabet.end is not None,
    }
    for title, name in (
        ("states", "n_states"),
        ("labels", "n_blocks"),
        ("kraus_rank", "kraus_rank"),
        ("contexts", "n_contexts"),
    ):
        if hasattr(model, name):
            facts[title] = int(getattr(model, name))
    if hasattr(model, "canonical"):
        facts["kraus_rank_needed"] = model.canonical().kraus_rank
    facts["free_parameters"] = _free_parameters(model)
    if _dimension(model) <= LARGEST:
        facts |= _analysed(model)
    return facts


def _free_parameters(model: Model) -> int:
    from hqmm.estimators.counting import n_parameters

    return n_parameters(model)


def _dimension(model: Model) -> int:
    return int(getattr(model, "n_contexts", 0)) or model.linear.dimension


def _analysed(model: Model) -> dict[str, Any]:
    from hqmm.theory import certify, minimize

    form = model.linear
    moduli = np.sort(np.abs(np.linalg.eigvals(form.operators.sum(axis=0))))[::-1]
    found = certify(model)
    facts: dict[str, Any] = {
        "dimension": form.dimension,
        "dimension_needed": minimize(model).dimension,
        "spectrum": [float(f"{value:.6g}") for value in moduli[:8]],
    }
    if len(moduli) > 1 and 1e-12 < moduli[1] < 1 - 1e-9:
        facts["memory"] = float(-1 / np.log(moduli[1]))  # symbols after which what happened fades by e
    return facts | {"validity": found.verdict, "because": found.reason}
