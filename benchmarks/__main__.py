"""Run every function listed as ROWS in a module of this package.

`python -m benchmarks [--record] [word …]`: --record also writes the tables and figures to docs/results/engine.
"""

import importlib
import pkgutil
import sys
from datetime import date
from pathlib import Path

import benchmarks
from benchmarks.measure import Row, show, surroundings, write

RECORD = Path(__file__).parent.parent / "docs" / "results" / "engine"


def main(words: list[str]) -> None:
    record, words = "--record" in words, [word for word in words if word != "--record"]
    tables: dict[str, list[Row]] = {}
    for info in pkgutil.iter_modules(benchmarks.__path__):
        module = importlib.import_module(f"benchmarks.{info.name}") if info.name != "__main__" else None
        for function in getattr(module, "ROWS", []):
            name = f"{info.name}.{function.__name__}"
            if not words or any(word in name for word in words):
                rows = tables[f"{name}: {function.__doc__.splitlines()[0]}"] = show(name, function)
                write(name, rows, surroundings())
                if record:
                    for draw in getattr(module, "FIGURES", []):
                        RECORD.mkdir(parents=True, exist_ok=True)
                        draw(RECORD)
    if record:
        write_summary(tables)


def write_summary(tables: dict[str, list[Row]]) -> None:
    """Write all tables to one page."""
    RECORD.mkdir(parents=True, exist_ok=True)
    about = ", ".join(f"{name}: {value}" for name, value in surroundings().items())
    lines = ["# Engine benchmarks", "", f"`make bench`, {date.today()}; {about}"]
    for title, rows in tables.items():
        lines += ["", f"## {title}", "", "| what | measured | reach | holds | note |", "|---|---|---|---|---|"]
        for row in rows:
            reach = "" if row.reach is None else f"{'≤' if row.low else '≥'} {row.reach:g}"
            lines.append(f"| {row.what} | {row.value:.3g} {row.unit} | {reach} | {row.verdict} | {row.note} |")
    (RECORD / "summary.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
