//! Conversions between all number types against exact arithmetic, and `as_type` between all types of one
//! size, on every executor.

use std::fmt::Write;

use anymetal_conformance::differential::{Subject, outcomes};
use anymetal_conformance::execute::{Source, parse};
use anymetal_conformance::machine::Machine;

/// How the bits of a type are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Signed,
    Unsigned,
    /// With the number of bits after the point.
    Float(u32),
}

use Kind::{Float, Signed, Unsigned};

#[derive(Clone, Copy, Debug)]
struct Type {
    name: &'static str,
    bits: u32,
    kind: Kind,
}

const fn ty(name: &'static str, bits: u32, kind: Kind) -> Type {
    Type { name, bits, kind }
}

const TYPES: [Type; 11] = [
    ty("char", 8, Signed),
    ty("uchar", 8, Unsigned),
    ty("short", 16, Signed),
    ty("ushort", 16, Unsigned),
    ty("int", 32, Signed),
    ty("uint", 32, Unsigned),
    ty("long", 64, Signed),
    ty("ulong", 64, Unsigned),
    ty("half", 16, Float(10)),
    ty("bfloat", 16, Float(7)),
    ty("float", 32, Float(23)),
];

/// A number exactly: ± magnitude × 2^exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    Finite { is_negative: bool, magnitude: u128, exponent: i32 },
    Infinite { is_negative: bool },
    Nan,
}

/// Exponent of the smallest normal numbers.
fn least_exponent(ty: Type, fraction: u32) -> i32 {
    2 - (1 << (ty.bits - fraction - 2))
}

impl Type {
    fn size(self) -> usize {
        self.bits as usize / 8
    }

    fn number(self, bits: u64) -> Number {
        let top = bits >> (self.bits - 1) & 1 == 1;
        match self.kind {
            Unsigned => Number::Finite { is_negative: false, magnitude: bits.into(), exponent: 0 },
            Signed => {
                let value = i128::from(bits) - if top { 1 << self.bits } else { 0 };
                Number::Finite { is_negative: top, magnitude: value.unsigned_abs(), exponent: 0 }
            }
            Float(fraction) => {
                let magnitude = bits & ((1 << (self.bits - 1)) - 1);
                let (field, rest) = (magnitude >> fraction, magnitude & ((1 << fraction) - 1));
                let is_special = field + 1 == 1 << (self.bits - 1 - fraction);
                match (is_special, rest) {
                    (true, 0) => Number::Infinite { is_negative: top },
                    (true, _) => Number::Nan,
                    (false, _) => {
                        let implicit = u64::from(field > 0) << fraction;
                        let exponent = least_exponent(self, fraction) - fraction as i32;
                        let above = field.max(1) as i32 - 1;
                        let magnitude = u128::from(rest | implicit);
                        Number::Finite { is_negative: top, magnitude, exponent: exponent + above }
                    }
                }
            }
        }
    }

    /// The bits after a conversion; `None`: those of any NaN. To integers towards zero and saturating [8.6],
    /// from integers modulo, to floats to nearest even.
    fn converted(self, from: Type, bits: u64) -> Option<u64> {
        let mask = u64::MAX >> (64 - self.bits);
        match (self.kind, from.number(bits)) {
            (Float(fraction), number) => self.nearest(fraction, number),
            (_, Number::Nan) => Some(0),
            (_, Number::Infinite { is_negative }) => Some(self.saturated(is_negative, u128::MAX) & mask),
            (_, Number::Finite { is_negative, magnitude, exponent }) => {
                let whole = match exponent {
                    0.. => {
                        magnitude.checked_shl(exponent as u32).filter(|_| exponent < 64).unwrap_or(u128::MAX)
                    }
                    _ => magnitude.checked_shr(exponent.unsigned_abs()).unwrap_or(0),
                };
                if matches!(from.kind, Float(_)) {
                    return Some(self.saturated(is_negative, whole) & mask);
                }
                let value = whole as u64;
                Some(if is_negative { value.wrapping_neg() } else { value } & mask)
            }
        }
    }

