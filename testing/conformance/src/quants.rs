//! ggml's block formats: a block of numbers shares a scale, each takes a few bits. The decoded values of a
//! block, computed in `f64`, and random blocks.
//!
//! Invariant: a block's bytes are any bytes but for its scales, which are finite and near 0.05. The code
//! books of the `iq` formats are read from ggml's own header, which cargo downloaded; they are not copied
//! here.

pub(crate) mod encode;
mod grids;
mod small;
mod super_blocks;

use crate::candle::input::Inputs;
use crate::data::Data;
use half::f16;

/// A format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name in kernels' names.
    pub name: &'static str,
    /// Numbers of a block.
    pub elements: usize,
    /// Bytes of a block.
    pub bytes: usize,
    /// Where a block has scales of type `half`.
    scales: &'static [usize],
    decode: fn(&[u8]) -> Vec<f64>,
}

const fn format(
    name: &'static str,
    elements: usize,
    bytes: usize,
    scales: &'static [usize],
    decode: fn(&[u8]) -> Vec<f64>,
) -> Format {
    Format { name, elements, bytes, scales, decode }
}

/// All formats.
pub const FORMATS: &[Format] = &[
    format("q1_0", 128, 18, &[0], small::q1_0),
    format("q2_0", 64, 18, &[0], small::q2_0),
    format("q4_0", 32, 18, &[0], small::q4_0),
    format("q4_1", 32, 20, &[0, 2], small::q4_1),
    format("q5_0", 32, 22, &[0], small::q5_0),
    format("q5_1", 32, 24, &[0, 2], small::q5_1),
    format("q8_0", 32, 34, &[0], small::q8_0),
    format("mxfp4", 32, 17, &[], small::mxfp4),
    format("iq4_nl", 32, 18, &[0], small::iq4_nl),
    format("q2_K", 256, 84, &[80, 82], super_blocks::q2_k),
    format("q3_K", 256, 110, &[108], super_blocks::q3_k),
    format("q4_K", 256, 144, &[0, 2], super_blocks::q4_k),
    format("q5_K", 256, 176, &[0, 2], super_blocks::q5_k),
    format("q6_K", 256, 210, &[208], super_blocks::q6_k),
    format("tq2_0", 256, 66, &[64], super_blocks::tq2_0),
    format("iq4_xs", 256, 136, &[0], super_blocks::iq4_xs),
    format("iq2_xxs", 256, 66, &[0], grids::iq2_xxs),
    format("iq2_xs", 256, 74, &[0], grids::iq2_xs),
    format("iq2_s", 256, 82, &[0], grids::iq2_s),
    format("iq3_xxs", 256, 98, &[0], grids::iq3_xxs),
    format("iq3_s", 256, 110, &[0], grids::iq3_s),
    format("iq1_s", 256, 50, &[0], grids::iq1_s),
    format("iq1_m", 256, 56, &[], grids::iq1_m),
    format("f32", 1, 4, &[], |bytes| {
        vec![f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))]
    }),
    format("f16", 1, 2, &[], |bytes| vec![half_at(bytes, 0)]),
    format("bf16", 1, 2, &[], |bytes| vec![half::bf16::from_le_bytes([bytes[0], bytes[1]]).to_f64()]),
];

impl Format {
    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|format| format.name == name).copied()
    }

    /// Whether it is a plain type, and which.
    pub fn plain(self) -> Option<crate::data::Dtype> {
        if self.elements == 1 { crate::data::Dtype::named(self.name) } else { None }
    }

    /// Bytes of that many numbers.
    pub fn row_bytes(self, count: usize) -> usize {
        count / self.elements * self.bytes
    }

    /// Random numbers in this format: their bytes, and what they are.
    pub fn random(self, seed: u64, count: usize) -> (Vec<u8>, Vec<f64>) {
        let mut inputs = Inputs::new(seed);
        if let Some(dtype) = self.plain() {
            let data: Data = inputs.numbers(dtype, count, -1.0, 1.0);
            let numbers = (0..count).map(|i| data.number(i)).collect();
            return (data.bytes, numbers);
        }
        let mut bytes: Vec<u8> = (0..self.row_bytes(count)).map(|_| (inputs.word() >> 24) as u8).collect();
        for block in bytes.chunks_exact_mut(self.bytes) {
            for &at in self.scales {
                block[at..at + 2].copy_from_slice(&f16::from_f64(inputs.between(0.02, 0.08)).to_le_bytes());
            }
            match self.name {
                // The exponent of a power of two.
                "mxfp4" => block[0] = 122 + block[0] % 4,
                // The scale's four nibbles are the upper ones of four words.
                "iq1_m" => {
                    let scale = f16::from_f64(inputs.between(0.02, 0.08)).to_bits();
                    for word in 0..4 {
                        let high = &mut block[49 + 2 * word];
                        *high = *high & 15 | ((scale >> (4 * word)) as u8 & 15) << 4;
                    }
                }
                _ => {}
            }
        }
        let numbers = bytes.chunks_exact(self.bytes).flat_map(self.decode).collect();
        (bytes, numbers)
    }

    /// What blocks decode to.
    pub fn decoded(self, bytes: &[u8]) -> Vec<f64> {
        bytes.chunks_exact(self.bytes).flat_map(self.decode).collect()
    }
}

/// The `half` at a byte.
fn half_at(bytes: &[u8], at: usize) -> f64 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64()
}

/// The word at a byte.
fn word_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The half word at a byte.
fn short_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_stated_number_of_values() {
        for format in FORMATS {
            let (bytes, numbers) = format.random(3, 256);
            assert_eq!(bytes.len(), format.row_bytes(256), "{}", format.name);
            assert_eq!(numbers.len(), 256, "{}", format.name);
            let largest = numbers.iter().map(|x| x.abs()).fold(0.0, f64::max);
            assert!((0.01..400.0).contains(&largest), "{}: {largest}", format.name);
        }
    }

    #[test]
    fn a_block_of_q4_0_is_decoded_by_hand() {
        let mut block = vec![0u8; 18];
        block[..2].copy_from_slice(&f16::from_f64(0.5).to_le_bytes());
        block[2] = 0x9f;
        let numbers = Format::named("q4_0").expect("it is known").decoded(&block);
        assert_eq!((numbers[0], numbers[1], numbers[16], numbers[17]), (3.5, -4.0, 0.5, -4.0));
    }
}
