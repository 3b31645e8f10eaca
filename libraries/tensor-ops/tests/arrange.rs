//! Arrangements, choices by conditions, joined scatters, losses, gradients of attention: beside plain loops.

mod support;

use anymetal_tensor_ops::{AttentionOptions, DType, OpError, PadMode, ScatterReduction, Tensor};
use support::{Random, assert_close, download, flat, ops, positions, upload};

/// The place that padding takes an element from.
fn source(mode: PadMode, at: usize, before: usize, extent: usize) -> usize {
    let (at, last) = (at as isize - before as isize, extent as isize - 1);
    let place = match mode {
        PadMode::Replicate => at.clamp(0, last),
        PadMode::Reflect if at < 0 => -at,
        PadMode::Reflect if at > last => 2 * last - at,
        PadMode::Reflect => at,
    };
    place as usize
}

#[test]
fn padding_takes_from_the_tensor_and_gradients_go_back() {
    let mut random = Random::new(1);
    for (mode, pads) in [
        (PadMode::Reflect, [(2, 0), (0, 0), (3, 4)]),
        (PadMode::Replicate, [(0, 3), (1, 2), (0, 0)]),
        (PadMode::Reflect, [(0, 2), (1, 1), (1, 0)]),
    ] {
        let shape = [3, 2, 5];
        let x = random.sample(&shape, DType::F32, -2.0, 2.0);
        let padded: Vec<usize> =
            shape.iter().zip(pads).map(|(n, (before, after))| n + before + after).collect();
        let from = |position: &Vec<usize>| -> Vec<usize> {
            (0..3).map(|d| source(mode, position[d], pads[d].0, shape[d])).collect()
        };
        let expected: Vec<f64> = positions(&padded).iter().map(|position| x.at(&from(position))).collect();
        let result = ops().pad_with(&x.tensor, &pads, mode).unwrap();
        assert_close("pad_with", &result, &expected, 0.0, 0.0);
        let g = random.sample(&padded, DType::F32, -2.0, 2.0);
        let mut back = vec![0.0; 30];
        for position in positions(&padded) {
            back[flat(&shape, &from(&position))] += g.at(&position);
        }
        let result = ops().pad_with_backward(&g.tensor, &pads, mode).unwrap();
        assert_close("pad_with_backward", &result, &back, 1e-6, 1.0);
    }
    let x = upload(&[1.0, 2.0], &[2], DType::F32);
    let refused = ops().pad_with(&x, &[(2, 0)], PadMode::Reflect);
    assert!(matches!(refused, Err(OpError::Shape { operation: "pad_with", .. })));
}

#[test]
fn repetitions_and_diagonals() {
    let mut random = Random::new(2);
    let x = random.sample(&[3, 4], DType::I32, -50.0, 50.0);
    for counts in [&[2, 3][..], &[1, 1], &[2, 1, 3], &[0, 2], &[3, 1, 1, 1]] {
        let shape: Vec<usize> = [&vec![1; counts.len() - 2][..], &[3, 4]].concat();
        let wanted: Vec<usize> = shape.iter().zip(counts).map(|(n, count)| n * count).collect();
        let result = ops().repeat(&x.tensor, counts).unwrap();
        assert_eq!(result.shape(), wanted);
        let last = counts.len() - 2;
        let expected: Vec<f64> =
            positions(&wanted).iter().map(|at| x.at(&[at[last] % 3, at[last + 1] % 4])).collect();
        assert_eq!(download(&result), expected);
    }
    assert!(ops().repeat(&x.tensor, &[2]).is_err());
    for k in [-4, -2, 0, 1, 3, 9] {
        let on = |at: &Vec<usize>| at[1] as isize - at[0] as isize == k;
        let expected: Vec<f64> = positions(&[3, 4]).iter().filter(|at| on(at)).map(|at| x.at(at)).collect();
        assert_eq!(download(&ops().diag(&x.tensor, k).unwrap()), expected, "diagonal {k}");
        let line = random.sample(&[3], DType::F16, -2.0, 2.0);
        let matrix = ops().diag(&line.tensor, k).unwrap();
        let size = 3 + k.unsigned_abs();
        assert_eq!(matrix.shape(), [size, size]);
        let below = (-k).max(0) as usize;
        let expected: Vec<f64> = positions(&[size, size])
            .iter()
            .map(|at| if on(at) { line.values[at[0] - below] } else { 0.0 })
            .collect();
        assert_eq!(download(&matrix), expected);
    }
}

#[test]
fn what_is_not_zero_is_found_in_order() {
    let mut random = Random::new(3);
    for shape in [&[2, 3, 7][..], &[300], &[], &[4, 0]] {
        let x = random.sample(shape, DType::I8, -1.0, 1.0);
        let found: Vec<Vec<usize>> =
            positions(shape).into_iter().filter(|position| x.at(position) != 0.0).collect();
        let result = ops().nonzero(&x.tensor).unwrap();
        assert_eq!(result.shape(), [found.len(), shape.len()]);
        let expected: Vec<f64> = found.iter().flatten().map(|&i| i as f64).collect();
        assert_eq!(download(&result), expected);
    }
    let (x, mask) =
        (random.sample(&[5, 6], DType::F32, -1.0, 1.0), random.sample(&[6], DType::Bool, 0.0, 1.0));
    let chosen = positions(&[5, 6]).into_iter().filter(|position| mask.broadcast_at(position) != 0.0);
    let expected: Vec<f64> = chosen.map(|position| x.at(&position)).collect();
    assert_eq!(download(&ops().masked_select(&x.tensor, &mask.tensor).unwrap()), expected);
    let none = ops().masked_select(&x.tensor, &ops().scalar(false).unwrap()).unwrap();
    assert_eq!(none.shape(), [0]);
    assert!(ops().masked_select(&x.tensor, &x.tensor).is_err());
}

