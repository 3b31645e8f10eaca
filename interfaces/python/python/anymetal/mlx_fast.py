"""A stand-in for `mlx.core.fast.metal_kernel` where MLX has no Metal, as on Linux.

::

    import anymetal.mlx_fast
    anymetal.mlx_fast.install()

    kernel = mx.fast.metal_kernel(name="exp", ...)   # runs here

A kernel runs when it is called, so that a function with kernels cannot be traced. `install` sets `mx.compile`, too:
a function in which a kernel is called while it is traced runs uncompiled from then on, with the same results.
"""

from __future__ import annotations

import functools
from typing import Any
from collections.abc import Callable

from ._metal_kernel import MetalKernel, TracedError

__all__ = ["compile", "install", "metal_kernel", "uninstall"]

#: `mx.fast.metal_kernel` and `mx.compile` as they were; empty while nothing is installed.
_originals: dict[str, Any] = {}


def metal_kernel(*args: Any, **keywords: Any) -> MetalKernel:
    """`mlx.core.fast.metal_kernel`: the results are MLX's arrays, whatever the inputs are."""
    kernel = MetalKernel(*args, **keywords)
    kernel._results = "mlx"
    return kernel


def compile(fun: Callable[..., Any], inputs: Any = None, outputs: Any = None, shapeless: bool = False) -> Any:
    """`mlx.core.compile`, for functions with kernels in them, too."""
    compiled = _originals["compile"](fun, inputs=inputs, outputs=outputs, shapeless=shapeless)
    has_kernels = False

    @functools.wraps(fun)
    def call(*args: Any, **keywords: Any) -> Any:
        nonlocal has_kernels
        if not has_kernels:
            # MLX leaves placeholders in what a function captures if tracing it fails.
            before = [_contents(inputs), _contents(outputs)]
            try:
                return compiled(*args, **keywords)
            except TracedError:
                has_kernels = True
                for contents in before:
                    _restore(contents)
        return fun(*args, **keywords)

    return call


def _contents(tree: Any) -> Any:
    """What the lists and dictionaries of a tree hold."""
    if isinstance(tree, dict):
        return tree, {key: (value, _contents(value)) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return tree, [(value, _contents(value)) for value in tree]
    return None


def _restore(contents: Any) -> None:
    if contents is None:
        return
    tree, held = contents
    if isinstance(tree, dict):
        tree.clear()
        tree.update({key: value for key, (value, _) in held.items()})
        held = list(held.values())
    elif isinstance(tree, list):
        tree[:] = [value for value, _ in held]
    for _, inner in held:
        _restore(inner)


def install(*, force: bool = False) -> None:
    """Sets `mlx.core.fast.metal_kernel` and `mlx.core.compile`. Does nothing where MLX has Metal, unless `force`.

    A kernel has no gradient of its own (`mx.custom_function` gives it one), and cannot be inside of `mx.vmap`.
    """
    import mlx.core as mx

    if (mx.metal.is_available() and not force) or _originals:
        return
    _originals["compile"], _originals["metal_kernel"] = mx.compile, mx.fast.metal_kernel
    mx.compile, mx.fast.metal_kernel = compile, metal_kernel


def uninstall() -> None:
    """Takes the stand-in away."""
    if _originals:
        import mlx.core as mx

        mx.compile, mx.fast.metal_kernel = _originals.pop("compile"), _originals.pop("metal_kernel")
