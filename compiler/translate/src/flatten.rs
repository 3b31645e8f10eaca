//! A source with the files that it includes, as one text.
//!
//! Owns [`Flattened`]: the text, and which part of it is from which file. A file is taken once, at its first
//! `#include`; headers that are not found are CUDA's, C++'s or the host's, and stay out.

use std::collections::BTreeSet;

use anymetal_diagnostics::{FileId, SourceMap, Span};

/// Gives the name and text of the file that an `#include` in a file means: its name there, whether it is in
/// angle brackets, and the including file.
pub type Includes<'a> = &'a mut dyn FnMut(&str, bool, &str) -> Option<(String, String)>;

/// The most bytes of all files together.
const MAX_BYTES: usize = 16 << 20;
/// The most files inside of one another.
const MAX_DEPTH: usize = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Flattened {
    pub(crate) text: String,
    pub(crate) map: SourceMap,
    pieces: Vec<Piece>,
    /// Whether `#line` tells where included files begin and end.
    has_lines: bool,
}

/// A part of the text: from its byte `start` on it is that of a file from the byte `from` on.
#[derive(Debug)]
struct Piece {
    start: usize,
    file: FileId,
    from: usize,
    /// The bytes of a macro's use, of which the part is the expansion.
    used: Option<usize>,
}

/// A range of bytes that is replaced.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) text: String,
}

impl Flattened {
    /// `definitions` are lines that stand before the source.
    pub(crate) fn new(name: &str, source: &str, definitions: &str, includes: Includes<'_>) -> Self {
        let mut flat =
            Self { text: String::new(), map: SourceMap::new(), pieces: Vec::new(), has_lines: false };
        let mut seen = BTreeSet::from([name.to_owned()]);
        if !definitions.is_empty() {
            flat.add("command line", definitions, includes, &mut seen, 0);
        }
        flat.add(name, source, includes, &mut seen, 0);
        flat
    }

    /// Without definitions; `#line` tells where included files begin and end if `has_lines`.
    pub(crate) fn with_lines(name: &str, source: &str, includes: Includes<'_>, has_lines: bool) -> Self {
        let mut flat = Self { text: String::new(), map: SourceMap::new(), pieces: Vec::new(), has_lines };
        flat.add(name, source, includes, &mut BTreeSet::from([name.to_owned()]), 0);
        flat
    }

    /// Says which line of which file comes next.
    fn tell_line(&mut self, line: usize, name: &str) {
        if self.has_lines {
            self.text.push_str(&line_directive(line, name));
        }
    }

    fn add(
        &mut self,
        name: &str,
        source: &str,
        includes: Includes<'_>,
        seen: &mut BTreeSet<String>,
        depth: usize,
    ) {
        let file = self.map.add_file(name, source);
        let mut at = 0;
        self.pieces.push(Piece { start: self.text.len(), file, from: 0, used: None });
        for (number, line) in source.split_inclusive('\n').enumerate() {
            let start = at;
            at += line.len();
            let Some((wanted, is_angled)) = included(line) else {
                self.text.push_str(line);
                continue;
            };
            let found = includes(wanted, is_angled, name).filter(|(found, text)| {
                depth < MAX_DEPTH && self.text.len() + text.len() < MAX_BYTES && seen.insert(found.clone())
            });
            let Some((found, text)) = found else {
                self.text.push_str(line);
                continue;
            };
            self.tell_line(1, &found);
            self.add(&found, &text, includes, seen, depth + 1);
            if !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            self.tell_line(number + 1, name);
            let from = start + line.trim_end_matches(['\n', '\r']).len();
            self.pieces.push(Piece { start: self.text.len(), file, from: from.min(at), used: None });
            self.text.push_str(&source[from.min(at)..at]);
        }
    }

    fn piece(&self, at: usize) -> Option<&Piece> {
        self.pieces.get(self.pieces.partition_point(|piece| piece.start <= at).checked_sub(1)?)
    }

    /// The place of some bytes in their file; of a macro's expansion, that of its use.
    pub(crate) fn span(&self, bytes: std::ops::Range<usize>) -> Span {
        let Some(piece) = self.piece(bytes.start) else { return Span::NONE };
        if let Some(used) = piece.used {
            return Span::new(piece.file, piece.from as u32, (piece.from + used) as u32);
        }
        let place = |at: usize| (at.saturating_sub(piece.start) + piece.from) as u32;
        Span::new(piece.file, place(bytes.start), place(bytes.end.max(bytes.start)))
    }

    /// The text with macros expanded: `edits` are in the order of the text.
    pub(crate) fn edited(self, edits: &[Edit]) -> Self {
        let (mut text, mut pieces, mut at) = (String::new(), Vec::new(), 0);
        let copy = |text: &mut String, pieces: &mut Vec<Piece>, range: std::ops::Range<usize>| {
            let to = text.len();
            let first = self.pieces.partition_point(|piece| piece.start <= range.start).saturating_sub(1);
            for piece in self.pieces[first..].iter().take_while(|piece| piece.start < range.end) {
                let skipped = range.start.saturating_sub(piece.start);
                let from = if piece.used.is_some() { piece.from } else { piece.from + skipped };
                pieces.push(Piece { start: to + piece.start + skipped - range.start, from, ..*piece });
            }
            text.push_str(&self.text[range]);
        };
        for edit in edits {
            copy(&mut text, &mut pieces, at..edit.range.start);
            let use_of = self.span(edit.range.clone());
            let (from, end) = (use_of.lo as usize, use_of.hi as usize);
            let start = text.len();
            pieces.push(Piece { start, file: use_of.file, from, used: Some(end - from) });
            text.push_str(&edit.text);
            at = edit.range.end;
        }
        copy(&mut text, &mut pieces, at..self.text.len());
        Self { text, pieces, ..self }
    }
}

/// A directive that says which line of which file comes next.
pub(crate) fn line_directive(line: usize, name: &str) -> String {
    format!("#line {line} \"{}\"\n", name.replace(['\\', '"', '\n'], "_"))
}

/// The name in an `#include`, and whether it is in angle brackets.
fn included(line: &str) -> Option<(&str, bool)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (close, is_angled) = match rest.as_bytes().first()? {
        b'"' => ('"', false),
        b'<' => ('>', true),
        _ => return None,
    };
    let (name, _) = rest[1..].split_once(close)?;
    Some((name, is_angled))
}
