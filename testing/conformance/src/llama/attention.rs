//! `fa_TYPE.metal`: flash attention of many queries, keys and values in any format.
//!
//! Keys are a multiple of 64, so that no kernel has to pad them first, and there is no mask, so that none has to
//! look for blocks without one.

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Faults, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::quants::Format;
use crate::suite::Level;

const HEADS: usize = 4;
const KEY_HEADS: usize = 2;

fn taken_apart(kernel: &str) -> Option<(Format, usize, usize)> {
    let (format, sizes) = kernel.strip_prefix("kernel_flash_attn_ext_")?.split_once("_dk")?;
    let (keys, values) = sizes.split_once("_dv")?;
    Some((Format::named(format)?, keys.parse().ok()?, values.parse().ok()?))
}

/// Whether a kernel has a reference. Blocks must fit into a row, and threadgroup memory into what there is; the host
/// converts keys and values to `half` first where it does not.
pub fn covers(kernel: &str) -> bool {
    const MEMORY: usize = 32 << 10;
    taken_apart(kernel).is_some_and(|(format, dk, dv)| {
        let whole = |size: usize| size.is_multiple_of(format.elements);
        whole(dk) && whole(dv) && memory(format, dk, dv) <= MEMORY
    })
}

fn simdgroups(dk: usize) -> usize {
    if dk >= 512 { 8 } else { 4 }
}

/// Bytes of threadgroup memory: queries, the result, weights, and where blocks are unpacked.
fn memory(format: Format, dk: usize, dv: usize) -> usize {
    let unpacked = if format.plain().is_none() { 16 * 32 * simdgroups(dk) } else { 0 };
    let halves = 8 * (dk + 2 * dv.next_multiple_of(64) + 4 * 64) + unpacked;
    (2 * halves).next_multiple_of(16)
}

/// What differs between the cases of a kernel.
#[derive(Clone, Copy, Debug)]
struct Variant {
    queries: usize,
    keys: usize,
    softcap: f32,
    sinks: bool,
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (format, dk, dv) = taken_apart(kernel)?;
    let variants = [
        Variant { queries: 8, keys: 64, softcap: 0.0, sinks: false },
        Variant { queries: 11, keys: 192, softcap: 0.0, sinks: true },
        Variant { queries: 3, keys: 128, softcap: 8.0, sinks: false },
    ];
    Some(variants.iter().map(|&variant| case(kernel, format, [dk, dv], variant)).collect())
}

fn case(kernel: &str, format: Format, [dk, dv]: [usize; 2], variant: Variant) -> Case {
    let Variant { queries, keys, softcap, sinks } = variant;
    let q = Tensor::between(Dtype::F32, 91, [dk, queries, HEADS, 1], Order::Permuted, -1.0, 1.0);
    let k = Tensor::random(format, 92, [dk, keys, KEY_HEADS, 1], Order::Contiguous);
    let v = Tensor::random(format, 93, [dv, keys, KEY_HEADS, 1], Order::Contiguous);
    let sink = Data::from_numbers(Dtype::F32, [0.5, -1.0, 2.0, 0.0]);
    // Scores of about 1, whatever the numbers of the format.
    let spread = (0..dk).map(|i| k.at([i, 0, 0, 0]).powi(2)).sum::<f64>().sqrt();
    let scale = (2.0 / spread) as f32;
    let mut expected = Data::new(Dtype::F32);
    let mut magnitude = 0.0f64;
    for (query, head) in (0..queries).flat_map(|query| (0..HEADS).map(move |head| (query, head))) {
        let from = head / (HEADS / KEY_HEADS);
        let score = |key: usize| {
            let product: f64 = (0..dk).map(|i| q.at([i, query, head, 0]) * k.at([i, key, from, 0])).sum();
            let score = product * f64::from(scale);
            if softcap == 0.0 { score } else { (score / f64::from(softcap)).tanh() * f64::from(softcap) }
        };
        let scores: Vec<f64> = (0..keys).map(score).collect();
        let highest =
            scores.iter().copied().fold(if sinks { sink.number(head) } else { f64::NEG_INFINITY }, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
        let extra = if sinks { (sink.number(head) - highest).exp() } else { 0.0 };
        let sum: f64 = weights.iter().sum::<f64>() + extra;
        for i in 0..dv {
            let value = |key: usize| v.at([i, key, from, 0]);
            magnitude = (0..keys).map(|key| value(key).abs()).fold(magnitude, f64::max);
            expected.push_number((0..keys).map(|key| weights[key] * value(key)).sum::<f64>() / sum);
        }
    }
    let groups = simdgroups(dk);
    let [ns10, ns20] = [&k, &v].map(|tensor| tensor.nb[1] / tensor.nb[0]);
    let kargs = Kargs::new("flash_attn_ext").tensor("0", &q).tensor("1", &k);
    let kargs = kargs.set("ne_12_2", KEY_HEADS).set("ne_12_3", 1).set("ns10", ns10).set("ns20", ns20);
    let kargs = kargs.set("nb21", v.nb[1]).set("nb22", v.nb[2]).set("nb23", v.nb[3]);
    let kargs = kargs.set("ne1", HEADS).set("ne2", queries).set("ne3", 1);
    let kargs = kargs
        .set("scale", if softcap == 0.0 { scale } else { scale / softcap })
        .set("logit_softcap", softcap);
    let kargs = kargs.set("n_head_log2", HEADS).set("m0", 1.0f32).set("m1", 1.0f32);
    let grid = Grid::Groups([queries.div_ceil(8) as u32, HEADS as u32, 1]);
    let launch = Launch::new(kernel, grid, [32, groups as u32, 1]).scalar(kargs.bytes());
    let launch = launch.scalar(&q.bytes).scalar(&k.bytes).scalar(&v.bytes).alias(1);
    let launch = if sinks { launch.data(&sink) } else { launch.alias(1) };
    let launch = launch.alias(1).alias(1).data(&untouched(&expected));
    let launch = launch.threadgroup(0, memory(format, dk, dv) as u64);
    let constants =
        [(300, false), (301, sinks), (302, false), (303, softcap != 0.0), (304, false), (310, false)];
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Bool(value));
    let launch = constants.into_iter().fold(launch, set);
    let sizes = [(320, ns10), (321, ns20), (322, groups)];
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Integer(value as i64));
    let launch = sizes.into_iter().fold(launch, set);
    // Queries, weights and the running result are rounded to 16 bits, some of them per block of keys.
    let rounding = if format.name == "bf16" { Dtype::Bf16.epsilon() } else { Dtype::F16.epsilon() };
    let tolerance = Tolerance::Near { relative: 0.0, absolute: 8.0 * rounding * magnitude };
    let name = format!("{variant:?}");
    let case = Case::near(name, launch, 8, guarded(expected), tolerance, tolerance).through_library(true);
    // Rows of values are read in pieces of 64, also where the last one has fewer.
    let faults = if dv.is_multiple_of(64) { Faults::Never } else { Faults::Harmless };
    Case { faults, ..case }
}
