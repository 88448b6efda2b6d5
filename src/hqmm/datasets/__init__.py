"""Data sets: the paper's true models and data, the authors' own files, and where to find them."""

from hqmm.datasets.catalogue import Entry, describe, list_datasets, load_dataset
from hqmm.datasets.fetch import DataUnavailableError, fetch_file
from hqmm.datasets.splice import Splice, load_splice, read_splice
from hqmm.datasets.synthetic import Synthetic, generate, load_synthetic
from hqmm.datasets.true_models import hmm_6_6, hqmm_2_4, hqmm_2_6, probability_clock

__all__ = [
    "DataUnavailableError",
    "Entry",
    "Splice",
    "Synthetic",
    "describe",
    "fetch_file",
    "generate",
    "hmm_6_6",
    "hqmm_2_4",
    "hqmm_2_6",
    "list_datasets",
    "load_dataset",
    "load_splice",
    "load_synthetic",
    "probability_clock",
    "read_splice",
]
