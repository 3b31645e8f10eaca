//! Formats of messages: those of C's `printf`, with vectors (MSL specification, 6.19).
//!
//! Invariant: whatever the text, [`parse_format`] gives pieces or an error that says where; counts are
//! bounded by [`MAX_COUNT`].

/// Maximum number of characters that a format may pad a value to.
pub const MAX_COUNT: u32 = 512;

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// A value.
    Value(Conversion),
}

/// A width or a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// A number of characters.
    Fixed(u32),
    /// `*`: an `int` before the value.
    Argument,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversionKind {
    /// `%d`, `%i`
    Signed,
    /// `%u`
    Unsigned,
    /// `%o`
    Octal,
    /// `%x`
    Hexadecimal,
    /// `%c`
    Character,
    /// `%f`
    Fixed,
    /// `%e`
    Exponent,
    /// `%g`
    Shortest,
    /// `%a`
    HexadecimalFloat,
}

impl ConversionKind {
    /// Whether it writes floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Fixed | Self::Exponent | Self::Shortest | Self::HexadecimalFloat)
    }

    fn of(letter: u8) -> Option<Self> {
        Some(match letter.to_ascii_lowercase() {
            b'd' | b'i' => Self::Signed,
            b'u' => Self::Unsigned,
            b'o' => Self::Octal,
            b'x' => Self::Hexadecimal,
            b'c' => Self::Character,
            b'f' => Self::Fixed,
            b'e' => Self::Exponent,
            b'g' => Self::Shortest,
            b'a' => Self::HexadecimalFloat,
            _ => return None,
        })
    }
}

/// A conversion specification, `%-08.3v4hlf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// As written.
    pub text: String,
    /// `-`: the padding is after the value.
    pub left: bool,
    /// `+`: a positive number has its sign.
    pub plus: bool,
    /// A space stands where a sign would.
    pub space: bool,
    /// `#`: the other form.
    pub alternate: bool,
    /// `0`: padded with zeros.
    pub zeros: bool,
    /// The least number of characters.
    pub width: Option<Count>,
    /// Digits.
    pub precision: Option<Count>,
    /// Elements of a vector; 1: a scalar.
    pub lanes: u32,
    /// Bits of an element that are written: 8, 16, 32 or 64.
    pub bits: u32,
    /// How.
    pub kind: ConversionKind,
    /// In capitals.
    pub upper: bool,
}

impl Conversion {
    /// The arguments that it takes before the value: for `*`.
    pub fn counts(&self) -> u32 {
        let given = |count: Option<Count>| u32::from(count == Some(Count::Argument));
        given(self.width) + given(self.precision)
    }

    /// Words of an element in a record: floats are 32 bits, and so are integers of at most that.
    pub fn element_words(&self) -> u32 {
        if self.bits == 64 { 2 } else { 1 }
    }

    /// Words in a record.
    pub fn words(&self) -> u32 {
        self.counts() + self.lanes * self.element_words()
    }
}

/// Why a text is no format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// What is wrong, without a full stop.
    pub message: String,
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

/// The parts of a format.
pub fn parse_format(text: &str) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut plain = String::new();
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let from = &rest[at..];
        if let Some(after) = from.strip_prefix("%%") {
            plain.push('%');
            rest = after;
            continue;
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        let (conversion, length) = conversion(from)?;
        pieces.push(Piece::Value(conversion));
        rest = &from[length..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

/// What is left of a conversion specification.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.text[self.at..].starts_with(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    /// A number, if there is one here.
    fn number(&mut self) -> Result<Option<u32>, FormatError> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start {
            return Ok(None);
        }
        let number = self.text[start..self.at].parse().ok().filter(|&number: &u32| number <= MAX_COUNT);
        let too_large = || self.error(&format!("has a number beyond {MAX_COUNT}"));
        number.map(Some).ok_or_else(too_large)
    }

    fn count(&mut self) -> Result<Option<Count>, FormatError> {
        if self.eat("*") {
            return Ok(Some(Count::Argument));
        }
        Ok(self.number()?.map(Count::Fixed))
    }

    /// What was read, with what is wrong with it.
    fn error(&self, problem: &str) -> FormatError {
        let mut end = self.at;
        while end < self.text.len() && !self.text.is_char_boundary(end) {
            end += 1;
        }
        FormatError { message: format!("`{}` {problem}", &self.text[..end]) }
    }
}

