from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import assert_same_process, random_hmm, random_hqmm, random_oom, words

from hqmm import HMM, OOM, Alphabet, DataError, MarkovChain, ModelError, NegativeProbabilityError, Sequences
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.learning import spectral
from hqmm.learning.spectral import Hankel, Lenient, count_words, learn_spectral, realise, score_leniently

# --- exact statistics -----------------------------------------------------------------------------------------


def product_of(operators, word):
    """T_{y_t} ⋯ T_{y_1}."""
    result = np.eye(operators.shape[1])
    for y in word:
        result = operators[y] @ result
    return result


def exact_hankel(form, average, pasts, futures, end=None):
    """The Hankel matrices of a process whose words are met in the state ``average``."""

    def weight(word):
        return form.evaluation @ product_of(form.operators, word) @ average

    joint = np.array([[weight(p + f) for f in futures] for p in pasts])
    shifted = np.array(
        [[0.0 if y == end else weight((*p, y, *f)) for y in range(form.n_symbols) for f in futures] for p in pasts]
    )
    start = np.array([form.evaluation @ product_of(form.operators, f) @ form.initial for f in futures])
    return Hankel(joint, shifted, start, None if end is None else np.array([weight((*p, end)) for p in pasts]))


def tuples(symbols, longest):
    return [word for length in range(longest + 1) for word in product(symbols, repeat=length)]


def stationary(model):
    return model.replace(initial=model.stationary_state())


@pytest.mark.parametrize(("seed", "n", "s"), [(0, 1, 2), (1, 2, 2), (2, 3, 3), (3, 3, 4), (4, 4, 4)])
def test_exact_statistics_of_an_hmm_give_every_word_its_probability(seed, n, s):
    model = stationary(random_hmm(np.random.default_rng(seed), n, s))
    every = tuples(range(s), 2)
    learned = realise(exact_hankel(model.linear, model.initial, every, every), n)
    assert learned.dimension == n
    assert_same_process(model, learned, longest=5, atol=1e-8)


def test_exact_statistics_of_an_hqmm_give_every_word_its_probability():
    model = stationary(random_hqmm(np.random.default_rng(5), 2, 4))
    every = tuples(range(4), 2)
    learned = realise(exact_hankel(model.linear, model.linear.initial, every, every), 4)
    assert_same_process(model, learned, longest=5, atol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_statistics_may_be_in_any_proportion(scale):
    model = stationary(random_hmm(np.random.default_rng(2), 3, 3))
    every = tuples(range(3), 2)
    exact = exact_hankel(model.linear, model.initial, every, every)
    scaled = Hankel(scale * exact.joint, scale * exact.shifted, 3 * scale * exact.start)
    assert_same_process(model, realise(scaled, 3), longest=4, atol=1e-8)


@pytest.mark.parametrize(("seed", "n", "s"), [(0, 1, 2), (1, 2, 3), (2, 3, 4)])
def test_exact_statistics_of_strings_give_every_string_its_probability(seed, n, s):
    """The last symbol is the end: words are counted over all the time before it."""
    end = s - 1
    model = random_hmm(np.random.default_rng(seed), n, s)
    going_on = model.linear.operators[:end].sum(axis=0)
    visits = np.linalg.solve(np.eye(n) - going_on, model.initial)
    pasts = tuples(range(end), 2)
    futures = pasts + [(*f, end) for f in tuples(range(end), 1)]
    hankel = exact_hankel(model.linear, visits, pasts, futures, end)
    learned = realise(hankel, n, alphabet=Alphabet(end, end=True))
    strings = [list(w) for w in tuples(range(end), 4)[1:]]
    strings += [[*w, end] for w in tuples(range(end), 4)]
    data = Sequences.from_arrays(
        np.concatenate(strings), np.cumsum([0, *map(len, strings)]), Alphabet(end, end=True)
    )
    np.testing.assert_allclose(
        learned.probability(data),
        model.replace(alphabet=data.alphabet).probability(data),
        rtol=0,
        atol=1e-8,
    )


def test_after_the_end_the_process_starts_again():
    data = Sequences(["ab", "b", "abb", "ba"] * 5, end=True)
    learned = learn_spectral(data, 2)
    end = data.alphabet.end
    after = learned.operators[end] @ learned.initial
    np.testing.assert_allclose(after / (learned.evaluation @ after), learned.initial, atol=1e-12)


def test_too_many_states_are_refused_with_the_rank():
    model = stationary(random_hmm(np.random.default_rng(1), 2, 2))
    every = tuples(range(2), 2)
    with pytest.raises(ModelError, match="rank 2; ask for at most 2"):
        realise(exact_hankel(model.linear, model.initial, every, every), 3)


def test_a_large_sparse_matrix_gives_the_same_process(monkeypatch):
    data = hmm_6_6().sample(20, 500, random_state=0)
    dense = learn_spectral(data, 4)
    monkeypatch.setattr(spectral, "_DENSE_ENTRIES", 0)
    sparse = learn_spectral(data, 4)
    np.testing.assert_allclose(
        [sparse.predict(w) for w in ([0], [1, 2])], [dense.predict(w) for w in ([0], [1, 2])], atol=1e-8
    )


# --- counting -------------------------------------------------------------------------------------------------


def counted_plainly(sequences, longest):
    """Weights of the windows that equal each word, and of all windows of each length; the end only comes last."""
    end, counts, windows = sequences.alphabet.end, Counter(), Counter()
    for row, weight in zip(sequences, sequences.weights, strict=True):
        row = tuple(int(y) for y in row)
        for length in range(2 * longest + 2):
            for t in range(len(row) - length + 1):
                word = row[t : t + length]
                after_end = end is not None and t > 0 and row[t - 1] == end
                if -1 in word or end in word[:-1] or after_end:
                    continue
                counts[word] += weight
                windows[length] += weight
    return counts, windows


def check_against_plain_counts(sequences, longest):
    s, end = len(sequences.alphabet), sequences.alphabet.end
    counts, windows = counted_plainly(sequences, longest)
    short = [word for word, count in counts.items() if len(word) <= longest and count > 0]
    pasts = sorted((w for w in short if end not in w), key=lambda w: (len(w), w))
    futures = sorted(short, key=lambda w: (len(w), w[::-1]))

    def share(word):
        return counts[word] / windows[0 if end is not None else len(word)]

    found = count_words(sequences, longest)
    joint = [[share(p + f) for f in futures] for p in pasts]
    np.testing.assert_allclose(found.joint.toarray(), joint, rtol=1e-12)
    shifted = [[share((*p, y, *f)) if y != end else 0 for y in range(s) for f in futures] for p in pasts]
    np.testing.assert_allclose(found.shifted.toarray(), shifted, rtol=1e-12)
    if end is None:
        np.testing.assert_array_equal(found.start, found.joint.toarray()[0])
        return
    np.testing.assert_allclose(found.closing, [share((*p, end)) for p in pasts], rtol=1e-12)
    known = [
        (tuple(row), weight)
        for row, weight in zip(sequences, sequences.weights, strict=True)
        if -1 not in row[:longest]
    ]
    start = [sum(weight for row, weight in known if row[: len(f)] == f) for f in futures]
    np.testing.assert_allclose(found.start, np.array(start) / sum(weight for _, weight in known), rtol=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 2), st.booleans())
