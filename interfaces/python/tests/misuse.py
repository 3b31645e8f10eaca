"""Random misuse of the Python package `anymetal`.

    python interfaces/python/tests/misuse.py [--seconds N] [--seed S]
    python interfaces/python/tests/misuse.py --one SEED

Child processes run sequences of calls with arguments that are often hostile: arrays of types that Metal lacks,
objects whose `__array_interface__`, `__array_struct__` or `__dlpack__` lies, capsules made by hand, huge and negative
sizes. Reported, each with its seed: signals, panics, texts that admit a bug, other exceptions than those that mistakes
have, a refused call that changed an array, read-only memory that changed, and memory that grows.

What cannot be checked is not tried: a lie that claims memory which is not there and which a process could have.
"""

from __future__ import annotations

import argparse
import array
import ctypes
import mmap
import os
import random
import subprocess
import sys
import tempfile
import time

#: Sequences of one child, and after how many of them all caches are filled.
SEQUENCES, WARM = 150, 50
CALLS = 25
#: Without the device's pool. Sequences that exceed it are repeated, since compiling leaves memory in the allocator.
MAX_GROWTH_KIB = 64 << 10
MAX_FINDINGS = 20

SOURCE = """
#include <metal_stdlib>
using namespace metal;
struct Pair { float a; uint b; };
struct Lists { device int* p[2]; };
[[visible]] int twice(int x) { return 2 * x; }
kernel void saxpy(device const float* x, device float* y, constant float& a,
                  uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }
kernel void put(device ulong* y, uint i [[thread_position_in_grid]]) { y[i] = 0x4141414141414141; }
kernel void bytes(device uchar* y, constant uchar* x, uint i [[thread_position_in_grid]]) { y[i] = x[i] + 1; }
kernel void pairs(device Pair* p, constant Pair& q, uint i [[thread_position_in_grid]]) { p[i].b = q.b + i; }
kernel void wide(device float4* v, constant float4& w, threadgroup float* t [[threadgroup(0)]],
                 uint i [[thread_position_in_grid]]) { t[0] = w.x; v[i] += t[0]; }
kernel void lists(constant Lists& l, device int* y, uint i [[thread_position_in_grid]]) { l.p[0][i] = y[i]; }
kernel void calls(device int* x, visible_function_table<int(int)> f, uint i [[thread_position_in_grid]]) {
    x[i] = f[i](x[i]);
}
"""

HUGE = [-1, -(2**31), -(2**63), 2**31, 2**32 - 1, 2**40, 2**47, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**80]
ABSURD = [-1, -(2**40), -(2**63), 2**57, 2**60, 2**62, 2**63 - 1]


class Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


class Interface(ctypes.Structure):
    """`PyArrayInterface`."""

    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    ]


