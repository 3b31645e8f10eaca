//! Pointers to functions: a pointer is a function's number, and 0 is none.
//!
//! Functions that the host can name have the numbers of their handles ([`crate::FunctionHandles`]); others
//! get theirs when their address is taken. A call through a pointer calls a function that `dispatch` writes.
//!
//! Invariant: a function whose number may be in memory is in [`FunctionNumbers`], so that a dispatch knows
//! it.

use super::call::Arg;
use super::checker::{Checker, FnDeclId};
use super::deduce::Deduced;
use super::pattern::Pat;
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

impl<'a> Checker<'a> {
    /// The pointer to a function.
    pub(super) fn function_pointer(&mut self, function: FuncId, span: Span) -> Expr {
        if !self.check_usable(function, None, span) {
            return self.poison(span);
        }
        let Some(signature) = self.function_signature(function, span) else { return self.poison(span) };
        self.number_handles();
        let number = match self.linking.numbers.numbers.get(&function) {
            Some(&number) => number,
            None => {
                let number = self.linking.numbers.next;
                self.linking.numbers.next += 1;
                self.linking.numbers.insert(number, function);
                number
            }
        };
        let pointer = self.types.pointer(QualTy::plain(signature));
        Expr::value(ExprKind::Const(ConstValue::Scalar(u64::from(number))), pointer, span)
    }

    /// The function type of a function.
    pub(super) fn function_signature(&mut self, function: FuncId, span: Span) -> Option<Ty> {
        let params = self.functions.inst(function).params.iter().copied().collect();
        let ret = self.return_type(function, span);
        (!ret.ty.is_error()).then(|| self.types.intern(TyKind::Function { ret, params }))
    }

    /// The value of a name that means functions, of which there must be one.
    pub(super) fn named_function(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [TemplateArg]>,
        span: Span,
    ) -> Expr {
        if decls.iter().any(|&decl| self.functions.needs_object(decl)) {
            self.error("function-pointer", span, "there are no pointers to methods: call it with an object");
            return self.poison(span);
        }
        match self.function_without_call(decls, args, span) {
            Some(function) => self.function_pointer(function, span),
            None => self.poison(span),
        }
    }

    /// A name that means functions as a pointer of a type.
    pub(super) fn function_of_pointer(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [TemplateArg]>,
        to: QualTy,
        span: Span,
    ) -> Expr {
        let errors = self.diagnostics.error_count();
        match self.function_for_type(decls, args, to.ty, span) {
            Some(function) => self.function_pointer(function, span),
            None => {
                if self.diagnostics.error_count() == errors {
                    let message = format!("no function of this name has type `{}`", self.show(to));
                    self.error("no-matching-function", span, message);
                }
                self.poison(span)
            }
        }
    }

    /// Deduces from a name that means one function.
    pub(super) fn deduce_from_function(
        &mut self,
        pattern: &Pat<'a>,
        (decls, args, span): (&Rc<[FnDeclId]>, Option<&'a [TemplateArg]>, Span),
        deduced: &mut Deduced,
    ) -> bool {
        if decls.iter().any(|&decl| self.functions.needs_object(decl)) {
            return false;
        }
        let only = self.quietly(|s| s.function_without_call(decls, args, span)).ok().flatten();
        // Which of several is meant follows from other arguments, or from explicit ones.
        let Some(function) = only else { return true };
        let Some(signature) = self.function_signature(function, span) else { return false };
        let pointer = QualTy::plain(self.types.pointer(QualTy::plain(signature)));
        self.deduce_call_arg(pattern, pointer, false, deduced)
    }

    /// Whether an expression is the name of functions.
    pub(super) fn is_function_name(&self, expr: &ast::Expr) -> bool {
        match &expr.kind {
            Ast::Paren(inner) => self.is_function_name(inner),
            Ast::Path(_) => true,
            _ => false,
        }
    }

    /// A call through a pointer. Of a known function it is a plain call.
    pub(super) fn call_pointer(&mut self, pointer: Expr, args: Vec<Arg<'a>>, span: Span) -> Expr {
        let pointer = self.values().rvalue(pointer);
        if let ExprKind::Const(ConstValue::Scalar(number)) = pointer.kind
            && let Some(function) = self.linking.numbers.function(number)
        {
            return self.call_known(function, None, args, span);
        }
        let Some(signature) = self.types.pointed_function(pointer.ty.ty) else { return self.poison(span) };
        let TyKind::Function { params, .. } = self.types.kind(signature).clone() else {
            return self.poison(span);
        };
        if args.len() != params.len() {
            let shown = self.types.display(signature);
            let message =
                format!("a function of type `{shown}` takes {} arguments, not {}", params.len(), args.len());
            self.error("argument-count", span, message);
            return self.poison(span);
        }
        let mut values = vec![pointer];
        values.extend(args.into_iter().zip(params.iter()).map(|(arg, &param)| self.convert_arg(arg, param)));
        if values.iter().any(|value| value.ty.ty.is_error()) {
            return self.poison(span);
        }
        let dispatch = self.dispatch_function(signature, span);
        self.call_function(dispatch, None, values, span)
    }
}
