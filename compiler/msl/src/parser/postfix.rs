//! Operands and postfix operators: literals, names, calls, members, named casts.

use super::qualified_name::Expected;
use super::scope::NameKind;
use super::{Parser, expr, fold, init_list, lambda, qualified_name, specifier, statement_expr};
use crate::ast::{CastKind, Expr, ExprKind, PostfixOp, Type, TypeKind};
use crate::token::{Kw, Name, Punct, TokenKind};

pub(super) fn parse(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    let mut expr = primary(p);
    loop {
        let height = p.height;
        match p.peek() {
            TokenKind::Punct(Punct::LParen) => {
                let args = call_args(p);
                let height = height.max(p.height);
                expr = expr::node(p, ExprKind::Call(Box::new(expr), args), start, height);
            }
            TokenKind::Punct(Punct::LBracket) => {
                p.advance();
                if p.is(Punct::LBracket) {
                    // C++14 [dcl.attr.grammar.6]
                    let message = "consecutive left square brackets are only for attributes";
                    p.error("expected-token", p.span(), message);
                }
                let index = expr::parenthesised(p);
                let height = height.max(p.height);
                p.expect(Punct::RBracket, "to end the subscript");
                expr = expr::node(p, ExprKind::Index(Box::new(expr), Box::new(index)), start, height);
            }
            TokenKind::Punct(punct @ (Punct::Dot | Punct::Arrow)) => {
                p.advance();
                if destructor_call(p) {
                    // There is nothing to run: classes with code in their destructors are refused.
                    let void = TypeKind::Builtin(crate::ast::BuiltinType::Void);
                    let ty = Type { kind: void, quals: Default::default(), span: p.since(start) };
                    let kind = ExprKind::Cast(CastKind::CStyle, Box::new(ty), Box::new(expr));
                    expr = expr::node(p, kind, start, height);
                    continue;
                }
                let Some(member) = member_path(p) else { return expr::error(p) };
                let kind = ExprKind::Member { base: Box::new(expr), arrow: punct == Punct::Arrow, member };
                expr = expr::node(p, kind, start, height);
            }
            TokenKind::Punct(punct @ (Punct::PlusPlus | Punct::MinusMinus)) => {
                p.advance();
                let op = if punct == Punct::PlusPlus { PostfixOp::Increment } else { PostfixOp::Decrement };
                expr = expr::node(p, ExprKind::Postfix(op, Box::new(expr)), start, height);
            }
            _ => return expr,
        }
    }
}

/// `~S()`, `S::~S()` after `.` or `->`; false if nothing happened.
fn destructor_call(p: &mut Parser<'_>) -> bool {
    if !p.is(Punct::Tilde) && !matches!(p.peek(), TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon)) {
        return false;
    }
    let is_destructor = |p: &mut Parser<'_>| {
        if !p.is(Punct::Tilde) {
            qualified_name::path(p, Expected::Type)?;
            p.eat(Punct::ColonColon).then_some(())?;
        }
        p.eat(Punct::Tilde).then_some(())?;
        qualified_name::path(p, Expected::Type)?;
        (p.eat(Punct::LParen) && p.eat(Punct::RParen)).then_some(())
    };
    // Most members are not followed by `::`, and not worth a try.
    if !p.is(Punct::Tilde) && !p.next_is(1, Punct::ColonColon) && !p.next_is(1, Punct::Less) {
        return false;
    }
    p.attempt(is_destructor).is_some()
}

/// `name`, `template name<…>`, `operator()`, `Base::name` after `.` or `->`.
fn member_path(p: &mut Parser<'_>) -> Option<crate::ast::Path> {
    let start = p.span();
    let template_kw = p.eat_kw(Kw::Template);
    if p.is_kw(Kw::Operator) {
        let mut path = qualified_name::path(p, Expected::Value)?.path;
        path.segments[0].has_template_word = template_kw;
        return Some(path);
    }
    let (name, span) = p.ident("a member's name")?;
    let args = if !p.is(Punct::Less) {
        None
    } else if template_kw {
        Some(qualified_name::template_args(p)?)
    } else {
        // A member's kind is unknown here; with `(` or `::` after it, it is a template that is called or a
        // class.
        let is_template = |p: &Parser<'_>| p.is(Punct::LParen) || p.is(Punct::ColonColon);
        p.attempt(|p| qualified_name::template_args(p).filter(|_| is_template(p)))
    };
    let (has_template_word, span) = (template_kw, p.since(span));
    if template_kw && args.is_none() && p.is(Punct::LParen) {
        p.error("expected-token", span, "expected template arguments after a name with `template`");
    }
    let segment = crate::ast::PathSegment { name, operator: None, args, has_template_word, span };
    if p.is(Punct::ColonColon) {
        p.advance();
        let mut rest = qualified_name::path_in_class(p, Expected::Value)?.path;
        rest.segments.insert(0, segment);
        rest.span = p.since(start);
        return Some(rest);
    }
    Some(crate::ast::Path {
        global: false,
        segments: vec![segment],
        tag: None,
        is_typename: false,
        span: p.since(start),
    })
}

