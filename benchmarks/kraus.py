"""Which form of the Kraus gradient wins, by dimension n and Kraus rank w; beside what the cost model expects.

Usage: python -m benchmarks.kraus [--json FILE] [--largest N]

One thread, gradient of 20 sequences of 300 symbols out of 6, burn-in 100 (so ρ₀ has no gradient). "pure" is timed
with a pure initial state and, as "mixed", with one of full rank. A second table times the way between Kraus
operators and the real form.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hqmm import Sequences
from hqmm.channels import random_density_matrix, random_kraus, real_operators, to_real
from hqmm.engine import gradient
from hqmm.engine.kraus import explain, kraus_gradient, linear_form, pull_back

DIMENSIONS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
RANKS = (1, 2, 6)
CONVERSIONS = ((2, 6, 1), (4, 6, 2), (6, 6, 1), (6, 6, 6), (8, 6, 2), (16, 6, 1))
SYMBOLS, COUNT, LENGTH, BURN_IN = 6, 20, 300, 100


def seconds(work: Callable[[], Any], budget: float = 0.4) -> float:
    """Return the shortest of several runs, in time of this thread: what else the machine does should not count."""
    work()
    best, begun = float("inf"), time.thread_time()
    while True:
        start = time.thread_time()
        work()
        end = time.thread_time()
        best = min(best, end - start)
        if end - begun > budget:
            return best


def forms(n: int, w: int, data: Sequences) -> dict[str, Any]:
    """Return the milliseconds of every form, and what the plan would choose from which predictions."""
    kraus = random_kraus(SYMBOLS, w, n, random_state=n)
    states = {"mixed": random_density_matrix(n, random_state=n), "pure": np.eye(n) * (np.arange(n) == 0)}
    result: dict[str, Any] = {"n": n, "w": w}
    for column, state, method in (
        ("real", "mixed", "real"),
        ("kraus", "mixed", "kraus"),
        ("mixed", "mixed", "pure"),
        ("pure", "pure", "pure"),
    ):
        if method == "pure" and w > 1:
            continue
        options: dict[str, Any] = {"burn_in": BURN_IN, "threads": 1}
        rho = states[state]
        result[column] = 1e3 * seconds(lambda: kraus_gradient(kraus, rho, data, method=method, **options))  # noqa: B023
        plan = explain(kraus, rho, data, **options)
        result[f"{column} predicted"] = 1e3 * plan.predicted_seconds.get(method, float("nan"))
        result[f"chosen for {state}"] = plan.method
    return result


def conversions(data: Sequences) -> list[dict[str, Any]]:
    """Return the microseconds of what surrounds a gradient in the real form."""
    rows = []
    for n, s, w in CONVERSIONS:
        kraus, rho = random_kraus(s, w, n, random_state=0), random_density_matrix(n, random_state=0)
        form = linear_form(kraus, rho)
        G = np.random.default_rng(0).normal(size=form.operators.shape)
        rows.append(
            {
                "n, s, w": f"{n}, {s}, {w}",
                "channels.real_operators": 1e6 * seconds(lambda: real_operators(kraus), 0.2),  # noqa: B023
                "channels.to_real": 1e6 * seconds(lambda: to_real(rho), 0.2),  # noqa: B023
                "linear_form": 1e6 * seconds(lambda: linear_form(kraus, rho), 0.2),  # noqa: B023
                "pull_back": 1e6 * seconds(lambda: pull_back(kraus, G), 0.2),  # noqa: B023
                "real gradient": 1e6 * seconds(lambda: gradient(form, data, burn_in=BURN_IN, threads=1)),  # noqa: B023
                "whole": 1e6 * seconds(lambda: kraus_gradient(kraus, rho, data, burn_in=BURN_IN, threads=1)),  # noqa: B023
            }
        )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    print("  ".join(f"{name:>15}" for name in names))
    for row in rows:
        cells = [row.get(name, "") for name in names]
        print("  ".join(f"{cell:15.3f}" if isinstance(cell, float) else f"{cell!s:>15}" for cell in cells))


def main() -> None:
    """Run both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--largest", type=int, default=max(DIMENSIONS), help="largest dimension n")
    arguments = parser.parse_args()
    data = Sequences(np.random.default_rng(0).integers(0, SYMBOLS, (COUNT, LENGTH)), alphabet=SYMBOLS)
    sizes = [(n, w) for w in RANKS for n in DIMENSIONS if n <= arguments.largest]
    print("milliseconds of a gradient, by form, and as predicted")
    table = [forms(n, w, data) for n, w in sizes]
    show(table)
    print("\nmicroseconds of the way to the real form and back, beside the gradient between")
    around = conversions(data)
    show(around)
    if arguments.json:
        arguments.json.write_text(json.dumps({"forms": table, "conversions": around}, indent=1))


if __name__ == "__main__":
    main()
