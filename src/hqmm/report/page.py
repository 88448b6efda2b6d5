"""One HTML file that needs nothing else: styles and figures inside, good on a phone, on paper and in the dark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from hqmm.experiments.experiment import Experiment, Row, Rows
from hqmm.experiments.tables import columns, heading, read_csv, values, written
from hqmm.report.about import command, in_words, read_about, run_time

_SIGNS = {"holds": "✓", "does not hold": "✗", "not run": "–"}
_NUMBER = ' class="number"'


def page(experiments: Iterable[Experiment], claims: Rows, folder: Path) -> str:
    """Return the page for the results in a folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hqmm.experiments import registry
    >>> from hqmm.report import page
    >>> "not run" in page(registry.select(["synthetic-hmm"]), [], Path(tempfile.mkdtemp()))
    True
    """
    chosen = list(experiments)
    parts = [_head(claims, [read_about(one, folder) for one in chosen], folder), _claims_table(claims)]
    parts += [_contents(chosen), *(_section(one, folder) for one in chosen)]
    style = files("hqmm.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>The paper, reproduced</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def _head(claims: Rows, abouts: list[dict[str, Any] | None], folder: Path) -> str:
    count = {verdict: sum(row["verdict"] == verdict for row in claims) for verdict in _SIGNS}
    known = [about for about in abouts if about]
    machines = " · ".join(dict.fromkeys(about["machine"] for about in known))
    dates = [about["date"] for about in known]
    when = f"{min(dates)} to {max(dates)}" if len(set(dates)) > 1 else "".join(dates[:1])
    scales = ", ".join(dict.fromkeys(about["scale"] for about in known))
    facts = {"Scale": scales, "Machine": machines, "Run time": run_time(folder, known), "Date": when}
    score = (
        f'<p class="score"><b>{count["holds"]}</b> claims hold, <b>{count["does not hold"]}</b> do not, '
        f"<b>{count['not run']}</b> were not run.</p>\n"
    )
    return (
        "<header><h1>The paper, reproduced</h1>\n"
        "<p><cite>Expressiveness and Learning of Hidden Quantum Markov Models</cite> (Adhikary, Srinivasan, "
        "Gordon, Boots; AISTATS 2020): its figures, tables and claims, computed again by <code>hqmm</code>.</p>\n"
        f"{score if claims else ''}{_facts(facts) if known else ''}</header>"
    )


def _claims_table(claims: Rows) -> str:
    if not claims:
        return ""
    body = []
    for row in claims:
        sign = _SIGNS[row["verdict"]]
        explanation = f'<p class="why">{escape(row["explanation"])}</p>' if row["explanation"] else ""
        body.append(
            f'<tr class="{row["verdict"].replace(" ", "-")}">'
            f'<td class="verdict"><span>{sign} {row["verdict"]}</span></td>'
            f'<td><b>{escape(row["claim"])}</b><br><a href="#{row["experiment"]}">{escape(row["place"])}</a></td>'
            f"<td>{escape(row['measured'])}{explanation}</td></tr>"
        )
    return (
        '<section id="claims"><h2>Claims</h2>\n<p>Each claim is judged by code from the tables below. '
        "What does not hold is explained in small print.</p>\n"
        '<table class="claims"><thead><tr><th>Verdict</th><th>The paper claims</th><th>Measured here</th></tr>'
        "</thead>"
        f"<tbody>{''.join(body)}</tbody></table></section>"
    )


def _contents(experiments: list[Experiment]) -> str:
    items = "".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in experiments)
    return f"<nav><h2>Experiments</h2><ol>{items}</ol></nav>"


def _section(experiment: Experiment, folder: Path) -> str:
    about, table = read_about(experiment, folder), folder / f"{experiment.name}.csv"
    parts = [
        f'<section id="{experiment.name}"><h2>{escape(experiment.title)}</h2>',
        f'<p class="place">{escape(experiment.place)}</p>',
        f"<h3>What the paper says</h3><p>{escape(experiment.says)}</p>",
    ]
    if about:
        parts += [f'<p class="problem">{escape(problem)}</p>' for problem in about["problems"]]
    if about and table.exists():
        rows = read_csv(table)
        figures = "".join(_inline(path) for path in (folder / name for name in about["figures"]))
        parts += [
            f"<h3>What we see</h3><p>{escape(experiment.see(rows))}</p>",
            f'<div class="figures">{figures}</div>',
            f"<details open><summary>Data</summary>{_table(experiment.table(rows))}"
            f"<p>All {len(rows)} rows are in <code>{table.name}</code>.</p></details>",
        ]
        facts = {
            "Settings": experiment.settings,
            "At this scale": _scale(about),
            "Data": _origins(rows),
            "Run time": f"{in_words(about['seconds'])} of processor time",
            "Runs": f"{about['finished']} of {about['runs']}",
            "Seeds": ", ".join(map(str, values(rows, "seed") or [about["seed"]])),
            "Date": about["date"],
            "Machine": about["machine"],
            "Versions": ", ".join(f"{name} {number}" for name, number in about["versions"].items()),
        }
        parts.append(_facts({name: fact for name, fact in facts.items() if fact}))
    else:
        parts.append('<p class="problem">not run</p>')
    parts.append(f'<p>Alone: <code class="command">{command(experiment, about)}</code></p></section>')
    return "\n".join(parts)


def _scale(about: dict[str, Any]) -> str:
    """Return what was varied at this scale, and over what; data and seeds are told beside it."""
    told = {name: found for name, found in about.get("settings", {}).items() if name not in ("data", "seed")}
    return "; ".join(f"{heading(name)}: {', '.join(map(written, found))}" for name, found in told.items())


def _origins(rows: Rows) -> str:
    words = {"authors": "the authors' own sequences", "generated": "generated from the true model"}
    origins = dict.fromkeys(row["data"] for row in rows if row.get("data"))
    return "; ".join(words.get(origin, origin) for origin in origins)


def _inline(path: Path) -> str:
    svg = path.read_text(encoding="utf-8")
    svg = re.sub(r"^<\?xml.*?\?>\s*", "", svg)
    svg = re.sub(r"<style>.*?</style>", "", svg, count=1, flags=re.DOTALL)
    return f"<figure>{svg}</figure>"


def _facts(facts: dict[str, str]) -> str:
    items = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return f"<dl>{items}</dl>" if items else ""


def _table(rows: Rows) -> str:
    names = [name for name in columns(rows) if any(row.get(name) is not None for row in rows)]
    head = "".join(f"<th>{escape(heading(name))}</th>" for name in names)
    body = "".join(f"<tr>{''.join(_cell(row, name) for name in names)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(row: Row, name: str) -> str:
    value = row.get(name)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{_NUMBER if number else ''}>{escape(written(value))}</td>"
