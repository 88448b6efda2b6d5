"""The synthetic data: generated, or the authors' own."""

import numpy as np
import pytest

from hqmm import DataError, description_accuracy
from hqmm.datasets import describe, generate, list_datasets, load_dataset, load_synthetic
from hqmm.datasets.synthetic import TRUTHS


@pytest.fixture
def offline(tmp_path, monkeypatch):
    monkeypatch.delenv("HQMM_DATA", raising=False)
    monkeypatch.setenv("HQMM_CACHE", str(tmp_path))


@pytest.mark.parametrize("name", list(TRUTHS))
def test_generated_data_has_the_papers_sizes_and_follows_its_model(name):
    data = generate(name, 3)
    sizes = [(len(part), set(part.lengths)) for part in (data.train, data.validation, data.test)]
    assert sizes == [(20, {3000}), (10, {3000}), (10, {3000})]
    assert data.source == "generated (seed 3)"
    own = description_accuracy(data.truth, data.test, 1000)
    for other in set(TRUTHS) - {name}:
        model = TRUTHS[other]()
        if model.n_symbols == data.truth.n_symbols:
            assert own > description_accuracy(model, data.test, 1000) + 0.02


def test_a_seed_gives_the_same_data_and_parts_differ():
    assert generate("hmm", 1).train == generate("hmm", 1).train
    assert generate("hmm", 1).train != generate("hmm", 2).train
    assert generate("hmm", 1).validation != generate("hmm", 1).test


def test_without_file_and_network_data_are_generated_and_say_so(offline):
    data = load_synthetic("hmm", download=False)
    assert data.source == "generated (seed 0)"
    assert data.train == generate("hmm", 0).train


@pytest.mark.parametrize(("name", "accuracy"), [("hmm", 0.18008), ("hqmm", 0.12963)])
def test_the_authors_files_are_read(data_folder, name, accuracy):
    data = load_synthetic(name)
    assert data.source == f"the authors' file synthetic_{name}_data.mat"
    assert [len(data.train), len(data.validation), len(data.test)] == [20, 10, 10]
    assert description_accuracy(data.truth, data.test, 1000) == pytest.approx(accuracy, abs=5e-6)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(DataError, match="'clock'"):
        generate("hmmm")
    with pytest.raises(DataError, match="'splice'"):
        load_dataset("hmmm")


def test_every_data_set_is_described():
    for name in list_datasets():
        entry = describe(name)
        assert entry.name == name
        assert entry.summary
        assert entry.origin


def test_the_catalogue_loads_what_it_describes():
    assert np.array_equal(load_dataset("clock").test.codes, generate("clock").test.codes)
