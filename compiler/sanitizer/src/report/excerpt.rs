//! The source line of a place, made ready for drawing: cut when it is long, without control characters, with
//! the range of what the place points at.

use std::ops::Range;

use super::Sources;

/// Longer lines are cut.
const MAX_LINE: usize = 160;
/// Bytes of a long line that are shown before the place.
const LEAD: usize = 60;

/// One line with a range to underline.
#[derive(Debug)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// In `text`, on character boundaries.
    pub(super) range: Range<usize>,
    /// The column in the whole line, 1-based, in characters.
    pub(super) char_column: usize,
    /// Whether it is a part of the line.
    pub(super) is_cut: bool,
}

/// None if the source is not there or the place is not in it.
pub(super) fn excerpt(sources: &dyn Sources, file: &str, line: u32, column: u32) -> Option<Excerpt> {
    let whole = sources.line(file, line)?;
    let whole = whole.lines().next().unwrap_or("");
    if column as usize > whole.len() + 1 {
        return None;
    }
    let first = whole.len() - whole.trim_start().len();
    let low = if column == 0 { first } else { whole.floor_char_boundary(column as usize - 1) };
    let high = token_end(whole, low);
    let is_cut = whole.len() > MAX_LINE;
    let start = if is_cut { whole.floor_char_boundary(low.saturating_sub(LEAD)) } else { 0 };
    let end = if is_cut { whole.floor_char_boundary(start + MAX_LINE).max(low) } else { whole.len() };
    let text = blank_controls(&whole[start..end]);
    let range = low - start..high.min(end).max(low) - start;
    Some(Excerpt { text, range, char_column: whole[..low].chars().count() + 1, is_cut })
}

/// The column in UTF-16 units, 1-based, as SARIF counts; that of bytes if the source is not there.
pub(super) fn utf16_column(sources: &dyn Sources, file: &str, line: u32, column: u32) -> u32 {
    let Some(text) = sources.line(file, line) else { return column };
    let low = text.floor_char_boundary((column as usize).saturating_sub(1));
    text[..low].encode_utf16().count() as u32 + 1
}

/// The end of the name that starts at `low`, or of the one character there.
fn token_end(line: &str, low: usize) -> usize {
    let rest = &line[low..];
    let is_name = |char: char| char.is_alphanumeric() || char == '_';
    let name: usize = rest.chars().take_while(|&char| is_name(char)).map(char::len_utf8).sum();
    low + if name > 0 { name } else { rest.chars().next().map_or(0, char::len_utf8) }
}

/// Control characters as spaces, byte for byte, so that a source cannot steer a terminal.
fn blank_controls(text: &str) -> String {
    let blank = |char: char| match char {
        '\t' => '\t',
        char if char.is_ascii_control() => ' ',
        // Two bytes, as those it stands for.
        '\u{80}'..='\u{9f}' => '·',
        char => char,
    };
    text.chars().map(blank).collect()
}

/// A name or message, with control characters visible.
pub(super) fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() {
            clean.extend(char.escape_default());
        } else {
            clean.push(char);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::{excerpt, utf16_column};
    use crate::report::SourceTexts;

    fn sources(line: &str) -> SourceTexts {
        let mut sources = SourceTexts::default();
        sources.insert("a", line);
        sources
    }

    #[test]
    fn the_name_at_the_column_is_underlined() {
        let found = excerpt(&sources("  tile[i] = 1;"), "a", 1, 3).unwrap();
        assert_eq!(&found.text[found.range], "tile");
        let found = excerpt(&sources("  größe = 1;"), "a", 1, 3).unwrap();
        assert_eq!(&found.text[found.range], "größe");
        let found = excerpt(&sources("a += 1;"), "a", 1, 3).unwrap();
        assert_eq!(&found.text[found.range], "+");
    }

    #[test]
    fn odd_places_are_no_panic() {
        let sources = sources("ä\tb\u{1b}[31m\u{85}");
        for line in [0, 1, 2, u32::MAX] {
            for column in [0, 1, 2, 3, 4, 5, 12, 100, u32::MAX] {
                if let Some(found) = excerpt(&sources, "a", line, column) {
                    assert!(found.text.get(found.range).is_some());
                    assert!(!found.text.contains(['\u{1b}', '\u{85}']));
                }
                utf16_column(&sources, "a", line, column);
            }
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}here{}", "ä ".repeat(5000), " b".repeat(5000));
        let found = excerpt(&sources(&line), "a", 1, 15_001).unwrap();
        assert!(found.is_cut && found.text.len() <= super::MAX_LINE);
        assert_eq!((&found.text[found.range], found.char_column), ("here", 10_001));
    }

    #[test]
    fn columns_in_utf16() {
        assert_eq!(utf16_column(&sources("a𝄞b"), "a", 1, 6), 4);
        assert_eq!(utf16_column(&sources("a𝄞b"), "other", 1, 6), 6);
    }
}
