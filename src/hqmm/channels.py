"""Quantum channels: Kraus operators, Liouville and Choi matrices, the real form, and random ones.

The three formulations of a completely positive map in the paper's figure "Three equivalent formulations of a
CP map". With vec stacking columns, so that vec(KρK†) = (K* ⊗ K) vec ρ, a map Λ(ρ) = Σ_w K_w ρ K_w† has

- the Liouville matrix L = Σ_w K_w* ⊗ K_w,
- the Choi matrix Σ_w vec(K_w) vec(K_w)†, whose n×n block (a, b) is Λ(E_ab), E_ab = |a⟩⟨b|,
- the real matrix tr(B_k Λ(B_l)) in the orthonormal Hermitian basis B of `hermitian_basis`.

All functions accept stacks: leading axes are kept.
"""

from __future__ import annotations

from functools import cache
from math import isqrt, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hqmm._random import RandomState, as_generator
from hqmm._typing import AnyArray, ComplexArray, FloatArray, IntArray
from hqmm.errors import ModelError

# A map counts as Hermiticity-preserving or CP when it fails by less than this share of its size.
TOLERANCE = 1e-9


# --- Kraus, Liouville, Choi -----------------------------------------------------------------------------------


def liouville_from_kraus(kraus: ArrayLike) -> ComplexArray:
    """Return the Liouville matrix L = Σ_w K_w* ⊗ K_w, which acts on column-stacked density matrices.

    Parameters
    ----------
    kraus : array_like, (..., w, n, n)
        Stacks of w Kraus operators; w = 0 is the zero map.

    Returns
    -------
    ndarray, (..., n², n²)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import liouville_from_kraus
    >>> phase = np.diag([1, 1j])
    >>> np.diag(liouville_from_kraus([phase]))
    array([1.+0.j, 0.+1.j, 0.-1.j, 1.+0.j])
    """
    return _reshuffle(_choi_from_kraus(_matrices("kraus", kraus, axes=3)))


def choi_from_liouville(liouville: ArrayLike) -> ComplexArray:
    """Return the Choi matrix: the columns of L become n×n blocks, filled column-first.

    Parameters
    ----------
    liouville : array_like, (..., n², n²)

    Returns
    -------
    ndarray, (..., n², n²)
        Σ_w vec(K_w) vec(K_w)†, for a map with Kraus operators K_w.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import choi_from_liouville, liouville_from_kraus
    >>> choi_from_liouville(liouville_from_kraus([np.eye(2)])).real
    array([[1., 0., 0., 1.],
           [0., 0., 0., 0.],
           [0., 0., 0., 0.],
           [1., 0., 0., 1.]])
    """
    return _reshuffle(_superoperators("liouville", liouville))


def liouville_from_choi(choi: ArrayLike) -> ComplexArray:
    """Return the Liouville matrix of a Choi matrix; the reshuffle is its own inverse.

    Parameters
    ----------
    choi : array_like, (..., n², n²)

    Returns
    -------
    ndarray, (..., n², n²)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import choi_from_liouville, liouville_from_choi
    >>> choi = np.arange(16).reshape(4, 4)
    >>> np.array_equal(choi_from_liouville(liouville_from_choi(choi)), choi)
    True
    """
    return _reshuffle(_superoperators("choi", choi))


