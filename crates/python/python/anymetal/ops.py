"""Tensor operations with the names and rules of the Python array API, for what there is.

Arrays are of one device; operations return when their work is handed over, and none changes its inputs. Types are
bool, int8, uint8, int32, uint32, int64, float16, bfloat16 and float32: Metal has no double. Indices of results are
uint32. See ``docs/ops.md`` for the operations themselves.
"""

from __future__ import annotations

import builtins
import math
import struct
import sys
from typing import Any, Callable, Sequence

from . import _foreign, _native
from ._native import Array

e = math.e
inf = math.inf
nan = math.nan
pi = math.pi
newaxis = None


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


bool = DType("bool", 1)
int8 = DType("int8", 1)
uint8 = DType("uint8", 1)
int32 = DType("int32", 4)
uint32 = DType("uint32", 4)
int64 = DType("int64", 8)
float16 = DType("float16", 2)
bfloat16 = DType("bfloat16", 2)
float32 = DType("float32", 4)

_FLOATS = ("float16", "bfloat16", "float32")
_LETTERS = {"bool": "?", "int8": "b", "uint8": "B", "int32": "i", "uint32": "I", "int64": "q", "float16": "e", "float32": "f"}

_Device = Any
_Axes = Any
_bool = type(True)


def _dtype(value: Any) -> str:
    name = _foreign.dtype_name(value)
    if name not in DType._all:
        raise TypeError(f"anymetal has no type `{name}`; there are {', '.join(DType._all)} (Metal has no double)")
    return name


def _device(value: Any) -> Any:
    return _native.Device(value) if isinstance(value, str) else value


# Creation


def asarray(obj: Any, /, *, dtype: Any = None, device: _Device = None, copy: _bool | None = None) -> Array:
    """An array of a number, of nested sequences, or of another library's array.

    An array of another library is copied, or with ``copy=False`` used where it is: both see what the other writes.
    """
    if isinstance(obj, Array):
        result = obj if copy is not True else _native.reshaped("copy", obj, [])
    elif isinstance(obj, (type(True), int, float, list, tuple, range)):
        if copy is False:
            raise ValueError("a number or a sequence has to be copied")
        return _of_sequence(obj, dtype, _device(device))
    else:
        if copy is not False and _foreign.kind_of(obj) == "numpy":
            obj = _of_numpy(obj, dtype)
        result = Array.from_host(obj, _device(device), copy is not False)
    wanted = None if dtype is None else _dtype(dtype)
    if wanted is not None and wanted != result.dtype_name:
        if copy is False:
            raise ValueError(f"the array is of {result.dtype_name}; as {wanted} it has to be copied")
        return _native.cast(result, wanted)
    return result


def _of_numpy(obj: Any, dtype: Any) -> Any:
    """Contiguous, and as the wanted type where only NumPy knows the given one."""
    import numpy

    array = numpy.asarray(obj, order="C")
    if dtype is not None and array.dtype.name not in DType._all and _dtype(dtype) != "bfloat16":
        array = array.astype(_dtype(dtype))
    return array


def _of_sequence(obj: Any, dtype: Any, device: Any) -> Array:
    shape: list[int] = []
    level = obj
    while isinstance(level, (list, tuple, range)):
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    flat = list(_flatten(obj, shape, 0))
    if dtype is not None:
        name = _dtype(dtype)
    elif builtins.any(isinstance(one, float) for one in flat) or not flat:
        name = "float32"
    else:
        name = "bool" if builtins.all(isinstance(one, _bool) for one in flat) else "int64"
    stored = "float32" if name == "bfloat16" else name
    if name not in _FLOATS and builtins.any(isinstance(one, float) for one in flat):
        raise TypeError(f"a float is no {name}; give dtype float32, or integers")
    try:
        data = struct.pack(f"<{len(flat)}{_LETTERS[stored]}", *flat)
    except struct.error as error:
        raise OverflowError(f"a number does not fit {name}: {error}") from None
    array = Array.from_bytes(data, shape, stored, device)
    return array if stored == name else _native.cast(array, name)


def _flatten(obj: Any, shape: list[int], level: int):
    if not isinstance(obj, (list, tuple, range)):
        if level != len(shape):
            raise ValueError("the sequences have different depths")
        yield obj
        return
    if level >= len(shape) or len(obj) != shape[level]:
        raise ValueError("the sequences have different lengths")
    for one in obj:
        yield from _flatten(one, shape, level + 1)


