"""The forms in which data may come, and what is refused."""

import numpy as np
import pytest
from numpy.dtypes import StringDType

from hqmm import Alphabet, DataError, HMMEstimator, MarkovChainEstimator, Sequences
from hqmm.estimators.reading import canonical

ROWS = [[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]


def learned(X, **settings):
    return MarkovChainEstimator(1, **settings).fit(X).model_


@pytest.mark.parametrize(
    "form",
    [
        ROWS,
        np.array(ROWS),
        np.array(ROWS, dtype=float),
        np.array(ROWS, dtype=object),
        [np.array(row) for row in ROWS],
        tuple(map(tuple, ROWS)),
        Sequences(ROWS),
        np.ma.masked_array(ROWS),
    ],
)
def test_every_form_of_the_same_sequences_gives_the_same_model(form):
    assert learned(form) == learned(Sequences(ROWS))


def test_ragged_lists_strings_tokens_and_object_arrays_are_sequences():
    ragged = [[0, 1], [1, 1, 0], [0]]
    array = np.empty(3, dtype=object)
    array[:] = ragged
    assert learned(array) == learned(ragged)
    assert learned(["ab", "bba"]).alphabet == Alphabet("ab")
    assert learned([["one", "two"], ["two"]]).alphabet == Alphabet(["one", "two"])
    letters = np.array([["a", "b"], ["b", "b"]])
    assert learned(letters) == learned(letters.astype(object)) == learned(["ab", "bb"])


def test_missing_symbols_are_minus_one_none_or_masked():
    table = np.array(ROWS)
    table[0, 1] = -1
    expected = learned(Sequences(table))
    assert learned(table) == expected
    assert learned([[0, None, 1, 0], *ROWS[1:]]) == expected
    assert learned(np.ma.masked_array(ROWS, mask=table == -1)) == expected


class Column:
    """What a column of a data frame is to NumPy."""

    ndim = 1

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        array = np.empty(len(self.values), dtype=object)
        array[:] = self.values
        return array


def test_a_column_of_strings_or_lists_is_a_list():
    texts = ["ab", "bba", "b"]
    for form in (
        np.array(texts),
        np.array(texts, dtype=object),
        np.array(texts, dtype=StringDType()),
        Column(texts),
    ):
        assert learned(form) == learned(texts)
    lists = [["one", "two"], ["two"]]
    assert learned(Column(lists)) == learned(lists)


def test_a_path_is_read_as_the_command_line_would(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("sequence,label\nab,x\nbba,y\n")
    chain = MarkovChainEstimator(1).fit(path)
    assert chain.model_ == learned(["ab", "bba"])
    assert chain.score(path) == chain.score(["ab", "bba"])
    ended = MarkovChainEstimator(1, alphabet="abc", end=True).fit(path)
    assert ended.model_ == learned(["ab", "bba"], alphabet="abc", end=True)
    np.testing.assert_array_equal(ended.predict_next(path), ended.predict_next(["ab", "bba"]))
    with pytest.raises(DataError, match=r"none\.txt: no such file"):
        chain.fit(tmp_path / "none.txt")
    with pytest.raises(DataError, match=r"or in pathlib\.Path if it names a file"):
        chain.fit(str(path))


def test_a_column_of_codes_is_many_sequences_and_a_warning():
    with pytest.warns(UserWarning, match=r"X has one column, so it holds 4 sequences of one symbol") as caught:
        chain = MarkovChainEstimator().fit(np.array([[0], [1], [1], [0]]))
    assert caught[0].filename == __file__
    assert chain.model_ == learned([[0], [1], [1], [0]])
    learned(np.array([[0]]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[0, -2]]), "sequence 0, position 1: Negative values in data"),
        (np.array([[0.0, -1.0]]), "Negative values in data"),
        (np.array([[0.5, 1.0]]), "sequence 0, position 0: 0.5 is not a whole number"),
        (np.array([[np.nan, 1.0]]), "contains NaN"),
        (np.array([0, 1, 0]), "Reshape your data"),
        ("abab", "wrap it in a list"),
        ([[0, 1], []], "sequence 1: the sequence is empty"),
        ([], "there are no sequences"),
    ],
)
def test_what_is_no_data_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        MarkovChainEstimator().fit(X)


def test_a_table_keeps_its_number_of_columns_and_other_forms_do_not():
    chain = MarkovChainEstimator().fit(np.array(ROWS))
    assert chain.n_features_in_ == 4
    narrow = np.array(ROWS)[:, :2]
    for method in (chain.score, chain.score_samples, chain.transform):
        with pytest.raises(ValueError, match="X has 2 features, but MarkovChainEstimator is expecting 4 features"):
            method(narrow)
        method(narrow.tolist())
        method(Sequences(narrow, alphabet=2))
    assert chain.predict_next(narrow).shape == (3, 2)  # prefixes are shorter by nature
    assert chain.forecast(narrow, 2).shape == (3, 2, 2)
    assert not hasattr(chain.fit([[0, 1], [1]]), "n_features_in_")
    assert not hasattr(chain.fit(Sequences(ROWS)), "n_features_in_")


def test_the_alphabet_is_that_of_the_data_unless_it_is_given():
    assert learned(ROWS).alphabet == Alphabet(2)
    assert learned(ROWS, alphabet=3).alphabet == Alphabet(3)
    assert learned(["ab"], alphabet="abc").alphabet == Alphabet("abc")
    assert learned([[5, 9], [9, 9]], alphabet="learn").alphabet == Alphabet([5, 9])
    chain = MarkovChainEstimator().fit(["ab", "ba"])
    with pytest.raises(DataError, match="sequence 1, position 2: the symbol 'c' is not in Alphabet"):
        chain.score(["ab", "bac"])


def test_the_canonical_form_holds_each_sequence_once_sorted_and_weighted():
    data = Sequences(["ba", "ab", "ba", "b", "a"], weights=[1, 2, 3, 0, 1])
    same = canonical(data)
    assert [("".join(row), weight) for row, weight in zip(same.decode(), same.weights, strict=True)] == [
        ("a", 1),
        ("ab", 2),
        ("ba", 4),
    ]
    np.testing.assert_array_equal(
        HMMEstimator(2, max_iter=2000, random_state=0).fit(data).score_samples(["ab"]),
        HMMEstimator(2, max_iter=2000, random_state=0).fit(same).score_samples(["ab"]),
    )
