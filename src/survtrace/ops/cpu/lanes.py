"""A vector of sixteen float32 as a numba type; a position in the vector is called a lane.

Why: a processor adds or multiplies a whole vector in one instruction, but compilers use that only
for loops that are long enough, and a token is narrow. Kernels written with this type put one of
sixteen subjects into each lane, so that every instruction does full work however few tokens there
are and however narrow they are. (numba keeps compiled kernels until their own file changes: after
a change here, touch layer.py.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

N_LANES = 16  # a register of AVX-512; where registers are narrower LLVM splits a vector in two
NUMBERS = ir.VectorType(ir.FloatType(), N_LANES)
INTEGERS = ir.VectorType(ir.IntType(32), N_LANES)
COEFFICIENTS = (  # of f^5 .. f^0 in the polynomial for 2^f, f from -1/2 to 1/2
    0.0013276407262310386,
    0.009675540961325169,
    0.05550713464617729,
    0.24022120237350464,
    0.6931469440460205,
    1.0000001192092896,
)
# Products and sums may be fused and reordered; unlike with fastmath, NaN and infinity stay what
# they are, so that a subject with broken values gets NaN and not a plausible number.
FAST = ("contract", "reassoc", "nsz", "arcp")


class Lanes(types.Type):  # type: ignore[misc]
    """The numba type of a vector of sixteen float32."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


@register_model(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, NUMBERS)


LANES = Lanes()


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """Load sixteen numbers of a flat array, from an index on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        numbers = builder.load(builder.bitcast(pointer, NUMBERS.as_pointer()))
        numbers.align = 4
        return numbers

    return LANES(array, types.intp), emit


@intrinsic
def store(typing: Any, array: Any, index: Any, numbers: Any) -> Any:
    """Store sixteen numbers in a flat array, from an index on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(pointer, NUMBERS.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES), emit


@intrinsic
def gather(typing: Any, array: Any, index: Any, stride: Any) -> Any:
    """Load sixteen numbers of a flat array, each a stride behind the one before."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        numbers, index = ir.Constant(NUMBERS, ir.Undefined), args[1]
        for lane in range(N_LANES):
            number = builder.load(_element(context, builder, signature.args[0], args[0], index))
            numbers = builder.insert_element(numbers, number, _lane_index(lane))
            index = builder.add(index, args[2])
        return numbers

    return LANES(array, types.intp, types.intp), emit


@intrinsic
def scatter(typing: Any, array: Any, index: Any, stride: Any, numbers: Any) -> Any:
    """Store sixteen numbers in a flat array, each a stride behind the one before."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index = args[1]
        for lane in range(N_LANES):
            number = builder.extract_element(args[3], _lane_index(lane))
            builder.store(number, _element(context, builder, signature.args[0], args[0], index))
            index = builder.add(index, args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, LANES), emit


@intrinsic
def every(typing: Any, number: Any) -> Any:
    """Put the same number into every lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _in_every_lane(builder, args[0])

    return LANES(types.float32), emit


@intrinsic
def spread(typing: Any, array: Any, index: Any) -> Any:
    """Put one number of a flat array into every lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = builder.load(_element(context, builder, signature.args[0], args[0], args[1]))
        return _in_every_lane(builder, number)

    return LANES(array, types.intp), emit


@intrinsic
def total(typing: Any, numbers: Any) -> Any:
    """Sum over lanes, in pairs: the rounding does not depend on the compiler."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = [builder.extract_element(args[0], _lane_index(lane)) for lane in range(N_LANES)]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return types.float32(LANES), emit


@intrinsic
def choose(typing: Any, numbers: Any, above: Any, otherwise: Any) -> Any:
    """Take ``above`` in the lanes whose number is above zero, ``otherwise`` in the others."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(NUMBERS, [0.0] * N_LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return LANES(LANES, LANES, LANES), emit


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Any:
    """Take the larger of two, lane by lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return LANES(LANES, LANES), emit


@intrinsic
def exp2(typing: Any, numbers: Any) -> Any:
    """Raise two to the power of the numbers, to a relative error of 2e-7; at least 2^-126.

    2^x = 2^n 2^f with n = round(x); 2^f by a polynomial of least largest error on [-1/2, 1/2].
    Why not the library's exp: it takes one number at a time, and softmax and SELU need one each.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def constant(value: float) -> Any:
            return ir.Constant(NUMBERS, [value] * N_LANES)

        low = constant(-126.0)
        x = builder.select(builder.fcmp_ordered("<", args[0], low), low, args[0])
        # Above 2^23 a float has no bits left for a fraction: adding this number rounds x to n, and
        # the last bits of the sum are n + 127, which is how a float stores the exponent of 2^n.
        big = constant(1.5 * 2**23 + 127)
        shifted = builder.fadd(x, big)
        f = builder.fsub(x, builder.fsub(shifted, big))
        p = constant(COEFFICIENTS[0])
        for coefficient in COEFFICIENTS[1:]:
            p = builder.fadd(builder.fmul(p, f, flags=FAST), constant(coefficient), flags=FAST)
        exponent = builder.shl(
            builder.bitcast(shifted, INTEGERS), ir.Constant(INTEGERS, [23] * N_LANES)
        )
        return builder.fmul(p, builder.bitcast(exponent, NUMBERS), flags=FAST)

    return LANES(LANES), emit


def _element(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Point to an element of a flat array; bounds are not checked, as in all numba kernels."""
    data = cgutils.create_struct_proxy(kind)(context, builder, array).data
    return builder.gep(data, [index])


def _in_every_lane(builder: Any, number: Any) -> Any:
    first = builder.insert_element(ir.Constant(NUMBERS, ir.Undefined), number, _lane_index(0))
    return builder.shuffle_vector(first, first, ir.Constant(INTEGERS, [0] * N_LANES))


def _lane_index(lane: int) -> Any:
    return ir.Constant(ir.IntType(32), lane)


def _operate(name: str) -> Callable[..., Any]:
    """Make the operation of the processor on two vectors."""

    @intrinsic
    def operation(typing: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, name)(*args, flags=FAST)

        return LANES(LANES, LANES), emit

    return operation


def _define(symbol: Callable[..., Any], name: str) -> None:
    """Let kernels write ``a + b`` for two vectors."""
    operation = _operate(name)

    def apply(a: Any, b: Any) -> Any:
        return operation(a, b)

    @overload(symbol)
    def define(a: Any, b: Any) -> Any:
        return apply if isinstance(a, Lanes) and isinstance(b, Lanes) else None


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")
