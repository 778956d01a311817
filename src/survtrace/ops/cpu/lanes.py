"""A vector of sixteen float32 as a numba type; a position in the vector is called a lane.

Why: a processor adds or multiplies a whole vector in one instruction, but compilers use that only
for loops that are long enough, and a token is narrow. Kernels written with this type put one of
sixteen subjects into each lane, so that every instruction does full work however few tokens there
are and however narrow they are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

_N = 16  # a register of AVX-512; where registers are narrower LLVM splits a vector in two
# For kernels: a plain constant would make numba compile a function once for each constant argument.
N_LANES: Any = np.int64(_N)
NUMBERS = ir.VectorType(ir.FloatType(), _N)
INTEGERS = ir.VectorType(ir.IntType(32), _N)
LOG2_E = np.float32(np.log2(np.e))  # exp(x) = 2 ** (LOG2_E * x)
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
# Of f^5 .. f^0 in the polynomial for 2^f, f from -1/2 to 1/2; and of f^6 .. f^0.
COEFFICIENTS = (
    0.0013276407262310386,
    0.009675540961325169,
    0.05550713464617729,
    0.24022120237350464,
    0.6931469440460205,
    1.0000001192092896,
)
EXACT_COEFFICIENTS = (
    0.00015461447765119374,
    0.0013390866806730628,
    0.009618056938052177,
    0.055503569543361664,
    0.24022650718688965,
    0.6931471824645996,
    1.0,
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
        return _load(context, builder, signature.args[0], args[0], args[1])

    return LANES(array, types.intp), emit


@intrinsic
def store(typing: Any, array: Any, index: Any, numbers: Any) -> Any:
    """Store sixteen numbers in a flat array, from an index on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _store(context, builder, signature.args[0], args[0], args[1], args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES), emit


@intrinsic
def transpose(
    typing: Any, array: Any, index: Any, stride: Any, out: Any, place: Any, step: Any
) -> Any:
    """Transpose sixteen vectors of an array, a stride apart, to sixteen of another, a step apart.

    Number k of vector i becomes number i of vector k. Each of four rounds merges the vectors i and
    i + 8 like the halves of a deck of cards; after the fourth every number is in its place.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        vectors = [
            _load(context, builder, kinds[0], args[0], place)
            for place in _places(builder, args[1], args[2])
        ]
        half = _N // 2
        low, high = (
            ir.Constant(INTEGERS, [n for k in ks for n in (k, k + _N)])
            for ks in (range(half), range(half, _N))
        )
        for _ in range(4):
            vectors = [
                builder.shuffle_vector(vectors[i], vectors[i + half], order)
                for i in range(half)
                for order in (low, high)
            ]
        for vector, place in zip(vectors, _places(builder, args[4], args[5]), strict=True):
            _store(context, builder, kinds[3], args[3], place, vector)
        return context.get_dummy_value()

    integer = types.intp
    return types.void(array, integer, integer, out, integer, integer), emit


@intrinsic
def kept(typing: Any, bits: Any, index: Any, threshold: Any, scale: Any) -> Any:
    """Load sixteen numbers of random bits: ``scale`` where they are below a threshold, else 0."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        short = ir.VectorType(ir.IntType(16), _N)
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        drawn = builder.load(builder.bitcast(pointer, short.as_pointer()))
        drawn.align = 2
        limit = builder.trunc(args[2], ir.IntType(16))
        first = builder.insert_element(ir.Constant(short, ir.Undefined), limit, _lane_index(0))
        limits = builder.shuffle_vector(first, first, ir.Constant(INTEGERS, [0] * _N))
        below = builder.icmp_signed("<", drawn, limits)
        zero = ir.Constant(NUMBERS, [0.0] * _N)
        return builder.select(below, _in_every_lane(builder, args[3]), zero)

    return LANES(bits, types.intp, types.intp, types.float32), emit


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
        parts = [builder.extract_element(args[0], _lane_index(lane)) for lane in range(_N)]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return types.float32(LANES), emit


@intrinsic
def choose(typing: Any, numbers: Any, above: Any, otherwise: Any) -> Any:
    """Take ``above`` in the lanes whose number is above zero, ``otherwise`` in the others."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(NUMBERS, [0.0] * _N)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return LANES(LANES, LANES, LANES), emit


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Any:
    """Take the larger of two, lane by lane."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return LANES(LANES, LANES), emit


