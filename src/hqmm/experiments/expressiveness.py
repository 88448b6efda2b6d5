"""Section 2, measured: HMM ⊂ HQMM ⊆ OOM, what a valid state is, and what OOMs risk that HQMMs do not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm import channels
from hqmm.datasets import probability_clock
from hqmm.experiments import protocol
from hqmm.experiments.experiment import Claim, Experiment, Row, Rows, Run, Scale, Verdict
from hqmm.experiments.tables import groups, only, values, where
from hqmm.learning import BaumWelch, fit, random_hmm, random_hqmm, random_noom
from hqmm.learning.spectral import learn_spectral
from hqmm.models import HQMM, OOM, Model
from hqmm.sequences import Sequences
from hqmm.theory import (
    certify,
    equivalent,
    find_negative_probability,
    has_oscillating_operator,
    liouville_distance,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDING = 1e-12  # what is smaller counts as rounding: probabilities here are of the order of one
# For each scale: random models of each kind, sizes n, sizes of HMMs for the clock, starts of EM, passes of EM,
# OOM candidates for each amount of noise.
PLAN: dict[Scale, tuple[int, tuple[int, ...], tuple[int, ...], int, int, int]] = {
    "tiny": (1, (2,), (2,), 1, 20, 4),
    "quick": (2, (2, 3), (2, 4, 6, 8), 1, 300, 20),
    "paper": (10, (2, 3, 4), (2, 3, 4, 5, 6, 8, 10, 12), 5, 2000, 200),
}
SYMBOLS = 3
WORDS = 2000  # about how many sequences are compared: all up to a length
NOISE = (0.03, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0)
CLOCK_WORD, CLOCK_CHECK = 10, 16  # lengths of the words that HMMs are fitted to, and measured on


def _standard_of_liouville(model: Any) -> OOM:
    return model.to_oom("liouville").standard()


# What the paper says can be written as what; the dimension that it needs at most, of n states.
CONVERSIONS: dict[str, tuple[str, str, Callable[[Any], HQMM | OOM], str]] = {
    "hmm-hqmm": ("hmm", "HQMM", lambda model: model.to_hqmm(), "n"),
    "hmm-hqmm-circuit": ("hmm", "HQMM, by its quantum circuit", lambda model: model.to_hqmm("circuit"), "n"),
    "hmm-oom": ("hmm", "OOM", lambda model: model.to_oom(), "n"),
    "noom-hqmm": ("noom", "HQMM", lambda model: model.to_hqmm(), "n"),
    "noom-oom": ("noom", "OOM", lambda model: model.to_oom(), "n²"),
    "hqmm-oom": ("hqmm", "OOM, complex (Liouville)", lambda model: model.to_oom("liouville"), "n²"),
    "hqmm-real-oom": ("hqmm", "OOM, real", lambda model: model.to_oom("real"), "n²"),
    "hqmm-standard-oom": ("hqmm", "standard OOM (similarity S)", _standard_of_liouville, "n²"),
}
DRAW: dict[str, Callable[[int], Callable[[np.random.Generator], Model]]] = {
    "hmm": lambda n: random_hmm(n, SYMBOLS),
    "noom": lambda n: random_noom(n, SYMBOLS),
    "hqmm": lambda n: random_hqmm(n, SYMBOLS, kraus_rank=2),
}
PROVED = "This is proved, so that what contradicts it here is an error of the software, or of its rounding."
FORMS = ("Liouville", "Choi", "canonical Kraus", "Kraus operators mixed by a unitary")


def runs(scale: Scale, seed: int) -> list[Run]:
    """Return the runs of every part."""
    count, sizes, hmm_sizes, starts, passes, candidates = PLAN[scale]
    found = [Run({"part": "counts", "n": n, "kraus_rank": w}, 0.01) for n in range(2, 9) for w in (1, n)]
    for n, number in product(sizes, range(count)):
        common = {"n": n, "seed": seed + number}
        found += [Run({"part": "inclusion", "conversion": name, **common}, 0.1) for name in CONVERSIONS]
        found += [Run({"part": "states", **common}, 0.1), Run({"part": "forms", **common}, 0.1)]
        found += [Run({"part": "spectrum", **common}, 0.1)]
    for noise in NOISE:
        found.append(Run({"part": "candidates", "noise": noise, "count": candidates, "n": 3, "seed": seed}, 1.0))
    for name, n in (("hmm", 3), ("hmm", 4), ("hmm", 6), ("clock", 3), ("clock", 4), ("clock", 5)):
        found.append(Run({"part": "spectral", "set": name, "n": n}, 1.0))
    found += [
        Run({"part": "clock", "n": n, "seed": seed + number, "passes": passes}, 0.002 * passes)
        for n in hmm_sizes
        for number in range(starts)
    ]
    found.append(Run({"part": "clock", "n": 0}, 0.1))
    return found


def execute(part: str, **settings: Any) -> Rows:
    """Do one run."""
    return PARTS[part](**settings)


def all_words(symbols: int, limit: int = WORDS) -> Sequences:
    """Return every sequence up to the longest length that no more than ``limit`` have.

    Examples
    --------
    >>> from hqmm.experiments.expressiveness import all_words
    >>> len(all_words(2, limit=8))  # 2 of one symbol, 4 of two, 8 of three
    14
    """
    length = int(np.log(limit) / np.log(symbols) + 1e-9)
    words = [word for size in range(1, length + 1) for word in product(range(symbols), repeat=size)]
    return Sequences(words, alphabet=symbols)


def largest_difference(a: Model, b: Model, words: Sequences) -> float:
    """Return the largest difference of the probabilities that two models give a sequence."""
    return float(np.abs(a.probability(words) - b.probability(words)).max())


def inclusion(conversion: str, n: int, seed: int) -> Rows:
    """Write a random model of one class as one of another, and compare all probabilities."""
    source, target, convert, bound = CONVERSIONS[conversion]
    model = DRAW[source](n)(np.random.default_rng([seed, n]))
    image = convert(model)
    words = all_words(SYMBOLS)
    dimension = image.n_states if isinstance(image, HQMM) else image.dimension
    return [
        {
            "source": source.upper(),
            "target": target,
            "dimension": dimension,
            "bound": n if bound == "n" else n * n,
            "words": len(words),
            "difference": largest_difference(model, image, words),
            "equivalent": bool(equivalent(model, image)),
        }
    ]


def states(n: int, seed: int) -> Rows:
    """Follow the state of a random HQMM, and of a random NOOM as one, along random sequences."""
    generator = np.random.default_rng([seed, n])
    models = {"HQMM": DRAW["hqmm"](n)(generator), "NOOM": random_noom(n, SYMBOLS)(generator).to_hqmm()}
    return [
        {"source": kind, **_visited(model, model.sample(20, 50, random_state=generator))}
        for kind, model in models.items()
    ]


def _visited(model: Model, data: Sequences) -> Row:
    """Return how far the states of a model are from density matrices, and their largest rank."""
    visited = np.concatenate([model.filter(row) for row in data])
    eigenvalues = np.linalg.eigvalsh(visited)
    return {
        "states": len(visited),
        "smallest_eigenvalue": float(eigenvalues.min()),
        "trace_error": float(np.abs(eigenvalues.sum(axis=1) - 1).max()),
        "asymmetry": float(np.abs(visited - visited.conj().swapaxes(1, 2)).max()),
        "largest_rank": int((eigenvalues > 1e-9).sum(axis=1).max()),
    }


def forms(n: int, seed: int) -> Rows:
    """Write a random HQMM in its other forms and back."""
    generator = np.random.default_rng([seed, n])
    model = random_hqmm(n, SYMBOLS, kraus_rank=2)(generator)
    mixing = np.stack([channels.random_unitary(2, random_state=generator) for _ in range(SYMBOLS)])
    mixed = np.einsum("yvw,ywij->yvij", mixing, model.kraus)
    images = (
        HQMM.from_liouville(model.liouville(), model.initial),
        HQMM.from_choi(model.choi(), model.initial),
        model.canonical(),
        HQMM(mixed, model.initial),
    )
    words = all_words(SYMBOLS)
    return [
        {
            "form": form,
            "difference": largest_difference(model, image, words),
            "liouville_distance": liouville_distance(model, image),
            "kraus_distance": _kraus_distance(model, image),
        }
        for form, image in zip(FORMS, images, strict=True)
    ]


def _kraus_distance(a: HQMM, b: HQMM) -> float | None:
    return float(np.linalg.norm(a.kraus - b.kraus)) if a.kraus.shape == b.kraus.shape else None


def spectrum(n: int, seed: int) -> Rows:
    """Ask whether an operator of a random model, or of the clock, turns its state for ever."""
    models: dict[str, Model] = {
        **{kind: draw_one(n)(np.random.default_rng([seed, n])) for kind, draw_one in DRAW.items()},
        "clock": probability_clock(),
    }
    return [{"source": kind.upper(), "turns": has_oscillating_operator(model)} for kind, model in models.items()]


def candidates(noise: float, count: int, n: int, seed: int) -> Rows:
    """Disturb the operators of random HMMs, keeping them normalised, and ask how many are still valid."""
    verdicts, lengths = [], []
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        verdict = certify(disturbed(n, noise, generator), max_nodes=200)
        verdicts.append(verdict.verdict)
        lengths += [] if verdict.witness is None else [len(verdict.witness)]
    shares = {name: verdicts.count(name) / count for name in ("valid", "invalid", "undecided")}
    return [{**shares, "longest_witness": max(lengths, default=None)}]


def disturbed(n: int, noise: float, generator: np.random.Generator) -> OOM:
    """Return a candidate OOM: conditions (i) and (ii) of Definition 2 hold, condition (iii) may not."""
    model = random_hmm(n, 2)(generator)
    operators = model.linear.operators
    moved = operators + noise / operators[0].size * generator.normal(size=operators.shape)
    missing = 1 - moved.sum(axis=(0, 1))
    return OOM(moved + missing / (2 * n), model.initial, check_length=0)


def spectral(set: str, n: int) -> Rows:
    """Learn an OOM from data by the spectral method, and look for a sequence with a negative probability."""
    model = learn_spectral(protocol.splits(set, "generated").train, n)
    found = find_negative_probability(model, max_nodes=200)
    return [
        {
            "negative": found.found,
            "witness_length": None if found.sequence is None else len(found.sequence),
            "conditional": found.conditional,
        }
    ]


def clock(n: int, seed: int = 0, passes: int = 0) -> Rows:
    """Fit an HMM to the probabilities of all words of the clock themselves; n = 0 means the clock as an HQMM.

    Nothing is sampled: every word counts with its probability, so that EM minimises the divergence from the clock.
    """
    truth = probability_clock()
    words = _words_of(CLOCK_WORD)
    data = words.with_weights(truth.probability(words))
    if n == 0:
        model: Model = truth.to_hqmm()
    else:
        learner = BaumWelch(max_iter=passes, tol=1e-12)
        model = fit(learner, random_hmm(n, 2), data, random_state=seed, threads=1).model
    return [
        {
            "model": "HQMM" if n == 0 else "HMM",
            "numbers": 8 if n == 0 else n * n + 2 * n,
            "fitted": divergence(truth, model, words) / CLOCK_WORD,
            "divergence": divergence(truth, model, _words_of(CLOCK_CHECK)) / CLOCK_CHECK,
            "difference": largest_difference(truth, model, all_words(2, 2**CLOCK_WORD)),
        }
    ]


def _words_of(length: int) -> Sequences:
    return Sequences(np.array(list(product(range(2), repeat=length))), alphabet=2)


def divergence(a: Model, b: Model, words: Sequences) -> float:
    """Return Σ P_a(y) log(P_a(y) / P_b(y)) over all words of one length."""
    left, right = a.log_likelihood(words), b.log_likelihood(words)
    possible = np.isfinite(left)
    return float(np.exp(left[possible]) @ (left[possible] - right[possible]))


def counts(n: int, kraus_rank: int) -> Rows:
    """Return how many numbers models with six symbols hold, and how many of an HQMM's can be chosen freely."""
    s, w = 6, kraus_rank
    return [
        {
            "symbols": s,
            "hmm": n * n + s * n,
            "noom": s * n * n,
            "hqmm": s * w * n * n,
            "hqmm_free": 2 * s * w * n * n - n * n,  # real dimension of the Stiefel manifold
            "oom": s * n * n,
            "oom_of_hqmm": s * n**4,
        }
    ]


