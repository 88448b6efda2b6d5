"""How figures look: one panel each, small enough for a phone, legends at the lines, ink that follows the page.

Colours say who learned: the same everywhere, told apart by people who see few colours, and readable on white and
on black. Ink is written as ``currentColor``, so that a page that is dark has light axes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "cosm": "#0a84c6",
    "gs": "#d1495b",
    "gs-30": "#8e6bbf",
    "polar": "#2a9d5c",
    "em": "#c77d0a",
    "markov": "#8a8a8a",
    "truth": "#8a8a8a",
}
# At lines there is little room.
NAMES = {
    "truth": "true model",
    "em": "HMM (EM)",
    "gs": "Givens search",
    "gs-30": "Givens, batches of 30",
    "cosm": "COSM",
    "polar": "polar (default)",
    "markov": "Markov chain",
}
# For curves that are no learner of the above: told apart by lightness as well.
CYCLE = ("#0a84c6", "#c77d0a", "#2a9d5c", "#d1495b", "#8e6bbf", "#8a8a8a")
MARKERS = {"cosm": "o", "gs": "s", "gs-30": "P", "polar": "D", "em": "^", "markov": "v"}

# A grey that nothing else has, and that becomes the text colour of the page.
_INK = "#123123"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#8a8a8a",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "errorbar.capsize": 2.5,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@contextmanager
def panel(title: str, x: str, y: str, size: tuple[float, float] = (5.2, 3.7)) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure of one panel with its labelled axes; drawn without a display and without global state.

    Examples
    --------
    >>> from hqmm.experiments.figures import panel, to_svg
    >>> with panel("A line", "time (s)", "test DA") as (figure, axes):
    ...     _ = axes.plot([0, 1], [0, 1])
    >>> to_svg(figure, "line").startswith("<svg")
    True
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.set(title=title, xlabel=x, ylabel=y)
        yield figure, axes


def whole(axes: Axes, ticks: Sequence[float], logarithmic: bool = False) -> None:
    """Mark these values, and no others, on the horizontal axis."""
    if logarithmic:
        axes.set_xscale("log")
    axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def reference(axes: Axes, value: float, label: str, style: Any = "--", colour: str = _INK) -> None:
    """Draw a horizontal line across with its name at the right end."""
    axes.axhline(value, color=colour, linestyle=style, linewidth=1.3, zorder=1)
    note(axes, value, label, colour)


def note(axes: Axes, value: float, label: str, colour: str = _INK) -> None:
    """Write a name at the right of the axes, at the height of a value; `spread` keeps names apart."""
    axes.annotate(
        label,
        xy=(1, value),
        xycoords=("axes fraction", "data"),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        color=colour,
        fontsize=9,
        gid="name",
    )


def spread(axes: Axes, distance: float = 11.0) -> None:
    """Move the names at the right apart, so that none covers another (``distance`` in points); call it at last."""
    from matplotlib.text import Annotation

    figure = axes.figure
    figure.canvas.draw()
    names = [child for child in axes.texts if isinstance(child, Annotation) and child.get_gid() == "name"]
    scale = 72 / figure.get_figure(root=True).dpi
    heights = [float(axes.transData.transform((0, name.xy[1]))[1]) * scale for name in names]
    order = sorted(range(len(names)), key=lambda i: heights[i])
    placed = [heights[i] for i in order]
    for _ in range(200):
        moved = False
        for below, above in zip(range(len(placed)), range(1, len(placed)), strict=False):
            short = distance - (placed[above] - placed[below])
            if short > 0.1:
                placed[below], placed[above], moved = placed[below] - short / 2, placed[above] + short / 2, True
        if not moved:
            break
    for place, i in zip(placed, order, strict=True):
        names[i].set_position((5, place - heights[i]))


def series(
    axes: Axes,
    learner: str,
    x: Sequence[float],
    y: Sequence[float],
    sd: Sequence[float] | None = None,
    **style: Any,
) -> None:
    """Draw one learner's line in its colour, with its name at its right end."""
    colour = COLOURS[learner]
    axes.errorbar(x, y, yerr=sd, color=colour, marker=MARKERS[learner], elinewidth=1, **style)
    note(axes, y[-1], NAMES[learner], colour)


def whole_steps(axes: Axes) -> None:
    """Mark whole numbers alone on the horizontal axis."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def legend_below(axes: Axes) -> None:
    """Put the legend below the axes."""
    axes.get_figure().legend(loc="outside lower center", ncols=3, fontsize=8)  # type: ignore[union-attr]


def point(axes: Axes, learner: str, x: float, y: float, sd: float) -> None:
    """Draw one learner's result in its colour."""
    axes.errorbar([x], [y], yerr=[sd], color=COLOURS[learner], marker=MARKERS[learner], markersize=8)


def to_svg(figure: Figure, name: str) -> str:
    """Return a figure as SVG, the same for the same figure, whose ink takes the colour of the text around it."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    # names of parts are unique in one figure; a page holds many
    svg = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", svg)
    return re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)


def standalone(svg: str) -> str:
    """Return an SVG as a file of its own, with ink for light and for dark surroundings."""
    style = "<style>svg{color:#222}@media(prefers-color-scheme:dark){svg{color:#ddd}}</style>"
    return '<?xml version="1.0" encoding="utf-8"?>\n' + re.sub(r"(<svg[^>]*>)", rf"\g<1>{style}", svg, count=1)
