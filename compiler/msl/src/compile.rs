//! The front end as one thing: source bytes to the IR of one entry point.
//!
//! The Metal library is preprocessed, parsed and declared once per process; a user's file starts from
//! clones of the resulting state. Invariant: whatever the bytes, [`Library::parse`] and
//! [`Library::module`] return; the work is done on a thread with a large stack, because programs nest.
//! Start with [`Library::parse`].

use crate::ast::GraphicsStage;
use crate::functions::{FunctionHandles, UnlinkedModule};
use crate::hir;
use crate::lint;
use crate::lower;
use crate::marks::{self, Mark};
use crate::parser;
use crate::pp::{self, IncludeLoader};
use crate::prelude::{self, on_large_stack};
use crate::rules;
use crate::sema;
use crate::token::MathMode;
use anymetal_analysis::nesting;
use anymetal_diagnostics::{Diagnostic, FileId, Sink, SourceMap, Span, WarningOptions, Warnings};
use anymetal_ir::MAX_NESTING;

/// How to compile.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// `-D` and `-U`, in order.
    pub definitions: Vec<pp::Definition>,
    /// How freely float arithmetic may be rewritten.
    pub math_mode: MathMode,
    /// The value of `__METAL_VERSION__`.
    pub metal_version: u32,
    /// Whether messages of kernels are written to their log (`-fmetal-enable-logging`).
    pub logging: bool,
    /// Which warnings are reported.
    pub warnings: WarningOptions,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            math_mode: MathMode::Fast,
            metal_version: 320,
            logging: false,
            warnings: WarningOptions::default(),
        }
    }
}

/// Diagnostics and the sources they point into.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// The sources.
    pub map: SourceMap,
    /// What was found, in order.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == anymetal_diagnostics::Severity::Error)
    }

    /// As text for a terminal.
    pub fn render_text(&self, colour: bool) -> String {
        anymetal_diagnostics::render_text(&self.map, &self.list, colour)
    }

    /// As a JSON array.
    pub fn render_json(&self) -> String {
        anymetal_diagnostics::render_json(&self.map, &self.list)
    }
}

/// An entry point's name and where it is.
#[derive(Clone, Debug)]
pub struct KernelName {
    /// The name the host uses.
    pub name: String,
    /// Where it is declared or instantiated.
    pub span: Span,
}

/// A graphics function, which is checked and does not run.
#[derive(Clone, Debug)]
pub struct GraphicsFunction {
    /// The name the host uses.
    pub name: String,
    /// The stage that it is for.
    pub stage: GraphicsStage,
    /// The members of a vertex function's per-vertex data.
    pub inputs: Vec<anymetal_ir::StageInput>,
}

impl GraphicsFunction {
    fn of(symbol: sema::GraphicsSymbol) -> Self {
        let input = |input: &sema::VertexInput| {
            lower::stage_input(input.name, input.attribute, input.elem, input.len)
        };
        let inputs = symbol.inputs.iter().map(input).collect();
        Self { name: symbol.name, stage: symbol.stage, inputs }
    }
}

/// A parsed program, from which entry points are compiled one by one.
#[derive(Debug)]
pub struct Library {
    map: SourceMap,
    unit: sema::Unit,
    kernels: Vec<KernelName>,
    visible_functions: Vec<KernelName>,
    graphics_functions: Vec<GraphicsFunction>,
    options: lower::Options,
    marks: Vec<Mark>,
    warnings: Warnings,
    origin: Origin,
}

/// What the source can be written from as one text.
#[derive(Debug)]
struct Origin {
    main: FileId,
    definitions: Vec<pp::Definition>,
    includes: pp::Includes,
}

/// What a mark in the source is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkedLines {
    /// What the mark says: `benign_race`, or what follows `anymetal:` in an annotation.
    pub text: String,
    /// The file's name.
    pub file: String,
    /// The first line, 1-based, and the last: those of the mark and of the statement or declaration after it.
    pub lines: (u32, u32),
}

