//! OpenCL C 1.2 to MSL.

mod alignments;
mod builtins;
mod declarations;
mod expressions;
mod functions;
mod images;
mod kernels;
mod pointers;
mod positions;
mod prelude;
mod types;
mod wide;

use std::collections::{BTreeMap, BTreeSet};

use anymetal_diagnostics::{Diagnostic, SourceMap, Span};

use crate::flatten::{Flattened, Includes, line_directive};
use crate::macros::{self, Macro};
use crate::token::Text;
use declarations::Declarations;
use wide::Wide;

/// What becomes of `double`, which Metal does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Doubles {
    /// An error.
    #[default]
    Refuse,
    /// `float`, with a warning.
    Float,
}

impl Doubles {
    /// What is told where a source has the first one.
    pub(crate) fn diagnostic(self, span: Span) -> Diagnostic {
        match self {
            Doubles::Refuse => Diagnostic::error("untranslatable", span, "Metal has no `double`")
                .with_hint("`--double float` takes `float` everywhere".to_owned()),
            Doubles::Float => Diagnostic::warning(
                "double-as-float",
                span,
                "`double` becomes `float`: 24 bits of 53 are left",
            ),
        }
    }
}

/// How to translate.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What becomes of `double`.
    pub doubles: Doubles,
    /// Tell compilers by `#line` that lines are those of the source.
    pub line_directive: bool,
    /// Macros that the source counts on, with their values: they come before it.
    pub macros: Vec<(String, String)>,
}

/// The macro of `-D NAME=VALUE`, or of `-D NAME`, which is 1.
pub fn macro_of(definition: &str) -> (String, String) {
    let (name, value) = definition.split_once('=').unwrap_or((definition, "1"));
    (name.to_owned(), value.to_owned())
}

impl Options {
    /// The macros as text.
    pub(crate) fn definitions(&self) -> String {
        self.macros.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect()
    }
}

/// A translated source.
#[derive(Debug)]
pub struct Translation {
    /// In MSL. Not to be used if a diagnostic is an error.
    pub text: String,
    /// The source, to render the diagnostics with.
    pub map: SourceMap,
    /// What could not be translated.
    pub diagnostics: Vec<Diagnostic>,
    /// The launches that the source has, of CUDA's.
    pub launches: Vec<crate::Launch>,
}

impl Translation {
    /// The diagnostics with the lines that they are about, in colour or not.
    pub fn render_text(&self, colour: bool) -> String {
        anymetal_diagnostics::render_text(&self.map, &self.diagnostics, colour)
    }

    /// The diagnostics as JSON.
    pub fn render_json(&self) -> String {
        anymetal_diagnostics::render_json(&self.map, &self.diagnostics)
    }

    /// Whether something could not be translated.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == anymetal_diagnostics::Severity::Error)
    }
}

/// What OpenCL's compilers define: those that a source asks for are defined before it.
const PREDEFINED: &[(&str, &str)] = &[
    ("__OPENCL_VERSION__", "120"),
    ("__OPENCL_C_VERSION__", "120"),
    ("CL_VERSION_1_0", "100"),
    ("CL_VERSION_1_1", "110"),
    ("CL_VERSION_1_2", "120"),
    ("__ENDIAN_LITTLE__", "1"),
    ("__IMAGE_SUPPORT__", "1"),
    ("cl_khr_fp16", "1"),
    ("cl_khr_byte_addressable_store", "1"),
    ("cl_khr_global_int32_base_atomics", "1"),
    ("cl_khr_global_int32_extended_atomics", "1"),
    ("cl_khr_local_int32_base_atomics", "1"),
    ("cl_khr_local_int32_extended_atomics", "1"),
];

/// Where there is `double`, or what stands for it.
const PREDEFINED_FOR_DOUBLES: (&str, &str) = ("cl_khr_fp64", "1");

/// The most diagnostics that are kept.
const MAX_DIAGNOSTICS: usize = 100;

/// Expansions of macros that may show how others are used.
const MAX_EXPANSIONS: usize = 8;

/// The state of a translation.
#[derive(Debug)]
struct Translator<'s> {
    text: Text<'s>,
    declarations: Declarations,
    options: &'s Options,
    flat: &'s Flattened,
    diagnostics: Vec<Diagnostic>,
    /// Functions of the prelude that are called.
    helpers: BTreeSet<&'static str>,
    wide: Wide,
}

