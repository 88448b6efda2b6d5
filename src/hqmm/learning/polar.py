"""The polar fixed point: an HQMM learner without a step size, from data at hand or from a stream.

`fit(Polar(), start, data)` learns from data that can be read again and again. Where batches come one by one,
carry a state along: ``state = learner.open(model, Task(batch))`` and then, for each batch,
``state = learner.absorb(state, Task(batch))``; ``learner.model(state, Task(batch))`` is the model so far. A state
holds arrays and scalars only: pickle it, or use `hqmm.learning.checkpoint.save_state` and ``load_state``, and the
stream goes on bit for bit. If the data can be had again in the end, finish with full passes:
``fit(Polar(sweeps=0), model, data)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hqmm._typing import ComplexArray
from hqmm.errors import DataError
from hqmm.learning.prior import log_prior, prior_gradient
from hqmm.learning.settings import at_least, between
from hqmm.learning.space import Point, Space
from hqmm.learning.stiefel import polar
from hqmm.learning.stiefel_learner import StiefelLearner, StiefelState, largest_error
from hqmm.learning.task import Task, mean_log_likelihood, scored_symbols
from hqmm.models import Model

SMALLEST_DAMPING = 1e-6
UNHEARD = 1e-9  # share of κ in what the polar factor is taken of
QUIET = 3  # steps in a row that must gain next to nothing before the fit counts as converged


@dataclass(frozen=True)
class PolarState(StiefelState):
    """A point with the gradient there (while learning from batches, its running average).

    ``log_prior`` is that of the point, for each symbol of the data, ``origin`` the fixed-point image that momentum
    extrapolates from, ``age`` counts Nesterov's t since the last restart, ``quiet`` the steps since the likelihood
    last rose noticeably, ``absorbed`` the batches of a stream and ``seen`` the scored symbols in them.
    """

    gradient: Point = ()
    log_prior: float = 0.0
    origin: Point = ()
    age: float = 1.0
    quiet: int = 0
    sweeps: int = 0
    absorbed: int = 0
    seen: float = 0.0


@dataclass(frozen=True)
class Polar(StiefelLearner):
    """The polar fixed point κ ← polar(κ + d(polar(G) − κ)), G = ∂ℓ/∂κ*, with no learning rate.

    At a maximum on the Stiefel manifold κ is the unitary factor of its own gradient; the iteration walks towards
    that, and does the same for the root X of the initial state ρ₀ = XX†. It is to HQMMs what Baum–Welch is to
    HMMs: where probabilities are |κ|², the gradient is G = κ ∘ g with g the ratio of expected to modelled counts;
    Baum–Welch moves to κ ∘ √g, and d = ½ to κ ∘ (1 + g)/2, which agrees to first order.

    First some sweeps learn from batches, along a running average of the gradient whose memory grows: the noise of
    small batches, annealed away, is what escapes poor optima. A sweep ends at the mean of the points it passed
    (brought back to the manifold), where most of that noise cancels, so that steps may be as bold as a short
    memory makes them (the averaging of Polyak and Juditsky, 1992). Then full passes climb with Nesterov's
    momentum. A full pass that would lower the likelihood is taken back: momentum restarts, and then d halves, so
    that from the first full pass on the likelihood never falls. Halving must end: the step is an ascent
    direction. With G = PH, H = (G†G)^½ and M = P†κ, the slope of ℓ along it is 2 tr H − Re tr H(M² + MM†), which
    is positive unless M is its own inverse where H is not zero, because no singular value of M exceeds one. A
    step of fixed d may fall.

    Parameters
    ----------
    max_iter : int
        Passes over the data, sweeps included.
    tol : float
        Converged when three full passes in a row gain less than this much log-likelihood per symbol.
    sweeps : int
        Passes learned from batches at the beginning.
    batches : int
        Batches in a sweep.
    memory : pair of float
        Share of the old in the running average of batch gradients, in the first sweep and in the last.
    damping : float
        d, and the largest that a pass may use.
    prior : float
        Pseudo-count: every transition (a symbol, a label to and a label from) counts as seen this many times more
        than it was, in the direction its Kraus operators have. 0 gives maximum likelihood; where data are thin,
        about .1 keeps what was never seen possible. The likelihood with this prior is then what never falls.
    momentum : float
        Largest extrapolation; 0 gives the plain fixed point.
    learn_initial : bool, optional
        Also learn the initial state; by default where there is no burn-in.

    Examples
    --------
    >>> from hqmm.datasets import hqmm_2_6
    >>> from hqmm.learning import Polar, fit, random_hqmm
    >>> data = hqmm_2_6().sample(40, 100, random_state=0)
    >>> result = fit(Polar(sweeps=0), random_hqmm(2, 6), data, max_iter=30, random_state=0)
    >>> bool((result.history["train"][1:] >= result.history["train"][:-1]).all())
    True
    """

    max_iter: int = 300
    tol: float = 1e-6
    sweeps: int = 20
    batches: int = 40
    memory: tuple[float, float] = (0.7, 0.97)
    damping: float = 0.5
    momentum: float = 0.9
    prior: float = 0.0
    learn_initial: bool | None = None

    def __post_init__(self) -> None:
        at_least("sweeps", self.sweeps, 0)
        at_least("batches", self.batches, 1)
        between("tol", self.tol, 0, np.inf)
        between("prior", self.prior, 0, np.finfo(float).max)
        between("damping", self.damping, 0, 1)
        between("momentum", self.momentum, 0, 1)
        if self.damping == 0 or self.momentum == 1:
            raise DataError(
                "damping must be above 0 and at most 1 and momentum from 0 to below 1, "
                f"not {self.damping} and {self.momentum}"
            )
        if not (_is_pair(self.memory) and all(0 <= share < 1 for share in self.memory)):
            raise DataError(f"memory must hold two shares from 0 to below 1, not {self.memory!r}")

    def _begin(self, state: StiefelState, task: Task) -> PolarState:
        start = PolarState(point=state.point, initial=state.initial, step=self.damping)
        return self._evaluated(start, state.point, self.space(state, task), task)

    def advance(self, state: PolarState, task: Task, generator: np.random.Generator) -> PolarState:
        """Return the state after a sweep or a full pass that did not lower the likelihood."""
        if state.sweeps < self.sweeps:
            return self._sweep(state, task, generator)
        return self._climb(state, task)

    def _sweep(self, state: PolarState, task: Task, generator: np.random.Generator) -> PolarState:
        space = self.space(state, task)
        point, average = state.point, state.gradient
        passed = tuple(np.zeros_like(part) for part in point)
        memory = _between(self.memory, state.sweeps / max(1, self.sweeps - 1))
        parts = np.array_split(generator.permutation(len(task.data)), min(self.batches, len(task.data)))
        values = np.zeros(len(task.data))
        for chosen in parts:
            result = space.evaluate(point, task.data[chosen], task.burn_in, task.threads)
            values[chosen] = result.log_likelihood
            fresh = self._with_prior(result.gradient, point, task, 1 / len(parts))
            average = _averaged(average, fresh, memory, len(parts))
            point = towards(point, average, self.damping)
            passed = tuple(before + now for before, now in zip(passed, point, strict=True))
        point = tuple(polar(total) for total in passed)
        done = replace(state, sweeps=state.sweeps + 1, passes=state.passes + 1)
        if done.sweeps == self.sweeps:
            return self._evaluated(done, point, space, task)
        objective, n_zero = mean_log_likelihood(values, task.data, task.burn_in)
        return replace(
            done,
            point=point,
            gradient=average,
            objective=objective,
            n_zero=n_zero,
            feasibility=largest_error(point),
        )

    def open(self, model: Model, task: Task) -> PolarState:
        """Return the state that a stream starts from: the model, and a gradient that agrees with it.

        Only the alphabet and the burn-in of the task are used. The gradient is κ itself, as though the symbols
        before the stream had been the model's own, so that a model that was learned before is not thrown away by
        the first batch.
        """
        start = self._start(model, task)
        agreeing = tuple(part / (part.shape[0] * part.shape[2]) for part in start.point)
        return PolarState(point=start.point, initial=start.initial, gradient=agreeing, step=self.damping)

    def absorb(self, state: PolarState, task: Task) -> PolarState:
        """Return the state after one batch of a stream, which is read once and needed no more.

        The batch's gradient, for each symbol, enters the running average, and κ takes one step towards the polar
        factor of that. The memory grows in the first ``sweeps`` · ``batches`` batches.

        The state's ``objective`` is the log-likelihood per symbol of the batch before it was learned from.
        """
        space = self.space(state, task)
        result = space.evaluate(state.point, task.data, task.burn_in, task.threads)
        memory = _between(self.memory, state.absorbed / max(1, self.sweeps * self.batches))
        amounts = scored_symbols(task.data, task.burn_in), float(task.data.weights.sum())
        seen = state.seen + amounts[0]
        gradient = self._with_prior(result.gradient, state.point, task, amounts[0] / seen if seen else 0.0)
        fresh = tuple(part / max(amount, 1.0) for part, amount in zip(gradient, amounts, strict=False))
        average = _averaged(state.gradient, fresh, memory)
        point = towards(state.point, average, self.damping)
        objective, n_zero = mean_log_likelihood(result.log_likelihood, task.data, task.burn_in)
        return replace(
            state,
            point=point,
            gradient=average,
            objective=objective,
            n_zero=n_zero,
            absorbed=state.absorbed + 1,
            seen=seen,
            feasibility=largest_error(point),
        )

    def _climb(self, state: PolarState, task: Task) -> PolarState:
        space = self.space(state, task)
        while state.step > SMALLEST_DAMPING:
            image = towards(state.point, state.gradient, state.step)
            age = (1 + np.sqrt(1 + 4 * state.age**2)) / 2
            ahead = min((state.age - 1) / age, self.momentum)
            point = _extrapolate(image, state.origin, ahead) if ahead > 0 else image
            following = self._evaluated(state, point, space, task)
            gain = following.objective + following.log_prior - state.objective - state.log_prior
            if (following.n_zero, -gain) <= (state.n_zero, 0.0):
                quiet = state.quiet + 1 if gain < self.tol else 0
                return replace(
                    following,
                    origin=image,
                    age=float(age),
                    quiet=quiet,
                    converged=quiet >= QUIET,
                    step=min(self.damping, 1.1 * state.step),
                )
            damping = state.step if ahead > 0 else state.step / 2
            state = replace(state, age=1.0, step=damping, passes=following.passes)
        return replace(state, converged=True)

    def _evaluated(self, state: PolarState, point: Point, space: Space, task: Task) -> PolarState:
        result = space.evaluate(point, task.data, task.burn_in, task.threads)
        objective, n_zero = mean_log_likelihood(result.log_likelihood, task.data, task.burn_in)
        symbols = len(task.data.alphabet)
        share = self.prior / scored_symbols(task.data, task.burn_in)
        return replace(
            state,
            point=point,
            gradient=self._with_prior(result.gradient, point, task),
            log_prior=share * log_prior(point, symbols) if share else 0.0,
            objective=objective,
            n_zero=n_zero,
            passes=state.passes + 1,
            feasibility=largest_error(point),
        )

    def _with_prior(self, gradient: Point, point: Point, task: Task, share: float = 1.0) -> Point:
        if self.prior == 0:
            return gradient
        extra = prior_gradient(point, len(task.data.alphabet))
        return tuple(old + share * self.prior * new for old, new in zip(gradient, extra, strict=True))


def towards(point: Point, gradient: Point, damping: float) -> Point:
    """Return polar(κ + d(polar(G) − κ)) for each part."""
    return tuple(
        polar(part + damping * (_target(part, uphill) - part))
        for part, uphill in zip(point, gradient, strict=True)
    )


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(x, int | float) for x in value)


def _averaged(average: Point, fresh: Point, memory: float, scale: float = 1.0) -> Point:
    return tuple(memory * old + (1 - memory) * scale * new for old, new in zip(average, fresh, strict=True))


def _between(memory: tuple[float, float], share: float) -> float:
    """Return the memory at a share of the way from the first to the last: 1 − memory shrinks geometrically."""
    first, last = memory
    share = min(share, 1.0)
    return float(1 - (1 - first) ** (1 - share) * (1 - last) ** share)


def _target(part: ComplexArray, uphill: ComplexArray) -> ComplexArray:
    """Return polar(G), and κ itself where G says nothing: for a label that is never reached, G = 0."""
    sizes = np.linalg.norm(uphill, axis=(-2, -1), keepdims=True)
    return polar(uphill + UNHEARD * np.where(sizes > 0, sizes, 1.0) * part)


def _extrapolate(image: Point, origin: Point, ahead: float) -> Point:
    return tuple(polar(new + ahead * (new - old)) for new, old in zip(image, origin, strict=True))
