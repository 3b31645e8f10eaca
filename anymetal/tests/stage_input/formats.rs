//! Every format, read as every type that can hold it. The reference takes formats by their names.

use std::fmt::Write;

use crate::{library, modes};
use anymetal::stage_input::{AttributeFormat, BufferLayout, StageInputDescriptor};
use anymetal::{CheckMode, Device, Error, PipelineDescriptor, f16};
use anymetal_hal::split_mix::SplitMix64;

const THREADS: usize = 37;

/// The most attributes of a kernel.
const MAX_ATTRIBUTES: usize = 31;

/// The components that a format has, and those of (0, 0, 0, 1) that it lacks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Float([f64; 4]),
    Integer([i64; 4]),
}

/// The parts of an ordinary format's name: the scalar, how many, and whether it is normalised.
fn parts(name: &str) -> (&str, usize, bool) {
    let (name, normalized) = name.strip_suffix("Normalized").map_or((name, false), |rest| (rest, true));
    let count = name.chars().last().and_then(|digit| digit.to_digit(10));
    (name.trim_end_matches(char::is_numeric), count.unwrap_or(1) as usize, normalized)
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn signed(bits: u64, width: u32) -> i64 {
    (bits << (64 - width)) as i64 >> (64 - width)
}

fn unorm(bits: u64, width: u32) -> f64 {
    bits as f64 / ((1u64 << width) - 1) as f64
}

fn snorm(bits: u64, width: u32) -> f64 {
    (signed(bits, width) as f64 / ((1i64 << (width - 1)) - 1) as f64).max(-1.0)
}

/// A float without sign, with 5 bits of exponent and the given bits of mantissa.
fn small_float(bits: u64, mantissa_bits: u32) -> f64 {
    let (exponent, mantissa) = (bits >> mantissa_bits & 31, bits & ((1 << mantissa_bits) - 1));
    let fraction = mantissa as f64 / f64::from(1u32 << mantissa_bits);
    match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if mantissa == 0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(exponent as i32 - 15),
    }
}

/// Formats in one word.
fn decode_packed(name: &str, word: u64) -> Option<[f64; 4]> {
    let field = |at: u32, width: u32| word >> at & ((1 << width) - 1);
    let tens = [(0, 10), (10, 10), (20, 10), (30, 2)];
    Some(match name {
        "Int1010102Normalized" => tens.map(|(at, width)| snorm(field(at, width), width)),
        "UInt1010102Normalized" => tens.map(|(at, width)| unorm(field(at, width), width)),
        "UChar4NormalizedBgra" => [16, 8, 0, 24].map(|at| unorm(field(at, 8), 8)),
        "FloatRg11b10" => {
            [small_float(field(0, 11), 6), small_float(field(11, 11), 6), small_float(field(22, 10), 5), 1.0]
        }
        "FloatRgb9e5" => {
            let scale = 2f64.powi(field(27, 5) as i32 - 15 - 9);
            [field(0, 9) as f64 * scale, field(9, 9) as f64 * scale, field(18, 9) as f64 * scale, 1.0]
        }
        _ => return None,
    })
}

fn decode(format: AttributeFormat, bytes: &[u8]) -> Value {
    if let Some(value) = decode_packed(format.name(), little_endian(&bytes[..bytes.len().min(4)])) {
        return Value::Float(value);
    }
    let (scalar, count, normalized) = parts(format.name());
    let size = match scalar {
        "UChar" | "Char" => 1,
        "UShort" | "Short" | "Half" => 2,
        _ => 4,
    };
    let width = 8 * size as u32;
    let bits = |n: usize| little_endian(&bytes[n * size..(n + 1) * size]);
    let float = |n: usize| match (scalar, normalized) {
        ("Float", _) => f64::from(f32::from_bits(bits(n) as u32)),
        ("Half", _) => f16::from_bits(bits(n) as u16).to_f64(),
        (name, _) if name.starts_with('U') => unorm(bits(n), width),
        _ => snorm(bits(n), width),
    };
    let integer = |n: usize| if scalar.starts_with('U') { bits(n) as i64 } else { signed(bits(n), width) };
    if normalized || matches!(scalar, "Float" | "Half") {
        let missing = [0.0, 0.0, 0.0, 1.0];
        Value::Float([0, 1, 2, 3].map(|n| if n < count { float(n) } else { missing[n] }))
    } else {
        Value::Integer([0, 1, 2, 3].map(|n| if n < count { integer(n) } else { i64::from(n == 3) }))
    }
}

/// Whether Metal converts a format to a type: anything to floats; integers to no narrower type, and to none
/// of the other sign.
fn converts(format: AttributeFormat, ty: &str) -> bool {
    let (scalar, _, normalized) = parts(format.name());
    let width = |name: &str| match name.to_lowercase().trim_start_matches('u') {
        "char" => 8,
        "short" => 16,
        _ => 32,
    };
    let is_integer =
        decode_packed(format.name(), 0).is_none() && !normalized && !matches!(scalar, "Float" | "Half");
    let same_sign = scalar.starts_with('U') == ty.starts_with('u');
    matches!(ty, "float" | "half") || (is_integer && same_sign && width(scalar) <= width(ty))
}

/// What a kernel stores of a component, as the bits of 32-bit words: floats, or integers.
fn expected(value: Value, ty: &str) -> [u32; 4] {
    let float = |number: f64| match ty {
        "half" => f16::from_f32(number as f32).to_f32().to_bits(),
        _ => (number as f32).to_bits(),
    };
    match value {
        Value::Float(numbers) => numbers.map(float),
        Value::Integer(numbers) if matches!(ty, "float" | "half") => {
            numbers.map(|number| float(f64::from(number as f32)))
        }
        Value::Integer(numbers) => numbers.map(|number| number as u32),
    }
}

