//! Construction: `T(args)`, `T{args}` for every kind of type.

use super::call::Arg;
use super::checker::Checker;
use super::entities::FnDeclId;
use super::function::Functions;
use super::init::ListForm;
use super::overload::{Call, NoOverload};
use super::{call, cast, convert, init, narrowing, operator, overload, record};
use crate::ast::{self, FunctionBody, InitClause};
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, FuncId, QualTy, RecordId, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// The arguments of a construction.
#[derive(Debug)]
pub(super) enum ConstructArgs<'a> {
    /// `(…)`
    Paren(Vec<Arg<'a>>),
    /// `{…}`
    Brace(&'a [InitClause]),
}

/// The brackets around the arguments of a constructor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brackets {
    /// `(…)`
    Paren,
    /// `{…}`
    Brace(ListForm),
}

/// What becomes of a vector for which several values are given, but too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shortage {
    /// An error: `float4(a, b)`.
    Refused,
    /// The elements that are left are zero: `{a, b}`, as in every list of C++.
    Zeros,
}

/// A value of type `ty` from arguments.
pub(super) fn object<'a>(cx: &mut Checker<'a>, ty: QualTy, args: ConstructArgs<'a>, span: Span) -> Expr {
    if ty.ty.is_error() {
        return cx.poison(span);
    }
    let args = match args {
        ConstructArgs::Brace(clauses) => {
            let ty = match cx.types.as_array(ty.ty) {
                // `T{1, 2}` of `using T = int[];`
                Some((elem, 0)) => ty.with_ty(cx.types.array(elem, clauses.len() as u64)),
                _ => ty,
            };
            let is_flat = matches!(cx.types.kind(ty.ty), TyKind::Vector { .. } | TyKind::Matrix { .. });
            if !is_flat || clauses.iter().any(|clause| !clause.designators.is_empty()) {
                return init::list_value(cx, clauses, ty.unqualified(), ListForm::Direct, span);
            }
            let Some(args) = call::clause_args(cx, clauses) else { return cx.poison(span) };
            if cx.types.as_vector(ty.ty).is_some() {
                return vector(cx, ty.ty, args, Shortage::Zeros, span);
            }
            args
        }
        ConstructArgs::Paren(args) => args,
    };
    match *cx.types.kind(ty.ty) {
        TyKind::Record(record) => of_class(cx, record, args, Brackets::Paren, span),
        TyKind::Vector { .. } => vector(cx, ty.ty, args, Shortage::Refused, span),
        TyKind::Matrix { .. } => matrix(cx, ty.ty, args, span),
        TyKind::Void if args.is_empty() => Expr::value(ExprKind::Zero, Ty::VOID, span),
        _ => scalar(cx, ty, args, span),
    }
}

fn scalar<'a>(cx: &mut Checker<'a>, ty: QualTy, args: Vec<Arg<'a>>, span: Span) -> Expr {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (None, _) => cx.values().zero(ty.ty, span),
        (Some(Arg::Expr(value)), None) => cast::explicit(cx, value, ty, ast::CastKind::CStyle, span),
        (Some(Arg::List(clauses, at)), None) => init::list_value(cx, clauses, ty, ListForm::Copy, at),
        _ => {
            let shown = cx.show(ty);
            cx.error("bad-construction", span, format!("`{shown}` is constructed from one value"));
            cx.poison(span)
        }
    }
}

fn values_of<'a>(cx: &mut Checker<'a>, args: Vec<Arg<'a>>, span: Span) -> Option<Vec<Expr>> {
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        let Arg::Expr(value) = arg else {
            cx.error("bad-construction", span, "an initialiser list cannot be an element here");
            return None;
        };
        let value = convert::builtin_operand(cx, value);
        let value = cx.values().rvalue(value);
        if value.ty.ty.is_error() {
            return None;
        }
        values.push(value);
    }
    Some(values)
}

