//! Times of tensor operations, for a table beside PyTorch's: `bench.py` runs both.
//!
//! Prints a line for each operation: name, the least time of many runs in microseconds; some also
//! of the crate `ndarray`, which has one thread. With the argument `crossover`: products of growing
//! size by own kernels and by the library. With `recording`: recordings beside the same calls.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command-line program")]

mod beside;
mod recording;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anymetal_ops::{ConvOptions, DType, Generator, OpError, Ops, Path, PoolOptions, Tensor};

/// How long each operation is repeated.
const BUDGET: Duration = Duration::from_millis(400);

fn main() -> Result<(), OpError> {
    let ops = Ops::new(&anymetal::Device::system_default()?)?;
    match std::env::args().nth(1).as_deref() {
        Some("crossover") => crossover(&ops),
        Some("recording") => recording::all(&ops),
        _ => {
            all(&ops)?;
            beside::ndarray();
            Ok(())
        }
    }
}

/// The least time of a call and its wait.
fn measure(ops: &Ops, mut call: impl FnMut() -> Result<Tensor, OpError>) -> Result<f64, OpError> {
    least(|| {
        black_box(call()?);
        ops.wait()
    })
}

/// The least time of many runs, in microseconds.
fn least<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let (start, mut least, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while runs < 3 || start.elapsed() < BUDGET {
        let begun = Instant::now();
        run()?;
        least = least.min(begun.elapsed().as_secs_f64() * 1e6);
        runs += 1;
    }
    Ok(least)
}

fn crossover(ops: &Ops) -> Result<(), OpError> {
    let generator = Generator::new(ops, 1);
    for size in [8, 16, 32, 48, 64, 96, 128, 256, 512, 1024] {
        let x = generator.uniform(&[size, size], -1.0, 1.0, DType::F32)?;
        let of = |path| {
            let ops = ops.forced(path);
            measure(&ops, || ops.matmul(&x, &x))
        };
        let (own, vendor) = (of(Path::Own)?, of(Path::Vendor)?);
        let rate = |us: f64| 2.0 * (size as f64).powi(3) / us / 1e3;
        println!(
            "{size:5}: own {own:9.1} us {:6.1} GFLOP/s, vendor {vendor:9.1} us {:6.1} GFLOP/s",
            rate(own),
            rate(vendor)
        );
    }
    Ok(())
}

fn all(ops: &Ops) -> Result<(), OpError> {
    let generator = Generator::new(ops, 1);
    let uniform = |shape: &[usize]| generator.uniform(shape, 0.1, 1.0, DType::F32);
    let (x, y) = (uniform(&[4096, 1024])?, uniform(&[4096, 1024])?);
    let row = uniform(&[1024])?;
    let print = |name: &str, call: &dyn Fn() -> Result<Tensor, OpError>| -> Result<(), OpError> {
        println!("{name} {:.1}", measure(ops, call)?);
        Ok(())
    };
    print("add", &|| ops.add(&x, &y))?;
    print("add_row", &|| ops.add(&x, &row))?;
    print("exp", &|| ops.exp(&x))?;
    print("gelu", &|| ops.gelu(&x))?;
    print("copy_transposed", &|| ops.copy(&x.t()?))?;
    print("softmax", &|| ops.softmax(&x, -1))?;
    print("layer_norm", &|| ops.layer_norm(&x, 1, Some(&row), Some(&row), 1e-5))?;
    print("sum_all", &|| ops.sum(&x, &[], false))?;
    print("sum_rows", &|| ops.sum(&x, &[1], false))?;
    print("sum_columns", &|| ops.sum(&x, &[0], false))?;
    print("argmax_rows", &|| ops.argmax(&x, 1, false))?;
    print("cumsum_rows", &|| ops.cumsum(&x, 1))?;
    print("sort_rows", &|| ops.sort(&x.narrow(0, 0..256)?, 1, false))?;
    let own = ops.forced(Path::Own);
    for size in [128, 512, 1024] {
        let (a, b) = (uniform(&[size, size])?, uniform(&[size, size])?);
        print(&format!("matmul_{size}"), &|| ops.matmul(&a, &b))?;
        print(&format!("matmul_{size}_own"), &|| own.matmul(&a, &b))?;
    }
    let (left, right) = (uniform(&[64, 288])?, uniform(&[8, 288, 3136])?);
    print("matmul_as_conv2d", &|| ops.matmul(&left, &right))?;
    let (image, filters) = (uniform(&[8, 32, 56, 56])?, uniform(&[64, 32, 3, 3])?);
    let same = ConvOptions { padding: [1, 1], ..ConvOptions::default() };
    print("conv2d", &|| ops.conv2d(&image, &filters, None, &same))?;
    print("max_pool2d", &|| Ok(ops.max_pool2d(&image, &PoolOptions::new([2, 2]))?.0))
}
