//! The parser: tokens to the syntax tree.
//!
//! Hand-written recursive descent: a function for each rule of the grammar, in the module of its section.
//! The private `Parser` is the cursor that they share. The parser resolves nothing, but tracks which names
//! are types, templates and namespaces ([`scope`]), because C++'s grammar needs to know: `a < b` and
//! `(a)(b)` parse by what `a` is. A name it does not know is tried both ways (it may be declared later, or
//! be misspelled).
//!
//! Invariants: parsing always ends and consumes every token, whatever the input: each loop either
//! advances or skips to a synchronisation point; recursion is bounded by [`MAX_DEPTH`] and tree height
//! by [`MAX_HEIGHT`], both with a diagnostic. Errors are reported once and parsing goes on.
//! Start with [`parse`], then `decl.rs`.

mod ambiguity;
mod assembler;
mod attribute;
mod bindings;
mod decl;
mod declaration_rules;
mod declarator;
mod enumeration;
mod expr;
mod fold;
mod function;
mod init_declarator;
mod init_list;
mod lambda;
mod lazy_body;
mod loops;
mod namespace;
mod operator_name;
mod operator_rules;
mod postfix;
mod qualified_name;
mod record;
mod scope;
mod specifier;
mod statement_expr;
mod stmt;
mod template;
mod variable;

#[cfg(test)]
mod tests;

pub(crate) use attribute::table::is_supported as is_supported_attribute;
pub use lazy_body::parse_library;
pub(crate) use scope::MAX_DIRECTIVES;
pub use scope::Scopes;

use crate::ast::{Item, NodeIds, Part, Record};
use crate::token::{FpPragmas, Kw, Name, Punct, Token, TokenKind};
use anymetal_diagnostics::{Diagnostic, Sink, Span};
use rustc_hash::FxHashSet;
use scope::{NameKind, ScopeId};
use std::sync::Arc;

/// How deeply constructs may nest, in levels of expressions. Clang accepts 256 brackets within one another
/// (`-fbracket-depth`), of which each is two to four of these levels.
pub const MAX_DEPTH: u32 = 4000;

/// The levels that a statement, a declaration or a list counts for: what is made of it nests deeper.
const LEVELS_OF_CONSTRUCTS: u32 = 5;

/// How high one expression's tree may be.
pub const MAX_HEIGHT: u32 = 1500;

/// A parsed translation unit.
#[derive(Debug)]
pub struct ParsedUnit {
    /// The declarations.
    pub items: Vec<Item>,
    /// The names declared, to start the next unit from.
    pub scopes: Scopes,
}

/// Parses a token stream that ends with `Eof`, starting from the names in `scopes`.
pub fn parse(tokens: &[Token], scopes: Scopes, sink: &mut Sink) -> ParsedUnit {
    let part = Part::unit(scopes.units());
    let mut parser = Parser::new(tokens, part, scopes, sink);
    let items = decl::translation_unit(&mut parser);
    ParsedUnit { items, scopes: parser.scopes.after_unit() }
}

/// The parser's state: a position in the tokens and the names seen so far.
struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    /// The current token is `>>`, and its first half was consumed as a closing angle bracket.
    split_greater: bool,
    /// How many `template<…>` heads enclose the current declaration.
    template_depth: u32,
    /// Classes that the current declaration at namespace scope names first, as in `void f(struct S *);`.
    implied_records: Vec<Record>,
    /// Where the heads of the current declaration are.
    template_heads: Vec<Span>,
    /// The packs among the parameters of the templates around.
    packs_around: Vec<Name>,
    /// Whether the current declaration is in `extern "C"`.
    has_c_linkage: bool,
    /// Inside template arguments, outside of parentheses: `>` closes.
    angle: bool,
    depth: u32,
    /// Inside `({ … })`, in the same function.
    in_statement_expr: bool,
    /// Inside the body of a `switch`, in the same function.
    in_switch: bool,
    /// The floating-point pragmas in force here.
    fp: FpPragmas,
    /// The height of the expression parsed last.
    height: u32,
    scopes: Scopes,
    ids: NodeIds,
    sink: &'t mut Sink,
    /// How many tokens may still be consumed by trying: nested tries could take exponential time.
    fuel: usize,
    /// While something is only tried, the number of errors it would have reported.
    pending_errors: Option<u32>,
    /// Diagnostics of what is only tried, which are reported if the attempt succeeds: warnings, and rules
    /// that something with the right syntax breaks.
    tried: Vec<Diagnostic>,
    /// How many words for address spaces were read that are not told from others.
    unmodelled_spaces: usize,
    /// A limit was hit and the rest of the text dropped: what is then missing is not reported.
    gave_up: bool,
    /// The class, alias and variable templates declared so far, whose later declarations may leave out
    /// default arguments.
    template_names: FxHashSet<(ScopeId, Name)>,
    /// While functions' bodies are skipped, the text and what was skipped.
    skipped: Option<(Arc<lazy_body::LazySource>, Vec<lazy_body::SkippedBody>)>,
}

