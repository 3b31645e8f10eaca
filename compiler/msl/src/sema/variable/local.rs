//! Variables of a block.
//!
//! Invariant: a declaration in error still declares its name, so that its uses are not reported too.

use super::{function_constant, global};
use crate::ast::{self, TypeKind};
use crate::hir::{self, Expr, ExprKind, QualTy, Stmt, StmtKind, Ty};
use crate::sema::checker::Checker;
use crate::sema::entities::{Found, LocalDecl, VarDecl};
use crate::sema::init::{DefaultInit, assigned};
use crate::sema::names::KnownNames;
use crate::sema::path::Miss;
use crate::sema::values::has_bit_fields;
use crate::sema::{
    alignment, class_deduction, evaluate, function, init, lookup, member, path, record, redeclare,
    resolve_type, rules, special, stmt, variable, walk,
};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use std::rc::Rc;

/// A variable declared in a block.
pub(in crate::sema) fn check_local<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    stmts: &mut Vec<Stmt>,
) {
    let name = variable.declarator.name;
    let span = variable.span;
    if let TypeKind::Record(_) | TypeKind::Enum(_) = &variable.ty.kind {
        stmt::declare_block_tag(cx, &variable.ty);
    }
    if cx.diagnostics.in_template() && lacks_typename(cx, &variable.ty) {
        cx.error(
            "missing-typename",
            variable.ty.span,
            "missing `typename` before the name of a dependent type",
        );
        return declare_poisoned(cx, name, span);
    }
    if variable.is_extern {
        return extern_local(cx, variable);
    }
    if has_static_storage(&cx.names, variable) {
        let decl = VarDecl { variable, template: None, scope: cx.scopes.current() };
        if let Some(global) = global::global_of(cx, decl, None, span) {
            cx.declare_local(name, LocalDecl::Global(global), span);
        }
        return;
    }
    let known = match &variable.init {
        Some(init) if has_deduced_type(cx, variable) => {
            deduced_local(cx, variable, init).map(|(ty, value)| (ty, Some(value)))
        }
        Some(init) => match variable::written_type(cx, variable, init) {
            Some(ty) if ty.space != Space::Threadgroup => {
                return initialised_local(cx, variable, ty, init, stmts);
            }
            ty => ty.map(|ty| (ty, Some(init::initial_value(cx, ty, init, span)))),
        },
        None => uninitialised_type(cx, variable).map(|ty| (ty, None)),
    };
    match known {
        Some((ty, value)) if ty.space == Space::Threadgroup => {
            declare_threadgroup(cx, variable, ty, value.is_some());
        }
        Some((ty, Some(value))) => declare_variable(cx, variable, ty, None, Some(value), stmts),
        Some((ty, None)) => uninitialised(cx, variable, ty, stmts),
        None => declare_poisoned(cx, name, span),
    }
}

/// Whether a type is named as a member of one that depends on template arguments, which without `typename` is
/// no type (C++14 [temp.res.3]). The members of the class at hand are known.
fn lacks_typename<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> bool {
    let path = match &ty.kind {
        TypeKind::Pointer(inner) | TypeKind::Reference { referent: inner, .. } => {
            return lacks_typename(cx, inner);
        }
        TypeKind::Path(path) if path.segments.len() > 1 && !path.is_typename && path.tag.is_none() => path,
        _ => return false,
    };
    let count = path.segments.len() - 1;
    let name = path.segments[count - 1].name;
    let is_around = |scope| {
        let class = cx.scopes.record(scope);
        class.is_some_and(|class| cx.records.get(class).name == Some(name))
    };
    if cx.scopes.around().any(is_around) {
        return false;
    }
    // What is in error without a report depends on template arguments.
    match cx.quietly(|cx| path::resolve_prefix(cx, path, count)) {
        Ok(Ok(prefix)) => {
            path::type_of_found(&cx.records, &prefix.found).is_some_and(|ty| cx.is_dependent(ty.ty))
        }
        Ok(Err(Miss::Reported)) => true,
        Ok(Err(Miss::Unknown { .. })) | Err(_) => false,
    }
}

