import numpy as np
import pytest
from numba import njit

from hqmm.engine.tiles import addresses, advance, aligned, lanes, outer, padded, product


@njit
def multiply(tiles, count, A, ia, pick, B, b, inner, C, ic, vectors, add):
    product(tiles[0], count, A, ia, 0, pick, 0 if len(pick) else -1, B, b, inner, C, ic, 0, vectors, add)


@njit
def multiply_outer(tiles, count, A, ia, pick, rows, B, ib, C, vectors):
    outer(tiles[1], count, A, ia, 0, pick, 0 if len(pick) else -1, rows, B, ib, 0, C, 0, vectors)


@njit
def multiply_one(tiles, X, row, B, inner, Y, to, vectors):
    advance(tiles[0], X, row, B, 0, inner, Y, to, vectors)


def random(rng, rows, columns, dtype):
    array = aligned((rows, padded(columns, dtype)), dtype)
    array[:, :columns] = rng.normal(size=(rows, columns))
    return array


SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 36, 40, 41, 64, 65, 90, 130]
TOLERANCE = {np.float64: 1e-13, np.float32: 1e-4}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", SIZES)
def test_products_gather_and_scatter_rows(m, dtype):
    rng = np.random.default_rng(m)
    for count in (1, 2, 3, 5, 6, 7, 13, 20):
        A, B, C = (random(rng, rows, m, dtype) for rows in (30, m + 3, 25))
        ia, ic = rng.integers(0, 30, count), rng.permutation(25)[:count]
        for add in (0, 1):
            for pick in (np.arange(0), rng.permutation(m)[: (m + 1) // 2]):
                chosen = pick if len(pick) else np.arange(m)
                inner = len(chosen)
                want = C.astype(np.float64)
                want[ic] = add * want[ic] + A[ia][:, chosen].astype(np.float64) @ B[3 : 3 + inner]
                multiply(addresses(dtype), count, A, ia, pick, B, 3, inner, C, ic, C.shape[1] // lanes(dtype), add)
                np.testing.assert_allclose(C, want, atol=TOLERANCE[dtype] * m, rtol=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", SIZES)
def test_outer_products_add_up(m, dtype):
    rng = np.random.default_rng(m)
    for count in (1, 2, 3, 4, 5, 11):
        A, B, C = (random(rng, rows, m, dtype) for rows in (30, 40, m))
        ia, ib = rng.integers(0, 30, count), rng.integers(0, 40, count)
        for pick in (np.arange(0), rng.permutation(m)[: (m + 1) // 2]):
            chosen = pick if len(pick) else np.arange(m)
            rows = len(chosen)
            want = C.astype(np.float64)
            want[:rows] += A[ia][:, chosen].astype(np.float64).T @ B[ib]
            multiply_outer(addresses(dtype), count, A, ia, pick, rows, B, ib, C, C.shape[1] // lanes(dtype))
            np.testing.assert_allclose(C, want, atol=TOLERANCE[dtype] * count, rtol=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", SIZES)
def test_one_state_advances(m, dtype):
    rng = np.random.default_rng(m)
    X, B, Y = (random(rng, rows, m, dtype) for rows in (4, m, 4))
    multiply_one(addresses(dtype), X, 2, B, m, Y, 1, Y.shape[1] // lanes(dtype))
    np.testing.assert_allclose(Y[1], X[2, :m].astype(np.float64) @ B, atol=TOLERANCE[dtype] * m, rtol=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_start_where_vectors_do(dtype):
    array = aligned((3, padded(5, dtype)), dtype)
    assert array.shape[1] % lanes(dtype) == 0
    assert array.ctypes.data % (lanes(dtype) * array.itemsize) == 0
    assert not array.any()
