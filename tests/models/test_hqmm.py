import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import plain_probability, random_hmm, random_hqmm, words

from hqmm import HQMM, DataError, ModelError
from hqmm.channels import kraus_rank, random_kraus, random_unitary
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.models.hqmm import PastQuantumState

sizes = st.tuples(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))


def make(size):
    seed, n, s, w = size
    return random_hqmm(np.random.default_rng(seed), n, s, w)


@given(size=sizes)
def test_filtered_states_are_the_density_matrices_of_the_papers_update(size):
    model = make(size)
    word = model.sample(1, 4, random_state=0)[0]
    rho = model.initial
    for state, y in zip(model.filter(word), word, strict=True):
        rho = sum(K @ rho @ K.conj().T for K in model.kraus[y])  # equation 8
        rho = rho / np.trace(rho)
        np.testing.assert_allclose(state, rho, atol=1e-9)


@given(size=sizes)
def test_the_past_quantum_state_gives_the_odds_of_a_measurement_in_between(size):
    """P(outcome b at t, all symbols) by inserting the projector |b⟩⟨b| into the sequence of maps."""
    model = make(size)
    n = model.n_states
    word = model.sample(1, 4, random_state=1)[0]
    basis = random_unitary(n, random_state=0)
    past = model.smooth(word)
    for t in range(len(word)):
        joint = np.empty(n)
        for outcome in range(n):
            b = basis[:, outcome]
            rho = model.initial
            for step, y in enumerate(word):
                rho = sum(K @ rho @ K.conj().T for K in model.kraus[y])
                if step == t:
                    rho = np.outer(b, b.conj()) * (b.conj() @ rho @ b)
            joint[outcome] = np.trace(rho).real
        np.testing.assert_allclose(past.probabilities(basis)[t], joint / joint.sum(), atol=1e-8)
        np.testing.assert_allclose(np.trace(past.effects[t] @ past.states[t]), 1)


@given(size=sizes)
def test_a_density_matrix_stays_in_the_spectraplex(size):
    model = make(size)
    for rho in model.filter(model.sample(1, 6, random_state=0)[0]):
        assert np.linalg.eigvalsh(rho)[0] > -1e-10
        np.testing.assert_allclose(np.trace(rho), 1)


def test_a_vector_is_a_pure_state_and_nothing_is_the_maximally_mixed_one():
    kraus = random_kraus(2, 1, 2, random_state=0)
    v = np.array([0.6, 0.8j])
    np.testing.assert_allclose(HQMM(kraus, v).initial, np.outer(v, v.conj()))
    np.testing.assert_allclose(HQMM(kraus).initial, np.eye(2) / 2)


def test_kraus_operators_may_be_given_per_symbol_in_different_numbers():
    kraus = random_kraus(1, 3, 2, random_state=0)[0]
    model = HQMM([kraus[:1], kraus[1:]])
    assert model.kraus.shape == (2, 2, 2, 2)
    assert not np.any(model.kraus[0, 1])
    single = random_kraus(3, 1, 2, random_state=0)[:, 0]
    assert HQMM(single).kraus_rank == 1


def test_canonical_operators_are_orthogonal_and_as_few_as_the_choi_rank():
    kraus = random_kraus(2, 2, 2, random_state=0)
    turned = np.einsum("vw,ywij->yvij", random_unitary(5, random_state=1)[:, :2], kraus)
    model = HQMM(turned)
    canonical = model.canonical()
    assert model.kraus_rank == 5
    assert canonical.kraus_rank == 2 == kraus_rank(model.choi()).max()
    gram = np.einsum("yvij,ywij->yvw", canonical.kraus.conj(), canonical.kraus)
    np.testing.assert_allclose(gram[:, 0, 1], 0, atol=1e-10)
    assert np.all(gram[:, 0, 0].real >= gram[:, 1, 1].real)


@given(size=sizes, rank=st.integers(1, 3))
def test_compression_is_valid_and_no_worse_than_truncation(size, rank):
    model = make(size)
    small = model.compress(rank)
    assert small.kraus_rank <= rank
    distance = np.linalg.norm(small.choi() - model.choi())
    assert distance <= np.linalg.norm(model.compress(rank, max_iter=0).choi() - model.choi()) + 1e-12
    if rank >= model.kraus_rank:
        assert distance < 1e-8


