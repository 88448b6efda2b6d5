import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm import HMM, HQMM, DataError, ModelError, Sequences
from hqmm.learning import fit, random_hqmm, random_noom
from hqmm.learning.adam import RiemannianAdam
from hqmm.learning.discriminative import Conditional, fit_discriminative, log_posterior
from hqmm.learning.quasi_newton import RiemannianLBFGS, moved, project, riemannian
from hqmm.learning.stiefel import polar
from hqmm.learning.task import Task

SMALL = 1e-12


def samples(seed, count=20, length=25):
    """Two classes too rich for models of one or two states, with labels and shuffled."""
    rng = np.random.default_rng(seed)
    true = [random_hqmm(3, 3, 1)(np.random.default_rng(10 + kind)) for kind in range(2)]
    parts = [model.sample(count, length, random_state=rng) for model in true]
    order = rng.permutation(2 * count)
    return Sequences.concatenate(parts)[order], np.repeat(["plus", "minus"], count)[order].tolist()


@pytest.fixture(scope="module")
def data():
    return samples(0)


@pytest.fixture(scope="module")
def starts(data):
    sequences, labels = data
    return {
        name: fit(
            RiemannianLBFGS(tol=1e-5),
            random_hqmm(2, 3),
            sequences[np.array(labels) == name],
            random_state=0,
        ).model
        for name in ("plus", "minus")
    }


def conditional(models, sequences, labels, prior):
    """log p(c_i|x_i) from the probabilities, as it is defined."""
    joint = np.stack([p * model.probability(sequences) for p, model in zip(prior, models.values(), strict=True)])
    number = [list(models).index(label) for label in labels]
    return np.log(joint[number, np.arange(len(labels))] / joint.sum(axis=0))


def random_tangent(rng, point):
    noise = tuple(rng.normal(size=part.shape) + 1j * rng.normal(size=part.shape) for part in point)
    return project(point, noise)


def test_the_posterior_is_bayes_rule(starts, data):
    sequences, labels = data
    posterior = log_posterior(starts, sequences, prior=[3, 1])
    np.testing.assert_allclose(np.exp(posterior).sum(axis=1), 1, rtol=1e-12)
    number = [list(starts).index(label) for label in labels]
    expected = conditional(starts, sequences, labels, [0.75, 0.25])
    np.testing.assert_allclose(posterior[np.arange(40), number], expected, rtol=1e-9, atol=SMALL)


def test_long_sequences_have_a_posterior_though_their_probability_underflows(starts):
    posterior = log_posterior(starts, Sequences([[0, 1, 2] * 3000], alphabet=3))
    assert np.isfinite(posterior).all()


def test_impossible_sequences_have_no_posterior():
    zeros, ones = (HQMM([[[[a]]], [[[1 - a]]]]) for a in (1.0, 0.0))
    posterior = log_posterior({"zeros": zeros, "ones": ones}, [[0, 0], [1], [0, 1]])
    np.testing.assert_array_equal(posterior, [[0, -np.inf], [-np.inf, 0], [np.nan, np.nan]])


@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(1, 3), min_size=2, max_size=3),
    burn_in=st.integers(0, 3),
    pull=st.sampled_from([0.0, 0.7]),
    some=st.booleans(),
)
def test_the_gradient_is_that_of_the_conditional_likelihood(seed, sizes, burn_in, pull, some):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(-1, 3, rng.integers(1, 9)) for _ in range(7)]
    data = Sequences([*rows, [0, 1, 2, 0, 1]], alphabet=3, weights=rng.uniform(0.1, 2, 8))
    models = [random_hqmm(n, 3, 2)(rng) for n in sizes]
    prior = rng.dirichlet(np.ones(len(models)))
    classes = rng.integers(0, len(models), 8)
    objective = Conditional(models, Task(data, burn_in), classes, prior, pull, learn_initial=True)
    chosen = np.array([7, 2, 4]) if some else None
    point = moved(objective.start, tuple(0.1 * part for part in random_tangent(rng, objective.start)))
    direction = random_tangent(rng, point)
    uphill = riemannian(point, objective.evaluate(point, chosen).gradient)

    def value(step):
        at = moved(point, tuple(step * part for part in direction))
        return objective.evaluate(at, chosen).objective

    h = 1e-4
    slope = (value(-2 * h) - 8 * value(-h) + 8 * value(h) - value(2 * h)) / (12 * h)
    inner = sum(np.vdot(one, other).real for one, other in zip(uphill, direction, strict=True))
    assert inner == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_the_objective_is_the_mean_by_weight(starts, data):
    sequences, labels = data
    weighted = sequences.with_weights(np.arange(40) % 3)
    classes = np.array([list(starts).index(label) for label in labels])
    objective = Conditional(list(starts.values()), Task(weighted), classes, np.array([0.8, 0.2]), 0.0, True)
    expected = np.average(conditional(starts, sequences, labels, [0.8, 0.2]), weights=weighted.weights)
    assert objective.evaluate(objective.start).objective == pytest.approx(expected, rel=1e-9)


