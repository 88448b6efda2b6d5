"""Learners by name, with the settings an estimator overrides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from hqmm.learning import COSM, BaumWelch, GivensSearch, Learner, Polar, RiemannianAdam, RiemannianLBFGS

QUANTUM: Mapping[str, type[Learner]] = {
    "polar": Polar,
    "cosm": COSM,
    "lbfgs": RiemannianLBFGS,
    "adam": RiemannianAdam,
    "givens": GivensSearch,
}
OBJECTIVE: Mapping[str, type[Learner]] = {name: QUANTUM[name] for name in ("lbfgs", "adam")}
CLASSICAL: Mapping[str, type[Learner]] = {"baum-welch": BaumWelch}


def chosen_learner(learner: str | Learner, known: Mapping[str, type[Learner]], **settings: Any) -> Learner:
    """Return a learner, made from its name or given, with those settings that are not None.

    A setting that the learner does not have is an error, apart from ``max_iter``, which the driver obeys too.

    Examples
    --------
    >>> from hqmm.estimators.learners import QUANTUM, chosen_learner
    >>> chosen_learner("polar", QUANTUM, tol=1e-4, max_iter=None).tol
    0.0001
    """
    if isinstance(learner, str):
        if learner not in known:
            raise ValueError(f"learner must be {_listed(known)} or a learner object, not {learner!r}")
        learner = known[learner]()
    elif not isinstance(learner, Learner):
        raise ValueError(f"learner must be {_listed(known)} or a learner object, not {learner!r}")
    settable = {field.name for field in fields(cast(Any, learner)) if field.init}
    wanted = {name: value for name, value in settings.items() if value is not None}
    for name in wanted.keys() - settable - {"max_iter"}:
        raise ValueError(f"{type(learner).__name__} has no {name}; its settings are {', '.join(sorted(settable))}")
    return cast(Learner, replace(cast(Any, learner), **{name: wanted[name] for name in wanted.keys() & settable}))


def _listed(known: Mapping[str, type[Learner]]) -> str:
    return " or ".join(map(repr, known))
