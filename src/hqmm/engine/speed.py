"""How fast this machine is with the engine, and whether its environment slows it down.

`hqmm bench` prints what `measure` returns:

    from hqmm.engine.speed import measure
    speed = measure()
    print(speed)  # one line for each size, and what BLAS does beside it
    if speed.advice:
        ...  # show it as a warning: the environment halves BLAS

It takes about five seconds, starts two short processes (BLAS reads its environment when NumPy is imported), and
changes nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

from hqmm import engine
from hqmm.errors import HqmmError
from hqmm.linear import LinearForm
from hqmm.sequences import Sequences

# OpenBLAS takes its kernels for the processor named here, whatever the processor is.
VARIABLE = "OPENBLAS_CORETYPE"
# Below that share of the rate without the variable, users are told.
_NOTICED = 0.8

_COUNT, _LENGTH, _SYMBOLS = 200, 300, 6
_PRODUCT = """
import time
import numpy as np
A, B = np.random.default_rng(0).random((2, 768, 768))
C = np.empty_like(A)
best, end = np.inf, time.perf_counter() + float({seconds})
while best == np.inf or time.perf_counter() < end:
    start = time.perf_counter()
    np.dot(A, B, out=C)
    best = min(best, time.perf_counter() - start)
print(2 * 768**3 / best)
"""


@dataclass(frozen=True)
class Size:
    """One measured size: the gradient of 200 sequences of 300 symbols (of six) on one thread.

    Attributes
    ----------
    n_states : int
        Dimension n of the HQMM; its real form has n².
    method : str
        The form the engine chose.
    seconds : float
        The shortest time of several.
    rate : float
        Operations of the plain form (6 m² for each symbol) over that time. Steps of several symbols at once need
        fewer operations, so it can exceed what the processor does.
    """

    n_states: int
    method: str
    seconds: float
    rate: float


@dataclass(frozen=True)
class Speed:
    """What `measure` found. Rates are operations per second, in float64 on one thread.

    Attributes
    ----------
    gradients : tuple of Size
    product : float
        A large matrix product by BLAS, in the environment as it is.
    core_type : str or None
        OPENBLAS_CORETYPE in the environment.
    product_without : float or None
        The matrix product without that variable, where it is set.
    """

    gradients: tuple[Size, ...]
    product: float
    core_type: str | None = None
    product_without: float | None = None

    @property
    def best_product(self) -> float:
        """The faster of the two products: what the processor can do."""
        return max(self.product, self.product_without or 0.0)

    @property
    def advice(self) -> str | None:
        """What to change in the environment, or None where it is fine."""
        if self.product_without is None or self.product >= _NOTICED * self.product_without:
            return None
        share = self.product / self.product_without
        return (
            f"{VARIABLE}={self.core_type} slows BLAS down to {share:.0%} of its speed on this machine "
            f"({self.product / 1e9:.0f} of {self.product_without / 1e9:.0f} GF/s). "
            f"Unset it before starting Python: `unset {VARIABLE}`. It slows down decompositions and conversions, "
            "not the engine's own kernels"
        )

    def __str__(self) -> str:
        """One line for each size."""
        lines = [f"matrix product by BLAS, one thread: {self.product / 1e9:.0f} GF/s"]
        if self.product_without is not None:
            lines[0] += f" ({self.product_without / 1e9:.0f} without {VARIABLE}={self.core_type})"
        lines += [
            f"gradient of {_COUNT} × {_LENGTH} symbols, n = {found.n_states}: {1e3 * found.seconds:.2f} ms, "
            f"{found.rate / 1e9:.0f} GF/s, {found.rate / self.best_product:.2f} of BLAS ({found.method})"
            for found in self.gradients
        ]
        return "\n".join(lines)


def measure(sizes: tuple[int, ...] = (2, 4, 6, 8), seconds: float = 0.7) -> Speed:
    """Measure the engine's gradient and, beside it, BLAS with and without OPENBLAS_CORETYPE.

    Parameters
    ----------
    sizes : tuple of int
        Dimensions n of the HQMMs.
    seconds : float
        How long to repeat each measurement; the shortest time counts.

    Returns
    -------
    Speed
        ``print`` it; show ``advice``, where it is not None, as a warning.

    Examples
    --------
    >>> from hqmm.engine.speed import measure
    >>> speed = measure(sizes=(2,), seconds=0.01)
    >>> print(speed)
    matrix product by BLAS, one thread: ... GF/s...
    gradient of 200 × 300 symbols, n = 2: ... ms, ... GF/s, ... of BLAS (...)
    """
    core_type = os.environ.get(VARIABLE)
    gradients = tuple(_gradient(n, seconds) for n in sizes)
    product = _product(dict(os.environ), seconds)
    without = None
    if core_type is not None:
        without = _product({name: value for name, value in os.environ.items() if name != VARIABLE}, seconds)
    return Speed(gradients, product, core_type, without)


def _gradient(n: int, seconds: float) -> Size:
    rng = np.random.default_rng(n)
    m = n * n
    operators = rng.random((_SYMBOLS, m, m))
    form = LinearForm(operators / operators.sum(axis=(0, 1)), np.full(m, 1 / m), np.ones(m))
    data = Sequences(rng.integers(0, _SYMBOLS, (_COUNT, _LENGTH)), alphabet=_SYMBOLS)
    engine.gradient(form, data, threads=1)  # compiles, if need be
    best, end = float("inf"), time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < end:
        start = time.perf_counter()
        engine.gradient(form, data, threads=1)
        best = min(best, time.perf_counter() - start)
    method = engine.explain_plan(form, data, threads=1).method
    return Size(n, method, best, 6.0 * m * m * _COUNT * _LENGTH / best)


def _product(environment: dict[str, str], seconds: float) -> float:
    """Return the rate of BLAS in a process with this environment, on one thread."""
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    program = _PRODUCT.format(seconds=seconds)
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment | one_thread, capture_output=True, text=True, check=False
    )
    if run.returncode != 0:
        raise HqmmError(f"measuring a matrix product failed: {run.stderr.strip().splitlines()[-1]}")
    return float(run.stdout)
