"""What a larger model buys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.metrics import description_accuracies
from hqmm.models import Model
from hqmm.plots._drawing import GREY, Display, colours, fitted, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vPX"
DASHES = ("--", ":", "-.")


@dataclass(frozen=True)
class Curve:
    """Scores of one family of models by size, with the half-lengths of their error bars.

    Examples
    --------
    >>> from hqmm.plots import Curve
    >>> Curve([2, 4], [0.12, 0.16]).errors is None
    True
    """

    sizes: Any
    scores: Any
    errors: Any = None


class SizeDisplay(Display):
    """Description accuracy against the size of the model, one line for each family.

    Parameters
    ----------
    curves : mapping of names to `Curve`
    references : mapping of names to numbers
        Levels to compare with, such as the true model's score.
    size, score : str
        Labels of the axes.

    Examples
    --------
    >>> from hqmm.plots import Curve, SizeDisplay
    >>> curves = {"HMM": Curve([2, 4], [0.12, 0.16]), "HQMM": Curve([2, 4], [0.15, 0.18])}
    >>> SizeDisplay(curves, {"true model": 0.18}).plot().ax_.get_ylabel()
    'description accuracy'
    """

    def __init__(
        self,
        curves: Mapping[str, Curve],
        references: Mapping[str, float] | None = None,
        *,
        size: str = "states",
        score: str = "description accuracy",
    ) -> None:
        self.curves, self.references, self.size, self.score = curves, references or {}, size, score

    @classmethod
    def from_models(
        cls,
        families: Mapping[str, Iterable[Model]],
        sequences: Any,
        *,
        burn_in: int = 0,
        references: Mapping[str, Model] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Score families of models on the same sequences and draw them by number of states.

        Error bars are one standard deviation over sequences, as in the paper.

        Examples
        --------
        >>> import numpy as np
        >>> from hqmm.datasets import hmm_6_6
        >>> from hqmm.learning import random_hmm
        >>> from hqmm.plots import SizeDisplay
        >>> data = hmm_6_6().sample(4, 100, random_state=0)
        >>> models = [random_hmm(n, 6)(np.random.default_rng(n)) for n in (1, 2)]
        >>> display = SizeDisplay.from_models({"random": models}, data, references={"true": hmm_6_6()})
        >>> display.curves["random"].sizes.tolist()
        [1, 2]
        """
        curves = {name: _curve(list(models), sequences, burn_in) for name, models in families.items()}
        levels = {
            name: float(np.mean(description_accuracies(model, sequences, burn_in)))
            for name, model in (references or {}).items()
        }
        return cls(curves, levels).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimators: Mapping[str, Iterable[Any]], sequences: Any, *, burn_in: int = 0, ax: Axes | None = None
    ) -> Self:
        """Score families of fitted estimators on the same sequences; see `from_models`."""
        families = {name: [fitted(one, "model_") for one in family] for name, family in estimators.items()}
        return cls.from_models(families, sequences, burn_in=burn_in, ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw the curves and the reference levels."""
        ax = self._open(ax)
        tints = colours(len(self.curves))
        for number, (name, curve) in enumerate(self.curves.items()):
            ax.errorbar(
                curve.sizes,
                curve.scores,
                yerr=curve.errors,
                label=name,
                color=tints[number],
                marker=MARKERS[number % len(MARKERS)],
                capsize=3,
                elinewidth=1,
            )
        for number, (name, level) in enumerate(self.references.items()):
            ax.axhline(level, color=GREY, linestyle=DASHES[number % len(DASHES)], label=name, zorder=0)
        sizes = np.unique(np.concatenate([np.asarray(curve.sizes) for curve in self.curves.values()]))
        if len(sizes) <= 12:
            ax.set_xticks(sizes)
        ax.set(xlabel=self.size, ylabel=self.score)
        ax.legend(frameon=False)
        plain(ax)
        return self


def _curve(models: list[Model], sequences: Any, burn_in: int) -> Curve:
    if not models:
        raise DataError("a family needs at least one model")
    scores = [description_accuracies(model, sequences, burn_in) for model in models]
    sizes: FloatArray = np.array([_states(model) for model in models])
    order = np.argsort(sizes, kind="stable")
    return Curve(
        sizes[order],
        np.array([score.mean() for score in scores])[order],
        np.array([score.std() for score in scores])[order],
    )


def _states(model: Model) -> int:
    """Return n; labels times states for a hybrid, contexts for a chain, the dimension for an OOM."""
    if hasattr(model, "n_blocks"):
        return int(model.n_blocks * getattr(model, "n_states", 1))
    for name in ("n_states", "n_contexts", "dimension"):
        if hasattr(model, name):
            return int(getattr(model, name))
    return model.linear.dimension
