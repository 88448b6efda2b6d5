from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import plain_probability, words

from hqmm import Alphabet, MarkovChain, ModelError, Sequences

corpora = st.lists(st.lists(st.integers(-1, 2), min_size=1, max_size=7), min_size=1, max_size=5)


def witten_bell(data, weights, order, s):
    """P(y | history) straight from the definition, with counts in dictionaries."""
    counts = defaultdict(lambda: np.zeros(s))
    for row, weight in zip(data, weights, strict=True):
        tape = ["start", *row]
        for t in range(1, len(tape)):
            for length in range(min(order, t) + 1):
                context = tuple(tape[t - length : t])
                if tape[t] != -1 and -1 not in context:
                    counts[context][tape[t]] += weight

    def probability(y, history):
        context = tuple(["start", *history][-order:]) if order else ()

        def interpolate(context):
            below = interpolate(context[1:]) if context else np.full(s, 1 / s)
            count = counts[context] if context in counts else np.zeros(s)
            mass = count.sum() + (count > 0).sum()
            return (count + (count > 0).sum() * below) / mass if mass else below

        return interpolate(context)[y]

    return probability


@given(data=corpora, order=st.integers(0, 4), word=st.lists(st.integers(0, 2), min_size=1, max_size=6))
def test_witten_bell_is_its_definition(data, order, word):
    weights = np.arange(1, len(data) + 1)
    chain = MarkovChain.from_sequences(Sequences(data, alphabet=3, weights=weights), order)
    probability = witten_bell(data, weights, order, 3)
    expected = sum(np.log(probability(y, word[:t])) for t, y in enumerate(word))
    np.testing.assert_allclose(chain.log_likelihood([word])[0], expected, rtol=1e-9)


@given(data=corpora, order=st.integers(0, 3), smoothing=st.sampled_from(["witten-bell", 0.5]))
def test_the_walk_the_sparse_states_and_the_dense_operators_agree(data, order, smoothing):
    from hqmm import engine

    chain = MarkovChain.from_sequences(Sequences(data, alphabet=3), order, smoothing)
    probes = Sequences([[0, 1, 2, 0], [2, 2], [1, 0, 1, 1, 0]], alphabet=3)
    dense = engine.log_likelihood(chain.linear, probes, burn_in=1)
    np.testing.assert_allclose(chain.log_likelihood(probes, burn_in=1), dense, rtol=1e-9)
    gaps = Sequences([[0, -1, 2, 0], [-1, -1, 1]], alphabet=3)
    np.testing.assert_allclose(chain.log_likelihood(gaps), engine.log_likelihood(chain.linear, gaps), rtol=1e-9)


def test_a_score_does_not_depend_on_what_stands_beside():
    """Many sequences are walked side by side, few one by one, those with missing symbols on their own."""
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 3, length) for length in rng.integers(1, 9, 1200)]
    rows[7], rows[1100] = [-1, 0, 0, 1, 2], [2, 1, 0, 0, -1]
    chain = MarkovChain.from_sequences(Sequences(rng.integers(0, 3, (40, 9))), order=2)
    data = Sequences(rows, alphabet=3)
    for together in (data, data[8:1100]):
        alone = [chain.log_likelihood(together[i : i + 1], burn_in=1)[0] for i in range(len(together))]
        np.testing.assert_allclose(chain.log_likelihood(together, burn_in=1), alone, rtol=1e-12)
    expected = [plain_probability(chain, word) for word in words(3, 7)]  # enough of them to walk side by side
    np.testing.assert_allclose(chain.probability(words(3, 7)), expected, rtol=1e-12)


def test_a_million_symbols_do_not_underflow():
    chain = MarkovChain.from_transition([[0.7, 0.2], [0.3, 0.8]], [0.4, 0.6])
    sequence = np.tile([0, 1, 1, 0], 250_000)
    expected = np.log(0.4) + 249_999 * np.log(0.7) + 250_000 * np.log(0.3 * 0.8 * 0.2)
    np.testing.assert_allclose(chain.log_likelihood(sequence[None])[0], expected, rtol=1e-10)


def test_a_given_alphabet_is_kept_whatever_form_the_data_have():
    for data in (["aab"], Sequences(["aab"]), Sequences(["aab"], alphabet="cab")):
        assert MarkovChain.from_sequences(data, alphabet="abc") == MarkovChain.from_sequences(
            Sequences(["aab"], alphabet="abc")
        )
    assert MarkovChain.from_sequences(Sequences(["aab"], alphabet="cab")).alphabet == Alphabet("cab")


def test_an_alphabet_with_an_end_symbol_closes_raw_sequences():
    strings = Alphabet("ab", end=True)
    expected = MarkovChain.from_sequences(Sequences(["aab", ""], alphabet="ab", end=True))
    for data in (["aab", ""], [["a", "a", "b", "<end>"], []]):
        assert MarkovChain.from_sequences(data, alphabet=strings) == expected
    cut = Sequences(["aab"], alphabet=strings)
    assert MarkovChain.from_sequences(cut, alphabet=strings, smoothing=0).predict("aab")[2] != 1


def test_without_smoothing_counts_are_frequencies():
    chain = MarkovChain.from_sequences(["aab", "ab"], order=1, smoothing=0)
    np.testing.assert_allclose(chain.predict("a"), [1 / 3, 2 / 3])
    np.testing.assert_allclose(chain.predict(), [1, 0])
    assert chain.log_likelihood(["b"])[0] == -np.inf
    assert chain.log_likelihood(["ba"], burn_in=1)[0] == -np.inf  # an impossible burn-in is impossible


def test_the_true_chain_is_found_again():
    transition = np.array([[0.7, 0.2, 0.5], [0.2, 0.5, 0.1], [0.1, 0.3, 0.4]])
    truth = MarkovChain.from_transition(transition, [0.2, 0.3, 0.5])
    found = MarkovChain.from_sequences(truth.sample(50, 2000, random_state=0), order=1)
    for y in range(3):
        np.testing.assert_allclose(found.predict([y]), transition[:, y], atol=0.01)


def test_a_large_chain_scores_though_its_operators_would_not_fit():
    rng = np.random.default_rng(0)
    data = Sequences(rng.integers(0, 20, (400, 100)))
    chain = MarkovChain.from_sequences(data, order=3)
    assert chain.n_contexts > 7000
    assert np.all(np.isfinite(chain.log_likelihood(data)))
    assert chain.sample(2, 50, random_state=0).n_symbols == 100
    assert chain.forecast([1, 2, 3], 2).shape == (2, 20)
    with pytest.raises(ModelError, match="too large for dense operators"):
        chain.linear


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": -1}, "order must not be negative"),
        ({"order": 1.0}, "order must be a whole number, not 1.0"),
        ({"smoothing": -1}, "from 0 up"),
        ({"smoothing": "kneser-ney"}, "'kneser-ney'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        MarkovChain.from_sequences(["ab"], **options)
