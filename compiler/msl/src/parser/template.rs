//! `template<…>`: heads, what they stand before, and explicit instantiations.

use super::Parser;
use super::attribute::Attributes;
use super::declarator::Place;
use super::qualified_name::Expected;
use super::scope::{Entry, NameKind};
use crate::ast::{
    Access, ExplicitInstantiation, Function, FunctionBody, FunctionName, FunctionSpecifiers, Item, ItemKind,
    MethodQualifiers, Noexcept, Path, TemplateParam, TemplateParamKind, TemplateParams,
};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;
use std::sync::Arc;

impl Parser<'_> {
    /// A declaration that begins with `template`.
    pub(super) fn template(&mut self, place: Place) -> Vec<Item> {
        let start = self.span();
        self.advance();
        if !self.is(Punct::Less) {
            return match self.explicit_instantiation() {
                Some(kind) => {
                    vec![Item { kind, template: None, access: Access::Public, span: self.since(start) }]
                }
                None => {
                    self.skip_statement();
                    Vec::new()
                }
            };
        }
        let outer = self.scopes.enter_template();
        let params = self.template_params();
        let Some(params) = params else {
            self.scopes.set_current(outer);
            self.skip_statement();
            return Vec::new();
        };
        let is_template = u32::from(!params.params.is_empty());
        self.template_depth += is_template;
        let items = self.templated_item(place, params, start);
        self.template_depth -= is_template;
        self.scopes.set_current(outer);
        items
    }

    fn templated_item(&mut self, place: Place, params: TemplateParams, start: Span) -> Vec<Item> {
        let mut items = match self.peek() {
            TokenKind::Keyword(Kw::Using) => self.using(),
            // `template<> template<>` and out-of-class member templates: the inner one counts.
            TokenKind::Keyword(Kw::Template) => self.nested(|p| p.template(place), |_| Vec::new()),
            _ => self.declaration(place),
        };
        let span = self.since(start);
        let mut params = Some(params);
        // The last first, which mostly is the only one.
        for (left, item) in items.iter_mut().enumerate().rev() {
            item.span = span;
            if item.template.is_none() {
                item.template = if left == 0 { params.take() } else { params.clone() };
            }
        }
        items
    }

    /// Declares a template's name outside of the scope of its parameters.
    pub(super) fn declare_outside_template(&mut self, name: Name, entry: Entry) {
        let current = self.scopes.current();
        self.scopes.set_current(self.scopes.outside_template());
        self.scopes.declare_with(name, entry);
        self.scopes.set_current(current);
    }

    /// `template<…>`, with the parameters declared in the current (fresh) scope.
    pub(super) fn template_params(&mut self) -> Option<TemplateParams> {
        let start = self.span();
        self.expect(Punct::Less, "after `template`");
        let mut params = Vec::new();
        let angle = std::mem::replace(&mut self.angle, true);
        while !self.is_greater() && !self.at_end() {
            let Some(param) = self.template_param() else {
                self.angle = angle;
                return None;
            };
            params.push(param);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.angle = angle;
        if !self.expect_greater() {
            return None;
        }
        Some(TemplateParams { params, span: self.since(start) })
    }

    fn template_param(&mut self) -> Option<TemplateParam> {
        let start = self.span();
        let is_type = match self.peek() {
            TokenKind::Keyword(Kw::Class) => true,
            // `typename T`, `typename = …`, `typename... Ts`; but `typename X::type N` is a value.
            TokenKind::Keyword(Kw::Typename) => match self.peek_at(1) {
                TokenKind::Ident(_) => !self.next_is(2, Punct::ColonColon) && !self.next_is(2, Punct::Less),
                _ => true,
            },
            TokenKind::Keyword(Kw::Template) => return self.template_template_param(),
            _ => false,
        };
        if is_type {
            return self.type_template_param();
        }
        let specs = self.specifiers(false)?;
        let Some(base) = specs.ty else {
            let found = self.peek();
            self.error("expected-type", start, format!("expected a template parameter, found {found}"));
            return None;
        };
        let declarator = self.declarator(base, Place::Param, true)?;
        let (ty, is_pack) = match declarator.ty.kind {
            crate::ast::TypeKind::Pack(inner) => (*inner, true),
            _ => (declarator.ty, false),
        };
        let name = declarator.name.as_ref().and_then(|name| name.simple());
        if let Some(name) = name {
            self.scopes.declare(name, NameKind::Value);
        }
        let default = if self.eat(Punct::Assign) { Some(self.conditional_expr()) } else { None };
        let kind = TemplateParamKind::Value(ty, default);
        Some(TemplateParam { kind, name, is_pack, span: self.since(start) })
    }

    fn type_template_param(&mut self) -> Option<TemplateParam> {
        let start = self.span();
        self.advance();
        let is_pack = self.eat(Punct::Ellipsis);
        let mut name = None;
        if let TokenKind::Ident(ident) = self.peek() {
            self.advance();
            self.scopes.declare(ident, NameKind::Type);
            name = Some(ident);
        }
        let default = if self.eat(Punct::Assign) { Some(self.type_id()?) } else { None };
        Some(TemplateParam { kind: TemplateParamKind::Type(default), name, is_pack, span: self.since(start) })
    }

    /// `template <typename> class C`
    fn template_template_param(&mut self) -> Option<TemplateParam> {
        let start = self.span();
        self.advance();
        let outer = self.scopes.enter_template();
        let params = self.nested(|p| p.template_params(), |_| None);
        self.scopes.set_current(outer);
        let params = params?;
        if !self.eat_kw(Kw::Class) && !self.eat_kw(Kw::Typename) {
            let found = self.peek();
            self.error(
                "expected-token",
                self.span(),
                format!("expected `class` or `typename`, found {found}"),
            );
            return None;
        }
        let is_pack = self.eat(Punct::Ellipsis);
        let mut name = None;
        if let TokenKind::Ident(ident) = self.peek() {
            self.advance();
            self.scopes.declare(ident, NameKind::TypeTemplate);
            name = Some(ident);
        }
        let default: Option<Path> =
            if self.eat(Punct::Assign) { Some(self.path(Expected::Type)?.path) } else { None };
        let kind = TemplateParamKind::Template(params, default);
        Some(TemplateParam { kind, name, is_pack, span: self.since(start) })
    }

    /// `S(` at namespace scope, where `S` is a class template; `explicit` may stand before it.
    pub(super) fn at_deduction_guide(&self) -> bool {
        let ahead = usize::from(self.is_kw(Kw::Explicit));
        let TokenKind::Ident(name) = self.peek_at(ahead) else { return false };
        !self.scopes.in_class_body()
            && self.next_is(ahead + 1, Punct::LParen)
            && self.classify(name) == NameKind::TypeTemplate
    }

    /// `S(parameters) -> S<arguments>;`
    pub(super) fn deduction_guide(&mut self, start: Span) -> Vec<Item> {
        let is_explicit = self.eat_kw(Kw::Explicit);
        let guide = self.attempt_guide(is_explicit);
        if guide.is_none() {
            self.skip_statement();
        }
        let span = self.since(start);
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

    fn attempt_guide(&mut self, is_explicit: bool) -> Option<Function> {
        let (name, span) = self.ident("the class template's name")?;
        let entered = self.enter();
        let parameters = self.parameters();
        self.leave(entered);
        let (params, is_variadic) = parameters?;
        self.expect(Punct::Arrow, "before the type that the deduction guide gives").then_some(())?;
        let ret = self.type_id()?;
        self.end_at_semicolon("the deduction guide");
        Some(Function {
            id: self.ids.fresh(),
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
            fp: self.fp,
            span,
        })
    }

    /// What follows `template` when no `<` does.
    pub(super) fn explicit_instantiation(&mut self) -> Option<ItemKind> {
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes);
        if matches!(self.peek(), TokenKind::Keyword(Kw::Struct | Kw::Class | Kw::Union)) {
            self.advance();
            let path = self.path(Expected::Type)?.path;
            self.expect(Punct::Semi, "after the explicit instantiation");
            return Some(ItemKind::ExplicitInstantiation(Box::new(ExplicitInstantiation {
                attributes: attributes.list,
                path,
                params: None,
                ty: None,
                is_record: true,
            })));
        }
        let specs = self.specifiers(true)?;
        attributes.list.extend(specs.attributes.list);
        let Some(base) = specs.ty else {
            let found = self.peek();
            self.error(
                "expected-type",
                self.span(),
                format!("expected the instantiation's type, found {found}"),
            );
            return None;
        };
        // The declared name is a template-id: `f<float, 4>`, with or without parameters.
        let mut ty = base;
        while self.eat(Punct::Star) {
            let span = self.since(ty.span);
            ty = crate::ast::Type {
                kind: crate::ast::TypeKind::Pointer(Box::new(ty)),
                quals: Default::default(),
                span,
            };
        }
        let path = self.path(Expected::Value)?.path;
        let outer = self.scopes.enter();
        let params = if self.is(Punct::LParen) { Some(self.parameters()?.0) } else { None };
        self.scopes.set_current(outer);
        self.attributes(&mut attributes);
        self.expect(Punct::Semi, "after the explicit instantiation");
        Some(ItemKind::ExplicitInstantiation(Box::new(ExplicitInstantiation {
            attributes: attributes.list,
            path,
            params,
            ty: Some(ty),
            is_record: false,
        })))
    }
}
