"""Visible functions: tables of them as arguments, and kernels that are linked with functions of other libraries."""

import pickle

import numpy
import pytest

import anymetal
from anymetal import compile_shader

KERNELS = """
#include <metal_stdlib>
using namespace metal;
using Op = float(float);
[[visible]] float twice(float x) { return 2 * x; }
[[visible]] float square(float x) { return x * x; }
[[visible]] int integer(int x) { return x; }
extern [[visible]] float shape(float);
kernel void apply(device float* x, visible_function_table<Op> ops, uint i [[thread_position_in_grid]]) {
    x[i] = ops[i % ops.size()](x[i]);
}
kernel void by_name(device float* x, uint i [[thread_position_in_grid]]) { x[i] = shape(x[i]); }
"""

SHAPES = """
constant float factor [[function_constant(0)]];
[[visible]] float shape(float x) { return x + 100; }
[[visible]] float scaled(float x) { return factor * x; }
"""


@pytest.fixture(scope="module")
def kernels():
    return compile_shader(KERNELS)


@pytest.fixture(scope="module")
def shapes():
    return compile_shader(SHAPES)


def applied(kernel, ops, **keywords):
    x = numpy.array([3, 3, 5, 5], "float32")
    kernel(x, ops, **keywords)
    return x.tolist()


def test_a_list_of_names_is_a_table(kernels):
    assert kernels.function_names == ["twice", "square", "integer"]
    assert applied(kernels.apply, ["twice", "square"]) == [6, 9, 10, 25]
    assert applied(kernels.apply, ("square",)) == [9, 9, 25, 25]


def test_a_table_is_read_and_written_like_a_list(kernels):
    ops = kernels.apply.function_table(["twice", None])
    assert (len(ops), list(ops), repr(ops)) == (2, ["twice", None], "<function table of 2 entries>")
    ops[-1] = "square"
    assert (ops[1], ops[-2]) == ("square", "twice")
    assert applied(kernels.apply, ops) == [6, 9, 10, 25]
    ops[0], ops[1] = ops[1], ops[0]
    assert applied(kernels.apply, ops) == [9, 6, 25, 10]
    assert applied(kernels.apply, ops, threads=2, group_size=1) == [9, 6, 5, 5]
    empty = kernels.apply.function_table(3)
    assert list(empty) == [None, None, None]


def test_a_call_of_no_function_is_told(kernels):
    ops = kernels.apply.function_table(2)
    for given in (ops, [None], ["integer"]):
        with pytest.raises(anymetal.OutOfBoundsError, match=r"as a function of type `float\(float\)`"):
            applied(kernels.apply, given)


def test_mistakes_with_tables(kernels, saxpy):
    ops = kernels.apply.function_table(["twice"])
    with pytest.raises(anymetal.LaunchError, match="no visible function `nobody`; it has `twice`"):
        ops[0] = "nobody"
    assert ops[0] == "twice"
    with pytest.raises(anymetal.LaunchError, match="no visible function `nobody`"):
        applied(kernels.apply, ["twice", "nobody"])
    with pytest.raises(IndexError, match="has 1 entries, and none 1"):
        ops[1]
    with pytest.raises(TypeError, match=r"argument 1 \(`ops`\): a table's entries are names of functions or None, not int"):
        applied(kernels.apply, ["twice", 3])
    for given in (3, "twice", numpy.zeros(2, "float32")):
        with pytest.raises(TypeError, match=r"argument 1 \(`ops`\) is a table of visible functions: give a list"):
            applied(kernels.apply, given)
    with pytest.raises(TypeError, match="takes 2 arguments .*visible_function_table<.*> ops"):
        kernels.apply(numpy.zeros(2, "float32"))
    with pytest.raises(TypeError, match="a list of their names or of a number of entries, not str"):
        kernels.apply.function_table("twice")
    assert [len(kernels.apply.function_table(given)) for given in (0, [], ())] == [0, 0, 0]
    with pytest.raises((anymetal.AnymetalError, OverflowError)):
        kernels.apply.function_table(2**40)
    with pytest.raises(OverflowError):
        kernels.apply.function_table(-1)
    with pytest.raises((TypeError, ValueError), match="argument 0"):
        saxpy(ops, numpy.zeros(2, "float32"), 1.0)


def test_kernels_are_linked_with_functions_of_other_libraries(kernels, shapes):
    shape = shapes.function("shape")
    assert (shape.name, shape.type, repr(shape)) == ("shape", "float(float)", "<function shape>")
    x = numpy.array([1, 2], "float32")
    kernels.link("by_name", [shape])(x)
    assert x.tolist() == [101, 102]
    functions = [shapes.function("scaled", {"factor": 10.0}, alias="by_ten"), shape]
    functions.append(shapes.function("scaled", {0: 0.5}, alias="by_half"))
    apply = kernels.link("apply", functions)
    assert applied(apply, ["twice", "by_ten", "by_half", "shape"]) == [6, 30, 2.5, 105]
    assert [function.name for function in functions] == ["by_ten", "shape", "by_half"]


def test_mistakes_with_linked_functions(kernels, shapes):
    with pytest.raises(anymetal.LaunchError, match="no visible function `nobody`; it has shape, scaled"):
        shapes.function("nobody")
    with pytest.raises(anymetal.CompileError, match="`shape` is used but never defined"):
        kernels.by_name
    with pytest.raises(TypeError, match=r"`library.function\(name\)` gives, not str"):
        kernels.link("by_name", ["shape"])
    with pytest.raises(anymetal.CompileError, match="factor"):
        kernels.link("apply", [shapes.function("scaled")])


def test_a_linked_kernel_and_a_function_are_pickled(kernels, shapes):
    by_ten = pickle.loads(pickle.dumps(shapes.function("scaled", {0: 10.0}, alias="by_ten")))
    apply = pickle.loads(pickle.dumps(kernels.link("apply", [by_ten])))
    assert applied(apply, ["by_ten", "square"]) == [30, 9, 50, 25]


def test_a_graph_takes_tables(kernels):
    x = anymetal.asarray(numpy.array([3, 3], "float32"))
    ops = kernels.apply.function_table(["twice", "square"])
    graph = anymetal.Graph("functions")
    graph.kernel(kernels.apply, x, ops)
    graph.kernel(kernels.apply, x, ["square"], name="squares")
    graph.build().run()
    assert x.tolist() == [36, 81]


def test_functions_run_under_the_sanitizer(kernels):
    beyond = compile_shader("[[visible]] float shape(float x) { float a[2] = {x, x}; int k = int(x); return a[k]; }")
    by_name = kernels.link("by_name", [beyond.function("shape")])
    with anymetal.check() as checked:
        by_name(numpy.array([5], "float32"))
    assert [finding.kind for finding in checked.findings] == ["out-of-bounds-private"]


def test_names_of_methods_are_names_of_kernels_too():
    library = compile_shader("kernel void link(device int* x) { *x = 7; }")
    x = numpy.zeros(1, "int32")
    library["link"](x)
    assert x[0] == 7 and library["link"] is library["link"]
    with pytest.raises(anymetal.CompileError, match="`nobody`"):
        library.link("nobody", [])
