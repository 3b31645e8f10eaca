//! The preprocessor's tests: helpers, and one file per concern.

mod diagnostics;
mod directives;
mod hostile;
mod macros;
mod pragmas;
mod resolved;

use super::*;
use crate::token::{MathMode, Pragma, TokenKind};
use anymetal_diagnostics::{Diagnostic, Severity};

/// A finished run.
struct Run {
    output: Output,
    map: SourceMap,
    sink: Sink,
}

impl Run {
    /// The tokens as text, one blank between each two.
    fn text(&self) -> String {
        let (end, tokens) = self.output.tokens.split_last().expect("there is an end");
        assert_eq!(end.kind, TokenKind::Eof);
        tokens.iter().map(|token| spell(token.kind)).collect::<Vec<_>>().join(" ")
    }

    fn ids(&self) -> Vec<&'static str> {
        self.sink.diagnostics().iter().map(|diagnostic| diagnostic.id).collect()
    }

    fn only(&self) -> &Diagnostic {
        assert_eq!(self.sink.diagnostics().len(), 1, "{:?}", self.sink.diagnostics());
        &self.sink.diagnostics()[0]
    }
}

fn spell(kind: TokenKind) -> String {
    match kind {
        TokenKind::Ident(name) => name.to_string(),
        TokenKind::Keyword(keyword) => keyword.as_str().to_owned(),
        TokenKind::Punct(punct) => punct.as_str().to_owned(),
        TokenKind::Int(literal) => literal.value.to_string(),
        TokenKind::Float(literal) => format!("{:?}", literal.value),
        TokenKind::Str(text) => format!("{:?}", text.as_str()),
        TokenKind::Char(code) => format!("'{}'", char::from_u32(code).unwrap_or('?')),
        TokenKind::Pragma(pragma) => match pragma {
            Pragma::Loop(transform, setting) => {
                format!("<{} {setting:?}>", format!("{transform:?}").to_lowercase())
            }
            Pragma::LoopCountBegin(count) => format!("<{:?}", count.transform).to_lowercase(),
            Pragma::End => ">".to_owned(),
            Pragma::MathMode(mode) => format!("<math {mode:?}>"),
            Pragma::Contract(mode) => format!("<contract {mode:?}>"),
            Pragma::Unused(name) => format!("<unused {name}>"),
        },
        TokenKind::Eof => String::new(),
    }
}

fn run_with(text: &str, files: &[(&str, &str)], options: &Options) -> Run {
    let files = files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
    let mut loader = MemoryIncludes { files };
    let mut map = SourceMap::new();
    let mut sink = Sink::new();
    let main = map.add_file("main.metal", text);
    let output = preprocess(main, &MacroTable::default(), options, &mut loader, &mut map, &mut sink);
    Run { output, map, sink }
}

fn run(text: &str) -> Run {
    run_with(text, &[], &Options::default())
}

/// The expansion of a text that has nothing wrong with it.
fn expand(text: &str) -> String {
    let run = run(text);
    assert!(run.sink.diagnostics().is_empty(), "{text}\n{:?}", run.sink.diagnostics());
    run.text()
}

/// Checks that a text expands to the same tokens as another, which holds no macros.
fn assert_expands(text: &str, expected: &str) {
    assert_eq!(expand(text), expand(expected), "of\n{text}");
}

fn errors(run: &Run) -> usize {
    run.sink.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
}
