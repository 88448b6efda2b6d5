"""How the hidden states of an HMM, or the labels of a hybrid model, follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import ModelError
from hqmm.models import HMM, HybridHQMM, Model
from hqmm.plots._drawing import COLOURS, ModelDisplay, names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NODE = 0.16  # radius of a node that is visited all the time, where nodes stand on a circle of radius 1
SPAN = 3.5  # width of the picture: the circle, and room for symbols on both sides
MARGIN = 0.75  # above and below the circle
SMALLEST = 0.07  # a number still fits


class GraphDisplay(ModelDisplay):
    r"""States on a circle, with an arrow for each transition.

    The width of an arrow is the probability of the transition, the area of a node how often the state is visited
    in the long run; beside it stand the symbols that come most often with it. A hybrid model shows its labels,
    with the transition probabilities from the long-run state of each.

    Parameters
    ----------
    transition : (k, k) array
        Column j: where state j goes.
    visits : (k,) array
        The long-run share of each state.
    symbols : list of str
        What to write beside each node.
    threshold : float
        Transitions less probable are not drawn.

    Examples
    --------
    >>> from hqmm import HMM
    >>> from hqmm.plots import GraphDisplay
    >>> weather = HMM([[0.9, 0.3], [0.1, 0.7]], [[0.8, 0.1], [0.2, 0.9]], alphabet="sr")
    >>> display = GraphDisplay.from_model(weather)
    >>> display.visits, display.symbols
    (array([0.75, 0.25]), ['s 80%\nr 20%', 'r 90%\ns 10%'])
    """

    def __init__(
        self, transition: FloatArray, visits: FloatArray, symbols: Sequence[str], threshold: float = 0.01
    ) -> None:
        self.transition, self.visits, self.symbols, self.threshold = transition, visits, symbols, threshold

    @classmethod
    def from_model(cls, model: Model, *, threshold: float = 0.01, ax: Axes | None = None) -> Self:
        """Draw an HMM or a hybrid model; ``threshold`` hides what is less probable."""
        if isinstance(model, HMM):
            transition, visits, emission = model.transition, model.stationary_state(), model.emission
        elif isinstance(model, HybridHQMM):
            transition, visits, emission = _labels(model)
        else:
            raise ModelError(f"{model!r} has no classical states; a graph is for an HMM or a hybrid model")
        written = [_most_frequent(emission[:, state], names(model.alphabet)) for state in range(len(visits))]
        return cls(transition, np.asarray(visits), written, threshold).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the graph."""
        from matplotlib.patches import Circle

        count = len(self.visits)
        turns = np.pi / 2 - 2 * np.pi * np.arange(count) / count
        places = np.stack([np.cos(turns), np.sin(turns)], axis=1) * (count > 1)
        ax = self._open(ax, 6, 6 * (np.ptp(places[:, 1]) + 2 * MARGIN) / SPAN)
        radii = np.maximum(NODE * np.sqrt(self.visits * min(count, 4)), SMALLEST).clip(max=NODE * 1.3)
        for state, (place, radius) in enumerate(zip(places, radii, strict=True)):
            ax.add_patch(Circle(place, radius, facecolor=COLOURS[0], edgecolor="white", linewidth=1.5, zorder=3))
            ax.text(
                place[0], place[1], str(state), color="white", ha="center", va="center", zorder=4, fontsize="small"
            )
            outwards = place if count > 1 else np.array([1.0, 0.0])
            sideways = "left" if outwards[0] > 0.1 else "right" if outwards[0] < -0.1 else "center"
            upwards = "bottom" if outwards[1] > 0.7 else "top" if outwards[1] < -0.7 else "center"
            at = place + outwards * (radius + (0.34 if self._stays(state) else 0.1))
            ax.text(at[0], at[1], self.symbols[state], ha=sideways, va=upwards, fontsize="small")
        for target, source in np.argwhere(self.transition >= self.threshold):
            chance = float(self.transition[target, source])
            if target == source:
                self._loop(ax, places[source], radii[source], chance)
            else:
                self._arrow(ax, places, radii, int(source), int(target), chance)
        ax.set(xlim=(-SPAN / 2, SPAN / 2), aspect="equal")
        ax.set_ylim(places[:, 1].min() - MARGIN, places[:, 1].max() + MARGIN)
        ax.set_axis_off()
        return self

    def _stays(self, state: int) -> bool:
        return bool(self.transition[state, state] >= self.threshold)

    def _arrow(
        self, ax: Axes, places: FloatArray, radii: FloatArray, source: int, target: int, chance: float
    ) -> None:
        """Draw a bent arrow from edge to edge, so that those of both directions stand apart."""
        from matplotlib.patches import FancyArrowPatch

        arrow = FancyArrowPatch(
            tuple(places[source]),
            tuple(places[target]),
            connectionstyle="arc3,rad=0.16",
            arrowstyle=f"-|>,head_length={4 + 4 * chance},head_width={2 + 3 * chance}",
            shrinkA=_points(ax, radii[source]),
            shrinkB=_points(ax, radii[target]) + 1,
            color=COLOURS[1],
            alpha=0.35 + 0.65 * chance,
            linewidth=0.4 + 4 * chance,
            zorder=2,
        )
        ax.add_patch(arrow)

    def _loop(self, ax: Axes, place: FloatArray, radius: float, chance: float) -> None:
        """Draw the arrow of a state to itself, on the outer side."""
        from matplotlib.patches import Circle

        outwards = place / max(float(np.linalg.norm(place)), 1e-12) if np.any(place) else np.array([1.0, 0.0])
        ax.add_patch(
            Circle(
                tuple(place + outwards * (radius + 0.07)),
                0.11,
                facecolor="none",
                edgecolor=COLOURS[1],
                alpha=0.35 + 0.65 * chance,
                linewidth=0.4 + 4 * chance,
                zorder=2,
            )
        )


def _points(ax: Axes, radius: float) -> float:
    """Return a radius in points, in which arrows are shortened."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box = ax.get_position()
    inches = box.width * figure.get_figwidth()
    return float(radius * 72 * inches / SPAN)


def _labels(model: HybridHQMM) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return transition, long-run shares and emission of the labels, each from its long-run conditional state.

    As in an HMM, where a symbol comes from the state moved to, a label's symbols are those it is entered with.
    """
    average = model.stationary_state()
    visits = np.einsum("kii->k", average).real
    q = model.n_states
    mixed = np.eye(q) / q
    states = np.stack(
        [block / share if share > 1e-12 else mixed for block, share in zip(average, visits, strict=True)]
    )
    joint = np.einsum("ywijab,jbc,ywijac->yij", model.kraus, states, model.kraus.conj()).real
    arrivals = joint @ visits
    return joint.sum(axis=0), visits, arrivals / np.maximum(arrivals.sum(axis=0), 1e-300)


def _most_frequent(chances: FloatArray, labels: list[str], most: int = 2) -> str:
    order = np.argsort(-chances, kind="stable")[:most]
    return "\n".join(f"{labels[code]} {chances[code]:.0%}" for code in order if chances[code] >= 0.005)
