"""The conditions of the paper's definitions, as checks that say which one fails and by how much."""

from __future__ import annotations

from typing import Any

import numpy as np

from hqmm._typing import AnyArray, ComplexArray, FloatArray
from hqmm.errors import DataError, HqmmError, ModelError

TOLERANCE = 1e-8


def whole_number(name: str, value: Any, least: int, error: type[HqmmError] = DataError) -> None:
    """Refuse an argument that is not a whole number from ``least`` up."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise error(f"{name} must be a whole number, not {value!r}")
    if value < least:
        wanted = f"be at least {least}" if least else "not be negative"
        raise error(f"{name} must {wanted}, but is {value}")


def real_array(model: str, name: str, value: Any, shape: tuple[int | None, ...]) -> FloatArray:
    """Return ``value`` as a finite read-only real array of the given shape (None: any size)."""
    array = _array(model, name, value, shape)
    if np.iscomplexobj(array):
        if np.any(array.imag != 0):
            raise ModelError(f"{model}: {name} must be real, but has imaginary parts")
        array = array.real
    return _read_only(array.astype(np.float64))


def complex_array(model: str, name: str, value: Any, shape: tuple[int | None, ...]) -> ComplexArray:
    """Return ``value`` as a finite read-only complex array of the given shape (None: any size)."""
    return _read_only(_array(model, name, value, shape).astype(np.complex128))


def real_or_complex_array(
    model: str, name: str, value: Any, shape: tuple[int | None, ...]
) -> FloatArray | ComplexArray:
    """Return ``value`` as a finite read-only array, real where it has no complex type."""
    if np.iscomplexobj(value):
        return complex_array(model, name, value, shape)
    return real_array(model, name, value, shape)


def numbers(model: str, name: str, value: Any) -> AnyArray:
    """Return a copy of ``value`` as an array of numbers of any shape."""
    try:
        array = np.array(value, order="C")
        numeric = array.dtype.kind in "biufc"
    except ValueError:
        numeric = False
    if not numeric:
        raise ModelError(f"{model}: {name} must be an array of numbers")
    return array


def _array(model: str, name: str, value: Any, shape: tuple[int | None, ...]) -> AnyArray:
    array = numbers(model, name, value)
    wanted = tuple(size if known is None else known for size, known in zip(array.shape, shape, strict=False))
    if array.ndim != len(shape) or array.shape != wanted or 0 in array.shape:
        text = ", ".join("any" if size is None else str(size) for size in shape)
        raise ModelError(f"{model}: {name} must have shape ({text}), not {array.shape}")
    if not np.all(np.isfinite(array)):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ModelError(f"{model}: {name}{list(place)} is {array[place]}; parameters must be finite")
    return array


def _read_only(array: Any) -> Any:
    array.setflags(write=False)
    return array


def check(holds: bool, model: str, condition: str, message: str) -> None:
    """Raise a ModelError that names the condition of the model's definition unless it holds."""
    if not holds:
        raise ModelError(f"{model} condition ({condition}): {message}")


def check_non_negative(model: str, condition: str, name: str, array: FloatArray) -> None:
    """Refuse negative entries."""
    place = tuple(int(i) for i in np.unravel_index(int(np.argmin(array)), array.shape))
    check(bool(array[place] >= 0), model, condition, f"{name}{list(place)} is negative: {array[place]:.6g}")


def check_sums_to_one(model: str, condition: str, name: str, vector: FloatArray) -> None:
    """Refuse entries that do not sum to one."""
    total = float(vector.sum())
    check(
        abs(total - 1) <= TOLERANCE,
        model,
        condition,
        f"{name} must sum to 1, but sums to {total:.6g} (off by {abs(total - 1):.3g})",
    )


def check_column_stochastic(model: str, condition: str, name: str, matrix: FloatArray) -> None:
    """Refuse columns that do not sum to one."""
    sums = matrix.sum(axis=0)
    column = int(np.argmax(np.abs(sums - 1)))
    check(
        abs(sums[column] - 1) <= TOLERANCE,
        model,
        condition,
        f"{name} must be column-stochastic, but column {column} sums to {sums[column]:.6g} "
        f"(off by {abs(sums[column] - 1):.3g})",
    )


def check_density_matrix(model: str, conditions: tuple[str, str], name: str, rho: ComplexArray) -> None:
    """Refuse all but Hermitian positive semi-definite matrices (first condition) of trace one (second)."""
    psd, normalised = conditions
    asymmetry = float(np.abs(rho - rho.conj().T).max())
    check(asymmetry <= TOLERANCE, model, psd, f"{name} must be Hermitian, but is off by {asymmetry:.3g}")
    lowest = float(np.linalg.eigvalsh(rho)[0])
    check(
        lowest >= -TOLERANCE,
        model,
        psd,
        f"{name} must be positive semi-definite, but has the eigenvalue {lowest:.3g}",
    )
    trace = float(np.trace(rho).real)
    check(
        abs(trace - 1) <= TOLERANCE,
        model,
        normalised,
        f"{name} must have trace 1, but has {trace:.6g} (off by {abs(trace - 1):.3g})",
    )


def check_block_density(model: str, conditions: tuple[str, str], name: str, blocks: ComplexArray) -> None:
    """Refuse all but stacks of Hermitian positive semi-definite matrices (first condition) of total trace one."""
    positive, normalised = conditions
    for label, rho in enumerate(blocks):
        asymmetry = float(np.abs(rho - rho.conj().T).max())
        check(
            asymmetry <= TOLERANCE,
            model,
            positive,
            f"{name}[{label}] must be Hermitian, but is off by {asymmetry:.3g}",
        )
        lowest = float(np.linalg.eigvalsh(rho)[0])
        check(
            lowest >= -TOLERANCE,
            model,
            positive,
            f"{name}[{label}] must be positive semi-definite, but has the eigenvalue {lowest:.3g}",
        )
    trace = float(np.trace(blocks, axis1=1, axis2=2).real.sum())
    check(
        abs(trace - 1) <= TOLERANCE,
        model,
        normalised,
        f"the traces of {name} must sum to 1, but sum to {trace:.6g} (off by {abs(trace - 1):.3g})",
    )


def check_trace_preserving(model: str, condition: str, name: str, operators: AnyArray) -> None:
    """Refuse operators with Σ K†K ≠ I, summed over all leading axes."""
    stacked = operators.reshape(-1, operators.shape[-1])
    defect = float(np.abs(stacked.conj().T @ stacked - np.eye(operators.shape[-1])).max())
    check(
        defect <= TOLERANCE,
        model,
        condition,
        f"{name} must satisfy Σ K†K = I, but an entry is off by {defect:.3g}; "
        "hqmm.channels.nearest_isometry() mends rounding",
    )
