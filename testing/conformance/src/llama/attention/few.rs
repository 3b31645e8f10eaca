//! `fa_vec_TYPE.metal`: one, two or four queries a threadgroup, keys in blocks of 32, which SIMD-groups and
//! threadgroups share; of a sparse mask only the keys that are seen.

use super::super::launch::dispatch;
use super::super::tensor::Tensor;
use super::{Attention, BATCHES, HEADS, Masked, Variant, taken_apart};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Faults, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::quants::Format;
use crate::suite::Level;

pub(super) const KEYS: usize = 32;

/// How keys are divided.
#[derive(Clone, Copy, Debug)]
struct Division {
    /// Threadgroups that share the keys; several give parts, which another kernel adds up.
    threadgroups: usize,
    simdgroups: usize,
    /// Queries of a threadgroup.
    queries: usize,
}

/// The parts of a kernel's name: format, sizes, queries of a threadgroup.
fn named(kernel: &str) -> Option<(Format, [usize; 2], usize)> {
    let name = kernel.strip_prefix("kernel_flash_attn_ext_vec_")?;
    let ending = name.find("_dv").and_then(|at| name[at + 1..].find("_q").map(|more| at + 1 + more));
    let (name, queries) = name.split_at(ending.unwrap_or(name.len()));
    let queries = queries.strip_prefix("_q").and_then(|rest| rest.split('_').next()).unwrap_or("1");
    let (format, dk, dv) = taken_apart(name)?;
    Some((format, [dk, dv], queries.parse().ok()?))
}

/// Bytes of threadgroup memory: queries, weights and masks, results, and lists of keys.
fn memory([dk, dv]: [usize; 2], division: Division, is_sparse: bool) -> usize {
    let halves = dk.next_multiple_of(128) + 4 * KEYS + 2 * dv.next_multiple_of(128);
    let list = if is_sparse { division.simdgroups * KEYS * 4 } else { 0 };
    (2 * halves * division.queries * division.simdgroups + list).next_multiple_of(16)
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    const MEMORY: usize = 32 << 10;
    let (format, sizes, queries) = named(kernel)?;
    let variant = |queries, keys, softcap, sinks, mask| Variant { queries, keys, softcap, sinks, mask };
    let of = |variant, threadgroups, simdgroups| (variant, Division { threadgroups, simdgroups, queries });
    let mut all = vec![
        of(variant(1, 64, 0.0, false, Masked::Not), 1, 1),
        of(variant(3, 100, 0.0, true, Masked::Same), 1, 2),
        of(variant(2, 160, 8.0, true, Masked::Sloped), 32, 1),
        of(variant(2, 75, 0.0, false, Masked::Not), 1, 4),
    ];
    if queries == 1 {
        all.push(of(variant(3, 200, 0.0, false, Masked::Sparse), 1, 1));
    }
    // Few SIMD-groups where more have no room.
    let fitting = all.into_iter().map(|(variant, mut division)| {
        while division.simdgroups > 1 && memory(sizes, division, false) > MEMORY {
            division.simdgroups /= 2;
        }
        case(kernel, format, sizes, variant, division)
    });
    Some(fitting.collect())
}

/// Keys of a threadgroup.
fn keys_of(threadgroup: usize, division: Division, keys: usize) -> Vec<usize> {
    (0..keys).filter(|key| key / KEYS / division.simdgroups % division.threadgroups == threadgroup).collect()
}

/// What each threadgroup adds to every result, four elements of one after those of another; then sums and
/// maxima.
fn parts(attention: &Attention, division: Division) -> Data {
    let Variant { keys, sinks, .. } = attention.variant;
    let (mut numbers, mut measures) = (Data::new(Dtype::F32), Data::new(Dtype::F32));
    for place in attention.places() {
        let of = |threadgroup| {
            let keys = keys_of(threadgroup, division, keys);
            attention.part(place, &keys, sinks && threadgroup == 0)
        };
        let all: Vec<_> = (0..division.threadgroups).map(of).collect();
        for first in (0..attention.values.ne[0]).step_by(4) {
            all.iter()
                .flat_map(|(_, _, values)| &values[first..first + 4])
                .for_each(|&x| numbers.push_number(x));
        }
        for (highest, sum, _) in &all {
            measures.push_number(*sum);
            measures.push_number(*highest);
        }
    }
    numbers.bytes.extend(measures.bytes);
    numbers
}