def test_an_impossible_sequence_is_counted_and_left_out():
    flip = HQMM([[[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]]], np.diag([1.0, 0.0]))
    coin = random_hqmm(2, 2)(np.random.default_rng(0))
    possible, impossible = [[1, 0, 1], [1, 1], [1, 0]], [1, 1, 0]
    classes = np.array([0, 1, 1, 0])

    def evaluate(rows):
        task = Task(Sequences(rows, alphabet=2))
        objective = Conditional([flip, coin], task, classes[: len(rows)], np.array([0.4, 0.6]), 0.0, True)
        return objective.evaluate(objective.start)

    value, without = evaluate([*possible, impossible]), evaluate(possible)
    assert (value.n_zero, value.weight, value.objective) == (1, 3.0, pytest.approx(without.objective))
    for one, other in zip(value.gradient, without.gradient, strict=True):
        np.testing.assert_allclose(one, other, atol=SMALL)


@pytest.mark.parametrize("burn_in", [0, 5])
def test_it_never_falls_below_the_generative_start(starts, data, burn_in):
    result = fit_discriminative(starts, *data, burn_in=burn_in, max_iter=30)
    train = result.history["train"]
    assert np.all(np.diff(train) >= 0)
    assert train[-1] > train[0] + 0.05
    assert result.history["train_accuracy"][-1] >= result.history["train_accuracy"][0]
    assert result.best_iteration == len(train) - 1


def test_the_history_tells_of_the_models_it_returns(starts, data):
    sequences, labels = data
    result = fit_discriminative(starts, sequences, labels, max_iter=5)
    expected = conditional(result.models, sequences, labels, result.prior)
    assert result.history["train"][-1] == pytest.approx(expected.mean(), rel=1e-8)
    assert result.history["train_accuracy"][-1] == np.mean(expected > np.log(0.5))
    begun = conditional(starts, sequences, labels, [0.5, 0.5])
    assert result.history["train"][0] == pytest.approx(begun.mean(), rel=1e-8)
    assert list(result.models) == ["plus", "minus"]


@pytest.mark.parametrize("monitor", ["likelihood", "accuracy"])
def test_the_iterate_that_scores_best_on_validation_is_kept(starts, data, monitor):
    sequences, labels = samples(1)
    result = fit_discriminative(
        starts, *data, validation=(sequences, labels), monitor=monitor, patience=5, max_iter=40
    )
    history = result.history
    assert result.reason == "no_progress"
    assert len(history["train"]) == result.best_iteration + 6
    column = history["validation" if monitor == "likelihood" else "validation_accuracy"]
    assert column[result.best_iteration] == column.max()
    expected = conditional(result.models, sequences, labels, result.prior)
    assert history["validation"][result.best_iteration] == pytest.approx(expected.mean(), rel=1e-8)
    assert history["validation_accuracy"][result.best_iteration] == np.mean(expected > np.log(0.5))


def test_a_pull_holds_the_models_near_their_start(starts, data):
    def distance(pull):
        fitted = fit_discriminative(starts, *data, pull=pull, max_iter=20).models
        return sum(np.linalg.norm(fitted[name].kraus - starts[name].kraus) for name in starts)

    free, held, fixed = distance(0), distance(0.5), distance(1e6)
    assert fixed < 1e-4 < held < free


