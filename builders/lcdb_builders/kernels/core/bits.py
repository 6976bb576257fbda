"""Sets of small integers in the bits of words."""

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

__all__ = ["bit_count", "lowest_bit"]

if config.DISABLE_JIT:

    def bit_count(word):
        """Return the number of bits that are set."""
        return int(word).bit_count()

    def lowest_bit(word):
        """Return the place of the lowest bit that is set; `word` must not be 0."""
        return (int(word) & -int(word)).bit_length() - 1

else:

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
