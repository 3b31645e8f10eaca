//! Source files and positions in them.
//!
//! Invariant: a [`Span`] made by a [`SourceMap`] stays valid for every clone of it, because files
//! and expansions are only ever appended. Clones share file contents, so a parsed library's map
//! is cheap to extend with one user's file.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A file registered in a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

/// A macro expansion registered in a [`SourceMap`]; `ExpansionId::NONE` means "written in the file".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExpansionId(pub u32);

impl ExpansionId {
    /// The text is part of a file.
    pub const NONE: Self = Self(u32::MAX);
}

/// A byte range of one file, with the macro expansion that brought it there, if any.
///
/// For a token that came out of a macro, `file..hi` says where its text is spelled (in the macro's
/// body or in the argument), and `expansion` leads to the place of the macro's use.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
    /// The expansion that produced this text.
    pub expansion: ExpansionId,
}

impl Span {
    /// A span that points nowhere, for things no user wrote.
    pub const NONE: Self = Self { file: FileId(u32::MAX), lo: 0, hi: 0, expansion: ExpansionId::NONE };

    /// A span of plain file text.
    pub fn new(file: FileId, lo: u32, hi: u32) -> Self {
        Self { file, lo, hi, expansion: ExpansionId::NONE }
    }

    /// Whether this is [`Span::NONE`].
    pub fn is_none(self) -> bool {
        self.file == FileId(u32::MAX)
    }

    /// The last byte.
    pub fn last(self) -> Self {
        Self { lo: self.hi.saturating_sub(1).max(self.lo), ..self }
    }

    /// The smallest span from the start of `self` to the end of `end`.
    ///
    /// When the two are not in the same file and expansion there is no such range; then `self`.
    pub fn to(self, end: Self) -> Self {
        if self.file == end.file && self.expansion == end.expansion {
            Self { lo: self.lo.min(end.lo), hi: self.hi.max(end.hi), ..self }
        } else {
            self
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            f.write_str("<none>")
        } else {
            write!(f, "{}:{}..{}", self.file.0, self.lo, self.hi)
        }
    }
}

/// One macro expansion: which macro, and where it was used.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// The macro's name.
    pub macro_name: Arc<str>,
    /// The use (which may itself be inside another expansion).
    pub call_site: Span,
    /// The macro's definition, `Span::NONE` for predefined ones.
    pub definition: Span,
}

/// 1-based line and column; the column counts Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineCol {
    /// 1-based line.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
}

/// A registered file.
#[derive(Debug)]
pub struct SourceFile {
    /// The name shown to users.
    pub name: String,
    /// The whole text. Invalid UTF-8 was replaced when the file was added.
    pub text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    fn new(name: String, text: String) -> Self {
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1)).collect();
        Self { name, text, line_starts }
    }

    /// The 1-based line of a byte offset; offsets past the end count as the end.
    pub fn line_number(&self, offset: u32) -> u32 {
        self.line_starts.partition_point(|&start| start <= offset) as u32
    }

    /// Line and column of a byte offset; offsets past the end count as the end.
    pub fn line_col(&self, offset: u32) -> LineCol {
        let line = self.line_number(offset);
        let start = self.line_start(line) as usize;
        let end = self.text.floor_char_boundary(offset as usize);
        let column = self.text[start..end.max(start)].chars().count() as u32 + 1;
        LineCol { line, column }
    }

    /// The character at a 1-based line and column, or the word that begins there; `None` past the end.
    pub fn span_at(&self, id: FileId, line: u32, column: u32) -> Option<Span> {
        let start = self.line_start(line);
        let skipped = self.line(line).char_indices().nth(column.checked_sub(1)? as usize)?;
        let rest = &self.line(line)[skipped.0..];
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let lo = start + skipped.0 as u32;
        Some(Span::new(id, lo, lo + word.max(skipped.1.len_utf8()) as u32))
    }

    /// The byte offset at which a 1-based line begins; the end of the text past the last line.
    pub fn line_start(&self, line: u32) -> u32 {
        let start = self.line_starts.get(line.saturating_sub(1) as usize);
        start.copied().unwrap_or(self.text.len() as u32)
    }

    /// The text of a 1-based line without its line break; empty past the end.
    pub fn line(&self, line: u32) -> &str {
        let (start, end) = (self.line_start(line), self.line_start(line.saturating_add(1)));
        let text = self.text.get(start as usize..end as usize).unwrap_or("");
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text)
    }
}

/// The line that a `#line` directive makes of a line after it.
fn shifted(line: u32, mark: Option<&LineMark>) -> u32 {
    let shift = mark.map_or(0, |mark| mark.shift);
    u32::try_from(i64::from(line).saturating_add(shift).max(0)).unwrap_or(u32::MAX)
}

/// A part of a file, as users see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region<'a> {
    /// The file's name.
    pub file: &'a str,
    /// Its first place.
    pub start: LineCol,
    /// The place after it.
    pub end: LineCol,
    /// The text of the line that it begins on.
    pub first_line: &'a str,
}

/// What a `#line` directive said of the text that follows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineMark {
    /// The first byte that it is about.
    pub from: u32,
    /// Added to the number of a line in the file gives the number shown to users.
    pub shift: i64,
    /// The name shown to users instead of the file's.
    pub name: Option<Arc<str>>,
}