def from_dlpack(x: Any, /, *, device: _Device = None, copy: _bool | None = None) -> Array:
    """The memory of an array with `__dlpack__`, or a copy."""
    return Array.from_host(x, _device(device), copy is True)


def _shape(shape: Any) -> list[int]:
    return [shape] if isinstance(shape, int) else [int(extent) for extent in shape]


def empty(shape: Any, *, dtype: Any = None, device: _Device = None) -> Array:
    """An array with whatever its memory held before."""
    return Array.uninitialised(_shape(shape), _dtype(dtype or float32), _device(device))


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: _Device = None) -> Array:
    """An array of one value."""
    value = asarray(fill_value, dtype=dtype, device=device)
    return _native.reshaped("copy", _native.reshaped("broadcast_to", value, _shape(shape)), [])


def zeros(shape: Any, *, dtype: Any = None, device: _Device = None) -> Array:
    """An array of zeros."""
    name = _dtype(dtype or float32)
    return full(shape, False if name == "bool" else 0, dtype=name, device=device)


def ones(shape: Any, *, dtype: Any = None, device: _Device = None) -> Array:
    """An array of ones."""
    name = _dtype(dtype or float32)
    return full(shape, True if name == "bool" else 1, dtype=name, device=device)


def empty_like(x: Array, /, *, dtype: Any = None, device: _Device = None) -> Array:
    """`empty` with shape and type of another array."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Array, /, *, dtype: Any = None, device: _Device = None) -> Array:
    """`zeros` with shape and type of another array."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def ones_like(x: Array, /, *, dtype: Any = None, device: _Device = None) -> Array:
    """`ones` with shape and type of another array."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: _Device = None) -> Array:
    """`full` with shape and type of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: _Device = None) -> Array:
    """Numbers from `start` to before `stop`, `step` apart."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("the step is 0")
    count = builtins.max(0, math.ceil((stop - start) / step))
    kind = float32 if builtins.any(isinstance(one, float) for one in (start, stop, step)) else int64
    return _native.arange(count, float(start), float(step), _dtype(dtype or kind), _device(device))


def linspace(start: float, stop: float, /, num: int, *, dtype: Any = None, device: _Device = None, endpoint: _bool = True) -> Array:
    """`num` numbers from `start` to `stop`, evenly apart."""
    step = (stop - start) / builtins.max(num - 1 if endpoint else num, 1)
    return _native.arange(num, float(start), step, _dtype(dtype or float32), _device(device))


def eye(n_rows: int, n_cols: int | None = None, /, *, dtype: Any = None, device: _Device = None) -> Array:
    """The identity matrix."""
    if n_cols is not None and n_cols != n_rows:
        raise ValueError("anymetal has square identity matrices only")
    return _native.eye(n_rows, _dtype(dtype or float32), _device(device))


def tril(x: Array, /, *, k: int = 0) -> Array:
    """The lower triangle, zeros above."""
    return _native.triangle("tril", x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """The upper triangle, zeros below."""
    return _native.triangle("triu", x, k)


# Types


def astype(x: Array, dtype: Any, /, *, copy: _bool = True) -> Array:
    """The same numbers as another type."""
    name = _dtype(dtype)
    if name == x.dtype_name and not copy:
        return x
    return _native.cast(x, name)


def isdtype(dtype: Any, kind: Any) -> _bool:
    """Whether a type is one, or of a kind: "bool", "signed integer", "real floating" and so on."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    name = _dtype(dtype)
    kinds = {
        "bool": name == "bool",
        "signed integer": name.startswith("int"),
        "unsigned integer": name.startswith("uint"),
        "integral": "int" in name,
        "real floating": name in _FLOATS,
        "complex floating": False,
        "numeric": name != "bool",
    }
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind]
    return name == _dtype(kind)


# Elementwise functions


def _pair(a: Any, b: Any) -> tuple[Array, Array]:
    """Both as arrays: a number of Python takes the type of the array, unless it is a float and the type is not."""
    if not isinstance(a, Array) and not isinstance(b, Array):
        raise TypeError("at least one of both must be an anymetal array")
    if not isinstance(b, Array):
        return a, _beside(b, a)
    if not isinstance(a, Array):
        return _beside(a, b), b
    return a, b