PARTS: dict[str, Callable[..., Rows]] = {
    "inclusion": inclusion,
    "states": states,
    "forms": forms,
    "spectrum": spectrum,
    "candidates": candidates,
    "spectral": spectral,
    "clock": clock,
    "counts": counts,
}


def best_hmms(rows: Rows) -> Rows:
    """Return, for each size, the HMM that comes nearest to the clock."""
    hmms = where(rows, part="clock", model="HMM")
    return [min(same, key=lambda row: row["fitted"]) for _, same in sorted(groups(hmms, "n").items())]


def draw(rows: Rows) -> dict[str, Figure]:
    """Draw how near HMMs come to the clock, how many OOM candidates fail, and how many numbers models hold."""
    from hqmm.experiments import figures

    drawn: dict[str, Figure] = {}
    hmms = best_hmms(rows)
    with figures.panel("HMMs of the probability clock", "hidden states n", "divergence (nats per symbol)") as (
        figure,
        axes,
    ):
        colour, marker = figures.COLOURS["em"], figures.MARKERS["em"]
        axes.plot([row["n"] for row in hmms], [row["divergence"] for row in hmms], color=colour, marker=marker)
        axes.set_yscale("log")
        figures.whole(axes, [row["n"] for row in hmms])
    drawn["clock"] = figure
    tried = sorted(where(rows, part="candidates"), key=lambda row: row["noise"])
    with figures.panel("OOM candidates: are they valid?", "noise on the operators of an HMM", "share") as (
        figure,
        axes,
    ):
        noises = [row["noise"] for row in tried]
        for name, colour in zip(("valid", "invalid", "undecided"), figures.CYCLE[2::-1], strict=True):
            shares = [row[name] for row in tried]
            axes.plot(noises, shares, color=colour, marker="o", label=name)
        axes.set_ylim(-0.03, 1.03)
        figures.whole(axes, noises, logarithmic=True)
        axes.legend(fontsize=9)
    drawn["candidates"] = figure
    table = where(rows, part="counts")
    with figures.panel("How many numbers a model of six symbols holds", "n", "numbers") as (figure, axes):
        for label, column, full, colour in (
            ("HMM", "hmm", False, figures.CYCLE[1]),
            ("NOOM", "noom", False, figures.CYCLE[5]),
            ("HQMM, w = 1 (complex)", "hqmm", False, figures.CYCLE[0]),
            ("HQMM, w = n (complex)", "hqmm", True, figures.CYCLE[4]),
            ("an HQMM's OOM", "oom_of_hqmm", False, figures.CYCLE[3]),
        ):
            mine = [row for row in table if (row["kraus_rank"] != 1) == full]
            style = ":" if label == "NOOM" else "-"
            axes.plot([row["n"] for row in mine], [row[column] for row in mine], style, color=colour, label=label)
        axes.set_yscale("log")
        figures.whole(axes, values(table, "n"))
        axes.legend(fontsize=8)
    drawn["counts"] = figure
    return drawn


