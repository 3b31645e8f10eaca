//! Macro expansion: which identifiers are calls, their arguments, and rescanning.

use super::macro_table::{Builtin, Macro, MacroKind};
use super::pp_token::{PpKind, PpToken};
use super::state::Preprocessor;
use super::{has_query, substitute};
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

/// The next token after macro expansion.
pub(super) fn next_expanded(pp: &mut Preprocessor<'_>) -> PpToken {
    loop {
        let mut token = pp.pull();
        if token.kind != PpKind::Ident || token.painted {
            return token;
        }
        if pp.in_condition
            && let Some(answer) = has_query::condition_operator(pp, token)
        {
            return answer;
        }
        let Some(definition) = pp.macros.get(token.name) else {
            if has_query::is_for_text(&pp.known, token.name) && pp.peek_is_open_paren() {
                return has_query::answer(pp, token);
            }
            return token;
        };
        if pp.expansions.is_disabled(token.name) {
            token.painted = true;
            return token;
        }
        let definition = Arc::clone(definition);
        if definition.is_function_like() && !pp.peek_is_open_paren() {
            return token;
        }
        enter(pp, token, &definition);
    }
}

/// Expands a list of tokens on its own, as if it were the whole file.
pub(super) fn expand_list(pp: &mut Preprocessor<'_>, tokens: &[PpToken]) -> Vec<PpToken> {
    let is_macro = |token: &PpToken| {
        token.kind == PpKind::Ident && (pp.in_condition || pp.macros.is_defined(token.name))
    };
    if !tokens.iter().any(is_macro) {
        return tokens.to_vec();
    }
    if pp.expansions.isolation() >= pp.options.limits.argument_depth {
        let span = tokens.first().map_or(Span::NONE, |token| token.span);
        pp.stop("expansion-limit", span, "macro calls nested too deeply in arguments".to_owned());
        return Vec::new();
    }
    pp.spend_tokens(tokens.len(), tokens.first().map_or(Span::NONE, |token| token.span));
    let outer = pp.expansions.isolate(tokens.to_vec());
    let mut expanded = Vec::new();
    loop {
        let token = next_expanded(pp);
        if token.kind == PpKind::End {
            break;
        }
        expanded.push(token);
    }
    pp.expansions.end_isolation(outer);
    pp.spend_tokens(expanded.len(), expanded.first().map_or(Span::NONE, |token| token.span));
    expanded
}

/// Replaces a macro's use by its expansion.
fn enter(pp: &mut Preprocessor<'_>, token: PpToken, definition: &Macro) {
    pp.spent.expansions += 1;
    if pp.spent.expansions > pp.options.limits.expansions {
        pp.stop("expansion-limit", token.span, "too many macro expansions".to_owned());
        return;
    }
    let mut tokens = match definition.kind {
        MacroKind::Builtin(builtin) => vec![builtin_token(pp, builtin, token)],
        MacroKind::Object => {
            let expansion = record(pp, definition, token.span);
            substitute::substitute(pp, definition, &Arguments::default(), token.span, expansion)
        }
        MacroKind::Function { ref parameters, variadic } => {
            let Some((arguments, close)) = collect_arguments(pp, token, definition) else { return };
            if !check_arguments(pp, &arguments, token, definition, parameters.len(), variadic) {
                return;
            }
            let call = token.span.to(close);
            let expansion = record(pp, definition, call);
            substitute::substitute(pp, definition, &arguments, call, expansion)
        }
    };
    if let Some(first) = tokens.first_mut() {
        first.space = token.space;
        first.line_start = token.line_start;
    }
    pp.expansions.push(token.name, tokens);
}

fn record(
    pp: &mut Preprocessor<'_>,
    definition: &Macro,
    call_site: Span,
) -> anymetal_diagnostics::ExpansionId {
    pp.map.add_expansion(Expansion {
        macro_name: Arc::clone(&definition.shared_name),
        call_site,
        definition: definition.definition,
    })
}

/// Reads a call's arguments up to the closing parenthesis, whose span is returned too.
fn collect_arguments(
    pp: &mut Preprocessor<'_>,
    name: PpToken,
    definition: &Macro,
) -> Option<(Arguments, Span)> {
    let MacroKind::Function { ref parameters, variadic } = definition.kind else {
        unreachable!("only function-like macros are called");
    };
    pp.pull();
    let mut arguments = Arguments::default();
    let mut start = 0;
    let mut depth = 0usize;
    loop {
        let token = pp.pull();
        match token.kind {
            PpKind::End => {
                report_unterminated_call(pp, name, definition);
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
        pp.spend_tokens(1, name.span);
        arguments.tokens.push(token);
    }
}

fn report_unterminated_call(pp: &mut Preprocessor<'_>, name: PpToken, definition: &Macro) {
    if pp.stopped {
        return;
    }
    pp.report(|| {
        let message = format!("call of macro `{}` is not terminated", name.name);
        Diagnostic::error("unterminated-macro-call", name.span, message)
            .with_label("missing `)`")
            .with_note(definition.definition, format!("macro `{}` is defined here", name.name))
    });
}

/// Whether the number of arguments fits; reports when it does not.
fn check_arguments(
    pp: &mut Preprocessor<'_>,
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
    pp.report(|| {
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
fn builtin_token(pp: &mut Preprocessor<'_>, builtin: Builtin, token: PpToken) -> PpToken {
    let (kind, text) = match builtin {
        Builtin::Line => (PpKind::Number, shown_line(pp, token.span).to_string()),
        Builtin::File => (PpKind::Str, quote(&shown_file(pp))),
        Builtin::FileName => {
            let file = shown_file(pp);
            (PpKind::Str, quote(file.rsplit('/').next().unwrap_or(&file)))
        }
        Builtin::BaseFile => {
            (PpKind::Str, quote(pp.frames.first().map_or("", |frame| frame.file.name.as_str())))
        }
        Builtin::Counter => {
            pp.counter += 1;
            (PpKind::Number, (pp.counter - 1).to_string())
        }
        Builtin::IncludeLevel => (PpKind::Number, pp.frames.len().saturating_sub(1).to_string()),
        // Fixed, so that the same text always compiles to the same code.
        Builtin::Date => (PpKind::Str, "\"Jan  1 1970\"".to_owned()),
        Builtin::Time => (PpKind::Str, "\"00:00:00\"".to_owned()),
    };
    PpToken::made(kind, Name::new(&text), token.span)
}

fn shown_line(pp: &Preprocessor<'_>, span: Span) -> i64 {
    let place = pp.place_of_use(span);
    let line = pp.map.file(place.file).map_or(0, |file| file.line_number(place.lo));
    let shift = pp.frames.last().map_or(0, |frame| frame.line_shift);
    i64::from(line).saturating_add(shift).max(0)
}

fn shown_file(pp: &Preprocessor<'_>) -> String {
    let Some(frame) = pp.frames.last() else { return String::new() };
    frame.shown_name.map_or_else(|| frame.file.name.clone(), |name| name.as_str().to_owned())
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
