"""Lets a Python program for macOS find Metal's API on Linux; Python imports it from `PYTHONPATH` at its start.

Such programs open libraries and frameworks by their paths on macOS, which are all `libMetal.so` here, and ask for the
version of the system, which is that of `NSProcessInfo`.
"""

import ctypes
import ctypes.util
import platform
import re

MACOS_PATH = re.compile(r"/usr/lib/lib[\w.]+\.dylib|/System/Library/(Private)?Frameworks/.+")
MACOS_VERSION = "15.0"
# `libobjc.so` of other runtimes may be installed, which is not Apple's.
LIBRARIES = {
    "CoreFoundation", "CoreGraphics", "Foundation", "Metal", "MetalPerformanceShaders", "QuartzCore", "System", "dispatch",
    "objc",
}

_open = ctypes.CDLL.__init__
_find = ctypes.util.find_library


def _open_here(self, name=None, *arguments, **options):
    if isinstance(name, str) and MACOS_PATH.fullmatch(name):
        name = "libMetal.so"
    _open(self, name, *arguments, **options)


def _find_here(name):
    return "libMetal.so" if name in LIBRARIES else _find(name)


ctypes.CDLL.__init__ = _open_here
ctypes.util.find_library = _find_here
platform.mac_ver = lambda *_, **__: (MACOS_VERSION, ("", "", ""), "arm64")
