from dataclasses import fields

import numpy as np
import pytest

from hqmm import DataError, Sequences
from hqmm.datasets import hqmm_2_6
from hqmm.learning import COSM, fit, random_hqmm, random_noom
from hqmm.learning.adam import RiemannianAdam
from hqmm.learning.checkpoint import Checkpoint
from hqmm.learning.quasi_newton import RiemannianLBFGS
from hqmm.learning.stiefel import adjoint
from hqmm.learning.task import Task


@pytest.fixture(scope="module")
def data():
    return hqmm_2_6().sample(30, 60, random_state=0)


@pytest.mark.parametrize("options", [{"batch_size": None, "max_iter": 300}, {"batch_size": 5, "max_iter": 60}])
def test_it_ends_near_the_limit_of_quasi_newton(data, options):
    result = fit(RiemannianAdam(step=0.1, **options), random_hqmm(2, 6), data, random_state=2)
    limit = fit(RiemannianLBFGS(tol=1e-10), result.model, data).history["train"][-1]
    reached = result.model.log_likelihood(data).sum() / data.n_symbols
    assert limit - 2e-3 < reached <= limit


def test_it_ends_no_lower_than_cosm(data):
    epochs = {"max_iter": 40, "random_state": 0}
    adam = fit(RiemannianAdam(max_iter=40), random_hqmm(2, 6), data, **epochs).model
    cosm = fit(COSM(), random_hqmm(2, 6), data, **epochs).model
    assert adam.log_likelihood(data).mean() > cosm.log_likelihood(data).mean() - 0.06


def test_the_first_step_moves_every_entry_by_the_step(data):
    # m̂/√v̂ = g/|g| for the first gradient, whatever its size; projection can only shorten it
    learner, task, rng = RiemannianAdam(batch_size=None, step=1e-6), Task(data), np.random.default_rng(0)
    state = learner.init(random_hqmm(2, 6)(rng), task, rng)
    moved = np.abs(learner.advance(state, task, rng).point[0] - state.point[0])
    assert 0.3e-6 < np.sqrt((moved**2).mean()) < 1.0001e-6


def test_the_first_moment_is_tangent_where_the_point_is(data):
    learner, task, rng = RiemannianAdam(step=0.3), Task(data), np.random.default_rng(0)
    state = learner.advance(learner.init(random_hqmm(2, 6)(rng), task, rng), task, rng)
    for part, mean in zip(state.point, state.mean, strict=True):
        inner = adjoint(part) @ mean
        assert np.abs(inner + adjoint(inner)).max() < 1e-12 < np.abs(mean).max()


def test_a_change_of_phase_of_an_operator_changes_nothing(data):
    # |g|² does not see the phase of an entry; moments of real and imaginary parts would
    start = random_hqmm(2, 6)(np.random.default_rng(1))
    turned = start.replace(kraus=start.kraus * np.exp(1j * np.arange(6))[:, None, None, None])
    results = [fit(RiemannianAdam(), model, data, max_iter=5, random_state=0) for model in (start, turned)]
    np.testing.assert_allclose(results[0].history["train"], results[1].history["train"], rtol=1e-9)


@pytest.mark.parametrize("batch_size", [None, 7])
def test_points_stay_feasible_and_passes_count_the_data(data, batch_size):
    result = fit(
        RiemannianAdam(batch_size=batch_size, step=0.3), random_hqmm(3, 6, 2), data, max_iter=8, random_state=0
    )
    assert np.all(result.history["feasibility"] < 1e-12)
    np.testing.assert_array_equal(result.history["passes"], np.arange(1, 10))


def test_the_objective_of_a_full_batch_is_that_of_its_point(data):
    result = fit(RiemannianAdam(batch_size=None), random_hqmm(2, 6), data, burn_in=10, max_iter=5, random_state=0)
    expected = result.model.log_likelihood(data, 10).sum() / (30 * 50)
    assert result.history["train"][-1] == pytest.approx(expected, rel=1e-12)


def test_the_objective_of_an_epoch_weighs_batches_by_their_symbols():
    data = Sequences([[0, 1] * 20, [1], [1, 0, 1]], weights=[1, 0, 2])
    learner = RiemannianAdam(batch_size=1, step=1e-12)
    result = fit(learner, random_hqmm(2, 2), data, max_iter=1, random_state=0)
    assert result.history["train"][1] == pytest.approx(result.history["train"][0], rel=1e-9)


def test_the_step_follows_half_a_cosine(data):
    learner = RiemannianAdam(step=0.2, max_iter=4)
    steps = fit(learner, random_hqmm(2, 6), data, max_iter=6, random_state=0).history["step"]
    np.testing.assert_allclose(steps[:5], 0.1 * (1 + np.cos(np.pi * np.arange(5) / 4)), atol=1e-16)
    np.testing.assert_array_equal(steps[5:], 0)
    constant = fit(
        RiemannianAdam(step=0.2, schedule="constant"), random_hqmm(2, 6), data, max_iter=3, random_state=0
    )
    np.testing.assert_array_equal(constant.history["step"], 0.2)


def test_real_operators_stay_real(data):
    model = fit(RiemannianAdam(), random_noom(2, 6), data, max_iter=5, random_state=0).model
    assert np.abs(model.kraus.imag).max() == 0


def test_the_same_seed_gives_the_same_model_bit_for_bit(data):
    first, second = (fit(RiemannianAdam(), random_hqmm(2, 6), data, max_iter=5, random_state=5) for _ in range(2))
    assert first.model == second.model
    other = fit(RiemannianAdam(), random_hqmm(2, 6), data, max_iter=5, random_state=6)
    assert first.model != other.model


@pytest.mark.parametrize("batch_size", [None, 10])
def test_a_state_survives_a_checkpoint(data, tmp_path, batch_size):
    learner, task = RiemannianAdam(batch_size=batch_size), Task(data)
    rng = np.random.default_rng(0)
    begun = learner.init(random_hqmm(2, 6)(rng), task, rng)
    state = learner.advance(learner.advance(begun, task, rng), task, rng)
    Checkpoint(state, state, np.zeros((1, 1)), {"fingerprint": "it"}).write(tmp_path / "state")
    read = Checkpoint.read(tmp_path / "state", "it", begun).state
    for item in fields(state):
        first, second = getattr(read, item.name), getattr(state, item.name)
        pairs = zip(first, second, strict=True) if isinstance(first, tuple) else [(first, second)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)


def test_an_interrupted_fit_ends_where_an_uninterrupted_one_does(data, tmp_path):
    def run(max_iter, **options):
        return fit(RiemannianAdam(), random_hqmm(2, 6), data, max_iter=max_iter, random_state=1, **options)

    whole = run(8)
    run(3, checkpoint=tmp_path / "fit", checkpoint_every=0)
    assert run(8, checkpoint=tmp_path / "fit").model == whole.model


def test_one_symbol_only_is_converged_at_once():
    learner = RiemannianAdam(batch_size=None)
    result = fit(learner, random_hqmm(2, 1), Sequences([[0, 0, 0]]), random_state=0)
    assert (result.reason, result.n_iter) == ("converged", 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "linear"}, "schedule must be one of 'cosine', 'constant', not 'linear'"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1 up"),
        ({"decay": (0.9, 1.0)}, "decay must be two numbers"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        RiemannianAdam(**options)
    assert isinstance(caught.value, DataError) or "batch_size" not in options
