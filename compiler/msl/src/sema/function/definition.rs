//! Where the body of an instance stands: at a full specialisation, outside of the class, at the declaration,
//! or at a later declaration of the same function. In this order.

use super::{Definition, Origin, signature};
use crate::ast::{self, FunctionBody, ItemKind};
use crate::hir::{FuncId, RecordId};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, Found};
use crate::sema::out_of_line::Fit;
use crate::sema::scopes::ScopeId;
use crate::sema::table::{Decl, function_key};
use crate::sema::{equivalence, function, kernel, lookup, out_of_line, template_args};
use anymetal_diagnostics::Span;

/// Finds the body that serves an instance.
pub(in crate::sema) fn find_definition<'a>(
    cx: &mut Checker<'a>,
    id: FuncId,
    decl_id: FnDeclId,
) -> Option<Definition<'a>> {
    let has_body = |definition: &Definition<'a>| {
        matches!(definition.ast.body, FunctionBody::Block(_) | FunctionBody::Default)
    };
    if let Some(special) = specialisation(cx, id, decl_id) {
        return Some(special).filter(has_body);
    }
    let decl = cx.functions.decl(decl_id);
    if let Some(owner) = decl.owner {
        // A body in the class gives way to a specialisation only.
        let least = if matches!(decl.ast.body, FunctionBody::None) { Fit::Any } else { Fit::Exact };
        if let Some(definition) = out_of_line::definition(cx, id, decl_id, owner, least) {
            return Some(definition).filter(has_body);
        }
    }
    let decl = cx.functions.decl(decl_id);
    let own = Definition { ast: decl.ast, scope: cx.functions.inst(id).scope };
    match &decl.ast.body {
        FunctionBody::Block(_) | FunctionBody::Default => Some(own),
        FunctionBody::Delete => None,
        FunctionBody::None if decl.owner.is_some() => None,
        FunctionBody::None => later_definition(cx, id, decl_id),
    }
}

/// Whether there is a body to check. A defaulted function may be deleted until it is used.
pub(in crate::sema) fn has_code(cx: &mut Checker<'_>, id: FuncId) -> bool {
    match cx.functions.inst(id).origin {
        Origin::Decl(decl) => find_definition(cx, id, decl)
            .is_some_and(|definition| matches!(definition.ast.body, FunctionBody::Block(_))),
        Origin::Synthesised(_) => true,
        Origin::Dispatch | Origin::Linked => false,
    }
}

/// A forward declaration's definition: the same name and parameter types in the same namespace.
fn later_definition<'a>(cx: &mut Checker<'a>, id: FuncId, decl_id: FnDeclId) -> Option<Definition<'a>> {
    let decl = cx.functions.decl(decl_id);
    let key = function_key(&decl.ast.name)?;
    let ns = cx.scopes.enclosing_namespace(decl.scope);
    let params = cx.functions.inst(id).params.clone();
    let args = cx.functions.inst(id).args.clone();
    let is_template = decl.template.is_some();
    let Some(Found::Functions(all)) = lookup::directly(cx, ns, key) else {
        return None;
    };
    for &other in all.iter() {
        let candidate = cx.functions.decl(other);
        let fits = other != decl_id
            && candidate.template.is_some() == is_template
            && matches!(candidate.ast.body, FunctionBody::Block(_));
        if !fits || (is_template && !is_redeclaration(cx, decl_id, other)) {
            continue;
        }
        if let Ok(Some(same)) = cx.quietly(|cx| function::instantiate(cx, other, args.clone(), Span::NONE))
            && function::are_same_params(&cx.functions.inst(same).params, &params)
        {
            return Some(Definition {
                ast: cx.functions.decl(other).ast,
                scope: cx.functions.inst(same).scope,
            });
        }
    }
    None
}

/// Whether two declarations in one scope are of one function template.
fn is_redeclaration(cx: &mut Checker<'_>, a: FnDeclId, b: FnDeclId) -> bool {
    let (a, b) = (equivalence::signature(cx, a), equivalence::signature(cx, b));
    a == b
}

