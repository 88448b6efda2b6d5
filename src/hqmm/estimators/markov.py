"""The estimator of Markov chains, the baseline to beat."""

from __future__ import annotations

from typing import Any

from hqmm._random import RandomState
from hqmm.estimators.counted import CountingEstimator
from hqmm.models import MarkovChain
from hqmm.sequences import Sequences


class MarkovChainEstimator(CountingEstimator):
    """Markov chains of any order: counts of contexts, smoothed.

    Parameters
    ----------
    order : int
        The largest number of symbols a context looks back.
    smoothing : "witten-bell" or float
        Interpolation of contexts of all lengths, or what is added to every count.
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
    model_ : MarkovChain
        The chain.
    alphabet_ : Alphabet
        Its symbols.
    n_features_in_ : int
        Number of columns, where the data came as a table.

    Examples
    --------
    >>> from hqmm import MarkovChainEstimator
    >>> estimator = MarkovChainEstimator(order=1).fit(["abab", "abba"])
    >>> estimator.predict_next(["a"]).round(3)
    array([[0.125, 0.875]])
    """

    def __init__(
        self,
        order: int = 1,
        *,
        smoothing: str | float = "witten-bell",
        burn_in: int = 0,
        alphabet: Any = None,
        end: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.order = order
        self.smoothing = smoothing
        self.burn_in = burn_in
        self.alphabet = alphabet
        self.end = end
        self.random_state = random_state

    def _learned(self, data: Sequences) -> MarkovChain:
        return MarkovChain.from_sequences(data, self.order, self.smoothing)
