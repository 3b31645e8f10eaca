//! A macro's body with its arguments put in: parameters, `#`, `##` and `__VA_OPT__`.

use super::expand;
use super::expand::{Arguments, quote};
use super::macro_table::{BodyToken, Macro, MacroKind, Role};
use super::pp_token::{PpKind, PpToken, spell_all};
use super::state::Preprocessor;
use crate::lexer::{Lines, RawKind, Scanner};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, ExpansionId, Span};

/// A substitution in progress.
struct Substitution<'m> {
    definition: &'m Macro,
    arguments: &'m Arguments,
    /// The arguments after expansion, made when first needed.
    expanded: Vec<Option<Vec<PpToken>>>,
    /// Where the call is written.
    call: Span,
    expansion: ExpansionId,
    out: Vec<PpToken>,
    /// Whether a `##` waits for its right operand.
    pasting: bool,
}

/// The tokens that replace a call, ready to be rescanned.
pub(super) fn substitute(
    pp: &mut Preprocessor<'_>,
    definition: &Macro,
    arguments: &Arguments,
    call: Span,
    expansion: ExpansionId,
) -> Vec<PpToken> {
    let parameters =
        if let MacroKind::Function { parameters, .. } = &definition.kind { parameters.len() } else { 0 };
    let mut substitution = Substitution {
        definition,
        arguments,
        expanded: vec![None; parameters],
        call,
        expansion,
        out: Vec::with_capacity(definition.body.len() + arguments.tokens.len()),
        pasting: false,
    };
    let mut index = 0;
    while index < definition.body.len() && !pp.stopped {
        index = substitute_token(pp, &mut substitution, index);
    }
    let mut out = substitution.out;
    out.retain(|token| token.kind != PpKind::Placemarker);
    out
}

/// Handles the body token at `index`; the index of the next one to handle.
fn substitute_token(pp: &mut Preprocessor<'_>, substitution: &mut Substitution<'_>, index: usize) -> usize {
    let BodyToken { token, role } = substitution.definition.body[index];
    let token = PpToken { span: Span { expansion: substitution.expansion, ..token.span }, ..token };
    match role {
        Role::Plain => append(pp, substitution, &[token], token),
        Role::Parameter { index, raw } => substitute_parameter(pp, substitution, token, index, raw),
        Role::Stringise(index) => {
            let literal = stringise(pp, substitution.arguments.get(index), token);
            append(pp, substitution, &[literal], token);
        }
        Role::Paste => substitution.pasting = true,
        Role::PasteComma => {
            if variadic_is_empty(pp, substitution, false) {
                substitution.out.pop();
            }
        }
        Role::OptionalBegin(end) => {
            if variadic_is_empty(pp, substitution, true) {
                append(pp, substitution, &[], token);
                return end as usize + 1;
            }
        }
        Role::OptionalEnd => {}
    }
    index + 1
}

fn substitute_parameter(
    pp: &mut Preprocessor<'_>,
    substitution: &mut Substitution<'_>,
    token: PpToken,
    index: u32,
    raw: bool,
) {
    let arguments = substitution.arguments;
    if raw {
        append(pp, substitution, arguments.get(index), token);
        return;
    }
    let slot = index as usize;
    let expanded = match substitution.expanded[slot].take() {
        Some(expanded) => expanded,
        None => expand::expand_list(pp, arguments.get(index)),
    };
    append(pp, substitution, &expanded, token);
    substitution.expanded[slot] = Some(expanded);
}

/// Whether nothing was given for the variadic parameter: no tokens at all, or none after expansion.
fn variadic_is_empty(pp: &mut Preprocessor<'_>, substitution: &mut Substitution<'_>, expand: bool) -> bool {
    let Some(last) = substitution.expanded.len().checked_sub(1) else { return true };
    let arguments = substitution.arguments;
    let raw = arguments.get(last as u32);
    if raw.is_empty() || !expand {
        return raw.is_empty();
    }
    let expanded = match substitution.expanded[last].take() {
        Some(expanded) => expanded,
        None => expand::expand_list(pp, raw),
    };
    let empty = expanded.is_empty();
    substitution.expanded[last] = Some(expanded);
    empty
}

