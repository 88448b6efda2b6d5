"""hqmm: hidden quantum Markov models and their classical relatives."""

from hqmm.errors import (
    DataError,
    FileFormatError,
    HqmmError,
    ModelError,
    NegativeProbabilityError,
)
from hqmm.metrics import description_accuracies, description_accuracy
from hqmm.models import HMM, HQMM, NOOM, OOM, MarkovChain, Model, load, save
from hqmm.sequences import Alphabet, Sequences
from hqmm.theory import certify, equivalent, find_negative_probability, minimize

__version__ = "0.1.0"

__all__ = [
    "HMM",
    "HQMM",
    "NOOM",
    "OOM",
    "Alphabet",
    "DataError",
    "FileFormatError",
    "HqmmError",
    "MarkovChain",
    "Model",
    "ModelError",
    "NegativeProbabilityError",
    "Sequences",
    "certify",
    "description_accuracies",
    "description_accuracy",
    "equivalent",
    "find_negative_probability",
    "load",
    "minimize",
    "save",
]
