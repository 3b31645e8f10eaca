"""Times of the same operations in PyTorch on the CPU with two threads, beside those of anymetal-ops.

    cargo run --release -p anymetal-ops-bench > ours.txt
    python bench.py ours.txt

With the output of `cargo run --release -p anymetal-ops-bench recording`: replays of recordings beside PyTorch's calls.

The ratio is PyTorch's time over ours: above 1, ours is faster. Needs `torch` from PyPI and a quiet machine.
"""

import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(2)
BUDGET = 0.4


def measure(call):
    start, least, runs = time.perf_counter(), float("inf"), 0
    while runs < 3 or time.perf_counter() - start < BUDGET:
        begun = time.perf_counter()
        call()
        least = min(least, (time.perf_counter() - begun) * 1e6)
        runs += 1
    return least


def calls():
    x, y, row = torch.rand(4096, 1024) + 0.1, torch.rand(4096, 1024) + 0.1, torch.rand(1024)
    yield "add", lambda: x + y
    yield "add_row", lambda: x + row
    yield "exp", lambda: x.exp()
    yield "gelu", lambda: F.gelu(x)
    yield "copy_transposed", lambda: x.t().contiguous()
    yield "softmax", lambda: x.softmax(-1)
    yield "layer_norm", lambda: F.layer_norm(x, (1024,), row, row)
    yield "sum_all", lambda: x.sum()
    yield "sum_rows", lambda: x.sum(1)
    yield "sum_columns", lambda: x.sum(0)
    yield "argmax_rows", lambda: x.argmax(1)
    yield "cumsum_rows", lambda: x.cumsum(1)
    yield "sort_rows", lambda: x[:256].sort(1)
    for size in [128, 512, 1024]:
        a, b = torch.rand(size, size), torch.rand(size, size)
        yield f"matmul_{size}", lambda: a @ b
        yield f"matmul_{size}_own", lambda: a @ b
    left, right = torch.rand(64, 288), torch.rand(8, 288, 3136)
    yield "matmul_as_conv2d", lambda: left @ right
    image, filters = torch.rand(8, 32, 56, 56), torch.rand(64, 32, 3, 3)
    yield "conv2d", lambda: F.conv2d(image, filters, padding=1)
    yield "max_pool2d", lambda: F.max_pool2d(image, 2)


def chain(x, row):
    y = (x + row).relu() * x
    return (y * 0.5 + 1.0).clamp(0, 2).square()


def layers(x, first, second):
    return (F.gelu(x @ first) @ second * 0.125).softmax(-1)


def recordings():
    for name, rows, columns in [("chain_64", 1, 64), ("chain_64k", 64, 1024), ("chain_4M", 4096, 1024)]:
        x, row = torch.rand(rows, columns) + 0.1, torch.rand(columns)
        yield name, lambda: chain(x, row)
    x, first, second = torch.rand(16, 64), torch.rand(64, 64), torch.rand(64, 64)
    yield "layers_64", lambda: layers(x, first, second)


def main():
    ours = {name: float(time) for name, time, *_ in (line.split() for line in open(sys.argv[1]))}
    print(f"{'operation':<20}{'ours us':>12}{'PyTorch us':>12}{'ratio':>8}{'ndarray us':>12}{'ratio':>8}")
    with torch.no_grad():
        for name, call in recordings() if "chain_64" in ours else calls():
            theirs = measure(call)
            line = f"{name:<20}{ours[name]:>12.1f}{theirs:>12.1f}{theirs / ours[name]:>8.2f}"
            if beside := ours.get(f"ndarray/{name}"):
                line += f"{beside:>12.1f}{beside / ours[name]:>8.2f}"
            print(line)


main()
