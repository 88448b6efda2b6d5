"""
Classifying DNA, and why position matters
=========================================

A model for each class tells sequences apart. Whether it does so well depends on what the symbols
say.

A gene is cut up: *exons* are kept, the *introns* between them are thrown away. Where an exon ends
and an intron begins, biologists speak of a donor (class EI here), where the intron ends of an
acceptor (IE). We look at 60 bases, with the border in the middle, or with no border at all (N). The
real data set of this kind has to be downloaded; ours is made up, in its likeness.
"""

# %%
# Within exons and introns, each base depends a little on the one before (rows: the base before,
# A, C, G or T; columns: the next, in percent). Around a border the bases depend on their place:
# an intron begins with GT and ends with AG, and before that AG there are many C and T.
import matplotlib.pyplot as plt
import numpy as np

from hqmm import HQMMEstimator, MarkovChainEstimator, SequenceClassifier
from hqmm.plots import ConfusionDisplay

exon = np.array([[26, 22, 32, 20], [30, 28, 12, 30], [26, 26, 28, 20], [14, 28, 34, 24]])
intron = np.array([[32, 16, 24, 28], [32, 26, 6, 36], [26, 20, 26, 28], [22, 22, 24, 32]])
before_donor = [[34, 36, 18, 12], [60, 13, 13, 14], [9, 4, 79, 8]]
after_donor = [[0, 0, 100, 0], [0, 0, 0, 100], [55, 3, 39, 3], [70, 8, 13, 9], [8, 5, 81, 6]]
many_c_and_t = [[10, 34, 8, 48]] * 15 + [[24, 28, 22, 26]]
acceptor = [[5, 68, 1, 26], [100, 0, 0, 0], [0, 0, 100, 0], [25, 15, 50, 10]]

LENGTH, BORDER = 60, 30  # the border is before base 30
halves = {"EI": (exon, intron), "IE": (intron, exon)}
sites = {
    "EI": dict(enumerate(before_donor + after_donor, BORDER - 3)),
    "IE": dict(enumerate(many_c_and_t + acceptor, BORDER - 19)),
    "N": {},
}


def windows(label, count, generator):
    """Draw windows of a class, one per row, as numbers: A is 0, C is 1, G is 2, T is 3."""
    table = np.empty((count, LENGTH), dtype=int)
    base = generator.integers(4, size=count)
    in_exon = generator.random(count) < 0.5  # where there is no border
    for place in range(LENGTH):
        if label in halves:
            chances = halves[label][place >= BORDER][base]
        else:
            chances = np.where(in_exon[:, None], exon[base], intron[base])
        chances = np.broadcast_to(sites[label].get(place, chances), (count, 4))
        base = (100 * generator.random((count, 1)) >= chances.cumsum(axis=1)).sum(axis=1)
        table[:, place] = base
    return table


def draw(count, seed):
    generator = np.random.default_rng(seed)
    table = np.concatenate([windows(label, count, generator) for label in sites])
    return table, np.repeat(list(sites), count)


train, train_labels = draw(300, seed=0)
test, test_labels = draw(300, seed=1)
for label in sites:
    letters = "".join("ACGT"[base] for base in test[test_labels == label][0])
    print(f"{label:>2}", letters[:BORDER], letters[BORDER:])

# %%
# How often each base stands at each place, in what we learn from. Far from the border there is
# almost nothing to see.
figure, panels = plt.subplots(3, 1, figsize=(9, 4.6), layout="constrained", sharex=True, sharey=True)
for axes, label in zip(panels, sites, strict=True):
    shares = np.eye(4)[train[train_labels == label]].mean(axis=0)
    for base, name in enumerate("ACGT"):
        axes.plot(shares[:, base], label=name, drawstyle="steps-mid", color=f"C{base}")
    axes.axvline(BORDER - 0.5, color="grey", linestyle=":")
    axes.set(ylabel=label, ylim=(0, 1.05), yticks=(0, 0.5, 1))
panels[0].set_title("Share of each base")
panels[0].legend(frameon=False, ncols=4, loc="upper left")
panels[2].set_xlabel("place in the window")
plt.show()

