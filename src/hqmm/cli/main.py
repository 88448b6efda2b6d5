"""The ``hqmm`` command: its subcommands are imported when they are called."""

from __future__ import annotations

from importlib import import_module

import click

# In the order in which help lists them; each lives in the file of its own name.
COMMANDS = {
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


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hqmm", prog_name="hqmm")
def main() -> None:
    """Hidden quantum Markov models and their classical relatives."""
