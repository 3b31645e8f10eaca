//! Preprocessing numbers to literals.

use crate::token::{FloatLiteral, FloatSuffix, IntLiteral, TokenKind};

/// The literal that a preprocessing number spells, or what is wrong with it.
pub(crate) fn parse_number(spelling: &str) -> Result<TokenKind, String> {
    let without_separators;
    let text = if spelling.contains('\'') {
        without_separators = spelling.replace('\'', "");
        &without_separators
    } else {
        spelling
    };
    let bytes = text.as_bytes();
    match (bytes, bytes.get(1)) {
        ([b'0', ..], Some(b'x' | b'X')) => {
            if !text[2..].trim_start_matches('.').starts_with(|char: char| char.is_ascii_hexdigit()) {
                return Err("hexadecimal literal without digits".to_owned());
            }
            hexadecimal(&text[2..])
        }
        ([b'0', ..], Some(b'b' | b'B')) => integer(&text[2..], 2),
        _ => decimal_or_octal(text),
    }
}

fn decimal_or_octal(text: &str) -> Result<TokenKind, String> {
    let end = decimal_float_end(text);
    let (mantissa, suffix) = text.split_at(end);
    if mantissa.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return float(decimal_value(mantissa, suffix), suffix);
    }
    if text.len() > 1 && text.starts_with('0') && text.as_bytes()[1].is_ascii_digit() {
        return integer(&text[1..], 8);
    }
    integer(text, 10)
}

/// The end of the longest prefix that is a decimal mantissa with an optional exponent.
fn decimal_float_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// Rounded once: to `float` where that is the literal's type, because rounding to `f64` first and to
/// `f32` later can differ in the last bit.
fn decimal_value(mantissa: &str, suffix: &str) -> f64 {
    match suffix {
        "" | "f" | "F" => mantissa.parse::<f32>().map_or(0.0, f64::from),
        _ => mantissa.parse().unwrap_or(0.0),
    }
}

fn float(value: f64, suffix: &str) -> Result<TokenKind, String> {
    let suffix = match suffix {
        "" => FloatSuffix::None,
        "f" | "F" => FloatSuffix::Float,
        "h" | "H" => FloatSuffix::Half,
        "bf" | "BF" | "bh" | "BH" => FloatSuffix::Bfloat,
        "l" | "L" => FloatSuffix::Long,
        _ => return Err(format!("invalid suffix `{suffix}` on floating-point literal")),
    };
    Ok(TokenKind::Float(FloatLiteral { value, suffix }))
}

fn integer(text: &str, base: u32) -> Result<TokenKind, String> {
    let digits =
        text.bytes().take_while(|byte| byte.is_ascii_digit() || base == 16 && byte.is_ascii_hexdigit());
    let (digits, suffix) = text.split_at(digits.count());
    let mut value = 0u64;
    for char in digits.chars() {
        let Some(digit) = char.to_digit(base) else {
            return Err(format!("invalid digit `{char}` in {} literal", base_name(base)));
        };
        value = value
            .checked_mul(u64::from(base))
            .and_then(|value| value.checked_add(u64::from(digit)))
            .ok_or("integer literal does not fit 64 bits")?;
    }
    if digits.is_empty() && base != 8 {
        return Err(format!("{} literal without digits", base_name(base)));
    }
    let (unsigned, long) = integer_suffix(suffix, base)?;
    Ok(TokenKind::Int(IntLiteral { value, unsigned, long, decimal: base == 10 }))
}

fn base_name(base: u32) -> &'static str {
    match base {
        2 => "binary",
        8 => "octal",
        16 => "hexadecimal",
        _ => "integer",
    }
}

/// Whether the suffix says unsigned, and whether it says long.
fn integer_suffix(suffix: &str, base: u32) -> Result<(bool, bool), String> {
    match suffix.to_ascii_lowercase().as_str() {
        "" => Ok((false, false)),
        "u" => Ok((true, false)),
        "l" | "ll" => Ok((false, true)),
        "ul" | "ull" | "lu" | "llu" => Ok((true, true)),
        "f" | "h" | "bf" if base == 10 => Err(format!(
            "invalid suffix `{suffix}` on integer literal (a floating-point literal needs a `.`)"
        )),
        _ => Err(format!("invalid suffix `{suffix}` on integer literal")),
    }
}

/// `text` is what follows `0x`.
fn hexadecimal(text: &str) -> Result<TokenKind, String> {
    if !text.contains(['.', 'p', 'P']) {
        return integer(text, 16);
    }
    let (mantissa, rest) = text.split_at(text.find(['p', 'P']).unwrap_or(text.len()));
    let Some(rest) = rest.strip_prefix(['p', 'P']) else {
        return Err("hexadecimal floating-point literal without an exponent".to_owned());
    };
    let sign = usize::from(rest.starts_with(['+', '-']));
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err("exponent without digits".to_owned());
    }
    let (exponent, suffix) = rest.split_at(sign + digits);
    // An exponent too long for `i64` overflows or underflows whatever the mantissa.
    let limit = if exponent.starts_with('-') { -1_000_000 } else { 1_000_000 };
    let exponent = exponent.parse::<i64>().unwrap_or(limit).clamp(-1_000_000, 1_000_000);
    float(hexadecimal_value(mantissa, exponent)?, suffix)
}

/// `mantissa * 2^exponent`, where the mantissa has hexadecimal digits and at most one point.
fn hexadecimal_value(mantissa: &str, exponent: i64) -> Result<f64, String> {
    let mut bits = 0u64;
    let mut scale = exponent;
    let mut point = false;
    for char in mantissa.chars() {
        if char == '.' {
            if point {
                return Err("two points in a floating-point literal".to_owned());
            }
            point = true;
            continue;
        }
        let Some(digit) = char.to_digit(16) else {
            return Err(format!("invalid digit `{char}` in hexadecimal literal"));
        };
        if bits >> 60 == 0 {
            bits = bits << 4 | u64::from(digit);
            scale -= if point { 4 } else { 0 };
        } else {
            // What does not fit is remembered in the lowest bit, so that rounding stays right.
            bits |= u64::from(digit != 0);
            scale += if point { 0 } else { 4 };
        }
    }
    Ok(scale_by_power_of_two(bits as f64, scale))
}

fn scale_by_power_of_two(value: f64, exponent: i64) -> f64 {
    let mut value = value;
    let mut exponent = exponent.clamp(-4000, 4000) as i32;
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-900, 900);
        value *= f64::from_bits(((1023 + step) as u64) << 52);
        exponent -= step;
    }
    value
}
