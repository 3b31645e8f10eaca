//! `template<…>`: heads, what they stand before, and explicit instantiations.

use super::attribute::Attributes;
use super::declarator::Place;
use super::qualified_name::Expected;
use super::scope::{Entry, NameKind};
use super::{
    Parser, attribute, decl, declaration_rules, declarator, expr, function, namespace, qualified_name,
    specifier,
};
use crate::ast::{
    Access, ExplicitInstantiation, Function, FunctionBody, FunctionName, FunctionSpecifiers, Item, ItemKind,
    MethodQualifiers, Noexcept, Path, TemplateParam, TemplateParamKind, TemplateParams,
};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// A declaration that begins with `template`.
pub(super) fn parse(p: &mut Parser<'_>, place: Place) -> Vec<Item> {
    let start = p.span();
    if p.has_c_linkage {
        p.error("bad-template", start, "templates must have C++ linkage");
    }
    p.advance();
    if !p.is(Punct::Less) {
        return match explicit_instantiation(p) {
            Some(kind) => {
                vec![Item { kind, template: None, access: Access::Public, span: p.since(start) }]
            }
            None => {
                p.skip_statement();
                Vec::new()
            }
        };
    }
    let outer = p.scopes.enter_template();
    let params = template_params(p);
    let Some(params) = params else {
        p.scopes.set_current(outer);
        p.skip_statement();
        return Vec::new();
    };
    let is_template = u32::from(!params.params.is_empty());
    p.template_depth += is_template;
    p.template_heads.push(start);
    let packs = p.packs_around.len();
    p.packs_around.extend(params.params.iter().filter(|param| param.is_pack).filter_map(|param| param.name));
    let items = templated_item(p, place, params, start);
    p.packs_around.truncate(packs);
    p.template_heads.pop();
    p.template_depth -= is_template;
    p.scopes.set_current(outer);
    items
}

fn templated_item(p: &mut Parser<'_>, place: Place, params: TemplateParams, start: Span) -> Vec<Item> {
    let is_using = p.is_kw(Kw::Using);
    let mut items = match p.peek() {
        TokenKind::Keyword(Kw::Using) => namespace::using(p),
        // `template<> template<>` and out-of-class member templates: the inner one counts.
        TokenKind::Keyword(Kw::Template) => p.nested(|p| parse(p, place), |_| Vec::new()),
        _ => decl::declaration(p, place),
    };
    let span = p.since(start);
    declaration_rules::check_templated(p, &params, &items, is_using);
    if let Some(first) = items.first() {
        declaration_rules::check_literal_template(p, &params, first);
    }
    if let Some(first) = items.first().filter(|item| item.template.is_none()) {
        let name = declaration_rules::template_name(&first.kind);
        let is_first = name.is_none_or(|name| p.template_names.insert((p.scopes.outside_template(), name)));
        if is_first || !declaration_rules::is_primary(&first.kind) {
            declaration_rules::check_template_params(p, &params, &first.kind);
        }
    }
    let is_innermost = items.first().is_some_and(|item| item.template.is_none());
    let mut params = Some(params);
    // The last first, which mostly is the only one.
    for (left, item) in items.iter_mut().enumerate().rev() {
        item.span = span;
        let head = if left == 0 { params.take() } else { params.clone() };
        match (&mut item.template, head) {
            (Some(inner), Some(head)) => inner.add_outermost(head),
            (own, head) => *own = head,
        }
    }
    if let Some(item) = items.first().filter(|_| is_innermost) {
        declaration_rules::check_heads(p, item);
    }
    items
}

/// Declares a template's name outside of the scope of its parameters.
pub(super) fn declare_outside_template(p: &mut Parser<'_>, name: Name, entry: Entry) {
    let current = p.scopes.current();
    p.scopes.set_current(p.scopes.outside_template());
    p.scopes.declare_with(name, entry);
    p.scopes.set_current(current);
}

