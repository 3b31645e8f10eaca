//! Kernels written for GPUs, which any device runs, beside those written for processors, on shapes that have
//! vectors, rows in registers, lines in parts and tiles of sorts.

mod support;

use anymetal_tensor_ops::{Activation, DType, Ops, Reduction, Shaping, Tensor, bf16, f16};
use support::{Random, assert_close, download, ops, unit_error, upload};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn both() -> [Ops; 2] {
    [Shaping::Processor, Shaping::Gpu].map(|shaping| ops().shaped(shaping))
}

/// Random elements; of integers small ones.
fn random(seed: u64, shape: &[usize], dtype: DType) -> Tensor {
    let mut random = Random::new(seed);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| random.number(dtype, -9.0, 9.0)).collect();
    upload(&values, shape, dtype)
}

/// That both make the same; sums may differ in the last bits.
#[track_caller]
fn check(what: &str, error: f64, call: impl Fn(&Ops) -> Tensor) {
    let [processor, gpu] = both().map(|ops| call(&ops));
    assert_eq!(processor.shape(), gpu.shape(), "{what}");
    assert_close(what, &gpu, &download(&processor), error, 9.0);
}

#[test]
fn vectors_of_all_types_are_the_elements() {
    for dtype in DType::ALL {
        let (x, y) = (random(1, &[6, 132], dtype), random(2, &[6, 132], dtype));
        let (row, column) = (random(3, &[132], dtype), random(4, &[6, 1], dtype));
        for other in [&y, &row, &column] {
            if dtype != DType::Bool {
                check("minimum", 0.0, |ops| ops.minimum(&x, other).unwrap());
            }
            check("compare", 0.0, |ops| ops.compare(anymetal_tensor_ops::Comparison::Lt, &x, other).unwrap());
            let which = ops().compare(anymetal_tensor_ops::Comparison::Lt, &x, &y).unwrap();
            check("where", 0.0, |ops| ops.where_(&which, other, &x).unwrap());
            check("clamp", 0.0, |ops| ops.where_(&which, &column, other).unwrap());
        }
        for to in DType::ALL {
            check("cast", 0.0, |ops| ops.cast(&x, to).unwrap());
        }
        // Halves of rows begin at multiples of the vectors' size, thirds do not.
        for part in [x.narrow(1, 0..128).unwrap(), x.narrow(1, 3..132).unwrap(), x.narrow(1, 4..132).unwrap()]
        {
            check("copy", 0.0, |ops| ops.copy(&part).unwrap());
        }
    }
    let x = random(5, &[5, 160], DType::F32);
    check("gelu", 0.0, |ops| ops.activation(Activation::Gelu, &x).unwrap());
    let g = random(6, &[5, 160], DType::F32);
    check("backward", 0.0, |ops| ops.activation_backward(Activation::Gelu, &x, &g).unwrap());
    check("fma", 0.0, |ops| ops.fma(&x, &g, &x).unwrap());
}

#[test]
fn what_is_left_of_vectors_is_written_too() {
    let count = (1 << 18) + 3;
    let x = ops().arange(count, 0.0, 1.0, DType::F32).unwrap();
    let doubled = both()[1].add(&x, &x).unwrap().to_vec::<f32>().unwrap();
    assert!(doubled.iter().enumerate().all(|(i, &y)| y == 2.0 * i as f32));
}

#[test]
fn rows_in_registers_are_the_rows() {
    for dtype in FLOATS {
        for (rows, count) in [(3, 64), (2, 100), (3, 1024), (2, 4096), (1, 8196), (2, 32768), (1, 32772)] {
            let (x, weight) = (random(7, &[rows, count], dtype), random(8, &[count], dtype));
            let bias = random(9, &[count], DType::F32);
            let error = 2.0 * unit_error(dtype);
            check("softmax", error, |ops| ops.softmax(&x, -1).unwrap());
            check("log_softmax", error, |ops| ops.log_softmax(&x, -1).unwrap());
            check("rms_norm", error, |ops| ops.rms_norm(&x, 1, Some(&weight), 1e-5).unwrap());
            check("layer_norm", error, |ops| {
                ops.layer_norm(&x, 1, Some(&weight), Some(&bias), 1e-5).unwrap()
            });
        }
    }
    // Infinities and NaN, and a weight that begins within a vector.
    let row: Vec<f32> = (0..128).map(|i| if i % 5 == 0 { f32::NEG_INFINITY } else { i as f32 }).collect();
    let mut rows = vec![f32::NEG_INFINITY; 384];
    rows[..128].copy_from_slice(&row);
    rows[300] = f32::NAN;
    let x = ops().tensor(&rows, &[3, 128]).unwrap();
    check("softmax", 1e-6, |ops| ops.softmax(&x, -1).unwrap());
    let (x, weight) = (random(10, &[2, 128], DType::F32), random(11, &[131], DType::F32));
    let weight = weight.narrow(0, 3..131).unwrap();
    check("layer_norm", 1e-6, |ops| ops.layer_norm(&x, 1, Some(&weight), None, 1e-5).unwrap());
}