def canonical_kraus(choi: ArrayLike, tol: float = 1e-12) -> ComplexArray:
    """Return the canonical Kraus operators √γ_i K_i of one map, from the eigenvectors of its Choi matrix.

    They are orthogonal, as few as possible, sorted by decreasing γ, and the first entry of largest modulus
    (in column order) of each is real and positive. Two sets of Kraus operators of one map give the same result
    where the γ_i differ; operators of equal γ_i are only fixed up to a unitary mixing.

    Parameters
    ----------
    choi : array_like, (n², n²)
        Choi matrix of a completely positive map.
    tol : float
        Eigenvalues up to ``tol`` times the largest count as zero.

    Returns
    -------
    ndarray, (r, n, n)
        r is the Kraus rank; the zero map has r = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import canonical_kraus, choi_from_liouville, liouville_from_kraus
    >>> half = 1j * np.diag([1, 2])
    >>> canonical_kraus(choi_from_liouville(liouville_from_kraus([half, 2 * half]))).shape
    (1, 2, 2)
    """
    matrix = _superoperators("choi", choi)
    if matrix.ndim != 2:
        raise ModelError(f"choi must be one matrix, not a stack of shape {matrix.shape}; call once for each")
    _check_hermitian("choi", matrix)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -TOLERANCE * _trace(matrix):
        raise ModelError(
            "choi must be positive semidefinite (the map is not completely positive), "
            f"but its smallest eigenvalue is {values[0]:.3g}"
        )
    kept = np.flatnonzero(values > tol * values[-1])[::-1]
    operators: ComplexArray = _fix_phases(vectors.T[kept]) * np.sqrt(values[kept])[:, None]
    n = isqrt(len(matrix))
    return operators.reshape(-1, n, n).swapaxes(-1, -2).copy()


def kraus_rank(choi: ArrayLike, tol: float = 1e-10) -> IntArray:
    """Return the Kraus rank: how many eigenvalues of the Choi matrix exceed ``tol`` times the largest.

    Parameters
    ----------
    choi : array_like, (..., n², n²)
    tol : float

    Returns
    -------
    ndarray of int, (...)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import choi_from_liouville, kraus_rank, liouville_from_kraus
    >>> X = np.array([[0, 1], [1, 0]])
    >>> kraus = [[np.eye(2), X], [X, X]]
    >>> kraus_rank(choi_from_liouville(liouville_from_kraus(kraus)))
    array([2, 1])
    """
    matrices = _superoperators("choi", choi)
    _check_hermitian("choi", matrices)
    values = np.linalg.eigvalsh(matrices)
    return np.asarray((values > tol * values[..., -1:]).sum(axis=-1), dtype=np.int64)


def is_cp(choi: ArrayLike, tol: float = TOLERANCE) -> bool:
    """Tell whether a map is completely positive: its Choi matrix Hermitian and positive semidefinite.

    Parameters
    ----------
    choi : array_like, (..., n², n²)
        One Choi matrix, or a stack whose every map must pass.
    tol : float
        How far an entry or an eigenvalue may be off, as a share of the trace.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import choi_from_liouville, is_cp, liouville_from_kraus
    >>> is_cp(choi_from_liouville(liouville_from_kraus([[[1, 2j], [0, 1]]])))
    True
    >>> transposition = np.eye(4)[[0, 2, 1, 3]]
    >>> is_cp(choi_from_liouville(transposition))
    False
    """
    matrices = _superoperators("choi", choi)
    if not np.isfinite(matrices).all():
        return False
    scale = tol * _trace(matrices)
    if np.any(_asymmetry(matrices) > scale):
        return False
    return bool(np.all(np.linalg.eigvalsh(matrices)[..., 0] >= -scale))


def is_tp(kraus: ArrayLike, tol: float = TOLERANCE) -> bool:
    """Tell whether all operators together preserve the trace: Σ K†K = I over every leading axis.

    Parameters
    ----------
    kraus : array_like, (..., n, n)
        The operators of all symbols, usually (s, w, n, n).
    tol : float
        How far an entry of Σ K†K may be off.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import is_tp
    >>> is_tp([[np.diag([1, 0])], [np.diag([0, 1])]])
    True
    >>> is_tp([[np.eye(2)], [np.eye(2)]])
    False
    """
    operators = _matrices("kraus", kraus, axes=2)
    n = operators.shape[-1]
    kappa = operators.reshape(-1, n)
    return bool(np.abs(kappa.conj().T @ kappa - np.eye(n)).max() <= tol)