/// `(a, b...)`; the height is the greatest argument's.
fn call_args(p: &mut Parser<'_>) -> Vec<Expr> {
    p.advance();
    let angle = std::mem::replace(&mut p.angle, false);
    let mut args = Vec::new();
    let mut height = 0;
    while !p.is(Punct::RParen) && !p.at_end() {
        let arg = if p.is(Punct::LBrace) { init_list::parse(p) } else { expr::assignment(p) };
        height = height.max(p.height);
        args.push(pack_expansion(p, arg));
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.angle = angle;
    p.expect(Punct::RParen, "to end the arguments");
    p.height = height;
    args
}

/// Wraps an expression followed by `...`.
pub(super) fn pack_expansion(p: &mut Parser<'_>, expr: Expr) -> Expr {
    if !p.eat(Punct::Ellipsis) {
        return expr;
    }
    let height = p.height;
    let start = expr.span;
    expr::node(p, ExprKind::PackExpansion(Box::new(expr)), start, height)
}

fn primary(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    let kind = match p.peek() {
        TokenKind::Int(literal) => ExprKind::Int {
            value: literal.value,
            unsigned: literal.unsigned,
            long: literal.long,
            decimal: literal.decimal,
        },
        TokenKind::Float(literal) => ExprKind::Float { value: literal.value, suffix: literal.suffix },
        TokenKind::Str(text) => ExprKind::Str(text),
        TokenKind::Char(code) => ExprKind::Char(code),
        TokenKind::Keyword(Kw::True) => ExprKind::Bool(true),
        TokenKind::Keyword(Kw::False) => ExprKind::Bool(false),
        TokenKind::Keyword(Kw::Nullptr) => ExprKind::Nullptr,
        TokenKind::Keyword(Kw::This) => ExprKind::This,
        TokenKind::Punct(Punct::LParen) => return paren(p),
        TokenKind::Punct(Punct::LBracket) => return lambda::parse(p),
        TokenKind::Punct(Punct::LBrace) => return init_list::parse(p),
        // GNU's word that silences pedantic warnings.
        TokenKind::Ident(word) if word.as_str() == "__extension__" => {
            p.advance();
            return primary(p);
        }
        TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon) | TokenKind::Keyword(Kw::Operator) => {
            return name(p);
        }
        TokenKind::Keyword(keyword) => return keyword_expr(p, keyword),
        found => {
            p.error("expected-expression", start, format!("expected an expression, found {found}"));
            return expr::error(p);
        }
    };
    p.advance();
    expr::node(p, kind, start, 0)
}

fn paren(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    p.advance();
    match p.peek() {
        TokenKind::Punct(Punct::Ellipsis) => return fold::left(p, start),
        TokenKind::Punct(Punct::LBrace) => return statement_expr::parse(p, start),
        _ => {}
    }
    let inner = expr::parenthesised(p);
    if fold::at(p) {
        return fold::right(p, inner, start);
    }
    let height = p.height;
    p.expect_closing(Punct::RParen, "to end the parenthesised expression", start);
    expr::node(p, ExprKind::Paren(Box::new(inner)), start, height)
}

fn keyword_expr(p: &mut Parser<'_>, keyword: Kw) -> Expr {
    let start = p.span();
    let cast = match keyword {
        Kw::StaticCast => Some(CastKind::Static),
        Kw::ReinterpretCast => Some(CastKind::Reinterpret),
        Kw::ConstCast => Some(CastKind::Const),
        _ => None,
    };
    if let Some(cast) = cast {
        return named_cast(p, cast);
    }
    if keyword == Kw::Decltype
        && let Some(expr) = p.attempt(decltype_path)
    {
        return expr;
    }
    // `float(x)`, `unsigned int(x)`, `typename T::type{…}`, `decltype(x)(y)`.
    if specifier::may_start_type(p)
        && let Some(ty) = p.attempt(|p| specifier::parse(p, false)).and_then(|specs| specs.ty)
    {
        return construction(p, ty);
    }
    match keyword {
        Kw::New | Kw::Delete | Kw::Throw | Kw::Typeid | Kw::DynamicCast => {
            p.error("unsupported-feature", start, format!("MSL has no `{}`", keyword.as_str()));
            p.skip_until(&[Punct::Semi, Punct::Comma, Punct::RParen, Punct::LBrace, Punct::RBrace]);
            return expr::error(p);
        }
        _ => {
            p.error(
                "expected-expression",
                start,
                format!("expected an expression, found `{}`", keyword.as_str()),
            );
        }
    }
    p.advance();
    expr::error(p)
}

