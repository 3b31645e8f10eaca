//! One record as a line of JSON, sealed by a digest.
//!
//! A line is an object whose last two fields are `previous`, the digest of the record before, and `digest`,
//! the BLAKE3 hash of all bytes of the line before `,"digest"`. Invariant: every byte of a line is under its
//! digest or part of it, so no byte can change unnoticed.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// Longer lines are not read.
pub(crate) const MAX_LINE_BYTES: u64 = 1 << 20;

const DIGEST_FIELD: &str = ",\"digest\":\"";
const END: &str = "\"}";

/// The hash that seals a record, which the next one repeats.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// What the first record has before it.
    pub(crate) const ZERO: Digest = Digest([0; 32]);

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Digest(*blake3::hash(bytes).as_bytes())
    }

    /// From 64 hexadecimal digits, as [`Digest`] is printed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        for (byte, &[high, low]) in bytes.iter_mut().zip(digits.as_chunks().0) {
            *byte = value(high)? << 4 | value(low)?;
        }
        Some(Digest(bytes))
    }
}

/// Capitals are no digits here: each digest has one spelling.
fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[derive(Serialize)]
struct Content<'a, E> {
    seq: u64,
    time_ns: u64,
    #[serde(flatten)]
    event: &'a E,
    previous: String,
}

/// The line of a record, with its end of line, and its digest.
pub(crate) fn seal(
    seq: u64,
    time_ns: u64,
    event: &impl Serialize,
    previous: Digest,
) -> serde_json::Result<(String, Digest)> {
    let content = Content { seq, time_ns, event, previous: previous.to_string() };
    let mut line = serde_json::to_string(&content)?;
    // The object goes on with the digest.
    line.pop();
    let digest = Digest::of(line.as_bytes());
    line.push_str(DIGEST_FIELD);
    line.push_str(&digest.to_string());
    line.push_str(END);
    line.push('\n');
    Ok((line, digest))
}

/// A record whose line is whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) seq: u64,
    pub(crate) time_ns: u64,
    pub(crate) previous: Digest,
    pub(crate) digest: Digest,
    /// The event's fields, with its name as `event`.
    pub(crate) event: Map<String, Value>,
}

/// Why a line is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineError {
    /// It has another form.
    NotARecord(&'static str),
    /// It is not what its digest was made of.
    Changed,
}

impl Record {
    /// Reads a line without its end of line.
    pub(crate) fn open(line: &[u8]) -> Result<Self, LineError> {
        let sealed = DIGEST_FIELD.len() + 64 + END.len();
        let split = line.len().checked_sub(sealed).ok_or(LineError::NotARecord("it is too short"))?;
        let (content, seal) = line.split_at(split);
        let digest = seal
            .strip_prefix(DIGEST_FIELD.as_bytes())
            .and_then(|seal| seal.strip_suffix(END.as_bytes()))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(Digest::parse)
            .ok_or(LineError::NotARecord("it does not end in a digest"))?;
        if Digest::of(content) != digest {
            return Err(LineError::Changed);
        }
        let mut object = content.to_vec();
        object.push(b'}');
        Self::fields(&object, digest).ok_or(LineError::NotARecord("its fields are not those of a record"))
    }

    fn fields(object: &[u8], digest: Digest) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_slice(object).ok()?;
        let seq = fields.remove("seq")?.as_u64()?;
        let time_ns = fields.remove("time_ns")?.as_u64()?;
        let previous = Digest::parse(fields.remove("previous")?.as_str()?)?;
        fields.get("event")?.as_str()?;
        Some(Record { seq, time_ns, previous, digest, event: fields })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Event;

    fn line() -> String {
        let event = Event::dispatch("cpu", "saxpy \"x\"\n", [1000, 1, 1], [256, 1, 1]);
        seal(7, 123, &event, Digest::of(b"before")).unwrap().0
    }

    #[test]
    fn what_is_sealed_is_read_back() {
        let line = line();
        let record = Record::open(line.trim_end().as_bytes()).unwrap();
        assert_eq!((record.seq, record.time_ns), (7, 123));
        assert_eq!(record.event["event"], "dispatch");
        assert_eq!(record.previous, Digest::of(b"before"));
        assert_eq!(record.event["kernel"], "saxpy \"x\"\n");
        assert_eq!(Digest::parse(&record.digest.to_string()), Some(record.digest));
    }

    #[test]
    fn no_byte_of_a_line_can_change() {
        let line = line();
        let line = line.trim_end().as_bytes();
        for place in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.to_vec();
                changed[place] ^= 1 << bit;
                assert!(Record::open(&changed).is_err(), "byte {place}, bit {bit}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Record::open(&bytes);
        }

        #[test]
        fn sealed_nonsense_is_refused(content in ".{0,80}") {
            let digest = Digest::of(content.as_bytes());
            let line = format!("{content}{DIGEST_FIELD}{digest}{END}");
            prop_assert!(Record::open(line.as_bytes()).is_err());
        }
    }
}
