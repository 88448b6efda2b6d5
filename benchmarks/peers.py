"""The engine against other ways to the same gradient, on one thread: autograd, JAX and PyTorch.

Every one takes the Kraus operators and returns ℓ and ∂ℓ/∂K* of 20 sequences of 300 symbols, where the state
after 100 symbols counts as a constant (the paper's loss, equation 8, with its burn-in). Before one is timed its
result is compared with the engine's. JAX and PyTorch are no dependencies: where they are not installed their rows
are left out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

# Read when the libraries start, which is below.
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", NPROC="1", JAX_PLATFORMS="cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np

from benchmarks.measure import Row, best_times, one_core
from hqmm import Sequences
from hqmm.channels import hermitian_basis, random_density_matrix, random_kraus
from hqmm.engine.kraus import kraus_gradient

AGREEMENT = 1e-6
BURN_IN = 100

Answer = tuple[float, Any]
"""ℓ and ∂ℓ/∂K*."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be differentiated: K (s, w, n, n), ρ₀ (n, n) and the symbols (sequences, length)."""

    K: Any
    rho: Any
    codes: Any

    @classmethod
    def of(cls, n: int, s: int, w: int, count: int = 20, length: int = 300) -> Problem:
        codes = np.random.default_rng(0).integers(0, s, (count, length))
        return cls(random_kraus(s, w, n, random_state=0), random_density_matrix(n, random_state=0), codes)

    def ours(self) -> Callable[[], Answer]:
        data = Sequences(self.codes, alphabet=len(self.K))

        def work() -> Answer:
            result = kraus_gradient(self.K, self.rho, data, burn_in=BURN_IN, threads=1)
            return result.log_likelihood.sum(), result.kraus

        return work


# --- autograd -------------------------------------------------------------------------------------------------


def autograd_loops(problem: Problem) -> Callable[[], Answer]:
    """One sequence, one symbol and one operator at a time, as the paper's tool does."""
    import autograd.numpy as anp
    from autograd import value_and_grad
    from autograd.tracer import getval

    def step(K: Any, y: int, rho: Any) -> Any:
        following = 0
        for operator in range(problem.K.shape[1]):
            k = K[y, operator]
            following = following + anp.dot(anp.dot(k, rho), anp.conj(k).T)
        probability = anp.real(anp.trace(following))
        return following / probability, probability

    def value(K: Any) -> Any:
        total = 0.0
        for row in problem.codes:
            rho = problem.rho
            for y in row[:BURN_IN]:
                rho, _ = step(getval(K), y, rho)
            for y in row[BURN_IN:]:
                rho, probability = step(K, y, rho)
                total = total + anp.log(probability)
        return total

    differentiate = value_and_grad(value)

    def work() -> Answer:
        total, slope = differentiate(problem.K)
        return total, slope.conj() / 2  # autograd returns ∂ℓ/∂Re K − i ∂ℓ/∂Im K

    return work


def autograd_batched(problem: Problem) -> Callable[[], Answer]:
    """All sequences and operators at once; a loop over time."""
    import autograd.numpy as anp
    from autograd import value_and_grad
    from autograd.tracer import getval

    def step(K: Any, y: Any, rho: Any) -> Any:
        k = K[y]
        following = anp.sum(anp.matmul(anp.matmul(k, rho[:, None]), anp.conj(anp.swapaxes(k, 2, 3))), axis=1)
        probability = anp.real(anp.sum(following * np.eye(len(problem.rho)), axis=(1, 2)))
        return following / probability[:, None, None], probability

    def value(K: Any) -> Any:
        rho = np.broadcast_to(problem.rho, (len(problem.codes), *problem.rho.shape))
        total = 0.0
        for t, y in enumerate(problem.codes.T):
            rho, probability = step(K if t >= BURN_IN else getval(K), y, rho)
            if t >= BURN_IN:
                total = total + anp.sum(anp.log(probability))
        return total

    differentiate = value_and_grad(value)

    def work() -> Answer:
        total, slope = differentiate(problem.K)
        return total, slope.conj() / 2

    return work


# --- PyTorch --------------------------------------------------------------------------------------------------


