"""Mistakes: each is an exception that says what to do, and the interpreter goes on."""

import os
import re
import subprocess
import sys

import numpy
import pytest

import anymetal
from anymetal import compile_shader


def test_source_that_does_not_compile_shows_its_diagnostics():
    with pytest.raises(anymetal.CompileError) as raised:
        compile_shader("kernel void f(device float* x) { x[0] = y; }").f
    error = raised.value
    assert ":1:" in str(error) and "source" in str(error) and "`y`" in str(error)
    assert error.diagnostics and "<pre" in error._repr_html_()
    assert isinstance(error, (RuntimeError, SyntaxError))


@pytest.mark.parametrize(
    "source", ["kernel void", "\x00", "#include <nowhere>", "kernel void f(texture2d<float> t) {}"]
)
def test_any_source_is_an_exception_or_a_library(source):
    with pytest.raises(Exception) as raised:
        library = compile_shader(source)
        getattr(library, library.kernel_names[0])
    assert not isinstance(raised.value, SystemError)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda k, x, y: k(x, y), TypeError, r"takes 3 arguments \(float\* x, float\* y, float& a\), 2 were given"),
        (lambda k, x, y: k(x, y, 1.0, 2.0), TypeError, "4 were given"),
        (lambda k, x, y: k(x, y, "a"), TypeError, "argument 2 .* is no array"),
        (lambda k, x, y: k(object(), y, 1.0), TypeError, "argument 0 .* give a NumPy array"),
        (lambda k, x, y: k(x, 3.0, 1.0), TypeError, "writes argument 1 .*give it an array"),
        (lambda k, x, y: k(x, [1.0], 1.0), TypeError, "writes argument 1"),
        (lambda k, x, y: k(x.astype("float64"), y, 1.0), TypeError, r"array of float64, .*declares `float`.*astype"),
        (lambda k, x, y: k(x.astype("float16"), y, 1.0), TypeError, "array of float16"),
        (lambda k, x, y: k(x[::2], y, 1.0), ValueError, "not contiguous.*ascontiguousarray"),
        (lambda k, x, y: k(x[::-1], y, 1.0), ValueError, "not contiguous"),
        (lambda k, x, y: k(x.astype(">f4"), y, 1.0), ValueError, "other order"),
        (lambda k, x, y: k(x, y, [1.0, 2.0][:0]), ValueError, "empty list"),
        (lambda k, x, y: k(x, y, [[1.0]]), TypeError, "lists hold numbers, or arrays"),
        (lambda k, x, y: k(x, y, 1.0, threads=-1), ValueError, "dimension of -1"),
        (lambda k, x, y: k(x, y, 1.0, threads=(1, 2, 3, 4)), ValueError, "one to three dimensions, not 4"),
        (lambda k, x, y: k(x, y, 1.0, threads="8"), Exception, "threads"),
        (lambda k, x, y: k(x, y, 1.0, threads=2**40), ValueError, "must be from 0"),
        (lambda k, x, y: k(x, y, 1.0, threads=2**80), TypeError, "fit 64 bits"),
        (lambda k, x, y: k(x, y, 1.0, threads=8, group_size=(2, 2)), ValueError, "1 and 2 dimensions"),
        (lambda k, x, y: k(x, y, 1.0, threads=8, group_size=2000), ValueError, "2000"),
        (lambda k, x, y: k(x, y, 1.0, threads=8, group_size=0), ValueError, "0"),
        (lambda k, x, y: k(x, y, 1.0, arg_casts=3), TypeError, "arg_casts"),
        (lambda k, x, y: k(x, y, 1.0, queue=3), TypeError, "queue"),
        (lambda k, x, y: k(x, y, 1.0, error_buf_idx=3), ValueError, "no buffer of that index"),
    ],
)
def test_wrong_calls_say_what_to_do(saxpy, xy, call, kind, says):
    x, y = xy
    with pytest.raises(kind, match=re.compile(says, re.DOTALL)):
        call(saxpy, x, y)
    assert (y == 1).all(), "nothing ran"


def test_a_read_only_array_is_not_written(saxpy, xy):
    x, y = xy
    y.flags.writeable = False
    with pytest.raises(ValueError, match=r"read-only array, and kernel `saxpy` writes it; give a copy"):
        saxpy(x, y, 1.0)
    x.flags.writeable = False
    saxpy(x, numpy.ones(64, "float32"), 1.0)


STORES = {
    "cast": "((device int*)x)[i] = 7;",
    "address": "ulong a = (ulong)x; ((device int*)a)[i] = 7;",
    "chosen": "device int* p = i > 100 ? y : (device int*)x; p[i] = 7;",
    "atomic": "atomic_store_explicit((device atomic_int*)x + i, 7, memory_order_relaxed);",
}


