"""How a fit went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.plots._drawing import COLOURS, GREY, Display, fitted, plain, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hqmm.learning import ClassFit, Fit

Y_COLUMNS = {
    "log-likelihood": ("train", "validation", "log-likelihood per symbol"),
    "description accuracy": ("train_da", "validation_da", "description accuracy"),
    "accuracy": ("train_accuracy", "validation_accuracy", "accuracy"),
}
X_LABELS = {"iteration": "iteration", "passes": "passes over the data", "seconds": "seconds"}


class HistoryDisplay(Display):
    """Training and validation scores along a fit, with the iterate that was kept.

    Parameters
    ----------
    history : mapping of names to arrays
        The columns that `hqmm.fit` writes.
    best_iteration : int, optional
        The row of the iterate that was kept.
    restarts : sequence of histories
        Other runs, drawn pale behind.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import BaumWelch, fit, random_hmm
    >>> from hqmm.plots import HistoryDisplay
    >>> data = hmm_6_6().sample(4, 100, random_state=0)
    >>> result = fit(BaumWelch(), random_hmm(2, 6), data, max_iter=5, random_state=0)
    >>> HistoryDisplay.from_fit(result).ax_.get_xlabel()
    'iteration'
    """

    def __init__(
        self,
        history: Mapping[str, FloatArray],
        best_iteration: int | None = None,
        restarts: Sequence[Mapping[str, FloatArray]] = (),
    ) -> None:
        self.history, self.best_iteration, self.restarts = history, best_iteration, restarts

    @classmethod
    def from_fit(
        cls, fit: Fit | ClassFit, *, x: str = "iteration", y: str = "log-likelihood", ax: Axes | None = None
    ) -> Self:
        """Draw what a fit returned, with its restarts; the options are those of `plot`."""
        others = [one.history for one in getattr(fit, "restarts", ()) if one.history is not fit.history]
        return cls(fit.history, fit.best_iteration, others).plot(x=x, y=y, ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str = "iteration", y: str = "log-likelihood", ax: Axes | None = None
    ) -> Self:
        """Draw the ``history_`` of a fitted estimator; the options are those of `plot`."""
        history = fitted(estimator, "history_")
        return cls(history, best_row(history)).plot(x=x, y=y, ax=ax)

    def plot(self, *, x: str = "iteration", y: str = "log-likelihood", ax: Axes | None = None) -> Self:
        """Draw one score against one measure of effort.

        Parameters
        ----------
        x : "iteration", "passes" or "seconds"
        y : "log-likelihood", "description accuracy" or "accuracy"
            The last is for classifiers.
        ax : matplotlib axes, optional
        """
        if x not in X_LABELS:
            raise DataError(f"x must be one of {', '.join(map(repr, X_LABELS))}, not {x!r}")
        if y not in Y_COLUMNS:
            raise DataError(f"y must be one of {', '.join(map(repr, Y_COLUMNS))}, not {y!r}")
        train, validation, label = Y_COLUMNS[y]
        if train not in self.history:
            raise DataError(f"this history has no {train!r}; it has {', '.join(self.history)}")
        ax = self._open(ax)
        for other in self.restarts:
            ax.plot(*_finite(other, x, train), color=GREY, alpha=0.35, linewidth=1)
        ax.plot(*_finite(self.history, x, train), color=COLOURS[0], label="training")
        along, values = _finite(self.history, x, validation)
        if len(values):
            ax.plot(along, values, color=COLOURS[1], linestyle="--", label="validation")
        self._mark_best(ax, x, validation if len(values) else train)
        ax.set(xlabel=X_LABELS[x], ylabel=label)
        if x == "iteration":
            whole_numbers(ax)
        if self.restarts:
            ax.plot([], [], color=GREY, alpha=0.6, label="other restarts")
        ax.legend(frameon=False, loc="lower right")
        plain(ax)
        return self

    def _mark_best(self, ax: Axes, x: str, column: str) -> None:
        if self.best_iteration is None:
            return
        place, value = self.history[x][self.best_iteration], self.history[column][self.best_iteration]
        if np.isfinite(value):
            ax.plot([place], [value], "o", color=COLOURS[6], markersize=6, zorder=5, label="kept")


def _finite(history: Mapping[str, FloatArray], x: str, column: str) -> tuple[FloatArray, FloatArray]:
    values = np.asarray(history.get(column, ()), dtype=np.float64)
    along = np.asarray(history[x], dtype=np.float64)[: len(values)]
    shown = np.isfinite(values)
    return along[shown], values[shown]


def best_row(history: Mapping[str, FloatArray]) -> int:
    """Return the row with the highest validation score, or the last where nothing was held out."""
    values = np.asarray(history.get("validation", np.full(len(history["train"]), np.nan)))
    return len(values) - 1 if np.all(np.isnan(values)) else int(np.nanargmax(values))
