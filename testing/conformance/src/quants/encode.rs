//! Numbers into ggml's block formats, as its Metal kernels do it: each step rounded to a float.
//!
//! They all take the number of the largest magnitude, or the range, as a measure.

use super::small::NON_LINEAR;
use half::f16;

/// Makes a block.
pub(crate) type Encode = fn(&[f32]) -> Vec<u8>;

/// The format's numbers of a block, and what makes one.
pub(crate) fn encoder(name: &str) -> Option<(usize, Encode)> {
    Some(match name {
        "q1_0" => (128, q1_0),
        "q2_0" => (64, q2_0),
        "q4_0" => (32, q4_0),
        "q4_1" => (32, q4_1),
        "q5_0" => (32, q5_0),
        "q5_1" => (32, q5_1),
        "q8_0" => (32, q8_0),
        "iq4_nl" => (32, iq4_nl),
        "tq2_0" => (256, tq2_0),
        _ => return None,
    })
}

fn half(number: f32) -> [u8; 2] {
    f16::from_f32(number).to_le_bytes()
}

/// The number of the largest magnitude, the first of several.
fn extreme(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0.0, |largest: f32, &x| if x.abs() > largest.abs() { x } else { largest })
}

fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

/// Pairs of numbers that share a byte: of the first half and of the second.
fn halves<'a>(numbers: &'a [f32], quantum: impl Fn(f32) -> u8 + 'a) -> impl Iterator<Item = [u8; 2]> + 'a {
    let (low, high) = numbers.split_at(numbers.len() / 2);
    low.iter().zip(high).map(move |(&x, &y)| [quantum(x), quantum(y)])
}

fn nibbles(pairs: impl Iterator<Item = [u8; 2]>) -> impl Iterator<Item = u8> {
    pairs.map(|[low, high]| low & 15 | (high & 15) << 4)
}

/// The fifth bits of all numbers.
fn fifth_bits(pairs: impl Iterator<Item = [u8; 2]>) -> [u8; 4] {
    let bit = |q: u8| u32::from(q >> 4 & 1);
    pairs
        .enumerate()
        .fold(0u32, |bits, (i, [low, high])| bits | bit(low) << i | bit(high) << (i + 16))
        .to_le_bytes()
}

fn q1_0(numbers: &[f32]) -> Vec<u8> {
    let mean = numbers.iter().map(|x| x.abs()).sum::<f32>() / numbers.len() as f32;
    let bits = |byte: &[f32]| byte.iter().rev().fold(0, |bits, &x| bits << 1 | u8::from(x >= 0.0));
    half(mean).into_iter().chain(numbers.chunks(8).map(bits)).collect()
}

/// Four quanta of two bits.
fn fours(quanta: [u8; 4]) -> u8 {
    quanta.iter().rev().fold(0, |byte, quantum| byte << 2 | quantum)
}

fn q2_0(numbers: &[f32]) -> Vec<u8> {
    let scale = extreme(numbers).abs();
    let quantum = |x: f32| ((x * inverse(scale)).round() + 1.0).clamp(0.0, 3.0) as u8;
    let bytes = numbers.chunks(4).map(|four| fours([0, 1, 2, 3].map(|i| quantum(four[i]))));
    half(scale).into_iter().chain(bytes).collect()
}

fn q4_0(numbers: &[f32]) -> Vec<u8> {
    let scale = extreme(numbers) / -8.0;
    let pairs = halves(numbers, |x| (x * inverse(scale) + 8.5).min(15.0) as u8);
    half(scale).into_iter().chain(nibbles(pairs)).collect()
}

/// Minimum and step of a quantisation with that many steps.
fn range(numbers: &[f32], steps: f32) -> (f32, f32) {
    let low = numbers.iter().copied().fold(f32::INFINITY, f32::min);
    let high = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (low, (high - low) / steps)
}

fn q4_1(numbers: &[f32]) -> Vec<u8> {
    let (low, scale) = range(numbers, 15.0);
    let pairs = halves(numbers, move |x| ((x - low) * inverse(scale) + 0.5).min(15.0) as u8);
    half(scale).into_iter().chain(half(low)).chain(nibbles(pairs)).collect()
}

