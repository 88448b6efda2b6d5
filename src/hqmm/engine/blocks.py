"""Likelihood and gradient of a hybrid model with respect to its Kraus blocks and its initial state.

A state is k matrices ρ_i (q, q); the blocks K[y, w, i, j] (q, q) move it, ρ_i ← Σ_jw K ρ_j K†. In the orthonormal
Hermitian basis of each label it is a real vector of k q² numbers, label by label, and T_y is made of k × k blocks
of q² × q², each built and pulled back on its own. Gradients follow the convention of `hqmm.engine.kraus`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hqmm import engine
from hqmm._typing import ComplexArray, FloatArray
from hqmm.channels import from_real, to_real
from hqmm.engine.kraus import KrausGradient
from hqmm.errors import ModelError
from hqmm.linear import LinearForm
from hqmm.sequences import Sequences


def block_linear_form(kraus: ArrayLike, initial: ArrayLike) -> LinearForm:
    """Return the real linear form, of dimension k q², of Kraus blocks and an initial state.

    Parameters
    ----------
    kraus : (s, w, k, k, q, q) array
        Symbol, operator, to label, from label, row, column.
    initial : (k, q, q) array

    Examples
    --------
    A biased coin that remembers nothing, with two labels of one dimension each:

    >>> import numpy as np
    >>> from hqmm.engine.blocks import block_linear_form
    >>> half = np.full((2, 1, 2, 2, 1, 1), 0.5)
    >>> block_linear_form(half, np.full((2, 1, 1), 0.5)).operators[0]
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    from hqmm.engine.block_kernels import to_real_blocks

    K = _blocks(kraus)
    s, _, k, _, q, _ = K.shape
    operators = np.zeros((s, k * q * q, k * q * q))
    to_real_blocks(K, operators)
    trace = np.tile(np.r_[np.ones(q), np.zeros(q * q - q)], k)
    return LinearForm(operators, to_real(initial).ravel(), trace)


def block_log_likelihood(
    kraus: ArrayLike,
    initial: ArrayLike,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    threads: int | None = None,
) -> FloatArray:
    """Return the natural log-probability of each sequence, −inf where it is impossible.

    Parameters
    ----------
    kraus, initial
        As for `block_linear_form`.
    sequences, burn_in, threads
        As for `hqmm.engine.log_likelihood`.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.engine.blocks import block_log_likelihood
    >>> half = np.full((2, 1, 2, 2, 1, 1), 0.5)
    >>> np.exp(block_log_likelihood(half, np.full((2, 1, 1), 0.5), Sequences([[0, 1]])))
    array([0.25])
    """
    return engine.log_likelihood(block_linear_form(kraus, initial), sequences, burn_in=burn_in, threads=threads)


def block_gradient(
    kraus: ArrayLike,
    initial: ArrayLike,
    sequences: Sequences,
    *,
    burn_in: int = 0,
    burn_in_gradient: bool = False,
    threads: int | None = None,
) -> KrausGradient:
    """Return log-likelihoods and the gradient of their weighted sum, with respect to K* and ρ.

    Parameters
    ----------
    kraus, initial
        As for `block_linear_form`.
    sequences, burn_in, burn_in_gradient, threads
        As for `hqmm.engine.gradient`.

    Returns
    -------
    KrausGradient
        ``kraus`` (s, w, k, k, q, q) and ``initial`` (k, q, q).

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import Sequences
    >>> from hqmm.engine.blocks import block_gradient
    >>> half = np.full((2, 1, 2, 2, 1, 1), 0.5)
    >>> block_gradient(half, np.full((2, 1, 1), 0.5), Sequences([[0]])).kraus.ravel().real
    array([0.5, 0.5, 0.5, 0.5, 0. , 0. , 0. , 0. ])
    """
    from hqmm.engine.block_kernels import from_real_blocks

    K = _blocks(kraus)
    k, q = K.shape[3], K.shape[5]
    real = engine.gradient(
        block_linear_form(K, initial),
        sequences,
        burn_in=burn_in,
        burn_in_gradient=burn_in_gradient,
        threads=threads,
        slopes_of_zeros=False,  # an operator that is zero gets none, whatever ∂ℓ/∂T is there
    )
    result = np.zeros_like(K)
    from_real_blocks(K, real.operators, result)
    return KrausGradient(real.log_likelihood, result, from_real(real.initial.reshape(k, q * q)), real.n_zero)


def _blocks(kraus: ArrayLike) -> ComplexArray:
    K = np.ascontiguousarray(kraus, dtype=np.complex128)
    if K.ndim != 6 or K.shape[2] != K.shape[3] or K.shape[4] != K.shape[5] or 0 in K.shape:
        raise ModelError(f"kraus must have shape (s, w, k, k, q, q), none of them 0, not {K.shape}")
    return K
