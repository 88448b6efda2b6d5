"""Commands that can tell how to call them again."""

from __future__ import annotations

import click


class Remembering(click.Command):
    """A command that keeps its arguments in ``context.meta["arguments"]``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments, the name of the command first."""
        ctx.meta["arguments"] = [*ctx.command_path.split(), *args]
        return super().parse_args(ctx, args)