def nearest_isometry(kraus: ArrayLike) -> ComplexArray:
    """Return the trace-preserving Kraus operators nearest to the given ones: the polar factor κ(κ†κ)^(−1/2).

    Parameters
    ----------
    kraus : array_like, (..., n, n)
        A stack whose κ, all operators on top of each other, has full column rank.

    Returns
    -------
    ndarray, (..., n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import nearest_isometry
    >>> nearest_isometry([np.eye(2), np.eye(2)]).real.diagonal(axis1=1, axis2=2).round(3)
    array([[0.707, 0.707],
           [0.707, 0.707]])
    """
    operators = _matrices("kraus", kraus, axes=2)
    if not operators.size or not np.isfinite(operators).all():
        raise ModelError("kraus must hold at least one operator, and no nan or inf")
    left, lengths, right = np.linalg.svd(operators.reshape(-1, operators.shape[-1]), full_matrices=False)
    if lengths[-1] <= 1e-12 * lengths[0]:
        raise ModelError("kraus: the stacked operators do not have full column rank, so none is nearest")
    polar: ComplexArray = (left @ right).reshape(operators.shape)
    return polar


# --- the real form --------------------------------------------------------------------------------------------


def hermitian_basis(n: int) -> ComplexArray:
    """Return the orthonormal basis of Hermitian n×n matrices that the real form is written in.

    In this order: E_aa for a = 0 … n−1; then (E_ab + E_ba)/√2 for a < b, row by row; then i(E_ab − E_ba)/√2 in
    the same order. The coordinates of ρ are its diagonal, then √2·Re and √2·Im of its upper triangle.

    Returns
    -------
    ndarray, (n², n, n)
        Read-only, as it is computed once for each n.

    Examples
    --------
    >>> from hqmm.channels import hermitian_basis
    >>> basis = hermitian_basis(2)
    >>> basis[0].real
    array([[1., 0.],
           [0., 0.]])
    >>> basis[3].round(3)
    array([[0.+0.j   , 0.+0.707j],
           [0.-0.707j, 0.+0.j   ]])
    """
    return _hermitian_basis(_at_least_one("n", n))


def to_real(rho: ArrayLike) -> FloatArray:
    """Return the coordinates of Hermitian matrices in `hermitian_basis`.

    They are Re tr(B_k ρ): of a matrix that is not Hermitian, the coordinates of its Hermitian part (ρ + ρ†)/2.

    Parameters
    ----------
    rho : array_like, (..., n, n)

    Returns
    -------
    ndarray of float, (..., n²)

    Examples
    --------
    >>> from hqmm.channels import to_real
    >>> to_real([[0.75, 0.25 + 0.5j], [0.25 - 0.5j, 0.25]]) ** 2
    array([0.5625, 0.0625, 0.125 , 0.5   ])
    """
    matrices = _matrices("rho", rho, axes=2)
    n = matrices.shape[-1]
    rows, columns = _upper_triangle(n)
    upper = matrices[..., rows, columns]
    upper += matrices[..., columns, rows].conj()
    upper /= sqrt(2)
    return np.concatenate([_diagonal(matrices).real, upper.real, upper.imag], axis=-1)


def from_real(vector: ArrayLike) -> ComplexArray:
    """Return the Hermitian matrices with the given coordinates in `hermitian_basis`.

    Parameters
    ----------
    vector : array_like of float, (..., n²)

    Returns
    -------
    ndarray, (..., n, n)

    Examples
    --------
    >>> from hqmm.channels import from_real, to_real
    >>> rho = from_real([0.75, 0.25, 0.0, 0.5])
    >>> rho.round(3)
    array([[0.75+0.j   , 0.  +0.354j],
           [0.  -0.354j, 0.25+0.j   ]])
    >>> to_real(rho)
    array([0.75, 0.25, 0.  , 0.5 ])
    """
    coordinates = _real_array("vector", vector)
    n = _square_root("vector", coordinates.shape)
    rows, columns = _upper_triangle(n)
    real, imag = np.split(coordinates[..., n:] / sqrt(2), 2, axis=-1)
    matrices = np.empty((*coordinates.shape[:-1], n, n), dtype=np.complex128)
    matrices[..., range(n), range(n)] = coordinates[..., :n]
    matrices[..., rows, columns] = real + 1j * imag
    matrices[..., columns, rows] = real - 1j * imag
    return matrices


