"""Arrays of other libraries that kernels cannot use, and protocols that lie: refused before memory is read."""

import ctypes
import pathlib
import subprocess
import sys

import misuse
import numpy
import pytest

import anymetal
from anymetal import compile_shader

SOURCE = """
kernel void put(device ulong* y, uint i [[thread_position_in_grid]]) { y[i] = 0x4141414141414141; }
kernel void add(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] += x[i]; }
struct Pair { float a; uint b; };
kernel void pairs(device Pair* p, uint i [[thread_position_in_grid]]) { p[i].b += 1; }
struct Lists { device float* p[2]; };
kernel void lists(constant Lists& l, uint i [[thread_position_in_grid]]) { l.p[0][i] += l.p[1][i]; }
"""

MISTAKES = (TypeError, ValueError, BufferError)


@pytest.fixture(scope="module")
def library():
    return compile_shader(SOURCE)


@pytest.fixture(scope="module")
def strided():
    return compile_shader(SOURCE, strided=True, torch=True)


@pytest.mark.parametrize(
    "dtype",
    ["O", "M8[ns]", "m8[s]", "S8", "U2", "V0", "S0", "g", "G", [("a", "f4"), ("b", "O")], [("a", [("b", "O", (2,))])]],
    ids=str,
)
def test_types_that_kernels_cannot_use(library, strided, dtype):
    array = numpy.zeros(4, dtype)
    before = array.tobytes()
    for kernel in (library.put, strided.put):
        with pytest.raises(TypeError):
            kernel(array, threads=4)
        with pytest.raises(TypeError):
            kernel(array[:1].reshape(()), threads=1)
        with pytest.raises(TypeError):
            kernel.launch(array, threads=4)
    for convert in (anymetal.asarray, anymetal.from_dlpack):
        with pytest.raises((TypeError, BufferError)):
            convert(array)
    with pytest.raises(TypeError):
        library.lists([array, array], threads=4)
    with pytest.raises(TypeError):
        anymetal.metal_kernel("k", ["x"], ["y"], "y[0] = 1;")(
            inputs=[array], output_shapes=[(1,)], output_dtypes=["float32"], grid=(1, 1, 1), threadgroup=(1, 1, 1)
        )
    assert array.tobytes() == before


def test_references_to_objects_survive(library):
    objects = numpy.array([object() for _ in range(4)], dtype=object)
    kept = list(objects)
    with pytest.raises(TypeError, match="Python objects"):
        library.put(objects)
    assert all(one is other for one, other in zip(objects, kept))


def test_structures_are_raw_bytes(library):
    pairs = numpy.zeros(4, [("a", "f4"), ("b", "u4")])
    library.pairs(pairs)
    assert pairs["b"].tolist() == [1] * 4
    pairs.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        library.pairs(pairs)


def test_dates_are_not_numbers():
    kernel = compile_shader("kernel void f(device int* x, constant long& a) { x[0] = a; }").f
    x = numpy.zeros(1, "int32")
    for date in (numpy.datetime64(5, "ns"), numpy.timedelta64(5, "ns")):
        with pytest.raises(TypeError):
            kernel(x, date, threads=1)
    assert x[0] == 0


class Tensors:
    """Objects with `__dlpack__` over memory of 64 numbers."""

    def __init__(self):
        self.memory = (ctypes.c_float * 64)()
        self.shape = (ctypes.c_int64 * 64)(4)
        self.strides = (ctypes.c_int64 * 64)(1)

    def tensor(self, **fields):
        tensor = misuse.Tensor(ctypes.addressof(self.memory), 1, 0, 1, 2, 32, 1, ctypes.addressof(self.shape), None, 0)
        for name, value in fields.items():
            setattr(tensor, name, value)
        return tensor

    def of(self, managed, name):
        made = misuse.capsule(ctypes.addressof(managed), name)
        return misuse.Lies((self, managed), __dlpack__=lambda **_: made)

    def plain(self, name=b"dltensor", **fields):
        return self.of(misuse.Managed(self.tensor(**fields), None, None), name)

    def versioned(self, major=1, flags=0, name=b"dltensor_versioned", **fields):
        return self.of(misuse.Versioned(major, 0, None, None, flags, self.tensor(**fields)), name)


@pytest.fixture
def tensors():
    return Tensors()


def shaped(*extents):
    """A change of the tensor's shape, given row-major order."""

    def change(tensors):
        tensors.shape[: len(extents)] = extents
        return {"ndim": len(extents)}

    return change


def strided_by(extent, stride):
    def change(tensors):
        tensors.shape[0], tensors.strides[0] = extent, stride
        return {"ndim": 1, "strides": ctypes.addressof(tensors.strides)}

    return change


