//! Calls of a function that is known, or of a set to choose from, with checked arguments.
//!
//! Invariant: the call that is made has a value for every parameter, of exactly its type.

use super::Arg;
use crate::hir::{Expr, ExprKind, FuncId, QualTy};
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::expr::after;
use crate::sema::overload::Call;
use crate::sema::template_args::ExplicitArg;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// Resolves among `decls` and makes the call.
    pub(in crate::sema) fn overloaded_call(
        &mut self,
        name: &str,
        decls: &[FnDeclId],
        explicit: Option<Vec<ExplicitArg<'a>>>,
        object: Option<Expr>,
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Expr {
        if let Some(explicit) = &explicit
            && explicit.iter().any(|arg| matches!(arg, ExplicitArg::Error))
        {
            return self.poison(span);
        }
        let call =
            Call { name, decls, explicit: explicit.as_deref(), object: object.as_ref(), args: &args, span };
        let Some(func) = self.resolve_call(&call) else { return self.poison(span) };
        self.call_known(func, object, args, span)
    }

    /// A call of a known function: converts the arguments and adds the default ones.
    pub(in crate::sema) fn call_known(
        &mut self,
        func: FuncId,
        object: Option<Expr>,
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Expr {
        let params = self.functions.inst(func).params.clone();
        if args.len() > params.len() {
            let message = format!(
                "`{}` takes {} arguments, not {}",
                self.functions.inst(func).name,
                params.len(),
                args.len()
            );
            self.error("argument-count", span, message);
            return self.poison(span);
        }
        let mut values: Vec<Expr> =
            args.into_iter().zip(params.iter()).map(|(arg, &param)| self.convert_arg(arg, param)).collect();
        self.default_arguments(func, &mut values, span);
        if values.len() < params.len() || values.iter().any(|value| value.ty.ty.is_error()) {
            return self.poison(span);
        }
        self.call_function(func, object, values, span)
    }

    /// A call of a known function with an object and arguments that fit.
    pub(in crate::sema) fn call_function(
        &mut self,
        func: FuncId,
        object: Option<Expr>,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        if !self.check_usable(func, object.as_ref(), span) {
            return self.poison(span);
        }
        let mut values = Vec::with_capacity(args.len() + 1);
        let mut unused = None;
        match self.functions.inst(func).this {
            Some(this) => {
                let Some(object) = object else { return self.poison(span) };
                values.push(self.bind_object(object, this));
            }
            // Of a static method.
            None => unused = object,
        }
        values.extend(args);
        let ret = self.return_type(func, span);
        if ret.ty.is_error() {
            return self.poison(span);
        }
        let call = match self.types.referent(ret.ty) {
            Some(to) => {
                let pointer = self.types.pointer(to);
                let call = Expr::value(ExprKind::Call(func, values), pointer, span);
                Expr::place(ExprKind::Deref(Box::new(call)), to, span)
            }
            None => Expr::value(ExprKind::Call(func, values), ret.ty, span),
        };
        match unused {
            Some(object) => after(object, call),
            None => call,
        }
    }

    /// The pointer to pass as `this`.
    fn bind_object(&mut self, object: Expr, this: QualTy) -> Expr {
        let span = object.span;
        let pointer = self.types.pointer(this);
        let place = if object.is_place && object.ty.space == this.space {
            object
        } else {
            let value = self.values().rvalue(object);
            self.materialize(value)
        };
        let place = self.upcast_place(place, this.ty);
        Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span)
    }

    /// Calls a value: a closure, a functor.
    pub(super) fn call_value(&mut self, function: Expr, args: Vec<Arg<'a>>, span: Span) -> Expr {
        if function.ty.ty.is_error() {
            return function;
        }
        let key = self.names.call_operator;
        if let Some(record) = self.types.as_record(function.ty.ty)
            && let Some(found) = self.member_functions(record, key, span).transpose()
        {
            let Ok(decls) = found else { return self.poison(span) };
            return self.overloaded_call("operator()", &decls, None, Some(function), args, span);
        }
        if self.types.pointed_function(function.ty.ty).is_some() {
            return self.call_pointer(function, args, span);
        }
        let message = format!("a value of type `{}` cannot be called", self.show(function.ty));
        self.error("not-callable", span, message);
        self.poison(span)
    }
}