def table(rows: Rows) -> Rows:
    """Return the worst of each part, the HMMs of the clock, and how many candidates fail."""
    shown: Rows = []
    for (source, target), same in groups(where(rows, part="inclusion"), "source", "target").items():
        shown.append(
            {
                "what": f"{source} as {target}",
                "models": len(same),
                "largest difference": _worst(same, "difference"),
                "equivalent": all(row["equivalent"] for row in same),
            }
        )
    for (form,), same in groups(where(rows, part="forms"), "form").items():
        difference = _worst(same, "difference")
        shown.append({"what": f"HQMM through {form}", "models": len(same), "largest difference": difference})
    shown += [
        {
            "what": f"HMM, n = {row['n']}, and the clock",
            "models": 1,
            "largest difference": row["difference"],
            "nats per symbol": row["divergence"],
        }
        for row in best_hmms(rows)
    ]
    shown += [
        {
            "what": f"OOM candidates, noise {row['noise']:g}",
            "models": row["count"],
            **{name: row[name] for name in ("valid", "invalid", "undecided")},
        }
        for row in sorted(where(rows, part="candidates"), key=lambda row: row["noise"])
    ]
    return shown


def see(rows: Rows) -> str:
    """Say what was found in each part."""
    hmms, tried = best_hmms(rows), sorted(where(rows, part="candidates"), key=lambda row: row["noise"])
    learned = where(rows, part="spectral")
    return (
        "Every conversion of the paper keeps all probabilities to "
        f"{_worst(where(rows, part='inclusion'), 'difference'):.1e}. The best HMM of the clock with "
        f"{hmms[-1]['n']} states still diverges from it by {hmms[-1]['divergence']:.1e} nats per symbol, while "
        "two dimensions of an HQMM are the clock. Noise turns normalised HMM operators into candidates that "
        f"give negative probabilities: {tried[0]['invalid']:.0%} at {tried[0]['noise']:g}, "
        f"{tried[-1]['invalid']:.0%} at {tried[-1]['noise']:g}. Of {len(learned)} OOMs learned by the spectral "
        f"method, {sum(row['negative'] for row in learned)} give some sequence a negative probability."
    )


