"""How the cost of a gradient grows with n, w, s, length and number of sequences, beside the cost model.

`python -m benchmarks growth` prints the table; with --record it also draws docs/results/engine/growth.svg.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Row, best_times, one_core
from hqmm import Sequences
from hqmm.channels import random_density_matrix, random_kraus
from hqmm.engine import explain_plan
from hqmm.engine.kraus import explain, kraus_gradient, linear_form

AXES: dict[str, tuple[int, ...]] = {
    "n": (2, 3, 4, 6, 8, 12, 16, 24, 32),
    "w": (1, 2, 3, 4, 6, 8, 12),
    "s": (2, 4, 6, 12, 25, 50, 100),
    "length": (10, 30, 100, 300, 1000, 3000),
    "count": (1, 3, 10, 30, 100, 300, 1000),
}
LABELS = {
    "n": "dimension n",
    "w": "Kraus rank w",
    "s": "symbols s",
    "length": "length of a sequence",
    "count": "sequences",
}


@dataclass(frozen=True)
class Case:
    """Sizes of a model and of data."""

    n: int = 6
    w: int = 2
    s: int = 6
    length: int = 300
    count: int = 20


@dataclass(frozen=True)
class Measured:
    """Seconds of a gradient on one core."""

    axis: str
    value: int
    method: str
    seconds: float
    predicted: float


@cache
def measure(axis: str, value: int) -> Measured:
    """Time the gradient at one value of one axis, everything else as in `Case`."""
    case = replace(Case(), **{axis: value})
    kraus = random_kraus(case.s, case.w, case.n, random_state=0)
    rho = random_density_matrix(case.n, random_state=0)
    codes = np.random.default_rng(0).integers(0, case.s, (case.count, case.length))
    data = Sequences(codes, alphabet=case.s)
    plan = explain(kraus, rho, data, threads=1)
    predicted = plan.predicted_seconds.get(plan.method)
    if predicted is None:  # where the real form is taken without a look at the others
        inner = explain_plan(linear_form(kraus, rho), data, threads=1)
        predicted = inner.predicted_seconds[inner.method]
    with one_core():
        (seconds,) = best_times(lambda: kraus_gradient(kraus, rho, data, threads=1), seconds=0.3, least=3)
    return Measured(axis, value, plan.method, seconds, predicted)


def growth() -> Iterator[Row]:
    """Gradient of 20 × 300 symbols, n = 6, w = 2, s = 6, one size varied at a time: measured over predicted."""
    for axis, values in AXES.items():
        for value in values:
            one = measure(axis, value)
            note = f"{one.seconds * 1e3:.3f} ms, {one.method}"
            yield Row(f"{axis} = {value}", one.seconds / one.predicted, "of predicted", note=note)


def draw(folder: Path) -> None:
    """Draw what `growth` measured: dots, and the prediction as a line."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator

    figure = Figure(figsize=(13, 3.2), layout="constrained")
    for panel, axis in zip(figure.subplots(1, len(AXES), sharey=True), AXES, strict=True):
        rows = [measure(axis, value) for value in AXES[axis]]
        values = [one.value for one in rows]
        panel.loglog(
            values, [one.predicted * 1e3 for one in rows], color="0.6", lw=1.5, zorder=1, label="predicted"
        )
        for method, marker in (("real", "o"), ("kraus", "s"), ("pure", "^")):
            chosen = [one for one in rows if one.method == method]
            panel.scatter(
                [one.value for one in chosen],
                [one.seconds * 1e3 for one in chosen],
                marker=marker, s=22, zorder=2, label=f"measured, {method} form",
            )  # fmt: skip
        _finish(panel, axis, values, FixedLocator, NullLocator)
    figure.axes[0].set_ylabel("gradient, one core (ms)")
    figure.axes[0].legend(fontsize=7, frameon=False)
    figure.savefig(folder / "growth.svg")


def _finish(panel: Any, axis: str, values: list[int], fixed: Any, null: Any) -> None:
    panel.set_xlabel(LABELS[axis])
    panel.xaxis.set_major_locator(fixed(values))
    panel.xaxis.set_minor_locator(null())
    panel.set_xticklabels([str(value) for value in values], fontsize=7)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


ROWS = [growth]
FIGURES = [draw]
