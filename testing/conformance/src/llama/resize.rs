//! `pool.metal`: maxima and means of windows, along one dimension or two. `upscale.metal`: images of another
//! size.

use super::kargs::Kargs;
use super::launch::{MAX_THREADS, ends_with, per_element, per_row};
use super::tensor::{Order, Tensor};
use crate::case::{Case, Constant};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// A window along one dimension: input, size, stride, padding.
type Window = [usize; 4];

/// The cases of a kernel of `pool.metal`.
pub fn pool_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (dimensions, kind) = kernel.strip_prefix("kernel_pool_")?.strip_suffix("_f32")?.split_once('_')?;
    let is_max = kind == "max";
    let windows: [[Window; 2]; 4] = [
        [[8, 2, 2, 0], [6, 2, 2, 0]],
        [[33, 3, 2, 1], [17, 5, 3, 2]],
        [[7, 1, 3, 0], [5, 4, 1, 3]],
        [[1, 3, 1, 1], [300, 7, 1, 3]],
    ];
    Some(match dimensions {
        "1d" => windows.into_iter().flatten().map(|window| pool_rows(kernel, is_max, window)).collect(),
        "2d" => windows.map(|windows| pool_images(kernel, is_max, windows)).into(),
        _ => return None,
    })
}

/// How many windows there are.
fn outputs([input, size, stride, padding]: Window) -> usize {
    (input + 2 * padding - size) / stride + 1
}

/// The inputs that a window covers.
fn covered([input, size, stride, padding]: Window, number: usize) -> std::ops::Range<usize> {
    let start = number * stride;
    start.saturating_sub(padding)..(start + size).saturating_sub(padding).min(input)
}

fn pool_rows(kernel: &str, is_max: bool, window: Window) -> Case {
    let input = Tensor::between(F32, 341, [window[0], 3, 2, 1], Order::Contiguous, -2.0, 2.0);
    let ne = [outputs(window), 3, 2, 1];
    let number = |[i0, i1, i2, _]: [usize; 4]| {
        let inside = covered(window, i0);
        let count = inside.len();
        let numbers = inside.map(|at| input.at([at, i1, i2, 0]));
        match is_max {
            true => numbers.fold(f64::NEG_INFINITY, f64::max),
            // Elements outside are ignored.
            false if count > 0 => numbers.sum::<f64>() / count as f64,
            false => 0.0,
        }
    };
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let count = expected.len();
    let kargs = Kargs::new("pool_1d").set("k0", window[1]).set("s0", window[2]).set("p0", window[3]);
    let kargs = kargs.set("IW", window[0]).set("OW", ne[0]).set("np", count);
    let launch = per_element(kernel, count, &kargs).scalar(&input.bytes);
    ends_with(format!("{window:?}"), launch, expected, exact_or_near(is_max))
}

fn exact_or_near(is_max: bool) -> Tolerance {
    if is_max { Tolerance::Exact } else { Tolerance::rounding(F32, 4.0, 4.0) }
}

fn pool_images(kernel: &str, is_max: bool, windows: [Window; 2]) -> Case {
    let [across, down] = windows;
    let input = Tensor::between(F32, 342, [across[0], down[0], 3, 2], Order::Contiguous, -2.0, 2.0);
    let ne = [outputs(across), outputs(down), 3, 2];
    let number = |[i0, i1, i2, i3]: [usize; 4]| {
        let rows = covered(down, i1);
        let numbers = rows
            .flat_map(|y| covered(across, i0).map(move |x| [x, y]))
            .map(|[x, y]| input.at([x, y, i2, i3]));
        match is_max {
            true => numbers.fold(f64::NEG_INFINITY, f64::max),
            // Elements outside count as zeros.
            false => numbers.sum::<f64>() / (across[1] * down[1]) as f64,
        }
    };
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let count = expected.len();
    let mut kargs = Kargs::new("pool_2d").set("IW", across[0]).set("IH", down[0]).set("OW", ne[0]);
    kargs = kargs.set("OH", ne[1]).set("np", count);
    for (d, window) in windows.iter().enumerate() {
        kargs = kargs.set(&format!("k{d}"), window[1]).set(&format!("s{d}"), window[2]);
        kargs = kargs.set(&format!("p{d}"), window[3]);
    }
    let launch = per_element(kernel, count, &kargs).scalar(&input.bytes);
    ends_with(format!("{windows:?}"), launch, expected, exact_or_near(is_max))
}

/// What differs between the cases of a kernel of `upscale.metal`.
#[derive(Clone, Copy, Debug)]
struct Scaling {
    from: [usize; 4],
    to: [usize; 4],
    /// Corners are on corners; otherwise pixels have an area.
    corners: bool,
    /// Smaller images take the mean of what a pixel covers.
    smooth: bool,
    order: Order,
}

