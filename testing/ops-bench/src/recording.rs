//! Recordings beside the same operations called one by one.

use anymetal_tensor_ops::{DType, Generator, OpError, Ops, Path, Tensor};

use crate::measure;

/// A chain of six elementwise operations, of which the second tensor is a row.
fn chain(ops: &Ops, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    let y = ops.add(&inputs[0], &inputs[1])?;
    let y = ops.mul(&ops.relu(&y)?, &inputs[0])?;
    let y = ops.clamp(&ops.affine(&y, 0.5, 1.0)?, 0.0, 2.0)?;
    Ok(vec![ops.square(&y)?])
}

/// Two layers with a softmax after them.
fn layers(ops: &Ops, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
    let [x, first, second] = inputs else { return Ok(Vec::new()) };
    let y = ops.gelu(&ops.matmul(x, first)?)?;
    Ok(vec![ops.softmax(&ops.affine(&ops.matmul(&y, second)?, 0.125, 0.0)?, -1)?])
}

type Body = fn(&Ops, &[Tensor]) -> Result<Vec<Tensor>, OpError>;

/// Prints a line for each program: its name, the least times of its calls and of a replay.
pub(crate) fn all(ops: &Ops) -> Result<(), OpError> {
    let ops = &ops.forced(Path::Own);
    let generator = Generator::new(ops, 1);
    let uniform = |shape: &[usize]| generator.uniform(shape, 0.1, 1.0, DType::F32);
    let programs: [(&str, Body, Vec<Tensor>); 4] = [
        ("chain_64", chain, vec![uniform(&[1, 64])?, uniform(&[64])?]),
        ("chain_64k", chain, vec![uniform(&[64, 1024])?, uniform(&[1024])?]),
        ("chain_4M", chain, vec![uniform(&[4096, 1024])?, uniform(&[1024])?]),
        ("layers_64", layers, vec![uniform(&[16, 64])?, uniform(&[64, 64])?, uniform(&[64, 64])?]),
    ];
    for (name, body, inputs) in programs {
        let eager = measure(ops, || body(ops, &inputs))?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let mut recording = ops.record(name, &inputs, body)?;
        let replay = measure(ops, || recording.replay(&inputs))?;
        println!("{name} {replay:.1} eager {eager:.1} us, {:.2} times as fast", eager / replay);
    }
    Ok(())
}