def capsule(pointer: int, name: bytes | None):
    """A capsule of that name, which frees nothing."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(pointer, name, None)


class Lies:
    """An object with attributes of a protocol; what they point to is kept by it."""

    def __init__(self, kept, **attributes):
        self.__dict__.update(attributes, kept=kept)


class Long(list):
    """A list whose length lies."""

    def __len__(self):
        return 2**62


class Raises:
    """An object whose every attribute raises."""

    def __getattr__(self, name):
        raise RuntimeError(f"there is no {name}")


class Sequence:
    """One random sequence of calls."""

    #: What a mistake may raise.
    ALLOWED = (TypeError, ValueError, BufferError, OverflowError, IndexError, AttributeError, MemoryError, KeyError)

    def __init__(self, seed: int) -> None:
        import anymetal
        import numpy

        self.random = random.Random(seed)
        self.numpy, self.anymetal = numpy, anymetal
        self.library = library()
        #: Memory that lies point into, from the middle on.
        self.memory = (ctypes.c_uint64 * 8192)()
        self.middle = ctypes.addressof(self.memory) + 32768
        self.keep: list = []
        #: Arrays that nothing may change, with their bytes.
        self.frozen: list = []
        #: Arrays of anymetal.
        self.arrays: list = []
        self.counts = [0, 0, 0]

    # ---- Arguments

    def pick(self, *choices):
        return self.random.choice(choices)

    def size(self):
        return self.pick(0, 1, 2, 4, 8, 16, 64) if self.random.random() < 0.8 else self.pick(*HUGE)

    def plain(self):
        """An array that a kernel may take."""
        numpy = self.numpy
        dtype = self.pick("float32", "float32", "int32", "uint8", "uint64", "float16", "bool", "int64")
        return numpy.ones(self.pick(0, 1, 4, 16, 64), dtype)

    def strange(self):
        """An array that NumPy has and kernels may not take."""
        numpy = self.numpy
        dtype = self.pick(
            object, "O,f4", "f4,u4", "M8[ns]", "m8[s]", "S8", "U4", "V8", "V0", "S0", ">f4", ">u8", "f8", "g", "G",
            "c8", "c16", "b1", "e", "f4,V3", [("a", "f4"), ("o", [("p", object)])], "(2,)f4", "2f4",
        )
        array = numpy.zeros(self.pick((), (0,), (1,), (4,), (2, 3), (0, 5)), dtype)
        return self.reshaped(array)

    def reshaped(self, array):
        """Another view of an array."""
        numpy = self.numpy
        match self.random.randrange(8):
            case 0:
                return array[..., ::-1] if array.ndim else array
            case 1:
                return numpy.broadcast_to(array, self.pick((2, *array.shape), (1000, 1000, *array.shape)))
            case 2:
                return array.T
            case 3:
                return array[..., ::2] if array.ndim else array
            case 4:
                return numpy.lib.stride_tricks.as_strided(array, (4,), (0,)) if array.size else array
            case 5 if array.dtype.itemsize and array.size:
                # Not aligned.
                data = bytearray(array.nbytes + 1)
                if array.dtype.hasobject:
                    return array
                return numpy.frombuffer(data, array.dtype, array.size, 1)
            case _:
                return array

    def read_only(self):
        """Memory that must not change."""
        numpy = self.numpy
        array = self.plain()
        match self.random.randrange(5):
            case 0:
                result = numpy.frombuffer(array.tobytes(), array.dtype)
            case 1:
                with tempfile.TemporaryFile() as file:
                    file.write(bytes(4096))
                    file.flush()
                    result = numpy.memmap(file, array.dtype, "r", shape=(16,))
            case 2:
                result = numpy.broadcast_to(numpy.ones((), array.dtype), (16,))
            case 3:
                result = memoryview(array.tobytes()).toreadonly()
            case _:
                array.flags.writeable = False
                result = array
        self.frozen.append((result, bytes(memoryview(result).tobytes())))
        if self.random.random() < 0.3:
            try:
                shared = self.anymetal.asarray(result, copy=False)
            except self.ALLOWED:
                return result
            assert shared.is_read_only, "an array over read-only memory is not read-only"
            shared = self.pick(shared, self.anymetal.ops.reshape(shared, (-1,)), shared[:1] if shared.ndim else shared)
            assert shared.is_read_only, "a view of a read-only array is not read-only"
            return shared
        return result

    def tensor(self) -> Tensor:
        """A tensor of DLPack, which mostly lies."""
        numbers = ctypes.c_int64 * 64
        rank = self.pick(0, 1, 1, 2, 3)
        shape, strides = numbers(*[self.pick(0, 1, 2, 3, 4) for _ in range(64)]), numbers(*[1] * 64)
        for at in range(rank):
            strides[at] = self.pick(0, 1, 2, 4, -1)
        lie = self.random.randrange(14)
        tensor = Tensor(self.middle, 1, 0, rank, 2, 32, 1, ctypes.addressof(shape), ctypes.addressof(strides), 0)
        if self.random.random() < 0.5:
            tensor.strides = None
        match lie:
            case 0:
                tensor.ndim = self.pick(-1, -(2**31), 65, 2**20, 2**30, 2**31 - 1)
            case 1:
                shape[0], tensor.ndim = self.pick(*ABSURD), 1
            case 2:
                shape[0], shape[1], tensor.ndim = 2**32, 2**32, 2
            case 3:
                shape[0], strides[0], tensor.ndim = 3, self.pick(2**57, 2**62, -(2**57), -(2**63)), 1
                tensor.strides = ctypes.addressof(strides)
            case 4:
                tensor.data = self.pick(None, 8, 4095)
            case 5:
                tensor.byte_offset = self.pick(8, 2**63, 2**64 - 1, 2**64 - 2**40)
            case 6:
                tensor.device_type = self.pick(0, 2, 8, 13, -1, 2**31 - 1)
            case 7:
                tensor.lanes = self.pick(0, 2, 4, 65535)
            case 8:
                tensor.bits = self.pick(0, 1, 4, 7, 8, 12, 24, 64, 128, 255)
            case 9:
                tensor.code = self.random.randrange(256)
            case 10:
                tensor.shape = self.pick(None, ctypes.addressof(shape) + 1)
            case 11:
                tensor.strides = ctypes.addressof(strides) + 3
            case 12:
                shape[0], shape[1], shape[2], tensor.ndim = 2**62, 2**62, 0, 3
        self.keep += [shape, strides]
        return tensor

    def by_dlpack(self):
        tensor = self.tensor()
        managed, name = Managed(tensor, None, None), b"dltensor"
        if self.random.random() < 0.5:
            major = self.pick(1, 1, 1, 0, 2, 2**32 - 1)
            managed, name = Versioned(major, 0, None, None, self.pick(0, 1, 2, 3, 2**63), tensor), b"dltensor_versioned"
        address = ctypes.addressof(managed)
        if self.random.random() < 0.1:
            name = self.pick(b"used_dltensor", b"used_dltensor_versioned", b"", None, b"arrow_array")
        self.keep.append(managed)
        made = capsule(address, name)
        export = self.pick(lambda **_: made, lambda **_: made, lambda: made, lambda **_: self.pick(None, 3, b"x"))
        device = self.pick((1, 0), (1, 0), (3, 0), (2, 0), (1,), None, (2**40, 0), "cpu")
        lies = {"__dlpack__": export, "__dlpack_device__": lambda: device}
        if self.random.random() < 0.3:
            del lies["__dlpack_device__"]
        return Lies((managed, made), **lies)

    def by_struct(self):
        sizes = ctypes.c_int64 * 64
        shape, strides = sizes(*[self.pick(0, 1, 2, 3) for _ in range(64)]), sizes(*[4] * 64)
        rank = self.pick(0, 1, 2)
        one = Interface(2, rank, b"f", 4, 0x701, ctypes.addressof(shape), ctypes.addressof(strides), self.middle, None)
        match self.random.randrange(10):
            case 0:
                one.two = self.pick(0, 3, -2)
            case 1:
                one.nd = self.pick(-1, 65, 2**30, -(2**31))
            case 2:
                one.typekind = bytes([self.random.randrange(256)])
            case 3:
                one.itemsize = self.pick(0, -1, 1, 3, 8, 16, 2**31 - 1)
                strides[0] = strides[1] = abs(one.itemsize)
                shape[0] = shape[1] = 1
            case 4:
                shape[0], one.nd = self.pick(*ABSURD), 1
            case 5:
                shape[0], strides[0], one.nd = 3, self.pick(2**59, -(2**63), 2**63 - 4, 6), 1
            case 6:
                one.data = self.pick(None, 8)
            case 7:
                one.shape = self.pick(None, ctypes.addressof(shape) + 1)
            case 8:
                one.strides = self.pick(None, ctypes.addressof(strides) + 1)
            case 9:
                one.flags = self.pick(0, 0x200, 0x301, 0xF01)
        self.keep += [shape, strides, one]
        made = capsule(ctypes.addressof(one), self.pick(None, None, None, b"named"))
        return Lies(one, __array_struct__=self.pick(made, made, made, made, 3, None))

    def by_interface(self):
        lies = {"version": 3, "shape": (4,), "typestr": "<f4", "data": (self.middle, self.pick(False, True))}
        match self.random.randrange(9):
            case 0:
                lies["shape"] = self.pick((-1,), (2**62,), (2**40, 2**40), (0, 2**62), (1,) * 65, 4, None, "4")
            case 1:
                lies["typestr"] = self.pick("|O8", ">f4", "<M8[ns]", "<U4", "|V0", "f", "", None, "<f3", "|t1")
            case 2:
                lies["data"] = self.pick(None, (0, False), (2**70, False), (-1, False), "here", (self.middle,))
            case 3:
                lies["strides"] = self.pick((2**60,), (-(2**62),), (1, 2), (0,), (3,), "s")
            case 4:
                lies["descr"] = self.pick([("a", "|O8")], [("a", "<f4")], [("a",)], 3, [("a", [("b", "|O8")])])
            case 5:
                lies["version"] = self.pick(2, 4, None)
            case 6:
                lies = self.pick({}, None, [], 3)
        return Lies(None, __array_interface__=lies)

    def buffer(self):
        """An object with the buffer protocol."""
        released = memoryview(bytearray(16))
        released.release()
        views = memoryview(bytearray(64))
        return self.pick(
            bytearray(64), bytearray(), views, views[::2], views.cast("f"), views.cast("f", (4, 4)), released,
            array.array("f", [1.0] * 16), array.array("u", "text"), mmap.mmap(-1, 64), (ctypes.c_float * 16)(),
            (ctypes.py_object * 4)(), (ctypes.c_void_p * 4)(), ctypes.c_float(1.0), b"bytes", b"", memoryview(b"x" * 64),
        )

    def other(self):
        """Not an array."""
        numpy = self.numpy
        loop: list = []
        loop.append(loop)
        return self.pick(
            None, True, 0, -1, 2**31, 2**70, 0.5, float("nan"), 1e300, 1j, "text", "\0", (), [], [1, 2], [1.5, "x"],
            [[1]], loop, Long([1]), {}, {1: 2}, set(), object(), int, numpy, numpy.ndarray, numpy.zeros, Raises(), iter([1]),
            range(4), numpy.float32(1), numpy.datetime64(5, "s"), numpy.timedelta64(5, "ns"), numpy.str_("12"),
            numpy.bytes_(b"1"), numpy.bool_(True), numpy.void(b"12345678"), numpy.longdouble(1), numpy.complex64(1j),
            numpy.zeros((), object)[()], self.anymetal, self.library, self.library.saxpy, [None], [self.plain(), None],
            [object()], ["twice"], ["nobody", None], ["twice"] * 4, Ellipsis, numpy.float64("nan"), 10**400,
        )

    def anything(self):
        kind = self.random.random()
        if kind < 0.35:
            return self.reshaped(self.plain())
        if kind < 0.45 and self.arrays:
            return self.random.choice(self.arrays)
        make = self.pick(
            self.strange, self.read_only, self.by_dlpack, self.by_struct, self.by_interface, self.buffer, self.other
        )
        return make()

    # ---- Calls

    def step(self) -> None:
        call = self.pick(
            self.kernel, self.kernel, self.kernel, self.kernel, self.kernel, self.convert, self.convert, self.operation,
            self.operation, self.shapes, self.export, self.graph, self.table, self.metal_kernel, self.events,
        )
        before = self.watched()
        self.counts[0] += 1
        # Types of the builtins alone: those of anymetal may tell of work that ran.
        try:
            call()
            self.counts[1] += 1
        except self.anymetal.AnymetalError as error:
            self.check_text(error)
            self.counts[2] += 1
        except self.ALLOWED as error:
            self.check_text(error)
            self.counts[2] += 1
            if before != self.watched():
                raise AssertionError(f"{call.__name__} was refused and changed an array: {error!r}") from error
        except RuntimeError as error:
            # Of the objects here, of the facade without a class, of Python for recursion.
            self.check_text(error)
            self.counts[2] += 1
        for array, content in self.frozen:
            if bytes(memoryview(array).tobytes()) != content:
                raise AssertionError(f"{call.__name__} changed read-only memory")

    def watched(self) -> bytes:
        return bytes(self.target)

    @staticmethod
    def check_text(error: BaseException) -> None:
        text = str(error)
        if "bug of anymetal" in text or "panicked" in text or "internal error" in text:
            raise AssertionError(f"a bug: {error!r}") from error
        if not text:
            raise AssertionError(f"no reason: {error!r}") from error

    def run(self) -> None:
        numpy = self.numpy
        #: What kernels write in calls that are otherwise random.
        self.target = numpy.ones(64, "float32")
        for _ in range(CALLS):
            self.step()
        self.anymetal.Device().synchronize()

    def kernel(self) -> None:
        name = self.pick("saxpy", "saxpy", "put", "bytes", "pairs", "wide", "lists", "calls")
        kernel = getattr(self.pick(self.library, self.library, strided_library()), name)
        count = {"saxpy": 3, "put": 1}.get(name, 2)
        usual = {"saxpy": [self.target, self.target, 0.5]}.get(name, [])
        args = [
            usual[at] if at < len(usual) and self.random.random() < 0.6 else self.anything() for at in range(count)
        ]
        if name == "lists" and self.random.random() < 0.7:
            args[0] = [self.anything(), self.anything()]
        if self.random.random() < 0.05:
            args = args[:-1] if self.random.random() < 0.5 else [*args, self.anything()]
        keywords = {}
        if self.random.random() < 0.7:
            keywords["threads"] = self.pick(0, 1, 4, 4, (2, 2), (1, 1, 1))
        for name, choices in (
            ("threads", (-1, 2**32, 2**63, 2**80, (), (1, 2, 3, 4), "4", 1.5, None, [2**31] * 3, (2**32 - 1,) * 3)),
            ("group_size", (0, 1, 4, (1, 1), 2000, -1, 2**40, "x", (0, 0, 0))),
            ("arg_casts", ("int32", "nothing", {0: "fp16"}, {-1: "int8"}, {"x": 1}, 3)),
            ("threadgroup_memory", ({0: 16}, {0: 2**40}, {0: -1}, {2**40: 4}, {0: 2**63 - 1}, {"a": 1}, {31: 4}, 3)),
            ("queue", (None, 3, self.anymetal.Device().queue())),
            ("error_buf_idx", (None, 0, 1, -1, 2**40, "x")),
        ):
            if self.random.random() < 0.08:
                keywords[name] = self.random.choice(choices)
        way = self.random.random()
        if way < 0.75:
            kernel(*args, **keywords)
            return
        keywords.pop("error_buf_idx", None)
        if way < 0.9:
            deadline = self.pick(None, 5.0, 0.0, -1.0, float("nan"), float("inf"), 1e300)
            submission = kernel.launch(*args, deadline=deadline, label=self.pick(None, "", "a\0b", "x" * 1000), **keywords)
            try:
                submission.wait(self.pick(None, 5.0, 1e300, -1.0, float("nan")))
            except (OverflowError, ValueError) as error:
                # The time is refused, and the kernel runs.
                self.check_text(error)
                submission.wait()
        else:
            kernel.profile(*args, iterations=self.pick(0, 1, 2, -1, 2**64), warm_up=self.pick(0, 1, -1), **keywords)

    def convert(self) -> None:
        value, anymetal = self.anything(), self.anymetal
        result = self.pick(
            lambda: anymetal.asarray(value),
            lambda: anymetal.asarray(value, copy=False),
            lambda: anymetal.from_dlpack(value),
            lambda: anymetal.from_dlpack(value, copy=True),
            lambda: anymetal.asarray(value, dtype=self.pick("float32", "int8", "nothing", object, None, 3)),
            lambda: anymetal._native.describe(value),
        )()
        if isinstance(result, anymetal.Array) and result.size <= 1 << 16:
            self.arrays = [*self.arrays[-8:], result]

    def array(self):
        if self.arrays and self.random.random() < 0.8:
            return self.random.choice(self.arrays)
        return self.anymetal.asarray(self.numpy.ones(self.pick((4,), (2, 3), (), (0,)), "float32"))

    def operation(self) -> None:
        ops, x = self.anymetal.ops, self.array()
        name = self.random.choice(operations())
        others = [self.pick(self.array(), self.anything(), self.size(), -1, 0, 1) for _ in range(self.random.randrange(3))]
        result = getattr(ops, name)(x, *others)
        if isinstance(result, self.anymetal.Array) and 0 < result.size <= 1 << 16:
            self.arrays = [*self.arrays[-8:], result]

    def shapes(self) -> None:
        ops, x = self.anymetal.ops, self.array()
        sizes = tuple(self.size() for _ in range(self.random.randrange(4)))
        small = tuple(self.pick(-2, -1, 0, 1, 2, 2**40) for _ in range(self.random.randrange(3)))
        dtype = self.pick("float32", "int8", "bool", "nothing")
        call = self.pick(
            lambda: ops.empty(self.big(sizes), dtype=dtype),
            lambda: ops.zeros(self.big(sizes), dtype=dtype),
            lambda: ops.reshape(x, sizes),
            lambda: ops.broadcast_to(x, sizes),
            lambda: ops.permute_dims(x, small),
            lambda: ops.arange(self.pick(0, 4, 2**40, -1, float("nan"), float("inf")), dtype=dtype),
            lambda: ops.eye(self.pick(0, 3, 2**40, -1, 2**63), dtype=dtype),
            lambda: ops.linspace(0.0, 1.0, self.pick(0, 3, 2**40, -1)),
            lambda: ops.tile(x, small),
            lambda: ops.repeat(x, self.pick(0, 2, 2**40, -1)),
            lambda: ops.pad(x, [(self.pick(0, 1, 2**62), self.pick(0, 2**63 - 1, -1))] * x.ndim),
            lambda: ops.roll(x, self.pick(1, -(2**63), 2**63), axis=self.pick(0, -1, 2**40)),
            lambda: ops.random_uniform(self.big(sizes), seed=self.pick(0, -1, 2**64)),
            lambda: x[self.pick(0, -1, 2**40, None, Ellipsis, slice(2**62, -(2**62), -1), slice(0, 4, 0), "x", (0, 0, 0))],
            lambda: self.anymetal.Array.from_bytes(bytes(16), list(sizes), dtype),
            lambda: self.anymetal.Array.uninitialised(list(self.big(sizes)), dtype),
        )
        call()

    def big(self, sizes):
        """Shapes that a machine could hold are left out: the campaign's own memory is watched."""
        count = 1
        for size in sizes:
            count *= abs(size)
        return sizes if count < 1 << 20 or count > 1 << 40 else (4,)

    def export(self) -> None:
        x, numpy = self.array(), self.numpy
        version = self.pick(None, (0, 8), (1, 0), (2**31, 0), (-1, 0), "1.0", (1,), (1, 0, 0))
        call = self.pick(
            lambda: x.__dlpack__(max_version=version),
            lambda: x.__dlpack__(copy=self.pick(True, False, None), dl_device=self.pick(None, (1, 0), (2, 0), 3)),
            lambda: numpy.from_dlpack(x),
            lambda: numpy.asarray(x),
            lambda: x.tobytes(),
            lambda: x.tolist() if x.size < 1000 else None,
            lambda: x.__array_interface__,
        )
        result = call()
        if isinstance(result, numpy.ndarray) and x.is_read_only and result.flags.writeable:
            assert not numpy.shares_memory(result, numpy.asarray(x)), "read-only memory was exported as writable"

    def graph(self) -> None:
        graph = self.anymetal.Graph(self.pick("g", "", "a\0b"))
        value = graph.value("a", self.pick(1.0, 1, True, "x", None, 2**80))
        kernel = self.library.saxpy
        args = [self.array(), self.pick(self.array(), self.anything()), self.pick(value, 1.0, self.anything())]
        graph.kernel(kernel, *args, threads=self.pick(1, 4, -1, 2**40))
        run = graph.build()
        run.run()
        run.set(value, self.pick(2.0, 1, "x", None, 2**80))

    def table(self) -> None:
        given = self.pick(0, 1, 4, -1, 2**16 + 1, 2**31, 2**62, 2**80, ["twice"], ["nobody"], [None], [3], "twice", None, {})
        table = self.library.calls.function_table(given)
        table[self.pick(0, -1, 2**40, -(2**63))] = self.pick("twice", "nobody", None)

    def metal_kernel(self) -> None:
        kernel = body_kernel()
        shape = self.pick((4,), (0,), (-1,), (2**40, 2**40), ("x",), (1, 2))
        kernel(
            inputs=[self.anything()],
            output_shapes=[shape],
            output_dtypes=[self.pick("float32", "int8", "float64", object)],
            grid=self.pick((4, 1, 1), (0, 1, 1), (2**40, 1, 1), (4,), (-1, 1, 1)),
            threadgroup=self.pick((4, 1, 1), (0, 0, 0), (2**40, 1, 1)),
        )

    def events(self) -> None:
        event = self.anymetal.Device().event()
        event.signal(self.pick(0, 1, 2**64 - 1, -1, 2**64))
        event.wait(self.pick(0, -1, 2**64), self.pick(0.0, -1.0, float("nan"), 1e300, "x"))


