"""The two matrix products under every real form, as register-blocked tiles emitted straight into LLVM.

A compiler does not find the register blocking of a small matrix product by itself, and BLAS spends more time on
packing 36 × 36 matrices than on multiplying them, cannot gather its rows, and starts threads of its own. So the
tile is written here once: r rows × v vectors of accumulators stay in registers while k runs. Rows are named by
index arrays, which makes gathering and scattering states free of copies.

- ``product``: C[ic[q]] (+)= Σ_k A[ia[q], pick[k]] B[k], rows of states times an operator;
- ``outer``: C[i] += Σ_k A[ia[k], pick[i]] B[ib[k]], the gradient of an operator, Σ β αᵀ.

From a place p of ``pick`` on stand the entries of a state that an operator looks at: its rows of zeros cost
nothing. Where p is negative that is every entry, in order.

Both are compiled once for each number type and called by address (``addresses``), or every kernel that uses them
would compile them again. Arrays are C-contiguous, rows padded to whole vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import cfunc, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

_FEATURES = binding.get_host_cpu_features()
_WIDE = bool(_FEATURES.get("avx512f", False))
VECTOR_BYTES = 64 if _WIDE else 32 if _FEATURES.get("avx2", False) else 16
# A tile has at most 6 rows and 5 vectors, and leaves registers for its operands.
_MAX_VECTORS = 5 if _WIDE else 4
_MAX_ROWS = 6
_ACCUMULATORS = 25 if _WIDE else 12
# Multiply-adds in flight that hide the latency of one: small tiles run several values of k at once.
_IN_FLIGHT = 8

_ROWS_AT = tuple(min(_MAX_ROWS, _ACCUMULATORS // max(v, 1)) for v in range(_MAX_VECTORS + 1))
_WORD = ir.IntType(64)
_LINE = 64


def lanes(dtype: Any) -> int:
    """Return how many numbers of ``dtype`` fill a vector register."""
    return VECTOR_BYTES // np.dtype(dtype).itemsize


def padded(count: int, dtype: Any) -> int:
    """Return ``count`` rounded up to whole vectors."""
    width = lanes(dtype)
    return -(-count // width) * width


def aligned(shape: tuple[int, ...], dtype: Any, zero: bool = True) -> np.ndarray[Any, Any]:
    """Return an array whose first byte starts a vector; loads that straddle cache lines take twice as long."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = (np.zeros if zero else np.empty)(size + VECTOR_BYTES, np.uint8)
    start = -memory.ctypes.data % VECTOR_BYTES
    return memory[start : start + size].view(dtype).reshape(shape)


class _Matrix:
    """A pointer and a row length, in LLVM terms."""

    def __init__(self, builder: Any, data: Any, stride: Any) -> None:
        self.builder, self.data, self.stride = builder, data, stride

    def at(self, row: Any, column: Any) -> Any:
        return self.builder.gep(self.data, [self.builder.add(self.builder.mul(row, self.stride), column)])


