//! Access control: whether code may use a member or a base of a class (C++14 [class.access]).
//!
//! Names are checked where they are resolved, functions where they are used, since overload resolution does
//! not look at access. Code has the rights of the classes around it, of the class that it is a member of, and
//! of the classes that befriend it.

use super::checker::Checker;
use super::entities::{FnDeclId, Found, TArg};
use super::record::Records;
use super::scopes::{ScopeId, Scopes};
use super::table::function_key;
use super::template_args::{self, ExplicitArg};
use super::{function, path, record, resolve_type};
use crate::ast::{self, Access, ItemKind};
use crate::hir::{CastKind, Expr, ExprKind, FuncId, RecordId, Ty};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// A member as the rules see it.
#[derive(Clone, Copy, Debug)]
struct Accessed {
    owner: RecordId,
    access: Access,
    /// Whether it is used through an object.
    needs_object: bool,
}

/// Whether what a lookup in the class found may be used here; reports if not. Functions are checked where
/// they are used. With `has_object`, data members are those of an object of that class.
pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    class: RecordId,
    name: Name,
    found: &Found<'a>,
    has_object: bool,
    span: Span,
) -> bool {
    if matches!(found, Found::Functions(_) | Found::Error | Found::Ambiguous(_)) {
        return true;
    }
    // The closures of lambdas have members that no class declares.
    let Some(owner) = declaring_class(&cx.records, class, name) else { return true };
    let access = cx.records.get(owner).access.members.get(&name).copied().unwrap_or(Access::Public);
    let accessed = Accessed { owner, access, needs_object: has_object && matches!(found, Found::Field(..)) };
    check_found(cx, class, accessed, name.as_str(), span)
}

/// Whether a function may be used here with an object; reports if not.
pub(super) fn check_function(cx: &mut Checker<'_>, func: FuncId, object: Option<&Expr>, span: Span) -> bool {
    // Only members have access control.
    let Some((class, accessed)) = accessed_function(cx, func, object) else { return true };
    let name = cx.functions.inst(func).name.clone();
    check_found(cx, class, accessed, &name, span)
}

/// Whether the members of a class may use a constructor or assignment of a base or member.
pub(super) fn is_accessible_in(cx: &mut Checker<'_>, class: RecordId, func: FuncId, of_base: bool) -> bool {
    let Some((naming, mut accessed)) = accessed_function(cx, func, None) else { return true };
    // The base is part of an object of the class.
    accessed.needs_object &= !of_base;
    let scope = cx.records.get(class).scope;
    cx.in_scope(scope, |cx| may_access(cx, naming, accessed))
}

/// Whether the members of a class may use a member of another class with that access through an object of it,
/// or of a base through an object of theirs.
pub(super) fn is_member_accessible_in(
    cx: &mut Checker<'_>,
    class: RecordId,
    owner: RecordId,
    access: Access,
    of_base: bool,
) -> bool {
    let scope = cx.records.get(class).scope;
    let accessed = Accessed { owner, access, needs_object: !of_base };
    cx.in_scope(scope, |cx| may_access(cx, owner, accessed))
}