def real_operators(kraus: ArrayLike) -> FloatArray:
    """Return the real matrix of ρ ↦ Σ_w K_w ρ K_w† in `hermitian_basis`.

    It takes one matrix product of w n⁴ multiply-adds for each map.

    Parameters
    ----------
    kraus : array_like, (..., w, n, n)
        Stacks of w Kraus operators; w = 0 is the zero map.

    Returns
    -------
    ndarray of float, (..., n², n²)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import real_operators
    >>> Z = np.diag([1, -1])
    >>> np.diag(real_operators([Z]))
    array([ 1.,  1., -1., -1.])
    """
    return _real_from_choi(_choi_from_kraus(_matrices("kraus", kraus, axes=3)))


def real_from_liouville(liouville: ArrayLike) -> FloatArray:
    """Return the real matrix, in `hermitian_basis`, of a map given by its Liouville matrix.

    Parameters
    ----------
    liouville : array_like, (..., n², n²)
        It must preserve Hermiticity, as only then it is real in that basis.

    Returns
    -------
    ndarray of float, (..., n², n²)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import real_from_liouville
    >>> transposition = np.eye(4)[[0, 2, 1, 3]]
    >>> np.diag(real_from_liouville(transposition))
    array([ 1.,  1.,  1., -1.])
    """
    choi = choi_from_liouville(liouville)
    _check_hermitian("liouville", choi)
    return _real_from_choi(choi)


def liouville_from_real(operators: ArrayLike) -> ComplexArray:
    """Return the Liouville matrix of a map given by its real matrix in `hermitian_basis`.

    Parameters
    ----------
    operators : array_like of float, (..., n², n²)

    Returns
    -------
    ndarray, (..., n², n²)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import liouville_from_kraus, liouville_from_real, real_operators
    >>> kraus = [[[0.6, 0.8j], [0, 0.1]], [[0, 0], [1j, 0]]]
    >>> np.allclose(liouville_from_real(real_operators(kraus)), liouville_from_kraus(kraus))
    True
    """
    matrices = _real_array("operators", operators)
    _check_square("operators", matrices.shape)
    n = _square_root("operators", matrices.shape)
    images = from_real(matrices.swapaxes(-1, -2))
    rows, columns = _upper_triangle(n)
    # By linearity, from E_ab = (B_re − iB_im)/√2 and E_ba = (B_re + iB_im)/√2.
    real, imag = np.split(images[..., n:, :, :] / sqrt(2), 2, axis=-3)
    of_units = np.empty((*matrices.shape[:-2], n, n, n, n), dtype=np.complex128)
    of_units[..., range(n), range(n), :, :] = images[..., :n, :, :]
    of_units[..., rows, columns, :, :] = real - 1j * imag
    of_units[..., columns, rows, :, :] = real + 1j * imag
    return _reshuffle(of_units.swapaxes(-3, -2).reshape(matrices.shape))


# --- random states and channels -------------------------------------------------------------------------------


def random_unitary(n: int, real: bool = False, random_state: RandomState = None) -> ComplexArray:
    """Return a random unitary matrix from the Haar measure.

    Parameters
    ----------
    n : int
        Dimension.
    real : bool
        Draw an orthogonal matrix instead.
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    ndarray, (n, n)
        Complex, also when every entry is real.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import random_unitary
    >>> U = random_unitary(3, random_state=0)
    >>> np.allclose(U @ U.conj().T, np.eye(3))
    True
    """
    n = _at_least_one("n", n)
    return _haar(n, n, real, as_generator(random_state))


def random_kraus(
    n_symbols: int, kraus_rank: int, n: int, real: bool = False, random_state: RandomState = None
) -> ComplexArray:
    """Return random Kraus operators with Σ K†K = I: κ from the Haar measure on the Stiefel manifold.

    Parameters
    ----------
    n_symbols : int
        Number of symbols s.
    kraus_rank : int
        Number of operators w for each symbol.
    n : int
        Dimension.
    real : bool
        Draw κ with real entries.
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    ndarray, (s, w, n, n)

    Examples
    --------
    >>> from hqmm.channels import is_tp, random_kraus
    >>> kraus = random_kraus(6, 2, 4, random_state=0)
    >>> kraus.shape, is_tp(kraus)
    ((6, 2, 4, 4), True)
    """
    s, w, n = _at_least_one("n_symbols", n_symbols), _at_least_one("kraus_rank", kraus_rank), _at_least_one("n", n)
    return _haar(s * w * n, n, real, as_generator(random_state)).reshape(s, w, n, n)


