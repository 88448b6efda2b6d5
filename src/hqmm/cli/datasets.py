"""``hqmm datasets``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hqmm.cli.options import json_option


@click.group()
def datasets() -> None:
    """List, describe and fetch data sets."""


@datasets.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the data sets there are."""
    from hqmm.cli.output import show_rows
    from hqmm.datasets import describe, list_datasets

    show_rows(({"name": name, "summary": describe(name).summary} for name in list_datasets()), as_json)


@datasets.command("describe")
@click.argument("name")
@json_option
def describe_(name: str, as_json: bool) -> None:
    """Say what a data set is and where it comes from."""
    from hqmm.cli.output import show_facts
    from hqmm.datasets import describe

    entry = describe(name)
    show_facts({"name": entry.name, "summary": entry.summary, "origin": entry.origin}, as_json)


@datasets.command("fetch")
@click.argument("name")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Folder; NAME by default.")
@json_option
def fetch(name: str, output: Path | None, as_json: bool) -> None:
    """Write a data set to text files.

    The other commands read them. The true model, if there is one, is written, too.
    What is not at hand is downloaded once, and its checksum compared.
    """
    from hqmm.cli.output import note, show_rows
    from hqmm.datasets import load_dataset

    data: Any = load_dataset(name)
    folder = Path(name) if output is None else output
    folder.mkdir(parents=True, exist_ok=True)
    note(f"{name}: {data.source}")
    show_rows(_written(name, data, folder), as_json)


def _written(name: str, data: Any, folder: Path) -> list[dict[str, Any]]:
    from hqmm.cli.writing import as_text
    from hqmm.models import save

    rows = []

    def write(path: Path, sequences: Any, lines: list[str]) -> None:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        rows.append({"file": str(path), "sequences": len(sequences), "symbols": sequences.n_symbols})

    if hasattr(data, "labels"):
        texts = zip(as_text(data.sequences), data.labels.tolist(), strict=True)
        table = ["sequence,label", *(f"{text},{label}" for text, label in texts)]
        write(folder / f"{name}.csv", data.sequences, table)
        return rows
    for part in ("train", "validation", "test"):
        sequences = getattr(data, part)
        write(folder / f"{part}.txt", sequences, list(as_text(sequences)))
    rows.append({"file": str(save(data.truth, folder / "truth.hqmm")), "sequences": None, "symbols": None})
    return rows
