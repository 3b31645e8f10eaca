//! Messages as C's `printf` writes them, from the words of a record.

use anymetal_abi::logging::{Conversion, ConversionKind as Kind, Count, MAX_COUNT, Piece};

/// The text of a message. Words that are missing count as 0.
pub(super) fn message(format: &[Piece], words: &[u32]) -> String {
    let mut words = words.iter().copied();
    let mut text = String::new();
    for piece in format {
        match piece {
            Piece::Text(plain) => text.push_str(plain),
            Piece::Value(conversion) => value(&mut text, conversion, &mut words),
        }
    }
    text
}

/// A conversion with its counts known.
struct Layout<'c> {
    of: &'c Conversion,
    left: bool,
    width: usize,
    precision: Option<usize>,
}

fn value(text: &mut String, of: &Conversion, words: &mut impl Iterator<Item = u32>) {
    let mut layout = Layout { of, left: of.left, width: 0, precision: None };
    let mut count = |count: Option<Count>| match count {
        None => None,
        Some(Count::Fixed(count)) => Some(count as i32),
        Some(Count::Argument) => Some(words.next().unwrap_or(0) as i32),
    };
    let (width, precision) = (count(of.width).unwrap_or(0), count(of.precision));
    // A negative width is one with `-`, a negative precision is none.
    layout.left |= width < 0;
    layout.width = width.unsigned_abs().min(MAX_COUNT) as usize;
    layout.precision =
        precision.and_then(|digits| u32::try_from(digits).ok()).map(|d| d.min(MAX_COUNT) as usize);
    for lane in 0..of.lanes {
        if lane > 0 {
            text.push_str(", ");
        }
        let low = u64::from(words.next().unwrap_or(0));
        let high = if of.element_words() == 2 { u64::from(words.next().unwrap_or(0)) } else { 0 };
        text.push_str(&layout.element(low | high << 32));
    }
}

impl Layout<'_> {
    fn element(&self, bits: u64) -> String {
        match self.of.kind {
            Kind::Character => self.padded(String::new(), char::from(bits as u8).to_string(), false),
            kind if kind.is_float() => self.float(f32::from_bits(bits as u32)),
            _ => self.integer(bits),
        }
    }

    fn integer(&self, bits: u64) -> String {
        let unused = 64 - self.of.bits.min(64);
        let unsigned = bits << unused >> unused;
        let signed = (bits << unused) as i64 >> unused;
        let alternate = self.of.alternate && unsigned != 0;
        let (sign, mut digits) = match self.of.kind {
            Kind::Signed => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
            Kind::Octal => ("", format!("{unsigned:o}")),
            Kind::Hexadecimal => (if alternate { "0x" } else { "" }, format!("{unsigned:x}")),
            _ => ("", unsigned.to_string()),
        };
        match self.precision {
            Some(0) if unsigned == 0 => digits.clear(),
            Some(least) if digits.len() < least => digits.insert_str(0, &"0".repeat(least - digits.len())),
            _ => {}
        }
        if self.of.kind == Kind::Octal && self.of.alternate && !digits.starts_with('0') {
            digits.insert(0, '0');
        }
        self.padded(sign.to_owned(), digits, self.of.zeros && self.precision.is_none())
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.of.plus, self.of.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (.., true) => " ",
            _ => "",
        }
    }

    fn float(&self, number: f32) -> String {
        let sign = self.sign(number.is_sign_negative()).to_owned();
        let size = f64::from(number.abs());
        if !size.is_finite() {
            let word = if size.is_nan() { "nan" } else { "inf" };
            return self.padded(sign, word.to_owned(), false);
        }
        let digits = self.precision;
        let text = match self.of.kind {
            Kind::Exponent => exponent(size, digits.unwrap_or(6), self.of.alternate),
            Kind::Shortest => shortest(size, digits.unwrap_or(6).max(1), self.of.alternate),
            Kind::HexadecimalFloat => {
                return self.padded(format!("{sign}0x"), hexadecimal(size, digits), self.of.zeros);
            }
            _ => fixed(size, digits.unwrap_or(6), self.of.alternate),
        };
        self.padded(sign, text, self.of.zeros)
    }

    /// Filled up to the width; zeros go between the sign and the digits.
    fn padded(&self, sign: String, digits: String, zeros: bool) -> String {
        let missing = self.width.saturating_sub(sign.chars().count() + digits.chars().count());
        let text = match (self.left, zeros) {
            (true, _) => format!("{sign}{digits}{}", " ".repeat(missing)),
            (false, true) => format!("{sign}{}{digits}", "0".repeat(missing)),
            (false, false) => format!("{}{sign}{digits}", " ".repeat(missing)),
        };
        if self.of.upper { text.to_uppercase() } else { text }
    }
}

fn fixed(size: f64, digits: usize, alternate: bool) -> String {
    let point = if alternate && digits == 0 { "." } else { "" };
    format!("{size:.digits$}{point}")
}