/// `extern T x;` in a block names a variable of the namespace around (C++14 [basic.link.6]).
fn extern_local<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable) {
    let (name, span) = (variable.declarator.name, variable.span);
    if variable.init.is_some() {
        let message = "declaration of block scope identifier with linkage cannot have an initializer";
        cx.error("bad-variable", span, message);
        return declare_poisoned(cx, name, span);
    }
    let ty = resolve_type::resolve(cx, &variable.ty);
    if ty.ty.is_error() && cx.diagnostics.in_template() {
        // The type may be that of another declaration in the block.
        let local = cx.function.new_local(name, Ty::ERROR, span);
        let decl = LocalDecl::Variable { local, ty, function: cx.function.serial };
        cx.scopes.declare(name, decl);
        return;
    }
    if ty.ty.is_error() {
        return declare_poisoned(cx, name, span);
    }
    redeclare::check_extern(cx, name, ty, span);
    let ns = cx.scopes.enclosing_namespace(cx.scopes.current());
    let own = VarDecl { variable, template: None, scope: cx.scopes.current() };
    // A bound that the namespace does not know is known in the block.
    let is_unbounded = matches!(cx.types.as_array(ty.ty), Some((_, 0)));
    let is_bounded = cx.types.as_array(ty.ty).is_some() && !is_unbounded;
    let decl = match lookup::directly(cx, ns, name) {
        Some(Found::Variable(decl))
            if decl.template.is_none() && !(is_bounded && list_needed(&decl.variable.ty)) =>
        {
            decl
        }
        _ => own,
    };
    let Some(global) = global::global_of(cx, decl, None, span) else {
        return declare_poisoned(cx, name, span);
    };
    match cx.scopes.declare(name, LocalDecl::Global(global)) {
        None => {}
        // The block may repeat the declaration, also without the bound.
        Some(before @ LocalDecl::Global(_)) if is_unbounded => {
            cx.scopes.restore(name, Some(before));
        }
        Some(LocalDecl::Global(_)) => {}
        Some(before) => {
            cx.scopes.restore(name, Some(before));
            cx.declare_local(name, LocalDecl::Global(global), span);
        }
    }
}

fn has_deduced_type<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable) -> bool {
    function::mentions_auto(&variable.ty) || class_deduction::deduced_class(cx, &variable.ty).is_some()
}

/// A variable of a known type, whose name its initialiser can mention (C++14 [basic.scope.pdecl]).
fn initialised_local<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    ty: QualTy,
    init: &'a ast::Initialiser,
    stmts: &mut Vec<Stmt>,
) {
    let (name, span) = (variable.declarator.name, variable.span);
    let own = if variable.is_constexpr { ty.as_const() } else { ty };
    let repr = cx.values().value_repr(own);
    let local = cx.function.new_local(name, repr, span);
    let decl = LocalDecl::Variable { local, ty: own, function: cx.function.serial };
    let value = with_name(cx, name, decl, |cx| init::initial_value(cx, ty, init, span));
    declare_variable(cx, variable, ty, Some(local), Some(value), stmts);
}

/// A variable whose type its initialiser deduces, which therefore cannot mention it.
fn deduced_local<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    init: &'a ast::Initialiser,
) -> Option<(QualTy, Expr)> {
    let (name, span) = (variable.declarator.name, variable.span);
    let ty = QualTy::plain(Ty::ERROR);
    let decl = LocalDecl::Variable { local: hir::LocalId(u32::MAX), ty, function: cx.function.serial };
    let errors = cx.diagnostics.error_count();
    let found = with_name(cx, name, decl, |cx| variable::initialised(cx, variable, init));
    let failed = found.as_ref().is_none_or(|(_, value)| value.ty.ty.is_error());
    if failed && cx.diagnostics.error_count() == errors && !cx.diagnostics.in_template() {
        // Only the name itself is in error without a report.
        let message = format!("`{name}` has a deduced type, so that its initialiser cannot mention it");
        cx.error("own-initialiser", span, message);
    }
    found
}

/// Runs `f` where a name of the current block has another meaning.
fn with_name<'a, R>(
    cx: &mut Checker<'a>,
    name: Name,
    decl: LocalDecl,
    f: impl FnOnce(&mut Checker<'a>) -> R,
) -> R {
    let before = cx.scopes.declare(name, decl);
    let result = f(cx);
    cx.scopes.restore(name, before);
    result
}

fn has_static_storage(names: &KnownNames, variable: &ast::Variable) -> bool {
    let constant = Some(ast::AddressSpace::Constant);
    variable.is_static
        || variable.ty.quals.space == constant
        || array_space(&variable.ty) == constant
        || function_constant::attribute(names, variable).is_some()
}

/// Declares a name whose type is in error, so that its uses are not reported too.
fn declare_poisoned(cx: &mut Checker<'_>, name: Name, span: Span) {
    let local = cx.function.new_local(name, Ty::ERROR, span);
    let ty = QualTy::plain(Ty::ERROR);
    cx.declare_local(name, LocalDecl::Variable { local, ty, function: cx.function.serial }, span);
}

