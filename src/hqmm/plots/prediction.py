"""What a model expects along a sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hqmm._typing import FloatArray, IntArray
from hqmm.linear import MISSING
from hqmm.models import Model
from hqmm.plots._drawing import (
    PROBABILITIES,
    ModelDisplay,
    codes_of,
    colour_bar,
    label_rows,
    names,
    room_for,
    symbols_below,
    write_symbols,
)
from hqmm.sequences import Alphabet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 100  # more symbols than this get small dots, between which the map is seen


class PredictionDisplay(ModelDisplay):
    """The predicted distribution of each symbol of a sequence, given the symbols before it, and what came.

    Parameters
    ----------
    probabilities : (T, s) array
        Row t is the distribution of the symbol at position t.
    codes : (T,) array
        What came; −1 is missing.
    alphabet : Alphabet

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.plots import PredictionDisplay
    >>> display = PredictionDisplay.from_model(hmm_6_6(), [0, 1, 2, 3])
    >>> display.probabilities.shape
    (4, 6)
    """

    def __init__(self, probabilities: FloatArray, codes: IntArray, alphabet: Alphabet) -> None:
        self.probabilities, self.codes, self.alphabet = probabilities, codes, alphabet

    @classmethod
    def from_model(cls, model: Model, sequence: Any, *, ax: Axes | None = None) -> Self:
        """Draw what a model predicts along one sequence."""
        codes = codes_of(model, sequence)
        return cls(model.predict(sequence, along=True)[:-1], codes, model.alphabet).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the map, with a dot on what came."""
        below = room_for(symbols_below(self.codes, self.alphabet))
        ax = self._open(ax, width=8, height=max(2.2, 1.2 + 0.28 * min(len(self.alphabet), 20)) + below)
        image = ax.imshow(
            self.probabilities.T, aspect="auto", cmap=PROBABILITIES, vmin=0, vmax=1, interpolation="nearest"
        )
        seen = np.flatnonzero(self.codes != MISSING)
        ax.plot(
            seen,
            self.codes[seen],
            "o",
            markersize=4.5 if len(self.codes) <= FEW else 2.5,
            markerfacecolor="white",
            markeredgecolor="black",
            markeredgewidth=0.6 if len(self.codes) <= FEW else 0.2,
            label="what came",
        )
        label_rows(ax, names(self.alphabet), "next symbol")
        write_symbols(ax, self.codes, self.alphabet)
        colour_bar(ax, image, "probability")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, borderaxespad=0.2)
        return self
