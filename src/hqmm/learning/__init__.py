"""How a model is found: one driver, and the learners it runs."""

from hqmm.learning.adam import RiemannianAdam
from hqmm.learning.auto import fit_auto
from hqmm.learning.baum_welch import BaumWelch
from hqmm.learning.cosm import COSM
from hqmm.learning.discriminative import ClassFit, fit_discriminative, log_posterior
from hqmm.learning.driver import Fit, Learner, State, fit
from hqmm.learning.givens import GivensSearch
from hqmm.learning.grow import enlarge, label_weights, prune, shrink, with_noise
from hqmm.learning.initial import random_hmm, random_hqmm, random_hybrid, random_noom
from hqmm.learning.nearest import nearest_hqmm, start_from, start_from_counts
from hqmm.learning.polar import Polar
from hqmm.learning.quasi_newton import RiemannianLBFGS

__all__ = [
    "COSM",
    "BaumWelch",
    "ClassFit",
    "Fit",
    "GivensSearch",
    "Learner",
    "Polar",
    "RiemannianAdam",
    "RiemannianLBFGS",
    "State",
    "enlarge",
    "fit",
    "fit_auto",
    "fit_discriminative",
    "label_weights",
    "log_posterior",
    "nearest_hqmm",
    "prune",
    "random_hmm",
    "random_hqmm",
    "random_hybrid",
    "random_noom",
    "shrink",
    "start_from",
    "start_from_counts",
    "with_noise",
]
