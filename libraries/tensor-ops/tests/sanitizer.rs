//! Every operation under the sanitizer: no race, no access out of bounds, no undefined read, no
//! wrong barrier.

use anymetal::config::{CheckSetting, Layers};
use anymetal::{Device, sanitizer};
use anymetal_tensor_ops::{
    Activation, AttentionOptions, BinaryOp, BlockFormat, Comparison, ConvOptions, DType, Generator,
    Interpolation, MatmulOptions, OpError, Ops, PadMode, Path, PoolOptions, Reduction, RopeOptions,
    ScatterReduction, Shaping, Tensor, UnaryOp,
};

fn checked() -> Ops {
    let mut settings = Layers::default();
    settings.code.kernels.check = Some(CheckSetting::Sanitize);
    Ops::new(&Device::with_settings(&settings).unwrap()).unwrap().forced(Path::Own)
}

#[test]
fn every_operation_is_silent() {
    let ops = checked();
    let families: [(&str, fn(&Ops) -> Result<(), OpError>); 10] = [
        ("elementwise", elementwise),
        ("copies", copies),
        ("reductions", reductions),
        ("products", products),
        ("norms", norms),
        ("images", images),
        ("indices", indices),
        ("attention", attention),
        ("recordings", recordings),
        ("kernels for GPUs", for_gpus),
    ];
    for (name, family) in families {
        family(&ops).unwrap();
        ops.wait().unwrap();
        let found = sanitizer::findings();
        assert!(found.is_empty(), "{name}: {:?}", found[0]);
    }
    assert!(sanitizer::summary().launches > 100, "{:?}", sanitizer::summary());
}

fn random(ops: &Ops, shape: &[usize]) -> Result<Tensor, OpError> {
    Generator::new(ops, 3).uniform(shape, 0.1, 0.9, DType::F32)
}

fn elementwise(ops: &Ops) -> Result<(), OpError> {
    let (x, y) = (random(ops, &[3, 40])?, random(ops, &[3, 1])?);
    let whole = ops.cast(&ops.affine(&x, 20.0, 1.0)?, DType::I32)?;
    for &op in UnaryOp::ALL {
        ops.unary(op, if op == UnaryOp::BitNot { &whole } else { &x })?;
    }
    for &op in BinaryOp::ALL {
        ops.binary(op, &whole, &whole)?;
        if !op.name().starts_with("bit") && !op.name().starts_with("sh") {
            ops.binary(op, &x, &y)?;
        }
    }
    for &comparison in Comparison::ALL {
        ops.compare(comparison, &x.t()?, &y.t()?)?;
    }
    for activation in Activation::ALL {
        ops.activation(activation, &x)?;
        ops.activation_backward(activation, &x, &x)?;
    }
    ops.fma(&x, &y, &x)?;
    ops.lerp(&x, &y, &x)?;
    ops.clamp(&x, 0.2, 0.4)?;
    ops.where_(&ops.isnan(&x)?, &x, &y)?;
    DType::ALL.iter().try_for_each(|&dtype| ops.cast(&x, dtype).map(drop))
}

fn copies(ops: &Ops) -> Result<(), OpError> {
    let x = random(ops, &[5, 33])?;
    ops.copy(&x.t()?)?;
    ops.copy(&x.flip(1)?)?;
    ops.copy(&random(ops, &[70, 80])?.t()?)?;
    ops.concat(&[&x, &x], 1)?;
    ops.pad(&x, &[(1, 0), (2, 3)], 0.5)?;
    let mirrored = ops.pad_with(&x, &[(1, 0), (2, 3)], PadMode::Reflect)?;
    ops.pad_with_backward(&mirrored, &[(1, 0), (2, 3)], PadMode::Reflect)?;
    ops.repeat(&x, &[2, 3])?;
    ops.diag(&x, -1)?;
    ops.tril(&x, 0)?;
    ops.triu(&x, 1)?;
    ops.arange(50, 0.0, 1.0, DType::F16)?;
    ops.eye(6, DType::F32)?;
    let generator = Generator::new(ops, 1);
    generator.normal(&[7], 0.0, 1.0, DType::F32)?;
    generator.bernoulli(&[7], 0.5, DType::F32)?;
    generator.integers(&[7], 0, 9, DType::I32).map(drop)
}

