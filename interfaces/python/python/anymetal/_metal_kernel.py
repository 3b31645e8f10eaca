"""`metal_kernel`: a kernel from the body of its function, as `mlx.core.fast.metal_kernel` makes it.

The function around the body is written for the types and ranks of the arrays of each call, and compiled once for
each kind of call.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any
from collections.abc import Mapping, Sequence

from . import _foreign, _native
from .errors import AnymetalError
from ._shader import ShaderLibrary, compile_shader

__all__ = ["MetalKernel", "metal_kernel"]

#: Arrays with fewer elements are in the `constant` address space.
_SMALL = 8

#: The inputs of a thread that a body may name, with their types.
_ATTRIBUTES = {
    "dispatch_quadgroups_per_threadgroup": "uint",
    "dispatch_simdgroups_per_threadgroup": "uint",
    "dispatch_threads_per_threadgroup": "uint3",
    "grid_origin": "uint3",
    "grid_size": "uint3",
    "quadgroup_index_in_threadgroup": "uint",
    "quadgroups_per_threadgroup": "uint",
    "simdgroup_index_in_threadgroup": "uint",
    "simdgroups_per_threadgroup": "uint",
    "thread_execution_width": "uint",
    "thread_index_in_quadgroup": "uint",
    "thread_index_in_simdgroup": "uint",
    "thread_index_in_threadgroup": "uint",
    "thread_position_in_grid": "uint3",
    "thread_position_in_threadgroup": "uint3",
    "threadgroup_position_in_grid": "uint3",
    "threadgroups_per_grid": "uint3",
    "threads_per_grid": "uint3",
    "threads_per_simdgroup": "uint",
    "threads_per_threadgroup": "uint3",
}

#: MSL's names of element types.
_TYPES = {
    "bool": "bool",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float16": "float16_t",
    "bfloat16": "bfloat16_t",
    "float32": "float",
    "complex64": "complex64_t",
}

#: What bodies may use besides the Metal library: the names that MLX's own header gives them.
_PRELUDE = """\
#include <metal_stdlib>
using namespace metal;
typedef half float16_t;
typedef bfloat bfloat16_t;
struct complex64_t {
    float real;
    float imag;
    complex64_t() = default;
    complex64_t(float r, float i) : real(r), imag(i) {}
};
template <typename Index = uint>
inline Index elem_to_loc(Index element, constant const int* shape, constant const int64_t* strides, int ndim) {
    Index location = 0;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        location += (element % shape[axis]) * Index(strides[axis]);
        element /= shape[axis];
    }
    return location;
}
inline uint ceildiv(uint dividend, uint divisor) { return (dividend + divisor - 1) / divisor; }
"""


@dataclass(frozen=True)
class _Input:
    """What the signature depends on of one input."""

    type: str
    is_small: bool
    is_scalar: bool


def metal_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
    compile_options: Mapping[str, Any] | None = None,
) -> MetalKernel:
    """A kernel from the body of its function. The arguments are those of `mlx.core.fast.metal_kernel`.

    The result is called with ``inputs``, ``output_shapes``, ``output_dtypes``, ``grid`` and ``threadgroup``, and
    returns a list of new arrays: of the library of the first input that is an array, of NumPy if there is none.
    """
    return MetalKernel(
        name, input_names, output_names, source, header, ensure_row_contiguous, atomic_outputs, compile_options
    )


class MetalKernel:
    """See `metal_kernel`."""

    def __init__(
        self,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        source: str,
        header: str = "",
        ensure_row_contiguous: bool = True,
        atomic_outputs: bool = False,
        compile_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not output_names:
            raise ValueError(f"metal_kernel `{name}` has no output; give at least one name in `output_names`")
        if not name:
            raise ValueError("metal_kernel has an empty name")
        options = dict(compile_options or {})
        self._math_mode = options.pop("math_mode", "safe")
        if options:
            raise ValueError(f'compile_options has no {", ".join(map(repr, options))}; there is "math_mode"')
        self.name = name
        #: The name of the function: with underscores for what MSL's names cannot have.
        self._function = "custom_kernel_" + re.sub(r"\W", "_", name)
        self.input_names = list(input_names)
        self.output_names = list(output_names)
        self.source = source
        self.header = header
        self._ensure_row_contiguous = ensure_row_contiguous
        self._atomic_outputs = atomic_outputs
        words = set(re.findall(r"\w+", source))
        self._attributes = [(name, kind) for name, kind in _ATTRIBUTES.items() if name in words]
        self._infos = {
            name: [part for part in ("shape", "strides", "ndim") if f"{name}_{part}" in words]
            for name in self.input_names
        }
        #: The library whose arrays the results are; "" is that of the inputs.
        self._results = ""
        self._compiled: dict[Any, tuple[str, _native.Kernel]] = {}

    def __repr__(self) -> str:
        return f"<anymetal.metal_kernel {self.name}({', '.join(self.input_names)}) -> {', '.join(self.output_names)}>"

    def __reduce__(self):
        options = {"math_mode": self._math_mode}
        parts = (self.name, self.input_names, self.output_names, self.source, self.header)
        return metal_kernel, (*parts, self._ensure_row_contiguous, self._atomic_outputs, options)

    def __call__(
        self,
        *,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[Any],
        grid: Sequence[int],
        threadgroup: Sequence[int],
        template: Sequence[tuple[str, Any]] | None = None,
        init_value: float | None = None,
        verbose: bool = False,
        stream: Any = None,
    ) -> list[Any]:
        self._check_counts(inputs, output_shapes, output_dtypes, grid, threadgroup)
        if self._results == "mlx":
            _evaluate(self.name, inputs)
        kind = self._results or next(filter(None, map(_foreign.kind_of, inputs)), "numpy")
        arrays = [self._input(name, value) for name, value in zip(self.input_names, inputs)]
        described = [_describe(array) for array in arrays]
        types = [_type_name(dtype) for dtype in output_dtypes]
        arguments = list(template or [])
        key = (tuple(_key(one) for one in described), tuple(types), tuple((n, _template_key(v)) for n, v in arguments))
        found = self._compiled.get(key)
        if found is None:
            text = self._write(described, types, arguments)
            found = self._compiled[key] = (text, _compile(text, self._function, self._math_mode))
        text, kernel = found
        if verbose:
            print(f"Generated source code for `{self.name}`:\n{text}")
        outputs = [_output(kind, shape, dtype, init_value) for shape, dtype in zip(output_shapes, types)]
        given: list[Any] = []
        for name, array, about in zip(self.input_names, arrays, described):
            given.append(array)
            if about.shape:
                given += [getattr(about, part) for part in self._infos[name]]
        given += [one for one, _ in outputs]
        size = [min(threads, whole) for threads, whole in zip(threadgroup, grid)]
        queue = stream if isinstance(stream, _native.Queue) else None
        casts = _casts(self.input_names, described, self._infos)
        kernel(*given, threads=tuple(grid), group_size=tuple(size), arg_casts=casts, queue=queue)
        return [finish(one) for one, finish in outputs]

    def _check_counts(self, inputs: Any, shapes: Any, dtypes: Any, grid: Any, threadgroup: Any) -> None:
        if len(inputs) != len(self.input_names):
            raise ValueError(f"kernel `{self.name}` has {len(self.input_names)} inputs, {len(inputs)} were given")
        for what, given in (("output_shapes", shapes), ("output_dtypes", dtypes)):
            if len(given) != len(self.output_names):
                raise ValueError(
                    f"kernel `{self.name}` has {len(self.output_names)} outputs, `{what}` has {len(given)}"
                )
        for what, given in (("grid", grid), ("threadgroup", threadgroup)):
            if len(given) != 3:
                raise ValueError(f"`{what}` has three numbers, not {len(given)}")

    def _input(self, name: str, value: Any) -> Any:
        if isinstance(value, (bool, int, float)):
            return _scalar(name, value)
        kind = _foreign.kind_of(value)
        if kind == "mlx":
            return _mlx().contiguous(value) if self._ensure_row_contiguous else value
        if kind == "torch":
            return value.contiguous() if self._ensure_row_contiguous else value
        if kind == "numpy" and self._ensure_row_contiguous:
            import numpy

            # Not `ascontiguousarray`, which gives an array without dimensions one.
            return numpy.asarray(value, order="C")
        return value

    def _write(self, inputs: Sequence[_About], output_types: Sequence[str], template: Sequence[tuple[str, Any]]) -> str:
        parameters = []

        def parameter(declared: str) -> None:
            parameters.append(f"{declared} [[buffer({len(parameters)})]]")

        for name, about in zip(self.input_names, inputs):
            space = "constant" if about.size < _SMALL else "device"
            sign = "&" if not about.shape else "*"
            parameter(f"const {space} {_TYPES[about.dtype]}{sign} {name}")
            if about.shape:
                declared = {"shape": "const constant int*", "strides": "const constant int64_t*"}
                for part in self._infos[name]:
                    parameter(f"{declared.get(part, 'const constant int&')} {name}_{part}")
        for name, dtype in zip(self.output_names, output_types):
            element = f"atomic<{_TYPES[dtype]}>" if self._atomic_outputs else _TYPES[dtype]
            parameter(f"device {element}* {name}")
        parameters += [f"{kind} {name} [[{name}]]" for name, kind in self._attributes]
        function = self._function
        lines = [_PRELUDE + self.header]
        if template:
            lines.append(f"template <{', '.join(f'{_parameter_kind(value)} {name}' for name, value in template)}>")
        lines.append(f"[[kernel]] void {function}(\n    " + ",\n    ".join(parameters) + ")\n{")
        lines.append(self.source)
        lines.append("}")
        if template:
            values = ", ".join(_template_value(value) for _, value in template)
            instance = f"{function}<{values}>"
            lines.append(f'template [[host_name("{function}")]] [[kernel]] decltype({instance}) {instance};')
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _About:
    """What is known of an input."""

    shape: list[int]
    strides: list[int]
    dtype: str

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def ndim(self) -> int:
        return len(self.shape)


def _describe(array: Any) -> _About:
    shape, strides, dtype = _native.describe(array)
    if dtype not in _TYPES:
        raise TypeError(f"Metal has no type for elements of {dtype}; convert the input, for example to float32")
    return _About(shape, strides, dtype)


def _key(about: _About) -> tuple[Any, ...]:
    return about.dtype, about.size < _SMALL, not about.shape


def _type_name(dtype: Any) -> str:
    name = _foreign.dtype_name(dtype)
    if name not in _TYPES:
        raise TypeError(f"Metal has no type `{name}`; there are {', '.join(_TYPES)}")
    return name


def _template_key(value: Any) -> Any:
    if isinstance(value, (bool, int)):
        return type(value).__name__, value
    return _type_name(value)


def _parameter_kind(value: Any) -> str:
    return type(value).__name__ if isinstance(value, (bool, int)) else "typename"


def _template_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _TYPES[_type_name(value)]


def _casts(names: Sequence[str], inputs: Sequence[_About], infos: Mapping[str, list[str]]) -> dict[int, str]:
    """The types of the lists of shapes and strides, by position."""
    casts = {}
    position = 0
    for name, about in zip(names, inputs):
        position += 1
        if about.shape:
            for part in infos[name]:
                casts[position] = "int64" if part == "strides" else "int32"
                position += 1
    return casts


def _compile(text: str, function: str, math_mode: str) -> _native.Kernel:
    file_name = f"{function.removeprefix('custom_kernel_')}.metal"
    library: ShaderLibrary = compile_shader(text, file_name=file_name, math_mode=math_mode, strided=True)
    return library[function]


def _scalar(name: str, value: bool | int | float) -> Any:
    from . import ops

    if isinstance(value, bool):
        return ops.asarray(value, dtype="bool")
    if isinstance(value, int):
        if not -(2**31) <= value < 2**31:
            raise OverflowError(f"input `{name}` is {value}, which int32 does not hold; give an int64 array")
        return ops.asarray(value, dtype="int32")
    return ops.asarray(value, dtype="float32")


def _same(array: Any) -> Any:
    return array


def _output(kind: str, shape: Sequence[int], dtype: str, init_value: float | None) -> tuple[Any, Any]:
    """A new array that the kernel writes, and what makes the result of it."""
    shape = tuple(int(extent) for extent in shape)
    if kind != "mlx":
        return _foreign.empty_like_kind(kind, shape, dtype, init_value), _same
    mx = _mlx()
    import numpy

    # MLX's arrays cannot be written by others: it gets a copy of what the kernel wrote.
    if dtype == "bfloat16":
        bits = numpy.float32(0 if init_value is None else init_value).view(numpy.uint32) >> 16
        return numpy.full(shape, bits, numpy.uint16), lambda array: mx.array(array).view(mx.bfloat16)
    value = 0 if init_value is None else init_value
    return numpy.full(shape, value, dtype), mx.array


class TracedError(AnymetalError, ValueError):
    """A kernel was called while MLX traces a function, so that its inputs have no values yet."""


def _evaluate(name: str, inputs: Sequence[Any]) -> None:
    mx = _mlx()
    try:
        mx.eval([value for value in inputs if isinstance(value, mx.array)])
    except ValueError as error:
        if "transformations" not in str(error):
            raise
        raise TracedError(
            f"kernel `{name}` runs at once and needs values: it cannot be inside of `mx.vmap`, and inside of "
            "`mx.compile` only of a function that was compiled after `anymetal.mlx_fast.install()`"
        ) from None


def _mlx() -> Any:
    return sys.modules["mlx.core"]