def test_counts_agree_with_plain_ones(seed, s, longest, end):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, s, rng.integers(1, 12)) for _ in range(8)]
    rows.append(rng.integers(0, s, 9))
    for row in rows[:4]:
        row[rng.random(len(row)) < 0.2] = -1
    weights = rng.integers(0, 3, len(rows)) + (np.arange(len(rows)) == len(rows) - 1)
    check_against_plain_counts(Sequences(rows, alphabet=s, end=end, weights=weights), longest)


def test_a_word_seen_only_at_the_very_end_keeps_its_own_number():
    check_against_plain_counts(Sequences([[0, 0, 0, 0, 1, 2]]), 2)


def test_a_missing_symbol_parts_a_sequence_in_two():
    cut = count_words(Sequences([[0, 1, 1, 0, 1, 0], [1, 1, 0]]), 1)
    gap = count_words(Sequences([[0, 1, 1, 0, 1, 0, -1, 1, 1, 0]]), 1)
    np.testing.assert_allclose(gap.joint.toarray(), cut.joint.toarray(), rtol=1e-14)
    np.testing.assert_allclose(gap.shifted.toarray(), cut.shifted.toarray(), rtol=1e-14)


def test_sequences_too_short_for_the_words_are_refused():
    with pytest.raises(DataError, match="no sequence has 5 symbols in a row"):
        learn_spectral([[0, 1, 0, 1], [1, 0, -1, 0, 1]], 2)


def test_an_end_symbol_that_never_comes_is_refused():
    with pytest.raises(DataError, match="no sequence ends"):
        learn_spectral(Sequences.from_arrays(np.array([0, 1]), np.array([0, 2]), Alphabet(2, end=True)), 1)


def test_strings_whose_starts_are_all_missing_are_refused():
    with pytest.raises(DataError, match="every sequence has a missing symbol among its first 2"):
        learn_spectral(Sequences([[-1, 0, 1, 1], [0, -1, 1]], end=True), 1)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_states": 0}, ModelError, "n_states must be a whole number from 1 up"),
        ({"n_states": 1.5}, ModelError, "n_states must be a whole number from 1 up"),
        ({"n_states": 2, "longest": -1}, DataError, "longest must be at least 0"),
    ],
)
def test_sizes_below_one_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        learn_spectral([[0, 1, 1, 0, 1, 0]], **settings)


