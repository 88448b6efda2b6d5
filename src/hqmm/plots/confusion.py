"""Which classes a classifier confuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hqmm._typing import IntArray
from hqmm.errors import DataError
from hqmm.plots._drawing import Display, colour_bar, label_columns, room_for, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ConfusionDisplay(Display):
    """The confusion matrix of a classifier, coloured by the share of each true class.

    Parameters
    ----------
    counts : (c, c) array
        Row: true class; column: predicted class.
    labels : sequence
        The classes.

    Examples
    --------
    >>> from hqmm.plots import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["EI", "IE", "N", "N"], ["EI", "N", "N", "N"]).counts
    array([[1, 0, 0],
           [0, 0, 1],
           [0, 0, 2]])
    """

    def __init__(self, counts: IntArray, labels: Sequence[Any]) -> None:
        self.counts, self.labels = counts, labels

    @classmethod
    def from_predictions(
        cls, truth: ArrayLike, predicted: ArrayLike, *, labels: Sequence[Any] | None = None, ax: Axes | None = None
    ) -> Self:
        """Count and draw; ``labels`` orders the classes, which are sorted otherwise."""
        true, guessed = np.asarray(truth), np.asarray(predicted)
        if true.shape != guessed.shape or true.ndim != 1:
            raise DataError(f"there must be one prediction for each true class: {true.shape}, not {guessed.shape}")
        classes = list(np.unique(np.concatenate([true, guessed])) if labels is None else labels)
        places = {label: place for place, label in enumerate(classes)}
        unknown = sorted({str(label) for label in (*true.tolist(), *guessed.tolist()) if label not in places})
        if unknown:
            raise DataError(f"labels does not have the class {unknown[0]!r}")
        counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
        rows = [places[label] for label in true.tolist()]
        columns = [places[label] for label in guessed.tolist()]
        np.add.at(counts, (rows, columns), 1)
        return cls(counts, classes).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, sequences: Any, truth: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Predict the classes of sequences with a fitted classifier, count and draw."""
        labels = list(estimator.classes_) if hasattr(estimator, "classes_") else None
        return cls.from_predictions(truth, estimator.predict(sequences), labels=labels, ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the matrix with its counts; the title says how many are right."""
        count, written = len(self.labels), [shortened(str(label)) for label in self.labels]
        beside = room_for(written)
        ax = self._open(ax, width=2.2 + 0.72 * count + beside, height=1.2 + 0.72 * count + beside)
        totals = np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        shares = self.counts / totals
        image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for (row, column), number in np.ndenumerate(self.counts):
            dark = shares[row, column] > 0.55
            ax.text(
                column,
                row,
                f"{number}\n{shares[row, column]:.0%}",
                ha="center",
                va="center",
                color="white" if dark else "black",
            )
        label_columns(ax, range(count), written)
        ax.set_yticks(range(count), written)
        right = np.trace(self.counts) / max(self.counts.sum(), 1)
        ax.set(xlabel="predicted", ylabel="true", title=f"{right:.1%} right")
        ax.tick_params(length=0)
        colour_bar(ax, image, "share of the true class")
        return self
