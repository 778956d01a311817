"""Kernels are compiled once on a machine, and again when any file of this folder has changed.

numba keeps what it has compiled for a function until the file of that function changes. A kernel
here is made of functions of several files, so that a digest of all of them takes the place of that
file's date. Compiled kernels lie in ``__pycache__``; where the package's folder cannot be written,
in the user's folder for caches; and where nothing can be written, in memory alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from numba import njit
from numba.core import caching, errors
from numba.core.errors import WarningsFixer
from numba.extending import register_jitable

# Dividing by zero gives infinity or NaN, as in numpy, and no exception.
OPTIONS = {"nogil": True, "error_model": "numpy"}
ONE_AT_A_TIME = Lock()
# A function that kernels call, and Python does not: what would let it is not compiled.
part = njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
either = register_jitable  # a function that both call
# A function that is called in one place: a piece of its caller, which would be compiled twice else.
piece = njit(**OPTIONS, inline="always")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep it for other processes."""
    compiled = njit(**OPTIONS)(function)
    with suppress(RuntimeError):  # no folder can be written
        compiled._cache = _Cache(function)
    return compiled


@contextmanager
def beside_others() -> Iterator[None]:
    """Compile in a thread of its own without touching what all threads share.

    numba records warnings while it finds out types, many hundred times, and Python has one record
    for all threads: what the caller's thread warns of meanwhile would be lost, and where its own
    record began or ended in between, all that comes later, too. Where colorama is installed, numba
    also replaces standard output for a moment, to colour words that nobody sees: who redirects it
    meanwhile would lose what is printed.
    """
    # One at a time, else the last of two threads puts back what the first put in.
    with ONE_AT_A_TIME, _without(WarningsFixer, "catch_warnings"), _without(errors, "ColorShell"):
        yield


@contextmanager
def _without(owner: Any, name: str) -> Iterator[None]:
    """Put a context that does nothing in the place of one, if there is one."""
    context = getattr(owner, name, None)
    if context is None:
        yield
        return
    setattr(owner, name, lambda *_, **__: nullcontext())
    try:
        yield
    finally:
        setattr(owner, name, context)


@cache
def digest(folder: Path) -> str:
    """Describe all Python files of a folder by one number."""
    found = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _stamped(name: str) -> type[Any]:
    """Make a class of numba's that finds a place for the cache tell changes by the digest."""
    # Earlier versions of numba put an underscore before these names.
    locator: type[Any] = getattr(caching, name, None) or getattr(caching, f"_{name}")

    class Stamped(locator):  # type: ignore[misc]
        def get_source_stamp(self) -> str:
            return digest(Path(self._py_file).parent)

    return Stamped


class _Files(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (
        _stamped("UserProvidedCacheLocator"),
        _stamped("InTreeCacheLocator"),
        _stamped("UserWideCacheLocator"),
    )


class _Cache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _Files
