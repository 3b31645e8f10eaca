//! Structs, classes and unions.

use super::Parser;
use super::attribute::Attributes;
use super::declarator::Place;
use super::qualified_name::Expected;
use super::scope::{Entry, NameKind, ScopeId};
use crate::ast::{Access, Base, Item, Path, Record, RecordKind, TemplateArg, Type, TypeKind};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// The head of a record: everything up to the bases.
struct Head {
    name: Option<Name>,
    scope: Option<Path>,
    specialisation: Option<Vec<TemplateArg>>,
    span: Span,
    known: Option<ScopeId>,
}

impl Parser<'_> {
    /// `struct S … { … }`, or a reference to one (`struct S x`).
    pub(super) fn record_specifier(&mut self) -> Option<TypeKind> {
        let default = if self.is_kw(Kw::Class) { Access::Private } else { Access::Public };
        let kind = if self.is_kw(Kw::Union) { RecordKind::Union } else { RecordKind::Struct };
        self.advance();
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes);
        let head = self.record_head()?;
        self.attributes(&mut attributes);
        // `struct S final {`: a word only here. There are no virtual functions for it to matter to.
        if matches!(self.peek(), TokenKind::Ident(word) if word.as_str() == "final")
            && (self.next_is(1, Punct::LBrace) || self.next_is(1, Punct::Colon))
        {
            self.advance();
        }
        let defines = self.is(Punct::LBrace) || self.is(Punct::Colon);
        let declares = self.is(Punct::Semi) && head.scope.is_none();
        if !defines && !declares {
            // `struct S x`: a use.
            let name = head.name?;
            let mut path =
                head.scope.unwrap_or(Path { global: false, segments: Vec::new(), span: head.span });
            path.segments.push(crate::ast::PathSegment {
                name,
                operator: None,
                args: head.specialisation,
                span: head.span,
            });
            return Some(TypeKind::Path(path));
        }
        let scope = self.declare_record(&head);
        let bases = self.bases(default);
        let members = if defines { Some(self.members(scope, head.name, default)) } else { None };
        self.attributes(&mut attributes);
        let is_packed = attributes.packed.take().is_some();
        let align = std::mem::take(&mut attributes.align);
        self.refuse_layout(&attributes, "a class");
        Some(TypeKind::Record(Arc::new(Record {
            id: self.ids.fresh(),
            kind,
            name: head.name,
            scope: head.scope,
            specialisation: head.specialisation,
            bases,
            members,
            align,
            is_packed,
            attributes: attributes.list,
            span: head.span,
        })))
    }

    fn record_head(&mut self) -> Option<Head> {
        let span = self.span();
        if !matches!(self.peek(), TokenKind::Ident(_)) {
            return Some(Head { name: None, scope: None, specialisation: None, span, known: None });
        }
        let mut parsed = self.path(Expected::Type)?;
        let last = parsed.path.segments.pop()?;
        let scope = (!parsed.path.segments.is_empty()).then_some(parsed.path);
        Some(Head {
            name: Some(last.name),
            scope,
            specialisation: last.args,
            span: last.span,
            known: parsed.scope,
        })
    }

    /// Declares the name where the record stands, outside of its own template parameters' scope.
    fn declare_record(&mut self, head: &Head) -> ScopeId {
        let scope = self.scopes.add(true);
        if head.specialisation.is_some() || head.scope.is_some() {
            return scope;
        }
        let Some(name) = head.name else { return scope };
        let kind = if self.template_depth > 0 { NameKind::TypeTemplate } else { NameKind::Type };
        let known = head.known.filter(|_| self.scopes.own(name).is_some());
        self.declare_outside_template(name, Entry { kind, scope: Some(known.unwrap_or(scope)) });
        known.unwrap_or(scope)
    }

    /// The access word at the current token.
    fn access(&self) -> Option<Access> {
        match self.peek() {
            TokenKind::Keyword(Kw::Public) => Some(Access::Public),
            TokenKind::Keyword(Kw::Protected) => Some(Access::Protected),
            TokenKind::Keyword(Kw::Private) => Some(Access::Private),
            _ => None,
        }
    }

    fn bases(&mut self, default: Access) -> Vec<Base> {
        let mut bases = Vec::new();
        if !self.eat(Punct::Colon) {
            return bases;
        }
        loop {
            let mut access = default;
            while let Some(written) = self.access() {
                access = written;
                self.advance();
            }
            match self.type_id() {
                Some(Type { kind: TypeKind::Pack(ty), .. }) => {
                    bases.push(Base { ty: *ty, access, is_pack: true });
                }
                Some(ty) => bases.push(Base { ty, access, is_pack: false }),
                None => {
                    self.error("expected-type", self.span(), "expected a base class");
                    self.skip_until(&[Punct::LBrace, Punct::RBrace, Punct::Semi]);
                    return bases;
                }
            }
            if !self.eat(Punct::Comma) {
                return bases;
            }
        }
    }

    /// `{ … }` of a record.
    fn members(&mut self, scope: ScopeId, name: Option<Name>, default: Access) -> Vec<Item> {
        let start = self.span();
        if !self.expect(Punct::LBrace, "to begin the members") {
            return Vec::new();
        }
        let outer = self.scopes.current();
        self.scopes.set_parent(scope, outer);
        self.scopes.set_current(scope);
        self.scopes.class_name = name;
        let template_depth = std::mem::replace(&mut self.template_depth, 0);
        let mut items: Vec<Item> = Vec::new();
        let mut access = default;
        while !self.is(Punct::RBrace) && !self.at_end() {
            let before = self.at;
            self.scopes.class_name = name;
            if let Some(written) = self.access() {
                access = written;
                self.advance();
                self.expect(Punct::Colon, "after the access word");
                continue;
            }
            let declared = self.nested(|p| p.item_at(Place::Namespace), |_| Vec::new());
            items.extend(declared.into_iter().map(|item| Item { access, ..item }));
            if self.at == before {
                self.advance();
            }
        }
        self.template_depth = template_depth;
        self.scopes.class_name = None;
        self.scopes.set_current(outer);
        if !self.eat(Punct::RBrace) {
            let diagnostic = anymetal_diagnostics::Diagnostic::error(
                "unclosed-brace",
                self.span(),
                "expected `}` to end the record",
            )
            .with_secondary(start, "the record begins here");
            self.report(diagnostic);
        }
        items
    }
}
