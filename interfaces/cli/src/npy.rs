//! NumPy's `.npy` files: headers in and out, elements as raw little-endian bytes.
//!
//! Hand-written because the input is untrusted and the data is needed as bytes: the crates at hand read
//! element by element, recurse over the header and multiply shapes unchecked. Invariant: a header is believed
//! only after its shape has been checked against the file's real length; nothing is allocated by what it
//! claims.

use std::io::Read;

use anymetal::reflection::ScalarType;

/// NumPy itself refuses longer headers of untrusted files.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// As in NumPy.
const MAX_DIMENSIONS: usize = 64;

/// What a `.npy` file says about its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// The elements' type.
    pub(crate) scalar: ScalarType,
    /// Whether the bytes of each element are the other way round.
    pub(crate) big_endian: bool,
    /// The extents, in C order.
    pub(crate) shape: Vec<u64>,
    /// The bytes of data.
    pub(crate) data_bytes: u64,
}

/// Reads the header; the reader is left at the data. `file_bytes` is the whole file's length.
pub(crate) fn read_header(reader: &mut dyn Read, file_bytes: u64) -> Result<Header, String> {
    let mut fixed = [0; 8];
    reader.read_exact(&mut fixed).map_err(|_| "it is too short for a .npy file".to_owned())?;
    if &fixed[..6] != b"\x93NUMPY" {
        return Err("it is not a .npy file: the magic bytes are missing".to_owned());
    }
    let (major, length_bytes) = match fixed[6] {
        1 => (1, 2),
        version @ (2 | 3) => (version, 4),
        version => return Err(format!("version {version} of the .npy format is not known")),
    };
    let mut length = [0; 4];
    let cut = |_| "it ends within its header".to_owned();
    reader.read_exact(&mut length[..length_bytes]).map_err(cut)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER_BYTES {
        return Err(format!("its header of {length} bytes is too long"));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).map_err(cut)?;
    let text = std::str::from_utf8(&text).map_err(|_| "its header is not text".to_owned())?;
    let (scalar, big_endian, shape) = parse_header(text)?;
    let elements = shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
    let data_bytes = elements.and_then(|elements| elements.checked_mul(scalar.size().into()));
    let data_bytes = data_bytes.ok_or_else(|| format!("its shape {shape:?} is impossible"))?;
    let start = 8 + length_bytes as u64 + length as u64;
    let available = file_bytes.saturating_sub(start);
    if data_bytes > available {
        return Err(format!(
            "it is cut off: its shape {shape:?} needs {data_bytes} bytes of data, there are {available}"
        ));
    }
    debug_assert!(major <= 3, "checked above");
    Ok(Header { scalar, big_endian, shape, data_bytes })
}

/// The header and its padding for data of that type and shape.
pub(crate) fn header_bytes(scalar: ScalarType, shape: &[u64]) -> Vec<u8> {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shape = match extents.len() {
        1 => format!("({},)", extents[0]),
        _ => format!("({})", extents.join(", ")),
    };
    let mut text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': {shape}, }}", descr(scalar));
    // The data starts at a multiple of 64, as NumPy writes it.
    let unpadded = 10 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// NumPy's spelling. It has no bfloat16: two raw bytes, which the package ml_dtypes reads and writes so too.
fn descr(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::Bool => "|b1",
        ScalarType::I8 => "|i1",
        ScalarType::U8 => "|u1",
        ScalarType::I16 => "<i2",
        ScalarType::U16 => "<u2",
        ScalarType::I32 => "<i4",
        ScalarType::U32 => "<u4",
        ScalarType::I64 => "<i8",
        ScalarType::U64 => "<u8",
        ScalarType::F16 => "<f2",
        ScalarType::BF16 => "<V2",
        ScalarType::F32 => "<f4",
    }
}

fn scalar_of(descr: &str) -> Result<(ScalarType, bool), String> {
    let (order, kind) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &descr[1..]),
        _ => ('|', descr),
    };
    let scalar = match kind {
        "b1" => ScalarType::Bool,
        "i1" => ScalarType::I8,
        "u1" => ScalarType::U8,
        "i2" => ScalarType::I16,
        "u2" => ScalarType::U16,
        "i4" => ScalarType::I32,
        "u4" => ScalarType::U32,
        "i8" => ScalarType::I64,
        "u8" => ScalarType::U64,
        "f2" => ScalarType::F16,
        "V2" => ScalarType::BF16,
        "f4" => ScalarType::F32,
        "f8" => {
            return Err(
                "its elements are float64, which Metal does not have: save it with .astype(np.float32)"
                    .to_owned(),
            );
        }
        _ => {
            return Err(format!(
                "its elements are `{descr}`: only bool, integers, float16, float32 and bfloat16 (V2) can be read"
            ));
        }
    };
    Ok((scalar, order == '>' && scalar.size() > 1))
}

