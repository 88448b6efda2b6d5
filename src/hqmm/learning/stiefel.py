"""Products of complex Stiefel manifolds: points κ (k, r, q) with κ_j†κ_j = I for every j.

An HQMM is one such matrix (k = 1); everything here treats a stack of them at once. Gradients are Wirtinger
derivatives G = ∂f/∂κ*; the direction of steepest ascent of f is G.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hqmm._typing import ComplexArray


def adjoint(matrices: ComplexArray) -> ComplexArray:
    """Return the conjugate transpose of each matrix."""
    return matrices.conj().swapaxes(-1, -2)


def polar(matrices: ComplexArray) -> ComplexArray:
    """Return the unitary factor of each matrix: the nearest point of the Stiefel manifold.

    M(M†M)^(−1/2), by the eigen-decomposition of the small Gram matrix, and by the SVD of M where that is too
    ill-conditioned to be trusted.
    """
    gram = adjoint(matrices) @ matrices
    values, vectors = np.linalg.eigh(gram)
    if np.all(values[..., 0] > 1e-6 * values[..., -1]):
        root = (vectors / np.sqrt(values)[..., None, :]) @ adjoint(vectors)
        return matrices @ root
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    return left @ right


def orthonormal(matrices: ComplexArray) -> ComplexArray:
    """Return the Q of each QR decomposition whose R has a positive diagonal."""
    q, r = np.linalg.qr(matrices)
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    return q * (diagonal / np.abs(diagonal))[..., None, :]


def newton_schulz(matrices: ComplexArray, iterations: int = 30, tol: float = 1e-14) -> ComplexArray:
    """Return the unitary factor of each matrix by matrix products alone: M ← M(3I − M†M)/2.

    Zero stays zero; 30 iterations are enough for condition numbers up to about 10⁴.
    """
    identity = np.eye(matrices.shape[-1])
    # the iteration converges for singular values below √3; the Frobenius norm bounds them
    norms = np.linalg.norm(matrices, axis=(-2, -1), keepdims=True)
    current = matrices / np.where(norms > 0, norms, 1.0)
    for _ in range(iterations):
        gram = adjoint(current) @ current
        current = 1.5 * current - 0.5 * (current @ gram)
        if np.abs(gram - identity).max() < tol:
            break
    return current


def tangent(kappa: ComplexArray, gradient: ComplexArray) -> ComplexArray:
    """Return G − κ G†κ, the gradient in the canonical metric: a tangent vector, κ†D skew-Hermitian."""
    return gradient - kappa @ (adjoint(gradient) @ kappa)


def euclidean_tangent(kappa: ComplexArray, gradient: ComplexArray) -> ComplexArray:
    """Return the orthogonal projection of G on the tangent space, G − κ sym(κ†G)."""
    inner = adjoint(kappa) @ gradient
    return gradient - kappa @ ((inner + adjoint(inner)) / 2)


def feasibility_error(kappa: ComplexArray) -> float:
    """Return ‖κ†κ − I‖, the largest over the stack."""
    defect = adjoint(kappa) @ kappa - np.eye(kappa.shape[-1])
    return float(np.linalg.norm(defect, axis=(-2, -1)).max())


def spectral_norm(matrices: ComplexArray) -> float:
    """Return the largest singular value over the stack."""
    return float(np.sqrt(np.linalg.eigvalsh(adjoint(matrices) @ matrices)[..., -1].max()))


class Update(Protocol):
    """A way to move from κ by a step τ against a gradient while staying on the manifold."""

    def __call__(self, kappa: ComplexArray, gradient: ComplexArray, step: float) -> ComplexArray:
        """Return the new point; ``gradient`` is that of a loss, so the move is downhill."""


def wen_yin(kappa: ComplexArray, gradient: ComplexArray, step: float) -> ComplexArray:
    """Move along κ − τU(I + τ/2 V†U)⁻¹V†κ with U = [G | κ], V = [κ | −G] (paper, equation 14)."""
    u = np.concatenate([gradient, kappa], axis=-1)
    v = np.concatenate([kappa, -gradient], axis=-1)
    inner = np.eye(u.shape[-1]) + step / 2 * (adjoint(v) @ u)
    return kappa - step * (u @ np.linalg.solve(inner, adjoint(v) @ kappa))


def jiang_dai(kappa: ComplexArray, gradient: ComplexArray, step: float) -> ComplexArray:
    """Move by the constraint-preserving scheme of Jiang and Dai (2013), (2κ + W)J⁻¹ − κ.

    W = −τ(I − κκ†)D and J = I + W†W/4 + (τ/2)κ†D with the canonical gradient D: J + J† = 2I + W†W/2 is what
    keeps the new point orthonormal.
    """
    direction = tangent(kappa, gradient)
    along = adjoint(kappa) @ direction
    w = -step * (direction - kappa @ along)
    j = np.eye(kappa.shape[-1]) + adjoint(w) @ w / 4 + step / 2 * along
    turned: Any = np.linalg.solve(adjoint(j), adjoint(2 * kappa + w))
    return adjoint(turned) - kappa


def gradient_projection(kappa: ComplexArray, gradient: ComplexArray, step: float) -> ComplexArray:
    """Step against the ambient gradient and project back: polar(κ − τG)."""
    return polar(kappa - step * gradient)


def polar_retraction(kappa: ComplexArray, gradient: ComplexArray, step: float) -> ComplexArray:
    """Step against the canonical gradient and project back: polar(κ − τD)."""
    return polar(kappa - step * tangent(kappa, gradient))


def qr_retraction(kappa: ComplexArray, gradient: ComplexArray, step: float) -> ComplexArray:
    """Step against the canonical gradient and orthonormalise: qr(κ − τD)."""
    return orthonormal(kappa - step * tangent(kappa, gradient))


def newton_schulz_update(kappa: ComplexArray, gradient: ComplexArray, step: float) -> ComplexArray:
    """Step against the orthogonalised canonical gradient and project back, by matrix products alone."""
    direction = newton_schulz(tangent(kappa, gradient), iterations=5)
    return newton_schulz(kappa - step * direction)


UPDATES: dict[str, Update] = {
    "wen-yin": wen_yin,
    "jiang-dai": jiang_dai,
    "gradient-projection": gradient_projection,
    "polar": polar_retraction,
    "qr": qr_retraction,
    "newton-schulz": newton_schulz_update,
}
