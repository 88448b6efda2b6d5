"""
Many machines
=============

Spread the data over the workers of a Dask cluster, lose one of them, and get the same model.

Every worker keeps its part of the sequences. In each step the model goes out to all workers, a few
kilobytes, and each sends back the gradient of its part. Sequences do not travel again.
"""

# %%
# Dask knows how to start workers over SSH, on Kubernetes or with SLURM; all that follows needs its
# ``Client``. The cluster on this page is only a model of one: two workers, which are threads of
# this very program, and therefore not faster than one. With ``processes=True``, workers are
# processes, and a script must then keep everything under ``if __name__ == "__main__":``. The last
# three options only keep it quiet: no dashboard, no messages.
import logging

import numpy as np
from distributed import Client, LocalCluster

cluster = LocalCluster(
    n_workers=2,
    threads_per_worker=1,
    processes=False,
    dashboard_address=None,
    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    silence_logs=logging.CRITICAL,
)
client = Client(cluster, set_as_default=False)

# %%
# A `ClusterEngine` computes likelihoods and gradients there. It cuts the sequences into twelve
# shards and gives half of them to each worker. (From a `ParquetCorpus`, which stands for files,
# workers read their shards themselves.)
from hqmm.datasets import hmm_6_6
from hqmm.engine.cluster import ClusterEngine

data = hmm_6_6().sample(2000, 100, random_state=0)
engine = ClusterEngine(data, client, n_shards=12)

# %%
# A learner on top of it is a short loop. This one is the polar fixed point, that of `Polar`, in its
# simplest form. The gradient of the model's linear operators is pulled back to its Kraus operators,
# which are stacked into one matrix κ. The polar factor of the result says where to go, and κ moves
# half of the way.
from hqmm.engine.kraus import pull_back
from hqmm.learning import random_hqmm
from hqmm.learning.polar import towards

start = random_hqmm(3, data.alphabet, kraus_rank=2)(np.random.default_rng(0))


def climb(model, gradient, after_each=lambda number: None, passes=30):
    scores = []
    for number in range(passes):
        found = gradient(model.linear)
        scores.append(found.total / data.n_symbols)
        uphill = pull_back(model.kraus, found.operators)
        (kappa,) = towards((model.kraus.reshape(1, -1, 3),), (uphill.reshape(1, -1, 3),), 0.5)
        model = model.replace(kraus=kappa.reshape(model.kraus.shape))
        after_each(number)
    return model, np.array(scores)


# %%
# During the fit things happen. After 10 passes a worker is taken away; its shards are sent to the
# one that is left. After 20 passes another one comes, and takes over half of them. After each pass
# all workers are asked what they hold.
shares = []


def shards_held(dask_worker):
    return sum(len(actor.held) for actor in dask_worker.state.actors.values())


def incidents(number):
    shares.append(client.run(shards_held))
    if number == 9:
        cluster.scale(1)
    if number == 19:
        cluster.scale(2)
        client.wait_for_workers(2)


model, scores = climb(start, engine.gradient, incidents)
[list(shares[number].values()) for number in (9, 10, 20)]

# %%
# The same on one machine, without Dask. Cut into the same shards, the result is the same, bit for
# bit: sums are made in the order of the shards, no matter who computed them, and when. Not cut into
# shards, numbers are added in another order, and the last digit or so changes.
from hqmm.engine import corpus
from hqmm.engine import gradient as gradient_of
from hqmm.engine.corpus import InMemory

shards = InMemory(data, n_shards=12)
alone, scores_alone = climb(start, lambda form: corpus.gradient(form, shards))
uncut, scores_uncut = climb(start, lambda form: gradient_of(form, data))
print("the same model as in twelve shards here:", model == alone)
print("largest difference to a single piece:", np.abs(scores - scores_uncut).max())

# %%
# This is what it looked like. Nothing in the upper picture tells that a worker was gone.
import matplotlib.pyplot as plt

figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True, height_ratios=(3, 2))
passes = np.arange(1, len(scores) + 1)
top.plot(passes, scores_alone, color="tab:orange", linewidth=5, alpha=0.5, label="one machine")
top.plot(passes, scores, ".-", color="tab:blue", label="cluster")
top.set(ylabel="log-likelihood per symbol", title="The likelihood")
top.legend(frameon=False, loc="lower right")
workers = list(dict.fromkeys(address for share in shares for address in share))
below = np.zeros(len(shares))
for number, address in enumerate(workers):
    held = np.array([share.get(address, 0) for share in shares])
    bottom.bar(passes, held, bottom=below, width=0.9, label=f"worker {number + 1}")
    below += held
bottom.set(xlabel="pass", ylabel="shards", yticks=(0, 6, 12), title="Who held how many shards")
bottom.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# A worker that dies in the middle of a pass is no different: what it still owed is done again by
# the others, in the same pass. When the workers of four attempts in a row die, or none is there for
# a minute, the engine gives up with a ``WorkersLostError``; ``retries`` and ``timeout`` set both.
#
# In the end the engine frees the memory of the workers, and the cluster is closed.
engine.close()
client.close()
cluster.close()
