"""
A learner of your own
=====================

Write how to take one step, in forty lines, and get validation, restarts, checkpoints and histories.

`fit` is one loop for all learners. A learner only says where to start, what a step is, and which model
a state stands for. Everything else belongs to the loop.
"""

# %%
# The example is the textbook method: gradient ascent. The Kraus operators of an HQMM, stacked into
# one tall matrix κ, have orthonormal columns, κ†κ = I. Such matrices form a curved space, the
# Stiefel manifold. A step walks along the gradient, straight out of that space, and ``polar``
# brings it back to the nearest point. How far? Twice as far as the last time; if the likelihood
# then rises too little, half of that, and so on.
#
# A *state* is a frozen dataclass of arrays, tuples of arrays and numbers. The loop reads some of
# its fields: ``objective``, the log-likelihood per symbol, for example, and ``passes``, how often
# the data were read.
from dataclasses import dataclass, field, replace

import numpy as np

from hqmm.learning import Learner, State
from hqmm.learning.space import space_of, start_of
from hqmm.learning.stiefel import feasibility_error, polar, tangent
from hqmm.learning.task import mean_log_likelihood, scored_symbols


@dataclass(frozen=True)
class AscentState(State):
    point: tuple = ()  # κ, and a root of the initial density matrix
    gradient: tuple = ()
    initial: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), complex))


@dataclass(frozen=True)
class Ascent(Learner):
    max_iter: int = 600
    tol: float = 1e-6
    step: float = 1.0

    def init(self, model, task, generator):
        point, initial = start_of(model, True, "Ascent")
        return self.at(point, AscentState(initial=initial, step=self.step), task)

    def advance(self, state, task, generator):
        uphill = [tangent(part, slope) for part, slope in zip(state.point, state.gradient, strict=True)]
        slope = sum(2 * np.vdot(g, u).real for g, u in zip(state.gradient, uphill, strict=True))
        step, passes = 2 * state.step, state.passes
        while step > 1e-9:
            point = tuple(polar(part + step * u) for part, u in zip(state.point, uphill, strict=True))
            tried = self.at(point, replace(state, step=step, passes=passes), task)
            gain = tried.objective - state.objective
            if gain >= 0.1 * step * slope:
                return replace(tried, converged=bool(gain < self.tol))
            step, passes = step / 2, tried.passes
        return replace(state, passes=passes, converged=True)

    def model(self, state, task):
        return space_of(task.data.alphabet, state.initial).model(state.point)

    def at(self, point, state, task):
        space, symbols = space_of(task.data.alphabet, state.initial), scored_symbols(task.data, task.burn_in)
        found = space.evaluate(point, task.data, task.burn_in, task.threads)
        return replace(
            state,
            point=point,
            gradient=tuple(part / symbols for part in found.gradient),
            objective=mean_log_likelihood(found.log_likelihood, task.data, task.burn_in)[0],
            n_zero=found.n_zero,
            passes=state.passes + 1,
            feasibility=max(map(feasibility_error, point)),
        )


# %%
# That is all, and it is a learner like the others. Here is what it gets for nothing: the model that
# scores best on validation data is kept, the best of three restarts is returned, every iteration is
# recorded. `Polar`, the default of this library, starts from the same three models: once as it is,
# and once without its first passes over small batches, so that both climb in full passes only.
from hqmm import HQMMEstimator, Polar, fit
from hqmm.datasets import hmm_6_6
from hqmm.learning import random_hqmm

data = hmm_6_6().sample(60, 300, random_state=0)
train, validation = data[:45], data[45:]
start = random_hqmm(3, train.alphabet, kraus_rank=2)
learners = {"Ascent": Ascent(), "Polar": Polar(), "Polar, full passes": Polar(sweeps=0)}
settings = {"validation": validation, "n_init": 3, "random_state": 0}
fits = {name: fit(learner, start, train, **settings) for name, learner in learners.items()}
{name: (found.reason, round(found.score, 4)) for name, found in fits.items()}

# %%
# All three arrive at nearly the same likelihood, on data that they learned from and on data that
# they did not. But ascent reads the data more than six times as often. A step that it takes back
# costs a pass like any other, which is why the learner counts those, too.
import matplotlib.pyplot as plt

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axes, column in zip(panels, ("train", "validation"), strict=True):
    for (name, found), colour in zip(fits.items(), ("tab:orange", "tab:blue", "tab:cyan"), strict=True):
        for one in found.restarts:
            label = name if one is found.restarts[0] else None
            axes.plot(one.history["passes"], one.history[column], color=colour, alpha=0.8, label=label)
    axes.set(xscale="log", xlabel="passes over the data", title=column)
panels[0].set(ylabel="log-likelihood per symbol")
panels[0].legend(frameon=False, loc="lower right")
plt.show()

# %%
# Checkpoints work too, because a state holds nothing but arrays and numbers. A fit that was cut off
# after 20 iterations goes on, and ends at the same model, bit for bit.
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "ascent.checkpoint"
    cut = fit(Ascent(), start, train, max_iter=20, checkpoint=file, random_state=0)
    resumed = fit(Ascent(), start, train, max_iter=60, checkpoint=file, random_state=0)
whole = fit(Ascent(), start, train, max_iter=60, random_state=0)
cut.n_iter, resumed.n_iter, resumed.model == whole.model

# %%
# And so do estimators, and with them scikit-learn's searches and cross-validation.
estimator = HQMMEstimator(2, kraus_rank=2, learner=Ascent(tol=1e-5), random_state=0).fit(train)
estimator.model_, estimator.n_iter_, round(estimator.score(validation), 4)
