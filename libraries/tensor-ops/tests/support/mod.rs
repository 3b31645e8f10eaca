//! What the tests of all families share: random tensors with their elements on the host,
//! comparisons.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::sync::OnceLock;

use anymetal_hal::split_mix::SplitMix64;
use anymetal_tensor_ops::{DType, Element, Ops, Shaping, Tensor, bf16, f16};

/// One context for all tests of a program, so that pipelines are made once.
pub(crate) fn ops() -> &'static Ops {
    ops_on(|| anymetal::Device::system_default().unwrap())
}

/// The same, on that device if it is the first call. `ANYMETAL_TEST_SHAPING=gpu`: with kernels for GPUs.
pub(crate) fn ops_on(device: impl FnOnce() -> anymetal::Device) -> &'static Ops {
    static OPS: OnceLock<Ops> = OnceLock::new();
    OPS.get_or_init(|| {
        let ops = Ops::new(&device()).unwrap();
        match std::env::var("ANYMETAL_TEST_SHAPING").as_deref() {
            Ok("gpu") => ops.shaped(Shaping::Gpu),
            _ => ops,
        }
    })
}

/// A tensor and its elements in row-major order.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) tensor: Tensor,
    pub(crate) values: Vec<f64>,
}

impl Sample {
    pub(crate) fn shape(&self) -> &[usize] {
        self.tensor.shape()
    }

    /// The element at a position.
    pub(crate) fn at(&self, position: &[usize]) -> f64 {
        self.values[flat(self.shape(), position)]
    }

    /// The element that broadcasting has at a position of a larger shape.
    pub(crate) fn broadcast_at(&self, position: &[usize]) -> f64 {
        let own = &position[position.len() - self.shape().len()..];
        let own: Vec<usize> =
            own.iter().zip(self.shape()).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
        self.at(&own)
    }
}

pub(crate) fn flat(shape: &[usize], position: &[usize]) -> usize {
    shape.iter().zip(position).fold(0, |flat, (extent, i)| flat * extent + i)
}

/// All positions of a shape in row-major order.
pub(crate) fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let count = shape.iter().product();
    let position = |mut rest: usize| {
        let mut position = vec![0; shape.len()];
        for dimension in (0..shape.len()).rev() {
            position[dimension] = rest % shape[dimension];
            rest /= shape[dimension];
        }
        position
    };
    (0..count).map(position).collect()
}

/// Random numbers and tensors of a seed.
pub(crate) struct Random {
    numbers: SplitMix64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { numbers: SplitMix64::new(seed) }
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.numbers.next_up_to(end as u64 - 1) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.numbers.next_number() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Extents of 1 to `most` elements.
    pub(crate) fn shape(&mut self, rank: usize, most: usize) -> Vec<usize> {
        (0..rank).map(|_| 1 + self.below(most)).collect()
    }

    /// A shape that broadcasts to another: without leading dimensions, with ones.
    pub(crate) fn broadcastable(&mut self, shape: &[usize]) -> Vec<usize> {
        let cut = self.below(shape.len() + 1);
        shape[cut..].iter().map(|&extent| if self.below(3) == 0 { 1 } else { extent }).collect()
    }

    /// A number of a type, of floating-point ones between the bounds, of integers rounded and cut
    /// to what the type has.
    pub(crate) fn number(&mut self, dtype: DType, low: f64, high: f64) -> f64 {
        let x = self.between(low, high);
        match dtype {
            DType::Bool => f64::from(u8::from(self.below(2) == 1)),
            DType::U8 | DType::U32 => x.round().max(0.0),
            DType::I8 | DType::I32 | DType::I64 => x.round(),
            DType::F16 => f16::from_f64(x).to_f64(),
            DType::BF16 => bf16::from_f64(x).to_f64(),
            DType::F32 => f64::from(x as f32),
        }
    }

    /// A tensor of that shape with elements between the bounds, often a view with other strides.
    pub(crate) fn sample(&mut self, shape: &[usize], dtype: DType, low: f64, high: f64) -> Sample {
        // A larger base: dimensions in another order, some with every second element, some
        // reversed.
        let mut order: Vec<usize> = (0..shape.len()).collect();
        let plain = self.below(3) == 0;
        if !plain {
            for i in (1..order.len()).rev() {
                order.swap(i, self.below(i + 1));
            }
        }
        let steps: Vec<isize> =
            shape.iter().map(|_| if plain { 1 } else { [1, 1, 2, -1, -2][self.below(5)] }).collect();
        let extent = |dimension: usize| {
            let step = steps[dimension].unsigned_abs();
            if step == 1 { shape[dimension] } else { shape[dimension] * step + 1 }
        };
        let base: Vec<usize> = order.iter().map(|&dimension| extent(dimension)).collect();
        let values: Vec<f64> = (0..base.iter().product()).map(|_| self.number(dtype, low, high)).collect();
        let mut tensor = upload(&values, &base, dtype);
        let mut back = vec![0; order.len()];
        for (at, &dimension) in order.iter().enumerate() {
            back[dimension] = at;
        }
        tensor = tensor.permute(&back).unwrap();
        for (dimension, &step) in steps.iter().enumerate() {
            let length = shape[dimension] * step.unsigned_abs();
            tensor = tensor.slice(dimension as isize, 0..length, step).unwrap();
        }
        assert_eq!(tensor.shape(), shape);
        let reach = |position: &Vec<usize>| {
            let steps = position.iter().zip(tensor.strides()).map(|(&i, &stride)| i as isize * stride);
            values[(tensor.offset() as isize + steps.sum::<isize>()) as usize]
        };
        let values = positions(shape).iter().map(reach).collect();
        Sample { tensor, values }
    }
}

