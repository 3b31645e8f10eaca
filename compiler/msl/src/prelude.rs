//! The Metal library in memory: preprocessed, parsed and declared once per process, when first needed.
//!
//! The library consists of two units. Every program has the first. The second, on top of it, contains the
//! types and functions of graphics and ray tracing; a program has it if it contains an identifier that this
//! unit declares and the first unit does not contain.

use crate::library;
use crate::parser::{self, Scopes};
use crate::pp::{self, MacroTable};
use crate::sema;
use crate::stack;
use crate::token::{Kw, Name, Punct, Token, TokenKind};
use anymetal_diagnostics::{Sink, SourceMap};
use rustc_hash::FxHashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The state after the library was preprocessed: all that the preprocessor needs for a program.
#[derive(Debug)]
pub(crate) struct Headers {
    pub(crate) map: SourceMap,
    pub(crate) macros: MacroTable,
    /// The tokens of the units, until they are parsed.
    basis: Mutex<Vec<Token>>,
    graphics: Mutex<Vec<Token>>,
    /// A program that contains one of these names needs the second unit.
    graphics_names: FxHashSet<Name>,
}

/// The state after a unit of the library was declared.
#[derive(Debug)]
pub(crate) struct Prelude {
    pub(crate) scopes: Scopes,
    pub(crate) symbols: Arc<sema::Prelude>,
}

impl Headers {
    /// Whether a program has names of the graphics unit.
    pub(crate) fn names_graphics(&self, tokens: &[Token]) -> bool {
        identifiers(tokens).any(|name| self.graphics_names.contains(&name))
    }
}

/// The library's text, preprocessed when first needed.
///
/// # Panics
/// If it has an error: a bug, which the library's own tests catch.
pub(crate) fn headers() -> &'static Headers {
    static HEADERS: OnceLock<Headers> = OnceLock::new();
    HEADERS.get_or_init(|| on_large_stack(load_headers))
}

fn load_headers() -> Headers {
    let (mut map, mut sink) = (SourceMap::new(), Sink::new());
    let options = pp::Options { library_is_loaded: false, ..pp::Options::default() };
    let mut preprocess = |file, macros: &MacroTable, map: &mut SourceMap| {
        pp::preprocess(file, macros, &options, &mut library::Headers, map, &mut sink)
    };
    let main = library::add_sources(&mut map);
    let basis = preprocess(main, &MacroTable::default(), &mut map);
    let main = library::add_graphics_sources(&mut map);
    let graphics = preprocess(main, &basis.macros, &mut map);
    map.freeze();
    assert_right(&map, &sink);
    let mut graphics_names = declared_names(&graphics.tokens);
    for name in identifiers(&basis.tokens) {
        graphics_names.remove(&name);
    }
    let (basis_tokens, graphics_tokens) = (Mutex::new(basis.tokens), Mutex::new(graphics.tokens));
    Headers { map, macros: graphics.macros, basis: basis_tokens, graphics: graphics_tokens, graphics_names }
}

fn identifiers(tokens: &[Token]) -> impl Iterator<Item = Name> {
    tokens.iter().filter_map(|token| match token.kind {
        TokenKind::Ident(name) => Some(name),
        _ => None,
    })
}

/// The identifiers outside of classes, bodies and parameters: names of declarations, and of their types.
fn declared_names(tokens: &[Token]) -> FxHashSet<Name> {
    let (mut names, mut nesting, mut namespaces) = (FxHashSet::default(), 0_u32, 0_u32);
    let mut opens_namespace = false;
    for token in tokens {
        match token.kind {
            TokenKind::Keyword(Kw::Namespace) => opens_namespace = true,
            TokenKind::Punct(Punct::LBrace) if opens_namespace => {
                opens_namespace = false;
                namespaces += 1;
            }
            TokenKind::Punct(Punct::LBrace | Punct::LParen) => nesting += 1,
            TokenKind::Punct(Punct::RBrace) if nesting == 0 => namespaces -= 1,
            TokenKind::Punct(Punct::RBrace | Punct::RParen) => nesting -= 1,
            TokenKind::Ident(name) if nesting == 0 => {
                names.insert(name);
            }
            _ => {}
        }
    }
    assert!(nesting == 0 && namespaces == 0, "the brackets of the library match");
    names
}

static BASIS: OnceLock<Prelude> = OnceLock::new();

/// The unit that every program has, parsed when first needed.
///
/// # Panics
/// As [`headers`].
fn basis() -> &'static Prelude {
    BASIS.get_or_init(|| on_large_stack(|| load(&headers().basis, None)))
}

/// Both units, the second parsed when first needed.
///
/// # Panics
/// As [`headers`].
pub(crate) fn with_graphics() -> &'static Prelude {
    static GRAPHICS: OnceLock<Prelude> = OnceLock::new();
    GRAPHICS.get_or_init(|| on_large_stack(|| load(&headers().graphics, Some(basis()))))
}

fn load(tokens: &Mutex<Vec<Token>>, below: Option<&Prelude>) -> Prelude {
    let mut sink = Sink::new();
    let tokens = std::mem::take(&mut *tokens.lock().unwrap_or_else(PoisonError::into_inner));
    let scopes = below.map_or_else(Scopes::default, |below| below.scopes.clone());
    let parsed = parser::parse_library(tokens, scopes, &mut sink);
    let symbols = sema::Prelude::build(below.map(|below| &*below.symbols), parsed.items, &mut sink);
    assert_right(&headers().map, &sink);
    Prelude { scopes: parsed.scopes, symbols }
}

fn assert_right(map: &SourceMap, sink: &Sink) {
    let rendered = || anymetal_diagnostics::render_text(map, sink.diagnostics(), false);
    assert!(!sink.has_errors(), "the Metal library has errors:\n{}", rendered());
}

/// Does some work that needs no declarations while the first unit is parsed, if it is not yet.
pub(crate) fn beside_basis<T: Send>(work: impl FnOnce() -> T + Send) -> (T, &'static Prelude) {
    if BASIS.get().is_some() {
        return (work(), basis());
    }
    stack::both(work, basis).unwrap_or_else(|error| panic!("no thread could be started to parse on: {error}"))
}

/// Runs `work` with a large stack.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    stack::on_large_stack(work)
        .unwrap_or_else(|error| panic!("no thread could be started to compile on: {error}"))
}
