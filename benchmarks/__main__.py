"""Run every function listed as ROWS in a module of this package."""

import importlib
import pkgutil
import sys

import benchmarks
from benchmarks.measure import show, surroundings, write


def main(words: list[str]) -> None:
    for info in pkgutil.iter_modules(benchmarks.__path__):
        module = importlib.import_module(f"benchmarks.{info.name}") if info.name != "__main__" else None
        for function in getattr(module, "ROWS", []):
            name = f"{info.name}.{function.__name__}"
            if not words or any(word in name for word in words):
                write(name, show(name, function), surroundings())


if __name__ == "__main__":
    main(sys.argv[1:])
