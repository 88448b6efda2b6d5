"""Options of the commands that learn, and the estimators they make."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hqmm.cli.options import MODEL_FILE

if TYPE_CHECKING:
    from hqmm.sequences import Symbol

F = TypeVar("F", bound=Callable[..., Any])

MODELS = {
    "hqmm": "HQMMEstimator",
    "hmm": "HMMEstimator",
    "noom": "NOOMEstimator",
    "oom": "OOMEstimator",
    "markov": "MarkovChainEstimator",
}
LEARNERS = ("polar", "cosm", "lbfgs", "adam", "givens", "baum-welch")
# What options are called on the estimators, where it is not the same.
PARAMETERS = {"states": "n_states", "blocks": "n_blocks", "rank": "kraus_rank", "jobs": "n_jobs"}


def size(text: str) -> int | str:
    """Return a whole number from 1 up, or "auto"."""
    if text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is neither a whole number from 1 up nor 'auto'")
    return int(text)


def setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of NAME=VALUE; what is no number, list or truth value is a text."""
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise click.BadParameter(f"{text!r} should be NAME=VALUE, as in step=0.5")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value


def symbols(text: str) -> list[Symbol]:
    """Return the symbols of an alphabet: a number of codes, tokens between blanks, or characters."""
    if text.isdecimal():
        return list(range(int(text)))
    tokens = text.split() if len(text.split()) > 1 else list(text)
    return [int(token) for token in tokens] if all(token.isdecimal() for token in tokens) else list(tokens)


_POSITIVE = click.IntRange(min=1)
_OPTIONS = (
    click.option(
        "--model", type=click.Choice(list(MODELS)), default="hqmm", show_default=True, help="What to learn."
    ),
    click.option("--states", type=size, metavar="N", help="Hidden states or dimensions n, or auto."),
    click.option("--rank", type=size, metavar="N", help="Kraus operators w for each symbol (hqmm)."),
    click.option(
        "--blocks", type=size, metavar="N", help="Labels of a hybrid model, n dimensions on each (hqmm)."
    ),
    click.option(
        "--max-dimension", type=_POSITIVE, help="Largest dimension (blocks × states²) to try where sizes are auto."
    ),
    click.option("--order", type=click.IntRange(min=0), help="Symbols a Markov chain looks back."),
    click.option("--learner", type=click.Choice(LEARNERS), help="Algorithm; each model has a good one."),
    click.option("--set", "settings", type=setting, metavar="NAME=VALUE", multiple=True, help="Its settings."),
    click.option("--start", type=MODEL_FILE, help="Model file to improve."),
    click.option("--n-init", type=_POSITIVE, help="Restarts, the best of which is kept."),
    click.option("--jobs", type=_POSITIVE, help="How many of them run at once."),
    click.option("--max-iter", type=click.IntRange(min=0), help="Iterations at most."),
    click.option("--tol", type=click.FloatRange(min=0), help="Gain per symbol below which it has converged."),
    click.option("--patience", type=_POSITIVE, help="Stop after so many iterations without a better score."),
    click.option("--time-limit", type=click.FloatRange(min=0), help="Stop after so many seconds."),
    click.option("--burn-in", type=click.IntRange(min=0), help="Symbols at the start of sequences not to score."),
    click.option(
        "--alphabet", type=symbols, metavar="SYMBOLS", help="All that may occur: ACGT, 'x y z', or 6 (0–5)."
    ),
    click.option(
        "--end", is_flag=True, default=None, help="Sequences end: learn a distribution of finite strings."
    ),
    click.option("--threads", type=_POSITIVE, help="Threads of the engine."),
)


def learning_options(command: F) -> F:
    """Add what estimators need to know; the values go to `make_estimator` as one mapping."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def make_estimator(
    model: str, learner: str | None, settings: tuple[tuple[str, Any], ...], start: str | None, **options: Any
) -> Any:
    """Return the estimator that the options describe; what its model does not have is wrong usage."""
    from hqmm import estimators
    from hqmm.models import load

    kind = getattr(estimators, MODELS[model])
    if model == "hqmm" and start is None:
        options |= _chosen_sizes({**options, "learner": learner, "set": settings or None})
    given = {PARAMETERS.get(name, name): value for name, value in options.items() if value is not None}
    if start is not None:
        given["start"] = load(start)
        given.setdefault("alphabet", given["start"].alphabet)
    known = kind().get_params()
    if learner is not None or ("learner" in known and settings):
        given["learner"] = _learner(kind, known.get("learner") if learner is None else learner, dict(settings))
    else:
        given |= dict(settings)
    for name in given.keys() - known.keys():
        option = next((short for short, long in PARAMETERS.items() if long == name), name).replace("_", "-")
        raise click.UsageError(f"--{option} does not go with --model {model}")
    estimator = kind(**given)
    if "max_dimension" in given and not is_automatic(estimator):
        raise click.UsageError("--max-dimension has no meaning where no size is auto")
    return estimator


def is_automatic(estimator: Any) -> bool:
    """Say whether the estimator chooses its sizes."""
    known = estimator.get_params()
    return any(isinstance(value, str) and value == "auto" for value in map(known.get, PARAMETERS.values()))


def _chosen_sizes(options: dict[str, Any]) -> dict[str, Any]:
    """Return sizes that are not given as "auto", where one is or none is given."""
    sizes = {name: options[name] for name in ("states", "rank", "blocks")}
    if "auto" not in sizes.values() and any(value is not None for value in sizes.values()):
        return {}
    for name in ("learner", "set", "n_init", "max_iter", "tol", "patience"):
        if options[name] is not None:
            raise click.UsageError(
                f"--{name.replace('_', '-')} has no meaning where sizes are chosen; "
                "name them: --states, and if you like --rank and --blocks"
            )
    return {name: "auto" if value is None else value for name, value in sizes.items()}


def _learner(kind: type[Any], name: Any, settings: dict[str, Any]) -> Any:
    """Return a learner with its settings."""
    from hqmm.estimators.learners import chosen_learner

    known = getattr(kind, "_learners", {})
    if name not in known:
        listed = ", ".join(known) or "none"
        raise click.UsageError(f"the learner {name!r} does not go with this model; its learners: {listed}")
    try:
        return chosen_learner(name, known, **settings)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
