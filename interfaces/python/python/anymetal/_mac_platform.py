"""The platform of a Mac with Apple Silicon, as Python reports it, where there is another.

Packages for PyTorch on `mps` ask `sys.platform` and the module `platform` before they use it. `MacPlatform` changes these answers
from `start` to `stop`, and nothing else: paths, processes and libraries are those of the system.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from typing import Any

__all__ = ["MacPlatform"]

#: macOS 15, whose Metal is the one that anymetal follows.
_MACOS = "15.0"
_DARWIN = "24.0.0"
_KERNEL = f"Darwin Kernel Version {_DARWIN}"

#: Modules of the standard library that take the system's own parts for a Mac's if they are imported with its answers.
_IMPORTED_BEFORE = ("ctypes.util", "multiprocessing.context", "subprocess", "urllib.request", "uuid", "webbrowser")


class MacPlatform:
    """What `start` changes, for `stop` to undo."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def start(self) -> None:
        if self._before:
            return
        for name in _IMPORTED_BEFORE:
            importlib.import_module(name)
        node = platform.node()
        here = platform.uname()
        self._set(sys, "platform", "darwin")
        if hasattr(os, "uname"):
            self._set(os, "uname", lambda: os.uname_result(("Darwin", node, _DARWIN, _KERNEL, "arm64")))
        mac = here._replace(system="Darwin", release=_DARWIN, version=_KERNEL, machine="arm64")
        self._set(platform, "uname", lambda: mac)
        self._set(platform, "processor", lambda: "arm")
        self._set(platform, "mac_ver", lambda *_, **__: (_MACOS, ("", "", ""), "arm64"))
        self._set(platform, "platform", lambda *_, **__: f"macOS-{_MACOS}-arm64-arm-64bit")

    def stop(self) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            setattr(owner, name, value)

    def _set(self, owner: Any, name: str, value: Any) -> None:
        self._before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)
