"""Times of the same operations in PyTorch, beside those of anymetal-tensor-ops: on the CPU with two threads, or on a GPU.

    cargo run --release -p anymetal-ops-bench > ours.txt
    python bench.py ours.txt

    cargo run --release -p anymetal-ops-bench -- --device nvidia:0 > ours.txt
    python bench.py ours.txt --device cuda

With the output of `cargo run --release -p anymetal-ops-bench recording`: replays of recordings beside PyTorch's calls.

The ratio is PyTorch's time over ours: above 1, ours is faster. Needs `torch` from PyPI and a quiet machine. On a GPU ten
calls are put into the stream and waited for together, on both sides, and PyTorch keeps its defaults: no `tf32`.
"""

import argparse
import time

import torch
import torch.nn.functional as F

BUDGET = 0.4
GPU_CALLS = 10


def measure(call, device):
    is_gpu = device != "cpu"
    count = GPU_CALLS if is_gpu else 1
    wait = torch.cuda.synchronize if is_gpu else (lambda: None)
    wait()
    start, least, runs = time.perf_counter(), float("inf"), 0
    while runs < 3 or time.perf_counter() - start < BUDGET:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        least = min(least, (time.perf_counter() - begun) * 1e6 / count)
        runs += 1
    return least


def calls(device):
    is_gpu = device != "cpu"

    def rand(*shape):
        return torch.rand(*shape, device=device)

    rows, columns = (16384, 4096) if is_gpu else (4096, 1024)
    x, y, row = rand(rows, columns) + 0.1, rand(rows, columns) + 0.1, rand(columns)
    yield "add", lambda: x + y
    yield "add_row", lambda: x + row
    yield "exp", lambda: x.exp()
    yield "gelu", lambda: F.gelu(x)
    yield "copy_transposed", lambda: x.t().contiguous()
    yield "softmax", lambda: x.softmax(-1)
    yield "layer_norm", lambda: F.layer_norm(x, (columns,), row, row)
    yield "sum_all", lambda: x.sum()
    yield "sum_rows", lambda: x.sum(1)
    yield "sum_columns", lambda: x.sum(0)
    yield "argmax_rows", lambda: x.argmax(1)
    yield "cumsum_rows", lambda: x.cumsum(1)
    yield "sort_rows", lambda: x[:256].sort(1)
    if is_gpu:
        half, other, few = x.half(), y.half(), row[:1024]
        yield "add_f16", lambda: half + other
        yield "softmax_f16", lambda: half.softmax(-1)
        yield "add_1024_elements", lambda: few + few
    for size in [512, 1024, 4096] if is_gpu else [128, 512, 1024]:
        a, b = rand(size, size), rand(size, size)
        yield f"matmul_{size}", lambda: a @ b
        yield f"matmul_{size}_own", lambda: a @ b
        if is_gpu:
            a_half, b_half = a.half(), b.half()
            yield f"matmul_{size}_f16", lambda: a_half @ b_half
            yield f"matmul_{size}_f16_own", lambda: a_half @ b_half
    left, right = rand(64, 288), rand(8, 288, 3136)
    yield "matmul_as_conv2d", lambda: left @ right
    image, filters = rand(8, 32, 56, 56), rand(64, 32, 3, 3)
    yield "conv2d", lambda: F.conv2d(image, filters, padding=1)
    yield "max_pool2d", lambda: F.max_pool2d(image, 2)


def chain(x, row):
    y = (x + row).relu() * x
    return (y * 0.5 + 1.0).clamp(0, 2).square()


def layers(x, first, second):
    return (F.gelu(x @ first) @ second * 0.125).softmax(-1)


def recordings(device):
    def rand(*shape):
        return torch.rand(*shape, device=device)

    for name, rows, columns in [("chain_64", 1, 64), ("chain_64k", 64, 1024), ("chain_4M", 4096, 1024)]:
        x, row = rand(rows, columns) + 0.1, rand(columns)
        yield name, lambda: chain(x, row)
    x, first, second = rand(16, 64), rand(64, 64), rand(64, 64)
    yield "layers_64", lambda: layers(x, first, second)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ours", help="the output of anymetal-ops-bench")
    parser.add_argument("--device", default="cpu", help="PyTorch's device: cpu, or cuda")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    on = torch.cuda.get_device_name() if arguments.device != "cpu" else "2 threads of the CPU"
    print(f"PyTorch {torch.__version__} on {on}")
    ours = {name: float(time) for name, time, *_ in (line.split() for line in open(arguments.ours))}
    print(f"{'operation':<22}{'ours us':>12}{'PyTorch us':>12}{'ratio':>8}{'ndarray us':>12}{'ratio':>8}")
    with torch.no_grad():
        for name, call in recordings(arguments.device) if "chain_64" in ours else calls(arguments.device):
            if name not in ours:
                continue
            theirs = measure(call, arguments.device)
            line = f"{name:<22}{ours[name]:>12.1f}{theirs:>12.1f}{theirs / ours[name]:>8.2f}"
            if beside := ours.get(f"ndarray/{name}"):
                line += f"{beside:>12.1f}{beside / ours[name]:>8.2f}"
            print(line, flush=True)


main()
