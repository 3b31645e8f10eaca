//! Products by the device's own library: right for what it takes, own kernels for the rest, told by the path.
//!
//! `ANYMETAL_TEST_DEVICE=nvidia:0` runs them by cuBLAS there; else the library is a definition on the host
//! over the CPU device.

#[path = "support/multiplying.rs"]
mod multiplying;
mod support;

use std::sync::Arc;

use anymetal::{Device, DeviceKind};
use anymetal_tensor_ops::{Activation, DType, MatmulOptions, Ops, Path, Tensor};
use multiplying::Multiplying;
use proptest::prelude::*;
use support::{Random, Sample, assert_close, check_product, positions, product_reference, unit_error};

fn ops() -> &'static Ops {
    support::ops_on(|| match std::env::var("ANYMETAL_TEST_DEVICE") {
        Ok(name) => Device::by_name(&name).unwrap(),
        Err(_) => {
            let cpu = Device::by_name("cpu").unwrap();
            Device::from_hal(Arc::new(Multiplying(Arc::clone(cpu.as_hal()))))
        }
    })
}

/// The product, and by which path it was made. The context is a separate one over the shared queue, because a
/// log has the calls of all tests that share a context.
fn product(a: &Tensor, b: &Tensor, options: &MatmulOptions<'_>) -> (Tensor, Path) {
    let logged = Ops::on(ops().device(), ops().queue()).shaped(ops().shaping());
    let result = logged.matmul_with(a, b, options).unwrap();
    let calls = logged.take_calls();
    let call = calls.iter().rfind(|call| call.operation == "matmul").unwrap();
    (result, call.path)
}

/// A factor of that shape as it is stored in rows, or in columns.
fn factor(random: &mut Random, shape: &[usize], dtype: DType, in_columns: bool) -> Sample {
    let mut stored = shape.to_vec();
    let rank = stored.len();
    if in_columns {
        stored.swap(rank - 2, rank - 1);
    }
    let count: usize = stored.iter().product();
    let values: Vec<f64> = (0..count).map(|_| random.number(dtype, -1.0, 1.0)).collect();
    let tensor = support::upload(&values, &stored, dtype);
    if !in_columns {
        return Sample { tensor, values };
    }
    let transposed = tensor.transpose(-1, -2).unwrap();
    let flat = |position: &Vec<usize>| {
        let mut stored_at = position.clone();
        stored_at.swap(rank - 2, rank - 1);
        values[support::flat(&stored, &stored_at)]
    };
    let values = positions(shape).iter().map(flat).collect();
    Sample { tensor: transposed, values }
}

#[test]
fn the_device_has_a_library() {
    ops().device().matrix_products().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn rows_columns_and_batches_are_multiplied_by_the_library(
        seed: u64, dtype in 6usize..9, wide: bool, columns_left: bool, columns_right: bool, shared in 0usize..3,
    ) {
        ops();
        let mut random = Random::new(seed);
        let dtype = DType::ALL[dtype];
        let rank = random.below(3);
        let batches = random.shape(rank, 3);
        let [rows, inner, columns] = [8 + random.below(70), 1 + random.below(90), 1 + random.below(80)];
        let (mut left, mut right) = (batches.clone(), batches.clone());
        match shared {
            1 => right.clear(),
            2 => left.clear(),
            _ => {}
        }
        left.extend([rows, inner]);
        right.extend([inner, columns]);
        let a = factor(&mut random, &left, dtype, columns_left);
        let b = factor(&mut random, &right, dtype, columns_right);
        let options = MatmulOptions { out: wide.then_some(DType::F32), ..MatmulOptions::default() };
        let (result, path) = product(&a.tensor, &b.tensor, &options);
        let out = [&batches[..], &[rows, columns]].concat();
        prop_assert_eq!(path, Path::Vendor);
        prop_assert_eq!(result.shape(), &out);
        let error = unit_error(result.dtype()) + 1e-6;
        assert_close("matmul", &result, &product_reference(&a, &b, &out), error, (inner as f64).sqrt());
    }

    #[test]
    fn any_strides_and_types_are_right_by_whichever_path(
        seed: u64, a_type in 6usize..9, b_type in 6usize..9, forced: bool,
    ) {
        let ops = if forced { ops().forced(Path::Vendor) } else { ops().clone() };
        check_product(&ops, seed, [DType::ALL[a_type], DType::ALL[b_type]]);
    }

    #[test]
    fn bias_and_activation_come_before_the_rounding(seed: u64, dtype in 6usize..9, activation in 0usize..19) {
        let (ops, mut random) = (ops(), Random::new(seed));
        let (dtype, activation) = (DType::ALL[dtype], Activation::ALL[activation]);
        let a = factor(&mut random, &[16, 24], dtype, false);
        let b = factor(&mut random, &[24, 20], dtype, true);
        let bias = factor(&mut random, &[1, 20], dtype, false);
        let options = MatmulOptions { bias: Some(&bias.tensor), activation: Some(activation), out: None };
        let (fused, path) = product(&a.tensor, &b.tensor, &options);
        prop_assert_eq!((path, fused.dtype()), (Path::Vendor, dtype));
        let own = ops.forced(Path::Own).matmul_with(&a.tensor, &b.tensor, &options).unwrap();
        assert_close("matmul_with", &fused, &support::download(&own), unit_error(dtype) + 4e-6, 4.0);
    }
}

/// One after the other in one queue: each product is of the one before.
#[test]
fn products_are_in_order_with_kernels() {
    let ops = ops();
    let x = ops.eye(32, DType::F32).unwrap();
    let mut y = x.clone();
    for _ in 0..16 {
        y = ops.matmul(&ops.affine(&y, 1.0, 0.0).unwrap(), &ops.affine(&x, 2.0, 0.0).unwrap()).unwrap();
    }
    let expected: Vec<f64> = support::download(&x).iter().map(|one| one * 65536.0).collect();
    assert_close("matmul", &y, &expected, 0.0, 0.0);
}

#[test]
fn own_kernels_can_be_forced_and_few_rows_are_theirs_where_nobody_measured() {
    let ops = ops();
    let x = ops.ones(&[64, 64], DType::F32).unwrap();
    let own = ops.forced(Path::Own).matmul(&x, &x).unwrap();
    let (theirs, path) = product(&x, &x, &MatmulOptions::default());
    assert_eq!(path, Path::Vendor);
    assert_close("matmul", &theirs, &support::download(&own), 0.0, 0.0);
    let row = x.narrow(0, 0..1).unwrap();
    let of_few =
        if ops.device().capabilities().kind == DeviceKind::Nvidia { Path::Vendor } else { Path::Own };
    assert_eq!(product(&row, &x, &MatmulOptions::default()).1, of_few);
    // A recording replays own kernels.
    let mut recording =
        ops.record("product", &[&x], |ops, inputs| Ok(vec![ops.matmul(&inputs[0], &inputs[0])?]));
    let replayed = recording.as_mut().unwrap().replay(&[&x]).unwrap();
    assert_close("replay", &replayed[0], &support::download(&own), 0.0, 0.0);
}
