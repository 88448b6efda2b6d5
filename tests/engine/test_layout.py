import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.plain import assert_close, random_form, random_sequences

from hqmm.engine.layout import arrange, tokenise
from hqmm.engine.words import letters, operators_of, words_of

sizes = {
    "seed": st.integers(0, 2**32),
    "s": st.integers(1, 4),
    "count": st.integers(1, 15),
    "longest": st.integers(0, 12),
    "burn_in": st.integers(0, 5),
}


def spelled(words, token):
    """The letters of a word, from its prefixes."""
    return [] if token < 0 else [*spelled(words, words.prefix[token]), int(words.last[token])]


def tokens_of(sequences, words, burn_in):
    chosen = np.arange(len(sequences))
    return tokenise(sequences.codes, sequences.offsets, chosen, burn_in, words.length, words.base, words.token_of)


@pytest.mark.parametrize("length", [1, 2, 3])
@given(**sizes)
def test_words_spell_the_sequences_and_break_at_the_burn_in(length, seed, s, count, longest, burn_in):
    rng = np.random.default_rng(seed)
    sequences = random_sequences(rng, s, count, longest, missing=True)
    words = words_of(sequences.codes, sequences.offsets, s, length, burn_in)
    tokens, starts = tokens_of(sequences, words, burn_in)
    for number, codes in enumerate(sequences):
        spelt = [spelled(words, token) for token in tokens[starts[number] : starts[number + 1]]]
        assert [letter for word in spelt for letter in word] == [s if code < 0 else int(code) for code in codes]
        assert all(1 <= len(word) <= length for word in spelt)
        if len(codes) >= burn_in:
            assert burn_in in np.cumsum([0] + [len(word) for word in spelt])
    assert np.all(words.prefix[: words.base] == -1)
    assert all(words.prefix[token] < token for token in range(len(words.last)))


@given(**sizes)
def test_without_sharing_every_token_has_a_row(seed, s, count, longest, burn_in):
    sequences = random_sequences(np.random.default_rng(seed), s, count, longest)
    tokens, starts = tokens_of(sequences, letters(s), burn_in)
    layout = arrange(tokens, starts, s + 1, burn_in, False)
    assert len(layout.parent) == 1 + len(tokens)
    check(layout, sequences, burn_in)


@given(**sizes)
def test_with_sharing_every_distinct_beginning_has_a_row(seed, s, count, longest, burn_in):
    sequences = random_sequences(np.random.default_rng(seed), s, count, longest)
    tokens, starts = tokens_of(sequences, letters(s), burn_in)
    layout = arrange(tokens, starts, s + 1, burn_in, True)
    beginnings = {tuple(codes[:n]) for codes in sequences for n in range(len(codes) + 1)}
    assert len(layout.parent) == len(beginnings)
    check(layout, sequences, burn_in)


def check(layout, sequences, burn_in):
    token = np.repeat(layout.block_token, np.diff(layout.block_start))
    level = np.repeat(np.arange(len(layout.level_block) - 1), np.diff(layout.level_block))
    depth = np.append(-1, np.repeat(level, np.diff(layout.block_start)))
    assert np.all(depth[layout.parent[1:]] == depth[1:] - 1)
    for number, codes in enumerate(sequences):
        row, path = layout.final[number], [layout.final[number]]
        for code in codes[::-1]:
            assert token[row - 1] == code
            row = layout.parent[row]
            path.append(row)
        assert row == 0
        if len(codes) >= burn_in:
            assert path[::-1][burn_in] == layout.burned[number]
    lengths = sequences.lengths[layout.ends]
    assert np.all(np.diff(lengths) >= 0)
    for length in range(len(layout.level_ends) - 1):
        assert np.all(lengths[layout.level_ends[length] : layout.level_ends[length + 1]] == length)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_operators_of_words_are_products_with_their_functionals_beside_them(length):
    rng = np.random.default_rng(0)
    form = random_form(rng, "oom", 11, 3)
    sequences = random_sequences(rng, 3, 10, 20, missing=True)
    words = words_of(sequences.codes, sequences.offsets, 3, length, 2)
    of = operators_of(form, words, np.float64)
    letter = [*form.operators, form.operators.sum(axis=0)]
    for token in range(len(words.last)):
        T, functionals = np.eye(11), []
        for y in spelled(words, token):
            T = letter[y] @ T
            functionals.insert(0, form.evaluation @ T)
        rows = slice(token * 11, token * 11 + 11)
        assert_close(of.plain[rows, :11], T)
        assert not of.plain[rows, 11:].any()
        assert_close(of.transposed[rows, :11], T.T)
        while len(functionals) < length:
            functionals.append(functionals[-1])
        assert_close(of.transposed[rows, 11 : 11 + length], np.array(functionals).T)