/// `template <> f<int>(…) { … }`, if these arguments have one; it may be declared alone.
pub(in crate::sema) fn specialisation<'a>(
    cx: &mut Checker<'a>,
    id: FuncId,
    decl_id: FnDeclId,
) -> Option<Definition<'a>> {
    let decl = cx.functions.decl(decl_id);
    decl.template?;
    let key = function_key(&decl.ast.name)?;
    let ns = cx.scopes.enclosing_namespace(decl.scope);
    if let Some(owner) = decl.owner {
        return member_specialisation(cx, id, decl_id, owner);
    }
    let mut items = Vec::new();
    // A template of an inline namespace may be specialised in the namespace around it.
    for ns in cx.table.enclosing_set(ns) {
        cx.table.own_decls(ns, key, &mut |decl| {
            if let Decl::Item(item) = decl {
                items.push(item);
            }
        });
    }
    let mut declared = None;
    for item in items {
        let entry = cx.table.entry(item);
        let (ItemKind::Function(ast), Some(template)) = (&entry.item.kind, &entry.item.template) else {
            continue;
        };
        if !template.params.is_empty() {
            continue;
        }
        let scope = cx.scopes.of_item(item);
        if specialises(cx, ast, scope, id, decl_id) && is_chosen(cx, ast, scope, decl_id) {
            let definition = Definition { ast, scope };
            if !matches!(ast.body, FunctionBody::None) {
                return Some(definition);
            }
            declared.get_or_insert(definition);
        }
    }
    declared
}

/// Whether a full specialisation is of this template, and not of another that is more specialised.
fn is_chosen<'a>(cx: &mut Checker<'a>, ast: &'a ast::Function, scope: ScopeId, decl_id: FnDeclId) -> bool {
    let decl = cx.functions.decl(decl_id);
    let ns = cx.scopes.enclosing_namespace(decl.scope);
    let found = function_key(&decl.ast.name).and_then(|key| lookup::directly(cx, ns, key));
    let Some(Found::Functions(all)) = found else { return true };
    let is_template = |decl: &&FnDeclId| cx.functions.decl(**decl).template.is_some();
    let templates: Vec<FnDeclId> = all.iter().filter(is_template).copied().collect();
    if templates.len() < 2 {
        return true;
    }
    let signature = kernel::Signature::of(ast);
    let chosen =
        cx.quietly(|cx| kernel::instantiated_by_signature(cx, &templates, signature, scope, ast.span));
    // What is ambiguous is reported at the specialisation.
    let Ok(Some(chosen)) = chosen else { return true };
    let chosen = cx.functions.inst(chosen).origin.decl();
    chosen.is_none_or(|chosen| chosen == decl_id || is_redeclaration(cx, chosen, decl_id))
}

/// The same in a class, between its members.
fn member_specialisation<'a>(
    cx: &mut Checker<'a>,
    id: FuncId,
    decl_id: FnDeclId,
    owner: RecordId,
) -> Option<Definition<'a>> {
    let decl = cx.functions.decl(decl_id);
    let (scope, key) = (decl.scope, function_key(&decl.ast.name));
    let members = cx.records.get(owner).ast?.members.as_ref()?;
    for item in members {
        let (ItemKind::Function(ast), Some(template)) = (&item.kind, &item.template) else { continue };
        let is_candidate = template.params.is_empty()
            && matches!(ast.body, FunctionBody::Block(_))
            && function_key(&ast.name) == key;
        if is_candidate && specialises(cx, ast, scope, id, decl_id) {
            return Some(Definition { ast, scope });
        }
    }
    None
}

/// Whether a full specialisation is of that template and has the instance's arguments.
pub(in crate::sema) fn specialises<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    scope: ScopeId,
    id: FuncId,
    decl_id: FnDeclId,
) -> bool {
    let params = cx.functions.inst(id).params.clone();
    let Ok(Some((own, ret))) = cx.quietly(|cx| cx.in_scope(scope, |cx| signature::signature(cx, ast))) else {
        return false;
    };
    if !function::are_same_params(&own, &params) {
        return false;
    }
    match &ast.specialisation {
        Some(written) => {
            let args = cx.functions.inst(id).args.clone();
            let bound = cx.quietly(|cx| {
                cx.in_scope(scope, |cx| {
                    let explicit = template_args::explicit(cx, written);
                    signature::args_with_deduction(cx, decl_id, explicit, &own, ret)
                })
            });
            bound.ok().flatten().is_some_and(|bound| bound == args)
        }
        None => ret.is_none() || cx.functions.inst(id).ret.is_none() || ret == cx.functions.inst(id).ret,
    }
}
