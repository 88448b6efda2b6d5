"""Distributions over strings: the PAutomaC competition, with one call of the automatic mode for every problem.

The problems are read from the folder ``pautomac`` in the one that ``HQMM_DATA`` names (or from that one itself);
they are not shipped. Without them, made-up ones of the same kind stand in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm._typing import FloatArray
from hqmm.datasets.fetch import data_folder
from hqmm.datasets.pautomac import Problem, find_problems, read_problem
from hqmm.experiments.experiment import Experiment, Row, Rows, Run, Scale
from hqmm.experiments.tables import groups, where
from hqmm.learning import BaumWelch, fit, fit_auto, random_hmm
from hqmm.learning.driver import split_validation
from hqmm.learning.spectral import count_words, realise, score_leniently
from hqmm.learning.task import mean_log_likelihood
from hqmm.models import MarkovChain
from hqmm.models.hybrid import hybrid_from_probabilities
from hqmm.sequences import Alphabet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MADE_UP = "made-up"
FLOOR = 1e-4  # of gaps, in their geometric mean
ORDERS = range(7)
EM_STATES = (4, 8, 16, 32)
SPECTRAL_STATES = (2, 4, 8, 16, 32)
LABELS = {"auto": "hqmm, automatic", "markov": "best n-gram", "em": "HMM by EM", "spectral": "spectral"}
COLOURS = {"auto": "#2a9d5c", "markov": "#8a8a8a", "em": "#c77d0a", "spectral": "#d1495b"}
# For each scale: problems at most, seconds after which the automatic mode begins no new model.
PLAN: dict[Scale, tuple[int | None, float]] = {"tiny": (1, 1.0), "quick": (4, 30.0), "paper": (None, 600.0)}


def run(
    folder: str | Path,
    names: Iterable[str] = (),
    *,
    models: Iterable[str] = ("auto", "markov", "em", "spectral"),
    seed: int = 0,
    seconds: float | None = 600.0,
) -> Rows:
    """Return the rows of problems in a folder: all of them, or those named.

    Parameters
    ----------
    folder : path
        Where the files of the competition are.
    names : sequence of str
        Which problems.
    models : sequence of str
        "auto", "markov" (one row for each order), "em" and "spectral".
    seed : int
        Of the random numbers.
    seconds : float, optional
        After which the automatic mode begins no new model.
    """
    rows: Rows = []
    for name in list(names) or find_problems(folder):
        problem = read_problem(folder, name)
        for model in models:
            settings = {"problem": str(name), "model": model}
            rows += [{**settings, **row} for row in measure(problem, model, seed, seconds)]
    return rows


def measure(problem: Problem, model: str, seed: int = 0, seconds: float | None = None) -> Rows:
    """Learn one kind of model from a problem's training strings, and score it on the test strings."""
    learn = {"auto": _automatic, "markov": _chains, "em": _em, "spectral": _spectral}[model]
    return learn(problem, seed, seconds)


def _row(problem: Problem, log_probabilities: FloatArray, began: tuple[float, float], **more: Any) -> Row:
    gap = problem.gap(log_probabilities)
    return {
        "target": problem.target,
        "perplexity": problem.target + gap,
        "gap": gap,
        **more,
        "cpu_seconds": time.process_time() - began[0],
        "seconds": time.perf_counter() - began[1],
    }


def _clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _automatic(problem: Problem, seed: int, seconds: float | None) -> Rows:
    began = _clocks()
    result = fit_auto(problem.train, time_limit=seconds, random_state=seed, threads=1)
    model: Any = result.model
    size = f"{model.n_blocks} × {model.n_states}, w = {model.kraus_rank}"
    scores = model.log_likelihood(problem.test)
    return [_row(problem, scores, began, size=size, tried=len(result.restarts), held_out=result.score)]


def _chains(problem: Problem, seed: int, seconds: float | None) -> Rows:
    rows = []
    for order in ORDERS:
        began = _clocks()
        chain = MarkovChain.from_sequences(problem.train, order)
        scores = chain.log_likelihood(problem.test)
        rows.append(_row(problem, scores, began, order=order, size=f"{chain.n_contexts} contexts"))
    return rows


