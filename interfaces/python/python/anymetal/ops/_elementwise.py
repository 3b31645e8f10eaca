"""Functions of each element: of one array, and of two whose shapes broadcast."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from .. import _native
from .._native import Array
from ._creation import asarray, ones_like
from ._dtypes import FLOATS, astype


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
    if isinstance(value, bool):
        return asarray(value, dtype="bool", device=array.device)
    if isinstance(value, int):
        dtype = array.dtype_name if array.dtype_name != "bool" else "int64"
        return asarray(value, dtype=dtype, device=array.device)
    if isinstance(value, float):
        dtype = array.dtype_name if array.dtype_name in FLOATS else "float32"
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
    if a.dtype_name not in FLOATS and b.dtype_name not in FLOATS:
        a, b = _native.cast(a, "float32"), _native.cast(b, "float32")
    return _native.binary("div", a, b)


def floor_divide(x1: Any, x2: Any, /) -> Array:
    """The quotient, rounded down."""
    a, b = _pair(x1, x2)
    if a.dtype_name in FLOATS or b.dtype_name in FLOATS:
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