fn reductions(ops: &Ops) -> Result<(), OpError> {
    for shape in [&[3, 150][..], &[150, 3], &[1, 40000]] {
        let x = random(ops, shape)?;
        for reduction in Reduction::ALL {
            ops.reduce(reduction, &x, &[1], false)?;
        }
        ops.argmax(&x, 1, false)?;
        ops.argmin(&x, 0, false)?;
        if shape[1] < 1000 {
            ops.cumsum(&x, 1)?;
            ops.cumprod(&x, 0)?;
            ops.cummax(&x, 1)?;
        }
        ops.var(&x, &[1], 0, false)?;
        ops.logsumexp(&x, &[1], false)?;
        let y = ops.softmax(&x, 1)?;
        ops.softmax_backward(&y, &y, 1)?;
        ops.log_softmax(&x, 0)?;
    }
    Ok(())
}

fn products(ops: &Ops) -> Result<(), OpError> {
    let (a, b) = (random(ops, &[2, 9, 17])?, random(ops, &[17, 70])?);
    let bias = random(ops, &[70])?;
    let options = MatmulOptions { bias: Some(&bias), activation: Some(Activation::Silu), out: None };
    let product = ops.matmul_with(&a, &b, &options)?;
    ops.matmul_backward(&a, &b, &product)?;
    ops.matmul(&a.narrow(1, 0..1)?, &b)?;
    let ints = ops.cast(&ops.affine(&a, 9.0, 0.0)?, DType::I8)?;
    ops.matmul(&ints, &ints.t()?)?;
    let weights = random(ops, &[6, 64])?;
    for format in [BlockFormat::Q4_0, BlockFormat::Q4_1, BlockFormat::Q8_0] {
        let blocks = ops.quantise(&weights, format)?;
        ops.matmul_blocks(&weights.narrow(0, 0..2)?, &blocks)?;
        ops.dequantise(&blocks, DType::F16)?;
    }
    let (a, b) = (random(ops, &[3, 5, 4])?, random(ops, &[3, 4, 6])?);
    ops.einsum("bij,bjk->ki", &[&a, &b])?;
    ops.einsum("bij,cjk,ii->bck", &[&a, &b, &random(ops, &[5, 5])?])?;
    Ok(())
}

fn norms(ops: &Ops) -> Result<(), OpError> {
    let x = random(ops, &[3, 4, 70])?;
    let (w, c) = (random(ops, &[70])?, random(ops, &[4])?);
    ops.layer_norm(&x, 1, Some(&w), Some(&w), 1e-5)?;
    ops.layer_norm_backward(&x, 1, Some(&w), &x, 1e-5)?;
    ops.rms_norm(&x, 1, Some(&w), 1e-5)?;
    ops.rms_norm_backward(&x, 1, Some(&w), &x, 1e-5)?;
    ops.group_norm(&x, 2, Some(&c), Some(&c), 1e-5)?;
    ops.group_norm_backward(&x, 2, Some(&c), &x, 1e-5)?;
    ops.batch_norm_training(&x, Some(&c), Some(&c), (&c, &c), 0.1, 1e-5)?;
    ops.batch_norm_backward(&x, Some(&c), &x, 1e-5).map(drop)
}

fn images(ops: &Ops) -> Result<(), OpError> {
    let (x, w, depthwise) =
        (random(ops, &[2, 4, 7, 9])?, random(ops, &[4, 4, 3, 3])?, random(ops, &[4, 1, 3, 3])?);
    let options = ConvOptions { padding: [1, 1], stride: [2, 1], ..ConvOptions::default() };
    let y = ops.conv2d(&x, &w, None, &options)?;
    ops.conv2d_backward(&x, &w, &y, &options)?;
    ops.conv2d(&x, &depthwise, None, &ConvOptions { groups: 4, ..options })?;
    ops.conv_transpose2d(&y, &w, None, &options)?;
    let windows = PoolOptions { padding: [1, 1], ..PoolOptions::new([3, 2]) };
    let (y, places) = ops.max_pool2d(&x, &windows)?;
    ops.max_pool2d_backward([7, 9], &places, &y)?;
    ops.avg_pool2d(&x, &windows)?;
    ops.avg_pool2d_backward(&x, &windows, &y)?;
    let y = ops.adaptive_avg_pool2d(&x, [3, 4])?;
    ops.adaptive_avg_pool2d_backward(&x, &y)?;
    ops.adaptive_max_pool2d(&x, [2, 2])?;
    ops.interpolate(&x, [10, 4], Interpolation::Nearest)?;
    ops.interpolate(&x, [10, 4], Interpolation::Bilinear).map(drop)
}

