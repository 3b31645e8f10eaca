"""Element types, and conversions between them."""

from __future__ import annotations

from typing import Any

from .. import _foreign, _native
from .._native import Array

#: What is given for a device: an `anymetal.Device`, its name, or nothing.
Device = Any
#: An axis, several, or all.
Axes = Any


def listed(values: Any) -> list[Any]:
    """One value, or those of an iterable. Not by `list`, which reserves memory for the length that an object claims."""
    return [values] if isinstance(values, int) else [one for one in values]


class DType:
    """The type of an array's elements."""

    __slots__ = ("name", "itemsize")
    _all: dict[str, DType] = {}

    def __new__(cls, name: str, itemsize: int = 0) -> DType:
        known = cls._all.get(name)
        if known is None:
            known = object.__new__(cls)
            known.name, known.itemsize = name, itemsize
            cls._all[name] = known
        return known

    def __repr__(self) -> str:
        return f"anymetal.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self):
        return DType, (self.name, self.itemsize)


bool_ = DType("bool", 1)
int8 = DType("int8", 1)
uint8 = DType("uint8", 1)
int32 = DType("int32", 4)
uint32 = DType("uint32", 4)
int64 = DType("int64", 8)
float16 = DType("float16", 2)
bfloat16 = DType("bfloat16", 2)
float32 = DType("float32", 4)

FLOATS = ("float16", "bfloat16", "float32")
#: The letters of Python's `struct`.
LETTERS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float16": "e",
    "float32": "f",
}


def dtype_name(value: Any) -> str:
    name = _foreign.dtype_name(value)
    if name not in DType._all:
        raise TypeError(f"anymetal has no type `{name}`; there are {', '.join(DType._all)} (Metal has no double)")
    return name


def device_of(value: Device) -> Any:
    return _native.Device(value) if isinstance(value, str) else value


def astype(x: Array, dtype: Any, /, *, copy: bool = True) -> Array:
    """The same numbers as another type."""
    name = dtype_name(dtype)
    if name == x.dtype_name and not copy:
        return x
    return _native.cast(x, name)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is one, or of a kind: "bool", "signed integer", "real floating" and so on."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    name = dtype_name(dtype)
    kinds = {
        "bool": name == "bool",
        "signed integer": name.startswith("int"),
        "unsigned integer": name.startswith("uint"),
        "integral": "int" in name,
        "real floating": name in FLOATS,
        "complex floating": False,
        "numeric": name != "bool",
    }
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind]
    return name == dtype_name(kind)
