"""The estimator of hidden quantum Markov models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm._random import RandomState
from hqmm._typing import ComplexArray, IntArray
from hqmm.estimators.learned import Callbacks, LearnedEstimator
from hqmm.estimators.learners import QUANTUM
from hqmm.learning import Fit, Learner, random_hqmm, random_hybrid, start_from_counts
from hqmm.learning.driver import Start
from hqmm.models import HQMM, NOOM, HybridHQMM, Model
from hqmm.sequences import Alphabet, Sequences

if TYPE_CHECKING:
    from hqmm.estimators.sharded import Shards
    from hqmm.learning.auto import Choice


class HQMMEstimator(LearnedEstimator):
    """Hidden quantum Markov models, and with ``n_blocks`` > 1 hybrid ones, learned from sequences.

    Any size may be "auto": `hqmm.learning.fit_auto` then chooses it on held-out data, learns in its own way (only
    ``max_dimension``, ``validation``, ``burn_in``, ``time_limit``, ``threads``, ``random_state`` and what reads
    the data apply), and has converged when growing gains no more.

    Parameters
    ----------
    n_states : int or "auto"
        Dimension n of the quantum state (with blocks: of the state on each label).
    n_blocks : int or "auto"
        Number k of classical labels.
    kraus_rank : int or "auto", or a sequence of ints
        Number w of Kraus operators for each symbol (and pair of labels). Without blocks there may be one number
        for each symbol, in the order of the alphabet, as `hqmm.learning.random_hqmm` has it.
    max_dimension : int
        Where sizes are "auto", the largest m = k n² of a model to try, unless sizes that are given need more; a
        step over the data costs m² for each symbol. It means nothing where no size is "auto".
    learner : str or Learner
        "polar", "cosm", "lbfgs", "adam" or "givens", or a learner with settings of its own, such as
        ``COSM(step=0.75, decay=0.92)``.
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
    initial_state : "auto", "learn", "mixed" or a state
        "auto" learns it where there is no burn-in; "mixed" is the one that knows nothing, and is kept, as is one
        that is given.
    start : Model, optional
        What to improve. By default "polar" with one Kraus operator and no blocks starts from near what counting
        words leads to (`hqmm.learning.start_from_counts`), and all else from random models.
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
    model_ : HQMM or HybridHQMM
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
    >>> from hqmm import HQMMEstimator
    >>> from hqmm.datasets import hqmm_2_6
    >>> data = hqmm_2_6().sample(60, 100, random_state=0)
    >>> estimator = HQMMEstimator(n_states=2, random_state=0).fit(data[:40])
    >>> estimator.model_, estimator.converged_
    (HQMM(n=2, Kraus rank 1, 6 symbols), True)
    >>> round(estimator.score(data[40:]), 3)  # guessing scores log(1/6) = -1.792
    -1.571
    >>> estimator.predict_next([[0, 3, 2]]).shape
    (1, 6)
    """

    _learners = QUANTUM

    def __init__(
        self,
        n_states: Choice = 2,
        *,
        n_blocks: Choice = 1,
        kraus_rank: Choice | Sequence[int] | IntArray = 1,
        max_dimension: int = 256,
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
        self.n_blocks = n_blocks
        self.kraus_rank = kraus_rank
        self.max_dimension = max_dimension
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

    @property
    def _sizes(self) -> dict[str, Any]:
        ranks = self.kraus_rank.tolist() if isinstance(self.kraus_rank, np.ndarray) else self.kraus_rank
        return {"n_states": self.n_states, "n_blocks": self.n_blocks, "kraus_rank": ranks}

    @property
    def _is_automatic(self) -> bool:
        return "auto" in self._sizes.values()

    def _learn(
        self,
        data: Sequences,
        validation: Sequences | None,
        generator: np.random.Generator,
        callbacks: Callbacks,
        shards: Shards | None = None,
    ) -> Fit:
        if not self._is_automatic:
            return super()._learn(data, validation, generator, callbacks, shards)
        if shards is not None:
            raise ValueError(
                "sizes that are 'auto' are chosen from data in memory; name them for a corpus in shards"
            )
        defaults = {"learner": "polar", "n_init": 1, "max_iter": None, "tol": None, "patience": None}
        defaults |= {"initial_state": "auto", "start": None, "checkpoint": None}
        for name, value in defaults.items():
            given = getattr(self, name)
            if not (given is value or (isinstance(given, str | int) and given == value)):
                raise ValueError(f"{name} has no meaning where sizes are 'auto': leave it at {value!r}")
        from hqmm.learning.auto import fit_auto

        return fit_auto(
            data,
            **self._sizes,
            max_dimension=self.max_dimension,
            validation=validation,
            burn_in=self.burn_in,
            time_limit=self.time_limit,
            random_state=generator,
            threads=self.threads,
            callbacks=callbacks,
        )

    def _beginning(self, data: Sequences) -> tuple[Learner, Start]:
        """Return the learner and its start: with one Kraus operator, random starts often end in poor optima."""
        learner, start = super()._beginning(data)
        n, k, w = self._sizes.values()
        by_default = isinstance(self.learner, str) and self.learner == "polar" and self.start is None
        if by_default and k == 1 and np.all(np.asarray(w) == 1) and n > 1:
            start = self._with_initial(start_from_counts(data, n))
        return learner, start

    def _is_complete(self, result: Fit) -> bool:
        return result.converged or (self._is_automatic and result.reason == "no_progress")

    def _promised(self, model: Model) -> Model:
        return model.to_hqmm() if isinstance(model, HybridHQMM) and model.n_blocks == 1 else model

    def _draw(self, alphabet: Alphabet) -> Callable[[np.random.Generator], Model]:
        if self._is_automatic:
            raise ValueError("sizes that are 'auto' are chosen by fit: call it before partial_fit")
        n, k, w = self._sizes.values()
        return random_hqmm(n, alphabet, w) if k == 1 else random_hybrid(k, n, alphabet, w)

    def _kinds(self) -> tuple[type[Model], ...]:
        return HQMM, HybridHQMM, NOOM

    def _mixed(self, model: Any) -> ComplexArray:
        n = model.n_states
        mixed: ComplexArray = np.broadcast_to(np.eye(n, dtype=np.complex128), model.initial.shape)
        return mixed / np.trace(mixed, axis1=-2, axis2=-1).sum()
