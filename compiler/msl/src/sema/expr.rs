//! Expressions: the dispatcher, literals, names, and the small constructors everything else uses.

use super::checker::{Checker, LocalDecl, TArg};
use super::construct::ConstructArgs;
use super::lookup::Found;
use super::path::{Miss, Target};
use super::{spelling, walk};
use crate::ast::{self, ExprKind as Ast};
use crate::hir::{ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use crate::token::FloatSuffix;
use anymetal_diagnostics::Span;
use anymetal_ir::Scalar;

impl<'a> Checker<'a> {
    /// Checks an expression. After an error the result is poison.
    pub(super) fn expr(&mut self, expr: &'a ast::Expr) -> Expr {
        let span = expr.span;
        match self.deeper(span, |s| s.expr_inner(expr)) {
            Some(value) => value,
            None => self.poison(span),
        }
    }

    fn expr_inner(&mut self, expr: &'a ast::Expr) -> Expr {
        let span = expr.span;
        match &expr.kind {
            Ast::Int { value, unsigned, long, decimal } => {
                int_literal(*value, *unsigned, *long, *decimal, span)
            }
            Ast::Float { value, suffix } => self.float_literal(*value, *suffix, span),
            Ast::Bool(value) => self.bool_const(*value, span),
            Ast::Char(code) => scalar_const(ScalarTy::I8, u64::from(*code) & 0xff, span),
            Ast::Str(text) => self.text(text.as_str(), span),
            Ast::Nullptr => Expr::value(ExprKind::Const(ConstValue::Null), Ty::NULLPTR, span),
            Ast::This => self.this_expr(span),
            Ast::Path(path) => self.path_expr(path),
            Ast::DecltypePath(inner, path) => {
                let outer = self.decltype(inner);
                match self.resolve_in_type(outer, path) {
                    Ok(target) => self.target_value(target, path),
                    Err(miss) => {
                        self.report_miss(miss, "name");
                        self.poison(span)
                    }
                }
            }
            Ast::Paren(inner) => self.expr(inner),
            Ast::Unary(op, inner) => self.unary_expr(*op, inner, span),
            Ast::Postfix(op, inner) => {
                let decrement = matches!(op, ast::PostfixOp::Decrement);
                self.increment_expr(inner, decrement, true, span)
            }
            Ast::Binary(..) => self.binary_chain(expr),
            Ast::Assign(op, lhs, rhs) => self.assign_expr(*op, lhs, rhs, span),
            Ast::Conditional(cond, a, b) => self.conditional_expr(cond, a, b, span),
            Ast::Call(callee, args) => self.call_expr(callee, args, span),
            Ast::Index(base, index) => self.index_expr(base, index, span),
            Ast::Member { base, arrow, member } => self.member_expr(base, *arrow, member, span),
            Ast::Cast(kind, ty, inner) => self.cast_expr(*kind, ty, inner, span),
            Ast::Construct { ty, args, braced } => self.construct_expr(ty, args, *braced, span),
            Ast::InitList(_) => {
                self.error("init-list", span, "an initialiser list cannot stand here");
                self.poison(span)
            }
            Ast::SizeofType(_)
            | Ast::SizeofExpr(_)
            | Ast::SizeofPack(_)
            | Ast::AlignofType(_)
            | Ast::TypeTrait(..) => self.trait_expr(expr),
            Ast::Noexcept(operand) => self.noexcept_expr(operand, span),
            Ast::Lambda(lambda) => self.lambda_expr(lambda, span),
            Ast::Fold(fold) => self.fold_expr(fold, span),
            Ast::BitCast(ty, inner) => self.bit_cast_expr(ty, inner, span),
            Ast::PackElement(inner, n) => self.with_pack_index(*n, |s| s.expr(inner)),
            Ast::PackExpansion(_) => {
                self.error("pack-expansion", span, "a pack cannot be expanded here");
                self.poison(span)
            }
            Ast::Error => {
                // The parser has reported it; keep the program from looking fine.
                self.poison(span)
            }
        }
    }

    fn construct_expr(
        &mut self,
        ty: &'a ast::Type,
        args: &'a [ast::InitClause],
        braced: bool,
        span: Span,
    ) -> Expr {
        if let ast::TypeKind::Path(path) = &ty.kind
            && let Some(template) = self.bare_class_template(path)
        {
            let Some(args) = self.clause_args(args) else { return self.poison(span) };
            return self.construct_deduced(&template, args, span);
        }
        let ty = self.resolve_type(ty);
        if ty.ty.is_error() {
            return self.poison(span);
        }
        if braced {
            return self.construct(ty, ConstructArgs::Brace(args), span);
        }
        let Some(args) = self.clause_args(args) else { return self.poison(span) };
        self.construct(ty, ConstructArgs::Paren(args), span)
    }

    // --- names

    fn path_expr(&mut self, path: &'a ast::Path) -> Expr {
        match self.resolve_path(path) {
            Ok(target) => self.target_value(target, path),
            Err(miss) => self.missed(miss, path.span),
        }
    }

    /// What stands for a name that names nothing: that of the function around it, or an error.
    pub(super) fn missed(&mut self, miss: Miss, span: Span) -> Expr {
        match miss {
            Miss::Unknown { name, within: None, .. } if is_function_name(name.as_str()) => {
                let name = self.function.name.clone();
                self.text(&name, span)
            }
            miss => {
                self.report_miss(miss, "name");
                self.poison(span)
            }
        }
    }

    /// A string literal: an array of characters with an end.
    fn text(&mut self, text: &str, span: Span) -> Expr {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        let ty = self.types.array(Ty::scalar(ScalarTy::I8), bytes.len() as u64);
        self.constant_table(ty, bytes, span)
    }

    /// The value (usually a place) that a resolved path stands for.
    pub(super) fn target_value(&mut self, target: Target<'a>, path: &'a ast::Path) -> Expr {
        let span = path.span;
        let not_value = match target.found {
            Found::Local(decl) => return self.local_value(&decl, span),
            Found::TArg(TArg::Value(ty, value)) => return self.constant_expr(ty, value, span),
            Found::Enumerator(ty, value) => return Expr::value(ExprKind::Const(value), ty, span),
            Found::Variable(decl) => {
                let args = target.args.map(|args| self.explicit_args(args));
                return match self.variable_global(decl, args, span) {
                    Some(global) => self.global_value(global, span),
                    None => self.poison(span),
                };
            }
            Found::Field(record, _) => {
                let Some(object) = self.this_object(span) else {
                    return self.field_without_object(record, target.found, span);
                };
                let object = self.as_naming_class(object, path);
                return self.member_value(object, target.found, span);
            }
            Found::Error | Found::Ambiguous(_) => return self.poison(span),
            Found::TArg(TArg::Pack(_)) => "an unexpanded parameter pack",
            Found::TArg(TArg::Template(_)) => "a template",
            Found::TArg(TArg::Function(function)) => return self.function_pointer(function, span),
            Found::Functions(decls) => return self.named_function(&decls, target.args, span),
            Found::TArg(TArg::Type(_)) | Found::Type(_) | Found::Injected(_) => "a type",
            Found::BuiltinTemplate(_) | Found::ClassTemplate(_) | Found::AliasTemplate(_) => "a template",
            Found::Namespace(_) => "a namespace",
        };
        self.error("not-a-value", span, format!("`{}` is {not_value}, not a value", spelling::path(path)));
        self.poison(span)
    }

    /// A member named without an object: fine in `decltype` and `sizeof`.
    fn field_without_object(&mut self, record: crate::hir::RecordId, found: Found<'a>, span: Span) -> Expr {
        if self.function.unevaluated == 0 {
            self.error("no-object", span, "a data member cannot be used without an object");
            return self.poison(span);
        }
        let ty = QualTy::plain(self.records.get(record).ty);
        let object = Expr::place(ExprKind::Undef, ty, span);
        self.member_value(object, found, span)
    }

    pub(super) fn local_value(&mut self, decl: &LocalDecl, span: Span) -> Expr {
        match decl {
            LocalDecl::Variable { local, ty, function } => {
                if *function != self.function.serial && self.function.unevaluated == 0 {
                    if let Some(value) = self.local_constants.get(*function, *local).cloned() {
                        return self.constant_expr(ty.ty, value, span);
                    }
                    self.report_not_captured(span);
                    return self.poison(span);
                }
                self.values().variable_place(*local, *ty, span)
            }
            LocalDecl::Capture { field, record, ty } => {
                match self.capture_value(*record, *field, *ty, span) {
                    Some(value) => value,
                    None => self.poison(span),
                }
            }
            LocalDecl::Threadgroup(var, ty) => Expr::place(ExprKind::Threadgroup(*var), *ty, span),
            LocalDecl::Global(global) => self.global_value(*global, span),
            LocalDecl::Enumerator(ty, value) => Expr::value(ExprKind::Const(value.clone()), *ty, span),
            LocalDecl::Binding { element, function } => {
                if *function != self.function.serial && self.function.unevaluated == 0 {
                    self.error("not-captured", span, "a structured binding cannot be captured by a lambda");
                    return self.poison(span);
                }
                Expr { span, ..Expr::clone(element) }
            }
            LocalDecl::Type(_) => {
                self.error("not-a-value", span, "a type is not a value");
                self.poison(span)
            }
            LocalDecl::Pack(_) => {
                self.error("unexpanded-pack", span, "a parameter pack must be expanded with `...`");
                self.poison(span)
            }
        }
    }

    fn this_expr(&mut self, span: Span) -> Expr {
        match self.this_object(span) {
            Some(object) => {
                let pointer = self.types.pointer(object.ty);
                Expr::value(ExprKind::AddressOf(Box::new(object)), pointer, span)
            }
            None => {
                self.error("no-this", span, "`this` is only meaningful inside of a method");
                self.poison(span)
            }
        }
    }

    // --- literals

    fn float_literal(&mut self, value: f64, suffix: FloatSuffix, span: Span) -> Expr {
        let (scalar, ir) = match suffix {
            FloatSuffix::None | FloatSuffix::Float | FloatSuffix::Long => (ScalarTy::F32, Scalar::F32),
            FloatSuffix::Half => (ScalarTy::F16, Scalar::F16),
            FloatSuffix::Bfloat => (ScalarTy::BF16, Scalar::Bf16),
        };
        let bits = match ir {
            Scalar::F16 => u64::from(half::f16::from_f64(value).to_bits()),
            Scalar::Bf16 => u64::from(half::bf16::from_f64(value).to_bits()),
            _ => u64::from((value as f32).to_bits()),
        };
        scalar_const(scalar, bits, span)
    }

    pub(super) fn bool_const(&mut self, value: bool, span: Span) -> Expr {
        scalar_const(ScalarTy::Bool, u64::from(value), span)
    }

    /// A constant of any type as an expression: tables become globals.
    pub(super) fn constant_expr(&mut self, ty: Ty, value: ConstValue, span: Span) -> Expr {
        match value {
            ConstValue::Bytes(bytes) => self.constant_table(ty, bytes, span),
            value => Expr::value(ExprKind::Const(value), ty, span),
        }
    }

    // --- small constructors

    /// A value as a place: a temporary.
    pub(super) fn materialize(&mut self, value: Expr) -> Expr {
        if value.is_place || value.ty.ty.is_error() {
            return value;
        }
        let (ty, span) = (value.ty.ty, value.span);
        Expr::place(ExprKind::Materialize(Box::new(value)), QualTy::plain(ty), span)
    }

    /// Converts to `bool` for a condition.
    pub(super) fn condition(&mut self, expr: Expr) -> Expr {
        let span = expr.span;
        if expr.ty.ty.is_error() {
            return expr;
        }
        let is_wide = matches!(self.types.kind(expr.ty.ty), TyKind::Vector { .. } | TyKind::Matrix { .. });
        if is_wide {
            let shown = self.show(expr.ty);
            self.error(
                "vector-condition",
                span,
                format!("a value of type `{shown}` is not a condition; use `any` or `all`"),
            );
            return self.poison(span);
        }
        let expr = self.cast_by_operator(&expr, Ty::BOOL).unwrap_or(expr);
        self.convert(expr, QualTy::plain(Ty::BOOL), "for a condition")
    }
}

/// A value that is known without evaluating the expression that it is of, which is evaluated for its effects.
pub(super) fn known_constant(expr: Expr, value: ConstValue, ty: Ty) -> Expr {
    let constant = Expr::value(ExprKind::Const(value), ty, expr.span);
    after(expr, constant)
}

/// The second expression, after the effects of the first.
pub(super) fn after(first: Expr, then: Expr) -> Expr {
    if !walk::has_effects(&first) {
        return then;
    }
    let (ty, is_place, span) = (then.ty, then.is_place, then.span);
    Expr { kind: ExprKind::Comma(Box::new(first), Box::new(then)), ty, is_place, span }
}

/// A scalar constant.
pub(super) fn scalar_const(scalar: ScalarTy, bits: u64, span: Span) -> Expr {
    Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), Ty::scalar(scalar), span)
}

/// An integer literal has the first of the types it fits.
fn int_literal(value: u64, unsigned: bool, long: bool, decimal: bool, span: Span) -> Expr {
    let fits = |limit: u64| value <= limit;
    let scalar = if !long && !unsigned && fits(i32::MAX as u64) {
        ScalarTy::I32
    } else if !long && (unsigned || !decimal) && fits(u64::from(u32::MAX)) {
        ScalarTy::U32
    } else if !unsigned && fits(i64::MAX as u64) {
        ScalarTy::I64
    } else {
        ScalarTy::U64
    };
    scalar_const(scalar, value, span)
}

/// The predefined variables that hold the name of the function around them.
fn is_function_name(name: &str) -> bool {
    matches!(name, "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__")
}
