//! The kernels of `anymetal demo` and `anymetal bench`, at sizes that the interpreter runs in a moment.
//!
//! What they compute is checked by these commands, against references that are theirs. Here the sanitizer
//! must be silent and leave what the interpreter leaves. Grids are of whole threadgroups and sizes are none
//! of theirs, so that every guard matters.

use crate::candle::input::Inputs;
use crate::case::{Case, Expected, Faults, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::execute::{Math, Source};
use crate::suite::Level;
use std::path::Path;

/// The files, without `.metal`.
pub const FILES: &[&str] = &[
    "saxpy",
    "stencil",
    "reduce",
    "softmax",
    "scan",
    "histogram",
    "sort",
    "matmul",
    "matmul64",
    "gemm",
    "nbody",
    "mandelbrot",
    "transpose",
    "copy",
    "layer_norm",
    "black_scholes",
    "q4_0",
    "attention",
];

/// A file as a source.
///
/// # Panics
/// If it cannot be read.
pub fn source(file: &str) -> Source {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interfaces/cli/src/demo/kernels");
    let name = format!("{file}.metal");
    let text = std::fs::read_to_string(folder.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Source { name, text, math: Math::Safe, ..Source::default() }
}

/// One launch of the kernel; `None` of a kernel that is none of the demo's.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (launch, outputs) = elementwise(kernel).or_else(|| rows(kernel)).or_else(|| matrices(kernel))?;
    let expected = outputs.iter().map(|&index| Expected {
        index,
        data: output(&launch, index),
        tolerance: Tolerance::Any,
        agreement: Tolerance::Exact,
    });
    let expected = expected.collect();
    let (faults, name) = (Faults::Never, "small".to_owned());
    Some(vec![Case { name, launch, expected, faults, divergent_barriers: false, library: true }])
}

/// Words of the size of an output; their values are not compared.
fn output(launch: &Launch, index: u32) -> Data {
    let bytes = launch.args.iter().find_map(|arg| match &arg.binding {
        crate::case::Binding::Buffer { bytes, .. } if arg.index == index => Some(bytes.len()),
        _ => None,
    });
    Data::zeros(Dtype::U32, bytes.unwrap_or_default() / 4)
}

fn groups(kernel: &str, groups: [u32; 3], group: [u32; 3]) -> Launch {
    Launch::new(kernel, Grid::Groups(groups), group)
}

/// Numbers in (0, 1), different for each seed.
fn numbers(seed: u64, count: usize) -> Data {
    Inputs::new(seed).numbers(Dtype::F32, count, 0.01, 1.0)
}

fn word(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn words<const N: usize>(values: [u32; N]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats<const N: usize>(values: [f32; N]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn zeros(count: usize) -> Data {
    Data::zeros(Dtype::F32, count)
}

/// A launch with the indices of its outputs.
type Launched = Option<(Launch, &'static [u32])>;

/// Kernels whose threads share nothing.
fn elementwise(kernel: &str) -> Launched {
    let line = |count: u32, group: u32| groups(kernel, [count.div_ceil(group), 1, 1], [group, 1, 1]);
    Some(match kernel {
        "saxpy" => {
            let launch = line(100, 64).data(&numbers(1, 100)).data(&numbers(2, 100));
            (launch.scalar(2.5f32.to_le_bytes()).scalar(word(100)), &[1])
        }
        "blur" => {
            let launch = groups(kernel, [1, 2, 1], [32, 8, 1]).data(&numbers(1, 20 * 13));
            (launch.data(&zeros(20 * 13)).scalar(words([20, 13])), &[1])
        }
        "mandelbrot" => {
            let launch = groups(kernel, [1, 3, 1], [32, 4, 1]).data(&zeros(20 * 9)).scalar(words([20, 9]));
            (launch.scalar(floats([-2.0, -1.0, 0.15, 0.2])).scalar(word(20)), &[0])
        }
        "nbody" => {
            let launch = line(40, 64).data(&numbers(1, 4 * 40)).data(&zeros(4 * 40));
            (launch.scalar(word(40)), &[1])
        }
        "black_scholes" => {
            let inputs = line(100, 64).data(&numbers(1, 100)).data(&numbers(2, 100)).data(&numbers(3, 100));
            let launch = inputs.data(&zeros(100)).data(&zeros(100));
            (launch.scalar(0.02f32.to_le_bytes()).scalar(0.3f32.to_le_bytes()).scalar(word(100)), &[3, 4])
        }
        "copy_grid" => {
            let launch = Launch::new(kernel, Grid::Threads([8, 5, 6]), [8, 4, 1]).data(&numbers(1, 240));
            // Heads and rows change places.
            (launch.data(&zeros(240)).scalar(words([2, 3, 5, 8])).scalar(words([120, 8, 24, 1])), &[1])
        }
        "copy_flat" => {
            let launch = line(240, 64).data(&numbers(1, 240)).data(&zeros(240)).scalar(word(240));
            (launch.scalar(words([2, 3, 5, 8])).scalar(words([120, 8, 24, 1])).scalar(word(4)), &[1])
        }
        "bitonic_step" => {
            let keys = Inputs::new(1).integers(Dtype::U32, 256);
            (line(128, 64).data(&keys).scalar(word(4)).scalar(word(2)), &[0])
        }
        "scan_add" => {
            let sums = Inputs::new(1).indices(Dtype::U32, 500, 1000);
            let totals = Inputs::new(2).indices(Dtype::U32, 2, 1000);
            (line(500, 256).data(&sums).data(&totals).scalar(word(500)), &[0])
        }
        _ => return None,
    })
}

/// Kernels with a threadgroup for each row or part, which meets at barriers.
fn rows(kernel: &str) -> Launched {
    let row = |count: u32, group: u32| groups(kernel, [count, 1, 1], [group, 1, 1]);
    Some(match kernel {
        "reduce" => (row(2, 256).data(&numbers(1, 500)).data(&zeros(2)).scalar(word(500)), &[1]),
        "softmax" => (row(3, 64).data(&numbers(1, 210)).data(&zeros(210)).scalar(word(70)), &[1]),
        "scan_groups" => {
            let counts = Inputs::new(1).indices(Dtype::U32, 500, 1000);
            (row(2, 256).data(&counts).data(&zeros(500)).data(&zeros(2)).scalar(word(500)), &[1, 2])
        }
        "histogram" => {
            let bytes = Inputs::new(1).integers(Dtype::U8, 1000);
            (row(2, 64).data(&bytes).data(&zeros(256)).scalar(word(1000)), &[1])
        }
        "layer_norm" => {
            let launch = row(2, 64).data(&numbers(1, 480)).data(&zeros(480));
            let launch = launch.data(&numbers(2, 240)).data(&numbers(3, 240));
            (launch.scalar(word(240)).scalar(1e-5f32.to_le_bytes()), &[1])
        }
        "q4_0_vector" => {
            let blocks: Vec<u8> = (0..32u8).flat_map(|n| block(n, u64::from(n))).collect();
            let launch = row(2, 64).scalar(blocks).data(&numbers(1, 64)).data(&zeros(16));
            (launch.scalar(word(64)).scalar(word(16)), &[2])
        }
        "attention" => {
            let values = |seed| Inputs::new(seed).numbers(Dtype::F16, 64 * 64, -1.0, 1.0);
            let launch = row(1, 64).data(&values(1)).data(&values(2)).data(&values(3));
            let launch = launch.data(&Data::zeros(Dtype::F16, 64 * 64));
            (launch.scalar(word(64)).scalar(0.125f32.to_le_bytes()), &[3])
        }
        _ => return None,
    })
}

/// A block of q4_0: a half scale and 32 weights of four bits.
fn block(number: u8, seed: u64) -> Vec<u8> {
    let scale = half::f16::from_f32(0.01 * f32::from(number + 1));
    let weights = Inputs::new(seed).integers(Dtype::U8, 16);
    scale.to_le_bytes().into_iter().chain(weights.bytes).collect()
}

/// Kernels that work on tiles of square matrices.
fn matrices(kernel: &str) -> Launched {
    let (n, tile, group) = match kernel {
        "matmul" => (32, 16, [16, 16, 1]),
        "matmul64" => (64, 64, [16, 16, 1]),
        "gemm" => (64, 64, [128, 1, 1]),
        "transpose" => (64, 32, [32, 8, 1]),
        _ => return None,
    };
    let elements = (n * n) as usize;
    let launch = groups(kernel, [n / tile, n / tile, 1], group).data(&numbers(1, elements));
    Some(match kernel {
        "transpose" => (launch.data(&zeros(elements)).scalar(word(n)), &[1]),
        _ => (launch.data(&numbers(2, elements)).data(&zeros(elements)).scalar(word(n)), &[2]),
    })
}