TENSOR_LIES = {
    "negative rank": {"ndim": -1},
    "rank 65": {"ndim": 65},
    "rank 2**30": {"ndim": 2**30},
    "no shape": {"shape": None},
    "negative extent": shaped(-1),
    "huge extent": shaped(2**62),
    "a product that overflows": shaped(2**32, 2**32),
    "bytes that overflow": shaped(2**61),
    "an end beyond the address space": shaped(2**57),
    "a stride beyond the address space": strided_by(3, 2**60),
    "a negative stride beyond it": strided_by(3, -(2**60)),
    "the least stride": strided_by(2, -(2**63)),
    "no memory": {"data": None},
    "no memory and an offset": {"data": None, "byte_offset": 1 << 20},
    "the first page": {"data": 64},
    "a huge offset": {"byte_offset": 2**64 - 1},
    "an offset beyond the address space": {"byte_offset": 2**60},
    "a GPU": {"device_type": 2},
    "no device": {"device_type": -1},
    "lanes": {"lanes": 4},
    "no lanes": {"lanes": 0},
    "bits of no byte": {"bits": 12},
    "no bits": {"bits": 0},
    "24 bits": {"bits": 24},
    "255 bits": {"bits": 255},
    "opaque handles": {"code": 3, "bits": 64},
    "an unknown type": {"code": 200},
}


@pytest.mark.parametrize("lie", TENSOR_LIES)
@pytest.mark.parametrize("kind", ["plain", "versioned"])
def test_a_tensor_that_lies_is_refused(library, strided, tensors, kind, lie):
    change = TENSOR_LIES[lie]
    fields = change(tensors) if callable(change) else change
    value = getattr(tensors, kind)(**fields)
    y = numpy.ones(4, "float32")
    for shader in (library, strided):
        with pytest.raises(MISTAKES):
            shader.add(value, y, threads=4)
        with pytest.raises(MISTAKES):
            shader.lists([y, value], threads=4)
    with pytest.raises(MISTAKES):
        anymetal.from_dlpack(value)
    with pytest.raises(MISTAKES):
        anymetal._native.describe(value)
    assert (y == 1).all()


def test_tensors_that_are_right_are_used(library, strided, tensors):
    tensors.memory[:4] = [1, 2, 3, 4]
    for value in (tensors.plain(), tensors.versioned(), tensors.versioned(device_type=3)):
        y = numpy.ones(4, "float32")
        library.add(value, y)
        assert y.tolist() == [2, 3, 4, 5]
    empty = tensors.plain(data=None, **shaped(0, 2**62, 2**62)(tensors))
    library.add(empty, numpy.ones(0, "float32"))
    y = numpy.ones(4, "float32")
    tensors.strides[0] = 0
    tensors.shape[0] = 4
    strided.add(tensors.plain(strides=ctypes.addressof(tensors.strides)), y, threads=1)
    assert y.tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda t: t.plain(name=b"used_dltensor"), BufferError),
        (lambda t: t.versioned(name=b"used_dltensor_versioned"), BufferError),
        (lambda t: t.plain(name=b"arrow_array"), BufferError),
        (lambda t: t.plain(name=None), BufferError),
        (lambda t: t.versioned(major=2), BufferError),
        (lambda t: misuse.Lies(None, __dlpack__=lambda **_: 3), TypeError),
        (lambda t: misuse.Lies(None, __dlpack__=lambda **_: None), TypeError),
        (lambda t: misuse.Lies(None, __dlpack__=t.plain().__dlpack__, __dlpack_device__=lambda: "cpu"), TypeError),
        (lambda t: misuse.Lies(None, __dlpack__=t.plain().__dlpack__, __dlpack_device__=lambda: (2, 0)), ValueError),
        (lambda t: misuse.Lies(None, __array_struct__=3), TypeError),
        (lambda t: misuse.Lies(None, __array_interface__=3), TypeError),
        (
            lambda t: misuse.Lies(
                t, __array_interface__={"version": 3, "shape": (1,), "typestr": "|O8", "data": (t.tensor().data, False)}
            ),
            TypeError,
        ),
        (
            lambda t: misuse.Lies(
                t, __array_interface__={"version": 3, "shape": (2,), "typestr": "<f4", "data": (0, False)}
            ),
            ValueError,
        ),
    ],
)
def test_objects_of_no_protocol(library, tensors, make, kind):
    y = numpy.ones(4, "float32")
    with pytest.raises(kind):
        library.add(make(tensors), y, threads=4)
    with pytest.raises(kind):
        anymetal.asarray(make(tensors))
    assert (y == 1).all()


