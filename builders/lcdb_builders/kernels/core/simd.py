"""Numbers in lanes: thirty-two at once, in vector registers.

A small node of a tree has some ten rows, each of which is a candidate threshold. Loops over so few
are not vectorised by the compiler, or their counters live in memory, which costs more than the
arithmetic. Values of the type `Lanes` stay in registers: they are plain LLVM vectors, so every
processor can compute with them, in as many registers as it needs.

Lanes hold int32, uint16, float32, float64 or truth values. ``+ - * /``, ``>=``, ``<=``, ``==`` and
``&`` work lane by lane. With ``NUMBA_DISABLE_JIT=1`` lanes are NumPy arrays.
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

__all__ = [
    "COPIES",
    "LANES",
    "as_bits",
    "as_float",
    "as_integer",
    "choose",
    "largest",
    "load",
    "marks",
    "of_bits",
    "repeat",
    "spread",
    "store",
    "total",
    "truth_of",
    "weight_of",
    "weight_up_to",
    "zeros",
]

LANES = 32
# Copies that `repeat` writes.
COPIES = 8

if config.DISABLE_JIT:

    def load(array, first):
        """Return the elements at..at+31 of a contiguous array."""
        return array[first : first + LANES].copy()

    def store(lanes, array, first):
        """Write lanes to the elements at..at+31 of an array of their type."""
        array[first : first + LANES] = lanes

    def repeat(number, array, first):
        """Write a number, of the array's type, to the elements at..at+7."""
        array[first : first + COPIES] = number

    def spread(number, lanes):
        """Return a number in all lanes, as the type of `lanes`."""
        return np.full(LANES, number, lanes.dtype)

    def zeros(number):
        """Return lanes of 0 of the type of a number."""
        return np.zeros(LANES, number.dtype)

    def as_integer(lanes):
        """Return uint16 or int32 lanes as int32."""
        return lanes.astype(np.int32)

    def as_float(lanes):
        """Return uint16 or int32 lanes as float32."""
        return lanes.astype(np.float32)

    def as_bits(lanes):
        """Return the bits of float32 lanes as int32; those of positive numbers are ordered."""
        return lanes.view(np.int32)

    def of_bits(number):
        """Return the float32 of which an int32 holds the bits."""
        return np.int32(number).view(np.float32)

    def choose(truth, yes, no):
        """Return `yes` where `truth`, else `no`."""
        return np.where(truth, yes, no)

    def largest(lanes):
        """Return the largest of int32 lanes."""
        return lanes.max()

    def total(lanes):
        """Return the sum of uint16 lanes, which must stay below 65536."""
        return lanes.sum(dtype=np.uint16)

    def marks(truth):
        """Return 32 bits, one per lane of truth values."""
        return np.uint32(sum(1 << i for i in range(LANES) if truth[i]))

    def truth_of(bits):
        """Return truth values, one per bit."""
        return (int(bits) >> np.arange(LANES)) % 2 == 1

    def weight_up_to(values, weights, first, stop, limits):
        """Return the sums of ``weights[first:stop]`` where ``values <= limit``, by lane."""
        below = values[first:stop, None] <= limits
        return (below * weights[first:stop, None]).sum(axis=0).astype(np.int32)

    def weight_of(values, weights, first, bits, limits):
        """Return the sums of marked ``weights`` where ``values[at:] <= limit``, by lane."""
        chosen = np.flatnonzero(truth_of(bits))
        below = values[first + chosen, None] <= limits
        return (below * weights[chosen, None]).sum(axis=0).astype(np.uint16)

