import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import ZOO, random_hmm, random_hqmm, stochastic

from hqmm import HMM, HQMM, NOOM, OOM, DataError
from hqmm.datasets import hmm_6_6, probability_clock
from hqmm.theory import has_oscillating_operator, peripheral_spectrum

seeds = st.integers(0, 10_000)


def turning(angle):
    """A NOOM whose symbol 0 turns a real state by ``angle`` and whose symbol 1 resets it."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[0.6 * c, -0.6 * s], [0.6 * s, 0.6 * c]])
    return NOOM([turn, np.diag([0.8, 0]), np.array([[0, 0.8], [0, 0]])], [1, 0])


@pytest.mark.parametrize(
    "make", [lambda c: c, lambda c: c.to_oom(), lambda c: c.to_hqmm(), lambda c: c.to_oom().standard()]
)
def test_the_probability_clock_oscillates_in_every_form(make):
    model = make(probability_clock())
    K = probability_clock().operators[0]
    phase = 2 * np.arccos(np.trace(K) / 2 / np.sqrt(np.linalg.det(K)))
    values = peripheral_spectrum(model, 0)
    np.testing.assert_allclose(np.abs(values), np.linalg.det(K), rtol=1e-12)
    np.testing.assert_allclose(np.angle(values), [-phase, 0, phase], atol=1e-12)
    assert has_oscillating_operator(model)
    assert has_oscillating_operator(model, max_states=1000)


def test_the_clocks_reset_does_not_oscillate():
    np.testing.assert_allclose(peripheral_spectrum(probability_clock(), 1), [0.64], atol=1e-12)


@pytest.mark.parametrize(("turns", "order"), [(1 / 6, 3), (1 / 5, 5), (3 / 14, 7)])
def test_a_rational_turn_excludes_only_models_with_fewer_states(turns, order):
    # The density matrix turns by twice the angle of the state: `order` states could follow that.
    model = turning(2 * np.pi * turns)
    assert has_oscillating_operator(model, max_states=order - 1)
    assert not has_oscillating_operator(model, max_states=order)


@given(seed=seeds, n=st.integers(1, 6), s=st.integers(1, 3))
def test_no_hmm_oscillates(seed, n, s):
    rng = np.random.default_rng(seed)
    assert not has_oscillating_operator(random_hmm(rng, n, s), max_states=n)


@given(seed=seeds, n=st.integers(2, 6), s=st.integers(1, 3))
def test_no_hmm_oscillates_even_with_cycles_and_impossible_steps(seed, n, s):
    rng = np.random.default_rng(seed)
    transition = stochastic(rng, n, n) * (rng.random((n, n)) < 0.4) + np.eye(n)[rng.permutation(n)]
    emission = stochastic(rng, s, n) * (rng.random((s, n)) < 0.5) + np.eye(s)[rng.integers(0, s, n)].T
    start = np.eye(n)[rng.integers(n)]
    model = HMM(transition / transition.sum(axis=0), emission / emission.sum(axis=0), start)
    assert not has_oscillating_operator(model, max_states=n)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_a_defective_leading_eigenvalue_is_not_taken_for_a_turn(n):
    # A corridor of equal rooms: one eigenvalue in a Jordan block of size n, which rounding spreads over a circle.
    walk = 0.5 * np.eye(n) + 0.5 * np.eye(n, k=-1)
    walk[-1, -1] = 1
    emission = np.array([np.append(np.full(n - 1, 0.7), 0.2), np.append(np.full(n - 1, 0.3), 0.8)])
    rng = np.random.default_rng(n)
    form = HMM(walk, emission, np.eye(n)[0]).linear
    change = np.eye(n) + 0.3 * rng.normal(size=(n, n))
    inverse = np.linalg.inv(change)
    model = OOM(change @ form.operators @ inverse, change @ form.initial, form.evaluation @ inverse)
    assert not has_oscillating_operator(model)


@given(seed=seeds, n=st.integers(2, 4), s=st.integers(2, 3))
def test_a_positive_hmm_has_one_positive_leading_eigenvalue(seed, n, s):
    model = random_hmm(np.random.default_rng(seed), n, s)
    values = peripheral_spectrum(model, 0)
    assert len(values) == 1
    assert values[0].real > 0
    assert abs(values[0].imag) < 1e-12
    assert values[0].real == pytest.approx(np.abs(np.linalg.eigvals(model.linear.operators[0])).max(), rel=1e-9)


@given(seed=seeds, kind=st.sampled_from(sorted(ZOO)))
def test_the_leading_modulus_of_a_valid_model_is_itself_an_eigenvalue(seed, kind):
    # Perron–Frobenius for the cone of states: true of every valid model, quantum or not.
    model = ZOO[kind](np.random.default_rng(seed), 2, 2)
    for symbol in range(2):
        values = peripheral_spectrum(model, symbol, tol=1e-6)
        assert np.abs(values - np.abs(values).max()).min() <= 1e-6


def test_turns_that_nobody_reaches_or_sees_do_not_count():
    # The clock runs in a block that the process never enters, and in one that no symbol depends on.
    K = probability_clock().operators
    blocks = np.zeros((2, 4, 4))
    blocks[:, :2, :2], blocks[:, 2:, 2:] = np.sqrt(0.5) * np.eye(2), K
    assert not has_oscillating_operator(NOOM(blocks, [1, 0, 0, 0]))
    assert has_oscillating_operator(NOOM(blocks, [0, 0, 1, 0]))
    u = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    assert not has_oscillating_operator(HQMM(np.sqrt(0.5) * np.array([[u], [u]]), [1, 0]))


def test_one_cycle_in_an_hmm_shows_as_roots_of_unity():
    model = HMM(np.roll(np.eye(3), 1, axis=0), [[0.5, 0.5, 0.4], [0.5, 0.5, 0.6]], [1, 0, 0])
    phases = np.angle(peripheral_spectrum(model, 0))
    np.testing.assert_allclose(phases, [-2 * np.pi / 3, 0, 2 * np.pi / 3], atol=1e-12)
    assert has_oscillating_operator(model, max_states=2)
    assert not has_oscillating_operator(model, max_states=3)


def test_a_symbol_that_never_occurs_has_the_spectrum_zero():
    model = HMM([[0.9, 0.2], [0.1, 0.8]], [[0.3, 0.6], [0.7, 0.4], [0, 0]])
    np.testing.assert_array_equal(peripheral_spectrum(model, 2), [0, 0])
    assert not has_oscillating_operator(model)


def test_symbols_are_named_as_in_the_alphabet():
    model = hmm_6_6().replace(alphabet="abcdef")
    np.testing.assert_array_equal(peripheral_spectrum(model, "c"), peripheral_spectrum(hmm_6_6(), 2))
    with pytest.raises(DataError, match="'z'"):
        peripheral_spectrum(model, "z")
    with pytest.raises(DataError, match="missing"):
        peripheral_spectrum(model, None)


def test_an_hmm_needs_at_least_one_state():
    with pytest.raises(DataError, match="max_states"):
        has_oscillating_operator(random_hqmm(np.random.default_rng(0)), max_states=0)
