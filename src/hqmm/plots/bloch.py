"""Two-dimensional quantum states on and in the Bloch sphere, still and moving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hqmm._typing import AnyArray, ComplexArray, FloatArray, IntArray
from hqmm.errors import ModelError
from hqmm.linear import MISSING
from hqmm.models import HQMM, NOOM, Model
from hqmm.plots._drawing import COLOURS, GREY, ModelDisplay, codes_of, names, plain
from hqmm.sequences import Alphabet

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

MARKERS = "osD^vPX*"
GAP = "x"  # marks a missing symbol
TIMES = "viridis"
VIEW = {"elev": 15, "azim": -60}


def bloch_vectors(states: ComplexArray) -> FloatArray:
    """Return the Bloch vectors (x, y, z) of density matrices (…, 2, 2): ρ = (I + xX + yY + zZ) / 2.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.plots import bloch_vectors
    >>> bloch_vectors(np.array([[0.5, -0.5j], [0.5j, 0.5]]))
    array([0., 1., 0.])
    """
    off = states[..., 1, 0]
    z = (states[..., 0, 0] - states[..., 1, 1]).real
    return np.stack([2 * off.real, 2 * off.imag, z], axis=-1)


class BlochDisplay(ModelDisplay):
    """The states of a two-dimensional HQMM or NOOM along a sequence, in the Bloch sphere.

    Colour runs with time; the marker says which symbol led to a state. Pure states are on the sphere.

    Parameters
    ----------
    vectors : (T + 1, 3) array
        The Bloch vector before the first symbol and after each.
    codes : (T,) array
        The symbols.
    alphabet : Alphabet
    probabilities : (T + 1, s) array
        The predicted distribution of the next symbol in each of the states.

    Examples
    --------
    >>> from hqmm.datasets import probability_clock
    >>> from hqmm.plots import BlochDisplay
    >>> display = BlochDisplay.from_model(probability_clock(), [0, 0, 1])
    >>> display.vectors[-1].round(6).tolist()  # symbol 1 resets the clock
    [0.0, 0.0, 1.0]
    """

    def __init__(
        self, vectors: FloatArray, codes: IntArray, alphabet: Alphabet, probabilities: FloatArray
    ) -> None:
        self.vectors, self.codes, self.alphabet, self.probabilities = vectors, codes, alphabet, probabilities

    @classmethod
    def from_model(cls, model: Model, sequence: Any, *, ax: Axes | None = None) -> Self:
        """Draw the states of a model along one sequence."""
        return cls._along(model, sequence).plot(ax=ax)

    @classmethod
    def _along(cls, model: Model, sequence: Any) -> Self:
        quantum = model.to_hqmm() if isinstance(model, NOOM) else model
        if not isinstance(quantum, HQMM) or quantum.n_states != 2:
            raise ModelError(f"only an HQMM or NOOM of two states lives in the Bloch sphere, not {model!r}")
        codes = codes_of(quantum, sequence)
        states = np.concatenate([quantum.initial[None], quantum.filter(sequence)])
        return cls(bloch_vectors(states), codes, quantum.alphabet, quantum.predict(sequence, along=True))

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the sphere and all states; given axes must be three-dimensional."""
        ax = self._open_sphere(ax)
        draw_sphere(ax)
        axes: Any = ax
        axes.plot(*self.vectors.T, color=GREY, linewidth=0.6, alpha=0.7)
        axes.scatter(*self.vectors[0], color=COLOURS[1], marker="*", s=90, depthshade=False, label="start")
        for marker, label, rows in self._groups():
            drawn = axes.scatter(
                *self.vectors[rows].T,
                c=rows,
                cmap=TIMES,
                vmin=0,
                vmax=len(self.codes),
                marker=marker,
                s=28,
                depthshade=False,
                edgecolors=None if marker == GAP else "white",
                linewidths=0.4,
                label=label,
            )
        bar = self.figure_.colorbar(drawn, ax=ax, shrink=0.6, pad=0.08)
        bar.set_label("position")
        legend = ax.legend(loc="upper left", bbox_to_anchor=(0, 1), frameon=False, fontsize="small")
        handles: list[Any] = legend.legend_handles
        for handle in handles[1:]:  # colours are times
            handle.set_array(None)
            handle.set_color(GREY)
        return self

    def _groups(self) -> Iterator[tuple[str, str, IntArray]]:
        """Yield a marker, what it means, and the states it marks: by symbol, while there are enough markers."""
        labels, seen = names(self.alphabet), np.unique(self.codes[self.codes != MISSING])
        if len(seen) > len(MARKERS):
            yield MARKERS[0], "after a symbol", 1 + np.flatnonzero(self.codes != MISSING)
        else:
            few = len(labels) <= len(MARKERS)  # then a symbol has the same marker in every picture
            for number, code in enumerate(seen):
                marker = MARKERS[code if few else number]
                yield marker, f"after {labels[code]}", 1 + np.flatnonzero(self.codes == code)
        if np.any(self.codes == MISSING):
            yield GAP, "after a gap", 1 + np.flatnonzero(self.codes == MISSING)

    def _open_sphere(self, ax: Axes | None) -> Axes:
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.figure(figsize=(6, 5), layout="constrained").add_subplot(projection="3d")
        if ax.name != "3d":
            raise ModelError("the Bloch sphere needs three-dimensional axes: figure.add_subplot(projection='3d')")
        return self._open(ax)

    @classmethod
    def animate(
        cls, model: Model, sequence: Any, *, symbol: Any = None, milliseconds: float = 200
    ) -> FuncAnimation:
        """Return an animation of the state beside the predicted probability of one symbol.

        Parameters
        ----------
        model : HQMM or NOOM of two states
        sequence : one sequence
        symbol : a symbol, optional
            Whose probability is drawn; the last of the alphabet by default.
        milliseconds : float
            Between symbols.

        Returns
        -------
        matplotlib.animation.FuncAnimation
            ``animation.save("clock.gif", writer="pillow")`` writes it.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from hqmm.datasets import probability_clock
        >>> from hqmm.plots import BlochDisplay
        >>> animation = BlochDisplay.animate(probability_clock(), [0, 0, 1])
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "clock.gif"
        >>> animation.save(path, writer="pillow", dpi=40)
        >>> path.read_bytes()[:3]
        b'GIF'
        """
        display = cls._along(model, sequence)
        chosen = display.alphabet.encode([display.alphabet.symbols[-1] if symbol is None else symbol])[0]
        return display._animation(int(chosen), milliseconds)

    def _animation(self, symbol: int, milliseconds: float) -> FuncAnimation:
        import matplotlib.pyplot as plt
        from matplotlib.animation import FuncAnimation

        figure = plt.figure(figsize=(8, 3.8))
        sphere: Any = figure.add_axes((0.0, 0.02, 0.46, 0.96), projection="3d")
        curve = figure.add_axes((0.56, 0.17, 0.41, 0.72))
        draw_sphere(sphere)
        (arrow,) = sphere.plot([], [], [], color=COLOURS[1], linewidth=2.5, marker="o", markevery=[1])
        (trail,) = sphere.plot([], [], [], color=COLOURS[0], linewidth=1, marker=".", markersize=4, alpha=0.6)
        labels = names(self.alphabet)
        heights = self.probabilities[:, symbol]
        (line,) = curve.plot([], [], color=COLOURS[0], marker=".", drawstyle="default")
        curve.set(
            xlim=(-0.5, len(heights) - 0.5),
            ylim=(0, max(1.05 * float(heights.max()), 0.05)),
            xlabel="symbols seen",
            ylabel=f"probability that {labels[symbol]} comes next",
        )
        plain(curve)

        def draw(time: int) -> list[Any]:
            seen = slice(max(0, time - 12), time + 1)
            trail.set_data_3d(*self.vectors[seen].T)
            arrow.set_data_3d(*np.stack([np.zeros(3), self.vectors[time]]).T)
            line.set_data(np.arange(time + 1), heights[: time + 1])
            last = "start" if time == 0 else f"after {_written(self.codes[time - 1], labels)}"
            curve.set_title(last)
            return [trail, arrow, line]

        return FuncAnimation(figure, draw, frames=len(self.vectors), interval=milliseconds)


