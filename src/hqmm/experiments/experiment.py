"""What an experiment is: runs with fixed settings → rows of one tidy table → figures, words and claims."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale: TypeAlias = Literal["tiny", "quick", "paper"]
Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]

# What a scale is good for; `tiny` only shows that everything runs.
SCALES: tuple[Scale, ...] = ("tiny", "quick", "paper")


@dataclass(frozen=True)
class Run:
    """One independent computation: its settings, as JSON knows them, and its rough cost in seconds.

    The settings are the arguments of the experiment's ``execute`` and the first columns of its rows.
    """

    settings: dict[str, Any]
    cost: float = 1.0


@dataclass(frozen=True)
class Verdict:
    """What was measured, and whether the claim holds; None where the rows do not tell."""

    measured: str
    holds: bool | None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper that the rows of an experiment can confirm or contradict.

    Attributes
    ----------
    place : str
        Where the paper states it.
    statement : str
        What it states.
    judge : function of rows
        Returns the `Verdict`. It may raise LookupError where rows that it needs are not there.
    otherwise : str
        The explanation that readers get if the claim does not hold here.
    """

    place: str
    statement: str
    judge: Callable[[Rows], Verdict]
    otherwise: str


def _unchanged(rows: Rows) -> Rows:
    return rows


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    Attributes
    ----------
    name : str
        As given to ``hqmm reproduce``.
    title, place : str
        What it shows, and where in the paper.
    says : str
        What the paper says about it, in a few sentences.
    settings : str
        How it is done, in a few sentences.
    runs : function of (scale, seed)
        The independent runs.
    execute : function of a run's settings
        Does one run; returns its rows, which the settings will precede.
    draw : function of rows
        The figures by name, each of them one panel (see `hqmm.experiments.figures`).
    see : function of rows
        What we see, in words made from the numbers.
    table : function of rows
        The rows that the report prints; all of them by default.
    claims : tuple of Claim
        What the paper claims about it.
    edition : int
        Raise it when ``execute`` changes what it computes, so that stored runs are not taken for new ones.
    beyond : bool
        Whether it goes beyond the paper; then it is run only where it is asked for by name.
    """

    name: str
    title: str
    place: str
    says: str
    settings: str
    runs: Callable[[Scale, int], list[Run]]
    execute: Callable[..., Rows]
    draw: Callable[[Rows], dict[str, Figure]]
    see: Callable[[Rows], str]
    table: Callable[[Rows], Rows] = _unchanged
    claims: tuple[Claim, ...] = ()
    edition: int = 1
    beyond: bool = False

    def key(self, run: Run) -> str:
        """Return the name under which a run is stored: a digest of all that decides its rows."""
        content = json.dumps([self.name, self.edition, run.settings], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:20]
