"""Expectation–maximisation for hidden Markov models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hqmm import engine
from hqmm._typing import FloatArray
from hqmm.errors import ModelError
from hqmm.learning.driver import Learner, State
from hqmm.learning.settings import between
from hqmm.learning.task import Task, mean_log_likelihood, scored_symbols
from hqmm.linear import LinearForm
from hqmm.models import HMM, Model

STEPWISE = 0.55  # the share of a batch in a stream's counts falls with this power of their number


@dataclass(frozen=True)
class BaumWelchState(State):
    """An HMM's parameters with the expected counts there (for a stream, their running average for each symbol).

    ``absorbed`` and ``seen`` count the batches and the symbols of a stream.
    """

    transition: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    emission: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    initial: FloatArray = field(default_factory=lambda: np.zeros(0))
    counts: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    starts: FloatArray = field(default_factory=lambda: np.zeros(0))
    absorbed: int = 0
    seen: float = 0.0


@dataclass(frozen=True)
class BaumWelch(Learner):
    """EM for HMMs: expected counts are T ∘ ∂ℓ/∂T, so the engine's gradient does the work.

    Whole sequences are scored: a burn-in, which conditions on the first symbols, would cost EM its guarantee that
    the likelihood never falls, so it only applies to validation.

    Parameters
    ----------
    max_iter : int
        Passes over the data.
    tol : float
        Stop when a pass gains less than this much log-likelihood per symbol.
    learn_initial : bool
        Also fit the initial distribution.
    prior : float
        Pseudo-count added to every expected count; 0 gives maximum likelihood.

    Examples
    --------
    >>> from hqmm.datasets import hmm_6_6
    >>> from hqmm.learning import BaumWelch, fit, random_hmm
    >>> data = hmm_6_6().sample(10, 200, random_state=0)
    >>> history = fit(BaumWelch(max_iter=10), random_hmm(3, 6), data, random_state=0).history["train"]
    >>> bool((history[1:] >= history[:-1]).all())
    True
    """

    max_iter: int = 1000
    tol: float = 1e-7
    learn_initial: bool = True
    prior: float = 0.0

    def __post_init__(self) -> None:
        between("tol", self.tol, 0, np.inf)
        between("prior", self.prior, 0, np.finfo(float).max)

    def init(self, model: Model, task: Task, generator: np.random.Generator) -> BaumWelchState:
        """Return the expected counts of an HMM."""
        hmm = _checked(model)
        return self._expect(hmm.transition, hmm.emission, hmm.initial, task, passes=0.0)

    def advance(self, state: BaumWelchState, task: Task, generator: np.random.Generator) -> BaumWelchState:
        """Return the counts after one M-step."""
        following = self._expect(*self._maximise(state, self.prior), task, state.passes)
        converged = following.objective - state.objective < self.tol and following.n_zero >= state.n_zero
        return BaumWelchState(**{**vars(following), "converged": bool(converged)})

    def open(self, model: Model, task: Task) -> BaumWelchState:
        """Return the state that a stream starts from: the model, and counts that agree with it.

        Of the task, only the alphabet is used.
        """
        hmm = _checked(model)
        counts = hmm.emission[:, :, None] * hmm.transition / hmm.n_states
        return BaumWelchState(
            transition=hmm.transition,
            emission=hmm.emission,
            initial=hmm.initial,
            counts=counts,
            starts=hmm.initial,
        )

    def absorb(self, state: BaumWelchState, task: Task) -> BaumWelchState:
        """Return the state after one batch of a stream, which is read once and needed no more.

        The expected counts of the batch, for each symbol, enter a running average whose memory grows, and the
        parameters are those that it asks for: stepwise EM (Cappé and Moulines 2009).

        The state's ``objective`` is the log-likelihood per symbol of the batch before it was learned from.
        """
        fresh = self._expect(state.transition, state.emission, state.initial, task, state.passes)
        symbols, sequences = scored_symbols(task.data, 0), float(task.data.weights.sum())
        share = (state.absorbed + 2.0) ** -STEPWISE
        averaged = replace(
            fresh,
            counts=(1 - share) * state.counts + share * fresh.counts / symbols,
            starts=(1 - share) * state.starts + share * fresh.starts / sequences,
            absorbed=state.absorbed + 1,
            seen=state.seen + symbols,
        )
        transition, emission, initial = self._maximise(averaged, self.prior / averaged.seen)
        return replace(averaged, transition=transition, emission=emission, initial=initial)

    def _maximise(self, state: BaumWelchState, prior: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the transition, emission and initial probabilities that the counts ask for."""
        initial = state.initial
        if self.learn_initial:
            initial = _columns_to_one(state.starts[:, None] + prior, state.initial[:, None])[:, 0]
        return (
            _columns_to_one(state.counts.sum(axis=0) + prior, state.transition),
            _columns_to_one(state.counts.sum(axis=2) + prior, state.emission),
            initial,
        )

    def _expect(
        self, transition: FloatArray, emission: FloatArray, initial: FloatArray, task: Task, passes: float
    ) -> BaumWelchState:
        linear = HMM(transition, emission, initial).linear
        result = self._gradient(linear, task)
        objective, n_zero = mean_log_likelihood(result.log_likelihood, task.data, 0)
        return BaumWelchState(
            objective=objective,
            n_zero=n_zero,
            passes=passes + 1,
            transition=transition,
            emission=emission,
            initial=initial,
            counts=linear.operators * result.operators,
            starts=initial * result.initial,
        )

    def _gradient(self, linear: LinearForm, task: Task) -> engine.Gradient:
        return engine.gradient(linear, task.data, threads=task.threads, slopes_of_zeros=False)

    def model(self, state: BaumWelchState, task: Task) -> HMM:
        """Return the HMM of a state."""
        return HMM(state.transition, state.emission, state.initial, alphabet=task.data.alphabet)


def _checked(model: Model) -> HMM:
    if not isinstance(model, HMM):
        raise ModelError(f"BaumWelch learns an HMM; start from one, not from {model!r}")
    return model


def _columns_to_one(counts: FloatArray, before: FloatArray) -> FloatArray:
    """Normalise columns; one without counts, a state never visited, stays as it was."""
    totals = counts.sum(axis=0)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), before)