/// A scope that was entered: the one around it, and how many there were.
#[derive(Clone, Copy)]
struct Entered {
    outer: ScopeId,
    scopes: usize,
}

/// A place to return to.
#[derive(Clone, Copy)]
struct Checkpoint {
    at: usize,
    split_greater: bool,
    angle: bool,
    height: u32,
    fp: FpPragmas,
    scope: ScopeId,
    tried: usize,
}

impl<'t> Parser<'t> {
    fn new(tokens: &'t [Token], part: Part, scopes: Scopes, sink: &'t mut Sink) -> Self {
        Parser {
            tokens,
            at: 0,
            split_greater: false,
            template_depth: 0,
            implied_records: Vec::new(),
            template_heads: Vec::new(),
            packs_around: Vec::new(),
            has_c_linkage: false,
            angle: false,
            depth: 0,
            in_statement_expr: false,
            in_switch: false,
            fp: FpPragmas::default(),
            height: 0,
            scopes,
            ids: NodeIds::new(part),
            sink,
            fuel: tokens.len().saturating_mul(64).saturating_add(100_000),
            pending_errors: None,
            tried: Vec::new(),
            unmodelled_spaces: 0,
            gave_up: false,
            template_names: FxHashSet::default(),
            skipped: None,
        }
    }

    // --- tokens

