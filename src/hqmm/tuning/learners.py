"""Tuning hqmm's own learners: their settings and the sizes of the model, on training and validation data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from hqmm._random import RandomState
from hqmm.errors import DataError
from hqmm.learning import (
    COSM,
    BaumWelch,
    Fit,
    GivensSearch,
    Learner,
    Polar,
    RiemannianAdam,
    RiemannianLBFGS,
    fit,
    random_hmm,
    random_hqmm,
    random_hybrid,
)
from hqmm.learning.checkpoint import fingerprint
from hqmm.learning.driver import split_validation
from hqmm.learning.task import Task
from hqmm.models import Model
from hqmm.sequences import Sequences
from hqmm.tuning.schedules import Schedule, as_schedule
from hqmm.tuning.search import Result, SearchResult, checkpoint_folder, search
from hqmm.tuning.spaces import Space, Uniform
from hqmm.tuning.trials import Trial

LEARNERS: dict[str, Callable[[], Learner]] = {
    "cosm": COSM,
    "polar": Polar,
    "adam": RiemannianAdam,
    "lbfgs": RiemannianLBFGS,
    "givens": GivensSearch,
    "baum-welch": BaumWelch,
}
SIZES = ("n_states", "n_blocks", "kraus_rank")
# What is tuned where nobody says: COSM's as in the paper's appendix D.
DEFAULT_SPACES: dict[type[Learner], Space] = {
    COSM: {"step": Uniform(0.55, 0.95), "decay": Uniform(0.9, 0.99)},
    RiemannianAdam: {"step": Uniform(0.003, 0.3, log=True)},
}
VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class TrainLearner:
    """What a trial does: draw a model, and fit it, from the last rung's checkpoint, until the resource is used up.

    Trials are scored by the best validation log-likelihood per symbol so far, which ranks as description accuracy
    does, and keep that accuracy as well.
    """

    learner: Learner
    sizes: Mapping[str, int]
    data: Sequences
    validation: Sequences
    burn_in: int = 0
    validation_burn_in: int | None = None
    threads: int | None = 1

    def __call__(self, trial: Trial) -> dict[str, float]:
        """Return the score of a trial."""
        result = self.train(trial.parameters, trial.resource, trial.seed, trial.checkpoint)
        accuracy = result.history["validation_da"][result.best_iteration]
        return {"score": result.score, "validation_da": float(accuracy), "epoch": float(result.best_iteration)}

    def train(self, parameters: Mapping[str, Any], resource: int, seed: int, checkpoint: Path | None) -> Fit:
        """Return a configuration's fit after so many iterations."""
        learner, start = self.configure(parameters)
        if checkpoint is not None:
            checkpoint.parent.mkdir(parents=True, exist_ok=True)
        return fit(
            learner,
            start,
            self.data,
            validation=self.validation,
            burn_in=self.burn_in,
            validation_burn_in=self.validation_burn_in,
            max_iter=resource,
            random_state=seed,
            threads=self.threads,
            checkpoint=checkpoint,
        )

    def configure(self, parameters: Mapping[str, Any]) -> tuple[Learner, Callable[[np.random.Generator], Model]]:
        """Return the learner and the starting model of a configuration."""
        settings = {name: value for name, value in parameters.items() if name not in SIZES}
        sizes = {name: parameters.get(name, self.sizes[name]) for name in SIZES}
        alphabet = self.data.alphabet
        n, w = sizes["n_states"], sizes["kraus_rank"]
        learner: Learner = replace(self.learner, **settings) if settings else self.learner  # type: ignore[type-var]
        if isinstance(learner, BaumWelch):
            return learner, random_hmm(n, alphabet)
        if sizes["n_blocks"] > 1:
            return learner, random_hybrid(sizes["n_blocks"], n, alphabet, w)
        return learner, random_hqmm(n, alphabet, w)

    def fingerprint(self) -> str:
        """Return a digest of the data and the settings, which processes of one study must share."""
        burn_in = self.burn_in if self.validation_burn_in is None else self.validation_burn_in
        task = Task(self.data, self.burn_in, self.validation, burn_in)
        return fingerprint(self.learner, task, sorted(self.sizes.items()))


@dataclass(frozen=True)
class Tuned:
    """What tuning found: the best fit, its configuration, and the whole search.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.tuning import Schedule, tune
    >>> data = hqmm_2_6().sample(30, 60, random_state=0)
    >>> tuned = tune(data, schedule=Schedule.halving(3, 1), random_state=0)
    >>> tuned.model, sorted(tuned.parameters)
    (HQMM(n=2, Kraus rank 1, 6 symbols), ['decay', 'step'])
    """

    fit: Fit
    search: SearchResult

    @property
    def model(self) -> Model:
        """The best model."""
        return self.fit.model

    @property
    def parameters(self) -> dict[str, Any]:
        """The configuration that it was learned with."""
        return self.search.best.parameters

    @property
    def score(self) -> float:
        """Its validation log-likelihood per symbol."""
        return self.search.best.score