/// The cases of a kernel of `upscale.metal`.
pub fn upscale_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let kind = kernel.strip_prefix("kernel_upscale_")?.strip_suffix("_f32")?;
    let scaling = |from, to, corners, order| Scaling { from, to, corners, smooth: false, order };
    let larger = scaling([5, 7, 3, 2], [10, 21, 3, 2], false, Order::Contiguous);
    let repeated = scaling([3, 2, 2, 1], [12, 4, 4, 3], false, Order::Transposed);
    let ragged = scaling([5, 7, 2, 1], [13, 9, 2, 1], true, Order::Padded);
    let smaller = scaling([16, 12, 2, 1], [4, 6, 2, 1], false, Order::Permuted);
    let smooth = [larger, smaller, ragged].map(|scaling| Scaling { smooth: true, ..scaling });
    let of = |kind: Kind, scalings: &[Scaling]| {
        scalings.iter().map(|&scaling| upscale(kernel, kind, scaling)).collect()
    };
    Some(match kind {
        "nearest" => of(nearest, &[larger, repeated, smaller]),
        "bilinear" => of(bilinear, &[&[larger, repeated, ragged, smaller][..], &smooth].concat()),
        "bicubic" => of(bicubic, &[larger, repeated, ragged, smaller]),
        _ => return None,
    })
}

/// The weights that inputs of one dimension have in an output: how many inputs there are, how much larger the
/// output is, the output's place, where pixels are.
type Kind = fn(usize, f64, usize, f64, bool) -> Vec<(usize, f64)>;

fn nearest(_count: usize, scale: f64, place: usize, _offset: f64, _smooth: bool) -> Vec<(usize, f64)> {
    vec![((place as f64 / scale) as usize, 1.0)]
}

fn bilinear(count: usize, scale: f64, place: usize, offset: f64, smooth: bool) -> Vec<(usize, f64)> {
    let at = (place as f64 + offset) / scale - offset;
    if smooth {
        let reach = (1.0 / scale).max(1.0);
        let weights: Vec<_> =
            (0..count).map(|input| (input, (1.0 - (input as f64 - at).abs() / reach).max(0.0))).collect();
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        return weights.into_iter().map(|(input, weight)| (input, weight / sum)).collect();
    }
    let at = at.clamp(0.0, (count - 1) as f64);
    let (first, share) = (at.floor() as usize, at.fract());
    vec![(first, 1.0 - share), ((first + 1).min(count - 1), share)]
}

fn bicubic(count: usize, scale: f64, place: usize, offset: f64, _smooth: bool) -> Vec<(usize, f64)> {
    // Keys' kernel with a slope of -3/4.
    const SLOPE: f64 = -0.75;
    let at = (place as f64 + offset) / scale - offset;
    let weight = |distance: f64| match distance {
        _ if distance <= 1.0 => (SLOPE + 2.0) * distance.powi(3) - (SLOPE + 3.0) * distance.powi(2) + 1.0,
        _ => SLOPE * (distance.powi(3) - 5.0 * distance.powi(2) + 8.0 * distance - 4.0),
    };
    let first = at.floor() as i64;
    let inputs = (first - 1..=first + 2)
        .map(|input| (input.clamp(0, count as i64 - 1) as usize, weight((at - input as f64).abs())));
    inputs.collect()
}

fn upscale(kernel: &str, kind: Kind, scaling: Scaling) -> Case {
    let Scaling { from, to, corners, smooth, order } = scaling;
    let input = Tensor::between(F32, 343, from, order, -2.0, 2.0);
    let between = |d: usize| to[d] > 1 && from[d] > 1;
    let scale = [0, 1, 2, 3].map(|d| match corners && d < 2 && between(d) {
        true => (to[d] - 1) as f32 / (from[d] - 1) as f32,
        false => to[d] as f32 / from[d] as f32,
    });
    let offset = if corners { 0.0 } else { 0.5f32 };
    let number = |place: [usize; 4]| {
        let weights = |d: usize| kind(from[d], f64::from(scale[d]), place[d], f64::from(offset), smooth);
        let [i2, i3] = [2, 3].map(|d| (place[d] as f64 / f64::from(scale[d])) as usize);
        let columns = weights(0);
        let row =
            |y: usize| columns.iter().map(|&(x, weight)| weight * input.at([x, y, i2, i3])).sum::<f64>();
        weights(1).iter().map(|&(y, weight)| weight * row(y)).sum::<f64>()
    };
    let expected = Data::from_numbers(F32, Tensor::places(to).map(number));
    let kargs =
        Kargs::new("upscale").tensor("0", &input).tensor("", &Tensor::shape(to, 4)).set("poffs", offset);
    let kargs = (0..4).fold(kargs, |kargs, d| kargs.set(&format!("sf{d}"), scale[d]));
    let launch = per_row(kernel, to, to[0].min(MAX_THREADS), &kargs).scalar(&input.bytes);
    let launch = launch.constant(1500, Constant::Bool(smooth));
    ends_with(format!("{scaling:?}"), launch, expected, Tolerance::Near { relative: 0.0, absolute: 1e-5 })
}
