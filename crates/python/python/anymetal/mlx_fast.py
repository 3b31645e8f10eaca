"""A stand-in for `mlx.core.fast.metal_kernel` where MLX has no Metal, as on Linux.

::

    import anymetal.mlx_fast
    anymetal.mlx_fast.install()

    kernel = mx.fast.metal_kernel(name="exp", ...)   # runs here
"""

from __future__ import annotations

from typing import Any

from ._metal_kernel import MetalKernel

__all__ = ["install", "metal_kernel", "uninstall"]

_original: Any = None


def metal_kernel(*args: Any, **keywords: Any) -> MetalKernel:
    """`mlx.core.fast.metal_kernel`: the results are MLX's arrays, whatever the inputs are."""
    kernel = MetalKernel(*args, **keywords)
    kernel._results = "mlx"
    return kernel


def install(*, force: bool = False) -> None:
    """Sets `mlx.core.fast.metal_kernel`. Does nothing where MLX has Metal, unless `force` is true.

    A call evaluates its inputs and its result at once: it cannot be inside of `mx.compile`, and has no gradient
    of its own (`mx.custom_function` gives it one).
    """
    import mlx.core as mx

    global _original
    if mx.metal.is_available() and not force:
        return
    if mx.fast.metal_kernel is not metal_kernel:
        _original = mx.fast.metal_kernel
        mx.fast.metal_kernel = metal_kernel


def uninstall() -> None:
    """Takes the stand-in away."""
    global _original
    if _original is not None:
        import mlx.core as mx

        mx.fast.metal_kernel = _original
        _original = None