def random_density_matrix(
    n: int,
    method: Literal["hilbert-schmidt", "bures"] = "hilbert-schmidt",
    real: bool = False,
    random_state: RandomState = None,
) -> ComplexArray:
    """Return a random density matrix GG†/tr, or (I + U)GG†(I + U†)/tr with a Haar unitary U.

    Parameters
    ----------
    n : int
        Dimension.
    method : {"hilbert-schmidt", "bures"}
        The measure: Hilbert–Schmidt is the first form, G with Gaussian entries; Bures the second.
    real : bool
        Draw a real density matrix from the same measure: G and U have real entries, and for Bures U is a rotation
        of density ∝ det(I + U). (Under the Haar measure half of all orthogonal U have the eigenvalue −1, which
        would make ρ singular.)
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    ndarray, (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.channels import random_density_matrix
    >>> rho = random_density_matrix(3, method="bures", random_state=0)
    >>> bool(np.isclose(np.trace(rho), 1) and np.linalg.eigvalsh(rho).min() > 0)
    True
    """
    n = _at_least_one("n", n)
    if method not in ("hilbert-schmidt", "bures"):
        raise ModelError(f'method must be "hilbert-schmidt" or "bures", not {method!r}')
    rng = as_generator(random_state)
    factor = _gaussian(n, n, real, rng)
    if method == "bures":
        unitary = _bures_rotation(n, rng) if real else _haar(n, n, False, rng)
        factor = factor + unitary @ factor
    rho: ComplexArray = factor @ factor.conj().T
    rho /= np.trace(rho).real
    return rho


# --- within ---------------------------------------------------------------------------------------------------


def _choi_from_kraus(kraus: ComplexArray) -> ComplexArray:
    *batch, w, n, _ = kraus.shape
    vectors = kraus.swapaxes(-1, -2).reshape(*batch, w, n * n)
    return vectors.swapaxes(-1, -2) @ vectors.conj()


def _reshuffle(matrices: ComplexArray) -> ComplexArray:
    # With vec index (column, row): L[(j, i), (b, a)] = Λ(E_ab)[i, j] = Choi[(a, i), (b, j)].
    n = isqrt(matrices.shape[-1])
    indexed = matrices.reshape(*matrices.shape[:-2], n, n, n, n)
    return indexed.swapaxes(-4, -1).copy().reshape(matrices.shape)


def _real_from_choi(choi: ComplexArray) -> FloatArray:
    n = isqrt(choi.shape[-1])
    of_units = choi.reshape(*choi.shape[:-2], n, n, n, n).swapaxes(-3, -2)  # [a, b] is Λ(E_ab)
    rows, columns = _upper_triangle(n)
    # Λ preserves Hermiticity and `to_real` takes the Hermitian part, so √2 Λ(E_ab) and i√2 Λ(E_ab) stand for
    # the images of the basis elements (E_ab + E_ba)/√2 and i(E_ab − E_ba)/√2.
    upper = sqrt(2) * of_units[..., rows, columns, :, :]
    images = [of_units[..., range(n), range(n), :, :], upper, 1j * upper]
    return to_real(np.concatenate(images, axis=-3)).swapaxes(-1, -2).copy()


def _fix_phases(vectors: ComplexArray) -> ComplexArray:
    size = np.abs(vectors)
    # Entries that tie up to rounding count as tied, or the choice would depend on the last bit.
    pivots = np.argmax(size >= (1 - 1e-8) * size.max(axis=1, initial=0, keepdims=True), axis=1)
    chosen = np.take_along_axis(vectors, pivots[:, None], axis=1)
    turned: ComplexArray = vectors * (chosen.conj() / np.abs(chosen))
    return turned


