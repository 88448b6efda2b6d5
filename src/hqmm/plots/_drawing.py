"""What the displays share: where a model comes from, axes, colours, symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hqmm._typing import AnyArray, ComplexArray, FloatArray, IntArray
from hqmm.linear import MISSING
from hqmm.models import Model
from hqmm.sequences import Alphabet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers tell apart, darkest first so that lines stand out on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#8A8A8A"
# Phases −π, −π/2, 0, π/2 and π: a cycle in which positive and negative numbers stand apart, none pale on white.
PHASE_COLOURS = ("#D55E00", "#B05A9B", "#0072B2", "#009E73", "#D55E00")
PROBABILITIES = "cividis"
MANY = 40  # more rows or columns than this get no label each
SHORT = 3  # characters that stand beside each other below columns; longer names are turned
LONGEST = 24  # characters of a name that are written
LETTER = 0.085  # inches


class Display:
    """A picture's data; `plot` draws it, and keeps what it drew on in ``ax_`` and ``figure_``."""

    ax_: Axes
    figure_: Figure

    def _open(self, ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
        """Take the given axes or make some, and remember them."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        self.ax_, self.figure_ = ax, ax.get_figure(root=True)  # type: ignore[assignment]
        return ax


class ModelDisplay(Display, ABC):
    """A picture of a model."""

    @classmethod
    @abstractmethod
    def from_model(cls, model: Any, *arguments: Any, **options: Any) -> Self:
        """Draw a model."""

    @classmethod
    def from_estimator(cls, estimator: Any, *arguments: Any, **options: Any) -> Self:
        """Draw the ``model_`` of a fitted estimator; further arguments are those of `from_model`."""
        return cls.from_model(fitted(estimator, "model_"), *arguments, **options)


def fitted(estimator: Any, name: str) -> Any:
    """Return an attribute that estimators have after fit."""
    if not hasattr(estimator, name):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(estimator).__name__} has no {name} yet; call fit first")
    return getattr(estimator, name)


def colours(count: int) -> list[Any]:
    """Return so many colours: Okabe and Ito's while they last, then steps of a perceptual scale."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    import matplotlib

    return list(matplotlib.colormaps["viridis"](np.linspace(0, 0.95, count)))


def names(alphabet: Alphabet) -> list[str]:
    """Return what to write for each symbol."""
    return [shortened(str(symbol)) for symbol in alphabet]


def shortened(name: str) -> str:
    """Return a name, without what is too long to be written."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def room_for(labels: Sequence[str]) -> float:
    """Return the height in inches that `label_columns` needs below the axes beyond that of a line."""
    longest = max(map(len, labels), default=0)
    return LETTER * longest if longest > SHORT else 0.0


def label_columns(ax: Axes, places: ArrayLike, labels: Sequence[str]) -> None:
    """Write a label below each column, upwards where one is long."""
    ax.set_xticks(np.asarray(places), labels, rotation=90 if room_for(labels) else 0)


def codes_of(model: Model, sequence: Any) -> IntArray:
    """Return the codes of one sequence, of which there must be some."""
    codes = np.asarray(model.alphabet.encode(sequence), dtype=np.int64)
    if not len(codes):
        from hqmm.errors import DataError

        raise DataError("the sequence is empty, so there is nothing to draw along it")
    return codes


def symbols_below(codes: AnyArray, alphabet: Alphabet) -> list[str]:
    """Return what to write below a time axis: the symbols, if there are not too many."""
    labels = names(alphabet)
    return ["·" if code == MISSING else labels[code] for code in codes] if len(codes) <= MANY else []


def write_symbols(ax: Axes, codes: AnyArray, alphabet: Alphabet) -> None:
    """Write the symbols below a time axis, or else the positions."""
    written = symbols_below(codes, alphabet)
    if written:
        label_columns(ax, range(len(codes)), written)
        ax.set_xlabel("symbol")
    else:
        whole_numbers(ax)
        ax.set_xlabel("position")


def whole_numbers(ax: Axes) -> None:
    """Let the x axis count."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def label_rows(ax: Axes, labels: Sequence[str], title: str) -> None:
    """Write a label beside each row of a map, where they fit."""
    if len(labels) <= MANY:
        ax.set_yticks(range(len(labels)), labels)
    ax.set_ylabel(title)


def colour_bar(ax: Axes, mapped: ScalarMappable, title: str) -> None:
    """Add a slim colour bar."""
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(mapped, ax=ax, pad=0.02, aspect=30)
    bar.set_label(title)
    bar.outline.set_visible(False)


def plain(ax: Axes) -> None:
    """Take the box off a line chart."""
    ax.spines[["top", "right"]].set_visible(False)


def draw_phase_map(ax: Axes, matrix: ComplexArray | FloatArray, largest: float, at: tuple[float, float]) -> None:
    """Draw a matrix as squares: the area is an entry's magnitude, the colour its phase.

    The first entry's centre is at ``at``; rows go down where the axis is inverted.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    rows, columns = matrix.shape
    x, y = at
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), columns, rows, facecolor="#F1F1F1", edgecolor="none", zorder=0))
    squares, phases = [], []
    for (i, j), value in np.ndenumerate(matrix):
        side = 0.94 * np.sqrt(abs(value) / largest) if largest > 0 else 0.0
        if side > 0.01:
            squares.append(Rectangle((x + j - side / 2, y + i - side / 2), side, side))
            phases.append(np.angle(value))
    tints = _phase_map()((np.array(phases) + np.pi) / (2 * np.pi))
    ax.add_collection(PatchCollection(squares, facecolors=tints, edgecolors="none", zorder=1))


def _phase_map() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("phases", PHASE_COLOURS)


def phase_bar(ax: Axes) -> None:
    """Add the scale that says which colour is which phase."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(
        ScalarMappable(Normalize(-np.pi, np.pi), _phase_map()), ax=ax, pad=0.02, aspect=25, shrink=0.8
    )
    bar.set_ticks([-np.pi, -np.pi / 2, 0, np.pi / 2, np.pi], labels=["−π", "−π/2", "0", "π/2", "π"])
    bar.set_label("phase")
    bar.outline.set_visible(False)