fn indices(ops: &Ops) -> Result<(), OpError> {
    let x = random(ops, &[6, 40])?;
    let named = ops.tensor(&[3i64, 0, 3, 5], &[4])?;
    let rows = ops.embedding(&x, &named)?;
    ops.embedding_backward(6, &named, &rows)?;
    let along = ops.argsort(&x, 1, true)?;
    ops.gather(&x, 1, &along)?;
    ops.scatter(&x, 1, &along, &x)?;
    ops.scatter_add(&x, 1, &along, &x)?;
    ops.topk(&x, 3, 0, true)?;
    for reduction in ScatterReduction::ALL {
        ops.scatter_reduce(reduction, &x, 1, &along, &x)?;
    }
    ops.nonzero(&ops.compare(Comparison::Gt, &x, &ops.scalar(0.5f32)?)?)?;
    ops.cross_entropy_backward(&x.narrow(0, 0..4)?, &named, &ops.scalar(1.0f32)?)?;
    ops.unique(&named).map(drop)
}

fn recordings(ops: &Ops) -> Result<(), OpError> {
    let (x, row) = (random(ops, &[5, 33])?, random(ops, &[33])?);
    let mut recording = ops.record("checked", &[&x, &row], |ops, inputs| {
        let y = ops.gelu(&ops.add(&inputs[0], &inputs[1])?)?;
        let y = ops.where_(&ops.compare(Comparison::Gt, &y, &inputs[1])?, &y, &inputs[0])?;
        Ok(vec![ops.softmax(&ops.mul(&y, &y)?, 1)?, ops.cast(&y, DType::F16)?])
    })?;
    recording.replay(&[&x, &row])?;
    recording.replay(&[&x, &row]).map(drop)
}

fn attention(ops: &Ops) -> Result<(), OpError> {
    let (q, k) = (random(ops, &[1, 4, 9, 8])?, random(ops, &[1, 2, 9, 8])?);
    let causal = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let y = ops.attention(&q, &k, &k, &causal)?;
    ops.attention_backward(&q, &k, &k, &y, &causal)?;
    ops.rope(&q, &RopeOptions::default())?;
    ops.rope(&q, &RopeOptions { halves: false, inverse: true, ..RopeOptions::default() }).map(drop)
}

/// Vectors, rows in registers, lines in parts, tiles of sorts, tiles of convolutions.
fn for_gpus(ops: &Ops) -> Result<(), OpError> {
    let ops = &ops.shaped(Shaping::Gpu);
    let (x, row) = (random(ops, &[3, 132])?, random(ops, &[132])?);
    ops.gelu(&ops.fma(&x, &row, &x)?)?;
    ops.softmax(&x, 1)?;
    ops.log_softmax(&random(ops, &[1, 1100])?, 1)?;
    ops.layer_norm(&x, 1, Some(&row), Some(&row), 1e-5)?;
    ops.rms_norm(&random(ops, &[2, 1100])?, 1, None, 1e-5)?;
    for along in [0, 1] {
        ops.sum(&random(ops, &[300, 68])?, &[along], false)?;
        ops.max(&random(ops, &[300, 67])?, &[along], false)?;
        ops.argmax(&x, along, false)?;
        ops.cumsum(&random(ops, &[2, 300])?, along)?;
    }
    ops.sum(&random(ops, &[2, 3, 5, 64])?, &[0, 2, 3], false)?;
    ops.sum(&random(ops, &[40_001])?, &[0], false)?;
    for count in [100, 600, 9000] {
        ops.sort(&random(ops, &[2, count])?, 1, true)?;
    }
    let (image, filters) = (random(ops, &[2, 16, 9, 10])?, random(ops, &[16, 16, 3, 3])?);
    let same = ConvOptions { padding: [1, 1], ..ConvOptions::default() };
    ops.conv2d(&image, &filters, Some(&random(ops, &[16])?), &same).map(drop)
}
