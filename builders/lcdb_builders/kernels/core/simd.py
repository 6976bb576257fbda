"""Numbers in lanes: thirty-two at once, or eight, in vector registers.

A small node of a tree has some ten rows, each of which is a candidate threshold. Loops over so few
are not vectorised by the compiler, or their counters live in memory, which costs more than the
arithmetic. Values of the type `Lanes` stay in registers: they are plain LLVM vectors, so every
processor can compute with them, in as many registers as it needs, and every lane has the very bits
that a number would have: nothing is reassociated, and fused operations are explicit (`fma`).

Thirty-two lanes hold int32, uint16, float32, float64 or truth values; eight hold float64, and
beside these a number stands in all lanes. ``+ - * /``, comparisons and ``&`` work lane by lane, of
truth values ``~`` too. `choose`, `fma`, `root` and `power_of_two` take lanes or numbers. `marks` of
lanes are the bits of a word, for `bit_count` and `lowest_bit`. With ``NUMBA_DISABLE_JIT=1`` lanes
are NumPy arrays.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.lanes import (
    CODES,
    DOUBLES,
    EIGHT,
    FLOATS,
    INTEGERS,
    LANES,
    TRUTHS,
    WORD,
    Lanes,
    accepted,
    alike,
    broadcast,
    call,
    emit,
    read,
    suffix,
    vector,
    widest,
    write,
)

__all__ = [
    "COPIES",
    "EIGHT",
    "LANES",
    "as_bits",
    "as_float",
    "as_integer",
    "bit_count",
    "choose",
    "eight",
    "fma",
    "largest",
    "load",
    "load_eight",
    "lowest_bit",
    "marks",
    "of_bits",
    "power_of_two",
    "repeat",
    "root",
    "rows_of_eight",
    "spread",
    "store",
    "store_eight",
    "total",
    "truth_of",
    "zeros",
]

# Copies that `repeat` writes.
COPIES = 8
ONE_BITS = 1023 << 52

if config.DISABLE_JIT:

    def load(array, first):
        """Return the elements first..first+31 of a contiguous array."""
        return array[first : first + LANES].copy()

    def store(lanes, array, first):
        """Write lanes to the elements first..first+31 of an array of their type."""
        array[first : first + LANES] = lanes

    def load_eight(array, row):
        """Return the eight elements of a row (of a flat array: from ``8 * row`` on)."""
        return array.reshape(-1, EIGHT)[row].copy()

    def store_eight(lanes, array, row):
        """Write eight lanes to where `load_eight` would read them."""
        array.reshape(-1, EIGHT)[row] = lanes

    def repeat(number, array, first):
        """Write a number, of the array's type, to the elements first..first+7."""
        array[first : first + COPIES] = number

    def spread(number, lanes):
        """Return a number in all lanes, as the type of `lanes`."""
        return np.full(len(lanes), number, lanes.dtype)

    def eight(number):
        """Return a number in eight lanes of float64."""
        return np.full(EIGHT, float(number))

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

    def largest(lanes):
        """Return the largest of int32 lanes."""
        return lanes.max()

    def total(lanes):
        """Return the sum, halves upon halves; of uint16 it must stay below 65536."""
        while len(lanes) > 1:
            lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
        return lanes[0]

    def marks(truth):
        """Return a bit for each lane of truth values."""
        return np.uint32(sum(1 << i for i in range(len(truth)) if truth[i]))

    def truth_of(bits):
        """Return truth values, one for each of 32 bits."""
        return (int(bits) >> np.arange(LANES)) % 2 == 1

    def bit_count(word):
        """Return the number of bits that are set."""
        return int(word).bit_count()

    def lowest_bit(word):
        """Return the place of the lowest bit that is set; `word` must not be 0."""
        return (int(word) & -int(word)).bit_length() - 1