def test_batches_learn_too_and_a_seed_reproduces_them(starts, data):
    def run(seed):
        learner = RiemannianAdam(batch_size=10, max_iter=15)
        return fit_discriminative(starts, *data, learner=learner, random_state=seed)

    first, again, other = run(0), run(0), run(1)
    assert first.history["train"][-1] > first.history["train"][0]
    assert first.reason == "max_iter"
    assert first.models == again.models != other.models


def test_the_prior_is_the_share_of_each_class_or_what_is_given(starts, data):
    sequences, labels = data
    weights = np.where(np.array(labels) == "plus", 3.0, 1.0)
    weighted = sequences.with_weights(weights)
    np.testing.assert_allclose(fit_discriminative(starts, weighted, labels, max_iter=0).prior, [0.75, 0.25])
    chosen = fit_discriminative(starts, sequences, labels, prior=[1, 4], max_iter=0)
    np.testing.assert_allclose(chosen.prior, [0.2, 0.8])
    assert (chosen.reason, chosen.best_iteration) == ("max_iter", 0)


def test_a_noom_may_start_it_and_stays_real(data):
    starts = {name: random_noom(2, 3)(np.random.default_rng(seed)) for seed, name in enumerate(("plus", "minus"))}
    models = fit_discriminative(starts, *data, max_iter=3).models
    assert all(np.abs(model.kraus.imag).max() == 0 for model in models.values())


def test_a_step_that_is_not_finite_ends_training_with_the_models_before(starts, data):
    sequences, labels = data

    class Broken(RiemannianAdam):
        def improve(self, state, objective, generator):
            following = super().improve(state, objective, generator)
            if following.epoch == 2:
                polar(np.full((1, 4, 2), np.nan))
            return following

    result = fit_discriminative(starts, sequences, labels, learner=Broken(), random_state=0)
    assert result.reason == "non_finite"
    assert len(result.history["iteration"]) == 2
    assert all(np.isfinite(model.kraus).all() for model in result.models.values())


def test_what_cannot_be_trained_is_refused(starts, data):
    sequences, labels = data
    one = {"plus": starts["plus"]}
    with pytest.raises(ModelError, match="at least two classes"):
        fit_discriminative(one, sequences, labels)
    with pytest.raises(ModelError, match="class 'minus' must be an HQMM"):
        fit_discriminative({**one, "minus": HMM([[1.0]], np.full((3, 1), 1 / 3))}, sequences, labels)
    with pytest.raises(ModelError, match="same alphabet"):
        fit_discriminative({**one, "minus": random_hqmm(2, "abc")(np.random.default_rng(0))}, sequences, labels)
    with pytest.raises(DataError, match="one label per sequence: 40, not 39"):
        fit_discriminative(starts, sequences, labels[1:])
    with pytest.raises(DataError, match="sequence 2: the label 'zero' has no model"):
        fit_discriminative(starts, sequences, [*labels[:2], "zero", *labels[3:]])
    with pytest.raises(DataError, match="every class needs a positive prior"):
        fit_discriminative(starts, sequences, ["plus"] * 40)
    with pytest.raises(DataError, match="one number for each class"):
        fit_discriminative(starts, sequences, labels, prior=[1, 1, 1])
    with pytest.raises(DataError, match="pull must not be negative"):
        fit_discriminative(starts, sequences, labels, pull=-1)
    with pytest.raises(DataError, match="patience must be a whole number from 1 up"):
        fit_discriminative(starts, sequences, labels, patience=0)
    with pytest.raises(DataError, match="max_iter must be a whole number from 0 up"):
        fit_discriminative(starts, sequences, labels, max_iter=-1)
    with pytest.raises(ValueError, match="monitor must be"):
        fit_discriminative(starts, sequences, labels, monitor="f1")
    with pytest.raises(DataError, match="nothing to score"):
        fit_discriminative(starts, sequences, labels, burn_in=25)
