"""Other shapes of the same elements, and arrays joined."""

from __future__ import annotations

import math
from typing import Any
from collections.abc import Sequence

from .. import _native
from .._native import Array
from ._creation import extents_of
from ._dtypes import Axes
from ._reductions import _axes


def reshape(x: Array, /, shape: Any, *, copy: bool | None = None) -> Array:
    """The same elements in another shape; one extent may be -1."""
    extents = extents_of(shape)
    if -1 in extents:
        known = math.prod(extent for extent in extents if extent != -1)
        if extents.count(-1) > 1 or known == 0 or x.size % known:
            raise ValueError(f"an array of shape {x.shape} has no shape {tuple(extents)}")
        extents[extents.index(-1)] = x.size // known
    result = _native.reshaped("reshape", x, extents)
    return _native.reshaped("copy", result, []) if copy else result


def broadcast_to(x: Array, /, shape: Any) -> Array:
    """A view of another shape, which repeats axes of one element."""
    return _native.reshaped("broadcast_to", x, extents_of(shape))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """The arrays one after the other along an axis."""
    if axis is None:
        arrays, axis = [reshape(x, -1) for x in arrays], 0
    return _native.join("concat", list(arrays), axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """The arrays along a new axis."""
    return _native.join("stack", list(arrays), axis)


def expand_dims(x: Array, /, *, axis: int = 0) -> Array:
    """A view with a new axis of one element."""
    return _native.reshaped("expand_dims", x, [axis])


def squeeze(x: Array, /, axis: Axes) -> Array:
    """A view without axes of one element."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    for one in sorted((one % x.ndim for one in axes), reverse=True):
        x = _native.reshaped("squeeze", x, [one])
    return x


def flip(x: Array, /, *, axis: Axes = None) -> Array:
    """The elements along axes in the opposite order."""
    for one in _axes(x, axis):
        x = _native.reshaped("flip", x, [one])
    return x


def roll(x: Array, /, shift: int, *, axis: int | None = None) -> Array:
    """The elements moved along an axis; what leaves comes in at the other end."""
    if axis is None:
        return reshape(roll(reshape(x, -1), shift, axis=0), x.shape)
    return _native.reshaped("roll", x, [shift, axis])


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """A view with the axes in another order."""
    return _native.reshaped("permute", x, [axis % x.ndim for axis in axes])


def matrix_transpose(x: Array, /) -> Array:
    """A view with the last two axes swapped."""
    order = list(range(x.ndim))
    order[-2:] = order[-1], order[-2]
    return permute_dims(x, order)


def contiguous(x: Array, /) -> Array:
    """The array itself if its elements lie one after the other, else a copy in which they do."""
    return _native.reshaped("contiguous", x, [])


def pad(x: Array, pads: Sequence[tuple[int, int]], /, *, value: float = 0.0) -> Array:
    """More elements of a value before and after each axis."""
    return _native.pad(x, list(pads), value)
