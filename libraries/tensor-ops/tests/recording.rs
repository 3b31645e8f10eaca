//! Recordings: replays beside the same calls made one by one.

mod support;

use anymetal_tensor_ops::{
    Activation, BinaryOp, Comparison, ConvOptions, DType, Generator, OpError, Ops, Path, PoolOptions,
    Reduction, Tensor, UnaryOp,
};
use support::{Random, download, ops, upload};

/// Recordings make products by own kernels.
fn own() -> Ops {
    ops().forced(Path::Own)
}

#[track_caller]
fn assert_same(what: &str, got: &Tensor, expected: &Tensor) {
    assert_eq!((got.shape(), got.dtype()), (expected.shape(), expected.dtype()), "{what}");
    let (got, expected) = (download(got), download(expected));
    for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
        let same = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
        assert!(same, "{what}: element {i} is {got}, not {expected}");
    }
}

/// What `body` gives for each set of inputs, recorded and called.
fn compare(
    what: &str,
    sets: &[Vec<Tensor>],
    body: impl Fn(&Ops, &[Tensor]) -> Result<Vec<Tensor>, OpError>,
) -> Vec<String> {
    let ops = own();
    let first: Vec<&Tensor> = sets[0].iter().collect();
    let mut recording = ops.record(what, &first, &body).unwrap();
    for set in sets {
        let expected = body(&ops, set).unwrap();
        let got = recording.replay(&set.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(&expected) {
            assert_same(what, got, expected);
        }
    }
    recording.kernels().to_vec()
}

fn samples(random: &mut Random, shapes: &[&[usize]], dtype: DType) -> Vec<Tensor> {
    shapes.iter().map(|shape| random.sample(shape, dtype, -2.0, 2.0).tensor).collect()
}

fn sets(seed: u64, shapes: &[&[usize]], dtype: DType) -> Vec<Vec<Tensor>> {
    let mut random = Random::new(seed);
    (0..3).map(|_| samples(&mut random, shapes, dtype)).collect()
}

#[test]
fn a_chain_is_one_kernel() {
    let sets = sets(1, &[&[17, 40], &[40]], DType::F32);
    let kernels = compare("chain", &sets, |ops, inputs| {
        let y = ops.add(&inputs[0], &inputs[1])?;
        let y = ops.gelu(&ops.mul(&y, &ops.scalar(1.5f32)?)?)?;
        let y = ops.clamp(&ops.sub(&y, &inputs[0])?, -1.0, 2.0)?;
        let positive = ops.compare(Comparison::Gt, &y, &ops.scalar(0.0f32)?)?;
        Ok(vec![ops.where_(&positive, &ops.sqrt(&y)?, &ops.affine(&y, 2.0, 0.25)?)?])
    });
    assert_eq!(kernels, ["add + mul + gelu + sub + clamp + compare + sqrt + affine + where"]);
}

#[test]
fn products_are_not_contracted_to_one_rounding() {
    // a * b + c is not fma(a, b, c) for these.
    let [a, b, c] = [1.0 + 2f64.powi(-12), 1.0 - 2f64.powi(-12), -1.0];
    let inputs =
        vec![upload(&[a], &[1], DType::F32), upload(&[b], &[1], DType::F32), upload(&[c], &[1], DType::F32)];
    let kernels = compare("a * b + c", &[inputs], |ops, inputs| {
        Ok(vec![ops.add(&ops.mul(&inputs[0], &inputs[1])?, &inputs[2])?])
    });
    assert_eq!(kernels, ["mul + add"]);
}

#[test]
fn narrow_types_are_rounded_between() {
    for dtype in [DType::F16, DType::BF16] {
        let kernels = compare("narrow", &sets(2, &[&[300], &[300]], dtype), |ops, inputs| {
            let y = ops.mul(&ops.exp(&inputs[0])?, &inputs[1])?;
            Ok(vec![ops.sub(&ops.sin(&y)?, &inputs[0])?])
        });
        assert_eq!(kernels.len(), 1);
    }
}

#[test]
fn integers_of_several_types_wrap_in_one_kernel() {
    let mut random = Random::new(3);
    let mut set = || {
        vec![
            random.sample(&[5, 7], DType::I8, -128.0, 127.0).tensor,
            random.sample(&[5, 7], DType::I32, -2e9, 2e9).tensor,
        ]
    };
    let kernels = compare("integers", &[set(), set()], |ops, inputs| {
        let narrow = ops.mul(&inputs[0], &inputs[0])?;
        let wide = ops.add(&ops.mul(&inputs[1], &inputs[1])?, &narrow)?;
        let float = ops.cast(&wide, DType::F32)?;
        Ok(vec![ops.cast(&ops.div(&float, &ops.scalar(3.0f32)?)?, DType::I64)?, narrow])
    });
    assert_eq!(kernels.len(), 1);
}

/// One random elementwise operation over tensors that are there.
fn random_step(random: &mut Random, ops: &Ops, known: &[Tensor]) -> Result<Tensor, OpError> {
    let pick = |random: &mut Random| known[random.below(known.len())].clone();
    let (a, b, c) = (pick(random), pick(random), pick(random));
    let float =
        |ops: &Ops, x: &Tensor| if x.dtype().is_float() { Ok(x.clone()) } else { ops.cast(x, DType::F32) };
    match random.below(9) {
        0 => ops.unary(UnaryOp::ALL[4 + 1 + random.below(UnaryOp::ALL.len() - 5)], &a),
        1 | 2 => {
            let op = BinaryOp::ALL[random.below(8)];
            let number =
                |x: &Tensor| if x.dtype() == DType::Bool { ops.cast(x, DType::U8) } else { Ok(x.clone()) };
            ops.binary(op, &number(&a)?, &number(&b)?)
        }
        3 => ops.activation(Activation::ALL[random.below(Activation::ALL.len())], &a),
        4 => ops.cast(&a, [DType::F32, DType::F16, DType::BF16, DType::I32, DType::U8][random.below(5)]),
        5 => ops.compare(Comparison::ALL[random.below(Comparison::ALL.len())], &a, &b),
        6 => ops.where_(&ops.cast(&a, DType::Bool)?, &b, &c),
        7 => ops.fma(&float(ops, &a)?, &float(ops, &b)?, &float(ops, &c)?),
        _ => ops.neg(&float(ops, &a)?.flip(-1)?),
    }
}

#[test]
fn random_programs_are_what_their_calls_are() {
    for seed in 0..6 {
        let mut random = Random::new(100 + seed);
        let shape = random.shape(1 + (seed as usize % 3), 40);
        let row = random.broadcastable(&shape);
        let mut set = || {
            vec![
                random.sample(&shape, DType::F32, -3.0, 3.0).tensor,
                random.sample(&row, DType::F16, -3.0, 3.0).tensor,
                random.sample(&shape, DType::I32, -50.0, 50.0).tensor,
            ]
        };
        let sets = [set(), set()];
        compare(&format!("seed {seed}"), &sets, |ops, inputs| {
            let mut random = Random::new(seed);
            let mut known: Vec<Tensor> =
                inputs.iter().map(|input| input.broadcast_to(&shape)).collect::<Result<_, _>>()?;
            for _ in 0..12 {
                let next = random_step(&mut random, ops, &known)?;
                known.push(next);
            }
            // The last one, one in the middle, and a reduction of one.
            let sum = ops.reduce(Reduction::Max, &ops.cast(&known[10], DType::F32)?, &[], false)?;
            Ok(vec![known[14].clone(), known[6].clone(), sum])
        });
    }
}

#[test]
fn a_network_and_its_gradients() {
    let shapes: [&[usize]; 4] = [&[2, 3, 12, 12], &[4, 3, 3, 3], &[4 * 6 * 6, 10], &[10]];
    compare("network", &sets(5, &shapes, DType::F32), |ops, inputs| {
        let [image, filters, weight, bias] = inputs else { unreachable!() };
        let same = ConvOptions { padding: [1, 1], ..ConvOptions::default() };
        let y = ops.conv2d(image, filters, None, &same)?;
        let (pooled, _) = ops.max_pool2d(&ops.relu(&y)?, &PoolOptions::new([2, 2]))?;
        let flat = ops.reshape(&pooled, &[2, 4 * 6 * 6])?;
        let logits = ops.add(&ops.matmul(&flat, weight)?, bias)?;
        let chances = ops.softmax(&logits, -1)?;
        let back = ops.softmax_backward(&chances, &logits, -1)?;
        let sorted = ops.sort(&logits, 1, true)?;
        Ok(vec![chances, ops.matmul(&flat.t()?, &back)?, sorted, ops.sum(&back, &[0], false)?])
    });
}

#[test]
fn views_inputs_and_constants_are_outputs_too() {
    let sets = sets(6, &[&[4, 6], &[4, 1]], DType::F32);
    compare("views", &sets, |ops, inputs| {
        let y = ops.add(&inputs[0], &inputs[1])?;
        let joined = ops.concat(&[&y, &inputs[0]], 0)?;
        Ok(vec![
            inputs[0].t()?.narrow(0, 1..3)?,
            y.t()?,
            joined.narrow(0, 2..6)?,
            ops.scalar(7.0f32)?,
            ops.neg(&joined)?,
        ])
    });
}

#[test]
fn tensors_without_elements() {
    let none = || vec![ops().tensor(&[0.0f32; 0], &[0, 3]).unwrap()];
    compare("none", &[none(), none()], |ops, inputs| {
        let y = ops.relu(&inputs[0])?;
        Ok(vec![ops.sum(&y, &[0], false)?, y])
    });
}

#[test]
fn tensors_that_outlive_the_recording_are_kept() {
    let (ops, mut kept) = (own(), None);
    let x = ops.tensor(&[1.0f32, -2.0], &[2]).unwrap();
    let mut recording = ops
        .record("kept", &[&x], |ops, inputs| {
            let doubled = ops.add(&inputs[0], &inputs[0])?;
            kept = Some(doubled.clone());
            Ok(vec![ops.relu(&doubled)?])
        })
        .unwrap();
    let outputs = recording.replay(&[&x]).unwrap();
    assert_eq!(outputs[0].to_vec::<f32>().unwrap(), [2.0, 0.0]);
    assert_eq!(kept.unwrap().to_vec::<f32>().unwrap(), [2.0, -4.0]);
}

#[test]
fn outputs_that_are_held_keep_their_elements() {
    let ops = own();
    let (x, y) = (ops.tensor(&[1.0f32], &[1]).unwrap(), ops.tensor(&[5.0f32], &[1]).unwrap());
    let mut recording = ops.record("held", &[&x], |ops, inputs| Ok(vec![ops.neg(&inputs[0])?])).unwrap();
    let first = recording.replay(&[&x]).unwrap();
    let second = recording.replay(&[&y]).unwrap();
    // Its own output as its input.
    let third = recording.replay(&[&second[0]]).unwrap();
    let all = [&first, &second, &third].map(|outputs| outputs[0].item::<f32>().unwrap());
    assert_eq!(all, [-1.0, -5.0, 5.0]);
    drop((first, second, third));
    let mut last = recording.replay(&[&x]).unwrap().remove(0);
    for _ in 0..9 {
        last = recording.replay(&[&last]).unwrap().remove(0);
    }
    assert_eq!(last.item::<f32>().unwrap(), 1.0);
}

#[test]
fn constants_are_read_anew() {
    let ops = own();
    let buffer = ops.device().buffer(&[10.0f32]).unwrap();
    let (x, constant) = (ops.tensor(&[1.0f32], &[1]).unwrap(), ops.from_buffer(&buffer, &[1]).unwrap());
    let mut recording =
        ops.record("constant", &[&x], |ops, inputs| Ok(vec![ops.add(&inputs[0], &constant)?])).unwrap();
    assert_eq!(recording.replay(&[&x]).unwrap()[0].item::<f32>().unwrap(), 11.0);
    buffer.write(&[20.0]).unwrap();
    assert_eq!(recording.replay(&[&x]).unwrap()[0].item::<f32>().unwrap(), 21.0);
}

#[test]
fn random_numbers_go_on() {
    let ops = own();
    let (generator, expected) = (Generator::new(&ops, 11), Generator::new(&ops, 11));
    let noise = |generator: &Generator| generator.normal(&[33], 0.0, 1.0, DType::F32);
    let first = noise(&generator).unwrap();
    let mut recording = ops
        .record("noise", &[], |ops, _| {
            let generator = generator.within(ops);
            Ok(vec![noise(&generator)?, generator.integers(&[9], 0, 100, DType::I32)?])
        })
        .unwrap();
    assert_same("before", &first, &noise(&expected).unwrap());
    for _ in 0..3 {
        let outputs = recording.replay(&[]).unwrap();
        assert_same("numbers", &outputs[0], &noise(&expected).unwrap());
        assert_same("integers", &outputs[1], &expected.integers(&[9], 0, 100, DType::I32).unwrap());
    }
    assert_same("after", &noise(&generator).unwrap(), &noise(&expected).unwrap());
}

#[test]
fn indices_are_checked_in_each_replay() {
    let ops = Ops::new(ops().device()).unwrap();
    let table = ops.tensor(&[1.0f32, 2.0, 3.0], &[3]).unwrap();
    let indices = |index: i32| ops.tensor(&[0, index], &[2]).unwrap();
    let mut recording = ops
        .record("rows", &[&indices(0)], |ops, inputs| Ok(vec![ops.index_select(&table, 0, &inputs[0])?]))
        .unwrap();
    let mut rows = |index: i32| recording.replay(&[&indices(index)]).unwrap().remove(0).to_vec::<f32>();
    assert_eq!(rows(2).unwrap(), [1.0, 3.0]);
    let error = rows(3).unwrap_err();
    assert!(matches!(error, OpError::IndexOutOfRange { index: 3, element: 1, length: 3, .. }), "{error}");
    assert_eq!(rows(1).unwrap(), [1.0, 2.0]);
    // A good replay after a bad one does not hide it.
    let bad = recording.replay(&[&indices(-1)]).unwrap();
    let good = recording.replay(&[&indices(1)]).unwrap();
    assert!(matches!(ops.wait(), Err(OpError::IndexOutOfRange { index: -1, .. })));
    assert_eq!(good[0].to_vec::<f32>().unwrap(), [1.0, 2.0]);
    drop(bad);
}

#[test]
fn what_does_not_go_is_refused() {
    let ops = own();
    let (x, long) = (ops.tensor(&[1.0f32, 2.0], &[2]).unwrap(), ops.tensor(&[1.0f32; 3], &[3]).unwrap());
    let integers = ops.tensor(&[1i32, 2], &[2]).unwrap();
    let mut recording = ops.record("plain", &[&x], |ops, inputs| Ok(vec![ops.exp(&inputs[0])?])).unwrap();
    assert!(matches!(recording.replay(&[&long]), Err(OpError::Shape { operation: "replay", .. })));
    assert!(matches!(recording.replay(&[&integers]), Err(OpError::Type { operation: "replay", .. })));
    assert!(matches!(recording.replay(&[]), Err(OpError::Argument { operation: "replay", .. })));

    let read = ops.record("read", &[&x], |_, inputs| inputs[0].to_vec::<f32>().map(|_| Vec::new()));
    assert!(matches!(read, Err(OpError::Recording { operation: "to_vec", .. })));
    let unique = ops.record("unique", &[&x], |ops, inputs| ops.unique(&inputs[0]).map(|(x, _)| vec![x]));
    assert!(matches!(unique, Err(OpError::Recording { .. })));
    let nested = ops.record("outer", &[&x], |inner, inputs| {
        inner.record("inner", &[&inputs[0]], |_, inputs| Ok(inputs.to_vec())).map(|_| Vec::new())
    });
    assert!(matches!(nested, Err(OpError::Recording { operation: "record", .. })));
    // Calls of the outer context with tensors that have no elements yet.
    let outer = ops.record("outer", &[&x], |_, inputs| Ok(vec![ops.exp(&inputs[0])?]));
    assert!(matches!(outer, Err(OpError::Recording { .. })));
    let product = ops.record("outer", &[&long], |inner, inputs| {
        Ok(vec![support::ops().matmul(&inner.neg(&inputs[0])?, &inputs[0])?])
    });
    assert!(matches!(product, Err(OpError::Recording { .. })));
    let replayed = ops.record("outer", &[&x], |inner, inputs| recording.replay(&[&inner.exp(&inputs[0])?]));
    assert!(matches!(replayed, Err(OpError::Recording { .. })));
    // All of that has left nothing behind.
    assert_eq!(ops.neg(&x).unwrap().to_vec::<f32>().unwrap(), [-1.0, -2.0]);
}

#[test]
fn the_work_of_replays_is_counted() {
    let ops = Ops::new(ops().device()).unwrap();
    let x = ops.tensor(&[1.0f32; 100], &[100]).unwrap();
    let mut recording = ops
        .record("work", &[&x], |ops, inputs| {
            let y = ops.add(&inputs[0], &inputs[0])?;
            Ok(vec![ops.sum(&ops.mul(&y, &y)?, &[], false)?])
        })
        .unwrap();
    assert_eq!(ops.total_work().flop, 0);
    recording.replay(&[&x]).unwrap();
    recording.replay(&[&x]).unwrap();
    // Two elementwise operations that read `x` and write the products, and the sum.
    let calls = ops.take_calls();
    assert_eq!(calls.len(), 4);
    assert_eq!(ops.total_work().flop, 2 * 300);
    assert_eq!(ops.total_work().bytes, 2 * (800 + 404));
}
