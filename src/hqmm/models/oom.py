"""Observable operator models, standard (Definition 2) and general (Definition 3)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from hqmm._typing import AnyArray, ComplexArray, FloatArray
from hqmm.errors import ModelError
from hqmm.linear import ROUNDING, LinearForm
from hqmm.models import _checks
from hqmm.models.base import Model
from hqmm.models.hmm import HMM
from hqmm.reduction import reachable_basis, reduce


class OOM(Model):
    """An observable operator model: P(y₁…y_t) = σ† τ_{y_t} ⋯ τ_{y_1} x₀.

    Without an evaluation functional it is a standard OOM (Definition 2: real, σ = 1), with one a general OOM
    (Definition 3: real or complex). Normalisation is checked exactly, on the states that can be reached. Whether
    every probability is non-negative is undecidable in general: it is checked for sequences of ``check_length``
    symbols here, `hqmm.certify` searches further, and evaluation stops with an error wherever it fails.

    Parameters
    ----------
    operators : (s, n, n) array, real or complex
        One matrix per symbol.
    initial : (n,) array
        State before the first symbol.
    evaluation : (n,) array, optional
        The functional σ; ones by default.
    alphabet : Alphabet, optional
        The symbols; 0 … s−1 by default.
    check_length : int
        Check condition (iii) for all sequences up to this length; 0 accepts models that violate it.

    Examples
    --------
    >>> from hqmm import OOM
    >>> OOM([[[0.25]], [[0.75]]], [1.0]).probability([[0, 1]])
    array([0.1875])
    """

    _parameters = ("operators", "initial", "evaluation")
    operators: FloatArray | ComplexArray
    initial: FloatArray | ComplexArray
    evaluation: FloatArray | ComplexArray

    def __init__(
        self,
        operators: Any,
        initial: Any,
        evaluation: Any = None,
        *,
        alphabet: Any = None,
        check_length: int = 1,
    ) -> None:
        T = _checks.real_or_complex_array("OOM", "operators", operators, (None, None, None))
        n = T.shape[-1]
        T = _checks.real_or_complex_array("OOM", "operators", T, (None, n, n))
        x = _checks.real_or_complex_array("OOM", "initial", initial, (n,))
        sigma = _checks.real_or_complex_array(
            "OOM", "evaluation", np.ones(n) if evaluation is None else evaluation, (n,)
        )
        if np.iscomplexobj(T) or np.iscomplexobj(x) or np.iscomplexobj(sigma):
            T, x, sigma = (_checks.complex_array("OOM", "", array, array.shape) for array in (T, x, sigma))
        self._set(alphabet, len(T), operators=T, initial=x, evaluation=sigma)
        self._check_normalisation(standard=evaluation is None)
        self._check_non_negative(check_length)

    def _check_normalisation(self, standard: bool) -> None:
        kind = "standard OOM" if standard else "OOM"
        total = complex(self.evaluation.conj() @ self.initial)
        _checks.check(
            abs(total - 1) <= _checks.TOLERANCE,
            kind,
            "i",
            f"σ†x₀ must be 1, but is {total.real if total.imag == 0 else total:.6g}",
        )
        form = self.linear
        if standard:
            reachable = np.eye(form.dimension)
        else:
            reachable = reachable_basis(form)
            imaginary = self._imaginary_functional() @ reachable
            _checks.check(
                bool(np.abs(imaginary).max(initial=0.0) <= _checks.TOLERANCE * self._scale()),
                kind,
                "iii",
                "probabilities must be real, but σ† of a reachable state has an imaginary part",
            )
        defect = np.abs((form.evaluation @ form.operators.sum(axis=0) - form.evaluation) @ reachable)
        worst = float(defect.max(initial=0.0))
        _checks.check(
            worst <= _checks.TOLERANCE * self._scale(),
            kind,
            "ii",
            "next-symbol probabilities must sum to one: σ†(Σ_y τ_y) must equal σ† "
            f"{'' if standard else 'on every reachable state '}but is off by {worst:.3g}",
        )

    def _imaginary_functional(self) -> FloatArray:
        """Im(σ†x) as a functional of the real form."""
        if not np.iscomplexobj(self.operators):
            return np.zeros(len(self.initial))
        return np.concatenate([-self.evaluation.imag, self.evaluation.real])

    def _scale(self) -> float:
        return max(1.0, float(np.abs(self.evaluation).max()))

    def _check_non_negative(self, length: int) -> None:
        form = self.linear
        states = form.initial[None]
        bounds = np.abs(form.initial)[None]
        words: list[tuple[int, ...]] = [()]
        for _ in range(length):
            states = np.einsum("yij,bj->byi", form.operators, states).reshape(-1, form.dimension)
            bounds = np.einsum("yij,bj->byi", np.abs(form.operators), bounds).reshape(-1, form.dimension)
            words = [(*word, symbol) for word in words for symbol in range(self.n_symbols)]
            probabilities = states @ form.evaluation
            slack = ROUNDING * (bounds @ np.abs(form.evaluation)) + _checks.TOLERANCE**2
            worst = int(np.argmin(probabilities + slack))
            _checks.check(
                bool(probabilities[worst] >= -slack[worst]),
                "OOM",
                "iii",
                f"the sequence {self.alphabet.decode(words[worst])} has the negative probability "
                f"{probabilities[worst]:.3g}; check_length=0 accepts it",
            )

    @property
    def dimension(self) -> int:
        """Dimension n of the state."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols s."""
        return len(self.operators)

    @property
    def is_standard(self) -> bool:
        """Whether the model is real with σ = 1 (Definition 2)."""
        return not np.iscomplexobj(self.operators) and bool(np.all(self.evaluation == 1))

    def _sizes(self) -> str:
        kind = "standard" if self.is_standard else "complex" if np.iscomplexobj(self.operators) else "general"
        return f"dimension {self.dimension}, {kind}"

    def replace(self, **changes: Any) -> OOM:
        """Return a copy with other parameters; condition (iii) is not checked again."""
        return OOM(**{**self.parameters, "alphabet": self.alphabet, "check_length": 0, **changes})

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.parameters, self.alphabet)

    @cached_property
    def linear(self) -> LinearForm:
        """The model itself, a complex one with real and imaginary parts stacked."""
        T, x, sigma = self.operators, self.initial, self.evaluation
        if not np.iscomplexobj(T):
            return LinearForm(T.real, x.real, sigma.real)
        return LinearForm(
            np.block([[T.real, -T.imag], [T.imag, T.real]]),
            np.concatenate([x.real, x.imag]),
            np.concatenate([sigma.real, sigma.imag]),
        )

    def _native(self, states: FloatArray) -> AnyArray:
        if not np.iscomplexobj(self.operators):
            return states
        return states[:, : self.dimension] + 1j * states[:, self.dimension :]

    def standard(self) -> OOM:
        """Return an equivalent standard OOM: real, with σ = 1 (Definition 2).

        The similarity is S = I + u(σᵀ − 1ᵀ) with 1ᵀu = 1, so that 1ᵀS = σᵀ and det S = σᵀu. The paper's choice
        u = 1/n is kept while it is well away from singular; otherwise u leans towards σ. A complex model is
        first reduced to its minimal real form.

        Examples
        --------
        >>> from hqmm import OOM
        >>> general = OOM([[[0.2, 0.1], [0.0, 0.3]], [[0.8, -0.1], [0.0, 0.7]]], [1, 0], [1, 0])
        >>> general.standard()
        OOM(dimension 2, standard, 2 symbols)
        """
        form = reduce(self.linear) if np.iscomplexobj(self.operators) else self.linear
        n, sigma = form.dimension, form.evaluation
        direction = np.full(n, 1 / n)
        mean = float(sigma.mean())
        size = float(np.linalg.norm(sigma))
        if abs(mean) < 0.1 * size / np.sqrt(n):
            centred = sigma - mean
            direction = direction + centred * (np.sign(mean) or 1.0) * size / np.sqrt(n) / (centred @ centred)
        change = np.outer(direction, sigma - 1)
        similarity = np.eye(n) + change
        inverse = np.eye(n) - change / (sigma @ direction)  # Sherman–Morrison
        return OOM(
            similarity @ form.operators @ inverse,
            similarity @ form.initial,
            alphabet=self.alphabet,
            check_length=0,
        )

    def to_oom(self) -> OOM:
        """Return the model itself."""
        return self

    def to_hmm(self) -> HMM:
        """Return an equivalent HMM with s·n states, for a standard OOM without negative entries.

        Such an OOM is an HMM that emits on its transitions; state (y, j) of the result means "in j, having just
        emitted y".

        Examples
        --------
        >>> from hqmm import OOM
        >>> OOM([[[0.25]], [[0.75]]], [1.0]).to_hmm()
        HMM(2 states, 2 symbols)
        """
        if not self.is_standard or np.any(self.operators.real < 0) or np.any(self.initial.real < 0):
            raise ModelError(
                "to_hmm needs a standard OOM whose operators and initial state have no negative entry"
            )
        s, n = self.n_symbols, self.dimension
        step = self.operators.real.reshape(s * n, n)  # (y, j) from i
        transition = np.tile(step, (1, s))
        emission = np.repeat(np.eye(s), n, axis=1)
        initial = np.tile(self.initial.real / s, s)
        return HMM(transition, emission, initial, alphabet=self.alphabet)


def _rebuild(parameters: dict[str, Any], alphabet: Any) -> OOM:
    return OOM(**parameters, alphabet=alphabet, check_length=0)
