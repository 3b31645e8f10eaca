"""Products of matrices, and functions of neural networks."""

from __future__ import annotations

from .. import _native
from .._native import Array
from ._elementwise import multiply
from ._reductions import sum


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


def layer_norm(
    x: Array, weight: Array | None = None, bias: Array | None = None, *, dimensions: int = 1, eps: float = 1e-5
) -> Array:
    """The last dimensions with mean 0 and variance 1, times a weight, plus a bias."""
    return _native.layer_norm(x, dimensions, weight, bias, eps)


def rms_norm(x: Array, weight: Array | None = None, *, dimensions: int = 1, eps: float = 1e-5) -> Array:
    """The last dimensions over the root of their mean square, times a weight."""
    return _native.rms_norm(x, dimensions, weight, eps)
