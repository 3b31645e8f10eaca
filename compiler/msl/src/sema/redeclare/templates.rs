//! Templates that are declared twice: function templates, member templates, alias templates, partial
//! specialisations and definitions outside of classes (C++14 [temp.over.link], [temp.class.spec]).

use crate::ast::{self, FunctionBody, ItemKind, TemplateParams};
use crate::hir::{QualTy, RecordId};
use crate::sema::checker::Checker;
use crate::sema::entities::FnDeclId;
use crate::sema::equivalence::{self, Signature};
use crate::sema::scopes::ScopeId;
use crate::sema::table::{Decl, Layer, function_key};
use crate::sema::{resolve_type, spelling};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Reports function templates of one name in one scope that are declared like an earlier one: members, and
/// others that are both defined or do not agree.
pub(super) fn check_overloads(cx: &mut Checker<'_>, decls: &[FnDeclId]) {
    let mut known: Vec<(Rc<Signature>, FnDeclId)> = Vec::new();
    for &decl in decls {
        if cx.functions.decl(decl).ast.specifiers.names_unmodelled_space {
            continue;
        }
        let signature = equivalence::signature(cx, decl);
        let earlier = known.iter().filter(|(known, _)| *known == signature);
        let problem = earlier.map(|&(_, earlier)| earlier).find_map(|earlier| excluded(cx, earlier, decl));
        if let Some((at, earlier, message)) = problem {
            report(cx, message, at, earlier);
        }
        known.push((signature, decl));
    }
}

/// Why a declaration of a function template excludes a later one: where to report it, the earlier declaration
/// and the message.
fn excluded(cx: &Checker<'_>, earlier: FnDeclId, later: FnDeclId) -> Option<(Span, Span, String)> {
    let is_member = cx.functions.decl(later).owner.is_some();
    let (old, new) = (cx.functions.decl(earlier).ast, cx.functions.decl(later).ast);
    let name = spelling::function(&new.name);
    let is_definition =
        |ast: &ast::Function| matches!(ast.body, FunctionBody::Block(_) | FunctionBody::Delete);
    let default = new.params.iter().find(|param| param.default.is_some());
    let message = if is_member && new.specifiers.is_static == old.specifiers.is_static {
        format!("class member `{name}` cannot be redeclared")
    } else if is_member {
        format!("static and non-static `{name}` cannot be overloaded")
    } else if is_definition(old) && is_definition(new) {
        format!("redefinition of `{name}`")
    } else if old.specifiers.is_constexpr != new.specifiers.is_constexpr {
        format!("`{name}` is declared with and without `constexpr`")
    } else {
        // C++14 [dcl.fct.default.4]
        let message = "default arguments cannot be added to a function template that is declared before";
        return default.map(|param| (param.span, old.span, message.to_owned()));
    };
    Some((new.span, old.span, message))
}

fn report(cx: &mut Checker<'_>, message: String, at: Span, earlier: Span) {
    let diagnostic = Diagnostic::error("redefinition", at, message);
    cx.report(diagnostic.with_note(earlier, "previously declared here"));
}

/// Reports alias templates of the same name for different types.
pub(in crate::sema) fn check_aliases<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    for (name, decls) in layer.own_names() {
        if decls.len() < 2 {
            continue;
        }
        let mut known = None;
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let (ItemKind::Alias(alias), Some(template)) = (&item.kind, &item.template) else { continue };
            let scope = cx.scopes.of_item(id);
            let form = equivalence::of_alias(cx, template, &alias.ty, scope);
            match &known {
                None => known = Some((form, alias.ty.span)),
                Some((other, _)) if *other == form => {}
                Some((_, earlier)) => {
                    let message = format!("`{name}` is a template of aliases for other types before");
                    report(cx, message, alias.ty.span, *earlier);
                }
            }
        }
    }
}

/// A partial specialisation of a class template.
struct Partial<'a> {
    name: Name,
    ast: &'a ast::Record,
    head: &'a TemplateParams,
    scope: ScopeId,
}

fn partial<'a>(item: &'a ast::Item, scope: ScopeId) -> Option<Partial<'a>> {
    let (ItemKind::Record(ast), Some(head)) = (&item.kind, &item.template) else { return None };
    let is_partial = !head.params.is_empty() && ast.specialisation.is_some() && ast.scope.is_none();
    is_partial.then_some(Partial { name: ast.name?, ast, head, scope })
}

/// Reports partial specialisations in namespaces that are defined twice.
pub(in crate::sema) fn check_partials<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut all = Vec::new();
    for (id, entry) in layer.own_items() {
        all.extend(partial(&entry.item, cx.scopes.of_item(id)).filter(|found| found.ast.members.is_some()));
    }
    compare_partials(cx, &all);
}

