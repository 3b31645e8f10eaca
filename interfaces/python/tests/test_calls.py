"""Calls of kernels over NumPy arrays: what is written where, and what numbers become."""

import array
import asyncio
import gc
import pickle
import sys
import threading
import warnings
import weakref

import numpy
import pytest

import anymetal
from anymetal import compile_shader


def test_a_kernel_writes_into_the_array(saxpy, xy):
    x, y = xy
    assert saxpy(x, y, 2.0) is None
    numpy.testing.assert_array_equal(y, 1 + 2 * x)


def test_views_are_written_in_place(saxpy, xy):
    x, y = xy
    saxpy(x[8:16], y[40:48], 1.0)
    expected = numpy.ones(64, "float32")
    expected[40:48] += numpy.arange(8, 16)
    numpy.testing.assert_array_equal(y, expected)


def test_overlapping_views_are_one_memory():
    shift = compile_shader(
        "kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[i]; }"
    ).copy
    x = numpy.arange(16, dtype="float32")
    shift(x[:8], x[8:])
    numpy.testing.assert_array_equal(x, [*range(8), *range(8)])
    shift(x[0:4], x[2:6], threads=1)
    assert x[2] == 0


def test_the_same_array_twice(saxpy):
    x = numpy.arange(8, dtype="float32")
    saxpy(x, x, 1.0)
    numpy.testing.assert_array_equal(x, 2 * numpy.arange(8))


def test_threads_default_to_the_elements_of_the_first_array(saxpy, xy):
    x, y = xy
    saxpy(x[:5], y, 1.0)
    assert (y[:5] == 1 + x[:5]).all() and (y[5:] == 1).all()
    saxpy(x, y, 1.0, threads=0)
    assert (y[5:] == 1).all()


def test_grids_of_two_and_three_dimensions():
    source = """
    kernel void place(device uint* out, constant uint3& size, uint3 p [[thread_position_in_grid]],
                      uint3 n [[threads_per_grid]], uint3 g [[threads_per_threadgroup]]) {
        out[(p.z * n.y + p.y) * n.x + p.x] = g.x * 100 + g.y * 10 + g.z + size.x - size.x;
    }"""
    place = compile_shader(source).place
    out = numpy.zeros((2, 3, 4), "uint32")
    place(out, [4, 3, 2], threads=(4, 3, 2), group_size=(2, 1, 1))
    assert (out == 211).all()
    flat = numpy.zeros((3, 4), "uint32")
    place(flat, [4, 3, 1], threads=[4, 3], group_size=[4, 3])
    assert (flat == 431).all()


@pytest.mark.parametrize(
    ("declared", "dtype", "value"),
    [
        ("float", "float32", 2.5),
        ("float", "float32", 3),
        ("half", "float16", 2.5),
        ("int", "int32", -7),
        ("uint", "uint32", 2**32 - 1),
        ("long", "int64", -(2**62)),
        ("ulong", "uint64", 2**64 - 1),
        ("short", "int16", -300),
        ("uchar", "uint8", 255),
        ("int", "int32", True),
        ("bool", "bool", True),
        ("int", "int32", numpy.int64(5)),
        ("float", "float32", numpy.float32(0.5)),
    ],
)
def test_numbers_have_the_type_that_the_kernel_declares(declared, dtype, value):
    source = f"kernel void put(device {declared}* out, constant {declared}& value) {{ out[0] = value; }}"
    out = numpy.zeros(1, dtype)
    compile_shader(source).put(out, value, threads=1)
    assert out[0] == value


def test_lists_have_the_type_that_the_kernel_declares():
    source = """kernel void dot4(device float* out, constant float4& a, constant int* b, constant float3& c,
                                 constant float2* pairs) {
        out[0] = a.x + 2 * a.y + 3 * a.z + 4 * a.w; out[1] = b[0] * 10 + b[1]; out[2] = c.x * 100 + c.y * 10 + c.z;
        out[3] = pairs[1].y;
    }"""
    out = numpy.zeros(4, "float32")
    compile_shader(source).dot4(out, [1, 2.5, 3, 4], (4, 2), [1, 2, 3], [1, 2, 3, 4], threads=1)
    numpy.testing.assert_array_equal(out, [31, 42, 123, 4])


def test_casts_as_in_pytorch():
    source = """kernel void put(device float* out, constant short& a, constant half* b) {
        out[0] = a; out[1] = b[0]; out[2] = b[1];
    }"""
    put = compile_shader(source).put
    out = numpy.zeros(3, "float32")
    put(out, 3.7, [0.5, 2], threads=1, arg_casts={1: "int16", 2: "fp16"})
    numpy.testing.assert_array_equal(out, [3, 0.5, 2])
    with pytest.raises(ValueError, match="no `int33`; there are fp16"):
        put(out, 3, [0.5], threads=1, arg_casts="int33")


