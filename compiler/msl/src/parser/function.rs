//! Functions: what follows the declarator.

use super::declarator::{DeclaratorName, ParsedDeclarator};
use super::qualified_name::Expected;
use super::specifier::Specifiers;
use super::{
    Parser, assembler, attribute, declaration_rules, declarator, expr, init_list, lazy_body, qualified_name,
    specifier, statement_expr, stmt, variable,
};
use crate::ast::{
    AddressSpace, Function, FunctionBody, FunctionName, MemInit, MethodQualifiers, Noexcept, OperatorName,
    RefQualifier, TypeKind,
};
use crate::token::{Kw, Punct, TokenKind};

/// The most tokens of template arguments in the name of a constructor.
const MAX_NAME_TOKENS: usize = 256;

/// Inside a class, is this its own name followed by a parameter list (or `S<T>(`)?
pub(super) fn at_constructor_name(p: &Parser<'_>) -> bool {
    let TokenKind::Ident(name) = p.peek() else { return false };
    if p.scopes.class_name != Some(name) || !p.scopes.in_class_body() {
        return false;
    }
    let open = if p.next_is(1, Punct::Less) { after_template_args(p, 1) } else { Some(1) };
    open.is_some_and(|open| {
        // `S (f)(int)` declares a function `f` with the result `S`.
        let is_parenthesised = matches!(p.peek_at(open + 1), TokenKind::Ident(_))
            && p.next_is(open + 2, Punct::RParen)
            && p.next_is(open + 3, Punct::LParen);
        p.next_is(open, Punct::LParen) && !is_parenthesised
    })
}

/// Outside of its class: `A::S<T>::S(`, or its destructor, `S<T>::~`.
pub(super) fn at_qualified_constructor_name(p: &Parser<'_>) -> bool {
    let TokenKind::Ident(mut class) = p.peek() else { return false };
    if p.scopes.in_class_body() {
        return false;
    }
    let mut ahead = 1;
    loop {
        let has_args = p.next_is(ahead, Punct::Less);
        if has_args {
            let Some(after) = after_template_args(p, ahead) else { return false };
            ahead = after;
        }
        if !p.next_is(ahead, Punct::ColonColon) {
            return false;
        }
        // A destructor or a conversion.
        if p.next_is(ahead + 1, Punct::Tilde) || p.peek_at(ahead + 1) == TokenKind::Keyword(Kw::Operator) {
            return true;
        }
        let TokenKind::Ident(name) = p.peek_at(ahead + 1) else { return false };
        ahead += 2;
        if name == class && p.next_is(ahead, Punct::LParen) {
            return true;
        }
        class = name;
    }
}

