"""The number of parameters, against the numerical rank of the Jacobian of word probabilities."""

import numpy as np
import pytest
from tests.zoo import random_chain, random_hmm, random_oom, stochastic

from hqmm import HMM, HQMM, NOOM, OOM, Alphabet, HybridHQMM, MarkovChain, Sequences
from hqmm.channels import nearest_isometry, random_density_matrix, random_kraus, real_operators, to_real
from hqmm.estimators.counting import n_parameters
from hqmm.learning import random_hqmm, random_hybrid, random_noom
from hqmm.learning.stiefel import euclidean_tangent


def jacobian(form, directions, longest, end):
    """Return ∂P(word)/∂(direction): all words of the greatest length, and shorter ones that end.

    A direction changes the operators and the initial state; ``form`` is (T, r₀, σ).
    """
    T, state, sigma = form
    dT = np.array([operators for operators, _ in directions])
    states, slopes = state[None], np.array([start for _, start in directions]).T[None]
    rows = []
    for _ in range(longest):
        moved = [states @ T[y].T for y in range(len(T))]
        turned = [
            np.einsum("ij,wjd->wid", T[y], slopes) + np.einsum("dij,wj->wid", dT[:, y], states)
            for y in range(len(T))
        ]
        if end is not None:
            rows.append(np.einsum("i,wid->wd", sigma, turned[end]))
        going = [y for y in range(len(T)) if y != end]
        states = np.concatenate([moved[y] for y in going])
        slopes = np.concatenate([turned[y] for y in going])
    return np.concatenate([*rows, np.einsum("i,wid->wd", sigma, slopes)])


def rank_of(matrix):
    values = np.linalg.svd(matrix, compute_uv=False)
    values = values / values[0]
    rank = int(np.count_nonzero(values > 1e-8))
    assert rank == len(values) or values[rank] < 1e-11, "the rank is not clear: use longer words"
    return rank


def stationary(form, directions):
    """Let the initial state be the stationary one, whatever the operators: (I − T) dr = dT r and σᵀdr = 0."""
    T, state, sigma = form
    transfer = T.sum(axis=0)
    solve = np.linalg.inv(np.eye(len(transfer)) - transfer + np.outer(state, sigma))
    return [(dT, solve @ dT.sum(axis=0) @ state) for dT, _ in directions]


def quantum_directions(model, real, initial):
    """Return the tangent space of κ (T is quadratic in K, so differences are exact), and of the initial state."""
    K, (s, w, k, _, q, _) = model.kraus, model.kraus.shape
    m = k * q * q

    def operators(kraus):
        blocks = real_operators(np.moveaxis(kraus, 1, 3))
        return blocks.transpose(0, 1, 3, 2, 4).reshape(s, m, m)

    directions = []
    for label in range(k):
        kappa = K[:, :, :, label].reshape(s * w * k * q, q)
        for place in np.ndindex(kappa.shape):
            for unit in (1,) if real else (1, 1j):
                change = np.zeros_like(kappa)
                change[place] = unit
                dK = np.zeros_like(K)
                dK[:, :, :, label] = euclidean_tangent(kappa[None], change[None])[0].reshape(s, w, k, q, q)
                directions.append(((operators(K + dK) - operators(K - dK)) / 2, np.zeros(m)))
    if initial == "learned":
        values, vectors = np.linalg.eigh(model.initial)
        root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
        rank = max(np.count_nonzero(values > 1e-9, axis=1))
        for place in np.ndindex(k, q, rank):
            for unit in (1,) if real else (1, 1j):
                change = np.zeros_like(root)
                change[place[0], place[1], q - 1 - place[2]] = unit
                slope = root @ change.conj().swapaxes(1, 2) + change @ root.conj().swapaxes(1, 2)
                slope = slope - model.initial * np.trace(slope, axis1=1, axis2=2).sum()
                directions.append((np.zeros((s, m, m)), to_real(slope).ravel()))
    return directions


def quantum_rank(model, initial, longest):
    """Return the rank for an HQMM, a hybrid model or a NOOM."""
    hybrid = model.to_hybrid()
    real = not (np.any(hybrid.kraus.imag) or np.any(hybrid.initial.imag))
    directions = quantum_directions(hybrid, real, initial)
    form = hybrid.linear
    state = form.initial
    if initial == "stationary":
        state = to_real(hybrid.stationary_state()).ravel()
        directions = stationary((form.operators, state, form.evaluation), directions)
    return rank_of(jacobian((form.operators, state, form.evaluation), directions, longest, model.alphabet.end))


def generic(k, q, s, w, end=False):
    alphabet = Alphabet(s - end, end=end)
    return random_hybrid(k, q, alphabet, w)(np.random.default_rng([k, q, s, w]))


