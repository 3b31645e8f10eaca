"""PyTorch's tensors, and the examples of its documentation with the stand-in."""

import pytest

torch = pytest.importorskip("torch")

import anymetal  # noqa: E402
import anymetal.torch_mps  # noqa: E402


@pytest.fixture
def mps():
    anymetal.torch_mps.install()
    yield torch.mps
    anymetal.torch_mps.uninstall()


def test_the_stand_in_is_taken_away(mps):
    assert torch.mps.compile_shader is anymetal.torch_mps.compile_shader
    anymetal.torch_mps.uninstall()
    with pytest.raises(RuntimeError):
        torch.mps.compile_shader("kernel void f() {}")


def test_the_documented_example(mps):
    # The call of `torch.mps.compile_shader`'s documentation, over the device that there is.
    lib = torch.mps.compile_shader(
        "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) "
        "{ out[idx] = val; }"
    )
    x = torch.zeros(16, device="cpu")
    lib.full(x, 3.14)
    assert torch.equal(x, torch.full((16,), 3.14))


def test_numbers_and_lists_as_torch_passes_them(mps):
    lib = torch.mps.compile_shader("""
        kernel void arange(device float* out, constant long& start, constant float& step,
                           uint i [[thread_position_in_grid]]) { out[i] = start + step * i; }
        kernel void half_add(device half* out, constant half& a, constant half* b,
                             uint i [[thread_position_in_grid]]) { out[i] = a + b[i]; }
        kernel void strides(device float* out, constant long* st, uint2 p [[thread_position_in_grid]]) {
            out[p.x * st[1] + p.y * st[0]] = p.x + 10 * p.y; }
    """)
    x = torch.empty(8)
    lib.arange(x, 3, 0.5)
    assert torch.equal(x, 3 + 0.5 * torch.arange(8))
    h = torch.empty(2, dtype=torch.float16)
    lib.half_add(h, 1.5, [0.25, 2], arg_casts="fp16")
    assert h.tolist() == [1.75, 3.5]
    lib.half_add(h, 1.5, [0.25, 2], arg_casts={1: "fp16", 2: "fp16"})
    out = torch.zeros(4, 6).t()
    lib.strides(out, out.stride(), threads=(4, 6), group_size=(2, 2))
    expected = torch.arange(4).reshape(1, 4) + 10 * torch.arange(6).reshape(6, 1)
    assert torch.equal(out, expected.float())


def test_attributes_of_kernels(mps):
    lib = torch.mps.compile_shader("kernel void f(device float* x) { x[0] = 1; }")
    assert "f" in dir(lib)
    assert lib.f.max_threads_per_threadgroup == 1024 and lib.f.thread_execution_width == 32
    assert lib.f.static_thread_group_memory_length == 0


@pytest.mark.parametrize(
    ("dtype", "declared"),
    [
        (torch.float32, "float"),
        (torch.float16, "half"),
        (torch.bfloat16, "bfloat"),
        (torch.int64, "long"),
        (torch.int32, "uint"),
        (torch.int16, "short"),
        (torch.uint8, "uchar"),
        (torch.bool, "bool"),
        (torch.complex64, "float2"),
    ],
)
def test_tensors_of_every_type_are_used_in_place(mps, dtype, declared):
    lib = torch.mps.compile_shader(
        f"kernel void copy(device const {declared}* x, device {declared}* y, uint i [[thread_position_in_grid]]) "
        "{ y[i] = x[i]; }"
    )
    x = (torch.arange(32) % 7).to(dtype)
    y = torch.zeros(32, dtype=dtype)
    pointer = y.data_ptr()
    lib.copy(x, y)
    assert torch.equal(x, y) and y.data_ptr() == pointer


def test_parts_of_a_tensor(mps):
    lib = torch.mps.compile_shader(
        "kernel void set(device float* x, constant float& v, uint i [[thread_position_in_grid]]) { x[i] = v; }"
    )
    x = torch.zeros(4, 4)
    lib.set(x[1], 5.0)
    assert x.sum() == 20 and x[1].sum() == 20
    parameter = torch.nn.Parameter(torch.zeros(4))
    lib.set(parameter, 2.0)
    assert parameter.tolist() == [2] * 4


def test_tensors_that_cannot_be_used(saxpy):
    x, y = torch.ones(4), torch.zeros(4)
    with pytest.raises(ValueError, match="not contiguous.*x.contiguous"):
        saxpy(torch.ones(4, 2)[:, 0], y, 1.0)
    with pytest.raises(TypeError, match="array of float64"):
        saxpy(x.double(), y, 1.0)
    with pytest.raises(Exception, match="(?i)meta|memory|data"):
        saxpy(torch.ones(4, device="meta"), y, 1.0)
    x.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="freed"):
        saxpy(x, y, 1.0)
    with pytest.raises((TypeError, ValueError, RuntimeError, BufferError)):
        saxpy(torch.ones(4).to_sparse(), y, 1.0)


def test_a_kernel_in_an_autograd_function(mps):
    lib = torch.mps.compile_shader("""
        kernel void square(device const float* x, device float* y, uint i [[thread_position_in_grid]])
        { y[i] = x[i] * x[i]; }
        kernel void square_backward(device const float* x, device const float* g, device float* out,
                                    uint i [[thread_position_in_grid]]) { out[i] = 2 * x[i] * g[i]; }
    """)

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            y = torch.empty_like(x)
            lib.square(x, y)
            return y

        @staticmethod
        def backward(context, gradient):
            (x,) = context.saved_tensors
            out = torch.empty_like(x)
            lib.square_backward(x, gradient.contiguous(), out)
            return out

    x = torch.randn(10, requires_grad=True)
    Square.apply(x).sum().backward()
    assert torch.allclose(x.grad, 2 * x)


def test_tensors_and_arrays_share_memory():
    array = anymetal.asarray([1.0, 2.0, 3.0])
    tensor = torch.from_dlpack(array)
    tensor += 1
    assert array.tolist() == [2, 3, 4]
    shared = anymetal.from_dlpack(tensor)
    tensor += 1
    assert shared.tolist() == [3, 4, 5]
    assert torch.from_dlpack(anymetal.ops.astype(array, "bfloat16")).dtype == torch.bfloat16
