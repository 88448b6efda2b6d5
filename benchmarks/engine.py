"""The engine against the machine it runs on, and against its own cost model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, best_times, matrix_product, one_core
from hqmm import Alphabet, Sequences
from hqmm.engine import explain_plan, gradient, log_likelihood
from hqmm.linear import LinearForm


def form_of(m: int, s: int = 6) -> LinearForm:
    operators = np.random.default_rng(m).random((s, m, m))
    return LinearForm(operators / operators.sum(axis=(0, 1)), np.full(m, 1 / m), np.ones(m))


def data_of(count: int, length: int, s: int = 6) -> Sequences:
    return Sequences(np.random.default_rng(0).integers(0, s, (count, length)), alphabet=s)


def operations(m: int, count: int, length: int, burn_in: int = 0) -> int:
    """Operations of the plain form: 2m² forward, and behind the burn-in as many backward and for the gradient."""
    return count * (length + 2 * (length - burn_in)) * 2 * m * m


def full_batch() -> Iterator[Row]:
    """Gradient of 200 × 300 symbols, one core: operations of the plain form over time, against BLAS's rate."""
    data = data_of(200, 300)
    product, product_operations = matrix_product()
    targets = {(6, "batched"): 0.6, (6, "pairs"): 1.0, (8, "batched"): 0.8, (8, "pairs"): 1.2}
    with one_core():
        for (n, method), reach in targets.items():
            form = form_of(n * n)
            own, blas = best_times(lambda f=form, m=method: gradient(f, data, method=m, threads=1), product)
            rate = operations(n * n, 200, 300) / own
            note = f"{own * 1e3:.2f} ms, {rate / 1e9:.0f} of {product_operations / blas / 1e9:.0f} GF/s"
            yield Row(f"n = {n}, {method}", rate * blas / product_operations, "of GEMM", reach, note=note)


def mini_batch() -> Iterator[Row]:
    """Gradient of 20 × 300 symbols, burn-in 100, on one core."""
    data = data_of(20, 300)
    product, product_operations = matrix_product()
    with one_core():
        for n, reach in ((2, 0.14), (4, None), (6, 1.15), (8, None)):
            form = form_of(n * n)
            own, blas = best_times(lambda f=form: gradient(f, data, burn_in=100, threads=1), product)
            rate = operations(n * n, 20, 300, 100) / own * blas / product_operations
            note = f"{explain_plan(form, data, burn_in=100).method}, {rate:.2f} of GEMM"
            yield Row(f"n = {n}", own * 1e3, "ms", reach, low=True, note=note)


def threads() -> Iterator[Row]:
    """Two threads against one, full batches; BLAS on two threads beside it, to see what the machine gives."""
    product, _ = matrix_product()
    other, _ = matrix_product()
    pool = ThreadPoolExecutor(2)

    def both() -> None:
        for future in [pool.submit(product), pool.submit(other)]:
            future.result()

    for n, count in ((6, 200), (6, 2000), (8, 200)):
        form, data = form_of(n * n), data_of(count, 300)
        one, two, blas, blas_both = best_times(
            lambda f=form, d=data: gradient(f, d, threads=1),
            lambda f=form, d=data: gradient(f, d, threads=2),
            product,
            both,
            seconds=8,
            clock=time.perf_counter,
        )
        note = (
            f"{explain_plan(form, data).method}, {two * 1e3:.1f} ms; two BLAS products: {2 * blas / blas_both:.2f}"
        )
        yield Row(f"n = {n}, {count} × 300", one / two, "times", 1.8, note=note)


def long_sequence() -> Iterator[Row]:
    """One sequence of 1,000,000 symbols on one core, n = 2."""
    form, data = form_of(4), data_of(1, 1_000_000)
    with one_core():
        score, slope = best_times(
            lambda: log_likelihood(form, data, threads=1), lambda: gradient(form, data, threads=1)
        )
    yield Row("log-likelihood", score * 1e3, "ns/symbol", 40, low=True)
    yield Row("gradient", slope * 1e3, "ns/symbol")


MEMORY = """
import sys
import benchmarks.engine as e
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
form, data = e.form_of(36), e.data_of(int(sys.argv[1]), 300)
e.gradient(form, data[:10], threads=1)
before = peak()
e.gradient(form, data, threads=1)
print(peak() - before)
"""


