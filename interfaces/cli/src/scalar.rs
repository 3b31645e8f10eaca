//! The scalar types of the command line: their names, values and generated contents.
//!
//! Invariant: a value that its type cannot hold is refused, never wrapped; `rand` gives the same numbers on
//! every machine and in every version.

use anymetal::reflection::ScalarType;
use anymetal::{bf16, f16};

/// All names, for messages.
pub(crate) fn all_names() -> String {
    ScalarType::ALL.map(ScalarType::name).join(" ")
}

/// The bits of a value as written, zero-extended.
pub(crate) fn parse(scalar: ScalarType, text: &str) -> Result<u64, String> {
    match scalar {
        ScalarType::Bool => match text {
            "true" | "1" => Ok(1),
            "false" | "0" => Ok(0),
            _ => Err(format!("`{text}` is no bool: write true or false")),
        },
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 => parse_float(scalar, text),
        _ => parse_integer(scalar, text),
    }
}

fn parse_float(scalar: ScalarType, text: &str) -> Result<u64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    let (bits, finite) = match scalar {
        ScalarType::F16 => (f16::from_f64(number).to_bits().into(), f16::from_f64(number).is_finite()),
        ScalarType::BF16 => (bf16::from_f64(number).to_bits().into(), bf16::from_f64(number).is_finite()),
        _ => ((number as f32).to_bits().into(), (number as f32).is_finite()),
    };
    if number.is_finite() && !finite {
        return Err(format!("{text} is too large for {}", scalar.name()));
    }
    Ok(bits)
}

fn parse_integer(scalar: ScalarType, text: &str) -> Result<u64, String> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (digits, radix) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (digits, 10),
    };
    let no_integer = || format!("`{text}` is no integer");
    // The standard library would take a second sign.
    let digits = Some(digits).filter(|digits| !digits.starts_with(['+', '-'])).ok_or_else(no_integer)?;
    let value = i128::from_str_radix(digits, radix).map_err(|_| no_integer())?;
    let value = if negative { -value } else { value };
    let (low, high) = scalar.integer_limits().expect("floating-point types have their own parser");
    if !(low..=high).contains(&value) {
        return Err(format!("{text} is not between {low} and {high}, the limits of {}", scalar.name()));
    }
    Ok(value as u64 & (u64::MAX >> (64 - scalar.bits())))
}

/// Formats a value as the shortest decimal that reads back the same.
pub(crate) fn show(scalar: ScalarType, bytes: &[u8]) -> String {
    let mut word = [0; 8];
    word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let bits = u64::from_le_bytes(word);
    match scalar {
        ScalarType::Bool => (bits != 0).to_string(),
        ScalarType::I8 => (bits as i8).to_string(),
        ScalarType::I16 => (bits as i16).to_string(),
        ScalarType::I32 => (bits as i32).to_string(),
        ScalarType::I64 => (bits as i64).to_string(),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => bits.to_string(),
        ScalarType::F16 => show_float(f16::from_bits(bits as u16).into()),
        ScalarType::BF16 => show_float(bf16::from_bits(bits as u16).into()),
        ScalarType::F32 => show_float(f32::from_bits(bits as u32)),
    }
}

fn show_float(value: f32) -> String {
    let magnitude = value.abs();
    if value.is_finite() && value != 0.0 && !(1e-5..1e16).contains(&magnitude) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Appends element `index` of `iota`: the index itself; for `bool`, whether it is odd.
pub(crate) fn push_iota(scalar: ScalarType, index: u64, bytes: &mut Vec<u8>) {
    let bits = match scalar {
        ScalarType::Bool => index & 1,
        ScalarType::F16 => f16::from_f64(index as f64).to_bits().into(),
        ScalarType::BF16 => bf16::from_f64(index as f64).to_bits().into(),
        ScalarType::F32 => (index as f32).to_bits().into(),
        _ => index,
    };
    push(scalar, bits, bytes);
}

/// Appends a random element out of 64 random bits: floats are uniform in [0, 1) on the grid of the type's
/// precision, integers use all their values, `bool` both of its.
pub(crate) fn push_random(scalar: ScalarType, random: u64, bytes: &mut Vec<u8>) {
    let fraction = |bits: u32| (random >> (64 - bits)) as f64 / (1u64 << bits) as f64;
    let bits = match scalar {
        ScalarType::Bool => random >> 63,
        ScalarType::F16 => f16::from_f64(fraction(11)).to_bits().into(),
        ScalarType::BF16 => bf16::from_f64(fraction(8)).to_bits().into(),
        ScalarType::F32 => (fraction(24) as f32).to_bits().into(),
        _ => random >> (64 - scalar.bits()),
    };
    push(scalar, bits, bytes);
}

/// Appends the low bytes of a value.
pub(crate) fn push(scalar: ScalarType, bits: u64, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&bits.to_le_bytes()[..scalar.size() as usize]);
}

/// Consecutive values.
pub(crate) fn bytes_of(scalar: ScalarType, values: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|&bits| push(scalar, bits, &mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use anymetal::testing::SplitMix64;

    use super::*;

    #[test]
    fn values_fit_their_type_or_are_refused() {
        assert_eq!(parse(ScalarType::I8, "-128"), Ok(0x80));
        assert_eq!(parse(ScalarType::U64, "0xffffffffffffffff"), Ok(u64::MAX));
        assert_eq!(parse(ScalarType::I64, "-1"), Ok(u64::MAX));
        assert_eq!(parse(ScalarType::F32, "2.0"), Ok(0x4000_0000));
        assert_eq!(parse(ScalarType::F16, "inf"), Ok(0x7c00));
        for (scalar, text) in [
            (ScalarType::I8, "128"),
            (ScalarType::U32, "-1"),
            (ScalarType::U32, "1.5"),
            (ScalarType::U32, "--1"),
            (ScalarType::U32, "+1"),
            (ScalarType::U32, "0x-1"),
            (ScalarType::U64, "99999999999999999999999999999999999999999"),
            (ScalarType::F16, "70000"),
            (ScalarType::F32, "1e99"),
            (ScalarType::F32, ""),
            (ScalarType::Bool, "2"),
        ] {
            assert!(parse(scalar, text).is_err(), "{scalar:?} {text}");
        }
    }

    #[test]
    fn values_are_printed_in_shortest_form() {
        assert_eq!(show(ScalarType::F32, &0.1f32.to_le_bytes()), "0.1");
        assert_eq!(show(ScalarType::F32, &1e-20f32.to_le_bytes()), "1e-20");
        assert_eq!(show(ScalarType::F32, &f32::NAN.to_le_bytes()), "NaN");
        assert_eq!(show(ScalarType::I16, &(-3i16).to_le_bytes()), "-3");
        assert_eq!(show(ScalarType::Bool, &[1]), "true");
    }

    /// The first outputs of the reference implementation for seed 0; changing them changes users' data.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut generator = SplitMix64::new(0);
        assert_eq!(generator.next_number(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(generator.next_number(), 0x6e78_9e6a_a1b9_65f4);
        let mut bytes = Vec::new();
        push_random(ScalarType::F32, u64::MAX, &mut bytes);
        push_random(ScalarType::F16, u64::MAX, &mut bytes);
        let largest = f32::from_le_bytes(bytes[..4].try_into().unwrap());
        assert!(largest < 1.0 && largest > 0.9999);
        assert!(f16::from_le_bytes(bytes[4..].try_into().unwrap()) < f16::ONE);
    }
}
