"""
The probability clock on the Bloch sphere
=========================================

A model with two dimensions whose predictions oscillate for ever. No hidden Markov model with
finitely many states does that.

The clock has two symbols. As long as it says 0 (a tick), its state turns by a fixed amount; when it
says 1, the state is set back to the beginning. How likely a 1 is depends on the angle.
"""

import matplotlib.pyplot as plt
import numpy as np

from hqmm import MarkovChain, description_accuracy
from hqmm.datasets import probability_clock
from hqmm.learning import BaumWelch, fit, random_hmm

clock = probability_clock()
ticks = 40
states = clock.to_hqmm().filter([0] * ticks)  # density matrices

# %%
# A density matrix of two dimensions is a point in a ball, with the coordinates x = 2 Re ρ₀₁, y = 2
# Im ρ₀₁ and z = ρ₀₀ − ρ₁₁. The clock is a norm-observable operator model: real, so that y = 0, and
# pure, so that it stays on the sphere. Its states walk around a great circle, in steps that fit
# into no number of turns.
start = np.array([[1.0, 0.0], [0.0, 0.0]])
walk = np.concatenate([[start], states])
x, y, z = 2 * walk[:, 0, 1].real, 2 * walk[:, 0, 1].imag, (walk[:, 0, 0] - walk[:, 1, 1]).real
reset = clock.predict([0] * ticks, along=True)[:, 1]

# %%
# HMMs are trained on what the clock says; their chance of a reset settles.
data = clock.sample(20, 1000, random_state=0)
hmms = {n: fit(BaumWelch(max_iter=300), random_hmm(n, 2), data, n_init=3, random_state=0).model for n in (2, 6)}

figure = plt.figure(figsize=(10, 4.2), layout="constrained")
ball = figure.add_subplot(1, 2, 1, projection="3d")
u, v = np.mgrid[0 : 2 * np.pi : 25j, 0 : np.pi : 13j]
ball.plot_wireframe(
    np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v), color="grey", alpha=0.2, linewidth=0.6
)
ball.plot(x[:4], y[:4], z[:4], color="tab:orange", alpha=0.6, linewidth=1)
points = ball.scatter(x, y, z, c=reset, cmap="viridis", s=30, depthshade=False)
for t in range(4):
    ball.text(1.15 * x[t], 0, 1.15 * z[t], str(t), ha="center", va="center")
ball.set(box_aspect=(1, 1, 1), title="The state after t ticks")
ball.set_axis_off()
ball.view_init(elev=12, azim=-70)
figure.colorbar(points, ax=ball, label="chance of a reset", shrink=0.7)

axes = figure.add_subplot(1, 2, 2)
axes.plot(reset, "o-", markersize=3, label="the clock")
for n, hmm in hmms.items():
    axes.plot(hmm.predict([0] * ticks, along=True)[:, 1], label=f"HMM, {n} states")
axes.set(title="Chance of a reset", xlabel="ticks since the last reset", ylim=(0, 0.8))
axes.legend(frameon=False, ncols=3, loc="upper center")
plt.show()

# %%
# Why no HMM can: repeat a symbol, and an HMM applies the same matrix without negative entries again
# and again. By Perron and Frobenius its largest eigenvalue is positive, so that the state settles
# (or cycles through a whole number of states). The clock's matrix has complex eigenvalues of the
# same size, whose angle is not a fraction of a turn:
from hqmm.theory import has_oscillating_operator, peripheral_spectrum

(np.angle(peripheral_spectrum(clock, 0)) / (2 * np.pi)).round(4), has_oscillating_operator(clock)

# %%
# How much does it matter? Long runs of ticks are rare, so that a good HMM or a long n-gram comes
# close in likelihood. That the clock is *exactly* out of their reach does not mean that it is far
# out of reach.
test = clock.sample(10, 1000, random_state=1)
models = {"5-gram": MarkovChain.from_sequences(data, order=4)} | {f"HMM, {n} states": m for n, m in hmms.items()}
{name: round(description_accuracy(model, test), 4) for name, model in (models | {"clock": clock}).items()}
