"""Run every function listed as ROWS in a module of this package."""

import importlib
import pkgutil
import sys

import benchmarks
from benchmarks.measure import show, surroundings, write


def main(words: list[str]) -> None:
    for info in pkgutil.iter_modules(benchmarks.__path__):
        module = importlib.import_module(f"benchmarks.{info.name}") if info.name != "__main__" else None
        functions = [
            f
            for f in getattr(module, "ROWS", [])
            if not words or any(w in f"{info.name}.{f.__name__}" for w in words)
        ]
        if functions:
            rows = [row for function in functions for row in show(info.name, function)]
            write(info.name, rows, surroundings())


if __name__ == "__main__":
    main(sys.argv[1:])
