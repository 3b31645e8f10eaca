"""MLX's arrays, and the examples of its documentation with the stand-in."""

import numpy
import pytest

mx = pytest.importorskip("mlx.core")

import anymetal.mlx_fast  # noqa: E402


@pytest.fixture(autouse=True)
def stand_in():
    anymetal.mlx_fast.install()
    yield
    anymetal.mlx_fast.uninstall()


def test_the_documented_elementwise_kernel(capsys):
    def exp_elementwise(a: mx.array):
        source = """
            uint elem = thread_position_in_grid.x;
            T tmp = inp[elem];
            out[elem] = metal::exp(tmp);
        """
        kernel = mx.fast.metal_kernel(name="myexp", input_names=["inp"], output_names=["out"], source=source)
        outputs = kernel(
            inputs=[a],
            template=[("T", mx.float32)],
            grid=(a.size, 1, 1),
            threadgroup=(256, 1, 1),
            output_shapes=[a.shape],
            output_dtypes=[a.dtype],
            verbose=True,
        )
        return outputs[0]

    a = mx.random.normal(shape=(4, 16)).astype(mx.float16)
    b = exp_elementwise(a)
    assert isinstance(b, mx.array) and b.dtype == mx.float16
    assert mx.allclose(b, mx.exp(a), atol=1e-3)
    assert "custom_kernel_myexp" in capsys.readouterr().out


def test_the_documented_strided_kernel():
    source = """
        uint elem = thread_position_in_grid.x;
        // Utils from `mlx/backend/metal/kernels/utils.h` are automatically included
        uint loc = elem_to_loc(elem, inp_shape, inp_strides, inp_ndim);
        T tmp = inp[loc];
        // Output arrays are always row contiguous
        out[elem] = metal::exp(tmp);
    """
    kernel = mx.fast.metal_kernel(
        name="myexp_strided", input_names=["inp"], output_names=["out"], source=source, ensure_row_contiguous=False
    )
    a = mx.random.normal(shape=(4, 16))[::2]
    outputs = kernel(
        inputs=[a],
        template=[("T", mx.float32)],
        grid=(a.size, 1, 1),
        threadgroup=(256, 1, 1),
        output_shapes=[a.shape],
        output_dtypes=[a.dtype],
    )
    assert mx.allclose(outputs[0], mx.exp(a))


def test_atomic_outputs_with_an_initial_value():
    kernel = mx.fast.metal_kernel(
        name="scatter",
        input_names=["index"],
        output_names=["out"],
        source="atomic_fetch_add_explicit(&out[index[thread_position_in_grid.x]], 1.0f, memory_order_relaxed);",
        atomic_outputs=True,
    )
    index = mx.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
    (out,) = kernel(
        inputs=[index],
        grid=(10, 1, 1),
        threadgroup=(10, 1, 1),
        output_shapes=[(4,)],
        output_dtypes=[mx.float32],
        init_value=0,
    )
    assert out.tolist() == [1, 2, 3, 4]


def test_scalars_templates_and_headers():
    kernel = mx.fast.metal_kernel(
        name="basic",
        input_names=["a", "b", "n"],
        output_names=["out1", "out2"],
        header="template <typename U> U twice(U x) { return x + x; }\n",
        source="""
            uint elem = thread_position_in_grid.x;
            T tmp = a[elem];
            if (e) { out1[elem] = tmp + b[2] + c + d; } else { out1[elem] = 1; }
            out2[elem] = twice(a_shape[0] + int(n));
        """,
    )
    a, b = mx.arange(8.0), mx.array([3, 4, 5], dtype=mx.int32)
    outputs = kernel(
        inputs=[a, b, 7],
        template=[("e", True), ("d", 1), ("c", -2), ("T", mx.float16)],
        grid=(6, 1, 1),
        threadgroup=(2, 1, 1),
        output_shapes=[(2, 3), (6,)],
        output_dtypes=[mx.float32, mx.int32],
    )
    assert mx.allclose(outputs[0], mx.arange(6.0).reshape(2, 3) + 4)
    assert outputs[1].tolist() == [30] * 6


def test_bfloat16_and_threadgroups():
    kernel = mx.fast.metal_kernel(
        name="total",
        input_names=["x"],
        output_names=["out"],
        source="""
            threadgroup float shared[32];
            float sum = simd_sum(float(x[thread_position_in_grid.x]));
            if (thread_index_in_simdgroup == 0) { shared[simdgroup_index_in_threadgroup] = sum; }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (thread_index_in_threadgroup == 0) { out[0] = bfloat16_t(shared[0] + shared[1]); }
        """,
    )
    (out,) = kernel(
        inputs=[mx.ones((64,), dtype=mx.bfloat16)],
        grid=(64, 1, 1),
        threadgroup=(64, 1, 1),
        output_shapes=[(1,)],
        output_dtypes=[mx.bfloat16],
    )
    assert out.dtype == mx.bfloat16 and out.item() == 64