fn vector<'a>(cx: &mut Checker<'a>, ty: Ty, args: Vec<Arg<'a>>, shortage: Shortage, span: Span) -> Expr {
    let Some((elem, len)) = cx.types.as_vector(ty) else { return cx.poison(span) };
    let Some(mut values) = values_of(cx, args, span) else { return cx.poison(span) };
    if values.is_empty() {
        return cx.values().zero(ty, span);
    }
    if values.len() == 1 {
        let value = values.remove(0);
        return cast::explicit(cx, value, QualTy::plain(ty), ast::CastKind::CStyle, span);
    }
    let mut parts = Vec::with_capacity(values.len());
    let mut count = 0u32;
    for value in values {
        match *cx.types.kind(value.ty.ty) {
            TyKind::Vector { len: n, .. } => {
                count += u32::from(n);
                let part = cx.types.vector(elem, n);
                parts.push(cx.values().cast_value(CastKind::Convert, value, part, span));
            }
            TyKind::Scalar(_) | TyKind::Enum(_) => {
                count += 1;
                parts.push(cx.values().cast_value(CastKind::Convert, value, Ty::scalar(elem), span));
            }
            _ => {
                let shown = cx.show(value.ty);
                cx.error("bad-construction", value.span, format!("a `{shown}` cannot be part of a vector"));
                return cx.poison(span);
            }
        }
    }
    if shortage == Shortage::Zeros {
        let missing = u32::from(len).saturating_sub(count);
        parts.extend((0..missing).map(|_| cx.values().zero(Ty::scalar(elem), span)));
        count += missing;
    }
    if count != u32::from(len) {
        let shown = cx.types.display(ty);
        cx.error("bad-construction", span, format!("`{shown}` has {len} elements, but {count} are given"));
        return cx.poison(span);
    }
    let plain = cx.types.vector(elem, len);
    let vector = vector_of(parts, plain, span);
    cx.values().cast_value(CastKind::Convert, vector, ty, span)
}

/// A vector from parts, folded when all are constants.
fn vector_of(parts: Vec<Expr>, ty: Ty, span: Span) -> Expr {
    let mut bits = Vec::new();
    for part in &parts {
        match &part.kind {
            ExprKind::Const(ConstValue::Scalar(b)) => bits.push(*b),
            ExprKind::Const(ConstValue::Vector(b)) => bits.extend(b),
            _ => return Expr::value(ExprKind::Vector(parts), ty, span),
        }
    }
    Expr::value(ExprKind::Const(ConstValue::Vector(bits)), ty, span)
}

/// `{{1, 0}, {0, 1}}`: a list, or a vector, for each column.
fn matrix_of_lists<'a>(cx: &mut Checker<'a>, ty: Ty, column: QualTy, args: Vec<Arg<'a>>, span: Span) -> Expr {
    let mut columns = Vec::with_capacity(args.len());
    for arg in args {
        let value = match arg {
            Arg::List(clauses, at) => init::list_value(cx, clauses, column, ListForm::Copy, at),
            Arg::Expr(value) => {
                let value = cx.values().rvalue(value);
                convert::to_type(cx, value, column, "this column")
            }
            Arg::Functions(..) => {
                cx.error("bad-construction", span, "a function cannot be a column");
                return cx.poison(span);
            }
        };
        if value.ty.ty.is_error() {
            return cx.poison(span);
        }
        columns.push(value);
    }
    Expr::value(ExprKind::Matrix(columns), ty, span)
}

fn matrix<'a>(cx: &mut Checker<'a>, ty: Ty, args: Vec<Arg<'a>>, span: Span) -> Expr {
    let Some((elem, cols, rows)) = cx.types.as_matrix(ty) else { return cx.poison(span) };
    let has_lists = args.iter().any(|arg| matches!(arg, Arg::List(..)));
    if has_lists && args.len() == usize::from(cols) {
        let column = QualTy::plain(cx.types.vector(elem, rows));
        return matrix_of_lists(cx, ty, column, args, span);
    }
    let Some(mut values) = values_of(cx, args, span) else { return cx.poison(span) };
    if values.is_empty() {
        return cx.values().zero(ty, span);
    }
    if values.len() == 1 {
        let value = values.remove(0);
        return cast::explicit(cx, value, QualTy::plain(ty), ast::CastKind::CStyle, span);
    }
    let column = cx.types.vector(elem, rows);
    let is_columns =
        values.iter().all(|value| cx.types.as_vector(value.ty.ty).is_some_and(|(_, n)| n == rows));
    if is_columns && values.len() == usize::from(cols) {
        let columns = values
            .into_iter()
            .map(|value| cx.values().cast_value(CastKind::Convert, value, column, span))
            .collect();
        return Expr::value(ExprKind::Matrix(columns), ty, span);
    }
    let is_scalars = values.iter().all(|value| cx.types.scalar_repr(value.ty.ty).is_some());
    if is_scalars && values.len() == usize::from(cols) * usize::from(rows) {
        let mut columns = Vec::new();
        let mut values = values.into_iter();
        for _ in 0..cols {
            let parts = values
                .by_ref()
                .take(usize::from(rows))
                .map(|value| cx.values().cast_value(CastKind::Convert, value, Ty::scalar(elem), span))
                .collect();
            columns.push(vector_of(parts, column, span));
        }
        return Expr::value(ExprKind::Matrix(columns), ty, span);
    }
    let shown = cx.types.display(ty);
    cx.error(
        "bad-construction",
        span,
        format!("`{shown}` is constructed from {cols} columns or {} scalars", cols * rows),
    );
    cx.poison(span)
}