fn exponent(size: f64, digits: usize, alternate: bool) -> String {
    let text = format!("{size:.digits$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let point = if alternate && digits == 0 { "." } else { "" };
    let sign = if power < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", power.abs())
}

/// `%g`: as `%e` if the exponent is below -4 or not below the number of digits, else as `%f`; without `#`
/// trailing zeros go.
fn shortest(size: f64, digits: usize, alternate: bool) -> String {
    let rounded = format!("{size:.*e}", digits - 1);
    let power: i32 = rounded.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    let (text, tail) = if power < -4 || power >= digits as i32 {
        let text = exponent(size, digits - 1, alternate);
        let at = text.find('e').unwrap_or(text.len());
        (text[..at].to_owned(), text[at..].to_owned())
    } else {
        (fixed(size, (digits as i32 - 1 - power).max(0) as usize, alternate), String::new())
    };
    let text = match !alternate && text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    text + &tail
}

/// What follows `0x`: one digit, the fraction of a normalised number, the binary exponent. The digit is 1, or
/// 2 where rounding has carried into it.
fn hexadecimal(size: f64, digits: Option<usize>) -> String {
    if size == 0.0 {
        let zeros = "0".repeat(digits.unwrap_or(0));
        return if zeros.is_empty() { "0p+0".to_owned() } else { format!("0.{zeros}p+0") };
    }
    // Every `f32` is a normal `f64`.
    let power = (size.to_bits() >> 52) as i32 - 1023;
    let mut fraction = size.to_bits() & ((1 << 52) - 1) | 1 << 52;
    if let Some(digits) = digits.filter(|&digits| digits < 13) {
        let dropped = 52 - 4 * digits as u32;
        let (half, rest) = (1u64 << (dropped - 1), fraction & ((1 << dropped) - 1));
        let odd = fraction >> dropped & 1 == 1;
        fraction = (fraction >> dropped) + u64::from(rest > half || rest == half && odd);
        fraction <<= dropped;
    }
    let mut text = format!("{:013x}", fraction & ((1 << 52) - 1));
    match digits {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(digits) if digits > 13 => text.push_str(&"0".repeat(digits - 13)),
        Some(digits) => text.truncate(digits),
    }
    let point = if text.is_empty() { "" } else { "." };
    format!("{}{point}{text}p{power:+}", fraction >> 52)
}

#[cfg(test)]
mod tests {
    use anymetal_abi::logging::parse_format;

    use super::*;

    fn printed(format: &str, words: &[u32]) -> String {
        message(&parse_format(format).unwrap(), words)
    }

    /// What a C library prints for the same.
    #[test]
    fn integers_are_written_as_by_printf() {
        for (format, words, expected) in [
            ("%d|%i", &[7, -3i32 as u32][..], "7|-3"),
            ("%5d|%-5d|%05d", &[42, 42, 42], "   42|42   |00042"),
            ("%+d|% d|%+d", &[3, 3, -3i32 as u32], "+3| 3|-3"),
            ("%.3d|%6.3d|%.0d", &[5, 5, 0], "005|   005|"),
            ("%u|%x|%X|%o", &[u32::MAX, 255, 255, 8], "4294967295|ff|FF|10"),
            ("%#x|%#o|%#x|%#o", &[255, 8, 0, 0], "0xff|010|0|0"),
            ("%hhu|%hhd|%hd", &[300, 200, 0x1_8000], "44|-56|-32768"),
            ("%ld|%llu", &[u32::MAX, u32::MAX, 1, 1], "-1|4294967297"),
            ("%c%c", &[72, 105], "Hi"),
            ("%*d|%-*d|%*d", &[4, 1, 4, 1, -4i32 as u32, 1], "   1|1   |1   "),
            ("100%% %d", &[1], "100% 1"),
            ("%v2hhu|%v4d", &[1, 2, 3, 4, 5, 6], "1, 2|3, 4, 5, 6"),
            ("%d %d", &[1], "1 0"),
        ] {
            assert_eq!(printed(format, words), expected, "{format}");
        }
    }

    #[test]
    fn floats_are_written_as_by_printf() {
        for (format, number, expected) in [
            ("%f", 1.5f32, "1.500000"),
            ("%.0f", 2.5, "2"),
            ("%#.0f", 2.0, "2."),
            ("%8.3f", -3.25, "  -3.250"),
            ("%08.2f", -3.25, "-0003.25"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.2E", 0.00012, "1.20E-04"),
            ("%g", 100000.0, "100000"),
            ("%g", 1_000_000.0, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%.3g", 9999.0, "1e+04"),
            ("%#g", 1.5, "1.50000"),
            ("%g", 0.0, "0"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.1, "0x1.99999ap-4"),
            ("%.1a", 1.97, "0x2.0p+0"),
            ("%.1a", 1.90625, "0x1.ep+0"),
            ("%.2a", 0.1, "0x1.9ap-4"),
            ("%.0e", 15000.0, "2e+04"),
            ("%#.3g", 1.0, "1.00"),
            ("%.10g", 0.1, "0.1000000015"),
            ("%g", 999_999.5, "1e+06"),
            ("%.0a", 1.97, "0x2p+0"),
            ("%A", 255.5, "0X1.FFP+7"),
            ("%f", f32::INFINITY, "inf"),
            ("%F", f32::NEG_INFINITY, "-INF"),
            ("%05f", f32::NAN, "  nan"),
            ("%f", -0.0, "-0.000000"),
        ] {
            assert_eq!(printed(format, &[number.to_bits()]), expected, "{format} of {number}");
        }
    }
}
