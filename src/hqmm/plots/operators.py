"""What a model is made of: its operators, and how many of them it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hqmm._typing import ComplexArray, FloatArray
from hqmm.errors import ModelError
from hqmm.models import HQMM, NOOM, OOM, Model
from hqmm.plots._drawing import (
    GREY,
    ModelDisplay,
    colours,
    draw_phase_map,
    label_columns,
    names,
    phase_bar,
    plain,
    room_for,
)
from hqmm.sequences import Alphabet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 1.2  # between matrices, in entries
FLOOR = 1e-16
STYLES = ("-", "--", ":", "-.")


class OperatorDisplay(ModelDisplay):
    """The operators of each symbol as maps: the area of a square is an entry's magnitude, its colour the phase.

    An HQMM shows its Kraus operators, one row of maps for each w; a hybrid the same, with the blocks between
    labels side by side; a NOOM its φ_y, an OOM its τ_y; an HMM and a Markov chain the operators T_y.

    Parameters
    ----------
    operators : (s, w, n, n) array
    alphabet : Alphabet
    block : int, optional
        Draw lines between blocks of this size.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.plots import OperatorDisplay
    >>> OperatorDisplay.from_model(hqmm_2_6()).operators.shape
    (6, 1, 2, 2)
    """

    def __init__(self, operators: ComplexArray | FloatArray, alphabet: Alphabet, block: int | None = None) -> None:
        self.operators, self.alphabet, self.block = operators, alphabet, block

    @classmethod
    def from_model(cls, model: Model, *, ax: Axes | None = None) -> Self:
        """Draw the operators of a model."""
        kraus = getattr(model, "kraus", None)
        if kraus is not None and kraus.ndim == 6:
            s, w, k, _, q, _ = kraus.shape
            side_by_side = kraus.transpose(0, 1, 2, 4, 3, 5).reshape(s, w, k * q, k * q)
            return cls(side_by_side, model.alphabet, q).plot(ax=ax)
        if kraus is None:
            own = model.operators if isinstance(model, NOOM | OOM) else model.linear.operators
            kraus = own[:, None]
        return cls(kraus, model.alphabet).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw one column of maps for each symbol, on one scale."""
        s, w, n, _ = self.operators.shape
        pitch = n + GAP
        wide = float(np.clip(1.2 + s * pitch * 0.22, 4, 14))
        high = float(np.clip(1.0 + w * pitch * (wide - 1.5) / (s * pitch), 1.8, 10))
        labels = names(self.alphabet)
        ax = self._open(ax, wide, high + room_for(labels))
        largest = float(np.abs(self.operators).max())
        for symbol in range(s):
            for row in range(w):
                place = (symbol * pitch, row * pitch)
                draw_phase_map(ax, self.operators[symbol, row], largest, place)
                self._divide(ax, place, n)
        middle = (n - 1) / 2
        ax.set(xlim=(-1, s * pitch - GAP), ylim=(w * pitch - GAP, -1), aspect="equal")
        label_columns(ax, np.arange(s) * pitch + middle, labels)
        ax.set_yticks(np.arange(w) * pitch + middle, [f"{row}" for row in range(w)] if w > 1 else [""])
        ax.set(xlabel="symbol", ylabel="operator" if w > 1 else "")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        phase_bar(ax)
        return self

    def _divide(self, ax: Axes, place: tuple[float, float], n: int) -> None:
        if self.block is None:
            return
        x, y = place[0] - 0.5, place[1] - 0.5
        for cut in range(self.block, n, self.block):
            ax.plot([x + cut, x + cut], [y, y + n], color="white", linewidth=1.2, zorder=2)
            ax.plot([x, x + n], [y + cut, y + cut], color="white", linewidth=1.2, zorder=2)


class ChoiSpectrumDisplay(ModelDisplay):
    """The eigenvalues of each symbol's Choi matrix: how many Kraus operators are really used.

    Parameters
    ----------
    spectra : (s, n²) array
        Descending; the eigenvalues of all symbols together sum to n.
    alphabet : Alphabet
    tol : float
        Eigenvalues below this share of a symbol's largest do not count for its rank.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.plots import ChoiSpectrumDisplay
    >>> ChoiSpectrumDisplay.from_model(hmm_6_6().to_hqmm().compress(2)).ranks.tolist()
    [2, 2, 2, 2, 2, 2]
    """

    def __init__(self, spectra: FloatArray, alphabet: Alphabet, tol: float = 1e-10) -> None:
        self.spectra, self.alphabet, self.tol = spectra, alphabet, tol

    @property
    def ranks(self) -> Any:
        """The Kraus rank of each symbol."""
        return (self.spectra > self.tol * self.spectra[:, :1]).sum(axis=1)

    @classmethod
    def from_model(cls, model: Any, *, tol: float = 1e-10, ax: Axes | None = None) -> Self:
        """Draw the spectra of an HQMM, or of a model that converts to one."""
        if not hasattr(model, "to_hqmm"):
            raise ModelError(f"{model!r} has no Kraus operators; an HQMM, hybrid, NOOM or HMM has")
        quantum: HQMM = model.to_hqmm()
        spectra = np.linalg.eigvalsh(quantum.choi())[:, ::-1].astype(np.float64)
        return cls(spectra, model.alphabet, tol).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw one line for each symbol, on a logarithmic scale."""
        ax = self._open(ax)
        ranks, labels = self.ranks, names(self.alphabet)
        shown = min(self.spectra.shape[1], int(ranks.max()) + 2)
        places = np.arange(1, shown + 1)
        for code, tint in enumerate(colours(len(labels))):
            heights = np.maximum(self.spectra[code, :shown], FLOOR)
            ax.semilogy(
                places,
                heights,
                color=tint,
                linestyle=STYLES[code % len(STYLES)],
                marker="o",
                markersize=4,
                label=f"{labels[code]} (rank {ranks[code]})",
            )
        ax.axhline(self.tol * float(self.spectra.max()), color=GREY, linestyle=":", linewidth=1, zorder=0)
        ax.set_xticks(places)
        ax.set(xlabel="Kraus operator", ylabel="eigenvalue of the Choi matrix")
        if len(labels) <= 12:
            ax.legend(title="symbol", frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        else:
            span = f"{ranks.min()}" if ranks.min() == ranks.max() else f"{ranks.min()} to {ranks.max()}"
            ax.set_title(f"{len(labels)} symbols of rank {span}")
        plain(ax)
        return self
