"""The one loop that runs every learner."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from hqmm._random import RandomState, as_generator, seed_of
from hqmm._typing import FloatArray
from hqmm.errors import DataError, ModelError
from hqmm.learning.checkpoint import Checkpoint, fingerprint
from hqmm.learning.interrupt import interruptible
from hqmm.learning.settings import at_least, between
from hqmm.learning.task import Task, mean_log_likelihood
from hqmm.metrics import accuracies_from
from hqmm.models import Model
from hqmm.sequences import Sequences

Reason: TypeAlias = Literal["converged", "max_iter", "time", "no_progress", "non_finite", "interrupted"]
Start: TypeAlias = Model | Callable[[np.random.Generator], Model]

REASONS: dict[Reason, str] = {
    "converged": "the likelihood stopped rising",
    "max_iter": "the number of iterations ran out before it converged",
    "time": "the time ran out before it converged",
    "no_progress": "the validation score did not improve for as many iterations as patience allows",
    "non_finite": "a parameter or the likelihood became NaN or infinite; the best model before that is kept",
    "interrupted": "it was interrupted; the best model so far is kept",
}


@dataclass(frozen=True)
class State:
    """Where a learner stands; subclasses add its parameters.

    Every field is an array, a tuple of arrays or a scalar, so that checkpoints can hold it.

    ``objective`` is the training log-likelihood per symbol: at the current parameters for full-batch learners,
    averaged over the last pass for mini-batch ones.
    """

    objective: float = -np.inf
    n_zero: int = 0
    passes: float = 0.0
    step: float = 0.0
    feasibility: float = 0.0
    converged: bool = False


class Learner(ABC):
    """A learner improves a model in iterations; the driver owns everything else.

    ``max_iter`` is the default number of iterations: passes for full-batch learners, epochs for mini-batch ones.
    """

    max_iter: int = 1000

    @abstractmethod
    def init(self, model: Model, task: Task, generator: np.random.Generator) -> Any:
        """Return the state that starts from a model."""

    @abstractmethod
    def advance(self, state: Any, task: Task, generator: np.random.Generator) -> Any:
        """Return the state after one iteration."""

    @abstractmethod
    def model(self, state: Any, task: Task) -> Model:
        """Return the model of a state."""

    def done(self, state: Any) -> bool:
        """Return whether there is nothing left to gain."""
        return bool(state.converged)

    def identity(self) -> str:
        """Return what decides the iterates: every setting but ``max_iter``, unless steps are planned over it."""
        settings = {name: value for name, value in vars(self).items() if name != "max_iter"}
        return f"{type(self).__name__} {settings}"


@dataclass(frozen=True)
class Fit:
    """What a fit returns: the model, why it stopped, and how it got there.

    ``history`` holds one array per column: iteration, passes over the data, train and validation log-likelihood
    per symbol, train and validation description accuracy, seconds, feasibility error ‖κ†κ − I‖, and step.
    The best of restarts has the largest ``ranking``: fewest impossible sequences, then likelihood of the others.
    """

    model: Model
    reason: Reason
    history: dict[str, FloatArray]
    best_iteration: int
    seconds: float
    n_zero: int
    restarts: list[Fit] = field(default_factory=list)
    ranking: tuple[int, float] = (0, -np.inf)

    @property
    def converged(self) -> bool:
        """Whether it stopped because there was nothing left to gain."""
        return self.reason == "converged"

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history["iteration"]) - 1

    @property
    def score(self) -> float:
        """The validation log-likelihood per symbol of the best iteration; training, without validation data."""
        column = self.history["validation"]
        chosen = self.history["train"] if np.all(np.isnan(column)) else column
        return float(chosen[self.best_iteration])


@dataclass
class Options:
    """When to stop and what to do on the way."""

    max_iter: int
    patience: int | None = None
    time_limit: float | None = None
    checkpoint: Path | None = None
    checkpoint_every: float = 30.0
    checkpoint_iterations: int | None = None
    callbacks: tuple[Callable[[dict[str, float], Model], Any], ...] = ()
    progress: bool = False
    random_start: bool = False
    seed: int | None = None
    interrupted: threading.Event = field(default_factory=threading.Event)  # all restarts of a fit share it


COLUMNS = (
    "iteration",
    "passes",
    "train",
    "validation",
    "train_da",
    "validation_da",
    "seconds",
    "feasibility",
    "step",
)


def fit(
    learner: Learner,
    start: Start,
    data: Any,
    *,
    validation: Any = None,
    burn_in: int = 0,
    validation_burn_in: int | None = None,
    max_iter: int | None = None,
    patience: int | None = None,
    time_limit: float | None = None,
    n_init: int = 1,
    n_jobs: int = 1,
    random_state: RandomState = None,
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 30.0,
    checkpoint_iterations: int | None = None,
    callbacks: Iterable[Callable[[dict[str, float], Model], Any]] = (),
    progress: bool = False,
) -> Fit:
    """Learn a model from data.

    Parameters
    ----------
    learner : Learner
        Which algorithm, with its settings.
    start : Model or function of a Generator
        The model to improve, whose class and sizes the result will have; a function draws one for each restart
        (such as `random_hqmm`).
    data : Sequences or anything it accepts
        Training data, read with the alphabet of the starting model.
    validation : Sequences or anything it accepts, optional
        Held-out data; the iterate that scores best on it is kept: the one under which the fewest sequences are
        impossible, and of these the likeliest. Without it, the last iterate is kept.
    burn_in, validation_burn_in : int
        Symbols at the start of each sequence that are not scored; the latter is the former by default.
    max_iter : int, optional
        Iterations: passes for full-batch learners, epochs for mini-batch ones; each learner has a default.
    patience : int, optional
        Stop after so many iterations without a better validation score.
    time_limit : float, optional
        Stop after so many seconds, which restarts share.
    n_init, n_jobs : int
        Restarts, the best of which is kept, and how many run at once.
    random_state : None, int or numpy.random.Generator
        The same seed gives the same model, bit for bit.
    threads : int, optional
        Threads of the engine; the result does not depend on it.
    checkpoint : path, optional
        File to continue from, if it exists, and to save to; a resumed fit ends where an uninterrupted one does.
    checkpoint_every : float
        Seconds between checkpoints; 0 saves after every iteration.
    checkpoint_iterations : int, optional
        Also save after so many iterations.
    callbacks : functions of (row, model)
        Called after every iteration with the row of the history; a true answer stops the fit.
    progress : bool
        Show a progress bar on a terminal.

    Returns
    -------
    Fit

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import BaumWelch, fit, random_hmm
    >>> data = hmm_6_6().sample(20, 300, random_state=0)
    >>> result = fit(BaumWelch(), random_hmm(2, 6), data, max_iter=20, random_state=0)
    >>> result.model, result.reason
    (HMM(2 states, 6 symbols), 'max_iter')
    """
    if not isinstance(learner, Learner):
        raise DataError(f"learner must be a learner, such as Polar(), not {learner!r}")
    generator = as_generator(random_state)
    options = Options(
        learner.max_iter if max_iter is None else max_iter,
        patience,
        time_limit,
        None if checkpoint is None else Path(checkpoint),
        checkpoint_every,
        checkpoint_iterations,
        tuple(callbacks),
        progress,
        seed=seed_of(generator),
    )
    _check(options, n_init, n_jobs)
    began = time.perf_counter()
    seeds = [generator] if n_init == 1 else generator.spawn(n_init)

    def run(number: int) -> Fit:
        model = start(seeds[number]) if callable(start) else start
        if not isinstance(model, Model):
            raise ModelError(f"start must be a model or draw one, not {model!r}; see random_hqmm and random_hmm")
        task = Task(
            model.encode(data),
            burn_in,
            None if validation is None else model.encode(validation),
            burn_in if validation_burn_in is None else validation_burn_in,
            threads,
        )
        own = _for_restart(options, number, n_init, n_jobs, time.perf_counter() - began)
        return _run(learner, model, task, replace(own, random_start=callable(start)), seeds[number])

    with interruptible() as options.interrupted:
        if n_init == 1:
            return run(0)
        fits = _run_all(run, n_init, n_jobs, options.interrupted)
    best = max(fits, key=lambda one: one.ranking)
    reason: Reason = "interrupted" if options.interrupted.is_set() else best.reason
    return replace(best, reason=reason, seconds=sum(one.seconds for one in fits), restarts=fits)


def _check(options: Options, n_init: Any, n_jobs: Any) -> None:
    at_least("max_iter", options.max_iter, 0)
    at_least("n_init", n_init, 1)
    if n_jobs is not None and (not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise DataError(f"n_jobs must be a whole number from 1 up, or -1 for all cores, but is {n_jobs!r}")
    if options.patience is not None:
        at_least("patience", options.patience, 1)
    if options.time_limit is not None:
        between("time_limit", options.time_limit, 0, np.inf)
    between("checkpoint_every", options.checkpoint_every, 0, np.inf)
    if options.checkpoint_iterations is not None:
        at_least("checkpoint_iterations", options.checkpoint_iterations, 1)
    path = options.checkpoint
    if path is not None and path.is_dir():
        raise DataError(f"checkpoint must be a file, but {path} is a folder")
    if path is not None and not path.parent.is_dir():
        raise DataError(f"checkpoint: there is no folder {path.parent} to save to; make it, or name another file")


def _run_all(run: Callable[[int], Fit], count: int, n_jobs: int, interrupted: threading.Event) -> list[Fit]:
    """Run all restarts; a KeyboardInterrupt, of a program's own handler, ends every one at its next iteration."""
    from joblib import effective_n_jobs

    if effective_n_jobs(n_jobs) == 1:
        return [run(number) for number in range(count)]
    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as pool:
        running = [pool.submit(run, number) for number in range(count)]
        try:
            wait(running)
        except KeyboardInterrupt:
            interrupted.set()
        return [one.result() for one in running]


