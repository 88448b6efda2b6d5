"""
Negative probabilities
======================

Spectral learning is fast and knows no local optima. But what it learns may call something less
likely than impossible.

An *observable operator model* (OOM) moves its state by any matrices whatever. It can be had from
counts of short words and one singular value decomposition. With endless data it is right. With a
sample it is only nearly right, and nothing keeps it from falling a little below zero.
"""

# %%
# The truth is the hidden Markov model with six states. Here is an OOM learned from 3000 symbols.
import matplotlib.pyplot as plt

from hqmm import NegativeProbabilityError, Polar, description_accuracy, find_negative_probability, fit
from hqmm.datasets import hmm_6_6
from hqmm.learning import nearest_hqmm, random_hqmm, start_from
from hqmm.learning.spectral import learn_spectral, score_leniently
from hqmm.metrics import accuracies_from

truth = hmm_6_6()
data = truth.sample(600, 500, random_state=0)
test = truth.sample(20, 500, random_state=1)
oom = learn_spectral(data[:6], n_states=6)

# %%
# Is there a sequence with a negative probability? The search goes through all of them, the
# shortest first, and checks what it finds in exact arithmetic.
found = find_negative_probability(oom)
print(found.sequence, found.probability, truth.probability([found.sequence])[0])

# %%
# In truth, that sequence has the probability 0.0003. A tiny wrong number may seem to be no great
# harm. But as sequences go on, the model also gives negative probabilities to symbols that do
# come, and they need not be tiny. Then there is nothing to return but an error, which says where.
try:
    oom.log_likelihood(test)
except NegativeProbabilityError as error:
    print(error)

# %%
# ``score_leniently`` goes on all the same, with a tiny positive number in place of the negative
# one, and counts: *improper* steps, at which some next symbol had a negative probability, and
# among them *negative* ones, at which that very symbol came.
scores = score_leniently(oom, test, on_negative="clip")
scores.n_improper, scores.n_negative, scores.n_symbols

# %%
# More data help. We learn OOMs of four and six dimensions, and beside them HQMMs, whose
# probabilities are traces of positive matrices, and so cannot be negative. An HQMM with n = 2 has
# four numbers in its state, like the smaller OOM; one with n = 3 has nine.
sizes = 2, 6, 20, 60, 200, 600  # sequences of 500 symbols
models = {
    "OOM, 4 dimensions": lambda sample: learn_spectral(sample, 4),
    "OOM, 6 dimensions": lambda sample: learn_spectral(sample, 6),
    "HQMM, n = 2": lambda sample: fit(Polar(tol=1e-5), random_hqmm(2, 6, 2), sample, random_state=0).model,
    "HQMM, n = 3": lambda sample: fit(Polar(tol=1e-5), random_hqmm(3, 6, 2), sample, random_state=0).model,
}
improper, accuracy = {}, {}
for name, learn in models.items():
    results = [score_leniently(learn(data[:size]).to_oom(), test, on_negative="clip") for size in sizes]
    improper[name] = [result.n_improper / result.n_symbols for result in results]
    accuracy[name] = [accuracies_from(result.log_likelihood, test.lengths, 6).mean() for result in results]
    print(f"{name:18}", *(f"{share:7.2%}" for share in improper[name]))

# %%
# **Left**: with six dimensions, as many as the truth has, improper steps die out, but it takes
# some thirty thousand symbols before they are rare. With four, too few, two in a hundred remain
# however much data there are: what four dimensions tend to is itself not a valid model. The HQMMs
# stay at zero.
#
# **Right**: with few data, the HQMMs are far ahead. With many, the OOM of six dimensions reaches
# the truth; the HQMM with two dimensions is too small to, and even the OOM with as many numbers
# in its state is better. Validity has its price, and it is paid in size: with three dimensions,
# and nine numbers, the HQMM comes near the truth, too.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
symbols = [500 * size for size in sizes]
styles = dict(zip(models, ("s--", "s-", "o--", "o-"), strict=True))
for name, style in styles.items():
    colour = "tab:red" if "OOM" in name else "tab:blue"
    left.plot(symbols, improper[name], style, color=colour, label=name, clip_on=False)
    right.plot(symbols, accuracy[name], style, color=colour)
right.axhline(description_accuracy(truth, test), color="grey", linestyle=":", label="truth")
left.set_yscale("symlog", linthresh=1e-3)
left.set(title="Improper steps", ylabel="share of all steps", ylim=(0, 1))
left.set_yticks([0, 1e-3, 1e-2, 1e-1, 1], ["0", "0.1 %", "1 %", "10 %", "100 %"])
left.legend(frameon=False)
right.set(title="On test data (negative ones replaced)", ylabel="description accuracy")
right.legend(frameon=False, loc="lower right")
for axes in (left, right):
    axes.set(xscale="log", xlabel="symbols learned from")
plt.show()

# %%
# That few are met does not mean that there are none. With the OOM learned from 100 000 symbols
# only three of the 10 000 steps were improper; the search finds a sequence all the same.
large = find_negative_probability(learn_spectral(data[:200], 6))
print(large.sequence, large.probability)

# %%
# **The remedy.** What the OOM has learned need not be thrown away. ``nearest_hqmm`` makes a valid
# model of it, and ``start_from`` uses that as the start of an ordinary fit. From 10 000 symbols,
# the nearest HQMM itself loses much:
sample = data[:20]
oom = learn_spectral(sample, 4)
clipped = score_leniently(oom, test, on_negative="clip").log_likelihood
print(f"OOM, negative ones replaced: {accuracies_from(clipped, test.lengths, 6).mean():.3f}")
print(f"nearest HQMM: {description_accuracy(nearest_hqmm(oom, 3, 2, random_state=0), test):.3f}")

# %%
# As a start, it is well ahead of a random one, and after a few passes over the data it has
# overtaken the OOM. In the end both starts lead to much the same: what the OOM saves is passes.
starts = {"random": random_hqmm(3, 6, 2), "from the OOM": start_from(oom, 3, 2)}
fits = {name: fit(Polar(sweeps=0, tol=1e-5), start, sample, random_state=0) for name, start in starts.items()}
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, result in fits.items():
    axes.plot(result.history["train_da"][:41], label=f"HQMM, start {name}")
axes.set(xlabel="passes over the data", ylabel="description accuracy", title="On training data")
axes.legend(frameon=False)
plt.show()
{name: round(description_accuracy(result.model, test), 3) for name, result in fits.items()}
