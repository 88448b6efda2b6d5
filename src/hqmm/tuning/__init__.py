"""Tuning: which settings, and which sizes, predict held-out data best.

Successive halving and Hyperband train many configurations for a short time and the best of them for longer, where
training is continued, not begun again. The interface, from the most to the least particular:

`tune(data, validation=…, learner="cosm", space=…, schedule="hyperband", max_iter=27, …)`
    hqmm's own learners on training and validation data; returns `Tuned`: ``model``, ``parameters``, ``score``,
    ``fit``, ``search``. The command ``hqmm tune`` calls this.
`HyperbandSearchCV(estimator, space, …)`
    Any scikit-learn estimator, by cross-validation: ``cv_results_``, ``best_estimator_``, ``best_params_``.
`hyperband(evaluate, space, max_resource, …)`, `successive_halving(…)`, `search(evaluate, space, schedule, …)`
    Any function of a `Trial`; return `SearchResult`: ``best`` and ``results``, each a `Result`, and ``rows()``.

Common to all: ``space`` maps names to `Uniform`, `Whole`, lists of options or distributions of SciPy's
(`parse_range` reads them from a command line); ``storage`` keeps the trials in an Optuna study, by default not:
a path is a SQLite file, and ``"postgresql://…"`` a database for many machines; processes on one study share the
work, and a killed one loses nothing but its running trials; ``executor`` is ``"threads"``, ``"processes"``
(joblib's), a Dask client or any `concurrent.futures.Executor`, and ``n_jobs`` how many trials run at once;
``on_result`` is called with every `Result`, for progress; ``schedule`` is a `Schedule`, which knows its
``n_trials``. `PAPER` is the schedule of the paper's appendix D.
"""

from hqmm.tuning.learners import Tuned, tune
from hqmm.tuning.schedules import PAPER, Rung, Schedule
from hqmm.tuning.search import Result, SearchResult, hyperband, search, successive_halving
from hqmm.tuning.search_cv import HyperbandSearchCV
from hqmm.tuning.spaces import Choice, Uniform, Whole, parse_range
from hqmm.tuning.trials import Trial

__all__ = [
    "PAPER",
    "Choice",
    "HyperbandSearchCV",
    "Result",
    "Rung",
    "Schedule",
    "SearchResult",
    "Trial",
    "Tuned",
    "Uniform",
    "Whole",
    "hyperband",
    "parse_range",
    "search",
    "successive_halving",
    "tune",
]
