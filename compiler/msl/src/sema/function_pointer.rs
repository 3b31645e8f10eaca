//! Pointers to functions: a pointer is a function's number, and 0 is none.
//!
//! Functions that the host can name have the numbers of their handles ([`crate::FunctionHandles`]); others
//! get theirs when their address is taken. A call through a pointer calls a function that `dispatch` writes.
//!
//! Invariant: a function whose number may be in memory is in [`FunctionNumbers`], so that a dispatch knows
//! it.

use super::call::Arg;
use super::checker::Checker;
use super::deduce::Deduced;
use super::entities::FnDeclId;
use super::pattern::Pat;
use super::{call, deduce, dispatch, function, overload, resolve_type, special};
use crate::ast::{self, ExprKind as Ast, TemplateArg};
use crate::hir::{ConstValue, Expr, ExprKind, FuncId, QualTy, Ty, TyKind};
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The functions that have numbers.
#[derive(Debug, Default)]
pub(super) struct FunctionNumbers {
    /// Whether the handles of the program's own functions are in it.
    pub(super) has_handles: bool,
    numbers: FxHashMap<FuncId, u32>,
    /// By number, in the order in which they came.
    pub(super) functions: Vec<(u32, FuncId)>,
    next: u32,
}

impl FunctionNumbers {
    pub(super) fn new(next: u32) -> Self {
        Self { next, ..Self::default() }
    }

    pub(super) fn insert(&mut self, number: u32, function: FuncId) {
        // Of a function with several numbers, any may be in memory.
        self.numbers.entry(function).or_insert(number);
        self.functions.push((number, function));
    }

    pub(super) fn function(&self, number: u64) -> Option<FuncId> {
        self.functions.iter().find(|(known, _)| u64::from(*known) == number).map(|(_, function)| *function)
    }
}

/// The pointer to a function.
pub(super) fn pointer_to(cx: &mut Checker<'_>, function: FuncId, span: Span) -> Expr {
    if !special::check_usable(cx, function, None, span) {
        return cx.poison(span);
    }
    let Some(signature) = signature_of(cx, function, span) else { return cx.poison(span) };
    dispatch::number_handles(cx);
    let number = match cx.linking.numbers.numbers.get(&function) {
        Some(&number) => number,
        None => {
            let number = cx.linking.numbers.next;
            cx.linking.numbers.next += 1;
            cx.linking.numbers.insert(number, function);
            number
        }
    };
    let pointer = cx.types.pointer(QualTy::plain(signature));
    Expr::value(ExprKind::Const(ConstValue::Scalar(u64::from(number))), pointer, span)
}

/// The function type of a function.
pub(super) fn signature_of(cx: &mut Checker<'_>, function: FuncId, span: Span) -> Option<Ty> {
    let params = cx.functions.inst(function).params.iter().copied().collect();
    let ret = function::return_type(cx, function, span);
    let form = resolve_type::form_of(&cx.functions, function);
    (!ret.ty.is_error()).then(|| cx.types.intern(TyKind::Function { ret, params, form }))
}

/// The value of a name that means functions, of which there must be one.
pub(super) fn named_function<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    args: Option<&'a [TemplateArg]>,
    span: Span,
) -> Expr {
    if decls.iter().any(|&decl| cx.functions.needs_object(decl)) {
        cx.error("function-pointer", span, "there are no pointers to methods: call it with an object");
        return cx.poison(span);
    }
    match overload::function_without_call(cx, decls, args, span) {
        Some(function) => pointer_to(cx, function, span),
        None => cx.poison(span),
    }
}

/// A name that means functions as a pointer of a type.
pub(super) fn function_of_pointer<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    args: Option<&'a [TemplateArg]>,
    to: QualTy,
    span: Span,
) -> Expr {
    let errors = cx.diagnostics.error_count();
    match overload::function_for_type(cx, decls, args, to.ty, span) {
        Some(function) => pointer_to(cx, function, span),
        None => {
            if cx.diagnostics.error_count() == errors {
                let message = format!("no function of this name has type `{}`", cx.show(to));
                cx.error("no-matching-function", span, message);
            }
            cx.poison(span)
        }
    }
}

/// Deduces from a name that means one function.
pub(super) fn deduce_from_function<'a>(
    cx: &mut Checker<'a>,
    pattern: &Pat<'a>,
    (decls, args, span): (&Rc<[FnDeclId]>, Option<&'a [TemplateArg]>, Span),
    deduced: &mut Deduced,
) -> bool {
    if decls.iter().any(|&decl| cx.functions.needs_object(decl)) {
        return false;
    }
    let only = cx.quietly(|cx| overload::function_without_call(cx, decls, args, span)).ok().flatten();
    // Which of several is meant follows from other arguments, or from explicit ones.
    let Some(function) = only else { return true };
    let Some(signature) = signature_of(cx, function, span) else { return false };
    let pointer = QualTy::plain(cx.types.pointer(QualTy::plain(signature)));
    deduce::from_call_arg(cx, pattern, pointer, false, deduced)
}

/// Whether an expression is the name of functions.
pub(super) fn is_function_name(expr: &ast::Expr) -> bool {
    match &expr.kind {
        Ast::Paren(inner) => is_function_name(inner),
        Ast::Path(_) => true,
        _ => false,
    }
}

/// A call through a pointer. Of a known function it is a plain call.
pub(super) fn call<'a>(cx: &mut Checker<'a>, pointer: Expr, args: Vec<Arg<'a>>, span: Span) -> Expr {
    let pointer = cx.values().rvalue(pointer);
    if let ExprKind::Const(ConstValue::Scalar(number)) = pointer.kind
        && let Some(function) = cx.linking.numbers.function(number)
    {
        return call::known(cx, function, None, args, span);
    }
    let Some(signature) = cx.types.pointed_function(pointer.ty.ty) else { return cx.poison(span) };
    let TyKind::Function { params, .. } = cx.types.kind(signature).clone() else {
        return cx.poison(span);
    };
    if args.len() != params.len() {
        let shown = cx.types.display(signature);
        let message =
            format!("a function of type `{shown}` takes {} arguments, not {}", params.len(), args.len());
        cx.error("argument-count", span, message);
        return cx.poison(span);
    }
    let mut values = vec![pointer];
    values.extend(args.into_iter().zip(params.iter()).map(|(arg, &param)| call::convert_arg(cx, arg, param)));
    if values.iter().any(|value| value.ty.ty.is_error()) {
        return cx.poison(span);
    }
    let dispatch = dispatch::function_of(cx, signature, span);
    call::function(cx, dispatch, None, values, span)
}
