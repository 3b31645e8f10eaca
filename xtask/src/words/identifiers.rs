//! The identifiers of a Rust file: words outside of comments, strings and character literals.
//!
//! A small scanner, not a lexer: it knows as much of Rust as is needed to skip what holds no identifiers.

/// Every identifier, keyword and number suffix with its line, counted from one.
pub(super) fn identifiers(text: &str) -> Vec<(usize, &str)> {
    let mut scanner = Scanner { text, position: 0 };
    let (mut found, mut line, mut counted) = (Vec::new(), 1, 0);
    while let Some(word) = scanner.next_word() {
        let start = scanner.position - word.len();
        line += text[counted..start].matches('\n').count();
        counted = start;
        found.push((line, word));
    }
    found
}

struct Scanner<'a> {
    text: &'a str,
    /// In bytes, always at the start of a character.
    position: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    /// Moves past the next identifier and returns it.
    fn next_word(&mut self) -> Option<&'a str> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            if let Some(length) = raw_string(rest) {
                self.position += length;
            } else if is_word(first) {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                self.position += length;
                return Some(&rest[..length]);
            } else {
                self.position += skipped(rest, first);
            }
        }
    }
}

/// The length of what begins here and holds no identifier: a comment, a literal, or one character.
fn skipped(rest: &str, first: char) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    match first {
        '"' => quoted(rest, '"'),
        '\'' if is_character(rest) => quoted(rest, '\''),
        other => other.len_utf8(),
    }
}

/// The length of a comment, nested ones included.
fn block_comment(rest: &str) -> usize {
    let (mut position, mut depth) = (2, 1);
    while depth > 0 {
        let Some(next) = rest[position..].find(['/', '*']) else { return rest.len() };
        position += next;
        let (step, change) = match rest.get(position..position + 2) {
            Some("/*") => (2, 1),
            Some("*/") => (2, -1),
            _ => (1, 0),
        };
        position += step;
        depth += change;
    }
    position
}

/// The length of a literal with escapes, quotes included.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (position, c) in rest.char_indices().skip(1) {
        if c == quote && !escaped {
            return position + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

/// Tells a character literal from a lifetime: an escape, or one character and a quote.
fn is_character(rest: &str) -> bool {
    let mut characters = rest.chars().skip(1);
    characters.next() == Some('\\') || characters.next() == Some('\'')
}

/// The length of a raw string that begins here, such as `br#"…"#`.
fn raw_string(rest: &str) -> Option<usize> {
    let start = ["r", "br", "cr"].iter().find_map(|prefix| {
        let after = rest.strip_prefix(prefix)?;
        after.trim_start_matches('#').starts_with('"').then_some(prefix.len())
    })?;
    let hashes = rest[start..].bytes().take_while(|byte| *byte == b'#').count();
    let body = start + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = rest[body..].find(&end).map(|position| body + position + end.len());
    Some(length.unwrap_or(rest.len()))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        identifiers(text).into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn words_come_with_their_lines() {
        assert_eq!(identifiers("a\n\n  b_1.c\n"), [(1, "a"), (3, "b_1"), (3, "c")]);
        assert_eq!(identifiers("/* x\n*/ a \"\n\" b"), [(2, "a"), (3, "b")]);
    }

    #[test]
    fn comments_hold_none() {
        assert_eq!(words("a // b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(words("a /* b"), ["a"]);
        assert_eq!(words("a / b * c"), ["a", "b", "c"]);
    }

    #[test]
    fn strings_hold_none() {
        assert_eq!(words(r#"a "b \" c" d "e \\" f"#), ["a", "d", "f"]);
        assert_eq!(words("a r\"b \\\" c r#\"d \" e\"# f br##\"g\"# h\"## i"), ["a", "c", "f", "i"]);
        assert_eq!(words("a \"ä\" r\"ö\" b \"c"), ["a", "b"]);
        assert_eq!(words("r#type r b"), ["r", "type", "r", "b"]);
    }

    #[test]
    fn characters_and_lifetimes_differ() {
        assert_eq!(words(r"'a' 'b c '\'' d '\n' e 'ä' f<'g>"), ["b", "c", "d", "e", "f", "g"]);
    }
}
