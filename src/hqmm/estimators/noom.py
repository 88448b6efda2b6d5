"""The estimator of norm-observable operator models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hqmm._random import RandomState
from hqmm._typing import FloatArray
from hqmm.errors import ModelError
from hqmm.estimators.learned import LearnedEstimator
from hqmm.estimators.learners import QUANTUM
from hqmm.learning import Learner, random_noom
from hqmm.models import HQMM, NOOM, Model
from hqmm.sequences import Alphabet

# What is left of imaginary parts, and of a second eigenvalue, where there should be none.
_ROUNDING = 1e-8


class NOOMEstimator(LearnedEstimator):
    """Norm-observable operator models: real HQMMs with one operator for each symbol and a pure state.

    Parameters
    ----------
    n_states : int
        Dimension n of the vector.
    learner : str or Learner
        "polar", "cosm", "lbfgs", "adam" or "givens", or one of them with settings of its own: they all keep real
        operators real, and a pure state pure.
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
        Symbols at the start of each sequence that are not scored.
    validation : float, or sequences, optional
        Share of the sequences to set aside, or data: the iterate that scores best on it is kept.
    initial_state : "auto", "learn" or a unit vector
        "auto" learns it where there is no burn-in; one that is given is kept.
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
    model_ : NOOM
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
    >>> from hqmm import NOOMEstimator
    >>> from hqmm.datasets import probability_clock
    >>> data = probability_clock().sample(40, 100, random_state=0)
    >>> NOOMEstimator(n_states=2, random_state=0).fit(data).model_
    NOOM(2 states, 2 symbols)
    """

    _learners = QUANTUM

    def __init__(
        self,
        n_states: int = 2,
        *,
        learner: str | Learner = "polar",
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
        return random_noom(self.n_states, alphabet)

    def _kinds(self) -> tuple[type[Model], ...]:
        return (NOOM,)

    def _mixed(self, model: Any) -> FloatArray:
        raise ModelError("initial_state='mixed' is no state of a NOOM, whose states are unit vectors; pass one")

    def _promised(self, model: Model) -> Model:
        return _as_noom(model)


def _as_noom(model: Any) -> NOOM:
    """Return the NOOM that a real HQMM of Kraus rank one with a pure initial state is."""
    assert isinstance(model, HQMM)
    weights, vectors = np.linalg.eigh(model.initial.real)
    turned = max(np.abs(model.kraus.imag).max(), np.abs(model.initial.imag).max())
    if turned > _ROUNDING or weights[-1] < 1 - _ROUNDING:
        raise ModelError(f"the learner has left the class of NOOMs, with {model!r}; use HQMMEstimator with it")
    return NOOM(model.kraus[:, 0].real, vectors[:, -1], alphabet=model.alphabet)