def test_statistics_of_strings_need_to_know_the_end():
    with pytest.raises(ModelError, match="an alphabet with an end symbol"):
        realise(count_words(Sequences(["ab", "b"], end=True)), 1)


# --- samples --------------------------------------------------------------------------------------------------


def test_more_data_bring_the_process_closer():
    model = stationary(HMM([[0.8, 0.3], [0.2, 0.7]], [[0.9, 0.2], [0.1, 0.8]]))
    truth = model.probability(words(2, 4))
    errors = [
        np.abs(learn_spectral(model.sample(50, length, random_state=1), 2).probability(words(2, 4)) - truth).max()
        for length in (100, 10_000)
    ]
    assert errors[1] < 0.003
    assert errors[1] < errors[0] / 3


def test_more_strings_bring_their_distribution_closer():
    model = HMM(
        [[0.7, 0.3], [0.3, 0.7]], [[0.8, 0.1], [0.1, 0.6], [0.1, 0.3]], [0.9, 0.1], alphabet=Alphabet(2, end=True)
    )
    strings = Sequences([[], *words(2, 3)], alphabet=2, end=True)
    truth = model.probability(strings)
    errors = [
        np.abs(learn_spectral(model.sample(count, random_state=1), 2).probability(strings) - truth).max()
        for count in (500, 50_000)
    ]
    assert errors[1] < 0.005
    assert errors[1] < errors[0] / 3


