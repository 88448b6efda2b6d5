import numpy as np
import pytest

from hqmm.datasets import hmm_6_6
from hqmm.engine import gradient
from hqmm.learning import Polar, fit, random_hqmm, random_hybrid
from hqmm.learning.prior import log_prior, prior_gradient
from hqmm.learning.space import start_of


@pytest.fixture(scope="module")
def data():
    return hmm_6_6().sample(30, 40, random_state=0)


@pytest.mark.parametrize("draw", [random_hybrid(3, 2, 4, 2), random_hqmm(3, 4, 2)])
def test_the_gradient_is_its_finite_differences(draw):
    rng = np.random.default_rng(0)
    point, _ = start_of(draw(rng), True, "")
    gradients = prior_gradient(point, 4)
    for part in range(2):
        move = rng.normal(size=point[part].shape) + 1j * rng.normal(size=point[part].shape)

        def value(step, part=part, move=move):
            return log_prior(tuple(p + step * move if n == part else p for n, p in enumerate(point)), 4)

        numeric = (value(1e-6) - value(-1e-6)) / 2e-6
        assert numeric == pytest.approx(2 * np.vdot(gradients[part], move).real, rel=1e-5)


def test_with_one_dimension_each_transition_counts_so_many_times_more(data):
    """The fixed point is that of EM with a Dirichlet prior: probabilities ∝ expected counts + a."""
    found = fit(Polar(sweeps=3, prior=0.7, tol=1e-13), random_hybrid(2, 1, 6), data, max_iter=3000, random_state=0)
    form = found.model.linear
    counts = form.operators * gradient(form, data).operators + 0.7
    np.testing.assert_allclose(form.operators, counts / counts.sum(axis=(0, 1)), atol=1e-4)
    starts = form.initial * gradient(form, data).initial + 0.7
    np.testing.assert_allclose(form.initial, starts / starts.sum(), atol=1e-3)


def test_likelihood_and_prior_together_never_fall(data):
    def total(model):
        point, _ = start_of(model, True, "")
        return model.log_likelihood(data).sum() + 5 * log_prior(point, 6)

    values = []
    fit(
        Polar(sweeps=0, prior=5.0),
        random_hybrid(3, 2, 6),
        data,
        max_iter=60,
        random_state=0,
        callbacks=[lambda row, model: values.append(total(model))],
    )
    assert np.all(np.diff(values) > -1e-8)
    assert values[-1] > values[0] + 10


def test_what_was_never_seen_stays_possible(data):
    rare = data.with_weights(np.ones(len(data)))
    for sweeps in (0, 4):
        model = fit(
            Polar(sweeps=sweeps, prior=0.5), random_hybrid(2, 1, 8), rare, max_iter=30, random_state=0
        ).model
        probabilities = model.predict()
        assert probabilities[6:].min() > 0.5 / (data.n_symbols + 8)
