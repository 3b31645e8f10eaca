"""What a call costs besides the kernel's own work, beside PyTorch's smallest operations on the CPU, in one run.

    python call_overhead.py

Each round times all calls one after the other; the least of the rounds counts. Rounds are short, so that some of them
pass undisturbed on a machine that does other work.
"""

import timeit

import numpy
import torch

import anymetal

ROUNDS, CALLS = 300, 300


def main() -> None:
    torch.set_num_threads(1)
    library = anymetal.compile_shader("""
        kernel void add(device float* x, device const float* y, uint i [[thread_position_in_grid]]) { x[i] += y[i]; }
        kernel void scale(device float* x, constant float& a, uint i [[thread_position_in_grid]]) { x[i] *= a; }
        kernel void nothing(device float* x) {}
    """)
    x, y = torch.zeros(1), torch.ones(1)
    out = torch.zeros(1)
    a, b = numpy.zeros(1, "float32"), numpy.ones(1, "float32")
    c, d = anymetal.asarray([0.0]), anymetal.asarray([1.0])
    calls = {
        "torch.add(x, y, out=out)": lambda: torch.add(x, y, out=out),
        "torch.add(x, y)": lambda: torch.add(x, y),
        "x.add_(y)": lambda: x.add_(y),
        "x.relu_()": lambda: x.relu_(),
        "numpy.add(a, b, out=a)": lambda: numpy.add(a, b, out=a),
        "kernel(tensor)": lambda: library.nothing(x),
        "kernel(tensor, number)": lambda: library.scale(x, 1.0),
        "kernel(tensor, tensor)": lambda: library.add(x, y),
        "kernel(ndarray, ndarray)": lambda: library.add(a, b),
        "kernel(array, array)": lambda: library.add(c, d),
    }
    for call in calls.values():
        timeit.timeit(call, number=5000)
    least = {name: float("inf") for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            least[name] = min(least[name], timeit.timeit(call, number=CALLS) / CALLS)
    smallest = least["x.relu_()"]
    print(f"anymetal {anymetal.__version__} ({library.add.executor}), torch {torch.__version__}, one thread")
    for name, seconds in least.items():
        print(f"{name:<26} {seconds * 1e6:6.2f} µs  {seconds / smallest:5.2f} times x.relu_()")


if __name__ == "__main__":
    main()
