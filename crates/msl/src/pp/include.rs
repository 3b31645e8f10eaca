//! `#include`: the header's name, the file it names, `#pragma once`.

use super::pp_token::{PpKind, PpToken, spell_all};
use super::resolved::Outcome;
use super::state::Preprocessor;
use anymetal_diag::{Diagnostic, FileId, Span};
use std::collections::BTreeMap;

/// A file that a loader found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IncludedFile {
    /// The name shown to users and passed on as `from` when this file includes others. It also tells
    /// files apart for `#pragma once`; `a/../b.h` and `b.h` count as the same.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Finds included files.
pub trait IncludeLoader {
    /// The file that `#include <name>` (`angled`) or `#include "name"` means in the file `from`.
    fn load(&mut self, name: &str, angled: bool, from: &str) -> Option<IncludedFile>;

    /// The folders that were searched, for the message about a missing file.
    fn searched(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Files held in memory, found by the exact name or by one relative to the including file.
#[derive(Clone, Debug, Default)]
pub struct MemoryIncludes {
    /// Names and texts.
    pub files: BTreeMap<String, String>,
}

impl IncludeLoader for MemoryIncludes {
    fn load(&mut self, name: &str, angled: bool, from: &str) -> Option<IncludedFile> {
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside = if folder.is_empty() { name.to_owned() } else { normalise(&format!("{folder}/{name}")) };
        let beside = Some(beside).filter(|beside| !angled && self.files.contains_key(beside));
        let name = beside.unwrap_or_else(|| normalise(name));
        let text = self.files.get(&name)?.clone();
        Some(IncludedFile { name, text })
    }
}

/// Headers of this library that Metal does not have.
pub const EXTENSIONS: &[&str] = &["anymetal_groups"];

/// Whether a header is one of Metal's own or of C's that come with its compiler, whose content is the
/// library's.
pub fn is_library_header(name: &str) -> bool {
    const FOLDERS: &[&str] = &["simd/", "metal/", "MetalPerformancePrimitives/"];
    const FILES: &[&str] = &[
        "TargetConditionals.h",
        "cfloat",
        "climits",
        "cstdbool",
        "cstddef",
        "cstdint",
        "float.h",
        "limits.h",
        "stdbool.h",
        "stddef.h",
        "stdint.h",
    ];
    name.starts_with("metal_")
        || EXTENSIONS.contains(&name)
        || FOLDERS.iter().any(|folder| name.starts_with(folder))
        || FILES.contains(&name)
}

/// Removes `.` and resolves `..` in a path.
fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for (index, part) in path.split('/').enumerate() {
        match part {
            "." => {}
            "" if index > 0 => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "")) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

impl Preprocessor<'_> {
    pub(super) fn include_directive(&mut self, hash: PpToken, directive: PpToken, once: bool) {
        let header = self.header_name(directive);
        self.skip_line();
        let (depth, end) = (self.frames.len(), self.frames.last().map_or(0, |frame| frame.position));
        let start = hash.span.lo as usize;
        let Some((name, angled, span)) = header else { return };
        self.spent.includes += 1;
        if self.spent.includes > self.options.limits.includes {
            self.stop("include-limit", span, "too many `#include` directives".to_owned());
            return;
        }
        if self.frames.len() >= self.options.limits.include_depth {
            let message = format!("`#include` nested too deeply: `{name}` is level {}", self.frames.len());
            self.stop("include-limit", span, message);
            return;
        }
        let Some(file) = self.load(&name, angled) else {
            if !(self.options.library_is_loaded && is_library_header(&name)) {
                self.report_missing(&name, angled, span);
            }
            self.includes.note(depth, start, end, Outcome::Library);
            return;
        };
        if self.once.contains(&file) {
            self.includes.note(depth, start, end, Outcome::Skipped);
            return;
        }
        if once {
            self.once.insert(file);
        }
        self.includes.note(depth, start, end, Outcome::Entered(file));
        self.map.set_included_from(file, span);
        self.enter_file(file, span);
    }

    /// Whether an `#include` of this header would succeed.
    pub(super) fn header_exists(&mut self, name: &str, angled: bool) -> bool {
        self.options.library_is_loaded && is_library_header(name) || self.load(name, angled).is_some()
    }

    /// Marks the current file as one not to be read again.
    pub(super) fn mark_once(&mut self) {
        if let Some(frame) = self.frames.last() {
            self.once.insert(frame.id);
        }
    }

    /// Finds a file and registers it, unless the same text is registered under this name already.
    fn load(&mut self, name: &str, angled: bool) -> Option<FileId> {
        let from = self.frames.last().map_or("", |frame| frame.file.name.as_str());
        let found = self.loader.load(name, angled, from)?;
        let key = normalise(&found.name);
        if let Some(&known) = self.files_by_name.get(&key)
            && self.map.file(known).is_some_and(|file| file.text == found.text)
        {
            return Some(known);
        }
        let id = self.map.add_file(found.name, found.text);
        self.files_by_name.insert(key, id);
        Some(id)
    }

    fn report_missing(&mut self, name: &str, angled: bool, span: Span) {
        let searched = self.loader.searched();
        self.report(|| {
            let mut diagnostic =
                Diagnostic::error("missing-include", span, format!("file `{name}` not found"));
            if !searched.is_empty() {
                diagnostic =
                    diagnostic.with_note(Span::NONE, format!("searched in: {}", searched.join(", ")));
            }
            if angled {
                return diagnostic;
            }
            diagnostic.with_hint("add the folder that contains it to the include folders")
        });
    }

    /// The header named on the rest of the line, and whether in angle brackets.
    fn header_name(&mut self, directive: PpToken) -> Option<(String, bool, Span)> {
        if let Some(literal) = self.literal_header_name() {
            return Some(literal);
        }
        let tokens = self.rest_of_line();
        let tokens = self.expand_list(&tokens);
        let place = tokens.first().map_or(directive.span, |token| token.span);
        let text = spell_all(&tokens);
        let quoted = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let angled = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let name = match (quoted, angled) {
            (Some((name, _)), _) if tokens.first().is_some_and(|token| token.kind == PpKind::Str) => {
                Some((name.to_owned(), false))
            }
            (_, Some((name, _))) => Some((name.to_owned(), true)),
            _ => None,
        };
        let name = name.filter(|(name, _)| !name.is_empty());
        if name.is_none() && !self.stopped {
            self.report(|| {
                Diagnostic::error("invalid-include", place, "`#include` needs \"FILE\" or <FILE>")
            });
        }
        name.map(|(name, angled)| (name, angled, place))
    }

    /// A header name as written, which is not made of ordinary tokens: `<a//b>` holds no comment.
    fn literal_header_name(&mut self) -> Option<(String, bool, Span)> {
        let frame = self.frames.last_mut()?;
        let rest = &frame.file.text[frame.position..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let blanks = line.len() - line.trim_start().len();
        let line = &line[blanks..];
        let close = match line.as_bytes().first()? {
            b'<' => '>',
            b'"' => '"',
            _ => return None,
        };
        let length = line[1..].find(close).filter(|&length| length > 0)?;
        let name = line[1..=length].to_owned();
        let lo = frame.position + blanks;
        frame.position = lo + length + 2;
        Some((name, close == '>', Span::new(frame.id, lo as u32, frame.position as u32)))
    }
}
