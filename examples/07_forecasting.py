"""
Forecasting several symbols ahead
=================================

How far can a model see? Each forecast ends in the same place, the long-run shares of the symbols.
Models differ in how they get there.

The data are those of the probability clock: symbol 0 is a tick, symbol 1 a reset, and the chance of
a reset goes up and down with the time since the last one.
"""

# %%
# We learn an HQMM of two dimensions, hidden Markov models of two and six states, and n-grams that
# look back two and four symbols.
import matplotlib.pyplot as plt
import numpy as np

from hqmm import HMMEstimator, HQMMEstimator, MarkovChainEstimator
from hqmm.datasets import probability_clock

clock = probability_clock()
train = clock.sample(40, 1000, random_state=0)
estimators = {
    "HQMM, n = 2": HQMMEstimator(n_states=2, n_init=3, random_state=0),
    "HMM, 2 states": HMMEstimator(n_states=2, n_init=3, tol=1e-5, random_state=0),
    "HMM, 6 states": HMMEstimator(n_states=6, n_init=3, tol=1e-5, random_state=0),
    "trigram": MarkovChainEstimator(order=2),
    "5-gram": MarkovChainEstimator(order=4),
}
for estimator in estimators.values():
    estimator.fit(train)

# %%
# ``forecast`` returns one distribution for each step ahead. None of them says what happens in
# between: the steps in between are summed over. Here are the chances of a tick (left) and a reset
# (right) in the next steps after a reset and two ticks.
past, horizon = [1, 0, 0], 16
clock.forecast(past, horizon=4).round(3)

# %%
# How good are such forecasts? We know the truth, so we can say how many bits a forecast is
# expected to save, compared with always forecasting the long-run shares: Σ p log₂(q / long-run
# share), with the true chances p and those q that are forecast, averaged over 500 pasts.
steps = np.arange(1, horizon + 1)
pasts = clock.sample(500, 30, random_state=1)
true = np.array([clock.forecast(one, horizon) for one in pasts])
shares = clock.forecast(past, 200)[-1]


def saved(forecast):
    return (true * np.log2(forecast / shares)).sum(axis=2).mean(axis=0)


savings = {"the clock itself": saved(true)}
savings |= {name: saved(estimator.forecast(pasts, horizon)) for name, estimator in estimators.items()}
print("step ahead       ", *(f"{step:7}" for step in steps[:6]))
for name, bits in savings.items():
    print(f"{name:17}", *(f"{value:7.4f}" for value in bits[:6]))

# %%
# **Left**: the forecast after a reset and two ticks. The clock's goes up, down and up again; the
# HQMM that was learned lies on top of it. The HMM with two states, and the trigram likewise, just
# slide towards the long-run share. The HMM with six states and the 5-gram swing along, not quite
# as far: simple counting of five symbols at a time does nearly as well as the rest.
#
# **Right**: what that is worth. After six steps next to nothing is left for anybody, the clock
# itself included: each reset on the way is random, and blurs what comes after. Before that, look
# at the HMM with two states and the trigram three steps ahead. They are *below* zero: it would be
# better to forecast the long-run shares. A model can be of use for the next symbol, and mislead
# for the third.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
colours = dict(zip(savings, ("gold", "tab:blue", "tab:orange", "tab:red", "tab:purple", "tab:green"), strict=True))
markers = dict(zip(savings, ("", "o", "s", "D", "^", "v"), strict=True))
forecasts = {"the clock itself": clock.forecast(past, horizon)}
forecasts |= {name: estimator.forecast([past], horizon)[0] for name, estimator in estimators.items()}
for name, bits in savings.items():
    style = {"color": colours[name], "marker": markers[name], "markersize": 4}
    style |= {"linewidth": 6} if name == "the clock itself" else {}
    left.plot(steps, forecasts[name][:, 1], **style)
    right.plot(steps, bits, label=name, **style)
left.axhline(shares[1], color="grey", linestyle=":", zorder=0)
left.set(title="Forecast after 1, 0, 0", xlabel="steps ahead", ylabel="chance of a reset")
right.axhline(0, color="grey", linestyle=":", zorder=0)
right.set(title="What forecasts are worth", xlabel="steps ahead", ylabel="bits saved", xlim=(0.7, 8.3))
right.legend(frameon=False)
plt.show()

# %%
# How fast a forecast settles, and whether it swings on the way, is decided by one matrix: the sum
# of the operators of all symbols, which moves the state when nobody looks. Its largest eigenvalue
# is 1. The second says which share of the deviation is left after a step; if it is complex, the
# deviation also turns, and we print after how many steps it has gone round.
models = {"the clock itself": clock} | {name: estimator.model_ for name, estimator in estimators.items()}
for name, model in models.items():
    values = np.linalg.eigvals(model.linear.operators.sum(axis=0))
    second = sorted(values, key=abs)[-2]
    turn = f"{2 * np.pi / abs(np.angle(second)):.1f} steps" if abs(second.imag) > 1e-9 else "none"
    print(f"{name:17} left after a step: {abs(second):.2f}   turn: {turn}")

# %%
# **A missing symbol.** If a symbol of the past was not seen, write ``None`` in its place (−1 in
# arrays of numbers). The model then does what it does when it forecasts: it goes on without
# looking. The result is a mixture of what would have been forecast with either symbol there, with
# weights that take into account what came later.
seen = {"1, 0, 0, 0": [1, 0, 0, 0], "1, 0, 1, 0": [1, 0, 1, 0]}
weights = clock.probability(list(seen.values()))
weights /= weights.sum()
gap = clock.forecast([1, 0, None, 0], horizon)
mixture = sum(weight * clock.forecast(one, horizon) for weight, one in zip(weights, seen.values(), strict=True))
weights.round(3), bool(np.allclose(gap, mixture))

# %%
# The swing of the forecast gets smaller: a gap costs knowledge, but not all of it.
figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, one in seen.items():
    axes.plot(steps, clock.forecast(one, horizon)[:, 1], "o--", markersize=3, label=f"after {name}")
axes.plot(steps, gap[:, 1], "o-", color="black", markersize=4, label="after 1, 0, ?, 0")
axes.axhline(shares[1], color="grey", linestyle=":", zorder=0)
axes.set(title="Forecast with a missing symbol", xlabel="steps ahead", ylabel="chance of a reset")
axes.legend(frameon=False)
plt.show()

# %%
# The state says the same. Without gaps the clock's density matrix is pure: tr ρ² = 1, all that
# can be known is known. After the gap it is a mixture of two states, and tr ρ² is smaller.
for one in ([1, 0, 0, 0], [1, 0, None, 0], [None]):
    state = clock.to_hqmm().filter(one)[-1]
    print(one, round(float(np.trace(state @ state).real), 3))
