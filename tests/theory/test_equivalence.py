import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import unitary_group
from tests.zoo import ZOO, assert_same_process, plain_probability, random_hmm, random_hqmm, words

from hqmm import HMM, HQMM, OOM, DataError, MarkovChain, ModelError, Polar, Sequences, fit
from hqmm.datasets import hmm_6_6, hqmm_2_4, hqmm_2_6, probability_clock
from hqmm.learning import random_hybrid
from hqmm.theory import divergence_rate, equivalent, liouville_distance, minimize

seeds = st.integers(0, 10_000)
kinds = st.sampled_from(sorted(ZOO))


def coin(heads, alphabet=None):
    return HMM([[1.0]], [[heads], [1 - heads]], alphabet=alphabet)


def duplicated(hmm):
    """The same process, each state split into two that behave alike but are entered unevenly."""
    share = np.array([0.3, 0.7])
    transition = np.kron(hmm.transition, share[:, None] @ np.ones((1, 2)))
    return HMM(transition, np.repeat(hmm.emission, 2, axis=1), np.kron(hmm.initial, share))


@pytest.mark.parametrize("seed", range(3))
def test_a_learned_model_which_makes_most_words_nearly_impossible_is_equivalent_to_its_conversions(seed):
    dna = Sequences(["GATTACA", "ACGTACGT", "CCCGGG", "TTTACG", "ACGT"])
    learned = fit(Polar(max_iter=30), random_hybrid(3, 2, dna.alphabet), dna, random_state=seed).model
    assert equivalent(learned, learned.to_hqmm())
    assert equivalent(learned, minimize(learned))


@given(seed=seeds, kind=kinds, n=st.integers(1, 3), s=st.integers(1, 3))
def test_a_model_is_equivalent_to_itself_in_another_basis(seed, kind, n, s):
    rng = np.random.default_rng(seed)
    model = ZOO[kind](rng, n, s)
    form = model.linear
    change = np.eye(form.dimension) + 0.3 * rng.normal(size=(form.dimension, form.dimension))
    inverse = np.linalg.inv(change)
    other = OOM(
        change @ form.operators @ inverse, change @ form.initial, form.evaluation @ inverse, check_length=0
    )
    assert equivalent(model, other)
    assert equivalent(other, model)


@given(seed=seeds, n=st.integers(1, 4), s=st.integers(1, 4))
def test_permuting_and_splitting_states_changes_nothing(seed, n, s):
    rng = np.random.default_rng(seed)
    model = random_hmm(rng, n, s)
    order = rng.permutation(n)
    permuted = HMM(model.transition[order][:, order], model.emission[:, order], model.initial[order])
    assert equivalent(model, permuted)
    assert equivalent(model, duplicated(permuted))