_made: dict = {}


def library():
    import anymetal

    return _made.setdefault("plain", None) or _made.update(plain=anymetal.compile_shader(SOURCE)) or _made["plain"]


def strided_library():
    import anymetal

    if "strided" not in _made:
        _made["strided"] = anymetal.compile_shader(SOURCE, strided=True, torch=True)
    return _made["strided"]


def body_kernel():
    import anymetal

    if "body" not in _made:
        _made["body"] = anymetal.metal_kernel(
            "body", ["x"], ["y"], "uint i = thread_position_in_grid.x; y[i] = x[0];"
        )
    return _made["body"]


def operations() -> list[str]:
    """The operations over arrays, from the package's own list."""
    import anymetal

    if "operations" not in _made:
        skipped = {"empty", "zeros", "ones", "full", "eye", "arange", "linspace", "pad", "tile", "repeat", "broadcast_to"}
        names = [name for name in anymetal.ops.__all__ if name not in skipped]
        _made["operations"] = [name for name in names if type(getattr(anymetal.ops, name)).__name__ == "function"]
    return _made["operations"]


def resident_kib() -> int:
    """Memory of the process without the device's pool."""
    import anymetal

    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * (mmap.PAGESIZE // 1024)
    return resident - anymetal.Device().memory()["allocated_bytes"] // 1024


def child(first: int, count: int) -> int:
    counts, before = [0, 0, 0], 0
    for seed in range(first, first + count):
        print("seed", seed, flush=True)
        sequence = Sequence(seed)
        try:
            sequence.run()
        except BaseException as error:
            import traceback

            traceback.print_exc()
            print(f"problem {type(error).__name__}: {error}".splitlines()[0], flush=True)
            return 1
        counts = [one + other for one, other in zip(counts, sequence.counts)]
        if seed == first + WARM:
            before = resident_kib()
    grown = resident_kib() - before if count > WARM else 0
    print("counts", *counts, grown, flush=True)
    if count > WARM and grown > MAX_GROWTH_KIB * (count - WARM) // (SEQUENCES - WARM):
        print(f"problem memory grew by {grown} KiB in {count - WARM} sequences", flush=True)
        return 1
    return 0


def run_child(first: int, count: int = SEQUENCES) -> tuple[list[int], str]:
    """The counts of a child, and what it found."""
    command = [sys.executable, os.path.abspath(__file__), "--child", str(first), "--count", str(count)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=1200)
    except subprocess.TimeoutExpired as error:
        return [0] * 4, f"the sequences from seed {first} on take more than 1200 s: {(error.stdout or b'')[-40:]!r}"
    lines = ended.stdout.splitlines()
    last = next((line for line in reversed(lines) if line.startswith("seed ")), "seed ?")
    problem = next((line for line in lines if line.startswith("problem ")), None)
    counts = next((line for line in lines if line.startswith("counts ")), None)
    if ended.returncode < 0:
        problem = f"signal {-ended.returncode}"
    elif problem is None and ("panicked" in ended.stderr or counts is None):
        problem = f"ended with {ended.returncode}"
    numbers = [int(number) for number in counts.split()[1:]] if counts else [0] * 4
    return numbers, "" if problem is None else f"{last}: {problem}\n{ended.stderr[-3000:]}"


def campaign(first: int, seconds: float) -> int:
    start, seed, findings = time.monotonic(), first, 0
    total, grown = [0, 0, 0], 0
    print(f"seeds from {first}", flush=True)
    children = 0
    while time.monotonic() - start < seconds and findings < MAX_FINDINGS:
        numbers, finding = run_child(seed)
        if "memory grew" in finding:
            # Compilers leave memory to their allocator, and one sequence may take much that is used again. A leak
            # grows with the number of sequences.
            numbers, finding = run_child(seed, 4 * SEQUENCES)
        seed, children = seed + SEQUENCES, children + 1
        total = [one + other for one, other in zip(total, numbers)]
        grown = max(grown, numbers[3])
        if finding:
            findings += 1
            print(finding, flush=True)
    print(
        f"{seed - first} sequences in {children} processes and {time.monotonic() - start:.0f} s: {total[0]} calls, "
        f"{total[1]} succeeded, {total[2]} refused; memory grew by at most {grown} KiB; {findings} findings"
    )
    return 1 if findings else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Calls the Python package with random and often hostile arguments.")
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, help="the first seed (default: from the time)")
    parser.add_argument("--one", type=int, metavar="SEED", help="run the one sequence of this seed, in this process")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=SEQUENCES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        return child(options.one, 1)
    if options.child is not None:
        return child(options.child, options.count)
    return campaign(int(time.time()) << 20 if options.seed is None else options.seed, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
