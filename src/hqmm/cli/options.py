"""Options that commands share, and what becomes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hqmm.errors import DataError, NegativeProbabilityError

if TYPE_CHECKING:
    from hqmm.models import Model
    from hqmm.readers import Contents
    from hqmm.sequences import Symbol

F = TypeVar("F", bound=Callable[..., Any])

# The formats by name; `hqmm.readers.FORMATS` has their readers, whose imports help should not wait for.
FORMATS = ("lines", "csv", "tsv", "fasta", "jsonl", "parquet", "npy", "npz", "mat", "pautomac")

# The names of the options that `reading_options` adds.
READING = ("format", "sep", "column", "weight", "missing")


def column(text: str) -> str | int:
    """Return a column by name, or by number from 1."""
    return int(text) if text.isdecimal() else text


class OutputFile(click.ParamType):  # type: ignore[type-arg]  # older versions have no argument
    """A file to write; that there is no place for it is found out before the work, not after it."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, if something can be written there."""
        path = Path(value)
        folder = path.parent
        if path.is_dir():
            self.fail(f"{path} is a folder; name a file in it", param, ctx)
        if not folder.is_dir():
            raise click.ClickException(f"there is no folder {folder} to write {path.name} into")
        special = path.exists() and not path.is_file()  # a device; files are replaced by new ones of the folder
        if not os.access(path if special else folder, os.W_OK):
            raise click.ClickException(f"{path} cannot be written: permission denied")
        return path


class InputFile(click.Path):
    """A file to read; that it may not be read is no wrong usage."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, unless there is something that may not be read."""
        path = os.fsdecode(super().convert(value, param, ctx))
        if os.path.exists(path) and not os.access(path, os.R_OK):
            raise click.ClickException(f"{path} cannot be read: permission denied")
        return path


MODEL_FILE = InputFile(dir_okay=False, readable=False)
DATA_FILE = InputFile(allow_dash=True, readable=False)

model_argument = click.argument("model", type=MODEL_FILE)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
burn_in_option = click.option(
    "--burn-in", type=click.IntRange(min=0), default=0, help="Symbols at the start of each sequence not to score."
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed gives the same result."
)


def data_argument(required: bool = True) -> Callable[[F], F]:
    """Return a decorator that adds the argument DATA; ``-`` is standard input."""
    return click.argument("data", type=DATA_FILE, required=required)


def output_option(help: str, required: bool = True) -> Callable[[F], F]:
    """Return a decorator that adds --output, a file."""
    return click.option("--output", type=OutputFile(), required=required, help=help)


def reading_options(command: F) -> F:
    """Add what readers need to know; the values go to `read_data` as one mapping."""
    options = (
        click.option("--format", type=click.Choice(FORMATS), help="Format of DATA; by default its name tells."),
        click.option("--sep", help="What separates symbols: ' ' is any blank, '' makes each character a symbol."),
        click.option(
            "--column",
            type=column,
            metavar="COLUMN",
            help="Column (name, or number from 1) that holds the sequences.",
        ),
        click.option("--weight", type=column, metavar="COLUMN", help="Column of weights."),
        click.option("--missing", help="What stands for a missing symbol."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def read_data(path: str, reading: dict[str, Any], **more: Any) -> Contents:
    """Read a data file as the options say."""
    from hqmm.readers import read

    return read(path, **cleaned(reading), **more)


def cleaned(reading: dict[str, Any]) -> dict[str, Any]:
    r"""Return the options of reading; a separator written as ``\t`` is a tab."""
    separator = reading.get("sep")
    return reading if separator is None else {**reading, "sep": separator.replace("\\t", "\t")}


def read_for(model: Model, path: str, reading: dict[str, Any]) -> Contents:
    """Read whole sequences for a model: with its alphabet, and its end symbol if it has one."""
    return read_data(path, reading, alphabet=model.alphabet, end=model.alphabet.end is not None)


def read_beginnings(
    model: Model, path: str, reading: dict[str, Any]
) -> tuple[list[list[Symbol | None]], list[str]]:
    """Read the beginnings of sequences, which have no end, and what to call each."""
    contents = read_data(path, reading, alphabet=model.alphabet)
    sequences = contents.sequences
    rows = sequences.decode()
    end = sequences.alphabet.end
    if end is not None:  # from a format that always has one
        rows = [
            row[:-1] if len(codes) and codes[-1] == end else row
            for row, codes in zip(rows, sequences, strict=True)
        ]
    return rows, names_of(contents)


def names_of(contents: Contents) -> list[str]:
    """Return what to call each sequence: its name, or its number from 0, as in error messages."""
    return list(contents.names or map(str, range(len(contents.sequences))))


@contextmanager
def naming(sequence: int) -> Iterator[None]:
    """Let errors of work on a single sequence name it by its number in the data."""
    try:
        yield
    except NegativeProbabilityError as error:
        raise NegativeProbabilityError(sequence, error.position, error.probability) from None
    except DataError as error:
        if error.sequence is None:
            raise
        said = str(error).split(": ", 1)[1]
        raise DataError(said, sequence, error.position) from None
