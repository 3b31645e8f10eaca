//! Calls of the functions beneath the library (`__am_*`), by the rules of their rows.

use super::call::Arg;
use super::checker::Checker;
use crate::ast;
use crate::builtins::{self, ArgRule, BuiltinOp, RetRule};
use crate::hir::{Expr, ExprKind, MAX_METAL_VECTOR_LEN, QualTy, ScalarTy, Ty, TyKind};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

/// What the arguments seen so far say about the types of the others.
#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    /// "T" of the rules.
    ty: Option<Ty>,
    pointee: Option<Ty>,
}

impl<'a> Checker<'a> {
    pub(super) fn builtin_call(
        &mut self,
        name: &'a ast::PathSegment,
        args: &'a [ast::Expr],
        span: Span,
    ) -> Expr {
        let text = name.name.as_str();
        let Some(id) = builtins::find(text) else {
            let mut diagnostic =
                Diagnostic::error("unknown-builtin", name.span, format!("unknown builtin `{text}`"));
            if let Some(near) = anymetal_diagnostics::suggest(text, builtins::names()) {
                diagnostic = diagnostic.with_hint(format!("did you mean `{near}`?"));
            }
            self.report(diagnostic);
            return self.poison(span);
        };
        let builtin = id.get();
        let explicit = name.args.as_ref().map(|args| self.explicit_args(args));
        let explicit = match explicit.as_deref() {
            Some([super::template_args::ExplicitArg::Type(ty)]) => Some(ty.ty),
            Some([super::template_args::ExplicitArg::Error]) => return self.poison(span),
            _ => None,
        };
        let Some(args) = self.call_args(args) else { return self.poison(span) };
        if args.len() != builtin.args.len() {
            let message = format!("`{text}` takes {} arguments, not {}", builtin.args.len(), args.len());
            self.error("argument-count", span, message);
            return self.poison(span);
        }
        let mut bound = Bound::default();
        let mut values = Vec::with_capacity(args.len());
        for (arg, &rule) in args.into_iter().zip(builtin.args) {
            let Some(value) = self.builtin_arg(arg, rule, &mut bound, text, span) else {
                return self.poison(span);
            };
            values.push(value);
        }
        let Some(ty) = self.builtin_result(builtin.ret, &values, &bound, explicit) else {
            self.error(
                "builtin-result",
                span,
                format!("`{text}` needs a template argument that says its type"),
            );
            return self.poison(span);
        };
        if builtin.op == BuiltinOp::Bitcast && !self.check_bits(&values, ty, span) {
            return self.poison(span);
        }
        Expr::value(ExprKind::Builtin(id, values), ty, span)
    }

    /// Whether `as_type` can see a value as another type: numbers, vectors and classes of one size. Reported,
    /// if not.
    fn check_bits(&mut self, values: &[Expr], to: Ty, span: Span) -> bool {
        let Some(value) = values.first() else { return false };
        let from = value.ty.ty;
        if to.is_error() {
            return false;
        }
        let bytes = self.bits_size(from).zip(self.bits_size(to));
        let (from, to) = (self.types.display(from), self.types.display(to));
        let message = match bytes {
            Some((a, b)) if a == b => return true,
            Some((a, b)) => {
                format!("`as_type` needs types of one size: `{from}` has {a} bytes, `{to}` has {b}")
            }
            None => format!("`as_type` takes numbers and vectors, and cannot make `{to}` of `{from}`"),
        };
        // `as_type` is a template of the library: the mistake is where it is called.
        let span = self.diagnostics.requested_at().unwrap_or(span);
        self.error("bad-bit-cast", span, message);
        false
    }

    /// The bytes that count when a value is seen as another type; `None` for types that cannot be.
    fn bits_size(&self, ty: Ty) -> Option<u64> {
        match *self.types.kind(ty) {
            TyKind::Scalar(_) | TyKind::Enum(_) | TyKind::Record(_) => Some(self.types.layout(ty).size),
            TyKind::Vector { elem, len, .. } => Some(u64::from(elem.size()) * u64::from(len)),
            _ => None,
        }
    }

