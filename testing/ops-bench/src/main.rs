//! Times of tensor operations, for a table beside PyTorch's: `bench.py` runs both.
//!
//! Prints a line for each operation: name, the least time of many runs in microseconds; on processors some
//! also of the crate `ndarray`, which has one thread. With the argument `crossover`: products of growing size
//! by own kernels and by the library. With `recording`: recordings beside the same calls. `--only PART`:
//! operations whose names contain that, `--gpu-kernels`: kernels that are written for GPUs, on any device,
//! `--processor-time`: the mean time that processors work for a run, for machines that others use
//! meanwhile. `--device NAME` chooses the device; on GPUs tensors are larger and calls are waited for
//! [`GPU_CALLS`] at a time, as `bench.py --device cuda` does: one call and its wait would measure the way to
//! the card and back.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command-line program")]

mod beside;
mod recording;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anymetal::{Device, DeviceKind};
use anymetal_tensor_ops::{ConvOptions, DType, Generator, OpError, Ops, Path, PoolOptions, Shaping, Tensor};

/// How long each operation is repeated.
const BUDGET: Duration = Duration::from_millis(400);

/// Whether times are the processors'.
static BY_PROCESSOR: AtomicBool = AtomicBool::new(false);

/// Calls between two waits on GPUs.
const GPU_CALLS: u32 = 10;

fn main() -> Result<(), OpError> {
    let mut arguments = std::env::args().skip(1);
    let (mut device, mut what, mut only, mut for_gpus) = (None, None, String::new(), false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--device" => device = arguments.next(),
            "--only" => only = arguments.next().unwrap_or_default(),
            "--gpu-kernels" => for_gpus = true,
            "--processor-time" => BY_PROCESSOR.store(true, Ordering::Relaxed),
            _ => what = Some(argument),
        }
    }
    let device = match device {
        Some(name) => Device::by_name(&name)?,
        None => Device::system_default()?,
    };
    let ops = Ops::new(&device)?;
    let ops = if for_gpus { ops.shaped(Shaping::Gpu) } else { ops };
    match what.as_deref() {
        Some("crossover") => crossover(&ops),
        Some("recording") => recording::all(&ops),
        Some(other) => {
            println!("there is no part `{other}`; there are: crossover, recording");
            Ok(())
        }
        None => {
            all(&ops, &only)?;
            if !is_gpu(&ops) && only.is_empty() {
                beside::ndarray();
            }
            Ok(())
        }
    }
}

fn is_gpu(ops: &Ops) -> bool {
    ops.device().capabilities().kind != DeviceKind::Cpu
}

/// The least time of a call; on GPUs of several with one wait, divided.
fn measure<T>(ops: &Ops, mut call: impl FnMut() -> Result<T, OpError>) -> Result<f64, OpError> {
    let calls = if is_gpu(ops) { GPU_CALLS } else { 1 };
    let time = least(|| {
        for _ in 0..calls {
            black_box(call()?);
        }
        ops.wait()
    })?;
    Ok(time / f64::from(calls))
}

/// The least time of many runs, in microseconds.
fn least<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let (start, mut least, mut runs) = (Instant::now(), f64::INFINITY, 0);
    if BY_PROCESSOR.load(Ordering::Relaxed) {
        run()?;
        let begun = processor_time();
        while runs < 10 || start.elapsed() < BUDGET {
            run()?;
            runs += 1;
        }
        return Ok((processor_time() - begun) / f64::from(runs));
    }
    while runs < 3 || start.elapsed() < BUDGET {
        let begun = Instant::now();
        run()?;
        least = least.min(begun.elapsed().as_secs_f64() * 1e6);
        runs += 1;
    }
    Ok(least)
}