def _gaussian(rows: int, columns: int, real: bool, rng: np.random.Generator) -> ComplexArray:
    entries = rng.standard_normal((rows, columns)).astype(np.complex128)
    return entries if real else entries + 1j * rng.standard_normal((rows, columns))


def _haar(rows: int, columns: int, real: bool, rng: np.random.Generator) -> ComplexArray:
    q, r = np.linalg.qr(_gaussian(rows, columns, real, rng))
    # Only the factorisation whose R has a positive diagonal is unique, hence Haar-distributed.
    unique: ComplexArray = q * (np.diagonal(r) / np.abs(np.diagonal(r)))
    return unique


def _bures_rotation(n: int, rng: np.random.Generator) -> FloatArray:
    # With a Gaussian G, (I + O)GGᵀ(I + Oᵀ) follows the Bures measure if O in SO(n) has density ∝ det(I + O). By
    # Weyl's formula so do the angles of a Haar reflection (det −1) of dimension n + 1, without its eigenvalue −1.
    reflection = _haar(n + 1, n + 1, True, rng).real
    reflection[:, 0] *= -np.sign(np.linalg.det(reflection))
    axis = np.linalg.svd(np.eye(n + 1) + reflection)[2][-1]
    complement = np.linalg.qr(axis[:, None], mode="complete")[0][:, 1:]
    rotation: FloatArray = complement.T @ reflection @ complement
    return rotation


@cache
def _hermitian_basis(n: int) -> ComplexArray:
    basis = from_real(np.eye(n * n))
    basis.setflags(write=False)
    return basis


@cache
def _upper_triangle(n: int) -> tuple[AnyArray, AnyArray]:
    return np.triu_indices(n, k=1)


def _diagonal(matrices: ComplexArray) -> ComplexArray:
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def _trace(matrices: ComplexArray) -> FloatArray:
    trace: FloatArray = _diagonal(matrices).sum(axis=-1).real
    return trace


def _asymmetry(matrices: ComplexArray) -> FloatArray:
    asymmetry: FloatArray = np.abs(matrices - matrices.conj().swapaxes(-1, -2)).max(axis=(-1, -2))
    return asymmetry


def _check_hermitian(name: str, choi: ComplexArray) -> None:
    if not np.isfinite(choi).all():
        raise ModelError(f"{name} must be finite, but it holds nan or inf")
    defect = _asymmetry(choi)
    if np.any(defect > TOLERANCE * np.abs(choi).max(axis=(-1, -2))):
        raise ModelError(
            f"{name} must preserve Hermiticity (have a Hermitian Choi matrix), "
            f"but its Choi matrix differs from its adjoint by {np.max(defect):.3g}"
        )


def _matrices(name: str, array: ArrayLike, axes: int) -> ComplexArray:
    try:
        matrices = np.asarray(array, dtype=np.complex128)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be an array of numbers: {error}") from None
    _check_square(name, matrices.shape, axes)
    return matrices


def _superoperators(name: str, array: ArrayLike) -> ComplexArray:
    matrices = _matrices(name, array, axes=2)
    _square_root(name, matrices.shape)
    return matrices


def _real_array(name: str, array: ArrayLike) -> FloatArray:
    try:
        if np.iscomplexobj(array):
            raise TypeError("coordinates in the Hermitian basis are real, these are complex")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be an array of real numbers: {error}") from None


def _check_square(name: str, shape: tuple[int, ...], axes: int = 2) -> None:
    if len(shape) < axes or shape[-1] != shape[-2] or shape[-1] == 0:
        wanted = "(..., w, n, n)" if axes == 3 else "(..., n, n)"
        raise ModelError(f"{name} must have shape {wanted} with n ≥ 1, not {shape}")


def _square_root(name: str, shape: tuple[int, ...]) -> int:
    n = isqrt(shape[-1]) if shape else 0
    if n == 0 or n * n != shape[-1]:
        raise ModelError(f"{name} must have a last axis of n² entries with n ≥ 1, but its shape is {shape}")
    return n


def _at_least_one(name: str, value: int) -> int:
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise ModelError(f"{name} must be a whole number from 1 up, not {value!r}")
    return int(value)