/// `template<…>`, with the parameters declared in the current (fresh) scope.
pub(super) fn template_params(p: &mut Parser<'_>) -> Option<TemplateParams> {
    let start = p.span();
    p.expect(Punct::Less, "after `template`");
    let mut params = Vec::new();
    let angle = std::mem::replace(&mut p.angle, true);
    while !p.is_greater() && !p.at_end() {
        let Some(param) = template_param(p) else {
            p.angle = angle;
            return None;
        };
        params.push(param);
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.angle = angle;
    if !p.expect_greater() {
        return None;
    }
    Some(TemplateParams { params, outer: None, span: p.since(start) })
}

fn template_param(p: &mut Parser<'_>) -> Option<TemplateParam> {
    let start = p.span();
    let is_type = match p.peek() {
        TokenKind::Keyword(Kw::Class) => true,
        // `typename T`, `typename = …`, `typename... Ts`; but `typename X::type N` is a value.
        TokenKind::Keyword(Kw::Typename) => match p.peek_at(1) {
            TokenKind::Ident(_) => !p.next_is(2, Punct::ColonColon) && !p.next_is(2, Punct::Less),
            _ => true,
        },
        TokenKind::Keyword(Kw::Template) => return template_template_param(p),
        _ => false,
    };
    if is_type {
        return type_template_param(p);
    }
    let specs = specifier::parse(p, false)?;
    let Some(base) = specs.ty else {
        let found = p.peek();
        p.error("expected-type", start, format!("expected a template parameter, found {found}"));
        return None;
    };
    let declarator = declarator::parse(p, base, Place::Param, true)?;
    let (ty, is_pack) = match declarator.ty.kind {
        crate::ast::TypeKind::Pack(inner) => (*inner, true),
        _ => (declarator.ty, false),
    };
    let name = declarator.name.as_ref().and_then(|name| name.simple());
    if let Some(name) = name {
        p.scopes.declare(name, NameKind::Value);
    }
    refuse_default_of_pack(p, is_pack, start);
    let default = if p.eat(Punct::Assign) { Some(expr::conditional(p)) } else { None };
    let kind = TemplateParamKind::Value(ty, default);
    Some(TemplateParam { kind, name, is_pack, span: p.since(start) })
}

/// A pack has no default argument (C++14 [temp.param.9]).
fn refuse_default_of_pack(p: &mut Parser<'_>, is_pack: bool, start: Span) {
    if is_pack && p.is(Punct::Assign) {
        p.error("template-parameter", start, "template parameter pack cannot have a default argument");
    }
}

fn type_template_param(p: &mut Parser<'_>) -> Option<TemplateParam> {
    let start = p.span();
    p.advance();
    let is_pack = p.eat(Punct::Ellipsis);
    let mut name = None;
    if let TokenKind::Ident(ident) = p.peek() {
        p.advance();
        p.scopes.declare(ident, NameKind::Type);
        name = Some(ident);
    }
    refuse_default_of_pack(p, is_pack, start);
    let default = if p.eat(Punct::Assign) { Some(specifier::type_id(p)?) } else { None };
    Some(TemplateParam { kind: TemplateParamKind::Type(default), name, is_pack, span: p.since(start) })
}

/// `template <typename> class C`
fn template_template_param(p: &mut Parser<'_>) -> Option<TemplateParam> {
    let start = p.span();
    p.advance();
    let outer = p.scopes.enter_template();
    let params = p.nested(|p| template_params(p), |_| None);
    p.scopes.set_current(outer);
    let params = params?;
    if params.params.is_empty() {
        p.error(
            "template-parameter",
            params.span,
            "a template template parameter needs parameters of its own",
        );
    }
    if !p.eat_kw(Kw::Class) && !p.eat_kw(Kw::Typename) {
        let found = p.peek();
        p.error("expected-token", p.span(), format!("expected `class` or `typename`, found {found}"));
        return None;
    }
    let is_pack = p.eat(Punct::Ellipsis);
    let mut name = None;
    if let TokenKind::Ident(ident) = p.peek() {
        p.advance();
        p.scopes.declare(ident, NameKind::TypeTemplate);
        name = Some(ident);
    }
    refuse_default_of_pack(p, is_pack, start);
    let default: Option<Path> =
        if p.eat(Punct::Assign) { Some(qualified_name::path(p, Expected::Type)?.path) } else { None };
    let kind = TemplateParamKind::Template(params, default);
    Some(TemplateParam { kind, name, is_pack, span: p.since(start) })
}

/// `S(` outside of functions, where `S` is a class template other than the class around; `explicit` may
/// precede it.
pub(super) fn at_deduction_guide(p: &Parser<'_>) -> bool {
    let ahead = usize::from(p.is_kw(Kw::Explicit));
    let TokenKind::Ident(name) = p.peek_at(ahead) else { return false };
    p.scopes.class_name != Some(name)
        && p.next_is(ahead + 1, Punct::LParen)
        && p.classify(name) == NameKind::TypeTemplate
}

/// `S(parameters) -> S<arguments>;`
pub(super) fn deduction_guide(p: &mut Parser<'_>, start: Span) -> Vec<Item> {
    let is_explicit = p.eat_kw(Kw::Explicit);
    let guide = attempt_guide(p, is_explicit);
    if guide.is_none() {
        p.skip_statement();
    }
    let span = p.since(start);
    guide
        .map(|guide| Item {
            kind: ItemKind::DeductionGuide(Arc::new(guide)),
            template: None,
            access: Access::Public,
            span,
        })
        .into_iter()
        .collect()
}

fn attempt_guide(p: &mut Parser<'_>, is_explicit: bool) -> Option<Function> {
    let (name, span) = p.ident("the class template's name")?;
    let entered = p.enter();
    let parameters = declarator::parameters(p);
    p.leave(entered);
    let (params, is_variadic) = parameters?;
    p.expect(Punct::Arrow, "before the type that the deduction guide gives").then_some(())?;
    let ret = specifier::type_id(p)?;
    p.end_at_semicolon("the deduction guide");
    Some(Function {
        id: p.ids.fresh(),
        name: FunctionName::Name(name),
        scope: None,
        specialisation: None,
        ret: Some(ret),
        params,
        is_variadic,
        specifiers: FunctionSpecifiers { is_explicit, ..FunctionSpecifiers::default() },
        method: MethodQualifiers::default(),
        noexcept: Noexcept::Absent,
        attributes: Vec::new(),
        mem_inits: Vec::new(),
        body: FunctionBody::None,
        fp: p.fp,
        span,
    })
}

/// What follows `template` when no `<` does.
pub(super) fn explicit_instantiation(p: &mut Parser<'_>) -> Option<ItemKind> {
    let mut attributes = Attributes::default();
    attribute::attributes(p, &mut attributes);
    if matches!(p.peek(), TokenKind::Keyword(Kw::Struct | Kw::Class | Kw::Union)) {
        p.advance();
        let path = qualified_name::path(p, Expected::Type)?.path;
        p.expect(Punct::Semi, "after the explicit instantiation");
        return Some(ItemKind::ExplicitInstantiation(Box::new(ExplicitInstantiation {
            attributes: attributes.list,
            path,
            params: None,
            ty: None,
            is_record: true,
            is_extern: false,
        })));
    }
    let specs = specifier::parse(p, true)?;
    for &(word, span) in &specs.words {
        if matches!(word, Kw::Inline | Kw::Constexpr | Kw::Static | Kw::Extern) {
            let message = format!("{} cannot stand in an explicit instantiation", TokenKind::Keyword(word));
            p.error("misplaced-specifier", span, message);
        }
    }
    attributes.list.extend(specs.attributes.list);
    if specs.ty.is_none() && !matches!(p.peek(), TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon)) {
        let found = p.peek();
        p.error("expected-type", p.span(), format!("expected the instantiation's type, found {found}"));
        return None;
    }
    // Constructors and conversions have no type.
    let is_untyped = specs.ty.is_none();
    let error = crate::ast::TypeKind::Error;
    let base =
        specs.ty.unwrap_or(crate::ast::Type { kind: error, quals: Default::default(), span: p.span() });
    // The declared name is a template-id: `f<float, 4>`, with or without parameters.
    let mut ty = base;
    while p.eat(Punct::Star) {
        let span = p.since(ty.span);
        ty = crate::ast::Type {
            kind: crate::ast::TypeKind::Pointer(Box::new(ty)),
            quals: Default::default(),
            span,
        };
    }
    let path = qualified_name::path(p, Expected::Value)?.path;
    let outer = p.scopes.enter();
    let params = if p.is(Punct::LParen) { Some(declarator::parameters(p)?.0) } else { None };
    p.scopes.set_current(outer);
    function::type_qualifiers(p);
    attribute::attributes(p, &mut attributes);
    p.expect(Punct::Semi, "after the explicit instantiation");
    Some(ItemKind::ExplicitInstantiation(Box::new(ExplicitInstantiation {
        attributes: attributes.list,
        path,
        params,
        ty: (!is_untyped).then_some(ty),
        is_record: false,
        is_extern: false,
    })))
}
