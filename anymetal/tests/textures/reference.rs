//! What the Metal Shading Language Specification says of pixel formats (8.7) and samplers (2.10, 6.12),
//! computed another way than the kernels do: texels as one integer, values in double precision, small floats
//! by search.

use anymetal::texture::ChannelKind;
use anymetal::texture::{AddressMode, BorderColor};
use anymetal::{PixelFormat, f16};

/// A texel's channels as a kernel with `float` or with integers reads them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Float([f32; 4]),
    Integer([i64; 4]),
}

pub(crate) fn is_integer(format: PixelFormat) -> bool {
    matches!(format.kind(), ChannelKind::Uint | ChannelKind::Sint)
}

fn texel_of(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |texel, &byte| texel << 8 | u128::from(byte))
}

fn channel_bits(texel: u128, (width, position): (u32, u32)) -> u64 {
    ((texel >> position) & ((1u128 << width) - 1)) as u64
}

fn signed(bits: u64, width: u32) -> i64 {
    let bits = i64::try_from(bits).expect("channels have at most 32 bits");
    if bits >= 1 << (width - 1) { bits - (1 << width) } else { bits }
}

/// A float without sign with 5 bits of exponent.
fn small_float(bits: u64, width: u32) -> f64 {
    let mantissa_bits = width - 5;
    let (exponent, mantissa) = (bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1));
    let n = f64::from(1u32 << mantissa_bits);
    match (exponent, mantissa) {
        (31, 0) => f64::INFINITY,
        (31, _) => f64::NAN,
        (0, mantissa) => 2f64.powi(-14) * (mantissa as f64 / n),
        (exponent, mantissa) => 2f64.powi(exponent as i32 - 15) * (1.0 + mantissa as f64 / n),
    }
}

fn linear_of_srgb(code: u64) -> f64 {
    let c = code as f64 / 255.0;
    if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

fn float_channel(format: PixelFormat, texel: u128, channel: usize) -> f64 {
    let (width, position) = format.channels()[channel];
    if width == 0 {
        return if channel == 3 { 1.0 } else { 0.0 };
    }
    let bits = channel_bits(texel, (width, position));
    let most = |width: u32| ((1u64 << width) - 1) as f64;
    match format.kind() {
        ChannelKind::Unorm if format.is_srgb() && channel < 3 => linear_of_srgb(bits),
        ChannelKind::Unorm => bits as f64 / most(width),
        ChannelKind::Snorm => (signed(bits, width) as f64 / most(width - 1)).max(-1.0),
        ChannelKind::SharedExponent => {
            bits as f64 / 512.0 * 2f64.powi(channel_bits(texel, (5, 27)) as i32 - 15)
        }
        ChannelKind::Float if width == 32 => f32::from_bits(bits as u32).into(),
        ChannelKind::Float if width == 16 => f16::from_bits(bits as u16).into(),
        ChannelKind::Float => small_float(bits, width),
        ChannelKind::Uint | ChannelKind::Sint => panic!("{format} has integers"),
    }
}

/// A texel's value.
pub(crate) fn decode(format: PixelFormat, bytes: &[u8]) -> Value {
    let texel = texel_of(bytes);
    if !is_integer(format) {
        return Value::Float([0, 1, 2, 3].map(|channel| float_channel(format, texel, channel) as f32));
    }
    Value::Integer([0, 1, 2, 3].map(|channel| {
        let (width, position) = format.channels()[channel];
        let bits = channel_bits(texel, (width, position));
        match format.kind() {
            _ if width == 0 => i64::from(channel == 3),
            ChannelKind::Sint => signed(bits, width),
            _ => bits as i64,
        }
    }))
}

fn to_small_float(x: f32, width: u32) -> u64 {
    let infinity = 31u64 << (width - 5);
    if x.is_nan() {
        return infinity | 1;
    }
    let x = f64::from(x.max(0.0));
    // Beyond half a step over the largest finite value it is infinity.
    let largest = small_float(infinity - 1, width);
    let step = largest - small_float(infinity - 2, width);
    if x >= largest + step / 2.0 {
        return infinity;
    }
    let distance = |bits: u64| (small_float(bits, width) - x).abs();
    let nearest =
        (0..infinity).min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
    nearest.expect("there are finite values")
}

fn srgb_of_linear(x: f32) -> u64 {
    let c = f64::from(if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) });
    let encoded = if c < 0.0031308 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
    (encoded * 255.0 + 0.5).floor() as u64
}

fn shared_exponent(color: [f32; 4]) -> u128 {
    let most_of_all = 511.0 / 512.0 * 2f64.powi(16);
    let clamped =
        [0, 1, 2].map(|c| if color[c].is_nan() { 0.0 } else { f64::from(color[c]).clamp(0.0, most_of_all) });
    let most = clamped.into_iter().fold(0.0, f64::max);
    let floor_log2 = if most == 0.0 { -16 } else { most.log2().floor() as i32 };
    let preliminary = floor_log2.max(-16) + 16;
    let scaled = |x: f64, exponent: i32| (x / 2f64.powi(exponent - 24) + 0.5).floor() as u128;
    let exponent = preliminary + i32::from(scaled(most, preliminary) == 512);
    let [r, g, b] = clamped.map(|x| scaled(x, exponent));
    r | g << 9 | b << 18 | (exponent as u128) << 27
}

