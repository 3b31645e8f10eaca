"""Arrays and `anymetal.ops`: against NumPy, with the rules of the array API."""

import pickle

import numpy
import pytest

import anymetal
from anymetal import ops

A = numpy.random.default_rng(1).normal(size=(3, 4)).astype("float32")
B = numpy.random.default_rng(2).normal(size=(3, 4)).astype("float32")
I = numpy.random.default_rng(3).integers(-9, 9, size=(3, 4)).astype("int32")


def same(ours, theirs, tolerance=1e-5):
    numpy.testing.assert_allclose(ours.numpy(), theirs, rtol=tolerance, atol=tolerance)


def test_arrays_come_and_go():
    array = anymetal.asarray([[1, 2, 3], [4, 5, 6]], dtype=ops.float32)
    assert (array.shape, array.ndim, array.size, array.dtype) == ((2, 3), 2, 6, ops.float32)
    assert array.tolist() == [[1, 2, 3], [4, 5, 6]] and str(array.dtype) == "float32"
    assert numpy.asarray(array).tolist() == array.tolist() == numpy.from_dlpack(array).tolist()
    assert pickle.loads(pickle.dumps(array)).tolist() == array.tolist()
    assert "float32" in repr(array) and len(array) == 2
    assert anymetal.asarray(2.5).item() == 2.5 and int(anymetal.asarray(7)) == 7 and bool(anymetal.asarray(True))
    assert anymetal.asarray([1.5, -2], dtype="bfloat16").tolist() == [1.5, -2]
    assert anymetal.asarray(numpy.arange(3)).dtype is ops.int64
    assert anymetal.asarray(numpy.arange(3.0), dtype="float32").tolist() == [0, 1, 2]


def test_memory_is_shared_where_it_can_be():
    host = numpy.arange(4, dtype="float32")
    shared, copied = anymetal.asarray(host, copy=False), anymetal.asarray(host)
    host[0] = 9
    assert shared.tolist()[0] == 9 and copied.tolist()[0] == 0
    view = shared.numpy()
    view[1] = 8
    assert host[1] == 8
    host.flags.writeable = False
    locked = anymetal.asarray(host, copy=False)
    fill = anymetal.compile_shader("kernel void f(device float* x) { x[0] = 1; }").f
    with pytest.raises(ValueError, match="read-only"):
        fill(locked, threads=1)
    assert not locked.numpy().flags.writeable


def test_kernels_take_arrays(saxpy):
    x, y = ops.arange(4, dtype="float32"), ops.ones(4)
    saxpy(x, y, 2.0)
    assert y.tolist() == [1, 3, 5, 7]
    assert ops.sum(y).item() == 16
    with pytest.raises(ValueError, match="not contiguous.*anymetal.ops.contiguous"):
        saxpy(ops.reshape(ops.arange(8, dtype="float32"), (4, 2))[:, 0], y, 2.0)


def test_creation():
    same(ops.zeros((2, 3)), numpy.zeros((2, 3)))
    same(ops.full((2, 2), 7, dtype="int32"), numpy.full((2, 2), 7))
    same(ops.arange(2, 10, 3), numpy.arange(2, 10, 3))
    same(ops.linspace(0, 1, 5), numpy.linspace(0, 1, 5))
    same(ops.eye(3), numpy.eye(3))
    same(ops.tril(anymetal.asarray(A), k=-1), numpy.tril(A, -1))
    same(ops.triu(anymetal.asarray(A)), numpy.triu(A))
    assert ops.empty((2, 0)).size == 0 and ops.ones_like(anymetal.asarray(I)).dtype is ops.int32
    one = ops.random_normal((1000,), seed=5)
    assert one.tolist() == ops.random_normal((1000,), seed=5).tolist() and abs(float(ops.mean(one))) < 0.2


@pytest.mark.parametrize(
    "name", ["abs", "negative", "exp", "sin", "cos", "tanh", "floor", "ceil", "square", "expm1", "sign", "trunc"]
)
def test_functions_of_one_array(name):
    same(getattr(ops, name)(anymetal.asarray(A)), getattr(numpy, name)(A))


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "hypot",
        "less",
        "equal",
        "remainder",
        "floor_divide",
        "copysign",
        "logaddexp",
    ],
)
def test_functions_of_two_arrays(name):
    same(getattr(ops, name)(anymetal.asarray(A), anymetal.asarray(B)), getattr(numpy, name)(A, B))