    fn peek(&self) -> TokenKind {
        if self.split_greater {
            return TokenKind::Punct(Punct::Greater);
        }
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::Eof, |token| token.kind)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(Span::NONE, |token| token.span)
    }

    fn previous_span(&self) -> Span {
        match self.at.checked_sub(1) {
            Some(at) => self.tokens[at].span,
            None => self.span(),
        }
    }

    fn since(&self, start: Span) -> Span {
        start.to(self.previous_span())
    }

    fn at_end(&self) -> bool {
        matches!(self.peek(), TokenKind::Eof)
    }

    fn advance(&mut self) -> TokenKind {
        let kind = self.peek();
        self.split_greater = false;
        if !matches!(kind, TokenKind::Eof) {
            self.at += 1;
            if self.pending_errors.is_some() {
                self.burn();
            }
        }
        kind
    }

    fn is(&self, punct: Punct) -> bool {
        self.peek() == TokenKind::Punct(punct)
    }

    fn is_kw(&self, keyword: Kw) -> bool {
        self.peek() == TokenKind::Keyword(keyword)
    }

    fn next_is(&self, ahead: usize, punct: Punct) -> bool {
        self.peek_at(ahead) == TokenKind::Punct(punct)
    }

    fn eat(&mut self, punct: Punct) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    fn eat_kw(&mut self, keyword: Kw) -> bool {
        let found = self.is_kw(keyword);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punct: Punct, context: &str) -> bool {
        if self.eat(punct) || self.skip_extra_semicolon(punct) {
            return true;
        }
        let found = self.peek();
        // What ends a part belongs after its last token, as in clang; a bracket where another token is.
        let place = match punct {
            Punct::Colon | Punct::Semi | Punct::Comma => self.end_of_previous(),
            _ => self.span(),
        };
        self.error(
            "expected-token",
            place,
            format!("expected `{}` {context}, found {found}", punct.as_str()),
        );
        false
    }

    /// Passes `;` before a closing bracket, which is reported.
    fn skip_extra_semicolon(&mut self, closing: Punct) -> bool {
        let is_closing = matches!(closing, Punct::RParen | Punct::RBracket | Punct::RBrace);
        if !(is_closing && self.is(Punct::Semi) && self.next_is(1, closing)) {
            return false;
        }
        let message = format!("unexpected `;` before `{}`", closing.as_str());
        self.error("expected-token", self.span(), message);
        self.advance();
        self.advance();
        true
    }

    /// The last character of the previous token.
    fn end_of_previous(&self) -> Span {
        let previous = self.previous_span();
        Span { lo: previous.hi.saturating_sub(1), ..previous }
    }

    /// The bracket that closes the one at `opened`.
    fn expect_closing(&mut self, punct: Punct, context: &str, opened: Span) {
        if self.eat(punct) || self.skip_extra_semicolon(punct) {
            return;
        }
        let (found, closing) = (self.peek(), punct.as_str());
        let message = format!("expected `{closing}` {context}, found {found}");
        let diagnostic = Diagnostic::error("expected-token", self.span(), message);
        self.report(diagnostic.with_note(opened, "to close this one"));
    }

    /// The semicolon that ends what was just parsed; what follows is skipped if there is none.
    fn end_at_semicolon(&mut self, what: &str) {
        if self.eat(Punct::Semi) {
            return;
        }
        // The caret belongs after the previous token, not at the next line.
        let previous = self.previous_span();
        let after = self.end_of_previous();
        let found = self.peek();
        let message = format!("expected `;` after {what}, found {found}");
        let insertion = Span { lo: previous.hi, ..previous };
        self.report(Diagnostic::error("expected-token", after, message).with_edit(insertion, ";"));
        self.skip_statement();
    }

    /// Closes template arguments or parameters, taking `>>` apart.
    fn expect_greater(&mut self) -> bool {
        if self.split_greater || self.is(Punct::Greater) {
            self.advance();
            return true;
        }
        if self.is(Punct::Shr) {
            self.split_greater = true;
            return true;
        }
        self.expect(Punct::Greater, "to end the template list")
    }

    fn is_greater(&self) -> bool {
        self.is(Punct::Greater) || self.is(Punct::Shr)
    }

    fn ident(&mut self, what: &str) -> Option<(Name, Span)> {
        let span = self.span();
        if let TokenKind::Ident(name) = self.peek() {
            self.advance();
            return Some((name, span));
        }
        let found = self.peek();
        self.error("expected-name", span, format!("expected {what}, found {found}"));
        None
    }

    // --- errors and limits

    fn error(&mut self, id: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(id, span, message));
    }

    /// Reports a warning, once nothing that it is part of is only tried.
    fn warn(&mut self, diagnostic: Diagnostic) {
        self.report_if_meant(diagnostic);
    }

    /// Reports a broken rule of something whose syntax is right, so that it is not tried as something else.
    fn rule_error(&mut self, id: &'static str, span: Span, message: impl Into<String>) {
        self.report_if_meant(Diagnostic::error(id, span, message));
    }

    /// Reports now, or once what is only tried succeeds.
    fn report_if_meant(&mut self, diagnostic: Diagnostic) {
        match self.pending_errors {
            Some(_) => self.tried.push(diagnostic),
            None => self.report(diagnostic),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        match &mut self.pending_errors {
            Some(count) => *count += 1,
            None if self.gave_up => {}
            None => self.sink.push(diagnostic),
        }
    }

    /// Runs `parse` in a statement, a declaration or a list; too deep is an error that skips the rest of the
    /// unit.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> T, otherwise: impl FnOnce(&mut Self) -> T) -> T {
        self.deeper(LEVELS_OF_CONSTRUCTS, parse, otherwise)
    }

    /// Like [`Parser::nested`], for a part of an expression.
    fn nested_expr<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> T,
        otherwise: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.deeper(1, parse, otherwise)
    }

    fn deeper<T>(
        &mut self,
        levels: u32,
        parse: impl FnOnce(&mut Self) -> T,
        otherwise: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if self.depth + levels > MAX_DEPTH {
            self.too_deep();
            return otherwise(self);
        }
        self.depth += levels;
        let result = parse(self);
        self.depth -= levels;
        result
    }

    fn too_deep(&mut self) {
        let message = "nested too deeply";
        let span = self.span();
        // Everything after would only nest deeper or fail to close: stop here, whether tried or real.
        if self.pending_errors.is_none() {
            self.report(Diagnostic::error("too-deep", span, message));
            self.give_up();
        } else {
            self.pending_errors = self.pending_errors.map(|count| count + 1);
        }
        self.split_greater = false;
    }

    // --- trying

    /// Accounts for one tried token; when there have been too many, the rest of the unit is dropped.
    fn burn(&mut self) {
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 {
            let message = "too ambiguous to parse: templates and parentheses nest too deeply here";
            self.sink.push(Diagnostic::error("too-ambiguous", self.span(), message));
            self.give_up();
        }
    }

    /// Drops the rest of the text.
    fn give_up(&mut self) {
        self.gave_up = true;
        self.at = self.tokens.len().saturating_sub(1);
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            at: self.at,
            split_greater: self.split_greater,
            angle: self.angle,
            height: self.height,
            fp: self.fp,
            scope: self.scopes.current(),
            tried: self.tried.len(),
        }
    }

    fn rewind(&mut self, to: Checkpoint) {
        if self.fuel > 0 {
            self.at = to.at;
            self.split_greater = to.split_greater;
        }
        self.angle = to.angle;
        self.height = to.height;
        self.fp = to.fp;
        self.scopes.set_current(to.scope);
        self.tried.truncate(to.tried);
    }

    /// Tries to parse something; on `None` or an error nothing has happened.
    fn attempt<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.checkpoint();
        let outer = self.pending_errors.replace(0);
        let result = parse(self);
        let errors = std::mem::replace(&mut self.pending_errors, outer).unwrap_or(0);
        if result.is_some() && errors == 0 {
            if outer.is_none() {
                std::mem::take(&mut self.tried).into_iter().for_each(|diagnostic| self.report(diagnostic));
            }
            return result;
        }
        self.rewind(start);
        None
    }

    // --- synchronisation

    /// Skips to one of these marks, or to the end of the text.
    fn skip_until(&mut self, ends: &[Punct]) {
        while !self.at_end() && !ends.iter().any(|&end| self.is(end)) {
            self.advance();
        }
    }

    /// Skips to after the next `;` or before a closing brace at this level, to go on after an error.
    fn skip_statement(&mut self) {
        let mut open = 0u32;
        loop {
            match self.peek() {
                TokenKind::Eof => return,
                TokenKind::Punct(Punct::LBrace | Punct::LParen | Punct::LBracket) => open += 1,
                TokenKind::Punct(Punct::RBrace) if open == 0 => return,
                TokenKind::Punct(Punct::RBrace) => {
                    open -= 1;
                    if open == 0 {
                        self.advance();
                        self.eat(Punct::Semi);
                        return;
                    }
                }
                TokenKind::Punct(Punct::RParen | Punct::RBracket) => open = open.saturating_sub(1),
                TokenKind::Punct(Punct::Semi) if open == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    // --- scopes

    /// Enters a scope that [`Parser::leave`] drops.
    fn enter(&mut self) -> Entered {
        let scopes = self.scopes.len();
        Entered { outer: self.scopes.enter(), scopes }
    }

    fn leave(&mut self, entered: Entered) {
        self.scopes.set_current(entered.outer);
        // A body that was skipped will be parsed in its scope.
        if self.skipped.is_none() {
            self.scopes.truncate(entered.scopes);
        }
    }

    fn classify(&self, name: Name) -> NameKind {
        self.scopes.lookup(name).map_or(NameKind::Unknown, |entry| entry.kind)
    }
}