else:
    # -- memory --------------------------------------------------------------------------------

    @intrinsic
    def load(typingctx, array, first):
        """Return the elements first..first+31 of a contiguous array."""
        result = Lanes(array.dtype)
        return result(array, types.intp), read(result)

    @intrinsic
    def store(typingctx, lanes, array, first):
        """Write lanes to the elements first..first+31 of an array of their type."""
        return types.void(lanes, array, types.intp), write()

    @intrinsic
    def load_eight(typingctx, array, row):
        """Return the eight elements of a row (of a flat array: from ``8 * row`` on)."""
        return DOUBLES(array, types.intp), read(DOUBLES, EIGHT)

    @intrinsic
    def store_eight(typingctx, lanes, array, row):
        """Write eight lanes to where `load_eight` would read them."""
        return types.void(DOUBLES, array, types.intp), write(step=EIGHT)

    @intrinsic
    def repeat(typingctx, number, array, first):
        """Write a number, of the array's type, to the elements first..first+7."""
        return types.void(array.dtype, array, types.intp), write(COPIES)

    @intrinsic
    def spread(typingctx, number, lanes):
        """Return a number in all lanes, as the type of `lanes`."""
        code = emit(lambda builder, scalar, _: broadcast(builder, scalar, lanes.count))
        return lanes(lanes.of, lanes), code

    @intrinsic
    def eight(typingctx, number):
        """Return a number in eight lanes of float64."""
        return DOUBLES(types.float64), emit(lambda builder, a: broadcast(builder, a, EIGHT))

    @intrinsic
    def zeros(typingctx, number):
        """Return lanes of 0 of the type of a number."""
        result = Lanes(number)
        none = ir.Constant(vector(result), [0] * LANES)
        return result(number), emit(lambda builder, _: none)

    # -- conversions ---------------------------------------------------------------------------

    @intrinsic
    def as_integer(typingctx, lanes):
        """Return uint16 or int32 lanes as int32."""
        wide = vector(INTEGERS)
        return INTEGERS(lanes), emit(
            lambda builder, a: a if lanes == INTEGERS else builder.zext(a, wide)
        )

    @intrinsic
    def as_float(typingctx, lanes):
        """Return uint16 or int32 lanes as float32."""
        convert = ir.IRBuilder.sitofp if lanes == INTEGERS else ir.IRBuilder.uitofp
        return FLOATS(lanes), emit(lambda builder, a: convert(builder, a, vector(FLOATS)))

    @intrinsic
    def as_bits(typingctx, lanes):
        """Return the bits of float32 lanes as int32; those of positive numbers are ordered."""
        return INTEGERS(FLOATS), emit(lambda builder, a: builder.bitcast(a, vector(INTEGERS)))

    @intrinsic
    def of_bits(typingctx, number):
        """Return the float32 of which an int32 holds the bits."""
        code = emit(lambda builder, a: builder.bitcast(a, ir.FloatType()))
        return types.float32(types.int32), code

    @intrinsic
    def truth_of(typingctx, bits):
        """Return truth values, one for each of 32 bits."""
        code = emit(lambda builder, a: builder.bitcast(a, vector(TRUTHS)))
        return TRUTHS(types.uint32), code

    @intrinsic
    def marks(typingctx, truth):
        """Return a bit for each lane of truth values."""

        def instruction(builder, a):
            bits = builder.bitcast(a, ir.IntType(truth.count))
            return bits if truth.count == LANES else builder.zext(bits, WORD)

        return types.uint32(truth), emit(instruction)

    # -- arithmetic ----------------------------------------------------------------------------

    @intrinsic
    def choose(typingctx, truth, yes, no):
        """Return `yes` where `truth`, else `no`."""
        result = widest(yes, no)
        if isinstance(truth, Lanes) and not isinstance(result, Lanes):
            result = Lanes(result, truth.count)

        def instruction(builder, truth, *args):
            return builder.select(truth, *alike(builder, result, args))

        return result(truth, *accepted(result, (yes, no))), emit(instruction)

    @intrinsic
    def fma(typingctx, a, b, c):
        """Return ``a * b + c`` rounded once."""
        result = widest(a, b, c)

        def instruction(builder, *args):
            args = alike(builder, result, args)
            return call(builder, f"llvm.fma.{suffix(result)}", args[0].type, *args)

        return result(*accepted(result, (a, b, c))), emit(instruction)

    @intrinsic
    def root(typingctx, x):
        """Return the square root."""
        result = widest(x)
        name = f"llvm.sqrt.{suffix(result)}"
        return result(result), emit(lambda builder, a: call(builder, name, a.type, a))

    @intrinsic
    def power_of_two(typingctx, shifted):
        """Return 2**k for the k that was added to ``1.5 * 2**52``."""
        result = widest(shifted)

        def instruction(builder, a):
            word, shift, one = ir.IntType(64), 52, ONE_BITS
            if isinstance(result, Lanes):
                word = ir.VectorType(word, result.count)
                shift, one = [shift] * result.count, [one] * result.count
            bits = builder.shl(builder.bitcast(a, word), ir.Constant(word, shift))
            return builder.bitcast(builder.add(bits, ir.Constant(word, one)), a.type)

        return result(result), emit(instruction)

    @intrinsic
    def largest(typingctx, lanes):
        """Return the largest of int32 lanes."""
        name = f"llvm.vector.reduce.smax.v{LANES}i32"
        return types.int32(INTEGERS), emit(lambda builder, a: call(builder, name, WORD, a))

    @intrinsic
    def total(typingctx, lanes):
        """Return the sum, halves upon halves; of uint16 it must stay below 65536."""

        def of_codes(builder, a):
            return call(builder, f"llvm.vector.reduce.add.v{LANES}i16", ir.IntType(16), a)

        def of_doubles(builder, a):
            width = lanes.count // 2
            while width:
                unset = ir.Constant(a.type, ir.Undefined)
                kind = ir.VectorType(WORD, width)
                halves = (
                    builder.shuffle_vector(a, unset, ir.Constant(kind, [*range(i, i + width)]))
                    for i in (0, width)
                )
                a = builder.fadd(*halves)
                width //= 2
            return builder.extract_element(a, ir.Constant(WORD, 0))

        return lanes.of(lanes), emit(of_codes if lanes == CODES else of_doubles)

    # -- bits of words -------------------------------------------------------------------------

    @intrinsic
    def bit_count(typingctx, word):
        """Return the number of bits that are set."""

        def codegen(context, builder, signature, args):
            count = builder.ctpop(args[0])
            return context.cast(builder, count, signature.args[0], signature.return_type)

        return types.uint64(word), codegen

    @intrinsic
    def lowest_bit(typingctx, word):
        """Return the place of the lowest bit that is set; `word` must not be 0."""

        def codegen(context, builder, signature, args):
            count = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
            return context.cast(builder, count, signature.args[0], signature.return_type)

        return types.uint64(word), codegen


@kernel
def rows_of_eight(rows):
    """Return zeros (rows, 8) of which each row is one line of the processor's cache."""
    raw = np.zeros((rows + 1) * EIGHT)
    shift = -raw.ctypes.data % (8 * EIGHT) // 8
    return raw[shift : shift + rows * EIGHT].reshape(rows, EIGHT)
