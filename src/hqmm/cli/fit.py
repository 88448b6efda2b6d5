"""``hqmm fit``."""

from __future__ import annotations

import math
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hqmm.cli.learning import learning_options
from hqmm.cli.options import (
    READING,
    OutputFile,
    data_argument,
    json_option,
    output_option,
    reading_options,
    seed_option,
)
from hqmm.cli.remembering import Remembering
from hqmm.errors import HqmmError, NegativeProbabilityError

if TYPE_CHECKING:
    from hqmm.readers import Contents


# What `hqmm score` says that is of interest for the training data.
SHOWN = ("sequences", "scored_symbols", "per_symbol", "description_accuracy", "negative_probability")


def validation(text: str) -> float | str:
    """Return a share between 0 and 1, or the name of a file."""
    try:
        share = float(text)
    except ValueError:
        return text
    if not 0 < share < 1:
        raise click.BadParameter(f"{text} is not between 0 and 1; give the share to hold out, or a file")
    return share


@click.command(cls=Remembering)
@data_argument()
@output_option("Model file to write.")
@learning_options
@click.option(
    "--validation", type=validation, metavar="SHARE|FILE", help="Held-out data: the best iterate on it is kept."
)
@click.option("--history", type=OutputFile(), help="Write the history as CSV.")
@click.option("--resume", is_flag=True, help="Continue an interrupted fit.")
@seed_option
@reading_options
@json_option
@click.pass_context
def fit(
    context: click.Context,
    /,
    data: str,
    output: Path,
    validation: float | str | None,
    history: Path | None,
    resume: bool,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn a model from the sequences of DATA (- is standard input) and write it.

    Without sizes (--states, --rank, --blocks), or where one is "auto", an HQMM's are chosen on held-out data.

    Ctrl-C keeps the best model so far and a checkpoint; the same command with --resume goes on, and ends where an
    uninterrupted one would have ended.
    """
    from hqmm.cli.learning import is_automatic, make_estimator
    from hqmm.cli.options import read_data
    from hqmm.cli.output import show_facts, waiting
    from hqmm.models import save

    reading = {name: options.pop(name) for name in READING}
    estimator = make_estimator(**options, random_state=seed)
    if history is not None and "learner" not in estimator.get_params():
        raise click.UsageError("--history does not go with this model, which is learned at once")
    checkpoint = _Checkpoint(output)
    checkpoint.check(resume, context.meta["arguments"])
    end = bool(options["end"])
    contents = read_data(data, reading, alphabet=estimator.alphabet, end=end)
    estimator.set_params(alphabet=contents.sequences.alphabet)
    if not is_automatic(estimator):
        estimator.set_params(**_known(estimator, checkpoint=checkpoint.path, verbose=1))
    if validation is not None:
        estimator.set_params(**_validation(estimator, validation, contents, reading))
    try:
        with waiting("choosing sizes; Ctrl-C keeps the best so far" if is_automatic(estimator) else None):
            advice = fit_quietly(estimator, contents.sequences)
    except KeyboardInterrupt:
        checkpoint.explain(None, context.meta["arguments"])
    result = getattr(estimator, "result_", None)
    save(estimator.model_, output)
    interrupted = result is not None and result.reason == "interrupted"
    if not interrupted:
        checkpoint.remove()
    if history is not None:
        _write_history(estimator, history)
    if interrupted:
        checkpoint.explain(result, context.meta["arguments"])
    show_facts(_summary(estimator, contents, advice), as_json)


def fit_quietly(estimator: Any, *data: Any) -> list[str]:
    """Fit, and return what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(*data)
        except ValueError as error:
            if isinstance(error, HqmmError):
                raise
            raise click.ClickException(str(error)) from None  # scikit-learn's word for a wrong parameter
    return list(dict.fromkeys(str(one.message) for one in caught))


class _Checkpoint:
    """The file beside the model that an interrupted fit leaves; restarts have one each, with a number appended."""

    def __init__(self, output: Path) -> None:
        self.path = output.with_name(f"{output.name}.checkpoint")

    def files(self) -> list[Path]:
        numbered = self.path.parent.glob(f"{self.path.name}.*")
        return [path for path in (self.path, *numbered) if path.is_file()]

    def check(self, resume: bool, arguments: list[str]) -> None:
        """Refuse to lose an interrupted fit, or to resume what was not begun."""
        found = self.files()
        if found and not resume:
            again = shlex.join([*arguments, "--resume"])
            raise click.UsageError(
                f"{found[0]} is what an interrupted fit left. Go on with `{again}`, or delete it to start again"
            )
        if resume and not found:
            raise click.UsageError(f"there is nothing to resume: no {self.path}")

    def explain(self, result: Any, arguments: list[str]) -> None:
        """Say how to go on, and leave."""
        if not self.files():
            kept = "the best model so far is written" if result is not None else "there was nothing to keep yet"
            raise click.ClickException(f"interrupted; {kept}")
        again = shlex.join([*arguments, *(["--resume"] if "--resume" not in arguments else [])])
        kept = "" if result is None else f" after {result.n_iter} iterations; the best model so far is written"
        raise click.ClickException(f"interrupted{kept}. To go on: {again}")

    def remove(self) -> None:
        """Remove what is no longer needed."""
        for path in self.files():
            path.unlink()


def _known(estimator: Any, **parameters: Any) -> dict[str, Any]:
    """Return those parameters that this estimator has: some learn at once, and need no checkpoint."""
    known = estimator.get_params()
    return {name: value for name, value in parameters.items() if name in known}


def _validation(
    estimator: Any, validation: float | str, contents: Contents, reading: dict[str, Any]
) -> dict[str, Any]:
    from hqmm.cli.options import read_data

    if "validation" not in estimator.get_params():
        raise click.UsageError("--validation does not go with this model, which is learned at once")
    if isinstance(validation, float):
        return {"validation": validation}
    alphabet = contents.sequences.alphabet
    held_out = read_data(validation, reading, alphabet=alphabet, end=alphabet.end is not None)
    return {"validation": held_out.sequences}


def _write_history(estimator: Any, path: Path) -> None:
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(estimator.history_)
        writer.writerows(zip(*(column.tolist() for column in estimator.history_.values()), strict=True))


def _summary(estimator: Any, contents: Contents, advice: list[str]) -> dict[str, Any]:
    from hqmm.cli.scoring import scores

    facts: dict[str, Any] = {"model": repr(estimator.model_)}
    try:
        trained = scores(estimator.model_, contents.sequences, estimator.burn_in)
    except NegativeProbabilityError as error:  # a spectral model need not be valid
        trained = {"negative_probability": str(error)}
    facts |= {name: value for name, value in trained.items() if name in SHOWN}
    result = getattr(estimator, "result_", None)
    if result is not None:
        best = result.best_iteration
        held_out = float(result.history["validation"][best])
        accuracy = float(result.history["validation_da"][best])
        shown = {"validation_per_symbol": held_out, "validation_description_accuracy": accuracy}
        facts |= {name: value for name, value in shown.items() if not math.isnan(value)}
        facts |= {"iterations": result.n_iter, "seconds": result.seconds, "converged": estimator.converged_}
    if advice:
        facts["advice"] = "\n".join(advice)
    return facts