/// The class that a member function is used through; `None` for other functions.
fn accessed_function(
    cx: &mut Checker<'_>,
    func: FuncId,
    object: Option<&Expr>,
) -> Option<(RecordId, Accessed)> {
    // Functions that a class has without declaring them are public.
    let decl = cx.functions.inst(func).origin.decl()?;
    let data = cx.functions.decl(decl);
    let (owner, mut access) = (data.owner?, data.access);
    let is_constructor = matches!(data.ast.name, ast::FunctionName::Constructor(_));
    let is_conversion =
        matches!(data.ast.name, ast::FunctionName::Operator(ast::OperatorName::Conversion(_)));
    let key = function_key(&data.ast.name);
    let mut needs_object = cx.functions.needs_object(decl) && !is_constructor;
    if needs_object && let Some(object) = object {
        // The object of `Base::f()` is of a derived class.
        let whole = whole_object(object);
        let derived = cx.types.as_record(whole.ty.ty);
        let around = cx.scopes.classes_around();
        needs_object = !derived.is_some_and(|derived| {
            whole.ty.ty != object.ty.ty
                && around.iter().any(|&at| at == derived || cx.records.bases_of(derived).contains(&at))
        });
    }
    // A static function may be called where there is an object of an unrelated class.
    let class = object.and_then(|object| cx.types.as_record(object.ty.ty));
    let class = class.filter(|&class| record::base_path(cx, class, owner).is_some()).unwrap_or(owner);
    let mut declaring = owner;
    if class != owner {
        let classes = Vec::from_iter(std::iter::once(class).chain(cx.records.bases_of(class)));
        // Other names have been looked up, which resolved the using-declarations on the way.
        if let Some(key) = key.filter(|_| is_conversion) {
            classes.iter().for_each(|&at| drop(record::lookup_in_class(cx, at, key)));
        }
        let introduces = |at: &RecordId| cx.records.get(*at).introduced.contains(&decl);
        if let Some(by) = classes.into_iter().find(introduces) {
            declaring = by;
            let declared = key.and_then(|key| cx.records.get(by).access.members.get(&key));
            access = declared.copied().unwrap_or(Access::Public);
        }
    }
    Some((class, Accessed { owner: declaring, access, needs_object }))
}

/// The class that declares a name that a lookup in a class finds.
fn declaring_class(records: &Records<'_>, class: RecordId, name: Name) -> Option<RecordId> {
    let declares = |id: &RecordId| {
        let inst = records.get(*id);
        inst.members.contains_key(&name) || inst.name == Some(name)
    };
    Some(class).filter(declares).or_else(|| records.bases_of(class).into_iter().find(declares))
}

fn check_found(cx: &mut Checker<'_>, class: RecordId, accessed: Accessed, name: &str, span: Span) -> bool {
    if may_access(cx, class, accessed) {
        return true;
    }
    let owner = cx.types.record(accessed.owner).name.clone();
    let message = match accessed.access {
        Access::Public => format!("`{name}` is a member of a base that is not accessible here"),
        Access::Protected => format!("`{name}` is a protected member of `{owner}`"),
        Access::Private => format!("`{name}` is a private member of `{owner}`"),
    };
    let mut diagnostic = Diagnostic::error("inaccessible-member", span, message);
    if let Some(ast) = cx.records.get(accessed.owner).ast {
        diagnostic = diagnostic.with_note(ast.span, "the class is declared here");
    }
    cx.report(diagnostic);
    false
}

fn may_access(cx: &mut Checker<'_>, class: RecordId, accessed: Accessed) -> bool {
    let is_own = class == accessed.owner && accessed.access == Access::Public;
    is_own || cx.records.ignores_access || { may_name(cx, class, accessed, &mut FxHashMap::default()) }
}

/// Whether a member is accessible when it is named in a class (C++14 [class.access.base.5]).
fn may_name(
    cx: &mut Checker<'_>,
    class: RecordId,
    accessed: Accessed,
    known: &mut FxHashMap<RecordId, bool>,
) -> bool {
    if let Some(&known) = known.get(&class) {
        return known;
    }
    let result = match as_member(&cx.records, class, accessed, &mut FxHashMap::default()) {
        Some(Access::Public) => true,
        Some(_) if has_rights_of(cx, class) => true,
        // Through an object only of the class itself or a derived one, which are the other cases.
        Some(Access::Protected)
            if !accessed.needs_object && has_rights_of_derived(&cx.scopes, &cx.records, class) =>
        {
            true
        }
        _ => {
            let bases = cx.records.get(class).bases.clone();
            bases.into_iter().any(|(base, _)| {
                may_convert_to_direct(cx, class, base) && may_name(cx, base, accessed, known)
            })
        }
    };
    known.insert(class, result);
    result
}