fn parse_header(text: &str) -> Result<(ScalarType, bool, Vec<u64>), String> {
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    let mut literal = Literal { rest: text };
    literal.expect('{')?;
    while !literal.accept('}') {
        let key = literal.string()?;
        literal.expect(':')?;
        match key {
            "descr" if literal.peek() == Some('[') => {
                return Err(
                    "it is a structured array: save its bytes with .tofile and pass the .bin".to_owned()
                );
            }
            "descr" => descr = Some(literal.string()?),
            "fortran_order" => fortran = Some(literal.boolean()?),
            "shape" => shape = Some(literal.tuple()?),
            other => return Err(format!("its header has an unknown field `{other}`")),
        }
        if !literal.accept(',') {
            literal.expect('}')?;
            break;
        }
    }
    let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
        return Err("its header lacks descr, fortran_order or shape".to_owned());
    };
    let (scalar, big_endian) = scalar_of(descr)?;
    if fortran && shape.iter().filter(|&&extent| extent > 1).count() > 1 {
        return Err("it is in Fortran order: save it with np.ascontiguousarray".to_owned());
    }
    Ok((scalar, big_endian, shape))
}

/// The few Python literals that a header is made of.
struct Literal<'t> {
    rest: &'t str,
}

impl<'t> Literal<'t> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.accept(wanted) {
            Ok(())
        } else {
            Err(format!("its header is malformed: `{wanted}` is missing"))
        }
    }

    fn string(&mut self) -> Result<&'t str, String> {
        let malformed = || "its header is malformed: a string is missing".to_owned();
        let quote = self.peek().filter(|quote| matches!(quote, '\'' | '"')).ok_or_else(malformed)?;
        let (text, rest) = self.rest[1..].split_once(quote).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err("its header is malformed: True or False is missing".to_owned())
    }

    fn tuple(&mut self) -> Result<Vec<u64>, String> {
        self.expect('(')?;
        let mut extents = Vec::new();
        while !self.accept(')') {
            self.peek();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let extent = self.rest[..digits].parse().map_err(|_| "its shape is malformed".to_owned())?;
            self.rest = &self.rest[digits..];
            // Python 2 wrote long integers so.
            self.accept('L');
            extents.push(extent);
            if extents.len() > MAX_DIMENSIONS {
                return Err("its shape has too many dimensions".to_owned());
            }
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(descr: &str, fortran: &str, shape: &str, data: usize) -> Result<Header, String> {
        let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        let length = (bytes.len() + data) as u64;
        read_header(&mut bytes.as_slice(), length)
    }

    #[test]
    fn what_is_written_is_read_back() {
        for shape in [vec![], vec![0], vec![7], vec![2, 3, 4]] {
            for scalar in [ScalarType::F32, ScalarType::BF16, ScalarType::Bool, ScalarType::U64] {
                let bytes = header_bytes(scalar, &shape);
                assert_eq!(bytes.len() % 64, 0);
                let header = read_header(&mut bytes.as_slice(), 1 << 20).unwrap();
                assert_eq!((header.scalar, &header.shape), (scalar, &shape));
                assert_eq!(header.data_bytes, shape.iter().product::<u64>() * u64::from(scalar.size()));
            }
        }
    }

    #[test]
    fn the_other_byte_order_and_harmless_fortran_order_are_accepted() {
        assert!(header("'>i4'", "False", "(3,)", 12).unwrap().big_endian);
        assert!(!header("'|i1'", "True", "(3,)", 3).unwrap().big_endian);
        assert!(header("'<f4'", "True", "(3, 1)", 12).is_ok());
    }

    #[test]
    fn malformed_and_unsupported_headers_are_refused() {
        let refused = |result: Result<Header, String>, part: &str| {
            let message = result.unwrap_err();
            assert!(message.contains(part), "{message}");
        };
        refused(header("'<f8'", "False", "(3,)", 24), "float32");
        refused(header("'<c8'", "False", "(3,)", 24), "only bool");
        refused(header("[('a', '<f4')]", "False", "(3,)", 24), "structured");
        refused(header("'<f4'", "True", "(3, 2)", 24), "ascontiguousarray");
        refused(header("'<f4'", "False", "(3,)", 11), "cut off");
        refused(header("'<f4'", "False", "(-1,)", 24), "shape");
        refused(header("'<f4'", "False", "(4294967296, 4294967296, 4)", 24), "impossible");
        refused(header("'<f4'", "False", &format!("({})", "1,".repeat(100)), 24), "dimensions");
        refused(header(&"(".repeat(10_000), "False", "()", 0), "malformed");
        let mut all: &[u8] = b"\x93NUMPY\x02\x00\xff\xff\xff\xff";
        refused(read_header(&mut all, 100), "too long");
        let mut none: &[u8] = b"PK\x03\x04aaaaaaaa";
        refused(read_header(&mut none, 100), "magic");
        let whole = header_bytes(ScalarType::F32, &[3]);
        for cut in 0..whole.len() {
            assert!(read_header(&mut &whole[..cut], whole.len() as u64).is_err(), "cut at {cut}");
        }
    }
}
