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


# --- the end symbol -------------------------------------------------------------------------------------------

FLAGS = Alphabet(2, end=True)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ([["a"], ["a", "<end>", "b"]], {}),
        ([["a"], ["a", "<end>", "<end>"]], {}),
        ([["a"], ["a", "<end>", None]], {}),
        ([["a"], ["a", "<end>", "b"]], {"end": True}),
        ([[0], [1, "<end>", 0]], {}),
        ([[0], [1, 2, 0]], {"alphabet": FLAGS}),
        (np.array([[0, 1, 0], [1, 2, 0]]), {"alphabet": FLAGS}),
    ],
)
def test_the_end_symbol_may_only_stand_last(data, options):
    with pytest.raises(DataError, match="closes a sequence, but more follows") as error:
        Sequences(data, **options)
    assert (error.value.sequence, error.value.position) == (1, 1)


def test_the_end_symbol_may_only_stand_last_in_wrapped_arrays_too():
    offsets = np.array([0, 0, 2, 2, 4])
    assert len(Sequences.from_arrays(np.array([0, 2, 1, 2]), offsets, FLAGS)) == 4
    with pytest.raises(DataError, match="more follows") as error:
        Sequences.from_arrays(np.array([0, 2, 2, 1]), offsets, FLAGS)
    assert (error.value.sequence, error.value.position) == (3, 0)


@pytest.mark.parametrize(
    ("data", "alphabet"),
    [
        ([["a", "<end>"], [], ["b"], ["<end>"]], Alphabet("ab", end=True)),
        ([[0, "<end>"], [], [1], ["<end>"]], FLAGS),
        ([["z", "<end>"], [], ["b"], ["<end>"]], Alphabet("bz", end=True)),  # the end comes last, not sorted
    ],
)
def test_closing_appends_the_end_only_where_it_is_missing(data, alphabet):
    closed = Sequences(data, end=True)
    assert closed.alphabet == alphabet
    assert closed.decode() == [row if "<end>" in row else [*row, "<end>"] for row in data]
    assert Sequences(closed.decode(), end=True) == closed
    assert Sequences(data, alphabet=list(alphabet)[:2], end=True) == closed
    assert Sequences(closed, end=True) == closed


def test_what_was_cut_off_stays_open():
    cut = Sequences(["ab", "b"], alphabet=Alphabet("ab", end=True))
    assert Sequences(cut, end=True) == cut
    assert Sequences(Sequences(["ab", "b"]), end=True).decode() == [["a", "b", "<end>"], ["b", "<end>"]]


@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: [np.array(row) for row in data]])
def test_the_end_may_be_named_by_its_code_among_codes(wrap):
    closed = Sequences(wrap([[0, 1, 2], [2]]), alphabet=FLAGS)
    assert closed.decode() == [[0, 1, "<end>"], ["<end>"]]
    for options in ({"alphabet": 2, "end": True}, {"alphabet": Alphabet([1, 0], end=True)}):
        with pytest.raises(DataError, match="symbol 2 is not in"):  # here 2 is no code of the alphabet
            Sequences(wrap([[0, 1, 2]]), **options)


# --- symbols and codes ----------------------------------------------------------------------------------------


def test_codes_are_decoded_to_symbols_and_nothing_else_is_taken_for_a_code():
    alphabet = Alphabet("ab")
    assert alphabet.decode([1, -1, 0]) == ["b", None, "a"]
    assert alphabet.decode(iter([1])) == ["b"]
    assert alphabet.decode([]) == []
    for code in (-2, 2):
        with pytest.raises(DataError, match=f"{code} is not in") as error:
            alphabet.decode([0, code])
        assert error.value.position == 1
    with pytest.raises(DataError, match="must be integers, not float64"):
        alphabet.decode([0.0])
    with pytest.raises(DataError, match=r"one sequence, not an array of shape \(1, 2\)"):
        alphabet.decode(np.array([[0, 1]]))


def test_one_row_of_sequences_is_encoded_by_its_symbols_and_an_array_by_its_numbers():
    words = Sequences(["ba", "ab"])
    reverse = Alphabet("ba")
    assert reverse.encode(words[:1]).tolist() == [0, 1]
    assert words.alphabet.encode(words[:1]).tolist() == [1, 0]
    assert Alphabet([1, 0]).encode(words[0]).tolist() == [0, 1]  # the codes 1, 0 taken for symbols
    for rows in (words, words[:0]):
        with pytest.raises(DataError, match=rf"not Sequences with {len(rows)}; pick one with data\[i:i\+1\]"):
            reverse.encode(rows)
    with pytest.raises(DataError, match="'b' is not in"):
        Alphabet("a").encode(words[:1])


def test_alphabets_show_how_they_are_made():
    assert repr(Alphabet(3)) == "Alphabet(3)"
    assert repr(FLAGS) == "Alphabet(2, end=True)"
    assert repr(Alphabet("ba")) == "Alphabet(['b', 'a'])"
    assert repr(Alphabet("abcdefghijk")) == "Alphabet(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', … 3 more])"
    assert Alphabet(np.int64(3)) == Alphabet(3)


