//! Formats of 256 numbers in parts with scales of their own, which share a scale in turn.

use super::small::NON_LINEAR;
use super::{half_at, short_at};

/// Two bits each: four times 32 numbers are in 32 bytes.
fn two_bits(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 128 * 32 + i % 32] >> (2 * (i / 32 % 4)) & 3
}

pub(super) fn q2_k(block: &[u8]) -> Vec<f64> {
    let (scale, minimum) = (half_at(block, 80), half_at(block, 82));
    let number = |i: usize| {
        let part = block[i / 16];
        scale * f64::from(part & 15) * f64::from(two_bits(&block[16..80], i)) - minimum * f64::from(part >> 4)
    };
    (0..256).map(number).collect()
}

pub(super) fn q3_k(block: &[u8]) -> Vec<f64> {
    let (high, low, scales) = (&block[..32], &block[32..96], &block[96..108]);
    let scale = |part: usize| {
        let nibble = scales[part % 8] >> (4 * (part / 8)) & 15;
        let upper = scales[8 + part % 4] >> (2 * (part / 4)) & 3;
        f64::from(nibble | upper << 4) - 32.0
    };
    let number = |i: usize| {
        let missing = if high[i % 32] >> (i / 32) & 1 == 1 { 0.0 } else { 4.0 };
        half_at(block, 108) * scale(i / 16) * (f64::from(two_bits(low, i)) - missing)
    };
    (0..256).map(number).collect()
}

/// Scale and minimum of a part of 32: six bits each.
fn six_bits(scales: &[u8], part: usize) -> (f64, f64) {
    let (scale, minimum) = match part {
        0..4 => (scales[part] & 63, scales[part + 4] & 63),
        _ => {
            let both = scales[part + 4];
            (both & 15 | scales[part - 4] >> 6 << 4, both >> 4 | scales[part] >> 6 << 4)
        }
    };
    (f64::from(scale), f64::from(minimum))
}

/// The nibble of a number: 64 of them are in 32 bytes.
fn nibble(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 64 * 32 + i % 32] >> (4 * (i / 32 % 2)) & 15
}

pub(super) fn q4_k(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let (scale, minimum) = six_bits(&block[4..16], i / 32);
        half_at(block, 0) * scale * f64::from(nibble(&block[16..144], i)) - half_at(block, 2) * minimum
    };
    (0..256).map(number).collect()
}

pub(super) fn q5_k(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let (scale, minimum) = six_bits(&block[4..16], i / 32);
        let fifth = (block[16 + i % 32] >> (i / 32) & 1) << 4;
        let q = nibble(&block[48..176], i) | fifth;
        half_at(block, 0) * scale * f64::from(q) - half_at(block, 2) * minimum
    };
    (0..256).map(number).collect()
}

pub(super) fn q6_k(block: &[u8]) -> Vec<f64> {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let number = |i: usize| {
        let (half, rest) = (i / 128, i % 128);
        let low = low[half * 64 + rest % 64] >> (4 * (rest / 64)) & 15;
        let high = high[half * 32 + rest % 32] >> (2 * (rest / 32)) & 3;
        half_at(block, 208) * f64::from(scales[i / 16] as i8) * (f64::from(low | high << 4) - 32.0)
    };
    (0..256).map(number).collect()
}

pub(super) fn tq2_0(block: &[u8]) -> Vec<f64> {
    (0..256).map(|i| (f64::from(two_bits(&block[..64], i)) - 1.0) * half_at(block, 64)).collect()
}

pub(super) fn iq4_xs(block: &[u8]) -> Vec<f64> {
    let number = |i: usize| {
        let part = i / 32;
        let low = block[4 + part / 2] >> (4 * (part % 2)) & 15;
        let high = (short_at(block, 2) >> (2 * part) & 3) as u8;
        let byte = block[8 + part * 16 + i % 16];
        let q = if i % 32 < 16 { byte & 15 } else { byte >> 4 };
        half_at(block, 0) * (f64::from(low | high << 4) - 32.0) * f64::from(NON_LINEAR[usize::from(q)])
    };
    (0..256).map(number).collect()
}