impl CompileOptions {
    fn of_preprocessor(&self) -> pp::Options {
        pp::Options {
            metal_version: self.metal_version,
            math_mode: self.math_mode,
            definitions: self.definitions.clone(),
            warnings: self.warnings.clone(),
            ..pp::Options::default()
        }
    }
}

/// As [`Library::resolved_source`], without parsing: for reports about sources that cannot be parsed. What
/// the preprocessor reports is dropped.
pub fn resolve_includes(
    name: &str,
    source: &[u8],
    options: &CompileOptions,
    loader: &mut (dyn IncludeLoader + Send),
) -> String {
    on_large_stack(move || {
        let headers = prelude::headers();
        let (mut map, mut sink) = (headers.map.clone(), Sink::new());
        let main = map.add_bytes(name, source);
        let settings = options.of_preprocessor();
        let output = pp::preprocess(main, &headers.macros, &settings, loader, &mut map, &mut sink);
        output.includes.resolved(&map, main, &options.definitions)
    })
}

/// A program after parsing, with what was reported.
struct Parsed {
    map: SourceMap,
    sink: Sink,
    unit: sema::Unit,
    marks: Vec<Mark>,
    warnings: Warnings,
    origin: Origin,
}

/// Preprocesses and parses a program, and enters its declarations, as far as errors let it.
fn parse_unit(
    name: &str,
    source: &[u8],
    options: &CompileOptions,
    loader: &mut (dyn IncludeLoader + Send),
) -> Parsed {
    let headers = prelude::headers();
    let mut map = headers.map.clone();
    let mut sink = Sink::new();
    let main = map.add_bytes(name, source);
    let settings = options.of_preprocessor();
    let preprocess = || pp::preprocess(main, &headers.macros, &settings, loader, &mut map, &mut sink);
    let (mut output, basis) = prelude::beside_basis(preprocess);
    if !output.complete {
        output.tokens.drain(..output.tokens.len().saturating_sub(1));
    }
    let marks = marks::take(&mut output.tokens);
    let prelude = if headers.names_graphics(&output.tokens) { prelude::with_graphics() } else { basis };
    let includes = std::mem::take(&mut output.includes);
    let parsed = parser::parse(&output.tokens, prelude.scopes.clone(), &mut sink);
    let warnings = std::mem::take(&mut output.warnings);
    drop(output);
    let enabled = warnings.enabled();
    // What is missing from a program with errors would count as unused.
    if !sink.has_errors() {
        rules::check(&parsed.items, &mut sink);
        lint::check(&parsed.items, &map, &enabled, &mut sink);
    }
    let unit = sema::Unit::new(prelude.symbols.clone(), parsed.items, enabled, &mut sink);
    let origin = Origin { main, definitions: options.definitions.clone(), includes };
    Parsed { map, sink, unit, marks, warnings, origin }
}

/// Reports everything that is wrong with a program, in all functions, whether an entry point reaches them or
/// not. Unlike [`Library::parse`], an error does not end it.
pub fn check_source(
    name: &str,
    source: &[u8],
    options: &CompileOptions,
    loader: &mut (dyn IncludeLoader + Send),
) -> Diagnostics {
    on_large_stack(move || {
        let Parsed { map, mut sink, unit, warnings, .. } = parse_unit(name, source, options, loader);
        unit.check_all(&mut sink);
        let list = warnings.apply(&map, sink.into_diagnostics());
        Diagnostics { map, list }
    })
}

impl Library {
    /// Preprocesses, parses and declares a program. Errors may leave no library.
    pub fn parse(
        name: &str,
        source: &[u8],
        options: &CompileOptions,
        loader: &mut (dyn IncludeLoader + Send),
    ) -> (Option<Self>, Diagnostics) {
        on_large_stack(move || Self::parse_here(name, source, options, loader))
    }

