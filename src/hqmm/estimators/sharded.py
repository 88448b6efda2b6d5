"""Learning from a corpus in shards: one of them in memory at a time, or all in the memory of Dask workers.

A learner is given a stand-in for the sequences, which has their lengths and weights, and asks for the likelihood
and the gradient of all of them at once. Those are answered from the shards, by the real form of the model.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from hqmm._typing import FloatArray
from hqmm.channels import from_real
from hqmm.engine import Gradient, corpus
from hqmm.engine.blocks import block_linear_form
from hqmm.engine.kraus import KrausGradient, linear_form, pull_back, pull_back_initial
from hqmm.errors import DataError
from hqmm.estimators.streaming import Stream
from hqmm.learning import BaumWelch, Learner, Polar, RiemannianLBFGS
from hqmm.learning.space import BlockSpace, KrausSpace, Point, Space
from hqmm.learning.stiefel_learner import StiefelLearner, StiefelState
from hqmm.learning.task import Task
from hqmm.linear import MISSING, LinearForm
from hqmm.models import Model
from hqmm.readers.parquet import corpus_of
from hqmm.sequences import Sequences

LARGE_FILE = 2**28  # bytes of a Parquet file, beyond which it is read shard by shard


@dataclass(frozen=True)
class Shards:
    """A corpus, who works on it, and what is known of it without reading it again.

    Attributes
    ----------
    source : Corpus
        The corpus.
    workers : ClusterEngine or None
        Who works on it; None is this process.
    threads : int or None
        Threads of this process.
    outline : Sequences
        Lengths and weights of all sequences; every symbol in it is missing.
    digest : str
        Says whether two corpora are the same.
    """

    source: corpus.Corpus
    workers: Any
    threads: int | None
    outline: Sequences
    digest: str

    def log_likelihood(self, form: LinearForm, burn_in: int) -> FloatArray:
        """Return the log-likelihood of every sequence."""
        if self.workers is not None:
            return cast(FloatArray, self.workers.log_likelihood(form, burn_in=burn_in))
        return corpus.log_likelihood(form, self.source, burn_in=burn_in, threads=self.threads)

    def gradient(self, form: LinearForm, burn_in: int = 0, burn_in_gradient: bool = False, **_: Any) -> Gradient:
        """Return log-likelihoods and gradient; how many threads a worker has is its own matter."""
        options: dict[str, Any] = {"burn_in": burn_in, "burn_in_gradient": burn_in_gradient}
        if self.workers is not None:
            return cast(Gradient, self.workers.gradient(form, **options))
        return corpus.gradient(form, self.source, threads=self.threads, **options)

    def all(self) -> Iterator[Sequences]:
        """Yield the shards, one after the other."""
        yield from self.source.shards(range(len(self.source.bounds) - 1))


def corpus_at(X: Any, alphabet: Any, end: bool) -> corpus.Corpus | None:
    """Return a path as a corpus: a Parquet file for the current Dask client, or one too large to be read whole."""
    if not isinstance(X, PathLike) or Path(X).suffix != ".parquet" or not Path(X).is_file():
        return None
    if _current_client() is None and Path(X).stat().st_size < LARGE_FILE:
        return None
    return cast(corpus.Corpus, corpus_of(Path(X), alphabet, end))


@contextmanager
def opened(source: corpus.Corpus, threads: int | None) -> Iterator[Shards]:
    """Yield a corpus to work on: with the workers of the current Dask client, if there is one.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.engine.corpus import InMemory
    >>> from hqmm.estimators.sharded import opened
    >>> with opened(InMemory(Sequences(["abba", "ab"]), n_shards=2), threads=1) as shards:
    ...     shards.outline.lengths
    array([4, 2])
    """
    outline, digest = _outlined(source)
    client = _current_client()
    if client is None:
        yield Shards(source, None, threads, outline, digest)
        return
    from hqmm.engine.cluster import ClusterEngine

    with ClusterEngine(source, client) as workers:
        yield Shards(source, workers, threads, outline, digest)


def on_shards(learner: Learner, begin: Any, shards: Shards, burn_in: int) -> tuple[Learner, Any]:
    """Return a learner that learns from shards, and what it is to start from.

    `Polar` first learns from batches. Those of a corpus are a stream, in the order of its shards.
    """
    kind: type[Learner] = type(learner)
    if kind not in (Polar, RiemannianLBFGS, BaumWelch):
        raise DataError(
            f"{kind.__name__} picks sequences at random, which a corpus in shards does not allow; "
            "use 'polar' or 'lbfgs' (an HMM: 'baum-welch'), or read the data into memory"
        )
    if isinstance(learner, Polar) and learner.sweeps:
        begin, learner = _streamed(learner, begin, shards, burn_in), replace(learner, sweeps=0)
    base = _ShardedEM if kind is BaumWelch else _ShardedStiefel
    sharded = type(kind.__name__, (base, kind), {"shards": shards})
    settings = {field.name: getattr(learner, field.name) for field in fields(cast(Any, learner)) if field.init}
    return sharded(**settings), begin


def _streamed(learner: Polar, begin: Any, shards: Shards, burn_in: int) -> Callable[[np.random.Generator], Model]:
    def start(generator: np.random.Generator) -> Model:
        stream = Stream(learner, begin(generator) if callable(begin) else begin)
        for shard in shards.all():
            stream = stream.continued(shard, burn_in, shards.threads)
        return stream.model

    return start


class _Sharded:
    """A learner whose checkpoints belong to the corpus."""

    shards: Shards

    def identity(self) -> str:
        return f"{super().identity()} {self.shards.digest}"  # type: ignore[misc]


class _ShardedStiefel(_Sharded, StiefelLearner):
    def space(self, state: StiefelState, task: Task) -> Space:
        kind = _ShardedKraus if state.initial.ndim == 2 else _ShardedBlocks
        space = kind(task.data.alphabet, state.initial)
        space.shards = self.shards
        return space


class _ShardedKraus(KrausSpace):
    shards: Shards

    def log_likelihood(self, point: Point, sequences: Sequences, burn_in: int, threads: int | None) -> FloatArray:
        return self.shards.log_likelihood(linear_form(self.kraus(point), self.initial_state(point)), burn_in)

    def _gradient(self, point: Point, sequences: Sequences, **options: Any) -> KrausGradient:
        kraus = self.kraus(point)
        real = self.shards.gradient(linear_form(kraus, self.initial_state(point)), **options)
        initial = pull_back_initial(real.initial)
        return KrausGradient(real.log_likelihood, pull_back(kraus, real.operators), initial, real.n_zero)


class _ShardedBlocks(BlockSpace):
    shards: Shards

    def log_likelihood(self, point: Point, sequences: Sequences, burn_in: int, threads: int | None) -> FloatArray:
        return self.shards.log_likelihood(block_linear_form(self.kraus(point), self.initial_state(point)), burn_in)

    def _gradient(self, point: Point, sequences: Sequences, **options: Any) -> KrausGradient:
        from hqmm.engine.block_kernels import from_real_blocks

        kraus = np.ascontiguousarray(self.kraus(point))
        real = self.shards.gradient(block_linear_form(kraus, self.initial_state(point)), **options)
        pulled = np.zeros_like(kraus)
        from_real_blocks(kraus, real.operators, pulled)
        k, q = kraus.shape[3], kraus.shape[5]
        return KrausGradient(real.log_likelihood, pulled, from_real(real.initial.reshape(k, q * q)), real.n_zero)


class _ShardedEM(_Sharded, BaumWelch):
    def _gradient(self, linear: LinearForm, task: Task) -> Gradient:
        return self.shards.gradient(linear)


def _outlined(source: corpus.Corpus) -> tuple[Sequences, str]:
    """Read all shards once, for their lengths and weights."""
    lengths, weights, digest, alphabet = [], [], hashlib.sha256(), None
    for shard in source.shards(range(len(source.bounds) - 1)):
        lengths.append(shard.lengths)
        weights.append(shard.weights)
        digest.update(np.ascontiguousarray(shard.codes).tobytes())
        alphabet = shard.alphabet
    if alphabet is None:
        raise DataError("there are no sequences")
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    nothing = np.broadcast_to(np.array(MISSING, dtype=alphabet.dtype), (int(offsets[-1]),))  # takes no memory
    return Sequences.from_arrays(nothing, offsets, alphabet, np.concatenate(weights)), digest.hexdigest()


def _current_client() -> Any:
    """Return the Dask client that is there to be used, without importing Dask for it."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:  # there is none
        return None
