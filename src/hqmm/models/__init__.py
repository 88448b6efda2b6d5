"""What a process is: the model classes of the paper, their conversions and their files."""

from hqmm.models.base import Model
from hqmm.models.files import load, save
from hqmm.models.hmm import HMM
from hqmm.models.hqmm import HQMM, PastQuantumState
from hqmm.models.hybrid import HybridHQMM, mixture
from hqmm.models.markov import MarkovChain
from hqmm.models.noom import NOOM
from hqmm.models.oom import OOM

__all__ = [
    "HMM",
    "HQMM",
    "NOOM",
    "OOM",
    "HybridHQMM",
    "MarkovChain",
    "Model",
    "PastQuantumState",
    "load",
    "mixture",
    "save",
]
