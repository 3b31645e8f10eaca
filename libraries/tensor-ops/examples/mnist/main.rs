//! Trains a small convolutional net on digits that the program makes, to 95 of 100 right on images
//! that it has not seen; exits with an error otherwise.
//!
//! `cargo run -p anymetal-tensor-ops --example mnist`
#![allow(clippy::print_stdout, reason = "a command-line program")]

mod digits;
mod net;

use std::process::ExitCode;

use anymetal_tensor_ops::{Comparison, DType, OpError, Ops};

use digits::Digits;
use net::Net;

const TRAINED: usize = 8192;
const TESTED: usize = 1000;
const BATCH: usize = 32;
const EPOCHS: usize = 4;

/// Shares of the unseen images that must be told right.
pub(crate) const REQUIRED: f32 = 0.95;

fn accuracy(ops: &Ops, net: &Net, digits: &Digits) -> Result<f32, OpError> {
    let told = ops.argmax(&net.forward(&digits.images)?, 1, false)?;
    let right = ops.compare(Comparison::Eq, &told, &digits.labels)?;
    ops.mean(&ops.cast(&right, DType::F32)?, &[], false)?.item()
}

/// Trains, and gives the share of the unseen images that is told right.
pub(crate) fn train() -> Result<f32, OpError> {
    let ops = Ops::new(&anymetal::Device::system_default()?)?;
    let (seen, unseen) = (Digits::new(&ops, 1, TRAINED)?, Digits::new(&ops, 2, TESTED)?);
    let mut net = Net::new(&ops, 3)?;
    println!("untrained: {:.1} % right", 100.0 * accuracy(&ops, &net, &unseen)?);
    let mut reached = 0.0;
    for epoch in 1..=EPOCHS {
        let (mut loss, rate) = (0.0, 0.05 / epoch as f32);
        for from in (0..TRAINED).step_by(BATCH) {
            let (images, labels) = seen.batch(from, from + BATCH)?;
            loss += net.train(&images, &labels, rate)?;
        }
        reached = accuracy(&ops, &net, &unseen)?;
        let mean = loss / (TRAINED / BATCH) as f32;
        println!("epoch {epoch}: loss {mean:.3}, {:.1} % right", 100.0 * reached);
    }
    let work = ops.total_work();
    println!("{:.1} GFLOP, {:.1} GB", work.flop as f64 / 1e9, work.bytes as f64 / 1e9);
    Ok(reached)
}

fn main() -> Result<ExitCode, OpError> {
    Ok(if train()? >= REQUIRED { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