impl Translator<'_> {
    /// The definitions that the source asks for.
    fn predefined(&self) -> String {
        let for_doubles = (self.options.doubles == Doubles::Float).then_some(&PREDEFINED_FOR_DOUBLES);
        let is_named = |name: &str| {
            let is_own = self.declarations.macros.contains_key(name)
                || self.options.macros.iter().any(|(own, _)| own == name);
            !is_own && (0..self.text.len()).any(|token| self.text.at(token) == name)
        };
        PREDEFINED
            .iter()
            .chain(for_doubles)
            .filter(|(name, _)| is_named(name))
            .map(|(name, value)| format!("#define {name} {value}\n"))
            .collect()
    }

    fn span(&self, token: usize) -> Span {
        self.flat.span(self.text.range(token))
    }

    /// Something that Metal does not have.
    fn refuse(&mut self, token: usize, message: impl Into<String>, hint: &str) {
        let diagnostic =
            Diagnostic::error("untranslatable", self.span(token), message).with_hint(hint.to_owned());
        self.tell(diagnostic);
    }

    fn tell(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }
}

/// The source with the uses of those macros expanded whose bodies cannot be translated once for all uses.
fn expanded(flat: Flattened, defined: &BTreeMap<String, String>, options: &Options) -> Flattened {
    let expand = |flat, chosen: &BTreeSet<String>| {
        let is_chosen = |name: &str, definition: &Macro| chosen.contains(name) || is_bound(definition);
        macros::expanded(flat, defined, &options.macros, &is_chosen)
    };
    let mut chosen = BTreeSet::new();
    let mut flat = expand(flat, &chosen);
    for _ in 0..MAX_EXPANSIONS {
        let text = Text::new(&flat.text);
        let varied = expressions::varied_macros(&text, &Declarations::of(&text, defined), options);
        if varied.is_subset(&chosen) {
            break;
        }
        chosen.extend(varied);
        flat = expand(flat, &chosen);
    }
    flat
}

/// Whether a macro defines kernels, or stands for a type that decides how a parameter is bound: of a
/// resource, or of a pointer.
fn is_bound(definition: &Macro) -> bool {
    match definition.has_parameters() {
        true => definition.words().any(declarations::is_kernel_word),
        false => {
            definition.words().any(|word| images::resource(word).is_some())
                || definition.words().next_back() == Some("*")
        }
    }
}

/// Translates a source. `name` is its file's, for messages; `includes` gives the files that it includes,
/// which become part of the text.
///
/// ```
/// let source = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }";
/// let none = &mut |_: &str, _: bool, _: &str| None;
/// let translation = anymetal_translate::opencl_to_msl("twice.cl", source, none, &Default::default());
/// assert!(!translation.has_errors());
/// assert!(translation.text.contains("device float* x [[buffer(0)]]"));
/// ```
pub fn opencl_to_msl(name: &str, source: &str, includes: Includes<'_>, options: &Options) -> Translation {
    let predefined = PREDEFINED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let defined = predefined.chain(options.macros.iter().cloned()).collect();
    let flat = Flattened::with_lines(name, source, includes, options.line_directive);
    let flat = expanded(flat, &defined, options);
    let text = Text::new(&flat.text);
    let declarations = Declarations::of(&text, &defined);
    let mut translator = Translator {
        text,
        declarations,
        options,
        flat: &flat,
        diagnostics: Vec::new(),
        helpers: BTreeSet::new(),
        wide: Wide::default(),
    };
    translator.alignments();
    translator.pointers();
    translator.expressions();
    translator.images();
    translator.words();
    translator.functions();
    let (wide_types, predefined) = (translator.wide_types(), translator.predefined());
    let Translator { text, helpers, diagnostics, .. } = translator;
    let logging = if helpers.contains("printf") { "#include <metal_logging>\n" } else { "" };
    let mut out = format!("#include <metal_stdlib>\n{logging}using namespace metal;\n\n");
    out.push_str(crate::shared_in_functions(&diagnostics));
    out.push_str(&prelude::text(&helpers));
    out.push_str(&wide_types);
    out.push_str(&predefined);
    out.push_str(&options.definitions());
    if options.line_directive {
        out.push_str(&line_directive(1, name));
    }
    out.push_str(&text.finish());
    let mut map = flat.map;
    map.freeze();
    Translation { text: out, map, diagnostics, launches: Vec::new() }
}

#[cfg(test)]
mod tests;
