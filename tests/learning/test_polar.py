import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm import HQMM, DataError, Sequences
from hqmm.datasets import hmm_6_6, probability_clock
from hqmm.engine.kraus import kraus_gradient
from hqmm.learning import Polar, fit, random_hqmm, random_noom
from hqmm.learning.polar import towards
from hqmm.learning.space import space_of, start_of
from hqmm.learning.stiefel import polar

sizes = st.tuples(st.integers(0, 1000), st.integers(1, 3), st.integers(2, 4), st.integers(1, 2))


def generated(seed, s, count=12, length=15):
    rng = np.random.default_rng(seed)
    return Sequences([rng.integers(0, s, rng.integers(1, length + 1)) for _ in range(count)], alphabet=s)


@given(size=sizes, burn_in=st.integers(0, 3))
def test_full_passes_never_lower_the_likelihood(size, burn_in):
    seed, n, s, w = size
    data = generated(seed, s)
    if np.all(data.lengths <= burn_in):
        return
    result = fit(Polar(sweeps=0), random_hqmm(n, s, w), data, burn_in=burn_in, max_iter=25, random_state=seed)
    assert np.all(np.diff(result.history["train"]) >= 0)
    assert result.history["train"][-1] > result.history["train"][0] or result.converged
    assert np.all(result.history["feasibility"] < 1e-10)


def test_the_first_pass_is_the_formula():
    data = generated(0, 3)
    start = random_hqmm(2, 3, 2)(np.random.default_rng(0))
    reached = fit(Polar(sweeps=0, momentum=0, learn_initial=False), start, data, max_iter=1).model
    kappa = start.kraus.reshape(-1, 2)
    G = kraus_gradient(start.kraus, start.initial, data).kraus.reshape(-1, 2)
    expected = polar(kappa + 0.5 * (polar(G) - kappa))
    np.testing.assert_allclose(reached.kraus.reshape(-1, 2), expected, atol=1e-12)


@pytest.mark.parametrize("batches", [1, 3, 9])
def test_a_sweep_ends_at_the_mean_of_the_points_it_passed(batches):
    data = generated(0, 3, count=9)
    start = random_hqmm(2, 3, 2)(np.random.default_rng(0))
    learner = Polar(sweeps=2, batches=batches, memory=(0.6, 0.6), learn_initial=False)
    reached = fit(learner, start, data, max_iter=1, random_state=5).model
    kappa, passed = start.kraus.reshape(-1, 2), []
    average = kraus_gradient(start.kraus, start.initial, data).kraus.reshape(-1, 2)
    for chosen in np.array_split(np.random.default_rng(5).permutation(9), batches):
        G = kraus_gradient(kappa.reshape(start.kraus.shape), start.initial, data[chosen]).kraus.reshape(-1, 2)
        average = 0.6 * average + 0.4 * batches * G
        kappa = polar(kappa + 0.5 * (polar(average) - kappa))
        passed.append(kappa)
    np.testing.assert_allclose(reached.kraus.reshape(-1, 2), polar(np.mean(passed, axis=0)), atol=1e-8)


def test_at_convergence_kappa_is_the_unitary_factor_of_its_gradient():
    data = generated(1, 3, count=40)
    model = fit(Polar(sweeps=0, tol=1e-13), random_hqmm(2, 3), data, max_iter=3000, random_state=1).model
    G = kraus_gradient(model.kraus, model.initial, data).kraus.reshape(-1, 2)
    np.testing.assert_allclose(polar(G), model.kraus.reshape(-1, 2), atol=1e-4)


def test_the_initial_state_is_learned_where_every_symbol_is_scored():
    start_matters = Sequences([[0, 1], [0, 1], [0, 0]], alphabet=2)
    start = random_hqmm(2, 2)(np.random.default_rng(0))
    learned = fit(Polar(sweeps=0), start, start_matters, max_iter=30).model
    fixed = fit(Polar(sweeps=0, learn_initial=False), start, start_matters, max_iter=30).model
    np.testing.assert_array_equal(fixed.initial, start.initial)
    assert np.abs(learned.initial - start.initial).max() > 1e-3


