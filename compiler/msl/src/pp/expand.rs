//! Macro expansion: which identifiers are calls, their arguments, and rescanning.

use super::macro_table::{Builtin, Macro, MacroKind};
use super::pp_token::{PpKind, PpToken};
use super::state::{Context, Preprocessor};
use crate::token::{Name, Punct};
use anymetal_diagnostics::{Diagnostic, Expansion, Span};
use std::sync::Arc;

/// The arguments of one call: ranges of one list.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) tokens: Vec<PpToken>,
    ranges: Vec<(usize, usize)>,
}

impl Arguments {
    /// The tokens of one argument; none for one that was left out.
    pub(super) fn get(&self, index: u32) -> &[PpToken] {
        self.ranges.get(index as usize).map_or(&[], |&(lo, hi)| &self.tokens[lo..hi])
    }
}

impl Preprocessor<'_> {
    /// The next token after macro expansion.
    pub(super) fn next_expanded(&mut self) -> PpToken {
        loop {
            let mut token = self.pull();
            if token.kind != PpKind::Ident || token.painted {
                return token;
            }
            if self.in_condition
                && let Some(answer) = self.condition_operator(token)
            {
                return answer;
            }
            let Some(definition) = self.macros.get(token.name) else { return token };
            if self.disabled.contains(&token.name) {
                token.painted = true;
                return token;
            }
            let definition = Arc::clone(definition);
            if definition.is_function_like() && !self.peek_is_open_paren() {
                return token;
            }
            self.expand(token, &definition);
        }
    }

    /// Expands a list of tokens on its own, as if it were the whole file.
    pub(super) fn expand_list(&mut self, tokens: &[PpToken]) -> Vec<PpToken> {
        let is_macro = |token: &PpToken| {
            token.kind == PpKind::Ident && (self.in_condition || self.macros.is_defined(token.name))
        };
        if !tokens.iter().any(is_macro) {
            return tokens.to_vec();
        }
        if self.isolation >= self.options.limits.argument_depth {
            let span = tokens.first().map_or(Span::NONE, |token| token.span);
            self.stop("expansion-limit", span, "macro calls nested too deeply in arguments".to_owned());
            return Vec::new();
        }
        self.spend_tokens(tokens.len(), tokens.first().map_or(Span::NONE, |token| token.span));
        let floor = std::mem::replace(&mut self.floor, self.contexts.len());
        self.isolation += 1;
        self.contexts.push(Context { tokens: tokens.to_vec(), position: 0, name: None });
        let mut expanded = Vec::new();
        loop {
            let token = self.next_expanded();
            if token.kind == PpKind::End {
                break;
            }
            expanded.push(token);
        }
        self.drop_contexts();
        self.isolation -= 1;
        self.floor = floor;
        self.spend_tokens(expanded.len(), expanded.first().map_or(Span::NONE, |token| token.span));
        expanded
    }

    /// Drops what a stopped run left above the floor.
    fn drop_contexts(&mut self) {
        for context in self.contexts.drain(self.floor..) {
            if let Some(name) = context.name {
                self.disabled.remove(&name);
            }
        }
    }

    /// Replaces a macro's use by its expansion.
    fn expand(&mut self, token: PpToken, definition: &Macro) {
        self.spent.expansions += 1;
        if self.spent.expansions > self.options.limits.expansions {
            self.stop("expansion-limit", token.span, "too many macro expansions".to_owned());
            return;
        }
        let mut tokens = match definition.kind {
            MacroKind::Builtin(builtin) => vec![self.builtin(builtin, token)],
            MacroKind::Object => {
                let expansion = self.record(definition, token.span);
                self.substitute(definition, &Arguments::default(), token.span, expansion)
            }
            MacroKind::Function { ref parameters, variadic } => {
                let Some((arguments, close)) = self.collect_arguments(token, definition) else { return };
                if !self.check_arguments(&arguments, token, definition, parameters.len(), variadic) {
                    return;
                }
                let call = token.span.to(close);
                let expansion = self.record(definition, call);
                self.substitute(definition, &arguments, call, expansion)
            }
        };
        if let Some(first) = tokens.first_mut() {
            first.space = token.space;
            first.line_start = token.line_start;
        }
        self.disabled.insert(token.name);
        self.contexts.push(Context { tokens, position: 0, name: Some(token.name) });
    }

    fn record(&mut self, definition: &Macro, call_site: Span) -> anymetal_diagnostics::ExpansionId {
        self.map.add_expansion(Expansion {
            macro_name: Arc::clone(&definition.shared_name),
            call_site,
            definition: definition.definition,
        })
    }

    /// Reads a call's arguments up to the closing parenthesis, whose span is returned too.
    fn collect_arguments(&mut self, name: PpToken, definition: &Macro) -> Option<(Arguments, Span)> {
        let MacroKind::Function { ref parameters, variadic } = definition.kind else { return None };
        self.pull();
        let mut arguments = Arguments::default();
        let mut start = 0;
        let mut depth = 0usize;
        loop {
            let token = self.pull();
            match token.kind {
                PpKind::End => {
                    self.report_unterminated_call(name, definition);
                    return None;
                }
                PpKind::Punct(Punct::LParen) => depth += 1,
                PpKind::Punct(Punct::RParen) if depth == 0 => {
                    arguments.ranges.push((start, arguments.tokens.len()));
                    return Some((arguments, token.span));
                }
                PpKind::Punct(Punct::RParen) => depth -= 1,
                PpKind::Punct(Punct::Comma)
                    if depth == 0 && !(variadic && arguments.ranges.len() + 1 >= parameters.len()) =>
                {
                    arguments.ranges.push((start, arguments.tokens.len()));
                    start = arguments.tokens.len();
                    continue;
                }
                _ => {}
            }
            // Nested calls collect the same tokens again at every level.
            self.spend_tokens(1, name.span);
            arguments.tokens.push(token);
        }
    }

    fn report_unterminated_call(&mut self, name: PpToken, definition: &Macro) {
        if self.stopped {
            return;
        }
        self.report(|| {
            let message = format!("call of macro `{}` is not terminated", name.name);
            Diagnostic::error("unterminated-macro-call", name.span, message)
                .with_label("missing `)`")
                .with_note(definition.definition, format!("macro `{}` is defined here", name.name))
        });
    }

    /// Whether the number of arguments fits; reports when it does not.
    fn check_arguments(
        &mut self,
        arguments: &Arguments,
        name: PpToken,
        definition: &Macro,
        parameters: usize,
        variadic: bool,
    ) -> bool {
        let empty = arguments.tokens.is_empty() && arguments.ranges.len() == 1;
        let given = if empty && parameters == 0 { 0 } else { arguments.ranges.len() };
        // The variadic parameter may be left out altogether.
        if given == parameters || variadic && given + 1 == parameters {
            return true;
        }
        self.report(|| {
            let least = if variadic { parameters - 1 } else { parameters };
            let plural = if least == 1 { "" } else { "s" };
            let at_least = if variadic { "at least " } else { "" };
            let message =
                format!("macro `{}` takes {at_least}{least} argument{plural}, but {given} given", name.name);
            Diagnostic::error("macro-argument-count", name.span, message)
                .with_note(definition.definition, format!("macro `{}` is defined here", name.name))
        });
        false
    }

    /// The value of a macro that depends on its place.
    fn builtin(&mut self, builtin: Builtin, token: PpToken) -> PpToken {
        let (kind, text) = match builtin {
            Builtin::Line => (PpKind::Number, self.shown_line(token.span).to_string()),
            Builtin::File => (PpKind::Str, quote(&self.shown_file())),
            Builtin::FileName => {
                let file = self.shown_file();
                (PpKind::Str, quote(file.rsplit('/').next().unwrap_or(&file)))
            }
            Builtin::BaseFile => {
                (PpKind::Str, quote(self.frames.first().map_or("", |frame| frame.file.name.as_str())))
            }
            Builtin::Counter => {
                self.counter += 1;
                (PpKind::Number, (self.counter - 1).to_string())
            }
            Builtin::IncludeLevel => (PpKind::Number, self.frames.len().saturating_sub(1).to_string()),
            // Fixed, so that the same text always compiles to the same code.
            Builtin::Date => (PpKind::Str, "\"Jan  1 1970\"".to_owned()),
            Builtin::Time => (PpKind::Str, "\"00:00:00\"".to_owned()),
        };
        PpToken::made(kind, Name::new(&text), token.span)
    }

    fn shown_line(&self, span: Span) -> i64 {
        let place = self.place_of_use(span);
        let line = self.map.file(place.file).map_or(0, |file| file.line_number(place.lo));
        let shift = self.frames.last().map_or(0, |frame| frame.line_shift);
        i64::from(line).saturating_add(shift).max(0)
    }

    fn shown_file(&self) -> String {
        let Some(frame) = self.frames.last() else { return String::new() };
        frame.shown_name.map_or_else(|| frame.file.name.clone(), |name| name.as_str().to_owned())
    }
}

/// The text as a string literal.
pub(super) fn quote(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for char in text.chars() {
        if matches!(char, '"' | '\\') {
            literal.push('\\');
        }
        literal.push(char);
    }
    literal.push('"');
    literal
}
