"""Lines, tables, FASTA, JSON lines and the competitions' format: what is read, and where errors point."""

import gzip
import io
import subprocess
import sys

import pytest

from hqmm import Alphabet, DataError, HqmmError, Sequences
from hqmm.readers import FORMATS, format_of, read, read_classes


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def rows(contents):
    return contents.sequences.decode()


def test_characters_of_a_line_are_symbols_and_trailing_blank_lines_do_not_count(file):
    contents = read(file("dna.txt", "GATTACA\r\nCAT\n\n\n"))
    assert contents.sequences == Sequences(["GATTACA", "CAT"])
    assert contents.labels is None
    assert contents.names is None


def test_whole_numbers_between_blanks_are_numbers_and_minus_one_is_missing(file):
    contents = read(file("codes.txt", "10 2 -1\n2  10\n"))
    assert contents.sequences.alphabet == Alphabet([2, 10])
    assert rows(contents) == [[10, 2, None], [2, 10]]


@pytest.mark.parametrize(
    ("sep", "expected"),
    [(" ", [["the", "cat"], ["a", "cat"]]), ("", [list("the  cat"), list("a cat")])],
)
def test_sep_says_what_separates_symbols(file, sep, expected):
    assert rows(read(file("words.txt", "the  cat\na cat\n"), sep=sep)) == expected


def test_any_separator_is_stripped_of_blanks(file):
    assert rows(read(file("words.txt", "the, cat\n"), sep=",")) == [["the", "cat"]]


def test_names_like_007_are_not_numbers(file):
    assert rows(read(file("agents.txt", "007 12\n"), sep=" ")) == [["007", "12"]]


def test_blanks_between_symbols_need_a_decision(file):
    with pytest.raises(DataError, match=r"words.txt, line 2: there is a blank .* sep=' '"):
        read(file("words.txt", "cat\nthe cat\n"))


def test_a_symbol_can_mean_missing(file):
    contents = read(file("dna.txt", "AC?T\n"), missing="?")
    assert rows(contents) == [["A", "C", None, "T"]]
    assert list(contents.sequences.alphabet) == ["A", "C", "T"]


def test_an_alphabet_is_kept_and_what_is_not_in_it_refused_with_its_place(file):
    path = file("dna.txt", "ACC\nCAX\n")
    assert read(file("other.txt", "A\n"), alphabet="ACGT").sequences.alphabet == Alphabet("ACGT")
    with pytest.raises(DataError, match=r"dna.txt, line 2: the symbol 'X' at position 2 is not in"):
        read(path, alphabet="ACGT")


def test_the_end_symbol_closes_sequences_which_may_then_be_empty(file):
    path = file("words.txt", "ab\n\nb\n")
    contents = read(path, end=True)
    assert rows(contents) == [["a", "b", "<end>"], ["<end>"], ["b", "<end>"]]
    assert read(path, end=True, alphabet=contents.sequences.alphabet).sequences == contents.sequences
    with pytest.raises(DataError, match=r"words.txt, line 2: the sequence is empty"):
        read(path)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_nothing_is_an_error(file, content):
    with pytest.raises(DataError, match=r"none.txt holds no sequences"):
        read(file("none.txt", content))


def test_bytes_that_are_not_text_are_refused_with_their_line(file):
    with pytest.raises(DataError, match=r"odd.txt, line 2: this is not UTF-8 text"):
        read(file("odd.txt", b"abc\n\xff\xfe\n"))


def test_a_byte_order_mark_is_no_symbol(file):
    assert rows(read(file("dna.txt", b"\xef\xbb\xbfAC\n"))) == [["A", "C"]]


def test_files_that_cannot_be_read_are_errors(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nothing.txt")
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "abb\nab\n"),
        ("a.csv", "sequence\nabb\nab\n"),
        ("a.fasta", ">1\nabb\n>2\nab\n"),
        ("a.jsonl", '"abb"\n"ab"\n'),
    ],
)
def test_gzip_is_undone_whatever_the_name_says(file, name, content):
    plain = read(file(name, content)).sequences
    assert plain == Sequences(["abb", "ab"])
    packed = gzip.compress(content.encode())
    assert read(file(f"{name}.gz", packed)).sequences == plain
    assert read(file(name, packed)).sequences == plain


