//! Lazy parsing of function bodies of the library: skipped at first, parsed on first use.
//!
//! A skipped body is parsed with all names of the library in scope, not only those declared before it.
//! Invariant: the resulting trees are equal, which a test of the library checks. User source is never parsed
//! lazily, because its errors must be reported.

use super::scope::{ScopeId, Scopes};
use super::{ParsedUnit, Parser, decl, stmt};
use crate::ast::{Block, BlockText, LazyBlock, Part};
use crate::token::{FpPragmas, Punct, Token, TokenKind};
use anymetal_diagnostics::Sink;
use std::sync::{Arc, Mutex, PoisonError};

/// The library's tokens, and the state needed to parse the skipped bodies in them.
pub(super) struct LazySource {
    tokens: Vec<Token>,
    /// The units below.
    units: u32,
    state: Mutex<LazyState>,
}

/// Known after the whole library was parsed.
#[derive(Default)]
struct LazyState {
    scopes: Scopes,
    bodies: Vec<SkippedBody>,
}

/// Where a skipped body begins, and what is in force there.
#[derive(Clone, Copy)]
pub(super) struct SkippedBody {
    at: usize,
    scope: ScopeId,
    fp: FpPragmas,
}

/// Parses a unit of the library, starting from the names in `scopes`. Bodies are parsed on first use.
pub fn parse_library(tokens: Vec<Token>, scopes: Scopes, sink: &mut Sink) -> ParsedUnit {
    let text = Arc::new(LazySource { tokens, units: scopes.units(), state: Mutex::default() });
    let mut parser = Parser::new(&text.tokens, Part::unit(scopes.units()), scopes, sink);
    parser.skipped = Some((Arc::clone(&text), Vec::new()));
    let items = decl::translation_unit(&mut parser);
    let bodies = parser.skipped.map_or_else(Vec::new, |(_, bodies)| bodies);
    let scopes = parser.scopes.after_unit();
    *text.state.lock().unwrap_or_else(PoisonError::into_inner) = LazyState { scopes: scopes.clone(), bodies };
    ParsedUnit { items, scopes }
}

impl BlockText for LazySource {
    fn parse_block(&self, block: u32) -> Block {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let SkippedBody { at, scope, fp } = state.bodies[block as usize];
        let mut sink = Sink::new();
        let scopes = std::mem::take(&mut state.scopes);
        let mut parser = Parser::new(&self.tokens, Part::body(self.units, block), scopes, &mut sink);
        parser.at = at;
        parser.fp = fp;
        parser.scopes.set_current(scope);
        let block = stmt::block_in_scope(&mut parser);
        state.scopes = parser.scopes;
        debug_assert!(!sink.has_errors(), "a body of the library has errors: {:?}", sink.diagnostics());
        block
    }
}

/// At `{`: skips the body, if bodies are to be skipped and this one ends.
pub(super) fn skip_body(p: &mut Parser<'_>) -> Option<LazyBlock> {
    let end = p.skipped.is_some().then(|| closing_brace(p)).flatten()?;
    let (text, bodies) = p.skipped.as_mut()?;
    let number = u32::try_from(bodies.len()).ok()?;
    bodies.push(SkippedBody { at: p.at, scope: p.scopes.current(), fp: p.fp });
    p.at = end + 1;
    Some(LazyBlock::deferred(Arc::<LazySource>::clone(text), number))
}

/// The token that closes the brace at the current one.
fn closing_brace(p: &Parser<'_>) -> Option<usize> {
    let mut open = 0_u32;
    for (at, token) in p.tokens.iter().enumerate().skip(p.at) {
        match token.kind {
            TokenKind::Punct(Punct::LBrace) => open += 1,
            TokenKind::Punct(Punct::RBrace) => {
                open -= 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
