"""Learning from a stream: batches that come once, and a state carried from one to the next."""

import numpy as np
import pytest

from hqmm import HQMM, FileFormatError, Sequences
from hqmm.channels import nearest_isometry
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.engine.kraus import kraus_gradient
from hqmm.learning import Polar, fit, random_hqmm, random_hybrid
from hqmm.learning.checkpoint import load_state, save_state
from hqmm.learning.stiefel import polar
from hqmm.learning.stiefel_learner import StiefelState
from hqmm.learning.task import Task

TRUE = hmm_6_6()
BATCHES = [Task(TRUE.sample(20, 50, random_state=seed)) for seed in range(60)]
TEST = TRUE.sample(20, 300, random_state=99)


def absorbed(learner, model, batches):
    state = learner.open(model, batches[0])
    for batch in batches:
        state = learner.absorb(state, batch)
    return state


def score(model):
    return model.log_likelihood(TEST).sum() / TEST.n_symbols


def test_a_batch_moves_kappa_towards_the_polar_factor_of_the_average():
    start = random_hqmm(2, 6, 2)(np.random.default_rng(0))
    learner, batch = Polar(memory=(0.6, 0.6), learn_initial=False), BATCHES[0]
    state = absorbed(learner, start, [batch])
    kappa = start.kraus.reshape(-1, 2)
    G = kraus_gradient(start.kraus, start.initial, batch.data).kraus.reshape(-1, 2)
    average = 0.6 * kappa / 2 + 0.4 * G / batch.data.n_symbols
    np.testing.assert_allclose(state.gradient[0][0], average, atol=1e-12)
    np.testing.assert_allclose(state.point[0][0], polar(kappa + 0.5 * (polar(average) - kappa)), atol=1e-8)
    assert state.objective == pytest.approx(start.log_likelihood(batch.data).sum() / batch.data.n_symbols)


@pytest.mark.parametrize("start", [random_hqmm(3, 6, 2), random_hybrid(3, 2, 6)])
def test_a_stream_comes_close_to_what_all_data_at_once_would_give(start):
    learner, model = Polar(), start(np.random.default_rng(1))
    streamed = learner.model(absorbed(learner, model, BATCHES), BATCHES[0])
    everything = TRUE.sample(1200, 50, random_state=7)
    at_once = fit(learner, model, everything, max_iter=20, random_state=0).model
    assert score(streamed) > score(at_once) - 0.02
    assert score(streamed) > score(model) + 0.1


def test_a_learned_model_survives_the_first_batch_of_a_stream():
    """The running average starts as though the model's own data had gone before."""
    tiny = Task(hqmm_2_6().sample(1, 10, random_state=0))
    learner = Polar()
    after = learner.model(absorbed(learner, hqmm_2_6(), [tiny]), tiny)
    forgetful = learner.model(learner.absorb(_without_memory(learner, tiny), tiny), tiny)
    moved, thrown = (np.linalg.norm(model.kraus - hqmm_2_6().kraus) for model in (after, forgetful))
    assert moved < 0.7 * thrown


def _without_memory(learner, task):
    from dataclasses import replace

    state = learner.open(hqmm_2_6(), task)
    return replace(state, gradient=tuple(0 * part for part in state.gradient))


def test_a_saved_state_goes_on_bit_for_bit(tmp_path):
    learner, start = Polar(), random_hqmm(2, 6)(np.random.default_rng(0))
    whole = absorbed(learner, start, BATCHES[:6])
    half = absorbed(learner, start, BATCHES[:3])
    save_state(tmp_path / "state", half)
    state = load_state(tmp_path / "state", half)
    for batch in BATCHES[3:6]:
        state = learner.absorb(state, batch)
    assert state.absorbed == whole.absorbed == 6
    for mine, theirs in zip(state.point + state.gradient, whole.point + whole.gradient, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    save_state(tmp_path / "other", StiefelState(point=half.point))
    with pytest.raises(FileFormatError, match="does not hold a PolarState"):
        load_state(tmp_path / "other", half)


def test_an_impossible_batch_teaches_nothing():
    start = random_hqmm(2, 6)(np.random.default_rng(0))
    learner = Polar()
    kraus = start.kraus * np.array([0, 1, 1, 1, 1, 1])[:, None, None, None]
    kraus = nearest_isometry(kraus)
    kraus[0] = 0  # exactly, not up to rounding
    blind = HQMM(kraus, start.initial)
    never = Task(Sequences([[0, 0]], alphabet=6))
    state = learner.absorb(learner.open(blind, never), never)
    assert state.n_zero == 1
    np.testing.assert_allclose(learner.model(state, never).kraus, blind.kraus, atol=1e-9)


def test_a_prior_fades_as_the_stream_goes_on():
    """All batches alike: in the end κ is what the pseudo-counts and all counts together make of it."""
    coin = HQMM(np.sqrt([0.5, 0.5])[:, None, None, None])
    batch = Task(Sequences([[0, 0, 0, 1]] * 5, alphabet=2))
    learner, first = Polar(prior=10.0), Polar()
    once = learner.model(absorbed(learner, coin, [batch]), batch).predict()[0]
    plain = first.model(absorbed(first, coin, [batch]), batch).predict()[0]
    assert 0.5 < once < plain
    after = learner.model(absorbed(learner, coin, [batch] * 300), batch).predict()[0]
    assert after == pytest.approx((10 + 15 * 300) / (20 + 20 * 300), abs=2e-3)
    assert after < 0.75
