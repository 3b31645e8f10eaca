"""A stand-in for `torch.mps.compile_shader` where there is no MPS.

::

    import anymetal.torch_mps
    anymetal.torch_mps.install()

    library = torch.mps.compile_shader("kernel void ...")   # runs here, over CPU tensors
"""

from __future__ import annotations

import os
from typing import Any

from ._shader import ShaderLibrary, compile_shader as _compile

__all__ = ["compile_shader", "install", "uninstall"]

_original: Any = None


def compile_shader(source: str) -> ShaderLibrary:
    """`torch.mps.compile_shader`: kernels take CPU tensors, which they use in place, with any strides."""
    return _compile(source, strided=True, include_folders=_headers())


def install(*, force: bool = False) -> None:
    """Sets `torch.mps.compile_shader`. Does nothing where MPS is there, unless `force` is true."""
    import torch
    import torch.mps

    global _original
    if torch.backends.mps.is_available() and not force:
        return
    if torch.mps.compile_shader is not compile_shader:
        _original = torch.mps.compile_shader
        torch.mps.compile_shader = compile_shader


def uninstall() -> None:
    """Takes the stand-in away."""
    global _original
    if _original is not None:
        import torch.mps

        torch.mps.compile_shader = _original
        _original = None


def _headers() -> list[str]:
    """PyTorch's own headers, with those of its Metal kernels (`c10/metal`)."""
    import torch

    folder = os.path.join(os.path.dirname(torch.__file__), "include")
    return [folder] if os.path.isdir(folder) else []