SIZES = [  # k, q, s, w, length of words
    (1, 1, 3, 1, 3),
    (1, 1, 3, 2, 3),
    (1, 2, 2, 1, 6),
    (1, 2, 3, 1, 5),
    (1, 2, 2, 2, 6),
    (1, 2, 3, 2, 5),
    (1, 2, 2, 4, 6),
    (1, 2, 2, 5, 6),
    (1, 3, 2, 1, 7),
    (2, 1, 2, 1, 5),
    (3, 1, 3, 1, 4),
    (2, 1, 2, 2, 5),
    (2, 2, 2, 1, 8),
]


@pytest.mark.parametrize("initial", ["learned", "fixed", "stationary"])
@pytest.mark.parametrize(("k", "q", "s", "w", "longest"), SIZES)
def test_quantum_models_have_as_many_parameters_as_the_jacobian_has_rank(k, q, s, w, longest, initial):
    model = generic(k, q, s, w)
    assert n_parameters(model, initial=initial) == quantum_rank(model, initial, longest)
    if k == 1:
        twin = HQMM(model.kraus[:, :, 0, 0], model.initial[0])
        assert n_parameters(twin, initial=initial) == n_parameters(model, initial=initial)


@pytest.mark.parametrize("initial", ["learned", "fixed"])
@pytest.mark.parametrize(
    ("k", "q", "s", "w", "longest"),
    [(1, 1, 3, 1, 3), (1, 2, 3, 1, 7), (1, 2, 3, 2, 7), (2, 1, 3, 1, 5), (1, 2, 2, 4, 9)],
)
def test_an_end_symbol_takes_parameters_away(k, q, s, w, longest, initial):
    model = generic(k, q, s, w, end=True)
    assert n_parameters(model, initial=initial) == quantum_rank(model, initial, longest)


@pytest.mark.parametrize("initial", ["learned", "fixed", "stationary"])
@pytest.mark.parametrize("real", [False, True], ids=["complex", "real"])
@pytest.mark.parametrize(
    ("n", "ranks", "longest"), [(1, [1, 2, 3], 3), (2, [2, 1], 6), (2, [1, 2, 1], 5), (3, [1, 2], 7)]
)
def test_symbols_with_ranks_of_their_own_have_as_many_parameters_as_the_jacobian_has_rank(
    n, ranks, longest, real, initial
):
    model = random_hqmm(n, len(ranks), ranks, real=real)(np.random.default_rng(n))
    assert n_parameters(model, initial=initial) == quantum_rank(model, initial, longest)
    assert n_parameters(model.to_hybrid(), initial=initial) == n_parameters(model, initial=initial)


@pytest.mark.parametrize("ranks", [[1, 1, 2], [2, 1, 1]], ids=["end has two", "end has one"])
def test_ranks_of_their_own_go_with_an_end_symbol(ranks):
    model = random_hqmm(2, Alphabet(2, end=True), ranks)(np.random.default_rng(0))
    assert n_parameters(model) == quantum_rank(model, "learned", 7)


def test_a_symbol_that_never_occurs_has_the_operators_that_there_is_room_for():
    model = generic(1, 2, 3, 2)
    without = model.kraus.copy()
    without[2] = 0
    without[:2] = nearest_isometry(without[:2, :, 0, 0])[:, :, None, None]
    assert n_parameters(model.replace(kraus=without)) == n_parameters(model)


@pytest.mark.parametrize("initial", ["learned", "fixed", "stationary"])
@pytest.mark.parametrize(("n", "s", "longest"), [(1, 3, 3), (2, 2, 6), (2, 3, 5), (3, 2, 7), (3, 3, 5)])
def test_nooms_have_as_many_parameters_as_the_jacobian_has_rank(n, s, longest, initial):
    model = random_noom(n, s)(np.random.default_rng(n))
    assert n_parameters(model, initial=initial) == quantum_rank(model, initial, longest)


def test_special_initial_states_leave_more_freedom_to_turn_the_basis():
    kraus = random_kraus(2, 1, 3, random_state=0)
    rng = np.random.default_rng(0)
    for state in (
        np.eye(3) / 3,
        np.diag([0.5, 0.25, 0.25]),
        np.diag([1.0, 0, 0]),
        random_density_matrix(3, random_state=rng),
    ):
        model = HQMM(kraus, state)
        assert n_parameters(model, initial="fixed") == quantum_rank(model, "fixed", 7)
        assert n_parameters(model) == quantum_rank(model, "learned", 7)


