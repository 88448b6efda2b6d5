"""``python -m hqmm``: the command line."""

from hqmm.cli import main

main(prog_name="hqmm")
