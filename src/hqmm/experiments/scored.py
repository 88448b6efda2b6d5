"""Experiments whose runs learn one model each and score it by the paper's protocol."""

from __future__ import annotations

from hqmm.experiments import protocol
from hqmm.experiments.experiment import Row, Rows
from hqmm.experiments.tables import groups


def learned(
    name: str,
    data: str,
    model: str,
    n: int = 0,
    w: int = 1,
    order: int = 0,
    seed: int = 0,
    epochs: int | None = None,
    seconds: float | None = None,
) -> Rows:
    """Learn a model (or take a baseline) on a data set, and return the one row of its scores and costs."""
    parts = protocol.splits(name, data)
    if model in ("truth", "markov"):
        return [protocol.scores(protocol.baseline(model, order, parts), parts)]
    learner = protocol.learner(model, n, w, name, epochs=epochs)
    fitted, spent = protocol.learn(model, n, w, parts, learner, seed, cpu_limit=seconds)
    costs: Row = {
        "numbers": protocol.n_numbers(model, n, w),
        "iterations": fitted.n_iter,
        "stopped": "time" if fitted.reason == "interrupted" else fitted.reason,  # the watch on its time stopped it
        "cpu_seconds": spent,
    }
    return [{**protocol.scores(fitted.model, parts), **costs}]


def chosen(rows: Rows) -> Rows:
    """Return, of the starts of each model, the one with the best validation DA; and how poor a start may be."""
    best: Rows = []
    for same in groups(rows, "model", "n", "w", "order").values():
        row = max(same, key=lambda row: row["validation_da"])
        best.append({**row, "starts": len(same), "worst_test_da": min(one["test_da"] for one in same)})
    return best


def score_table(rows: Rows) -> Rows:
    """Return the chosen models for readers: the true one first, then by learner and size."""
    names = ("n", "w", "order", "test_da", "test_sd", "validation_da", "worst_test_da", "starts", "numbers")
    order = {model: number for number, model in enumerate(protocol.LABELS)}
    best = sorted(chosen(rows), key=lambda row: (order[row["model"]], row.get("w") or 0, row.get("n") or 0))
    return [{"model": protocol.LABELS[row["model"]], **{name: row.get(name) for name in names}} for row in best]