/// The keys that each row of a mask shows, filled up.
pub(super) fn shown(attention: &Attention, most: usize) -> Data {
    let padded = most.next_multiple_of(KEYS);
    let mut all = Data::new(Dtype::I32);
    let Some(mask) = &attention.mask else { return all };
    for [_, i1, i2, i3] in Tensor::places([1, mask.ne[1], mask.ne[2], mask.ne[3]]) {
        let keys = (0..mask.ne[0]).filter(|&key| mask.at([key, i1, i2, i3]).is_finite());
        let mut list: Vec<i128> = keys.take(most).map(|key| key as i128).collect();
        list.resize(padded, -1);
        list.into_iter().for_each(|key| all.push_integer(key));
    }
    all
}

fn case(kernel: &str, format: Format, sizes: [usize; 2], variant: Variant, division: Division) -> Case {
    let attention = Attention::new(format, sizes, variant);
    let is_sparse = variant.mask == Masked::Sparse;
    let Division { threadgroups, simdgroups, queries } = division;
    // As many keys as the densest row shows.
    let most = variant.keys.div_ceil(8);
    let has_tail = !is_sparse && attention.has_tail(KEYS);
    let kargs = attention.kargs("flash_attn_ext_vec");
    let kargs = match is_sparse {
        true => {
            kargs.set("ne11", most.next_multiple_of(KEYS)).set("n_kv_max_padded", most.next_multiple_of(KEYS))
        }
        false => kargs,
    };
    let (expected, weight) = match threadgroups {
        1 => (attention.result(), 1.0),
        // Parts are not divided by their sum.
        _ => (parts(&attention, division), 2.0 * (simdgroups * KEYS) as f64),
    };
    let grid = [variant.queries.div_ceil(queries), HEADS, BATCHES * threadgroups];
    let launch = dispatch(kernel, grid, [32, simdgroups, 1], &kargs).scalar(&attention.queries.bytes);
    let launch = launch.scalar(&attention.keys.bytes).scalar(&attention.values.bytes);
    let launch = match &attention.mask {
        Some(mask) => launch.scalar(&mask.bytes),
        None => launch.alias(1),
    };
    let launch = if variant.sinks { launch.data(&attention.sinks) } else { launch.alias(1) };
    let launch = if has_tail { launch.scalar(attention.tail(KEYS)) } else { launch.alias(1) };
    let launch = launch.data(&untouched(&expected));
    let launch = if is_sparse { launch.data(&shown(&attention, most)) } else { launch.alias(1) };
    let launch = launch.threadgroup(0, memory(sizes, division, is_sparse) as u64);
    let (has_mask, has_slope) = (attention.mask.is_some(), attention.has_slope());
    let flags = [has_mask, variant.sinks, has_slope, variant.softcap != 0.0, has_tail, is_sparse];
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Bool(value));
    let launch = (400..).zip(flags).fold(launch, set);
    let [ns10, ns20] = attention.pitches();
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Integer(value as i64));
    let launch = (420..).zip([ns10, ns20, simdgroups, threadgroups]).fold(launch, set);
    let rounding = Attention::rounding(format) * weight;
    let absolute = rounding * attention.magnitude().max(if threadgroups > 1 { 1.0 } else { 0.0 });
    let tolerance = Tolerance::Near { relative: 0.0, absolute };
    let name = format!("{variant:?}, {division:?}");
    let case = Case::near(name, launch, 7, guarded(expected), tolerance, tolerance).through_library(true);
    // Zeros are stored after the results, for some sizes after the end of threadgroup memory.
    Case { faults: Faults::Harmless, ..case }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn kernel_names_are_parsed() {
        let of = |name: &str| {
            let full = format!("kernel_flash_attn_ext_vec_{name}");
            named(&full).map(|(format, sizes, queries)| (format.name, sizes, queries))
        };
        assert_eq!(of("f16_dk96_dv64"), Some(("f16", [96, 64], 1)));
        assert_eq!(of("f16_dk32_dv32_q4_ne2"), Some(("f16", [32, 32], 4)));
        assert_eq!(of("q4_0_dk32_dv32"), Some(("q4_0", [32, 32], 1)));
        assert_eq!(of("q4_0_dk32_dv32_q2_ne4"), Some(("q4_0", [32, 32], 2)));
    }
}