@pytest.mark.parametrize("keep", [12, 25])
def test_damaged_gzip_is_refused(file, keep):
    packed = gzip.compress(b"abb\nabababab\nbbbb\n")
    with pytest.raises(DataError, match=r"a.txt.gz is a damaged gzip file"):
        read(file("a.txt.gz", packed[:keep] + b"\0" * (len(packed) - keep)))


def test_a_dash_is_standard_input(tmp_path):
    code = "from hqmm.readers import read; print(read('-', 'csv').sequences.decode())"
    packed = gzip.compress(b"sequence\nab\n")
    run = subprocess.run([sys.executable, "-c", code], input=packed, capture_output=True, check=True)
    assert run.stdout.decode().strip() == "[['a', 'b']]"


def test_a_table_tells_sequences_labels_names_and_weights(file):
    text = 'name,label,sequence,weight\none,yes,GATT,2\n\ntwo,no,"CA",0.5\n'
    for contents in (
        read(file("genes.csv", text)),
        read(file("genes.tsv", text.replace(",", "\t"))),
        read(file("genes.dat", text), "csv"),
    ):
        assert contents.sequences == Sequences(["GATT", "CA"], weights=[2, 0.5])
        assert contents.labels == ("yes", "no")
        assert contents.names == ("one", "two")


def test_columns_are_chosen_by_name_or_number(file):
    named = file("named.csv", "class,dna\nyes,GA\nno,CA\n")
    bare = file("bare.csv", "yes,GA\nno,CA\n")
    by_name, by_number = read(named, column="dna", label="class"), read(bare, column=2, label=1)
    assert by_name.sequences == by_number.sequences == Sequences(["GA", "CA"])
    assert by_name.labels == by_number.labels == ("yes", "no")


def test_the_only_column_needs_no_name_and_cells_hold_tokens(file):
    assert rows(read(file("one.csv", "codes\n1 10\n10 1\n"))) == [[1, 10], [10, 1]]
    assert rows(read(file("one.csv", "text\nto be\n"), sep=" ")) == [["to", "be"]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", {}, r"t.csv: which holds the sequences\? Say column=… \(--column\); it has 'a', 'b'"),
        ("a,b\n1,2\n", {"column": "c"}, r"there is no 'c' \(column\); it has 'a', 'b'"),
        ("a,b\n1,2\n", {"column": "a", "label": "c"}, r"there is no 'c' \(label\)"),
        ("ab,x\nba\n", {"column": 1, "label": 2}, r"t.csv, line 2: column 2 is missing; the line has 1"),
        ("ab,x\n", {"label": 2}, r"which column holds the sequences"),
        ("ab,x\n", {"column": 0}, r"column is 0, but columns count from 1"),
        ("ab,x\n", {"column": 1, "label": "x"}, r"label is 'x'; give all columns by number"),
        ("sequence,weight\nab,1\nab,-1\n", {}, r"t.csv, line 3: the weight '-1' is not a number from 0 up"),
        ("sequence,weight\nab,many\n", {}, r"t.csv, line 2: the weight 'many'"),
        ('sequence\nab"c"\n"a"b\n', {}, r"t.csv, line 3: "),
        ("sequence,label\nab,1\n,2\n", {}, r"t.csv, line 3: the sequence is empty"),
        ("sequence\n", {}, r"t.csv holds no sequences"),
        ("", {}, r"t.csv holds no sequences"),
    ],
)
def test_wrong_tables_are_refused_with_the_place(file, text, options, message):
    with pytest.raises(DataError, match=message):
        read(file("t.csv", text), **options)


def test_fasta_joins_lines_and_keeps_names(file):
    contents = read(file("genes.fa", "; a comment\n>one first gene\nGATT\nACA\n\n>two\nC A T\n"))
    assert contents.sequences == Sequences(["GATTACA", "CAT"])
    assert contents.names == ("one", "two")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GATT\n>one\nCAT\n", "genes.fa, line 1: a FASTA file begins with a line that begins with >"),
        (">one\n>two\nCAT\n", r"genes.fa, record 'one' \(line 1\): the sequence is empty"),
        ("", "genes.fa holds no sequences"),
    ],
)
def test_wrong_fasta_is_refused(file, text, message):
    with pytest.raises(DataError, match=message):
        read(file("genes.fa", text))


