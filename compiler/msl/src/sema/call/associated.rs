//! Argument-dependent lookup: functions of the namespaces that the arguments' types come from, and friends
//! that are defined in their classes.

use super::Arg;
use crate::ast::FunctionBody;
use crate::hir::{RecordId, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, Found, TArg};
use crate::sema::pattern::Pat;
use crate::sema::table::NsId;
use crate::sema::{function, lookup, record};
use crate::token::Name;

/// Where the arguments' types come from.
#[derive(Default)]
struct Associated {
    namespaces: Vec<NsId>,
    classes: Vec<RecordId>,
}

/// Functions that the arguments' types lead to, besides those known.
pub(in crate::sema) fn argument_dependent<'a>(
    cx: &mut Checker<'a>,
    name: Name,
    args: &[Arg<'a>],
    known: &[FnDeclId],
) -> Vec<FnDeclId> {
    let mut associated = Associated::default();
    for arg in args {
        match arg {
            Arg::Expr(expr) => associate(cx, expr.ty.ty, &mut associated, 0),
            Arg::Functions(decls, ..) => {
                let patterns: Vec<_> = decls.iter().map(|&decl| function::patterns_of(cx, decl)).collect();
                for pattern in patterns.iter().flat_map(|patterns| patterns.iter()) {
                    if let Pat::Fixed(ty) = pattern {
                        associate(cx, ty.ty, &mut associated, 0);
                    }
                }
            }
            Arg::List(..) => {}
        }
    }
    let mut found: Vec<FnDeclId> = Vec::new();
    let mut find = |decl: FnDeclId| {
        if !known.contains(&decl) && !found.contains(&decl) {
            found.push(decl);
        }
    };
    for ns in associated.namespaces {
        // Directives of associated namespaces do not count (C++14 [basic.lookup.argdep]).
        if let Some(Found::Functions(decls)) = lookup::directly(cx, ns, name) {
            decls.iter().copied().for_each(&mut find);
        }
    }
    let mut friends_found = Vec::new();
    for class in associated.classes {
        record::declare_members(cx, class);
        let friends = &cx.records.get(class).friends;
        for &(_, decl) in friends.iter().filter(|(friend, _)| *friend == name) {
            // A friend that is only declared here stands for itself if the namespace does not declare it.
            let ast = cx.functions.decl(decl).ast;
            let is_declared =
                |&other: &FnDeclId| cx.functions.decl(other).ast.params.len() == ast.params.len();
            let is_only_declared = matches!(ast.body, FunctionBody::None);
            if !(is_only_declared && (found.iter().any(is_declared) || known.iter().any(is_declared))) {
                friends_found.push(decl);
            }
        }
    }
    for decl in friends_found {
        if !known.contains(&decl) && !found.contains(&decl) {
            found.push(decl);
        }
    }
    found
}

fn associate(cx: &mut Checker<'_>, ty: Ty, out: &mut Associated, depth: u32) {
    if depth > 4 {
        return;
    }
    let ns = match *cx.types.kind(ty) {
        TyKind::Pointer(to) | TyKind::Reference { to, .. } => {
            return associate(cx, to.ty, out, depth + 1);
        }
        TyKind::Array(elem, _) => return associate(cx, elem, out, depth + 1),
        TyKind::Record(id) => Some(cx.scopes.enclosing_namespace(cx.records.get(id).decl_scope)),
        TyKind::Enum(id) => Some(cx.scopes.enclosing_namespace(cx.enums.get(id).scope)),
        TyKind::Matrix { .. } => metal_namespace(cx),
        _ => None,
    };
    out.namespaces.extend(ns.filter(|ns| !out.namespaces.contains(ns)));
    if let TyKind::Record(id) = *cx.types.kind(ty) {
        associate_class(cx, id, out, depth);
    }
}

fn associate_class(cx: &mut Checker<'_>, id: RecordId, out: &mut Associated, depth: u32) {
    if out.classes.contains(&id) {
        return;
    }
    out.classes.push(id);
    for arg in cx.records.get(id).args.clone().iter() {
        if let TArg::Type(ty) = arg {
            associate(cx, ty.ty, out, depth + 1);
        }
    }
    for (base, _) in cx.records.get(id).bases.clone() {
        associate(cx, cx.records.get(base).ty, out, depth + 1);
    }
}

pub(in crate::sema) fn metal_namespace(cx: &mut Checker<'_>) -> Option<NsId> {
    let name = cx.names.metal;
    match lookup::in_namespace(cx, NsId::GLOBAL, name) {
        Some(Found::Namespace(ns)) => Some(ns),
        _ => None,
    }
}
