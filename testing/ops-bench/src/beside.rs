//! The operations that the crate `ndarray` has, on the same shapes.

use std::convert::Infallible;
use std::hint::black_box;

use ndarray::{Array1, Array2, Axis};

use crate::least;

/// Prints a line for each, named after ours.
pub(crate) fn ndarray() {
    let numbers = |i: usize| 0.1 + 0.9 * (i % 1009) as f32 / 1009.0;
    let x = Array2::from_shape_fn((4096, 1024), |(row, column)| numbers(row * 1024 + column));
    let y = Array2::from_shape_fn((4096, 1024), |(row, column)| numbers(row + column));
    let row = Array1::from_shape_fn(1024, numbers);
    print("add", || &x + &y);
    print("add_row", || &x + &row);
    print("exp", || x.mapv(f32::exp));
    print("sum_all", || x.sum());
    print("sum_rows", || x.sum_axis(Axis(1)));
    print("sum_columns", || x.sum_axis(Axis(0)));
    print("copy_transposed", || x.t().as_standard_layout().into_owned());
    for size in [128, 512, 1024] {
        let a = Array2::from_shape_fn((size, size), |(row, column)| numbers(row * size + column));
        print(&format!("matmul_{size}"), || a.dot(&a));
    }
}

fn print<T>(name: &str, call: impl Fn() -> T) {
    let run = || {
        black_box(call());
        Ok::<(), Infallible>(())
    };
    let Ok(time) = least(run);
    println!("ndarray/{name} {time:.1}");
}