def test_json_lines_hold_strings_lists_or_objects(file):
    assert rows(read(file("a.jsonl", '"ab"\n["a", null]\n'))) == [["a", "b"], ["a", None]]
    assert rows(read(file("a.jsonl", "[3, 1, -1]\n"))) == [[3, 1, None]]
    assert rows(read(file("a.jsonl", '"to be"\n'), sep=" ")) == [["to", "be"]]
    contents = read(
        file(
            "a.jsonl",
            '{"sequence": "ab", "label": 1, "weight": 2}\n\n{"label": 0, "sequence": ["b"], "weight": 1}\n',
        )
    )
    assert contents.sequences == Sequences(["ab", "b"], weights=[2, 1])
    assert contents.labels == (1, 0)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ('"ab"\n"ab\n', {}, "a.jsonl, line 2: this is not JSON"),
        ('"ab"\n{"sequence": "ab"}\n', {}, "a.jsonl, line 2: either all lines are objects, or none"),
        ('{"sequence": "ab"}\n"ab"\n', {}, "a.jsonl, line 2: either all lines are objects, or none"),
        (
            '{"sequence": "ab"}\n{"text": "ab"}\n',
            {},
            "a.jsonl, line 2: there is no 'sequence'; the object has 'text'",
        ),
        ('{"a": "ab", "b": 1}\n', {}, "a.jsonl: which holds the sequences"),
        ('"ab"\n', {"label": "x"}, "a.jsonl, line 1: label names a member of an object"),
        ("3\n", {}, "a.jsonl, line 1: a sequence is a string or a list, not 3"),
        ("[1.5]\n", {}, "a.jsonl, line 1: 1.5 at position 0 cannot be a symbol"),
        ("[[1]]\n", {}, "a.jsonl, line 1: .* cannot be a symbol"),
        ("[true]\n", {}, "a.jsonl, line 1: True at position 0 cannot be a symbol"),
        (
            '{"sequence": "a", "label": null}\n',
            {},
            "a.jsonl, line 1: a label is a text or a whole number, not None",
        ),
        ('{"sequence": "a", "weight": true}\n', {}, "a.jsonl, line 1: the weight True"),
        ("[" * 100_000 + "\n", {}, "a.jsonl, line 1: this is not JSON"),
        ("[]\n", {}, "a.jsonl, line 1: the sequence is empty"),
        ("[null]\n", {}, "a.jsonl holds no symbols"),
    ],
)
def test_wrong_json_lines_are_refused_with_the_place(file, text, options, message):
    with pytest.raises(DataError, match=message):
        read(file("a.jsonl", text), **options)


def test_the_competitions_format_ends_its_strings(file):
    contents = read(file("3.pautomac.train", "2 3\n2 0 1\n0\n"))
    assert rows(contents) == [[0, 1, "<end>"], ["<end>"]]
    assert contents.sequences.alphabet == Alphabet(3, end=True)
    larger = Alphabet(4, end=True)
    assert read(file("3.spice.train", "1 3\n1 2\n"), alphabet=larger).sequences.alphabet == larger


@pytest.mark.parametrize(
    "text", ["GATTACA\n", "1 2\n3 0 1\n", "9999999999999 2\n", "1 2\n1 99999999999999999999\n"]
)
def test_wrong_competition_files_are_refused_by_name(file, text):
    with pytest.raises(DataError, match=r"3.pautomac.train"):
        read(file("3.pautomac.train", text))


def test_formats_are_told_by_endings(file):
    for name, known in FORMATS.items():
        for ending in known.endings:
            path = f"folder.x/file{ending.upper()}.gz" if name != "pautomac" else f"1.pautomac{ending}"
            assert format_of(path) == name
    assert format_of("-") == format_of("file") == format_of("file.seq") == "lines"
    with pytest.raises(DataError, match="there is no format 'xml'; there are 'lines'"):
        read(file("a.xml", "<a/>"), "xml")


def test_one_file_for_each_class(file):
    paths = {"few": file("few.txt", "aab\naa\n"), "many": file("many.txt", "bc\n")}
    contents = read_classes(paths)
    assert contents.labels == ("few", "few", "many")
    assert contents.sequences == Sequences(["aab", "aa", "bc"])
    assert read_classes(paths, alphabet=Alphabet("abcd")).sequences.alphabet == Alphabet("abcd")
    assert rows(read_classes(paths, end=True))[2] == ["b", "c", "<end>"]
    with pytest.raises(HqmmError, match="at least one file"):
        read_classes({})


def test_a_million_characters_are_read_quickly(file):
    text = io.StringIO()
    text.write("ACGT" * 250_000 + "\n")
    assert read(file("long.csv", "sequence\n" + text.getvalue())).sequences.n_symbols == 1_000_000
