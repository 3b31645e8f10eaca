//! `sizeof`, `alignof`, and the `__is_*` type traits.

use super::checker::Checker;
use super::values::bit_field;
use crate::ast::{self, ExprKind as Ast};
use crate::hir::{Expr, QualTy, ScalarTy, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// An expression about types.
    pub(super) fn trait_expr(&mut self, expr: &'a ast::Expr) -> Expr {
        let span = expr.span;
        match &expr.kind {
            Ast::SizeofType(ty) => {
                let ty = self.resolve_type(ty);
                self.size_of(ty, span)
            }
            Ast::SizeofExpr(inner) => {
                self.function.unevaluated += 1;
                let value = self.expr(inner);
                self.function.unevaluated -= 1;
                if bit_field(&self.types, &value).is_some() {
                    self.error("bad-sizeof", span, "a bit-field has no size in bytes");
                    return self.poison(span);
                }
                self.size_of(value.ty, span)
            }
            Ast::SizeofPack(name) => match self.scopes.pack_length(*name) {
                Some(count) => super::expr::scalar_const(ScalarTy::U64, count as u64, span),
                None => {
                    self.error("not-a-pack", span, format!("`{name}` is not a parameter pack"));
                    self.poison(span)
                }
            },
            Ast::AlignofType(ty) => {
                let ty = self.resolve_type(ty);
                if ty.ty.is_error() || !self.complete_type(ty.ty, span) {
                    return self.poison(span);
                }
                super::expr::scalar_const(ScalarTy::U64, u64::from(self.types.layout(ty.ty).align), span)
            }
            Ast::TypeTrait(name, types) => self.type_trait(*name, types, span),
            _ => self.poison(span),
        }
    }

    fn size_of(&mut self, ty: QualTy, span: Span) -> Expr {
        let ty = self.types.referent(ty.ty).unwrap_or(ty);
        if ty.ty.is_error() || !self.complete_type(ty.ty, span) {
            return self.poison(span);
        }
        if matches!(self.types.kind(ty.ty), TyKind::Void | TyKind::Function { .. }) {
            let shown = self.show(ty);
            self.error("no-size", span, format!("`{shown}` has no size"));
            return self.poison(span);
        }
        super::expr::scalar_const(ScalarTy::U64, self.types.layout(ty.ty).size, span)
    }

    fn type_trait(&mut self, name: Name, types: &'a [ast::Type], span: Span) -> Expr {
        let resolved: Vec<QualTy> = types.iter().map(|ty| self.resolve_type(ty)).collect();
        if resolved.iter().any(|ty| ty.ty.is_error()) {
            return self.poison(span);
        }
        let answer = match (name.as_str(), resolved.as_slice()) {
            ("__is_same", &[a, b]) => a == b,
            ("__is_convertible" | "__is_convertible_to", &[from, to]) => {
                let value = self.stand_in(from, span);
                let made = self.quietly(|s| s.convert(value, to, ""));
                to.ty == Ty::VOID || made.is_ok_and(|value| !value.ty.ty.is_error())
            }
            ("__is_constructible", &[to, ref from @ ..]) => {
                let args: Vec<_> =
                    from.iter().map(|&ty| super::call::Arg::Expr(self.stand_in(ty, span))).collect();
                let made =
                    self.quietly(|s| s.construct(to, super::construct::ConstructArgs::Paren(args), span));
                made.is_ok_and(|value| !value.ty.ty.is_error())
            }
            ("__is_base_of", &[base, derived]) => {
                base.ty == derived.ty || self.is_derived(derived.ty, base.ty)
            }
            (_, &[ty]) => match self.unary_trait(name.as_str(), ty, span) {
                Some(answer) => answer,
                None => return self.unknown_trait(name, span),
            },
            _ => return self.unknown_trait(name, span),
        };
        self.bool_const(answer, span)
    }

    fn unknown_trait(&mut self, name: Name, span: Span) -> Expr {
        self.error("unknown-trait", span, format!("`{name}` is not a type trait, or takes other arguments"));
        self.poison(span)
    }

    fn unary_trait(&mut self, name: &str, ty: QualTy, span: Span) -> Option<bool> {
        let kind = self.types.kind(ty.ty).clone();
        let scalar = self.types.as_scalar(ty.ty);
        let element = scalar.or_else(|| self.types.as_vector(ty.ty).map(|(element, _)| element));
        Some(match name {
            "__is_empty" => match kind {
                TyKind::Record(id) => {
                    self.complete_record(id, span)
                        && self.types.record(id).fields.is_empty()
                        && !self.types.record(id).is_union
                }
                _ => false,
            },
            "__is_class" => matches!(kind, TyKind::Record(id) if !self.types.record(id).is_union),
            "__is_union" => matches!(kind, TyKind::Record(id) if self.types.record(id).is_union),
            "__is_enum" => matches!(kind, TyKind::Enum(_)),
            "__is_void" => kind == TyKind::Void,
            "__is_pointer" => matches!(kind, TyKind::Pointer(_)),
            "__is_reference" => matches!(kind, TyKind::Reference { .. }),
            "__is_lvalue_reference" => matches!(kind, TyKind::Reference { rvalue: false, .. }),
            "__is_rvalue_reference" => matches!(kind, TyKind::Reference { rvalue: true, .. }),
            "__is_array" => matches!(kind, TyKind::Array(..)),
            "__is_function" => matches!(kind, TyKind::Function { .. }),
            "__is_const" => ty.is_const,
            "__is_volatile" => ty.is_volatile,
            "__is_arithmetic" => scalar.is_some(),
            // Metal's are true of vectors, too.
            "__is_integral" => element.is_some_and(ScalarTy::is_integral),
            "__is_floating_point" => element.is_some_and(ScalarTy::is_float),
            "__is_signed" => scalar.is_some_and(|s| s.is_float() || s.is_signed()),
            "__is_unsigned" => scalar.is_some_and(|scalar| scalar.is_integral() && !scalar.is_signed()),
            "__is_scalar" => {
                scalar.is_some() || matches!(kind, TyKind::Enum(_) | TyKind::Pointer(_) | TyKind::Nullptr)
            }
            "__is_vector" => matches!(kind, TyKind::Vector { .. }),
            "__is_trivially_copyable" | "__is_trivial" | "__is_pod" | "__is_standard_layout" => true,
            _ => return None,
        })
    }
}