@given(seed=seeds, kind=kinds, size=st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_a_small_change_is_noticed_and_its_witness_is_right(seed, kind, size):
    rng = np.random.default_rng(seed)
    model = ZOO[kind](rng, 2, 2)
    form = model.linear
    operators = form.operators.copy()
    # Moving weight between symbols keeps the sum: the next-symbol distribution of some reachable state changes.
    operators[0] *= 1 - size
    operators[1] += form.operators[0] * size
    changed = OOM(operators, form.initial, form.evaluation, check_length=0)
    answer = equivalent(model, changed)
    assert not answer
    p, q = answer.probabilities
    assert p == pytest.approx(plain_probability(model, answer.witness), abs=1e-13)
    assert q == pytest.approx(plain_probability(changed, answer.witness), abs=1e-13)
    assert abs(p - q) > 1e-9 * max(p, q)


@given(seed=seeds, s=st.integers(1, 3))
def test_two_random_models_differ_as_enumeration_says(seed, s):
    rng = np.random.default_rng(seed)
    a, b = random_hmm(rng, 2, s), random_hqmm(rng, 2, s)
    answer = equivalent(a, b)
    gaps = [abs(plain_probability(a, word) - plain_probability(b, word)) for word in words(s, 3)]
    assert bool(answer) == (max(gaps) < 1e-12)
    if not answer:
        for word in words(s, len(answer.witness) - 1):
            assert plain_probability(a, word) == pytest.approx(plain_probability(b, word), abs=1e-7)


def test_the_witness_is_a_shortest_one_in_the_symbols_of_the_alphabet():
    # Symbols of a fair coin, except that the copy breaks the rule at the fifth step.
    walk = np.eye(5, k=-1)
    walk[4, 4] = 1
    fair = np.full((2, 5), 0.5)
    bent = fair.copy()
    bent[:, 4] = [0.4, 0.6]
    start = [1, 0, 0, 0, 0]
    a, b = (HMM(walk, emission, start, alphabet="HT") for emission in (fair, bent))
    answer = equivalent(a, b)
    assert len(answer.witness) == 4  # the state moves, then emits: the fourth symbol comes from the last state
    assert set(answer.witness) <= {"H", "T"}
    assert abs(answer.probabilities[0] - answer.probabilities[1]) == pytest.approx(0.5**3 * 0.1)


def test_a_difference_in_a_rare_event_is_noticed():
    # With probability 1e-9 the process enters a state that the two models describe differently.
    def model(p):
        return HMM([[1 - 1e-9, 0], [1e-9, 1]], [[0.5, 0], [0.5, p], [0, 1 - p]], [1, 0])

    assert not equivalent(model(0.5), model(0.6))
    assert equivalent(model(0.5), model(0.5))


def test_a_difference_behind_improbable_steps_is_noticed():
    # Symbol 1 leads down a corridor of twelve steps, each of probability 0.001; only its end makes a difference.
    def model(p):
        operators = np.zeros((3, 13, 13))
        operators[0, 0, :12] = 1 - 1e-3
        operators[1] = np.diag(np.full(12, 1e-3), -1)
        operators[0, 0, 12], operators[2, 0, 12] = p, 1 - p
        return OOM(operators, np.eye(13)[0])

    answer = equivalent(model(0.5), model(0.6))
    assert answer.witness == [1] * 12 + [0]
    assert answer.probabilities == pytest.approx((0.5e-36, 0.6e-36))


def test_a_difference_two_rare_steps_away_is_noticed():
    # With probability 1e-6 the process takes a way that looks the same at first; only its end is different.
    def model(p):
        way = [[1 - 1e-6, 0, 0], [1e-6, 0, 0], [0, 1, 1]]
        return HMM(way, [[0.5, 0.5, 0], [0.5, 0.5, p], [0, 0, 1 - p]], [1, 0, 0])

    answer = equivalent(model(0.5), model(0.6))
    assert len(answer.witness) == 2
    for p, found in zip((0.5, 0.6), answer.probabilities, strict=True):
        assert found == pytest.approx(plain_probability(model(p), answer.witness))
    assert equivalent(model(0.5), model(0.5))


@pytest.mark.parametrize("size", [1e-8, 1, 1e8])
def test_how_weight_is_shared_between_state_and_functional_means_nothing(size):
    def model(heads):
        return OOM([[[heads]], [[1 - heads]]], [1 / size], [size])

    assert equivalent(model(0.5), coin(0.5))
    assert equivalent(model(0.5), model(0.5))
    assert not equivalent(model(0.5), coin(0.5 + 1e-7))
    assert not equivalent(model(0.5), model(0.5 + 1e-7))


def test_a_small_change_is_noticed_in_a_stretched_basis():
    # States are far longer than their weight: probabilities are compared with each other, not with these.
    form = random_hmm(np.random.default_rng(2), 3, 2).linear
    onto = np.full((3, 3), 1 / 3)
    stretch, shrink = onto + 1e4 * (np.eye(3) - onto), onto + 1e-4 * (np.eye(3) - onto)
    operators = form.operators * np.array([1 - 1e-6, 1])[:, None, None]
    operators[1] += 1e-6 * form.operators[0]
    a, b = (
        OOM(stretch @ T @ shrink, stretch @ form.initial, form.evaluation @ shrink)
        for T in (form.operators, operators)
    )
    assert not equivalent(a, b, tol=1e-7)
    assert equivalent(a, b, tol=1e-3)


def test_impossible_and_possible_sequences_differ():
    never, sometimes = coin(1.0), coin(1 - 1e-9)
    assert equivalent(never, sometimes).probabilities == (0.0, pytest.approx(1e-9))


def test_rounding_is_no_difference():
    rng = np.random.default_rng(0)
    form = hmm_6_6().linear
    noisy = OOM(form.operators * (1 + 1e-14 * rng.normal(size=form.operators.shape)), form.initial, np.ones(6))
    assert equivalent(hmm_6_6(), noisy)


@pytest.mark.parametrize(
    "convert",
    [
        lambda: (probability_clock(), probability_clock().to_oom()),
        lambda: (probability_clock(), probability_clock().to_hqmm()),
        lambda: (probability_clock().to_hqmm(), probability_clock().to_oom().standard()),
        lambda: (hmm_6_6(), hmm_6_6().to_hqmm()),
        lambda: (hqmm_2_6(), hqmm_2_6().to_oom("liouville")),
    ],
)
def test_conversions_are_equivalent(convert):
    a, b = convert()
    assert equivalent(a, b)


def test_different_alphabets_are_refused():
    with pytest.raises(ModelError, match=r"different alphabets.*'A', 'B'"):
        equivalent(coin(0.5, "AB"), coin(0.5, "BA"))


@given(seed=seeds, n=st.integers(1, 3), s=st.integers(2, 4))
def test_split_states_are_merged_again(seed, n, s):
    model = random_hmm(np.random.default_rng(seed), n, s)
    smallest = minimize(duplicated(model))
    assert smallest.dimension <= n
    assert smallest.dimension == minimize(model).dimension
    assert_same_process(model, smallest)


@given(seed=seeds, kind=kinds)
def test_minimising_keeps_the_process_and_its_alphabet(seed, kind):
    model = ZOO[kind](np.random.default_rng(seed), 2, 2).replace(alphabet="xy")
    smallest = minimize(model)
    assert smallest.alphabet == model.alphabet
    for word in words(2, 4):
        assert plain_probability(smallest, word) == pytest.approx(plain_probability(model, word), abs=1e-11)


def test_the_smallest_models_of_the_papers_processes():
    assert minimize(probability_clock()).dimension == 3  # symmetric 2×2 matrices
    assert minimize(hqmm_2_6()).dimension == 4
    assert minimize(hqmm_2_4()).dimension == 3  # no y component of the spin is ever reached
    assert minimize(hmm_6_6()).dimension == 6


def test_rank_one_projectors_reduce_to_a_markov_chain():
    # Every symbol of the (2, 6) model is a measurement that leaves a pure state: a first-order Markov chain.
    model = hqmm_2_6()
    rows = np.array([model.predict([y]) for y in range(6)])
    start = model.predict()
    chain = MarkovChain(np.vstack([start, rows]), np.tile(np.arange(1, 7), (7, 1)))
    assert equivalent(model, chain)


def test_a_coin_of_any_size_has_dimension_one():
    assert minimize(HMM([[0.9, 0.2], [0.1, 0.8]], [[0.3, 0.3], [0.7, 0.7]])).dimension == 1


def test_liouville_distance_ignores_how_a_map_is_split_but_not_the_basis():
    rng = np.random.default_rng(1)
    model = random_hqmm(rng, 2, 2, 2)
    mixed = HQMM(np.einsum("vw,swij->svij", unitary_group.rvs(2, random_state=rng), model.kraus), model.initial)
    assert liouville_distance(model, mixed) < 1e-14
    u = unitary_group.rvs(2, random_state=rng)
    turned = HQMM(u @ model.kraus @ u.conj().T, u @ model.initial @ u.conj().T)
    assert liouville_distance(model, turned) > 0.1
    assert equivalent(model, turned)


def test_liouville_distance_is_the_root_of_the_summed_squares():
    # K = √p I for each symbol: L = p I, a 4×4 matrix.
    def model(p):
        return HQMM(np.array([[np.sqrt(p) * np.eye(2)], [np.sqrt(1 - p) * np.eye(2)]]))

    assert liouville_distance(model(0.5), model(0.3)) == pytest.approx(np.sqrt(4 * 0.2**2 * 2))


def test_liouville_distance_needs_one_dimension():
    with pytest.raises(ModelError, match=r"\(2, 4, 4\) and \(6, 4, 4\)"):
        liouville_distance(random_hqmm(np.random.default_rng(0)), hqmm_2_6())


def test_liouville_distance_is_one_of_hqmms():
    spin = hqmm_2_6()
    for pair, message in (
        ((hmm_6_6(), spin), "a must be an HQMM, not HMM"),
        ((spin, spin.to_hybrid()), "b must be"),
    ):
        with pytest.raises(ModelError, match=message):
            liouville_distance(*pair)


def test_the_divergence_rate_of_two_coins():
    exact = 0.5 * np.log(0.5 / 0.4) + 0.5 * np.log(0.5 / 0.6)
    rate = divergence_rate(coin(0.5), coin(0.4), random_state=1)
    assert abs(rate.value - exact) < 4 * rate.error
    # One symbol's gain has the standard deviation ½ log(.6/.4); there are 100 × 1000 of them.
    assert rate.error == pytest.approx(0.5 * np.log(1.5) / np.sqrt(1e5), rel=0.3)


@pytest.mark.parametrize("burn_in", [0, 50])
def test_the_divergence_rate_of_two_markov_chains(burn_in):
    P, Q = np.array([[0.9, 0.4], [0.1, 0.6]]), np.array([[0.7, 0.5], [0.3, 0.5]])
    a, b = (HMM(matrix, np.eye(2), [0.8, 0.2]) for matrix in (P, Q))
    exact = np.sum([0.8, 0.2] * P * np.log(P / Q))  # (.8, .2) is stationary for P
    rate = divergence_rate(a, b, n_sequences=200, length=400, burn_in=burn_in, random_state=2)
    assert abs(rate.value - exact) < 4 * rate.error
    assert 0 < rate.error < 0.01


def test_burn_in_leaves_out_what_the_initial_states_contribute():
    # Two models that differ only in where they start, and soon forget it.
    a, b = (HMM([[0.9, 0.4], [0.1, 0.6]], np.eye(2), start) for start in ([1, 0], [0.01, 0.99]))
    assert divergence_rate(a, b, length=30, random_state=0).value > 1e-3
    assert divergence_rate(a, b, length=30, burn_in=1, random_state=0).value == pytest.approx(0, abs=1e-12)


def test_the_divergence_of_a_model_from_itself_is_zero():
    rate = divergence_rate(hqmm_2_6(), hqmm_2_6().to_oom(), n_sequences=3, length=50, random_state=0)
    assert rate.value == pytest.approx(0, abs=1e-12)


def test_an_impossible_sequence_makes_the_divergence_infinite():
    assert divergence_rate(coin(0.5), coin(1.0), n_sequences=2, length=50).value == np.inf


def test_models_with_an_end_symbol_are_averaged_over_their_own_lengths():
    def model(stop):
        return HMM([[1.0]], [[1 - stop], [stop]], alphabet=["a", "<end>"])

    exact = 0.25 * np.log(0.25 / 0.5) + 0.75 * np.log(0.75 / 0.5)  # each symbol is a coin toss
    rate = divergence_rate(model(0.25), model(0.5), n_sequences=4000, random_state=3)
    assert abs(rate.value - exact) < 4 * rate.error
    runs = [divergence_rate(model(0.25), model(0.5), n_sequences=200, random_state=seed) for seed in range(200)]
    spread = np.std([run.value for run in runs])
    assert np.mean([run.error for run in runs]) == pytest.approx(spread, rel=0.15)


def test_the_same_seed_gives_the_same_estimate():
    runs = [divergence_rate(coin(0.5), coin(0.4), 5, 20, random_state=7) for _ in range(2)]
    assert runs[0] == runs[1]
    assert str(runs[0]).count("±") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_sequences": 1}, "n_sequences must be at least 2, but is 1"),
        ({"n_sequences": 2.5}, "n_sequences must be a whole number"),
        ({"length": "long"}, "length must be a whole number, not 'long'"),
        ({"burn_in": 10, "length": 10}, "length − 1 = 9"),
        ({"burn_in": -1}, "-1"),
    ],
)
def test_senseless_sample_sizes_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        divergence_rate(coin(0.5), coin(0.4), **arguments)
