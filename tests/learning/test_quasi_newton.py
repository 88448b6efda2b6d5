from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hqmm import HMM, HQMM, DataError, ModelError, Sequences
from hqmm.channels import nearest_isometry, random_kraus
from hqmm.datasets import hqmm_2_6
from hqmm.learning import Polar, fit, random_hqmm, random_noom
from hqmm.learning.checkpoint import Checkpoint
from hqmm.learning.quasi_newton import Likelihood, RiemannianLBFGS, moved, project, riemannian
from hqmm.learning.space import KrausSpace, start_of
from hqmm.learning.stiefel import feasibility_error
from hqmm.learning.task import Task


@pytest.fixture(scope="module")
def data():
    return hqmm_2_6().sample(30, 60, random_state=0)


def random_data(rng, s=3, count=6, longest=15):
    rows = [rng.integers(-1, s, rng.integers(1, longest)) for _ in range(count)]
    return Sequences(rows, alphabet=s, weights=rng.uniform(0, 2, count))


def random_tangent(rng, point):
    noise = tuple(rng.normal(size=part.shape) + 1j * rng.normal(size=part.shape) for part in point)
    return project(point, noise)


def slope(objective, point, direction, h=1e-4):
    def value(step):
        return objective.evaluate(moved(point, tuple(step * part for part in direction))).objective

    return (value(-2 * h) - 8 * value(-h) + 8 * value(h) - value(2 * h)) / (12 * h)


def inner(first, second):
    return sum(np.vdot(one, other).real for one, other in zip(first, second, strict=True))


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 3),
    w=st.integers(1, 2),
    burn_in=st.integers(0, 4),
    some=st.booleans(),
)
def test_the_gradient_is_that_of_the_likelihood_burn_in_and_all(seed, n, w, burn_in, some):
    rng = np.random.default_rng(seed)
    data = Sequences.concatenate([random_data(rng), Sequences([[0, 1, 2, 1, 0, 2]], alphabet=3)])
    model = random_hqmm(n, 3, w)(rng)
    objective = Likelihood(KrausSpace(model.alphabet, model.initial), Task(data, burn_in))
    chosen = np.array([0, 6, 3]) if some else None
    point = start_of(model, True, "")[0]
    direction = random_tangent(rng, point)
    uphill = riemannian(point, objective.evaluate(point, chosen).gradient)

    class Chosen:
        def evaluate(self, at):
            return objective.evaluate(at, chosen)

    assert inner(uphill, direction) == pytest.approx(slope(Chosen(), point, direction), rel=1e-5, abs=1e-8)


def test_the_values_are_those_of_the_symbols_after_the_burn_in(data):
    model = random_hqmm(2, 6)(np.random.default_rng(0))
    space, point = KrausSpace(model.alphabet, model.initial), start_of(model, False, "")[0]
    value = Likelihood(space, Task(data, 20)).evaluate(point)
    expected = model.log_likelihood(data, burn_in=20)
    assert value.objective == pytest.approx(expected.sum() / (30 * 40), rel=1e-12)
    assert value.weight == 30 * 40
    result = space.evaluate(point, data, 20, None)
    np.testing.assert_allclose(result.log_likelihood, expected, rtol=1e-11)


def test_an_impossible_sequence_is_counted_and_left_out():
    flip = HQMM([[[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]]], np.diag([1.0, 0.0]))
    possible, impossible = [[1, 0, 1, 0], [1, 0, 1]], [1, 0, 0, 1]
    space, point = KrausSpace(flip.alphabet, flip.initial), start_of(flip, True, "")[0]
    for burn_in in (0, 2):
        without = Likelihood(space, Task(Sequences(possible), burn_in)).evaluate(point)
        value = Likelihood(space, Task(Sequences([*possible, impossible]), burn_in)).evaluate(point)
        assert (value.n_zero, value.objective, value.weight) == (1, without.objective, without.weight)
        for one, other in zip(value.gradient, without.gradient, strict=True):
            np.testing.assert_array_equal(one, other)
        weightless = Sequences([*possible, impossible], weights=[1, 1, 0])
        assert Likelihood(space, Task(weightless, burn_in)).evaluate(point).n_zero == 0


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 3), w=st.integers(1, 2), burn_in=st.integers(0, 3))
def test_the_likelihood_never_falls_and_the_point_stays_feasible(seed, n, w, burn_in):
    rng = np.random.default_rng(seed)
    data = Sequences.concatenate([random_data(rng), Sequences([[0, 1, 2, 1, 0, 2]], alphabet=3)])
    result = fit(RiemannianLBFGS(tol=0), random_hqmm(n, 3, w), data, burn_in=burn_in, max_iter=25, random_state=0)
    assert np.all(np.diff(result.history["train"]) >= 0)
    assert np.all(result.history["feasibility"] < 1e-12)
    assert np.all(np.diff(result.history["passes"]) >= 0)
    final = result.model.log_likelihood(data, burn_in)
    symbols = np.maximum(data.lengths - burn_in, 0) @ data.weights
    assert final @ data.weights / symbols == pytest.approx(result.history["train"][-1], abs=1e-10)


