"""`compile_shader`: kernels as attributes of a library, called with tensors and numbers."""

from __future__ import annotations

import os
from typing import Any
from collections.abc import Iterable, Mapping, Sequence

from . import _native, errors

__all__ = ["ShaderLibrary", "compile_shader"]


class ShaderLibrary:
    """Compiled Metal source. Its kernels are attributes: ``library.saxpy(x, y, 2.0, threads=1000)``."""

    def __init__(self, library: _native.Library) -> None:
        self._library = library
        self._kernels: dict[str, _native.Kernel] = {}

    def __getattr__(self, name: str) -> _native.Kernel:
        if name.startswith("__") or name in ("_library", "_kernels"):
            raise AttributeError(name)
        kernel = self.__dict__[name] = self[name]
        return kernel

    def __getitem__(self, name: str) -> _native.Kernel:
        """A kernel whose name is no identifier of Python, such as one with a `host_name`, or another attribute."""
        made = self._kernels.get(name)
        if made is not None:
            return made
        names = self._library.kernel_names
        if name not in names:
            listed = ", ".join(names) or "none"
            raise errors.UnknownKernelError(f"the library has no kernel `{name}`; its kernels are {listed}")
        kernel = self._kernels[name] = self._library.kernel(name)
        return kernel

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._library.kernel_names]

    def specialize(self, name: str, constants: Mapping[str | int, bool | int | float]) -> _native.Kernel:
        """A kernel with values for its function constants."""
        return self._library.kernel(name, dict(constants))

    def link(
        self,
        name: str,
        functions: Iterable[_native.Function],
        constants: Mapping[str | int, bool | int | float] | None = None,
    ) -> _native.Kernel:
        """A kernel with visible functions of other libraries, which it calls by name or through tables. They take
        the place of functions of its own library that have their names."""
        return self._library.kernel(name, dict(constants or {}), list(functions))

    def function(
        self,
        name: str,
        constants: Mapping[str | int, bool | int | float] | None = None,
        *,
        alias: str | None = None,
    ) -> _native.Function:
        """A visible function, to be linked with kernels of other libraries, which know it as ``alias`` if that is
        given. ``constants`` are values for the function constants that it uses."""
        return self._library.function(name, dict(constants or {}), alias)

    @property
    def function_names(self) -> list[str]:
        """The names of the visible functions, in source order."""
        return self._library.function_names

    @property
    def kernel_names(self) -> list[str]:
        """The kernels' names, in source order."""
        return self._library.kernel_names

    @property
    def warnings(self) -> str:
        """What the compiler warned of."""
        return self._library.warnings

    @property
    def device(self) -> _native.Device:
        """The device that the library is for."""
        return self._library.device

    @property
    def source(self) -> str:
        """The source that was compiled."""
        return self._library.source

    def __reduce__(self) -> tuple[type[ShaderLibrary], tuple[_native.Library]]:
        return ShaderLibrary, (self._library,)

    def __repr__(self) -> str:
        return f"<anymetal.ShaderLibrary: {', '.join(self.kernel_names) or 'no kernels'}>"


def compile_shader(
    source: str,
    *,
    device: _native.Device | str | None = None,
    file_name: str | None = None,
    defines: Mapping[str, Any] | None = None,
    include_folders: Iterable[str | os.PathLike[str]] = (),
    math_mode: str = "safe",
    strided: bool = False,
    torch: bool = False,
) -> ShaderLibrary:
    """Compiles Metal source, as `torch.mps.compile_shader` does.

    Kernels are called with their buffer arguments by position. A NumPy array or a PyTorch tensor in the host's
    memory is used in place; a number or a list of numbers becomes what the kernel's own signature declares, unless
    ``arg_casts`` says otherwise. ``threads`` is a number or up to three (default: the elements of the first
    array), ``group_size`` likewise. A call returns when the kernel has ended.

    ``file_name`` is the source's name in diagnostics; without one it is ``source.metal``, with a number from
    the second source of the process on, so that reports tell them apart. ``math_mode`` is ``"safe"``,
    ``"relaxed"`` or ``"fast"``. With ``strided`` arrays of any positive strides are passed as they are in
    memory, as PyTorch does; otherwise such an array is an error. With ``torch`` an array may have elements of
    another type than the kernel declares, and errors that a kernel reports (``error_buf_idx``) are raised when
    the program synchronises, both as in PyTorch.
    """
    if not isinstance(source, str):
        raise TypeError(f"source is a str with Metal source, not {type(source).__name__}")
    pairs = [(name, None if value is None else str(value)) for name, value in (defines or {}).items()]
    folders: Sequence[str] = [os.fspath(folder) for folder in include_folders]
    library = _native.Library(
        source,
        _device(device),
        file_name=file_name or _name_of(source),
        defines=pairs,
        include_folders=folders,
        math_mode=math_mode,
        strided=strided,
        torch=torch,
    )
    return ShaderLibrary(library)


_names: dict[str, str] = {}


def _name_of(source: str) -> str:
    """A name for a source that has none: the same for the same text."""
    known = _names.get(source)
    if known is None:
        number = len(_names) + 1
        known = _names[source] = "source.metal" if number == 1 else f"source-{number}.metal"
    return known


def rebuild_library(source: str, device: str, options: dict[str, Any]) -> _native.Library:
    """What an unpickled library is made with: compiled again, through the cache on disk."""
    try:
        target = _native.Device(device)
    except errors.AnymetalError:  # The other machine has other devices.
        target = _native.Device()
    return _native.Library(source, target, **options)


def rebuild_kernel(
    source: str,
    device: str,
    options: dict[str, Any],
    name: str,
    constants: dict[str | int, bool | int | float],
    linked: list[_native.Function],
) -> _native.Kernel:
    """What an unpickled kernel is made with."""
    return rebuild_library(source, device, options).kernel(name, constants or None, linked)


def rebuild_function(
    library: _native.Library,
    name: str,
    constants: dict[str | int, bool | int | float],
    alias: str | None,
) -> _native.Function:
    """What an unpickled function is made with."""
    return library.function(name, constants or None, alias)


def _device(device: _native.Device | str | None) -> _native.Device | None:
    if device is None or isinstance(device, _native.Device):
        return device
    if isinstance(device, str):
        return _native.Device(device)
    raise TypeError(f'device is an anymetal.Device or its name, such as "cpu", not {type(device).__name__}')
