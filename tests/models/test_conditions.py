"""Every condition of Definitions 1–6 is checked, and the message says which one fails and by how much."""

import numpy as np
import pytest

from hqmm import HMM, HQMM, NOOM, OOM, MarkovChain, ModelError

I2 = np.eye(2)
COIN = np.array([I2, I2]) / np.sqrt(2)
# a damped rotation and its complement: normalised, but the probability of symbol 0 oscillates around zero
ROTATION = 0.6 * np.array([[np.cos(1.2), -np.sin(1.2)], [np.sin(1.2), np.cos(1.2)]])
TURN = np.array([ROTATION, np.outer([1.0, 0.0], 1 - ROTATION.sum(axis=0))])
CASES = {
    # Definition 1
    "HMM negative transition": (
        lambda: HMM([[1.5, 0], [-0.5, 1]], I2),
        r"HMM condition \(i\): transition\[1, 0\]",
    ),
    "HMM negative emission": (lambda: HMM(I2, [[2, 0], [-1, 1]]), r"HMM condition \(i\): emission\[1, 0\]"),
    "HMM negative initial": (lambda: HMM(I2, I2, [2, -1]), r"HMM condition \(i\): initial\[1\]"),
    "HMM initial": (lambda: HMM(I2, I2, [0.5, 0.4]), r"condition \(ii\): initial .*0\.9 \(off by 0\.1\)"),
    "HMM transition": (
        lambda: HMM([[0.5, 0], [0, 1]], I2),
        r"condition \(iii\): transition .*column 0 sums to 0\.5",
    ),
    "HMM emission": (lambda: HMM(I2, [[1, 0], [0, 0.5]]), r"condition \(iii\): emission .*column 1"),
    # Definition 2
    "standard OOM initial": (lambda: OOM([I2 / 2, I2 / 2], [1, 1]), r"standard OOM condition \(i\).*is 2"),
    "standard OOM marginal": (lambda: OOM([I2, I2 / 2], [1, 0]), r"standard OOM condition \(ii\).*off by 0\.5"),
    "OOM negative": (
        lambda: OOM([[[1.5]], [[-0.5]]], [1]),
        r"OOM condition \(iii\).*\[1\].*negative probability -0\.5",
    ),
    "OOM negative later": (
        lambda: OOM(TURN, [1.0, 0.0], check_length=4),
        r"OOM condition \(iii\).*negative",
    ),
    # Definition 3
    "general OOM initial": (lambda: OOM([I2 / 2, I2 / 2], [1, 0], [0.5, 0]), r"^OOM condition \(i\).*is 0\.5"),
    "general OOM marginal": (lambda: OOM([I2, I2], [1, 0], [1, 0]), r"^OOM condition \(ii\).*reachable.*off by 1"),
    "general OOM complex": (
        lambda: OOM(np.array([[[0.5 + 0.5j]], [[0.5 - 0.5j]]]), [1], [1]),
        r"^OOM condition \(iii\).*real",
    ),
    # Definition 4
    "NOOM initial": (lambda: NOOM(COIN, [1, 1]), r"NOOM condition \(i\).*is 2"),
    "NOOM operators": (lambda: NOOM([I2, I2], [1, 0]), r"NOOM condition \(ii\).*off by 1"),
    "NOOM complex": (lambda: NOOM(COIN * 1j, [1, 0]), r"NOOM: operators must be real"),
    # Definition 5
    "L-HQMM state": (
        lambda: HQMM.from_liouville([np.eye(4)], [[1.5, 0], [0, -0.5]]),
        r"L-HQMM condition \(i\).*eigenvalue -0\.5",
    ),
    "L-HQMM trace": (lambda: HQMM.from_liouville([np.eye(4)], I2), r"L-HQMM condition \(ii\).*has 2"),
    "L-HQMM CP": (
        # the transposition is positive and trace-preserving but not completely positive
        lambda: HQMM.from_liouville([np.eye(4)[[0, 2, 1, 3]]]),
        r"L-HQMM condition \(iii\).*symbol 0.*eigenvalue -1",
    ),
    "L-HQMM TP": (lambda: HQMM.from_liouville([np.eye(4), np.eye(4)]), r"L-HQMM condition \(iv\).*off by 1"),
    "L-HQMM HP": (lambda: HQMM.from_liouville([1j * np.eye(4)]), r"L-HQMM condition \(v\)"),
    # Definition 6
    "K-HQMM Hermitian": (lambda: HQMM(COIN, [[0.5, 1], [0, 0.5]]), r"HQMM condition \(i\).*Hermitian"),
    "K-HQMM PSD": (lambda: HQMM(COIN, [[1.5, 0], [0, -0.5]]), r"HQMM condition \(i\).*eigenvalue -0\.5"),
    "K-HQMM trace": (lambda: HQMM(COIN, I2), r"HQMM condition \(ii\).*has 2"),
    "K-HQMM TP": (lambda: HQMM([I2, I2]), r"HQMM condition \(iii\).*off by 1"),
    "K-HQMM pure": (lambda: HQMM(COIN, [1, 1]), r"HQMM condition \(ii\).*has 2"),
    # chains
    "chain negative": (lambda: MarkovChain([[1.5, -0.5]], [[0, 0]]), r"condition \(i\)"),
    "chain sum": (lambda: MarkovChain([[0.5, 0.4]], [[0, 0]]), r"condition \(ii\)"),
    "chain successor": (lambda: MarkovChain([[0.5, 0.5]], [[0, 1]]), r"from 0 to 0"),
    "chain successor of no context": (lambda: MarkovChain([[0.5, 0.5]], [[0, 1e300]]), r"from 0 to 0"),
    "chain successor between": (
        lambda: MarkovChain([[0.5, 0.5]] * 2, [[0, 0.5], [0, 1]]),
        r"whole numbers from 0",
    ),
    "chain order": (lambda: MarkovChain([[0.5, 0.5]], [[0, 0]], -1), r"order must be a whole number from 0 up"),
    "chain order between": (lambda: MarkovChain([[0.5, 0.5]], [[0, 0]], 1.5), r"order must be a whole number"),
    "chain orders": (lambda: MarkovChain([[0.5, 0.5]], [[0, 0]], [1, 2]), r"order must have shape \(\)"),
    # shapes and numbers
    "shape": (lambda: HMM(I2, np.ones((2, 3))), r"HMM: emission must have shape \(any, 2\), not \(2, 3\)"),
    "not square": (lambda: HMM(np.ones((2, 3)) / 2, I2), r"HMM: transition must have shape \(2, 2\)"),
    "no numbers": (lambda: HMM("transition", I2), r"HMM: transition must be an array of numbers"),
    "ragged": (lambda: HMM([[1], [0, 1]], I2), r"HMM: transition must be an array of numbers"),
    "ragged Kraus": (lambda: HQMM([I2, [[1, 0], [1]]]), r"HQMM: kraus\[1\] must be an array of numbers"),
    "Kraus of two sizes": (lambda: HQMM([I2[None], np.eye(3)[None]]), r"HQMM: kraus must be an array of numbers"),
    "ragged state": (lambda: HQMM(COIN, [[1, 0], [1]]), r"HQMM: initial must be an array of numbers"),
    "ragged L-state": (
        lambda: HQMM.from_choi(np.eye(4)[None] / 2, [[1, 0], [1]]),
        r"L-HQMM: initial must be an array of numbers",
    ),
    "nan": (lambda: HMM([[np.nan, 0], [0, 1]], I2), r"transition\[0, 0\] is nan"),
    "empty": (lambda: OOM(np.zeros((0, 2, 2)), [1, 0]), r"OOM: operators must have shape"),
    "alphabet": (lambda: HMM(I2, I2, alphabet="abc"), r"HMM: the alphabet has 3 symbols, the parameters 2"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_condition_is_named(case):
    build, message = CASES[case]
    with pytest.raises(ModelError, match=message):
        build()


def test_rounding_is_tolerated():
    rounding = 1e-12
    assert HMM(I2 + rounding, I2, [0.5, 0.5 + rounding]).n_states == 2
    assert HQMM(COIN * (1 + rounding)).n_states == 2


def test_a_general_oom_is_only_judged_on_states_it_can_reach():
    """The second coordinate is never reached, so that its operators do not add up does not matter."""
    assert OOM([np.diag([0.5, 3.0]), np.diag([0.5, -7.0])], [1, 0], [1, 0]).probability([[0]])[0] == 0.5


def test_only_a_standard_oom_without_negative_entries_is_an_hmm():
    negative = OOM(TURN, [0.5, 0.5], check_length=0)
    scaled = OOM(COIN / np.sqrt(2), [1.0, 1.0], [0.5, 0.5])
    for model in (negative, scaled):
        with pytest.raises(ModelError, match="to_hmm needs a standard OOM"):
            model.to_hmm()
