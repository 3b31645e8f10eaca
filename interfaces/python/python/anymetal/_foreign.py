"""Arrays of other libraries: what only NumPy knows how to read, and results in the caller's own kind."""

from __future__ import annotations

import sys
from typing import Any


def as_array(value: Any) -> Any:
    """A NumPy array over the memory of `value`, or `None` if it has none that can be shared."""
    try:
        import numpy
    except ImportError:
        return None
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        if not isinstance(interface, dict):
            raise TypeError(f"`__array_interface__` is a {type(interface).__name__}, not a dict")
        # Before NumPy makes an array that takes what is in the memory for references.
        if has_objects([("", interface.get("typestr", "")), *(interface.get("descr") or ())]):
            raise TypeError("kernels cannot use arrays of Python objects (dtype `object`)")
        array = numpy.asarray(value)
        return array if isinstance(array, numpy.ndarray) else None
    if isinstance(value, (bytearray, memoryview)) or type(value).__module__ in ("array", "mmap", "ctypes"):
        view = memoryview(value)
        if not view.c_contiguous:
            return None
        return numpy.asarray(view)
    return None


def has_objects(fields: Any) -> bool:
    """Whether a type by NumPy's array interface, a list of its fields, has Python objects among them."""
    for field in fields:
        kind = field[1]
        if has_objects(kind) if isinstance(kind, list) else "O" in str(kind)[:2]:
            return True
    return False


def to_numpy(array: Any, copy: bool | None = None) -> Any:
    """An array of anymetal as one of NumPy: its memory where that is the host's, else a copy."""
    import numpy

    array.wait()
    if not copy and array.device.unified_memory:
        return numpy.asarray(_Interface(array))
    data = numpy.frombuffer(bytearray(array.tobytes()), dtype=array.dtype.name)
    return data.reshape(array.shape)


class _Interface:
    """Shows only the array interface, so that NumPy does not ask for `__array__` again."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self._array = array


def kind_of(value: Any) -> str:
    """Which library an array is of: `numpy`, `torch`, `mlx`, `anymetal`, or ``""``."""
    for cls in type(value).__mro__:
        root = (cls.__module__ or "").partition(".")[0]
        if root in ("numpy", "torch", "mlx", "anymetal"):
            return root
    return ""


def dtype_name(value: Any) -> str:
    """The name of a type of any library: ``"float32"`` for `numpy.float32`, `torch.float32`, `mlx.core.float32`."""
    if isinstance(value, str):
        name = value
    elif isinstance(value, type):
        name = {bool: "bool", int: "int64", float: "float32"}.get(value) or value.__name__
    else:
        name = getattr(value, "name", None) or str(value)
    name = name.rpartition(".")[2]
    return {"bool_": "bool", "half": "float16", "float": "float32", "int": "int64", "double": "float64"}.get(name, name)


def empty_like_kind(kind: str, shape: tuple[int, ...], dtype: str, fill: Any = None) -> Any:
    """A new array of a library, with a value everywhere or with whatever was in its memory."""
    if kind == "torch":
        torch = sys.modules["torch"]
        kind_of_element = getattr(torch, dtype)
        if fill is None:
            return torch.empty(shape, dtype=kind_of_element)
        return torch.full(shape, fill, dtype=kind_of_element)
    if kind == "anymetal" or dtype == "bfloat16":
        from . import ops

        if fill is None:
            return ops.empty(shape, dtype=dtype)
        return ops.full(shape, fill, dtype=dtype)
    import numpy

    if fill is None:
        return numpy.empty(shape, dtype=dtype)
    return numpy.full(shape, fill, dtype=dtype)
