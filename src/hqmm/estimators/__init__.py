"""scikit-learn's face: estimators whose rows are sequences."""

from hqmm.estimators.hmm import HMMEstimator
from hqmm.estimators.hqmm import HQMMEstimator
from hqmm.estimators.markov import MarkovChainEstimator

__all__ = ["HMMEstimator", "HQMMEstimator", "MarkovChainEstimator"]
