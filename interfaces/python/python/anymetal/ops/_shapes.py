"""Other shapes of the same elements, and arrays joined."""

from __future__ import annotations

import math
from typing import Any
from collections.abc import Sequence

from .. import _native
from .._native import Array
from ._creation import extents_of
from ._dtypes import Axes, listed
from ._reductions import _axes, axis_of


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
    return _native.join("concat", listed(arrays), axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """The arrays along a new axis."""
    return _native.join("stack", listed(arrays), axis)


def expand_dims(x: Array, /, axis: Axes = 0) -> Array:
    """A view with new axes of one element, at those positions of the result."""
    axes = listed(axis)
    places = sorted(_within(one, x.ndim + len(axes)) for one in axes)
    if len(set(places)) < len(places):
        raise ValueError(f"the new axes {tuple(axes)} are not different")
    for place in places:
        x = _native.reshaped("expand_dims", x, [place])
    return x


def squeeze(x: Array, /, axis: Axes) -> Array:
    """A view without axes of one element."""
    axes = listed(axis)
    for one in sorted((axis_of(x, one) for one in axes), reverse=True):
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
    return _native.reshaped("permute", x, [axis_of(x, axis) for axis in axes])


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
    return _native.pad(x, listed(pads), value)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the shapes have together."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for at, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and result[at] not in (1, extent):
                raise ValueError(f"the shapes {', '.join(map(str, shapes))} do not broadcast")
            result[at] = extent if extent != 1 else result[at]
    return tuple(result)


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Views of all arrays in the shape that they have together."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    """A view with axes at other positions; the others keep their order."""
    sources, destinations = (listed(one) for one in (source, destination))
    sources, destinations = ([_within(one, x.ndim) for one in axes] for axes in (sources, destinations))
    if len(sources) != len(destinations):
        raise ValueError(f"{len(sources)} axes cannot be moved to {len(destinations)} positions")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for to, axis in sorted(zip(destinations, sources)):
        order.insert(to, axis)
    return permute_dims(x, order)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Views of the array's parts along an axis."""
    at = _within(axis, x.ndim)
    return tuple(x[(slice(None),) * at + (i,)] for i in range(x.shape[at]))


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    """The array again and again along each axis."""
    rank = max(x.ndim, len(repetitions))
    counts = (1,) * (rank - len(repetitions)) + tuple(repetitions)
    x = reshape(x, (1,) * (rank - x.ndim) + x.shape)
    between = [one for extent in x.shape for one in (1, extent)]
    wide = [one for count, extent in zip(counts, x.shape) for one in (count, extent)]
    shape = [count * extent for count, extent in zip(counts, x.shape)]
    return reshape(contiguous(broadcast_to(reshape(x, between), wide)), shape)


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinates of a grid from those along each axis: ``"xy"`` swaps the first two axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f'indexing is "xy" or "ij", not {indexing!r}')
    count = len(arrays)
    swapped = indexing == "xy" and count > 1
    places = [1, 0, *range(2, count)] if swapped else list(range(count))
    views = [reshape(x, [-1 if at == place else 1 for at in range(count)]) for x, place in zip(arrays, places)]
    return tuple(contiguous(x) for x in broadcast_arrays(*views))


def _within(axis: int, rank: int) -> int:
    """An axis that is counted from the start."""
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} of an array of {rank} dimensions")
    return axis % rank
