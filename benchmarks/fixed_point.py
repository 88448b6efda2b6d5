"""The polar fixed point: how often a step of fixed damping falls, what momentum saves, and what averaging does.

Usage: python -m benchmarks.fixed_point [--folder FOLDER]

Writes summary.md. The data are 60 × 200 symbols of the paper's HMM; every number is a mean over starts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hqmm import Sequences
from hqmm.datasets import hmm_6_6
from hqmm.learning import Polar, RiemannianLBFGS, fit, random_hqmm
from hqmm.learning.polar import towards
from hqmm.learning.space import space_of, start_of
from hqmm.learning.task import Task
from hqmm.models import Model

FOLDER = Path(__file__).parent.parent / "docs" / "results" / "fixed_point"
SIZES = ((2, 1), (6, 1), (4, 2), (6, 6))
DAMPINGS = (0.3, 0.5, 0.7, 0.9, 1.0)
SEEDS = range(3)
STEPS, PASSES = 60, 400
SWEEPS = (2, 5, 10, 20)
LEARNERS = {
    "d = ½, no momentum": Polar(sweeps=0, momentum=0, tol=0),
    "Polar": Polar(sweeps=0, tol=0),
    "L-BFGS": RiemannianLBFGS(),
}


def falls(n: int, w: int, damping: float, data: Sequences) -> tuple[int, float]:
    """Return how many of the steps lowered the likelihood, and by how much a symbol at worst."""
    count, worst = 0, 0.0
    for seed in SEEDS:
        model = random_hqmm(n, 6, w)(np.random.default_rng(seed))
        point, initial = start_of(model, True, "")
        space, before = space_of(model.alphabet, initial), -np.inf
        for _ in range(STEPS + 1):
            result = space.evaluate(point, data, 0, 1)
            now = float(result.log_likelihood.sum()) / data.n_symbols
            count += now < before - 1e-13
            worst, before = min(worst, now - before), now
            point = towards(point, result.gradient, damping)
    return count, worst


def climbs(n: int, w: int, data: Sequences) -> dict[str, list[float]]:
    """Return for each learner the passes to within 10⁻³ and 10⁻⁴ of its end, and the likelihood there."""
    rows: dict[str, list[list[float]]] = {name: [] for name in LEARNERS}
    for seed in SEEDS:
        for name, learner in LEARNERS.items():
            history = fit(
                learner, random_hqmm(n, 6, w), data, max_iter=PASSES, random_state=seed, threads=1
            ).history
            train, passes = history["train"], history["passes"]
            near = [float(passes[np.argmax(train >= train[-1] - distance)]) for distance in (1e-3, 1e-4)]
            rows[name].append([*near, float(train[passes <= PASSES][-1])])
    return {name: list(np.mean(values, axis=0)) for name, values in rows.items()}


def sweeps(n: int, w: int, data: Sequences) -> dict[str, list[float]]:
    """Return the likelihood after so many sweeps where each ends at its last point, and at the mean of its points.

    The former is what a stream of the same batches learns.
    """
    ends: dict[str, list[list[float]]] = {"last": [], "mean": []}
    for seed in SEEDS:
        start = random_hqmm(n, 6, w)(np.random.default_rng(seed))
        found: list[float] = []
        fit(
            Polar(),
            start,
            data,
            max_iter=SWEEPS[-1],
            random_state=seed,
            threads=1,
            callbacks=[lambda row, model, found=found: found.append(_per_symbol(model, data))],  # type: ignore[misc]
        )
        ends["mean"].append([found[count - 1] for count in SWEEPS])
        ends["last"].append(list(_streamed(start, data, seed)))
    return {name: list(np.mean(values, axis=0)) for name, values in ends.items()}


def _streamed(start: Model, data: Sequences, seed: int) -> Iterator[float]:
    learner, generator = Polar(), np.random.default_rng(seed)
    state = learner.open(start, Task(data))
    for count in range(1, SWEEPS[-1] + 1):
        for chosen in np.array_split(generator.permutation(len(data)), learner.batches):
            state = learner.absorb(state, Task(data[chosen], threads=1))
        if count in SWEEPS:
            yield _per_symbol(learner.model(state, Task(data)), data)


def _per_symbol(model: Model, data: Sequences) -> float:
    return float(model.log_likelihood(data).sum() / data.n_symbols)


def lines(data: Sequences) -> Iterator[str]:
    """Yield the page."""
    yield "# The polar fixed point, measured"
    yield ""
    yield "Written by `python -m benchmarks.fixed_point`: 60 × 200 symbols of the paper's HMM, random starts,"
    yield "every symbol scored; no batches but in the last table."
    yield ""
    yield f"Steps of {len(SEEDS) * STEPS} that lowered the likelihood, and the worst loss in nats per symbol, with"
    yield "a fixed damping d and no guard:"
    yield ""
    yield "| n, w | " + " | ".join(f"d = {d}" for d in DAMPINGS) + " |"
    yield "|---|" + "---|" * len(DAMPINGS)
    for n, w in SIZES:
        cells = [
            f"{count} ({worst:.1g})" if count else "0" for count, worst in (falls(n, w, d, data) for d in DAMPINGS)
        ]
        yield f"| {n}, {w} | " + " | ".join(cells) + " |"
    yield ""
    yield f"Passes to within 10⁻³ and 10⁻⁴ nats per symbol of where {PASSES} iterations end, and the likelihood"
    yield f"after {PASSES} passes:"
    yield ""
    yield "| n, w | " + " | ".join(LEARNERS) + " |"
    yield "|---|" + "---|" * len(LEARNERS)
    for n, w in SIZES:
        found = climbs(n, w, data)
        yield f"| {n}, {w} | " + " | ".join(f"{a:.0f}, {b:.0f}; {end:.4f}" for a, b, end in found.values()) + " |"
    yield ""
    yield "Likelihood after sweeps of 40 batches, where a sweep ends at its last point, and where it ends at the"
    yield "mean of the points that it passed:"
    yield ""
    yield "| n, w | " + " | ".join(f"{count} sweeps: last, mean" for count in SWEEPS) + " |"
    yield "|---|" + "---|" * len(SWEEPS)
    for n, w in SIZES:
        both = sweeps(n, w, data)
        yield (
            f"| {n}, {w} | " + " | ".join(f"{a:.4f}, {b:.4f}" for a, b in zip(*both.values(), strict=True)) + " |"
        )


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where summary.md goes")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines(hmm_6_6().sample(60, 200, random_state=0))) + "\n"
    (folder / "summary.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
