"""A stand-in for `torch.mps.compile_shader` where there is no MPS.

::

    import anymetal.torch_mps
    anymetal.torch_mps.install()

    library = torch.mps.compile_shader("kernel void ...")   # runs here, over CPU tensors

With ``install(device=True)`` the device ``mps`` is there, too: ``torch.zeros(4, device="mps")`` is a tensor in the
host's memory that says that it is on ``mps:0``. So programs run that were written for a Mac.
With ``install(device=True, macos=True)`` Python also says that it is on a Mac, for packages that refuse other platforms.

`install` lasts until `uninstall`, or to the end of a ``with`` statement::

    with anymetal.torch_mps.install(device=True, macos=True):
        ...
"""

from __future__ import annotations

import os
from typing import Any

from ._kernel_errors import raise_pending
from ._shader import ShaderLibrary, compile_shader as _compile

__all__ = ["compile_shader", "install", "load_metallib", "synchronize", "uninstall"]

#: What was replaced in `torch.mps`, by name; empty while nothing is installed.
_originals: dict[str, Any] = {}
_pretence: Any = None
_platform: Any = None


class _Installed:
    """What `install` returns: its end in a ``with`` statement takes the stand-in away."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        uninstall()


class _Library(ShaderLibrary):
    """A library of PyTorch: `dir` tells the kernels and nothing else."""

    def __dir__(self) -> list[str]:
        return self.kernel_names

    def __reduce__(self) -> tuple[type[ShaderLibrary], tuple[Any]]:
        return _Library, (self._library,)


def compile_shader(source: str) -> ShaderLibrary:
    """`torch.mps.compile_shader`: kernels take CPU tensors, which they use in place, with any strides and types."""
    library = _compile(source, strided=True, torch=True, include_folders=_headers())
    return _Library(library._library)


def synchronize() -> None:
    """`torch.mps.synchronize`: calls have ended when they return; what is left are errors that kernels reported."""
    raise_pending()


def load_metallib(source: Any) -> ShaderLibrary:
    """`torch.mps.load_metallib`: refused, for such files hold code for Apple's compiler and no source."""
    raise NotImplementedError("a .metallib file holds Apple's intermediate code; give the source to `compile_shader`")


def install(*, force: bool = False, device: bool = False, macos: bool = False) -> _Installed:
    """Sets `torch.mps.compile_shader` and `synchronize`. Does nothing where MPS is there, unless `force` is true.

    With ``device`` the device ``mps`` exists, in the host's memory, and `torch.compile` gives functions as they are.

    With ``macos`` Python reports the platform of a Mac with Apple Silicon (`sys.platform`, `os.uname`, and the functions of
    `platform`) to the whole process. Nothing else of a Mac is there: import modules that look for parts of the system before.
    """
    import torch
    import torch.mps

    global _platform, _pretence
    if torch._C._has_mps and torch.backends.mps.is_available() and not force:
        return _Installed()
    if not _originals:
        for replacement in (compile_shader, load_metallib, synchronize):
            _originals[replacement.__name__] = getattr(torch.mps, replacement.__name__, None)
            setattr(torch.mps, replacement.__name__, replacement)
    if device and _pretence is None:
        from ._mps_device import Pretence

        _pretence = Pretence()
        _pretence.start()
    if macos and _platform is None:
        from ._mac_platform import MacPlatform

        _platform = MacPlatform()
        _platform.start()
    return _Installed()


def uninstall() -> None:
    """Takes the stand-in away."""
    global _platform, _pretence
    if _platform is not None:
        _platform.stop()
        _platform = None
    if _pretence is not None:
        _pretence.stop()
        _pretence = None
    if _originals:
        import torch.mps

        for name, original in _originals.items():
            if original is None:
                delattr(torch.mps, name)
            else:
                setattr(torch.mps, name, original)
        _originals.clear()


def _headers() -> list[str]:
    """PyTorch's own headers, with those of its Metal kernels (`c10/metal`)."""
    import torch

    folder = os.path.join(os.path.dirname(torch.__file__), "include")
    return [folder] if os.path.isdir(folder) else []
