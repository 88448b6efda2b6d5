"""Likelihood and gradient by any of the real forms: cut into pieces, run, add up in order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from hqmm._typing import AnyArray, FloatArray, IntArray
from hqmm.engine import batched, single
from hqmm.engine.layout import Layout, arrange, tokenise
from hqmm.engine.plan import Plan
from hqmm.engine.single import Letters
from hqmm.engine.threads import in_order
from hqmm.engine.tiles import aligned
from hqmm.engine.words import Operators, Words, letters, operators_of, pull_back, words_of
from hqmm.engine.workspace import borrow
from hqmm.errors import ModelError, NegativeProbabilityError
from hqmm.linear import LinearForm
from hqmm.sequences import Sequences


class Corpus(NamedTuple):
    """All sequences, and what is asked of them."""

    codes: AnyArray
    offsets: IntArray
    weights: FloatArray
    burn_in: int
    whole: bool

    def tokens(self, chosen: IntArray, words: Words) -> tuple[AnyArray, IntArray]:
        """Return the chosen sequences in words, and where each starts."""
        return tokenise(self.codes, self.offsets, chosen, self.burn_in, words.length, words.base, words.token_of)

    def letters(self, chosen: IntArray, words: Words) -> Letters:
        """Return the chosen sequences as form 1 reads them."""
        return Letters(*self.tokens(chosen, words), self.weights[chosen], self.burn_in, self.whole)


class Job(NamedTuple):
    """One evaluation: what its pieces share."""

    of: Operators
    words: Words
    corpus: Corpus
    plan: Plan

    @property
    def exact(self) -> bool:
        """Whether nothing has a larger range: symbol by symbol, in float64."""
        return self.of.least == 0

    def borrow(self, name: str, rows: int, like: AnyArray) -> AnyArray:
        """Return working memory for ``rows`` rows like those of an array."""
        return borrow(name, (rows, like.shape[-1]), like.dtype)


class Part(NamedTuple):
    """What one piece adds: ℓ of its sequences, and the three gradients."""

    chosen: IntArray
    log_likelihood: FloatArray
    operators: AnyArray
    initial: FloatArray
    evaluation: FloatArray


def job_of(
    form: LinearForm,
    sequences: Sequences,
    plan: Plan,
    burn_in: int,
    whole: bool,
    slopes_of_zeros: bool = True,
) -> Job:
    """Gather what the kernels read."""
    words = words_of(sequences.codes, sequences.offsets, form.n_symbols, plan.word_length, burn_in)
    corpus = Corpus(sequences.codes, sequences.offsets, sequences.weights, burn_in, whole or burn_in == 0)
    dense = plan.method == "single"
    of = operators_of(form, words, plan.dtype, dense=dense, slopes_of_zeros=slopes_of_zeros)
    return Job(of, words, corpus, plan)


def log_likelihood(job: Job) -> FloatArray:
    """Return ℓ of every sequence, −inf where any step is not positive."""
    result = np.empty(len(job.corpus.weights))
    work = _score_single if job.plan.method == "single" else _score_batched
    for chosen, values in in_order(partial(work, job), job.plan.pieces, job.plan.threads):
        result[chosen] = values
    return result


def gradient(job: Job) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ℓ of every sequence and the weighted gradients with respect to operators, r₀ and σ."""
    values = np.empty(len(job.corpus.weights))
    total = aligned(job.of.plain.shape, np.float64)
    initial, evaluation = np.zeros(job.of.m), np.zeros(job.of.m)
    work = _differentiate_single if job.plan.method == "single" else _differentiate_batched
    for part in in_order(partial(work, job), job.plan.pieces, job.plan.threads):
        values[part.chosen] = part.log_likelihood
        total += part.operators
        initial += part.initial
        evaluation += part.evaluation
    if job.words.length > 1:
        total = total.astype(job.of.plain.dtype)
    return values, pull_back(job.of, job.words, total), np.ldexp(initial, job.of.start_power), evaluation


