//! Parameter packs: how many elements an expansion has.

use super::ast_names::{self, Visitor};
use super::checker::{Checker, LocalDecl, ScopeKind, TArg};
use crate::ast;
use crate::token::Name;

impl<'a> Checker<'a> {
    pub(super) fn pack_length_of_type(&mut self, ty: &ast::Type) -> Option<usize> {
        let mut names = Vec::new();
        ast_names::in_type(ty, &mut Visitor::unexpanded(&mut |name| names.push(name)));
        self.first_pack(&names)
    }

    pub(super) fn pack_length_of_expr(&mut self, expr: &ast::Expr) -> Option<usize> {
        let mut names = Vec::new();
        ast_names::in_expr(expr, &mut Visitor::unexpanded(&mut |name| names.push(name)));
        self.first_pack(&names)
    }

    fn first_pack(&self, names: &[Name]) -> Option<usize> {
        names.iter().find_map(|&name| self.pack_length(name))
    }

    /// The length of the pack of that name, if it names one.
    pub(super) fn pack_length(&self, name: Name) -> Option<usize> {
        let mut at = Some(self.scope);
        while let Some(scope) = at {
            let data = &self.scopes[scope.0 as usize];
            at = data.parent;
            match &data.kind {
                ScopeKind::Block(names) => match names.get(&name) {
                    Some(LocalDecl::Pack(elements)) => return Some(elements.len()),
                    Some(_) => return None,
                    None => {}
                },
                ScopeKind::Template(bindings) => match bindings.iter().find(|(n, _)| *n == name) {
                    Some((_, TArg::Pack(elements))) => return Some(elements.len()),
                    Some(_) => return None,
                    None => {}
                },
                ScopeKind::Record(_) | ScopeKind::Namespace(_) => {}
            }
        }
        None
    }
}
