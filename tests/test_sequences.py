import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm import Alphabet, DataError, Sequences

ragged = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=8), min_size=1, max_size=8)


@given(data=ragged)
def test_lists_arrays_and_sequences_hold_the_same(data):
    wanted = Sequences(data, alphabet=6)
    assert [list(row) for row in wanted] == data
    assert Sequences([np.array(row) for row in data], alphabet=6) == wanted
    assert Sequences([np.array(row, dtype=float) for row in data], alphabet=6) == wanted
    assert Sequences((tuple(row) for row in data), alphabet=6) == wanted
    assert Sequences(wanted) == wanted
    assert pickle.loads(pickle.dumps(wanted)) == wanted


@given(data=ragged)
def test_strings_and_tokens_learn_a_sorted_alphabet(data):
    text = ["".join("fabced"[code] for code in row) for row in data]
    by_character = Sequences(text)
    assert list(by_character.alphabet) == sorted(set("".join(text)))
    assert Sequences([list(row) for row in text]) == by_character
    assert ["".join(row) for row in by_character.decode()] == text


def test_whole_numbers_are_codes_unless_asked_to_be_learned():
    assert Sequences([[3, 1]]).alphabet == Alphabet(4)
    assert list(Sequences([[30, 10]], alphabet="learn").alphabet) == [10, 30]
    assert Sequences(np.array([[3, 1]]), alphabet="learn").codes.tolist() == [1, 0]


def test_an_alphabet_of_numbers_that_are_not_codes_translates_them():
    assert Sequences(np.array([[10, 20, -1]]), alphabet=Alphabet([20, 10])).codes.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ([["a", None, "b"]], {}),
        ([[0, None, 1]], {}),
        ([[0, -1, 1]], {}),
        (np.array([[0, -1, 1]]), {}),
        (np.ma.masked_array([[0, 7, 1]], mask=[[False, True, False]]), {}),
        (["a?b"], {"missing": "?"}),
        (np.array([["a", None, "b"]], dtype=object), {}),
    ],
)
def test_missing_symbols_become_minus_one(data, options):
    sequences = Sequences(data, **options)
    assert sequences.codes.tolist() == [0, -1, 1]
    assert sequences.has_missing
    assert len(sequences.alphabet) == 2


def test_codes_take_the_smallest_type_that_fits():
    assert Sequences([[126]]).codes.dtype == np.int8
    assert Sequences([[127]]).codes.dtype == np.int16
    assert Sequences([[40_000]], alphabet=40_001).codes.dtype == np.int32


def test_the_end_symbol_closes_every_sequence_also_an_empty_one():
    sequences = Sequences(["ab", "", "b"], end=True)
    assert [list(row) for row in sequences] == [[0, 1, 2], [2], [1, 2]]
    assert sequences.alphabet.end == 2
    assert Sequences(sequences, end=True) == sequences


@pytest.mark.parametrize(
    ("data", "options", "message", "place"),
    [
        (["ab", "aXb"], {"alphabet": "ab"}, "'X' is not in Alphabet", (1, 1)),
        ([[0, 1], [0, 6]], {"alphabet": 6}, "6 is not in", (1, 1)),
        (np.array([[0, 1], [6, 0]]), {"alphabet": 6}, "6 is not in", (1, 0)),
        (np.array([[0, 1.5]]), {}, "1.5 is not a whole number", (0, 1)),
        ([[0, 1], [2, 0.25]], {}, "0.25 is not a whole number", (1, 1)),
        ([[0, float("nan")]], {}, "NaN.*None or −1", (0, 1)),
        (np.array([[0, np.inf]]), {}, "infinity", (0, 1)),
        ([[0, [1]]], {}, "cannot be a symbol", (0, 1)),
        ([[0, -2]], {}, "-2 is not a code", (0, 1)),
        ([[1, 10**9]], {}, "alphabet='learn'", (0, 1)),
        (["a", ""], {}, "empty", (1, None)),
        ([3, 4], {}, "a single sequence goes in a list", (0, None)),
        ([np.zeros((2, 2), int)], {}, "1-D", (0, None)),
    ],
)
def test_bad_data_is_refused_with_its_place(data, options, message, place):
    with pytest.raises(DataError, match=message) as error:
        Sequences(data, **options)
    assert (error.value.sequence, error.value.position) == place


@pytest.mark.parametrize(
    ("data", "message"),
    [("abc", "wrap it in a list"), ([], "no sequences"), (3, "collection"), (np.arange(3), "reshape")],
)
def test_what_is_no_collection_of_sequences_is_refused(data, message):
    with pytest.raises(DataError, match=message):
        Sequences(data)


