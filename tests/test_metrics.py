import numpy as np
import pytest

from hqmm import HMM, DataError, MarkovChain, Sequences, description_accuracy
from hqmm.datasets import hmm_6_6
from hqmm.metrics import accuracies_from, description_accuracies

NEVER_ONE = HMM([[1.0]], [[1.0], [0.0]])
RARELY_ONE = MarkovChain([[0.9, 0.1]], [[0, 0]])


def test_it_is_the_papers_formula():
    model, data = hmm_6_6(), hmm_6_6().sample(4, 50, random_state=0)
    for burn_in in (0, 20):
        expected = [1 + model.log_likelihood([row], burn_in)[0] / (50 - burn_in) / np.log(6) for row in data]
        np.testing.assert_allclose(description_accuracies(model, data, burn_in), expected)


def test_below_zero_it_is_squashed_and_bounded():
    data = [[1, 1], [0, 1], [0, 0]]
    plain = 1 + np.log2([0.01, 0.09, 0.81]) / 2
    np.testing.assert_allclose(description_accuracies(RARELY_ONE, data, squash=False), plain)
    squashed = np.where(plain > 0, plain, np.tanh(plain / 8))
    np.testing.assert_allclose(description_accuracies(RARELY_ONE, data), squashed)
    assert description_accuracies(NEVER_ONE, [[1]]).tolist() == [-1.0]
    assert description_accuracies(NEVER_ONE, [[1]], squash=False).tolist() == [-np.inf]
    assert accuracies_from(np.array([0.0]), np.array([3]), 2).tolist() == [1.0]


def test_the_mean_is_weighted():
    data = Sequences([[0, 1], [0, 0]], weights=[3, 1])
    each = description_accuracies(RARELY_ONE, data, squash=False)
    assert description_accuracy(RARELY_ONE, data, squash=False) == pytest.approx((3 * each[0] + each[1]) / 4)


def test_what_has_no_accuracy_is_refused():
    data = Sequences([[0, 1, 0], [0, 1]], weights=[0, 0])
    with pytest.raises(DataError, match="nothing is left to score after a burn-in of 2") as error:
        description_accuracy(RARELY_ONE, data.with_weights([1, 1]), burn_in=2)
    assert error.value.sequence == 1
    for nothing in (data, data[:0]):
        with pytest.raises(DataError, match="no sequence has a weight above zero"):
            description_accuracy(RARELY_ONE, nothing)
    with pytest.raises(DataError, match="at least two symbols"):
        description_accuracy(HMM([[1.0]], [[1.0]]), [[0]])
