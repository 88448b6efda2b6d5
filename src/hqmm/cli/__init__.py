"""The command line."""

from hqmm.cli.main import main

__all__ = ["main"]
