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


def test_names_of_a_library_are_its_kernels(mps):
    lib = torch.mps.compile_shader("kernel void f(device half* x) { x[0] = 1; } kernel void g(device half* x) {}")
    assert dir(lib) == ["f", "g"]
    for error in (RuntimeError, AttributeError):
        with pytest.raises(error, match="no kernel `h`"):
            lib.h(torch.zeros(1))
    assert not hasattr(lib, "h")
    with pytest.raises(RuntimeError):
        lib.f(12)
    with pytest.raises(SyntaxError):
        torch.mps.compile_shader("nonsense")
    with pytest.raises(ValueError):
        lib.f(torch.zeros(3), group_size=lib.f.max_threads_per_threadgroup + 5)


def test_tensors_without_dimensions_are_numbers(mps):
    lib = torch.mps.compile_shader(
        "kernel void set(device float* x, constant float& v, constant int& n, uint i [[thread_position_in_grid]]) "
        "{ x[i] = v * n; }"
    )
    x = torch.zeros(3)
    for value in (torch.tensor(0.5), torch.tensor(0.5, dtype=torch.float64)):
        lib.set(x, value, torch.tensor(4))
        assert x.tolist() == [2, 2, 2]


def test_lists_of_tensors_are_tables_of_pointers(mps):
    lib = torch.mps.compile_shader("""
        struct Table { metal::array<device float*, 5> rows; };
        kernel void sum(device float* out, constant Table& table, uint i [[thread_position_in_grid]]) {
            out[i] = 0;
            for (int k = 0; k < 5; k++) { out[i] += table.rows[k][i]; table.rows[k][i] = k; }
        }
        kernel void first(device float* out, device float* const constant* rows,
                          uint i [[thread_position_in_grid]]) { out[i] = rows[i][0]; }
    """)
    whole = torch.rand(4, 7)
    expected = whole.sum(0)
    # Adjacent parts of one tensor, and one that overlaps another.
    parts = [*whole.unbind(0), whole[0]]
    out = torch.empty(7)
    lib.sum(out, parts)
    assert torch.allclose(out, expected, atol=1e-6) and whole[1].tolist() == [1] * 7
    out = torch.empty(3)
    lib.first(out, [torch.full((2,), float(k)) for k in range(3)])
    assert out.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="no array"):
        lib.first(out, [torch.zeros(1), "text"])
    with pytest.raises(IndexError):
        lib.first(out, [torch.zeros(1), torch.zeros(1)])


REPORTING = """
    #include <c10/metal/error.h>
    kernel void check(device float* x, constant int& limit, device c10::metal::ErrorMessages* errors,
                      uint i [[thread_position_in_grid]]) {
        if (int(i) >= limit) TORCH_REPORT_ERROR(errors, "index ", i, " exceeds ", limit);
        x[i] = i;
    }
"""


def test_errors_that_kernels_report(mps):
    lib = torch.mps.compile_shader(REPORTING)
    x = torch.zeros(40)
    lib.check(x, 40, error_buf_idx=2)
    torch.mps.synchronize()
    lib.check(x, 5, error_buf_idx=2)
    assert x[39] == 39
    with pytest.raises(RuntimeError, match=r"`check` reported 35 errors:\n.*in `check`: index \d+ exceeds 5") as raised:
        torch.mps.synchronize()
    assert len(raised.value.messages) == 30
    torch.mps.synchronize()
    with pytest.raises(ValueError, match="no buffer of that index"):
        lib.check(x, 5, error_buf_idx=9)
    with pytest.raises(TypeError, match="no `c10::metal::ErrorMessages`"):
        lib.check(x, x, error_buf_idx=1)
    plain = anymetal.compile_shader(REPORTING, include_folders=anymetal.torch_mps._headers())
    with pytest.raises(anymetal.KernelError, match="35 errors"):
        plain.check(x, 5, error_buf_idx=2)


@pytest.fixture
def device():
    anymetal.torch_mps.install(device=True)
    yield
    anymetal.torch_mps.uninstall()


def test_the_device_that_there_is_not(device):
    lib = torch.mps.compile_shader(
        "kernel void inc(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    )
    assert torch.backends.mps.is_available()
    x = torch.zeros(4, device="mps")
    assert x.device == torch.device("mps", 0) and x.is_mps and not x.is_cpu
    assert all(y.is_mps for y in (x + 1, torch.empty_like(x), x[1:], torch.stack([x, x]), x.new_ones(2)))
    host = x.cpu()
    lib.inc(x)
    assert host.device.type == "cpu" and host.tolist() == [0] * 4 and x.tolist() == [1] * 4
    moved = host.to(torch.device("mps"))
    lib.inc(moved)
    assert host.tolist() == [0] * 4 and moved.to("mps") is moved
    with torch.device("mps"):
        assert torch.arange(3).is_mps
    assert torch.zeros(2).is_cpu


def test_modules_and_gradients_on_it(device):
    model = torch.nn.Linear(3, 2).to("mps")
    assert isinstance(model.weight, torch.nn.Parameter) and model.weight.is_mps
    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            seen.append(gradient.device.type)
            return gradient * 2

    x = torch.ones(3, device="mps", requires_grad=True)
    Twice.apply(model(x)).sum().backward()
    assert x.is_leaf and x.grad.is_mps and model.weight.grad.is_mps and seen == ["mps"]
    assert torch.allclose(x.grad.cpu(), 2 * model.weight.detach().cpu().sum(0))
    y = torch.ones(3, requires_grad=True)
    Twice.apply(y).sum().backward()
    assert seen == ["mps", "cpu"] and y.grad.is_cpu


def test_operators_for_it_and_its_end(device):
    library = torch.library.Library("anymetal_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: torch.empty(x.shape, device="mps").copy_(x * 2), "MPS")
    assert torch.ops.anymetal_test.twice(torch.ones(2, device="mps")).tolist() == [2, 2]
    assert torch.compile(lambda x: x + 1)(torch.ones(1, device="mps")).tolist() == [2]
    anymetal.torch_mps.uninstall()
    assert not torch.backends.mps.is_available()
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.zeros(1, device="mps")


def test_the_platform_of_a_mac_lasts_as_long_as_the_stand_in():
    import os
    import platform
    import sys

    def answers():
        return (sys.platform, platform.system(), platform.machine(), os.uname().sysname, platform.mac_ver()[0])

    before = answers()
    with anymetal.torch_mps.install(device=True, macos=True):
        assert answers() == ("darwin", "Darwin", "arm64", "Darwin", "15.0")
        assert platform.platform().startswith("macOS-15") and platform.processor() == "arm"
        assert torch.backends.mps.is_available()
        anymetal.torch_mps.install(macos=True)  # once more changes nothing
    assert answers() == before and not torch.backends.mps.is_available()
    anymetal.torch_mps.install(device=True)
    assert answers() == before
    anymetal.torch_mps.uninstall()
