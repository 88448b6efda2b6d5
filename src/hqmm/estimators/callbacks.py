"""scikit-learn's callbacks (from 1.9 on): progress bars, monitors and early stops that it brings."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from hqmm.models import Model

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    FRAMES = 1  # that it puts between fit and who calls it: a warning should point to the latter
except ImportError:  # an earlier scikit-learn, whose estimators have no callbacks
    FRAMES = 0

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["FRAMES", "CallbackSupportMixin", "Watch", "with_callbacks"]


class Watch:
    """Tells an estimator's callbacks of its fit: a task for the whole, and one for each iteration of the learner.

    Parameters
    ----------
    estimator : LearnedEstimator
        Whose callbacks are told.
    X, y, sample_weight
        What its ``fit`` was given.
    attributes : function of a Model
        Returns what a fitted estimator would hold if the learner had stopped there.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, attributes: Callable[[Model], dict[str, Any]]
    ) -> None:
        self.attributes = attributes
        metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self.context: Any = None
        self.lock = Lock()  # restarts may run side by side
        if getattr(estimator, "_skl_callbacks", None) is not None or hasattr(estimator, "_parent_callback_ctx"):
            self.context = estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(**self.given)

    @property
    def callbacks(self) -> list[Callable[[dict[str, float], Model], bool]]:
        """What the learners' driver is to call after each iteration: nothing where nobody watches."""
        return [] if self.context is None else [self._iterated]

    def _iterated(self, row: dict[str, float], model: Model) -> bool:
        with self.lock:
            task = self.context.subcontext(task_name=f"iteration {row['iteration']:.0f}")
            task.call_on_fit_task_begin(**self.given)
            return bool(
                task.call_on_fit_task_end(**self.given, reconstruction_attributes=lambda: self.attributes(model))
            )

    def end(self, model: Model) -> None:
        """Tell that the fit is over."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                **self.given, reconstruction_attributes=lambda: self.attributes(model)
            )
