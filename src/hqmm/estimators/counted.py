"""Estimators that count words, and are done."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from hqmm.estimators.base import SequenceEstimator
from hqmm.estimators.reading import weighted
from hqmm.models import Model
from hqmm.sequences import Sequences

Self = TypeVar("Self", bound="CountingEstimator")


class CountingEstimator(SequenceEstimator):
    """An estimator whose model follows from the data without iterations."""

    _seen: Sequences

    @abstractmethod
    def _learned(self, data: Sequences) -> Model:
        """Return the model of the data."""

    def fit(self: Self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : Sequences or anything it accepts, or a data frame
            One sequence a row; of any lengths where it is not a table.
        y : ignored
            For scikit-learn's sake.
        sample_weight : array, optional
            How often each sequence counts; multiplied with the weights of `Sequences`.

        Returns
        -------
        self
        """
        self._seen = self._read_training(X, sample_weight)
        self._set_model(self._learned(self._seen))
        return self

    def partial_fit(self: Self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from more sequences: the model is that of all so far.

        Sequences are kept, each distinct one once, to count again; the first ones decide the alphabet, if it is
        not given.

        Parameters
        ----------
        X : Sequences or anything it accepts, or a data frame
            One sequence a row.
        y : ignored
            For scikit-learn's sake.
        sample_weight : array, optional
            How often each sequence counts; multiplied with the weights of `Sequences`.

        Returns
        -------
        self
        """
        if hasattr(self, "model_"):
            data = Sequences.concatenate([self._seen, weighted(self._read(X), sample_weight)])
        else:
            data = self._read_training(X, sample_weight)
        self._seen = data.deduplicate()
        self._set_model(self._learned(self._seen))
        return self
