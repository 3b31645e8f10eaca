"""Positions: of what is not zero, of values in sorted arrays, of the different elements, and elements by position.

All of it is made of the other operations. Invariant: positions and counts are int64, the default integer.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from .. import _native
from .._native import Array
from ._creation import arange, asarray, full
from ._dtypes import astype
from ._elementwise import add, equal, floor_divide, isnan, less, less_equal, logical_not, minimum, where
from ._reductions import argsort, cumulative_sum, sum, take, unique_counts
from ._shapes import broadcast_arrays, contiguous, reshape

__all__ = [
    "UniqueAll",
    "UniqueInverse",
    "elements_at",
    "isin",
    "masked",
    "nextafter",
    "nonzero",
    "repeat",
    "searchsorted",
    "unique_all",
    "unique_inverse",
]


class UniqueAll(NamedTuple):
    """The different elements, the first position of each, the position in them of each element, and how many."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The different elements, and the position in them of each element."""

    values: Array
    inverse_indices: Array


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Each element again and again, along an axis or of all elements in a row."""
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    extent = x.shape[axis]
    if isinstance(repeats, Array) and repeats.size == 1:
        repeats = repeats.item()
    if not isinstance(repeats, Array):
        if repeats < 0:
            raise ValueError(f"{repeats} times")
        return take(x, floor_divide(arange(extent * repeats), max(repeats, 1)), axis=axis)
    counts = repeats.tolist()
    if len(counts) != extent or any(count < 0 for count in counts):
        raise ValueError(f"`repeats` has a count for each of {extent} elements, and none below zero")
    positions = [at for at, count in enumerate(counts) for _ in range(count)]
    return take(x, asarray(positions, dtype="int64"), axis=axis)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The positions of elements that are not zero, for each axis."""
    if not x.ndim:
        raise ValueError("`nonzero` of an array without dimensions")
    rows = _native.nonzero(x)
    return tuple(contiguous(rows[:, axis]) for axis in range(x.ndim))


def masked(x: Array, mask: Array) -> Array:
    """``x[mask]``: the elements where a mask of the first axes is true, in a row."""
    if tuple(mask.shape) != tuple(x.shape[: mask.ndim]):
        raise IndexError(f"a mask of shape {mask.shape} for an array of shape {x.shape}")
    rest = x.shape[mask.ndim :]
    return take(reshape(x, [mask.size, *rest]), nonzero(reshape(mask, [-1]))[0], axis=0)


def elements_at(x: Array, positions: tuple[Array | int, ...]) -> Array:
    """``x[i, j, ...]``: the elements at positions along the first axes, which broadcast together."""
    if len(positions) > x.ndim:
        raise IndexError(f"{len(positions)} indices for an array of {x.ndim} dimensions")
    arrays = [one if isinstance(one, Array) else asarray(one) for one in positions]
    if any("int" not in one.dtype_name for one in arrays):
        raise TypeError("indices are integers")
    flat: Any = 0
    for one, extent in zip(broadcast_arrays(*arrays), x.shape):
        one = astype(one, "int64")
        flat = add(flat * extent, where(less(one, 0), one + extent, one)) if extent else one
    rest = x.shape[len(arrays) :]
    leading = 1
    for extent in x.shape[: len(arrays)]:
        leading *= extent
    found = take(reshape(x, [leading, *rest]), reshape(flat, [-1]), axis=0)
    return reshape(found, [*flat.shape, *rest])


