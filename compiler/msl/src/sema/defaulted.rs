//! Defaulted functions: which functions can be, and the form that they have (C++14 [dcl.fct.def.default]).

use super::checker::Checker;
use super::entities::{FnDeclId, Found};
use super::init::Memberwise;
use super::special::{self, Source, Takes};
use super::table::{ItemId, function_key};
use super::{function, implicit_constexpr, path, record, spelling};
use crate::ast::{self, FunctionBody, FunctionName, ItemKind, OperatorName};
use crate::hir::{FuncId, QualTy, RecordId, TyKind};
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The special member functions, by clang's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Special {
    DefaultConstructor,
    Copies(Memberwise, Takes),
    Destructor,
}

impl Special {
    fn name(self) -> &'static str {
        match self {
            Self::DefaultConstructor => "default constructor",
            Self::Copies(Memberwise::Construct, Takes::Copy) => "copy constructor",
            Self::Copies(Memberwise::Construct, Takes::Move) => "move constructor",
            Self::Copies(Memberwise::Assign, Takes::Copy) => "copy assignment operator",
            Self::Copies(Memberwise::Assign, Takes::Move) => "move assignment operator",
            Self::Destructor => "destructor",
        }
    }
}

/// Reports a constructor that takes an object of its class by value, which would have to be copied by it
/// (C++14 [class.copy.6]).
pub(super) fn check_copy(cx: &mut Checker<'_>, decl: FnDeclId, func: FuncId) {
    let declared = cx.functions.decl(decl);
    let Some(owner) = declared.owner.filter(|_| declared.template.is_none()) else { return };
    let (ast, own) = (declared.ast, cx.records.get(owner).ty);
    let params = &cx.functions.inst(func).params;
    let is_by_value = params.first().is_some_and(|param| param.ty == own);
    let takes_one = ast.params.iter().skip(1).all(|param| param.default.is_some());
    // The constructors of a class template's instance are not declared for it.
    let is_instance = cx.records.get(owner).template.is_some();
    if matches!(ast.name, FunctionName::Constructor(_)) && is_by_value && takes_one && !is_instance {
        let message = "copy constructor must pass its first argument by reference";
        cx.error("copy-by-value", ast.span, message);
    }
}

/// Checks a function that may be declared as defaulted.
pub(super) fn check(cx: &mut Checker<'_>, decl: FnDeclId, func: FuncId) {
    let declared = cx.functions.decl(decl);
    let (ast, owner) = (declared.ast, declared.owner);
    if !matches!(ast.body, FunctionBody::Default) {
        return;
    }
    let is_open = cx.functions.inst(func).params.iter().any(|param| cx.is_dependent(param.ty));
    if is_open || cx.diagnostics.in_template() {
        // The instance decides.
        return;
    }
    let special = owner.and_then(|owner| special_member(cx, decl, owner));
    let (Some(owner), Some(special)) = (owner, special) else {
        return cx.error("not-defaultable", ast.span, "only special member functions can be defaulted");
    };
    let name = special.name();
    if ast.params.iter().any(|param| param.default.is_some()) {
        let message = format!("an explicitly-defaulted {name} cannot have default arguments");
        return cx.error("not-defaultable", ast.span, message);
    }
    let is_constant = match special {
        Special::DefaultConstructor => implicit_constexpr::has_constant_default(cx, owner),
        Special::Copies(how, takes) => implicit_constexpr::has_constant_copy(cx, how, takes, owner),
        // From C++20 on.
        Special::Destructor => true,
    };
    if ast.specifiers.is_constexpr && !is_constant {
        let message = format!("defaulted definition of {name} cannot be marked constexpr");
        cx.error("not-defaultable", ast.span, message);
    }
    if let Special::Copies(how, takes) = special {
        check_parameter(cx, (owner, func), (how, takes), name);
        if how == Memberwise::Assign {
            check_assignment(cx, owner, func, name);
        }
    }
}