/// Numbers as a tensor of a type that has them exactly.
pub(crate) fn upload(values: &[f64], shape: &[usize], dtype: DType) -> Tensor {
    macro_rules! of {
        ($type:ty) => {
            ops().tensor(&values.iter().map(|&x| x as $type).collect::<Vec<_>>(), shape)
        };
    }
    match dtype {
        DType::Bool => ops().tensor(&values.iter().map(|&x| x != 0.0).collect::<Vec<_>>(), shape),
        DType::U8 => of!(u8),
        DType::I8 => of!(i8),
        DType::U32 => of!(u32),
        DType::I32 => of!(i32),
        DType::I64 => of!(i64),
        DType::F16 => ops().tensor(&values.iter().map(|&x| f16::from_f64(x)).collect::<Vec<_>>(), shape),
        DType::BF16 => ops().tensor(&values.iter().map(|&x| bf16::from_f64(x)).collect::<Vec<_>>(), shape),
        DType::F32 => of!(f32),
    }
    .unwrap()
}

/// A tensor's elements as numbers.
pub(crate) fn download(tensor: &Tensor) -> Vec<f64> {
    fn all<T: Element>(tensor: &Tensor, number: impl Fn(T) -> f64) -> Vec<f64> {
        tensor.to_vec().unwrap().into_iter().map(number).collect()
    }
    match tensor.dtype() {
        DType::Bool => all(tensor, |x: bool| f64::from(u8::from(x))),
        DType::U8 => all(tensor, |x: u8| x.into()),
        DType::I8 => all(tensor, |x: i8| x.into()),
        DType::U32 => all(tensor, |x: u32| x.into()),
        DType::I32 => all(tensor, |x: i32| x.into()),
        DType::I64 => all(tensor, |x: i64| x as f64),
        DType::F16 => all(tensor, |x: f16| x.to_f64()),
        DType::BF16 => all(tensor, |x: bf16| x.to_f64()),
        DType::F32 => all(tensor, |x: f32| x.into()),
    }
}

/// The relative error that one rounding to a type may have, twice over.
pub(crate) fn unit_error(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        DType::F32 => 2f64.powi(-22),
        _ => 0.0,
    }
}

/// Whether elements are those expected, within an error relative to the greater of `scale` and the
/// value.
#[track_caller]
pub(crate) fn assert_close(what: &str, tensor: &Tensor, expected: &[f64], relative: f64, scale: f64) {
    let got = download(tensor);
    assert_eq!(got.len(), expected.len(), "{what}: {tensor:?}");
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let same = got == expected || (got.is_nan() && expected.is_nan());
        let close = (got - expected).abs() <= relative * expected.abs().max(scale);
        assert!(same || close, "{what}: element {i} of {tensor:?} is {got}, not {expected}");
    }
}

/// The product of batches of matrices, broadcast to that shape.
pub(crate) fn product_reference(a: &Sample, b: &Sample, shape: &[usize]) -> Vec<f64> {
    let inner = *a.shape().last().unwrap();
    let at = |position: &Vec<usize>| {
        let (batch, [row, column]) = position.split_last_chunk().unwrap();
        let of = |k: usize| {
            let left = a.broadcast_at(&[batch, &[*row, k]].concat());
            left * b.broadcast_at(&[batch, &[k, *column]].concat())
        };
        (0..inner).map(of).sum()
    };
    positions(shape).iter().map(at).collect()
}

/// Compares a product of random batches, sizes and elements of those types, the left factor's batches
/// broadcast or not, with its definition; gives the result.
#[track_caller]
pub(crate) fn check_product(ops: &Ops, seed: u64, [a_type, b_type]: [DType; 2]) -> Tensor {
    let mut random = Random::new(seed);
    let rank = random.below(3);
    let batches = random.shape(rank, 3);
    let [rows, inner, columns] = [1 + random.below(80), 1 + random.below(90), 1 + random.below(80)];
    let left = [&random.broadcastable(&batches)[..], &[rows, inner]].concat();
    let right = [&batches[..], &[inner, columns]].concat();
    let a = random.sample(&left, a_type, -1.0, 1.0);
    let b = random.sample(&right, b_type, -1.0, 1.0);
    let out = [&batches[..], &[rows, columns]].concat();
    let result = ops.matmul(&a.tensor, &b.tensor).unwrap();
    assert_eq!(result.shape(), &out);
    let error = unit_error(result.dtype()) + 1e-6;
    assert_close("matmul", &result, &product_reference(&a, &b, &out), error, (inner as f64).sqrt());
    result
}
