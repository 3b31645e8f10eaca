"""The operators and methods of `Array`, made of the functions of `anymetal.ops`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from . import _foreign, _native
from ._native import Array


def attach(ops: ModuleType) -> None:
    """Gives the class its operators."""
    numbers = (bool, int, float)

    def infix(function: Any) -> Any:
        def operator(self: Array, other: Any) -> Any:
            if not isinstance(other, (Array, *numbers)):
                return NotImplemented
            return function(self, other)

        return operator

    def reflected(function: Any) -> Any:
        def operator(self: Array, other: Any) -> Any:
            return function(other, self) if isinstance(other, numbers) else NotImplemented

        return operator

    arithmetic = {
        "add": ops.add,
        "and": ops.bitwise_and,
        "floordiv": ops.floor_divide,
        "lshift": ops.bitwise_left_shift,
        "mod": ops.remainder,
        "mul": ops.multiply,
        "or": ops.bitwise_or,
        "pow": ops.pow,
        "rshift": ops.bitwise_right_shift,
        "sub": ops.subtract,
        "truediv": ops.divide,
        "xor": ops.bitwise_xor,
    }
    for name, function in arithmetic.items():
        setattr(Array, f"__{name}__", infix(function))
        setattr(Array, f"__r{name}__", reflected(function))
    comparisons = {
        "eq": ops.equal,
        "ge": ops.greater_equal,
        "gt": ops.greater,
        "le": ops.less_equal,
        "lt": ops.less,
        "ne": ops.not_equal,
    }
    for name, function in comparisons.items():
        setattr(Array, f"__{name}__", infix(function))
    Array.__hash__ = None
    Array.__matmul__ = infix(ops.matmul)
    Array.__abs__ = ops.abs
    Array.__neg__ = ops.negative
    Array.__pos__ = ops.positive
    Array.__invert__ = ops.bitwise_invert
    Array.__getitem__ = _item
    Array.__len__ = _length
    Array.__bool__ = lambda self: bool(_scalar(self))
    Array.__int__ = lambda self: int(_scalar(self))
    Array.__float__ = lambda self: float(_scalar(self))
    Array.__index__ = _index
    Array.__repr__ = _text
    Array.__array__ = _as_numpy
    Array.__array_namespace__ = lambda self, *, api_version=None: ops
    Array.__reduce__ = _reduced
    Array.T = property(lambda self: ops.permute_dims(self, range(self.ndim)[::-1]))
    Array.mT = property(ops.matrix_transpose)
    Array.dtype = property(lambda self: ops.DType(self.dtype_name))
    Array.numpy = lambda self, *, copy=None: _foreign.to_numpy(self, copy)
    Array.tolist = lambda self: _listed(self)
    Array.item = lambda self: _scalar(self)
    Array.astype = lambda self, dtype: ops.astype(self, dtype)
    Array.reshape = lambda self, *shape: ops.reshape(self, shape[0] if len(shape) == 1 else shape)
    Array.to_device = lambda self, device, /, *, stream=None: ops.asarray(self.numpy(copy=True), device=device)


def _item(self: Array, key: Any) -> Array:
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(one, Array) for one in keys):
        return _picked(self, keys)
    given = sum(one is not None and one is not Ellipsis for one in keys)
    if given > self.ndim:
        raise IndexError(f"{given} indices for an array of {self.ndim} dimensions")
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys = (*keys[:at], *[slice(None)] * (self.ndim - given), *keys[at + 1 :])
    result, axis = self, 0
    for one in keys:
        if one is None:
            result, axis = _native.reshaped("expand_dims", result, [axis]), axis + 1
        elif isinstance(one, slice):
            result, axis = _sliced(result, axis, one), axis + 1
        else:
            extent, index = result.shape[axis], one.__index__()
            if not -extent <= index < extent:
                raise IndexError(f"index {index} of an axis of {extent} elements")
            result = _native.reshaped("select", result, [axis, index % extent])
    return result


def _picked(self: Array, keys: tuple[Any, ...]) -> Array:
    from .ops import _searching

    if len(keys) == 1 and keys[0].dtype_name == "bool":
        return _searching.masked(self, keys[0])
    if not all(isinstance(one, (int, Array)) for one in keys):
        raise TypeError("arrays as indices go with integers and other arrays only; use `anymetal.ops.take`")
    return _searching.elements_at(self, keys)


def _sliced(x: Array, axis: int, key: slice) -> Array:
    start, stop, step = key.indices(x.shape[axis])
    if (start, stop, step) == (0, x.shape[axis], 1):
        return x
    if step > 0:
        return _native.reshaped("slice", x, [axis, start, max(start, stop), step])
    count = max(0, -(-(start - stop) // -step))
    first = start + (count - 1) * step if count else 0
    forward = _native.reshaped("slice", x, [axis, first, start + 1 if count else 0, -step])
    return _native.reshaped("flip", forward, [axis])


def _length(self: Array) -> int:
    if not self.ndim:
        raise TypeError("an array without dimensions has no length")
    return self.shape[0]


def _listed(self: Array) -> Any:
    import struct

    from .ops._dtypes import LETTERS

    plain = _native.cast(self, "float32") if self.dtype_name == "bfloat16" else self
    values = struct.unpack(f"<{plain.size}{LETTERS[plain.dtype_name]}", plain.tobytes())

    def level(shape: tuple[int, ...], first: int, size: int) -> Any:
        if not shape:
            return values[first]
        part = size // shape[0] if shape[0] else 0
        return [level(shape[1:], first + at * part, part) for at in range(shape[0])]

    return level(self.shape, 0, self.size)


def _scalar(self: Array) -> Any:
    if self.size != 1:
        raise TypeError(f"an array of shape {self.shape} is not one number")
    return _native.reshaped("reshape", self, [1]).tolist()[0]


def _index(self: Array) -> int:
    if "int" not in self.dtype_name:
        raise TypeError(f"an array of {self.dtype_name} is no index")
    return _scalar(self)


def _text(self: Array) -> str:
    shown = self.tolist() if self.size <= 100 else "..."
    return f"anymetal.Array({shown}, shape={self.shape}, dtype={self.dtype_name}, device={self.device.name})"


def _as_numpy(self: Array, dtype: Any = None, copy: Any = None) -> Any:
    array = _foreign.to_numpy(self, copy)
    return array if dtype is None else array.astype(dtype)


def _rebuilt(data: bytes, shape: tuple[int, ...], dtype: str) -> Array:
    return Array.from_bytes(data, list(shape), dtype)


def _reduced(self: Array) -> Any:
    return _rebuilt, (self.tobytes(), self.shape, self.dtype_name)
