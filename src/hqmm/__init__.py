"""hqmm: hidden quantum Markov models and their classical relatives.

What learns, and what draws in heavy packages, is imported when its name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hqmm.errors import (
    DataError,
    FileFormatError,
    HqmmError,
    ModelError,
    NegativeProbabilityError,
)
from hqmm.metrics import description_accuracies, description_accuracy
from hqmm.models import HMM, HQMM, NOOM, OOM, HybridHQMM, MarkovChain, Model, load, mixture, save
from hqmm.sequences import Alphabet, Sequences
from hqmm.theory import certify, equivalent, find_negative_probability, minimize

if TYPE_CHECKING:
    from hqmm.estimators import (
        HMMEstimator,
        HQMMEstimator,
        MarkovChainEstimator,
        NOOMEstimator,
        OOMEstimator,
        SequenceClassifier,
    )
    from hqmm.learning import (
        COSM,
        BaumWelch,
        GivensSearch,
        Polar,
        RiemannianAdam,
        RiemannianLBFGS,
        fit,
    )

__version__ = "0.1.0"

__all__ = [
    "COSM",
    "HMM",
    "HQMM",
    "NOOM",
    "OOM",
    "Alphabet",
    "BaumWelch",
    "DataError",
    "FileFormatError",
    "GivensSearch",
    "HMMEstimator",
    "HQMMEstimator",
    "HqmmError",
    "HybridHQMM",
    "MarkovChain",
    "MarkovChainEstimator",
    "Model",
    "ModelError",
    "NOOMEstimator",
    "NegativeProbabilityError",
    "OOMEstimator",
    "Polar",
    "RiemannianAdam",
    "RiemannianLBFGS",
    "SequenceClassifier",
    "Sequences",
    "certify",
    "description_accuracies",
    "description_accuracy",
    "equivalent",
    "find_negative_probability",
    "fit",
    "load",
    "minimize",
    "mixture",
    "save",
]

# Where names come from that are not imported above; type checkers read the block under TYPE_CHECKING, and a test
# holds the two together.
_LATE = {
    name: module
    for module, names in {
        "hqmm.estimators": (
            "HMMEstimator",
            "HQMMEstimator",
            "MarkovChainEstimator",
            "NOOMEstimator",
            "OOMEstimator",
            "SequenceClassifier",
        ),
        "hqmm.learning": (
            "COSM",
            "BaumWelch",
            "GivensSearch",
            "Polar",
            "RiemannianAdam",
            "RiemannianLBFGS",
            "fit",
        ),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value  # so that this function is not asked again
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