def torch_eager(problem: Problem) -> Callable[[], Answer]:
    """All sequences and operators at once; a loop over time."""
    import torch

    torch.set_num_threads(1)
    steps = list(torch.as_tensor(problem.codes.T.copy()))
    start = torch.as_tensor(problem.rho).expand(len(problem.codes), -1, -1)

    def step(K: Any, y: Any, rho: Any) -> Any:
        k = K[y]
        following = (k @ rho[:, None] @ k.mH).sum(1)
        probability = following.diagonal(dim1=1, dim2=2).sum(1).real
        return following / probability[:, None, None], probability

    def work() -> Answer:
        K = torch.tensor(problem.K, requires_grad=True)
        rho, found = start, []
        with torch.no_grad():
            for y in steps[:BURN_IN]:
                rho, _ = step(K, y, rho)
        for y in steps[BURN_IN:]:
            rho, probability = step(K, y, rho)
            found.append(probability)
        total = torch.stack(found).log().sum()
        total.backward()
        return total.item(), K.grad.numpy() / 2  # PyTorch returns ∂ℓ/∂Re K + i ∂ℓ/∂Im K

    return work


# --- JAX ------------------------------------------------------------------------------------------------------


def jax_idiomatic(problem: Problem) -> Callable[[], Answer]:
    """The loss of one sequence by scan, vmap over sequences, grad, jit."""
    jax, jnp = _jax()
    codes, start = jnp.asarray(problem.codes), jnp.asarray(problem.rho)

    def step(K: Any, rho: Any, y: Any) -> Any:
        k = K[y]
        following = jnp.einsum("wij,jk,wlk->il", k, rho, k.conj())
        probability = jnp.trace(following).real
        return following / probability, jnp.log(probability)

    def of_one(K: Any, row: Any) -> Any:
        rho, _ = jax.lax.scan(partial(step, jax.lax.stop_gradient(K)), start, row[:BURN_IN])
        _, logs = jax.lax.scan(partial(step, K), rho, row[BURN_IN:])
        return logs.sum()

    def value(K: Any) -> Any:
        return jax.vmap(of_one, in_axes=(None, 0))(K, codes).sum()

    differentiate = jax.jit(jax.value_and_grad(value))

    def work() -> Answer:
        total, slope = differentiate(problem.K)
        return float(total), np.asarray(slope).conj() / 2  # JAX returns ∂ℓ/∂Re K − i ∂ℓ/∂Im K

    return work


def jax_best(problem: Problem, gather: bool = False, unroll: int = 1) -> Callable[[], Answer]:
    """Real operators T, a forward pass and a backward pass written by hand, G summed by one batched product.

    A step multiplies each state by the operators of all symbols, in one product, and selects (small states gather
    their operator instead). States and functionals are kept; with α_{t−1} and β_t/c_t sorted by symbol, ∂ℓ/∂T is
    one product for each symbol. JAX differentiates T by K.
    """
    jax, jnp = _jax()
    s, _, n, _ = problem.K.shape
    m, count = n * n, len(problem.codes)
    steps = problem.codes.T
    order, padded = _by_symbol(steps[BURN_IN:].ravel(), s)
    codes, scored = jnp.asarray(steps[:BURN_IN]), jnp.asarray(steps[BURN_IN:])
    basis = hermitian_basis(n)
    start = np.broadcast_to(np.einsum("kij,ji->k", basis, problem.rho).real, (count, m))
    rows = jnp.arange(count)

    def operators_of(K: Any) -> Any:
        images = jnp.einsum("ywij,kjl->ywkil", K, basis)  # K B_k
        images = jnp.einsum("ywkil,ywjl->ykij", images, K.conj()).reshape(s, m, m)
        return (images @ basis.conj().reshape(m, m).T).real.swapaxes(1, 2)

    def multiply(T: Any, x: Any, y: Any) -> Any:
        """T_y x for each row, where T is (s, m, m) by rows."""
        if gather:
            return (T[y] * x[:, None, :]).sum(2)
        return (x @ T.reshape(s * m, m).T).reshape(count, s, m)[rows, y]

    def forward(T: Any, x: Any, y: Any) -> Any:
        following = multiply(T, x, y)
        c = following[:, :n].sum(1)
        return following / c[:, None], (x, c)

    def backward(T: Any, z: Any, step: Any) -> Any:
        y, c = step
        z = z / c[:, None]
        return multiply(T, z, y), z

    def value_and_slope(K: Any) -> Any:
        T, pull_back = jax.vjp(operators_of, K)
        x, _ = jax.lax.scan(partial(forward, T), jnp.asarray(start), codes, unroll=unroll)
        _, (states, c) = jax.lax.scan(partial(forward, T), x, scored, unroll=unroll)
        end = jnp.broadcast_to(jnp.where(jnp.arange(m) < n, 1.0, 0.0), (count, m))
        _, effects = jax.lax.scan(
            partial(backward, T.swapaxes(1, 2)), end, (scored, c), reverse=True, unroll=unroll
        )
        left = jnp.where(padded[:, :, None], 0.0, effects.reshape(-1, m)[order])
        G = jnp.einsum("yck,ycl->ykl", left, states.reshape(-1, m)[order])
        return jnp.log(c).sum(), pull_back(G)[0]

    differentiate = jax.jit(value_and_slope)

    def work() -> Answer:
        total, slope = differentiate(problem.K)
        return float(total), np.asarray(slope).conj() / 2

    return work


