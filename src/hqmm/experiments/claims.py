"""The paper's claims against what was measured: one row each, judged by code from the CSV files alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hqmm.experiments.experiment import Claim, Experiment, Row, Rows
from hqmm.experiments.tables import read_csv

HOLDS, FAILS, NOT_RUN = "holds", "does not hold", "not run"


def judge_all(experiments: Iterable[Experiment], folder: Path) -> Rows:
    """Return a row for each claim of the experiments, from the CSV files of a folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hqmm.experiments import registry
    >>> from hqmm.experiments.claims import judge_all
    >>> {row["verdict"] for row in judge_all(registry.select(), Path(tempfile.mkdtemp()))}
    {'not run'}
    """
    verdicts: Rows = []
    for experiment in experiments:
        path = folder / f"{experiment.name}.csv"
        rows = read_csv(path) if path.exists() else []
        verdicts += [judge(claim, experiment, rows) for claim in experiment.claims]
    return verdicts


def judge(claim: Claim, experiment: Experiment, rows: Rows) -> Row:
    """Return what was measured and the verdict on one claim."""
    measured, holds = "", None
    if rows:
        try:
            verdict = claim.judge(rows)
            measured, holds = verdict.measured, verdict.holds
        except LookupError:
            measured = "the runs that would tell are not among these results"
    verdict_in_words = NOT_RUN if holds is None else HOLDS if holds else FAILS
    return {
        "place": claim.place,
        "claim": claim.statement,
        "measured": measured,
        "verdict": verdict_in_words,
        "explanation": claim.otherwise if holds is False else "",
        "experiment": experiment.name,
    }
