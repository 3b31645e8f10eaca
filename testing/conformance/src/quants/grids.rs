//! Formats whose numbers come, four or eight at a time, from a code book in ggml's header.

use super::{half_at, short_at, word_at};
use anymetal_harness::corpus;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// All tables of the header, by name.
fn tables() -> &'static BTreeMap<String, Vec<u64>> {
    static TABLES: OnceLock<BTreeMap<String, Vec<u64>>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let files = corpus::files("llama-cpp-sys-2").unwrap_or_else(|error| panic!("{error}"));
        let folders = files.iter().flat_map(|file| &file.include_dirs);
        let text = folders
            .map(|folder| folder.join("ggml-common.h"))
            .find_map(|path| std::fs::read_to_string(path).ok());
        parse(&text.unwrap_or_else(|| panic!("there is no ggml-common.h")))
    })
}

fn parse(text: &str) -> BTreeMap<String, Vec<u64>> {
    let mut tables = BTreeMap::new();
    for part in text.split("\nGGML_TABLE_BEGIN(").skip(1) {
        let Some((head, rest)) = part.split_once(')') else { continue };
        let Some(name) = head.split(',').nth(1) else { continue };
        let body = rest.split("GGML_TABLE_END").next().unwrap_or("");
        let number = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        };
        let words = body.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        tables.insert(name.trim().to_owned(), words.filter_map(number).collect());
    }
    tables
}

/// Byte `i` of an entry.
fn code(table: &str, entry: usize, i: usize) -> u8 {
    let entries = tables().get(table).unwrap_or_else(|| panic!("there is no table {table}"));
    entries[entry].to_le_bytes()[i]
}

/// Seven signs and the eighth, which makes their number even.
fn even_signs(seven: u32) -> u8 {
    let seven = (seven & 127) as u8;
    seven | ((seven.count_ones() as u8 & 1) << 7)
}

fn signed(number: f64, signs: u8, i: usize) -> f64 {
    if signs >> i & 1 == 1 { -number } else { number }
}

/// The scale of half of 32 numbers: a nibble.
fn nibble_scale(scales: &[u8], i: usize) -> f64 {
    let nibble = scales[i / 32] >> (4 * (i / 16 % 2)) & 15;
    (0.5 + f64::from(nibble)) * 0.25
}

pub(super) fn iq2_xxs(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let (part, eight) = (2 + i / 32 * 8, i / 8 % 4);
        let rest = word_at(block, part + 4);
        let scale = (0.5 + f64::from(rest >> 28)) * 0.25;
        let signs = even_signs(rest >> (7 * eight));
        let value = code("iq2xxs_grid", usize::from(block[part + eight]), i % 8);
        half_at(block, 0) * scale * signed(f64::from(value), signs, i % 8)
    };
    (0..256).map(number).collect()
}

pub(super) fn iq2_xs(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let q = short_at(block, 2 + i / 8 * 2);
        let value = code("iq2xs_grid", usize::from(q & 511), i % 8);
        let signs = even_signs(u32::from(q >> 9));
        half_at(block, 0) * nibble_scale(&block[66..74], i) * signed(f64::from(value), signs, i % 8)
    };
    (0..256).map(number).collect()
}

pub(super) fn iq2_s(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let (eight, high) = (i / 8, block[66 + i / 32]);
        let entry = usize::from(block[2 + eight]) | usize::from(high >> (2 * (eight % 4)) & 3) << 8;
        let value = code("iq2s_grid", entry, i % 8);
        half_at(block, 0)
            * nibble_scale(&block[74..82], i)
            * signed(f64::from(value), block[34 + eight], i % 8)
    };
    (0..256).map(number).collect()
}

pub(super) fn iq3_xxs(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let rest = word_at(block, 66 + i / 32 * 4);
        let scale = (0.5 + f64::from(rest >> 28)) * 0.5;
        let signs = even_signs(rest >> (7 * (i / 8 % 4)));
        let value = code("iq3xxs_grid", usize::from(block[2 + i / 4]), i % 4);
        half_at(block, 0) * scale * signed(f64::from(value), signs, i % 8)
    };
    (0..256).map(number).collect()
}

pub(super) fn iq3_s(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let nibble = block[106 + i / 64] >> (4 * (i / 32 % 2)) & 15;
        let scale = 1.0 + 2.0 * f64::from(nibble);
        let entry = usize::from(block[2 + i / 4]) | usize::from(block[66 + i / 32] >> (i / 4 % 8) & 1) << 8;
        let value = code("iq3s_grid", entry, i % 4);
        half_at(block, 0) * scale * signed(f64::from(value), block[74 + i / 8], i % 8)
    };
    (0..256).map(number).collect()
}

/// An eighth, added or taken away.
fn shift(is_negative: bool) -> f64 {
    if is_negative { -0.125 } else { 0.125 }
}

pub(super) fn iq1_s(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let high = short_at(block, 34 + i / 32 * 2);
        let scale = 2.0 * f64::from(high >> 12 & 7) + 1.0;
        let entry = usize::from(block[2 + i / 8]) | usize::from(high >> (3 * (i / 8 % 4)) & 7) << 8;
        let value = f64::from(code("iq1s_grid", entry, i % 8) as i8);
        half_at(block, 0) * scale * (value + shift(high & 0x8000 != 0))
    };
    (0..256).map(number).collect()
}

pub(super) fn iq1_m(block: &[u8]) -> Vec<f64> {
    let words: Vec<u16> = (0..4).map(|word| short_at(block, 48 + 2 * word)).collect();
    let bits = (0..4).fold(0, |bits, word| bits | (words[word] >> 12) << (4 * word));
    let whole = half::f16::from_bits(bits).to_f64();
    let number = |i: usize| {
        let eight = i / 8;
        let high = block[32 + eight / 2] >> (4 * (eight % 2)) & 15;
        let scale = 2.0 * f64::from(words[i / 64] >> (3 * (i / 16 % 4)) & 7) + 1.0;
        let entry = usize::from(block[eight]) | usize::from(high & 7) << 8;
        let value = f64::from(code("iq1s_grid", entry, i % 8) as i8);
        whole * scale * (value + shift(high & 8 != 0))
    };
    (0..256).map(number).collect()
}
