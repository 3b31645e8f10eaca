//! `#define` and `#undef`: a macro's parameters, and what each token of its body does.

use super::directive;
use super::macro_table::{BodyToken, Macro, MacroKind, Role};
use super::pp_token::{PpKind, PpToken};
use super::state::Preprocessor;
use crate::token::{Name, Punct};
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What is wrong with a definition.
struct DefinitionError {
    span: Span,
    message: String,
}

fn error<T>(span: Span, message: impl Into<String>) -> Result<T, DefinitionError> {
    Err(DefinitionError { span, message: message.into() })
}

/// The parameters of a function-like macro.
struct Parameters {
    names: Vec<Name>,
    variadic: bool,
}

pub(super) fn define(pp: &mut Preprocessor<'_>) {
    let name = pp.line_token();
    if !check_macro_name(pp, name, "define") {
        return;
    }
    // Read to the end in any case, so that what is unterminated on the line is reported.
    let tokens = pp.rest_of_line();
    match parse(pp, name, &tokens) {
        Ok(definition) => add(pp, definition),
        Err(DefinitionError { span, message }) => {
            pp.report(|| Diagnostic::error("invalid-macro", span, message));
        }
    }
}

pub(super) fn undefine(pp: &mut Preprocessor<'_>) {
    let name = pp.line_token();
    if check_macro_name(pp, name, "undef") {
        pp.macros.undefine(name.name);
        directive::expect_line_end(pp, "undef");
    }
}

fn check_macro_name(pp: &mut Preprocessor<'_>, name: PpToken, directive: &str) -> bool {
    let message = if name.kind != PpKind::Ident {
        format!("`#{directive}` needs the name of a macro")
    } else if name.name == pp.known.defined || Punct::from_name(name.name).is_some() {
        format!("`{}` cannot be the name of a macro", name.name)
    } else {
        return true;
    };
    pp.report(|| Diagnostic::error("invalid-macro", name.span, message));
    false
}

/// Puts a definition into the table; warns when it contradicts one of this run.
fn add(pp: &mut Preprocessor<'_>, definition: Macro) {
    if let Some(earlier) = pp.macros.get_recent(definition.name).cloned()
        && !earlier.same_definition(&definition)
    {
        pp.report(|| {
            let message = format!("macro `{}` is redefined", definition.name);
            Diagnostic::warning("macro-redefined", definition.definition, message)
                .with_note(earlier.definition, "the earlier definition")
        });
    }
    pp.macros.define(definition);
}

fn parse(pp: &Preprocessor<'_>, name: PpToken, tokens: &[PpToken]) -> Result<Macro, DefinitionError> {
    let (parameters, body) = match tokens.first() {
        // Only a parenthesis that touches the name opens a parameter list.
        Some(open) if open.is_punct(Punct::LParen) && !open.space => {
            let (parameters, length) = parse_parameters(pp, &tokens[1..], open.span)?;
            (Some(parameters), &tokens[1 + length..])
        }
        _ => (None, tokens),
    };
    let body = parse_body(pp, body, parameters.as_ref())?;
    let kind = match parameters {
        Some(Parameters { names, variadic }) => MacroKind::Function { parameters: names, variadic },
        None => MacroKind::Object,
    };
    let shared_name = Arc::from(name.name.as_str());
    Ok(Macro { name: name.name, shared_name, kind, body, definition: name.span })
}

/// The parameters, and how many tokens they and the closing parenthesis take.
fn parse_parameters(
    pp: &Preprocessor<'_>,
    tokens: &[PpToken],
    open: Span,
) -> Result<(Parameters, usize), DefinitionError> {
    let mut parameters = Parameters { names: Vec::new(), variadic: false };
    let mut position = 0;
    let mut next = || {
        position += 1;
        tokens.get(position - 1)
    };
    let mut token = next();
    if token.is_some_and(|token| token.is_punct(Punct::RParen)) {
        return Ok((parameters, 1));
    }
    let mut seen = FxHashMap::default();
    loop {
        let Some(parameter) = token else { return error(open, "parameter list is not closed") };
        match parameter.kind {
            PpKind::Punct(Punct::Ellipsis) => {
                parameters.variadic = true;
                parameters.names.push(pp.known.va_args);
                token = next();
            }
            PpKind::Ident => {
                if seen.insert(parameter.name, ()).is_some() {
                    return error(parameter.span, format!("parameter `{}` occurs twice", parameter.name));
                }
                parameters.names.push(parameter.name);
                token = next();
                if token.is_some_and(|token| token.is_punct(Punct::Ellipsis)) {
                    parameters.variadic = true;
                    token = next();
                }
            }
            _ => return error(parameter.span, "a parameter's name is expected here"),
        }
        match token {
            Some(token) if token.is_punct(Punct::RParen) => return Ok((parameters, position)),
            Some(comma) if comma.is_punct(Punct::Comma) && !parameters.variadic => token = next(),
            Some(other) => return error(other.span, "expected `,` or `)` in the parameter list"),
            None => return error(open, "parameter list is not closed"),
        }
    }
}