def test_one_state_is_the_frequency_of_each_symbol():
    data = Sequences([[0, 1, 2, 0, 0, 1, 2, 0, 0, 0]])
    learned = learn_spectral(data, 1, longest=1)
    np.testing.assert_allclose(learned.predict().sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(learned.predict([1]), learned.predict([0]), rtol=1e-12)


def test_spectral_learning_stands_between_a_bigram_and_the_truth():
    truth = hmm_6_6()
    train, test = truth.sample(20, 3000, random_state=0), truth.sample(10, 1000, random_state=1)
    learned = score_leniently(learn_spectral(train, 6), test, on_negative="clip", burn_in=10)
    bigram = MarkovChain.from_sequences(train, order=1).log_likelihood(test, 10).sum()
    assert bigram < learned.log_likelihood.sum() < truth.log_likelihood(test, 10).sum()


# --- negative probabilities -----------------------------------------------------------------------------------


def scored_plainly(oom, sequences, on_negative, floor, burn_in):
    """Symbol by symbol, straight from the definition."""
    T, sigma = oom.operators, oom.evaluation
    totals, counts = [], np.zeros(3, dtype=int)
    for row in sequences:
        x, total = oom.initial, 0.0
        for t, y in enumerate(row):
            if y == -1:
                x = T.sum(axis=0) @ x
                continue
            p = np.array([sigma @ T[z] @ x for z in range(len(T))])
            negative = p[y] < 0
            counts += [negative, np.any(p < 0), 1]
            p[p < 0] = floor
            if t >= burn_in:
                total += np.log(p[y] / p.sum())
            x = T[y] @ x / (sigma @ T[y] @ x)
            if negative and on_negative == "reset":
                x = oom.initial
        totals.append(total)
    return np.array(totals), *counts


def small_sample():
    data = hmm_6_6().sample(10, 60, random_state=3)
    return learn_spectral(data, 10), hmm_6_6().sample(30, 40, random_state=4)


@pytest.mark.parametrize("on_negative", ["clip", "reset"])
@pytest.mark.parametrize("burn_in", [0, 7])
def test_negative_probabilities_fire_on_small_samples_and_are_handled_as_named(on_negative, burn_in):
    oom, test = small_sample()
    found = score_leniently(oom, test, on_negative=on_negative, floor=1e-6, burn_in=burn_in)
    totals, n_negative, n_improper, n_symbols = scored_plainly(oom, test, on_negative, 1e-6, burn_in)
    np.testing.assert_allclose(found.log_likelihood, totals, rtol=1e-6)
    assert (found.n_negative, found.n_improper, found.n_symbols) == (n_negative, n_improper, n_symbols)
    assert 0 < found.n_negative < found.n_improper < n_symbols


@pytest.mark.parametrize("on_negative", ["clip", "reset"])
def test_ragged_sequences_with_missing_symbols_are_scored_as_one_by_one(on_negative):
    oom, test = small_sample()
    rng = np.random.default_rng(0)
    rows = [row[: rng.integers(1, 40)].copy() for row in test]
    for row in rows:
        row[rng.random(len(row)) < 0.1] = -1
    ragged = Sequences(rows, alphabet=6)
    found = score_leniently(oom, ragged, on_negative=on_negative)
    totals, *counts = scored_plainly(oom, ragged, on_negative, 1e-9, 0)
    np.testing.assert_allclose(found.log_likelihood, totals, rtol=1e-6)
    assert [found.n_negative, found.n_improper, found.n_symbols] == counts


def test_clipping_and_resetting_differ():
    oom, test = small_sample()
    clip, reset = (score_leniently(oom, test, on_negative=mode) for mode in ("clip", "reset"))
    assert not np.allclose(clip.log_likelihood, reset.log_likelihood)


def test_raising_names_the_sequence_and_the_position_that_the_model_does():
    oom, test = small_sample()
    first = next(
        row for row in range(len(test)) if score_leniently(oom, test[[row]], on_negative="clip").n_negative
    )
    with pytest.raises(NegativeProbabilityError) as usual:
        oom.log_likelihood(test[[first]])
    with pytest.raises(NegativeProbabilityError) as found:
        score_leniently(oom, test[[first]])
    assert (found.value.sequence, found.value.position) == (usual.value.sequence, usual.value.position)
    assert found.value.probability == pytest.approx(usual.value.probability)
    with pytest.raises(NegativeProbabilityError) as found:
        score_leniently(oom, Sequences.concatenate([Sequences([[0]], alphabet=6), test[[first]]]))
    assert found.value.sequence == 1


@given(st.integers(0, 10_000), st.integers(0, 3), st.sampled_from(["raise", "clip", "reset"]))
def test_a_valid_model_is_scored_as_ever(seed, burn_in, on_negative):
    rng = np.random.default_rng(seed)
    oom = random_oom(rng)
    data = Sequences([rng.integers(-1, 2, rng.integers(1, 9)) for _ in range(5)], alphabet=2)
    found = score_leniently(oom, data, on_negative=on_negative, burn_in=burn_in)
    np.testing.assert_allclose(found.log_likelihood, oom.log_likelihood(data, burn_in), atol=1e-10)
    assert (found.n_negative, found.n_improper) == (0, 0)
    assert found.n_symbols == np.count_nonzero(data.codes >= 0)


@pytest.mark.parametrize("burn_in", [0, 2])
def test_an_impossible_sequence_scores_minus_infinity(burn_in):
    oom = hqmm_2_6().to_oom()
    data = Sequences([[0, 1, 2, 2], [0, 2, 2, 2]], alphabet=6)
    found = score_leniently(oom, data, on_negative="clip", burn_in=burn_in)
    np.testing.assert_allclose(found.log_likelihood, oom.log_likelihood(data, burn_in), atol=1e-10)
    assert found.log_likelihood[0] == -np.inf
    assert found.n_symbols == 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on_negative": "ignore"}, "on_negative must be"),
        ({"floor": 0.0}, "floor must be positive"),
        ({"burn_in": -1}, "burn_in must not be negative"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        score_leniently(OOM([[[0.5]], [[0.5]]], [1.0]), [[0, 1]], **settings)


# --- predicting with negative probabilities -------------------------------------------------------------------


@pytest.mark.parametrize("on_negative", ["clip", "reset"])
def test_a_lenient_process_multiplies_up_to_the_lenient_score(on_negative):
    oom, test = small_sample()
    found = score_leniently(oom, test, on_negative=on_negative, floor=1e-6)
    assert found.n_negative > 0
    process = Lenient(oom.linear, on_negative == "reset", 1e-6)
    states, totals = process.start(len(test)), np.zeros(len(test))
    for codes in np.array(list(test)).T:
        probabilities = process.next_distribution(states)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        states, weights = process.advance(states, codes)
        np.testing.assert_array_equal(weights, probabilities[np.arange(len(test)), codes])
        totals += np.log(weights)
    np.testing.assert_allclose(totals, found.log_likelihood)


def test_fewer_states_are_kept_where_the_rank_is_lower():
    data = Sequences(["aaaaaaaa"], alphabet="ab")
    with pytest.raises(ModelError, match="n_states=2 is more than the data support"):
        learn_spectral(data, 2)
    assert learn_spectral(data, 2, at_most=True) == learn_spectral(data, 1)


def test_without_pasts_and_futures_there_is_one_state():
    model = learn_spectral(Sequences(["aab", "b"]), 3, longest=0, at_most=True)
    np.testing.assert_allclose(model.predict("b"), [0.5, 0.5])
    with pytest.raises(DataError, match="longest must be at least 1"):
        learn_spectral(Sequences(["aab", "b"], end=True), 1, longest=0)
