"""What every model can do, written once over batches of states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from hqmm import engine
from hqmm._random import RandomState, as_generator
from hqmm._typing import AnyArray, CodeArray, FloatArray
from hqmm.errors import DataError, ModelError
from hqmm.linear import MISSING, LinearForm
from hqmm.models import _checks
from hqmm.sequences import Alphabet, Sequences

Self = TypeVar("Self", bound="Model")
LONGEST_SAMPLE = 1_000_000


class Process(Protocol):
    """Batches of states, one per row, that symbols move: what evaluation needs to know of a model."""

    def start(self, batch: int) -> Any:
        """Return copies of the initial state."""

    def next_distribution(self, states: Any, position: int = 0) -> FloatArray:
        """Return the next-symbol probabilities of normalised states."""

    def advance(self, states: Any, codes: AnyArray) -> tuple[Any, FloatArray]:
        """Apply one symbol per row (−1: missing) and normalise; also return each step's probability."""


class Model(ABC):
    """An immutable, validated model of a discrete process.

    Subclasses name their parameters in ``_parameters`` and say how these become a real linear form; everything
    below is written once. Two models are equal when their class, parameters and alphabet are.
    """

    _parameters: ClassVar[tuple[str, ...]]
    alphabet: Alphabet

    def _set(self, alphabet: Alphabet | Any | None, n_symbols: int, **parameters: AnyArray) -> None:
        chosen = Alphabet(n_symbols) if alphabet is None else alphabet
        if not isinstance(chosen, Alphabet):
            chosen = Alphabet(chosen)
        if len(chosen) != n_symbols:
            raise ModelError(
                f"{type(self).__name__}: the alphabet has {len(chosen)} symbols, the parameters {n_symbols}"
            )
        for name, value in {**parameters, "alphabet": chosen}.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a model cannot be changed; use replace({name}=…) or make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a model cannot be changed; use replace({name}=…) or make a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), {**self.parameters, "alphabet": self.alphabet})

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, Model)
            and self.alphabet == other.alphabet
            and all(np.array_equal(value, other.parameters[name]) for name, value in self.parameters.items())
        )

    def __hash__(self) -> int:
        # Equal parameters may be real in one model and complex in the other, and −0 equals 0.
        numbers = (value.astype(np.complex128) + 0.0 for value in self.parameters.values())
        return hash((type(self), self.alphabet, *(value.tobytes() for value in numbers)))

    def __repr__(self) -> str:
        end = " with end" if self.alphabet.end is not None else ""
        return f"{type(self).__name__}({self._sizes()}, {self.n_symbols} symbols{end})"

    @abstractmethod
    def _sizes(self) -> str:
        """Return the sizes that identify the model in its repr."""

    @property
    @abstractmethod
    def n_symbols(self) -> int:
        """Number of symbols s."""

    @property
    @abstractmethod
    def linear(self) -> LinearForm:
        """The equivalent real linear form."""

    @abstractmethod
    def _native(self, states: Any) -> AnyArray:
        """Return states of the process, one per row, as the model's own kind of state."""

    @property
    def _process(self) -> Process:
        return self.linear

    @property
    def parameters(self) -> dict[str, AnyArray]:
        """The defining arrays by name."""
        return {name: getattr(self, name) for name in self._parameters}

    def replace(self: Self, **changes: Any) -> Self:
        """Return a copy with other parameters or another alphabet.

        Examples
        --------
        >>> from hqmm import HMM
        >>> model = HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0], [0, 1]])
        >>> model.replace(initial=[1, 0]).initial
        array([1., 0.])
        """
        return type(self)(**{**self.parameters, "alphabet": self.alphabet, **changes})

    def log_likelihood(self, sequences: Any, burn_in: int = 0) -> FloatArray:
        """Return the natural log-probability of each sequence, −inf where it is impossible.

        Parameters
        ----------
        sequences : Sequences or anything it accepts
            Raw data is read with the model's alphabet; a model with an end symbol appends it.
        burn_in : int
            The first symbols of each sequence update the state but are not scored.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]]).log_likelihood([[0, 1], [1, 1, 0]])
        array([-1.38629436, -2.07944154])
        """
        _checks.whole_number("burn_in", burn_in, 0)
        return self._log_likelihood(self.encode(sequences), burn_in)

    def _log_likelihood(self, sequences: Sequences, burn_in: int) -> FloatArray:
        return engine.log_likelihood(self.linear, sequences, burn_in=burn_in)

    def probability(self, sequences: Any) -> FloatArray:
        """Return the probability of each sequence.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]]).probability([[0, 1]])
        array([0.25])
        """
        return np.exp(self.log_likelihood(sequences))

    def encode(self, sequences: Any) -> Sequences:
        """Return data as ``Sequences`` over the model's alphabet.

        A model with an end symbol appends it, except to ``Sequences`` whose alphabet has one, too: there, a
        sequence without it was cut off.

        Examples
        --------
        >>> from hqmm import HMM, Alphabet, Sequences
        >>> model = HMM([[1.0]], [[0.5], [0.5]], alphabet=Alphabet("a", end=True))
        >>> model.encode(["aa"]).decode(), model.encode(Sequences(["aa"])).decode()
        ([['a', 'a', '<end>']], [['a', 'a', '<end>']])
        >>> model.encode(Sequences(["aa"], alphabet=model.alphabet)).decode()
        [['a', 'a']]
        """
        closed = self.alphabet.end is not None
        return Sequences(sequences, self.alphabet, end=closed, allow_empty=isinstance(sequences, Sequences))

    def filter(self, sequence: Any) -> AnyArray:
        """Return the state after each symbol of one sequence, given only the symbols so far.

        The first axis is time; the rest is the model's own kind of state (a probability vector, a density
        matrix, …).

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0.5], [0, 0.5]]).filter([1, 0])
        array([[0.        , 1.        ],
               [0.66666667, 0.33333333]])
        """
        states = [self._native(state) for state in self._trajectory(self.alphabet.encode(sequence))]
        return np.concatenate(states)[1:]

    def predict(self, sequence: Any = (), along: bool = False) -> FloatArray:
        """Return the distribution of the next symbol after one sequence.

        With ``along=True`` there is one row for each prefix, starting with the empty one.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0.5], [0, 0.5]]).predict([1])
        array([0.75, 0.25])
        """
        codes = self.alphabet.encode(sequence)
        if not along:
            states, position = self._after(codes)
            return self._process.next_distribution(states, position)[0]
        return np.array(
            [self._process.next_distribution(states, t)[0] for t, states in enumerate(self._trajectory(codes))]
        )

    def forecast(self, sequence: Any = (), horizon: int = 1) -> FloatArray:
        """Return the marginal distribution of each of the next ``horizon`` symbols, one row per step ahead.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0], [0, 1]]).forecast([1], horizon=3)
        array([[0.5 , 0.5 ],
               [0.7 , 0.3 ],
               [0.78, 0.22]])
        """
        _checks.whole_number("horizon", horizon, 1)
        states, position = self._after(self.alphabet.encode(sequence))
        rows = []
        for step in range(horizon):
            rows.append(self._process.next_distribution(states, position + step)[0])
            states, _ = self._process.advance(states, np.array([MISSING]))
        return np.array(rows)

    def sample(
        self,
        n_sequences: int = 1,
        length: int | None = None,
        *,
        prefix: Any = (),
        random_state: RandomState = None,
    ) -> Sequences:
        """Draw sequences, optionally as continuations of a prefix (which is not repeated in the result).

        Parameters
        ----------
        n_sequences : int
            How many.
        length : int, optional
            Number of symbols of each. A model with an end symbol stops a sequence after it, and may leave
            ``length`` out.
        prefix : one sequence
            Symbols already seen.
        random_state : None, int or numpy.random.Generator
            The same seed gives the same sequences.

        Examples
        --------
        >>> from hqmm import HMM
        >>> model = HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0], [0, 1]])
        >>> model.sample(2, 5, random_state=0).lengths
        array([5, 5])
        """
        _checks.whole_number("n_sequences", n_sequences, 1)
        if length is not None:
            _checks.whole_number("length", length, 1)
        elif self.alphabet.end is None:
            raise DataError("this model has no end symbol; say how long the sequences should be: length=…")
        codes = self.alphabet.encode(prefix)
        if len(codes) and codes[-1] == self.alphabet.end:
            raise DataError("the prefix ends with the end symbol, and nothing follows it", 0, len(codes) - 1)
        start, position = self._after(codes)
        return self._sample(start, position, n_sequences, length, as_generator(random_state))

    def _sample(
        self, start: Any, position: int, n_sequences: int, length: int | None, generator: np.random.Generator
    ) -> Sequences:
        states = start[np.zeros(n_sequences, dtype=np.int64)]
        going = np.arange(n_sequences)
        columns = []
        lengths = np.zeros(n_sequences, dtype=np.int64)
        for step in range(LONGEST_SAMPLE if length is None else length):
            if not len(going):
                break
            cumulated = np.cumsum(self._process.next_distribution(states, position + step), axis=1)
            draws = generator.random(len(going)) * cumulated[:, -1]
            codes = (draws[:, None] >= cumulated).sum(axis=1)
            column = np.full(n_sequences, MISSING, dtype=self.alphabet.dtype)
            column[going] = codes
            columns.append(column)
            lengths[going] += 1
            states = self._step(states, codes, position + step)
            if self.alphabet.end is not None:
                on = codes != self.alphabet.end
                going, states = going[on], states[on]
        if length is None and len(going):
            raise ModelError(f"a sample has not ended after {LONGEST_SAMPLE} symbols; pass length=…")
        table = np.stack(columns, axis=1)
        codes = table[np.arange(table.shape[1]) < lengths[:, None]]
        return Sequences.from_arrays(codes, np.concatenate([[0], np.cumsum(lengths)]), self.alphabet)

    def stationary_state(self) -> AnyArray:
        """Return the long-run average of the state, in the model's own kind: lim (1/N) Σ (Σ_y T_y)^k r₀.

        Examples
        --------
        >>> from hqmm import HMM
        >>> HMM([[0.9, 0.5], [0.1, 0.5]], [[1, 0], [0, 1]]).stationary_state()
        array([0.83333333, 0.16666667])
        """
        form = self.linear
        transfer: FloatArray = form.operators.sum(axis=0)
        state = _cesaro_limit(transfer, form.initial)
        result: AnyArray = self._native(state[None])[0]
        return result

    def _trajectory(self, codes: CodeArray) -> Iterator[Any]:
        """Yield the state before the first symbol of one sequence and after each, as batches of one."""
        states = self._process.start(1)
        yield states
        for position, code in enumerate(codes):
            states = self._step(states, np.array([code]), position)
            yield states

    def _after(self, codes: CodeArray) -> tuple[Any, int]:
        """Return the state after one sequence (a batch of one) and the sequence's length."""
        position, states = -1, None
        for position, states in enumerate(self._trajectory(codes)):  # noqa: B007
            pass
        return states, position

    def _step(self, states: Any, codes: CodeArray | AnyArray, position: int) -> Any:
        """Advance, refusing impossible symbols."""
        following, weights = self._process.advance(states, codes)
        if not np.all(weights > 0):
            row = int(np.argmin(weights))
            self._process.next_distribution(states, position)  # raises where the model itself is at fault
            symbol = self.alphabet.decode([int(codes[row])])[0]
            raise DataError(
                f"the model gives the symbol {symbol!r} probability zero here, so there is no state after it",
                sequence=row,
                position=position,
            )
        return following


def _rebuild(cls: type[Model], parameters: dict[str, Any]) -> Model:
    return cls(**parameters)


def _cesaro_limit(transfer: FloatArray, start: FloatArray) -> FloatArray:
    """Project ``start`` on the fixed points of ``transfer`` along the other invariant subspaces."""
    U, sizes, V = np.linalg.svd(transfer - np.eye(len(transfer)))
    fixed = sizes <= 1e-9 * max(1.0, sizes[0])
    left, right = U[:, fixed], V[fixed].T
    overlap = left.T @ right
    if right.shape[1] == 0 or np.linalg.cond(overlap) > 1e9:
        raise ModelError("the process has no long-run average state: Σ_y T_y has no simple eigenvalue 1")
    state: FloatArray = right @ np.linalg.solve(overlap, left.T @ start)
    return state