fn q5_0(numbers: &[f32]) -> Vec<u8> {
    let scale = extreme(numbers) / -16.0;
    let pairs = || halves(numbers, |x| (x * inverse(scale) + 16.5).min(31.0) as u8);
    half(scale).into_iter().chain(fifth_bits(pairs())).chain(nibbles(pairs())).collect()
}

fn q5_1(numbers: &[f32]) -> Vec<u8> {
    let (low, scale) = range(numbers, 31.0);
    let pairs = || halves(numbers, move |x| ((x - low) * inverse(scale) + 0.5) as u8);
    half(scale).into_iter().chain(half(low)).chain(fifth_bits(pairs())).chain(nibbles(pairs())).collect()
}

fn q8_0(numbers: &[f32]) -> Vec<u8> {
    let scale = extreme(numbers).abs() / 127.0;
    let bytes = numbers.iter().map(|x| (x * inverse(scale)).round() as i8 as u8);
    half(scale).into_iter().chain(bytes).collect()
}

/// The nearest number of the code book, of two as near the higher one.
fn nearest(x: f32) -> u8 {
    let above = NON_LINEAR.iter().position(|&q| f32::from(q) > x).unwrap_or(NON_LINEAR.len() - 1).max(1);
    let [low, high] = [above - 1, above].map(|i| f32::from(NON_LINEAR[i]));
    if x - low < high - x { above as u8 - 1 } else { above as u8 }
}

fn iq4_nl(numbers: &[f32]) -> Vec<u8> {
    let first = extreme(numbers) / f32::from(NON_LINEAR[0]);
    let pairs = || halves(numbers, |x| nearest(x * inverse(first)));
    // The scale that is off least, large numbers weighted more.
    let (mut products, mut squares) = (0.0f32, 0.0f32);
    let (low, high) = numbers.split_at(numbers.len() / 2);
    for ((pair, &x), &y) in pairs().zip(low).zip(high) {
        let [p, q] = pair.map(|quantum| f32::from(NON_LINEAR[usize::from(quantum)]));
        products += x * x * p * x + y * y * q * y;
        squares += x * x * p * p + y * y * q * q;
    }
    let scale = if squares > 0.0 { products / squares } else { first };
    half(scale).into_iter().chain(nibbles(pairs())).collect()
}

fn tq2_0(numbers: &[f32]) -> Vec<u8> {
    let scale = extreme(numbers).abs();
    let quantum = |x: f32| ((x * inverse(scale)).round() + 1.0) as u8;
    let part = |part: &[f32]| {
        (0..32).map(|i| fours([0, 1, 2, 3].map(|n| quantum(part[32 * n + i])))).collect::<Vec<_>>()
    };
    numbers.chunks(128).flat_map(part).chain(half(scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::FORMATS;
    use super::*;
    use crate::candle::input::Inputs;

    #[test]
    fn encoded_blocks_decode_to_nearby_values() {
        let mut inputs = Inputs::new(5);
        for format in FORMATS {
            let Some((elements, encode)) = encoder(format.name) else { continue };
            assert_eq!(elements, format.elements, "{}", format.name);
            let numbers: Vec<f32> = (0..elements).map(|_| inputs.between(-1.0, 1.0) as f32).collect();
            let block = encode(&numbers);
            assert_eq!(block.len(), format.bytes, "{}", format.name);
            let decoded = format.decoded(&block);
            let worst = decoded.iter().zip(&numbers).map(|(got, &x)| (got - f64::from(x)).abs());
            // Half a step of the coarsest: ternary formats round to 0 or the largest, one bit to the mean.
            let step = match format.name {
                "q1_0" | "q2_0" | "tq2_0" => 0.51,
                "q8_0" => 0.005,
                "q5_0" | "q5_1" => 0.07,
                _ => 0.14,
            };
            let worst = worst.fold(0.0, f64::max);
            assert!(worst < step, "{}: off by {worst}", format.name);
        }
    }
}
