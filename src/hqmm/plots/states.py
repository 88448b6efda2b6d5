"""The filtered state along a sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.models import HMM, NOOM, MarkovChain, Model
from hqmm.plots._drawing import (
    COLOURS,
    PROBABILITIES,
    ModelDisplay,
    codes_of,
    colour_bar,
    colours,
    label_rows,
    plain,
    room_for,
    symbols_below,
    write_symbols,
)
from hqmm.sequences import Alphabet

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class StateDisplay(ModelDisplay):
    """The state after each symbol of a sequence, given the symbols so far.

    Of a probability vector every entry is shown, of a density matrix the diagonal (the probabilities of the basis
    states) and above it the purity tr ρ², of a NOOM's vector the squares, of an OOM's vector the signed entries.

    Parameters
    ----------
    values : (T, n) array
        What is shown.
    codes : (T,) array
        The symbols; −1 is missing.
    alphabet : Alphabet
    rows : list of str
        A label for each of the n.
    purity : (T,) array, optional

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.plots import StateDisplay
    >>> StateDisplay.from_model(hqmm_2_6(), [0, 2, 1]).values.round(2)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """

    def __init__(
        self,
        values: FloatArray,
        codes: IntArray,
        alphabet: Alphabet,
        rows: list[str],
        purity: FloatArray | None = None,
    ) -> None:
        self.values, self.codes, self.alphabet, self.rows, self.purity = values, codes, alphabet, rows, purity

    @classmethod
    def from_model(cls, model: Model, sequence: Any, *, ax: Axes | None = None) -> Self:
        """Draw the states of a model along one sequence."""
        codes = codes_of(model, sequence)
        values, rows, purity = _shown(model, model.filter(sequence))
        return cls(values, codes, model.alphabet, rows, purity).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the map, and the purity above it where there is one."""
        below = room_for(symbols_below(self.codes, self.alphabet))
        ax = self._open(ax, width=8, height=max(2.6, 1.9 + 0.3 * min(len(self.rows), 20)) + below)
        signed = float(self.values.min()) < 0
        limit = float(np.abs(self.values).max())
        image = ax.imshow(
            self.values.T,
            aspect="auto",
            cmap="PuOr" if signed else PROBABILITIES,
            vmin=-limit if signed else 0,
            vmax=limit if signed else 1,
            interpolation="nearest",
        )
        label_rows(ax, self.rows, "")
        write_symbols(ax, self.codes, self.alphabet)
        if self.purity is not None:
            above = _axes_above(ax)
            above.plot(self.purity, color=COLOURS[1], drawstyle="steps-mid")
            above.set(ylim=(0, 1.05), ylabel="purity")
            above.tick_params(labelbottom=False, bottom=False)
            plain(above)
        colour_bar(ax, image, "entry" if signed else "probability")
        return self


def _axes_above(ax: Axes) -> Axes:
    """Split a strip off the top of the axes."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable  # type: ignore[import-untyped]

    above: Axes = make_axes_locatable(ax).append_axes("top", size=0.5, pad=0.12, sharex=ax)
    return above


class LabelDisplay(ModelDisplay):
    """The probabilities of a hybrid model's classical labels along a sequence; of an HMM, those of its states.

    Parameters
    ----------
    probabilities : (T, k) array
    codes : (T,) array
        The symbols; −1 is missing.
    alphabet : Alphabet
    title : str
        What the k are.

    Examples
    --------
    >>> from hqmm import HMM
    >>> from hqmm.plots import LabelDisplay
    >>> weather = HMM([[0.9, 0.3], [0.1, 0.7]], [[0.8, 0.1], [0.2, 0.9]], alphabet="sr")
    >>> LabelDisplay.from_model(weather, "ssr").probabilities.shape
    (3, 2)
    """

    def __init__(
        self, probabilities: FloatArray, codes: IntArray, alphabet: Alphabet, title: str = "label"
    ) -> None:
        self.probabilities, self.codes, self.alphabet, self.title = probabilities, codes, alphabet, title

    @classmethod
    def from_model(cls, model: Model, sequence: Any, *, ax: Axes | None = None) -> Self:
        """Draw the label probabilities of a hybrid model or an HMM along one sequence."""
        codes = codes_of(model, sequence)
        states = model.filter(sequence)
        if states.ndim == 4:
            probabilities = np.einsum("tkii->tk", states).real
        elif isinstance(model, HMM):
            probabilities = states
        else:
            from hqmm.errors import ModelError

            raise ModelError(f"{model!r} has no classical labels; see StateDisplay")
        title = "state" if isinstance(model, HMM) else "label"
        return cls(probabilities, codes, model.alphabet, title).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the probabilities stacked on each other, one step for each symbol."""
        ax = self._open(ax, width=8, height=3 + room_for(symbols_below(self.codes, self.alphabet)))
        count = self.probabilities.shape[1]
        edges = np.arange(len(self.codes) + 1) - 0.5
        heights = np.concatenate([self.probabilities, self.probabilities[-1:]])
        floors = np.zeros(len(edges))
        for label, tint in enumerate(colours(count)):
            tops = floors + heights[:, label]
            ax.fill_between(edges, floors, tops, step="post", color=tint, linewidth=0, label=f"{label}")
            floors = tops
        ax.set(xlim=(edges[0], edges[-1]), ylim=(0, 1), ylabel="probability")
        write_symbols(ax, self.codes, self.alphabet)
        ax.legend(title=self.title, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, reverse=True)
        return self


def _shown(model: Model, states: AnyArray) -> tuple[FloatArray, list[str], FloatArray | None]:
    """Return real values, one row per time, with their labels, and the purity of density matrices."""
    if isinstance(model, NOOM):
        return states**2, [f"state {i}" for i in range(states.shape[1])], None
    if states.ndim == 4:
        blocks, size = states.shape[1:3]
        rows = [f"label {k}, state {i}" for k in range(blocks) for i in range(size)]
        return _diagonals(states).reshape(len(states), -1), rows, _purity(states)
    if states.ndim == 3:
        return _diagonals(states), [f"state {i}" for i in range(states.shape[1])], _purity(states)
    if isinstance(model, HMM | MarkovChain):
        kind = "state" if isinstance(model, HMM) else "context"
        return states, [f"{kind} {i}" for i in range(states.shape[1])], None
    real = np.concatenate([states.real, states.imag], axis=1) if np.iscomplexobj(states) else states
    return real, [f"entry {i}" for i in range(real.shape[1])], None


def _diagonals(states: AnyArray) -> FloatArray:
    return np.diagonal(states, axis1=-2, axis2=-1).real


def _purity(states: AnyArray) -> FloatArray:
    """Return tr ρ², the sum of squared magnitudes of all entries of ρ."""
    return (np.abs(states) ** 2).reshape(len(states), -1).sum(axis=1)