def test_a_custom_function_has_a_gradient():
    kernel = mx.fast.metal_kernel(
        name="square",
        input_names=["x"],
        output_names=["y"],
        source="uint i = thread_position_in_grid.x; y[i] = x[i] * x[i];",
    )

    @mx.custom_function
    def square(x):
        return kernel(
            inputs=[x], grid=(x.size, 1, 1), threadgroup=(64, 1, 1), output_shapes=[x.shape], output_dtypes=[x.dtype]
        )[0]

    @square.vjp
    def square_vjp(primals, cotangent, _output):
        return 2 * primals * cotangent

    x = mx.array([1.0, 2.0, 3.0] * 4)
    assert mx.allclose(mx.grad(lambda x: square(x).sum())(x), 2 * x)


def test_results_are_mlx_arrays_whatever_the_inputs_are():
    kernel = mx.fast.metal_kernel(
        name="1D_fill", input_names=["value"], output_names=["y"], source="y[thread_position_in_grid.x] = value;"
    )
    call = dict(grid=(3, 1, 1), threadgroup=(3, 1, 1), output_shapes=[(3,)], output_dtypes=[mx.float32])
    (y,) = kernel(inputs=[2.5], **call)
    assert isinstance(y, mx.array) and y.tolist() == [2.5] * 3


def test_numpy_arrays_give_numpy_arrays():
    kernel = anymetal.metal_kernel(
        name="twice",
        input_names=["x"],
        output_names=["y"],
        source="uint i = thread_position_in_grid.x; y[i] = 2 * x[i];",
    )
    x = numpy.arange(12, dtype="float32").reshape(3, 4)[:, ::2]
    (y,) = kernel(
        inputs=[x], grid=(6, 1, 1), threadgroup=(64, 1, 1), output_shapes=[x.shape], output_dtypes=[numpy.float32]
    )
    assert isinstance(y, numpy.ndarray)
    numpy.testing.assert_array_equal(y, 2 * x)


def test_wrong_calls_say_what_to_do():
    with pytest.raises(ValueError, match="no output"):
        mx.fast.metal_kernel(name="f", input_names=[], output_names=[], source="")
    with pytest.raises(ValueError, match="math_mode"):
        mx.fast.metal_kernel(name="f", input_names=[], output_names=["y"], source="", compile_options={"fast": 1})
    kernel = mx.fast.metal_kernel(name="f", input_names=["x"], output_names=["y"], source="y[0] = nothing;")
    call = dict(grid=(1, 1, 1), threadgroup=(1, 1, 1), output_shapes=[(1,)], output_dtypes=[mx.float32])
    with pytest.raises(ValueError, match="1 inputs, 2 were given"):
        kernel(inputs=[mx.ones(1), mx.ones(1)], **call)
    with pytest.raises(anymetal.CompileError, match="nothing"):
        kernel(inputs=[mx.ones(1)], **call)
    with pytest.raises(TypeError, match="no type"):
        kernel(inputs=[numpy.ones(1)], **call)


def double(x):
    kernel = mx.fast.metal_kernel(
        name="double_it", input_names=["x"], output_names=["y"],
        source="y[thread_position_in_grid.x] = 2 * x[thread_position_in_grid.x];",
    )  # fmt: skip
    grid = (x.size, 1, 1)
    shapes, types = [x.shape], [x.dtype]
    return kernel(inputs=[x], output_shapes=shapes, output_dtypes=types, grid=grid, threadgroup=(32, 1, 1))[0]


def test_functions_with_kernels_are_compiled_as_they_are():
    state = {"steps": [mx.array(0.0)]}

    def step(x):
        state["steps"][0] = state["steps"][0] + 1
        return double(x) + 1

    compiled = mx.compile(step, inputs=state, outputs=state)
    for count in range(1, 4):
        assert mx.array_equal(compiled(mx.arange(5)), mx.arange(5) * 2 + 1)
        assert state["steps"][0].item() == count
    outer = mx.compile(lambda x: mx.compile(step)(x) * 3)
    assert mx.array_equal(outer(mx.arange(5)), (mx.arange(5) * 2 + 1) * 3)


def test_functions_without_kernels_are_compiled():
    traced = []

    @mx.compile
    def plain(x):
        traced.append(x)
        return mx.exp(-x)

    for _ in range(3):
        assert mx.allclose(plain(mx.ones(4)), mx.exp(-mx.ones(4)))
    assert len(traced) == 1
    with pytest.raises(ValueError, match="division by zero is mine"):
        mx.compile(lambda x: (_ for _ in ()).throw(ValueError("division by zero is mine")))(mx.ones(1))


def test_a_kernel_within_vmap_says_why_not():
    with pytest.raises(ValueError, match="`double_it` runs at once.*mx.vmap"):
        mx.vmap(double)(mx.ones((2, 3)))