    fn saturated(self, is_negative: bool, magnitude: u128) -> u64 {
        let bits = if self.kind == Signed { self.bits - 1 } else { self.bits };
        match (self.kind, is_negative) {
            (Signed, true) => (magnitude.min(1 << bits) as u64).wrapping_neg(),
            (_, true) => 0,
            _ => magnitude.min((1 << bits) - 1) as u64,
        }
    }

    fn nearest(self, fraction: u32, number: Number) -> Option<u64> {
        let infinity = ((1_u64 << (self.bits - 1 - fraction)) - 1) << fraction;
        let sign = |is_negative: bool| u64::from(is_negative) << (self.bits - 1);
        match number {
            Number::Nan => None,
            Number::Infinite { is_negative } => Some(sign(is_negative) | infinity),
            Number::Finite { is_negative, magnitude: 0, .. } => Some(sign(is_negative)),
            Number::Finite { is_negative, magnitude, exponent } => {
                let least = least_exponent(self, fraction);
                let top = (exponent + magnitude.ilog2() as i32).max(least);
                // The exponent of a unit in the last place.
                let drop = top - fraction as i32 - exponent;
                let rounded = if drop <= 0 {
                    magnitude << -drop
                } else if drop > 127 {
                    0
                } else {
                    let (kept, rest) = (magnitude >> drop, magnitude & ((1 << drop) - 1));
                    let half = 1_u128 << (drop - 1);
                    kept + u128::from(rest > half || (rest == half && kept & 1 == 1))
                };
                // A normal number's leading bit adds one to the exponent's field.
                let bits = ((top - least) as u64) << fraction;
                Some(sign(is_negative) | (bits + rounded as u64).min(infinity))
            }
        }
    }

    /// All numbers of 16 bits; of more, those at which conversions round, overflow or saturate.
    fn samples(self) -> Vec<u64> {
        if self.bits <= 16 {
            return (0..1 << self.bits).collect();
        }
        let mask = u64::MAX >> (64 - self.bits);
        let mut samples = Vec::new();
        match self.kind {
            Float(_) => {
                // Each power of two, and places where narrower fractions end.
                let ends = [0, 1, 2, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0x1_8000];
                for field in 0..=255_u64 {
                    for end in ends.into_iter().flat_map(|end| [end, 0x7f_ffff ^ end, 0x40_0000 ^ end]) {
                        samples.extend([field << 23 | end, 1 << 31 | field << 23 | end]);
                    }
                }
                let halves = (-600..600).map(|n| (n as f32 * 0.5).to_bits());
                samples.extend(halves.map(u64::from));
            }
            Signed | Unsigned => {
                for bit in 0..self.bits {
                    for below in 0..=bit {
                        let value = 1_u64 << bit | 1 << below;
                        samples.extend([value, value - 1, value + 1, value.wrapping_neg()].map(|v| v & mask));
                    }
                }
            }
        }
        samples
    }
}

fn vector(name: &str, lanes: usize) -> String {
    if lanes == 1 { name.to_owned() } else { format!("{name}{lanes}") }
}

/// A kernel that converts a number, or a vector, to each type.
fn source(from: Type, lanes: usize) -> String {
    let from_name = vector(from.name, lanes);
    let mut text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device const {from_name}* in,\n"
    );
    for to in TYPES {
        writeln!(text, "device {}* {}_out,", vector(to.name, lanes), to.name).expect("a string");
    }
    text += "uint i [[thread_position_in_grid]]) {\n";
    for to in TYPES {
        writeln!(text, "{}_out[i] = {}(in[i]);", to.name, vector(to.name, lanes)).expect("a string");
    }
    text + "}\n"
}

fn bytes(ty: Type, values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(ty.size())).collect()
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn subject(text: String, threads: usize, buffers: Vec<Vec<u8>>) -> Subject {
    let source = Source { text, ..Source::default() };
    let library = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let module = library.module("k").unwrap_or_else(|errors| panic!("{}", errors.render_text(false)));
    Subject { module, threads: [threads as u32, 1, 1], group: [64, 1, 1], buffers }
}