def test_structures_as_bytes_and_records():
    source = """struct Size { uint width; float scale; };
    kernel void put(device float* out, constant Size& size) { out[0] = size.width * size.scale; }"""
    put = compile_shader(source).put
    out = numpy.zeros(1, "float32")
    put(out, numpy.array([3], "uint32").tobytes() + numpy.array([0.5], "float32").tobytes(), threads=1)
    assert out[0] == 1.5
    put(out, numpy.array((4, 0.25), dtype=[("width", "u4"), ("scale", "f4")]), threads=1)
    assert out[0] == 1


def test_arguments_at_indices_that_are_left_out():
    source = """kernel void put(device float* out [[buffer(0)]], constant float& value [[buffer(2)]]) {
        out[0] = value; }"""
    put = compile_shader(source).put
    out = numpy.zeros(1, "float32")
    put(out, None, 4.0, threads=1)
    assert out[0] == 4
    put(out, 5.0, threads=1)
    assert out[0] == 5


def test_memory_of_the_standard_library(saxpy):
    x, y = array.array("f", [1, 2, 3]), bytearray(12)
    saxpy(x, memoryview(y).cast("f"), 2.0)
    assert array.array("f", bytes(y)).tolist() == [2, 4, 6]
    saxpy(x, y, 1.0, threads=3)
    assert array.array("f", bytes(y)).tolist() == [3, 6, 9]


def test_threadgroup_memory_of_a_launch():
    source = """kernel void reverse(device float* x, threadgroup float* shared [[threadgroup(0)]],
                                    uint i [[thread_position_in_threadgroup]]) {
        shared[i] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup); x[i] = shared[31 - i]; }"""
    x = numpy.arange(32, dtype="float32")
    compile_shader("using namespace metal;\n" + source).reverse(
        x, threads=32, group_size=32, threadgroup_memory={0: 128}
    )
    numpy.testing.assert_array_equal(x, numpy.arange(32)[::-1])


def test_libraries_list_their_kernels(saxpy):
    library = compile_shader("kernel void a(device int* x) {} kernel void b(device int* x) {}")
    assert library.kernel_names == ["a", "b"] and {"a", "b"} <= set(dir(library))
    assert library.a is library.a is library["a"]
    with pytest.raises(AttributeError, match="no kernel `c`; its kernels are a, b"):
        library.c
    assert [one["name"] for one in saxpy.arguments] == ["x", "y", "a"]
    assert [one["access"] for one in saxpy.arguments] == ["read", "read-write", "read"]
    assert saxpy.max_threads_per_threadgroup == 1024 and saxpy.thread_execution_width == 32
    assert repr(saxpy) == "<kernel saxpy(float* x, float* y, float& a)>"


def test_function_constants():
    source = """constant int factor [[function_constant(0)]];
    kernel void put(device int* out) { out[0] = factor * 2; }"""
    library = compile_shader(source)
    out = numpy.zeros(1, "int32")
    library.specialize("put", {"factor": 21})(out, threads=1)
    assert out[0] == 42
    library.specialize("put", {0: 4})(out, threads=1)
    assert out[0] == 8


def test_kernels_are_pickled_with_their_source_and_options(xy):
    x, y = xy
    library = compile_shader(
        "constant int n [[function_constant(0)]]; kernel void f(device float* x, uint i "
        "[[thread_position_in_grid]]) { x[i] = SCALE * n; }",
        defines={"SCALE": 3},
    )
    kernel = pickle.loads(pickle.dumps(library.specialize("f", {"n": 7})))
    kernel(y)
    assert (y == 21).all()
    with anymetal.check() as checked:
        kernel(y)
    assert checked.report.launches == 1


def test_libraries_are_pickled_with_their_options(tmp_path, xy):
    _, y = xy
    (tmp_path / "scale.h").write_text("constant constexpr float SCALE = OTHER;")
    library = compile_shader(
        '#include "scale.h"\nkernel void f(device float* x, constant int* strides, uint i '
        "[[thread_position_in_grid]]) { x[i * strides[0]] = SCALE; }",
        file_name="scaled.metal",
        defines={"OTHER": "2.5"},
        include_folders=[tmp_path],
        strided=True,
    )
    again = pickle.loads(pickle.dumps(library))
    assert again.source == library.source and again.kernel_names == ["f"] and again.device == library.device
    again.f(y[::2], [2])
    assert y.tolist() == [2.5, 1.0] * 32


def test_a_pickled_library_goes_to_the_default_device_where_its_own_is_not(xy):
    _, y = xy
    from anymetal._shader import rebuild_library

    options = {"file_name": "f.metal", "defines": [], "include_folders": [], "math_mode": "safe", "strided": False}
    library = rebuild_library("kernel void f(device float* x) { x[0] = 7; }", "a device of another machine", options)
    assert library.device == anymetal.Device()
    library.kernel("f")(y, threads=1)
    assert y[0] == 7


def test_exceptions_are_pickled():
    lost = pickle.loads(pickle.dumps(anymetal.DeviceError("gone", "lost")))
    assert type(lost) is anymetal.DeviceError and lost.error_class == "lost" and str(lost) == "gone"