def _em(problem: Problem, seed: int, seconds: float | None) -> Rows:
    """Learn HMMs of several sizes by EM; held-out strings stop it and choose the size."""
    began, generator = _clocks(), np.random.default_rng(seed)
    train, held_out = split_validation(problem.train, 0.1, generator)
    fits = [
        fit(
            BaumWelch(),
            random_hmm(states, train.alphabet),
            train.deduplicate(),
            validation=held_out.deduplicate(),
            max_iter=200,
            patience=10,
            random_state=generator,
            threads=1,
        )
        for states in EM_STATES
    ]
    best = max(fits, key=lambda one: one.score)
    size = f"{len(best.model.initial)} states"  # type: ignore[attr-defined]
    return [_row(problem, best.model.log_likelihood(problem.test), began, size=size, held_out=best.score)]


def _spectral(problem: Problem, seed: int, seconds: float | None) -> Rows:
    """Learn OOMs from Hankel matrices; held-out strings choose the size. Negative probabilities are clipped."""
    began = _clocks()
    train, held_out = split_validation(problem.train, 0.1, np.random.default_rng(seed))
    hankel = count_words(train)
    rank = min(hankel.joint.shape)
    found = []
    for states in SPECTRAL_STATES:
        if states <= rank:
            oom = realise(hankel, states, alphabet=train.alphabet)
            scores = score_leniently(oom, held_out, on_negative="clip").log_likelihood
            found.append((mean_log_likelihood(scores, held_out, 0)[0], states, oom))
    score, states, oom = max(found, key=lambda one: one[0])
    lenient = score_leniently(oom, problem.test, on_negative="clip")
    negative = lenient.n_improper / lenient.n_symbols
    size = f"{states} dimensions"
    return [_row(problem, lenient.log_likelihood, began, size=size, held_out=score, negative_share=negative)]


# --- the problems ---------------------------------------------------------------------------------------------


def folder_of_problems() -> Path | None:
    """Return the folder with the competition's files, if there is one."""
    base = data_folder()
    for folder in () if base is None else (base / "pautomac", base):
        if find_problems(folder):
            return folder
    return None


@lru_cache(maxsize=2)
def made_up_problem(number: int) -> Problem:
    """Return a problem like the competition's: strings of a random automaton with few transitions.

    Examples
    --------
    >>> from hqmm.experiments.pautomac import made_up_problem
    >>> problem = made_up_problem(0)
    >>> problem.gap(np.log(problem.truth)).__abs__() < 1e-9  # what is true has no gap
    True
    """
    generator = np.random.default_rng(number)
    states, symbols, stop = 6, 3, 0.08
    alphabet = Alphabet(symbols, end=True)
    transitions = generator.random((symbols + 1, states, states)) ** 10
    transitions[-1] = np.eye(states) * stop / (1 - stop) * transitions[:-1].sum(axis=(0, 1))
    automaton = hybrid_from_probabilities(transitions / transitions.sum(axis=(0, 1)), np.eye(states)[0], alphabet)
    train = automaton.sample(3000, random_state=generator)
    test = automaton.sample(600, random_state=generator).deduplicate()
    test = test.with_weights(np.ones(len(test)))
    return Problem(f"{MADE_UP}-{number}", train, test, np.exp(automaton.log_likelihood(test)))


def runs(scale: Scale, seed: int) -> list[Run]:
    """Return one run for each problem and kind of model."""
    most, seconds = PLAN[scale]
    folder = None if scale == "tiny" else folder_of_problems()
    names = [f"{MADE_UP}-{number}" for number in range(2)] if folder is None else find_problems(folder)
    found = []
    for name in names[:most]:
        found.append(Run({"problem": name, "model": "auto", "seed": seed, "limit": seconds}, seconds))
        found.append(Run({"problem": name, "model": "em", "seed": seed}, 10.0))
        found.append(Run({"problem": name, "model": "spectral", "seed": seed}, 5.0))
        found.append(Run({"problem": name, "model": "markov"}, 1.0))
    return found


def execute(problem: str, model: str, seed: int = 0, limit: float | None = None) -> Rows:
    """Learn one kind of model from one problem."""
    folder = folder_of_problems()
    if problem.startswith(MADE_UP):
        data = made_up_problem(int(problem.rpartition("-")[2]))
    elif folder is None:
        raise FileNotFoundError(f"the files of problem {problem} are gone")
    else:
        data = read_problem(folder, problem)
    return measure(data, model, seed, limit)


# --- what to show ---------------------------------------------------------------------------------------------


