"""Estimators whose model is found by a learner, through the one driver."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from hqmm._random import as_generator
from hqmm._typing import FloatArray
from hqmm.engine.corpus import is_corpus
from hqmm.errors import DataError, ModelError
from hqmm.estimators.base import SequenceEstimator
from hqmm.estimators.callbacks import FRAMES, CallbackSupportMixin, Watch, with_callbacks
from hqmm.estimators.counting import Counted
from hqmm.estimators.learners import chosen_learner
from hqmm.estimators.reading import canonical, read, weighted
from hqmm.estimators.streaming import Stream, StreamLearner
from hqmm.learning import Fit, Learner, fit
from hqmm.learning.driver import REASONS, Reason, split_validation
from hqmm.models import Model
from hqmm.sequences import Alphabet, Sequences

if TYPE_CHECKING:
    from hqmm.estimators.sharded import Shards

Self = TypeVar("Self", bound="LearnedEstimator")
Start = Model | Callable[[np.random.Generator], Model]
Callbacks: TypeAlias = list[Callable[[dict[str, float], Model], bool]]

ADVICE: dict[Reason, str] = {
    "max_iter": "raise max_iter, or raise tol to be content with less",
    "time": "raise time_limit",
    "no_progress": "raise patience if that may be noise, or use a smaller model if it overfits",
    "non_finite": "lower the learner's step, or use another learner",
    "interrupted": "fit again; with checkpoint= it continues",
}


def _streams(estimator: LearnedEstimator) -> bool:
    """Tell whether the learner can learn from batches that it sees once; the message is for those that cannot."""
    if not isinstance(estimator._learner(), StreamLearner):
        able = " and ".join(name for name, kind in estimator._learners.items() if hasattr(kind, "absorb"))
        raise AttributeError(f"{estimator.learner!r} needs all data at once; partial_fit is for {able}")
    return True


class LearnedEstimator(CallbackSupportMixin, SequenceEstimator):  # type: ignore[misc]
    """An estimator that runs a learner.

    Attributes
    ----------
    model_ : Model
        The best model found.
    history_ : dict of arrays
        One row for each iteration, as in `hqmm.learning.Fit`.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether it stopped because there was nothing left to gain.
    result_ : Fit
        All that the learner reports, with the reason why it stopped.
    """

    learner: str | Learner
    n_init: int
    max_iter: int | None
    tol: float | None
    patience: int | None
    time_limit: float | None
    validation: Any
    initial_state: Any
    start: Model | None
    n_jobs: int | None
    threads: int | None
    checkpoint: str | Path | None
    verbose: int

    result_: Fit
    history_: dict[str, FloatArray]
    n_iter_: int
    converged_: bool

    _learners: ClassVar[Mapping[str, type[Learner]]]

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self: Self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : Sequences or anything it accepts, a data frame, a path, or a corpus in shards
            One sequence a row; of any lengths where it is not a table. A
            `~hqmm.engine.parquet.ParquetCorpus` is read shard by shard, or, where there is a current
            ``distributed.Client``, kept in the memory of its workers. The path of a Parquet file is such a corpus
            where there is a client, or where the file has more than 256 MB.
        y : ignored
            For scikit-learn's sake.
        sample_weight : array, optional
            How often each sequence counts; multiplied with the weights of `Sequences`.

        Returns
        -------
        self
        """
        generator = as_generator(self.random_state)
        with self._training(X, sample_weight) as (data, shards):
            train, held_out = self._held_out(data, generator)
            watch = Watch(self, X, y, sample_weight, self._attributes)
            train = canonical(train) if shards is None else train
            result = self._learn(train, held_out, generator, watch.callbacks, shards)
        self._set_result(result)
        watch.end(result.model)
        return self

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self: Self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from more sequences, which are read once, from the model of before on.

        The first call starts from the fitted model, or from a random one whose alphabet should then be given. The
        learner takes a step for every 5 sequences, in their order. ``history_`` has the log-likelihood per symbol
        of each such batch before it was learned from.

        Parameters
        ----------
        X : Sequences or anything it accepts, or a data frame
            One sequence a row.
        y : ignored
            For scikit-learn's sake.
        sample_weight : array, optional
            How often each sequence counts; multiplied with the weights of `Sequences`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "model_")
        data = self._read_training(X, sample_weight) if first else weighted(self._read(X), sample_weight)
        stream = getattr(self, "_stream", None) or self._new_stream(data.alphabet)
        self._stream = stream.continued(data, self.burn_in, self.threads)
        for name in ("result_", "converged_"):  # of a fit that this goes beyond
            self.__dict__.pop(name, None)
        self._set_model(self._promised(self._stream.model))
        self.history_ = {"iteration": np.arange(1.0, len(stream.scores) + 1), "train": np.array(stream.scores)}
        self.n_iter_ = len(stream.scores)
        return self

    def _new_stream(self, alphabet: Alphabet) -> Stream:
        begin = getattr(self, "model_", None) or self._start(alphabet)
        model = begin(as_generator(self.random_state)) if callable(begin) else begin
        return Stream(self._learner(), model)

    @contextmanager
    def _training(self, X: Any, sample_weight: ArrayLike | None) -> Iterator[tuple[Sequences, Shards | None]]:
        """Yield the training data; of a corpus in shards an outline, and who works on it."""
        from hqmm.estimators.sharded import corpus_at, opened

        source = X if is_corpus(X) else corpus_at(X, self.alphabet, self.end)
        if source is None:
            yield self._read_training(X, sample_weight), None
            return
        if sample_weight is not None:
            raise DataError(
                "sample_weight: a corpus in shards brings its own weights; see weights= of ParquetCorpus"
            )
        if isinstance(self.validation, Real):
            raise DataError("validation: nothing can be set aside of a corpus in shards; pass held-out data")
        with opened(source, self.threads) as shards:
            self._check_alphabet(shards.outline.alphabet)
            self.__dict__.pop("n_features_in_", None)
            yield shards.outline, shards

    def _check_alphabet(self, found: Alphabet) -> None:
        """Refuse a corpus that is over other symbols than those the estimator was told of."""
        if self.end and found.end is None:
            raise DataError("end: make the corpus with end=True, too")
        if self.alphabet is None or (isinstance(self.alphabet, str) and self.alphabet == "learn"):
            return
        known = Sequences([[]], self.alphabet, end=self.end, allow_empty=True).alphabet
        if known != found:
            raise DataError(f"alphabet: the corpus is over {found!r}; make it with alphabet={self.alphabet!r}")

    def _learn(
        self,
        data: Sequences,
        validation: Sequences | None,
        generator: np.random.Generator,
        callbacks: Callbacks,
        shards: Shards | None = None,
    ) -> Fit:
        if shards is None:
            learner, start = self._beginning(data)
        else:
            from hqmm.estimators.sharded import on_shards

            learner, start = on_shards(self._learner(), self._start(data.alphabet), shards, self.burn_in)
        return fit(
            learner,
            start,
            data,
            validation=validation,
            burn_in=self.burn_in,
            max_iter=self.max_iter,
            patience=self.patience,
            time_limit=self.time_limit,
            n_init=self.n_init,
            n_jobs=self.n_jobs if self.n_jobs is not None and shards is None else 1,  # workers: a step at a time
            random_state=generator,
            threads=self.threads,
            checkpoint=self.checkpoint,
            callbacks=callbacks,
            progress=bool(self.verbose),
        )

    def _beginning(self, data: Sequences) -> tuple[Learner, Start]:
        """Return the learner for these data, and what it starts from."""
        return self._learner(), self._start(data.alphabet)

    def _is_complete(self, result: Fit) -> bool:
        """Return whether the learner stopped because there was nothing left to gain."""
        return result.converged

    def _promised(self, model: Model) -> Model:
        """Return the model in the class that the estimator promises."""
        return model

    def _counted_initial(self) -> Counted:
        if isinstance(self.initial_state, str) and self.initial_state in ("auto", "learn"):
            told = getattr(self._learner(), "learn_initial", None)
            learned = self.burn_in == 0 if told is None else told
            if learned:
                return "learned"
        return "fixed" if self.burn_in == 0 else "stationary"

    @abstractmethod
    def _draw(self, alphabet: Alphabet) -> Callable[[np.random.Generator], Model]:
        """Return what draws a random model to start from."""

    @abstractmethod
    def _kinds(self) -> tuple[type[Model], ...]:
        """Return the classes of models it can start from."""

    @abstractmethod
    def _mixed(self, model: Model) -> Any:
        """Return the initial state that knows nothing, for a model of that size."""

    def _learner(self) -> Learner:
        chosen = chosen_learner(self.learner, self._learners, max_iter=self.max_iter, tol=self.tol)
        if isinstance(self.initial_state, str) and self.initial_state == "auto":
            return chosen
        learns = isinstance(self.initial_state, str) and self.initial_state == "learn"
        return chosen_learner(chosen, self._learners, learn_initial=learns)

    def _start(self, alphabet: Alphabet) -> Start:
        """Return the model to start from, or what draws one."""
        if self.start is not None and not isinstance(self.start, self._kinds()):
            names = " or ".join(kind.__name__ for kind in self._kinds())
            raise ModelError(
                f"{type(self).__name__} starts from a model of class {names}, not from {self.start!r}"
            )
        return self._with_initial(self.start if self.start is not None else self._draw(alphabet))

    def _with_initial(self, begin: Start) -> Start:
        """Return a start with the initial state that was asked for."""
        if isinstance(self.initial_state, str):
            if self.initial_state in ("auto", "learn"):
                return begin
            if self.initial_state != "mixed":
                raise ValueError(
                    "initial_state must be 'auto', 'learn', 'mixed' or the state itself, "
                    f"not {self.initial_state!r}"
                )

        def fixed(generator: np.random.Generator) -> Model:
            model = begin(generator) if callable(begin) else begin
            given = self._mixed(model) if isinstance(self.initial_state, str) else self.initial_state
            return model.replace(initial=given)

        return fixed

    def _held_out(self, data: Sequences, generator: np.random.Generator) -> tuple[Sequences, Sequences | None]:
        """Return training and validation data."""
        if self.validation is None:
            return data, None
        if isinstance(self.validation, Real):
            return split_validation(data, checked_share(self.validation), generator)
        end = data.alphabet.end is not None
        return data, read(self, self.validation, data.alphabet, end, reset=False, any_width=True)

    def _attributes(self, model: Model) -> dict[str, Any]:
        """Return what the estimator would hold if the learner had stopped at a model."""
        return {"model_": self._promised(model), "alphabet_": model.alphabet}

    def _set_result(self, result: Fit) -> None:
        result = replace(result, model=self._promised(result.model))
        self.__dict__.pop("_stream", None)
        self._set_model(result.model)
        self.result_ = result
        self.history_ = result.history
        self.n_iter_ = result.n_iter
        self.converged_ = self._is_complete(result)
        if not self.converged_:
            warnings.warn(
                not_converged(type(self).__name__, result.n_iter, result.reason),
                ConvergenceWarning,
                stacklevel=3 + FRAMES,
            )


def checked_share(share: Any) -> float:
    """Return the share of the data to hold out; refuse numbers that are none."""
    if not 0 < share < 1:
        raise DataError(f"validation must be a share between 0 and 1, or data, but is {share}")
    return float(share)


def not_converged(name: str, n_iter: int, reason: Reason, max_iter: str = "max_iter") -> str:
    """Return what to say, and to advise, of a fit that stopped for another reason than convergence."""
    advice = ADVICE[reason].replace("max_iter", max_iter)
    return f"{name} has not converged after {n_iter} iterations: {REASONS[reason]}; {advice}"
