"""Reductions over axes, running sums, order."""

from __future__ import annotations

import builtins
import math
from typing import Any, NamedTuple
from collections.abc import Callable

from .. import _native
from .._native import Array
from ._creation import full
from ._dtypes import Axes, astype, listed


def _axes(x: Array, axis: Axes) -> list[int]:
    if axis is None:
        return list(range(x.ndim))
    return listed(axis)


def _reduction(name: str) -> Callable[..., Array]:
    def function(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
        if not x.ndim:
            return _native.reshaped(
                "reshape", _native.reduce(name, _native.reshaped("reshape", x, [1]), [0], False), []
            )
        if axis is not None and not listed(axis):
            return x
        return _native.reduce(name, x, _axes(x, axis), keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` over axes, or over all elements."
    return function


all = _reduction("all")
any = _reduction("any")
max = _reduction("max")
mean = _reduction("mean")
min = _reduction("min")
_plain_sum = _reduction("sum")
_plain_prod = _reduction("prod")


def sum(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum over axes, or of all elements; of integers it is int64."""
    if dtype is None:
        return _plain_sum(x, axis=axis, keepdims=keepdims)
    return astype(_plain_sum(astype(x, dtype, copy=False), axis=axis, keepdims=keepdims), dtype, copy=False)


def prod(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product over axes, or of all elements; of integers it is int64."""
    if dtype is None:
        return _plain_prod(x, axis=axis, keepdims=keepdims)
    return astype(_plain_prod(astype(x, dtype, copy=False), axis=axis, keepdims=keepdims), dtype, copy=False)


def var(x: Array, /, *, axis: Axes = None, correction: int | float = 0, keepdims: bool = False) -> Array:
    """The variance."""
    return _deviation("var", x, axis, correction, keepdims)


def std(x: Array, /, *, axis: Axes = None, correction: int | float = 0, keepdims: bool = False) -> Array:
    """The standard deviation."""
    return _deviation("std", x, axis, correction, keepdims)


def _deviation(name: str, x: Array, axis: Axes, correction: int | float, keepdims: bool) -> Array:
    axes = _axes(x, axis)
    if not axes and x.ndim:  # Over no axis: of one element each.
        row = _native.reshaped("expand_dims", x, [x.ndim])
        return _deviation(name, row, x.ndim, correction, False)
    if int(correction) == correction:
        return _native.spread(name, x, axes, int(correction), keepdims)
    count = 1
    for one in axes:
        count *= x.shape[one]
    factor = count / (count - correction) if count > correction else math.inf
    whole = _native.spread(name, x, axes, 0, keepdims)
    factor = _native.cast(full([], math.sqrt(factor) if name == "std" else factor), x.dtype_name)
    return _native.binary("mul", whole, factor)


def logsumexp(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """The logarithm of the sum of exponentials."""
    return _native.spread("logsumexp", x, _axes(x, axis), 0, keepdims)


def _position(name: str, x: Array, axis: int | None, keepdims: bool) -> Array:
    if axis is None:
        flat = _native.along(name, _native.reshaped("reshape", x, [x.size]), 0)
        return _native.reshaped("reshape", flat, [1] * x.ndim if keepdims else [])
    return _native.along(f"{name}_keep" if keepdims else name, x, axis)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the greatest element."""
    return astype(_position("argmax", x, axis, keepdims), "int64")


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the least element."""
    return astype(_position("argmin", x, axis, keepdims), "int64")


def one_axis(x: Array, axis: int | None, name: str) -> int:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"`{name}` of {x.ndim} dimensions needs an axis")
        return 0
    return axis


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The sums of all elements up to each, with ``include_initial`` after that of none."""
    axis = one_axis(x, axis, "cumulative_sum")
    return _with_initial(_running("cumsum", x, axis, dtype), axis, 0 if include_initial else None)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The products of all elements up to each, with ``include_initial`` after that of none."""
    axis = one_axis(x, axis, "cumulative_prod")
    return _with_initial(_running("cumprod", x, axis, dtype), axis, 1 if include_initial else None)


def _running(name: str, x: Array, axis: int, dtype: Any) -> Array:
    if dtype is None:
        return _native.along(name, x, axis)
    return astype(_native.along(name, astype(x, dtype, copy=False), axis), dtype, copy=False)


def _with_initial(x: Array, axis: int, value: int | None) -> Array:
    if value is None:
        return x
    shape = list(x.shape)
    shape[axis] = 1
    return _native.join("concat", [full(shape, value, dtype=x.dtype_name, device=x.device), x], axis)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements along an axis in order."""
    return _native.along("sort_descending" if descending else "sort", x, axis)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The positions of the elements along an axis in their order."""
    return astype(_native.along("argsort_descending" if descending else "argsort", x, axis), "int64")


def unique_values(x: Array, /) -> Array:
    """The different elements, in order."""
    return _native.unique(x)[0]


class UniqueCounts(NamedTuple):
    """The different elements, in order, and how often each occurs."""

    values: Array
    counts: Array


def unique_counts(x: Array, /) -> UniqueCounts:
    """The different elements, in order, and how often each occurs."""
    values, counts = _native.unique(x)
    return UniqueCounts(values, astype(counts, "int64"))


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """The elements of an axis at the indices."""
    return _native.gather("take", x, indices, one_axis(x, axis, "take"))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """The element at each index along an axis."""
    return _native.gather("take_along_axis", x, indices, axis)


def count_nonzero(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """How many elements are not zero."""
    return sum(astype(astype(x, "bool"), "uint32"), axis=axis, keepdims=keepdims)


def axis_of(x: Array, axis: int) -> int:
    """An axis counted from the first; one that the array does not have is an error."""
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} is not one of the {x.ndim} dimensions")
    return axis % x.ndim


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """The differences of neighbours along an axis, `n` times."""
    if n < 0:
        raise ValueError(f"diff is taken {n} times")
    parts = [one for one in (prepend, x, append) if one is not None]
    if len(parts) > 1:
        x = _native.join("concat", parts, axis)
    at = axis_of(x, axis)
    before = (slice(None),) * at
    for _ in range(builtins.min(n, x.shape[at])):
        x = _native.binary("sub", x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x