fn declare_threadgroup(cx: &mut Checker<'_>, variable: &ast::Variable, ty: QualTy, is_initialised: bool) {
    rules::threadgroup_variables::check(cx, variable);
    let (name, span) = (variable.declarator.name, variable.span);
    if is_initialised {
        // The specification gives initialisers of threadgroup memory no meaning, yet published kernels
        // have them and store to every element before they read. Such a variable is undefined at first,
        // as one without an initialiser is.
        let message = "the initialiser of threadgroup memory is ignored: its contents are undefined at first";
        cx.report(Diagnostic::warning("threadgroup-initialiser", span, message));
    }
    let id = cx.data.add_threadgroup(hir::ThreadgroupVar { name, ty: ty.ty, span });
    cx.declare_local(name, LocalDecl::Threadgroup(id, ty), span);
}

fn uninitialised_type<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable) -> Option<QualTy> {
    if function::mentions_auto(&variable.ty) {
        cx.error("auto-not-allowed", variable.span, "`auto` needs an initialiser");
        return None;
    }
    if let Some(template) = class_deduction::deduced_class(cx, &variable.ty) {
        let ty = class_deduction::deduce_type(cx, &template, &[], variable.span)?;
        return Some(resolve_type::qualify(
            &cx.types,
            &mut cx.diagnostics,
            QualTy::plain(ty),
            variable.ty.quals,
            variable.span,
        ));
    }
    let ty = resolve_type::resolve(cx, &variable.ty);
    let problem = match &variable.ty.kind {
        TypeKind::Reference { .. } => REFERENCE_ALONE,
        TypeKind::Array(_, None) => NO_LENGTH,
        _ => "",
    };
    if ty.ty.is_error() && cx.diagnostics.in_template() && !problem.is_empty() {
        // The arguments do not matter.
        cx.error("bad-variable", variable.span, problem);
    }
    (!ty.ty.is_error() && record::complete_type(cx, ty.ty, variable.span)).then_some(ty)
}

const REFERENCE_ALONE: &str = "a reference needs an initialiser";
const NO_LENGTH: &str = "the length of this array is not known";

fn uninitialised<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable, ty: QualTy, stmts: &mut Vec<Stmt>) {
    let (name, span) = (variable.declarator.name, variable.span);
    let problem = if cx.types.referent(ty.ty).is_some() {
        REFERENCE_ALONE
    } else if ty.ty == Ty::VOID {
        "a variable cannot have type `void`"
    } else if ty.space == Space::Device {
        "a local variable cannot be in device memory"
    } else if matches!(cx.types.as_array(ty.ty), Some((_, 0))) && list_needed(&variable.ty) {
        NO_LENGTH
    } else if refuse_unset_constant(cx, variable, ty) {
        return declare_poisoned(cx, name, span);
    } else {
        let value = default_value(cx, ty, span);
        let local = hir::LocalId(cx.function.locals.len() as u32);
        declare_variable(cx, variable, ty, None, value, stmts);
        if name == Name::EMPTY
            && let Some(record) = cx.types.as_record(ty.ty)
        {
            let union = cx.values().variable_place(local, ty, span);
            declare_union_members(cx, &union, record, span);
        }
        return;
    };
    cx.error("bad-variable", span, problem);
    declare_poisoned(cx, name, span);
}

/// The members of an unnamed union are variables of the block (C++14 [class.union.5]).
fn declare_union_members(cx: &mut Checker<'_>, union: &Expr, record: hir::RecordId, span: Span) {
    for n in 0..cx.types.record(record).fields.len() {
        let field = &cx.types.record(record).fields[n];
        let (name, inner) = (field.name, cx.types.as_record(field.ty.ty));
        let found = Found::Field(record, Rc::from([n as u32]));
        let element = member::value_of(cx, union.clone(), found, span);
        match inner.filter(|_| name == Name::EMPTY) {
            Some(inner) => declare_union_members(cx, &element, inner, span),
            None => {
                let function = cx.function.serial;
                let decl = LocalDecl::Binding { element: Rc::new(element), function };
                cx.declare_local(name, decl, span);
            }
        }
    }
}

/// Reports a constant variable without an initialiser whose class does not set all members
/// (C++14 [dcl.init.7]).
pub(super) fn refuse_unset_constant(cx: &mut Checker<'_>, variable: &ast::Variable, ty: QualTy) -> bool {
    let is_const = ty.is_const || variable.is_constexpr;
    let is_unset =
        is_const && !special::may_be_const_without_value(&cx.types, &cx.records, &cx.functions, ty.ty);
    if is_unset {
        let shown = cx.show(ty.as_const());
        let message = format!("default initialization of an object of const type `{shown}`");
        cx.error("bad-variable", variable.span, message);
    }
    is_unset
}

