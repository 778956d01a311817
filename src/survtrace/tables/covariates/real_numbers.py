"""Convert numbers that a user passes: real, and none of them masked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from survtrace.errors import DataError, row_name


def real_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Convert to floats; `DataError` for masked or complex values, which would be falsified.

    Other errors of the conversion (`TypeError`, `ValueError`) are left to the caller.

    Examples
    --------
    >>> real_numbers([1, 2], "times")
    array([1., 2.])
    >>> real_numbers([1 + 2j], "times")
    Traceback (most recent call last):
    survtrace.errors.DataError: times must be real numbers; got complex ones. Pass their real part.
    """
    refuse_masked(values, name)
    array = as_array(values)
    if is_complex(array):
        raise DataError(f"{name} must be real numbers; got complex ones. Pass their real part.")
    if has_dates(array):  # numpy would count days, or nanoseconds
        raise DataError(f"{name} must be numbers; got dates or times ({array.dtype}). Count them.")
    try:
        with np.errstate(over="ignore"):  # to infinity, which the caller refuses
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise
    except Exception as error:  # a whole number beyond floats, or an object of somebody else's
        raise ValueError(f"no number: {type(error).__name__}") from None


def has_dates(array: NDArray[Any]) -> bool:
    """Check whether an array is of dates or times of numpy, or has some among its objects."""
    if array.dtype == object:
        return any(isinstance(value, np.datetime64 | np.timedelta64) for value in array.ravel())
    return array.dtype.kind in "mM"


def as_array(values: Any) -> NDArray[Any]:
    """Convert to an array, also a tensor that requires a gradient; `ValueError` where none fits.

    Examples
    --------
    >>> as_array([[61.0, 1.0]]).shape
    (1, 2)
    """
    try:
        if hasattr(values, "detach"):  # a tensor, told without importing torch
            tensor = values.detach().cpu().resolve_conj()
            values = tensor.double() if str(tensor.dtype) == "torch.bfloat16" else tensor
        return np.asarray(values)
    except Exception as error:  # of numpy, torch, or whatever the values are
        raise ValueError(f"no array can be made of it ({_first_line(error)})") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0].rstrip(".") or type(error).__name__


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array in which values are masked."""
    if not isinstance(values, np.ma.MaskedArray) or values.dtype.names:
        return
    mask = np.atleast_1d(np.asarray(values.mask, dtype=bool))
    masked = np.atleast_1d(mask.any(axis=tuple(range(1, mask.ndim))))
    if masked.any():
        raise DataError(
            f"{name} must not be missing; {masked.sum()} of {len(masked)} values are masked "
            f"(first: {row_name(np.flatnonzero(masked)[0])}). Drop these, or fill them in."
        )


def is_complex(values: Any) -> bool:
    """Check whether any of the values is a complex number.

    Examples
    --------
    >>> is_complex([1.0, 2j]), is_complex(["a", 1.0])
    (True, False)
    """
    try:
        array = as_array(values)
    except ValueError:
        return False
    if array.dtype == object:
        return any(isinstance(value, (complex, np.complexfloating)) for value in array.ravel())
    return array.dtype.kind == "c"


def dense_array(X: Any) -> NDArray[Any]:
    """Convert to an array with a row for each subject; what is masked becomes NaN.

    Examples
    --------
    >>> dense_array([[61.0, 1.0]]).shape
    (1, 2)
    """
    if isinstance(X, np.ma.MaskedArray):
        masked: Any = X.astype(float if X.dtype.kind in "biuf" else object)
        X = masked.filled(np.nan)
    try:
        array = as_array(X)
    except ValueError as error:
        raise DataError(
            f"X must be a table with a row for each subject; {error}. Pass a frame, or an array "
            "with two axes."
        ) from None
    if array.dtype.kind == "c" or (array.dtype == object and is_complex(array)):
        raise DataError("X must hold real numbers; Complex data not supported. Split the parts.")
    if array.dtype.kind == "V":
        raise DataError(
            f"X must be a table of numbers and texts; got an array of {array.dtype}. Pass a frame."
        )
    if array.ndim == 0 and not isinstance(X, np.ndarray):
        raise DataError(
            f"X must be a table with a row for each subject; got {type(X).__name__}. Pass a frame, "
            "or an array with two axes."
        )
    if array.ndim != 2:
        raise DataError(
            f"X must be a table with a row for each subject; got shape {array.shape}. "
            "Expected 2D array; Reshape your data: X.reshape(1, -1) if it is one subject, "
            "X.reshape(-1, 1) if it is one covariate."
        )
    return array


def complex_numbers(name: Any) -> DataError:
    """Make the error for a column of complex numbers, whose imaginary part would be lost."""
    return DataError(
        f"covariates must be real numbers; column {name!r} holds complex numbers. Split the parts."
    )


def not_computed(X: Any) -> DataError:
    """Make the error for a frame that only says how to get its values."""
    return DataError(
        f"a table must hold its values; got {type(X).__name__}, which is yet to be computed. "
        "Pass what .collect() gives."
    )


def sparse_matrix() -> DataError:
    """Make the error for a sparse matrix."""
    return DataError("X must be a dense table; got a sparse matrix. Pass X.toarray().")