@pytest.mark.parametrize(
    ("weights", "message"), [([1], "shape"), ([1, -1], "sequence 1"), ([np.nan, 1], "sequence 0")]
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        Sequences(["a", "b"], weights=weights)


@given(data=ragged, seed=st.integers(0, 100))
def test_slicing_takes_rows_with_their_weights(data, seed):
    rng = np.random.default_rng(seed)
    sequences = Sequences(data, alphabet=6, weights=rng.random(len(data)))
    a, b = sorted(rng.integers(0, len(data) + 1, 2))
    assert [list(row) for row in sequences[a:b]] == data[a:b]
    np.testing.assert_array_equal(sequences[a:b].weights, sequences.weights[a:b])
    chosen = rng.permutation(len(data))
    assert [list(row) for row in sequences[chosen]] == [data[i] for i in chosen]
    assert [list(row) for row in sequences[::-1]] == data[::-1]
    mask = rng.random(len(data)) < 0.5
    assert [list(row) for row in sequences[mask]] == [row for row, keep in zip(data, mask, strict=True) if keep]
    assert list(sequences[-1]) == data[-1]


def test_slicing_and_splitting_share_the_codes():
    sequences = Sequences(np.zeros((20, 3000), int))
    assert np.shares_memory(sequences[3:9].codes, sequences.codes)
    pieces = sequences.split(300)
    assert len(pieces) == 200
    assert set(pieces.lengths.tolist()) == {300}
    assert np.shares_memory(pieces.codes, sequences.codes)


@given(data=ragged, length=st.integers(1, 9))
def test_splitting_cuts_in_order_and_keeps_weights(data, length):
    sequences = Sequences(data, alphabet=6, weights=np.arange(len(data)))
    expected = [(row[i : i + length], w) for w, row in enumerate(data) for i in range(0, len(row), length)]
    pieces = sequences.split(length)
    assert [(list(row), w) for row, w in zip(pieces, pieces.weights, strict=True)] == expected


@given(data=ragged)
def test_deduplicating_keeps_the_total_weight_of_each_sequence(data):
    sequences = Sequences(data, alphabet=6, weights=np.arange(1, len(data) + 1))
    unique = sequences.deduplicate()
    assert len({tuple(row) for row in unique}) == len(unique)
    expected = {}
    for weight, row in enumerate(data, 1):
        expected[tuple(row)] = expected.get(tuple(row), 0) + weight
    assert {tuple(row.tolist()): w for row, w in zip(unique, unique.weights, strict=True)} == expected


@given(data=ragged, cut=st.integers(0, 8))
def test_concatenating_slices_gives_the_whole(data, cut):
    sequences = Sequences(data, alphabet=6)
    assert Sequences.concatenate([sequences[:cut], sequences[cut:]]) == sequences


def test_concatenating_needs_one_alphabet():
    with pytest.raises(DataError, match=r"part 1.*recode"):
        Sequences.concatenate([Sequences(["ab"]), Sequences(["ac"])])


def test_recoding_keeps_the_symbols():
    sequences = Sequences(["abba"])
    wider = sequences.recode(Alphabet("cba"))
    assert wider.decode() == sequences.decode()
    assert wider.codes.tolist() == [2, 1, 1, 2]
    with pytest.raises(DataError, match="'b' is not in") as error:
        sequences.recode(Alphabet("a"))
    assert (error.value.sequence, error.value.position) == (0, 1)


def test_neither_sequences_nor_alphabets_can_be_changed():
    sequences = Sequences(["ab"])
    with pytest.raises(AttributeError):
        sequences.codes = None
    with pytest.raises(ValueError, match="read-only"):
        sequences.codes[0] = 1
    with pytest.raises(AttributeError):
        sequences.alphabet.symbols = ()


def test_wrapping_arrays_checks_them():
    alphabet = Alphabet("ab")
    codes = np.array([0, 1, 1], dtype=np.int8)
    assert np.shares_memory(Sequences.from_arrays(codes, np.array([0, 3]), alphabet).codes, codes)
    for offsets, message in (([0, 2], "ends at"), ([0, 2, 1, 3], "decrease")):
        with pytest.raises(DataError, match=message):
            Sequences.from_arrays(codes, np.array(offsets), alphabet)
    with pytest.raises(DataError, match="2 is not in"):
        Sequences.from_arrays(codes * 2, np.array([0, 3]), alphabet)


def test_an_alphabet_needs_distinct_symbols():
    with pytest.raises(DataError, match="'a' twice"):
        Alphabet("aba")
    with pytest.raises(DataError, match="at least one"):
        Alphabet([])
    with pytest.raises(DataError, match=r"1\.5"):
        Alphabet([1.5])


def test_scikit_learn_picks_rows_without_losing_alphabet_or_weights():
    from sklearn.model_selection import train_test_split
    from sklearn.utils import _safe_indexing

    data = Sequences(["abba", "ca", "b", "ab"], weights=[1, 2, 3, 4])
    for rows in (np.array([2, 0]), [2, 0], (2, 0)):
        assert _safe_indexing(data, rows) == data[[2, 0]]
    assert _safe_indexing(data, [True, False, False, True]) == data[[0, 3]]
    assert _safe_indexing(data, slice(1, 3)) == data[1:3]
    assert np.array_equal(_safe_indexing(data, 1), data[1])
    train, test = train_test_split(data, test_size=1, random_state=0)
    assert train.alphabet == test.alphabet == data.alphabet
    assert sorted([*train.weights, *test.weights]) == [1, 2, 3, 4]