def _worst(rows: Rows, column: str) -> float:
    if not rows:
        raise LookupError(column)
    return max(row[column] for row in rows)


def _included(rows: Rows, source: str, word: str) -> Verdict:
    mine = [row for row in where(rows, part="inclusion", source=source) if word in row["target"]]
    worst = _worst(mine, "difference")
    fits = all(row["dimension"] <= row["bound"] for row in mine)
    measured = (
        f"{len(mine)} random models, {mine[0]['words']} sequences each: probabilities differ by at most "
        f"{worst:.1e}"
    )
    return Verdict(measured, worst < ROUNDING and fits and all(row["equivalent"] for row in mine))


def hmms_are_hqmms(rows: Rows) -> Verdict:
    """Judge the conversion of HMMs to HQMMs."""
    return _included(rows, "HMM", "HQMM")


def nooms_are_hqmms(rows: Rows) -> Verdict:
    """Judge the conversion of NOOMs to HQMMs."""
    return _included(rows, "NOOM", "HQMM")


def nooms_are_ooms(rows: Rows) -> Verdict:
    """Judge the conversion of NOOMs to OOMs."""
    return _included(rows, "NOOM", "OOM")


def hqmms_are_ooms(rows: Rows) -> Verdict:
    """Judge the conversion of HQMMs to OOMs."""
    return _included(rows, "HQMM", "OOM")