def test_it_reaches_the_limit_of_the_polar_fixed_point():
    data = hqmm_2_6().sample(30, 60, random_state=1)
    start = random_hqmm(2, 6)(np.random.default_rng(3))
    slow = fit(Polar(tol=1e-12, max_iter=3000), start, data, random_state=0)
    fast = fit(RiemannianLBFGS(tol=1e-12), slow.model, data)
    assert fast.history["train"][-1] == pytest.approx(slow.history["train"][-1], abs=1e-6)
    near = HQMM(
        nearest_isometry(slow.model.kraus + 0.02 * random_kraus(6, 1, 2, random_state=0)), slow.model.initial
    )
    back = fit(RiemannianLBFGS(tol=1e-13), near, data)
    assert back.history["train"][-1] == pytest.approx(fast.history["train"][-1], abs=1e-7)


def test_where_it_converges_the_gradient_is_zero(data):
    result = fit(RiemannianLBFGS(tol=0), random_hqmm(2, 6), data, max_iter=2000, random_state=0)
    assert result.reason == "converged"
    learner, task = RiemannianLBFGS(), Task(data)
    state = learner.init(result.model, task, np.random.default_rng())
    assert np.linalg.norm(state.gradient) < 1e-6


def test_symbols_drawn_at_random_are_learned_exactly():
    # with one state an HQMM is a die, whose maximum likelihood is the shares of the symbols
    data = Sequences([[0] * 50 + [1] * 30 + [2] * 20])
    result = fit(RiemannianLBFGS(tol=1e-14), random_hqmm(1, 3), data, random_state=0)
    shares = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(np.abs(result.model.kraus.ravel()) ** 2, shares, atol=1e-6)
    assert result.history["train"][-1] == pytest.approx(shares @ np.log(shares), abs=1e-12)


def test_real_operators_stay_real(data):
    model = fit(RiemannianLBFGS(), random_noom(2, 6), data, max_iter=20, random_state=0).model
    assert np.abs(model.kraus.imag).max() == 0


def test_passes_count_every_evaluation(data, monkeypatch):
    calls = []
    evaluate = Likelihood.evaluate
    monkeypatch.setattr(Likelihood, "evaluate", lambda *args: calls.append(1) or evaluate(*args))
    result = fit(RiemannianLBFGS(), random_hqmm(2, 6), data, max_iter=30, random_state=0)
    assert result.history["passes"][-1] == len(calls) >= 30


def test_the_same_seed_gives_the_same_model_bit_for_bit(data):
    first, second = (
        fit(RiemannianLBFGS(), random_hqmm(2, 6), data, max_iter=15, random_state=5).model for _ in range(2)
    )
    assert first == second


def test_memory_is_bounded_and_a_state_survives_a_checkpoint(data, tmp_path):
    learner, task = RiemannianLBFGS(memory=3), Task(data)
    rng = np.random.default_rng(0)
    state = begun = learner.init(random_hqmm(2, 6)(rng), task, rng)
    for _ in range(6):
        state = learner.advance(state, task, rng)
    assert len(state.steps) == len(state.falls) == 3
    Checkpoint(state, state, np.zeros((1, 1)), {"fingerprint": "it"}).write(tmp_path / "state")
    read = Checkpoint.read(tmp_path / "state", "it", begun).state
    for item in fields(state):
        first, second = getattr(read, item.name), getattr(state, item.name)
        pairs = zip(first, second, strict=True) if isinstance(first, tuple) else [(first, second)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)
    following, resumed = learner.advance(state, task, rng), learner.advance(read, task, rng)
    np.testing.assert_array_equal(following.point[0], resumed.point[0])


def test_an_interrupted_fit_ends_where_an_uninterrupted_one_does(data, tmp_path):
    def run(max_iter, **options):
        return fit(RiemannianLBFGS(), random_hqmm(2, 6), data, max_iter=max_iter, random_state=1, **options)

    whole = run(20)
    run(8, checkpoint=tmp_path / "fit", checkpoint_every=0)
    resumed = run(20, checkpoint=tmp_path / "fit")
    assert resumed.model == whole.model
    np.testing.assert_array_equal(resumed.history["train"], whole.history["train"])


def test_one_symbol_only_is_converged_at_once():
    result = fit(RiemannianLBFGS(), random_hqmm(2, 1), Sequences([[0, 0, 0]]), random_state=0)
    assert (result.reason, result.n_iter) == ("converged", 1)


def test_a_symbol_never_seen_becomes_improbable():
    data = Sequences([[0, 1, 1, 0, 1, 0, 0, 1]], alphabet=3)
    model = fit(RiemannianLBFGS(tol=1e-10), random_hqmm(2, 3), data, random_state=0).model
    assert np.exp(model.log_likelihood([[2]]))[0] < 1e-4
    assert feasibility_error(model.kraus.reshape(-1, 2)) < 1e-12


def test_what_it_cannot_learn_is_refused(data):
    with pytest.raises(ModelError, match="RiemannianLBFGS learns an HQMM"):
        fit(RiemannianLBFGS(), HMM([[1.0]], np.full((6, 1), 1 / 6)), data)
    with pytest.raises(DataError, match="memory must be a whole number from 1 up"):
        RiemannianLBFGS(memory=0)
    with pytest.raises(DataError, match="tol must be a number from 0"):
        RiemannianLBFGS(tol=-1e-9)
