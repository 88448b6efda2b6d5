"""The spectral estimator of observable operator models."""

from __future__ import annotations

import warnings
from typing import Any

from hqmm._random import RandomState
from hqmm._typing import FloatArray
from hqmm.estimators.counted import CountingEstimator
from hqmm.estimators.counting import Counted
from hqmm.estimators.walking import after
from hqmm.learning.spectral import Lenient, OnNegative, learn_spectral, score_leniently
from hqmm.models import OOM
from hqmm.models.base import Process
from hqmm.sequences import Sequences


class OOMEstimator(CountingEstimator):
    """Observable operator models by the spectral method: one singular value decomposition, no iterations.

    What it learns may give negative probabilities; ``on_negative`` says what to do with them.

    Parameters
    ----------
    n_states : int
        Dimension of the model: the number of singular values kept. Where the data support no more, there are
        fewer, and a warning.
    longest : int
        Pasts and futures are all observed words of up to so many symbols (without an end symbol, at most so many
        that a past, a symbol and a future fit into the longest sequence).
    on_negative : "raise", "clip" or "reset"
        "raise" stops at a negative probability, "clip" takes ``floor`` instead, "reset" also starts again from the
        initial state (see `hqmm.learning.spectral.score_leniently`).
    floor : float
        What a negative probability is replaced by.
    burn_in : int
        Symbols at the start of each sequence that are not scored. All are counted.
    alphabet : Alphabet, or what `Sequences` makes one of, optional
        The symbols that may occur; by default those of the training data.
    end : bool
        Append the end symbol to every sequence: the model is then one of finite strings.
    random_state : None, int or numpy.random.Generator
        For ``sample``.

    Attributes
    ----------
    model_ : OOM
        The model.
    alphabet_ : Alphabet
        Its symbols.
    n_features_in_ : int
        Number of columns, where the data came as a table.

    Examples
    --------
    >>> from hqmm import OOMEstimator
    >>> from hqmm.datasets import hqmm_2_4
    >>> data = hqmm_2_4().sample(50, 1000, random_state=0)
    >>> OOMEstimator(n_states=3).fit(data).predict_next([[0]]).round(1)  # in truth .5, 0, .25, .25
    array([[0.5, 0. , 0.2, 0.3]])
    """

    def __init__(
        self,
        n_states: int = 2,
        *,
        longest: int = 2,
        on_negative: OnNegative = "raise",
        floor: float = 1e-9,
        burn_in: int = 0,
        alphabet: Any = None,
        end: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_states = n_states
        self.longest = longest
        self.on_negative = on_negative
        self.floor = floor
        self.burn_in = burn_in
        self.alphabet = alphabet
        self.end = end
        self.random_state = random_state

    def _learned(self, data: Sequences) -> OOM:
        longest = self.longest
        if data.alphabet.end is None:
            longest = min(longest, (int(data.lengths.max()) - 1) // 2)
        model = learn_spectral(data, self.n_states, longest=longest, at_most=True)
        if model.dimension < self.n_states:
            warnings.warn(
                f"the words of up to {longest} symbols before and after another support {model.dimension} states, "
                f"not {self.n_states}; raise longest, or give it more or longer sequences",
                stacklevel=3,
            )
        return model

    def _counted_initial(self) -> Counted:
        # without an end symbol it is the average state, which the operators decide
        return "learned" if self.alphabet_.end is not None else "stationary"

    def _log_likelihood(self, data: Sequences) -> FloatArray:
        if self.on_negative == "raise":
            return super()._log_likelihood(data)
        assert isinstance(self.model_, OOM)
        scores = score_leniently(
            self.model_, data, on_negative=self.on_negative, floor=self.floor, burn_in=self.burn_in
        )
        return scores.log_likelihood

    def transform(self, X: Any) -> FloatArray:
        """Return the filtered state after each sequence; it is defined where a probability is negative, too."""
        process = Lenient(self._fitted().linear, self.on_negative == "reset", self.floor)
        return after(process, self._read(X, end=False), lambda states, position: states)

    def _process(self) -> Process:
        if self.on_negative == "raise":
            return super()._process()
        return Lenient(self._fitted().linear, self.on_negative == "reset", self.floor)