def test_momentum_gets_there_in_fewer_passes():
    data = hmm_6_6().sample(20, 100, random_state=0)
    start = random_hqmm(3, 6, 2)(np.random.default_rng(0))
    plain = fit(Polar(sweeps=0, momentum=0, tol=0), start, data, max_iter=120).history
    fast = fit(Polar(sweeps=0, tol=0), start, data, max_iter=120).history
    goal = plain["train"][-1]
    assert fast["passes"][np.argmax(fast["train"] >= goal)] < 0.7 * plain["passes"][-1]


def test_real_operators_stay_real():
    data = generated(2, 3)
    model = fit(Polar(), random_noom(2, 3), data, max_iter=20, random_state=0).model
    assert isinstance(model, HQMM)
    assert not np.any(model.kraus.imag)


def test_symbols_keep_their_own_kraus_ranks():
    start = random_hqmm(2, 2, 2)(np.random.default_rng(0))
    kraus = [start.kraus[0], start.kraus[1, :1]]
    from hqmm.channels import nearest_isometry

    padded = HQMM([*map(np.array, _isometric(kraus, nearest_isometry))])
    model = fit(Polar(), padded, generated(3, 2), max_iter=20, random_state=0).model
    assert np.any(model.kraus[0, 1])
    assert not np.any(model.kraus[1, 1])


def _isometric(parts, nearest):
    stacked = nearest(np.concatenate(parts))
    return stacked[: len(parts[0])], stacked[len(parts[0]) :]


def test_the_probability_clock_is_learned_where_markov_chains_fail():
    from hqmm import MarkovChain, description_accuracy

    clock = probability_clock()
    data = clock.sample(60, 300, random_state=0)
    train, validation, test = data[:40], data[40:50], data[50:]
    learned = fit(
        Polar(), random_hqmm(2, 2), train, validation=validation, burn_in=20, n_init=4, random_state=0
    ).model
    truth = description_accuracy(clock, test, 20)
    best_chain = max(description_accuracy(MarkovChain.from_sequences(train, k), test, 20) for k in range(6))
    assert description_accuracy(learned, test, 20) > best_chain
    assert description_accuracy(learned, test, 20) == pytest.approx(truth, abs=2e-3)


def coin(heads):
    return HQMM(np.sqrt([heads, 1 - heads])[:, None, None, None])


def test_a_step_of_fixed_damping_can_lower_the_likelihood_and_the_guard_takes_it_back():
    """A coin: κ is the vector of √p, G of counts / √p, so that a rare symbol pulls without measure."""
    tosses = Sequences([[0] * 99 + [1]], alphabet=2)
    start = coin(1 - 1e-9)
    point, initial = start_of(start, False, "")
    space = space_of(start.alphabet, initial)
    before = space.evaluate(point, tosses, 0, None)
    moved = towards(point, before.gradient, 0.5)
    assert abs(moved[0][0, 1, 0]) > 0.7  # tails has more than half
    assert space.log_likelihood(moved, tosses, 0, None)[0] < before.log_likelihood[0] - 10
    history = fit(Polar(sweeps=0), start, tosses, max_iter=60).history
    assert np.all(np.diff(history["train"]) >= 0)
    assert history["passes"][1] > 2  # the first step was tried again with less
    assert history["train"][-1] == pytest.approx(0.99 * np.log(0.99) + 0.01 * np.log(0.01), abs=1e-6)


@given(size=sizes)
def test_the_step_is_an_ascent_direction_of_the_slope_that_the_docstring_gives(size):
    seed, n, s, w = size
    data = generated(seed, s)
    model = random_hqmm(n, s, w)(np.random.default_rng(seed))
    point, initial = start_of(model, False, "")
    space = space_of(model.alphabet, initial)
    result = space.evaluate(point, data, 0, None)
    kappa, G = point[0][0], result.gradient[0][0]
    P = polar(G)
    H, M = P.conj().T @ G, P.conj().T @ kappa
    slope = 2 * np.trace(H).real - np.trace(H @ (M @ M + M @ M.conj().T)).real
    assert slope >= -1e-9
    step = 1e-6
    ends = [space.log_likelihood(towards(point, result.gradient, d), data, 0, None).sum() for d in (step, -step)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {"batches": 0},
        {"sweeps": -1},
        {"damping": 0},
        {"damping": 1.5},
        {"damping": "some"},
        {"tol": -1},
        {"tol": np.nan},
        {"memory": 0.5},
        {"memory": ("a", "b")},
        {"momentum": 1},
        {"prior": -1},
        {"memory": (0.5, 1)},
    ],
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(DataError, match=next(iter(settings))):
        Polar(**settings)
