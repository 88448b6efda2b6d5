"""The parameters of an HQMM as a point on a product of Stiefel manifolds, and the gradient there.

A point is a tuple of stacks of orthonormal matrices: κ (1, s·w·n, n), and, where the initial state is learned, the
unit vector vec X (1, n², 1) with ρ₀ = XX†. Learners work on any such tuple and never look inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hqmm._typing import ComplexArray, FloatArray
from hqmm.engine.kraus import kraus_gradient, kraus_log_likelihood
from hqmm.models import HQMM
from hqmm.sequences import Alphabet, Sequences

Point: TypeAlias = tuple[ComplexArray, ...]


@dataclass(frozen=True)
class Evaluation:
    """ℓ of each sequence and ∂ℓ/∂(each part of the point)*, summed over sequences by weight."""

    log_likelihood: FloatArray
    gradient: Point
    n_zero: int


class KrausSpace:
    """The manifold of HQMMs over one alphabet, with the initial state to use where a point does not say."""

    def __init__(self, alphabet: Alphabet, initial: ComplexArray) -> None:
        self.alphabet = alphabet
        self.initial = initial

    @staticmethod
    def point(model: HQMM, learn_initial: bool) -> Point:
        """Return the point that stands for a model."""
        kappa = model.kraus.reshape(1, -1, model.n_states)
        return (kappa, _root(model.initial).reshape(1, -1, 1)) if learn_initial else (kappa,)

    def model(self, point: Point) -> HQMM:
        """Return the model that a point stands for."""
        return HQMM(self.kraus(point), self._initial(point), alphabet=self.alphabet)

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
        result = kraus_gradient(
            self.kraus(point),
            self._initial(point),
            sequences,
            burn_in=burn_in,
            burn_in_gradient=burn_in_gradient,
            threads=threads,
        )
        gradient = [result.kraus.reshape(point[0].shape)]
        if len(point) > 1:  # ρ₀ = XX†, so ∂ℓ/∂X* = (∂ℓ/∂ρ₀) X
            root = point[1].reshape(self.initial.shape)
            gradient.append((result.initial @ root).reshape(point[1].shape))
        return Evaluation(result.log_likelihood, tuple(gradient), result.n_zero)

    def log_likelihood(self, point: Point, sequences: Sequences, burn_in: int, threads: int | None) -> FloatArray:
        """Return ℓ of each sequence at a point."""
        return kraus_log_likelihood(
            self.kraus(point), self._initial(point), sequences, burn_in=burn_in, threads=threads
        )

    def kraus(self, point: Point) -> ComplexArray:
        """Return the Kraus operators (s, w, n, n) of a point."""
        n = point[0].shape[-1]
        return point[0].reshape(len(self.alphabet), -1, n, n)

    def _initial(self, point: Point) -> ComplexArray:
        if len(point) == 1:
            return self.initial
        root = point[1].reshape(self.initial.shape)
        return root @ root.conj().T


def _root(rho: ComplexArray) -> ComplexArray:
    """Return the positive square root of a density matrix, normalised."""
    values, vectors = np.linalg.eigh(rho)
    root: ComplexArray = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.conj().T
    return root / np.linalg.norm(root)
