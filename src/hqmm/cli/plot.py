"""``hqmm plot``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hqmm.cli.options import (
    MODEL_FILE,
    burn_in_option,
    column,
    data_argument,
    model_argument,
    output_option,
    reading_options,
)

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def plot() -> None:
    """Draw models, sequences and histories to files (.svg, .png, .pdf)."""


picture_option = output_option("Picture to write.")
sequence_option = click.option(
    "--sequence", type=click.IntRange(min=0), default=0, show_default=True, help="Which sequence of DATA, from 0."
)
first_option = click.option(
    "--first", type=click.IntRange(min=1), default=200, show_default=True, help="How many of its symbols, at most."
)


@plot.command()
@click.argument("history", type=click.Path(dir_okay=False, readable=False, path_type=Path))
@click.option("--x", type=click.Choice(["iteration", "passes", "seconds"]), default="iteration", show_default=True)
@click.option("--accuracy", is_flag=True, help="Description accuracy instead of log-likelihoods.")
@picture_option
def history(history: Path, x: str, accuracy: bool, output: Path) -> None:
    """Draw how a fit went.

    HISTORY is the CSV file that `hqmm fit --history` wrote.
    """
    from hqmm.plots import HistoryDisplay
    from hqmm.plots.history import best_row

    columns = _read_history(history)
    y = "description accuracy" if accuracy else "log-likelihood"
    _write(lambda: HistoryDisplay(columns, best_row(columns)).plot(x=x, y=y), output)


@plot.command()
@model_argument
@data_argument()
@sequence_option
@first_option
@picture_option
@reading_options
def prediction(model: str, data: str, sequence: int, first: int, output: Path, **reading: Any) -> None:
    """Draw what a model expects along a sequence."""
    from hqmm.plots import PredictionDisplay

    _along(PredictionDisplay.from_model, model, data, sequence, first, output, reading)


@plot.command()
@model_argument
@data_argument()
@sequence_option
@first_option
@picture_option
@reading_options
def states(model: str, data: str, sequence: int, first: int, output: Path, **reading: Any) -> None:
    """Draw the state of a model along a sequence."""
    from hqmm.plots import StateDisplay

    _along(StateDisplay.from_model, model, data, sequence, first, output, reading)


@plot.command()
@model_argument
@data_argument()
@sequence_option
@first_option
@picture_option
@reading_options
def labels(model: str, data: str, sequence: int, first: int, output: Path, **reading: Any) -> None:
    """Draw labels, or states of an HMM, along a sequence.

    The labels are those of a hybrid model; the heights are their probabilities, given the symbols so far.
    """
    from hqmm.plots import LabelDisplay

    _along(LabelDisplay.from_model, model, data, sequence, first, output, reading)


@plot.command()
@model_argument
@data_argument()
@sequence_option
@first_option
@picture_option
@reading_options
def bloch(model: str, data: str, sequence: int, first: int, output: Path, **reading: Any) -> None:
    """Draw a two-dimensional state in the Bloch sphere.

    MODEL is an HQMM or a NOOM of two states, which moves along a sequence of DATA; a film, if FILE ends in .gif.
    """
    from hqmm.plots import BlochDisplay

    if output.suffix.lower() != ".gif":
        _along(BlochDisplay.from_model, model, data, sequence, first, output, reading)
        return
    chosen, row = _model_and_sequence(model, data, sequence, first, reading)
    _without_windows()
    BlochDisplay.animate(chosen, row).save(output, writer="pillow")
    _close()


@plot.command()
@model_argument
@picture_option
def operators(model: str, output: Path) -> None:
    """Draw the operators of a model.

    The area of a square is an entry's magnitude, its colour the phase.
    """
    from hqmm.models import load
    from hqmm.plots import OperatorDisplay

    _write(lambda: OperatorDisplay.from_model(load(model)), output)


@plot.command()
@model_argument
@picture_option
def choi(model: str, output: Path) -> None:
    """Draw how many Kraus operators a model really uses.

    These are the eigenvalues of each symbol's Choi matrix.
    """
    from hqmm.models import load
    from hqmm.plots import ChoiSpectrumDisplay

    _write(lambda: ChoiSpectrumDisplay.from_model(load(model)), output)


@plot.command()
@model_argument
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="Least to draw.")
@picture_option
def graph(model: str, threshold: float, output: Path) -> None:
    """Draw how states or labels follow each other.

    MODEL is an HMM, or a hybrid model, whose labels are shown. The width of an arrow is the probability of a
    transition, the area of a disc how often a state is visited.
    """
    from hqmm.models import load
    from hqmm.plots import GraphDisplay

    _write(lambda: GraphDisplay.from_model(load(model), threshold=threshold), output)


@plot.command()
@data_argument()
@click.argument("models", type=MODEL_FILE, nargs=-1, required=True)
@burn_in_option
@picture_option
@reading_options
def sizes(data: str, models: tuple[str, ...], burn_in: int, output: Path, **reading: Any) -> None:
    """Draw how good models are against their size.

    Good is the description accuracy of MODELS on DATA; there is one line for each class of models.
    """
    from hqmm.cli.options import read_for
    from hqmm.models import Model, load
    from hqmm.plots import SizeDisplay

    families: dict[str, list[Model]] = {}
    for path in models:
        model = load(path)
        families.setdefault(type(model).__name__, []).append(model)
    sequences = read_for(next(iter(families.values()))[0], data, reading).sequences
    _write(lambda: SizeDisplay.from_models(families, sequences, burn_in=burn_in), output)


@plot.command()
@click.argument("classifier", type=MODEL_FILE)
@data_argument()
@click.option("--label", type=column, metavar="COLUMN", help="Column of the true classes.")
@picture_option
@reading_options
def confusion(classifier: str, data: str, label: str | int | None, output: Path, **reading: Any) -> None:
    """Draw which classes a classifier confuses.

    CLASSIFIER is what `hqmm classify train` wrote, DATA are labelled sequences.
    """
    from hqmm.cli.classifying import classified
    from hqmm.plots import ConfusionDisplay

    found = classified(classifier, data, reading, label)
    truth = found.truth()
    _write(lambda: ConfusionDisplay.from_predictions(truth, found.guesses()), output)


def _along(
    draw: Callable[..., Any],
    model: str,
    data: str,
    sequence: int,
    first: int,
    output: Path,
    reading: dict[str, Any],
) -> None:
    chosen, row = _model_and_sequence(model, data, sequence, first, reading)
    _write(lambda: draw(chosen, row), output)


def _model_and_sequence(
    model: str, data: str, sequence: int, first: int, reading: dict[str, Any]
) -> tuple[Any, list[Any]]:
    from hqmm.cli.options import read_beginnings
    from hqmm.errors import DataError
    from hqmm.models import load

    chosen = load(model)
    rows, _ = read_beginnings(chosen, data, reading)
    if sequence >= len(rows):
        raise DataError(f"{data} holds {len(rows)} sequences, numbered from 0; there is no sequence {sequence}")
    return chosen, rows[sequence][:first]


def _write(draw: Callable[[], Any], output: Path) -> None:
    """Draw and save, in the format that the name tells."""
    _without_windows()
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if output.suffix.lower().removeprefix(".") not in known:
        raise click.UsageError(f"{output} should end in one of .{', .'.join(sorted(known))}")
    draw().figure_.savefig(output)
    _close()


def _without_windows() -> None:
    import matplotlib

    matplotlib.use("Agg")


def _close() -> None:
    import matplotlib.pyplot as plt

    plt.close()


def _read_history(path: Path) -> dict[str, Any]:
    import csv

    import numpy as np

    from hqmm.errors import DataError

    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        table = np.array([[float(value) for value in row] for row in rows])
        columns = dict(zip(header, table.T, strict=True))
        if not {"iteration", "train"} <= columns.keys():
            raise ValueError
    except (ValueError, csv.Error):
        raise DataError(f"{path} is not a history that `hqmm fit --history` wrote") from None
    return columns