def best_rows(rows: Rows) -> dict[str, dict[str, Row]]:
    """Return the row of each kind of model by problem; of n-grams, that of the best order."""
    found: dict[str, dict[str, Row]] = {}
    for (problem, model), same in groups(rows, "problem", "model").items():
        found.setdefault(str(problem), {})[str(model)] = min(same, key=lambda row: row["gap"])
    return found


def mean_gap(rows: Rows, model: str = "auto") -> float:
    """Return the geometric mean of a model's gaps, each at least 1e-4.

    Examples
    --------
    >>> from hqmm.experiments.pautomac import mean_gap
    >>> mean_gap([{"problem": name, "model": "auto", "gap": gap} for name, gap in (("1", 0.01), ("2", 0.0))])
    0.001
    """
    gaps = [models[model]["gap"] for models in best_rows(rows).values() if model in models]
    return float(f"{np.exp(np.mean(np.log(np.maximum(gaps, FLOOR)))):.6g}") if gaps else float("nan")


def table(rows: Rows) -> Rows:
    """Return one row for each problem: the target, our result, and the others' gaps."""
    result: Rows = []
    for problem, models in best_rows(rows).items():
        ours = models.get("auto", {})
        row: Row = {"problem": problem, "target": next(iter(models.values()))["target"]}
        row |= {name: ours.get(name) for name in ("perplexity", "gap", "size", "cpu_seconds", "seconds")}
        row |= {f"{model}_gap": models[model]["gap"] for model in ("markov", "em", "spectral") if model in models}
        row |= {"order": models["markov"]["order"]} if "markov" in models else {}
        result.append(row)
    return result


def draw(rows: Rows) -> dict[str, Figure]:
    """Draw the gaps of every problem, the smallest of ours first."""
    from hqmm.experiments import figures

    best = best_rows(rows)
    order = sorted(best, key=lambda problem: best[problem].get("auto", {}).get("gap", np.inf))
    with figures.panel("Distance from the true distribution", "problem", "perplexity − target") as (figure, axes):
        for model, label in LABELS.items():
            places = [place for place, problem in enumerate(order) if model in best[problem]]
            gaps = [max(best[order[place]][model]["gap"], FLOOR) for place in places]
            axes.plot(places, gaps, "o" if model == "auto" else "_", color=COLOURS[model], label=label)
        axes.set_yscale("log")
        axes.set_xticks(range(len(order)), order, fontsize=8)
        axes.get_figure().legend(loc="outside lower center", ncols=4, fontsize=8)  # type: ignore[union-attr]
    return {"gaps": figure}


def see(rows: Rows) -> str:
    """Say how near the automatic mode comes, and what it is nearer than."""
    best = {problem: models for problem, models in best_rows(rows).items() if "auto" in models}
    ahead = [
        f"{sum(models['auto']['gap'] < models[rival]['gap'] for models in best.values() if rival in models)} "
        f"of {sum(rival in models for models in best.values())} problems against {name}"
        for rival, name in (("markov", "the best n-gram"), ("em", "EM"), ("spectral", "spectral learning"))
        if any(rival in models for models in best.values())
    ]
    means = [f"{LABELS[model]} {mean_gap(rows, model):.3f}" for model in LABELS if where(rows, model=model)]
    return f"Geometric means of the gaps: {', '.join(means)}. The automatic mode is nearer in {', '.join(ahead)}."


EXPERIMENT = Experiment(
    name="pautomac",
    title="Distributions over strings: PAutomaC",
    place="Not in the paper",
    says=(
        "The paper does not look at strings that end. PAutomaC (2012) is the standard competition for learning "
        "distributions over strings. Its score is the perplexity of the test strings, made to sum to one; the "
        "target automaton's own is the least possible. Over all 48 problems the geometric mean gap of the winner "
        "was .014, of the next .047 and .060, of spectral learning .101, and of interpolated n-grams about .44."
    ),
    settings=(
        "The automatic mode, with the same call for every problem: sizes chosen on a tenth of the training "
        "strings, the best models averaged. Beside it Markov chains with Witten–Bell smoothing (the order that is "
        "best on the test strings), HMMs by EM and spectral OOMs (sizes chosen on held-out strings)."
    ),
    runs=runs,
    execute=execute,
    draw=draw,
    see=see,
    table=table,
    edition=3,
    beyond=True,
)
