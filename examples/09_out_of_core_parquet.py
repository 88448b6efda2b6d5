"""
Data that do not fit in memory
==============================

Learn from Parquet files of any size, one piece at a time.

Parquet is a file format for tables. Here one row of a table is one sequence, and only a small part of
the files is in memory at any time.
"""

# %%
# First the files: ten of them, with a thousand sequences each. (This page keeps the sequences, too,
# to compare with later.) Symbols take one byte in memory, so that a billion of them need a
# gigabyte. Below that there is no need for what follows.
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hqmm import Sequences
from hqmm.datasets import hmm_6_6

truth = hmm_6_6()
folder = tempfile.TemporaryDirectory()
parts = [truth.sample(1000, 100, random_state=seed) for seed in range(10)]
for number, part in enumerate(parts):
    rows = pa.ListArray.from_arrays(part.offsets.astype(np.int32), part.codes)
    pq.write_table(pa.table({"sequence": rows}), Path(folder.name) / f"part-{number}.parquet", row_group_size=250)

# %%
# A `ParquetCorpus` reads the files once, to check every row and to decide where to cut them into
# shards: pieces of about so many symbols. Afterwards it knows where shards begin, and holds no
# sequences. The files are divided in their own way, into row groups; shards do not depend on that.
from hqmm.engine.parquet import ParquetCorpus

files = sorted(Path(folder.name).glob("*.parquet"))
corpus = ParquetCorpus(files, "sequence", truth.alphabet, shard_symbols=2**17)
print(corpus)
print("shards begin at sequences", corpus.bounds[:-1])
print("row groups in the first file:", pq.read_metadata(files[0]).num_row_groups)

# %%
# **Many passes.** Estimators and `fit` want their data in memory. What works shard by shard are the
# likelihood and its gradient, and no more is needed: on top of them, a learner is a short loop.
# Here it is the polar fixed point, that of `Polar`. The gradient with respect to the linear
# operators of the model is pulled back to its Kraus operators, which are stacked into one matrix κ.
# The polar factor of the result says where to go, and κ moves half of the way.
from hqmm.engine.corpus import gradient
from hqmm.engine.kraus import pull_back
from hqmm.learning import random_hqmm
from hqmm.learning.polar import towards

start = random_hqmm(3, truth.alphabet, kraus_rank=2)(np.random.default_rng(0))


def climb(model, source, passes):
    scores = []
    for _ in range(passes):
        found = gradient(model.linear, source)
        scores.append(found.total / source.n_symbols)
        uphill = pull_back(model.kraus, found.operators)
        (kappa,) = towards((model.kraus.reshape(1, -1, 3),), (uphill.reshape(1, -1, 3),), 0.5)
        model = model.replace(kraus=kappa.reshape(model.kraus.shape))
    return model, np.array(scores)


streamed, scores = climb(start, corpus, passes=20)

# %%
# Now with everything in memory, by the same loop and by `fit`, where `Polar` has to do without its
# momentum and without its first passes over small batches. The loop ends at the same model, bit for
# bit: what is in memory is cut into the same shards. `fit` adds up in another order, which changes
# the last digit or so.
from hqmm import Polar, fit

data = Sequences.concatenate(parts)
in_memory, _ = climb(start, data, passes=20)
plain = Polar(sweeps=0, momentum=0, learn_initial=False, max_iter=20)
fitted = fit(plain, start, data)
print("the same model:", streamed == in_memory)
print("largest difference to fit:", np.abs(fitted.history["train"][:20] - scores).max())

# %%
# **One pass.** An estimator can also learn from sequences that it sees only once. ``partial_fit``
# takes a shard and makes a step for every five sequences. ``history_`` says how well it foresaw
# each five, before it learned from them. Three shards of the eight, seen once, take it further than
# the simple loop gets in twenty passes over all of them: small steps are many steps.
from hqmm import HQMMEstimator

stream = HQMMEstimator(3, kraus_rank=2, alphabet=truth.alphabet, random_state=0)
for shard in corpus.shards(range(3)):
    stream.partial_fit(shard)
foreseen = stream.history_["train"]
print(f"{len(foreseen)} steps; mean of the last 200: {foreseen[-200:].mean():.3f}")

# %%
# How much memory does a pass take? That depends on the size of the shards, which you choose, and
# not on the number of files. (Measured is what Python and NumPy ask for; Arrow, which reads the
# files, tells separately what it took at most.)
import tracemalloc


def peak(files, shard_symbols):
    corpus = ParquetCorpus(files, "sequence", truth.alphabet, shard_symbols=shard_symbols)
    tracemalloc.start()
    gradient(start.linear, corpus)
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return megabytes


sizes = [2**14, 2**15, 2**16, 2**17]
peaks = {count: [peak(files[:count], size) for size in sizes] for count in (5, 10)}
print(f"Arrow: {pa.default_memory_pool().max_memory() / 1e6:.1f} MB")

# %%
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(fitted.history["train"][:20], color="tab:orange", linewidth=4, alpha=0.5, label="fit, in memory")
left.plot(scores, ".", color="tab:blue", label="20 passes over files")
left.axhline(foreseen[-200:].mean(), color="grey", linestyle=":", label="partial_fit, 3 of 8 shards")
left.set(
    title="The same likelihood",
    xlabel="passes over the data",
    ylabel="log-likelihood per symbol",
    xticks=range(0, 20, 5),
)
left.legend(frameon=False, loc="lower right")
for (count, values), marker in zip(peaks.items(), "ox", strict=True):
    right.plot(sizes, values, marker + "-", markersize=8, label=f"{count} files")
right.set_xscale("log", base=2)
right.set(title="Memory of a pass", xlabel="symbols in a shard", ylabel="peak, MB", ylim=(0, None))
right.legend(frameon=False)
plt.show()
folder.cleanup()
