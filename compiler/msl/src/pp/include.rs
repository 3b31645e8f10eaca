//! `#include`: the header's name, the file it names, `#pragma once`.

use super::pp_token::{PpKind, PpToken, spell_all};
use super::resolved::Outcome;
use super::state::Preprocessor;
use super::{directive, expand};
use anymetal_diagnostics::{Diagnostic, FileId, Span};
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

/// Why a loader returns no file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotLoaded {
    /// There is no such file.
    Missing,
    /// The name leads out of the folders that may be read. The loader does not look there, so this says
    /// nothing about whether such a file exists.
    OutsideRoots {
        /// The path that the name means.
        path: String,
    },
    /// There is such a file, but it cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// Why not.
        reason: String,
    },
}

/// Finds included files.
pub trait IncludeLoader {
    /// The file that `#include <name>` (`angled`) or `#include "name"` means in the file `from`.
    ///
    /// # Errors
    /// See [`NotLoaded`].
    fn load(&mut self, name: &str, angled: bool, from: &str) -> Result<IncludedFile, NotLoaded>;

    /// The folders that were searched, for messages about files that were not loaded.
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
    fn load(&mut self, name: &str, angled: bool, from: &str) -> Result<IncludedFile, NotLoaded> {
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside = if folder.is_empty() { name.to_owned() } else { normalise(&format!("{folder}/{name}")) };
        let beside = Some(beside).filter(|beside| !angled && self.files.contains_key(beside));
        let name = beside.unwrap_or_else(|| normalise(name));
        let text = self.files.get(&name).ok_or(NotLoaded::Missing)?.clone();
        Ok(IncludedFile { name, text })
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
    // `metal/../x` begins like a header of the library and is not one.
    if name.split('/').any(|part| part == "..") {
        return false;
    }
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

pub(super) fn directive(pp: &mut Preprocessor<'_>, hash: PpToken, directive: PpToken, once: bool) {
    let header = header_name(pp, directive);
    directive::skip_line(pp);
    let (depth, end) = (pp.frames.len(), pp.frames.last().map_or(0, |frame| frame.position));
    let start = hash.span.lo as usize;
    let Some((name, angled, span)) = header else { return };
    pp.spent.includes += 1;
    if pp.spent.includes > pp.options.limits.includes {
        pp.stop("include-limit", span, "too many `#include` directives".to_owned());
        return;
    }
    if pp.frames.len() >= pp.options.limits.include_depth {
        let message = format!("`#include` nested too deeply: `{name}` is level {}", pp.frames.len());
        pp.stop("include-limit", span, message);
        return;
    }
    let file = match load(pp, &name, angled) {
        Ok(file) => file,
        Err(reason) => {
            if !(pp.options.library_is_loaded && is_library_header(&name)) {
                report_not_loaded(pp, &name, angled, span, reason);
            }
            pp.includes.note(depth, start, end, Outcome::Library);
            return;
        }
    };
    if pp.once.contains(&file) {
        pp.includes.note(depth, start, end, Outcome::Skipped);
        return;
    }
    if once {
        pp.once.insert(file);
    }
    pp.includes.note(depth, start, end, Outcome::Entered(file));
    pp.map.set_included_from(file, span);
    pp.enter_file(file, span);
}

/// Whether an `#include` of this header would succeed.
pub(super) fn header_exists(pp: &mut Preprocessor<'_>, name: &str, angled: bool) -> bool {
    pp.options.library_is_loaded && is_library_header(name) || load(pp, name, angled).is_ok()
}

/// Marks the current file as one not to be read again.
pub(super) fn mark_once(pp: &mut Preprocessor<'_>, span: Span) {
    if let Some(frame) = pp.frames.last() {
        pp.once.insert(frame.id);
    }
    if pp.frames.len() == 1 {
        pp.report(|| Diagnostic::warning("pragma-once-outside-header", span, "#pragma once in main file"));
    }
}

/// Finds a file and registers it, unless the same text is registered under this name already.
fn load(pp: &mut Preprocessor<'_>, name: &str, angled: bool) -> Result<FileId, NotLoaded> {
    let from = pp.frames.last().map_or("", |frame| frame.file.name.as_str());
    let found = pp.loader.load(name, angled, from)?;
    let key = normalise(&found.name);
    if let Some(&known) = pp.files_by_name.get(&key)
        && pp.map.file(known).is_some_and(|file| file.text == found.text)
    {
        return Ok(known);
    }
    let id = pp.map.add_file(found.name, found.text);
    pp.files_by_name.insert(key, id);
    Ok(id)
}

fn report_not_loaded(pp: &mut Preprocessor<'_>, name: &str, angled: bool, span: Span, reason: NotLoaded) {
    let searched = pp.loader.searched().join(", ");
    pp.report(|| {
        let (id, message, roots) = match &reason {
            NotLoaded::Missing => ("missing-include", format!("file `{name}` not found"), "searched in"),
            NotLoaded::OutsideRoots { path } => {
                let message = format!("`{path}` is outside of the include folders");
                ("include-outside-roots", message, "files are read below")
            }
            NotLoaded::Unreadable { path, reason } => {
                ("unreadable-include", format!("cannot read `{path}`: {reason}"), "searched in")
            }
        };
        let mut diagnostic = Diagnostic::error(id, span, message);
        if !searched.is_empty() {
            diagnostic = diagnostic.with_note(Span::NONE, format!("{roots}: {searched}"));
        }
        match reason {
            NotLoaded::Missing if angled => diagnostic,
            NotLoaded::Missing | NotLoaded::OutsideRoots { .. } => {
                diagnostic.with_hint("add the folder that contains it to the include folders")
            }
            NotLoaded::Unreadable { .. } => diagnostic,
        }
    });
}

/// The header named on the rest of the line, and whether in angle brackets.
fn header_name(pp: &mut Preprocessor<'_>, directive: PpToken) -> Option<(String, bool, Span)> {
    if let Some(literal) = literal_header_name(pp) {
        return Some(literal);
    }
    let tokens = pp.rest_of_line();
    let tokens = expand::expand_list(pp, &tokens);
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
    if name.is_none() && !pp.stopped {
        pp.report(|| Diagnostic::error("invalid-include", place, "`#include` needs \"FILE\" or <FILE>"));
    }
    name.map(|(name, angled)| (name, angled, place))
}

/// A header name as written, which is not made of ordinary tokens: `<a//b>` holds no comment.
fn literal_header_name(pp: &mut Preprocessor<'_>) -> Option<(String, bool, Span)> {
    let frame = pp.frames.last_mut()?;
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