#[test]
fn scattered_elements_are_joined() {
    let mut random = Random::new(4);
    for reduction in ScatterReduction::ALL {
        for dtype in [DType::F32, DType::I32, DType::I8] {
            let x = random.sample(&[4, 5], dtype, -3.0, 3.0);
            let source = random.sample(&[7, 5], dtype, -3.0, 3.0);
            let indices = random.sample(&[7, 5], DType::I32, -0.49, 3.49);
            let mut expected = x.values.clone();
            for position in positions(&[7, 5]) {
                let place = indices.at(&position) as usize * 5 + position[1];
                let (old, new) = (expected[place], source.at(&position));
                expected[place] = match reduction {
                    ScatterReduction::Sum => old + new,
                    ScatterReduction::Prod => old * new,
                    ScatterReduction::Min => old.min(new),
                    ScatterReduction::Max => old.max(new),
                };
                if dtype == DType::I8 {
                    expected[place] = f64::from(expected[place] as i64 as i8);
                }
            }
            let result =
                ops().scatter_reduce(reduction, &x.tensor, 0, &indices.tensor, &source.tensor).unwrap();
            assert_close(&format!("{reduction:?} {dtype}"), &result, &expected, 1e-5, 0.0);
        }
    }
    let nan = upload(&[f64::NAN, 1.0], &[2], DType::F32);
    let place = upload(&[0.0, 0.0], &[2], DType::I32);
    let result = ops().scatter_reduce(ScatterReduction::Max, &nan.narrow(0, 1..2).unwrap(), 0, &place, &nan);
    assert!(download(&result.unwrap())[0].is_nan());
}

/// The slope of a sum of results times a gradient, by central differences.
fn slopes(x: &Tensor, of: impl Fn(&Tensor) -> f64) -> Vec<f64> {
    let (values, step) = (download(x), 0.05);
    let moved = |i: usize, by: f64| {
        let mut values = values.clone();
        values[i] += by;
        of(&upload(&values, x.shape(), DType::F32))
    };
    (0..values.len()).map(|i| (moved(i, step) - moved(i, -step)) / (2.0 * step)).collect()
}

#[test]
fn cross_entropy_and_its_gradient() {
    let mut random = Random::new(5);
    let (x, classes) =
        (random.sample(&[3, 4], DType::F32, -1.0, 1.0), upload(&[2.0, 0.0, 3.0], &[3], DType::I64));
    let loss = |x: &Tensor| ops().cross_entropy(x, &classes).unwrap();
    let row = |r: usize| {
        let sum: f64 = (0..4).map(|c| x.at(&[r, c]).exp()).sum();
        sum.ln() - x.at(&[r, [2, 0, 3][r]])
    };
    assert_close("cross_entropy", &loss(&x.tensor), &[(row(0) + row(1) + row(2)) / 3.0], 1e-5, 1.0);
    let gradient = ops().scalar(2.0f32).unwrap();
    let result = ops().cross_entropy_backward(&x.tensor, &classes, &gradient).unwrap();
    let expected = slopes(&x.tensor, |x| 2.0 * download(&loss(x))[0]);
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 2e-3;
    assert!(download(&result).iter().zip(&expected).all(near), "{expected:?}");
    // A context of its own: whichever thread waits first is given the error.
    let own = anymetal_tensor_ops::Ops::new(ops().device()).unwrap();
    let (scores, classes) =
        (own.zeros(&[3, 4], DType::F32).unwrap(), own.tensor(&[0i64, 4, 0], &[3]).unwrap());
    let error = own.cross_entropy(&scores, &classes).unwrap().item::<f32>();
    assert!(matches!(error, Err(OpError::IndexOutOfRange { index: 4, .. })));
}

#[test]
fn gradients_of_attention_are_its_slopes() {
    let mut random = Random::new(6);
    let mut sample = |shape: &[usize]| random.sample(shape, DType::F32, -1.0, 1.0).tensor;
    let (q, k, v) = (sample(&[1, 2, 3, 4]), sample(&[1, 1, 3, 4]), sample(&[1, 1, 3, 2]));
    let g = sample(&[1, 2, 3, 2]);
    let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
    let loss = |q: &Tensor, k: &Tensor, v: &Tensor| {
        let y = download(&ops().attention(q, k, v, &options).unwrap());
        y.iter().zip(download(&g)).map(|(y, g)| y * g).sum::<f64>()
    };
    let (of_q, of_k, of_v) = ops().attention_backward(&q, &k, &v, &g, &options).unwrap();
    let all = [
        (of_q, slopes(&q, |q| loss(q, &k, &v))),
        (of_k, slopes(&k, |k| loss(&q, k, &v))),
        (of_v, slopes(&v, |v| loss(&q, &k, v))),
    ];
    for (got, expected) in all {
        for (got, expected) in download(&got).iter().zip(&expected) {
            assert!((got - expected).abs() < 2e-3, "{got} instead of {expected}");
        }
    }
    assert!(ops().attention_backward(&q, &k, &v, &q, &options).is_err());
}
