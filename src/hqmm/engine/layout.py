"""Where states stand while many sequences run abreast: rows, level by level, grouped by token.

A *token* is what one step consumes: a symbol, or a short word of symbols. Row 0 is the initial state, every other
row the state after one token, and ``parent`` names the row it came from. The rows of one level (time step) with
one token form a *block*: one matrix–matrix product. With ``share``, sequences that start alike share their rows,
so that the rows are the edges of the prefix tree; without it they are simply the tokens.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from hqmm._typing import IntArray

kernel = njit(nogil=True, cache=True)


class Layout(NamedTuple):
    """Rows, blocks and levels, and where each sequence ends."""

    parent: IntArray
    block_token: IntArray
    block_start: IntArray  # first row of each block, and of the one after the last
    level_block: IntArray  # first block of each level, and of the one after the last
    final: IntArray  # row of each sequence's last state
    burned: IntArray  # row of each sequence's state after the burn-in
    ends: IntArray  # the sequences, shortest first
    level_ends: IntArray  # where the sequences of each number of tokens start in ``ends``


@kernel
def _key(codes, place, stop, length, base):
    """Return the number of the word of up to ``length`` symbols at ``place``: shorter words come first."""
    key, shift, shorter = 0, 1, 0
    for i in range(min(length, stop - place)):
        code = codes[place + i]
        key += shift * (code if code >= 0 else base - 1)
        shorter += shift
        shift *= base
    return key + shorter - 1


@kernel
def mark_words(codes, offsets, burn_in, length, base, seen):
    """Mark the words that occur when burn-in and scored part are each cut into words of ``length`` symbols."""
    for n in range(len(offsets) - 1):
        place, end = offsets[n], offsets[n + 1]
        split = min(place + burn_in, end)
        while place < end:
            stop = split if place < split else end
            seen[_key(codes, place, stop, length, base)] = True
            place = min(place + length, stop)


@kernel
def tokenise(codes, offsets, chosen, burn_in, length, base, token_of):
    """Return the tokens of the chosen sequences, one after the other, and where each sequence begins."""
    starts = np.zeros(len(chosen) + 1, np.int64)
    for i in range(len(chosen)):
        symbols = offsets[chosen[i] + 1] - offsets[chosen[i]]
        before = min(symbols, burn_in)
        starts[i + 1] = starts[i] + (before + length - 1) // length + (symbols - before + length - 1) // length
    tokens = np.empty(starts[-1], np.int32)
    if length == 1:
        _copy(codes, offsets, chosen, base, tokens, starts)
        return tokens, starts
    for i in range(len(chosen)):
        place, end = offsets[chosen[i]], offsets[chosen[i] + 1]
        split = min(place + burn_in, end)
        for t in range(starts[i], starts[i + 1]):
            stop = split if place < split else end
            tokens[t] = token_of[_key(codes, place, stop, length, base)]
            place = min(place + length, stop)
    return tokens, starts


@kernel
def _copy(codes, offsets, chosen, base, tokens, starts):
    """Fill in the tokens of one letter: codes, and the last letter for "missing"."""
    for i in range(len(chosen)):
        shift = offsets[chosen[i]] - starts[i]
        for t in range(starts[i], starts[i + 1]):
            code = codes[t + shift]
            tokens[t] = code if code >= 0 else base - 1


@kernel
def arrange(tokens, starts, n_tokens, burn_level, share):
    """Give every sequence its row on every level."""
    count, total = len(starts) - 1, starts[-1]
    ends, level_ends = _by_length(starts)
    levels = len(level_ends) - 2
    parent = np.zeros(total + 1, np.int64)
    block_token = np.empty(total, np.int64)
    block_start = np.empty(total + 1, np.int64)
    level_block = np.zeros(levels + 1, np.int64)
    now = np.zeros(count, np.int64)
    burned = np.zeros(count, np.int64)
    active, ordered = np.arange(count), np.empty(count, np.int64)
    size, present = np.zeros(n_tokens, np.int64), np.empty(n_tokens, np.int64)
    # With ``share``: in which block a row last got a child, and which.
    stamp = np.full(total + 1 if share else 1, -1, np.int64)
    child = np.empty(len(stamp), np.int64)
    row, block = 1, 0
    for level in range(levels):
        active, kinds = _group(tokens, starts, level, active, ordered, size, present)
        place = 0
        for i in range(kinds):
            block_token[block], block_start[block] = present[i], row
            stop, size[present[i]] = size[present[i]], 0
            while place < stop:
                n = ordered[place]
                above = now[n]
                place += 1
                if share and stamp[above] == block:
                    now[n] = child[above]
                    continue
                if share:
                    stamp[above], child[above] = block, row
                parent[row], now[n] = above, row
                row += 1
            block += 1
        level_block[level + 1] = block
        if level + 1 == burn_level:
            burned[active] = now[active]
    block_start[block] = row
    return Layout(
        parent[:row], block_token[:block], block_start[: block + 1], level_block, now, burned, ends, level_ends
    )


@kernel
def _group(tokens, starts, level, active, ordered, size, present):
    """Order the sequences that reach a level by their token there; ``size`` becomes where each group ends."""
    alive, kinds = 0, 0
    for n in active:
        if level < starts[n + 1] - starts[n]:
            active[alive] = n
            alive += 1
            token = tokens[starts[n] + level]
            if size[token] == 0:
                present[kinds] = token
                kinds += 1
            size[token] += 1
    place = 0
    for i in range(kinds):
        place += size[present[i]]
        size[present[i]] = place - size[present[i]]
    for n in active[:alive]:
        token = tokens[starts[n] + level]
        ordered[size[token]] = n
        size[token] += 1
    return active[:alive], kinds


@kernel
def _by_length(starts):
    """Return the sequences, shortest first, and where those of each length start."""
    lengths = np.diff(starts)
    levels = lengths.max() if len(lengths) else 0
    fill = np.zeros(levels + 2, np.int64)
    for length in lengths:
        fill[length + 1] += 1
    level_ends = np.cumsum(fill)
    fill = level_ends.copy()
    ends = np.empty(len(lengths), np.int64)
    for n in range(len(lengths)):
        ends[fill[lengths[n]]] = n
        fill[lengths[n]] += 1
    return ends, level_ends