def test_compression_is_a_local_minimum_on_the_stiefel_manifold():
    model = hmm_6_6().to_hqmm()
    small = model.compress(2, max_iter=2000)
    reached = np.linalg.norm(small.choi() - model.choi())
    rng = np.random.default_rng(0)
    from hqmm.channels import nearest_isometry

    for _ in range(50):
        nearby = nearest_isometry(small.kraus + 1e-3 * rng.normal(size=small.kraus.shape))
        assert np.linalg.norm(HQMM(nearby).choi() - model.choi()) > reached - 1e-9


@given(seed=st.integers(0, 1000))
def test_the_classical_twin_of_an_hmm_is_the_hmm(seed):
    hmm = random_hmm(np.random.default_rng(seed), 3, 2)
    twin = hmm.to_hqmm().decohere()
    np.testing.assert_allclose(twin.operators, hmm.to_oom().operators, atol=1e-12)
    np.testing.assert_allclose(twin.initial, hmm.initial, atol=1e-12)


def test_the_classical_twin_is_the_model_measured_after_every_step():
    model = random_hqmm(np.random.default_rng(0), 2, 2, 2)
    basis = random_unitary(2, random_state=1)
    projectors = [np.outer(b, b.conj()) for b in basis.T]
    measured = np.stack([[P @ K for K in operators for P in projectors] for operators in model.kraus])
    start = sum(P @ model.initial @ P for P in projectors)
    np.testing.assert_allclose(
        model.decohere(basis).probability(words(2, 4)), HQMM(measured, start).probability(words(2, 4)), atol=1e-12
    )
    with pytest.raises(ModelError, match="basis must be unitary"):
        model.decohere(2 * basis)


def test_decoding_finds_the_best_path_of_all():
    model = random_hqmm(np.random.default_rng(3), 2, 2, 1)
    twin, word = model.decohere(), [0, 1, 1, 0]
    T, x = twin.operators, twin.initial

    def score(path):
        best = (T[word[0]] @ x)[path[0]]
        for y, i, j in zip(word[1:], path[1:], path[:-1], strict=True):
            best *= T[y][i, j]
        return best

    best = max(words(2, 4, 4), key=score)
    assert score(list(model.decode(word))) == pytest.approx(score(best), rel=1e-12)


def test_rounding_below_zero_is_no_probability():
    state, effect = np.diag([1, -1e-17]).astype(complex)[None], np.diag([1, 0.5]).astype(complex)[None]
    np.testing.assert_array_equal(PastQuantumState(state, effect).probabilities(), [[1, 0]])


def test_a_basis_to_measure_in_is_unitary():
    model = random_hqmm(np.random.default_rng(0))
    for use in (model.smooth([0]).probabilities, model.decohere, lambda basis: model.decode([0], basis)):
        for basis, message in (
            (2 * np.eye(2), "basis must be unitary"),
            (np.eye(3), r"shape \(2, 2\), not \(3, 3\)"),
        ):
            with pytest.raises(ModelError, match=message):
                use(basis)


def test_spin_measurements_repeat():
    spin = hqmm_2_6()
    assert spin.predict([3])[2] == pytest.approx(0, abs=1e-12)  # never + right after −
    assert plain_probability(spin, [4, 4]) == pytest.approx(1 / 18)


@pytest.mark.parametrize(("call", "message"), [(lambda m: m.to_oom("cubic"), "'real' or 'liouville'")])
def test_an_unknown_form_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(hqmm_2_6())
    with pytest.raises(ModelError, match="rank must be at least 1"):
        hqmm_2_6().compress(0)
    with pytest.raises(ModelError, match=r"rank must be a whole number, not 1\.5"):
        hqmm_2_6().compress(1.5)


@pytest.mark.parametrize("seed", range(5))
def test_a_symbol_that_is_possible_only_by_rounding_has_no_state_after_it(seed):
    # "Down" cannot come after "up" along the same axis. In a turned basis its probability is a rounding error of
    # either sign, and the state after it would be noise.
    turn = random_unitary(2, random_state=seed)
    model = HQMM(turn @ hqmm_2_6().kraus @ turn.conj().T)
    for pair in ([0, 1], [1, 0], [2, 3], [3, 2], [4, 5], [5, 4]):
        with pytest.raises(DataError, match=r"position 1: .* probability zero"):
            model.filter([*pair, 0])


def test_the_only_state_of_one_dimension_is_stationary_whatever_rounding_does():
    kraus = np.full((3, 2, 1, 1), np.sqrt(1 / 6))
    np.testing.assert_allclose(HQMM(kraus).stationary_state(), [[1]])