def searchsorted(x1: Array, x2: Array | int | float, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Where in a sorted array each value would be put: before its equals, or with `side="right"` after them."""
    if x1.ndim != 1 or side not in ("left", "right"):
        raise ValueError(f'`searchsorted` of {x1.ndim} dimensions, side {side!r}; side is "left" or "right"')
    if not isinstance(x2, Array):
        x2 = asarray(x2, dtype=x1.dtype)
    if sorter is not None:
        x1 = take(x1, sorter, axis=0)
    is_before = less if side == "left" else less_equal
    low, high = full(x2.shape, 0, dtype="int64"), full(x2.shape, x1.size, dtype="int64")
    for _ in range(x1.size.bit_length()):
        middle = floor_divide(low + high, 2)
        probe = take(x1, reshape(minimum(middle, x1.size - 1), [-1]), axis=0)
        goes_right = is_before(reshape(probe, x2.shape), x2) & less(low, high)
        low, high = where(goes_right, middle + 1, low), where(goes_right, high, middle)
        high = where(less(high, low), low, high)
    return low


def isin(x1: Array | int | float, x2: Array | int | float, /, *, invert: bool = False) -> Array:
    """Whether each element is among those of another array."""
    x1 = x1 if isinstance(x1, Array) else asarray(x1, dtype=x2.dtype)  # type: ignore[union-attr]
    x2 = x2 if isinstance(x2, Array) else asarray(x2, dtype=x1.dtype)
    if not x2.size:
        found = full(x1.shape, False)
    else:
        values = unique_counts(x2).values
        at = minimum(searchsorted(values, x1), values.size - 1)
        found = equal(reshape(take(values, reshape(at, [-1]), axis=0), x1.shape), x1)
    return logical_not(found) if invert else found


def unique_inverse(x: Array, /) -> UniqueInverse:
    """The different elements, in order, and the position in them of each element."""
    every = unique_all(x)
    return UniqueInverse(every.values, every.inverse_indices)


def unique_all(x: Array, /) -> UniqueAll:
    """The different elements, in order, with their positions and counts. Each NaN is one of its own."""
    values, counts = unique_counts(x)
    flat = reshape(x, [-1])
    if not flat.size:
        nothing = full([0], 0, dtype="int64")
        return UniqueAll(values, nothing, full(x.shape, 0, dtype="int64"), counts)
    starts = cumulative_sum(counts) - counts
    indices = take(argsort(flat), starts, axis=0)
    inverse = searchsorted(values, flat)
    if "float" in x.dtype_name:
        is_nan = isnan(flat)
        ranks = cumulative_sum(astype(is_nan, "int64")) - 1
        inverse = where(is_nan, ranks + (values.size - int(sum(astype(is_nan, "int64")))), inverse)
    return UniqueAll(values, indices, reshape(inverse, x.shape), counts)


def nextafter(x1: Array | float, x2: Array | float, /) -> Array:
    """The next number of the type after `x1`, in the direction of `x2`."""
    first = x1 if isinstance(x1, Array) else x2
    if not isinstance(first, Array) or "float" not in first.dtype_name:
        raise TypeError("`nextafter` takes arrays of floating-point numbers")
    x1, x2 = (one if isinstance(one, Array) else asarray(one, dtype=first.dtype) for one in (x1, x2))
    x1, x2 = (contiguous(one) for one in broadcast_arrays(x1, x2))
    out = Array.uninitialised(list(x1.shape), x1.dtype_name, x1.device)
    if x1.size:
        getattr(_steps(x1.device.name), x1.dtype_name)(x1, x2, out, threads=x1.size)
    return out


@functools.cache
def _steps(device: str) -> Any:
    from .._shader import compile_shader

    kernel = """
        kernel void {name}(device const {type}* x, device const {type}* y, device {type}* out,
                           uint i [[thread_position_in_grid]])
        {{
            {type} from = x[i], to = y[i];
            {bits} bits = as_type<{bits}>(from);
            const {bits} sign = {bits}(1) << (8 * sizeof(from) - 1);
            if (isnan(from) || isnan(to)) out[i] = isnan(from) ? from : to;
            else if (from == to) out[i] = to;
            else if (from == 0) out[i] = as_type<{type}>({bits}((to < 0 ? sign : {bits}(0)) | {bits}(1)));
            else out[i] = as_type<{type}>({bits}((from < to) == (from > 0) ? bits + 1 : bits - 1));
        }}
    """
    kinds = [("float32", "float", "uint"), ("float16", "half", "ushort"), ("bfloat16", "bfloat", "ushort")]
    source = "".join(kernel.format(name=name, type=kind, bits=bits) for name, kind, bits in kinds)
    return compile_shader("#include <metal_stdlib>\nusing namespace metal;\n" + source, device=device)
