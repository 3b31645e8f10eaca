//! `conv.metal`: unfolding and folding, resampling, pooling, transposed convolutions.
//!
//! Sizes come from a few fixed geometries; sources are contiguous and, where the kernel takes strides,
//! transposed and stepped too.

use super::input::Inputs;
use super::layout::{Layout, contiguous, layouts};
use super::{guarded, launch, untouched};
use crate::case::{Case, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (operation, dtype) = kernel.rsplit_once('_')?;
    let kind = Kind { kernel, dtype: Dtype::named(dtype)? };
    Some(match operation {
        "im2col" => unfold_2d(kind),
        "im2col1d" => unfold_1d(kind),
        "col2im1d" => fold_1d(kind),
        "upsample_nearest2d" => nearest(kind),
        "upsample_bilinear2d" => bilinear(kind),
        "avg_pool2d" => pool(kind, false),
        "max_pool2d" => pool(kind, true),
        "conv_transpose1d" => transposed_1d(kind),
        "conv_transpose2d" => transposed_2d(kind),
        _ => return None,
    })
}

#[derive(Clone, Copy, Debug)]
struct Kind<'k> {
    kernel: &'k str,
    dtype: Dtype,
}

impl Kind<'_> {
    fn values(self, count: usize) -> Data {
        Inputs::new(count as u64).numbers(self.dtype, count, -9.0, 9.0)
    }

    /// The element at a position of a view.
    fn at(self, data: &Data, view: &Layout, position: &[usize]) -> Data {
        data.pick([view.offset + position.iter().zip(&view.strides).map(|(p, s)| p * s).sum::<usize>()])
    }

    /// Binds the source from the view's offset on and the output, and expects the outcome.
    fn finish(
        self,
        launch: Launch,
        view: &Layout,
        source: &Data,
        extra: Option<&Data>,
        expected: Data,
        tolerance: Tolerance,
    ) -> Case {
        let launch = launch.data_from(source, view.offset);
        let launch = extra.map_or(launch.clone(), |extra| launch.data(extra));
        let launch = launch.data(&untouched(&expected));
        let index = launch.args.len() as u32 - 1;
        let name = format!("{:?}, {}", view.shape, view.name);
        Case::near(name, launch, index, guarded(expected), tolerance, tolerance)
    }

    /// Several roundings of terms of a size, in the accumulator's type, and one at the end.
    fn sum_tolerance(self, terms: f64) -> Tolerance {
        match self.dtype.is_float() {
            false => Tolerance::Exact,
            true => Tolerance::Near {
                relative: 1.01 * self.dtype.epsilon(),
                absolute: 80.0 * terms * f64::from(f32::EPSILON),
            },
        }
    }
}

fn views(shape: &[usize]) -> Vec<Layout> {
    let mut all = layouts(shape);
    all.remove(2);
    all
}