@pytest.mark.parametrize(
    "name", ["bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder", "add", "not_equal"]
)
def test_functions_of_integers(name):
    divisor = numpy.where(I == 0, 5, I[::-1])
    divisor = numpy.where(divisor == 0, 3, divisor).astype("int32")
    same(getattr(ops, name)(anymetal.asarray(I), anymetal.asarray(divisor)), getattr(numpy, name)(I, divisor))


def test_operators_and_numbers_of_python():
    a, i = anymetal.asarray(A), anymetal.asarray(I)
    same(2 * a + 1, 2 * A + 1)
    same(1 - a / 4, 1 - A / 4)
    same(-a @ ops.matrix_transpose(a), -A @ A.T, 1e-4)
    same((a > 0) & (a < 1), (A > 0) & (A < 1))
    assert (i + 1).dtype is ops.int32 and (i * 0.5).dtype is ops.float32 and (i / 2).dtype is ops.float32
    same(i % 4, I % 4)
    same(i // 4, I // 4)
    with pytest.raises(TypeError):
        a + "x"
    with pytest.raises(TypeError):
        hash(a)


def test_reductions():
    a, i = anymetal.asarray(A), anymetal.asarray(I)
    same(ops.sum(a), A.sum(), 1e-4)
    same(ops.sum(a, axis=1, keepdims=True), A.sum(1, keepdims=True))
    assert ops.sum(i).dtype is ops.int64 and ops.sum(i).item() == I.sum()
    same(ops.mean(a, axis=(0, 1)), A.mean())
    same(ops.var(a, axis=0, correction=1), A.var(0, ddof=1), 1e-4)
    same(ops.std(a), A.std(), 1e-4)
    same(ops.max(a, axis=-1), A.max(-1))
    same(ops.min(a), A.min())
    same(ops.argmax(a), A.argmax())
    same(ops.argmin(a, axis=0), A.argmin(0))
    same(ops.cumulative_sum(a, axis=1), A.cumsum(1), 1e-4)
    initial = numpy.concatenate([numpy.zeros((A.shape[0], 1)), A.cumsum(1)], 1)
    same(ops.cumulative_sum(a, axis=1, include_initial=True), initial.astype("float32"), 1e-4)
    assert ops.cumulative_prod(i[0], dtype="int32", include_initial=True).tolist()[:2] == [1, I[0, 0]]
    assert ops.any(a > 1).item() == (A > 1).any() and ops.all(a > -9).item()
    assert ops.sum(anymetal.asarray(2.0)).item() == 2
    assert ops.sum(ops.asarray([200, 100], dtype="uint8"), dtype="uint8").dtype is ops.uint8
    same(ops.std(a, axis=0, correction=0.5), A.std(0, ddof=0.5), 1e-4)
    same(ops.var(a, axis=()), numpy.zeros_like(A))


def test_shapes():
    a = anymetal.asarray(A)
    same(ops.reshape(a, (2, -1)), A.reshape(2, -1))
    same(a.T, A.T)
    same(ops.permute_dims(a, (1, 0)), A.T)
    same(ops.concat([a, a], axis=1), numpy.concatenate([A, A], 1))
    same(ops.stack([a, a], axis=1), numpy.stack([A, A], 1))
    same(ops.broadcast_to(a[0], (5, 4)), numpy.broadcast_to(A[0], (5, 4)))
    same(ops.expand_dims(a, axis=1), A[:, None])
    same(ops.squeeze(a[None], 0), A)
    same(ops.flip(a, axis=1), A[:, ::-1])
    same(ops.roll(a, 1, axis=1), numpy.roll(A, 1, 1))
    same(ops.pad(a, [(1, 0), (0, 2)], value=3), numpy.pad(A, [(1, 0), (0, 2)], constant_values=3))
    with pytest.raises(ValueError, match="no shape"):
        ops.reshape(a, (5, -1))


def test_shapes_made_of_other_shapes():
    a = anymetal.asarray(A)
    wide = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
    b = anymetal.asarray(wide)
    same(ops.moveaxis(b, 0, -1), numpy.moveaxis(wide, 0, -1))
    same(ops.moveaxis(b, (0, 1), (2, 0)), numpy.moveaxis(wide, (0, 1), (2, 0)))
    same(ops.tile(b, (2, 1, 3)), numpy.tile(wide, (2, 1, 3)))
    same(ops.tile(a, (2, 1, 1)), numpy.tile(A, (2, 1, 1)))
    for ours, theirs in zip(ops.unstack(b, axis=-2), numpy.moveaxis(wide, 1, 0)):
        same(ours, theirs)
    same(ops.diff(b, axis=1, n=2), numpy.diff(wide, axis=1, n=2))
    same(ops.diff(a, prepend=a[:, :1], append=a[:, -1:]), numpy.diff(A, prepend=A[:, :1], append=A[:, -1:]))
    assert ops.count_nonzero(b).item() == 23
    same(ops.count_nonzero(b, axis=(0, 2)), numpy.count_nonzero(wide, axis=(0, 2)))
    for indexing in ("xy", "ij"):
        given = wide[0, 0], wide[0, :, 0], wide[:, 0, 0]
        ours = ops.meshgrid(*map(anymetal.asarray, given), indexing=indexing)
        for one, other in zip(ours, numpy.meshgrid(*given, indexing=indexing)):
            same(one, other)
    assert ops.broadcast_shapes((3, 1), (1, 4), (2, 1, 1)) == (2, 3, 4)
    assert [x.shape for x in ops.broadcast_arrays(a[0], a)] == [A.shape, A.shape]
    with pytest.raises(ValueError, match="do not broadcast"):
        ops.broadcast_shapes((3,), (2, 4))
    with pytest.raises(IndexError, match="axis 3"):
        ops.moveaxis(b, 3, 0)


def test_limits_and_common_types():
    for name in ("float16", "float32"):
        ours, theirs = ops.finfo(name), numpy.finfo(name)
        assert (ours.bits, ours.eps, ours.max, ours.min) == (theirs.bits, theirs.eps, theirs.max, theirs.min)
        assert ours.smallest_normal == theirs.smallest_normal
    for name in ("int8", "uint8", "int32", "uint32", "int64"):
        ours, theirs = ops.iinfo(name), numpy.iinfo(name)
        assert (ours.bits, ours.max, ours.min, ours.dtype.name) == (theirs.bits, theirs.max, theirs.min, name)
    assert ops.finfo(ops.bfloat16).max == float.fromhex("0x1.fep127")
    with pytest.raises(ValueError, match="iinfo"):
        ops.finfo(ops.int8)
    assert ops.result_type(ops.int8, ops.uint32) is ops.int64
    assert ops.result_type(ops.int8, ops.uint8) is ops.int32
    assert ops.result_type(ops.float16, ops.bfloat16) is ops.float32
    assert ops.result_type(anymetal.asarray(A), 1.5) is ops.float32
    with pytest.raises(TypeError, match="no common type"):
        ops.result_type(ops.int32, 1.5)
    assert ops.can_cast(ops.int8, ops.int64) and not ops.can_cast(ops.float32, ops.int32)
    about = ops.__array_namespace_info__()
    assert about.default_dtypes()["real floating"] is ops.float32
    assert set(about.dtypes(kind="integral")) == {"int8", "uint8", "int32", "uint32", "int64"}


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        (1, 2),
        slice(1, 3),
        (slice(None), 1),
        (slice(None, None, 2), slice(3, 0, -1)),
        (Ellipsis, 0),
        (None, 1),
        (slice(2, 0, -2),),
        slice(5, 9),
    ],
)
def test_indices(key):
    same(anymetal.asarray(A)[key], A[key])