@pytest.mark.parametrize("symbols", [None, 1.5, True])
def test_an_alphabet_is_made_of_symbols(symbols):
    with pytest.raises(DataError, match=f"an alphabet is made of symbols, or of their number, not of {symbols}"):
        Alphabet(symbols)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sequences({"x": "ab", "y": "b"}), r"mapping of names; pass list\(data.values\(\)\)"),
        (lambda: Sequences({"ab", "b"}), r"in order, and a set has none; pass sorted\(data\)"),
        (lambda: Sequences(["ab", {"a": 1}]), "sequence 1: a dict has no order"),
        (lambda: Sequences(["ab", {"a", "b"}]), "sequence 1: a set has no order"),
        (lambda: Sequences([frozenset("ab")]), "sequence 0: a frozenset has no order"),
        (lambda: Alphabet(set("ab")), r"other codes each time; pass sorted\(symbols\)"),
        (lambda: Sequences(["ab"], alphabet=set("ab")), r"other codes each time; pass sorted\(symbols\)"),
    ],
)
def test_what_has_no_order_is_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()


def test_the_keys_of_a_mapping_have_an_order():
    names = {"b": 0, "a": 1}
    assert list(Alphabet(names.keys())) == ["b", "a"]
    assert Sequences([names.keys()]).decode() == [["b", "a"]]


LARGE = [
    [[0, 2**70]],
    [[0, -(2**70)]],
    np.array([[0, 2**64 - 1]], dtype=np.uint64),  # as int64 it would be −1, a missing symbol
    np.array([[0, 1e30]]),
    np.array([[0, -1e30]]),
]


@pytest.mark.parametrize("data", LARGE)
def test_numbers_that_no_code_can_be_are_refused(data):
    with pytest.raises(DataError, match="pass alphabet='learn'") as error:
        Sequences(data)
    assert (error.value.sequence, error.value.position) == (0, 1)


@pytest.mark.parametrize("data", LARGE)
def test_numbers_that_no_code_can_be_are_not_taken_for_others(data):
    with pytest.raises(DataError, match=r"is not in|too large"):
        Sequences(data, alphabet=2)
    assert Sequences(data, alphabet="learn").decode() == [[int(y) for y in np.asarray(data)[0].tolist()]]


def test_large_numbers_beside_masked_ones_are_refused_too():
    data = np.ma.masked_array(np.array([[5, 2**64 - 1]], dtype=np.uint64), mask=[[True, False]])
    with pytest.raises(DataError, match="too large"):
        Sequences(data, alphabet=2)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint64, np.int8, np.float16, np.float64])
def test_masked_entries_are_missing_in_any_type(dtype):
    table = np.ma.masked_array(np.array([[0, 99, 1], [1, 1, 99]], dtype), mask=[[0, 1, 0], [0, 0, 1]])
    for data in (table, list(table)):
        assert Sequences(data) == Sequences([[0, None, 1], [1, 1, None]])
    assert Sequences(table, alphabet="learn").decode() == [[0, None, 1], [1, 1, None]]


def test_masked_booleans_and_strings_are_missing():
    mask = [[False, True]]
    assert Sequences(np.ma.masked_array([[True, True]], mask)).codes.tolist() == [1, -1]
    assert Sequences(np.ma.masked_array([["a", "b"]], mask)).decode() == [["a", None]]


# --- equality, and what is no argument ------------------------------------------------------------------------


def test_equal_sequences_have_one_hash():
    narrow = Sequences([[0, 1], [1]], weights=[0.0, 2.0])
    wide = Sequences.from_arrays(narrow.codes.astype(np.int64), narrow.offsets, Alphabet(2), np.array([-0.0, 2.0]))
    assert wide.codes.dtype != narrow.codes.dtype
    assert wide == narrow
    assert hash(wide) == hash(narrow)
    for other in (narrow[::-1], narrow.with_weights([1, 2]), Sequences([[0], [1, 1]], weights=[0, 2])):
        assert other != narrow
        assert hash(other) != hash(narrow)


def test_nothing_can_be_deleted():
    sequences = Sequences(["ab"])
    for thing, name in ((sequences, "codes"), (sequences.alphabet, "symbols")):
        with pytest.raises(AttributeError, match="cannot be changed"):
            delattr(thing, name)
        assert hasattr(thing, name)


@pytest.mark.parametrize("weights", [[1j, 1], np.array([1j, 1]), ["one", "two"], [[1], [1, 2]]])
def test_weights_are_real_numbers(weights):
    with pytest.raises(DataError, match="weights must be real numbers"):
        Sequences(["a", "b"], weights=weights)


def test_shapes_are_checked():
    with pytest.raises(DataError, match=r"one flat array, not of shape \(2, 2\)"):
        Sequences.from_arrays(np.zeros((2, 2), int), np.array([0, 2]), Alphabet(2))
    with pytest.raises(DataError, match=r"not array\(3\)") as error:
        Sequences([[0], np.array(3)])
    assert error.value.sequence == 1
    with pytest.raises(DataError, match=r"whole strings as x\.tolist\(\)"):
        Sequences(np.array(["ab", "b"]))
    for length in (0, 2.0):
        with pytest.raises(DataError, match="split needs a length of at least 1, a whole number"):
            Sequences([[0, 1]]).split(length)


def test_sequences_take_another_alphabet_as_an_array_too():
    assert Sequences(Sequences(["ab"]), alphabet=np.array(["b", "a"])).codes.tolist() == [1, 0]