class _Tile:
    """r × v vectors of accumulators; several copies of them where one would wait for its own result."""

    def __init__(self, builder: Any, scalar: Any, rows: int, vectors: int) -> None:
        self.builder, self.rows, self.vectors = builder, rows, vectors
        self.bytes = 4 if isinstance(scalar, ir.FloatType) else 8
        self.width = VECTOR_BYTES // self.bytes
        self.vector = ir.VectorType(scalar, self.width)
        self.copies = max(1, min(4, _IN_FLIGHT // (rows * vectors)))
        self.cells = [
            [[cgutils.alloca_once(builder, self.vector) for _ in range(vectors)] for _ in range(rows)]
            for _ in range(self.copies)
        ]
        signature = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fmuladd.v{self.width}f{8 * self.bytes}"
        self.multiply_add = cgutils.get_or_insert_function(builder.module, signature, name)

    def _at(self, pointer: Any, number: int) -> Any:
        moved = self.builder.gep(pointer, [ir.Constant(_WORD, number * self.width)])
        return self.builder.bitcast(moved, ir.PointerType(self.vector))

    def _load(self, pointer: Any, number: int) -> Any:
        return self.builder.load(self._at(pointer, number), align=self.bytes)

    def _splat(self, value: Any) -> Any:
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.width), None)
        return self.builder.shuffle_vector(first, undefined, mask)

    def clear(self) -> None:
        for copy in self.cells:
            for row in copy:
                for cell in row:
                    self.builder.store(ir.Constant(self.vector, None), cell)

    def load_row(self, row: int, pointer: Any) -> None:
        for number, cell in enumerate(self.cells[0][row]):
            self.builder.store(self._load(pointer, number), cell)

    def step(self, copy: int, factors: Any, pointer: Any) -> None:
        spread = [self._splat(factor) for factor in factors]
        for number in range(self.vectors):
            vector = self._load(pointer, number)
            for row, factor in enumerate(spread):
                cell = self.cells[copy][row][number]
                total = self.builder.call(self.multiply_add, [factor, vector, self.builder.load(cell)])
                self.builder.store(total, cell)

    def store_row(self, row: int, pointer: Any) -> None:
        for number in range(self.vectors):
            parts = [self.builder.load(copy[row][number]) for copy in self.cells]
            while len(parts) > 1:
                parts = [
                    self.builder.fadd(*parts[i : i + 2]) if len(parts) > i + 1 else parts[i]
                    for i in range(0, len(parts), 2)
                ]
            self.builder.store(parts[0], self._at(pointer, number), align=self.bytes)


def _emit(tile: _Tile, count: Any, factors: Any, source: Any, targets: Any, accumulate: Any) -> None:
    """Emit one tile: clear or load, run k in strides of the number of copies, store."""
    builder, one = tile.builder, ir.Constant(_WORD, 1)
    tile.clear()
    with builder.if_then(accumulate):
        for row, pointer in enumerate(targets):
            tile.load_row(row, pointer)
    copies = ir.Constant(_WORD, tile.copies)
    whole = builder.mul(builder.udiv(count, copies), copies)
    with cgutils.for_range_slice(builder, ir.Constant(_WORD, 0), whole, copies, inc=True) as (k, _):
        for copy in range(tile.copies):
            place = builder.add(k, ir.Constant(_WORD, copy))
            tile.step(copy, factors(place), source(place))
    if tile.copies > 1:
        with cgutils.for_range_slice(builder, whole, count, one, inc=True) as (k, _):
            tile.step(0, factors(k), source(k))
    for row, pointer in enumerate(targets):
        tile.store_row(row, pointer)


def _switch(builder: Any, scalar: Any, vectors: Any, rows: Any, body: Callable[[_Tile], None]) -> None:
    """Emit a tile of each size, and a jump to the one asked for."""
    done = builder.append_basic_block("done")
    switch = builder.switch(builder.add(builder.mul(vectors, ir.Constant(_WORD, 16)), rows), done)
    for v in range(1, _MAX_VECTORS + 1):
        for r in range(1, _ROWS_AT[v] + 1):
            block = builder.append_basic_block(f"tile_{r}_{v}")
            switch.add_case(ir.Constant(_WORD, 16 * v + r), block)
            builder.position_at_end(block)
            body(_Tile(builder, scalar, r, v))
            builder.branch(done)
    builder.position_at_end(done)