#[test]
fn reductions_of_rows_and_columns_are_the_same() {
    let of = |dtype: DType, shape: &[usize], over: &[isize], reduction: Reduction| {
        let x = random(shape.len() as u64, shape, dtype);
        let error = 4.0 * unit_error(dtype) * (x.len() as f64).sqrt();
        let what = format!("{reduction:?} of {dtype} {shape:?} over {over:?}");
        check(&what, error, |ops| ops.reduce(reduction, &x, over, false).unwrap());
    };
    for shape in [&[5usize, 260][..], &[300, 8], &[1000, 66], &[700, 1]] {
        for over in [&[0isize][..], &[1]] {
            of(DType::F32, shape, over, Reduction::Mean);
        }
    }
    for over in [&[0isize][..], &[1], &[0, 2, 3], &[1, 3], &[0, 1, 2, 3]] {
        of(DType::F32, &[3, 140, 7, 64], over, Reduction::Sum);
    }
    of(DType::F32, &[2, 2, 70_001], &[0, 2], Reduction::Max);
    of(DType::F32, &[2, 70_002], &[1], Reduction::Mean);
    for dtype in DType::ALL {
        for over in [&[0isize][..], &[1]] {
            of(dtype, &[300, 128], over, Reduction::Sum);
        }
        of(dtype, &[300, 128], &[0], Reduction::Min);
        of(dtype, &[300, 128], &[0], Reduction::All);
    }
}

#[test]
fn positions_and_running_sums_are_the_same() {
    for dtype in FLOATS {
        for count in [64, 128, 1028, 4096, 5000, 1027] {
            // Few different ones: the first of equals counts.
            let x = ops().round(&random(12, &[3, count], dtype)).unwrap();
            check("argmax", 0.0, |ops| ops.argmax(&x, 1, false).unwrap());
            check("argmin", 0.0, |ops| ops.argmin(&x, 1, false).unwrap());
            check("cumsum", 8.0 * unit_error(dtype), |ops| ops.cumsum(&x, 1).unwrap());
            let near_one = ops().affine(&x, 0.001, 1.0).unwrap();
            check("cumprod", 300.0 * unit_error(dtype), |ops| ops.cumprod(&near_one, 1).unwrap());
        }
    }
}

/// Keys as a stable sort of the host has them.
#[track_caller]
fn check_sort<T: PartialOrd + Copy>(x: &Tensor, count: usize, keys: &[T], is_nan: impl Fn(T) -> bool) {
    for ops in both() {
        for descending in [false, true] {
            let places = ops.argsort(x, -1, descending).unwrap().to_vec::<u32>().unwrap();
            for (line, places) in keys.chunks_exact(count).zip(places.chunks_exact(count)) {
                let mut expected: Vec<u32> = (0..count as u32).collect();
                expected.sort_by(|&a, &b| {
                    let (a, b) = (line[a as usize], line[b as usize]);
                    let order = match (is_nan(a), is_nan(b)) {
                        (false, false) => a.partial_cmp(&b).unwrap(),
                        (a, b) => a.cmp(&b),
                    };
                    if descending { order.reverse() } else { order }
                });
                assert!(places == expected, "{} lines of {count}, {}", keys.len() / count, x.dtype());
            }
        }
    }
}

#[test]
fn sorts_within_and_beyond_tiles_are_stable() {
    for (rows, count) in [(7, 1), (3, 2), (5, 100), (2, 513), (3, 4096), (2, 4097), (1, 20_000), (1, 70_000)]
    {
        let mut numbers = Random::new(count as u64);
        let few: Vec<f32> = (0..rows * count)
            .map(|_| [f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, -1.5][numbers.below(6)])
            .collect();
        check_sort(&ops().tensor(&few, &[rows, count]).unwrap(), count, &few, f32::is_nan);
        let many: Vec<f32> = (0..rows * count).map(|_| numbers.between(-1.0, 1.0) as f32).collect();
        check_sort(&ops().tensor(&many, &[rows, count]).unwrap(), count, &many, f32::is_nan);
        let bits: Vec<u32> = (0..rows * count).map(|_| (numbers.below(1 << 16) * 65_537) as u32).collect();
        check_sort(&ops().tensor(&bits, &[rows, count]).unwrap(), count, &bits, |_| false);
        let signed: Vec<i32> = bits.iter().map(|&bits| bits as i32).collect();
        check_sort(&ops().tensor(&signed, &[rows, count]).unwrap(), count, &signed, |_| false);
        let small: Vec<i8> = bits.iter().map(|&bits| bits as i8).collect();
        check_sort(&ops().tensor(&small, &[rows, count]).unwrap(), count, &small, |_| false);
        let halves: Vec<f16> = many.iter().map(|&x| f16::from_f32(x)).collect();
        check_sort(&ops().tensor(&halves, &[rows, count]).unwrap(), count, &halves, |x| x.is_nan());
        let brain: Vec<bf16> = many.iter().map(|&x| bf16::from_f32(x)).collect();
        check_sort(&ops().tensor(&brain, &[rows, count]).unwrap(), count, &brain, |x| x.is_nan());
    }
    let wide: Vec<i64> = (0..300).map(|i| i64::from(i % 7) << 40).collect();
    check_sort(&ops().tensor(&wide, &[2, 150]).unwrap(), 150, &wide, |_| false);
}

#[test]
fn a_sort_along_any_axis_of_any_view_is_of_its_elements() {
    let x = random(13, &[6, 5000, 2], DType::F32);
    let view = x.permute(&[2, 1, 0]).unwrap();
    for ops in both() {
        let (values, places) = ops.sort_with_positions(&view, 1, true).unwrap();
        let gathered = ops.gather(&view, 1, &places).unwrap();
        assert_eq!(values.to_vec::<f32>().unwrap(), gathered.to_vec::<f32>().unwrap());
        let line = values.select(0, 1).unwrap().select(1, 3).unwrap().to_vec::<f32>().unwrap();
        assert!(line.windows(2).all(|pair| pair[0] >= pair[1]), "each line is in order");
        let (best, at) = ops.topk(&view, 3, 1, true).unwrap();
        assert_eq!(best.to_vec::<f32>().unwrap(), values.narrow(1, 0..3).unwrap().to_vec::<f32>().unwrap());
        assert_eq!(at.shape(), [2, 3, 6]);
    }
}
