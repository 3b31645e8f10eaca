//! Views, copies and tensors made of numbers, against index arithmetic on the host.

mod support;

use anymetal_tensor_ops::{DType, Generator, OpError, Tensor};
use proptest::prelude::*;
use support::{Random, assert_close, download, flat, ops, positions};

/// Whole numbers from 0 on.
fn counting(shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>();
    ops().tensor(&(0..count as i32).collect::<Vec<_>>(), shape).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec().unwrap()
}

#[test]
fn views_share_the_memory() {
    let x = counting(&[2, 3, 4]);
    let views = [
        x.transpose(0, 2).unwrap(),
        x.permute(&[1, 2, 0]).unwrap(),
        x.narrow(1, 1..3).unwrap(),
        x.flip(2).unwrap(),
        x.view(&[6, 4]).unwrap(),
        x.unsqueeze(1).unwrap(),
        x.select(0, 1).unwrap(),
        x.broadcast_to(&[5, 2, 3, 4]).unwrap(),
        x.flatten(0, 1).unwrap(),
    ];
    for view in views {
        assert!(view.buffer().is_same(x.buffer()), "{view:?}");
    }
}

#[test]
fn views_have_the_elements_that_they_say() {
    let x = counting(&[2, 3, 4]);
    let at = |[i, j, k]: [usize; 3]| (i * 12 + j * 4 + k) as i32;
    let transposed: Vec<i32> = positions(&[4, 3, 2]).iter().map(|p| at([p[2], p[1], p[0]])).collect();
    assert_eq!(elements(&x.transpose(0, -1).unwrap()), transposed);
    let permuted: Vec<i32> = positions(&[3, 4, 2]).iter().map(|p| at([p[2], p[0], p[1]])).collect();
    assert_eq!(elements(&x.permute(&[1, 2, 0]).unwrap()), permuted);
    assert_eq!(elements(&x.slice(2, 0..4, -2).unwrap().select(0, 1).unwrap()), [15, 13, 19, 17, 23, 21]);
    assert_eq!(elements(&x.slice(2, 1..4, 2).unwrap().select(1, 2).unwrap()), [9, 11, 21, 23]);
    assert_eq!(
        elements(&counting(&[2, 1]).broadcast_to(&[2, 2, 3]).unwrap()),
        [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    );
    assert!(elements(&x.narrow(0, 2..2).unwrap()).is_empty());
}

#[test]
fn a_view_of_a_transposed_tensor_needs_a_copy() {
    let x = counting(&[2, 3]).t().unwrap();
    assert!(matches!(x.view(&[6]), Err(OpError::Shape { operation: "view", .. })));
    assert_eq!(elements(&ops().reshape(&x, &[6]).unwrap()), [0, 3, 1, 4, 2, 5]);
    // Dimensions that stay together can be split and merged.
    let y = counting(&[2, 12]).t().unwrap().view(&[3, 4, 2]).unwrap();
    assert_eq!(y.strides(), [4, 1, 12]);
}

#[test]
fn mistakes_in_views_name_the_rule() {
    let x = counting(&[2, 3]);
    for (error, expected) in [
        (x.view(&[5]), "view of shapes [2, 3] and [5]: both must have as many elements"),
        (x.permute(&[0, 0]), "permute of shapes [2, 3]: the order [0, 0] must name each dimension once"),
        (x.narrow(1, 2..4), "slice of shapes [2, 3]: 2..4 must lie within the 3 elements of axis 1"),
        (x.transpose(0, 2), "transpose of shapes [2, 3]: axis 2 is not one of the 2 dimensions"),
        (x.squeeze(0), "squeeze of shapes [2, 3]: axis 0 must have one element"),
        (x.slice(0, 0..2, 0), "slice: the step must not be zero"),
    ] {
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
    let long = ops().zeros(&[1 << 20, 1 << 20], DType::U8).unwrap_err();
    assert_eq!(long.to_string(), "zeros of shapes [1048576, 1048576]: at most 2^31 - 1 elements are allowed");
    let wrong = x.to_vec::<f32>().unwrap_err();
    assert_eq!(wrong.to_string(), "to_vec of types I32: elements are read as their own type, not as f32");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn copies_and_reshapes_keep_the_order(seed: u64, rank in 0usize..6, dtype in 0usize..9) {
        let mut random = Random::new(seed);
        let shape = random.shape(rank, 7);
        let sample = random.sample(&shape, DType::ALL[dtype], -100.0, 100.0);
        assert_close("copy", &ops().copy(&sample.tensor).unwrap(), &sample.values, 0.0, 0.0);
        let line = ops().reshape(&sample.tensor, &[sample.values.len()]).unwrap();
        assert_close("reshape", &line, &sample.values, 0.0, 0.0);
    }

    #[test]
    fn large_transposed_copies_keep_the_order(seed: u64, dtype in 0usize..9) {
        let mut random = Random::new(seed);
        let shape = [1 + random.below(3), 1 + random.below(3), 33 + random.below(70), 33 + random.below(70)];
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| random.number(DType::ALL[dtype], -99.0, 99.0)).collect();
        let x = support::upload(&values, &shape, DType::ALL[dtype]);
        let order = [[1, 3, 0, 2], [0, 1, 3, 2], [3, 0, 1, 2], [3, 1, 0, 2]][random.below(4)];
        let y = x.permute(&order).unwrap();
        let at = |position: &Vec<usize>| {
            let mut own = [0; 4];
            order.iter().zip(position).for_each(|(&dimension, &i)| own[dimension] = i);
            values[flat(&shape, &own)]
        };
        let expected: Vec<f64> = positions(y.shape()).iter().map(at).collect();
        assert_close("copy", &ops().copy(&y).unwrap(), &expected, 0.0, 0.0);
    }

    #[test]
    fn joined_tensors_lie_one_after_the_other(seed: u64, axis in 0usize..3) {
        let mut random = Random::new(seed);
        let mut shapes = [random.shape(3, 9), vec![], vec![]];
        for i in 1..3 {
            shapes[i] = shapes[0].clone();
            shapes[i][axis] = random.below(9);
        }
        let shapes: Vec<_> = shapes.iter().filter(|shape| !shape.contains(&0)).collect();
        let samples: Vec<_> = shapes.iter().map(|shape| random.sample(shape, DType::F16, -9.0, 9.0)).collect();
        let joined = ops().concat(&samples.iter().map(|s| &s.tensor).collect::<Vec<_>>(), axis as isize).unwrap();
        let at = |position: &Vec<usize>| {
            let mut position = position.clone();
            for sample in &samples {
                if position[axis] < sample.shape()[axis] {
                    return sample.at(&position);
                }
                position[axis] -= sample.shape()[axis];
            }
            f64::NAN
        };
        let expected: Vec<f64> = positions(joined.shape()).iter().map(at).collect();
        assert_close("concat", &joined, &expected, 0.0, 0.0);
    }

    #[test]
    fn padding_surrounds(seed: u64) {
        let mut random = Random::new(seed);
        let shape = random.shape(2, 40);
        let sample = random.sample(&shape, DType::I32, -100.0, 100.0);
        let pads = [(random.below(3), random.below(3)), (random.below(3), random.below(3))];
        let padded = ops().pad(&sample.tensor, &pads, -7.0).unwrap();
        let at = |position: &Vec<usize>| {
            let inner: Vec<usize> = position.iter().zip(pads).map(|(i, (before, _))| i.wrapping_sub(before)).collect();
            let inside = inner.iter().zip(&shape).all(|(i, extent)| i < extent);
            if inside { sample.at(&inner) } else { -7.0 }
        };
        let expected: Vec<f64> = positions(padded.shape()).iter().map(at).collect();
        assert_close("pad", &padded, &expected, 0.0, 0.0);
    }

    #[test]
    fn triangles_end_at_their_diagonal(seed: u64, diagonal in -6i32..7) {
        let mut random = Random::new(seed);
        let shape = random.shape(3, 9);
        let sample = random.sample(&shape, DType::F32, -9.0, 9.0);
        for lower in [true, false] {
            let at = |position: &Vec<usize>| {
                let distance = position[2] as i32 - position[1] as i32;
                let kept = if lower { distance <= diagonal } else { distance >= diagonal };
                if kept { sample.at(position) } else { 0.0 }
            };
            let expected: Vec<f64> = positions(&shape).iter().map(at).collect();
            let x = &sample.tensor;
            let got = if lower { ops().tril(x, diagonal) } else { ops().triu(x, diagonal) };
            assert_close("triangle", &got.unwrap(), &expected, 0.0, 0.0);
        }
    }
}

#[test]
fn sequences_and_constants_are_exact() {
    assert_eq!(elements(&ops().arange(4, 5.0, -3.0, DType::I32).unwrap()), [5, 2, -1, -4]);
    assert_eq!(download(&ops().arange(3, 0.5, 0.25, DType::F16).unwrap()), [0.5, 0.75, 1.0]);
    assert_eq!(download(&ops().eye(2, DType::BF16).unwrap()), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(download(&ops().full(&[2], i64::MAX).unwrap()), [i64::MAX as f64; 2]);
    assert!(matches!(ops().arange(3, 0.5, 1.0, DType::I32), Err(OpError::Type { operation: "arange", .. })));
    let hot = ops().one_hot(&ops().tensor(&[1u8, 3, 0], &[3]).unwrap(), 3, DType::F32).unwrap();
    assert_eq!(download(&hot), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let x = counting(&[5]);
    assert_eq!(elements(&ops().roll(&x, -2, 0).unwrap()), [2, 3, 4, 0, 1]);
    assert_eq!(elements(&ops().roll(&x, 6, 0).unwrap()), [4, 0, 1, 2, 3]);
    let stacked = ops().stack(&[&x, &x], 1).unwrap();
    assert_eq!((stacked.shape(), flat(&[5, 2], &[3, 1])), (&[5, 2][..], 7));
    assert_eq!(elements(&stacked)[7], 3);
}

/// Philox 4x32-10 on the host, as the paper has it.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let product0 = u64::from(counter[0]) * 0xD251_1F53;
        let product1 = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (product1 >> 32) as u32 ^ counter[1] ^ key[0],
            product1 as u32,
            (product0 >> 32) as u32 ^ counter[3] ^ key[1],
            product0 as u32,
        ];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

#[test]
fn random_numbers_are_philoxs_and_go_on() {
    // The known answers of the paper's authors for counter and key of zeros.
    assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    let seed = 0x1234_5678_9abc_def0u64;
    let generator = Generator::new(ops(), seed);
    let first = generator.uniform(&[6], 0.0, 1.0, DType::F32).unwrap().to_vec::<f32>().unwrap();
    let second = generator.uniform(&[3], 0.0, 1.0, DType::F32).unwrap().to_vec::<f32>().unwrap();
    let block = |i: u32| {
        philox([i, 0, 0, 0], [seed as u32, (seed >> 32) as u32]).map(|x| (x >> 8) as f32 * 2f32.powi(-24))
    };
    assert_eq!(first, [&block(0)[..], &block(1)[..2]].concat());
    assert_eq!(second, block(2)[..3]);
}

#[test]
fn random_numbers_have_their_distributions() {
    let generator = Generator::new(ops(), 5);
    let moments = |tensor: &Tensor| {
        let values = download(tensor);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64)
    };
    let (mean, variance) = moments(&generator.normal(&[40000], 3.0, 2.0, DType::F32).unwrap());
    assert!((mean - 3.0).abs() < 0.05 && (variance - 4.0).abs() < 0.15, "{mean} {variance}");
    let (mean, variance) = moments(&generator.uniform(&[40000], -1.0, 1.0, DType::F32).unwrap());
    assert!(mean.abs() < 0.02 && (variance - 1.0 / 3.0).abs() < 0.02, "{mean} {variance}");
    let (mean, _) = moments(&generator.bernoulli(&[40000], 0.3, DType::U8).unwrap());
    assert!((mean - 0.3).abs() < 0.02, "{mean}");
    let dice = download(&generator.integers(&[40000], -2, 4, DType::I8).unwrap());
    for face in -2..4 {
        let share = dice.iter().filter(|&&x| x == f64::from(face)).count() as f64 / 40000.0;
        assert!((share - 1.0 / 6.0).abs() < 0.02, "{face}: {share}");
    }
}