/// A kernel that stores all attributes of a type, widened to 32 bits.
fn source(ty: &str, count: usize) -> String {
    let wide = match ty {
        "float" | "half" => "float4",
        ty if ty.starts_with('u') => "uint4",
        _ => "int4",
    };
    let (mut members, mut stores) = (String::new(), String::new());
    for n in 0..count {
        writeln!(members, "  {ty}4 a{n} [[attribute({n})]];").expect("strings take all");
        writeln!(stores, "  y[i * {count} + {n}] = as_type<uint4>({wide}(in.a{n}));")
            .expect("strings take all");
    }
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\nstruct In {{\n{members}}};\n\
         kernel void store(In in [[stage_in]], device uint4* y [[buffer(3)]], \
         uint i [[thread_position_in_grid]]) {{\n{stores}}}"
    )
}

/// Offsets of attributes one after the other, and the stride.
fn offsets(formats: &[AttributeFormat]) -> (Vec<u32>, u32) {
    let mut end = 0u32;
    let place = |format: &AttributeFormat| {
        let offset = end.next_multiple_of(format.alignment());
        end = offset + format.bytes();
        offset
    };
    let offsets = formats.iter().map(place).collect();
    (offsets, end.next_multiple_of(4))
}

/// Random bits after elements of zeros, of ones and of what is the least with sign.
fn elements(stride: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(stride as u64);
    let mut bytes: Vec<u8> = (0..THREADS * stride).map(|_| random.next_number() as u8).collect();
    bytes[..stride].fill(0);
    bytes[stride..2 * stride].fill(0xff);
    bytes[2 * stride..3 * stride].fill(0x80);
    bytes
}

fn check(ty: &str, formats: &[AttributeFormat], mode: CheckMode) -> Result<(), Error> {
    let (offsets, stride) = offsets(formats);
    let bytes = elements(stride as usize);
    let mut described = StageInputDescriptor::new().layout(7, BufferLayout::along_x(stride));
    for (n, (format, offset)) in (0..).zip(formats.iter().zip(&offsets)) {
        described = described.attribute(n, *format, *offset, 7);
    }
    let library = library(&source(ty, formats.len()), mode)?;
    let store = library.pipeline(PipelineDescriptor::new("store").stage_input(described))?;
    let device = Device::system_default()?;
    let y = device.buffer_zeroed::<u32>(4 * THREADS * formats.len())?;
    let elements = device.buffer(&bytes)?;
    device.queue()?.launch(&store).arg(&y).arg(&elements).threads(THREADS).submit()?.wait()?;
    let stored = y.read()?;
    for (place, got) in stored.as_chunks::<4>().0.iter().enumerate() {
        let (thread, n) = (place / formats.len(), place % formats.len());
        let from = &bytes[thread * stride as usize + offsets[n] as usize..];
        let wanted = expected(decode(formats[n], from), ty);
        let same = |(got, wanted): (u32, u32)| {
            let [a, b] = [got, wanted].map(f32::from_bits);
            got == wanted || matches!(ty, "float" | "half") && a.is_nan() && b.is_nan()
        };
        let format = formats[n].name();
        assert!(
            got.iter().copied().zip(wanted).all(same),
            "{format} as {ty} of thread {thread}: {got:x?}, not {wanted:x?} ({mode:?})"
        );
    }
    Ok(())
}

fn check_all(types: &[&str]) -> Result<(), Error> {
    for &ty in types {
        let formats: Vec<_> =
            AttributeFormat::ALL.iter().copied().filter(|&format| converts(format, ty)).collect();
        for formats in formats.chunks(MAX_ATTRIBUTES) {
            for &mode in modes()? {
                check(ty, formats, mode)?;
            }
        }
    }
    Ok(())
}

#[test]
fn floats_are_made_of_every_format() -> Result<(), Error> {
    check_all(&["float", "half"])
}

#[test]
fn integers_are_made_of_integers_that_are_not_wider() -> Result<(), Error> {
    check_all(&["uint", "int", "ushort", "short", "uchar", "char"])
}

#[test]
fn a_member_takes_as_many_components_as_it_has() -> Result<(), Error> {
    let source = "struct In { ushort one [[attribute(0)]]; ushort2 two [[attribute(1)]];
                              ushort3 three [[attribute(2)]]; };
                  kernel void store(In in [[stage_in]], device uint* y [[buffer(0)]]) {
                      y[0] = in.one; y[1] = in.two.x; y[2] = in.two.y;
                      y[3] = in.three.x; y[4] = in.three.y; y[5] = in.three.z;
                  }";
    let mut described = StageInputDescriptor::new().layout(1, BufferLayout::constant(4));
    for attribute in 0..3 {
        described = described.attribute(attribute, AttributeFormat::UChar4, 0, 1);
    }
    let store = library(source, CheckMode::Bounds)?
        .pipeline(PipelineDescriptor::new("store").stage_input(described))?;
    let device = Device::system_default()?;
    let (y, elements) = (device.buffer_zeroed::<u32>(6)?, device.buffer(&[1u8, 2, 3, 4])?);
    device.queue()?.launch(&store).arg(&y).arg(&elements).threads(1).submit()?.wait()?;
    assert_eq!(y.read()?, [1, 1, 2, 1, 2, 3]);
    Ok(())
}