/// The bytes of a texel with these values.
pub(crate) fn encode(format: PixelFormat, value: Value) -> Vec<u8> {
    let texel = match value {
        Value::Float(color) if format.kind() == ChannelKind::SharedExponent => shared_exponent(color),
        _ => (0..4).fold(0, |texel, channel| texel | encoded_channel(format, value, channel)),
    };
    texel.to_le_bytes()[..format.texel_bytes() as usize].to_vec()
}

fn encoded_channel(format: PixelFormat, value: Value, channel: usize) -> u128 {
    let (width, position) = format.channels()[channel];
    if width == 0 {
        return 0;
    }
    let mask = (1u64 << width) - 1;
    let bits = match value {
        Value::Integer(values) if format.kind() == ChannelKind::Sint => {
            values[channel].clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1) as u64 & mask
        }
        Value::Integer(values) => values[channel].clamp(0, mask as i64) as u64,
        Value::Float(values) => {
            let x = values[channel];
            match format.kind() {
                ChannelKind::Unorm if format.is_srgb() && channel < 3 => srgb_of_linear(x),
                // The product is rounded as the specification's is, in single precision.
                ChannelKind::Unorm => normalized(x, mask as f32, 0.0) as u64,
                ChannelKind::Snorm => normalized(x, (mask / 2) as f32, -((mask / 2) as f32)) as u64 & mask,
                _ if width == 32 => x.to_bits().into(),
                _ if width == 16 => f16::from_f32(x).to_bits().into(),
                _ => to_small_float(x, width),
            }
        }
    };
    u128::from(bits) << position
}

fn normalized(x: f32, most: f32, least: f32) -> i64 {
    if x.is_nan() { 0 } else { (x * most).clamp(least, most).round_ties_even() as i64 }
}

/// A plane of texels, sampled by the rules of section 2.10.
pub(crate) struct Plane<'a> {
    pub(crate) format: PixelFormat,
    pub(crate) size: [u32; 2],
    /// Without gaps.
    pub(crate) bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) address: AddressMode,
    pub(crate) linear: bool,
    pub(crate) pixel: bool,
    pub(crate) border: BorderColor,
}

impl Plane<'_> {
    pub(crate) fn texel(&self, x: i64, y: i64) -> Option<Value> {
        let [width, height] = self.size.map(i64::from);
        if !(0..width).contains(&x) || !(0..height).contains(&y) {
            return None;
        }
        let at = (y * width + x) as usize * self.format.texel_bytes() as usize;
        Some(decode(self.format, &self.bytes[at..at + self.format.texel_bytes() as usize]))
    }

    /// Outside of the texture: what the address mode makes of a texel.
    fn outside(&self, rule: Rule) -> Value {
        let zeros = decode(self.format, &vec![0; self.format.texel_bytes() as usize]);
        match (rule.address, rule.border) {
            (AddressMode::ClampToBorder, BorderColor::TransparentBlack) => Value::Float([0.0; 4]),
            (AddressMode::ClampToBorder, BorderColor::OpaqueBlack) => Value::Float([0.0, 0.0, 0.0, 1.0]),
            (AddressMode::ClampToBorder, BorderColor::OpaqueWhite) => Value::Float([1.0; 4]),
            _ => zeros,
        }
    }

    fn tap(&self, x: i64, y: i64, rule: Rule) -> [f64; 4] {
        let wrap = |i: i64, size: u32| {
            let size = i64::from(size);
            match rule.address {
                AddressMode::ClampToEdge => i.clamp(0, size - 1),
                AddressMode::Repeat => i.rem_euclid(size),
                AddressMode::MirrorRepeat => {
                    let i = i.rem_euclid(2 * size);
                    if i < size { i } else { 2 * size - 1 - i }
                }
                AddressMode::ClampToZero | AddressMode::ClampToBorder => i,
            }
        };
        let value = self.texel(wrap(x, self.size[0]), wrap(y, self.size[1]));
        match value.unwrap_or_else(|| self.outside(rule)) {
            Value::Float(values) => values.map(f64::from),
            Value::Integer(values) => values.map(|value| value as f64),
        }
    }

    /// A coordinate in texels, in single precision where kernels have it.
    fn in_texels(u: f32, size: u32, rule: Rule) -> f32 {
        let u = match rule.address {
            AddressMode::Repeat if !rule.pixel => u - u.floor(),
            AddressMode::MirrorRepeat if !rule.pixel => {
                let turn = u - 2.0 * (0.5 * u).floor();
                if turn > 1.0 { 2.0 - turn } else { turn }
            }
            _ => u,
        };
        if rule.pixel { u } else { u * size as f32 }
    }

    pub(crate) fn sample(&self, at: [f32; 2], rule: Rule) -> [f64; 4] {
        let [x, y] = [0, 1].map(|n| Self::in_texels(at[n], self.size[n], rule));
        if !rule.linear {
            return self.tap(x.floor() as i64, y.floor() as i64, rule);
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (i, j) = (x.floor() as i64, y.floor() as i64);
        let (a, b) = (f64::from(x - x.floor()), f64::from(y - y.floor()));
        let taps = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(di, dj)| self.tap(i + di, j + dj, rule));
        let weights = [(1.0 - a) * (1.0 - b), a * (1.0 - b), (1.0 - a) * b, a * b];
        [0, 1, 2, 3].map(|c| taps.iter().zip(weights).map(|(tap, weight)| tap[c] * weight).sum())
    }
}
