"""What every estimator does with its model."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hqmm._random import RandomState, as_generator
from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.estimators.counting import Counted, n_parameters
from hqmm.estimators.reading import read, shares, weighted
from hqmm.estimators.walking import after
from hqmm.linear import MISSING
from hqmm.models import Model
from hqmm.models.base import Process
from hqmm.sequences import Alphabet, Sequences

Self = TypeVar("Self", bound="SequenceEstimator")


class SequenceTags:
    """Tells scikit-learn that rows may be tables of codes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags


class SequenceEstimator(SequenceTags, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose rows are sequences; subclasses learn ``model_``.

    Attributes
    ----------
    model_ : Model
        What was learned: immutable, and of use without the estimator.
    alphabet_ : Alphabet
        The symbols of the model.
    n_features_in_ : int
        Number of columns, where the data came as a table.
    """

    burn_in: int
    alphabet: Any
    end: bool
    random_state: RandomState
    model_: Model
    alphabet_: Alphabet

    @abstractmethod
    def fit(self: Self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from sequences."""

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of each sequence after the burn-in, −∞ where it is impossible."""
        self._fitted()
        return self._log_likelihood(self._read(X))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood per symbol after the burn-in, −∞ where a sequence is impossible."""
        total, symbols = self._totals(self._scored(X, sample_weight))
        return total / symbols

    def predict_next(self, X: Any) -> FloatArray:
        """Return the distribution of the next symbol after each sequence, one row for each."""
        process = self._process()
        return after(process, self._prefixes(X), process.next_distribution)

    def forecast(self, X: Any, horizon: int = 1) -> FloatArray:
        """Return the marginal distributions of the next symbols, of shape (sequences, horizon, symbols)."""
        if horizon < 1:
            raise DataError(f"horizon must be at least 1, but is {horizon}")
        process = self._process()

        def ahead(states: Any, position: int) -> FloatArray:
            steps = []
            for step in range(horizon):
                steps.append(process.next_distribution(states, position + step))
                states, _ = process.advance(states, np.full(states.shape[0], MISSING))
            return np.stack(steps, axis=1)

        return after(process, self._prefixes(X), ahead)

    def transform(self, X: Any) -> FloatArray:
        """Return the filtered state after each sequence, in the real coordinates of ``model_.linear``.

        They say all that the model knows of the future, in m numbers: probabilities of hidden states for an HMM,
        the entries of the density matrix in an orthonormal basis for an HQMM, an indicator of the context for a
        Markov chain.
        """
        return after(self._process(), self._read(X, end=False), _dense)

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion, 2k − 2ℓ: the lower, the better.

        k counts only what the model is free to choose: see `hqmm.estimators.counting.n_parameters`.
        """
        total, _ = self._totals(self._scored(X))
        return 2.0 * self.n_parameters_ - 2.0 * total

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion, k log N − 2ℓ with N scored symbols: the lower, the better."""
        total, symbols = self._totals(self._scored(X))
        return float(self.n_parameters_ * np.log(symbols) - 2.0 * total)

    @property
    def n_parameters_(self) -> int:
        """Number of parameters that the model is free to choose."""
        return n_parameters(self._fitted(), initial=self._counted_initial())

    def sample(
        self,
        n_sequences: int = 1,
        length: int | None = None,
        *,
        prefix: Any = (),
        random_state: RandomState = None,
    ) -> Sequences:
        """Draw sequences, as `Model.sample` does; ``random_state`` is the estimator's by default."""
        chosen = self.random_state if random_state is None else random_state
        return self._fitted().sample(n_sequences, length, prefix=prefix, random_state=as_generator(chosen))

    def _scored(self, X: Any, sample_weight: ArrayLike | None = None) -> Sequences:
        """Read data that has something to score."""
        self._fitted()
        data = weighted(self._read(X), sample_weight)
        if not shares(data, self.burn_in) @ data.weights:
            raise DataError(f"nothing is left to score after a burn-in of {self.burn_in} symbols")
        return data

    def _counted_initial(self) -> Counted:
        """Return how the initial state counts among the parameters."""
        return "learned"

    def _totals(self, data: Sequences) -> tuple[float, float]:
        """Return the log-likelihood of all sequences and the number of scored symbols, by weight."""
        counted = data[np.flatnonzero(data.weights)]
        values = self._log_likelihood(counted)
        return float(values @ counted.weights), float(shares(counted, self.burn_in) @ counted.weights)

    def _log_likelihood(self, data: Sequences) -> FloatArray:
        return self.model_.log_likelihood(data, self.burn_in)

    def _process(self) -> Process:
        """Return what states are and how symbols move them."""
        return self._fitted()._process

    def _fitted(self) -> Model:
        check_is_fitted(self, "model_")
        return self.model_

    def _read(self, X: Any, *, end: bool | None = None, any_width: bool = False) -> Sequences:
        wanted = self.alphabet_.end is not None if end is None else end
        return read(self, X, self.alphabet_, wanted, reset=False, any_width=any_width)

    def _prefixes(self, X: Any) -> Sequences:
        """Read the beginnings of sequences, which have any length and no end."""
        return self._read(X, end=False, any_width=True)

    def _read_training(self, X: Any, sample_weight: ArrayLike | None) -> Sequences:
        return weighted(read(self, X, self.alphabet, self.end, reset=True), sample_weight)

    def _set_model(self, model: Model) -> None:
        self.model_ = model
        self.alphabet_ = model.alphabet

    @property
    def _n_features_out(self) -> int:
        return int(self.model_._process.start(1).shape[1])


def _dense(states: Any, position: int) -> FloatArray:
    del position
    result: FloatArray = states.toarray() if hasattr(states, "toarray") else states
    return result