/// The body's tokens with their roles.
fn parse_body(
    pp: &Preprocessor<'_>,
    tokens: &[PpToken],
    parameters: Option<&Parameters>,
) -> Result<Vec<BodyToken>, DefinitionError> {
    let mut indices = FxHashMap::default();
    for (index, &name) in parameters.iter().flat_map(|parameters| &parameters.names).enumerate() {
        indices.insert(name, index as u32);
    }
    let index_of = |token: &PpToken| {
        if token.kind == PpKind::Ident { indices.get(&token.name).copied() } else { None }
    };
    let mut body = Vec::with_capacity(tokens.len());
    let mut position = 0;
    while let Some(&token) = tokens.get(position) {
        position += 1;
        let role = match token.kind {
            PpKind::Punct(Punct::HashHash) => Role::Paste,
            PpKind::Punct(Punct::Hash) if parameters.is_some() => {
                let Some(index) = tokens.get(position).and_then(index_of) else {
                    return error(token.span, "`#` is not followed by a parameter");
                };
                position += 1;
                Role::Stringise(index)
            }
            PpKind::Ident => match index_of(&token) {
                Some(index) => Role::Parameter { index, raw: false },
                None => plain_word(pp, &token, parameters)?,
            },
            _ => Role::Plain,
        };
        body.push(BodyToken { token, role });
    }
    pair_optionals(&mut body)?;
    mark_operands(&mut body, parameters.filter(|parameters| parameters.variadic))?;
    Ok(body)
}

fn plain_word(
    pp: &Preprocessor<'_>,
    token: &PpToken,
    parameters: Option<&Parameters>,
) -> Result<Role, DefinitionError> {
    let variadic = parameters.is_some_and(|parameters| parameters.variadic);
    if token.name == pp.known.va_opt && variadic {
        return Ok(Role::OptionalBegin(0));
    }
    if token.name == pp.known.va_args || token.name == pp.known.va_opt {
        return error(token.span, format!("`{}` outside a variadic macro", token.name));
    }
    Ok(Role::Plain)
}

/// Finds the end of every `__VA_OPT__(..)`; its parentheses leave the body.
fn pair_optionals(body: &mut Vec<BodyToken>) -> Result<(), DefinitionError> {
    if !body.iter().any(|token| matches!(token.role, Role::OptionalBegin(_))) {
        return Ok(());
    }
    let mut paired: Vec<BodyToken> = Vec::with_capacity(body.len());
    // The place of the open one in `paired`, and the parentheses open within it.
    let mut open: Option<(usize, usize)> = None;
    let mut tokens = body.iter().copied();
    while let Some(mut item) = tokens.next() {
        if let Role::OptionalBegin(_) = item.role {
            if open.is_some() {
                return error(item.token.span, "`__VA_OPT__` within `__VA_OPT__`");
            }
            if !tokens.next().is_some_and(|next| next.token.is_punct(Punct::LParen)) {
                return error(item.token.span, "missing `(` after `__VA_OPT__`");
            }
            open = Some((paired.len(), 0));
        } else if let Some((begin, depth)) = &mut open {
            if item.token.is_punct(Punct::LParen) {
                *depth += 1;
            } else if item.token.is_punct(Punct::RParen) && *depth > 0 {
                *depth -= 1;
            } else if item.token.is_punct(Punct::RParen) {
                item.role = Role::OptionalEnd;
                paired[*begin].role = Role::OptionalBegin(paired.len() as u32);
                open = None;
            }
        }
        paired.push(item);
    }
    if let Some((begin, _)) = open {
        return error(paired[begin].token.span, "`__VA_OPT__` is not closed");
    }
    *body = paired;
    Ok(())
}

/// Marks the parameters beside `##`, which are not expanded, and GNU's comma form.
fn mark_operands(body: &mut [BodyToken], variadic: Option<&Parameters>) -> Result<(), DefinitionError> {
    let last_index = body.len().wrapping_sub(1);
    for index in 0..body.len() {
        if body[index].role != Role::Paste {
            continue;
        }
        if index == 0 || index == last_index {
            return error(body[index].token.span, "`##` at the edge of a macro's body");
        }
        let rest = variadic.map(|parameters| parameters.names.len() as u32 - 1);
        if let Role::Parameter { index: right, .. } = body[index + 1].role
            && Some(right) == rest
            && body[index - 1].role == Role::Plain
            && body[index - 1].token.is_punct(Punct::Comma)
        {
            body[index].role = Role::PasteComma;
            continue;
        }
        for neighbour in [index - 1, index + 1] {
            if let Role::Parameter { raw, .. } = &mut body[neighbour].role {
                *raw = true;
            }
        }
    }
    Ok(())
}