def look_again(form: LinearForm, job: Job, values: FloatArray) -> IntArray:
    """Look again, in float64 and symbol by symbol, at sequences without probability.

    Refuse a negative one; return those that are possible: words, or float32, were too small for them.
    """
    suspects = np.flatnonzero(np.isneginf(values))
    if len(suspects) == 0:
        return suspects
    words = letters(form.n_symbols)
    of = operators_of(form, words, np.float64)
    X = borrow("X", (2, len(of.start)), np.float64)
    possible = np.zeros(len(suspects), np.bool_)
    verdict, number, position, probability = single.inspect(of, job.corpus.letters(suspects, words), X, possible)
    sequence = suspects[number]
    if verdict == single.NEGATIVE:
        raise NegativeProbabilityError(int(sequence), int(position), float(probability))
    if verdict == single.BROKEN:
        raise ModelError(
            f"sequence {sequence}, position {position}: the state overflows; "
            "rescale the operators so that σᵀ Σ_y T_y = σᵀ"
        )
    return suspects[possible & (not job.exact)]


def _score_single(job: Job, chosen: IntArray) -> tuple[IntArray, FloatArray]:
    result = np.empty(len(chosen))
    single.score(job.of, job.corpus.letters(chosen, job.words), job.borrow("X", 2, job.of.start), result)
    return chosen, result


def _differentiate_single(job: Job, chosen: IntArray) -> Part:
    of, offsets = job.of, job.corpus.offsets
    longest = int(np.max(offsets[chosen + 1] - offsets[chosen]))
    size = max(1, min(longest, single.segment_rows(len(of.start), of.start.dtype)))
    room = single.Room(
        job.borrow("X", size + 1, of.start),
        job.borrow("Z", size + 1, of.plain),
        job.borrow("marks", longest // size + 1, of.start),
    )
    part = _empty_part(job, chosen)
    single.differentiate(of, job.corpus.letters(chosen, job.words), room, *part[2:], part.log_likelihood)
    return part


def _empty_part(job: Job, chosen: IntArray) -> Part:
    operators = aligned(job.of.plain.shape, job.of.plain.dtype)
    return Part(chosen, np.empty(len(chosen)), operators, np.zeros(job.of.m), np.zeros(job.of.m))


@dataclass(frozen=True)
class _Sweep:
    """A piece after its forward pass."""

    layout: Layout
    X: AnyArray
    powers: IntArray
    burn_level: int
    scored: AnyArray
    log_likelihood: FloatArray


def _sweep(job: Job, chosen: IntArray) -> _Sweep:
    words, corpus = job.words, job.corpus
    tokens, starts = corpus.tokens(chosen, words)
    burn_level = -(-corpus.burn_in // words.length)
    layout = arrange(tokens, starts, len(words.last), burn_level, job.plan.share)
    X = job.borrow("X", len(layout.parent), job.of.start)
    powers = np.empty(len(X), np.int64)
    batched.forward(job.of, layout, X, powers)
    scored = (corpus.offsets[chosen + 1] - corpus.offsets[chosen] > corpus.burn_in) | (corpus.burn_in == 0)
    values = batched.likelihoods(job.of, layout, X, powers, burn_level, scored)
    return _Sweep(layout, X, powers, burn_level, scored, values)


def _score_batched(job: Job, chosen: IntArray) -> tuple[IntArray, FloatArray]:
    return chosen, _sweep(job, chosen).log_likelihood


def _differentiate_batched(job: Job, chosen: IntArray) -> Part:
    of, whole = job.of, job.corpus.whole
    done = _sweep(job, chosen)
    layout, burn_level = done.layout, done.burn_level
    weights = np.where(done.scored & np.isfinite(done.log_likelihood), job.corpus.weights[chosen], 0.0)
    first_level = 0 if whole else min(burn_level, len(layout.level_block) - 1)
    wanted = batched.segment_rows(of.plain.shape[1], of.plain.dtype)
    cuts, alive = batched.segments(layout, wanted, first_level)
    Z = job.borrow("Z", 1 << int(alive - 1).bit_length(), of.plain)
    operators = aligned(of.plain.shape, of.plain.dtype)
    initial = batched.backward(
        of, layout, done.X, done.powers, Z, operators, weights, cuts, first_level, burn_level, whole
    )
    evaluation = batched.evaluation_gradient(of, layout, done.X, weights, burn_level, whole)
    return Part(chosen, done.log_likelihood, operators, initial, evaluation)