/// What `T x;` stores, if anything.
fn default_value(cx: &mut Checker<'_>, ty: QualTy, span: Span) -> Option<Expr> {
    let init = init::default_init(cx, ty.ty, span);
    if !init::check_default_access(cx, ty.ty, span) {
        return None;
    }
    match init {
        DefaultInit::Trivial => has_bit_fields(&cx.types, ty.ty).then(|| cx.values().zero(ty.ty, span)),
        DefaultInit::Constructor(func) => Some(init::default_constructed(cx, ty.ty, func, span)),
        DefaultInit::Impossible | DefaultInit::Deleted(_) => {
            init::report_no_default(&cx.types, &mut cx.diagnostics, ty.ty, init, span);
            None
        }
    }
}

fn declare_variable<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    ty: QualTy,
    known: Option<hir::LocalId>,
    value: Option<Expr>,
    stmts: &mut Vec<Stmt>,
) {
    let name = variable.declarator.name;
    let span = variable.span;
    if value.as_ref().is_some_and(|value| value.ty.ty.is_error()) {
        declare_poisoned(cx, name, span);
        return;
    }
    if ty.space == Space::Device {
        cx.error("bad-variable", span, "a local variable cannot be in device memory");
        declare_poisoned(cx, name, span);
        return;
    }
    alignment::check_variable(cx, variable, ty);
    let ty = if variable.is_constexpr { ty.as_const() } else { ty };
    let repr = cx.values().value_repr(ty);
    let local = known.unwrap_or_else(|| cx.function.new_local(name, repr, span));
    if let Some(value) = &value {
        remember_constant(cx, variable, ty, local, value);
    }
    if !cx.diagnostics.is_of_library(span) {
        rules::local_variables::check(cx, ty, span);
    }
    rules::uniform::declared(cx, &variable.ty, local, value.as_ref());
    cx.declare_local(name, LocalDecl::Variable { local, ty, function: cx.function.serial }, span);
    let reads_itself = value.as_ref().filter(|value| mentions(value, local)).cloned();
    let Some(value) = reads_itself else {
        stmts.push(Stmt { kind: StmtKind::Declare { local, init: value }, span });
        return;
    };
    if cx.types.referent(ty.ty).is_some() {
        cx.error("own-initialiser", span, format!("reference `{name}` is used before it is bound"));
        return;
    }
    // The variable exists, without a value, while its initialiser is evaluated.
    stmts.push(Stmt { kind: StmtKind::Declare { local, init: None }, span });
    let place = Expr::place(ExprKind::Local(local), QualTy::plain(repr), span);
    stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
}

/// Keeps the value of a constant variable for constant expressions and folding.
fn remember_constant<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    ty: QualTy,
    local: hir::LocalId,
    value: &Expr,
) {
    if !ty.is_const || ty.is_volatile || cx.types.referent(ty.ty).is_some() {
        return;
    }
    let is_number = cx.types.element(ty.ty).is_some() && cx.types.as_matrix(ty.ty).is_none();
    let worth_trying = variable.is_constexpr || (is_number && !calls_something(value));
    if !worth_trying {
        return;
    }
    let constant = match variable.is_constexpr {
        true => evaluate::strict_value_of(cx, value),
        false => evaluate::value_of(cx, value),
    };
    match constant {
        Ok(constant) => {
            cx.local_constants.insert(cx.function.serial, local, constant);
        }
        Err(problem) => {
            if variable.is_constexpr && !evaluate::mentions_function_constant(value) {
                let name = variable.declarator.name;
                let message = format!("the initialiser of constexpr `{name}` is not a constant expression");
                evaluate::report_not_constant(&mut cx.diagnostics, variable.span, message, problem);
            }
        }
    }
}

/// The address space written on an array's elements.
fn array_space(ty: &ast::Type) -> Option<ast::AddressSpace> {
    match &ty.kind {
        TypeKind::Array(elem, _) => elem.quals.space.or_else(|| array_space(elem)),
        _ => None,
    }
}

fn list_needed(ty: &ast::Type) -> bool {
    matches!(ty.kind, TypeKind::Array(_, None))
}

fn mentions(value: &Expr, local: hir::LocalId) -> bool {
    let mut found = false;
    walk::each_expr(value, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::Local(known) if known == local)
    });
    found
}

fn calls_something(value: &Expr) -> bool {
    let mut found = false;
    walk::each_expr(value, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::Call(..) | ExprKind::Construct(..));
    });
    found
}