def _by_symbol(codes: Any, s: int) -> tuple[Any, Any]:
    """Return the places of each symbol, filled up to the same number of them, and which are filling."""
    places = [np.flatnonzero(codes == y) for y in range(s)]
    longest = max(len(p) for p in places)
    order = np.array([np.pad(p, (0, longest - len(p))) for p in places])
    return order, np.arange(longest) >= np.array([len(p) for p in places])[:, None]


def _jax() -> tuple[Any, Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax, jax.numpy


# --- measurements ---------------------------------------------------------------------------------------------


def _check(name: str, found: Answer, expected: Answer) -> None:
    """Refuse a peer that computes something else."""
    value = abs(found[0] - expected[0]) / abs(expected[0])
    slope = np.abs(found[1] - expected[1]).max() / np.abs(expected[1]).max()
    if not max(value, slope) < AGREEMENT:
        raise AssertionError(f"{name} differs: log-likelihood by {value:.1e}, gradient by {slope:.1e}")


def _missing(library: str) -> bool:
    if find_spec(library):
        return False
    print(f"  left out: {library} is not installed")
    return True


def loops() -> Iterator[Row]:
    """Gradient of 20 × 300, burn-in 100, at (6, 6, 6): autograd with loops as in the paper's code, run once."""
    problem = Problem.of(6, 6, 6)
    ours, theirs = problem.ours(), autograd_loops(problem)
    expected = ours()

    def best() -> float:
        return min(_thread_seconds(ours)[0] for _ in range(200))

    with one_core():
        before = best()
        slow, found = _thread_seconds(theirs)
        fast = min(before, best())
    _check("autograd", found, expected)
    yield Row("autograd, loops", slow / fast, "times", 4000, note=f"{slow:.2f} s : {fast * 1e3:.2f} ms")


def _thread_seconds(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Return the seconds this thread worked: a run that cannot be repeated must not count what others do."""
    begun = time.thread_time()
    answer = work()
    return time.thread_time() - begun, answer


def batched() -> Iterator[Row]:
    """Gradient of 20 × 300, burn-in 100, at (6, 6, 6), against automatic differentiation and the best JAX."""
    yield from _compare(
        Problem.of(6, 6, 6),
        ("autograd", "autograd, batched", autograd_batched, 80),
        ("jax", "JAX: jit, scan, vmap", jax_idiomatic, 30),
        ("torch", "PyTorch, eager", torch_eager, 70),
        ("jax", "best JAX: real form, product and select", jax_best, 3.5),
    )


def small() -> Iterator[Row]:
    """Gradient of 20 × 300, burn-in 100, at (2, 6, 1), against the best JAX."""
    best = partial(jax_best, gather=True)
    yield from _compare(Problem.of(2, 6, 1), ("jax", "best JAX: real form, gather", best, 1.5))


def _compare(problem: Problem, *peers: tuple[str, str, Any, float]) -> Iterator[Row]:
    ours = problem.ours()
    expected = ours()
    with one_core():
        for library, name, make, reach in peers:
            if _missing(library):
                continue
            theirs = make(problem)
            _check(name, theirs(), expected)
            fast, slow = best_times(ours, theirs, seconds=3)
            yield Row(name, slow / fast, "times", reach, note=f"{slow * 1e3:.2f} : {fast * 1e3:.3f} ms")


ROWS = [loops, batched, small]
