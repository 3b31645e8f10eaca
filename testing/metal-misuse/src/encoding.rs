//! How arguments are passed, by the type encoding of their method.

/// A type as far as it matters for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, of results.
    Void,
    /// An integer of up to eight bytes.
    Integer,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// An object.
    Object,
    /// A block.
    Block,
    /// A class.
    Class,
    /// A selector.
    Selector,
    /// A C string.
    Text,
    /// An address of memory.
    Pointer,
    /// A structure of integers, in bytes.
    Structure(usize),
}

/// The types of a method: of its result, then of its arguments, receiver and selector first.
pub fn kinds(encoding: &str) -> Vec<Kind> {
    let mut rest = encoding.as_bytes();
    let mut kinds = Vec::new();
    while !rest.is_empty() {
        let (kind, after) = one(rest);
        kinds.push(kind);
        // The offset in the frame.
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit() || b"+-".contains(byte)).count();
        rest = &after[digits..];
    }
    kinds
}

/// The first type, and what follows it.
fn one(text: &[u8]) -> (Kind, &[u8]) {
    let qualifiers = text.iter().take_while(|byte| b"rnNoORVA".contains(byte)).count();
    let text = &text[qualifiers..];
    let (&first, rest) = text.split_first().expect("a qualifier precedes a type");
    match first {
        b'v' => (Kind::Void, rest),
        b'f' => (Kind::Float, rest),
        b'd' => (Kind::Double, rest),
        b'@' if rest.first() == Some(&b'?') => (Kind::Block, &rest[1..]),
        b'@' => (Kind::Object, rest),
        b'#' => (Kind::Class, rest),
        b':' => (Kind::Selector, rest),
        b'*' => (Kind::Text, rest),
        b'^' if rest.first() == Some(&b'?') => (Kind::Pointer, &rest[1..]),
        b'^' => (Kind::Pointer, one(rest).1),
        b'{' => structure(rest),
        b'[' => (Kind::Pointer, after_bracket(rest)),
        b'c' | b'C' | b's' | b'S' | b'i' | b'I' | b'l' | b'L' | b'q' | b'Q' | b'B' => (Kind::Integer, rest),
        other => panic!("the type {:?} is not known", char::from(other)),
    }
}

fn after_bracket(mut text: &[u8]) -> &[u8] {
    let mut depth = 1;
    while depth > 0 {
        let (&first, rest) = text.split_first().expect("brackets are balanced");
        depth += i32::from(first == b'[' || first == b'{') - i32::from(first == b']' || first == b'}');
        text = rest;
    }
    text
}

/// A structure, after its opening brace.
fn structure(text: &[u8]) -> (Kind, &[u8]) {
    let after = after_bracket(text);
    let inside = &text[..text.len() - after.len() - 1];
    // A pointer's target may be named without its members.
    let members = inside.iter().position(|&byte| byte == b'=').map_or(&[][..], |at| &inside[at + 1..]);
    (Kind::Structure(bytes_of(members)), after)
}

fn bytes_of(mut members: &[u8]) -> usize {
    let (mut bytes, mut has_floats) = (0usize, false);
    while let Some(&first) = members.first() {
        let (kind, rest) = one(members);
        let (size, align) = match (kind, first) {
            (Kind::Structure(size), _) => (size, 8.min(size.max(1))),
            (Kind::Integer, b'c' | b'C' | b'B') => (1, 1),
            (Kind::Integer, b's' | b'S') => (2, 2),
            (Kind::Integer, b'i' | b'I') => (4, 4),
            (Kind::Float, _) => (4, 4),
            _ => (8, 8),
        };
        has_floats |= matches!(first, b'f' | b'd');
        bytes = bytes.next_multiple_of(align) + size;
        members = rest;
    }
    // Such structures are passed in other registers than those of integers.
    assert!(!has_floats || bytes > 16, "small structures of floating-point numbers are not known");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_encodings() {
        assert_eq!(kinds("v24@0:8Q16"), [Kind::Void, Kind::Object, Kind::Selector, Kind::Integer]);
        assert_eq!(kinds("{?=QQQ}@:@?^@r*")[..2], [Kind::Structure(24), Kind::Object]);
        assert_eq!(kinds("v@:{?={?=QQQ}{?=QQQ}}")[3], Kind::Structure(48));
        assert_eq!(kinds("v@:{?=CCCC}{_NSRange=QQ}")[3..], [Kind::Structure(4), Kind::Structure(16)]);
        assert_eq!(kinds("v@:{?=dddd}")[3], Kind::Structure(32));
        assert_eq!(kinds("v@:^{_NSZone=}^?f")[3..], [Kind::Pointer, Kind::Pointer, Kind::Float]);
    }
}