def test_sorting_and_selection():
    a, i = anymetal.asarray(A), anymetal.asarray(I)
    same(ops.sort(a, axis=1), numpy.sort(A, 1))
    same(ops.sort(a, axis=0, descending=True), numpy.sort(A, 0)[::-1])
    same(ops.argsort(a), numpy.argsort(A))
    values, counts = numpy.unique(I, return_counts=True)
    ours = ops.unique_counts(ops.reshape(i, -1))
    same(ours[0], values)
    same(ours[1], counts)
    same(ops.where(a > 0, a, 0.0), numpy.where(A > 0, A, 0))
    same(ops.take(a, anymetal.asarray([2, 0], dtype="int32"), axis=0), A[[2, 0]])
    same(ops.clip(a, -0.5, 0.5), numpy.clip(A, -0.5, 0.5))


def test_linear_algebra_and_networks():
    a = anymetal.asarray(A)
    same(ops.matmul(a, a.T), A @ A.T, 1e-4)
    same(ops.vecdot(a, a), (A * A).sum(-1), 1e-4)
    shifted = numpy.exp(A - A.max(1, keepdims=True))
    same(ops.softmax(a), shifted / shifted.sum(1, keepdims=True))
    same(ops.relu(a), numpy.maximum(A, 0))
    normal = (A - A.mean(1, keepdims=True)) / numpy.sqrt(A.var(1, keepdims=True) + 1e-5)
    same(ops.layer_norm(a), normal, 1e-4)


