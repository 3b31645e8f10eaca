"""Metal compute kernels on any machine, over NumPy arrays, PyTorch tensors and MLX arrays.

::

    import anymetal, numpy

    library = anymetal.compile_shader('''
        kernel void saxpy(device const float* x, device float* y, constant float& a,
                          uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }
    ''')
    x, y = numpy.ones(1000, "float32"), numpy.zeros(1000, "float32")
    library.saxpy(x, y, 2.0)
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

from . import _native, errors
from ._analyzing import Analysis, analyze
from ._checking import Finding, Report, SanitizerError, check
from ._metal_kernel import MetalKernel, metal_kernel
from ._native import (
    Device,
    Event,
    Executable,
    Function,
    FunctionTable,
    Graph,
    GraphValue,
    Kernel,
    Profile,
    Queue,
    Submission,
    device_names,
    take_notices,
)
from ._shader import ShaderLibrary, compile_shader
from .errors import (
    AnymetalError,
    CancelledError,
    CompileError,
    DeviceError,
    KernelError,
    LaunchError,
    OutOfBoundsError,
    UnknownKernelError,
)
from . import collectives, ops
from .ops import Array, DType, asarray, from_dlpack

__version__ = _native.__version__

__all__ = [
    "Analysis",
    "AnymetalError",
    "Array",
    "CancelledError",
    "CompileError",
    "DType",
    "Device",
    "DeviceError",
    "Event",
    "Executable",
    "Finding",
    "Function",
    "FunctionTable",
    "Graph",
    "GraphValue",
    "Kernel",
    "KernelError",
    "LaunchError",
    "MetalKernel",
    "OutOfBoundsError",
    "Profile",
    "Queue",
    "Report",
    "SanitizerError",
    "ShaderLibrary",
    "Submission",
    "UnknownKernelError",
    "analyze",
    "asarray",
    "check",
    "collectives",
    "compile_shader",
    "device_names",
    "errors",
    "from_dlpack",
    "metal_kernel",
    "ops",
    "take_notices",
]

_atexit.register(_native.at_exit)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.after_fork_in_child)