else:

    class Lanes(types.Type):
        """Thirty-two numbers of one type, or truth values."""

        def __init__(self, of: types.Type) -> None:
            self.of = of
            super().__init__(f"lanes({of})")

    INTEGERS, CODES = Lanes(types.int32), Lanes(types.uint16)
    FLOATS, TRUTHS = Lanes(types.float32), Lanes(types.boolean)
    DOUBLES = Lanes(types.float64)
    _LLVM = {
        types.int32: ir.IntType(32),
        types.uint16: ir.IntType(16),
        types.float32: ir.FloatType(),
        types.float64: ir.DoubleType(),
        types.boolean: ir.IntType(1),
    }

    def _vector(lanes: Lanes) -> ir.VectorType:
        return ir.VectorType(_LLVM[lanes.of], LANES)

    @register_model(Lanes)
    class _LanesModel(PrimitiveModel):
        def __init__(self, dmm: Any, fe_type: Lanes) -> None:
            super().__init__(dmm, fe_type, _vector(fe_type))

    def _address(context, builder, typ, array, index, width):
        """Pointer to an element of a contiguous array, for so many lanes."""
        data = context.make_array(typ)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [index]), width.as_pointer())

    def _in_all_lanes(builder, scalar, lanes=LANES):
        """Vector of one scalar."""
        unset = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
        places = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        single = builder.insert_element(unset, scalar, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(single, unset, places)

    @intrinsic
    def load(typingctx, array, first):
        """Return the elements at..at+31 of a contiguous array."""
        result = Lanes(array.dtype)

        def codegen(context, builder, signature, args):
            width = _vector(result)
            pointer = _address(context, builder, signature.args[0], args[0], args[1], width)
            loaded = builder.load(pointer)
            loaded.align = array.dtype.bitwidth // 8
            return loaded

        return result(array, types.intp), codegen

    @intrinsic
    def store(typingctx, lanes, array, first):
        """Write lanes to the elements at..at+31 of an array of their type."""

        def codegen(context, builder, signature, args):
            width = _vector(lanes)
            pointer = _address(context, builder, signature.args[1], args[1], args[2], width)
            builder.store(args[0], pointer).align = array.dtype.bitwidth // 8
            return context.get_dummy_value()

        return types.void(lanes, array, types.intp), codegen

    @intrinsic
    def repeat(typingctx, number, array, first):
        """Write a number, of the array's type, to the elements at..at+7."""

        def codegen(context, builder, signature, args):
            copies = _in_all_lanes(builder, args[0], COPIES)
            pointer = _address(context, builder, signature.args[1], args[1], args[2], copies.type)
            builder.store(copies, pointer).align = array.dtype.bitwidth // 8
            return context.get_dummy_value()

        return types.void(array.dtype, array, types.intp), codegen

    @intrinsic
    def spread(typingctx, number, lanes):
        """Return a number in all lanes, as the type of `lanes`."""

        def codegen(context, builder, signature, args):
            return _in_all_lanes(builder, args[0])

        return lanes(lanes.of, lanes), codegen

    @intrinsic
    def zeros(typingctx, number):
        """Return lanes of 0 of the type of a number."""
        result = Lanes(number)

        def codegen(context, builder, signature, args):
            return ir.Constant(_vector(result), [0] * LANES)

        return result(number), codegen

    @intrinsic
    def as_integer(typingctx, lanes):
        """Return uint16 or int32 lanes as int32."""

        def codegen(context, builder, signature, args):
            return args[0] if lanes == INTEGERS else builder.zext(args[0], _vector(INTEGERS))

        return INTEGERS(lanes), codegen

    @intrinsic
    def as_float(typingctx, lanes):
        """Return uint16 or int32 lanes as float32."""

        def codegen(context, builder, signature, args):
            convert = builder.sitofp if lanes == INTEGERS else builder.uitofp
            return convert(args[0], _vector(FLOATS))

        return FLOATS(lanes), codegen

    @intrinsic
    def as_bits(typingctx, lanes):
        """Return the bits of float32 lanes as int32; those of positive numbers are ordered."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], _vector(INTEGERS))

        return INTEGERS(FLOATS), codegen

    @intrinsic
    def of_bits(typingctx, number):
        """Return the float32 of which an int32 holds the bits."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], ir.FloatType())

        return types.float32(types.int32), codegen

    @intrinsic
    def choose(typingctx, truth, yes, no):
        """Return `yes` where `truth`, else `no`."""

        def codegen(context, builder, signature, args):
            return builder.select(*args)

        return yes(TRUTHS, yes, yes), codegen

    @intrinsic
    def largest(typingctx, lanes):
        """Return the largest of int32 lanes."""

        def codegen(context, builder, signature, args):
            kind = ir.FunctionType(ir.IntType(32), [_vector(INTEGERS)])
            name = f"llvm.vector.reduce.smax.v{LANES}i32"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        return types.int32(INTEGERS), codegen

    @intrinsic
    def total(typingctx, lanes):
        """Return the sum of uint16 lanes, which must stay below 65536."""

        def codegen(context, builder, signature, args):
            kind = ir.FunctionType(ir.IntType(16), [_vector(CODES)])
            name = f"llvm.vector.reduce.add.v{LANES}i16"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        return types.uint16(CODES), codegen

    @intrinsic
    def truth_of(typingctx, bits):
        """Return truth values, one per bit."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], _vector(TRUTHS))

        return TRUTHS(types.uint32), codegen

    @intrinsic
    def marks(typingctx, truth):
        """Return 32 bits, one per lane of truth values."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], ir.IntType(LANES))

        return types.uint32(TRUTHS), codegen

    @intrinsic
    def weight_up_to(typingctx, values, weights, first, stop, limits):
        """Return the sums of ``weights[first:stop]`` where ``values <= limit``, by lane.

        Arrays and limits are uint16, sums int32; they must stay below 65536.
        """
        signature = INTEGERS(values, weights, types.intp, types.intp, CODES)

        def codegen(context, builder, signature, args):
            sums = _Sums(context, builder, signature.args[:2], args[:2], args[4])
            one = ir.Constant(args[2].type, 1)
            with cgutils.for_range_slice(builder, args[2], args[3], one) as (j, _):
                sums.add(j, j)
            return builder.zext(sums.result(), _vector(INTEGERS))

        return signature, codegen

    @intrinsic
    def weight_of(typingctx, values, weights, first, bits, limits):
        """Return the sums of marked ``weights`` where ``values[at:] <= limit``, by lane.

        Arrays, limits and sums are uint16.
        """
        signature = CODES(values, weights, types.intp, types.uint32, CODES)

        def codegen(context, builder, signature, args):
            sums = _Sums(context, builder, signature.args[:2], args[:2], args[4])
            word = ir.IntType(32)
            one, none = ir.Constant(word, 1), ir.Constant(word, 0)
            left = cgutils.alloca_once_value(builder, args[3])
            again, done = builder.append_basic_block("again"), builder.append_basic_block("done")
            builder.cbranch(builder.icmp_unsigned("!=", args[3], none), again, done)
            builder.position_at_end(again)
            bits = builder.load(left)
            j = builder.zext(builder.cttz(bits, ir.Constant(ir.IntType(1), 1)), args[2].type)
            sums.add(builder.add(args[2], j), j)
            bits = builder.and_(bits, builder.sub(bits, one))
            builder.store(bits, left)
            builder.cbranch(builder.icmp_unsigned("!=", bits, none), again, done)
            builder.position_at_end(done)
            return sums.result()

        return signature, codegen

    class _Sums:
        """Code that adds weights to the lanes whose limit is not exceeded."""

        def __init__(self, context, builder, kinds, arrays, limits) -> None:
            self.builder, self.limits = builder, limits
            self.data = [
                context.make_array(kind)(context, builder, array).data
                for kind, array in zip(kinds, arrays, strict=True)
            ]
            self.zero = ir.Constant(_vector(CODES), [0] * LANES)
            self.total = cgutils.alloca_once_value(builder, self.zero)

        def add(self, value_at, weight_at):
            """Add one weight where its value is not above the limit."""
            b = self.builder
            value, weight = (
                _in_all_lanes(b, b.load(b.gep(data, [first])))
                for data, first in zip(self.data, (value_at, weight_at), strict=True)
            )
            kept = b.select(b.icmp_unsigned("<=", value, self.limits), weight, self.zero)
            b.store(b.add(b.load(self.total), kept), self.total)

        def result(self):
            """Return the sums."""
            return self.builder.load(self.total)

    def _operation(symbol, of_integers, of_floats, result=None, of_codes=None):
        """Make an operator work on lanes of one type; `result` if it is not that type."""

        @intrinsic
        def operation(typingctx, a, b):
            methods = {FLOATS: of_floats, DOUBLES: of_floats, CODES: of_codes or of_integers}
            method = methods.get(a, of_integers)

            def codegen(context, builder, signature, args):
                return method(builder, *args)

            return (result or a)(a, b), codegen

        @overload(symbol)
        def overloaded(a, b):
            if isinstance(a, Lanes) and a == b:
                return lambda a, b: operation(a, b)
            return None

    _operation(operator.add, ir.IRBuilder.add, ir.IRBuilder.fadd)
    _operation(operator.sub, ir.IRBuilder.sub, ir.IRBuilder.fsub)
    _operation(operator.mul, ir.IRBuilder.mul, ir.IRBuilder.fmul)
    _operation(operator.truediv, None, ir.IRBuilder.fdiv)
    _operation(operator.and_, ir.IRBuilder.and_, None)
    _operation(operator.rshift, None, None, None, ir.IRBuilder.lshr)

    def _comparison(text):
        def of_integers(builder, a, b):
            return builder.icmp_signed(text, a, b)

        def of_floats(builder, a, b):
            return builder.fcmp_ordered(text, a, b)

        def of_codes(builder, a, b):
            return builder.icmp_unsigned(text, a, b)

        return of_integers, of_floats, TRUTHS, of_codes

    _operation(operator.ge, *_comparison(">="))
    _operation(operator.le, *_comparison("<="))
    _operation(operator.eq, *_comparison("=="))
