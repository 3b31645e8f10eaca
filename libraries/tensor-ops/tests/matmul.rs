//! Products of matrices against sums on the host in `f64`, over random shapes, strides, types.

mod support;

use anymetal_tensor_ops::{Activation, DType, MatmulOptions, OpError, Ops, Path};
use proptest::prelude::*;
use support::{Random, assert_close, check_product, ops, positions, product_reference};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn products_of_floats_are_summed_in_f32(seed: u64, a_type in 6usize..9, b_type in 6usize..9, own: bool) {
        let ops = if own { ops().forced(Path::Own) } else { ops().clone() };
        let types = [DType::ALL[a_type], DType::ALL[b_type]];
        let result = check_product(&ops, seed, types);
        prop_assert_eq!(result.dtype(), types[0].promote(types[1]));
    }

    #[test]
    fn products_of_integers_are_exact(seed: u64, a_type in 1usize..6, b_type in 1usize..6) {
        let mut random = Random::new(seed);
        let [rows, inner, columns] = [1 + random.below(20), 1 + random.below(60), 1 + random.below(40)];
        let a = random.sample(&[rows, inner], DType::ALL[a_type], -100.0, 100.0);
        let b = random.sample(&[inner, columns], DType::ALL[b_type], -100.0, 100.0);
        let options = MatmulOptions { out: Some(DType::I64), ..MatmulOptions::default() };
        let result = ops().matmul_with(&a.tensor, &b.tensor, &options).unwrap();
        assert_close("matmul", &result, &product_reference(&a, &b, &[rows, columns]), 0.0, 0.0);
    }

    #[test]
    fn bias_and_activation_come_before_the_rounding(seed: u64, activation in 0usize..19, row: bool, own: bool) {
        let (mut random, activation) = (Random::new(seed), Activation::ALL[activation]);
        let ops = if own { ops().forced(Path::Own) } else { ops().clone() };
        let [rows, inner, columns] = [if row { 1 } else { 70 }, 1 + random.below(40), 1 + random.below(90)];
        let a = random.sample(&[rows, inner], DType::F32, -1.0, 1.0);
        let b = random.sample(&[inner, columns], DType::F32, -1.0, 1.0);
        let bias_shape = random.broadcastable(&[rows, columns]);
        let bias = random.sample(&bias_shape, DType::F16, -1.0, 1.0);
        let options = MatmulOptions { bias: Some(&bias.tensor), activation: Some(activation), out: None };
        let fused = ops.matmul_with(&a.tensor, &b.tensor, &options).unwrap();
        let product = ops.matmul(&a.tensor, &b.tensor).unwrap();
        let apart = ops.activation(activation, &ops.add(&product, &bias.tensor).unwrap()).unwrap();
        assert_close("matmul_with", &fused, &support::download(&apart), 4e-6, 4.0);
    }
}

#[test]
fn vectors_are_rows_and_columns() {
    let a = ops().tensor(&[1.0f32, 2.0, 3.0], &[3]).unwrap();
    let m = ops().tensor(&[1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2]).unwrap();
    assert_eq!(ops().matmul(&a, &a).unwrap().item::<f32>().unwrap(), 14.0);
    let row = ops().matmul(&a, &m).unwrap();
    assert_eq!((row.shape(), row.to_vec::<f32>().unwrap()), (&[2][..], vec![4.0, 5.0]));
    let column = ops().matmul(&m.t().unwrap(), &a).unwrap();
    assert_eq!((column.shape(), column.to_vec::<f32>().unwrap()), (&[2][..], vec![4.0, 5.0]));
}

#[test]
fn a_product_over_no_elements_is_zero_or_the_bias() {
    let (a, b) = (ops().zeros(&[9, 0], DType::F32).unwrap(), ops().zeros(&[0, 2], DType::F32).unwrap());
    assert_eq!(ops().matmul(&a, &b).unwrap().to_vec::<f32>().unwrap(), [0.0; 18]);
    let none = ops().matmul(&b, &ops().zeros(&[2, 5], DType::F32).unwrap()).unwrap();
    assert_eq!(none.shape(), [0, 5]);
}

#[test]
fn mistakes_name_the_shapes_and_types() {
    let (a, b) = (ops().zeros(&[2, 3], DType::F32).unwrap(), ops().zeros(&[4, 5], DType::I32).unwrap());
    let rule = "columns of the first and rows of the second must be as many";
    assert_eq!(
        ops().matmul(&a, &b).unwrap_err().to_string(),
        format!("matmul of shapes [2, 3] and [4, 5]: {rule}")
    );
    let truth = ops().zeros(&[3, 2], DType::Bool).unwrap();
    let refused = ops().matmul(&truth, &truth.t().unwrap()).unwrap_err();
    assert!(matches!(refused, OpError::Type { operation: "matmul", .. }));
}

#[test]
fn gradients_of_products_are_products_summed_over_broadcasts() {
    let mut random = Random::new(9);
    let a = random.sample(&[2, 1, 5, 7], DType::F32, -1.0, 1.0);
    let b = random.sample(&[3, 7, 4], DType::F32, -1.0, 1.0);
    let g = random.sample(&[2, 3, 5, 4], DType::F32, -1.0, 1.0);
    let (of_a, of_b) = ops().matmul_backward(&a.tensor, &b.tensor, &g.tensor).unwrap();
    let sum = |shape: &[usize], f: &dyn Fn(&[usize]) -> f64| {
        positions(shape).iter().map(|p| f(p)).collect::<Vec<f64>>()
    };
    let expected = sum(&[2, 1, 5, 7], &|p| {
        positions(&[3, 4]).iter().map(|q| g.at(&[p[0], q[0], p[2], q[1]]) * b.at(&[q[0], p[3], q[1]])).sum()
    });
    assert_close("of a", &of_a, &expected, 1e-5, 1.0);
    let expected = sum(&[3, 7, 4], &|p| {
        positions(&[2, 5])
            .iter()
            .map(|q| g.at(&[q[0], p[0], q[1], p[2]]) * a.at(&[q[0], 0, q[1], p[1]]))
            .sum()
    });
    assert_close("of b", &of_b, &expected, 1e-5, 1.0);
}

#[test]
fn the_work_of_a_product_is_counted() {
    let own = Ops::new(ops().device()).unwrap().forced(Path::Own);
    let (a, b) = (own.zeros(&[10, 20], DType::F32).unwrap(), own.zeros(&[20, 30], DType::F32).unwrap());
    own.take_calls();
    own.matmul(&a, &b).unwrap();
    let call = own.take_calls()[0];
    assert_eq!((call.operation, call.path, call.work.flop), ("matmul", Path::Own, 2 * 10 * 20 * 30));
    assert_eq!(call.work.bytes, 4 * (200 + 600 + 300));
}