def _product_tile_of(picked: bool) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def tile(typing: Any, v: Any, r: Any, A: Any, lda: Any, ia: Any, pick: Any, p: Any, B: Any, ldb: Any, n: Any,
             C: Any, ldc: Any, ic: Any, row: Any, column: Any, add: Any) -> Any:  # fmt: skip
        """C[ic[row+q], column:] (+)= Σ_k A[ia[row+q], pick[p+k]] B[k, column:] for q < r, k < n."""
        signature = types.void(v, r, A, lda, ia, pick, p, B, ldb, n, C, ldc, ic, row, column, add)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            v_, r_, A_, lda_, ia_, pick_, p_, B_, ldb_, n_, C_, ldc_, ic_, row_, column_, add_ = args
            left, right, target = (_Matrix(builder, *pair) for pair in ((A_, lda_), (B_, ldb_), (C_, ldc_)))
            flag = builder.icmp_unsigned("!=", add_, ir.Constant(add_.type, 0))

            def body(tile: _Tile) -> None:
                places = [builder.add(row_, ir.Constant(_WORD, q)) for q in range(tile.rows)]
                sources = [left.at(builder.load(builder.gep(ia_, [q])), ir.Constant(_WORD, 0)) for q in places]
                targets = [target.at(builder.load(builder.gep(ic_, [q])), column_) for q in places]

                def factors(k: Any) -> Any:
                    entry = builder.load(builder.gep(pick_, [builder.add(p_, k)])) if picked else k
                    return [builder.load(builder.gep(pointer, [entry])) for pointer in sources]

                _emit(tile, n_, factors, lambda k: right.at(k, column_), targets, flag)

            _switch(builder, context.get_data_type(A.dtype), v_, r_, body)
            return context.get_dummy_value()

        return signature, codegen

    return tile


def _outer_tile_of(picked: bool) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def tile(typing: Any, v: Any, r: Any, n: Any, A: Any, lda: Any, ia: Any, pick: Any, p: Any, B: Any, ldb: Any,
             ib: Any, C: Any, ldc: Any, row: Any, column: Any) -> Any:  # fmt: skip
        """C[row+q, column:] += Σ_k A[ia[k], pick[p+row+q]] B[ib[k], column:] for q < r, k < n."""
        signature = types.void(v, r, n, A, lda, ia, pick, p, B, ldb, ib, C, ldc, row, column)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            v_, r_, n_, A_, lda_, ia_, pick_, p_, B_, ldb_, ib_, C_, ldc_, row_, column_ = args
            left, right, target = (_Matrix(builder, *pair) for pair in ((A_, lda_), (B_, ldb_), (C_, ldc_)))

            def body(tile: _Tile) -> None:
                numbers = [ir.Constant(_WORD, q) for q in range(tile.rows)]
                start, entries = row_, numbers
                if picked:
                    first = builder.add(p_, row_)
                    start = ir.Constant(_WORD, 0)
                    entries = [builder.load(builder.gep(pick_, [builder.add(first, q)])) for q in numbers]

                def factors(k: Any) -> Any:
                    base = left.at(builder.load(builder.gep(ia_, [k])), start)
                    return [builder.load(builder.gep(base, [entry])) for entry in entries]

                _emit(
                    tile,
                    n_,
                    factors,
                    lambda k: right.at(builder.load(builder.gep(ib_, [k])), column_),
                    [target.at(builder.add(row_, q), column_) for q in numbers],
                    ir.Constant(ir.IntType(1), 1),
                )

            _switch(builder, context.get_data_type(A.dtype), v_, r_, body)
            return context.get_dummy_value()

        return signature, codegen

    return tile


_product_tile, _picked_product_tile = _product_tile_of(False), _product_tile_of(True)
_outer_tile, _picked_outer_tile = _outer_tile_of(False), _outer_tile_of(True)


def _product(  # type: ignore[no-untyped-def]
    count, A, lda, ia, pick, p, B, ldb, n, C, ldc, ic, vectors, width, add
):
    panels = (vectors + _MAX_VECTORS - 1) // _MAX_VECTORS
    first = 0
    for panel in range(panels):
        last = (panel + 1) * vectors // panels
        v, column = last - first, first * width
        tiles = (count + _ROWS_AT[v] - 1) // _ROWS_AT[v]
        row = 0
        for tile in range(tiles):
            end = (tile + 1) * count // tiles
            if p < 0:
                _product_tile(v, end - row, A, lda, ia, pick, p, B, ldb, n, C, ldc, ic, row, column, add)
            else:
                _picked_product_tile(v, end - row, A, lda, ia, pick, p, B, ldb, n, C, ldc, ic, row, column, add)
            row = end
        first = last