    fn builtin_arg(
        &mut self,
        arg: Arg<'a>,
        rule: ArgRule,
        bound: &mut Bound,
        name: &str,
        span: Span,
    ) -> Option<Expr> {
        let Arg::Expr(value) = arg else {
            self.error(
                "invalid-argument",
                span,
                format!("`{name}` takes values, not initialiser lists or functions"),
            );
            return None;
        };
        let value = if rule == ArgRule::Any { value } else { self.builtin_operand(value) };
        let value = self.values().rvalue(value);
        if value.ty.ty.is_error() {
            return None;
        }
        let to = match rule {
            ArgRule::Any => return Some(value),
            ArgRule::Arith | ArgRule::Float | ArgRule::Int | ArgRule::Bool => match bound.ty {
                Some(ty) => ty,
                None => return self.first_builtin_arg(value, rule, bound, name),
            },
            ArgRule::Pointer => {
                let Some(pointee) = self.types.pointee(value.ty.ty) else {
                    return self.bad_builtin_arg(&value, name, "a pointer");
                };
                bound.pointee = Some(pointee.ty);
                return Some(value);
            }
            ArgRule::Pointee => bound.pointee.unwrap_or(Ty::ERROR),
            ArgRule::Elem => bound.ty.and_then(|ty| self.types.element(ty)).map_or(Ty::ERROR, Ty::scalar),
            ArgRule::IntLike => self.shaped(bound.ty, ScalarTy::I32),
            ArgRule::BoolLike => self.shaped(bound.ty, ScalarTy::Bool),
            ArgRule::I32 => Ty::INT,
            ArgRule::U32 => Ty::UINT,
            ArgRule::U64 => Ty::ULONG,
            ArgRule::Flag => Ty::BOOL,
        };
        if self.types.as_vector(value.ty.ty).is_some() && self.types.as_vector(to).is_some() {
            // `select` takes any vector as its condition.
            let same_length =
                self.types.as_vector(value.ty.ty).map(|v| v.1) == self.types.as_vector(to).map(|v| v.1);
            if same_length && rule != ArgRule::Arith {
                let at = value.span;
                return Some(self.values().cast_value(crate::hir::CastKind::Convert, value, to, at));
            }
        }
        let value = self.convert(value, QualTy::plain(to), "for this argument");
        (!value.ty.ty.is_error()).then_some(value)
    }

    /// The argument that decides what "T" is.
    fn first_builtin_arg(
        &mut self,
        value: Expr,
        rule: ArgRule,
        bound: &mut Bound,
        name: &str,
    ) -> Option<Expr> {
        let value = self.values().unpack(value);
        let is_wide = self.types.as_vector(value.ty.ty).is_some_and(|(_, len)| len > MAX_METAL_VECTOR_LEN);
        let is_plain = !is_wide && self.types.as_matrix(value.ty.ty).is_none();
        let elem = self.types.element(value.ty.ty).filter(|_| is_plain);
        let fits = elem.is_some_and(|elem| match rule {
            ArgRule::Float => elem.is_float(),
            ArgRule::Int => elem.is_integer(),
            ArgRule::Bool => elem == ScalarTy::Bool,
            _ => true,
        });
        if !fits {
            let what = match rule {
                ArgRule::Float => "a float or a vector of floats",
                ArgRule::Int => "an integer or a vector of integers",
                ArgRule::Bool => "a bool or a vector of bools",
                _ => "a number or a vector",
            };
            return self.bad_builtin_arg(&value, name, what);
        }
        bound.ty = Some(value.ty.ty);
        Some(value)
    }

    fn bad_builtin_arg(&mut self, value: &Expr, name: &str, what: &str) -> Option<Expr> {
        let shown = self.show(value.ty);
        self.error("invalid-argument", value.span, format!("`{name}` takes {what} here, not a `{shown}`"));
        None
    }

    fn shaped(&mut self, like: Option<Ty>, elem: ScalarTy) -> Ty {
        match like.and_then(|ty| self.types.as_vector(ty)) {
            Some((_, len)) => self.types.vector(elem, len),
            None => Ty::scalar(elem),
        }
    }

    fn buffer_pointer(&mut self, pointee: Ty, space: Space) -> Ty {
        self.types.pointer(QualTy::in_space(pointee, space))
    }

    fn builtin_result(
        &mut self,
        rule: RetRule,
        values: &[Expr],
        bound: &Bound,
        explicit: Option<Ty>,
    ) -> Option<Ty> {
        let first = values.first().map(|value| value.ty.ty);
        match rule {
            RetRule::Void => Some(Ty::VOID),
            RetRule::Arg(n) => values.get(n).map(|value| value.ty.ty),
            RetRule::Elem => first.and_then(|ty| self.types.element(ty)).map(Ty::scalar),
            RetRule::BoolLike => Some(self.shaped(first, ScalarTy::Bool)),
            RetRule::IntLike => Some(self.shaped(first, ScalarTy::I32)),
            RetRule::Bool => Some(Ty::BOOL),
            RetRule::U32 => Some(Ty::UINT),
            RetRule::U64 => Some(Ty::ULONG),
            RetRule::Pointee => bound.pointee,
            RetRule::DeviceWords => Some(self.buffer_pointer(Ty::UINT, Space::Device)),
            RetRule::DeviceBytes => Some(self.buffer_pointer(Ty::scalar(ScalarTy::U8), Space::Device)),
            RetRule::ConstantBytes => Some(self.buffer_pointer(Ty::scalar(ScalarTy::U8), Space::Constant)),
            RetRule::Explicit => explicit,
        }
    }

    /// `is_function_constant_defined(name)`.
    pub(super) fn function_constant_defined(&mut self, args: &'a [ast::Expr], span: Span) -> Expr {
        if let [only] = args {
            let value = self.expr(only);
            match value.kind {
                ExprKind::FunctionConstant(id) => {
                    return Expr::value(ExprKind::FunctionConstantDefined(id), Ty::BOOL, span);
                }
                _ if value.ty.ty.is_error() => return value,
                _ => {}
            }
        }
        self.error(
            "function-constant-expected",
            span,
            "`is_function_constant_defined` takes a function constant",
        );
        self.poison(span)
    }
}
