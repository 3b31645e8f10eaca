//! `rope.metal`: rotary embeddings of pairs (`norm`) and of halves (`neox`), of a part of each row, with factors
//! for frequencies and YaRN's interpolation.

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// Whether a kernel has a reference.
pub fn covers(kernel: &str) -> bool {
    kernel.starts_with("kernel_rope_norm_") || kernel.starts_with("kernel_rope_neox_")
}

/// What differs between the cases of a kernel.
#[derive(Clone, Copy, Debug)]
struct Variant {
    size: usize,
    /// The first element that is turned, and how many are.
    first: usize,
    turned: usize,
    factors: bool,
    back: bool,
    /// YaRN's share of extrapolation.
    extrapolated: f32,
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (mode, dtype) = kernel.strip_prefix("kernel_rope_")?.split_once('_')?;
    let dtype = Dtype::named(dtype)?;
    let variant = |size, first, turned, factors, back, extrapolated| Variant {
        size,
        first,
        turned,
        factors,
        back,
        extrapolated,
    };
    let variants = [
        variant(64, 0, 64, false, false, 0.0),
        variant(80, 0, 32, true, false, 0.0),
        variant(72, 8, 48, false, true, 0.0),
        variant(128, 0, 128, true, false, 1.0),
    ];
    Some(variants.iter().map(|&variant| case(kernel, mode == "neox", dtype, variant)).collect())
}

const BASE: f64 = 10_000.0;
const SCALE: f64 = 0.5;
const CONTEXT: f64 = 2048.0;
const FAST: f64 = 32.0;
const SLOW: f64 = 1.0;

/// Cosine and sine for a pair at a position.
fn turn(variant: Variant, pair: usize, position: f64, factor: f64) -> (f64, f64) {
    let size = variant.turned as f64;
    let angle = position * BASE.powf(-2.0 * pair as f64 / size) / factor;
    let share = f64::from(variant.extrapolated);
    let (mut theta, mut magnitude) = (SCALE * angle, 1.0);
    if share != 0.0 {
        let edge = |turns: f64| size * (CONTEXT / (turns * std::f64::consts::TAU)).ln() / (2.0 * BASE.ln());
        let (low, high) = (edge(FAST).floor().max(0.0), edge(SLOW).ceil().min(size - 1.0));
        let ramp = 1.0 - ((pair as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
        theta = theta * (1.0 - ramp * share) + angle * ramp * share;
        magnitude = 1.0 + 0.1 * (1.0 / SCALE).ln();
    }
    let sine = theta.sin() * magnitude;
    (theta.cos() * magnitude, if variant.back { -sine } else { sine })
}

fn case(kernel: &str, halves: bool, dtype: Dtype, variant: Variant) -> Case {
    let ne = [variant.size, 3, 5, 2];
    let input = Tensor::between(dtype, variant.size as u64, ne, Order::Permuted, -2.0, 2.0);
    let positions = [0usize, 1, 7, 100, 31];
    let factors = Tensor::between(Dtype::F32, 71, [variant.turned / 2, 1, 1, 1], Order::Contiguous, 0.5, 2.0);
    let mut expected = Data::new(dtype);
    for place in Tensor::places(ne) {
        let within = place[0].wrapping_sub(variant.first);
        if within >= variant.turned {
            expected.push_number(input.at(place));
            continue;
        }
        let (pair, other, is_first) = match halves {
            true => {
                let half = variant.turned / 2;
                (within % half, (within + half) % variant.turned, within < half)
            }
            false => (within / 2, within ^ 1, within % 2 == 0),
        };
        let factor = if variant.factors { factors.at([pair, 0, 0, 0]) } else { 1.0 };
        let (c, s) = turn(variant, pair, positions[place[2]] as f64, factor);
        let other = input.at([variant.first + other, place[1], place[2], place[3]]);
        let own = input.at(place);
        expected.push_number(if is_first { own * c - other * s } else { other * s + own * c });
    }
    let out = Tensor::shape(ne, dtype.size());
    let kargs = Kargs::new("rope").tensor("0", &input).tensor("", &out);
    let kargs =
        kargs.set("n_dims", variant.turned).set("n_offs", variant.first).set("n_ctx_orig", CONTEXT as usize);
    let kargs =
        kargs.set("freq_base", BASE as f32).set("freq_scale", SCALE as f32).set("attn_factor", 1.0f32);
    let kargs = kargs.set("ext_factor", variant.extrapolated).set("beta_fast", FAST as f32);
    let kargs = kargs.set("beta_slow", SLOW as f32).set("src2", variant.factors);
    let grid = Grid::Groups([ne[1] as u32, ne[2] as u32, ne[3] as u32]);
    let launch = Launch::new(kernel, grid, [ne[0].min(1024) as u32, 1, 1]);
    let launch = launch.scalar(kargs.bytes()).scalar(&input.bytes);
    let launch = launch.scalar(positions.iter().flat_map(|&p| (p as i32).to_le_bytes()).collect::<Vec<_>>());
    let launch = if variant.factors { launch.scalar(&factors.bytes) } else { launch.alias(1) };
    let launch = launch.data(&untouched(&expected));
    let launch = launch.constant(800, Constant::Bool(false)).constant(801, Constant::Bool(variant.back));
    // An angle of up to 200 is off by a few units of a float.
    let tolerance = Tolerance::Near { relative: dtype.epsilon(), absolute: 2e-4 };
    let name = format!("{variant:?}");
    Case::near(name, launch, 4, guarded(expected), tolerance, tolerance).through_library(true)
}