def clock_is_no_hmm(rows: Rows) -> Verdict:
    """Ask whether HMMs of every size differ from the clock, and an HQMM of two dimensions does not."""
    hmms, quantum = best_hmms(rows), only(rows, part="clock", model="HQMM")
    if not hmms:
        raise LookupError("HMMs of the clock")
    measured = ", ".join(f"n={row['n']}: {row['divergence']:.1e}" for row in hmms)
    holds = quantum["difference"] < ROUNDING and all(row["difference"] > 1e6 * ROUNDING for row in hmms)
    return Verdict(f"nats per symbol from the clock: {measured}; HQMM, n=2: {quantum['divergence']:.1e}", holds)


def operators_turn(rows: Rows) -> Verdict:
    """Ask whether an operator of the clock turns its state for ever while none of an HMM's does."""
    hmms = where(rows, part="spectrum", source="HMM")
    clocks = where(rows, part="spectrum", source="CLOCK")
    if not hmms or not clocks:
        raise LookupError("spectra")
    turning = sum(row["turns"] for row in hmms)
    its_own = "turns" if clocks[0]["turns"] else "does not turn"
    measured = f"{turning} of {len(hmms)} random HMMs have a turning operator; the clock's {its_own}"
    return Verdict(measured, turning == 0 and clocks[0]["turns"])


def states_are_a_spectraplex(rows: Rows) -> Verdict:
    """Ask whether every filtered state is Hermitian, positive semi-definite and of trace one."""
    mine = where(rows, part="states")
    smallest = -_worst([{"x": -row["smallest_eigenvalue"]} for row in mine], "x")
    off = max(_worst(mine, "trace_error"), _worst(mine, "asymmetry"))
    visited = sum(row["states"] for row in mine)
    measured = f"{visited} states: smallest eigenvalue {smallest:.1e}, trace and symmetry off by {off:.1e}"
    return Verdict(measured, smallest > -ROUNDING and off < ROUNDING)


def nooms_are_extremal(rows: Rows) -> Verdict:
    """Ask whether a NOOM's states keep rank one while an HQMM's become mixtures."""
    ranks = {
        kind: [row["largest_rank"] for row in where(rows, part="states", source=kind)] for kind in ("NOOM", "HQMM")
    }
    if not all(ranks.values()):
        raise LookupError("states")
    measured = (
        f"largest rank of a state: NOOMs {max(ranks['NOOM'])}; HQMMs {min(ranks['HQMM'])} to {max(ranks['HQMM'])}"
    )
    return Verdict(measured, max(ranks["NOOM"]) == 1 < min(ranks["HQMM"]))


def forms_agree(rows: Rows) -> Verdict:
    """Ask whether the Kraus, Liouville and Choi forms define one process."""
    mine = where(rows, part="forms")
    worst = _worst(mine, "difference")
    return Verdict(f"probabilities differ by at most {worst:.1e}", worst < ROUNDING)


