import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import random_hmm, random_hqmm

from hqmm import HMM, Alphabet, DataError, NegativeProbabilityError, Sequences, engine
from hqmm.engine import corpus
from hqmm.engine.corpus import InMemory
from hqmm.engine.parquet import ParquetCorpus

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NUMBERS = st.lists(
    st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=9), min_size=1, max_size=12
)
TEXTS = st.lists(st.text("abcé😀", min_size=1, max_size=9), min_size=1, max_size=12)
TOKENS = st.lists(
    st.lists(st.one_of(st.none(), st.sampled_from(["go", "stop", "é"])), min_size=1, max_size=9),
    min_size=1,
    max_size=12,
).filter(lambda rows: any(symbol for row in rows for symbol in row))
LAYOUT = st.tuples(st.integers(1, 5), st.integers(1, 30), st.integers(1, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parquet")


def written(folder, rows, rows_in_group=1000, n_files=1, column="y", kind=None, **columns):
    """Write rows to Parquet files and return their paths."""
    table = pa.table({column: pa.array(rows, type=kind), **columns})
    per_file = -(-len(rows) // n_files)
    paths = []
    for first in range(0, max(len(rows), 1), max(per_file, 1)):
        paths.append(folder / f"{first:06}.parquet")
        pq.write_table(table.slice(first, per_file), paths[-1], row_group_size=rows_in_group)
    return paths


def read(source):
    """All shards joined again."""
    return Sequences.concatenate(list(source.shards(range(len(source.bounds) - 1))))


def check_against_memory(folder, rows, layout, end, kind=None, **options):
    rows_in_group, shard_symbols, n_files = layout
    paths = written(folder, rows, rows_in_group, n_files, kind=kind)
    source = ParquetCorpus(paths, "y", end=end, shard_symbols=shard_symbols, **options)
    expected = Sequences(rows, end=end, **options)
    assert read(source) == expected
    assert source.alphabet == expected.alphabet
    assert (len(source), source.n_symbols) == (len(expected), expected.n_symbols)


@given(NUMBERS, LAYOUT, st.booleans())
def test_lists_of_codes_are_read_as_they_are_in_memory(folder, rows, layout, end):
    check_against_memory(folder, rows, layout, end, kind=pa.list_(pa.int8()))


@given(NUMBERS, LAYOUT)
def test_numbers_can_be_learned(folder, rows, layout):
    rows = [[None if y is None else 1_000_000 * y + 7 for y in row] for row in [*rows, [3]]]
    check_against_memory(folder, rows, layout, False, kind=pa.large_list(pa.int64()), alphabet="learn")


@given(TEXTS, LAYOUT, st.booleans())
def test_strings_learn_their_alphabet(folder, rows, layout, end):
    check_against_memory(folder, rows, layout, end)


@given(TOKENS, LAYOUT, st.booleans())
def test_lists_of_tokens_learn_their_alphabet(folder, rows, layout, end):
    check_against_memory(folder, rows, layout, end, kind=pa.list_(pa.string()))


@given(TEXTS, LAYOUT)
def test_a_given_alphabet_sets_the_codes(folder, rows, layout):
    check_against_memory(folder, rows, layout, False, alphabet=Alphabet("x😀écba"))


@given(TEXTS, LAYOUT)
def test_a_symbol_can_mean_missing(folder, rows, layout):
    check_against_memory(folder, [*rows, "ab"], layout, False, missing="é")


def test_the_missing_symbol_may_stand_in_the_alphabet(folder):
    paths = written(folder, ["a?b"])
    assert read(ParquetCorpus(paths, "y", "ab?", missing="?")).codes.tolist() == [0, -1, 1]


def test_minus_one_is_a_missing_symbol(folder):
    paths = written(folder, [[0, -1, 1], [None]], kind=pa.list_(pa.int32()))
    assert read(ParquetCorpus(paths, "y")).codes.tolist() == [0, -1, 1, -1]


def test_empty_rows_are_finite_strings(folder):
    paths = written(folder, [[], [1], []], kind=pa.list_(pa.int32()))
    assert read(ParquetCorpus(paths, "y", end=True)) == Sequences([[], [1], []], end=True)


def test_weights_are_read_from_their_column(folder):
    paths = written(folder, ["ab", "b", "a"], rows_in_group=2, w=[2, 0, 7])
    assert read(ParquetCorpus(paths, "y", weights="w", shard_symbols=2)).weights.tolist() == [2, 0, 7]


@given(NUMBERS, st.integers(1, 30), LAYOUT)
def test_cuts_do_not_depend_on_row_groups_and_files(folder, rows, shard_symbols, layout):
    kind = pa.list_(pa.int16())
    one = ParquetCorpus(written(folder, rows, kind=kind), "y", shard_symbols=shard_symbols).bounds
    rows_in_group, _, n_files = layout
    paths = written(folder, rows, rows_in_group, n_files, kind=kind)
    assert np.array_equal(ParquetCorpus(paths, "y", shard_symbols=shard_symbols).bounds, one)


@given(NUMBERS, st.integers(1, 30))
def test_shards_hold_as_many_symbols_as_asked_for(folder, rows, shard_symbols):
    source = ParquetCorpus(written(folder, rows, kind=pa.list_(pa.int8())), "y", shard_symbols=shard_symbols)
    sizes = [shard.n_symbols for shard in source.shards(range(len(source.bounds) - 1))]
    assert max(sizes) < shard_symbols + max(map(len, rows))
    assert len(sizes) <= source.n_symbols // shard_symbols + 1


@given(st.sets(st.integers(0, 11)))
def test_any_shards_can_be_read_alone_elsewhere(folder, numbers):
    rows = [[i, i] for i in range(12)]
    paths = written(folder, rows, rows_in_group=5, n_files=2)
    source = pickle.loads(pickle.dumps(ParquetCorpus(paths, "y", shard_symbols=2)))
    shards = list(source.shards(sorted(numbers)))
    assert [shard.codes.tolist() for shard in shards] == [rows[i] for i in sorted(numbers)]


def test_a_folder_stands_for_its_files_by_name(tmp_path):
    written(tmp_path, ["ab", "b", "aab"], n_files=3)
    assert read(ParquetCorpus(tmp_path, "y")) == Sequences(["ab", "b", "aab"])


@pytest.mark.parametrize("random_model", [random_hmm, random_hqmm])
def test_memory_and_files_give_the_same_bits(folder, random_model):
    rng = np.random.default_rng(1)
    form = random_model(rng, 3, 4).linear
    rows = [rng.integers(-1, 4, rng.integers(2, 30)).tolist() for _ in range(60)]
    sequences = Sequences(rows, alphabet=4, weights=rng.uniform(0, 2, 60))
    memory = InMemory(sequences, n_shards=6)
    paths = written(folder, rows, rows_in_group=11, w=sequences.weights)
    shard_symbols = -(-sequences.n_symbols // 6)
    file = ParquetCorpus(paths, "y", 4, weights="w", shard_symbols=shard_symbols)
    assert np.array_equal(memory.bounds, file.bounds)
    assert len(memory.bounds) > 5
    for options in ({}, {"burn_in": 2}, {"burn_in": 1, "burn_in_gradient": True}):
        from_memory, from_file = (corpus.gradient(form, source, **options) for source in (memory, file))
        for name in ("log_likelihood", "operators", "initial", "evaluation", "n_zero", "total"):
            assert np.array_equal(getattr(from_memory, name), getattr(from_file, name)), name


@given(st.integers(1, 12), st.integers(0, 3))
def test_shards_add_up_to_the_whole(n_shards, burn_in):
    rng = np.random.default_rng(n_shards)
    form = random_hmm(rng, 3, 4).linear
    rows = [rng.integers(-1, 4, rng.integers(4, 12)) for _ in range(20)]
    sequences = Sequences(rows, alphabet=4, weights=rng.uniform(0, 2, 20))
    source = InMemory(sequences, n_shards)
    whole, shards = (
        f(form, s, burn_in=burn_in) for f, s in ((engine.gradient, sequences), (corpus.gradient, source))
    )
    for name in ("log_likelihood", "operators", "initial", "evaluation", "n_zero", "total"):
        np.testing.assert_allclose(getattr(shards, name), getattr(whole, name), rtol=1e-11, atol=1e-11)
    values = corpus.log_likelihood(form, source, burn_in=burn_in)
    np.testing.assert_allclose(values, whole.log_likelihood, rtol=1e-12)


def test_impossible_sequences_are_counted_over_all_shards():
    form = HMM(np.eye(2), np.eye(2), [1.0, 0.0]).linear
    source = InMemory(Sequences([[0, 0], [1, 1], [0, 1], [0]], alphabet=2), n_shards=3)
    assert corpus.gradient(form, source).n_zero == 2
    assert np.array_equal(corpus.log_likelihood(form, source), [0, -np.inf, -np.inf, 0])


def test_a_negative_probability_names_the_sequence_of_the_corpus():
    form = engine_form_with_a_negative_probability()
    source = InMemory(Sequences([[0, 0], [0], [0, 0, 1]]), n_shards=3)
    for work in (corpus.log_likelihood, corpus.gradient):
        with pytest.raises(NegativeProbabilityError) as raised:
            work(form, source)
        assert (raised.value.sequence, raised.value.position) == (2, 2)


def engine_form_with_a_negative_probability():
    from hqmm.linear import LinearForm

    return LinearForm(np.array([[[1.5]], [[-0.5]]]), np.ones(1), np.ones(1))


INT_LISTS = pa.list_(pa.int32())


@pytest.mark.parametrize(
    ("rows", "kind", "options", "message", "place"),
    [
        (["ab", None], None, {}, "row 1 .* is null", (1, None)),
        (["ab", ""], None, {}, r"row 1 .* is empty; drop it, or pass end=True", (1, None)),
        (["ab", "ba", "bxb"], None, {"alphabet": "ab"}, "row 2 .* holds 'x', which is not in the", (2, 1)),
        ([[0], [1, 5]], INT_LISTS, {"alphabet": 3}, "row 1 .* holds 5", (1, 1)),
        ([[0], [1, 0, -2]], INT_LISTS, {}, "row 1 .* holds -2, which is not a code", (1, 2)),
        ([[0], [10**9]], INT_LISTS, {}, "too large for a code; pass alphabet='learn'", (None, None)),
        ([[0.5]], pa.list_(pa.float64()), {}, "holds list<element: double>; sequences are", (None, None)),
        ([1, 2], pa.int64(), {}, "holds int64; sequences are strings, or lists", (None, None)),
        ([], pa.string(), {}, "there are no sequences", (None, None)),
        (["ab"], None, {"weights": "z"}, "no column 'z'; its columns are 'y', 'w'", (None, None)),
        (["ab"], None, {"shard_symbols": 0}, "shard_symbols must be at least 1", (None, None)),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, rows, kind, options, message, place):
    paths = written(tmp_path, rows, rows_in_group=1, kind=kind, w=[1.0] * len(rows))
    with pytest.raises(DataError, match=message) as raised:
        ParquetCorpus(paths, "y", **options)
    assert (raised.value.sequence, raised.value.position) == place


def test_rows_are_counted_in_their_file(tmp_path):
    paths = written(tmp_path, ["a", "b", "c", None], n_files=2)
    with pytest.raises(DataError, match=rf"^sequence 3: row 1 of {paths[1]} is null"):
        ParquetCorpus(paths, "y")


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(DataError, match="has no column 'x'; its columns are 'y'"):
        ParquetCorpus(written(tmp_path, ["ab"]), "x")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "row 1 .* has the weight -1.0"),
        ([1.0, None], "row 1 .* is null in the column 'w'"),
        ([1.0, float("nan")], "row 1 .* has the weight nan"),
        (["a", "b"], "the column 'w' holds string; weights are numbers"),
    ],
)
def test_a_weight_that_is_none_is_refused(tmp_path, weights, message):
    with pytest.raises(DataError, match=message):
        ParquetCorpus(written(tmp_path, ["ab", "b"], w=weights), "y", weights="w")


def test_files_must_hold_the_same_kind_of_sequences(tmp_path):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pq.write_table(pa.table({"y": ["ab"]}), one)
    pq.write_table(pa.table({"y": [[1]]}), two)
    with pytest.raises(DataError, match=r"2\.parquet: the column 'y' holds numbers, but text in .*1\.parquet"):
        ParquetCorpus([one, two], "y")


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "notes.parquet"
    path.write_bytes(b"no parquet, but more than a few bytes of something else")
    with pytest.raises(DataError, match=r"notes.parquet is not a Parquet file"):
        ParquetCorpus(path, "y")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ParquetCorpus(tmp_path / "nowhere.parquet", "y")


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'hqmm\[parquet\]'"):
        ParquetCorpus("any.parquet", "y")


# The cap holds what the process may allocate beyond what it has after one small gradient. Pages of the mapped
# file do not count: the system takes them back when it needs them.
STREAM_UNDER_A_CAP = """
import os, re, resource, sys
import numpy as np
from hqmm import HMM
from hqmm.engine import corpus
from hqmm.engine.parquet import ParquetCorpus

path, cap = sys.argv[1], int(sys.argv[2])
form = HMM([[0.9, 0.2], [0.1, 0.8]], [[0.5, 0.1], [0.2, 0.2], [0.2, 0.3], [0.1, 0.4]]).linear
corpus.gradient(form, ParquetCorpus(sys.argv[3], "y", 4), threads=1)
taken = 1024 * int(re.search(r"VmData:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
resource.setrlimit(resource.RLIMIT_DATA, (taken + cap, taken + cap))
try:
    np.ones(os.path.getsize(path), np.int8)
except MemoryError:
    pass
else:
    raise SystemExit("the cap does not hold")
result = corpus.gradient(form, ParquetCorpus(path, "y", 4, shard_symbols=2**18), threads=1)
print(result.total, result.log_likelihood.sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA limits memory on Linux only")
def test_a_file_larger_than_memory_streams(tmp_path):
    path, length, count = tmp_path / "large.parquet", 2000, 10_000
    codes = np.random.default_rng(0).integers(0, 4, length * count, dtype=np.int8)
    rows = pa.ListArray.from_arrays(np.arange(0, length * count + 1, length, dtype=np.int32), codes)
    pq.write_table(pa.table({"y": rows}), path, use_dictionary=False, compression="none")
    cap = 16 * 2**20
    assert path.stat().st_size > 4.5 * cap
    assert pq.ParquetFile(path).num_row_groups == 1
    small = written(tmp_path, codes[:2500].reshape(50, 50).tolist())[0]
    run = [sys.executable, "-c", STREAM_UNDER_A_CAP, str(path), str(cap), str(small)]
    total, likelihoods = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    assert float(total) == pytest.approx(float(likelihoods), rel=1e-12)


def test_nothing_heavy_is_imported_before_it_is_used():
    code = "import sys, hqmm.engine.cluster, hqmm.engine.parquet; print({'pyarrow', 'distributed'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize("work", [corpus.log_likelihood, corpus.gradient, lambda form, source: InMemory(source)])
def test_data_that_have_not_been_read_are_refused(work):
    with pytest.raises(DataError, match="sequences must be Sequences, not list"):
        work(HMM([[1.0]], [[0.5], [0.5]]).linear, [[0, 1]])


def test_a_corpus_of_no_sequences_has_no_likelihoods():
    form = HMM([[1.0]], [[0.5], [0.5]]).linear
    nothing = Sequences([[0, 1]], alphabet=2)[:0]
    assert corpus.log_likelihood(form, nothing).shape == (0,)
    with pytest.raises(DataError, match="there are no sequences"):
        corpus.gradient(form, nothing)
