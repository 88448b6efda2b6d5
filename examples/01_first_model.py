"""
A first model
=============

Learn a hidden quantum Markov model from sequences, and see whether it was worth it.

The data come from a hidden Markov model with six states and six symbols, the one of the paper. We
pretend not to know.
"""

# %%
# Forty sequences of 300 symbols to learn from, ten to choose by, ten to report on. Whole sequences
# are held out, not parts of them.
import matplotlib.pyplot as plt

from hqmm import HMMEstimator, HQMMEstimator, MarkovChain, description_accuracy
from hqmm.datasets import hmm_6_6

truth = hmm_6_6()
data = truth.sample(60, 300, random_state=0)
train, validation, test = data[:40], data[40:50], data[50:]

# %%
# An estimator takes the sizes, and the data. Its model is an ordinary immutable value.
quantum = HQMMEstimator(n_states=3, kraus_rank=2, validation=validation, patience=20, random_state=0)
classical = HMMEstimator(n_states=3, validation=validation, patience=20, random_state=0)

# %%
# Both stop when they no longer improve on the validation data, and say so; here that is what we
# want.
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    quantum.fit(train)
    classical.fit(train)
quantum.model_, quantum.result_.reason

# %%
# How good is it? Description accuracy is 1 for certainty and 0 for guessing. The baseline is an
# n-gram, the ceiling is the truth itself.
models = {
    "bigram": MarkovChain.from_sequences(train, order=1),
    "trigram": MarkovChain.from_sequences(train, order=2),
    "HMM, 3 states": classical.model_,
    "HQMM, n = 3, w = 2": quantum.model_,
    "truth": truth,
}
scores = {name: description_accuracy(model, test, burn_in=50) for name, model in models.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(quantum.history_["passes"], quantum.history_["train_da"], label="training")
left.plot(quantum.history_["passes"], quantum.history_["validation_da"], label="validation")
left.axvline(quantum.history_["passes"][quantum.result_.best_iteration], color="grey", linestyle=":", label="kept")
left.set(title="The HQMM learns", xlabel="passes over the data", ylabel="description accuracy")
left.legend(frameon=False)
bars = right.barh(list(scores), list(scores.values()), color=["grey", "grey", "tab:orange", "tab:blue", "grey"])
right.bar_label(bars, fmt="%.3f", padding=3)
right.invert_yaxis()
right.set(title="On test data", xlabel="description accuracy", xlim=(0, 0.22))
plt.show()

# %%
# The three-dimensional quantum model is ahead of the three-state classical one, which does not even
# reach the n-grams. It also has more parameters, and a state of nine numbers instead of three; an
# HMM with more states closes the gap. The fair question, which model is best *at equal cost*, is
# asked in the user guide: :ref:`when-to-use-which`.
#
# What comes next, after a sequence that was never seen?
quantum.predict_next([test[0][:20]]).round(3)
