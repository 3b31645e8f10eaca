//! Reductions, positions, running sums, softmax and norms against sums on the host in `f64`.

mod support;

use anymetal_tensor_ops::{DType, OpError, Reduction};
use proptest::prelude::*;
use support::{Random, Sample, assert_close, download, ops, positions, unit_error};

/// The elements of each line that a reduction takes together, in the order of the results.
fn lines(sample: &Sample, gone: &[usize]) -> Vec<Vec<f64>> {
    let kept: Vec<usize> =
        sample.shape().iter().enumerate().map(|(d, &n)| if gone.contains(&d) { 1 } else { n }).collect();
    let lines: Vec<usize> =
        sample.shape().iter().enumerate().map(|(d, &n)| if gone.contains(&d) { n } else { 1 }).collect();
    let line = |outer: &Vec<usize>| {
        let at =
            |inner: &Vec<usize>| sample.at(&outer.iter().zip(inner).map(|(a, b)| a + b).collect::<Vec<_>>());
        positions(&lines).iter().map(at).collect()
    };
    positions(&kept).iter().map(line).collect()
}

fn reference(reduction: Reduction, line: &[f64]) -> f64 {
    match reduction {
        Reduction::Sum => line.iter().sum(),
        Reduction::Mean => line.iter().sum::<f64>() / line.len() as f64,
        Reduction::Prod => line.iter().product(),
        Reduction::Min => line.iter().copied().fold(f64::INFINITY, f64::min),
        Reduction::Max => line.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Reduction::Any => f64::from(u8::from(line.iter().any(|&x| x != 0.0))),
        Reduction::All => f64::from(u8::from(line.iter().all(|&x| x != 0.0))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn reductions_are_over_the_axes_named(seed: u64, rank in 1usize..4, which in 0usize..7, dtype in 0usize..9) {
        let (mut random, reduction, dtype) = (Random::new(seed), Reduction::ALL[which], DType::ALL[dtype]);
        let mut shape = random.shape(rank, 9);
        // Often a long axis, for the kernels of rows.
        let long = random.below(rank);
        shape[long] = 1 + random.below(300);
        let bound = if reduction == Reduction::Prod { 1.2 } else { 60.0 };
        let sample = random.sample(&shape, dtype, -bound, bound);
        let mut gone: Vec<usize> = (0..rank).filter(|_| random.below(2) == 0).collect();
        if gone.is_empty() {
            gone = vec![random.below(rank)];
        }
        let over: Vec<isize> = gone.iter().map(|&axis| axis as isize - if random.below(2) == 0 { rank as isize } else { 0 }).collect();
        let keep = random.below(2) == 0;
        let result = ops().reduce(reduction, &sample.tensor, &over, keep).unwrap();
        let kept = (0..rank).filter(|axis| !gone.contains(axis)).map(|axis| shape[axis]);
        prop_assert!(keep || result.shape() == kept.collect::<Vec<_>>());
        let lines = lines(&sample, &gone);
        let expected: Vec<f64> = lines.iter().map(|line| reference(reduction, line)).collect();
        let scale = lines[0].len() as f64 * bound / 4.0;
        assert_close(reduction.name(), &result, &expected, 2.0 * unit_error(result.dtype()), scale);
    }

    #[test]
    fn positions_are_those_of_the_first_extreme(seed: u64, axis in 0usize..3, dtype in 1usize..9) {
        let mut random = Random::new(seed);
        let mut shape = random.shape(3, 9);
        shape[axis] = 1 + random.below(200);
        let sample = random.sample(&shape, DType::ALL[dtype], -20.0, 20.0);
        let lines = lines(&sample, &[axis]);
        let first = |line: &Vec<f64>, of: f64| line.iter().position(|&x| x == of).unwrap() as f64;
        let most: Vec<f64> = lines.iter().map(|line| first(line, reference(Reduction::Max, line))).collect();
        let least: Vec<f64> = lines.iter().map(|line| first(line, reference(Reduction::Min, line))).collect();
        assert_close("argmax", &ops().argmax(&sample.tensor, axis as isize, false).unwrap(), &most, 0.0, 0.0);
        assert_close("argmin", &ops().argmin(&sample.tensor, axis as isize, true).unwrap(), &least, 0.0, 0.0);
    }

    #[test]
    fn running_sums_and_products_go_along_the_axis(seed: u64, axis in 0usize..3, dtype in 1usize..9) {
        let (mut random, dtype) = (Random::new(seed), DType::ALL[dtype]);
        let mut shape = random.shape(3, 6);
        shape[axis] = 1 + random.below(140);
        let sample = random.sample(&shape, dtype, -1.2, 1.2);
        let running = |reduction: Reduction| {
            let at = |position: &Vec<usize>| {
                let mut position = position.clone();
                let line: Vec<f64> = (0..=position[axis]).map(|i| { position[axis] = i; sample.at(&position) }).collect();
                reference(reduction, &line)
            };
            positions(&shape).iter().map(at).collect::<Vec<f64>>()
        };
        let (error, along, x) = (4.0 * unit_error(dtype), axis as isize, &sample.tensor);
        assert_close("cumsum", &ops().cumsum(x, along).unwrap(), &running(Reduction::Sum), error, 40.0);
        assert_close("cumprod", &ops().cumprod(x, along).unwrap(), &running(Reduction::Prod), error, 40.0);
        assert_close("cummax", &ops().cummax(x, along).unwrap(), &running(Reduction::Max), 0.0, 0.0);
        assert_close("cummin", &ops().cummin(x, along).unwrap(), &running(Reduction::Min), 0.0, 0.0);
    }

    #[test]
    fn softmax_sums_to_one_and_its_gradient_is_its_slope(seed: u64, axis in 0usize..3, dtype in 6usize..9) {
        let (mut random, dtype) = (Random::new(seed), DType::ALL[dtype]);
        let mut shape = random.shape(3, 6);
        shape[axis] = 1 + random.below(150);
        let sample = random.sample(&shape, dtype, -8.0, 8.0);
        let along = axis as isize;
        let of = |position: &Vec<usize>| {
            let mut other = position.clone();
            let line: Vec<f64> = (0..shape[axis]).map(|i| { other[axis] = i; sample.at(&other) }).collect();
            let total: f64 = line.iter().map(|x| x.exp()).sum();
            sample.at(position) - total.ln()
        };
        let log: Vec<f64> = positions(&shape).iter().map(of).collect();
        let exp: Vec<f64> = log.iter().map(|x| x.exp()).collect();
        let error = 2.0 * unit_error(dtype) + 2e-6;
        assert_close("log_softmax", &ops().log_softmax(&sample.tensor, along).unwrap(), &log, error, 4.0);
        let y = ops().softmax(&sample.tensor, along).unwrap();
        assert_close("softmax", &y, &exp, error, 0.05);
        let g = random.sample(&shape, DType::F32, -1.0, 1.0);
        let weighted = |position: &Vec<usize>, f: &dyn Fn(usize) -> f64| {
            let mut other = position.clone();
            (0..shape[axis]).map(|i| { other[axis] = i; f(support::flat(&shape, &other)) }).sum::<f64>()
        };
        let slope: Vec<f64> = positions(&shape).iter().enumerate().map(|(i, position)| {
            exp[i] * (g.values[i] - weighted(position, &|j| exp[j] * g.values[j]))
        }).collect();
        let wide = ops().softmax(&ops().cast(&sample.tensor, DType::F32).unwrap(), along).unwrap();
        assert_close("softmax_backward", &ops().softmax_backward(&wide, &g.tensor, along).unwrap(), &slope, 1e-5, 1.0);
    }

    #[test]
    fn variance_and_logsumexp_are_their_definitions(seed: u64, axis in 0usize..2) {
        let mut random = Random::new(seed);
        let shape = [3 + random.below(90), 3 + random.below(90)];
        let sample = random.sample(&shape, DType::F32, 95.0, 105.0);
        let lines = lines(&sample, &[axis]);
        let variance = |line: &Vec<f64>| {
            let mean = line.iter().sum::<f64>() / line.len() as f64;
            line.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (line.len() - 1) as f64
        };
        let expected: Vec<f64> = lines.iter().map(variance).collect();
        assert_close("var", &ops().var(&sample.tensor, &[axis as isize], 1, false).unwrap(), &expected, 1e-4, 1.0);
        let log = |line: &Vec<f64>| line.iter().map(|x| (x - 100.0).exp()).sum::<f64>().ln() + 100.0;
        let expected: Vec<f64> = lines.iter().map(log).collect();
        assert_close("logsumexp", &ops().logsumexp(&sample.tensor, &[axis as isize], false).unwrap(), &expected, 1e-6, 1.0);
    }
}

#[test]
fn long_rows_are_reduced_in_parts() {
    let mut random = Random::new(3);
    let count = 100_003;
    for dtype in [DType::F32, DType::I32, DType::U8] {
        let values: Vec<f64> = (0..count).map(|_| random.number(dtype, -100.0, 100.0)).collect();
        let x = support::upload(&values, &[count], dtype);
        for reduction in Reduction::ALL.into_iter().filter(|reduction| *reduction != Reduction::Prod) {
            let expected = reference(reduction, &values);
            let result = ops().reduce(reduction, &x, &[], false).unwrap();
            assert_close(reduction.name(), &result, &[expected], 1e-5, 100.0 * 300.0);
        }
    }
}

#[test]
fn reductions_of_nothing_are_neutral_or_an_error() {
    let none = ops().zeros(&[2, 0], DType::F32).unwrap();
    assert_eq!(download(&ops().sum(&none, &[1], false).unwrap()), [0.0, 0.0]);
    assert_eq!(download(&ops().prod(&none, &[-1], false).unwrap()), [1.0, 1.0]);
    assert!(download(&ops().mean(&none, &[1], false).unwrap()).iter().all(|x| x.is_nan()));
    assert_eq!(download(&ops().all(&none, &[], false).unwrap()), [1.0]);
    let error = ops().max(&none, &[1], false).unwrap_err();
    assert_eq!(error.to_string(), "max of shapes [2, 0]: no elements have no extreme");
    assert_eq!(ops().sum(&none, &[0], false).unwrap().shape(), [0]);
    let twice = ops().sum(&none, &[0, -2], false).unwrap_err();
    assert!(matches!(&twice, OpError::Shape { rule, .. } if rule == "axis 0 is named twice"), "{twice}");
}

#[test]
fn sums_of_integers_wrap_and_extremes_prefer_nan() {
    let x = ops().tensor(&[i64::MAX, 1], &[2]).unwrap();
    assert_eq!(ops().sum(&x, &[], false).unwrap().item::<i64>().unwrap(), i64::MIN);
    let mut values = vec![1.0f32; 200];
    values[130] = f32::NAN;
    for x in
        [ops().tensor(&values, &[200]).unwrap(), ops().tensor(&values, &[200, 1]).unwrap().flip(0).unwrap()]
    {
        assert!(ops().max(&x, &[0], false).unwrap().to_vec::<f32>().unwrap()[0].is_nan());
        assert!(ops().min(&x, &[0], false).unwrap().to_vec::<f32>().unwrap()[0].is_nan());
        let place = ops().argmax(&x, 0, false).unwrap().to_vec::<u32>().unwrap()[0];
        assert!(place == 130 || place == 69, "{place}");
    }
    let infinite =
        ops().tensor(&[f32::INFINITY, 1.0, f32::NEG_INFINITY, f32::NEG_INFINITY], &[2, 2]).unwrap();
    let logs = ops().logsumexp(&infinite, &[1], false).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(logs, [f32::INFINITY, f32::NEG_INFINITY]);
}

#[test]
fn norms_are_their_definitions() {
    let mut random = Random::new(21);
    for (dtype, shape) in [(DType::F32, [4, 6, 70]), (DType::F16, [3, 6, 129]), (DType::BF16, [2, 6, 20])] {
        let x = random.sample(&shape, dtype, -2.0, 5.0);
        let [w, b] = [0, 1].map(|_| random.sample(&shape[2..], DType::F32, 0.5, 1.5));
        let normal = |line: &[f64], centred: bool| {
            let mean = if centred { line.iter().sum::<f64>() / line.len() as f64 } else { 0.0 };
            let variance = line.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / line.len() as f64;
            line.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect::<Vec<f64>>()
        };
        let rows = |centred: bool, bias: f64| {
            let row = |row: &[f64]| {
                let scaled = normal(row, centred).into_iter().enumerate();
                scaled.map(|(i, y)| y * w.values[i] + bias * b.values[i]).collect::<Vec<f64>>()
            };
            x.values.chunks(shape[2]).flat_map(row).collect::<Vec<f64>>()
        };
        let error = 2.0 * unit_error(dtype) + 4e-6;
        let layer = ops().layer_norm(&x.tensor, 1, Some(&w.tensor), Some(&b.tensor), 1e-5).unwrap();
        assert_close("layer_norm", &layer, &rows(true, 1.0), error, 2.0);
        let rms = ops().rms_norm(&x.tensor, 1, Some(&w.tensor), 1e-5).unwrap();
        assert_close("rms_norm", &rms, &rows(false, 0.0), error, 2.0);
        let group = ops().group_norm(&x.tensor, 3, None, None, 1e-5).unwrap();
        let groups: Vec<f64> = x.values.chunks(2 * shape[2]).flat_map(|group| normal(group, true)).collect();
        assert_close("group_norm", &group, &groups, error, 2.0);
    }
}

#[test]
fn logarithms_of_running_sums_of_exponentials() {
    let mut random = Random::new(31);
    for dtype in [DType::F32, DType::F16, DType::I32] {
        let x = random.sample(&[3, 40], dtype, -9.0, 9.0);
        for along in [0, 1] {
            let sum = |at: &[usize]| -> f64 {
                let before =
                    (0..=at[along]).map(|i| x.at(&if along == 0 { [i, at[1]] } else { [at[0], i] }).exp());
                before.sum::<f64>().ln()
            };
            let expected: Vec<f64> = positions(&[3, 40]).iter().map(|at| sum(at)).collect();
            let result = ops().logcumsumexp(&x.tensor, along as isize).unwrap();
            assert_close("logcumsumexp", &result, &expected, 2.0 * unit_error(dtype) + 1e-5, 1.0);
        }
    }
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = ops().tensor(&[-inf, -inf, 200.0, 200.0, inf, 1.0, nan, 0.0], &[8]).unwrap();
    let got = ops().logcumsumexp(&x, 0).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(got[..3], [-inf, -inf, 200.0]);
    assert!((got[3] - 200.0 - 2f32.ln()).abs() < 1e-4);
    assert_eq!(got[4..6], [inf, inf]);
    assert!(got[6].is_nan() && got[7].is_nan());
}