fn unfold_2d(kind: Kind<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let geometries: [([usize; 4], [usize; 5]); 3] =
        [([1, 1, 3, 3], [3, 3, 1, 0, 1]), ([2, 3, 7, 5], [3, 2, 1, 1, 1]), ([1, 2, 9, 8], [2, 3, 2, 2, 2])];
    for (shape, [h_k, w_k, stride, padding, dilation]) in geometries {
        for view in views(&shape) {
            let source = kind.values(view.storage);
            let [batch, channels, height, width] = shape;
            let out = |extent, k| (extent + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
            let (h_out, w_out) = (out(height, h_k), out(width, w_k));
            let mut expected = Data::new(kind.dtype);
            let extents = [batch, h_out, w_out, channels, h_k, w_k];
            let count: usize = extents.iter().product();
            for number in 0..count {
                let [b, h, w, c, kh, kw] = taken_apart(number, extents);
                let (y, x) = (h * stride + kh * dilation, w * stride + kw * dilation);
                let inside =
                    (padding..height + padding).contains(&y) && (padding..width + padding).contains(&x);
                let value = match inside {
                    true => kind.at(&source, &view, &[b, c, y - padding, x - padding]),
                    false => Data::zeros(kind.dtype, 1),
                };
                expected.bytes.extend(value.bytes);
            }
            let launch = launch(kind.kernel, count).size(count).size(h_out).size(w_out).size(h_k).size(w_k);
            let launch = launch.size(stride).size(padding).size(dilation).sizes(&shape).sizes(&view.strides);
            cases.push(kind.finish(launch, &view, &source, None, expected, Tolerance::Exact));
        }
    }
    cases
}

fn unfold_1d(kind: Kind<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let geometries: [([usize; 3], [usize; 4]); 3] =
        [([1, 1, 5], [3, 1, 0, 1]), ([2, 3, 33], [5, 2, 2, 1]), ([3, 4, 31], [3, 1, 1, 2])];
    for (shape, [k, stride, padding, dilation]) in geometries {
        for view in views(&shape) {
            let source = kind.values(view.storage);
            let [batch, channels, length] = shape;
            let l_out = (length + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
            let extents = [batch, l_out, channels, k];
            let count: usize = extents.iter().product();
            let mut expected = Data::new(kind.dtype);
            for number in 0..count {
                let [b, l, c, lk] = taken_apart(number, extents);
                let x = l * stride + lk * dilation;
                let value = match (padding..length + padding).contains(&x) {
                    true => kind.at(&source, &view, &[b, c, x - padding]),
                    false => Data::zeros(kind.dtype, 1),
                };
                expected.bytes.extend(value.bytes);
            }
            let launch =
                launch(kind.kernel, count).size(count).size(l_out).size(k).size(stride).size(padding);
            let launch = launch.size(dilation).sizes(&shape).sizes(&view.strides);
            cases.push(kind.finish(launch, &view, &source, None, expected, Tolerance::Exact));
        }
    }
    cases
}

/// Sums in the element's type, the terms in the kernel's order.
fn fold_1d(kind: Kind<'_>) -> Vec<Case> {
    let geometries = [[1, 1, 1, 1, 1], [2, 7, 3, 4, 2], [1, 33, 2, 5, 3]];
    let case = |[batch, l_in, channels, k, stride]: [usize; 5]| {
        let view = contiguous(&[batch, l_in, channels, k]);
        let source = kind.values(view.storage);
        let l_out = (l_in - 1) * stride + k;
        let extents = [batch, channels, l_out];
        let count: usize = extents.iter().product();
        let mut expected = Data::new(kind.dtype);
        for number in 0..count {
            let [b, c, l] = taken_apart(number, extents);
            // Later taps come first, as in the kernel: from the nearest input backwards.
            let terms = (0..=l / stride).rev().filter_map(|at| {
                let tap = l - at * stride;
                (tap < k && at < l_in).then(|| kind.at(&source, &view, &[b, at, c, tap]))
            });
            let terms: Vec<Data> = terms.collect();
            match kind.dtype.is_float() {
                true => {
                    expected.push_number(terms.iter().fold(0.0, |sum, t| kind.dtype.round(sum + t.number(0))))
                }
                false => expected.push_integer(terms.iter().map(|term| term.integer(0)).sum()),
            }
        }
        let launch = launch(kind.kernel, count).size(count).size(l_out).size(l_in).size(channels);
        let launch = launch.size(k).size(stride);
        let tolerance =
            if kind.dtype.is_float() { Tolerance::rounding(kind.dtype, 4.0, 40.0) } else { Tolerance::Exact };
        kind.finish(launch, &view, &source, None, expected, tolerance)
    };
    geometries.into_iter().map(case).collect()
}

fn nearest(kind: Kind<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let geometries = [([1, 1, 2, 2], [4, 4]), ([2, 3, 5, 7], [10, 21]), ([1, 2, 8, 6], [5, 3])];
    for (shape, [w_out, h_out]) in geometries {
        for view in views(&shape) {
            let source = kind.values(view.storage);
            let scale = |extent: usize, out: usize| extent as f32 / out as f32;
            let (w_scale, h_scale) = (scale(shape[2], w_out), scale(shape[3], h_out));
            let extents = [shape[0], shape[1], w_out, h_out];
            let count: usize = extents.iter().product();
            let mut expected = Data::new(kind.dtype);
            for number in 0..count {
                let [b, c, w, h] = taken_apart(number, extents);
                let from =
                    |at: usize, scale: f32, extent: usize| ((at as f32 * scale) as usize).min(extent - 1);
                let position = [b, c, from(w, w_scale, shape[2]), from(h, h_scale, shape[3])];
                expected.bytes.extend(kind.at(&source, &view, &position).bytes);
            }
            let launch = launch(kind.kernel, count).size(w_out).size(h_out);
            let launch = launch.scalar(w_scale.to_le_bytes()).scalar(h_scale.to_le_bytes());
            let launch = launch.sizes(&shape).sizes(&view.strides);
            cases.push(kind.finish(launch, &view, &source, None, expected, Tolerance::Exact));
        }
    }
    cases
}

fn bilinear(kind: Kind<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let geometries = [([1, 1, 2, 2], [4, 4]), ([2, 3, 5, 7], [10, 21]), ([1, 2, 8, 6], [5, 3])];
    for (shape, [h_out, w_out]) in geometries {
        for (view, corners) in views(&shape).into_iter().zip([true, false, false]) {
            let source = kind.values(view.storage);
            let extents = [shape[0], shape[1], h_out, w_out];
            let count: usize = extents.iter().product();
            let mut expected = Data::new(kind.dtype);
            for number in 0..count {
                let [b, c, h, w] = taken_apart(number, extents);
                let (h0, h1, h_weight) = source_position(h, shape[2], h_out, corners);
                let (w0, w1, w_weight) = source_position(w, shape[3], w_out, corners);
                let value = |y, x| kind.at(&source, &view, &[b, c, y, x]).number(0);
                let row = |y| value(y, w0) * (1.0 - w_weight) + value(y, w1) * w_weight;
                let sum = row(h0) * (1.0 - h_weight) + row(h1) * h_weight;
                expected.push_number(sum);
            }
            let launch = launch(kind.kernel, count).size(w_out).size(h_out).scalar([u8::from(corners)]);
            let none = 0f32.to_le_bytes();
            let launch = launch.scalar([0]).scalar(none).scalar([0]).scalar(none);
            let launch = launch.sizes(&shape).sizes(&view.strides);
            // Where the sum is nearly whole, an integer may fall on either side.
            let tolerance =
                if kind.dtype.is_float() { kind.sum_tolerance(2.0) } else { Tolerance::Ulps(1.0) };
            cases.push(kind.finish(launch, &view, &source, None, expected, tolerance));
        }
    }
    cases
}

/// The two source rows around an output row, and the second one's weight.
fn source_position(at: usize, extent: usize, out: usize, corners: bool) -> (usize, usize, f64) {
    let position = match corners {
        true if out > 1 => (extent - 1) as f64 / (out - 1) as f64 * at as f64,
        true => 0.0,
        false => extent as f64 / out as f64 * (at as f64 + 0.5) - 0.5,
    };
    // The kernel computes in single precision: a hair below a whole number is that number.
    let position = f64::from(position.max(0.0) as f32);
    let low = position.floor();
    (low as usize, (low as usize + 1).min(extent - 1), (position - low).clamp(0.0, 1.0))
}

fn pool(kind: Kind<'_>, maximum: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let geometries: [([usize; 4], [usize; 4]); 3] =
        [([1, 1, 2, 2], [2, 2, 2, 2]), ([2, 3, 9, 7], [3, 2, 2, 1]), ([1, 4, 8, 8], [2, 3, 3, 2])];
    for (shape, [w_k, h_k, w_stride, h_stride]) in geometries {
        for view in views(&shape) {
            let source = kind.values(view.storage);
            let (w_out, h_out) = ((shape[2] - w_k) / w_stride + 1, (shape[3] - h_k) / h_stride + 1);
            let extents = [shape[0], shape[1], w_out, h_out];
            let count: usize = extents.iter().product();
            let mut expected = Data::new(kind.dtype);
            for number in 0..count {
                let [b, c, w, h] = taken_apart(number, extents);
                let window = (0..w_k).flat_map(|x| (0..h_k).map(move |y| (x, y)));
                let values = window.map(|(x, y)| {
                    kind.at(&source, &view, &[b, c, w * w_stride + x, h * h_stride + y]).number(0)
                });
                let value = match maximum {
                    true => values.fold(f64::NEG_INFINITY, f64::max),
                    false => values.sum::<f64>() / (w_k * h_k) as f64,
                };
                expected.push_number(value);
            }
            let launch = launch(kind.kernel, count).size(w_k).size(h_k).size(w_stride).size(h_stride);
            let launch = launch.sizes(&shape).sizes(&view.strides);
            let tolerance = if maximum { Tolerance::Exact } else { kind.sum_tolerance(2.0) };
            cases.push(kind.finish(launch, &view, &source, None, expected, tolerance));
        }
    }
    cases
}

/// A sum of products in the accumulator's type, stored in the element's.
fn product_sum(kind: Kind<'_>, terms: impl Iterator<Item = (Data, Data)>, into: &mut Data) {
    if kind.dtype.is_float() {
        into.push_number(terms.map(|(a, b)| a.number(0) * b.number(0)).sum());
    } else {
        into.push_integer(terms.map(|(a, b)| a.integer(0) * b.integer(0)).sum());
    }
}

fn transposed_1d(kind: Kind<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    // batch, input channels, length, output channels, taps; stride, padding, output padding, dilation
    let geometries: [([usize; 5], [usize; 4]); 3] =
        [([1, 1, 3, 1, 2], [1, 0, 0, 1]), ([2, 3, 9, 4, 3], [2, 1, 1, 1]), ([1, 2, 33, 3, 4], [3, 2, 0, 2])];
    for ([batch, c_in, length, c_out, taps], [stride, padding, out_padding, dilation]) in geometries {
        let shape = [batch, c_in, length];
        let weights_view = contiguous(&[c_in, c_out, taps]);
        let weights = kind.values(weights_view.storage);
        let l_out = (length - 1) * stride + dilation * (taps - 1) + out_padding + 1 - 2 * padding;
        for view in views(&shape) {
            let source = kind.values(view.storage);
            let extents = [batch, c_out, l_out];
            let count: usize = extents.iter().product();
            let mut expected = Data::new(kind.dtype);
            for number in 0..count {
                let [b, c, x] = taken_apart(number, extents);
                let hits = (0..taps).filter_map(|k| Some((k, hit(x, k, stride, padding, dilation, length)?)));
                let terms = hits.flat_map(|(k, at)| (0..c_in).map(move |channel| (k, at, channel)));
                let terms = terms.map(|(k, at, channel)| {
                    let weight = kind.at(&weights, &weights_view, &[channel, c, k]);
                    (kind.at(&source, &view, &[b, channel, at]), weight)
                });
                product_sum(kind, terms, &mut expected);
            }
            let launch = launch(kind.kernel, count).size(l_out).size(stride).size(padding).size(out_padding);
            let launch = launch.size(dilation).sizes(&shape).sizes(&view.strides);
            let launch = launch.sizes(&weights_view.shape).sizes(&weights_view.strides);
            let tolerance = kind.sum_tolerance(12.0);
            cases.push(kind.finish(launch, &view, &source, Some(&weights), expected, tolerance));
        }
    }
    cases
}

/// The input that an output place meets at a tap, if any.
fn hit(
    out: usize,
    tap: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
    length: usize,
) -> Option<usize> {
    let reach = (out + padding).checked_sub(tap * dilation)?;
    (reach.is_multiple_of(stride) && reach / stride < length).then_some(reach / stride)
}

fn transposed_2d(kind: Kind<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let geometries: [([usize; 5], [usize; 2], [usize; 4]); 3] = [
        ([1, 1, 2, 2, 1], [2, 2], [1, 0, 0, 1]),
        ([2, 3, 4, 5, 2], [3, 2], [2, 1, 1, 1]),
        ([1, 2, 6, 4, 3], [2, 3], [3, 1, 0, 2]),
    ];
    for ([batch, c_in, height, width, c_out], [h_k, w_k], [stride, padding, out_padding, dilation]) in
        geometries
    {
        let shape = [batch, c_in, height, width];
        let weights_view = contiguous(&[c_in, c_out, h_k, w_k]);
        let weights = kind.values(weights_view.storage);
        let out = |extent, k| (extent - 1) * stride + dilation * (k - 1) + out_padding + 1 - 2 * padding;
        let (h_out, w_out) = (out(height, h_k), out(width, w_k));
        for view in views(&shape) {
            let source = kind.values(view.storage);
            let extents = [batch, c_out, h_out, w_out];
            let count: usize = extents.iter().product();
            let mut expected = Data::new(kind.dtype);
            for number in 0..count {
                let [b, c, y, x] = taken_apart(number, extents);
                let columns =
                    (0..w_k).filter_map(|k| Some((k, hit(x, k, stride, padding, dilation, width)?)));
                let places = columns.flat_map(|(kx, at_x)| {
                    let rows = (0..h_k)
                        .filter_map(move |k| Some((k, hit(y, k, stride, padding, dilation, height)?)));
                    rows.map(move |(ky, at_y)| ([ky, kx], [at_y, at_x]))
                });
                let terms = places.flat_map(|(k, at)| (0..c_in).map(move |channel| (k, at, channel)));
                let terms = terms.map(|([ky, kx], [at_y, at_x], channel)| {
                    let weight = kind.at(&weights, &weights_view, &[channel, c, ky, kx]);
                    (kind.at(&source, &view, &[b, channel, at_y, at_x]), weight)
                });
                product_sum(kind, terms, &mut expected);
            }
            let launch = launch(kind.kernel, count).size(w_out).size(h_out).size(stride).size(padding);
            let launch = launch.size(out_padding).size(dilation).sizes(&shape).sizes(&view.strides);
            let launch = launch.sizes(&weights_view.shape).sizes(&weights_view.strides);
            let tolerance = kind.sum_tolerance(12.0);
            cases.push(kind.finish(launch, &view, &source, Some(&weights), expected, tolerance));
        }
    }
    cases
}

/// The position of a row-major number.
fn taken_apart<const N: usize>(mut number: usize, extents: [usize; N]) -> [usize; N] {
    let mut position = [0; N];
    for dimension in (0..N).rev() {
        position[dimension] = number % extents[dimension];
        number /= extents[dimension];
    }
    position
}
