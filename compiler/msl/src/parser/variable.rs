//! Variables and their initialisers.

use super::Parser;
use super::declarator::ParsedDeclarator;
use super::scope::{Entry, NameKind};
use crate::ast::{Attribute, Declarator, FunctionSpecifiers, Initialiser, Variable};
use crate::token::{Name, Punct};

impl Parser<'_> {
    /// Declares the variable, then parses its initialiser, if one follows.
    pub(super) fn variable_rest(
        &mut self,
        declarator: ParsedDeclarator,
        specifiers: &FunctionSpecifiers,
        mut attributes: Vec<Attribute>,
        is_extern: bool,
    ) -> Variable {
        attributes.extend(declarator.attributes.list);
        let span = declarator.span;
        let name = declarator.name.as_ref().and_then(|name| name.simple());
        if name.is_none() {
            self.error("expected-name", span, "expected a variable's name");
        }
        let name = name.unwrap_or(Name::EMPTY);
        let (scope, specialisation) = declarator.name.map_or((None, None), |n| (n.scope, n.args));
        if scope.is_none() {
            let kind = if self.template_depth > 0 && !self.scopes.in_class_body() {
                NameKind::ValueTemplate
            } else {
                NameKind::Value
            };
            // Not in the scope of a variable template's own parameters.
            self.declare_outside_template(name, Entry { kind, scope: None });
        }
        let init = self.initialiser();
        Variable {
            id: self.ids.fresh(),
            declarator: Declarator { name, specialisation, scope },
            ty: declarator.ty,
            init,
            is_constexpr: specifiers.is_constexpr,
            is_static: specifiers.is_static,
            is_extern,
            attributes,
            span,
        }
    }

    /// `= e`, `= {…}`, `(…)`, `{…}`.
    pub(super) fn initialiser(&mut self) -> Option<Initialiser> {
        if self.eat(Punct::Assign) {
            let value = if self.is(Punct::LBrace) { self.init_list() } else { self.assignment_expr() };
            return Some(Initialiser::Assign(value));
        }
        if self.is(Punct::LBrace) {
            return Some(Initialiser::Brace(self.brace_clauses()));
        }
        if self.eat(Punct::LParen) {
            let angle = std::mem::replace(&mut self.angle, false);
            let mut args = Vec::new();
            while !self.is(Punct::RParen) && !self.at_end() {
                let arg = if self.is(Punct::LBrace) { self.init_list() } else { self.assignment_expr() };
                args.push(self.pack_expansion(arg));
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
            self.angle = angle;
            self.expect(Punct::RParen, "to end the initialiser");
            return Some(Initialiser::Paren(args));
        }
        None
    }
}