/// The access that a member has as a member of a class; `None` if it is private in a base.
fn as_member(
    records: &Records<'_>,
    class: RecordId,
    accessed: Accessed,
    known: &mut FxHashMap<RecordId, Option<Access>>,
) -> Option<Access> {
    if class == accessed.owner {
        return Some(accessed.access);
    }
    if let Some(&known) = known.get(&class) {
        return known;
    }
    let inst = records.get(class);
    let found = inst.bases.iter().filter_map(|&(base, _)| {
        let inner = as_member(records, base, accessed, known)?;
        (inner != Access::Private).then(|| inner.max(of_base(records, class, base)))
    });
    let found = found.min();
    known.insert(class, found);
    found
}

fn of_base(records: &Records<'_>, class: RecordId, base: RecordId) -> Access {
    records.get(class).access.bases.get(&base).copied().unwrap_or(Access::Public)
}

fn may_convert_to_direct(cx: &mut Checker<'_>, class: RecordId, base: RecordId) -> bool {
    match of_base(&cx.records, class, base) {
        Access::Public => true,
        Access::Protected => {
            has_rights_of(cx, class) || has_rights_of_derived(&cx.scopes, &cx.records, class)
        }
        Access::Private => has_rights_of(cx, class),
    }
}

/// Checks that objects may be converted to a base here; reports if not.
pub(super) fn check_base(cx: &mut Checker<'_>, derived: Ty, base: Ty, span: Span) -> bool {
    let (Some(from), Some(to)) = (cx.types.as_record(derived), cx.types.as_record(base)) else {
        return true;
    };
    if cx.records.ignores_access || may_convert(cx, from, to, &mut FxHashMap::default()) {
        return true;
    }
    let (from, to) = (cx.types.record(from).name.clone(), cx.types.record(to).name.clone());
    let message = format!("the base `{to}` of `{from}` is not accessible here");
    cx.error("inaccessible-member", span, message);
    false
}

fn may_convert(
    cx: &mut Checker<'_>,
    from: RecordId,
    to: RecordId,
    known: &mut FxHashMap<RecordId, bool>,
) -> bool {
    if from == to {
        return true;
    }
    if let Some(&known) = known.get(&from) {
        return known;
    }
    let bases = cx.records.get(from).bases.clone();
    let result = bases
        .into_iter()
        .any(|(base, _)| may_convert(cx, base, to, known) && may_convert_to_direct(cx, from, base));
    known.insert(from, result);
    result
}

// --- whose rights the code has

/// Whether the current code is in the class, in a class within it, or befriended by it.
fn has_rights_of(cx: &mut Checker<'_>, class: RecordId) -> bool {
    cx.scopes.classes_around().contains(&class) || is_befriended(cx, class)
}

fn has_rights_of_derived(scopes: &Scopes<'_>, records: &Records<'_>, class: RecordId) -> bool {
    let around = scopes.classes_around();
    around.into_iter().any(|at| at != class && records.bases_of(at).contains(&class))
}

fn is_befriended(cx: &mut Checker<'_>, class: RecordId) -> bool {
    let befriended = cx.records.get(class).access.befriended.clone();
    befriended.into_iter().any(|item| match &item.kind {
        ItemKind::Function(function) => is_in_friend(cx, class, function, item.template.is_some()),
        ItemKind::Friend(ty) => is_in_friend_class(cx, class, ty, item.template.is_some()),
        _ => panic!("only functions and classes are friends"),
    })
}

fn is_in_friend_class<'a>(
    cx: &mut Checker<'a>,
    class: RecordId,
    ty: &'a ast::Type,
    is_template: bool,
) -> bool {
    let around = cx.scopes.classes_around();
    if is_template {
        let ast::TypeKind::Path(path) = &ty.kind else { return false };
        let name = path.segments.last().map(|segment| segment.name);
        return around
            .into_iter()
            .any(|at| cx.records.get(at).template.is_some() && cx.records.get(at).name == name);
    }
    let scope = cx.records.get(class).scope;
    let friend =
        cx.without_access(|cx| cx.quietly(|cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, ty))));
    let friend = friend.ok().and_then(|ty| cx.types.as_record(ty.ty));
    friend.is_some_and(|friend| around.contains(&friend))
}