def test_submissions_hold_what_they_use(saxpy):
    queue = anymetal.Device().queue("held")
    queue.pause()
    x, y = numpy.ones(1000, "float32"), numpy.zeros(1000, "float32")
    alive = weakref.ref(x)
    submission = saxpy.launch(x, y, 1.0, queue=queue, label="held")
    del x
    gc.collect()
    assert alive() is not None and not submission.done()
    queue.resume()
    assert submission.wait() >= 0 and submission.done() and (y == 1).all()
    del submission
    gc.collect()
    saxpy(y, y, 0.0)  # What was dropped on another thread is given back at the next call.
    gc.collect()
    assert alive() is None


def test_submissions_are_awaited(saxpy):
    x, y = numpy.ones(1000, "float32"), numpy.zeros(1000, "float32")

    async def several():
        await asyncio.gather(*[saxpy.launch(x, y, 1.0) for _ in range(10)])
        return await saxpy.launch(x, y, 1.0)

    assert asyncio.run(several()) >= 0
    assert (y == 11).all()


def test_work_waits_for_events_and_other_work(saxpy):
    device = anymetal.Device()
    one, other, event = device.queue("one"), device.queue("other"), device.event()
    x, y = numpy.ones(8, "float32"), numpy.zeros(8, "float32")
    one.wait_event(event, 1)
    first = saxpy.launch(x, y, 1.0, queue=one)
    second = saxpy.launch(y, y, 1.0, queue=other, after=[first])
    assert not first.done() and not second.done()
    with pytest.raises(TimeoutError):
        first.wait(timeout=0.01)
    event.signal(1)
    second.wait()
    assert event.value == 1 and event.wait(1, timeout=1) and (y == 2).all()
    other.signal_event(event, 5).wait()
    assert event.value == 5
    one.synchronize()
    device.synchronize()


def test_cancelled_work_does_not_run(saxpy):
    queue = anymetal.Device().queue()
    queue.pause()
    x, y = numpy.ones(8, "float32"), numpy.zeros(8, "float32")
    submission = saxpy.launch(x, y, 1.0, queue=queue)
    assert submission.cancel()
    queue.resume()
    with pytest.raises(anymetal.CancelledError):
        submission.wait()
    assert (y == 0).all()


def test_other_threads_run_while_one_waits():
    source = """kernel void spin(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
        float y = x[i]; for (uint k = 0; k < n; k++) y = y * 1.0001f + 0.5f; x[i] = y; }"""
    spin = compile_shader(source).spin
    x = numpy.ones(4096, "float32")
    ticks, ended = [], threading.Event()

    def count():
        while not ended.is_set():
            ticks.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    before = len(ticks)
    spin(x, 20_000)
    during = len(ticks) - before
    ended.set()
    thread.join()
    assert during > 0


def test_graphs_run_with_other_values():
    library = compile_shader("""
        kernel void scale(device const float* x, device float* y, constant float& a,
                          uint i [[thread_position_in_grid]]) { y[i] = a * x[i]; }
        kernel void sum(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] += x[i]; }
    """)
    x, y = anymetal.asarray([1.0, 2.0, 3.0]), anymetal.ops.zeros(3)
    target = numpy.zeros(3, "float32")
    z = anymetal.asarray(target, copy=False)
    graph = anymetal.Graph("scaled")
    factor = graph.value("factor", 2)
    graph.kernel(library.scale, x, y, factor)
    graph.kernel(library.sum, y, z, name="accumulate")
    with pytest.raises(TypeError, match="a graph keeps its arrays"):
        graph.kernel(library.sum, numpy.zeros(3, "float32"), z)
    run = graph.build()
    run.run()
    run.set(factor, 0.5)
    run.submit().wait()
    numpy.testing.assert_array_equal(target, [2.5, 5, 7.5])
    assert run._repr_html_().startswith("<svg")
    with pytest.raises(RuntimeError, match="was built"):
        graph.kernel(library.sum, y, z)


def test_profiles_have_times_and_a_picture(saxpy, xy):
    profile = saxpy.profile(*xy, 1.0, iterations=7)
    assert len(profile.samples) == 7 and profile.least <= profile.median <= profile.percentile(100)
    assert "<svg" in profile._repr_html_() and "saxpy" in repr(profile)


def test_references_are_not_leaked(saxpy, xy):
    x, y = xy
    saxpy(x, y, 1.0)
    before = sys.getrefcount(x), sys.getrefcount(y)
    for _ in range(1000):
        saxpy(x, y, 1.0)
    anymetal.Device().synchronize()
    saxpy(y, y, 0.0)
    assert sys.getrefcount(x) - before[0] < 10 and sys.getrefcount(y) - before[1] < 10


def test_a_kernel_past_a_compile_budget_warns_once():
    body = "\n".join(f"y[t ^ {index}u] += {index}u;" for index in range(800))
    source = f"kernel void k(device uint* y, uint t [[thread_position_in_grid]]) {{\n{body}\n}}"
    library = compile_shader(source)
    y = numpy.zeros(1024, "u4")
    with pytest.warns(anymetal.errors.ReducedEffortWarning, match=r":\d+ makes the most code"):
        library.k(y, threads=1)
    assert list(y[:4]) == [0, 1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.k(y, threads=1)
