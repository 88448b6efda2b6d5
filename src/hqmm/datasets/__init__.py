"""Data sets: the paper's true models."""

from hqmm.datasets.true_models import hmm_6_6, hqmm_2_4, hqmm_2_6, probability_clock

__all__ = ["hmm_6_6", "hqmm_2_4", "hqmm_2_6", "probability_clock"]
