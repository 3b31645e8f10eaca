//! `fa_TYPE.metal`: eight queries a threadgroup, keys in blocks of 64.

use super::super::launch::{dispatch, ends_with};
use super::{Attention, BATCHES, HEADS, Masked, Variant, taken_apart};
use crate::case::{Case, Constant, Faults, Launch};
use crate::compare::Tolerance;
use crate::quants::Format;
use crate::suite::Level;

const QUERIES: usize = 8;
const KEYS: usize = 64;

/// Whether a kernel has a reference. Blocks must fit into a row, and threadgroup memory into what there is;
/// the host converts keys and values to `half` first where it does not.
pub fn covers(kernel: &str) -> bool {
    const MEMORY: usize = 32 << 10;
    let name = kernel.strip_prefix("kernel_flash_attn_ext_");
    name.and_then(taken_apart).is_some_and(|(format, dk, dv)| {
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
    let halves = QUERIES * (dk + 2 * dv.next_multiple_of(64) + 4 * KEYS) + unpacked;
    (2 * halves).next_multiple_of(16)
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (format, dk, dv) = taken_apart(kernel.strip_prefix("kernel_flash_attn_ext_")?)?;
    let variant = |queries, keys, softcap, sinks, mask| Variant { queries, keys, softcap, sinks, mask };
    let variants = [
        variant(8, 64, 0.0, false, Masked::Not),
        variant(11, 192, 0.0, true, Masked::Not),
        variant(3, 100, 8.0, false, Masked::Not),
        variant(16, 256, 0.0, false, Masked::Sloped),
        variant(11, 150, 0.0, true, Masked::Same),
        variant(9, 70, 0.0, false, Masked::Sparse),
    ];
    Some(variants.iter().map(|&variant| case(kernel, format, [dk, dv], variant)).collect())
}

fn case(kernel: &str, format: Format, [dk, dv]: [usize; 2], variant: Variant) -> Case {
    let attention = Attention::new(format, [dk, dv], variant);
    let expected = attention.result();
    let groups = simdgroups(dk);
    let kargs = attention.kargs("flash_attn_ext");
    let launch =
        dispatch(kernel, [variant.queries.div_ceil(QUERIES), HEADS, BATCHES], [32, groups, 1], &kargs);
    let launch = launch.scalar(&attention.queries.bytes).scalar(&attention.keys.bytes);
    let launch = launch.scalar(&attention.values.bytes);
    let launch = match &attention.mask {
        Some(mask) => launch.scalar(&mask.bytes),
        None => launch.alias(1),
    };
    let launch = if variant.sinks { launch.data(&attention.sinks) } else { launch.alias(1) };
    let has_tail = attention.has_tail(KEYS);
    let launch = if has_tail { launch.scalar(attention.tail(KEYS)) } else { launch.alias(1) };
    let launch = launch.scalar(attention.blocks(QUERIES, KEYS));
    let tolerance =
        Tolerance::Near { relative: 0.0, absolute: Attention::rounding(format) * attention.magnitude() };
    let case = ends_with(format!("{variant:?}"), launch, expected, tolerance).through_library(true);
    let launch = case.launch.clone().threadgroup(0, memory(format, dk, dv) as u64);
    let has_mask = attention.mask.is_some();
    let ragged_mask = has_mask && !variant.queries.is_multiple_of(QUERIES);
    let flags = [has_mask, variant.sinks, attention.has_slope(), variant.softcap != 0.0, has_tail];
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Bool(value));
    let launch = (300..).zip(flags).fold(launch, set).constant(310, Constant::Bool(ragged_mask));
    let [ns10, ns20] = attention.pitches();
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Integer(value as i64));
    let launch = (320..).zip([ns10, ns20, groups]).fold(launch, set);
    // Rows of values are read in pieces of 64, also where the last one has fewer.
    let faults = if dv.is_multiple_of(64) { Faults::Never } else { Faults::Harmless };
    Case { launch, faults, ..case }
}
