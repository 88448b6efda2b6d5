"""The estimator of hidden Markov models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hqmm._random import RandomState
from hqmm._typing import FloatArray
from hqmm.estimators.learned import LearnedEstimator
from hqmm.estimators.learners import CLASSICAL
from hqmm.learning import Learner, random_hmm
from hqmm.models import HMM, Model
from hqmm.sequences import Alphabet


class HMMEstimator(LearnedEstimator):
    """Hidden Markov models, learned from sequences by expectation–maximisation.

    Parameters
    ----------
    n_states : int
        Number of hidden states.
    learner : str or Learner
        "baum-welch", or ``BaumWelch`` with settings of its own.
    n_init, n_jobs : int
        Restarts, the best of which is kept, and how many of them run at once.
    max_iter : int, optional
        Passes over the data for full-batch learners, epochs for mini-batch ones; each learner has a default.
    tol : float, optional
        Gain in log-likelihood per symbol below which it has converged; each learner has a default.
    patience : int, optional
        Stop after so many iterations without a better validation score.
    time_limit : float, optional
        Stop after so many seconds.
    burn_in : int
        Symbols at the start of each sequence that validation data and `score` leave out; "baum-welch" learns from
        whole sequences.
    validation : float, or sequences, optional
        Share of the sequences to set aside, or data: the iterate that scores best on it is kept.
    initial_state : "auto", "learn", "mixed" or a state
        "auto" learns it where there is no burn-in; "mixed" is the one that knows nothing, and is kept, as is one
        that is given.
    start : Model, optional
        What to improve, instead of random models.
    alphabet : Alphabet, or what `Sequences` makes one of, optional
        The symbols that may occur; by default those of the training data.
    end : bool
        Append the end symbol to every sequence: the model is then one of finite strings.
    random_state : None, int or numpy.random.Generator
        The same seed gives the same model, bit for bit.
    threads : int, optional
        Threads of the engine; by default all cores, where that pays.
    checkpoint : path, optional
        File to continue from, if it exists, and to save to.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    model_ : HMM
        The best model found.
    history_ : dict of arrays
        One row for each iteration, as in `hqmm.learning.Fit`.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether it stopped because there was nothing left to gain; if not, there was a warning that advises.
    result_ : Fit
        All that the learner reports.
    alphabet_ : Alphabet
        The symbols of the model.
    n_features_in_ : int
        Number of columns, where the data came as a table.

    Examples
    --------
    >>> from hqmm import HMMEstimator
    >>> estimator = HMMEstimator(n_states=2, n_init=5, random_state=0).fit(["aaabbb", "aabbbb", "aaaabb"])
    >>> estimator.model_, estimator.converged_
    (HMM(2 states, 2 symbols), True)
    >>> estimator.predict_next(["", "aab"]).round(2)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    _learners = CLASSICAL

    def __init__(
        self,
        n_states: int = 2,
        *,
        learner: str | Learner = "baum-welch",
        n_init: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        patience: int | None = None,
        time_limit: float | None = None,
        burn_in: int = 0,
        validation: Any = None,
        initial_state: Any = "auto",
        start: Model | None = None,
        alphabet: Any = None,
        end: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        threads: int | None = None,
        checkpoint: str | Path | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_states = n_states
        self.learner = learner
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.time_limit = time_limit
        self.burn_in = burn_in
        self.validation = validation
        self.initial_state = initial_state
        self.start = start
        self.alphabet = alphabet
        self.end = end
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.threads = threads
        self.checkpoint = checkpoint
        self.verbose = verbose

    def _draw(self, alphabet: Alphabet) -> Callable[[np.random.Generator], Model]:
        return random_hmm(self.n_states, alphabet)

    def _kinds(self) -> tuple[type[Model], ...]:
        return (HMM,)

    def _mixed(self, model: Any) -> FloatArray:
        return np.full(model.n_states, 1 / model.n_states)
