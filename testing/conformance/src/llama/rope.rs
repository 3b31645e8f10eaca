//! `rope.metal`: rotary embeddings of pairs (`norm`) and of halves (`neox`), of a part of each row, with
//! factors for frequencies and YaRN's interpolation; of halves in sections that have their own positions
//! (`multi`, also interleaved) and of images (`vision`).

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// Which elements are turned together, and whose position decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Neighbours.
    Pairs,
    /// An element of the first half and one of the second.
    Halves,
    /// Halves; a position for each of four sections.
    Sections,
    /// Halves; pairs take the positions of three sections in turn.
    Interleaved,
    /// Halves; a position for each of two sections, in which angles begin again.
    Vision,
}

/// Pairs of each section.
const SECTIONS: [usize; 4] = [8, 6, 5, 3];

impl Mode {
    /// The section of a pair.
    fn section(self, pair: usize) -> usize {
        let place = pair % SECTIONS.iter().sum::<usize>();
        match self {
            Self::Pairs | Self::Halves => 0,
            Self::Vision => usize::from(pair % (2 * SECTIONS[0]) >= SECTIONS[0]),
            Self::Interleaved if place / 3 < SECTIONS[place % 3] => place % 3,
            Self::Interleaved => 3,
            Self::Sections => {
                let ends = SECTIONS.iter().scan(0, |end, size| {
                    *end += size;
                    Some(*end)
                });
                ends.take(3).filter(|&end| end <= place).count()
            }
        }
    }
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
    let modes: &[Mode] = match mode {
        "norm" => &[Mode::Pairs],
        "neox" => &[Mode::Halves],
        "multi" => &[Mode::Sections, Mode::Interleaved],
        "vision" => &[Mode::Vision],
        _ => return None,
    };
    // Images are turned as a whole.
    let is_whole = |variant: &Variant| variant.turned == variant.size;
    let fits = |mode: Mode| move |variant: &Variant| mode != Mode::Vision || is_whole(variant);
    let of_mode = |&mode: &Mode| {
        variants.into_iter().filter(fits(mode)).map(move |variant| case(kernel, mode, dtype, variant))
    };
    Some(modes.iter().flat_map(of_mode).collect())
}

const BASE: f64 = 10_000.0;
const SCALE: f64 = 0.5;
const CONTEXT: f64 = 2048.0;
const FAST: f64 = 32.0;
const SLOW: f64 = 1.0;

/// Cosine and sine for a pair at a position. The pair's place in its section is what its frequency goes by.
fn turn(variant: Variant, size: usize, [pair, place]: [usize; 2], position: f64, factor: f64) -> (f64, f64) {
    let size = size as f64;
    let angle = position * BASE.powf(-2.0 * place as f64 / size) / factor;
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

fn case(kernel: &str, mode: Mode, dtype: Dtype, variant: Variant) -> Case {
    let ne = [variant.size, 3, 5, 2];
    let input = Tensor::between(dtype, variant.size as u64, ne, Order::Permuted, -2.0, 2.0);
    // Of each section, for each row of the third dimension.
    let positions = [[0usize, 1, 7, 100, 31], [3, 0, 50, 2, 9], [11, 90, 4, 0, 1], [6, 5, 64, 33, 2]];
    // The kernel for images counts pairs.
    let size = if mode == Mode::Vision { variant.turned / 2 } else { variant.turned };
    let factors = Tensor::between(Dtype::F32, 71, [variant.turned / 2, 1, 1, 1], Order::Contiguous, 0.5, 2.0);
    let mut expected = Data::new(dtype);
    for place in Tensor::places(ne) {
        let within = place[0].wrapping_sub(variant.first);
        if within >= variant.turned {
            expected.push_number(input.at(place));
            continue;
        }
        let (pair, other, is_first) = match mode {
            Mode::Pairs => (within / 2, within ^ 1, within % 2 == 0),
            _ => {
                let half = variant.turned / 2;
                (within % half, (within + half) % variant.turned, within < half)
            }
        };
        let in_section = if mode == Mode::Vision { pair % SECTIONS[0] } else { pair };
        let factor = if variant.factors { factors.at([pair, 0, 0, 0]) } else { 1.0 };
        let position = positions[mode.section(pair)][place[2]] as f64;
        let (c, s) = turn(variant, size, [pair, in_section], position, factor);
        let other = input.at([variant.first + other, place[1], place[2], place[3]]);
        let own = input.at(place);
        expected.push_number(if is_first { own * c - other * s } else { other * s + own * c });
    }
    let out = Tensor::shape(ne, dtype.size());
    let kargs = Kargs::new("rope").tensor("0", &input).tensor("", &out);
    let kargs = kargs.set("n_dims", size).set("n_offs", variant.first).set("n_ctx_orig", CONTEXT as usize);
    let kargs =
        kargs.set("freq_base", BASE as f32).set("freq_scale", SCALE as f32).set("attn_factor", 1.0f32);
    let kargs = kargs.set("ext_factor", variant.extrapolated).set("beta_fast", FAST as f32);
    let kargs = kargs.set("beta_slow", SLOW as f32).set("src2", variant.factors);
    let sections = if mode == Mode::Vision { [SECTIONS[0], SECTIONS[0], 0, 0] } else { SECTIONS };
    let kargs = (0..4).fold(kargs, |kargs, i| kargs.set(&format!("sect_{i}"), sections[i]));
    let grid = Grid::Groups([ne[1] as u32, ne[2] as u32, ne[3] as u32]);
    let launch = Launch::new(kernel, grid, [ne[0].min(1024) as u32, 1, 1]);
    let launch = launch.scalar(kargs.bytes()).scalar(&input.bytes);
    let launch =
        launch.scalar(positions.iter().flatten().flat_map(|&p| (p as i32).to_le_bytes()).collect::<Vec<_>>());
    let launch = if variant.factors { launch.scalar(&factors.bytes) } else { launch.alias(1) };
    let launch = launch.data(&untouched(&expected));
    let launch = launch
        .constant(800, Constant::Bool(mode == Mode::Interleaved))
        .constant(801, Constant::Bool(variant.back));
    // An angle of up to 200 is off by a few units of a float.
    let tolerance = Tolerance::Near { relative: dtype.epsilon(), absolute: 2e-4 };
    let name = format!("{mode:?}, {variant:?}");
    Case::near(name, launch, 4, guarded(expected), tolerance, tolerance).through_library(true)
}