/// Appends what replaces the body token `place`, pasting its first token when a `##` waits.
fn append(
    pp: &mut Preprocessor<'_>,
    substitution: &mut Substitution<'_>,
    tokens: &[PpToken],
    place: PpToken,
) {
    let placemarker = [PpToken { kind: PpKind::Placemarker, ..place }];
    let tokens = if tokens.is_empty() { &placemarker[..] } else { tokens };
    pp.spend_tokens(tokens.len(), substitution.call);
    let mut first = true;
    for &token in tokens {
        // Plain argument tokens now also come out of this macro.
        let direct = token.span.expansion == substitution.call.expansion;
        let expansion = if direct { substitution.expansion } else { token.span.expansion };
        let mut token = PpToken { span: Span { expansion, ..token.span }, ..token };
        token.line_start = false;
        if first {
            token.space = place.space;
            if std::mem::take(&mut substitution.pasting)
                && let Some(left) = substitution.out.pop()
            {
                paste(pp, &mut substitution.out, left, token);
                first = false;
                continue;
            }
        }
        first = false;
        substitution.out.push(token);
    }
}

/// Appends `left ## right`.
fn paste(pp: &mut Preprocessor<'_>, out: &mut Vec<PpToken>, left: PpToken, right: PpToken) {
    if right.kind == PpKind::Placemarker {
        out.push(left);
        return;
    }
    if left.kind == PpKind::Placemarker {
        out.push(PpToken { space: left.space, ..right });
        return;
    }
    let mut text = String::new();
    left.spell(&mut text);
    right.spell(&mut text);
    let span = left.span.to(right.span);
    pp.spend_bytes(text.len(), span);
    let mut scanner = Scanner::new(&text, 0);
    let raw = scanner.next(Lines::Stop);
    let whole = raw.lo == 0 && raw.hi as usize == text.len() && raw.problem.is_none();
    if whole && !matches!(raw.kind, RawKind::Other(_) | RawKind::LineEnd | RawKind::End) {
        let made = PpToken::made(raw.kind.into(), raw.name, span);
        pp.check_poisoned(made.kind, made.name, span);
        out.push(PpToken { space: left.space, ..made });
        return;
    }
    pp.report(|| {
        let shown: String = text.chars().take(80).collect();
        Diagnostic::error("invalid-paste", span, format!("pasting gives `{shown}`, which is no token"))
    });
    out.extend([left, right]);
}

/// `# argument`.
fn stringise(pp: &mut Preprocessor<'_>, argument: &[PpToken], place: PpToken) -> PpToken {
    let mut text = String::new();
    for (index, token) in argument.iter().enumerate() {
        if token.space && index > 0 {
            text.push(' ');
        }
        match token.kind {
            PpKind::Str | PpKind::Char => {
                let quoted = quote(token.name.as_str());
                text.push_str(&quoted[1..quoted.len() - 1]);
            }
            _ => token.spell(&mut text),
        }
        if pp.spent.spelled_bytes + text.len() > pp.options.limits.spelled_bytes {
            break;
        }
    }
    pp.spend_bytes(text.len(), place.span);
    let mut literal = format!("\"{text}\"");
    if ends_in_open_escape(&text) {
        pp.report(|| {
            let shown = spell_all(argument);
            let message = format!("`#` makes an invalid string literal of `{shown}`");
            Diagnostic::error("invalid-stringise", place.span, message)
        });
        literal.insert(literal.len() - 1, '\\');
    }
    PpToken { kind: PpKind::Str, name: Name::new(&literal), ..place }
}

/// Whether the text ends with an odd number of backslashes, which would escape the closing quote.
fn ends_in_open_escape(text: &str) -> bool {
    text.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}