/// Whether the current code is in the body of a function that the class befriends.
fn is_in_friend<'a>(
    cx: &mut Checker<'a>,
    class: RecordId,
    friend: &'a ast::Function,
    is_template: bool,
) -> bool {
    let scope = cx.records.get(class).scope;
    let key = function_key(&friend.name);
    // A friend function template may also use private names in its declaration.
    if is_template && let Some(&(decl, _)) = cx.functions.signatures.last() {
        let data = cx.functions.decl(decl);
        let is_alike = data.template.is_some() && function_key(&data.ast.name) == key;
        if is_alike && is_where_declared(cx, decl, friend, scope) {
            return true;
        }
    }
    let around = cx.functions.bodies_around(&cx.scopes);
    around.into_iter().any(|func| {
        // Only declared functions are named as friends.
        let Some(decl) = cx.functions.inst(func).origin.decl() else { return false };
        let data = cx.functions.decl(decl);
        let own_template = data.template.is_some();
        if function_key(&data.ast.name) != key || !is_where_declared(cx, decl, friend, scope) {
            return false;
        }
        if is_template {
            return own_template;
        }
        if let Some(args) = &friend.specialisation
            && !(own_template && are_arguments_of(cx, func, args, scope))
        {
            return false;
        }
        let signature =
            cx.without_access(|cx| cx.quietly(|cx| cx.in_scope(scope, |cx| function::signature(cx, friend))));
        matches!(signature, Ok(Some((params, _)))
                if function::are_same_params(&params, &cx.functions.inst(func).params))
    })
}

/// Whether a function is a member of the class or namespace that a friend declaration names.
fn is_where_declared<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    friend: &'a ast::Function,
    scope: ScopeId,
) -> bool {
    let data = cx.functions.decl(decl);
    let (owner, ns) = (data.owner, cx.scopes.enclosing_namespace(data.scope));
    let Some(path) = &friend.scope else { return owner.is_none() };
    if let Some(named) = cx.table.find_namespace(cx.scopes.enclosing_namespace(scope), path) {
        return owner.is_none() && cx.table.enclosing_set(ns).contains(&named);
    }
    // A class that depends on template arguments may be any.
    let class = path::class_of_path(cx, path, scope);
    owner.is_some() && class.is_none_or(|class| owner == Some(class))
}

/// Whether the template arguments in a friend declaration equal the first arguments of an instance.
fn are_arguments_of<'a>(
    cx: &mut Checker<'a>,
    func: FuncId,
    written: &'a [ast::TemplateArg],
    scope: ScopeId,
) -> bool {
    let explicit = |cx: &mut Checker<'a>| cx.in_scope(scope, |cx| template_args::explicit(cx, written));
    let Ok(explicit) = cx.without_access(|cx| cx.quietly(explicit)) else { return true };
    let args = cx.functions.inst(func).args.clone();
    explicit.iter().zip(args.iter()).all(|(written, arg)| match (written, arg) {
        (ExplicitArg::Type(ty), TArg::Type(arg)) => ty == arg || cx.is_dependent(ty.ty),
        _ => true,
    })
}

/// The object that a base subobject is part of.
fn whole_object(object: &Expr) -> &Expr {
    match &object.kind {
        ExprKind::Field(whole, ..) => whole_object(whole),
        ExprKind::Deref(pointer) => match &pointer.kind {
            ExprKind::Cast(CastKind::Pointer, address) => match &address.kind {
                ExprKind::AddressOf(whole) => whole_object(whole),
                _ => object,
            },
            _ => object,
        },
        _ => object,
    }
}
