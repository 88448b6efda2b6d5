"""scikit-learn's face: estimators whose rows are sequences."""

from hqmm.estimators.classifier import SequenceClassifier
from hqmm.estimators.hmm import HMMEstimator
from hqmm.estimators.hqmm import HQMMEstimator
from hqmm.estimators.markov import MarkovChainEstimator
from hqmm.estimators.noom import NOOMEstimator
from hqmm.estimators.oom import OOMEstimator
from hqmm.estimators.scoring import description_accuracy_scorer

__all__ = [
    "HMMEstimator",
    "HQMMEstimator",
    "MarkovChainEstimator",
    "NOOMEstimator",
    "OOMEstimator",
    "SequenceClassifier",
    "description_accuracy_scorer",
]