/// A matrix with one value on its diagonal.
pub(super) fn diagonal(cx: &mut Checker<'_>, value: Expr, ty: Ty, span: Span) -> Expr {
    let Some((elem, cols, rows)) = cx.types.as_matrix(ty) else { return cx.poison(span) };
    let scalar = Ty::scalar(elem);
    let value = cx.values().cast_value(CastKind::Convert, value, scalar, span);
    let column = cx.types.vector(elem, rows);
    let local = cx.function.new_local(Name::EMPTY, scalar, span);
    let mut columns = Vec::new();
    for c in 0..cols {
        let parts = (0..rows)
            .map(|r| {
                if r == c {
                    let place = Expr::place(ExprKind::Local(local), QualTy::plain(scalar), span);
                    Expr::value(ExprKind::Load(Box::new(place)), scalar, span)
                } else {
                    cx.values().zero(scalar, span)
                }
            })
            .collect();
        columns.push(Expr::value(ExprKind::Vector(parts), column, span));
    }
    let matrix = Expr::value(ExprKind::Matrix(columns), ty, span);
    Expr::value(ExprKind::Let(local, Some(Box::new(value)), Box::new(matrix)), ty, span)
}

// --- classes

/// An object of a class from arguments.
pub(super) fn of_class<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    args: Vec<Arg<'a>>,
    brackets: Brackets,
    span: Span,
) -> Expr {
    if !record::complete(cx, record, span) {
        return cx.poison(span);
    }
    let ty = cx.records.get(record).ty;
    if args.is_empty() {
        return init::value_init(cx, ty, span);
    }
    if let [Arg::Expr(only)] = args.as_slice()
        && (only.ty.ty == ty || convert::is_derived(cx, only.ty.ty, ty))
    {
        let Some(Arg::Expr(only)) = args.into_iter().next() else { return cx.poison(span) };
        return convert::perform(cx, only, QualTy::plain(ty));
    }
    let constructors = cx.records.get(record).constructors.clone();
    let has_deleted =
        constructors.iter().any(|&id| matches!(cx.functions.decl(id).ast.body, FunctionBody::Delete));
    if init::is_aggregate(&cx.records, &cx.functions, record) && !has_deleted {
        return aggregate(cx, record, args, span);
    }
    let name = cx.types.record(record).name.clone();
    let call = Call { name: &name, decls: &constructors, explicit: None, object: None, args: &args, span };
    match constructor_among(cx, &call) {
        Ok(func) => {
            if let Brackets::Brace(form) = brackets {
                refuse_narrowing_arguments(cx, func, &args);
                if form == ListForm::Copy {
                    refuse_explicit(cx, func, span);
                }
            }
            with_constructor(cx, func, args, ty, span)
        }
        Err(problem) => {
            // A conversion operator of the argument may give the class itself.
            if let NoOverload::None(_) = problem
                && let [Arg::Expr(only)] = args.as_slice()
                && convert::conversion_of(cx, only, QualTy::plain(ty), true).is_some()
            {
                let only = only.clone();
                return convert::perform(cx, only, QualTy::plain(ty));
            }
            overload::resolve(cx, &call);
            cx.poison(span)
        }
    }
}

