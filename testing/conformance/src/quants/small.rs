//! Formats with one scale for 32, 64 or 128 numbers.

use super::{half_at, word_at};

/// The numbers that a nibble encodes in `iq4_nl` and `iq4_xs`.
pub(super) const NON_LINEAR: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Twice the numbers of four bits: a sign, two of exponent, one of mantissa.
const E2M1: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];

/// Low nibbles of all bytes, then the high ones.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> + Clone + '_ {
    bytes.iter().map(|byte| byte & 15).chain(bytes.iter().map(|byte| byte >> 4))
}

pub(super) fn q1_0(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 0);
    (0..128).map(|i| if block[2 + i / 8] >> (i % 8) & 1 == 1 { scale } else { -scale }).collect()
}

pub(super) fn q2_0(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 0);
    (0..64).map(|i| (f64::from(block[2 + i / 4] >> (2 * (i % 4)) & 3) - 1.0) * scale).collect()
}

pub(super) fn q4_0(block: &[u8]) -> Vec<f64> {
    nibbles(&block[2..18]).map(|q| (f64::from(q) - 8.0) * half_at(block, 0)).collect()
}

pub(super) fn q4_1(block: &[u8]) -> Vec<f64> {
    nibbles(&block[4..20]).map(|q| f64::from(q) * half_at(block, 0) + half_at(block, 2)).collect()
}

/// Nibbles with a fifth bit each.
fn five_bits(low: &[u8], high: u32) -> impl Iterator<Item = f64> + '_ {
    nibbles(low).enumerate().map(move |(i, q)| f64::from(u32::from(q) | (high >> i & 1) << 4))
}

pub(super) fn q5_0(block: &[u8]) -> Vec<f64> {
    five_bits(&block[6..22], word_at(block, 2)).map(|q| (q - 16.0) * half_at(block, 0)).collect()
}

pub(super) fn q5_1(block: &[u8]) -> Vec<f64> {
    five_bits(&block[8..24], word_at(block, 4)).map(|q| q * half_at(block, 0) + half_at(block, 2)).collect()
}

pub(super) fn q8_0(block: &[u8]) -> Vec<f64> {
    block[2..34].iter().map(|&q| f64::from(q as i8) * half_at(block, 0)).collect()
}

pub(super) fn mxfp4(block: &[u8]) -> Vec<f64> {
    let half_scale = (f64::from(block[0]) - 128.0).exp2();
    let number = |q: u8| E2M1[usize::from(q & 7)] * if q & 8 == 0 { 1.0 } else { -1.0 };
    nibbles(&block[1..17]).map(|q| number(q) * half_scale).collect()
}

pub(super) fn iq4_nl(block: &[u8]) -> Vec<f64> {
    nibbles(&block[2..18]).map(|q| f64::from(NON_LINEAR[usize::from(q)]) * half_at(block, 0)).collect()
}
