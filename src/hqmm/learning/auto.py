"""The automatic mode: sizes chosen on held-out data by growing, and the best models averaged.

Small models of several kinds (many labels or few, with one quantum dimension on each or more; from random starts
and from a Markov chain) are learned first. Each kind grows from what it has learned for as long as held-out data
gain. Steps are cheap up to dimension 64; beyond it only the two best kinds grow, while that gains more than
chance. They grow again from other starts; then the best models found are refined on all data and mixed: a mixture
of hybrid models is a hybrid model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from hqmm._random import RandomState, as_generator
from hqmm._typing import FloatArray
from hqmm.errors import DataError
from hqmm.learning.driver import COLUMNS, Fit, Reason, Start, fit, split_validation
from hqmm.learning.grow import enlarge, label_weights
from hqmm.learning.initial import random_hybrid
from hqmm.learning.interrupt import interruptible
from hqmm.learning.polar import Polar
from hqmm.learning.settings import at_least, between
from hqmm.learning.task import mean_log_likelihood
from hqmm.models import HybridHQMM, MarkovChain, Model, mixture
from hqmm.sequences import Sequences

Choice: TypeAlias = int | Literal["auto"]

FIRST_DIMENSION = 8  # m of the smallest models
EASY_DIMENSION = 64  # m up to which every ladder is climbed
HELD_OUT = 0.1
FEWEST = 20  # sequences that are worth splitting; fewer are cut into pieces
PRIOR = 4.0  # pseudo-count of all transitions from a label together
LEARNER = Polar(sweeps=10, tol=1e-5)
PASSES = 60  # for each size
MORE_PASSES = 100  # for the best
LAST_PASSES = 10  # on all data
PATIENCE = 15
RESTARTS = 4
NOISE = 0.1
GAIN = 1e-5  # log-likelihood per symbol that makes growing worth while
EM_STEPS = 10  # towards the weights of the mixture
NEGLIGIBLE = 0.02  # weight in a mixture below which a model is left out
LARGEST_MIXTURE = 4_000_000  # entries of its Kraus operators


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


@dataclass(frozen=True)
class Ladder:
    """Sizes to climb, from a random model or, with ``chain``, from the Markov chain whose contexts are labels."""

    sizes: list[Size]
    chain: bool = False


@dataclass(frozen=True)
class Trial:
    """A model that was tried: which rung of which ladder, with how much of a prior."""

    fit: Fit
    ladder: Ladder
    rung: int
    prior: float

    @property
    def score(self) -> float:
        """The log-likelihood per symbol of the held-out data."""
        return self.fit.score


def fit_auto(
    data: Any,
    *,
    n_states: Choice = "auto",
    n_blocks: Choice = "auto",
    kraus_rank: Choice = "auto",
    validation: Any = None,
    burn_in: int = 0,
    max_dimension: int = 256,
    time_limit: float | None = None,
    average: int = 8,
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
        or to be chosen. Which w are tried depends on what else is to be chosen. With k and q given, w grows from 1
        to 2 and 4, to q² at most, as long as held-out data gain. With k given, q grows with each of w = 1, 2 and
        4. With "auto" for k, k grows with each of w = 1 and 2, with 1 alone where q = 1; if q is "auto", too, then
        with (q, w) = (1, 1), (2, 1), (2, 2) and (3, 2).
    validation : Sequences or anything it accepts, optional
        Held-out data to choose by.
    burn_in : int
        Symbols at the start of each sequence that are not scored.
    max_dimension : int
        Largest m = k q² to consider for one model, unless sizes that are given need more; a step over the data
        costs m² for each symbol. Beyond 64, growing must gain more than two standard errors of the held-out data.
        The result may be a mixture of several such models.
    time_limit : float, optional
        Seconds after which no new model is begun. Without it, the search ends when growing no longer pays.
    average : int
        How many models to mix at most, where the number of labels is free; 1 keeps the best one.
    prior : float
        Pseudo-count of all transitions from a label together, see `Polar`; a quarter of it and four times as much
        are tried too.
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
        if value != "auto" and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise DataError(f'{name} must be "auto" or a whole number from 1 up, not {value!r}')
    at_least("max_dimension", max_dimension, 1)
    at_least("average", average, 1)
    between("prior", prior, 0, np.finfo(float).max)
    if time_limit is not None:
        between("time_limit", time_limit, 0, np.inf)
    least = (1 if n_blocks == "auto" else n_blocks) * (1 if n_states == "auto" else n_states) ** 2
    max_dimension = max(max_dimension, least)
    generator = as_generator(random_state)
    train, held_out = _parts(everything, validation, burn_in, generator)
    ladders = _ladders(n_blocks, n_states, kraus_rank, max_dimension)
    with interruptible() as asked:
        search = _Search(
            train.deduplicate(),
            held_out.deduplicate(),
            burn_in,
            generator,
            threads,
            time_limit,
            tuple(callbacks),
            asked,
        )
        for ladder in search.with_chains(ladders, max_dimension) if n_blocks == "auto" else ladders:
            search.climb(ladder, prior)
        search.climb_on(prior)
        search.learn_on()
        search.restart(RESTARTS)
        chosen, weights = search.select(average if n_blocks == "auto" else 1)
        return search.finish(chosen, weights, everything.deduplicate())


def _parts(
    data: Sequences, validation: Any, burn_in: int, generator: np.random.Generator
) -> tuple[Sequences, Sequences]:
    """Return what to learn from while sizes are chosen, and what to choose by."""
    if validation is not None:
        return data, validation if isinstance(validation, Sequences) else Sequences(validation, data.alphabet)
    if data.weights.sum() < FEWEST:
        longest = max(burn_in + 2, -(-data.n_symbols // (2 * FEWEST)))
        data = data.split(longest)
        data = data[data.lengths > burn_in]
    return split_validation(data, HELD_OUT, generator)


def _ladders(k: Choice, q: Choice, w: Choice, max_dimension: int) -> list[Ladder]:
    """Return ladders of sizes, each of one kind."""
    if k == "auto":
        pairs = [(1, 1), (2, 1), (2, 2), (3, 2)] if q == "auto" else [(q, 1), (q, 2)][: 1 if q == 1 else 2]
        if w != "auto":
            pairs = list(dict.fromkeys((states, w) for states, _ in pairs))
        first = min(FIRST_DIMENSION, max_dimension)
        fitting = [(states, rank) for states, rank in pairs if states**2 <= max_dimension]
        return [Ladder(_doubled(max(1, first // q**2), q, w, max_dimension)) for q, w in fitting]
    ranks = [1, 2, 4] if w == "auto" else [w]
    if q != "auto":
        return [Ladder([Size(k, q, rank) for rank in ranks if rank <= q * q or rank == ranks[0]])]
    largest = max(1, int((max_dimension / k) ** 0.5))
    useful = [rank for rank in ranks if rank <= largest**2 or rank == ranks[0]]
    return [Ladder([Size(k, states, rank) for states in range(min(2, largest), largest + 1)]) for rank in useful]


def _doubled(k: int, q: int, w: int, max_dimension: int) -> list[Size]:
    """Return sizes with k labels, and twice as many, as long as m is within bounds."""
    sizes = [Size(k, q, w)]
    while 2 * sizes[-1].dimension <= max_dimension:
        sizes.append(Size(2 * sizes[-1].n_blocks, q, w))
    return sizes


@dataclass
class _Search:
    """The models tried so far, and what it takes to try another."""

    train: Sequences
    held_out: Sequences
    burn_in: int
    generator: np.random.Generator
    threads: int | None
    time_limit: float | None
    callbacks: tuple[Callable[[dict[str, float], Model], Any], ...]
    asked: threading.Event  # to stop, by Ctrl-C
    tried: list[Trial] = field(default_factory=list)
    history: list[list[float]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    stopped: Reason | None = None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def over(self) -> bool:
        """Whether no other model is to be tried; the first one always is."""
        if self.asked.is_set():
            self.stopped = "interrupted"
        if self.time_limit is not None and self.seconds >= self.time_limit and self.stopped is None:
            self.stopped = "time"
        return bool(self.tried) and self.stopped is not None

    @cached_property
    def pairs(self) -> MarkovChain:
        """The Markov chain of order one."""
        return MarkovChain.from_sequences(self.train, 1)

    @cached_property
    def chain(self) -> HybridHQMM:
        """The same with contexts as labels; only for few symbols: its size is their number, cubed."""
        return self.pairs.to_hybrid()

    def with_chains(self, ladders: list[Ladder], max_dimension: int) -> list[Ladder]:
        """Return each ladder behind one of its kind that starts from the Markov chain, where there is room."""
        k, result = self.pairs.n_contexts, []
        for ladder in ladders:
            size = ladder.sizes[0]
            if k * size.n_states**2 <= min(EASY_DIMENSION, max_dimension):
                sizes = _doubled(k, size.n_states, size.kraus_rank, max_dimension)
                result.append(Ladder(sizes, chain=True))
            result.append(ladder)
        return result

    def climb(self, ladder: Ladder, prior: float, last: int | None = None) -> None:
        """Grow a model rung by rung: to the one asked for, or while held-out data gain and steps are cheap."""
        best: Trial | None = None
        for rung in range(len(ladder.sizes) if last is None else last + 1):
            too_far = last is None and rung > 0 and ladder.sizes[rung].dimension > EASY_DIMENSION
            if self.over or too_far:
                return
            found = self._try(ladder, rung, prior, self._grown(best, ladder.sizes[rung], ladder.chain))
            if last is None and best is not None and found.score < best.score + GAIN:
                return
            best = found

    def climb_on(self, prior: float) -> None:
        """Climb the two best ladders beyond the cheap dimensions, for as long as that gains more than chance."""
        for best in self._leaders():
            ladder = best.ladder
            rungs = {one.rung: one for one in self.tried if one.ladder is ladder}
            while best.rung + 1 < len(ladder.sizes) and best.rung + 1 not in rungs and not self.over:
                lower = rungs.get(best.rung - 1)
                if lower is not None and not self._gains_surely(lower, best):
                    break
                size = ladder.sizes[best.rung + 1]
                best = self._try(ladder, best.rung + 1, prior, self._grown(best, size, ladder.chain))
                rungs[best.rung] = best

    def _gains_surely(self, lower: Trial, upper: Trial) -> bool:
        """Return whether held-out data are more likely under the upper model, by more than chance."""
        below, above = (one.fit.model.log_likelihood(self.held_out, self.burn_in) for one in (lower, upper))
        return upper.score > lower.score and self._worse(below, above)

    def _leaders(self) -> list[Trial]:
        """Return the best models of the two best ladders."""
        leaders: dict[int, Trial] = {}
        for trial in self._ranked():
            leaders.setdefault(id(trial.ladder), trial)
        return list(leaders.values())[:2]

    def learn_on(self) -> None:
        """Learn on from the best model, with a weaker prior, and with a stronger one."""
        prior = self._ranked()[0].prior
        for factor in (1.0, 0.25, 4.0):
            if not self.over:
                best = self._ranked()[0]
                self._try(best.ladder, best.rung, factor * prior, best.fit.model, sweeps=0)

    def restart(self, count: int) -> None:
        """Climb the two best ladders again from other starts, by turns, to where they were best."""
        chosen = self._leaders()
        for number in range(count):
            again = chosen[number % len(chosen)]
            self.climb(again.ladder, again.prior, again.rung)

    def select(self, count: int) -> tuple[list[Trial], FloatArray]:
        """Return the best models and weights of their mixture, which held-out data move away from equal ones.

        Which of two good models is better is more than held-out data can tell: all that they do not tell from the
        best one may take part, and only some steps of EM are taken. A mixture must be better than its best model.
        """
        chosen: list[Trial] = []
        scores: list[FloatArray] = []
        for trial in self._ranked():
            values = trial.fit.model.log_likelihood(self.held_out, self.burn_in)
            if chosen and self._worse(values, scores[0]):
                continue
            if not chosen or self._mixture_entries([*chosen, trial]) <= LARGEST_MIXTURE:
                chosen.append(trial)
                scores.append(values)
            if len(chosen) == count:
                break
        weights = mixture_weights(np.stack(scores), self.held_out.weights)
        keep = weights >= min(NEGLIGIBLE, weights.max())
        weights = weights[keep] / weights[keep].sum()
        if not self._gains(np.stack(scores)[keep], weights, scores[0]):
            return chosen[:1], np.ones(1)
        return [one for one, kept in zip(chosen, keep, strict=True) if kept], weights

    def _gains(self, scores: FloatArray, weights: FloatArray, best: FloatArray) -> bool:
        """Return whether a mixture predicts held-out sequences better than the best model alone."""
        mixed = np.logaddexp.reduce(np.log(weights)[:, None] + scores, axis=0)
        possible = mixed > -np.inf
        return bool((mixed[possible] - best[possible]) @ self.held_out.weights[possible] > 0)

    def _worse(self, values: FloatArray, best: FloatArray) -> bool:
        """Return whether held-out sequences score worse than with the best model, by two standard errors."""
        counts = self.held_out.weights
        possible = best > -np.inf
        if np.any(values[possible] == -np.inf):
            return True
        loss, counts = best[possible] - values[possible], counts[possible]
        mean = np.average(loss, weights=counts)
        return bool(mean > 2 * np.sqrt(np.average((loss - mean) ** 2, weights=counts) / counts.sum()))

    def finish(self, chosen: list[Trial], weights: FloatArray, data: Sequences) -> Fit:
        """Return the mixture of the chosen models, each refined on all data."""
        before = _mixed([one.fit.model for one in chosen], weights)
        values = before.log_likelihood(self.held_out, self.burn_in)
        score, _ = mean_log_likelihood(values, self.held_out, self.burn_in)
        refined = [
            fit(
                self._learner(one.ladder.sizes[one.rung], one.prior, sweeps=0),
                one.fit.model,
                data,
                burn_in=self.burn_in,
                max_iter=LAST_PASSES,
                threads=self.threads,
                random_state=self.generator,
            )
            for one in chosen
        ]
        model = _mixed([one.model for one in refined], weights)
        train, n_zero = mean_log_likelihood(model.log_likelihood(data, self.burn_in), data, self.burn_in)
        passes = sum(one.history["passes"][-1] for one in refined)
        self._record(passes, train, score, max(one.history["feasibility"][-1] for one in refined))
        columns = dict(zip(COLUMNS, np.array(self.history).T, strict=True))
        fits = [one.fit for one in self.tried]
        return Fit(
            model, self.stopped or "no_progress", columns, len(self.history) - 1, self.seconds, n_zero, fits
        )

    def _try(self, ladder: Ladder, rung: int, prior: float, start: Start, sweeps: int = LEARNER.sweeps) -> Trial:
        found = fit(
            self._learner(ladder.sizes[rung], prior, sweeps),
            start,
            self.train,
            validation=self.held_out,
            burn_in=self.burn_in,
            max_iter=PASSES if sweeps else MORE_PASSES,
            patience=PATIENCE,
            time_limit=None if self.time_limit is None else max(1.0, self.time_limit - self.seconds),
            threads=self.threads,
            random_state=self.generator,
        )
        best = found.best_iteration
        row = self._record(
            found.history["passes"][-1],
            found.history["train"][best],
            found.history["validation"][best],
            found.history["feasibility"][best],
        )
        answers = [callback(row, found.model) for callback in self.callbacks]
        if any(answers) or found.reason == "interrupted":
            self.stopped = "interrupted"
        self.tried.append(Trial(found, ladder, rung, prior))
        return self.tried[-1]

    def _learner(self, size: Size, prior: float, sweeps: int) -> Polar:
        return replace(LEARNER, sweeps=sweeps, prior=prior / (len(self.train.alphabet) * size.n_blocks))

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

    def _grown(self, smaller: Trial | None, size: Size, chain: bool) -> Start:
        """Return what to start a size from: a smaller model, the Markov chain, or a random one."""
        if smaller is None and not chain:
            return random_hybrid(size.n_blocks, size.n_states, self.train.alphabet, size.kraus_rank)
        model: Any = self.chain if smaller is None else smaller.fit.model
        weights = label_weights(model, self.train, self.threads)
        return enlarge(model, self.generator, weights=weights, noise=NOISE, **vars(size))

    def _ranked(self) -> list[Trial]:
        return sorted(self.tried, key=lambda one: -one.score)

    def _mixture_entries(self, trials: list[Trial]) -> int:
        sizes = [one.ladder.sizes[one.rung] for one in trials]
        k = sum(size.n_blocks for size in sizes)
        q, w = max(size.n_states for size in sizes), max(size.kraus_rank for size in sizes)
        return len(self.train.alphabet) * w * (k * q) ** 2


def _mixed(models: list[Any], weights: FloatArray) -> Any:
    return models[0] if len(models) == 1 else mixture(models, weights)


def mixture_weights(log_likelihoods: FloatArray, counts: FloatArray, iterations: int = EM_STEPS) -> FloatArray:
    """Return weights of a mixture of models, by steps of EM from equal ones towards the greatest likelihood.

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
    >>> mixture_weights(np.log([[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]]), np.ones(3), iterations=100).round(3)
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
