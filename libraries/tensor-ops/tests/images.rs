//! Convolutions, pooling, attention and quantised products against loops on the host.

mod support;

use anymetal_tensor_ops::{
    AttentionOptions, BlockFormat, Blocks, ConvOptions, DType, ImageLayout, OpError, PoolOptions,
    RopeOptions, Shaping,
};
use proptest::prelude::*;
use support::{Random, Sample, assert_close, download, ops, positions, unit_error};

/// The element of an image, zero outside.
fn pixel(x: &Sample, image: usize, channel: usize, y: isize, z: isize) -> f64 {
    let inside = y >= 0 && z >= 0 && y < x.shape()[2] as isize && z < x.shape()[3] as isize;
    if inside { x.at(&[image, channel, y as usize, z as usize]) } else { 0.0 }
}

fn conv(x: &Sample, w: &Sample, out: &[usize], options: &ConvOptions) -> Vec<f64> {
    let &[filters, depth, rows, columns] = w.shape() else { panic!("four dimensions") };
    let place = |at: usize, tap: usize, d: usize| {
        (at * options.stride[d] + tap * options.dilation[d]) as isize - options.padding[d] as isize
    };
    let at = |p: &Vec<usize>| {
        let group = p[1] / (filters / options.groups);
        let tap = |t: &Vec<usize>| {
            let (y, z) = (place(p[2], t[1], 0), place(p[3], t[2], 1));
            pixel(x, p[0], group * depth + t[0], y, z) * w.at(&[p[1], t[0], t[1], t[2]])
        };
        positions(&[depth, rows, columns]).iter().map(tap).sum()
    };
    positions(out).iter().map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn convolutions_are_sums_over_windows(seed: u64, dtype in 6usize..9, filters in 1usize..7, last: bool) {
        let (mut random, dtype) = (Random::new(seed), DType::ALL[dtype]);
        let (groups, depth) = (1 + random.below(3), 1 + random.below(3));
        let (rows, columns) = (1 + random.below(3), 1 + random.below(3));
        // Sometimes filters of one element that meet every position.
        let plain = random.below(4) == 0;
        let (rows, columns) = if plain { (1, 1) } else { (rows, columns) };
        let options = ConvOptions {
            stride: [1 + random.below(2), 1 + random.below(3)],
            padding: [random.below(3), random.below(2)],
            dilation: [1 + random.below(2), 1 + random.below(2)],
            groups,
            ..ConvOptions::default()
        };
        let options = if plain { ConvOptions { groups, ..ConvOptions::default() } } else { options };
        let image = [1 + random.below(3), groups * depth, 5 + random.below(8), 5 + random.below(40)];
        let x = random.sample(&image, dtype, -1.0, 1.0);
        let w = random.sample(&[groups * filters, depth, rows, columns], dtype, -1.0, 1.0);
        let y = match last {
            false => ops().conv2d(&x.tensor, &w.tensor, None, &options).unwrap(),
            true => {
                let options = ConvOptions { layout: ImageLayout::Nhwc, ..options };
                let turned = x.tensor.permute(&[0, 2, 3, 1]).unwrap();
                ops().conv2d(&turned, &w.tensor, None, &options).unwrap().permute(&[0, 3, 1, 2]).unwrap()
            }
        };
        let expected = conv(&x, &w, y.shape(), &options);
        assert_close("conv2d", &y, &expected, 2.0 * unit_error(dtype) + 1e-6, 2.0);
    }

    #[test]
    fn filters_of_three_by_three_are_sums_over_windows(seed: u64, height in 8usize..15, width in 8usize..20, pad in 0usize..4) {
        // Enough channels and filters for Winograd's filtering.
        let mut random = Random::new(seed);
        let options = ConvOptions { padding: [pad, random.below(3)], ..ConvOptions::default() };
        let image = [1 + random.below(2), 16 + random.below(3), height + 2, width + 2];
        let x = random.sample(&image, DType::F32, -1.0, 1.0);
        let w = random.sample(&[17, image[1], 3, 3], DType::F32, -1.0, 1.0);
        let bias = random.sample(&[17], DType::F32, -1.0, 1.0);
        let ops = ops().shaped(Shaping::Gpu);
        let y = ops.conv2d(&x.tensor, &w.tensor, Some(&bias.tensor), &options).unwrap();
        let mut expected = conv(&x, &w, y.shape(), &options);
        for (position, value) in positions(y.shape()).iter().zip(&mut expected) {
            *value += bias.at(&position[1..2]);
        }
        assert_close("conv2d", &y, &expected, 2e-6, 12.0);
    }

    #[test]
    fn a_transposed_convolution_is_the_adjoint(seed: u64) {
        // <conv(x), g> = <x, conv_transpose(g)>, both sums on the host.
        let mut random = Random::new(seed);
        let options = ConvOptions {
            stride: [1 + random.below(3), 1 + random.below(3)],
            padding: [random.below(2), random.below(2)],
            groups: 2,
            ..ConvOptions::default()
        };
        let taps = [6, 2, 1 + random.below(3), 1 + random.below(3)];
        let w = random.sample(&taps, DType::F32, -1.0, 1.0);
        let g_shape = [2, 6, 3 + random.below(5), 3 + random.below(5)];
        let g = random.sample(&g_shape, DType::F32, -1.0, 1.0);
        let x = ops().conv_transpose2d(&g.tensor, &w.tensor, None, &options).unwrap();
        let test = random.sample(x.shape(), DType::F32, -1.0, 1.0);
        let left: f64 = conv(&test, &w, &g_shape, &options).iter().zip(&g.values).map(|(a, b)| a * b).sum();
        let right: f64 = download(&x).iter().zip(&test.values).map(|(a, b)| a * b).sum();
        prop_assert!((left - right).abs() < 1e-3, "{left} {right}");
    }

    #[test]
    fn pools_take_what_lies_in_the_window(seed: u64, count_padding: bool) {
        let mut random = Random::new(seed);
        let window = [1 + random.below(3), 1 + random.below(3)];
        let options = PoolOptions {
            window,
            stride: [1 + random.below(3), 1 + random.below(3)],
            padding: [random.below(window[0] / 2 + 1), random.below(window[1] / 2 + 1)],
            count_padding,
        };
        let image = [2, 2, 4 + random.below(6), 4 + random.below(40)];
        let x = random.sample(&image, DType::F32, -1.0, 1.0);
        let (most, places) = ops().max_pool2d(&x.tensor, &options).unwrap();
        let mean = ops().avg_pool2d(&x.tensor, &options).unwrap();
        let (rows, columns) = (x.shape()[2] as isize, x.shape()[3] as isize);
        let inside = |p: &Vec<usize>| {
            let start = [0, 1].map(|d| (p[2 + d] * options.stride[d]) as isize - options.padding[d] as isize);
            let all = positions(&window).into_iter().map(move |t| (start[0] + t[0] as isize, start[1] + t[1] as isize));
            all.filter(|&(y, z)| y >= 0 && z >= 0 && y < rows && z < columns).collect::<Vec<_>>()
        };
        let (mut greatest, mut means) = (Vec::new(), Vec::new());
        for p in positions(most.shape()) {
            let values: Vec<f64> = inside(&p).into_iter().map(|(y, z)| pixel(&x, p[0], p[1], y, z)).collect();
            greatest.push(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            let count = if count_padding { window[0] * window[1] } else { values.len() };
            means.push(values.iter().sum::<f64>() / count as f64);
        }
        assert_close("max_pool2d", &most, &greatest, 0.0, 0.0);
        let named: Vec<f64> = positions(most.shape()).iter().zip(download(&places)).map(|(p, place)| {
            x.at(&[p[0], p[1], place as usize / columns as usize, place as usize % columns as usize])
        }).collect();
        assert_close("places", &most, &named, 0.0, 0.0);
        assert_close("avg_pool2d", &mean, &means, 1e-6, 1.0);
    }

    #[test]
    fn attention_is_a_softmax_of_products(seed: u64, causal: bool, heads in 1usize..4) {
        let mut random = Random::new(seed);
        let [rows, more, width] = [1 + random.below(9), random.below(9), 1 + random.below(20)];
        let keys = rows + more;
        let q = random.sample(&[2, 2 * heads, rows, width], DType::F32, -1.0, 1.0);
        let k = random.sample(&[2, 2, keys, width], DType::F32, -1.0, 1.0);
        let v = random.sample(&[2, 2, keys, 5], DType::F32, -1.0, 1.0);
        let options = AttentionOptions { causal, ..AttentionOptions::default() };
        let result = ops().attention(&q.tensor, &k.tensor, &v.tensor, &options).unwrap();
        let at = |p: &Vec<usize>| {
            let head = p[1] / heads;
            let seen = if causal { p[2] + more + 1 } else { keys };
            let score = |t: usize| {
                let dot: f64 = (0..width).map(|i| q.at(&[p[0], p[1], p[2], i]) * k.at(&[p[0], head, t, i])).sum();
                (dot / (width as f64).sqrt()).exp()
            };
            let total: f64 = (0..seen).map(score).sum();
            (0..seen).map(|t| score(t) * v.at(&[p[0], head, t, p[3]])).sum::<f64>() / total
        };
        let expected: Vec<f64> = positions(result.shape()).iter().map(at).collect();
        assert_close("attention", &result, &expected, 1e-5, 1.0);
    }
}

#[test]
fn rotary_positions_turn_pairs() {
    let mut random = Random::new(4);
    let x = random.sample(&[2, 7, 12], DType::F32, -1.0, 1.0);
    for halves in [true, false] {
        let options = RopeOptions { first: 900, base: 500.0, halves, ..RopeOptions::default() };
        let at = |p: &Vec<usize>| {
            let (pair, high) = if halves { (p[2] % 6, p[2] >= 6) } else { (p[2] / 2, p[2] % 2 == 1) };
            let angle = (900 + p[1]) as f64 * 500f64.powf(-(pair as f64) / 6.0);
            let [a, b] = [0, 1].map(|i| if halves { pair + 6 * i } else { 2 * pair + i });
            let (a, b) = (x.at(&[p[0], p[1], a]), x.at(&[p[0], p[1], b]));
            if high { a * angle.sin() + b * angle.cos() } else { a * angle.cos() - b * angle.sin() }
        };
        let expected: Vec<f64> = positions(x.shape()).iter().map(at).collect();
        let turned = ops().rope(&x.tensor, &options).unwrap();
        // The angle's own rounding, 900 times 2^-24, is most of the error.
        assert_close("rope", &turned, &expected, 2e-4, 1.0);
        let back = ops().rope(&turned, &RopeOptions { inverse: true, ..options }).unwrap();
        assert_close("back", &back, &x.values, 1e-6, 1.0);
    }
}

/// The numbers of a block, by the format's definition.
fn numbers(format: BlockFormat, block: &[u8]) -> Vec<f64> {
    let half = |at: usize| anymetal_tensor_ops::f16::from_le_bytes([block[at], block[at + 1]]).to_f64();
    let nibble = |i: usize, first: usize| {
        let byte = block[first + i % 16];
        f64::from(if i < 16 { byte & 15 } else { byte >> 4 })
    };
    let number = |i: usize| match format {
        BlockFormat::Q4_0 => half(0) * (nibble(i, 2) - 8.0),
        BlockFormat::Q4_1 => half(0) * nibble(i, 4) + half(2),
        BlockFormat::Q8_0 => half(0) * f64::from(block[2 + i] as i8),
    };
    (0..32).map(number).collect()
}

#[test]
fn blocks_hold_their_numbers_within_a_step_and_multiply() {
    let mut random = Random::new(6);
    let weights = random.sample(&[5, 96], DType::F32, -3.0, 2.0);
    for (format, step) in [(BlockFormat::Q4_0, 0.4), (BlockFormat::Q4_1, 0.4), (BlockFormat::Q8_0, 0.025)] {
        let blocks = ops().quantise(&weights.tensor, format).unwrap();
        let bytes = blocks.bytes().to_vec::<u8>().unwrap();
        let held: Vec<f64> = bytes.chunks(format.bytes()).flat_map(|block| numbers(format, block)).collect();
        assert_close("dequantise", &ops().dequantise(&blocks, DType::F32).unwrap(), &held, 1e-6, 1.0);
        for (held, weight) in held.iter().zip(&weights.values) {
            assert!((held - weight).abs() <= step, "{format:?}: {held} for {weight}");
        }
        // Few rows by dot products with the blocks, many with the numbers made before.
        for rows in [1, 3, 20] {
            let x = random.sample(&[rows, 96], DType::F32, -1.0, 1.0);
            let dot = |p: &Vec<usize>| (0..96).map(|k| x.at(&[p[0], k]) * held[p[1] * 96 + k]).sum();
            let expected: Vec<f64> = positions(&[rows, 5]).iter().map(dot).collect();
            let blocks = Blocks::new(format, blocks.bytes()).unwrap();
            assert_close(
                "matmul_blocks",
                &ops().matmul_blocks(&x.tensor, &blocks).unwrap(),
                &expected,
                1e-5,
                3.0,
            );
        }
    }
    let odd = ops().zeros(&[2, 33], DType::U8).unwrap();
    assert!(matches!(Blocks::new(BlockFormat::Q8_0, &odd), Err(OpError::Shape { .. })));
}

#[test]
fn rows_of_i8_multiply_within_their_steps() {
    let mut random = Random::new(8);
    let (a, b) =
        (random.sample(&[9, 50], DType::F32, -2.0, 2.0), random.sample(&[7, 50], DType::F32, -1.0, 1.0));
    let (qa, sa) = ops().quantise_rows(&a.tensor).unwrap();
    let (qb, sb) = ops().quantise_rows(&b.tensor).unwrap();
    let result = ops().matmul_i8((&qa, &sa), (&qb, &sb)).unwrap();
    let held = |q: &anymetal_tensor_ops::Tensor, s: &anymetal_tensor_ops::Tensor| {
        let scales = download(s);
        download(q).iter().enumerate().map(|(i, x)| x * scales[i / 50]).collect::<Vec<f64>>()
    };
    let (ha, hb) = (held(&qa, &sa), held(&qb, &sb));
    assert!(ha.iter().zip(&a.values).all(|(held, x)| (held - x).abs() <= 2.0 / 127.0));
    let dot = |p: &Vec<usize>| (0..50).map(|k| ha[p[0] * 50 + k] * hb[p[1] * 50 + k]).sum();
    let expected: Vec<f64> = positions(&[9, 7]).iter().map(dot).collect();
    assert_close("matmul_i8", &result, &expected, 1e-5, 1.0);
    let zeros = ops().quantise_rows(&ops().zeros(&[1, 4], DType::F32).unwrap()).unwrap();
    assert_eq!((download(&zeros.0), download(&zeros.1)), (vec![0.0; 4], vec![0.0]));
}

#[test]
fn mistakes_with_images_name_the_rule() {
    let x = ops().zeros(&[1, 4, 5, 5], DType::F32).unwrap();
    let w = ops().zeros(&[4, 4, 7, 7], DType::F32).unwrap();
    let error = ops().conv2d(&x, &w, None, &ConvOptions::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("conv2d of shapes [1, 4, 5, 5] and [4, 4, 7, 7]: strides and dilations"),
        "{error}"
    );
    let error = ops().conv2d(&x, &w, None, &ConvOptions { groups: 3, ..ConvOptions::default() }).unwrap_err();
    assert!(error.to_string().contains("must divide into 3 groups"), "{error}");
    let padding = PoolOptions { padding: [2, 2], ..PoolOptions::new([2, 2]) };
    assert!(ops().max_pool2d(&x, &padding).is_err());
    let short = ops().zeros(&[1, 3, 5, 5], DType::F32).unwrap();
    assert!(matches!(
        ops().attention(&x, &short, &short, &AttentionOptions::default()),
        Err(OpError::Shape { operation: "attention", .. })
    ));
}
