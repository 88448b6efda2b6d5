import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad

from hqmm import HQMM, DataError, Sequences
from hqmm.channels import nearest_isometry
from hqmm.datasets import hqmm_2_6
from hqmm.learning import COSM, fit, random_hqmm
from hqmm.learning.stiefel import UPDATES


def plain_epoch(kraus, rho, batches, burn_in, step, beta=0.9):
    """One epoch of Algorithm 1 with autograd's gradient of equation 13, written out plainly."""
    s, w, n, _ = kraus.shape

    def loss(real, imag, batch):
        total = 0.0
        for row in batch:
            state = rho
            for t, y in enumerate(row):
                K = (real + 1j * imag).reshape(s, w, n, n)[y] if t >= burn_in else kappa.reshape(s, w, n, n)[y]
                state = sum(anp.dot(anp.dot(k, state), anp.conj(k).T) for k in K)
                if t < burn_in:
                    state = state / anp.trace(state)
            total = total + anp.log(anp.real(anp.trace(state)))
        return -total / len(batch)

    kappa = kraus.reshape(-1, n)
    momentum = 0
    for number, batch in enumerate(batches):
        G = grad(loss, 0)(kappa.real, kappa.imag, batch) + 1j * grad(loss, 1)(kappa.real, kappa.imag, batch)
        G = G / np.linalg.norm(G, 2)
        if number:
            G = beta * momentum + (1 - beta) * G
            G = G / np.linalg.norm(G, 2)
        momentum = G
        U, V = np.hstack([G, kappa]), np.hstack([kappa, -G])
        kappa = kappa - step * U @ np.linalg.inv(np.eye(2 * n) + step / 2 * V.conj().T @ U) @ V.conj().T @ kappa
    return kappa.reshape(kraus.shape)


@pytest.mark.parametrize("burn_in", [0, 3])
def test_an_epoch_is_algorithm_1(burn_in):
    data = hqmm_2_6().sample(6, 8, random_state=0)
    start = random_hqmm(2, 6, 2)(np.random.default_rng(1))
    learner = COSM(batch_size=2, learn_initial=False)
    reached = fit(learner, start, data, burn_in=burn_in, max_iter=1, random_state=7).model
    order = np.random.default_rng(7).permutation(6)
    batches = [[list(data[int(i)]) for i in order[k : k + 2]] for k in (0, 2, 4)]
    expected = plain_epoch(start.kraus, start.initial, batches, burn_in, 0.75)
    np.testing.assert_allclose(reached.kraus, expected, atol=1e-8)


def test_the_step_decays_each_epoch():
    data = hqmm_2_6().sample(20, 20, random_state=0)
    history = fit(COSM(step=0.5, decay=0.9), random_hqmm(2, 6), data, max_iter=3, random_state=0).history
    np.testing.assert_allclose(history["step"], 0.5 * 0.9 ** np.arange(4))


@pytest.mark.parametrize("update", UPDATES)
def test_every_update_scheme_learns(update):
    data = hqmm_2_6().sample(60, 60, random_state=0)
    result = fit(COSM(update=update), random_hqmm(2, 6), data, max_iter=15, random_state=1)
    assert result.history["train"][-1] > result.history["train"][0] + 0.05
    assert result.history["feasibility"].max() < 1e-9


@pytest.mark.parametrize("update", UPDATES)
def test_real_operators_stay_real_and_symbols_keep_a_kraus_rank_of_their_own(update):
    data = hqmm_2_6().sample(20, 20, random_state=0)
    kraus = random_hqmm(2, 6, 2, real=True)(np.random.default_rng(0)).kraus.copy()
    kraus[3:, 1] = 0.0
    start = HQMM(nearest_isometry(kraus), np.eye(2) / 2)
    learned = fit(COSM(batch_size=5, update=update), start, data, max_iter=5, random_state=0).model
    assert not learned.kraus.imag.any()
    assert not learned.initial.imag.any()
    assert not learned.kraus[3:, 1].any()
    assert np.abs(learned.kraus - start.kraus).max() > 0.1


@pytest.mark.parametrize(("learn_initial", "learned"), [(None, False), (False, False), (True, True)])
def test_the_state_before_a_burn_in_is_learned_where_that_is_asked_for(learn_initial, learned):
    data = hqmm_2_6().sample(20, 20, random_state=0)
    start = random_hqmm(2, 6)(np.random.default_rng(0))
    learner = COSM(batch_size=5, learn_initial=learn_initial)
    reached = fit(learner, start, data, burn_in=2, max_iter=2, random_state=0).model
    assert bool(np.abs(reached.initial - start.initial).max() > 1e-3) == learned


def test_fewer_batches_an_epoch_are_counted_as_part_of_a_pass():
    data = hqmm_2_6().sample(50, 20, random_state=0)
    history = fit(COSM(batch_size=10, batches=2), random_hqmm(2, 6), data, max_iter=2, random_state=0).history
    np.testing.assert_allclose(history["passes"], [0, 0.4, 0.8])


def test_momentum_can_be_kept():
    data = hqmm_2_6().sample(20, 20, random_state=0)
    runs = [
        fit(COSM(batch_size=5, keep_momentum=keep), random_hqmm(2, 6), data, max_iter=2, random_state=0)
        for keep in (False, True)
    ]
    assert runs[0].history["train"][1] == runs[1].history["train"][1]
    assert runs[0].history["train"][2] != runs[1].history["train"][2]


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="'wen-yin', 'jiang-dai'"):
        COSM(update="cayley")
    with pytest.raises(DataError, match="batch_size"):
        COSM(batch_size=0)


def test_zero_gradients_are_no_trouble():
    data = Sequences([[0, 0]] * 3, alphabet=1)
    result = fit(COSM(), random_hqmm(2, 1), data, max_iter=3, random_state=0)
    np.testing.assert_allclose(result.history["train"], 0, atol=1e-12)