def _outer(count, A, lda, ia, pick, p, rows, B, ldb, ib, C, ldc, vectors, width):  # type: ignore[no-untyped-def]
    panels = (vectors + _MAX_VECTORS - 1) // _MAX_VECTORS
    first = 0
    for panel in range(panels):
        last = (panel + 1) * vectors // panels
        v, column = last - first, first * width
        tiles = (rows + _ROWS_AT[v] - 1) // _ROWS_AT[v]
        row = 0
        for tile in range(tiles):
            end = (tile + 1) * rows // tiles
            if p < 0:
                _outer_tile(v, end - row, count, A, lda, ia, pick, p, B, ldb, ib, C, ldc, row, column)
            else:
                _picked_outer_tile(v, end - row, count, A, lda, ia, pick, p, B, ldb, ib, C, ldc, row, column)
            row = end
        first = last


@cache
def _compiled(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    number = types.CPointer(from_dtype(dtype))
    word, index = types.int64, types.CPointer(types.int64)
    matrix, vector = (number, word), (number, word, index)
    product = types.void(word, *vector, index, word, *matrix, word, *vector, word, word, word)
    outer = types.void(word, *vector, index, word, word, *vector, *matrix, word, word)
    return cfunc(product, cache=True)(_product), cfunc(outer, cache=True)(_outer)


@cache
def addresses(dtype: Any) -> np.ndarray[Any, Any]:
    """Return where the compiled ``product`` and ``outer`` stand in memory."""
    return np.array([function.address for function in _compiled(np.dtype(dtype))], dtype=np.int64)


def _call(context: Any, builder: Any, address: Any, arguments: list[Any]) -> Any:
    signature = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(builder.inttoptr(address, signature.as_pointer()), arguments)
    return context.get_dummy_value()


class _Array:
    """Where an array of the caller starts, in LLVM terms."""

    def __init__(self, context: Any, builder: Any, value: Any, kind: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.data = builder, array.data
        self.stride = cgutils.unpack_tuple(builder, array.shape)[-1]

    def matrix(self, row: Any) -> list[Any]:
        return [self.builder.gep(self.data, [self.builder.mul(row, self.stride)]), self.stride]

    def vector(self, place: Any) -> Any:
        return self.builder.gep(self.data, [place])


@intrinsic  # type: ignore[untyped-decorator]
def product(typing: Any, address: Any, count: Any, A: Any, ia: Any, a: Any, pick: Any, p: Any, B: Any, b: Any,
            inner: Any, C: Any, ic: Any, c: Any, vectors: Any, add: Any) -> Any:  # fmt: skip
    """C[ic[c+q]] (+)= Σ_k A[ia[a+q], pick[p+k]] B[b+k] for q < count, k < inner, in ``vectors`` of columns."""
    word = types.int64
    signature = types.void(word, word, A, ia, word, pick, word, B, word, word, C, ic, word, word, word)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address_, count_, A_, ia_, a_, pick_, p_, B_, b_, inner_, C_, ic_, c_, vectors_, add_ = args
        zero = ir.Constant(_WORD, 0)
        left, right, target = (
            _Array(context, builder, value, kind) for value, kind in ((A_, A), (B_, B), (C_, C))
        )
        take, entries, put = (
            _Array(context, builder, value, kind) for value, kind in ((ia_, ia), (pick_, pick), (ic_, ic))
        )
        width = ir.Constant(_WORD, VECTOR_BYTES // (A.dtype.bitwidth // 8))
        arguments = [count_, *left.matrix(zero), take.vector(a_), entries.data, p_, *right.matrix(b_), inner_]
        arguments += [*target.matrix(zero), put.vector(c_), vectors_, width, add_]
        return _call(context, builder, address_, arguments)

    return signature, codegen


@intrinsic  # type: ignore[untyped-decorator]
def outer(typing: Any, address: Any, count: Any, A: Any, ia: Any, a: Any, pick: Any, p: Any, rows: Any, B: Any,
          ib: Any, b: Any, C: Any, c: Any, vectors: Any) -> Any:  # fmt: skip
    """C[c+i] += Σ_k A[ia[a+k], pick[p+i]] B[ib[b+k]] for i < rows, k < count, in ``vectors`` of columns."""
    word = types.int64
    signature = types.void(word, word, A, ia, word, pick, word, word, B, ib, word, C, word, word)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address_, count_, A_, ia_, a_, pick_, p_, rows_, B_, ib_, b_, C_, c_, vectors_ = args
        zero = ir.Constant(_WORD, 0)
        left, right, target = (
            _Array(context, builder, value, kind) for value, kind in ((A_, A), (B_, B), (C_, C))
        )
        take, entries, put = (
            _Array(context, builder, value, kind) for value, kind in ((ia_, ia), (pick_, pick), (ib_, ib))
        )
        width = ir.Constant(_WORD, VECTOR_BYTES // (A.dtype.bitwidth // 8))
        arguments = [count_, *left.matrix(zero), take.vector(a_), entries.data, p_, rows_, *right.matrix(zero)]
        arguments += [put.vector(b_), *target.matrix(c_), vectors_, width]
        return _call(context, builder, address_, arguments)

    return signature, codegen


@intrinsic  # type: ignore[untyped-decorator]
def advance(typing: Any, address: Any, X: Any, row: Any, B: Any, b: Any, inner: Any, Y: Any, to: Any,
            vectors: Any) -> Any:  # fmt: skip
    """Y[to] = Σ_k X[row, k] B[b+k]: one state; the smallest sizes are inlined, as a call would cost more."""
    word = types.int64
    signature = types.void(word, X, word, B, word, word, Y, word, word)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address_, X_, row_, B_, b_, inner_, Y_, to_, vectors_ = args
        zero, one = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)
        source, stride = _Array(context, builder, X_, X).matrix(row_)
        operator, width = _Array(context, builder, B_, B).matrix(b_)
        target, _ = _Array(context, builder, Y_, Y).matrix(to_)
        scalar = context.get_data_type(X.dtype)
        right = _Matrix(builder, operator, width)
        index = cgutils.alloca_once_value(builder, zero)
        done = builder.append_basic_block("advanced")
        other = builder.append_basic_block("call")
        switch = builder.switch(vectors_, other)
        for v in (1, 2):
            block = builder.append_basic_block(f"inline_{v}")
            switch.add_case(ir.Constant(_WORD, v), block)
            builder.position_at_end(block)
            _emit(
                _Tile(builder, scalar, 1, v),
                inner_,
                lambda k: [builder.load(builder.gep(source, [k]))],
                lambda k: right.at(k, zero),
                [target],
                ir.Constant(ir.IntType(1), 0),
            )
            builder.branch(done)
        builder.position_at_end(other)
        lanes_ = ir.Constant(_WORD, VECTOR_BYTES // (X.dtype.bitwidth // 8))
        every = ir.Constant(_WORD, -1)
        arguments = [one, source, stride, index, index, every, operator, width, inner_]
        arguments += [target, stride, index, vectors_, lanes_, zero]
        _call(context, builder, address_, arguments)
        builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing: Any, X: Any, row: Any) -> Any:
    """Ask for a row of X to be brought near: rows of a backward pass were written long ago."""
    signature = types.void(X, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        X_, row_ = args
        pointer, stride = _Array(context, builder, X_, X).matrix(row_)
        per_line = ir.Constant(_WORD, _LINE // (X.dtype.bitwidth // 8))
        kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(ir.IntType(8))] + [ir.IntType(32)] * 3)
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [ir.Constant(ir.IntType(32), number) for number in (0, 2, 1)]  # read, into the second level, data
        with cgutils.for_range_slice(builder, ir.Constant(_WORD, 0), stride, per_line, inc=True) as (j, _):
            line = builder.bitcast(builder.gep(pointer, [j]), ir.PointerType(ir.IntType(8)))
            builder.call(fetch, [line, *flags])
        return context.get_dummy_value()

    return signature, codegen