@pytest.mark.parametrize("store", STORES)
def test_what_stores_can_reach_is_written_whatever_is_declared(store, tmp_path):
    text = f"""#include <metal_stdlib>
using namespace metal;
kernel void f(device const int* x, device int* y, uint i [[thread_position_in_grid]]) {{ {STORES[store]} y[i] = x[i]; }}
kernel void reads(device int* x, device int* y, uint i [[thread_position_in_grid]]) {{ y[i] = x[i]; }}"""
    library, y = compile_shader(text), numpy.zeros(64, "int32")
    numpy.arange(64, dtype="int32").tofile(tmp_path / "x")
    constant = bytes(numpy.arange(64, dtype="int32"))
    frozen = numpy.arange(64, dtype="int32")
    frozen.flags.writeable = False
    mapped = numpy.memmap(tmp_path / "x", dtype="int32", mode="r")
    for x in (mapped, numpy.frombuffer(constant, "int32"), frozen):
        with pytest.raises(ValueError, match="read-only"):
            library.f(x, y, threads=64)
        assert (x == numpy.arange(64)).all() and not y.any()
        library.reads(x, y, threads=64)
        assert (y == x).all()
        y[:] = 0


def test_an_address_gives_no_access(tmp_path):
    kernel = compile_shader("""
kernel void f(device const int* x, device int* y, device const ulong* zero, uint i [[thread_position_in_grid]]) {
    ulong a = (ulong)x + zero[0];
    ((device int*)a)[i] = 7;
}""").f
    constant = bytes(64)
    x, y = numpy.frombuffer(constant, "int32"), numpy.zeros(16, "int32")
    with pytest.raises(anymetal.OutOfBoundsError):
        kernel(x, y, numpy.zeros(1, "uint64"), threads=16)
    assert not x.any()


def test_misaligned_memory_is_refused():
    kernel = compile_shader("kernel void f(device float4* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }").f
    memory = numpy.zeros(17, "float32")
    start = memory[1:] if memory.ctypes.data % 16 == 0 else memory[:-1]
    with pytest.raises(ValueError, match="no multiple of 16, as `float4`.*give a copy"):
        kernel(start, threads=4)
    odd = numpy.frombuffer(bytearray(41), "uint8")[1:].view("float32")
    with pytest.raises(ValueError, match="no multiple"):
        compile_shader("kernel void f(device float* x) { x[0] = 1; }").f(odd, threads=1)


def test_numbers_that_do_not_fit():
    kernel = compile_shader("kernel void f(device int* x, constant uchar& a, constant int& b) { x[0] = a + b; }").f
    x = numpy.zeros(1, "int32")
    with pytest.raises(OverflowError, match="`uchar`, which has no 256"):
        kernel(x, 256, 0)
    with pytest.raises(TypeError, match='`int`, which has no 0.5; give an int, or cast it with arg_casts={2: "int32"}'):
        kernel(x, 1, 0.5)
    with pytest.raises(OverflowError):
        kernel(x, 1, 2**70)


def test_no_array_needs_a_number_of_threads():
    kernel = compile_shader("kernel void f(constant float& a) {}").f
    with pytest.raises(ValueError, match="say how many threads"):
        kernel(1.0)
    kernel(1.0, threads=4)


def test_accesses_out_of_bounds_name_argument_and_line(saxpy, xy):
    x, y = xy
    with pytest.raises(anymetal.OutOfBoundsError, match=r"saxpy.*`[xy]`") as raised:
        saxpy(x, y, 1.0, threads=100)
    assert isinstance(raised.value, IndexError) and raised.value.error_class == "caller"
    saxpy(x, y, 1.0)


def test_a_kernel_that_does_not_end_is_stopped():
    kernel = compile_shader("kernel void f(device volatile uint* x) { while (x[0] == 0) { x[1] += 1; } }").f
    x = numpy.zeros(2, "uint32")
    with pytest.raises(anymetal.AnymetalError):
        kernel.launch(x, threads=1, deadline=0.2).wait()


def test_devices_that_are_not_there():
    with pytest.raises(anymetal.AnymetalError, match="nowhere"):
        anymetal.Device("nowhere")
    with pytest.raises(TypeError, match="device is an anymetal.Device"):
        compile_shader("", device=3)
    assert "cpu" in anymetal.device_names()


def test_a_process_forked_after_use_is_told(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text("""
import os, anymetal, numpy
kernel = anymetal.compile_shader("kernel void f(device int* x) { x[0] = 1; }").f
x = numpy.zeros(1, "int32")
kernel(x, threads=1)
child = os.fork()
if child == 0:
    try:
        kernel(x, threads=1)
    except RuntimeError as error:
        os._exit(7 if "forked" in str(error) and "spawn" in str(error) else 8)
    os._exit(9)
_, status = os.waitpid(child, 0)
kernel(x, threads=1)
print(os.waitstatus_to_exitcode(status))
""")
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, env=os.environ)
    assert ended.stdout.strip() == "7", ended.stderr


def test_a_process_forked_before_use_works(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text("""
import os, anymetal, numpy
child = os.fork()
if child == 0:
    x = numpy.zeros(1, "int32")
    anymetal.compile_shader("kernel void f(device int* x) { x[0] = 5; }").f(x, threads=1)
    os._exit(int(x[0]))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, env=os.environ)
    assert ended.stdout.strip() == "5", ended.stderr


def test_arrays_of_types_that_metal_lacks():
    with pytest.raises(TypeError, match="no double"):
        anymetal.asarray(numpy.zeros(3), copy=False)
    with pytest.raises(TypeError, match="no arrays of complex128"):
        anymetal.asarray(numpy.zeros(3, "complex128"))
    with pytest.raises(ValueError, match="not contiguous"):
        anymetal.from_dlpack(numpy.zeros((4, 4), "float32").T)
