"""One Baum–Welch iteration through the engine against hmmlearn's, on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hmmlearn.hmm import CategoricalHMM

from benchmarks.measure import Row, best_times, one_core
from hqmm import HMM, Sequences
from hqmm.learning import BaumWelch
from hqmm.learning.task import Task

SYMBOLS = 6


def model_of(n: int) -> HMM:
    generator = np.random.default_rng(n)
    return HMM(
        generator.dirichlet(np.ones(n), n).T,
        generator.dirichlet(np.ones(SYMBOLS), n).T,
        generator.dirichlet(np.ones(n)),
    )


def peer_of(model: HMM) -> Any:
    """Return hmmlearn's form of a model: rows sum to one; the first symbol comes before any transition."""
    peer = CategoricalHMM(
        model.n_states,
        n_features=SYMBOLS,
        n_iter=1,
        init_params="",
        implementation="scaling",
        startprob_prior=1,
        transmat_prior=1,
        emissionprob_prior=1,
    )
    peer.startprob_ = model.transition @ model.initial
    peer.transmat_ = model.transition.T
    peer.emissionprob_ = model.emission.T
    return peer


def iteration() -> Iterator[Row]:
    """One iteration on 200 × 300 = 60,000 symbols against hmmlearn's CategoricalHMM(implementation="scaling")."""
    codes = np.random.default_rng(0).integers(0, SYMBOLS, (200, 300))
    column, lengths = codes.reshape(-1, 1), [300] * 200
    task = Task(Sequences(codes, alphabet=SYMBOLS), threads=1)
    learner = BaumWelch()
    with one_core():
        for n, reach in ((6, 4), (36, 9)):
            model = model_of(n)
            state = learner.init(model, task, np.random.default_rng(0))
            _check(learner.advance(state, task, np.random.default_rng(0)), state, peer_of(model), column, lengths)
            ours, theirs = best_times(
                lambda s=state: learner.advance(s, task, np.random.default_rng(0)),
                lambda m=model: peer_of(m).fit(column, lengths),
                seconds=4,
            )
            note = f"{theirs * 1e3:.1f} : {ours * 1e3:.2f} ms"
            yield Row(f"n = {n}", theirs / ours, "times", reach, note=note)


def _check(following: Any, state: Any, peer: Any, column: Any, lengths: list[int]) -> None:
    """Refuse to compare what is not the same: the likelihood before the step, and the emission matrix after it.

    (The transition matrices differ, as hmmlearn has none before the first symbol.)
    """
    peer.fit(column, lengths)
    np.testing.assert_allclose(state.objective * len(column), peer.monitor_.history[0], rtol=1e-9)
    np.testing.assert_allclose(following.emission, peer.emissionprob_.T, rtol=1e-6)


ROWS = [iteration]
