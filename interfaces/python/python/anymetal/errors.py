"""Exceptions: what went wrong, in the words of the compiler or the device."""

from __future__ import annotations

import json
from typing import Any

__all__ = [
    "AnymetalError",
    "CancelledError",
    "CompileError",
    "DeviceError",
    "KernelError",
    "LaunchError",
    "OutOfBoundsError",
    "ReducedEffortWarning",
    "UnknownKernelError",
]


class AnymetalError(RuntimeError):
    """Base of all exceptions of this package that are not Python's own."""

    #: ``"transient"``, ``"exhausted"``, ``"lost"`` or ``"caller"``: what a retry policy decides by.
    error_class: str = "caller"

    def __init__(self, message: str, error_class: str = "caller") -> None:
        super().__init__(message)
        self.error_class = error_class


class CompileError(AnymetalError, SyntaxError):
    """The source does not compile. The text holds the diagnostics with their source lines."""

    def __init__(self, message: str, diagnostics_json: str = "[]", kind: str = "") -> None:
        AnymetalError.__init__(self, message)
        #: A stable name of the kind of failure.
        self.kind = kind
        self._json = diagnostics_json
        # What `SyntaxError` would show in place of the message.
        self.msg = message

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """The diagnostics as dictionaries."""
        return json.loads(self._json)

    def __reduce__(self):
        return type(self), (self.args[0], self._json, self.kind)

    def _repr_html_(self) -> str:
        from . import _html

        return _html.preformatted("Metal source does not compile", str(self))


class LaunchError(AnymetalError, ValueError):
    """A mistake in a call, found before anything ran."""


class OutOfBoundsError(AnymetalError, IndexError):
    """A kernel accessed memory outside what it was given. Stores were dropped, loads gave zero."""

    def _repr_html_(self) -> str:
        from . import _html

        return _html.preformatted("Access out of bounds", str(self))


class DeviceError(AnymetalError):
    """The device refused or failed; ``error_class`` tells whether trying again may help."""


class KernelError(AnymetalError):
    """A kernel reported errors itself, to the buffer that `error_buf_idx` names; ``messages`` has them."""

    def __init__(self, kernel: str, count: int, messages: list[str]) -> None:
        shown = "".join(f"\n  {message}" for message in messages)
        super().__init__(f"kernel `{kernel}` reported {count} error{'s' if count != 1 else ''}:{shown}")
        self.kernel, self.count, self.messages = kernel, count, messages

    def __reduce__(self):
        return type(self), (self.kernel, self.count, self.messages)


class UnknownKernelError(AnymetalError, AttributeError):
    """The library has no kernel of that name."""


class CancelledError(AnymetalError):
    """The work was taken back before it started."""


class ReducedEffortWarning(RuntimeWarning):
    """A kernel is past a compile budget, so it is compiled with less effort or interpreted, and is slower.

    The text names the step and the source line that makes the most code.
    """
