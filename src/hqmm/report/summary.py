"""The same results as Markdown, for where repositories are read: the claims as a table, the figures as files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hqmm.experiments.experiment import Experiment, Rows
from hqmm.experiments.tables import columns, heading, read_csv, written
from hqmm.report.about import command, in_words, read_about, run_time


def rows_table(rows: Rows) -> str:
    """Return rows as a Markdown table.

    Examples
    --------
    >>> from hqmm.report import rows_table
    >>> print(rows_table([{"n": 2, "test_da": 0.25}, {"n": 3}]))
    | n | test DA |
    |---|---|
    | 2 | 0.2500 |
    | 3 |  |
    """
    names = columns(rows)
    lines = [
        [heading(name) for name in names],
        *([written(row.get(name)) for name in names] for row in rows),
    ]
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([body[0], "|" + "---|" * len(names), *body[1:]])


def claims_table(claims: Rows) -> str:
    """Return the claims as a Markdown table.

    Examples
    --------
    >>> from hqmm.report import claims_table
    >>> row = {"verdict": "holds", "claim": "1 < 2", "place": "Section 1", "measured": "1", "explanation": ""}
    >>> print(claims_table([row]))
    | verdict | the paper claims | measured here |
    |---|---|---|
    | holds | 1 < 2 (Section 1) | 1 |
    """
    lines = ["| verdict | the paper claims | measured here |", "|---|---|---|"]
    for row in claims:
        verdict = row["verdict"] if row["verdict"] == "holds" else f"**{row['verdict']}**"
        explanation = f" *{row['explanation']}*" if row["explanation"] else ""
        cells = (verdict, f"{row['claim']} ({row['place']})", f"{row['measured'] or ''}{explanation}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def summary(experiments: Iterable[Experiment], claims: Rows, folder: Path) -> str:
    """Return the results in a folder as one Markdown text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hqmm.report import summary
    >>> summary([], [], Path(tempfile.mkdtemp())).splitlines()[0]
    '# The paper, reproduced'
    """
    chosen = list(experiments)
    abouts = {one.name: read_about(one, folder) for one in chosen}
    known = [about for about in abouts.values() if about]
    parts = [
        "# The paper, reproduced",
        "Written by `hqmm reproduce`; `report.html` shows the same with every table on one page.",
        *([f"Run time: {run_time(folder, known)}."] if known else []),
        *([claims_table(claims)] if claims else []),
    ]
    for experiment in chosen:
        about, table = abouts[experiment.name], folder / f"{experiment.name}.csv"
        if about is None:
            continue
        parts.append(f"## {experiment.title} ({experiment.place})")
        parts += [f"Not run: {problem}" for problem in about["problems"]]
        if table.exists():
            figures = " ".join(
                f'<img src="{name}" alt="{experiment.title}" width="48%">' for name in about["figures"]
            )
            rows = read_csv(table)
            parts += [experiment.see(rows), figures]
            if not experiment.claims:
                parts.append(rows_table(experiment.table(rows)))
        parts.append(
            f"{about['scale']} scale, {about['finished']} of {about['runs']} runs, {in_words(about['seconds'])} "
            f"of processor time; {about['machine']}; {about['date']}; seed {about['seed']}. Alone: "
            f"`{command(experiment, about)}`"
        )
    return "\n\n".join(parts) + "\n"
