import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import ZOO, random_hmm, random_hqmm, words

from hqmm.linear import LinearForm
from hqmm.reduction import extend, observable_basis, reachable_basis, reduce

seeds = st.integers(0, 10_000)


def evaluate(form, word):
    state = form.initial
    for code in word:
        state = form.operators[code] @ state
    return form.evaluation @ state


def span(columns):
    """The projector on the span of many vectors, by plain SVD."""
    u, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    u = u[:, sizes > 1e-9 * sizes.max()]
    return u @ u.T


def naive_states(form, longest):
    states = [form.initial]
    for word in words(form.n_symbols, longest):
        state = form.initial
        for code in word:
            state = form.operators[code] @ state
        states.append(state / (np.linalg.norm(state) or 1))
    return np.array(states).T


def padded(form, rng):
    """The same process with an unreachable and an unobservable dimension, all hidden by a change of basis."""
    s, m = form.n_symbols, form.dimension
    operators = rng.normal(size=(s, m + 2, m + 2))
    operators[:, m + 1, : m + 1] = 0  # nothing leads to the last dimension
    operators[:, : m + 1, m] = 0  # nothing else sees the one before
    operators[:, m, m] = 0.5
    operators[:, :m, :m] = form.operators
    initial = np.concatenate([form.initial, [rng.normal(), 0]])
    evaluation = np.concatenate([form.evaluation, [0, rng.normal()]])
    change = np.eye(m + 2) + 0.2 * rng.normal(size=(m + 2, m + 2))
    inverse = np.linalg.inv(change)
    return LinearForm(change @ operators @ inverse, change @ initial, evaluation @ inverse)


@given(seed=seeds, kind=st.sampled_from(sorted(ZOO)), s=st.integers(1, 3))
def test_the_bases_span_what_all_short_sequences_reach_and_observe(seed, kind, s):
    form = ZOO[kind](np.random.default_rng(seed), 2, s).linear
    backwards = LinearForm(form.operators.transpose(0, 2, 1), form.evaluation, form.initial)
    for basis, same in ((reachable_basis(form), form), (observable_basis(form), backwards)):
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
        np.testing.assert_allclose(basis @ basis.T, span(naive_states(same, 5 if s > 1 else 12)), atol=1e-6)


@given(seed=seeds, kind=st.sampled_from(sorted(ZOO)), n=st.integers(1, 3), s=st.integers(1, 3))
def test_reduction_keeps_every_probability(seed, kind, n, s):
    form = ZOO[kind](np.random.default_rng(seed), n, s).linear
    small = reduce(form)
    assert small.dimension <= form.dimension
    for word in words(s, 4):
        assert evaluate(small, word) == pytest.approx(evaluate(form, word), abs=1e-11)


@given(seed=seeds, n=st.integers(1, 4), s=st.integers(2, 4))
def test_added_dimensions_are_found_and_removed(seed, n, s):
    rng = np.random.default_rng(seed)
    small = reduce(random_hmm(rng, n, s).linear)
    large = padded(small, rng)
    assert reachable_basis(large).shape[1] == small.dimension + 1
    assert observable_basis(large).shape[1] == small.dimension + 1
    assert reduce(large).dimension == small.dimension


@given(seed=seeds)
def test_reducing_twice_changes_nothing(seed):
    small = reduce(random_hqmm(np.random.default_rng(seed), 3, 2, 1).linear)
    assert reduce(small).dimension == small.dimension


@pytest.mark.parametrize("rare", [1e-6, 1e-12, 1e-100])
def test_a_rare_symbol_leads_to_states_like_any_other(rare):
    # Only the symbol of tiny probability ever leads to the second state.
    operators = np.array([[[1 - rare, 0.3], [0, 0.7 - 0.4 * rare]], [[0, 0], [rare, 0.4 * rare]]])
    assert reduce(LinearForm(operators, np.array([1.0, 0]), np.ones(2))).dimension == 2


def test_a_state_that_many_steps_lead_to_is_reachable():
    # A corridor of 40 rooms, taken with probability 0.001 at each step: its end has probability 1e-120.
    walk = np.diag(np.full(39, 1e-3), -1)
    stay = np.diag(np.append(np.full(39, 1 - 1e-3), 1.0))
    form = LinearForm(np.array([walk, stay]), np.eye(40)[0], np.ones(40))
    assert reachable_basis(form).shape == (40, 40)


def test_extending_a_basis_keeps_it_orthogonal_to_what_is_left():
    rng = np.random.default_rng(0)
    basis, outside = extend(np.empty((5, 0)), rng.normal(size=(5, 3)), 1)
    basis, outside = extend(basis, outside, 2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(basis.T @ outside, 0, atol=1e-14)


def test_a_direction_that_is_mostly_rounding_is_made_orthogonal():
    basis, _ = extend(np.array([[1.0], [0.0]]), np.array([[1e-16], [1e-10]]), 0)
    np.testing.assert_allclose(basis, np.eye(2), atol=1e-15)
