//! Type encodings: the parts of a method's type string.

/// The types in a method's type string, result first, without the offsets: of `v24@0:8Q16` these
/// are `v`, `@`, `:` and `Q`.
pub(crate) fn parts(types: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < types.len() {
        let end = end_of_type(types, at);
        parts.push(&types[at..end]);
        at = end;
        while types.get(at).is_some_and(|byte| byte.is_ascii_digit() || b"+-".contains(byte)) {
            at += 1;
        }
    }
    parts
}

/// Where the type that starts there ends; at most the end of the text.
fn end_of_type(types: &[u8], start: usize) -> usize {
    let mut at = start;
    // Qualifiers and pointers.
    while types.get(at).is_some_and(|byte| b"rnNoORVA^".contains(byte)) {
        at += 1;
    }
    match types.get(at) {
        None => at,
        Some(b'@') => end_of_object(types, at + 1),
        Some(b'{' | b'(' | b'[') => end_of_brackets(types, at),
        Some(b'b') => {
            let digits = types[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            at + 1 + digits
        }
        Some(_) => at + 1,
    }
}

/// After `@`: a block's question mark, or a class name in quotes.
fn end_of_object(types: &[u8], at: usize) -> usize {
    match types.get(at) {
        Some(b'?') => at + 1,
        Some(b'"') => {
            types[at + 1..].iter().position(|&byte| byte == b'"').map_or(types.len(), |n| at + n + 2)
        }
        _ => at,
    }
}

fn end_of_brackets(types: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in types.iter().enumerate().skip(start) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    types.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(types: &str) -> Vec<&str> {
        parts(types.as_bytes()).into_iter().map(|part| std::str::from_utf8(part).unwrap()).collect()
    }

    #[test]
    fn type_strings_fall_into_result_and_arguments() {
        assert_eq!(split("v16@0:8"), ["v", "@", ":"]);
        assert_eq!(split("{?=QQQ}16@0:8"), ["{?=QQQ}", "@", ":"]);
        assert_eq!(split("^{a=^{b=i}[4f]}24@0:8@?16"), ["^{a=^{b=i}[4f]}", "@", ":", "@?"]);
        assert_eq!(split("r*@\"NSString\"b12r^v"), ["r*", "@\"NSString\"", "b12", "r^v"]);
        assert_eq!(split("{broken"), ["{broken"]);
    }
}
