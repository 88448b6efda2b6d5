"""
How many Kraus operators?
=========================

An HQMM has two sizes: the dimension n of its state, and the Kraus rank w. The second is less well
known, and easier to choose.

When a symbol is seen, Kraus operators move the state. One operator for each symbol means that the
symbol says all that happened. With w operators, one of w things happened, and nobody saw which: the
state becomes a mixture. How many does one need?
"""

# %%
# The data come from the hidden Markov model with six states and six symbols. We learn HQMMs of
# all sizes, from two random starts each, and keep what does best on the validation data.
import matplotlib.pyplot as plt
import numpy as np

from hqmm import HQMM, MarkovChain, Polar, description_accuracy, equivalent, fit
from hqmm.datasets import hmm_6_6
from hqmm.estimators.counting import n_parameters
from hqmm.learning import random_hqmm
from hqmm.plots import ChoiSpectrumDisplay

truth = hmm_6_6()
data = truth.sample(180, 300, random_state=0)
train, validation, test = data[:100], data[100:130], data[130:]
held_out = {"validation": validation, "burn_in": 20, "random_state": 0}


def accuracy(model):
    return description_accuracy(model, test, burn_in=20)


dimensions, ranks = (2, 3, 4), (1, 2, 3, 4, 6)
models = {
    (n, w): fit(Polar(), random_hqmm(n, 6, w), train, n_init=2, patience=15, **held_out).model
    for n in dimensions
    for w in ranks
}

# %%
# **Left**: one operator is too few, two are enough, more hardly change anything. Three dimensions
# with two operators beat four dimensions with one, which only equal a trigram, and they come near
# the truth.
#
# **Right**: a learned model can be asked how many operators it uses. All that the operators of a
# symbol do is in its *Choi matrix*, and the eigenvalues of that are the weights of the operators,
# at their most economical. This model was given six for each symbol. The second weighs a third of
# the first at most, and then the weights fall quickly. The legend counts those above one
# hundredth of the symbol's largest. That they are there does not mean that they are needed, as
# the left picture shows.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for n, marker in zip(dimensions, "osD", strict=True):
    left.plot(ranks, [accuracy(models[n, w]) for w in ranks], marker=marker, label=f"n = {n}")
trigram = MarkovChain.from_sequences(train, order=2)
for name, reference, line in (("truth", truth, "--"), ("trigram", trigram, ":")):
    left.axhline(accuracy(reference), color="grey", linestyle=line, zorder=0)
    left.text(6.1, accuracy(reference) + 2e-4, name, color="grey", ha="right", va="bottom")
left.set(title="On test data", ylabel="description accuracy", ylim=(0.156, 0.184))
left.set_xlabel("Kraus operators for each symbol, w")
left.legend(frameon=False, ncols=3, loc="lower right")
ChoiSpectrumDisplay.from_model(models[3, 6], tol=0.01, ax=right)
right.set(title="What n = 3, w = 6 makes of its operators", ylim=(1e-5, 2))
plt.show()

# %%
# **Too many are not wrong, only redundant.** Kraus operators are not unique. Mix the two
# operators of each symbol into five, by any matrix with orthonormal columns: the numbers are
# others, the model is the same. ``canonical`` finds the fewest that do, and orders them by
# weight.
small = models[3, 2]
mixing = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
mixed = HQMM(np.einsum("vw,ywij->yvij", mixing, small.kraus), small.initial)
mixed, bool(equivalent(mixed, small)), mixed.canonical()

# %%
# More than n² operators are never needed, since the Choi matrix has only n² eigenvalues:
models[2, 6], models[2, 6].canonical()

# %%
# So counting parameters by the size of the arrays is misleading. To the left of each arrow, the
# real dimensions of the manifold that the operators live on; to the right, how many are left when
# all that changes nothing is taken out. AIC and BIC are charged for the latter.
for n in dimensions:
    pairs = [(12 * w * n**2 - n**2, n_parameters(models[n, w], initial="stationary")) for w in ranks]
    written = (f"w = {w}: {own} → {free}" for w, (own, free) in zip(ranks, pairs, strict=True))
    print(f"n = {n}:", *written, sep="  ")

# %%
# **Fewer, afterwards.** ``compress`` makes a model of lower rank out of one of higher rank, as
# near as it can, without data. Down to two operators, little is lost. With one, what was mixed
# becomes pure, and much is lost. Some full passes over the data mend it, and lead about where
# learning with that rank from the start led to.
print("w  compressed  mended  learned")
for w in (3, 2, 1):
    compressed = models[3, 6].compress(w)
    mended = fit(Polar(sweeps=0, max_iter=20), compressed, train, **held_out).model
    print(w, *(f"{accuracy(model):9.3f}" for model in (compressed, mended, models[3, w])))

# %%
# The rule of thumb, then: start with w = 2. It costs little, and learning is easier, too: with
# one operator the likelihood has more and poorer maxima. Go back to one only where a symbol says
# all, as in data from spins that are measured again and again. What else you have, spend on
# dimensions.
#
# The rule is one for small models that are learned. Written down exactly, this truth is an HQMM
# of six dimensions that needs six operators: an HMM never has interference, and forgetting the
# phases takes operators.
truth.to_hqmm().canonical()