/// Microseconds that all threads of this process have run, where Linux tells.
fn processor_time() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |folder: std::path::PathBuf| {
        let text = std::fs::read_to_string(folder.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    tasks.filter_map(|task| of(task.path())).sum::<f64>() / 1e3
}

fn crossover(ops: &Ops) -> Result<(), OpError> {
    let sizes: &[usize] = match is_gpu(ops) {
        true => &[16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
        false => &[8, 16, 32, 48, 64, 96, 128, 256, 512, 1024],
    };
    let types: &[DType] = if is_gpu(ops) { &[DType::F32, DType::F16, DType::BF16] } else { &[DType::F32] };
    for &dtype in types {
        for &size in sizes {
            compare(ops, dtype, [size; 3])?;
        }
        if is_gpu(ops) {
            for rows in [1, 4, 8, 16, 64] {
                compare(ops, dtype, [rows, 4096, 4096])?;
            }
        }
    }
    Ok(())
}

/// A product of rows by inner and inner by columns by both paths.
fn compare(ops: &Ops, dtype: DType, [rows, inner, columns]: [usize; 3]) -> Result<(), OpError> {
    let generator = Generator::new(ops, 1);
    let a = generator.uniform(&[rows, inner], -1.0, 1.0, dtype)?;
    let b = generator.uniform(&[inner, columns], -1.0, 1.0, dtype)?;
    let of = |path| {
        let ops = ops.forced(path);
        measure(&ops, || ops.matmul(&a, &b))
    };
    let (own, vendor) = (of(Path::Own)?, of(Path::Vendor)?);
    let rate = |us: f64| 2.0 * (rows * inner * columns) as f64 / us / 1e3;
    println!(
        "{dtype} {rows:5} x {inner:5} x {columns:5}: own {own:9.1} us {:8.1} GFLOP/s, vendor {vendor:9.1} us \
         {:8.1} GFLOP/s",
        rate(own),
        rate(vendor)
    );
    Ok(())
}

fn all(ops: &Ops, only: &str) -> Result<(), OpError> {
    let generator = Generator::new(ops, 1);
    let of_type = |shape: &[usize], dtype| generator.uniform(shape, 0.1, 1.0, dtype);
    let uniform = |shape: &[usize]| of_type(shape, DType::F32);
    // So that a GPU's memory, not its caches and the way there, takes the time.
    let [rows, columns] = if is_gpu(ops) { [16384, 4096] } else { [4096, 1024] };
    let (x, y) = (uniform(&[rows, columns])?, uniform(&[rows, columns])?);
    let row = uniform(&[columns])?;
    let print = |name: &str, call: &dyn Fn() -> Result<Tensor, OpError>| -> Result<(), OpError> {
        if name.contains(only) {
            println!("{name} {:.1}", measure(ops, call)?);
        }
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
    if is_gpu(ops) {
        let (half, other) = (ops.cast(&x, DType::F16)?, ops.cast(&y, DType::F16)?);
        print("add_f16", &|| ops.add(&half, &other))?;
        print("softmax_f16", &|| ops.softmax(&half, -1))?;
        // Nothing but the way to the card.
        let few = row.narrow(0, 0..1024)?;
        print("add_1024_elements", &|| ops.add(&few, &few))?;
    }
    drop((x, y));
    let own = ops.forced(Path::Own);
    let sizes: &[usize] = if is_gpu(ops) { &[512, 1024, 4096] } else { &[128, 512, 1024] };
    for &size in sizes {
        let (a, b) = (uniform(&[size, size])?, uniform(&[size, size])?);
        print(&format!("matmul_{size}"), &|| ops.matmul(&a, &b))?;
        print(&format!("matmul_{size}_own"), &|| own.matmul(&a, &b))?;
        if is_gpu(ops) {
            let (a, b) = (ops.cast(&a, DType::F16)?, ops.cast(&b, DType::F16)?);
            print(&format!("matmul_{size}_f16"), &|| ops.matmul(&a, &b))?;
            print(&format!("matmul_{size}_f16_own"), &|| own.matmul(&a, &b))?;
        }
    }
    let (left, right) = (uniform(&[64, 288])?, uniform(&[8, 288, 3136])?);
    print("matmul_as_conv2d", &|| ops.matmul(&left, &right))?;
    let (image, filters) = (uniform(&[8, 32, 56, 56])?, uniform(&[64, 32, 3, 3])?);
    let same = ConvOptions { padding: [1, 1], ..ConvOptions::default() };
    print("conv2d", &|| ops.conv2d(&image, &filters, None, &same))?;
    print("max_pool2d", &|| Ok(ops.max_pool2d(&image, &PoolOptions::new([2, 2]))?.0))
}
