//! Tests of semantic analysis: programs that must check, programs that must be refused, the typed program of
//! a kernel, and the objects of a check.

mod accept;
mod classes;
mod declarations;
mod graphics;
mod kernels;
mod objects;
mod redeclarations;
mod reject;
mod standard;
mod templates;
mod whole_program;

use super::Unit;
use crate::functions::FunctionHandles;
use crate::hir::Program;
use crate::parser;
use crate::pp::{self, IncludedFile};
use crate::prelude;
use anymetal_diagnostics::{EnabledWarnings, Sink, SourceMap};

struct NoIncludes;

impl pp::IncludeLoader for NoIncludes {
    fn load(&mut self, _: &str, _: bool, _: &str) -> Result<IncludedFile, pp::NotLoaded> {
        Err(pp::NotLoaded::Missing)
    }
}

/// A program's unit, or the messages of the stages before.
fn unit(source: &str) -> (Unit, SourceMap, Sink) {
    let (headers, library) = (prelude::headers(), prelude::with_graphics());
    let mut map = headers.map.clone();
    let mut sink = Sink::new();
    let text = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let main = map.add_file("test.metal", text);
    let options = pp::Options::default();
    let output = pp::preprocess(main, &headers.macros, &options, &mut NoIncludes, &mut map, &mut sink);
    let parsed = parser::parse(&output.tokens, library.scopes.clone(), &mut sink);
    let unit = Unit::new(library.symbols.clone(), parsed.items, EnabledWarnings::default(), &mut sink);
    (unit, map, sink)
}

/// Checks everything; gives the diagnostics' ids and their text.
fn check(source: &str) -> (Vec<&'static str>, String) {
    let (unit, map, mut sink) = unit(source);
    unit.check_all(&mut sink);
    let ids = sink.diagnostics().iter().map(|diagnostic| diagnostic.id).collect();
    (ids, anymetal_diagnostics::render_text(&map, sink.diagnostics(), false))
}

/// The program must check without a message.
#[track_caller]
fn accept(source: &str) {
    let (ids, text) = check(source);
    assert!(ids.is_empty(), "{text}");
}

/// The program must give exactly these diagnostics.
#[track_caller]
fn reject(source: &str, expected: &[&str]) {
    let (ids, text) = check(source);
    assert_eq!(ids, expected, "{text}");
}

/// The program of a kernel.
#[track_caller]
fn program(source: &str, kernel: &str) -> Program {
    let (unit, map, mut sink) = unit(source);
    let program = unit.check_kernel(kernel, &FunctionHandles::default(), &mut sink);
    assert!(!sink.has_errors(), "{}", anymetal_diagnostics::render_text(&map, sink.diagnostics(), false));
    program.expect("the kernel exists")
}