def draw_sphere(ax: Axes) -> None:
    """Draw an empty Bloch sphere with its axes and poles on three-dimensional axes."""
    sphere: Any = ax
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    shell = np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)
    sphere.plot_wireframe(*shell, color=GREY, linewidth=0.3, alpha=0.35)
    turn = np.linspace(0, 2 * np.pi, 100)
    flat = np.zeros_like(turn)
    for circle in ((np.cos(turn), np.sin(turn), flat), (np.cos(turn), flat, np.sin(turn))):
        sphere.plot(*circle, color=GREY, linewidth=0.8, alpha=0.8)
    for end, start in (("|0⟩", (0, 0, 1)), ("|1⟩", (0, 0, -1)), ("|+⟩", (1, 0, 0)), ("|+i⟩", (0, 1, 0))):
        point: AnyArray = np.array(start)
        if point[2] >= 0:
            sphere.plot(*np.stack([-point, point]).T, color=GREY, linewidth=0.8, linestyle=":")
        sphere.text(*(1.22 * point), end, ha="center", va="center")
    sphere.set(xlim=(-0.8, 0.8), ylim=(-0.8, 0.8), zlim=(-0.8, 0.8))
    sphere.set_box_aspect((1, 1, 1))
    sphere.set_axis_off()
    sphere.view_init(**VIEW)


def _written(code: Any, labels: list[str]) -> str:
    return labels[code] if code >= 0 else "a gap"