    fn parse_here(
        name: &str,
        source: &[u8],
        options: &CompileOptions,
        loader: &mut (dyn IncludeLoader + Send),
    ) -> (Option<Self>, Diagnostics) {
        let Parsed { map, sink, unit, marks, warnings, origin } = parse_unit(name, source, options, loader);
        let (failed, kernels) = (sink.has_errors(), unit.kernels());
        let list = warnings.apply(&map, sink.into_diagnostics());
        let diagnostics = Diagnostics { map: map.clone(), list };
        if failed || diagnostics.has_errors() {
            return (None, diagnostics);
        }
        let named = |symbols: Vec<sema::KernelSymbol>| {
            symbols.into_iter().map(|k| KernelName { name: k.name, span: k.span }).collect()
        };
        let (kernels, visible_functions) = (named(kernels), named(unit.visible_functions()));
        let graphics_functions = unit.graphics_functions().into_iter().map(GraphicsFunction::of).collect();
        let options =
            lower::Options { math_mode: options.math_mode, for_sanitizer: false, logging: options.logging };
        let library = Self {
            map,
            unit,
            kernels,
            visible_functions,
            graphics_functions,
            options,
            marks,
            warnings,
            origin,
        };
        (Some(library), diagnostics)
    }

    /// The entry points, in the order of the source.
    pub fn kernels(&self) -> &[KernelName] {
        &self.kernels
    }

    /// The visible functions with a definition, in the order of the source: what tables may have, and what
    /// other libraries may link.
    pub fn visible_functions(&self) -> &[KernelName] {
        &self.visible_functions
    }

    /// The graphics functions with a definition, in the order of the source.
    pub fn graphics_functions(&self) -> &[GraphicsFunction] {
        &self.graphics_functions
    }

    /// The handles of the visible functions, where no other library is linked.
    pub fn handles(&self) -> FunctionHandles {
        FunctionHandles::own(self.visible_functions.iter().map(|function| function.name.as_str()))
    }

    /// The type of a visible function, as other libraries see it: its text, and the sizes of records in it.
    pub fn function_type(&self, name: &str) -> Result<String, Diagnostics> {
        on_large_stack(|| {
            let mut sink = Sink::new();
            match self.unit.function_type(name, &mut sink) {
                Some(ty) if !sink.has_errors() => Ok(ty),
                _ => Err(self.diagnostics(sink)),
            }
        })
    }

    /// The source as one text that includes no file but Metal's own headers, with the definitions before it:
    /// for compilers that have no files. Macros stay; lines say which file they are of.
    pub fn resolved_source(&self) -> String {
        let Origin { main, definitions, includes } = &self.origin;
        includes.resolved(&self.map, *main, definitions)
    }

    /// The lines that the marks of the source are about, in order. One that a macro makes is about the
    /// lines of the macro's use.
    pub fn marks(&self) -> Vec<MarkedLines> {
        let lines_of = |mark: &Mark| {
            let [from, to] = [mark.from, mark.to].map(|span| self.map.outermost(span));
            self.map.file(from.file)?;
            let file = self.map.shown_name(from.file, from.lo);
            let first = self.map.shown_line(from.file, from.lo);
            // What begins in one file and ends in another is cut off there.
            let ends_here = self.map.shown_name(to.file, to.lo) == file;
            let last = if ends_here { self.map.shown_line(to.file, to.lo).max(first) } else { first };
            Some(MarkedLines { text: mark.text.clone(), file: file.to_owned(), lines: (first, last) })
        };
        self.marks.iter().filter_map(lines_of).collect()
    }

    /// Checks one entry point and all it reaches, and lowers it. Function constants stay open.
    pub fn module(&self, kernel: &str) -> Result<anymetal_ir::Module, Diagnostics> {
        self.module_with_warnings(kernel).map(|(module, _)| module)
    }

    /// As [`Self::module`], with the warnings of what was checked.
    pub fn module_with_warnings(
        &self,
        kernel: &str,
    ) -> Result<(anymetal_ir::Module, Diagnostics), Diagnostics> {
        let (unlinked, warnings) = self.unlinked_module(kernel, &self.handles(), false)?;
        Ok((unlinked.module, warnings))
    }

    /// As [`Self::module`], for sanitizers: barriers and fences keep their memory flags, orders and scopes,
    /// and nothing hides an error ([`lower::Options::for_sanitizer`]).
    pub fn module_for_sanitizer(&self, kernel: &str) -> Result<anymetal_ir::Module, Diagnostics> {
        self.unlinked_module(kernel, &self.handles(), true).map(|(unlinked, _)| unlinked.module)
    }

