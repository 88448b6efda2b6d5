"""``hqmm classify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click
import numpy as np

from hqmm.cli.learning import learning_options
from hqmm.cli.options import (
    MODEL_FILE,
    READING,
    column,
    data_argument,
    json_option,
    output_option,
    reading_options,
    seed_option,
)


def class_file(text: str) -> tuple[str, str]:
    """Return the name and the file of NAME=FILE."""
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise click.BadParameter(f"{text!r} should be NAME=FILE, as in spam=spam.txt")
    return name, path


label_option = click.option(
    "--label", type=column, metavar="COLUMN", help="Column of the classes; 'label' by itself."
)
classes_argument = click.argument("classes", type=MODEL_FILE)


@click.group()
def classify() -> None:
    """Learn to tell classes of sequences apart.

    There is one model for each class: p(class | x) ∝ prior × P(x | class).
    """


@classify.command()
@data_argument(required=False)
@label_option
@click.option(
    "--class",
    "files",
    type=class_file,
    metavar="NAME=FILE",
    multiple=True,
    help="A file for each class, without DATA.",
)
@output_option("File to write.")
@click.option(
    "--objective",
    type=click.Choice(["generative", "discriminative"]),
    default="generative",
    show_default=True,
    help="Explain each class, or after that tell them apart.",
)
@click.option(
    "--prior",
    type=click.Choice(["empirical", "uniform"]),
    default="empirical",
    show_default=True,
    help="Of classes.",
)
@click.option(
    "--validation",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Share of each class to choose the iterate by (discriminative).",
)
@learning_options
@seed_option
@reading_options
@json_option
def train(
    data: str | None,
    label: str | int | None,
    files: tuple[tuple[str, str], ...],
    output: Path,
    objective: str,
    prior: str,
    validation: float | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn from labelled sequences.

    All models go into one file.
    """
    from hqmm.cli.classifying import Classified
    from hqmm.cli.fit import fit_quietly
    from hqmm.cli.learning import make_estimator
    from hqmm.cli.output import show_facts
    from hqmm.estimators import SequenceClassifier
    from hqmm.models.classes import Classes

    if (data is None) == (not files):
        raise click.UsageError("give DATA with labels, or files with --class NAME=FILE")
    if validation is not None and objective == "generative":
        raise click.UsageError("--validation goes with --objective discriminative")
    reading = {name: options.pop(name) for name in READING}
    inner = make_estimator(**options, random_state=seed)
    contents = _labelled(data, files, label, reading, inner.alphabet, bool(options["end"]))
    inner.set_params(alphabet=contents.sequences.alphabet)
    classifier = SequenceClassifier(
        inner, objective=cast(Any, objective), prior=prior, validation=validation, random_state=seed
    )
    advice = fit_quietly(classifier, contents.sequences, list(contents.labels))
    found = Classes(
        dict(zip(classifier.classes_.tolist(), classifier.models_, strict=True)), classifier.prior_, inner.burn_in
    )
    found.save(output)
    facts = {
        "classes": [f"{name}: {model!r}" for name, model in found.models.items()],
        "sequences": len(contents.sequences),
        **_quality(Classified(found, contents)),
    }
    if advice:
        facts["advice"] = "\n".join(advice)
    facts["classes"] = facts["classes"] if as_json else "\n".join(facts["classes"])
    show_facts(facts, as_json)


@classify.command()
@classes_argument
@data_argument()
@reading_options
@json_option
def predict(classes: str, data: str, as_json: bool, **reading: Any) -> None:
    """Say the class of each sequence, with probabilities."""
    from hqmm.cli.classifying import classified
    from hqmm.cli.options import names_of
    from hqmm.cli.output import show_rows

    found = classified(classes, data, reading, None)
    chances = np.exp(found.log_posterior)
    rows = zip(names_of(found.contents), found.guesses(), chances, strict=True)
    show_rows(
        (
            {"sequence": name, "class": guess, **dict(zip(map(str, found.labels), row.tolist(), strict=True))}
            for name, guess, row in rows
        ),
        as_json,
        told=set(map(str, found.labels)),
    )


@classify.command()
@classes_argument
@data_argument()
@label_option
@reading_options
@json_option
def test(classes: str, data: str, label: str | int | None, as_json: bool, **reading: Any) -> None:
    """Compare true with predicted classes."""
    from hqmm.cli.classifying import classified
    from hqmm.cli.output import print_json, show_facts, show_rows

    found = classified(classes, data, reading, label)
    truth, guesses = found.truth(), found.guesses()
    rows = [
        {
            "true": str(kind),
            **{
                str(other): sum(t == kind and g == other for t, g in zip(truth, guesses, strict=True))
                for other in found.labels
            },
        }
        for kind in found.labels
    ]
    facts = {"sequences": len(truth), **_quality(found)}
    if as_json:
        print_json({**facts, "confusion": rows})
        return
    show_facts(facts, as_json=False)
    click.echo()
    show_rows(rows, as_json=False, told=set(map(str, found.labels)))


def _labelled(
    data: str | None,
    files: tuple[tuple[str, str], ...],
    label: str | int | None,
    reading: dict[str, Any],
    alphabet: Any,
    end: bool,
) -> Any:
    from hqmm.cli.options import cleaned, read_data
    from hqmm.errors import DataError
    from hqmm.readers import read_classes
    from hqmm.sequences import Alphabet

    if data is None:
        known = alphabet if alphabet is None or isinstance(alphabet, Alphabet) else Alphabet(alphabet)
        return read_classes(dict(files), alphabet=known, end=end, **cleaned(reading))
    contents = read_data(data, reading, label=label, alphabet=alphabet, end=end)
    if contents.labels is None:
        raise DataError(f"{data} has no labels; name their column with --label")
    return contents


def _quality(found: Any) -> dict[str, Any]:
    truth, weights = found.truth(), found.contents.sequences.weights
    places = [found.labels.index(label) for label in truth]
    right = np.array([guess == label for guess, label in zip(found.guesses(), truth, strict=True)])
    return {
        "accuracy": float(np.average(right, weights=weights)),
        "log_probability": float(np.average(found.log_posterior[np.arange(len(places)), places], weights=weights)),
    }
