#!/usr/bin/env python3
"""Runs public kernels of 256-bit arithmetic, checks them against Python's integers, and times them beside Rust.

    pip install anymetal numpy
    big_integers.py FOLDER [--points N] [--hashes N] [--rounds N] [--rust FOLDER]

FOLDER holds the shaders of carni-ships/zkMetal (`Sources/Shaders`). A multi-scalar multiplication on BN254 by buckets runs
as its host runs it: digits, counting sort, sums of buckets, of segments, of windows. All points are known multiples of the
generator, so that the reference is one multiplication by a sum of integers. Poseidon2 (t = 3, x^5, 8 + 56 rounds) permutes
random states with random round constants; the reference is written from the paper. With --rust, a program with arkworks is
written into that folder, built, and run in turns with the kernels, on the same points, scalars and states.
"""

import argparse
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import anymetal
import numpy

P = 21888242871839275222246405745257275088696311157297823662689037894645226208583
R = 21888242871839275222246405745257275088548364400416034343698204186575808495617
GENERATOR = (1, 2)
MONTGOMERY = 1 << 256
GROUP = 256


def add(a, b):
    """Affine points of y² = x³ + 3; None is the neutral one."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P) % P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def times(point, k):
    total = None
    while k:
        if k & 1:
            total = add(total, point)
        point, k = add(point, point), k >> 1
    return total


class Multiples:
    """Multiples of the generator, by a table of those of each byte. Points whose sums with signs are points of the list, as
    in an arithmetic progression, would meet in a bucket, where the kernels add without the case of equal points."""

    def __init__(self):
        self.table, base = [], GENERATOR
        for _ in range(32):
            row = [None]
            for _ in range(255):
                row.append(add(row[-1], base))
            self.table.append(row)
            base = add(row[-1], base)

    def __call__(self, k):
        total = None
        for row, byte in zip(self.table, k.to_bytes(32, "little")):
            total = add(total, row[byte])
        return total


def limbs(values):
    data = b"".join(value.to_bytes(32, "little") for value in values)
    return numpy.frombuffer(data, "uint32").reshape(-1, 8).copy()


def integers(words):
    data = numpy.ascontiguousarray(words, "uint32").tobytes()
    return [int.from_bytes(data[at:at + 32], "little") for at in range(0, len(data), 32)]


class Msm:
    """The steps of zkMetal's host, with its own kernels but for the order of buckets, which its host may make, too."""

    def __init__(self, shaders, points, scalars):
        started = time.perf_counter()
        self.library = anymetal.compile_shader((shaders / "msm/msm_kernels.metal").read_text(), include_folders=[str(shaders / "msm")])
        self.count = len(points)
        self.bits = 13 if self.count > 1 << 14 else 10
        self.windows = -(-256 // self.bits)
        self.buckets = (1 << (self.bits - 1)) + 1
        self.segments = min(256, self.buckets // 2)
        self.points = limbs([c * MONTGOMERY % P for point in points for c in point])
        self.scalars = limbs(scalars)
        self.result = None
        self.run()
        self.first = time.perf_counter() - started

    def run(self):
        kernels, n, windows, buckets = self.library, self.count, self.windows, self.buckets
        started = time.perf_counter()
        digits = numpy.zeros((windows, n), "uint32")
        kernels.signed_digit_extract(self.scalars, digits, n, self.bits, windows, threads=n, group_size=GROUP)
        counts = numpy.zeros((windows, buckets), "uint32")
        kernels.gpu_sort_histogram(digits, counts, n, buckets, windows, threads=n * windows, group_size=GROUP)
        counts[:, 0] = 0
        offsets, positions = numpy.zeros_like(counts), numpy.zeros_like(counts)
        kernels.gpu_prefix_sum_per_window(counts, offsets, positions, buckets, windows, threads=windows, group_size=32)
        indices = numpy.zeros((windows, n), "uint32")
        kernels.gpu_sort_scatter(digits, indices, positions, n, buckets, windows, threads=n * windows, group_size=GROUP)
        order = numpy.argsort(-counts.astype("int64"), axis=1, kind="stable").astype("uint32")
        order |= (numpy.arange(windows, dtype="uint32") << 16)[:, None]
        sums = numpy.zeros((windows * buckets, 24), "uint32")
        parameters = numpy.array([n, self.bits, buckets], "uint32").tobytes()
        kernels.msm_reduce_sorted_buckets(self.points, sums, offsets, counts, parameters, windows, indices, order,
                                          threads=windows * buckets, group_size=GROUP)
        parts = numpy.zeros((self.segments * windows, 24), "uint32")
        kernels.msm_bucket_sum_direct(sums, parts, parameters, self.segments, windows, threads=self.segments * windows,
                                      group_size=GROUP)
        of_windows = numpy.zeros((windows, 24), "uint32")
        kernels.msm_combine_segments(parts, of_windows, self.segments, threads=windows, group_size=32)
        final = numpy.zeros((1, 24), "uint32")
        kernels.msm_horner_combine(of_windows, final, windows, self.bits, threads=1, group_size=1)
        took = time.perf_counter() - started
        x, y, z = (value * pow(MONTGOMERY, -1, P) % P for value in integers(final))
        inverse = pow(z, -1, P)
        self.result = (x * inverse ** 2 % P, y * inverse ** 3 % P)
        return took


def permuted(state, constants):
    """Poseidon2 by the paper: external matrix circ(2, 1, 1), internal one 1 + diag(1, 1, 2)."""
    external = lambda s: [(v + sum(s)) % R for v in s]
    state = external(state)
    for r in range(64):
        if r < 4 or r >= 60:
            state = external([pow(v + c, 5, R) for v, c in zip(state, constants[3 * r:3 * r + 3])])
        else:
            a, b, c = pow(state[0] + constants[3 * r], 5, R), state[1], state[2]
            total = a + b + c
            state = [(a + total) % R, (b + total) % R, (2 * c + total) % R]
    return state


class Poseidon:
    def __init__(self, shaders, states, constants):
        started = time.perf_counter()
        self.library = anymetal.compile_shader((shaders / "hash/poseidon2.metal").read_text(), include_folders=[str(shaders / "hash")])
        self.count = len(states) // 3
        self.states = limbs([v * MONTGOMERY % R for v in states])
        self.constants = limbs([v * MONTGOMERY % R for v in constants])
        self.out = numpy.zeros_like(self.states)
        self.run()
        self.first = time.perf_counter() - started

    def run(self):
        started = time.perf_counter()
        self.library.poseidon2_permute(self.states, self.out, self.constants, self.count, threads=self.count, group_size=GROUP)
        return time.perf_counter() - started

    def result(self, at):
        inverse = pow(MONTGOMERY, -1, R)
        return [v * inverse % R for v in integers(self.out[3 * at:3 * at + 3])]


MANIFEST = """[package]
name = "big-integers"
version = "0.1.0"
edition = "2021"
[dependencies]
ark-bn254 = "=0.5.0"
ark-ec = { version = "=0.5.0", features = ["parallel"] }
ark-ff = { version = "=0.5.0", features = ["asm"] }
rayon = "1"
[workspace]
[profile.release]
codegen-units = 1
"""

RUST = """use ark_bn254::{Fr, G1Affine, G1Projective};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::{BigInteger, PrimeField};
use rayon::prelude::*;
use std::{env, fs, io, time::Instant};

fn elements(path: &str) -> Vec<Fr> {
    let bytes = fs::read(path).unwrap();
    bytes.chunks(32).map(Fr::from_le_bytes_mod_order).collect()
}

fn permute(state: &mut [Fr], constants: &[Fr]) {
    let external = |s: &mut [Fr]| {
        let sum = s[0] + s[1] + s[2];
        s.iter_mut().for_each(|v| *v += sum);
    };
    let fifth = |v: Fr| {
        let square = v * v;
        square * square * v
    };
    external(state);
    for r in 0..64 {
        if (4..60).contains(&r) {
            state[0] = fifth(state[0] + constants[3 * r]);
            let sum = state[0] + state[1] + state[2];
            let last = state[2];
            state.iter_mut().for_each(|v| *v += sum);
            state[2] += last;
        } else {
            (0..3).for_each(|i| state[i] = fifth(state[i] + constants[3 * r + i]));
            external(state);
        }
    }
}

fn main() {
    let folder = env::args().nth(1).unwrap();
    let file = |name: &str| format!("{folder}/{name}");
    let (scalars, multiples) = (elements(&file("scalars")), elements(&file("multiples")));
    let points: Vec<G1Projective> = multiples.par_iter().map(|k| G1Affine::generator() * k).collect();
    let points = G1Projective::normalize_batch(&points);
    let (states, constants) = (elements(&file("states")), elements(&file("constants")));
    for line in io::stdin().lines() {
        match line.unwrap().as_str() {
            "msm" => {
                let start = Instant::now();
                let sum = G1Projective::msm(&points, &scalars).unwrap().into_affine();
                println!("{} {}", start.elapsed().as_nanos(), sum.x);
            }
            _ => {
                let mut states = states.clone();
                let start = Instant::now();
                states.par_chunks_mut(3).for_each(|state| permute(state, &constants));
                println!("{} {}", start.elapsed().as_nanos(), hex(&states[0]));
            }
        }
    }
}

fn hex(v: &Fr) -> String {
    v.into_bigint().to_bytes_be().iter().map(|b| format!("{b:02x}")).collect()
}
"""


class Rust:
    def __init__(self, folder, data):
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "Cargo.toml").write_text(MANIFEST)
        (folder / "src/main.rs").write_text(RUST)
        subprocess.run(["cargo", "build", "--release", "-q"], cwd=folder, check=True)
        for name, values in data.items():
            (folder / name).write_bytes(b"".join(value.to_bytes(32, "little") for value in values))
        command = [folder / "target/release/big-integers", folder]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        nanoseconds, value = self.process.stdout.readline().split()
        return int(nanoseconds) / 1e9, value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shaders", type=Path)
    parser.add_argument("--points", type=int, default=1 << 14)
    parser.add_argument("--hashes", type=int, default=1 << 14)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rust", type=Path)
    given = parser.parse_args()
    chance = random.Random(30)
    multiples = [chance.randrange(1, R) for _ in range(given.points)]
    scalars = [chance.randrange(R) for _ in multiples]
    of_generator = Multiples()
    points = [of_generator(k) for k in multiples]
    states = [chance.randrange(R) for _ in range(3 * given.hashes)]
    constants = [chance.randrange(R) for _ in range(192)]

    msm = Msm(given.shaders, points, scalars)
    expected = times(GENERATOR, sum(s * k for s, k in zip(scalars, multiples)) % R)
    msm_right = msm.result == expected
    poseidon = Poseidon(given.shaders, states, constants)
    sample = sorted({0, 1, 31, 32, given.hashes - 1, *chance.sample(range(given.hashes), min(200, given.hashes))})
    hashes_right = all(poseidon.result(at) == permuted(states[3 * at:3 * at + 3], constants) for at in sample)
    print(f"executor {msm.library.msm_horner_combine.executor}")
    print(f"msm of {given.points} points: {'right' if msm_right else 'WRONG'}; first run, compiling all kernels: {msm.first:.1f} s")
    print(f"{given.hashes} Poseidon2 permutations, {len(sample)} compared: {'right' if hashes_right else 'WRONG'}; "
          f"first run, compiling: {poseidon.first:.1f} s")
    rust = Rust(given.rust.resolve(), {"multiples": multiples, "scalars": scalars, "states": states, "constants": constants}) if given.rust else None
    for name, ours in (("msm", msm), ("poseidon2", poseidon)):
        mine, theirs = [], []
        for _ in range(given.rounds):
            mine.append(ours.run())
            if rust:
                took, value = rust.run(name)
                theirs.append(took)
                same = int(value) == expected[0] if name == "msm" else int(value, 16) == poseidon.result(0)[0]
                if not same:
                    sys.exit(f"{name}: Rust has another result")
        line = f"{name}: ours {min(mine) * 1e3:.1f} ms (median {statistics.median(mine) * 1e3:.1f})"
        if rust:
            line += f", Rust {min(theirs) * 1e3:.1f} ms (median {statistics.median(theirs) * 1e3:.1f}), ratio {min(theirs) / min(mine):.2f}"
        print(line, flush=True)
    sys.exit(not (msm_right and hashes_right))


if __name__ == "__main__":
    main()