/// The conversion specification at the start of a text, and its length.
fn conversion(text: &str) -> Result<(Conversion, usize), FormatError> {
    let mut s = Scanner { text, at: 1 };
    let mut conversion = Conversion {
        text: String::new(),
        left: false,
        plus: false,
        space: false,
        alternate: false,
        zeros: false,
        width: None,
        precision: None,
        lanes: 1,
        bits: 32,
        kind: ConversionKind::Signed,
        upper: false,
    };
    loop {
        match s.peek() {
            b'-' => conversion.left = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.space = true,
            b'#' => conversion.alternate = true,
            b'0' => conversion.zeros = true,
            _ => break,
        }
        s.at += 1;
    }
    conversion.width = s.count()?;
    if s.eat(".") {
        conversion.precision = Some(s.count()?.unwrap_or(Count::Fixed(0)));
    }
    if s.eat("v") {
        let lanes = s.number()?;
        conversion.lanes = match lanes {
            Some(lanes @ (2..=4)) => lanes,
            _ => return Err(s.error("is no vector: `%v` is followed by 2, 3 or 4")),
        };
    }
    conversion.bits = length_modifier(&mut s);
    let letter = s.peek();
    s.at += usize::from(letter != 0);
    let Some(kind) =
        ConversionKind::of(letter).filter(|_| !matches!(letter, b'D' | b'I' | b'U' | b'O' | b'C'))
    else {
        return Err(match letter {
            0 => s.error("ends before its conversion letter"),
            b's' => s.error("is not supported: kernels cannot print strings"),
            b'n' | b'@' | b'P' => s.error("is not supported in messages from kernels"),
            b'p' => s.error("is not supported: pointers of kernels have no address to print"),
            _ => s.error("is no conversion that `printf` has"),
        });
    };
    conversion.kind = kind;
    conversion.upper = letter.is_ascii_uppercase();
    if kind.is_float() {
        conversion.bits = 32;
    }
    conversion.text = text[..s.at].to_owned();
    Ok((conversion, s.at))
}

/// The bits of an element by its length modifier.
fn length_modifier(s: &mut Scanner<'_>) -> u32 {
    const MODIFIERS: [(&str, u32); 9] =
        [("hh", 8), ("hl", 32), ("h", 16), ("ll", 64), ("l", 64), ("L", 64), ("j", 64), ("z", 64), ("t", 64)];
    MODIFIERS.iter().find(|(modifier, _)| s.eat(modifier)).map_or(32, |(_, bits)| *bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Conversion {
        match parse_format(text).as_deref() {
            Ok([Piece::Value(conversion)]) => conversion.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn formats_fall_into_pieces() {
        let pieces = parse_format("a%%b %d%c").unwrap();
        assert!(
            matches!(&pieces[..], [Piece::Text(text), Piece::Value(_), Piece::Value(_)] if text == "a%b ")
        );
        let wide = only("%-+ #0*.7ld");
        assert!(wide.left && wide.plus && wide.space && wide.alternate && wide.zeros);
        assert_eq!((wide.width, wide.precision), (Some(Count::Argument), Some(Count::Fixed(7))));
        assert_eq!((wide.bits, wide.words()), (64, 3));
        let vector = only("%v4hlf");
        assert_eq!((vector.lanes, vector.bits, vector.words()), (4, 32, 4));
        let bytes = only("%v2hhX");
        assert_eq!((bytes.lanes, bytes.bits, bytes.upper), (2, 8, true));
        assert_eq!(only("%.f").precision, Some(Count::Fixed(0)));
    }

    #[test]
    fn what_is_no_format_is_told() {
        for (text, told) in [
            ("%s", "strings"),
            ("100%", "ends before"),
            ("%n", "not supported"),
            ("%.*P", "not supported"),
            ("%@", "not supported"),
            ("%p", "address"),
            ("%v5f", "2, 3 or 4"),
            ("%vf", "2, 3 or 4"),
            ("%9999d", "beyond 512"),
            ("%99999999999999999999d", "beyond 512"),
            ("%y", "no conversion"),
            ("%é", "no conversion"),
            ("%l", "ends before"),
        ] {
            let error = parse_format(text).expect_err(text);
            assert!(error.message.contains(told), "{text}: {error}");
        }
    }
}
