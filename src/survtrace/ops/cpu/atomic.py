"""Numbers that several threads change at once, for kernels: elements of a flat array of int64.

Each function is one instruction of the processor, which no other thread can interrupt.
"""

from __future__ import annotations

import os
import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ORDER = "seq_cst"  # all threads see all changes in one order
ALIGNMENT = 8
X86: tuple[str, list[int]] = ("llvm.x86.sse2.pause", [])
ARM: tuple[str, list[int]] = ("llvm.aarch64.hint", [1])
PAUSES = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}


@intrinsic
def read(typing: Any, array: Any, index: Any) -> Any:
    """Read an element."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature, args)
        return builder.load_atomic(place, ORDER, ALIGNMENT)

    return types.int64(array, types.intp), emit


@intrinsic
def write(typing: Any, array: Any, index: Any, number: Any) -> Any:
    """Write an element."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _place(context, builder, signature, args), ORDER, ALIGNMENT)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), emit


@intrinsic
def count(typing: Any, array: Any, index: Any) -> Any:
    """Add one to an element and tell what it was."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", _place(context, builder, signature, args), one, ORDER)

    return types.int64(array, types.intp), emit


@intrinsic
def exchange(typing: Any, array: Any, index: Any, number: Any) -> Any:
    """Write an element and tell what it was."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature, args)
        return builder.atomic_rmw("xchg", place, args[2], ORDER)

    return types.int64(array, types.intp, types.int64), emit


@intrinsic
def replace(typing: Any, array: Any, index: Any, old: Any, new: Any) -> Any:
    """Write an element if it is ``old``, and tell whether it was."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature, args)
        return builder.extract_value(builder.cmpxchg(place, args[2], args[3], ORDER, ORDER), 1)

    return types.boolean(array, types.intp, types.int64, types.int64), emit


@intrinsic
def pause(typing: Any) -> Any:
    """Tell the processor that this thread waits: it saves power and lets its neighbour work."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        name, hints = PAUSES.get(platform.machine(), ("llvm.donothing", []))
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * len(hints))
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(function, [ir.Constant(ir.IntType(32), hint) for hint in hints])
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def rest(typing: Any, microseconds: Any) -> Any:
    """Let the core do other work for so long or some more; do nothing where libc has no `usleep`.

    Python's own `time.sleep` would have to be called, and ended, under the interpreter lock.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if os.name == "posix":
            whole = ir.IntType(32)
            kind = ir.FunctionType(whole, [whole])
            function = cgutils.get_or_insert_function(builder.module, kind, "usleep")
            builder.call(function, [builder.trunc(args[0], whole)])
        return context.get_dummy_value()

    return types.void(types.int64), emit


@intrinsic
def pointer(typing: Any, address: Any, kind: Any) -> Any:
    """Take a whole number for the address of numbers of a kind."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(kind.dtype)(types.int64, kind), emit


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])