/// Every file and macro expansion of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Arc<SourceFile>>,
    /// Where each file was first included; `Span::NONE` for those that were not.
    included_from: Vec<Span>,
    /// What `#line` said, by file and the byte from which it holds, in order.
    line_marks: Arc<BTreeMap<FileId, Vec<LineMark>>>,
    /// The expansions with the lowest ids, shared by all clones.
    frozen: Arc<Vec<Expansion>>,
    expansions: Vec<Expansion>,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a file.
    pub fn add_file(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.files.push(Arc::new(SourceFile::new(name.into(), text.into())));
        self.included_from.push(Span::NONE);
        FileId(self.files.len() as u32 - 1)
    }

    /// Registers a file from bytes; invalid UTF-8 becomes U+FFFD.
    pub fn add_bytes(&mut self, name: impl Into<String>, bytes: &[u8]) -> FileId {
        self.add_file(name, String::from_utf8_lossy(bytes).into_owned())
    }

    /// The file, or `None` for a foreign id or [`Span::NONE`]'s.
    pub fn file(&self, id: FileId) -> Option<&Arc<SourceFile>> {
        self.files.get(id.0 as usize)
    }

    /// Records where a file was included. Only the first place counts.
    pub fn set_included_from(&mut self, id: FileId, place: Span) {
        if let Some(known) = self.included_from.get_mut(id.0 as usize)
            && known.is_none()
        {
            *known = place;
        }
    }

    /// Where the file was first included; `Span::NONE` for one that was not.
    pub fn included_from(&self, id: FileId) -> Span {
        self.included_from.get(id.0 as usize).copied().unwrap_or(Span::NONE)
    }

    /// Records a `#line` directive. The marks of a file are added in the order of their bytes; one that is
    /// not after all others is dropped, as in a file that is read again.
    pub fn add_line_mark(&mut self, id: FileId, mark: LineMark) {
        let marks = Arc::make_mut(&mut self.line_marks).entry(id).or_default();
        if marks.last().is_none_or(|last| last.from < mark.from) {
            marks.push(mark);
        }
    }

    /// What `#line` directives of a file said, in the order of the bytes.
    pub fn line_marks(&self, id: FileId) -> &[LineMark] {
        self.line_marks.get(&id).map_or(&[], Vec::as_slice)
    }

    fn line_mark(&self, id: FileId, offset: u32) -> Option<&LineMark> {
        let marks = self.line_marks(id);
        marks.get(marks.partition_point(|mark| mark.from <= offset).checked_sub(1)?)
    }

    /// The name of the file in which users look for a byte, as `#line` has it.
    pub fn shown_name(&self, id: FileId, offset: u32) -> &str {
        let name = self.line_mark(id, offset).and_then(|mark| mark.name.as_deref());
        name.unwrap_or_else(|| self.file(id).map_or("", |file| &file.name))
    }

    /// The number of the line in which users look for a byte, as `#line` has it.
    pub fn shown_line(&self, id: FileId, offset: u32) -> u32 {
        let line = self.file(id).map_or(0, |file| file.line_number(offset));
        shifted(line, self.line_mark(id, offset))
    }

    /// All files in the order they were added.
    pub fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    /// The text of a span; empty when it points nowhere.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).and_then(|f| f.text.get(span.lo as usize..span.hi as usize)).unwrap_or("")
    }

    /// Registers a macro expansion.
    pub fn add_expansion(&mut self, expansion: Expansion) -> ExpansionId {
        self.expansions.push(expansion);
        ExpansionId((self.frozen.len() + self.expansions.len()) as u32 - 1)
    }

    /// The expansion, if there is one.
    pub fn expansion(&self, id: ExpansionId) -> Option<&Expansion> {
        let id = id.0 as usize;
        self.frozen.get(id).or_else(|| self.expansions.get(id.checked_sub(self.frozen.len())?))
    }

    /// Makes clones share the expansions registered so far. Worth it for a map that is cloned often,
    /// such as the library's.
    pub fn freeze(&mut self) {
        let mut all = Vec::clone(&self.frozen);
        all.append(&mut self.expansions);
        self.frozen = Arc::new(all);
    }

    /// File name, line and column of a span's start, as spelled; name and line as `#line` has them.
    pub fn location(&self, span: Span) -> Option<(&str, LineCol)> {
        let file = self.file(span.file)?;
        let LineCol { line, column } = file.line_col(span.lo);
        let mark = self.line_mark(span.file, span.lo);
        let name = mark.and_then(|mark| mark.name.as_deref()).unwrap_or(&file.name);
        Some((name, LineCol { line: shifted(line, mark), column }))
    }

    /// The part of a file in which users look for a span: outside of macros, name and lines as `#line` has
    /// them.
    pub fn region(&self, span: Span) -> Option<Region<'_>> {
        let span = self.outermost(span);
        let (file, start) = self.location(span)?;
        let last = span.hi.max(span.lo);
        let (_, end) = self.location(Span { lo: last, hi: last, ..span })?;
        let source = self.file(span.file)?;
        Some(Region { file, start, end, first_line: source.line(source.line_number(span.lo)) })
    }

    /// The place a span comes from in the end, outside every macro: the span itself, or where the
    /// outermost macro was used. Text that was an argument there is found in the argument.
    pub fn outermost(&self, span: Span) -> Span {
        let mut place = span;
        while let Some(expansion) = self.expansion(place.expansion) {
            place = expansion.call_site;
        }
        let in_argument = place.file == span.file && place.lo <= span.lo && span.hi <= place.hi;
        if in_argument { Span { expansion: place.expansion, ..span } } else { place }
    }
}
