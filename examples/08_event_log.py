"""
Anomalies in an event log
=========================

A model of normal sessions finds the strange ones, and says at which event they went wrong.

The log of a web shop is made up here, so that it is known what is normal. There are members and
guests. Both look around, then they check out; guests must give an address. One payment or two may
be declined before one is accepted. Members log out, guests just leave.
"""

# %%
# A session is a list of named events, of any length.
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)


def session(declined=None):
    member = rng.random() < 0.5
    log = ["login" if member else "guest"]
    chances = [0.4, 0.05, 0.35, 0.2] if member else [0.4, 0.35, 0.05, 0.2]
    while "add" not in log or rng.random() < 0.85:
        log.append(str(rng.choice(["view", "search", "offers", "add"], p=chances)))
    log += ["checkout"] if member else ["checkout", "address"]
    declined = rng.choice(3, p=[0.6, 0.25, 0.15]) if declined is None else declined
    log += ["pay", "declined"] * declined + ["pay", "ship"]
    return [*log, "logout"] if member else log


session()

# %%
# Four things go wrong. A paid order is sent once more. An order is shipped that nobody paid.
# Somebody tries one stolen card after the other: five are declined, where a normal session has two
# at the most. And somebody who came as a guest is treated like a member: no address, and a logout.
# The last is the hard one, because every step is a normal step; only the beginning does not go with
# the end.


def replayed_order():
    log = session()
    shipped = log.index("ship")
    return log[: shipped + 1] + log[shipped - 1 :]


def unpaid_order():
    log = session(declined=0)
    log.remove("pay")
    return log


def card_testing():
    return session(declined=5)


def changed_identity():
    while (log := session())[0] != "guest":
        pass
    return [event for event in log if event != "address"] + ["logout"]


train = [session() for _ in range(1000)]
held_out, normal = ([session() for _ in range(1000)] for _ in range(2))
strange = {
    make.__name__.replace("_", " "): [make() for _ in range(200)]
    for make in (replayed_order, unpaid_order, card_testing, changed_identity)
}

# %%
# The models only see normal sessions. ``end=True`` lets them learn when a session is over. What
# never happened in a thousand sessions should be unlikely, not impossible: n-grams are smoothed,
# and the others get a small pseudo-count, ``prior``.
from hqmm import BaumWelch, HMMEstimator, HQMMEstimator, MarkovChainEstimator, Polar

em, polar = BaumWelch(prior=0.01, tol=1e-4), Polar(prior=0.1, tol=1e-4)
models = {
    "3-gram": MarkovChainEstimator(2, end=True),
    "6-gram": MarkovChainEstimator(5, end=True),
    "HMM, 10 states": HMMEstimator(10, learner=em, n_init=5, end=True, random_state=0),
    "HMM, 20 states": HMMEstimator(20, learner=em, n_init=5, end=True, random_state=0),
    "HQMM, n = 7": HQMMEstimator(7, learner=polar, n_init=3, end=True, random_state=0),
    "hybrid, 5 × 2": HQMMEstimator(2, n_blocks=5, learner=polar, n_init=3, end=True, random_state=0),
}
for model in models.values():
    model.fit(train)

# %%
# The score of a session is its log-likelihood for each event, the end included: a long session is
# not strange because it is long. To the HQMM, with one Kraus operator for each symbol, some
# anomalies are impossible all the same; their −∞ is put at the end of the scale.


def score(model, sessions):
    lengths = np.array([len(log) + 1 for log in sessions])
    return np.maximum(model.score_samples(sessions) / lengths, -10)


# %%
# How well does the score tell an anomaly from normal? The area under the ROC curve (AUC) is the
# chance that an anomaly scores lower than a normal session: 1 is perfect, ½ is guessing.
from sklearn.metrics import roc_auc_score


def auc(model, sessions):
    scores = np.concatenate([score(model, normal), score(model, sessions)])
    return roc_auc_score([0] * len(normal) + [1] * len(sessions), -scores)


table = np.array([[auc(model, sessions) for sessions in strange.values()] for model in models.values()])

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
picture = axes.imshow(table, cmap="RdYlBu", vmin=0, vmax=1, aspect="auto")
for row, column in np.ndindex(table.shape):
    value = table[row, column]
    colour = "black" if 0.2 < value < 0.85 else "white"
    axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
axes.set_xticks(range(len(strange)), [kind.replace(" ", "\n") for kind in strange])
axes.set_yticks(range(len(models)), models)
axes.set_title("AUC of each model for each kind of anomaly")
figure.colorbar(picture, ax=axes)
plt.show()

# %%
# All but the smaller HMM see both local errors: two or three events are enough to find them, and a
# 3-gram needs nothing more. The changed identity takes a memory of the beginning, across any number
# of events in between: the larger HMM, the HQMM and the hybrid have it, the n-grams hardly. In
# return only the 6-gram counts the declined cards. To all others that session is *too* normal (far
# below ½), because "declined" after "pay" and "pay" after "declined" are easily foreseen, again and
# again. No model wins everywhere here, and the HMM with 20 states is as good as its quantum
# relatives.
#
# When to raise the alarm? The threshold comes from normal sessions that were held out: that one in
# a hundred of them scores below it says how often it will be wrong. Nobody needs to know any
# anomaly for that. These are the alarms among other sessions:
hybrid, six = models["hybrid, 5 × 2"], models["6-gram"]
threshold = np.quantile(score(hybrid, held_out), 0.01)
alarms = {kind: np.mean(score(hybrid, logs) < threshold) for kind, logs in ({"normal": normal} | strange).items()}
{kind: f"{share:.1%}" for kind, share in alarms.items()}

# %%
# Two models that make different errors may share the work. Each gets half of the false alarms, and
# either may raise one.
lower = {model: np.quantile(score(model, held_out), 0.005) for model in (hybrid, six)}
both = {
    kind: np.mean(np.any([score(model, logs) < low for model, low in lower.items()], axis=0))
    for kind, logs in ({"normal": normal} | strange).items()
}
{kind: f"{share:.1%}" for kind, share in both.items()}

# %%
# Where did it go wrong? How surprised a model is by an event is the log-likelihood up to the event
# before minus the log-likelihood up to the event itself.
from hqmm import Sequences


def surprise(model, log):
    beginnings = Sequences([log[:count] for count in range(1, len(log) + 1)], model.alphabet_)
    return -np.diff(model.score_samples(beginnings), prepend=0)


def typical(log):
    return 10 < len(log) < 15 and "declined" not in log and "search" not in log[-8:]


log = next(filter(typical, strange["changed identity"]))
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
places = np.arange(len(log))
axes.bar(places - 0.2, surprise(six, log), 0.4, color="grey", label="6-gram")
axes.bar(places + 0.2, surprise(hybrid, log), 0.4, color="tab:blue", label="hybrid, 5 × 2")
axes.set_xticks(places, log, rotation=40, ha="right")
axes.set(title="A guest who is treated like a member", ylabel="surprise, −log P")
axes.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The hybrid is surprised by "pay", at the very event where the address is missing, and still by the
# next. After that it takes the guest for a member, and the logout is nothing special any more. The
# 6-gram notices nothing: the last five events do not say who came.
