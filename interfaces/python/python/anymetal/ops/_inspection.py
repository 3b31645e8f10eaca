"""What types hold, what becomes of two of them, and what the namespace offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _native
from .._native import Array
from ._dtypes import (
    FLOATS,
    Device,
    DType,
    bfloat16,
    device_of,
    dtype_name,
    float16,
    float32,
    int32,
    int64,
    isdtype,
    uint32,
)


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a type of floating point."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of a type of integers."""

    bits: int
    max: int
    min: int
    dtype: DType


#: By type: the bits of the significand after the point, and the largest exponent.
_FORMATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127)}


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a type of floating point, or of an array's type."""
    dtype = _dtype_of(type)
    if dtype.name not in _FORMATS:
        raise ValueError(f"{dtype} has no fractions; use `iinfo`")
    fraction, exponent = _FORMATS[dtype.name]
    largest = (2.0 - 2.0**-fraction) * 2.0**exponent
    return FloatInfo(8 * dtype.itemsize, 2.0**-fraction, largest, -largest, 2.0 ** (1 - exponent), dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of a type of integers, or of an array's type."""
    dtype = _dtype_of(type)
    if not isdtype(dtype, "integral"):
        raise ValueError(f"{dtype} is no type of integers")
    bits = 8 * dtype.itemsize
    if dtype.name.startswith("u"):
        return IntegerInfo(bits, 2**bits - 1, 0, dtype)
    return IntegerInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)


#: The type that holds an unsigned integer and a signed one that is not wider; int16 is none of Metal's tensors.
_SIGNED = {("uint8", "int8"): int32, ("uint32", "int8"): int64, ("uint32", "int32"): int64}


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type that operations of arrays, types and numbers of Python give.

    As in the array API, a number takes the kind of the arrays, and types of different kinds have no common one,
    but for a float in Python's arithmetic. Of uint8 and int8 it is int32, since there is no int16 here.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type needs at least one array or type")
    numbers = [one for one in arrays_and_dtypes if isinstance(one, (bool, int, float))]
    types = [_dtype_of(one) for one in arrays_and_dtypes if not isinstance(one, (bool, int, float))]
    if not types:
        raise ValueError("result_type needs at least one array or type beside numbers")
    result = types[0]
    for one in types[1:]:
        result = _common(result, one)
    for number in numbers:
        fits = result.name in FLOATS or (
            result.name == "bool" if isinstance(number, bool) else isinstance(number, int) and result.name != "bool"
        )
        if not fits:
            raise TypeError(f"{number!r} and {result} have no common type")
    return result


def _common(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if {a.name, b.name} <= set(FLOATS):
        return float32
    if not (isdtype(a, "integral") and isdtype(b, "integral")):
        raise TypeError(f"{a} and {b} have no common type; convert one with `astype`")
    unsigned, signed = sorted((a, b), key=lambda one: not one.name.startswith("u"))
    if signed.name.startswith("u") or not unsigned.name.startswith("u") or signed.itemsize > unsigned.itemsize:
        return max(a, b, key=lambda one: one.itemsize)
    return _SIGNED[unsigned.name, signed.name]


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether the type `to` is what `from_` and it have in common."""
    try:
        return result_type(_dtype_of(from_), to) is DType(dtype_name(to))
    except TypeError:
        return False


def _dtype_of(value: Any) -> DType:
    return value.dtype if isinstance(value, Array) else DType(dtype_name(value))


class _Info:
    """What `__array_namespace_info__` gives."""

    def capabilities(self) -> dict[str, Any]:
        """What the array API allows to be left out, and whether it is there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> Any:
        """The device of arrays that are made without one."""
        return _native.Device()

    def default_dtypes(self, *, device: Device = None) -> dict[str, DType | None]:
        """The types of arrays that are made without one."""
        return {"real floating": float32, "complex floating": None, "integral": int64, "indexing": int64}

    def devices(self) -> tuple[Any, ...]:
        """The devices of this machine."""
        return tuple(_native.Device(name) for name in _native.device_names())

    def dtypes(self, *, device: Device = None, kind: Any = None) -> dict[str, DType]:
        """The types that the array API names, all or those of a kind."""
        device_of(device)
        every = {name: dtype for name, dtype in DType._all.items() if dtype not in (bfloat16, float16)}
        return {name: dtype for name, dtype in every.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:
    """Types, devices and capabilities, as the array API asks for them."""
    return _Info()