    /// One entry point that may call functions of other libraries, and the warnings of what was checked.
    pub fn unlinked_module(
        &self,
        kernel: &str,
        functions: &FunctionHandles,
        for_sanitizer: bool,
    ) -> Result<(UnlinkedModule, Diagnostics), Diagnostics> {
        on_large_stack(|| {
            let (program, warnings) = self.checked(|sink| self.unit.check_kernel(kernel, functions, sink))?;
            let options = lower::Options { for_sanitizer, ..self.options };
            let module = self.not_too_deep(lower::lower(&program, options, &self.map))?;
            Ok((module, warnings))
        })
    }

    /// One visible function, to be linked with a kernel of another library.
    pub fn unlinked_function(
        &self,
        name: &str,
        functions: &FunctionHandles,
        for_sanitizer: bool,
    ) -> Result<UnlinkedModule, Diagnostics> {
        on_large_stack(|| {
            let (program, _) = self.checked(|sink| self.unit.check_function(name, functions, sink))?;
            let options = lower::Options { for_sanitizer, ..self.options };
            self.not_too_deep(lower::lower_function(&program, options, &self.map))
        })
    }

    /// Refuses code that nests deeper than modules may: a condition of the source can be several of theirs.
    fn not_too_deep(&self, unlinked: UnlinkedModule) -> Result<UnlinkedModule, Diagnostics> {
        let Some(deep) = unlinked.module.functions.iter().find(|function| nesting(function) > MAX_NESTING)
        else {
            return Ok(unlinked);
        };
        let named = self.kernels.iter().chain(&self.visible_functions).find(|named| named.name == deep.name);
        let span = named.map_or(Span::NONE, |named| named.span);
        let message = format!("constructs in `{}` nest deeper than {MAX_NESTING}", deep.name);
        let mut sink = Sink::new();
        sink.push(Diagnostic::error("too-deep", span, message));
        Err(self.diagnostics(sink))
    }

    /// Checks one entry point and all it reaches: for callers that need the types, which lowering drops.
    pub fn program(&self, kernel: &str, functions: &FunctionHandles) -> Result<hir::Program, Diagnostics> {
        on_large_stack(|| {
            self.checked(|sink| self.unit.check_kernel(kernel, functions, sink)).map(|(program, _)| program)
        })
    }

    fn checked(
        &self,
        check: impl FnOnce(&mut Sink) -> Option<hir::Program>,
    ) -> Result<(hir::Program, Diagnostics), Diagnostics> {
        let mut sink = Sink::new();
        let checked = check(&mut sink).filter(|_| !sink.has_errors());
        let diagnostics = self.diagnostics(sink);
        match checked {
            // Options can make errors of warnings.
            Some(program) if !diagnostics.has_errors() => Ok((program, diagnostics)),
            _ => Err(diagnostics),
        }
    }

    /// Checks every function of the program that is no template, and every entry point.
    pub fn check_all(&self) -> Diagnostics {
        on_large_stack(|| {
            let mut sink = Sink::new();
            self.unit.check_all(&mut sink);
            self.diagnostics(sink)
        })
    }

    /// Checks every kernel and what it reaches, each function once. Functions that no kernel reaches are not
    /// checked.
    pub fn check_kernels(&self) -> Diagnostics {
        on_large_stack(|| {
            let mut sink = Sink::new();
            self.unit.check_kernels(&self.handles(), &mut sink);
            self.diagnostics(sink)
        })
    }

    fn diagnostics(&self, sink: Sink) -> Diagnostics {
        let list = self.warnings.apply(&self.map, sink.into_diagnostics());
        Diagnostics { map: self.map.clone(), list }
    }

    /// The sources the program was made of, the library's left out: the user's file first, then its
    /// includes.
    pub fn files(&self) -> Vec<FileId> {
        let library = prelude::headers().map.files().len();
        (library..self.map.files().len()).map(|n| FileId(n as u32)).collect()
    }

    /// The sources.
    pub fn source_map(&self) -> &SourceMap {
        &self.map
    }
}
