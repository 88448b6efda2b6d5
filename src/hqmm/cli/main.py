"""The ``hqmm`` command: its subcommands are imported when they are called."""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Any

import click

from hqmm.errors import HqmmError

# In the order in which help lists them; each lives in the file of its own name.
COMMANDS = {
    "fit": "Learn a model from sequences.",
    "tune": "Search for the best settings and sizes.",
    "score": "Say how well a model explains sequences.",
    "predict": "Say which symbols come next.",
    "sample": "Draw sequences from a model.",
    "filter": "Follow a model's state along sequences.",
    "classify": "Tell classes of sequences apart.",
    "convert": "Turn a model into another class or form.",
    "inspect": "Say what is in a model file.",
    "compare": "Say how models differ, and which explains data best.",
    "check": "Search a model for negative probabilities.",
    "plot": "Draw models, sequences and histories.",
    "datasets": "List, describe and fetch data sets.",
    "bench": "Measure how fast the engine is on this machine.",
    "reproduce": "Run the paper's experiments and judge its claims.",
}


class LateGroup(click.Group):
    """A group that imports ``hqmm.cli.<name>`` only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"hqmm.cli.{cmd_name}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; wrong data or a wrong model is one line on standard error and exit code 1."""
        try:
            return super().invoke(ctx)
        except (HqmmError, ImportError, MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # whoever reads has seen enough
            raise click.ClickException(_one_line(error)) from None


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:  # without the number, which says nothing to people
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hqmm", prog_name="hqmm")
def main() -> None:
    """Hidden quantum Markov models and their classical relatives.

    Exit codes: 0 fine, 1 the data or the model is wrong, 2 the command is.
    """