/// Which special member function a declaration of a class has the form of.
fn special_member(cx: &mut Checker<'_>, decl: FnDeclId, owner: RecordId) -> Option<Special> {
    let ast = cx.functions.decl(decl).ast;
    if cx.functions.decl(decl).template.is_some() {
        return None;
    }
    match &ast.name {
        FunctionName::Destructor => Some(Special::Destructor),
        FunctionName::Constructor(_) if ast.params.iter().all(|param| param.default.is_some()) => {
            Some(Special::DefaultConstructor)
        }
        FunctionName::Constructor(_) => {
            let takes = special::takes_object(cx, decl, owner)?;
            Some(Special::Copies(Memberwise::Construct, takes))
        }
        FunctionName::Operator(OperatorName::Assign(op)) if op.0.is_none() => {
            let takes = special::takes_object(cx, decl, owner)?;
            Some(Special::Copies(Memberwise::Assign, takes))
        }
        FunctionName::Name(_) | FunctionName::Operator(_) => None,
    }
}

/// Checks the qualifiers of the parameter: a copied object is const only where all parts can be copied from
/// const objects, and a moved object never is.
fn check_parameter(
    cx: &mut Checker<'_>,
    (owner, func): (RecordId, FuncId),
    (how, takes): (Memberwise, Takes),
    name: &str,
) {
    let inst = cx.functions.inst(func);
    let span = inst.span;
    let Some(object) = inst.params.first().and_then(|param| cx.types.referent(param.ty)) else {
        // A copy assignment may take its object by value.
        return;
    };
    let problem = if object.is_volatile {
        Some(format!("the parameter for an explicitly-defaulted {name} may not be volatile"))
    } else if object.is_const && takes == Takes::Move {
        Some(format!("the parameter for an explicitly-defaulted {name} may not be const"))
    } else if object.is_const && special::copy_source(cx, how, owner) == Source::Mutable {
        let reason = "is const, but a member or base requires it to be non-const";
        Some(format!("the parameter for this explicitly-defaulted {name} {reason}"))
    } else {
        None
    };
    if let Some(message) = problem {
        cx.error("not-defaultable", span, message);
    }
}

fn check_assignment(cx: &mut Checker<'_>, owner: RecordId, func: FuncId, name: &str) {
    let inst = cx.functions.inst(func);
    let (span, ret, this) = (inst.span, inst.ret, inst.this);
    let own = cx.records.get(owner).ty;
    let returns_own = |ret: QualTy| match *cx.types.kind(ret.ty) {
        TyKind::Reference { to, rvalue: false } => to.unqualified() == QualTy::plain(own) && !to.is_const,
        _ => false,
    };
    if ret.is_some_and(|ret| !ret.ty.is_error() && !returns_own(ret)) {
        let shown = cx.types.display(own);
        let message = format!("explicitly-defaulted {name} must return `{shown} &`");
        cx.error("not-defaultable", span, message);
    }
    if this.is_some_and(|this| this.is_const || this.is_volatile) {
        let message = format!("an explicitly-defaulted {name} may not have `const` or `volatile` qualifiers");
        cx.error("not-defaultable", span, message);
    }
}

/// Reports a special member function that is defaulted outside of its class and deleted (C++14
/// [dcl.fct.def.default.4]).
pub(super) fn check_outside<'a>(
    cx: &mut Checker<'a>,
    id: ItemId,
    function: &'a ast::Function,
    path: &'a ast::Path,
) {
    let scope = cx.scopes.of_item(id);
    let Some(record) = path::class_of_path(cx, path, scope) else { return };
    if !record::complete(cx, record, path.span) {
        return;
    }
    let inner = cx.records.get(record).scope;
    let signature = cx.quietly(|cx| cx.in_scope(inner, |cx| function::signature(cx, function)));
    let Ok(Some((params, _))) = signature else { return };
    let decls = match &function.name {
        ast::FunctionName::Constructor(_) => cx.records.get(record).constructors.clone(),
        _ => record::assignment_operators(cx, record),
    };
    for decl in decls {
        let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), function.span));
        let Ok(Some(func)) = func else { continue };
        if function::are_same_params(&cx.functions.inst(func).params, &params)
            && special::would_be_deleted(cx, decl, record)
        {
            let name = spelling::function(&function.name);
            let message = format!("`{name}` cannot be defaulted here: it would be deleted");
            cx.error("not-defaultable", function.span, message);
        }
    }
}

