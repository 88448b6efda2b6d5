"""The experiments by name; each is the ``EXPERIMENT`` of the module that stands beside it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from hqmm.errors import DataError
from hqmm.experiments.experiment import Experiment

# In the order of the paper, which is that of the report.
MODULES = {
    "expressiveness": "hqmm.experiments.expressiveness",
    "synthetic-hmm": "hqmm.experiments.synthetic_hmm",
    "training-time": "hqmm.experiments.training_time",
    "splice": "hqmm.experiments.splice",
    "synthetic-hqmm": "hqmm.experiments.synthetic_hqmm",
    "update-schemes": "hqmm.experiments.update_schemes",
    "initialisation": "hqmm.experiments.initialisation",
    "hyperparameters": "hqmm.experiments.hyperparameters",
    "speedup": "hqmm.experiments.speedup",
    "clock": "hqmm.experiments.clock",
    "pautomac": "hqmm.experiments.pautomac",
}


def get(name: str) -> Experiment:
    """Return an experiment.

    Examples
    --------
    >>> from hqmm.experiments.registry import get
    >>> get("synthetic-hmm").place
    'Figure 2, section 4.1'
    """
    if name not in MODULES:
        raise DataError(f"there is no experiment {name!r}; there are {', '.join(MODULES)}")
    experiment: Experiment = import_module(MODULES[name]).EXPERIMENT
    return experiment


def select(names: Iterable[str] = ()) -> list[Experiment]:
    """Return the experiments of these names, or all of them, in the order of the paper.

    Examples
    --------
    >>> from hqmm.experiments.registry import MODULES, select
    >>> len(select()) == len(MODULES)
    True
    """
    wanted = list(names) or list(MODULES)
    for name in wanted:
        if name not in MODULES:
            get(name)
    return [get(name) for name in MODULES if name in wanted]


def of_the_paper() -> list[Experiment]:
    """Return the experiments that reproduce the paper.

    Examples
    --------
    >>> from hqmm.experiments.registry import of_the_paper
    >>> "pautomac" in [experiment.name for experiment in of_the_paper()]
    False
    """
    return [experiment for experiment in select() if not experiment.beyond]
