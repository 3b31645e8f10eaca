"""Arrays made of numbers, of other libraries' arrays, of nothing."""

from __future__ import annotations

import math
import struct
from typing import Any
from collections.abc import Iterator

from .. import _foreign, _native
from .._native import Array
from ._dtypes import FLOATS, LETTERS, Device, DType, device_of, dtype_name, float32, int64


def asarray(obj: Any, /, *, dtype: Any = None, device: Device = None, copy: bool | None = None) -> Array:
    """An array of a number, of nested sequences, or of another library's array.

    An array of another library is copied, or with ``copy=False`` used where it is: both see what the other writes.
    """
    if isinstance(obj, Array):
        result = obj if copy is not True else _native.reshaped("copy", obj, [])
    elif isinstance(obj, (bool, int, float, list, tuple, range)):
        if copy is False:
            raise ValueError("a number or a sequence has to be copied")
        return _of_sequence(obj, dtype, device_of(device))
    else:
        if copy is not False and _foreign.kind_of(obj) == "numpy":
            obj = _of_numpy(obj, dtype)
        result = Array.from_host(obj, device_of(device), copy is not False)
    wanted = None if dtype is None else dtype_name(dtype)
    if wanted is not None and wanted != result.dtype_name:
        if copy is False:
            raise ValueError(f"the array is of {result.dtype_name}; as {wanted} it has to be copied")
        return _native.cast(result, wanted)
    return result


#: The most dimensions of an array, as in NumPy.
_MAX_RANK = 64


def _of_numpy(obj: Any, dtype: Any) -> Any:
    """Contiguous, and as the wanted type where only NumPy knows the given one."""
    import numpy

    array = numpy.asarray(obj, order="C")
    if dtype is not None and array.dtype.name not in DType._all and dtype_name(dtype) != "bfloat16":
        array = array.astype(dtype_name(dtype))
    return array


def _of_sequence(obj: Any, dtype: Any, device: Any) -> Array:
    shape: list[int] = []
    level = obj
    while isinstance(level, (list, tuple, range)):
        shape.append(len(level))
        if len(shape) > _MAX_RANK:
            raise ValueError(f"the sequences are nested more than {_MAX_RANK} deep")
        if not level:
            break
        level = level[0]
    if 0 not in shape and math.prod(shape) >= 2**31:
        raise ValueError(f"the sequences have the shape {shape}: at most 2^31 - 1 elements are allowed")
    flat = list(_flatten(obj, shape, 0))
    if dtype is not None:
        name = dtype_name(dtype)
    elif any(isinstance(one, float) for one in flat) or not flat:
        name = "float32"
    else:
        name = "bool" if all(isinstance(one, bool) for one in flat) else "int64"
    stored = "float32" if name == "bfloat16" else name
    if name not in FLOATS and any(isinstance(one, float) for one in flat):
        raise TypeError(f"a float is no {name}; give dtype float32, or integers")
    try:
        data = struct.pack(f"<{len(flat)}{LETTERS[stored]}", *flat)
    except struct.error as error:
        raise OverflowError(f"a number does not fit {name}: {error}") from None
    array = Array.from_bytes(data, shape, stored, device)
    return array if stored == name else _native.cast(array, name)


def _flatten(obj: Any, shape: list[int], level: int) -> Iterator[Any]:
    if not isinstance(obj, (list, tuple, range)):
        if level != len(shape):
            raise ValueError("the sequences have different depths")
        yield obj
        return
    if level >= len(shape) or len(obj) != shape[level]:
        raise ValueError("the sequences have different lengths")
    # No more than the length says, if a sequence's iterator does not end.
    for _, one in zip(range(shape[level]), obj):
        yield from _flatten(one, shape, level + 1)


def from_dlpack(x: Any, /, *, device: Device = None, copy: bool | None = None) -> Array:
    """The memory of an array with `__dlpack__`, or a copy."""
    return Array.from_host(x, device_of(device), copy is True)