STRUCT_LIES = {
    "another structure": {"two": 3},
    "negative rank": {"nd": -1},
    "rank 2**30": {"nd": 2**30},
    "objects": {"typekind": b"O", "itemsize": 8},
    "no bytes": {"itemsize": 0},
    "negative bytes": {"itemsize": -4},
    "a huge extent": {"extent": 2**62},
    "a negative extent": {"extent": -1},
    "a huge stride": {"stride": 2**62},
    "a stride of no elements": {"stride": 6},
    "no memory": {"data": None},
    "no shape": {"shape": None},
    "a shape that is not aligned": {"skew": 1},
    "the other byte order": {"flags": 0x501},
}


@pytest.mark.parametrize("lie", STRUCT_LIES)
def test_an_array_struct_that_lies_is_refused(library, strided, lie):
    fields = dict(STRUCT_LIES[lie])
    memory = (ctypes.c_float * 64)()
    shape = (ctypes.c_int64 * 4)(fields.pop("extent", 4))
    strides = (ctypes.c_int64 * 4)(fields.pop("stride", 4))
    start = ctypes.addressof(shape) + fields.pop("skew", 0)
    one = misuse.Interface(2, 1, b"f", 4, 0x701, start, ctypes.addressof(strides), ctypes.addressof(memory), None)
    for name, value in fields.items():
        setattr(one, name, value)
    value = misuse.Lies(None, __array_struct__=misuse.capsule(ctypes.addressof(one), None))
    for kernel in (library.add, strided.add):
        y = numpy.ones(4, "float32")
        with pytest.raises(MISTAKES):
            kernel(value, y, threads=4)
        assert (y == 1).all()


def test_an_array_struct_keeps_its_memory(library):
    """The capsule of a temporary array alone keeps the memory."""

    class Fresh:
        @property
        def __array_struct__(self):
            return numpy.full(1 << 16, 3, "float32").__array_struct__

    array = anymetal.asarray(Fresh(), copy=False)
    others = [numpy.zeros(1 << 16, "float32") for _ in range(8)]
    assert anymetal.ops.sum(array).item() == 3 * (1 << 16) and len(others) == 8


# ---- Read-only memory


def frozen():
    array = numpy.arange(4, dtype="float32")
    array.flags.writeable = False
    return array


def mapped(tmp_path):
    path = tmp_path / "numbers"
    numpy.arange(4, dtype="float32").tofile(path)
    return numpy.memmap(path, "float32", "r")


READ_ONLY = {
    "frozen": lambda _: frozen(),
    "mapped": mapped,
    "bytes": lambda _: numpy.frombuffer(numpy.arange(4, dtype="float32").tobytes(), "float32"),
    "view": lambda _: memoryview(numpy.arange(4, dtype="float32")).toreadonly(),
    "array": lambda _: anymetal.asarray(frozen(), copy=False),
    "reshaped": lambda _: anymetal.ops.reshape(anymetal.asarray(frozen(), copy=False), (2, 2)),
    "sliced": lambda _: anymetal.asarray(frozen(), copy=False)[:2],
    "exported": lambda _: misuse.Lies(None, __dlpack__=anymetal.asarray(frozen(), copy=False).__dlpack__),
    "dlpack": lambda _: Tensors().versioned(flags=1),
    "copied": lambda _: Tensors().versioned(flags=2),
}


@pytest.mark.parametrize("what", READ_ONLY)
def test_read_only_memory_is_never_written(library, strided, tmp_path, what):
    value = READ_ONLY[what](tmp_path)
    x = numpy.ones(4, "float32")
    shared = anymetal.asarray(value, copy=False) if not isinstance(value, anymetal.Array) else value
    assert shared.is_read_only and not anymetal.asarray(numpy.ones(1, "float32"), copy=False).is_read_only
    before = shared.tolist()
    for given in (value, shared):
        for shader in (library, strided):
            for call in (shader.add, shader.add.launch, shader.add.profile):
                with pytest.raises(ValueError, match="read-only"):
                    call(x, given, threads=1)
            with pytest.raises(ValueError, match="read-only"):
                shader.lists([given, x], threads=1)
            with pytest.raises(ValueError, match="read-only"):
                shader.lists([x, given], threads=1)
            y = numpy.ones(4, "float32")
            shader.add(given, y, threads=1)
            assert y[0] == 1 + anymetal.ops.reshape(shared, (-1,)).tolist()[0]
    graph = anymetal.Graph()
    with pytest.raises(ValueError, match="read-only"):
        graph.kernel(library.add, anymetal.asarray(x), shared, threads=1)
    assert shared.tolist() == before


def test_views_of_read_only_arrays_are_read_only():
    ops, x = anymetal.ops, anymetal.asarray(frozen(), copy=False)
    views = [
        ops.reshape(x, (2, 2)), x[1:], x[1], ops.flip(x), ops.expand_dims(x, axis=0), ops.broadcast_to(x, (3, 4)),
        ops.contiguous(x), ops.permute_dims(ops.reshape(x, (2, 2)), (1, 0)), ops.reshape(x, (2, 2)).T,
        ops.astype(x, "float32", copy=False),
    ]
    assert all(view.is_read_only for view in views)
    assert not any(copy.is_read_only for copy in (ops.abs(x), x + x, ops.concat([x, x]), anymetal.asarray(frozen())))