@intrinsic
def root(typing: Any, numbers: Any) -> Any:
    """Take the square root of the numbers, or of a single one."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(args[0].type, [args[0].type])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    kind, suffix = (LANES, "v16f32") if isinstance(numbers, Lanes) else (types.float32, "f32")
    name = f"llvm.sqrt.{suffix}"
    return kind(kind), emit


@intrinsic
def exp2(typing: Any, numbers: Any) -> Any:
    """Raise two to the power of the numbers, to a relative error of 2e-7; at least 2^-126.

    2^x = 2^n 2^f with n = round(x); 2^f by a polynomial of least largest error on [-1/2, 1/2].
    Why not the library's exp: it takes one number at a time, and softmax and SELU need one each.
    """
    return LANES(LANES), _raise_two(COEFFICIENTS)


@intrinsic
def exp2_exact(typing: Any, numbers: Any) -> Any:
    """Raise two to the power of the numbers as `exp2` does, to the rounding of float32.

    Its polynomial is 1 at 0: one that is off by a unit shifts all activations the same way.
    """
    return LANES(LANES), _raise_two(EXACT_COEFFICIENTS)


def _raise_two(coefficients: tuple[float, ...]) -> Callable[..., Any]:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def constant(value: float) -> Any:
            return ir.Constant(NUMBERS, [value] * _N)

        low = constant(-126.0)
        x = builder.select(builder.fcmp_ordered("<", args[0], low), low, args[0])
        # Above 2^23 a float has no bits left for a fraction: adding this number rounds x to n, and
        # the last bits of the sum are n + 127, which is how a float stores the exponent of 2^n.
        big = constant(1.5 * 2**23 + 127)
        shifted = builder.fadd(x, big)
        f = builder.fsub(x, builder.fsub(shifted, big))
        p = constant(coefficients[0])
        for coefficient in coefficients[1:]:
            p = builder.fadd(builder.fmul(p, f, flags=FAST), constant(coefficient), flags=FAST)
        exponent = builder.shl(builder.bitcast(shifted, INTEGERS), ir.Constant(INTEGERS, [23] * _N))
        return builder.fmul(p, builder.bitcast(exponent, NUMBERS), flags=FAST)

    return emit


def sum_products(n_x: int, n_y: int, *, spread_x: bool, add: bool = True) -> Any:
    """Make the function that sums products of ``n_x`` rows with ``n_y`` rows of vectors.

    ``out[o + a * xo + b * yo]`` gets, or is added, the sum over k of ``x[i + a * xa + k * xk]``
    times ``y[j + b * yb + k * yk]``; each is a vector, but x may be a number that all lanes share.
    A number or vector that is loaded serves many products, whose sums stay in registers; numba's
    own loops would move them to memory and back for every k.
    """

    @intrinsic
    def multiply(
        typing: Any,
        out: Any,
        o: Any,
        xo: Any,
        yo: Any,
        x: Any,
        i: Any,
        xa: Any,
        xk: Any,
        y: Any,
        j: Any,
        yb: Any,
        yk: Any,
        n: Any,
    ) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            out, o, xo, yo, x, i, xa, xk, y, j, yb, yk, n = args
            places = [
                p for row in _places(builder, o, xo, n_x) for p in _places(builder, row, yo, n_y)
            ]
            zero = ir.Constant(NUMBERS, [0.0] * _N)
            starts = [
                _load(context, builder, kinds[0], out, place) if add else zero for place in places
            ]
            before, whole = builder.basic_block, n.type
            loop = builder.append_basic_block("products")
            after = builder.append_basic_block("summed")
            builder.branch(loop)
            builder.position_at_end(loop)
            k, at_x, at_y = (builder.phi(whole) for _ in range(3))
            sums = [builder.phi(NUMBERS) for _ in starts]
            ys = [
                _load(context, builder, kinds[8], y, place)
                for place in _places(builder, at_y, yb, n_y)
            ]
            results: list[Any] = []
            for place in _places(builder, at_x, xa, n_x):
                if spread_x:
                    number = builder.load(_element(context, builder, kinds[4], x, place))
                    factor = _in_every_lane(builder, number)
                else:
                    factor = _load(context, builder, kinds[4], x, place)
                for vector in ys:
                    product = builder.fmul(factor, vector, flags=FAST)
                    results.append(builder.fadd(sums[len(results)], product, flags=FAST))
            steps = (
                (k, ir.Constant(whole, 0), builder.add(k, ir.Constant(whole, 1))),
                (at_x, i, builder.add(at_x, xk)),
                (at_y, j, builder.add(at_y, yk)),
                *zip(sums, starts, results, strict=True),
            )
            for variable, first, following in steps:
                variable.add_incoming(first, before)
                variable.add_incoming(following, loop)
            again = builder.cbranch(builder.icmp_signed("<", steps[0][2], n), loop, after)
            again.set_metadata("llvm.loop", _as_it_is(builder.module))
            builder.position_at_end(after)
            for place, result in zip(places, results, strict=True):
                _store(context, builder, kinds[0], out, place, result)
            return context.get_dummy_value()

        integer = types.intp
        four = (integer,) * 3
        return types.void(out, *four, x, *four, y, *four, integer), emit

    return multiply


def _as_it_is(module: Any) -> Any:
    """Say that a loop is not to be unrolled: it is long enough, and more code takes time."""
    rule = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    loop = module.add_metadata([rule, rule])
    loop.operands = (loop, rule)  # a loop is named by a description that begins with itself
    return loop


def _element(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Point to an element of a flat array; bounds are not checked, as in all numba kernels."""
    data = cgutils.create_struct_proxy(kind)(context, builder, array).data
    return builder.gep(data, [index])


def _load(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    pointer = _element(context, builder, kind, array, index)
    numbers = builder.load(builder.bitcast(pointer, NUMBERS.as_pointer()))
    numbers.align = 4
    return numbers


def _store(context: Any, builder: Any, kind: Any, array: Any, index: Any, numbers: Any) -> None:
    pointer = _element(context, builder, kind, array, index)
    builder.store(numbers, builder.bitcast(pointer, NUMBERS.as_pointer())).align = 4


def _places(builder: Any, first: Any, stride: Any, n: int = _N) -> list[Any]:
    """Return indices from the first on, each a stride behind the one before."""
    places = [first]
    while len(places) < n:
        places.append(builder.add(places[-1], stride))
    return places


def _in_every_lane(builder: Any, number: Any) -> Any:
    first = builder.insert_element(ir.Constant(NUMBERS, ir.Undefined), number, _lane_index(0))
    return builder.shuffle_vector(first, first, ir.Constant(INTEGERS, [0] * _N))


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