# %%
# **First attempt: the windows as they are.** A ``SequenceClassifier`` learns one model for each
# class and asks which of them makes a window most likely. We let it learn HQMMs of four
# dimensions, and n-grams that look back three bases.
guesses = {}


def classify(name, estimator, view=lambda table: table):
    """Learn, and guess the classes of the test windows; ``view`` is what the models get to see."""
    classifier = SequenceClassifier(estimator, random_state=0).fit(view(train), train_labels)
    guesses[name] = classifier.predict(view(test))


def errors():
    return {name: round(float((guess != test_labels).mean()), 3) for name, guess in guesses.items()}


classify("n-gram", MarkovChainEstimator(order=3))
classify("HQMM", HQMMEstimator(n_states=4, kraus_rank=2, tol=1e-4))
errors()

# %%
# The HQMM is a little ahead of the n-gram. Guessing would err in two of three, so both have found
# something, but not much. A *position-weight matrix* has no memory at all: it counts how often
# each base stands at each place, and multiplies. A few lines of NumPy are enough.
columns = []
for label in sites:
    counts = np.eye(4)[train[train_labels == label]].sum(axis=0) + 0.5
    chances = counts / counts.sum(axis=1, keepdims=True)
    columns.append(np.log(chances)[np.arange(LENGTH), test].sum(axis=1))
guesses["position weights"] = np.array(list(sites))[np.argmax(columns, axis=0)]
errors()

# %%
# The simplest method wins by far. The reason is not what it remembers but what it *knows*: the
# place. HMMs, HQMMs and n-grams apply the same rule at every place. That a window has a GT
# somewhere says little, since nearly all windows have one by chance; that it has a GT right
# behind the thirtieth base says much. A model of this kind could only know by counting to thirty
# in its state, and a state of four dimensions is too small for that.
#
# It is the same with real genes. On the 3175 windows of the splice-junction data, order-3 n-grams
# err in 36 of 100, and a position-weight matrix in 4.6.
#
# **Second attempt: cut the windows.** The three bases before the border and the six behind it.
# The models learn their initial state, too, so that they know where a window begins; and to count
# to nine is not as hard.
near = slice(BORDER - 3, BORDER + 6)
classify("n-gram, cut", MarkovChainEstimator(order=3), lambda table: table[:, near])
classify("HQMM, cut", HQMMEstimator(n_states=4, kraus_rank=2, tol=1e-4), lambda table: table[:, near])
errors()

# %%
# **Third attempt: say where.** Make a symbol of a base *and* the region it stands in. Nine
# regions: far before the border, where C and T are many, the last three bases one by one, the
# first two one by one, the four that follow, and far behind. Four bases times nine regions are 36
# symbols, all of 60 places are kept, and the models may be small: an HQMM of two dimensions, and
# an n-gram that looks back one symbol.
region = np.searchsorted([11, 27, 28, 29, 30, 31, 32, 36], np.arange(LENGTH), side="right")
classify("n-gram, regions", MarkovChainEstimator(order=1, alphabet=36), lambda table: 4 * region + table)
classify("HQMM, regions", HQMMEstimator(n_states=2, alphabet=36), lambda table: 4 * region + table)
errors()

# %%
# What is confused with what? Without places, every class with every other, and N most often. With
# regions, hardly anything.
figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", width_ratios=(1.25, 1, 1))
colours = {"n-gram": "tab:grey", "HQMM": "tab:blue", "position weights": "tab:orange"}
bars = panels[0].barh(
    list(guesses), list(errors().values()), color=[colours[name.split(",")[0]] for name in guesses]
)
panels[0].bar_label(bars, fmt="%.3f", padding=3)
panels[0].invert_yaxis()
panels[0].set(title="Share of errors", xlim=(0, 0.5))
for axes, name in zip(panels[1:], ("HQMM", "HQMM, regions"), strict=True):
    ConfusionDisplay.from_predictions(test_labels, guesses[name], ax=axes)
    axes.set_title(f"{name}: {axes.get_title()}")
plt.show()

# %%
# The lesson is not about quantum models. As soon as the symbols say where they stand, the HQMM,
# the n-gram and the position weights do about equally well, and the position weights are the
# simplest. What a model should know and cannot find out by itself, write into the symbols. An
# HQMM pays where something has to be *remembered*; here there was little to remember, and much to
# know.
