//! A tour: two matrices are added, multiplied, put through activations; views cost no copy.
//!
//! `cargo run -p anymetal-tensor-ops --example minitensor`
#![allow(clippy::print_stdout, reason = "a command-line program")]

use anymetal_tensor_ops::{OpError, Ops, Tensor};

fn show(what: &str, tensor: &Tensor) -> Result<(), OpError> {
    println!("{what}: {:?} {:?}", tensor.shape(), tensor.to_vec::<f32>()?);
    Ok(())
}

pub(crate) fn main() -> Result<(), OpError> {
    let device = anymetal::Device::system_default()?;
    println!("device: {}", device.name());
    let ops = Ops::new(&device)?;

    let a = ops.tensor(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let b = ops.tensor(&[-1.0f32, 0.5, 2.0, -2.0], &[2, 2])?;
    show("a + b", &ops.add(&a, &b)?)?;
    show("a * b", &ops.mul(&a, &b)?)?;
    let product = ops.matmul(&a, &b)?;
    show("a @ b", &product)?;
    show("relu(a @ b)", &ops.relu(&product)?)?;
    show("sigmoid(a @ b)", &ops.sigmoid(&product)?)?;
    show("a transposed, a view", &a.t()?)?;

    assert_eq!(product.to_vec::<f32>()?, [3.0, -3.5, 5.0, -6.5]);
    assert_eq!(ops.relu(&product)?.to_vec::<f32>()?, [3.0, 0.0, 5.0, 0.0]);
    for call in ops.take_calls() {
        println!(
            "{:>8} by {:?}: {} FLOP, {} bytes",
            call.operation, call.path, call.work.flop, call.work.bytes
        );
    }
    Ok(())
}