/// `decltype(e)::name`, not followed by a construction.
fn decltype_path(p: &mut Parser<'_>) -> Option<Expr> {
    let start = p.span();
    let operand = specifier::decltype_operand(p);
    let height = p.height;
    p.eat(Punct::ColonColon).then_some(())?;
    let path = qualified_name::path(p, Expected::Value)?.path;
    Some(expr::node(p, ExprKind::DecltypePath(Box::new(operand), path), start, height))
}

/// `T(…)` or `T{…}` after a type.
fn construction(p: &mut Parser<'_>, ty: Type) -> Expr {
    let start = ty.span;
    let (args, braced) = match p.peek() {
        TokenKind::Punct(Punct::LParen) => {
            let args = call_args(p);
            (init_list::plain_clauses(p, args), false)
        }
        TokenKind::Punct(Punct::LBrace) => (init_list::brace_clauses(p), true),
        found => {
            p.error(
                "expected-token",
                p.span(),
                format!("expected `(` or `{{` after the type, found {found}"),
            );
            return expr::error(p);
        }
    };
    let height = p.height;
    expr::node(p, ExprKind::Construct { ty: Box::new(ty), args, braced }, start, height)
}

fn named_cast(p: &mut Parser<'_>, cast: CastKind) -> Expr {
    let start = p.span();
    p.advance();
    p.expect(Punct::Less, "after the cast's name");
    let angle = std::mem::replace(&mut p.angle, true);
    let ty = specifier::type_id(p);
    p.angle = angle;
    let closed = p.expect_greater();
    let Some(ty) = ty.filter(|_| closed) else {
        if closed {
            p.error("expected-type", start, "expected a type in the cast");
        }
        return expr::error(p);
    };
    p.expect(Punct::LParen, "after the cast's type");
    let operand = expr::parenthesised(p);
    let height = p.height;
    p.expect(Punct::RParen, "to end the cast");
    expr::node(p, ExprKind::Cast(cast, Box::new(ty), Box::new(operand)), start, height)
}

fn name(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    if let TokenKind::Ident(name) = p.peek() {
        let text = name.as_str();
        if text == "__builtin_bit_cast" && p.next_is(1, Punct::LParen) {
            return bit_cast(p);
        }
        let may_be_trait = text.starts_with("__is_") && p.next_is(1, Punct::LParen);
        if may_be_trait
            && p.classify(name) == NameKind::Unknown
            && let Some(trait_expr) = p.attempt(|p| type_trait(p, name))
        {
            return trait_expr;
        }
    }
    let Some(parsed) = qualified_name::path(p, Expected::Value) else { return expr::error(p) };
    let is_type = parsed.kind == NameKind::Type || parsed.kind == NameKind::TypeTemplate;
    let braces = p.is(Punct::LBrace) && (is_type || unknown_braces(&parsed));
    if (is_type && p.is(Punct::LParen)) || braces {
        let span = parsed.path.span;
        let ty = Type { kind: TypeKind::Path(parsed.path), quals: Default::default(), span };
        return construction(p, ty);
    }
    expr::node(p, ExprKind::Path(parsed.path), start, 0)
}

/// `T::type{…}` and `unknown<…>{…}`: braces after a dependent path can only construct.
fn unknown_braces(parsed: &super::qualified_name::ParsedPath) -> bool {
    parsed.kind == NameKind::Unknown
        && parsed
            .path
            .segments
            .last()
            .is_some_and(|last| last.args.is_some() || parsed.path.segments.len() > 1)
}

/// `__builtin_bit_cast(T, e)`
fn bit_cast(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    p.advance();
    p.advance();
    let angle = std::mem::replace(&mut p.angle, false);
    let ty = specifier::type_id(p);
    let expr = if ty.is_some() && p.expect(Punct::Comma, "after the type") {
        Some(expr::assignment(p))
    } else {
        None
    };
    p.angle = angle;
    let (Some(ty), Some(expr)) = (ty, expr) else {
        p.error("expected-type", start, "`__builtin_bit_cast` takes a type and a value");
        return expr::error(p);
    };
    let height = p.height;
    p.expect(Punct::RParen, "to end the cast");
    expr::node(p, ExprKind::BitCast(Box::new(ty), Box::new(expr)), start, height)
}

fn type_trait(p: &mut Parser<'_>, name: Name) -> Option<Expr> {
    let start = p.span();
    p.advance();
    p.advance();
    let mut types = Vec::new();
    loop {
        types.push(specifier::type_id(p)?);
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.eat(Punct::RParen).then_some(())?;
    Some(expr::node(p, ExprKind::TypeTrait(name, types), start, 0))
}
