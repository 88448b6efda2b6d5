"""The parameters of a model as a point on a product of Stiefel manifolds, and the gradient there.

A point is a tuple of stacks of orthonormal matrices: κ (k, s·w·k·n, n), one matrix for each label, and, where the
initial state is learned, the unit vector vec X (1, k·n·r, 1) with ρ₀ = XX†, label by label; r is the rank of ρ₀ at
the start, so that a pure state stays pure. An HQMM has k = 1.
Learners work on any such tuple and never look inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hqmm._typing import ComplexArray, FloatArray
from hqmm.engine.blocks import block_gradient, block_log_likelihood
from hqmm.engine.kraus import KrausGradient, kraus_gradient, kraus_log_likelihood
from hqmm.errors import ModelError
from hqmm.models import HQMM, NOOM, HybridHQMM, Model
from hqmm.sequences import Alphabet, Sequences

Point: TypeAlias = tuple[ComplexArray, ...]

# Eigenvalues of a density matrix below this share of the largest are rounding.
_RANK = 1e-14


@dataclass(frozen=True)
class Evaluation:
    """ℓ of each sequence and ∂ℓ/∂(each part of the point)*, summed over sequences by weight."""

    log_likelihood: FloatArray
    gradient: Point
    n_zero: int


class Space(ABC):
    """The manifold of one kind of model over one alphabet, with the initial state where a point does not say."""

    def __init__(self, alphabet: Alphabet, initial: ComplexArray) -> None:
        self.alphabet = alphabet
        self.initial = initial

    @staticmethod
    @abstractmethod
    def kappa(kraus: ComplexArray) -> ComplexArray:
        """Return Kraus operators as the stack κ."""

    @abstractmethod
    def kraus(self, point: Point) -> ComplexArray:
        """Return the Kraus operators of a point."""

    @abstractmethod
    def model(self, point: Point) -> Any:
        """Return the model that a point stands for."""

    @abstractmethod
    def log_likelihood(self, point: Point, sequences: Sequences, burn_in: int, threads: int | None) -> FloatArray:
        """Return ℓ of each sequence at a point."""

    @abstractmethod
    def _gradient(self, point: Point, sequences: Sequences, **options: Any) -> KrausGradient: ...

    def evaluate(
        self,
        point: Point,
        sequences: Sequences,
        burn_in: int,
        threads: int | None,
        burn_in_gradient: bool = True,
    ) -> Evaluation:
        """Return the likelihood and its gradient at a point.

        Without ``burn_in_gradient`` the state after the burn-in counts as a constant, as in the paper's code: that
        is cheaper, but not quite the gradient of the likelihood, and a line search would stall on it.
        """
        if not all(np.isfinite(part).all() for part in point):
            raise FloatingPointError("a parameter is NaN or infinite")
        result = self._gradient(
            point, sequences, burn_in=burn_in, burn_in_gradient=burn_in_gradient, threads=threads
        )
        gradient = [self.kappa(result.kraus)]
        if len(point) > 1:  # ρ₀ = XX†, so ∂ℓ/∂X* = (∂ℓ/∂ρ₀) X
            root = self._root(point)
            gradient.append((result.initial @ root).reshape(point[1].shape))
        return Evaluation(result.log_likelihood, tuple(gradient), result.n_zero)

    def initial_state(self, point: Point) -> ComplexArray:
        """Return the initial state of a point: its own, or the one that stays."""
        if len(point) == 1:
            return self.initial
        root = self._root(point)
        rho: ComplexArray = root @ root.conj().swapaxes(-1, -2)
        return rho

    def _root(self, point: Point) -> ComplexArray:
        return point[1].reshape(*self.initial.shape[:-1], -1)


class KrausSpace(Space):
    """The manifold of HQMMs."""

    @staticmethod
    def kappa(kraus: ComplexArray) -> ComplexArray:
        """Return Kraus operators (s, w, n, n) as κ (1, s·w·n, n)."""
        return kraus.reshape(1, -1, kraus.shape[-1])

    def kraus(self, point: Point) -> ComplexArray:
        """Return the Kraus operators (s, w, n, n) of a point."""
        n = point[0].shape[-1]
        return point[0].reshape(len(self.alphabet), -1, n, n)

    def model(self, point: Point) -> HQMM:
        """Return the model that a point stands for."""
        return HQMM(self.kraus(point), self.initial_state(point), alphabet=self.alphabet)

    def log_likelihood(self, point: Point, sequences: Sequences, burn_in: int, threads: int | None) -> FloatArray:
        """Return ℓ of each sequence at a point."""
        return kraus_log_likelihood(
            self.kraus(point), self.initial_state(point), sequences, burn_in=burn_in, threads=threads
        )

    def _gradient(self, point: Point, sequences: Sequences, **options: Any) -> KrausGradient:
        return kraus_gradient(self.kraus(point), self.initial_state(point), sequences, **options)


class BlockSpace(Space):
    """The manifold of hybrid models: κ_j holds every block that leads from label j."""

    @staticmethod
    def kappa(kraus: ComplexArray) -> ComplexArray:
        """Return Kraus blocks (s, w, k, k, q, q) as κ (k, s·w·k·q, q)."""
        s, w, k, _, q, _ = kraus.shape
        return kraus.transpose(3, 0, 1, 2, 4, 5).reshape(k, s * w * k * q, q)

    def kraus(self, point: Point) -> ComplexArray:
        """Return the Kraus blocks (s, w, k, k, q, q) of a point."""
        k, _, q = point[0].shape
        return point[0].reshape(k, len(self.alphabet), -1, k, q, q).transpose(1, 2, 3, 0, 4, 5)

    def model(self, point: Point) -> HybridHQMM:
        """Return the model that a point stands for."""
        return HybridHQMM(self.kraus(point), self.initial_state(point), alphabet=self.alphabet)

    def log_likelihood(self, point: Point, sequences: Sequences, burn_in: int, threads: int | None) -> FloatArray:
        """Return ℓ of each sequence at a point."""
        return block_log_likelihood(
            self.kraus(point), self.initial_state(point), sequences, burn_in=burn_in, threads=threads
        )

    def _gradient(self, point: Point, sequences: Sequences, **options: Any) -> KrausGradient:
        return block_gradient(self.kraus(point), self.initial_state(point), sequences, **options)


def space_of(alphabet: Alphabet, initial: ComplexArray) -> Space:
    """Return the manifold of the models with initial states of that shape: (n, n), or (k, q, q) for hybrids."""
    return (KrausSpace if initial.ndim == 2 else BlockSpace)(alphabet, initial)


def start_of(model: Model, learn_initial: bool, learner: str) -> tuple[Point, ComplexArray]:
    """Return the point that stands for a model, and its initial state; refuse models that have none."""
    if isinstance(model, NOOM):
        model = model.to_hqmm()
    if not isinstance(model, HQMM | HybridHQMM):
        raise ModelError(f"{learner} learns an HQMM or a HybridHQMM; start from one, not from {model!r}")
    space = space_of(model.alphabet, model.initial)
    kappa = space.kappa(model.kraus)
    return (kappa, _root(model.initial).reshape(1, -1, 1)) if learn_initial else (kappa,), model.initial


def _root(rho: ComplexArray) -> ComplexArray:
    """Return X of norm one with ρ ∝ XX†, of few columns, for a density matrix or a stack that is one."""
    values, vectors = np.linalg.eigh(rho)
    rank = int(np.count_nonzero(values > _RANK * values.max(), axis=-1).max())
    root: ComplexArray = vectors[..., -rank:] * np.sqrt(np.maximum(values[..., None, -rank:], 0))
    if rank == rho.shape[-1]:
        root = root @ vectors.conj().swapaxes(-1, -2)  # the positive one
    return root / np.linalg.norm(root)
