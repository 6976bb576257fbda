"""Eight float64 at once, in a vector register, and functions that take them as they take numbers.

Agents run eight lifetimes in step, or eight features of one. Loops over eight elements of arrays
are not reliably vectorised by the compiler; values of the type `Vector` stay in registers. They are
plain LLVM vectors, so every processor computes with them, and every lane has the very bits that a
number would have: nothing is reassociated, and fused operations are explicit (`fma`).

``+ - * /`` and comparisons work lane by lane, also with a number on one side; comparisons give
truth values, which ``&`` and ``~`` combine. `choose`, `fma`, `root` and `power_of_two` take numbers
or vectors alike. With ``NUMBA_DISABLE_JIT=1`` vectors are NumPy arrays.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, overload, register_model

from lcdb_builders.kernels.core.jit import kernel

__all__ = [
    "LANES",
    "choose",
    "fma",
    "load",
    "marks",
    "power_of_two",
    "root",
    "rows_of_lanes",
    "spread",
    "store",
    "total",
]

LANES = 8
ONE_BITS = 1023 << 52

if config.DISABLE_JIT:

    def load(array, row):
        """Return the eight elements of a row (of a flat array: from ``8 * row`` on)."""
        return array.reshape(-1, LANES)[row].copy()

    def store(vector, array, row):
        """Write a vector to where `load` would read it."""
        array.reshape(-1, LANES)[row] = vector

    def spread(number):
        """Return a number in all lanes."""
        return np.full(LANES, float(number))

    def choose(truth, yes, no):
        """Return `yes` where `truth`, else `no`."""
        return np.where(truth, yes, no)[()]

    def fma(a, b, c):
        """Return ``a * b + c``."""
        return a * b + c

    def root(x):
        """Return the square root."""
        return np.sqrt(x)

    def power_of_two(shifted):
        """Return 2**k for the k that was added to ``1.5 * 2**52``."""
        return np.exp2(shifted - 1.5 * 2.0**52)

    def total(vector):
        """Return the sum of the lanes: halves upon halves."""
        half = vector[:4] + vector[4:]
        quarter = half[:2] + half[2:]
        return quarter[0] + quarter[1]

    def marks(truths):
        """Return eight bits, one per lane of truth values."""
        return sum(1 << i for i in range(LANES) if truths[i])

else:

    class Lanes(types.Type):
        """Eight numbers, or eight truth values."""

        def __init__(self, of: types.Type) -> None:
            self.of = of
            super().__init__(f"eight({of})")

    VECTOR, TRUTHS = Lanes(types.float64), Lanes(types.boolean)
    DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
    BITS = ir.VectorType(ir.IntType(1), LANES)

    @register_model(Lanes)
    class _LanesModel(PrimitiveModel):
        def __init__(self, dmm: Any, fe_type: Lanes) -> None:
            super().__init__(dmm, fe_type, DOUBLES if fe_type == VECTOR else BITS)

    def _in_all_lanes(builder, scalar):
        """Vector of one scalar."""
        unset = ir.Constant(ir.VectorType(scalar.type, LANES), ir.Undefined)
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        single = builder.insert_element(unset, scalar, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(single, unset, places)

    def _is_number(kind) -> bool:
        return kind == VECTOR or isinstance(kind, types.Float)

    def _widest(*kinds):
        """Type of a result: a vector if any operand is one."""
        return VECTOR if VECTOR in kinds else types.float64

    def _alike(builder, wanted, kinds, args):
        """Operands as `wanted`: numbers beside a vector are spread."""
        return [
            _in_all_lanes(builder, arg) if wanted == VECTOR and kind != VECTOR else arg
            for kind, arg in zip(kinds, args, strict=True)
        ]

    def _address(context, builder, kind, array, row):
        """Pointer to eight elements of a contiguous array."""
        data = context.make_array(kind)(context, builder, array).data
        first = builder.mul(row, ir.Constant(row.type, LANES))
        return builder.bitcast(builder.gep(data, [first]), DOUBLES.as_pointer())

    @intrinsic
    def load(typingctx, array, row):
        """Return the eight elements of a row (of a flat array: from ``8 * row`` on)."""

        def codegen(context, builder, signature, args):
            loaded = builder.load(_address(context, builder, signature.args[0], *args))
            loaded.align = 8
            return loaded

        return VECTOR(array, types.intp), codegen

    @intrinsic
    def store(typingctx, vector, array, row):
        """Write a vector to where `load` would read it."""

        def codegen(context, builder, signature, args):
            pointer = _address(context, builder, signature.args[1], args[1], args[2])
            builder.store(args[0], pointer).align = 8
            return context.get_dummy_value()

        return types.void(VECTOR, array, types.intp), codegen

    @intrinsic
    def spread(typingctx, number):
        """Return a number in all lanes."""

        def codegen(context, builder, signature, args):
            return _in_all_lanes(builder, args[0])

        return VECTOR(types.float64), codegen

    @intrinsic
    def choose(typingctx, truth, yes, no):
        """Return `yes` where `truth`, else `no`."""
        result = VECTOR if truth == TRUTHS else _widest(yes, no)

        def codegen(context, builder, signature, args):
            kinds = signature.args[1:]
            return builder.select(args[0], *_alike(builder, result, kinds, args[1:]))

        kinds = (kind if kind == VECTOR else types.float64 for kind in (yes, no))
        return result(truth, *kinds), codegen

    @intrinsic
    def fma(typingctx, a, b, c):
        """Return ``a * b + c`` rounded once."""
        result = _widest(a, b, c)

        def codegen(context, builder, signature, args):
            values = _alike(builder, result, signature.args, args)
            if result != VECTOR:
                return builder.fma(*values)
            kind = ir.FunctionType(DOUBLES, [DOUBLES] * 3)
            name = f"llvm.fma.v{LANES}f64"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)

        kinds = (kind if kind == VECTOR else types.float64 for kind in (a, b, c))
        return result(*kinds), codegen

    @intrinsic
    def root(typingctx, x):
        """Return the square root."""
        result = _widest(x)

        def codegen(context, builder, signature, args):
            value = args[0]
            name = f"llvm.sqrt.v{LANES}f64" if result == VECTOR else "llvm.sqrt.f64"
            kind = ir.FunctionType(value.type, [value.type])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [value])

        return result(result), codegen

    @intrinsic
    def power_of_two(typingctx, shifted):
        """Return 2**k for the k that was added to ``1.5 * 2**52``."""
        result = _widest(shifted)

        def codegen(context, builder, signature, args):
            word = ir.IntType(64)
            if result == VECTOR:
                word = ir.VectorType(word, LANES)
            many = [52] * LANES, [ONE_BITS] * LANES
            shift, one = many if result == VECTOR else (52, ONE_BITS)
            bits = builder.shl(builder.bitcast(args[0], word), ir.Constant(word, shift))
            return builder.bitcast(builder.add(bits, ir.Constant(word, one)), args[0].type)

        return result(result), codegen

    @intrinsic
    def total(typingctx, vector):
        """Return the sum of the lanes: halves upon halves."""

        def codegen(context, builder, signature, args):
            value = args[0]
            for width in (4, 2, 1):
                unset = ir.Constant(value.type, ir.Undefined)
                halves = (
                    builder.shuffle_vector(
                        value, unset,
                        ir.Constant(ir.VectorType(ir.IntType(32), width), list(places)),
                    )
                    for places in (range(width), range(width, 2 * width))
                )  # fmt: skip
                value = builder.fadd(*halves)
            return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

        return types.float64(VECTOR), codegen

    @intrinsic
    def marks(typingctx, truths):
        """Return eight bits, one per lane of truth values."""

        def codegen(context, builder, signature, args):
            bits = builder.bitcast(args[0], ir.IntType(LANES))
            return builder.zext(bits, ir.IntType(64))

        return types.int64(TRUTHS), codegen

    def _arithmetic(symbol, method):
        """Make an operator work on vectors, and on a vector and a number."""

        @intrinsic
        def operation(typingctx, a, b):
            def codegen(context, builder, signature, args):
                return method(builder, *_alike(builder, VECTOR, signature.args, args))

            kinds = (kind if kind == VECTOR else types.float64 for kind in (a, b))
            return (TRUTHS if symbol in _COMPARISONS else VECTOR)(*kinds), codegen

        @overload(symbol)
        def overloaded(a, b):
            if VECTOR in (a, b) and _is_number(a) and _is_number(b):
                return lambda a, b: operation(a, b)
            return None

    _COMPARISONS = {
        operator.lt: "<",
        operator.le: "<=",
        operator.gt: ">",
        operator.ge: ">=",
        operator.eq: "==",
    }

    def _comparison(text):
        return lambda builder, a, b: builder.fcmp_ordered(text, a, b)

    _arithmetic(operator.add, ir.IRBuilder.fadd)
    _arithmetic(operator.sub, ir.IRBuilder.fsub)
    _arithmetic(operator.mul, ir.IRBuilder.fmul)
    _arithmetic(operator.truediv, ir.IRBuilder.fdiv)
    for _symbol, _text in _COMPARISONS.items():
        _arithmetic(_symbol, _comparison(_text))

    @intrinsic
    def _negative(typingctx, x):
        def codegen(context, builder, signature, args):
            return builder.fneg(args[0])

        return VECTOR(VECTOR), codegen

    @intrinsic
    def _both(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return builder.and_(*args)

        return TRUTHS(TRUTHS, TRUTHS), codegen

    @intrinsic
    def _not(typingctx, a):
        def codegen(context, builder, signature, args):
            return builder.not_(args[0])

        return TRUTHS(TRUTHS), codegen

    @overload(operator.neg)
    def _overloaded_negative(x):
        return (lambda x: _negative(x)) if x == VECTOR else None

    @overload(operator.and_)
    def _overloaded_both(a, b):
        return (lambda a, b: _both(a, b)) if a == b == TRUTHS else None

    @overload(operator.invert)
    def _overloaded_not(a):
        return (lambda a: _not(a)) if a == TRUTHS else None


@kernel
def rows_of_lanes(rows):
    """Return zeros (rows, 8) of which each row is one line of the processor's cache."""
    raw = np.zeros((rows + 1) * LANES)
    shift = -raw.ctypes.data % (8 * LANES) // 8
    return raw[shift : shift + rows * LANES].reshape(rows, LANES)
