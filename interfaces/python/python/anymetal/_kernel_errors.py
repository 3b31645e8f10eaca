"""Errors that kernels report themselves, through the buffer of PyTorch's `c10/metal/error.h`.

Owns what `error_buf_idx` of a call means: the kernel is given an empty `ErrorMessages`, and what it wrote there
is an exception. PyTorch raises it when the program synchronises with the device; `pending` has those until then.
"""

from __future__ import annotations

import struct
from typing import Any

from .errors import KernelError

__all__ = ["call", "pending", "raise_pending"]

#: Offset of the first message, and of the parts of each: file, function, message, line.
_FIRST, _FUNCTION, _MESSAGE, _LINE, _SIZE = 4, 128, 256, 508, 512

#: What kernels of PyTorch's conventions reported and the program has not been told yet.
pending: list[KernelError] = []
_MAX_PENDING = 64


def call(kernel: Any, args: tuple[Any, ...], index: int, keywords: dict[str, Any], deferred: bool) -> None:
    """Calls the kernel with a buffer for errors among its arguments."""
    arguments = kernel.arguments
    position = next((at for at, argument in enumerate(arguments) if argument["index"] == index), None)
    if position is None or position > len(args):
        raise ValueError(f"`error_buf_idx` is {index!r}, and kernel `{kernel.name}` has no buffer of that index")
    size = arguments[position]["element_size"]
    if size < _FIRST + _SIZE or (size - _FIRST) % _SIZE != 0:
        declared = arguments[position]["type"]
        raise TypeError(f"buffer {index} of kernel `{kernel.name}` is a `{declared}`, and no `c10::metal::ErrorMessages`")
    if position == 0 and keywords["threads"] is None:
        raise ValueError("with the buffer for errors first, say how many threads: `threads=n`")
    buffer = bytearray(size)
    kernel(*args[:position], buffer, *args[position:], **keywords)
    count = struct.unpack_from("I", buffer)[0]
    if count == 0:
        return
    error = KernelError(kernel.name, count, _messages(buffer, min(count, (size - _FIRST) // _SIZE)))
    if not deferred:
        raise error
    if len(pending) < _MAX_PENDING:
        pending.append(error)


def raise_pending() -> None:
    """Raises the first error that was reported and not told; the others are forgotten, as in PyTorch."""
    if pending:
        error = pending[0]
        pending.clear()
        raise error


def _messages(buffer: bytearray, count: int) -> list[str]:
    shown = []
    for at in range(_FIRST, _FIRST + count * _SIZE, _SIZE):
        file, function = _text(buffer, at, _FUNCTION), _text(buffer, at + _FUNCTION, _MESSAGE - _FUNCTION)
        message = _text(buffer, at + _MESSAGE, 250)
        line = struct.unpack_from("I", buffer, at + _LINE)[0]
        shown.append(f"{file}:{line}: in `{function}`: {message}")
    return shown


def _text(buffer: bytearray, at: int, size: int) -> str:
    return bytes(buffer[at : at + size]).split(b"\0", 1)[0].decode(errors="replace")