def memory() -> Iterator[Row]:
    """Peak memory of a gradient, n = 6, above that of a small one (needs /proc)."""
    for count in (200, 1000, 5000) if Path("/proc/self/status").exists() else []:
        run = subprocess.run(
            [sys.executable, "-c", MEMORY, str(count)], capture_output=True, text=True, check=True
        )
        kilobytes = float(run.stdout)
        note = f"{kilobytes * 1024 / (300 * count):.0f} bytes per symbol"
        yield Row(f"{count} × 300 symbols", kilobytes / 1024, "MB", note=note)


def single_precision() -> Iterator[Row]:
    """float32 against float64, gradient of 200 × 300 symbols on one core."""
    data = data_of(200, 300)
    with one_core():
        for n in (2, 6, 8):
            form = form_of(n * n)
            double, single = best_times(
                lambda f=form: gradient(f, data, threads=1),
                lambda f=form: gradient(f, data, threads=1, dtype=np.float32),
            )
            yield Row(f"n = {n}", double / single, "times")


def zeros() -> Iterator[Row]:
    """Operators that lead from a share of the states to a share of the states, against full ones; m = 64."""
    data, rng = data_of(200, 300), np.random.default_rng(0)
    full = form_of(64)
    with one_core():
        for share in (0.75, 0.5, 0.35):
            kept = (rng.random((2, 6, 64)) < share) | (np.arange(64) == 0)
            sparse = LinearForm(
                full.operators * kept[0, :, :, None] * kept[1, :, None, :], full.initial, full.evaluation
            )
            slow, fast = best_times(
                lambda: gradient(full, data, threads=1, method="batched"),
                lambda f=sparse: gradient(f, data, threads=1, method="batched", slopes_of_zeros=False),
            )
            yield Row(f"{share:.0%} of rows and columns", slow / fast, "times", note=f"{fast * 1e3:.1f} ms")


def shared_prefixes() -> Iterator[Row]:
    """Shared prefixes against sequences side by side, on PAutomaC's training sets (if HQMM_DATA names them)."""
    folder = Path(os.environ.get("HQMM_DATA", "")) / "pautomac"
    for path in sorted(folder.glob("*.train"))[:4] if folder.is_dir() else []:
        lines = path.read_text().splitlines()
        rows = [np.array(line.split()[1:], dtype=np.int32) for line in lines[1:]]
        data = Sequences(rows, alphabet=Alphabet(int(lines[0].split()[1])), allow_empty=True)
        form = form_of(36, len(data.alphabet))
        tree, plain = best_times(
            lambda f=form, d=data: gradient(f, d, threads=1, method="prefixes"),
            lambda f=form, d=data: gradient(f, d, threads=1, method="batched"),
        )
        note = f"{tree * 1e3:.1f} ms, plan: {explain_plan(form, data).method}"
        yield Row(f"{path.name}, n = 6", plain / tree, "times", note=note)


def cost_model() -> Iterator[Row]:
    """Measured seconds over predicted ones, gradients on one core, by n, s, length and number of sequences."""
    cases = [(n, 6, 50, 200) for n in (2, 3, 4, 6, 8, 12, 16)]
    cases += [(6, s, 50, 200) for s in (2, 20, 100)]
    cases += [(6, 6, 50, length) for length in (10, 1000)]
    cases += [(6, 6, count, 200) for count in (1, 10, 500)]
    with one_core():
        for n, s, count, length in cases:
            form, data = form_of(n * n, s), data_of(count, length, s)
            chosen = explain_plan(form, data)
            for method, predicted in chosen.predicted_seconds.items():
                if predicted > 1:
                    continue
                (own,) = best_times(
                    lambda f=form, d=data, m=method: gradient(f, d, threads=1, method=m), seconds=0.15, least=3
                )
                mark = "  ← chosen" if method == chosen.method else ""
                what = f"n = {n}, s = {s}, {count} × {length}, {method}"
                yield Row(what, own / predicted, "of predicted", note=f"{own * 1e3:.3f} ms{mark}")


ROWS = [
    full_batch,
    mini_batch,
    threads,
    long_sequence,
    memory,
    single_precision,
    zeros,
    shared_prefixes,
    cost_model,
]