def _for_restart(options: Options, number: int, n_init: int, n_jobs: int, seconds: float) -> Options:
    """Give each restart its share of the time that is left, and a checkpoint of its own.

    Of those that run at once, the first alone shows its progress.
    """
    from joblib import effective_n_jobs

    if n_init == 1:
        return options
    path, limit = options.checkpoint, options.time_limit
    rounds = -(-(n_init - number) // effective_n_jobs(n_jobs))
    return replace(
        options,
        checkpoint=None if path is None else path.with_name(f"{path.name}.{number}"),
        time_limit=None if limit is None else max(0.0, limit - seconds) / rounds,
        progress=options.progress and (number == 0 or n_jobs == 1),
    )


def _run(learner: Learner, model: Model, task: Task, options: Options, generator: np.random.Generator) -> Fit:
    from hqmm.learning.progress import show

    run = _Run(learner, task, options, generator)
    run.begin(model)
    with show(options.progress, options.max_iter) as report:
        while (reason := run.reason()) is None:
            try:
                run.advance()
            except KeyboardInterrupt:
                options.interrupted.set()
                continue
            report(run.row)
    run.save()
    return run.result(reason)


_BEST = ("best", "best_iteration", "best_score", "best_zero")


class _Run:
    """One run of a learner: its state, its random numbers, its history and the best iterate."""

    def __init__(self, learner: Learner, task: Task, options: Options, generator: np.random.Generator) -> None:
        self.learner, self.task, self.options, self.generator = learner, task, options, generator
        self.history: list[list[float]] = []
        self.best_iteration, self.best_score, self.best_zero = 0, -np.inf, 0
        self.stopped = False
        self.spent = 0.0  # seconds in earlier sessions
        self.began = self.saved = time.perf_counter()
        self.iterations_saved = 0

    @property
    def row(self) -> dict[str, float]:
        return dict(zip(COLUMNS, self.history[-1], strict=True))

    @property
    def seconds(self) -> float:
        return self.spent + time.perf_counter() - self.began

    def begin(self, model: Model) -> None:
        self.state = self.best = self.learner.init(model, self.task, self.generator)
        if self.state.objective == -np.inf:
            raise DataError(
                f"every training sequence is impossible under the model to start from, {model!r}; "
                "start from one that leaves every symbol possible"
            )
        # the numbers of a start that was drawn follow from the seed; without one a resumed fit has drawn others
        numbers = () if self.options.random_start else model.parameters.values()
        self.fingerprint = fingerprint(self.learner, self.task, model, self.options.seed, *numbers)
        path = self.options.checkpoint
        if path is not None and path.exists():
            self._restore(Checkpoint.read(path, self.fingerprint, self.state))
        else:
            self._record()

    def advance(self) -> None:
        before = {name: getattr(self, name) for name in ("state", *_BEST)}
        numbers, iterations = self.generator.bit_generator.state, len(self.history)
        try:
            self.state = guarded(
                lambda: self.learner.advance(self.state, self.task, self.generator), otherwise=self.state
            )
            self._record()
        except KeyboardInterrupt:  # undo half an iteration, so that a resumed fit does it as if nothing had been
            vars(self).update(before)
            self.generator.bit_generator.state = numbers
            del self.history[iterations:]
            raise
        row = self.row
        if self.options.callbacks:
            model = self.learner.model(self.state, self.task)
            answers = [callback(row, model) for callback in self.options.callbacks]
            self.stopped = any(answers)
        if self.options.checkpoint is not None and self._due():
            self.save()

    def _due(self) -> bool:
        every = self.options.checkpoint_iterations
        by_count = every is not None and len(self.history) - 1 - self.iterations_saved >= every
        return by_count or time.perf_counter() - self.saved >= self.options.checkpoint_every

    def _record(self) -> None:
        task, state = self.task, self.state
        s = len(task.data.alphabet)
        validation = validation_da = np.nan
        score, n_zero = state.objective, 0
        finite = _is_finite(state)
        if task.validation is not None and finite:
            values = self.learner.model(state, task).log_likelihood(task.validation, task.validation_burn_in)
            score, n_zero = mean_log_likelihood(values, task.validation, task.validation_burn_in)
            validation = -np.inf if n_zero else score
            scored = task.validation.lengths > task.validation_burn_in
            if s > 1:
                lengths = task.validation.lengths[scored] - task.validation_burn_in
                validation_da = float(
                    np.average(
                        accuracies_from(values[scored], lengths, s), weights=task.validation.weights[scored]
                    )
                )
        train_da = float(accuracies_from(np.array([state.objective]), np.ones(1), s)[0]) if s > 1 else np.nan
        self.history.append(
            [
                float(len(self.history)),
                state.passes,
                state.objective,
                validation,
                train_da,
                validation_da,
                self.seconds,
                state.feasibility,
                state.step,
            ]
        )
        if finite and self._is_better(score, n_zero):
            self.best, self.best_iteration = state, len(self.history) - 1
            self.best_score, self.best_zero = score, n_zero

    def _is_better(self, score: float, n_zero: int) -> bool:
        """Return whether the iterate just recorded is the one to keep.

        Learning makes impossible what the training data do not have. A random start, which has learned nothing,
        must not win for that: the first iterate always takes its place.
        """
        if self.task.validation is None and self.options.patience is None:
            return True
        first = len(self.history) == 2 and self.options.random_start
        return first or (-n_zero, score) > (-self.best_zero, self.best_score) or len(self.history) == 1

    def reason(self) -> Reason | None:
        iteration = len(self.history) - 1
        options = self.options
        if iteration and not _is_finite(self.state):
            return "non_finite"
        if self.stopped:
            return "interrupted"
        if self.learner.done(self.state):
            return "converged"
        if options.interrupted.is_set():
            return "interrupted"
        if options.patience is not None and iteration - self.best_iteration >= options.patience:
            return "no_progress"
        if iteration >= options.max_iter:
            return "max_iter"
        if options.time_limit is not None and self.seconds >= options.time_limit:
            return "time"
        return None

    def result(self, reason: Reason) -> Fit:
        columns = np.array(self.history).T
        return Fit(
            self.learner.model(self.best, self.task),
            reason,
            dict(zip(COLUMNS, columns, strict=True)),
            self.best_iteration,
            self.seconds,
            self.best.n_zero,
            ranking=(-self.best_zero, self.best_score),
        )

    def save(self) -> None:
        if self.options.checkpoint is None:
            return
        Checkpoint(
            self.state,
            self.best,
            np.array(self.history),
            {
                "best_iteration": self.best_iteration,
                "best_score": self.best_score,
                "best_zero": self.best_zero,
                "seconds": self.seconds,
                "generator": self.generator.bit_generator.state,
                "fingerprint": self.fingerprint,
            },
        ).write(self.options.checkpoint)
        self.saved, self.iterations_saved = time.perf_counter(), len(self.history) - 1

    def _restore(self, checkpoint: Checkpoint) -> None:
        self.state, self.best = checkpoint.state, checkpoint.best
        self.history = checkpoint.history.tolist()
        self.iterations_saved = len(self.history) - 1
        header = checkpoint.header
        for name in _BEST[1:]:
            setattr(self, name, header[name])
        self.spent = header["seconds"]
        self.generator.bit_generator.state = header["generator"]


def guarded(advance: Callable[[], Any], otherwise: Any) -> Any:
    """Return the state after one iteration; where numbers on the way are not finite, another with that mark."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return advance()
    except (FloatingPointError, np.linalg.LinAlgError):
        return replace(otherwise, objective=np.nan)


def _is_finite(state: State) -> bool:
    return bool(np.isfinite(state.objective) and np.isfinite(state.feasibility))


def split_validation(
    sequences: Sequences, fraction: float, generator: np.random.Generator
) -> tuple[Sequences, Sequences]:
    """Set a random share of the sequences aside; both parts keep their order.

    A sequence that counts several times, by a whole number, is that many sequences: some of them may be set aside.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.learning.driver import split_validation
    >>> train, held_out = split_validation(Sequences([[0], [1], [0], [1]]), 0.25, np.random.default_rng(0))
    >>> len(train), len(held_out)
    (3, 1)
    """
    copies = sequences.weights
    whole = bool(np.any(copies != 1) and np.all(copies == np.round(copies)))
    total = int(copies.sum()) if whole else len(sequences)
    count = round(fraction * total)
    if not 0 < count < total:
        raise DataError(
            f"setting {fraction:g} of {total} sequences aside leaves one part empty; "
            "pass validation data, or cut long sequences with split()"
        )
    if whole:
        taken = generator.multivariate_hypergeometric(copies.astype(np.int64), count)
        parts = [sequences.with_weights(part) for part in (copies - taken, taken.astype(np.float64))]
        return parts[0][parts[0].weights > 0], parts[1][parts[1].weights > 0]
    held_out = np.zeros(len(sequences), dtype=bool)
    held_out[generator.choice(len(sequences), count, replace=False)] = True
    return sequences[~held_out], sequences[held_out]