/// The constructor for a call. Those that are overloaded by address space are told apart by where the object
/// is: in thread memory.
pub(super) fn constructor_among<'a>(cx: &mut Checker<'a>, call: &Call<'_, 'a>) -> Result<FuncId, NoOverload> {
    let problem = match overload::find(cx, call) {
        Err(problem @ NoOverload::Ambiguous(_)) => problem,
        found => return found,
    };
    let is_in_thread = |decl: &FnDeclId| {
        let ast = cx.functions.decl(*decl).ast;
        let is_thread = ast.method.space.is_none_or(|space| space == ast::AddressSpace::Thread);
        is_thread && !ast.specifiers.names_unmodelled_space
    };
    let in_thread: Vec<FnDeclId> = call.decls.iter().copied().filter(is_in_thread).collect();
    overload::find(cx, &Call { decls: &in_thread, ..*call }).map_err(|_| problem)
}

/// `S(a, b)` of a class without constructors: as `S{a, b}`.
fn aggregate<'a>(cx: &mut Checker<'a>, record: RecordId, args: Vec<Arg<'a>>, span: Span) -> Expr {
    let ty = cx.records.get(record).ty;
    if let [Arg::Expr(only)] = args.as_slice()
        && convert::conversion_of(cx, only, QualTy::plain(ty), true).is_some()
    {
        let only = only.clone();
        return convert::perform(cx, only, QualTy::plain(ty));
    }
    init::aggregate_from_args(cx, record, args, span)
}

/// Reports an explicit constructor that copy initialisation by a list chooses.
pub(super) fn refuse_explicit(cx: &mut Checker<'_>, func: FuncId, span: Span) {
    // The functions that a class has without declaring them are not explicit.
    let Some(decl) = cx.functions.inst(func).origin.decl() else { return };
    let ast = cx.functions.decl(decl).ast;
    if ast.specifiers.is_explicit {
        let message = "chosen constructor is explicit in copy-initialization";
        let diagnostic = Diagnostic::error("explicit-constructor", span, message);
        let hint = "initialise directly, without `=`, or name the class before the braces";
        cx.report(diagnostic.with_note(ast.span, "declared here").with_hint(hint));
    }
}

/// Arguments in braces are not narrowed.
fn refuse_narrowing_arguments<'a>(cx: &mut Checker<'a>, func: FuncId, args: &[Arg<'a>]) {
    let params = cx.functions.inst(func).params.clone();
    for (arg, param) in args.iter().zip(params.iter()) {
        // Lists check themselves.
        if let Arg::Expr(value) = arg {
            narrowing::refuse_in_list(cx, value, param.ty);
        }
    }
}

fn with_constructor<'a>(cx: &mut Checker<'a>, func: FuncId, args: Vec<Arg<'a>>, ty: Ty, span: Span) -> Expr {
    let params = cx.functions.inst(func).params.clone();
    let mut values: Vec<Expr> =
        args.into_iter().zip(params.iter()).map(|(arg, &param)| call::convert_arg(cx, arg, param)).collect();
    call::default_arguments(cx, func, &mut values, span);
    if values.len() < params.len() || values.iter().any(|value| value.ty.ty.is_error()) {
        return cx.poison(span);
    }
    if is_defaulted(&cx.functions, func) {
        return match values.into_iter().next() {
            // A defaulted copy.
            Some(pointer) => {
                let place = operator::dereference(cx, pointer, span);
                convert::copied(cx, place)
            }
            None => cx.values().zero(ty, span),
        };
    }
    init::constructed(cx, func, values, ty, span)
}

pub(super) fn is_defaulted(functions: &Functions<'_>, func: FuncId) -> bool {
    match functions.inst(func).origin {
        super::function::Origin::Decl(decl) => {
            matches!(functions.decl(decl).ast.body, FunctionBody::Default)
        }
        super::function::Origin::Synthesised(_)
        | super::function::Origin::Dispatch
        | super::function::Origin::Linked => false,
    }
}

/// The object that `S{args}` makes when the class has constructors.
pub(super) fn by_list<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    clauses: &'a [InitClause],
    form: ListForm,
    span: Span,
) -> Expr {
    let Some(args) = call::clause_args(cx, clauses) else { return cx.poison(span) };
    of_class(cx, record, args, Brackets::Brace(form), span)
}
