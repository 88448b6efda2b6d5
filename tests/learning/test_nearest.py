"""Starts made from models of other classes are near them, and better than random ones."""

import numpy as np
import pytest
from tests.zoo import assert_same_process

from hqmm import HMM, HQMM, DataError, HybridHQMM, MarkovChain, ModelError, Sequences
from hqmm.datasets import hmm_6_6, hqmm_2_6, probability_clock
from hqmm.learning import Polar, fit, nearest_hqmm, random_hqmm, start_from, start_from_counts
from hqmm.learning.spectral import learn_spectral

TRAIN = hmm_6_6().sample(40, 200, random_state=0)
TEST = hmm_6_6().sample(20, 200, random_state=1)


def score(model, data=TEST):
    return model.log_likelihood(data, 10).sum() / (data.n_symbols - 10 * len(data))


def mean_over_seeds(start, finish=lambda model: model):
    return np.mean([score(finish(start(np.random.default_rng(seed)))) for seed in range(4)])


@pytest.mark.parametrize(("n", "w"), [(2, 1), (3, 2)])
def test_a_start_near_a_spectral_model_is_better_than_a_random_one_and_stays_so(n, w):
    near, drawn = start_from(learn_spectral(TRAIN, 6), n, w), random_hqmm(n, 6, w)

    def a_few_passes(model):
        return fit(Polar(sweeps=0), model, TRAIN, burn_in=10, max_iter=8, threads=1).model

    assert mean_over_seeds(near) > mean_over_seeds(drawn) + 0.1
    assert mean_over_seeds(near, a_few_passes) > mean_over_seeds(drawn, a_few_passes)


@pytest.mark.parametrize(("true", "share"), [(hqmm_2_6(), 0.95), (probability_clock(), 0.4)])
def test_an_hqmm_is_partly_found_again_in_its_oom(true, share):
    data = true.sample(20, 100, random_state=0)
    best = max(score(nearest_hqmm(true.to_oom(), 2, random_state=seed), data) for seed in range(8))
    guess = -np.log(true.n_symbols)
    assert best > guess + share * (score(true, data) - guess)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_an_n_gram_becomes_a_start(order):
    chain = MarkovChain.from_sequences(TRAIN, order)
    model = start_from(chain, n_states=3, kraus_rank=2)(np.random.default_rng(0))
    assert (model.n_states, model.kraus_rank) == (3, 2)
    assert score(model) > score(random_hqmm(3, 6, 2)(np.random.default_rng(0)))
    labelled = start_from(chain, n_blocks=chain.n_contexts + 1, noise=1e-9)(np.random.default_rng(0))
    assert score(labelled) == pytest.approx(score(chain), abs=1e-6)


def test_an_hmm_that_is_small_enough_becomes_an_hqmm_as_it_is():
    small = HMM([[0.9, 0.2], [0.1, 0.8]], [[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]])
    model = start_from(small, n_states=2, kraus_rank=2, noise=1e-9)(np.random.default_rng(0))
    assert isinstance(model, HQMM)
    assert_same_process(small, model, atol=1e-7)
    larger = start_from(small, n_states=2, kraus_rank=2, n_blocks=4, noise=1e-9)(np.random.default_rng(0))
    assert isinstance(larger, HybridHQMM)
    assert_same_process(small, larger, atol=1e-7)


def test_labels_that_are_dropped_are_those_seldom_visited():
    often, seldom = [0.48, 0.48, 0.04], [0.5, 0.49, 0.01]
    chain = HMM(np.array([often, often, seldom]).T, np.eye(3))
    model = start_from(chain, n_blocks=2, noise=1e-9)(np.random.default_rng(0))
    assert model.predict()[2] < 1e-6


def test_a_chain_whose_first_context_is_dropped_becomes_a_start():
    """The context of every first symbol is the empty one, which is left at once and seldom visited."""
    data = [[0, 1, 2, 0, 1, 2, 0, 1]] * 3 + [[2, 1, 0, 0, 1, 2, 2]]
    model = start_from(MarkovChain.from_sequences(data, 2), n_blocks=4)(np.random.default_rng(0))
    np.testing.assert_allclose(model.initial[:, 0, 0], np.full(4, 0.25))


def test_an_oom_that_leads_itself_astray_still_gives_a_model():
    clumsy = learn_spectral(probability_clock().sample(10, 50, random_state=3), 4)
    for seed in range(5):
        model = nearest_hqmm(clumsy, 3, 2, random_state=seed)
        assert np.all(np.isfinite(model.kraus))


def test_a_model_without_memory_gives_its_frequencies():
    coin = MarkovChain.from_sequences([[0, 0, 0, 1]] * 10, 0)
    assert nearest_hqmm(coin, 1, random_state=0).predict()[0] == pytest.approx(coin.predict()[0], abs=1e-5)
    assert nearest_hqmm(coin, 2, random_state=0).predict()[0] == pytest.approx(coin.predict()[0], abs=0.02)


def test_the_same_seed_makes_the_same_start():
    oom = hmm_6_6().to_oom()
    assert nearest_hqmm(oom, 2, random_state=3) == nearest_hqmm(oom, 2, random_state=3)
    assert nearest_hqmm(oom, 2, random_state=3) != nearest_hqmm(oom, 2, random_state=4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: start_from(hmm_6_6(), n_states=0), "n_states must be"),
        (lambda: start_from(hmm_6_6(), kraus_rank=0), "kraus_rank must be"),
        (lambda: start_from_counts([[0, 1]], n_states=1.5), "n_states must be"),
        (lambda: start_from_counts([[0, 1]], 2, kraus_rank="auto"), "kraus_rank must be"),
        (lambda: start_from(hmm_6_6().to_oom(), n_blocks=3), "no labels"),
        (lambda: start_from(hqmm_2_6(), n_blocks=3)(np.random.default_rng(0)), "ask for as many"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ModelError, match=message):
        call()


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.nan])
def test_noise_that_makes_no_sense_is_refused_at_once(wrong):
    for call in (
        lambda: start_from(hmm_6_6(), n_blocks=7, noise=wrong),
        lambda: start_from_counts([[0]], 2, noise=wrong),
        lambda: nearest_hqmm(hmm_6_6().to_oom(), 2, noise=wrong),
    ):
        with pytest.raises(DataError, match="noise must be a number from 0 to 1"):
            call()


def test_counting_avoids_poor_optima_of_one_operator():
    """With one operator for each symbol full passes alone are soon caught, from random starts."""

    def ends(start):
        learner = Polar(sweeps=0, max_iter=20)
        fits = [fit(learner, start, TRAIN, burn_in=10, random_state=seed, threads=1) for seed in range(3)]
        return np.mean([one.score for one in fits])

    assert ends(start_from_counts(TRAIN, 4)) > ends(random_hqmm(4, 6)) + 0.004


@pytest.mark.parametrize(
    "data",
    [
        Sequences([[0, 0, 0, 0]] * 4, alphabet=3),  # one symbol only
        Sequences([[0, 1, 2]] * 4, alphabet=3),  # all alike
        Sequences([[0]], alphabet=3),
        Sequences([[2], [1, 2]], alphabet=3),
        Sequences([[0, -1, 1]], alphabet=3),
        Sequences([[0, 1]] * 3, alphabet=2, end=True),
    ],
)
def test_data_too_poor_to_count_still_give_a_start(data):
    model = start_from_counts(data, 3, 2)(np.random.default_rng(0))
    assert (model.n_states, model.kraus_rank) == (3, 2)
    assert np.all(np.isfinite(model.log_likelihood(data)))