def test_read_only_arrays_are_exported_as_such():
    x = anymetal.asarray(frozen(), copy=False)
    with pytest.raises(BufferError, match="max_version"):
        x.__dlpack__()
    assert not numpy.asarray(x).flags.writeable
    assert x.__array_interface__["data"][1]
    copied = anymetal.from_dlpack(misuse.Lies(None, __dlpack__=lambda **_: x.__dlpack__(copy=True)))
    assert copied.tolist() == [0, 1, 2, 3]
    assert not anymetal.from_dlpack(anymetal.asarray(numpy.ones(4, "float32"))).is_read_only
    assert anymetal.from_dlpack(x).is_read_only


# ---- Sizes


@pytest.mark.parametrize("shape", [(2**31,), (2**62, 2**62), (2**64,), (2**20, 2**20), (-1,), (2**80,)])
def test_sizes_that_are_too_large_reserve_nothing(shape):
    before = anymetal.Device().memory()["allocated_bytes"]
    for make in (
        lambda: anymetal.ops.empty(shape, dtype="int8"),
        lambda: anymetal.ops.zeros(shape, dtype="int8"),
        lambda: anymetal.Array.from_bytes(b"x" * 16, list(shape), "int8"),
    ):
        with pytest.raises((ValueError, OverflowError, TypeError, anymetal.AnymetalError)):
            make()
    assert anymetal.Device().memory()["allocated_bytes"] - before < 1 << 20


def test_tables_of_functions_have_a_limit():
    kernel = compile_shader("""
        [[visible]] int twice(int x) { return 2 * x; }
        kernel void f(device int* x, metal::visible_function_table<int(int)> f) { x[0] = f[0](x[0]); }
    """).f
    assert len(kernel.function_table(1 << 16)) == 1 << 16
    for count in ((1 << 16) + 1, 2**32 - 1, 2**62, 2**80, -1):
        with pytest.raises((ValueError, OverflowError, anymetal.AnymetalError)):
            kernel.function_table(count)


class Long(list):
    """A list whose length lies, and whose items do not end."""

    def __len__(self):
        return 2**62

    def __iter__(self):
        return iter(int, 1)


class Sequence:
    """A sequence whose length lies."""

    def __len__(self):
        return 2**62

    def __getitem__(self, at):
        return 1


@pytest.mark.parametrize("long", [Long([1]), Sequence()], ids=["list", "sequence"])
def test_lengths_of_sequences_reserve_nothing(library, long):
    y, native = numpy.ones(4, "float32"), anymetal._native
    x = anymetal.asarray(y)
    for call in (
        lambda: library.add(long, y, threads=1),
        lambda: anymetal.asarray(long),
        lambda: library.add.launch(y, y, threads=1, after=long),
        lambda: library.lists(long, threads=1),
        lambda: anymetal.Array.uninitialised(long, "int8"),
        lambda: anymetal.Array.from_bytes(b"", long, "int8"),
        lambda: native.reshaped("reshape", x, long),
        lambda: native.reduce("sum", x, long, False),
        lambda: native.join("concat", long, 0),
        lambda: native.pad(x, long, 0.0),
        lambda: native.Library("", defines=long),
        lambda: library._library.kernel("add", None, long),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()
    assert (y == 1).all()


def test_long_values_are_refused_before_they_are_copied():
    kernel = compile_shader("kernel void f(device int* x, constant int* a) { x[0] = a[1]; }").f
    x = numpy.zeros(1, "int32")
    for value in ([1] * (1 << 20), bytes(1 << 20)):
        with pytest.raises(ValueError):
            kernel(x, value, threads=1)
    assert x[0] == 0
    kernel(x, [1, 2], threads=1)
    assert x[0] == 2


def test_sequences_without_end():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested"):
        anymetal.asarray(loop)


def test_axes_that_an_array_does_not_have():
    x = anymetal.asarray(3.0)
    for call in (lambda: anymetal.ops.diff(x), lambda: anymetal.ops.permute_dims(x, (0,))):
        with pytest.raises(ValueError, match="axis"):
            call()
    assert anymetal.ops.diff(anymetal.asarray([1.0, 2.0]), n=2**62).size == 0


def test_random_misuse_has_no_effect():
    script = pathlib.Path(misuse.__file__)
    command = [sys.executable, str(script), "--child", "1", "--count", "20"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout[-500:] + ended.stderr[-3000:]
    assert "counts 500 " in ended.stdout