/// The number of the token after template arguments that begin at `ahead`.
fn after_template_args(p: &Parser<'_>, ahead: usize) -> Option<usize> {
    let mut open = 0u32;
    for at in ahead..ahead + MAX_NAME_TOKENS {
        match p.peek_at(at) {
            TokenKind::Punct(Punct::Less) => open += 1,
            TokenKind::Punct(Punct::Greater) => open -= 1,
            TokenKind::Punct(Punct::Shr) => open = open.saturating_sub(2),
            TokenKind::Punct(Punct::Semi | Punct::LBrace) | TokenKind::Eof => return None,
            _ => {}
        }
        if open == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The number of the token after a name, perhaps qualified and with template arguments, that begins at
/// `ahead`.
pub(super) fn after_name(p: &Parser<'_>, ahead: usize) -> Option<usize> {
    let mut at = ahead + usize::from(p.next_is(ahead, Punct::ColonColon));
    while at < ahead + MAX_NAME_TOKENS {
        let TokenKind::Ident(_) = p.peek_at(at) else { return None };
        at += 1;
        if p.next_is(at, Punct::Less) {
            at = after_template_args(p, at)?;
        }
        if !p.next_is(at, Punct::ColonColon) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Parses a constructor's name and parameters where a declarator would stand.
pub(super) fn constructor_declarator(p: &mut Parser<'_>) -> Option<ParsedDeclarator> {
    let (name, span) = p.ident("the class's name")?;
    if p.is(Punct::Less) {
        qualified_name::template_args(p)?;
    }
    let params = declarator::parameters(p)?;
    let ty = crate::ast::Type { kind: crate::ast::TypeKind::Error, quals: Default::default(), span };
    Some(ParsedDeclarator {
        name: Some(DeclaratorName::plain(FunctionName::Constructor(name))),
        ty,
        params: Some(params),
        attributes: Default::default(),
        span,
    })
}

/// The rest of a function after its parameters, in the scope that holds the parameters.
pub(super) fn rest(p: &mut Parser<'_>, mut specs: Specifiers, declarator: ParsedDeclarator) -> Function {
    let (params, is_variadic) = declarator.params.unwrap_or_default();
    let mut attributes = std::mem::take(&mut specs.attributes);
    attributes.list.extend(declarator.attributes.list);
    let mut method = MethodQualifiers::default();
    let mut ret = specs.ty.as_ref().map(|_| declarator.ty);
    let mut noexcept = Noexcept::default();
    method_qualifiers(p, &mut method, &mut noexcept, &mut attributes);
    if p.eat(Punct::Arrow) {
        declaration_rules::check_trailing_result(p, ret.as_ref(), declarator.span);
        ret = specifier::type_id(p).or(ret);
    }
    method_qualifiers(p, &mut method, &mut noexcept, &mut attributes);
    // `thread` says nothing of a value that a function returns: it's left to those who write it.
    let space =
        ret.as_ref().filter(|ret| !matches!(ret.kind, TypeKind::Error)).and_then(|ret| ret.quals.space);
    if space.is_some_and(|space| space != AddressSpace::Thread) {
        p.error("two-address-spaces", declarator.span, "return type cannot be qualified with address space");
    }
    if let Some(align) = attributes.align.iter().find(|align| align.is_alignas) {
        let message = "`alignas` only applies to variables, data members and classes";
        p.error("attribute-placement", align.value.span, message);
    }
    let mem_inits = if p.eat(Punct::Colon) { mem_inits(p) } else { Vec::new() };
    let is_destructor =
        declarator.name.as_ref().is_some_and(|name| matches!(name.name, FunctionName::Destructor));
    if is_destructor && p.is(Punct::LBrace) && !p.next_is(1, Punct::RBrace) {
        let message = "a destructor with statements is not supported: call a method at the end of the block";
        p.error("unsupported-feature", declarator.span, message);
    }
    if specs.function.is_friend
        && !p.is(Punct::LBrace)
        && let Some(default) = params.iter().find_map(|param| param.default.as_ref())
    {
        let message = "a friend declaration that specifies a default argument must be a definition";
        p.error("default-argument", default.span, message);
    }
    if !mem_inits.is_empty() && p.is(Punct::Semi) {
        let message = "expected `{`: a constructor with member initialisers is a definition";
        p.error("expected-token", p.span(), message);
    }
    let specifiers = specs.of_function(p);
    let body = body(p);
    let is_kernel = specs.function.is_kernel || attributes.has("kernel");
    let graphics = specs.function.graphics.or(attributes.graphics_stage());
    let (name, scope, specialisation) = match declarator.name {
        Some(name) => (name.name, name.scope, name.args),
        None => (FunctionName::Name(crate::token::Name::EMPTY), None, None),
    };
    if matches!(name, FunctionName::Operator(OperatorName::Conversion(_)) | FunctionName::Constructor(_)) {
        ret = None;
    }
    Function {
        id: p.ids.fresh(),
        name,
        scope,
        specialisation,
        ret,
        params,
        is_variadic,
        specifiers: crate::ast::FunctionSpecifiers { is_kernel, graphics, ..specifiers },
        method,
        noexcept,
        attributes: attributes.list,
        mem_inits,
        body,
        fp: p.fp,
        span: declarator.span,
    }
}

/// Qualifiers after the parameters of a function type.
pub(super) fn type_qualifiers(p: &mut Parser<'_>) -> MethodQualifiers {
    let (mut method, mut noexcept) = (MethodQualifiers::default(), Noexcept::default());
    // A type has neither `noexcept` nor attributes here.
    method_qualifiers(p, &mut method, &mut noexcept, &mut Default::default());
    method
}

fn method_qualifiers(
    p: &mut Parser<'_>,
    method: &mut MethodQualifiers,
    noexcept: &mut Noexcept,
    attributes: &mut super::attribute::Attributes,
) {
    loop {
        if let Some(space) = specifier::address_space(p) {
            method.space = Some(space);
            continue;
        }
        match p.peek() {
            TokenKind::Keyword(Kw::Const) => method.is_const = true,
            TokenKind::Keyword(Kw::Volatile) => method.is_volatile = true,
            TokenKind::Keyword(Kw::Restrict) => {}
            TokenKind::Punct(Punct::Amp) => method.reference = Some(RefQualifier::Lvalue),
            TokenKind::Punct(Punct::AndAnd) => method.reference = Some(RefQualifier::Rvalue),
            TokenKind::Keyword(Kw::Noexcept) => {
                *noexcept = noexcept_specifier(p);
                continue;
            }
            TokenKind::Keyword(Kw::Asm) => {
                assembler::label(p);
                continue;
            }
            _ if attribute::at(p) => {
                attribute::attributes(p, attributes);
                continue;
            }
            _ => return,
        }
        p.advance();
    }
}

/// `noexcept`, `noexcept(e)`
pub(super) fn noexcept_specifier(p: &mut Parser<'_>) -> Noexcept {
    p.advance();
    if !p.eat(Punct::LParen) {
        return Noexcept::Always;
    }
    let condition = expr::parenthesised(p);
    p.expect(Punct::RParen, "to end `noexcept`");
    Noexcept::If(Box::new(condition))
}

fn mem_inits(p: &mut Parser<'_>) -> Vec<MemInit> {
    let mut inits = Vec::new();
    loop {
        let start = p.span();
        let Some(parsed) = qualified_name::path(p, Expected::Type) else { break };
        let (args, braced) = if p.is(Punct::LBrace) {
            (init_list::brace_clauses(p), true)
        } else {
            match variable::initialiser(p) {
                Some(crate::ast::Initialiser::Paren(args)) => (init_list::plain_clauses(p, args), false),
                _ => {
                    p.error("expected-token", p.span(), "expected `(` or `{` after the member's name");
                    break;
                }
            }
        };
        let is_pack = p.eat(Punct::Ellipsis);
        inits.push(MemInit { name: parsed.path, args, braced, is_pack, span: p.since(start) });
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    inits
}

fn body(p: &mut Parser<'_>) -> FunctionBody {
    match p.peek() {
        TokenKind::Punct(Punct::LBrace) => {
            if let Some(body) = lazy_body::skip_body(p) {
                return FunctionBody::Block(body);
            }
            let class_name = p.scopes.class_name.take();
            let template_depth = std::mem::replace(&mut p.template_depth, 0);
            let template_heads = std::mem::take(&mut p.template_heads);
            let body = statement_expr::own_body(p, stmt::block_in_scope);
            p.template_depth = template_depth;
            p.template_heads = template_heads;
            p.scopes.class_name = class_name;
            FunctionBody::Block(body.into())
        }
        TokenKind::Punct(Punct::Assign) => {
            p.advance();
            let body = match p.peek() {
                TokenKind::Keyword(Kw::Default) => FunctionBody::Default,
                TokenKind::Keyword(Kw::Delete) => FunctionBody::Delete,
                found => {
                    p.error(
                        "expected-token",
                        p.span(),
                        format!("expected `default` or `delete`, found {found}"),
                    );
                    FunctionBody::None
                }
            };
            p.advance();
            p.expect(Punct::Semi, "after the function");
            body
        }
        TokenKind::Punct(Punct::Semi) => {
            p.advance();
            FunctionBody::None
        }
        found => {
            p.error("expected-token", p.span(), format!("expected a function's body or `;`, found {found}"));
            p.skip_statement();
            FunctionBody::None
        }
    }
}
