"""Counting the contexts of a Markov chain, and smoothing what follows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hqmm._typing import FloatArray, IntArray
from hqmm.errors import ModelError
from hqmm.linear import MISSING
from hqmm.sequences import Sequences


@dataclass(frozen=True)
class ContextTree:
    """Every stretch of up to k symbols that some symbol follows; context 0 is the empty one.

    Contexts are closed under forgetting their oldest and their newest symbol, so the longest context that a past
    ends with can be found from the previous one: they are the states of an automaton.
    """

    counts: FloatArray  # (S, s) weighted count of each next symbol
    shorter: IntArray  # (S,) the context without its oldest symbol
    successors: IntArray  # (S, s) the longest context after each symbol
    levels: list[IntArray]  # the contexts of length 0, 1, … k
    start: int  # the context at the start of a sequence


def count_contexts(sequences: Sequences, order: int) -> ContextTree:
    """Record and count the contexts of up to ``order`` symbols; the start of a sequence counts as a symbol."""
    s = len(sequences.alphabet)
    start = s
    tape = np.insert(sequences.codes.astype(np.int64), sequences.offsets[:-1], start)
    first = sequences.offsets[:-1] + np.arange(len(sequences))
    depth = np.arange(len(tape)) - np.repeat(first, sequences.lengths + 1)
    weights = np.repeat(sequences.weights, sequences.lengths + 1)

    here = np.where((depth >= 1) & (tape != MISSING), 0, -1)  # the context of this length before each position
    counts = [_count(here, tape, weights, 1, s)]
    shorter, prefixes, newest = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)], [np.array([start])]
    levels = [np.zeros(1, np.int64)]
    total = 1
    for length in range(1, order + 1):
        places = np.flatnonzero((here >= 0) & (depth >= length))
        oldest = tape[places - length]
        places, oldest = places[oldest != MISSING], oldest[oldest != MISSING]
        keys, occurrence, number = np.unique(
            here[places] * (s + 1) + oldest, return_index=True, return_inverse=True
        )
        longer = np.full(len(tape), -1)
        longer[places] = total + number
        where = places[occurrence]
        shorter.append(keys // (s + 1))
        prefixes.append(here[where - 1] if length > 1 else np.zeros(len(keys), np.int64))
        newest.append(tape[where - 1])
        levels.append(total + np.arange(len(keys)))
        counts.append(_count(np.where(longer >= 0, longer - total, -1), tape, weights, len(keys), s))
        total += len(keys)
        here = longer
    successors = _successors(levels, np.concatenate(shorter), prefixes, newest, s)
    opening = np.flatnonzero(newest[1] == start) if order else np.zeros(0, np.int64)
    return ContextTree(
        np.concatenate(counts),
        np.concatenate(shorter),
        successors,
        levels,
        int(levels[1][opening[0]]) if len(opening) else 0,
    )


def _count(contexts: IntArray, tape: IntArray, weights: FloatArray, n_contexts: int, s: int) -> FloatArray:
    seen = contexts >= 0
    cells = contexts[seen] * s + tape[seen]
    return np.bincount(cells, weights[seen], n_contexts * s).astype(np.float64).reshape(n_contexts, s)


def _successors(
    levels: list[IntArray], shorter: IntArray, prefixes: list[IntArray], newest: list[IntArray], s: int
) -> IntArray:
    """After context c and symbol y comes the recorded context cy, or else what follows the shorter context."""
    successors = np.zeros((len(shorter), s), dtype=np.int64)
    for length, names in enumerate(levels):
        if length:
            successors[names] = successors[shorter[names]]
        if length + 1 < len(levels):
            real = newest[length + 1] < s  # the start of a sequence follows nothing
            children = levels[length + 1][real]
            successors[prefixes[length + 1][real], newest[length + 1][real]] = children
    return successors


def smooth(tree: ContextTree, smoothing: str | float) -> FloatArray:
    """Return P(y | c) for every context.

    Witten–Bell: P(y | c) = (N(c, y) + D(c) P(y | shorter c)) / (N(c) + D(c)) with D(c) the number of distinct
    symbols seen after c, and the uniform distribution below the empty context.
    """
    totals = tree.counts.sum(axis=1, keepdims=True)
    s = tree.counts.shape[1]
    if not isinstance(smoothing, str):
        if not smoothing >= 0:
            raise ModelError(f"smoothing must be 'witten-bell' or a number from 0 up, not {smoothing!r}")
        denominators = totals + smoothing * s
        return np.where(
            denominators > 0, (tree.counts + smoothing) / np.where(denominators > 0, denominators, 1), 1 / s
        )
    if smoothing != "witten-bell":
        raise ModelError(f"smoothing must be 'witten-bell' or a number from 0 up, not {smoothing!r}")
    distinct = (tree.counts > 0).sum(axis=1, keepdims=True)
    probabilities = np.empty_like(tree.counts)
    for length, names in enumerate(tree.levels):
        below = probabilities[tree.shorter[names]] if length else np.full((1, s), 1 / s)
        mass = totals[names] + distinct[names]
        probabilities[names] = np.where(
            mass > 0, (tree.counts[names] + distinct[names] * below) / np.where(mass > 0, mass, 1), below
        )
    return probabilities / probabilities.sum(axis=1, keepdims=True)
