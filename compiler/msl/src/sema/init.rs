//! Initialisation: what a declaration's initialiser, or its absence, makes of a type.
//!
//! This file has the entry for `= e`, `(…)` and `{…}`; `list` reads braces, `aggregate` fills the
//! members of a class without constructors, `default` is for objects that nothing initialises,
//! `constructor` is for what a constructor does before its body, and `synthesised` and `inherited` are for
//! functions that no class declares.

mod aggregate;
mod constructor;
mod default;
mod inherited;
mod list;
mod synthesised;

pub(super) use synthesised::{Memberwise, Synthesised, assigned};

use super::call::Arg;
use super::checker::Checker;
use super::construct::ConstructArgs;
use super::expr::scalar_const;
use super::special::Deletion;
use crate::ast::{self, ExprKind as Ast, Initialiser};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, ScalarTy, Ty};
use anymetal_diagnostics::Span;

/// What default initialisation of a type does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DefaultInit {
    /// Nothing.
    Trivial,
    /// Calls this constructor.
    Constructor(FuncId),
    /// There is no default constructor.
    Impossible,
    /// There is one, but it is deleted.
    Deleted(Deletion),
}

impl<'a> Checker<'a> {
    /// The initial value that an initialiser gives for a type (the pointer, for a reference).
    pub(super) fn initial_value(&mut self, ty: QualTy, init: &'a Initialiser, span: Span) -> Expr {
        let to = self.initialised_type(ty);
        match init {
            Initialiser::Assign(expr) => match &expr.kind {
                Ast::InitList(clauses) => self.list_value(clauses, to, expr.span),
                _ => {
                    if let Some(value) = self.characters(expr, ty.ty) {
                        return value;
                    }
                    if self.types.pointed_function(to.ty).is_some() {
                        return match self.call_arg(expr) {
                            Arg::Expr(value) => self.convert(value, to, "in this initialiser"),
                            functions => self.convert_arg(functions, to),
                        };
                    }
                    let value = self.expr(expr);
                    if self.types.as_array(ty.ty).is_some() && value.ty.ty == ty.ty {
                        return self.copied_array(value);
                    }
                    self.convert(value, to, "in this initialiser")
                }
            },
            Initialiser::Paren(args) => {
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                if self.types.referent(ty.ty).is_some() {
                    return self.bound_argument(args, to, span);
                }
                self.construct(to, ConstructArgs::Paren(args), span)
            }
            Initialiser::Brace(clauses) => {
                if let (Some(_), [only]) = (self.types.referent(ty.ty), clauses.as_slice())
                    && !matches!(only.value.kind, Ast::InitList(_))
                {
                    let value = self.expr(&only.value);
                    return self.convert(value, to, "in this initialiser");
                }
                self.list_value(clauses, to, span)
            }
        }
    }

    /// What a string literal makes of an array of characters, its end included where there is room; `None`
    /// for other expressions and types.
    fn characters(&mut self, expr: &ast::Expr, ty: Ty) -> Option<Expr> {
        let Ast::Str(text) = expr.kind else {
            // Other expressions initialise no array of characters.
            return None;
        };
        let (elem, len) = self.types.as_array(ty)?;
        let scalar = self.types.as_scalar(elem).filter(|s| matches!(s, ScalarTy::I8 | ScalarTy::U8))?;
        let bytes = text.as_str().as_bytes();
        let span = expr.span;
        if bytes.len() as u64 > len {
            let message =
                format!("a text of {} characters does not fit `{}`", bytes.len(), self.types.display(ty));
            self.error("excess-initialisers", span, message);
            return Some(self.poison(span));
        }
        let values = bytes.iter().map(|&byte| scalar_const(scalar, u64::from(byte), span)).collect();
        Some(Expr::value(ExprKind::Array(values), ty, span))
    }

    /// The type an initialiser is converted to: qualifiers count for what a reference refers to only.
    pub(super) fn initialised_type(&self, declared: QualTy) -> QualTy {
        if self.types.referent(declared.ty).is_some() { declared } else { declared.unqualified() }
    }

    /// What `(argument)` gives for a reference.
    fn bound_argument(&mut self, args: Vec<Arg<'a>>, to: QualTy, span: Span) -> Expr {
        match args.into_iter().next() {
            Some(arg) => self.convert_arg(arg, to),
            None => self.poison(span),
        }
    }
}
