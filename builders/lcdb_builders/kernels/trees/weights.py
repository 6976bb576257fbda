"""Sums of weights by lane: how much of a node lies on the left of each of 32 candidates."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from lcdb_builders.kernels.core.lanes import CODES, INTEGERS, LANES, WORD, broadcast, vector
from lcdb_builders.kernels.core.simd import truth_of

__all__ = ["weight_of", "weight_up_to"]

if config.DISABLE_JIT:

    def weight_up_to(values, weights, first, stop, limits):
        """Return the sums of ``weights[first:stop]`` where ``values <= limit``, by lane."""
        below = values[first:stop, None] <= limits
        return (below * weights[first:stop, None]).sum(axis=0).astype(np.int32)

    def weight_of(values, weights, first, bits, limits):
        """Return the sums of marked ``weights`` where ``values[first:] <= limit``, by lane."""
        chosen = np.flatnonzero(truth_of(bits))
        below = values[first + chosen, None] <= limits
        return (below * weights[chosen, None]).sum(axis=0).astype(np.uint16)

else:

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
            return builder.zext(sums.result(), vector(INTEGERS))

        return signature, codegen

    @intrinsic
    def weight_of(typingctx, values, weights, first, bits, limits):
        """Return the sums of marked ``weights`` where ``values[first:] <= limit``, by lane.

        Arrays, limits and sums are uint16.
        """
        signature = CODES(values, weights, types.intp, types.uint32, CODES)

        def codegen(context, builder, signature, args):
            sums = _Sums(context, builder, signature.args[:2], args[:2], args[4])
            one, none = ir.Constant(WORD, 1), ir.Constant(WORD, 0)
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
            self.zero = ir.Constant(vector(CODES), [0] * LANES)
            self.total = cgutils.alloca_once_value(builder, self.zero)

        def add(self, value_at, weight_at):
            """Add one weight where its value is not above the limit."""
            b = self.builder
            value, weight = (
                broadcast(b, b.load(b.gep(data, [first])), LANES)
                for data, first in zip(self.data, (value_at, weight_at), strict=True)
            )
            kept = b.select(b.icmp_unsigned("<=", value, self.limits), weight, self.zero)
            b.store(b.add(b.load(self.total), kept), self.total)

        def result(self):
            """Return the sums."""
            return self.builder.load(self.total)
