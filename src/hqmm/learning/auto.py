"""The automatic mode: sizes chosen on held-out data by growing, and the best models averaged.

Small models of several kinds (many labels or few, with one quantum dimension on each or more) are learned first.
Each kind grows from what it has learned for as long as held-out data gain. The best models found, and others
learned from scratch at the best size while time remains, are refined on all data and mixed; a mixture of hybrid
models is a hybrid model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from hqmm._random import RandomState, as_generator
from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.learning.driver import COLUMNS, Fit, Reason, Start, fit, split_validation
from hqmm.learning.grow import enlarge, label_weights
from hqmm.learning.initial import random_hybrid
from hqmm.learning.polar import Polar
from hqmm.learning.task import mean_log_likelihood
from hqmm.models import Model, mixture
from hqmm.sequences import Sequences

Choice: TypeAlias = int | Literal["auto"]

FIRST_DIMENSION = 8  # m of the smallest models
HELD_OUT = 0.1
FEWEST = 20  # sequences that are worth splitting; fewer are cut into pieces
PRIOR = 0.15  # pseudo-count of each transition
PATIENCE = 8
PASSES = 150
LAST_PASSES = 10  # on all data
RESTARTS = 4
NEGLIGIBLE = 0.02  # weight in a mixture below which a model is left out
GAIN = 1e-5  # log-likelihood per symbol that makes growing worth while


@dataclass(frozen=True)
class Size:
    """The size of a hybrid model: labels k, dimensions q on each, Kraus operators w."""

    n_blocks: int
    n_states: int
    kraus_rank: int

    @property
    def dimension(self) -> int:
        """Dimension m = k q² of the real linear form."""
        return self.n_blocks * self.n_states**2


def fit_auto(
    data: Any,
    *,
    n_states: Choice = "auto",
    n_blocks: Choice = "auto",
    kraus_rank: Choice = "auto",
    validation: Any = None,
    burn_in: int = 0,
    max_dimension: int = 64,
    time_limit: float | None = None,
    average: int = 5,
    prior: float = PRIOR,
    random_state: RandomState = None,
    threads: int | None = None,
    callbacks: Iterable[Callable[[dict[str, float], Model], Any]] = (),
) -> Fit:
    """Learn a hybrid model whose sizes are chosen on held-out data.

    Parameters
    ----------
    data : Sequences or anything it accepts
        Training data; a tenth is held out unless there is ``validation``, and learned from in the end.
    n_states, n_blocks, kraus_rank : int or "auto"
        The quantum dimension q on each label, the number k of labels, and the number w of Kraus operators: given,
        or to be chosen.
    validation : Sequences or anything it accepts, optional
        Held-out data to choose by.
    burn_in : int
        Symbols at the start of each sequence that are not scored.
    max_dimension : int
        Largest m = k q² to consider for one model; a step over the data costs m² for each symbol.
    time_limit : float, optional
        Seconds after which no new model is begun. Without it, the search ends when growing no longer pays.
    average : int
        How many models to mix at most, where the number of labels is free; 1 keeps the best one.
    prior : float
        Pseudo-count of every transition, see `Polar`.
    random_state : None, int or numpy.random.Generator
        The same seed gives the same model, unless the time limit cuts the search short.
    threads : int, optional
        Threads of the engine.
    callbacks : functions of (row, model)
        Called after each model tried with its row of the history; a true answer ends the search.

    Returns
    -------
    Fit
        ``history`` has a row for each model tried, in order, and one for the result, whose validation score was
        taken before the last passes on all data; ``restarts`` holds the fits of the models tried.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import fit_auto
    >>> data = hmm_6_6().sample(60, 50, random_state=0)
    >>> result = fit_auto(data, n_states=1, kraus_rank=1, max_dimension=8, average=1, random_state=0)
    >>> result.model
    HybridHQMM(8 labels × 1 dimensions, Kraus rank 1, 6 symbols)
    """
    everything = data if isinstance(data, Sequences) else Sequences(data)
    fixed: dict[str, Any] = {"n_blocks": n_blocks, "n_states": n_states, "kraus_rank": kraus_rank}
    for name, value in fixed.items():
        if value != "auto" and not (isinstance(value, int | np.integer) and value >= 1):
            raise DataError(f'{name} must be "auto" or a whole number from 1 up, not {value!r}')
    generator = as_generator(random_state)
    train, held_out = _parts(everything, validation, burn_in, generator)
    search = _Search(
        train.deduplicate(),
        held_out.deduplicate(),
        burn_in,
        Polar(sweeps=10, prior=prior),
        generator,
        threads,
        time_limit,
        tuple(callbacks),
    )
    for kind in _kinds(n_blocks, n_states, kraus_rank, max_dimension):
        search.climb(kind)
    search.restart(RESTARTS)
    chosen, weights = search.select(average if n_blocks == "auto" else 1)
    return search.finish(chosen, weights, everything.deduplicate())


def _parts(
    data: Sequences, validation: Any, burn_in: int, generator: np.random.Generator
) -> tuple[Sequences, Sequences]:
    """Return what to learn from while sizes are chosen, and what to choose by."""
    if validation is not None:
        return data, validation if isinstance(validation, Sequences) else Sequences(validation, data.alphabet)
    if len(data) < FEWEST:
        longest = max(burn_in + 2, -(-data.n_symbols // (2 * FEWEST)))
        data = data.split(longest)
        data = data[data.lengths > burn_in]
    return split_validation(data, HELD_OUT, generator)


def _kinds(k: Choice, q: Choice, w: Choice, max_dimension: int) -> list[list[Size]]:
    """Return ladders of sizes to climb, each of one kind."""
    if k == "auto":
        pairs = [(1, 1), (2, 1), (2, 2), (3, 2)] if q == "auto" else [(q, 1), (q, 2)][: 1 if q == 1 else 2]
        if w != "auto":
            pairs = list(dict.fromkeys((states, w) for states, _ in pairs))
        ladders = []
        for states, rank in pairs:
            first = max(1, round(FIRST_DIMENSION / states**2))
            counts = [first]
            while 2 * counts[-1] * states**2 <= max_dimension:
                counts.append(2 * counts[-1])
            ladders.append([Size(count, states, rank) for count in counts])
        return ladders
    ranks = [1, 2, 4] if w == "auto" else [w]
    if q != "auto":
        return [[Size(k, q, rank) for rank in ranks if rank <= q * q or rank == ranks[0]]]
    largest = max(1, int((max_dimension / k) ** 0.5))
    return [[Size(k, states, rank) for states in range(min(2, largest), largest + 1)] for rank in ranks]


@dataclass
class _Search:
    """The models tried so far, and what it takes to try another."""

    train: Sequences
    held_out: Sequences
    burn_in: int
    learner: Polar
    generator: np.random.Generator
    threads: int | None
    time_limit: float | None
    callbacks: tuple[Callable[[dict[str, float], Model], Any], ...]
    tried: list[Fit] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    stopped: Reason | None = None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def over(self) -> bool:
        """Whether no other model is to be tried; the first one always is."""
        if self.time_limit is not None and self.seconds >= self.time_limit and self.stopped is None:
            self.stopped = "time"
        return bool(self.tried) and self.stopped is not None

    def climb(self, ladder: list[Size]) -> None:
        """Grow a model rung by rung for as long as held-out data gain."""
        best: Fit | None = None
        for size in ladder:
            if self.over:
                return
            found = self._try(size, self._grown(best, size))
            if best is not None and found.score < best.score + GAIN:
                return
            best = found

    def restart(self, count: int) -> None:
        """Learn models of the best size from scratch."""
        best = self.sizes[int(np.argmax([one.score for one in self.tried]))]
        for _ in range(count):
            if self.over:
                return
            self._try(best, self._drawn(best))

    def select(self, count: int) -> tuple[list[Fit], FloatArray]:
        """Return the best models and the weights of their mixture that suits the held-out data best."""
        ranked = sorted(self.tried, key=lambda one: -one.score)[:count]
        scores = np.stack([one.model.log_likelihood(self.held_out, self.burn_in) for one in ranked])
        weights = mixture_weights(scores, self.held_out.weights)
        keep = weights >= min(NEGLIGIBLE, weights.max())
        return [one for one, kept in zip(ranked, keep, strict=True) if kept], weights[keep] / weights[keep].sum()

    def finish(self, chosen: list[Fit], weights: FloatArray, data: Sequences) -> Fit:
        """Return the mixture of the chosen models, each refined on all data."""
        before = _mixed([one.model for one in chosen], weights)
        values = before.log_likelihood(self.held_out, self.burn_in)
        score, _ = mean_log_likelihood(values, self.held_out, self.burn_in)
        last = replace(self.learner, sweeps=0, max_iter=LAST_PASSES)
        refined = [
            fit(last, one.model, data, burn_in=self.burn_in, threads=self.threads, random_state=self.generator)
            for one in chosen
        ]
        model = _mixed([one.model for one in refined], weights)
        train, n_zero = mean_log_likelihood(model.log_likelihood(data, self.burn_in), data, self.burn_in)
        passes = sum(one.history["passes"][-1] for one in refined)
        self._record(passes, train, score, max(one.history["feasibility"][-1] for one in refined))
        columns = dict(zip(COLUMNS, np.array(self.history).T, strict=True))
        reason: Reason = self.stopped or "no_progress"
        return Fit(model, reason, columns, len(self.history) - 1, self.seconds, n_zero, self.tried)

    def _try(self, size: Size, start: Start) -> Fit:
        left = None if self.time_limit is None else max(1.0, self.time_limit - self.seconds)
        found = fit(
            self.learner,
            start,
            self.train,
            validation=self.held_out,
            burn_in=self.burn_in,
            max_iter=PASSES,
            patience=PATIENCE + self.learner.sweeps,
            time_limit=left,
            threads=self.threads,
            random_state=self.generator,
        )
        self.tried.append(found)
        self.sizes.append(size)
        best = found.best_iteration
        row = self._record(
            found.history["passes"][-1],
            found.history["train"][best],
            found.history["validation"][best],
            found.history["feasibility"][best],
        )
        answers = [callback(row, found.model) for callback in self.callbacks]
        if any(answers):
            self.stopped = "interrupted"
        return found

    def _record(self, passes: float, train: float, validation: float, feasibility: float) -> dict[str, float]:
        spent = self.history[-1][1] if self.history else 0.0
        row = dict.fromkeys(COLUMNS, np.nan) | {
            "iteration": float(len(self.history)),
            "passes": spent + passes,
            "train": train,
            "validation": validation,
            "seconds": self.seconds,
            "feasibility": feasibility,
        }
        self.history.append(list(row.values()))
        return row

    def _drawn(self, size: Size) -> Start:
        return random_hybrid(size.n_blocks, size.n_states, self.train.alphabet, size.kraus_rank)

    def _grown(self, smaller: Fit | None, size: Size) -> Start:
        if smaller is None:
            return self._drawn(size)
        model: Any = smaller.model
        weights = label_weights(model, self.train, self.threads)
        return enlarge(model, self.generator, weights=weights, **vars(size))


def _mixed(models: list[Any], weights: FloatArray) -> Any:
    return models[0] if len(models) == 1 else mixture(models, weights)


def mixture_weights(log_likelihoods: FloatArray, counts: FloatArray, iterations: int = 100) -> FloatArray:
    """Return the weights of a mixture of models that maximise its likelihood, by EM.

    Parameters
    ----------
    log_likelihoods : (models, N) array
        Of each sequence under each model.
    counts : (N,) array
        How often each sequence counts.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.learning.auto import mixture_weights
    >>> mixture_weights(np.log([[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]]), np.ones(3)).round(3)
    array([0.708, 0.292])
    """
    possible = np.any(log_likelihoods > -np.inf, axis=0) & (counts > 0)
    logs, counts = log_likelihoods[:, possible], counts[possible]
    weights = np.full(len(logs), 1 / len(logs))
    if logs.shape[1] == 0:
        return weights
    likelihoods = np.exp(logs - logs.max(axis=0))
    for _ in range(iterations):
        shares = weights[:, None] * likelihoods
        weights = (shares / shares.sum(axis=0)) @ counts / counts.sum()
    return weights