def tune(
    data: Any,
    *,
    validation: Any = None,
    learner: str | Learner = "cosm",
    n_states: int = 2,
    n_blocks: int = 1,
    kraus_rank: int = 1,
    space: Space | None = None,
    schedule: str | Schedule = "hyperband",
    max_iter: int = 27,
    burn_in: int = 0,
    validation_burn_in: int | None = None,
    random_state: RandomState = None,
    storage: str | Path | None = None,
    study_name: str = "hqmm",
    folder: str | Path | None = None,
    executor: Any = "threads",
    n_jobs: int = 1,
    threads: int | None = 1,
    grace: float = 60.0,
    on_result: Callable[[Result], Any] | None = None,
) -> Tuned:
    """Search for a learner's settings, or a model's sizes, that predict held-out data best.

    Training is continued from rung to rung, and a configuration trained in steps ends bit for bit where one
    trained at once does; so neither the executor, nor how many processes share the work, nor how often they were
    killed changes the result.

    Parameters
    ----------
    data : Sequences or anything it accepts
        Training data.
    validation : Sequences or anything it accepts, optional
        What configurations are judged by; a fifth of the training data, set aside, by default.
    learner : str or Learner
        ``"cosm"``, ``"polar"``, ``"adam"``, ``"lbfgs"``, ``"givens"`` or ``"baum-welch"`` (which learns an HMM),
        or a learner, whose settings hold where the space does not name them.
    n_states, n_blocks, kraus_rank : int
        Sizes of the model, where the space does not name them; more than one block is a hybrid model.
    space : mapping of str to range, optional
        The learner's settings and sizes to be tuned, see `search`. COSM's default is the paper's: ``step`` from
        .55 to .95 and ``decay`` from .9 to .99; Adam's is ``step``. Others need one.
    schedule : "hyperband", "halving", "paper" or Schedule
        Hyperband up to ``max_iter``; one bracket of it, the most daring; or the paper's, which takes 27
        configurations through 3, 9, 9 and 27 further epochs.
    max_iter : int
        Iterations of the learner in the last rung.
    burn_in, validation_burn_in : int
        As for `hqmm.fit`.
    random_state, storage, study_name, folder, executor, n_jobs, grace, on_result
        As for `search`.
    threads : int, optional
        Threads of the engine for each fit.

    Returns
    -------
    Tuned

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.tuning import tune
    >>> data = hqmm_2_6().sample(40, 60, random_state=0)
    >>> tuned = tune(data, space={"kraus_rank": [1, 2]}, max_iter=3, random_state=0)
    >>> tuned.search.best.resource
    3
    """
    plan = as_schedule(schedule, max_iter)
    chosen = _learner(learner)
    if isinstance(chosen, RiemannianAdam):  # its steps shrink over all iterations
        chosen = replace(chosen, max_iter=plan.max_resource)
    ranges = DEFAULT_SPACES.get(type(chosen)) if space is None else space
    if ranges is None:
        raise DataError(f"space: say what to tune of {type(chosen).__name__}: {', '.join(_names(chosen))}")
    for name in ranges:
        if name not in _names(chosen):
            raise DataError(
                f"space: {type(chosen).__name__} has no setting {name!r}; it has {', '.join(_names(chosen))}"
            )
    train = data if isinstance(data, Sequences) else Sequences(data)
    if validation is None:
        # always the same split: processes that share a study must agree on it
        train, held_out = split_validation(train, VALIDATION_SHARE, np.random.default_rng(0))
    else:
        held_out = Sequences(validation, alphabet=train.alphabet)
    sizes = {"n_states": n_states, "n_blocks": n_blocks, "kraus_rank": kraus_rank}
    evaluate = TrainLearner(chosen, sizes, train, held_out, burn_in, validation_burn_in, threads)
    with checkpoint_folder(folder, storage, study_name) as place:
        found = search(
            evaluate,
            ranges,
            plan,
            random_state=random_state,
            storage=storage,
            study_name=study_name,
            folder=place,
            executor=executor,
            n_jobs=n_jobs,
            grace=grace,
            on_result=on_result,
        )
        best = found.best
        # read from the checkpoint where this process has it, else trained again
        result = evaluate.train(best.parameters, best.resource, best.seed, place / f"{best.configuration}")
    return Tuned(result, found)


def _learner(given: str | Learner) -> Learner:
    if isinstance(given, Learner):
        return given
    if given not in LEARNERS:
        raise DataError(f"learner must be one of {', '.join(map(repr, LEARNERS))}, or a Learner, not {given!r}")
    return LEARNERS[given]()


def _names(learner: Learner) -> list[str]:
    own = [item.name for item in fields(learner) if item.name != "max_iter"]  # type: ignore[arg-type]
    return [*own, *(("n_states",) if isinstance(learner, BaumWelch) else SIZES)]