def liouville_is_unique(rows: Rows) -> Verdict:
    """Ask whether Kraus operators that differ, but define one model, have the same Liouville form."""
    mine = where(rows, part="forms", form=FORMS[3])
    worst = _worst(mine, "liouville_distance")
    apart = min(row["kraus_distance"] for row in mine)
    measured = f"Kraus operators at least {apart:.2f} apart, Liouville forms at most {worst:.1e}"
    return Verdict(measured, worst < ROUNDING < apart)


def ooms_can_be_negative(rows: Rows) -> Verdict:
    """Ask whether normalised OOM candidates with negative probabilities exist."""
    mine = where(rows, part="candidates")
    worst = max(mine, key=lambda row: row["invalid"])
    share = _worst(mine, "invalid")
    learned = where(rows, part="spectral")
    measured = (
        f"up to {share:.0%} of candidates (noise {worst['noise']:g}), "
        f"and {sum(row['negative'] for row in learned)} of {len(learned)} learned OOMs"
    )
    return Verdict(measured, share > 0)


EXPERIMENT = Experiment(
    name="expressiveness",
    title="What HMMs, NOOMs, HQMMs and OOMs can express",
    place="Section 2",
    says=(
        "HMM ⊂ HQMM ⊆ OOM. NOOMs are HQMMs, and HQMMs of n dimensions are OOMs of n²; the probability clock is "
        "a NOOM that no finite HMM equals. Valid states of an HQMM are the Hermitian positive semi-definite "
        "matrices of trace one, so that it never gives a negative probability, as OOMs may. The Liouville form "
        "of an HQMM is unique, and equivalent to the Kraus form."
    ),
    settings=(
        f"Random models of {SYMBOLS} symbols; every sequence of up to about {WORDS} is compared, and "
        "equivalence is decided exactly as well. HMMs of the clock are fitted by EM, from several starts, to "
        f"all words of {CLOCK_WORD} symbols weighted by the clock's own probabilities, and the divergence is "
        f"summed over all words of {CLOCK_CHECK}: nothing is sampled. Candidates for OOMs are operators of "
        "random HMMs with Gaussian noise, normalised again (conditions (i) and (ii) of Definition 2); what "
        "decides on condition (iii) is a proof."
    ),
    runs=runs,
    execute=execute,
    draw=draw,
    see=see,
    table=table,
    edition=2,
    claims=(
        Claim(
            "Section 2.4",
            "Every HMM of n states is an HQMM (of no more than n² dimensions)",
            hmms_are_hqmms,
            PROVED,
        ),
        Claim("Section 2.4", "Every NOOM is an HQMM", nooms_are_hqmms, PROVED),
        Claim("Section 2.3", "Every NOOM of n dimensions is an OOM of n²", nooms_are_ooms, PROVED),
        Claim(
            "Theorem 1",
            "Every HQMM of n dimensions is an OOM of n², and the similarity S makes it a standard one",
            hqmms_are_ooms,
            PROVED,
        ),
        Claim(
            "Sections 2.2 and 2.3",
            "The probability clock, an HQMM of 2 dimensions, is no HMM of finite size",
            clock_is_no_hmm,
            PROVED,
        ),
        Claim(
            "Section 2.2",
            "Operators of an HMM have a real largest eigenvalue (at most with roots of unity beside it); the "
            "clock has one with complex eigenvalues as large, at which conditional probabilities oscillate",
            operators_turn,
            PROVED,
        ),
        Claim("Theorem 1", "The states of an HQMM stay in the spectraplex", states_are_a_spectraplex, PROVED),
        Claim(
            "Section 2.4",
            "NOOMs are HQMMs with states of rank one, extremal points of the spectraplex; an HQMM's are mixtures",
            nooms_are_extremal,
            PROVED,
        ),
        Claim("Section 2.4", "The Kraus, Liouville and Choi forms of an HQMM are equivalent", forms_agree, PROVED),
        Claim("Section 2.4", "The Liouville form is unique, the Kraus form is not", liouville_is_unique, PROVED),
        Claim(
            "Section 2.2",
            "Normalised operators may give negative probabilities: nothing in an OOM's definition prevents it",
            ooms_can_be_negative,
            "Among so few candidates none failed; more noise, or more of them, will find one.",
        ),
    ),
)
