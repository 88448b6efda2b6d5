"""
What a state is
===============

From a probability vector, over a direct sum of Bloch balls, to one large density matrix.
"""

# %%
# A state is what a model keeps of the past. Three models are run on the same symbols here; each
# picture is the state after the last of them.
import matplotlib.pyplot as plt

from hqmm import BaumWelch, Polar, fit
from hqmm.datasets import hmm_6_6
from hqmm.learning import random_hmm, random_hqmm, random_hybrid

data = hmm_6_6().sample(30, 300, random_state=0)
past = data[0][:12]
hmm = fit(BaumWelch(max_iter=30), random_hmm(5, 6), data, random_state=0).model
hybrid = fit(Polar(max_iter=30), random_hybrid(5, 2, 6), data, random_state=0).model
hqmm = fit(Polar(max_iter=30), random_hqmm(5, 6, kraus_rank=2), data, random_state=0).model

# %%
# Area is weight. **Left**: the probability vector of an HMM with five states, drawn along a
# diagonal: five numbers. **Middle**: a hybrid has a label with a probability, and on each label a
# two-dimensional density matrix, which is a point in a ball; seen from the side, the ball is a
# disc. At the rim the state is pure, at the centre it knows nothing. **Right**: the density matrix
# of an HQMM of dimension five. On its diagonal stand probabilities; every entry off it is
# interference between two basis states.
blue, orange = "tab:blue", "tab:orange"
figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
titles = "HMM: a probability vector", "Hybrid: a direct sum of Bloch balls", "HQMM: one density matrix"
for axes, title in zip(panels, titles, strict=True):
    axes.set(title=title, xlim=(-0.6, 4.6), ylim=(4.6, -0.6), aspect="equal", xticks=range(5), yticks=range(5))
    axes.spines[:].set_color("lightgrey")
left, middle, right = panels


def square(axes, row, column, weight, colour):
    side = 0.95 * weight**0.5
    axes.add_patch(plt.Rectangle((column - side / 2, row - side / 2), side, side, color=colour))


vector = hmm.filter(past)[-1]
for state, probability in enumerate(vector):
    square(left, state, state, probability / vector.max(), blue)

weights = hybrid.label_probabilities(past)[-1]
for label, (weight, rho) in enumerate(zip(weights, hybrid.conditional_states(past)[-1], strict=True)):
    radius = 0.5 * (weight / weights.max()) ** 0.5
    x, z = 2 * rho[0, 1].real, (rho[0, 0] - rho[1, 1]).real
    middle.add_patch(plt.Circle((label, label), radius, facecolor=blue, alpha=0.25))
    middle.plot([label, label + radius * x], [label, label - radius * z], "-", color=orange)
    middle.plot(label + radius * x, label - radius * z, "o", color=orange, markersize=5)

matrix = abs(hqmm.filter(past)[-1])
for row in range(5):
    for column in range(5):
        square(right, row, column, matrix[row, column] / matrix.max(), blue if row == column else orange)
plt.show()

# %%
# How many numbers is that?
{type(model).__name__: model.linear.dimension for model in (hmm, hybrid, hqmm)}
