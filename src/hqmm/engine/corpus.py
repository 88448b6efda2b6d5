"""A corpus in shards: cut at fixed places, worked on one after the other, added up in the order of the shards.

The cuts depend on the data alone, and so do the sums: one pass in constant memory, one worker and many workers
give the same result bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from hqmm import engine
from hqmm._typing import FloatArray, IntArray
from hqmm.engine import Gradient
from hqmm.errors import DataError, NegativeProbabilityError
from hqmm.linear import LinearForm
from hqmm.sequences import Sequences

# Large enough for matrix products over many sequences, small enough to spread over many workers.
_SMALLEST_SHARD = 2**19
# Every shard sends a gradient home in each step.
_MOST_SHARDS = 512


class Corpus(Protocol):
    """What can be worked on shard by shard: shard k holds the sequences ``bounds[k]`` … ``bounds[k + 1]`` − 1."""

    @property
    def bounds(self) -> IntArray:
        """Number of the sequence each shard starts at, and the number of sequences."""

    def shards(self, numbers: Iterable[int]) -> Iterable[Sequences]:
        """Return the shards of these ascending numbers; it travels by pickle, and reads when iterated."""


Source: TypeAlias = Sequences | Corpus


class InMemory:
    """Sequences in memory as a corpus.

    Parameters
    ----------
    sequences : Sequences
    n_shards : int, optional
        About how many shards to cut; by default as many as have 524,288 symbols, and at most 512.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.engine.corpus import InMemory
    >>> corpus = InMemory(Sequences(["abba", "ab", "ba"]), n_shards=2)
    >>> corpus.bounds
    array([0, 1, 3])
    """

    def __init__(self, sequences: Sequences, n_shards: int | None = None) -> None:
        if n_shards is not None and n_shards < 1:
            raise DataError(f"n_shards must be at least 1, not {n_shards}")
        engine.refuse_raw(sequences)
        least = _SMALLEST_SHARD if n_shards is None else 1
        size = max(least, -(-sequences.n_symbols // (n_shards or _MOST_SHARDS)))
        self.sequences = sequences
        self.bounds = np.unique(np.concatenate([[0], cuts(sequences.offsets, size), [len(sequences)]]))

    def shards(self, numbers: Iterable[int]) -> list[Sequences]:
        """Return the shards of these numbers."""
        return [self.sequences[self.bounds[k] : self.bounds[k + 1]] for k in numbers]


def as_corpus(source: Source) -> Corpus:
    """Return the source itself where it comes in shards already.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.engine.corpus import as_corpus
    >>> as_corpus(Sequences(["ab", "ba"])).bounds
    array([0, 2])
    """
    if isinstance(source, Sequences):
        return InMemory(source)
    if not is_corpus(source):
        engine.refuse_raw(source)
    return source


def is_corpus(source: Any) -> bool:
    """Return whether data come in shards, as those of `hqmm.engine.parquet.ParquetCorpus` do.

    Examples
    --------
    >>> from hqmm import Sequences
    >>> from hqmm.engine.corpus import InMemory, is_corpus
    >>> is_corpus(InMemory(Sequences(["ab"]))), is_corpus(Sequences(["ab"]))
    (True, False)
    """
    return hasattr(source, "shards") and hasattr(source, "bounds")


def cuts(ends: IntArray, size: int) -> IntArray:
    """Return after how many sequences to cut so that shards hold about ``size`` symbols.

    ``ends`` counts the symbols of the first 0, 1, 2, … sequences; a cut follows the sequence that reaches a
    multiple of ``size``.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.engine.corpus import cuts
    >>> cuts(np.array([0, 3, 6, 9, 12]), size=5)
    array([2, 4])
    """
    cut: IntArray = np.flatnonzero(np.diff(ends // size)) + 1
    return cut


def log_likelihood(
    form: LinearForm,
    source: Source,
    *,
    burn_in: int = 0,
    threads: int | None = None,
    method: str | None = None,
    dtype: Any = np.float64,
) -> FloatArray:
    """Return the log-likelihood of every sequence of a corpus, holding one shard in memory at a time.

    Parameters are those of `hqmm.engine.log_likelihood`; the source is `Sequences` or a
    `~hqmm.engine.parquet.ParquetCorpus`. The result takes 8 bytes a sequence.

    Examples
    --------
    >>> from hqmm import HMM, Sequences
    >>> from hqmm.engine import corpus
    >>> coin = HMM([[1.0]], [[0.5], [0.5]])
    >>> corpus.log_likelihood(coin.linear, Sequences([[0, 1], [1, 1, 0]]))
    array([-1.38629436, -2.07944154])
    """
    options = {"burn_in": burn_in, "threads": threads, "method": method, "dtype": dtype}
    return np.concatenate([np.zeros(0), *_stream("log_likelihood", form, as_corpus(source), options)])


def gradient(
    form: LinearForm,
    source: Source,
    *,
    burn_in: int = 0,
    burn_in_gradient: bool = False,
    threads: int | None = None,
    method: str | None = None,
    dtype: Any = np.float64,
) -> Gradient:
    """Return log-likelihoods and gradient over a corpus, holding one shard in memory at a time.

    Parameters are those of `hqmm.engine.gradient`; the source is `Sequences` or a
    `~hqmm.engine.parquet.ParquetCorpus`.

    Examples
    --------
    >>> from hqmm import HMM, Sequences
    >>> from hqmm.engine import corpus
    >>> coin = HMM([[1.0]], [[0.5], [0.5]])
    >>> corpus.gradient(coin.linear, Sequences([[0, 1], [1, 1, 0]])).operators.ravel()
    array([4., 6.])
    """
    options = {
        "burn_in": burn_in,
        "burn_in_gradient": burn_in_gradient,
        "threads": threads,
        "method": method,
        "dtype": dtype,
    }
    return add_up(_stream("gradient", form, as_corpus(source), options))


def _stream(work: str, form: LinearForm, corpus: Corpus, options: dict[str, Any]) -> Iterator[Any]:
    shards = corpus.shards(range(len(corpus.bounds) - 1))
    for first, shard in zip(corpus.bounds[:-1], shards, strict=True):
        with counting_from(int(first)):
            yield getattr(engine, work)(form, shard, **options)


@contextmanager
def counting_from(first: int) -> Iterator[None]:
    """Let an error inside a shard name the sequence by its number in the corpus.

    Examples
    --------
    >>> from hqmm import NegativeProbabilityError
    >>> from hqmm.engine.corpus import counting_from
    >>> try:
    ...     with counting_from(100):
    ...         raise NegativeProbabilityError(sequence=2, position=0, probability=-0.5)
    ... except NegativeProbabilityError as error:
    ...     error.sequence
    102
    """
    try:
        yield
    except NegativeProbabilityError as error:
        raise NegativeProbabilityError(first + error.sequence, error.position, error.probability) from error
    except DataError as error:
        if error.sequence is None:
            raise
        message = str(error).partition(": ")[2]
        raise DataError(message, first + error.sequence, error.position) from error


def add_up(parts: Iterable[Gradient]) -> Gradient:
    """Return the gradient of a corpus from those of its shards, added in their order.

    Examples
    --------
    >>> from hqmm import HMM, Sequences
    >>> from hqmm.engine import gradient
    >>> from hqmm.engine.corpus import add_up
    >>> coin = HMM([[1.0]], [[0.5], [0.5]]).linear
    >>> add_up(gradient(coin, Sequences([shard])) for shard in ([0, 1], [1, 1])).log_likelihood
    array([-1.38629436, -1.38629436])
    """
    values, total = [], None
    for part in parts:
        values.append(part.log_likelihood)
        total = part if total is None else _plus(total, part)
    if total is None:
        raise DataError("there are no sequences")
    return replace(total, log_likelihood=np.concatenate(values))


def _plus(left: Gradient, right: Gradient) -> Gradient:
    sums = {
        field.name: getattr(left, field.name) + getattr(right, field.name)
        for field in fields(left)
        if field.name != "log_likelihood"
    }
    return replace(left, **sums)