/// Reports partial specialisations of a class's templates that are declared twice, perhaps with the arguments
/// of the class only.
pub(in crate::sema) fn check_member_partials(cx: &mut Checker<'_>, class: RecordId) {
    let Some(ast) = cx.records.get(class).ast else { return };
    let scope = cx.records.get(class).scope;
    let found: Vec<Partial<'_>> =
        ast.members.iter().flatten().filter_map(|item| partial(item, scope)).collect();
    compare_partials(cx, &found);
}

/// Reports explicit specialisations in an instance of a class template that its arguments make the same.
pub(in crate::sema) fn check_member_specialisations(cx: &mut Checker<'_>, class: RecordId) {
    let Some(ast) = cx.records.get(class).ast else { return };
    let scope = cx.records.get(class).scope;
    let mut known: Vec<(Name, Vec<QualTy>, Span)> = Vec::new();
    for item in ast.members.iter().flatten() {
        let is_full = item.template.as_ref().is_some_and(|head| head.params.is_empty());
        let (name, args, span) = match &item.kind {
            ItemKind::Variable(variable) if is_full => {
                let declarator = &variable.declarator;
                (declarator.name, &declarator.specialisation, variable.span)
            }
            ItemKind::Record(record) if is_full && record.members.is_some() => {
                let Some(name) = record.name else { continue };
                (name, &record.specialisation, record.span)
            }
            _ => continue,
        };
        let Some(types) = args.as_ref().and_then(|args| types_of(cx, args, scope)) else { continue };
        let same = known.iter().find(|(other, known, _)| *other == name && *known == types);
        if let Some(&(_, _, earlier)) = same {
            report(cx, format!("redefinition of `{name}` with the same template arguments"), span, earlier);
        }
        known.push((name, types, span));
    }
}

/// The types that template arguments are, if all are types without errors.
fn types_of<'a>(cx: &mut Checker<'a>, args: &'a [ast::TemplateArg], scope: ScopeId) -> Option<Vec<QualTy>> {
    let of_arg = |arg: &'a ast::TemplateArg| match arg {
        ast::TemplateArg::Type(ty) => {
            let ty = cx.quietly(|cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, ty))).ok()?;
            (!ty.ty.is_error()).then_some(ty)
        }
        ast::TemplateArg::Expr(_) => None,
    };
    args.iter().map(of_arg).collect()
}

fn compare_partials<'a>(cx: &mut Checker<'a>, all: &[Partial<'a>]) {
    let mut known: Vec<(Vec<_>, &Partial<'a>)> = Vec::new();
    for later in all {
        let is_single = all.iter().filter(|other| other.name == later.name).count() < 2;
        let Some(written) = later.ast.specialisation.as_ref().filter(|_| !is_single) else { continue };
        let form = equivalence::of_specialisation(cx, later.head, written, later.scope);
        let mut earlier = known.iter().filter(|(_, other)| other.name == later.name);
        let same = earlier.find(|(other, known)| known.scope == later.scope && *other == form);
        if let Some((_, same)) = same {
            let message = format!("partial specialization of `{}` cannot be redeclared", later.name);
            report(cx, message, later.ast.span, same.ast.span);
        }
        known.push((form, later));
    }
}

/// Reports member functions of class templates that are defined twice outside of their class.
pub(in crate::sema) fn check_definitions<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut known: FxHashMap<Name, Vec<(Vec<_>, Span)>> = FxHashMap::default();
    for (id, entry) in layer.own_items() {
        let (ItemKind::Function(ast), Some(head)) = (&entry.item.kind, &entry.item.template) else {
            continue;
        };
        let (Some(path), Some(key)) = (&ast.scope, function_key(&ast.name)) else { continue };
        let is_of_template = head.heads().iter().all(|head| !head.params.is_empty());
        if !is_of_template || !matches!(ast.body, FunctionBody::Block(_) | FunctionBody::Delete) {
            continue;
        }
        let scope = cx.scopes.of_item(id);
        if cx.table.find_namespace(entry.ns, path).is_some() {
            continue;
        }
        let form = equivalence::of_definition(cx, ast, head, path, scope);
        let others = known.entry(key).or_default();
        if let Some(&(_, earlier)) = others.iter().find(|(other, _)| *other == form) {
            let message = format!("redefinition of `{}`", spelling::function(&ast.name));
            report(cx, message, ast.span, earlier);
            // It fits a declaration, if not as its definition.
            cx.functions.served.insert(ast.id);
        }
        others.push((form, ast.span));
    }
}
