//! Where the body of an instance stands: at a full specialisation, outside of the class, at the declaration,
//! or at a later declaration of the same function. In this order.

use super::Definition;
use crate::ast::{self, FunctionBody, ItemKind};
use crate::hir::{FuncId, RecordId};
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::lookup::Found;
use crate::sema::out_of_line::Fit;
use crate::sema::scopes::ScopeId;
use crate::sema::table::{Decl, function_key};
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// Finds the body that serves an instance.
    pub(in crate::sema) fn find_definition(
        &mut self,
        id: FuncId,
        decl_id: FnDeclId,
    ) -> Option<Definition<'a>> {
        if let Some(special) = self.function_specialisation(id, decl_id) {
            return Some(special);
        }
        let decl = self.functions.decl(decl_id);
        if let Some(owner) = decl.owner {
            // A body in the class gives way to a specialisation only.
            let least = if matches!(decl.ast.body, FunctionBody::None) { Fit::Any } else { Fit::Exact };
            if let Some(definition) = self.out_of_line_definition(id, decl_id, owner, least) {
                return Some(definition);
            }
        }
        let decl = self.functions.decl(decl_id);
        let own = Definition { ast: decl.ast, scope: self.functions.inst(id).scope };
        match &decl.ast.body {
            FunctionBody::Block(_) | FunctionBody::Default => Some(own),
            FunctionBody::Delete => None,
            FunctionBody::None if decl.owner.is_some() => None,
            FunctionBody::None => self.later_definition(id, decl_id),
        }
    }

    /// A forward declaration's definition: the same name and parameter types in the same namespace.
    fn later_definition(&mut self, id: FuncId, decl_id: FnDeclId) -> Option<Definition<'a>> {
        let decl = self.functions.decl(decl_id);
        let key = function_key(&decl.ast.name)?;
        let ns = self.scopes.enclosing_namespace(decl.scope);
        let params = self.functions.inst(id).params.clone();
        let args = self.functions.inst(id).args.clone();
        let is_template = decl.template.is_some();
        let Some(Found::Functions(all)) = self.lookup_directly(ns, key) else {
            return None;
        };
        for &other in all.iter() {
            let candidate = self.functions.decl(other);
            let fits = other != decl_id
                && candidate.template.is_some() == is_template
                && matches!(candidate.ast.body, FunctionBody::Block(_));
            if !fits {
                continue;
            }
            if let Ok(Some(same)) = self.quietly(|s| s.instantiate_function(other, args.clone(), Span::NONE))
                && Self::are_same_params(&self.functions.inst(same).params, &params)
            {
                return Some(Definition {
                    ast: self.functions.decl(other).ast,
                    scope: self.functions.inst(same).scope,
                });
            }
        }
        None
    }

    /// `template <> f<int>(…) { … }`, if these arguments have one.
    pub(in crate::sema) fn function_specialisation(
        &mut self,
        id: FuncId,
        decl_id: FnDeclId,
    ) -> Option<Definition<'a>> {
        let decl = self.functions.decl(decl_id);
        decl.template?;
        let key = function_key(&decl.ast.name)?;
        let ns = self.scopes.enclosing_namespace(decl.scope);
        if let Some(owner) = decl.owner {
            return self.member_specialisation(id, decl_id, owner);
        }
        let mut items = Vec::new();
        self.table.own_decls(ns, key, &mut |decl| {
            if let Decl::Item(item) = decl {
                items.push(item);
            }
        });
        for item in items {
            let entry = self.table.entry(item);
            let (ItemKind::Function(ast), Some(template)) = (&entry.item.kind, &entry.item.template) else {
                continue;
            };
            if !template.params.is_empty() || matches!(ast.body, FunctionBody::None) {
                continue;
            }
            let scope = self.scopes.of_item(item);
            if self.specialises(ast, scope, id, decl_id) {
                return Some(Definition { ast, scope });
            }
        }
        None
    }

    /// The same in a class, between its members.
    fn member_specialisation(
        &mut self,
        id: FuncId,
        decl_id: FnDeclId,
        owner: RecordId,
    ) -> Option<Definition<'a>> {
        let decl = self.functions.decl(decl_id);
        let (scope, key) = (decl.scope, function_key(&decl.ast.name));
        let members = self.records.get(owner).ast?.members.as_ref()?;
        for item in members {
            let (ItemKind::Function(ast), Some(template)) = (&item.kind, &item.template) else { continue };
            let is_candidate = template.params.is_empty()
                && matches!(ast.body, FunctionBody::Block(_))
                && function_key(&ast.name) == key;
            if is_candidate && self.specialises(ast, scope, id, decl_id) {
                return Some(Definition { ast, scope });
            }
        }
        None
    }

    fn specialises(&mut self, ast: &'a ast::Function, scope: ScopeId, id: FuncId, decl_id: FnDeclId) -> bool {
        let params = self.functions.inst(id).params.clone();
        let Ok(Some((own, ret))) = self.quietly(|s| s.in_scope(scope, |s| s.signature(ast))) else {
            return false;
        };
        if !Self::are_same_params(&own, &params) {
            return false;
        }
        match &ast.specialisation {
            Some(written) => {
                let args = self.functions.inst(id).args.clone();
                let bound = self.quietly(|s| {
                    s.in_scope(scope, |s| {
                        let explicit = s.explicit_args(written);
                        s.args_with_deduction(decl_id, explicit, &own)
                    })
                });
                bound.ok().flatten().is_some_and(|bound| bound == args)
            }
            None => {
                ret.is_none() || self.functions.inst(id).ret.is_none() || ret == self.functions.inst(id).ret
            }
        }
    }
}