def _beside(value: Any, array: Array) -> Array:
    if isinstance(value, _bool):
        return asarray(value, dtype="bool", device=array.device)
    if isinstance(value, int):
        dtype = array.dtype_name if array.dtype_name != "bool" else "int64"
        return asarray(value, dtype=dtype, device=array.device)
    if isinstance(value, float):
        dtype = array.dtype_name if array.dtype_name in _FLOATS else "float32"
        return asarray(value, dtype=dtype, device=array.device)
    raise TypeError(
        f"an anymetal array and {type(value).__name__} cannot be combined; convert it with `anymetal.asarray`"
    )


def _unary(name: str, native: str) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        return _native.unary(native, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element."
    return function


def _binary(name: str, native: str, run: Callable[..., Array] = _native.binary) -> Callable[[Any, Any], Array]:
    def function(x1: Any, x2: Any, /) -> Array:
        return run(native, *_pair(x1, x2))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each pair of elements; the shapes broadcast."
    return function


def _float_unary(name: str, native: str) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        # Whole numbers stay what they are.
        return x if "int" in x.dtype_name else _native.unary(native, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of each element."
    return function


abs = _unary("abs", "abs")
acos = _unary("acos", "acos")
acosh = _unary("acosh", "acosh")
asin = _unary("asin", "asin")
asinh = _unary("asinh", "asinh")
atan = _unary("atan", "atan")
atanh = _unary("atanh", "atanh")
bitwise_invert = _unary("bitwise_invert", "bit_not")
ceil = _float_unary("ceil", "ceil")
cos = _unary("cos", "cos")
cosh = _unary("cosh", "cosh")
erf = _unary("erf", "erf")
exp = _unary("exp", "exp")
expm1 = _unary("expm1", "expm1")
floor = _float_unary("floor", "floor")
log = _unary("log", "log")
log10 = _unary("log10", "log10")
log1p = _unary("log1p", "log1p")
log2 = _unary("log2", "log2")
negative = _unary("negative", "neg")
reciprocal = _unary("reciprocal", "recip")
round = _float_unary("round", "round")
sign = _unary("sign", "sign")
sin = _unary("sin", "sin")
sinh = _unary("sinh", "sinh")
sqrt = _unary("sqrt", "sqrt")
rsqrt = _unary("rsqrt", "rsqrt")
square = _unary("square", "square")
tan = _unary("tan", "tan")
trunc = _float_unary("trunc", "trunc")

add = _binary("add", "add")
atan2 = _binary("atan2", "atan2")
bitwise_and = _binary("bitwise_and", "bit_and")
bitwise_left_shift = _binary("bitwise_left_shift", "shl")
bitwise_or = _binary("bitwise_or", "bit_or")
bitwise_right_shift = _binary("bitwise_right_shift", "shr")
bitwise_xor = _binary("bitwise_xor", "bit_xor")
copysign = _binary("copysign", "copysign")
hypot = _binary("hypot", "hypot")
logaddexp = _binary("logaddexp", "logaddexp")
maximum = _binary("maximum", "maximum")
minimum = _binary("minimum", "minimum")
multiply = _binary("multiply", "mul")
pow = _binary("pow", "pow")
subtract = _binary("subtract", "sub")

equal = _binary("equal", "eq", _native.compare)
greater = _binary("greater", "gt", _native.compare)
greater_equal = _binary("greater_equal", "ge", _native.compare)
less = _binary("less", "lt", _native.compare)
less_equal = _binary("less_equal", "le", _native.compare)
logical_and = _binary("logical_and", "and", _native.compare)
logical_or = _binary("logical_or", "or", _native.compare)
logical_xor = _binary("logical_xor", "xor", _native.compare)
not_equal = _binary("not_equal", "ne", _native.compare)


def divide(x1: Any, x2: Any, /) -> Array:
    """The quotient; of integers it is float32."""
    a, b = _pair(x1, x2)
    if a.dtype_name not in _FLOATS and b.dtype_name not in _FLOATS:
        a, b = _native.cast(a, "float32"), _native.cast(b, "float32")
    return _native.binary("div", a, b)


def floor_divide(x1: Any, x2: Any, /) -> Array:
    """The quotient, rounded down."""
    a, b = _pair(x1, x2)
    if a.dtype_name in _FLOATS or b.dtype_name in _FLOATS:
        return _native.unary("floor", _native.binary("div", a, b))
    quotient = _native.binary("div", a, b)
    rest = subtract(a, multiply(quotient, b))
    wrong = logical_and(not_equal(rest, 0), not_equal(less(rest, 0), less(b, 0)))
    return subtract(quotient, astype(wrong, quotient.dtype))


def remainder(x1: Any, x2: Any, /) -> Array:
    """The remainder, with the divisor's sign."""
    a, b = _pair(x1, x2)
    rest = _native.binary("rem", a, b)
    wrong = logical_and(not_equal(rest, 0), not_equal(less(rest, 0), less(b, 0)))
    return where(wrong, add(rest, b), rest)


def positive(x: Array, /) -> Array:
    """The same array."""
    return x


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Each element, not below `min` and not above `max`."""
    result = x if min is None else maximum(x, min)
    return result if max is None else minimum(result, max)


def logical_not(x: Array, /) -> Array:
    """Whether each element is zero."""
    return _native.test("logical_not", x)


def isfinite(x: Array, /) -> Array:
    """Whether each element is neither infinite nor NaN."""
    return _native.test("isfinite", x)


def isinf(x: Array, /) -> Array:
    """Whether each element is infinite."""
    return _native.test("isinf", x)


def isnan(x: Array, /) -> Array:
    """Whether each element is NaN."""
    return _native.test("isnan", x)


def signbit(x: Array, /) -> Array:
    """Whether each element has its sign bit set."""
    return less(copysign(ones_like(x), x), 0)


def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    """Elements of `x1` where the condition holds, of `x2` elsewhere."""
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        x1 = asarray(x1, device=condition.device)
    return _native.where_(condition, *_pair(x1, x2))


# Reductions


def _axes(x: Array, axis: _Axes) -> list[int]:
    if axis is None:
        return list(range(x.ndim))
    return [axis] if isinstance(axis, int) else list(axis)


def _reduction(name: str) -> Callable[..., Array]:
    def function(x: Array, /, *, axis: _Axes = None, keepdims: _bool = False) -> Array:
        if not x.ndim:
            return _native.reshaped("reshape", _native.reduce(name, _native.reshaped("reshape", x, [1]), [0], False), [])
        if axis is not None and not isinstance(axis, int) and not list(axis):
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


def sum(x: Array, /, *, axis: _Axes = None, dtype: Any = None, keepdims: _bool = False) -> Array:
    """The sum over axes, or of all elements; of integers it is int64."""
    return _plain_sum(x if dtype is None else astype(x, dtype, copy=False), axis=axis, keepdims=keepdims)


def prod(x: Array, /, *, axis: _Axes = None, dtype: Any = None, keepdims: _bool = False) -> Array:
    """The product over axes, or of all elements; of integers it is int64."""
    return _plain_prod(x if dtype is None else astype(x, dtype, copy=False), axis=axis, keepdims=keepdims)


def var(x: Array, /, *, axis: _Axes = None, correction: int = 0, keepdims: _bool = False) -> Array:
    """The variance."""
    return _native.spread("var", x, _axes(x, axis), correction, keepdims)


def std(x: Array, /, *, axis: _Axes = None, correction: int = 0, keepdims: _bool = False) -> Array:
    """The standard deviation."""
    return _native.spread("std", x, _axes(x, axis), correction, keepdims)


def logsumexp(x: Array, /, *, axis: _Axes = None, keepdims: _bool = False) -> Array:
    """The logarithm of the sum of exponentials."""
    return _native.spread("logsumexp", x, _axes(x, axis), 0, keepdims)


def _position(name: str, x: Array, axis: int | None, keepdims: _bool) -> Array:
    if axis is None:
        flat = _native.along(name, _native.reshaped("reshape", x, [x.size]), 0)
        return _native.reshaped("reshape", flat, [1] * x.ndim if keepdims else [])
    return _native.along(f"{name}_keep" if keepdims else name, x, axis)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: _bool = False) -> Array:
    """The position of the greatest element."""
    return _position("argmax", x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: _bool = False) -> Array:
    """The position of the least element."""
    return _position("argmin", x, axis, keepdims)


def _one_axis(x: Array, axis: int | None, name: str) -> int:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"`{name}` of {x.ndim} dimensions needs an axis")
        return 0
    return axis


def cumulative_sum(x: Array, /, *, axis: int | None = None) -> Array:
    """The sums of all elements up to each."""
    return _native.along("cumsum", x, _one_axis(x, axis, "cumulative_sum"))


def cumulative_prod(x: Array, /, *, axis: int | None = None) -> Array:
    """The products of all elements up to each."""
    return _native.along("cumprod", x, _one_axis(x, axis, "cumulative_prod"))


# Sorting and searching


def sort(x: Array, /, *, axis: int = -1, descending: _bool = False, stable: _bool = True) -> Array:
    """The elements along an axis in order."""
    return _native.along("sort_descending" if descending else "sort", x, axis)


def argsort(x: Array, /, *, axis: int = -1, descending: _bool = False, stable: _bool = True) -> Array:
    """The positions of the elements along an axis in their order."""
    return _native.along("argsort_descending" if descending else "argsort", x, axis)


def unique_values(x: Array, /) -> Array:
    """The different elements, in order."""
    return _native.unique(x)[0]


def unique_counts(x: Array, /) -> tuple[Array, Array]:
    """The different elements, in order, and how often each occurs."""
    return _native.unique(x)


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """The elements of an axis at the indices."""
    return _native.gather("take", x, indices, _one_axis(x, axis, "take"))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """The element at each index along an axis."""
    return _native.gather("take_along_axis", x, indices, axis)


# Shapes


def reshape(x: Array, /, shape: Any, *, copy: _bool | None = None) -> Array:
    """The same elements in another shape; one extent may be -1."""
    extents = _shape(shape)
    if -1 in extents:
        known = math.prod(extent for extent in extents if extent != -1)
        if extents.count(-1) > 1 or known == 0 or x.size % known:
            raise ValueError(f"an array of shape {x.shape} has no shape {tuple(extents)}")
        extents[extents.index(-1)] = x.size // known
    result = _native.reshaped("reshape", x, extents)
    return _native.reshaped("copy", result, []) if copy else result


def broadcast_to(x: Array, /, shape: Any) -> Array:
    """A view of another shape, which repeats axes of one element."""
    return _native.reshaped("broadcast_to", x, _shape(shape))


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


def squeeze(x: Array, /, axis: _Axes) -> Array:
    """A view without axes of one element."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    for one in sorted((one % x.ndim for one in axes), reverse=True):
        x = _native.reshaped("squeeze", x, [one])
    return x


def flip(x: Array, /, *, axis: _Axes = None) -> Array:
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


# Linear algebra and neural networks


def matmul(x1: Array, x2: Array, /) -> Array:
    """The product of matrices, which are the last two dimensions."""
    return _native.matmul(x1, x2)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The products of vectors along an axis."""
    return sum(multiply(x1, x2), axis=axis)


def relu(x: Array, /) -> Array:
    """Each element, not below zero."""
    return _native.activation("relu", x)


def gelu(x: Array, /) -> Array:
    """The Gaussian error linear unit."""
    return _native.activation("gelu", x)


def silu(x: Array, /) -> Array:
    """`x * sigmoid(x)`."""
    return _native.activation("silu", x)


def sigmoid(x: Array, /) -> Array:
    """The logistic function."""
    return _native.activation("sigmoid", x)


def tanh(x: Array, /) -> Array:
    """The hyperbolic tangent."""
    return _native.activation("tanh", x)


def softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Exponentials over their sum."""
    return _native.along("softmax", x, axis)


def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """The logarithm of `softmax`."""
    return _native.along("log_softmax", x, axis)


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, *, dimensions: int = 1, eps: float = 1e-5) -> Array:
    """The last dimensions with mean 0 and variance 1, times a weight, plus a bias."""
    return _native.layer_norm(x, dimensions, weight, bias, eps)


def rms_norm(x: Array, weight: Array | None = None, *, dimensions: int = 1, eps: float = 1e-5) -> Array:
    """The last dimensions over the root of their mean square, times a weight."""
    return _native.rms_norm(x, dimensions, weight, eps)


def random_uniform(shape: Any, *, seed: int, low: float = 0.0, high: float = 1.0, dtype: Any = None, device: _Device = None) -> Array:
    """Random numbers from `low` to before `high`; the same seed gives the same numbers."""
    return _native.random("uniform", seed, _shape(shape), (low, high), _dtype(dtype or float32), _device(device))


def random_normal(shape: Any, *, seed: int, mean: float = 0.0, deviation: float = 1.0, dtype: Any = None, device: _Device = None) -> Array:
    """Normally distributed random numbers; the same seed gives the same numbers."""
    return _native.random("normal", seed, _shape(shape), (mean, deviation), _dtype(dtype or float32), _device(device))


from . import _operators  # noqa: E402  The operators of `Array` are made of the functions above.

_operators.attach(sys.modules[__name__])