fn check_conversions(from: Type, lanes: usize, machine: Option<&Machine>) {
    let mut samples = from.samples();
    samples.resize(samples.len().next_multiple_of(lanes), 0);
    let outputs = TYPES.map(|to| vec![0; samples.len() * to.size()]);
    let buffers = std::iter::once(bytes(from, &samples)).chain(outputs).collect();
    let subject = subject(source(from, lanes), samples.len() / lanes, buffers);
    let all = outcomes(&subject, machine).unwrap_or_else(|why| panic!("{}{lanes}: {why}", from.name));
    for (executor, buffers) in all {
        for (to, buffer) in TYPES.iter().zip(&buffers[1..]) {
            for (&sample, got) in samples.iter().zip(buffer.chunks(to.size())) {
                let got = word(got);
                let is_right = match to.converted(from, sample) {
                    Some(want) => got == want,
                    None => to.number(got) == Number::Nan,
                };
                let (from, to) = (from.name, to.name);
                assert!(is_right, "{executor}: {from}{lanes} {sample:#x} to {to} is {got:#x}");
            }
        }
    }
}

#[test]
fn conversions_of_scalars() {
    let machine = Machine::of_process().ok();
    TYPES.into_iter().for_each(|from| check_conversions(from, 1, machine.as_ref()));
}

#[test]
fn conversions_of_vectors() {
    let machine = Machine::of_process().ok();
    TYPES.into_iter().for_each(|from| check_conversions(from, 4, machine.as_ref()));
}

/// Types of one size as bytes.
const SAME_SIZE: &[&[&str]] = &[
    &["char", "uchar"],
    &["short", "ushort", "half", "bfloat", "char2", "uchar2"],
    &["int", "uint", "float", "short2", "ushort2", "half2", "bfloat2", "char4", "uchar4"],
    &["long", "ulong", "int2", "uint2", "float2", "short4", "ushort4", "half4", "bfloat4"],
    &["long2", "ulong2", "int4", "uint4", "float4"],
];

/// Each type's bits as each type, stored as they are: NaNs keep their payload.
#[test]
fn bits_move_between_types_of_one_size() {
    let machine = Machine::of_process().ok();
    for (log, types) in SAME_SIZE.iter().enumerate() {
        let size = 1_usize << log;
        let pairs: Vec<(&str, &str)> =
            types.iter().flat_map(|&from| types.iter().map(move |&to| (from, to))).collect();
        let mut text = "#include <metal_stdlib>\nusing namespace metal;\n\
                        kernel void k(device const uchar* in, device uchar* out, constant uint& count,\n\
                        uint i [[thread_position_in_grid]]) {\n"
            .to_owned();
        for (place, (from, to)) in pairs.iter().enumerate() {
            writeln!(
                text,
                "((device {to}*)out)[{place} * count + i] = as_type<{to}>(((device const {from}*)in)[i]);"
            )
            .expect("a string");
        }
        text += "}\n";
        // Infinities and quiet and signalling NaNs of each float type, among random bytes.
        let mut state = 1_u64;
        let mut input: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 56) as u8
        })
        .take(size * 512)
        .collect();
        let special = [
            0x7f80_0000_u32,
            0x7fa0_0001,
            0xffc0_0000,
            0x7c00_7e00,
            0x7d01_fc00,
            0x7f81_ff81,
            1,
            0x8000_0000,
        ];
        let special: Vec<u8> = special.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        input[..special.len()].copy_from_slice(&special);
        let threads = input.len() / size;
        let buffers =
            vec![input.clone(), vec![0; pairs.len() * input.len()], (threads as u32).to_le_bytes().to_vec()];
        let all = outcomes(&subject(text, threads, buffers), machine.as_ref());
        for (executor, buffers) in all.unwrap_or_else(|why| panic!("{size} bytes: {why}")) {
            for ((from, to), got) in pairs.iter().zip(buffers[1].chunks(input.len())) {
                assert!(got == input, "{executor}: as_type<{to}> of {from}");
            }
        }
    }
}