/// Reports a member function that is defined outside of its class although the class defines it, or that is
/// defined twice there (C++14 [basic.def.odr.1]).
pub(super) fn check_redefinition<'a>(
    cx: &mut Checker<'a>,
    id: ItemId,
    function: &'a ast::Function,
    path: &'a ast::Path,
    defined: &mut FxHashMap<FnDeclId, Span>,
) {
    if matches!(function.body, FunctionBody::None) || function.specialisation.is_some() {
        return;
    }
    let scope = cx.scopes.of_item(id);
    // Functions of namespaces are compared with each other.
    let Some(record) = path::class_of_path(cx, path, scope) else { return };
    if cx.records.get(record).template.is_some() || !record::complete(cx, record, path.span) {
        return;
    }
    let Some(decl) = declaration_of(cx, record, function) else { return };
    let name = spelling::function(&function.name);
    let declared = cx.functions.decl(decl).ast;
    let problem = match (&declared.body, defined.insert(decl, function.span)) {
        (_, Some(earlier)) => Some((earlier, format!("redefinition of `{name}`"))),
        (FunctionBody::Default, None) => {
            Some((declared.span, format!("definition of explicitly defaulted `{name}`")))
        }
        // A body in the class is compared with those outside where the definition is looked for.
        (FunctionBody::Block(_) | FunctionBody::Delete, None)
            if !matches!(function.body, FunctionBody::Block(_)) =>
        {
            Some((declared.span, format!("redefinition of `{name}`")))
        }
        _ => None,
    };
    if let Some((at, message)) = problem {
        let diagnostic = Diagnostic::error("redefinition", function.span, message);
        cx.report(diagnostic.with_note(at, "previously defined here"));
        // It fits a declaration, if not as its definition.
        cx.functions.served.insert(function.id);
    }
}

/// The declaration, not a template, of a member function that is defined outside of its class.
fn declaration_of<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    function: &'a ast::Function,
) -> Option<FnDeclId> {
    let inner = cx.records.get(record).scope;
    if matches!(function.name, FunctionName::Destructor) {
        let members = cx.records.get(record).ast?.members.as_ref()?;
        let destructor = members.iter().find_map(|item| match &item.kind {
            ItemKind::Function(own) if matches!(own.name, FunctionName::Destructor) => Some(&**own),
            _ => None,
        })?;
        return Some(cx.functions.declare(destructor, None, inner, Some(record)));
    }
    let signature = cx.quietly(|cx| cx.in_scope(inner, |cx| function::signature(cx, function)));
    let (params, _) = signature.ok().flatten()?;
    let decls = match &function.name {
        FunctionName::Constructor(_) => cx.records.get(record).constructors.clone(),
        name => match record::lookup_in_class(cx, record, function_key(name)?) {
            Some(Found::Functions(decls)) => decls.to_vec(),
            _ => return None,
        },
    };
    decls.into_iter().find(|&decl| {
        let declared = cx.functions.decl(decl);
        let may_fit = declared.template.is_none()
            && declared.owner == Some(record)
            && declared.ast.method == function.method;
        let func = may_fit
            .then(|| {
                cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), function.span)).ok().flatten()
            })
            .flatten();
        func.is_some_and(|func| function::are_same_params(&cx.functions.inst(func).params, &params))
    })
}
