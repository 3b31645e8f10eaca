//! The source with its includes resolved: text that needs no file, for other compilers.
//!
//! Owns [`Includes`], what became of each `#include` of a run, and writes the text from it. Macros and
//! conditionals stay as they are. Invariant: preprocessing the text gives the tokens that preprocessing the
//! files gave, with the same files and lines; includes of the library's own headers stay.
//!
//! What is in a group that was skipped stays too, so it may still include files: it is skipped again, unless
//! the other compiler has other macros of its own.

use super::Definition;
use anymetal_diagnostics::{FileId, SourceMap};
use std::fmt::Write as _;
use std::iter::Peekable;
use std::slice::Iter;

/// The includes of a run, in the order in which they were obeyed.
#[derive(Clone, Debug, Default)]
pub struct Includes {
    events: Vec<Include>,
}

/// One `#include` that was obeyed.
#[derive(Clone, Copy, Debug)]
struct Include {
    /// How many files were open, the one with the directive included.
    depth: usize,
    /// The bytes of the directive, without the line's end.
    from: usize,
    to: usize,
    outcome: Outcome,
}

/// What an `#include` did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// A file was read.
    Entered(FileId),
    /// The file is read once, and was.
    Skipped,
    /// It names a header of the library.
    Library,
}

impl Includes {
    pub(super) fn note(&mut self, depth: usize, from: usize, to: usize, outcome: Outcome) {
        self.events.push(Include { depth, from, to, outcome });
    }

    /// The text of a run that began with that file and those definitions.
    pub fn resolved(&self, map: &SourceMap, main: FileId, definitions: &[Definition]) -> String {
        let mut text = String::new();
        definitions.iter().for_each(|definition| define(&mut text, definition));
        let mut writer = Writer { map, text, events: self.events.iter().peekable() };
        writer.marker(main, 1);
        writer.file(main, 1);
        writer.text
    }
}

fn define(text: &mut String, definition: &Definition) {
    let _ = match definition {
        Definition::Define(definition) => match definition.split_once('=') {
            Some((name, body)) => writeln!(text, "#define {name} {body}"),
            None => writeln!(text, "#define {definition} 1"),
        },
        Definition::Undefine(name) => writeln!(text, "#undef {name}"),
    };
}

struct Writer<'a> {
    map: &'a SourceMap,
    text: String,
    events: Peekable<Iter<'a, Include>>,
}

impl Writer<'_> {
    /// Writes a file and all it includes.
    fn file(&mut self, id: FileId, depth: usize) {
        let Some(file) = self.map.file(id).cloned() else { return };
        let mut written = 0;
        while let Some(include) = self.events.next_if(|include| include.depth == depth) {
            if include.outcome == Outcome::Library {
                continue;
            }
            self.text.push_str(&file.text[written..include.from]);
            written = include.to;
            if let Outcome::Entered(included) = include.outcome {
                self.end_line();
                self.marker(included, 1);
                self.file(included, depth + 1);
                self.end_line();
                let line = file.line_number(include.to as u32);
                // The rest of the directive's line is the end of this one.
                self.marker_open(id, line + 1);
            }
        }
        self.text.push_str(&file.text[written..]);
    }

    /// Says where the following line is from.
    fn marker(&mut self, file: FileId, line: u32) {
        self.marker_open(file, line);
        self.text.push('\n');
    }

    fn marker_open(&mut self, file: FileId, line: u32) {
        let name = self.map.file(file).map_or("", |file| file.name.as_str());
        let quoted = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        let _ = write!(self.text, "#line {line} \"{quoted}\"");
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}
