//! `fa_aux.metal`: the preparation of flash attention, its second step where threadgroups shared the keys,
//! and the scores that choose keys (the lightning indexer).

use super::super::launch::{dispatch, ends_with, per_element};
use super::{Attention, BATCHES, KEY_HEADS, Kargs, Masked, Variant, few};
use crate::case::{Case, Constant};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::llama::tensor::{Order, Tensor};
use crate::quants::Format;
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let name = kernel.strip_prefix("kernel_")?;
    if let Some(format) = name.strip_prefix("lightning_indexer_") {
        let format = Format::named(format)?;
        return Some([[1, 5, 1], [8, 70, 11], [13, 130, 3]].map(|size| indexer(kernel, format, size)).into());
    }
    let name = name.strip_prefix("flash_attn_ext_")?;
    if let Some(format) = name.strip_prefix("kv_").and_then(|name| name.strip_suffix("_f16")) {
        return Some(vec![unpacked(kernel, Format::named(format)?)]);
    }
    let masked = [Masked::Not, Masked::Same, Masked::Sloped, Masked::Sparse];
    let blocks = [(8, 64), (1, 32)];
    Some(match name {
        "pad" => {
            let all = masked.into_iter().flat_map(|mask| blocks.map(|(_, keys)| (mask, keys)));
            all.map(|(mask, keys)| tail(kernel, mask, keys)).collect()
        }
        "blk" => {
            let all = masked[1..].iter().flat_map(|&mask| blocks.map(|block| (mask, block)));
            all.map(|(mask, block)| blocks_of(kernel, mask, block)).collect()
        }
        "vec_idx" => {
            [(200, 25), (200, 10), (70, 40), (3000, 400)].map(|(keys, most)| shown(kernel, keys, most)).into()
        }
        "vec_reduce" => [32, 576].map(|size| reduced(kernel, size)).into(),
        _ => return None,
    })
}

fn attention(queries: usize, keys: usize, mask: Masked) -> Attention {
    let half = Format::named("f16").unwrap_or_else(|| panic!("there is no format f16"));
    Attention::new(half, [64, 32], Variant { queries, keys, softcap: 0.0, sinks: false, mask })
}

/// Blocks as numbers of type `half`.
fn unpacked(kernel: &str, format: Format) -> Case {
    let ne = [3 * format.elements, 5, 3, 2];
    let input = Tensor::random(format, 461, ne, Order::Permuted);
    let expected = Data::from_numbers(Dtype::F16, Tensor::places(ne).map(|place| input.at(place)));
    let count = expected.len() / format.elements;
    let kargs = Kargs::new("flash_attn_ext_kv_f16").tensor("", &input).set("nblocks", count);
    let launch = per_element(kernel, count, &kargs).scalar(&input.bytes);
    ends_with(format!("{ne:?}"), launch, expected, Tolerance::rounding(Dtype::F16, 1.01, 2e-3))
}

/// The last block, filled up.
fn tail(kernel: &str, mask: Masked, block: usize) -> Case {
    let attention = attention(11, 150, mask);
    let expected = Data { dtype: Dtype::U8, bytes: attention.tail(block) };
    let kargs = Kargs::new("flash_attn_ext_pad").tensor("1", &attention.keys).tensor("2", &attention.values);
    let kargs = kargs.set("ne_12_2", KEY_HEADS).set("ne_12_3", BATCHES);
    let kargs = match &attention.mask {
        Some(mask) => kargs.tensor("3", mask),
        None => kargs,
    };
    let heads = attention.mask.as_ref().map_or(0, |mask| mask.ne[2]);
    let launch = dispatch(kernel, [block, KEY_HEADS.max(heads), BATCHES], [32, 1, 1], &kargs);
    let launch = launch.scalar(&attention.keys.bytes).scalar(&attention.values.bytes);
    let launch = match &attention.mask {
        Some(mask) => launch.scalar(&mask.bytes),
        None => launch.alias(1),
    };
    let launch = launch.constant(100, Constant::Bool(attention.mask.is_some()));
    let launch = launch.constant(125, Constant::Integer(block as i64));
    ends_with(format!("{mask:?}, blocks of {block}"), launch, expected, Tolerance::Exact)
}

fn blocks_of(kernel: &str, mask: Masked, (queries, keys): (usize, usize)) -> Case {
    let attention = attention(19, 300, mask);
    let Some(tensor) = &attention.mask else { panic!("{mask:?} is no mask") };
    // With one query and one key per lane all blocks that are full count as seen by none.
    let mut bytes = attention.blocks(queries, keys);
    if (queries, keys) == (1, 32) {
        let width = 300usize.div_ceil(keys);
        bytes.iter_mut().enumerate().for_each(|(i, kind)| *kind = u8::from((i % width + 1) * keys > 300));
    }
    let expected = Data { dtype: Dtype::U8, bytes };
    let kargs = Kargs::new("flash_attn_ext_blk").tensor("3", tensor).set("ne01", attention.variant.queries);
    let counts = [300usize.div_ceil(keys), 19usize.div_ceil(queries), tensor.ne[2] * tensor.ne[3]];
    let launch = dispatch(kernel, counts, [32, 1, 1], &kargs).scalar(&tensor.bytes);
    let launch = launch.constant(224, Constant::Integer(queries as i64));
    let launch = launch.constant(225, Constant::Integer(keys as i64));
    ends_with(format!("{mask:?}, blocks of {queries}×{keys}"), launch, expected, Tolerance::Exact)
}