def test_mistakes():
    a, b = anymetal.asarray(A), anymetal.asarray(numpy.zeros((5,), "float32"))
    with pytest.raises(ValueError, match="shape"):
        a + b
    with pytest.raises(TypeError, match="no double"):
        ops.zeros(3, dtype="float64")
    with pytest.raises(IndexError):
        a[5]
    with pytest.raises(IndexError, match="3 indices for an array of 2 dimensions"):
        a[0, 0, 0]
    with pytest.raises(IndexError):
        ops.take(b, anymetal.asarray([9], dtype="int32"), axis=0).numpy()
    with pytest.raises(OverflowError):
        anymetal.asarray(300, dtype="uint8")
    with pytest.raises(ValueError, match="different lengths"):
        anymetal.asarray([[1, 2], [3]])
    assert a.__array_namespace__() is ops


def test_positions():
    a, i = anymetal.asarray(A), anymetal.asarray(I)
    for ours, numpys in zip(ops.nonzero(a > 0), numpy.nonzero(A > 0)):
        assert ours.dtype is ops.int64
        same(ours, numpys)
    same(a[a > 0], A[A > 0])
    same(a[anymetal.asarray(A[:, 0] > 0)], A[A[:, 0] > 0])
    rows = numpy.array([[2, 0], [-1, 1]])
    same(a[anymetal.asarray(rows), 1], A[rows, 1])
    same(a[anymetal.asarray(rows)], A[rows])
    same(ops.repeat(a, 3), numpy.repeat(A, 3))
    same(ops.repeat(a, 2, axis=1), numpy.repeat(A, 2, axis=1))
    counts = numpy.arange(A.shape[0])
    same(ops.repeat(a, anymetal.asarray(counts), axis=0), numpy.repeat(A, counts, axis=0))
    for side in ("left", "right"):
        ordered = numpy.array([-1.0, 0, 0, 0, 2, 2, 5], "float32")
        asked = numpy.array([[-2.0, -1, 0], [2, 5, 9]], "float32")
        found = ops.searchsorted(anymetal.asarray(ordered), anymetal.asarray(asked), side=side)
        same(found, numpy.searchsorted(ordered, asked, side=side))
    same(ops.isin(i, anymetal.asarray(I[0])), numpy.isin(I, I[0]))
    same(ops.isin(i, anymetal.asarray(I[0]), invert=True), ~numpy.isin(I, I[0]))
    assert not ops.any(ops.isin(i, ops.zeros((0,), dtype=i.dtype))).item()
    values, indices, inverse, counts = numpy.unique(I, return_index=True, return_inverse=True, return_counts=True)
    ours = ops.unique_all(i)
    same(ours.values, values)
    same(ours.indices, indices)
    same(ours.inverse_indices, inverse.reshape(I.shape))
    same(ours.counts, counts)
    with_nan = anymetal.asarray(numpy.array([3.0, numpy.nan, 1, numpy.nan, 3], "float32"))
    assert ops.unique_all(with_nan).inverse_indices.tolist() == [1, 2, 0, 3, 1]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_next_number(dtype):
    edges = [0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, numpy.finfo(dtype).tiny, numpy.finfo(dtype).max]
    x, y = (part.reshape(-1).copy() for part in numpy.meshgrid(numpy.array(edges, dtype), numpy.array(edges, dtype)))
    ours = ops.nextafter(anymetal.asarray(x), anymetal.asarray(y)).numpy()
    # Of equal halves NumPy gives the first.
    expected = numpy.where(x == y, y, numpy.nextafter(x, y))
    assert numpy.array_equal(ours, expected, equal_nan=True)
    assert numpy.array_equal(numpy.signbit(ours), numpy.signbit(expected))


def test_ramps_end_where_they_should_and_diagonals_move():
    same(ops.linspace(0.1, 7.3, 13), numpy.linspace(0.1, 7.3, 13, dtype="float32"), 1e-6)
    assert ops.linspace(0.1, 7.3, 13)[-1].item() == numpy.float32(7.3)
    same(ops.linspace(1.0, 2.0, 4, endpoint=False), numpy.linspace(1, 2, 4, endpoint=False, dtype="float32"), 1e-6)
    for rows, columns, k in [(3, 5, 1), (5, 3, -2), (2, 2, 7), (0, 3, 0)]:
        same(ops.eye(rows, columns, k=k), numpy.eye(rows, columns, k, dtype="float32"))