def extents_of(shape: Any) -> list[int]:
    return [shape] if isinstance(shape, int) else [int(extent) for extent in shape]


def empty(shape: Any, *, dtype: Any = None, device: Device = None) -> Array:
    """An array with whatever its memory held before."""
    return Array.uninitialised(extents_of(shape), dtype_name(dtype or float32), device_of(device))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Device = None) -> Array:
    """An array of one value."""
    value = asarray(fill_value, dtype=dtype, device=device)
    return _native.reshaped("copy", _native.reshaped("broadcast_to", value, extents_of(shape)), [])


def zeros(shape: Any, *, dtype: Any = None, device: Device = None) -> Array:
    """An array of zeros."""
    name = dtype_name(dtype or float32)
    return full(shape, False if name == "bool" else 0, dtype=name, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Device = None) -> Array:
    """An array of ones."""
    name = dtype_name(dtype or float32)
    return full(shape, True if name == "bool" else 1, dtype=name, device=device)


def empty_like(x: Array, /, *, dtype: Any = None, device: Device = None) -> Array:
    """`empty` with shape and type of another array."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Array, /, *, dtype: Any = None, device: Device = None) -> Array:
    """`zeros` with shape and type of another array."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def ones_like(x: Array, /, *, dtype: Any = None, device: Device = None) -> Array:
    """`ones` with shape and type of another array."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Device = None) -> Array:
    """`full` with shape and type of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Device = None) -> Array:
    """Numbers from `start` to before `stop`, `step` apart."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("the step is 0")
    count = max(0, math.ceil((stop - start) / step))
    kind = float32 if any(isinstance(one, float) for one in (start, stop, step)) else int64
    return _native.arange(count, float(start), float(step), dtype_name(dtype or kind), device_of(device))


def linspace(
    start: float, stop: float, /, num: int, *, dtype: Any = None, device: Device = None, endpoint: bool = True
) -> Array:
    """`num` numbers from `start` to `stop`, evenly apart."""
    step = (stop - start) / max(num - 1 if endpoint else num, 1)
    name, target = dtype_name(dtype or float32), device_of(device)
    if not endpoint or num < 2:
        return _native.arange(num, float(start), step, name, target)
    # The last one is `stop` itself, whatever the steps before are rounded to.
    before = _native.arange(num - 1, float(start), step, name, target)
    return _native.join("concat", [before, full([1], stop, dtype=name, device=device)], 0)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Device = None
) -> Array:
    """A matrix with ones on its `k`-th diagonal and zeros elsewhere."""
    name, target = dtype_name(dtype or float32), device_of(device)
    if k == 0 and n_cols in (None, n_rows):
        return _native.eye(n_rows, name, target)
    columns = n_rows if n_cols is None else n_cols
    row = _native.reshaped("reshape", _native.arange(n_rows, float(k), 1.0, "int64", target), [n_rows, 1])
    column = _native.reshaped("reshape", _native.arange(columns, 0.0, 1.0, "int64", target), [1, columns])
    return _native.cast(_native.compare("eq", row, column), name)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """The lower triangle, zeros above."""
    return _native.triangle("tril", x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """The upper triangle, zeros below."""
    return _native.triangle("triu", x, k)


def random_uniform(
    shape: Any, *, seed: int, low: float = 0.0, high: float = 1.0, dtype: Any = None, device: Device = None
) -> Array:
    """Random numbers from `low` to before `high`; the same seed gives the same numbers."""
    return _native.random(
        "uniform", seed, extents_of(shape), (low, high), dtype_name(dtype or float32), device_of(device)
    )


def random_normal(
    shape: Any, *, seed: int, mean: float = 0.0, deviation: float = 1.0, dtype: Any = None, device: Device = None
) -> Array:
    """Normally distributed random numbers; the same seed gives the same numbers."""
    return _native.random(
        "normal", seed, extents_of(shape), (mean, deviation), dtype_name(dtype or float32), device_of(device)
    )
