#!/usr/bin/env python3
"""Compares kernels in OpenCL C and CUDA C++, translated, with the same in MSL written by hand: results and speed.

    translated.py ANYMETAL [ROUNDS [KERNEL...]]

The kernels are those of the command line's demo. `anymetal run` runs each form in turn, ROUNDS times; the figure is the
hand-written form's time divided by the translation's, of the least times of all runs, so that 1 is equal and less is
slower. Exits with 1 if a result differs by more than rounding.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../interfaces/cli/src/demo/kernels")
FLAT = ["--threads", "1048576", "--group", "256"]
MI, K = "1048576", "1024"

# File, kernel, grid, arguments in order, the argument that is the result, and the type of its elements.
CASES = [
    ("saxpy", "saxpy", FLAT, [f"rand:f32:{MI}:1", f"rand:f32:{MI}:2", "f32:0.5", f"u32:{MI}"], 1, "f"),
    ("transpose", "transpose", ["--groups", "32,32", "--group", "32,8"],
     [f"rand:f32:{MI}:1", f"zeros:f32:{MI}", f"u32:{K}"], 1, "f"),
    ("histogram", "histogram", ["--groups", "64", "--group", "256"],
     [f"rand:u8:{MI}:1", "zeros:u32:256", f"u32:{MI}"], 1, "I"),
    ("black_scholes", "black_scholes", ["--threads", "262144", "--group", "256"],
     ["rand:f32:262144:1", "rand:f32:262144:2", "rand:f32:262144:3", "zeros:f32:262144", "zeros:f32:262144", "f32:0.02",
      "f32:0.3", "u32:262144"], 3, "f"),
    ("mandelbrot", "mandelbrot", ["--threads", "512,512", "--group", "32,4"],
     ["zeros:u32:262144", "u32:512,512", "f32:-2,-1,0.006,0.004", "u32:200"], 0, "I"),
    ("matmul", "matmul", ["--groups", "32,32", "--group", "16,16"],
     ["rand:f32:262144:1", "rand:f32:262144:2", "zeros:f32:262144", "u32:512"], 2, "f"),
    ("matmul64", "matmul64", ["--groups", "8,8", "--group", "16,16"],
     ["rand:f32:262144:1", "rand:f32:262144:2", "zeros:f32:262144", "u32:512"], 2, "f"),
    ("nbody", "nbody", ["--threads", "4096", "--group", "256"],
     ["rand:f32:16384:1", "zeros:f32:16384", "u32:4096"], 1, "f"),
    ("reduce", "reduce", FLAT, [f"rand:f32:{MI}:1", "zeros:f32:4096", f"u32:{MI}"], 1, "f"),
    ("scan", "scan_groups", FLAT, [f"rand:u32:{MI}:1", f"zeros:u32:{MI}", "zeros:u32:4096", f"u32:{MI}"], 1, "I"),
    ("scan", "scan_add", FLAT, [f"rand:u32:{MI}:1", "rand:u32:4096:2", f"u32:{MI}"], 0, "I"),
    ("softmax", "softmax", ["--groups", K, "--group", "256"], [f"rand:f32:{MI}:1", f"zeros:f32:{MI}", f"u32:{K}"], 1, "f"),
    ("layer_norm", "layer_norm", ["--groups", K, "--group", "256"],
     [f"rand:f32:{MI}:1", f"zeros:f32:{MI}", f"rand:f32:{K}:2", f"rand:f32:{K}:3", f"u32:{K}", "f32:0.00001"], 1, "f"),
    ("sort", "bitonic_step", ["--threads", "524288", "--group", "256"],
     [f"rand:u32:{MI}:1", "u32:4096", "u32:512"], 0, "I"),
    ("stencil", "blur", ["--threads", "1024,1024", "--group", "32,8"],
     [f"rand:f32:{MI}:1", f"zeros:f32:{MI}", "u32:1024,1024"], 1, "f"),
    ("copy", "copy_flat", FLAT,
     [f"rand:f32:{MI}:1", f"zeros:f32:{MI}", f"u32:{MI}", "u32:1024,1024", "u32:1,1024", "u32:2"], 1, "f"),
]


def run(anymetal, path, kernel, grid, arguments, result, save, repeat):
    command = [anymetal, "run", path, "-k", kernel, *grid, "--json", "--repeat", str(repeat), "--device", "cpu"]
    for number, argument in enumerate(arguments):
        command += ["--arg", f"{number}={argument}"]
    if save:
        command += ["--save", f"{result}={save}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["?"])[0]
    return json.loads(done.stdout[done.stdout.index("{"):])["time_ns"]["min"], None


def values(path, kind):
    with open(path, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack_from("<H", data, 8)[0]:]
    return struct.unpack(f"<{len(data) // 4}{kind}", data[:len(data) // 4 * 4])


def is_close(one, other):
    return len(one) == len(other) and all(
        a == b or (isinstance(a, float) and (abs(a - b) <= 1e-3 * (1 + abs(b)) or (a != a and b != b)))
        for a, b in zip(one, other))


def source(name, ending, folder):
    """The file, with the functions of groups before it that some kernels share."""
    path = os.path.join(KERNELS, f"{name}.{ending}")
    if ending == "metal" or name not in ("scan", "softmax", "layer_norm"):
        return path
    whole = os.path.join(folder, f"{name}.{ending}")
    with open(whole, "w") as out:
        for part in (os.path.join(KERNELS, f"collective.{ending}"), path):
            with open(part) as file:
                out.write(file.read())
    return whole


def compare(anymetal, case, ending, rounds, folder):
    name, kernel, grid, arguments, result, kind = case
    forms = [source(name, end, folder) for end in ("metal", ending)]
    saved = [os.path.join(folder, end) for end in ("hand.npy", "translated.npy")]
    for path, save in zip(forms, saved):
        # Once, since some kernels change what they read.
        _, why = run(anymetal, path, kernel, grid, arguments, result, save, 1)
        if why:
            return None, why
    if not is_close(*(values(path, kind) for path in saved)):
        return None, "different results"
    times = [[], []]
    for _ in range(rounds):
        for form, path in enumerate(forms):
            times[form].append(run(anymetal, path, kernel, grid, arguments, result, None, 15)[0])
    hand, translated = map(min, times)
    return hand / translated, f"{hand / 1e3:.0f} / {translated / 1e3:.0f} us"


def main():
    anymetal, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    is_right = True
    print("| kernel | from OpenCL C | from CUDA C++ |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if len(sys.argv) > 3 and case[1] not in sys.argv[3:]:
                continue
            cells = []
            for ending in ("cl", "cu"):
                if not os.path.exists(os.path.join(KERNELS, f"{case[0]}.{ending}")):
                    cells.append("not written")
                    continue
                ratio, note = compare(anymetal, case, ending, rounds, folder)
                is_right &= ratio is not None
                cells.append(note if ratio is None else f"{ratio:.2f} ({note})")
            print(f"| {case[1]} | {' | '.join(cells)} |", flush=True)
    sys.exit(0 if is_right else 1)


main()