def hmm_rank(model, initial, longest):
    A, C, x = model.transition, model.emission, model.initial
    n, s = model.n_states, model.n_symbols
    directions = []
    for column in range(n):
        for row in range(n - 1):
            dA = np.zeros((n, n))
            dA[[row, -1], column] = 1, -1
            directions.append((C[:, :, None] * dA, np.zeros(n)))
        for row in range(s - 1):
            dC = np.zeros((s, n))
            dC[[row, -1], column] = 1, -1
            directions.append((dC[:, :, None] * A, np.zeros(n)))
    if initial == "learned":
        for row in range(n - 1):
            start = np.zeros(n)
            start[[row, -1]] = 1, -1
            directions.append((np.zeros((s, n, n)), start))
    T = model.linear.operators
    if initial == "stationary":
        x = model.stationary_state()
        directions = stationary((T, x, np.ones(n)), directions)
    return rank_of(jacobian((T, x, np.ones(n)), directions, longest, model.alphabet.end))


@pytest.mark.parametrize("initial", ["learned", "fixed", "stationary"])
@pytest.mark.parametrize(("n", "s", "longest"), [(1, 3, 3), (2, 2, 5), (2, 4, 4), (3, 2, 7), (3, 4, 4), (4, 3, 6)])
def test_hmms_have_as_many_parameters_as_the_jacobian_has_rank(n, s, longest, initial):
    model = random_hmm(np.random.default_rng(n), n, s)
    assert n_parameters(model, initial=initial) == hmm_rank(model, initial, longest)


@pytest.mark.parametrize(("n", "s", "longest"), [(2, 2, 6), (2, 3, 5), (3, 2, 10)])
def test_hmms_that_end_have_as_many_parameters_as_the_jacobian_has_rank(n, s, longest):
    rng = np.random.default_rng(n)
    model = HMM(
        stochastic(rng, n, n),
        stochastic(rng, s, n),
        stochastic(rng, n, 1)[:, 0],
        alphabet=Alphabet(s - 1, end=True),
    )
    assert n_parameters(model) == hmm_rank(model, "learned", longest)


@pytest.mark.parametrize(("n", "s", "longest"), [(1, 2, 3), (2, 2, 5), (3, 2, 6), (2, 3, 4)])
def test_ooms_have_as_many_parameters_as_the_jacobian_has_rank(n, s, longest):
    form = random_oom(np.random.default_rng(0), n, s).linear
    sigma, basis = form.evaluation, np.linalg.svd(form.evaluation[None])[2][1:]
    directions = []
    for y in range(s):
        for i in range(n):
            for j in range(n):
                if y == s - 1:  # the last operator keeps σᵀ Σ T = σᵀ
                    if i == n - 1:
                        continue
                    change = np.zeros((s, n, n))
                    change[y, :, j] = basis[i]
                else:
                    change = np.zeros((s, n, n))
                    change[y, i, j] = 1
                    change[s - 1, i, j] = -1
                directions.append((change, np.zeros(n)))
    directions += [(np.zeros((s, n, n)), vector) for vector in basis]
    rank = rank_of(jacobian((form.operators, form.initial, sigma), directions, longest, None))
    model = OOM(form.operators, form.initial, sigma)
    assert n_parameters(model) == rank


def test_a_markov_chain_has_a_distribution_for_each_context_it_can_reach():
    first = MarkovChain.from_transition(stochastic(np.random.default_rng(0), 3, 3), [0.2, 0.3, 0.5])
    assert n_parameters(first) == 2 + 3 * 2
    chain = random_chain(np.random.default_rng(0))
    assert (chain.n_contexts, n_parameters(chain)) == (10, 1 + 2 + 4)  # after the start: a, b and then aa … bb
    ended = MarkovChain.from_sequences(Sequences(["ab", "ba", "aa"], end=True), 1)
    assert n_parameters(ended) == 3 * 2  # after the start, a, and b


def test_more_parameters_than_an_oom_of_that_dimension_can_have_are_not_counted():
    assert n_parameters(generic(1, 2, 2, 4)) == 16 + 3


def test_what_is_not_a_way_to_start_is_refused():
    with pytest.raises(ValueError, match="initial must be"):
        n_parameters(generic(1, 2, 2, 1), initial="free")


def test_the_class_of_real_models_is_counted_as_real():
    hqmm = HQMM(
        random_kraus(3, 2, 2, real=True, random_state=0), random_density_matrix(2, real=True, random_state=0)
    )
    assert n_parameters(hqmm) == quantum_rank(hqmm, "learned", 5)
    assert isinstance(hqmm.to_hybrid(), HybridHQMM)
    noom = NOOM(random_kraus(3, 1, 2, real=True, random_state=0)[:, 0].real, [1.0, 0.0])
    assert n_parameters(noom) < n_parameters(noom.to_hqmm().replace(kraus=random_kraus(3, 1, 2, random_state=0)))
