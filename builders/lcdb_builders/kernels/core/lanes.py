"""The type of numbers in lanes, for the compiler: LLVM's vectors, their code and their operators.

`lcdb_builders.kernels.core.simd` has what kernels call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, overload, register_model

__all__ = [
    "CODES",
    "DOUBLES",
    "EIGHT",
    "FLOATS",
    "INTEGERS",
    "LANES",
    "TRUTHS",
    "WORD",
    "Lanes",
    "accepted",
    "alike",
    "broadcast",
    "call",
    "emit",
    "read",
    "suffix",
    "vector",
    "widest",
    "write",
]

LANES, EIGHT = 32, 8


class Lanes(types.Type):
    """Numbers of one type, or truth values, in so many lanes."""

    def __init__(self, of: types.Type, count: int = LANES) -> None:
        self.of, self.count = of, count
        super().__init__(f"lanes({of}, {count})")


INTEGERS, CODES = Lanes(types.int32), Lanes(types.uint16)
FLOATS, TRUTHS = Lanes(types.float32), Lanes(types.boolean)
DOUBLES = Lanes(types.float64, EIGHT)
_LLVM = {
    types.int32: ir.IntType(32),
    types.uint16: ir.IntType(16),
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.boolean: ir.IntType(1),
}
WORD = ir.IntType(32)


def vector(lanes: Lanes) -> ir.VectorType:
    """Return LLVM's type of lanes."""
    return ir.VectorType(_LLVM[lanes.of], lanes.count)


@register_model(Lanes)
class _LanesModel(PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Lanes) -> None:
        super().__init__(dmm, fe_type, vector(fe_type))


# -- code ------------------------------------------------------------------------------------------


def emit(instruction: Callable) -> Callable:
    """Return what Numba asks for, from ``instruction(builder, *args)``."""
    return lambda context, builder, signature, args: instruction(builder, *args)


def call(builder, name, result, *args):
    """Call a function of LLVM."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def suffix(kind) -> str:
    """Name of a type of float64 in the names of LLVM's functions."""
    return f"v{kind.count}f64" if isinstance(kind, Lanes) else "f64"


def _pointer(context, builder, kind, array, index, width):
    """Pointer to a vector at an element of a contiguous array, and its alignment.

    Parameters
    ----------
    context, builder
        Numba's, and LLVM's.
    kind, array, index
        Numba's type of the array, the array, and which element.
    width
        LLVM's type of the vector.

    Returns
    -------
    address, align
        The pointer, and the bytes of an element: it is at a multiple of them.
    """
    data = context.make_array(kind)(context, builder, array).data
    address = builder.bitcast(builder.gep(data, [index]), width.as_pointer())
    return address, kind.dtype.bitwidth // 8


def read(width, step=1):
    """Code that loads a vector from an array, ``index * step`` elements on."""

    def codegen(context, builder, signature, args):
        index = builder.mul(args[1], ir.Constant(args[1].type, step))
        pointer, align = _pointer(
            context, builder, signature.args[0], args[0], index, vector(width)
        )
        loaded = builder.load(pointer)
        loaded.align = align
        return loaded

    return codegen


def write(count=None, step=1):
    """Code that stores a vector to an array, or so many copies of a number."""

    def codegen(context, builder, signature, args):
        value = args[0] if count is None else broadcast(builder, args[0], count)
        index = builder.mul(args[2], ir.Constant(args[2].type, step))
        pointer, align = _pointer(context, builder, signature.args[1], args[1], index, value.type)
        builder.store(value, pointer).align = align
        return context.get_dummy_value()

    return codegen


def broadcast(builder, scalar, count):
    """Vector of one scalar."""
    unset = ir.Constant(ir.VectorType(scalar.type, count), ir.Undefined)
    places = ir.Constant(ir.VectorType(WORD, count), [0] * count)
    single = builder.insert_element(unset, scalar, ir.Constant(WORD, 0))
    return builder.shuffle_vector(single, unset, places)


def widest(*kinds):
    """Type of a result of operands: that of the lanes, or else float64."""
    return next((kind for kind in kinds if isinstance(kind, Lanes)), types.float64)


def accepted(result, kinds):
    """Types that operands are converted to: a number becomes what the lanes hold."""
    return [kind if kind == result else getattr(result, "of", result) for kind in kinds]


def alike(builder, result, args):
    """Operands of one type: numbers beside lanes are spread."""
    if not isinstance(result, Lanes):
        return args
    scalar = _LLVM[result.of]
    return [broadcast(builder, a, result.count) if a.type == scalar else a for a in args]


# -- operators -------------------------------------------------------------------------------------


def _operation(symbol, of_integers, of_floats=None, of_codes=None, gives=None):
    """Make an operator work on lanes of one type, and on lanes and a number.

    Methods of the builder are given by type; the result holds `gives`, or else that type.
    """
    methods = dict.fromkeys((types.float32, types.float64), of_floats)
    methods[types.uint16] = of_codes or of_integers

    @intrinsic
    def operation(typingctx, a, b):
        lanes = widest(a, b)
        method = methods.get(lanes.of, of_integers)
        result = Lanes(gives or lanes.of, lanes.count)
        code = emit(lambda builder, *args: method(builder, *alike(builder, lanes, args)))
        return result(*accepted(lanes, (a, b))), code

    @overload(symbol)
    def overloaded(a, b):
        lanes = widest(a, b)
        if isinstance(lanes, Lanes) and all(
            kind == lanes or (isinstance(kind, types.Float) and lanes == DOUBLES) for kind in (a, b)
        ):
            return lambda a, b: operation(a, b)
        return None


def _comparison(symbol, text):
    """Make an operator compare lanes."""
    _operation(
        symbol,
        lambda builder, a, b: builder.icmp_signed(text, a, b),
        lambda builder, a, b: builder.fcmp_ordered(text, a, b),
        lambda builder, a, b: builder.icmp_unsigned(text, a, b),
        types.boolean,
    )


_operation(operator.add, ir.IRBuilder.add, ir.IRBuilder.fadd)
_operation(operator.sub, ir.IRBuilder.sub, ir.IRBuilder.fsub)
_operation(operator.mul, ir.IRBuilder.mul, ir.IRBuilder.fmul)
_operation(operator.truediv, None, ir.IRBuilder.fdiv)
_operation(operator.and_, ir.IRBuilder.and_)
_operation(operator.rshift, None, None, ir.IRBuilder.lshr)
_comparison(operator.lt, "<")
_comparison(operator.le, "<=")
_comparison(operator.gt, ">")
_comparison(operator.ge, ">=")
_comparison(operator.eq, "==")


@intrinsic
def _negative(typingctx, x):
    return x(x), emit(lambda builder, a: builder.fneg(a))


@intrinsic
def _not(typingctx, x):
    return x(x), emit(lambda builder, a: builder.not_(a))


@overload(operator.neg)
def _overloaded_negative(x):
    return (lambda x: _negative(x)) if x == DOUBLES else None


@overload(operator.invert)
def _overloaded_not(x):
    return (lambda x: _not(x)) if isinstance(x, Lanes) and x.of == types.boolean else None