/// The keys that each row of a mask shows.
fn shown(kernel: &str, keys: usize, most: usize) -> Case {
    let attention = attention(5, keys, Masked::Sparse);
    let Some(tensor) = &attention.mask else { panic!("there is no mask") };
    let expected = few::shown(&attention, most);
    let kargs = Kargs::new("flash_attn_ext_vec_idx").tensor("3", tensor).set("n_kv_max", most);
    let kargs = kargs.set("n_kv_max_padded", most.next_multiple_of(few::KEYS));
    let launch = dispatch(kernel, [tensor.ne[1], tensor.ne[2], tensor.ne[3]], [256, 1, 1], &kargs);
    let launch = launch.scalar(&tensor.bytes);
    ends_with(format!("{keys} keys, {most} at most"), launch, expected, Tolerance::Exact)
}

/// Parts of 32 threadgroups added up.
fn reduced(kernel: &str, size: usize) -> Case {
    const PARTS: usize = 32;
    let rows = 5;
    let values = Tensor::between(F32, 462, [4, PARTS, size / 4, rows], Order::Contiguous, -1.0, 1.0);
    let sums = Tensor::between(F32, 463, [PARTS, rows, 1, 1], Order::Contiguous, 0.5, 9.0);
    let highest = Tensor::between(F32, 464, [PARTS, rows, 1, 1], Order::Contiguous, -6.0, 6.0);
    let number = |[i, row, ..]: [usize; 4]| {
        let parts = || (0..PARTS).map(|part| [part, row, 0, 0]);
        let most = parts().map(|place| highest.at(place)).fold(f64::NEG_INFINITY, f64::max);
        let weight = |place| (highest.at(place) - most).exp();
        let sum: f64 = parts().map(|place| sums.at(place) * weight(place)).sum();
        parts().map(|place| values.at([i % 4, place[0], i / 4, row]) * weight(place)).sum::<f64>() / sum
    };
    let expected = Data::from_numbers(F32, Tensor::places([size, rows, 1, 1]).map(number));
    let pairs = Tensor::places(sums.ne).flat_map(|place| [sums.at(place), highest.at(place)]);
    let mut bytes = values.bytes.clone();
    bytes.extend(Data::from_numbers(F32, pairs).bytes);
    let kargs = Kargs::new("flash_attn_ext_vec_reduce").set("nrows", rows);
    let launch = dispatch(kernel, [rows, 1, 1], [32 * PARTS, 1, 1], &kargs).scalar(bytes);
    let launch =
        launch.constant(500, Constant::Integer(size as i64)).constant(501, Constant::Integer(PARTS as i64));
    let tolerance = Tolerance::Near { relative: 1e-5, absolute: 1e-6 };
    ends_with(format!("{size} elements"), launch, expected, tolerance).through_library(true)
}

/// How much each key matters to each token: products with the queries of several heads, those above zero
/// weighted.
fn indexer(kernel: &str, format: Format, [heads, keys, tokens]: [usize; 3]) -> Case {
    const SIZE: usize = 128;
    let q = Tensor::between(F32, 465, [SIZE, heads, tokens, BATCHES], Order::Permuted, -1.0, 1.0);
    let k = Tensor::random(format, 466, [SIZE, 1, keys, BATCHES], Order::Contiguous);
    let weights = Tensor::between(F32, 467, [heads, tokens, 1, BATCHES], Order::Padded, -1.0, 1.0);
    let mask = Tensor::between(Dtype::F16, 468, [keys, tokens, 1, 1], Order::Padded, -4.0, 1.0);
    let mut magnitude = 0.0f64;
    let mut expected = Data::new(F32);
    let ne = [keys, tokens, 1, BATCHES];
    for [key, token, _, batch] in Tensor::places(ne) {
        let (mut score, mut size) = (mask.at([key, token, 0, 0]), 0.0);
        for head in 0..heads {
            let terms = (0..SIZE).map(|i| q.at([i, head, token, batch]) * k.at([i, 0, key, batch]));
            let weight = weights.at([head, token, 0, batch]);
            size += terms.clone().map(f64::abs).sum::<f64>() * weight.abs();
            score += terms.sum::<f64>().max(0.0) * weight;
        }
        magnitude = magnitude.max(size);
        expected.push_number(score);
    }
    let out = Tensor::shape(ne, 4);
    let kargs = Kargs::new("lightning_indexer").tensor("q", &q).tensor("k", &k).tensor("w", &weights);
    let kargs = kargs.tensor("m", &mask).tensor("", &out).set("n_kv", keys).set("n_batch", tokens);
    let kargs = kargs.set("mask_ne3", mask.ne[3]);
    let launch = dispatch(kernel, [keys.div_ceil(64), tokens.div_ceil(8), BATCHES], [32, 8, 1], &kargs);
    let launch = launch.scalar(&q.bytes).scalar(&k.bytes).scalar(&weights.bytes).scalar(&mask.bytes);
    let launch = launch.constant(2200, Constant::Integer(heads as i64));
    // Queries and keys are rounded to 16 bits.
    let tolerance = Tolerance::Near { relative: 0.0, absolute: Dtype::F16.epsilon() * magnitude };
    ends_with(format!("{heads} heads, {keys} keys, {tokens} tokens"), launch, expected, tolerance)
}
