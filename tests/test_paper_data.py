"""The numbers of the paper's own data, from the authors' files."""

import numpy as np
import pytest
import scipy.io

from hqmm import MarkovChain, Sequences, description_accuracy
from hqmm.datasets import hmm_6_6, hqmm_2_6


def load(data_folder, name):
    return scipy.io.loadmat(data_folder / f"synthetic_{name}_data.mat", simplify_cells=True)


def codes(content, part):
    return Sequences(content["data"][f"{part}_data"].astype(int) - 1, alphabet=6)


@pytest.mark.parametrize(
    ("name", "truth", "validation", "test"),
    [("hmm", hmm_6_6, 0.19027, 0.18008), ("hqmm", hqmm_2_6, 0.13027, 0.12963)],
)
def test_the_true_models_have_the_known_description_accuracy(data_folder, name, truth, validation, test):
    content = load(data_folder, name)
    assert round(description_accuracy(truth(), codes(content, "val"), burn_in=1000), 5) == validation
    assert round(description_accuracy(truth(), codes(content, "test"), burn_in=1000), 5) == test


def test_the_true_models_are_the_files(data_folder):
    hmm = load(data_folder, "hmm")["dataInfo"]
    np.testing.assert_array_equal(hmm_6_6().transition, hmm["true_TR"])
    np.testing.assert_array_equal(hmm_6_6().emission, hmm["true_EM"])
    kraus = load(data_folder, "hqmm")["dataInfo"]["true_model"]
    np.testing.assert_allclose(hqmm_2_6().kraus[:, 0], kraus, atol=1e-8)


def test_a_bigram_counter_matches_the_true_model_on_the_quantum_data(data_folder):
    """All its Kraus operators have rank one, so the process is a first-order Markov chain."""
    content = load(data_folder, "hqmm")
    chain = MarkovChain.from_sequences(codes(content, "trn"), order=1)
    reached = description_accuracy(chain, codes(content, "test"), burn_in=1000)
    assert reached == pytest.approx(0.12963, abs=5e-4)
