"""Every learner of Kraus operators works on the product of manifolds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqmm import HMM, HybridHQMM
from hqmm.datasets import hmm_6_6
from hqmm.learning import (
    COSM,
    BaumWelch,
    GivensSearch,
    Polar,
    RiemannianAdam,
    RiemannianLBFGS,
    fit,
    fit_discriminative,
    random_hybrid,
)
from hqmm.learning.space import BlockSpace, space_of, start_of

LEARNERS = {
    "polar": Polar(sweeps=2),
    "cosm": COSM(),
    "adam": RiemannianAdam(),
    "lbfgs": RiemannianLBFGS(),
    "givens": GivensSearch(((5, 10, 10),)),
}


@pytest.fixture(scope="module")
def data():
    return hmm_6_6().sample(30, 60, random_state=0)


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 3),
    q=st.integers(1, 3),
    w=st.integers(1, 2),
    learn_initial=st.booleans(),
)
def test_a_point_stands_for_its_model(seed, k, q, w, learn_initial):
    model = random_hybrid(k, q, 3, w)(np.random.default_rng(seed))
    point, initial = start_of(model, learn_initial, "")
    assert point[0].shape == (k, 3 * w * k * q, q)
    back = space_of(model.alphabet, initial).model(point)
    assert isinstance(back, HybridHQMM)
    np.testing.assert_array_equal(back.kraus, model.kraus)
    np.testing.assert_allclose(back.initial, model.initial, atol=1e-12)


@pytest.mark.parametrize("burn_in", [0, 5])
def test_the_gradient_on_the_manifold_is_its_finite_differences(data, burn_in):
    rng = np.random.default_rng(1)
    model = random_hybrid(2, 2, 6, 2)(rng)
    point, initial = start_of(model, True, "")
    space = BlockSpace(model.alphabet, initial)
    batch = data[:3]
    gradient = space.evaluate(point, batch, burn_in, None).gradient
    for part in range(2):
        move = rng.normal(size=point[part].shape) + 1j * rng.normal(size=point[part].shape)

        def value(step, part=part, move=move):
            moved = tuple(p + step * move if number == part else p for number, p in enumerate(point))
            return space.log_likelihood(moved, batch, burn_in, None).sum()

        numeric = (value(1e-6) - value(-1e-6)) / 2e-6
        assert numeric == pytest.approx(2 * np.vdot(gradient[part], move).real, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_improves_a_hybrid_model_and_keeps_it_one(name, data):
    result = fit(
        LEARNERS[name], random_hybrid(3, 2, 6, 1), data, max_iter=None if name == "givens" else 10, random_state=0
    )
    assert isinstance(result.model, HybridHQMM)
    assert (result.model.n_blocks, result.model.n_states) == (3, 2)
    assert result.history["train"][-1] > result.history["train"][0] + 0.01
    assert result.history["feasibility"].max() < 1e-9


def test_full_passes_never_lower_the_likelihood(data):
    for q in (1, 2):
        history = fit(Polar(sweeps=0), random_hybrid(3, q, 6), data, max_iter=40, random_state=1).history["train"]
        assert np.all(np.diff(history) >= 0)


def test_with_one_dimension_it_reaches_what_baum_welch_reaches(data):
    """From the same HMM: a hybrid of one dimension is a little more general, and so may do better, not worse."""
    rng = np.random.default_rng(3)
    start = HMM(*(rng.dirichlet(np.ones(rows), 3).T for rows in (3, 6)))
    ours = fit(Polar(sweeps=0, tol=1e-8), start.to_hybrid(), data, max_iter=500)
    theirs = fit(BaumWelch(tol=1e-8), start, data, max_iter=2000)
    assert ours.score > theirs.score - 1e-4


def test_a_label_that_nothing_leads_to_stays_as_it_is(data):
    """Its gradient is zero: there is nothing to learn for it, and no reason to move it."""
    inside = random_hybrid(2, 2, 6)(np.random.default_rng(0))
    kraus = np.zeros((6, 1, 3, 3, 2, 2), complex)
    kraus[:, :, :2, :2] = inside.kraus
    kraus[0, 0, 0, 2] = np.eye(2)
    initial = np.concatenate([inside.initial, np.zeros((1, 2, 2))])
    result = fit(Polar(sweeps=1), HybridHQMM(kraus, initial), data, max_iter=5, random_state=0)
    np.testing.assert_allclose(result.model.kraus[:, :, :, 2], kraus[:, :, :, 2], atol=1e-7)


def test_classes_can_be_hybrid_models(data):
    labels = [0, 1] * 15
    starts = {label: random_hybrid(2, 1, 6)(np.random.default_rng(label)) for label in (0, 1)}
    result = fit_discriminative(starts, data, labels, max_iter=5)
    assert all(isinstance(model, HybridHQMM) for model in result.models.values())
    assert result.history["train"][-1] > result.history["train"][0]
