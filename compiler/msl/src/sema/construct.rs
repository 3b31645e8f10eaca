//! Construction: `T(args)`, `T{args}` for every kind of type.

use super::call::Arg;
use super::checker::Checker;
use super::overload::{Call, NoOverload};
use crate::ast::{FunctionBody, InitClause};
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, FuncId, QualTy, RecordId, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// The arguments of a construction.
#[derive(Debug)]
pub(super) enum ConstructArgs<'a> {
    /// `(…)`
    Paren(Vec<Arg<'a>>),
    /// `{…}`
    Brace(&'a [InitClause]),
}

/// What becomes of a vector for which several values are given, but too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shortage {
    /// An error: `float4(a, b)`.
    Refused,
    /// The elements that are left are zero: `{a, b}`, as in every list of C++.
    Zeros,
}

impl<'a> Checker<'a> {
    /// A value of type `ty` from arguments.
    pub(super) fn construct(&mut self, ty: QualTy, args: ConstructArgs<'a>, span: Span) -> Expr {
        if ty.ty.is_error() {
            return self.poison(span);
        }
        let args = match args {
            ConstructArgs::Brace(clauses) => {
                let is_flat = matches!(self.types.kind(ty.ty), TyKind::Vector { .. } | TyKind::Matrix { .. });
                if !is_flat || clauses.iter().any(|clause| !clause.designators.is_empty()) {
                    return self.list_value(clauses, ty.unqualified(), span);
                }
                let Some(args) = self.clause_args(clauses) else { return self.poison(span) };
                if self.types.as_vector(ty.ty).is_some() {
                    return self.construct_vector(ty.ty, args, Shortage::Zeros, span);
                }
                args
            }
            ConstructArgs::Paren(args) => args,
        };
        match *self.types.kind(ty.ty) {
            TyKind::Record(record) => self.construct_record(record, args, span),
            TyKind::Vector { .. } => self.construct_vector(ty.ty, args, Shortage::Refused, span),
            TyKind::Matrix { .. } => self.construct_matrix(ty.ty, args, span),
            TyKind::Void if args.is_empty() => Expr::value(ExprKind::Zero, Ty::VOID, span),
            _ => self.construct_scalar(ty, args, span),
        }
    }

    fn construct_scalar(&mut self, ty: QualTy, args: Vec<Arg<'a>>, span: Span) -> Expr {
        let mut args = args.into_iter();
        match (args.next(), args.next()) {
            (None, _) => self.values().zero(ty.ty, span),
            (Some(Arg::Expr(value)), None) => self.explicit_cast(value, ty, false, span),
            (Some(Arg::List(clauses, at)), None) => self.list_value(clauses, ty, at),
            _ => {
                let shown = self.show(ty);
                self.error("bad-construction", span, format!("`{shown}` is constructed from one value"));
                self.poison(span)
            }
        }
    }

    fn values_of(&mut self, args: Vec<Arg<'a>>, span: Span) -> Option<Vec<Expr>> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            let Arg::Expr(value) = arg else {
                self.error("bad-construction", span, "an initialiser list cannot be an element here");
                return None;
            };
            let value = self.builtin_operand(value);
            let value = self.values().rvalue(value);
            if value.ty.ty.is_error() {
                return None;
            }
            values.push(value);
        }
        Some(values)
    }

    fn construct_vector(&mut self, ty: Ty, args: Vec<Arg<'a>>, shortage: Shortage, span: Span) -> Expr {
        let Some((elem, len)) = self.types.as_vector(ty) else { return self.poison(span) };
        let Some(mut values) = self.values_of(args, span) else { return self.poison(span) };
        if values.is_empty() {
            return self.values().zero(ty, span);
        }
        if values.len() == 1 {
            let value = values.remove(0);
            return self.explicit_cast(value, QualTy::plain(ty), false, span);
        }
        let mut parts = Vec::with_capacity(values.len());
        let mut count = 0u32;
        for value in values {
            match *self.types.kind(value.ty.ty) {
                TyKind::Vector { len: n, .. } => {
                    count += u32::from(n);
                    let part = self.types.vector(elem, n);
                    parts.push(self.values().cast_value(CastKind::Convert, value, part, span));
                }
                TyKind::Scalar(_) | TyKind::Enum(_) => {
                    count += 1;
                    parts.push(self.values().cast_value(CastKind::Convert, value, Ty::scalar(elem), span));
                }
                _ => {
                    let shown = self.show(value.ty);
                    self.error(
                        "bad-construction",
                        value.span,
                        format!("a `{shown}` cannot be part of a vector"),
                    );
                    return self.poison(span);
                }
            }
        }
        if shortage == Shortage::Zeros {
            let missing = u32::from(len).saturating_sub(count);
            parts.extend((0..missing).map(|_| self.values().zero(Ty::scalar(elem), span)));
            count += missing;
        }
        if count != u32::from(len) {
            let shown = self.types.display(ty);
            self.error(
                "bad-construction",
                span,
                format!("`{shown}` has {len} elements, but {count} are given"),
            );
            return self.poison(span);
        }
        let plain = self.types.vector(elem, len);
        let vector = self.vector_of(parts, plain, span);
        self.values().cast_value(CastKind::Convert, vector, ty, span)
    }

    /// A vector from parts, folded when all are constants.
    fn vector_of(&mut self, parts: Vec<Expr>, ty: Ty, span: Span) -> Expr {
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
    fn matrix_of_lists(&mut self, ty: Ty, column: QualTy, args: Vec<Arg<'a>>, span: Span) -> Expr {
        let mut columns = Vec::with_capacity(args.len());
        for arg in args {
            let value = match arg {
                Arg::List(clauses, at) => self.list_value(clauses, column, at),
                Arg::Expr(value) => {
                    let value = self.values().rvalue(value);
                    self.convert(value, column, "this column")
                }
                Arg::Functions(..) => {
                    self.error("bad-construction", span, "a function cannot be a column");
                    return self.poison(span);
                }
            };
            if value.ty.ty.is_error() {
                return self.poison(span);
            }
            columns.push(value);
        }
        Expr::value(ExprKind::Matrix(columns), ty, span)
    }

    fn construct_matrix(&mut self, ty: Ty, args: Vec<Arg<'a>>, span: Span) -> Expr {
        let Some((elem, cols, rows)) = self.types.as_matrix(ty) else { return self.poison(span) };
        let has_lists = args.iter().any(|arg| matches!(arg, Arg::List(..)));
        if has_lists && args.len() == usize::from(cols) {
            let column = QualTy::plain(self.types.vector(elem, rows));
            return self.matrix_of_lists(ty, column, args, span);
        }
        let Some(mut values) = self.values_of(args, span) else { return self.poison(span) };
        if values.is_empty() {
            return self.values().zero(ty, span);
        }
        if values.len() == 1 {
            let value = values.remove(0);
            return self.explicit_cast(value, QualTy::plain(ty), false, span);
        }
        let column = self.types.vector(elem, rows);
        let is_columns =
            values.iter().all(|value| self.types.as_vector(value.ty.ty).is_some_and(|(_, n)| n == rows));
        if is_columns && values.len() == usize::from(cols) {
            let columns = values
                .into_iter()
                .map(|value| self.values().cast_value(CastKind::Convert, value, column, span))
                .collect();
            return Expr::value(ExprKind::Matrix(columns), ty, span);
        }
        let is_scalars = values.iter().all(|value| self.types.scalar_repr(value.ty.ty).is_some());
        if is_scalars && values.len() == usize::from(cols) * usize::from(rows) {
            let mut columns = Vec::new();
            let mut values = values.into_iter();
            for _ in 0..cols {
                let parts = values
                    .by_ref()
                    .take(usize::from(rows))
                    .map(|value| self.values().cast_value(CastKind::Convert, value, Ty::scalar(elem), span))
                    .collect();
                columns.push(self.vector_of(parts, column, span));
            }
            return Expr::value(ExprKind::Matrix(columns), ty, span);
        }
        let shown = self.types.display(ty);
        self.error(
            "bad-construction",
            span,
            format!("`{shown}` is constructed from {cols} columns or {} scalars", cols * rows),
        );
        self.poison(span)
    }

    /// A matrix with one value on its diagonal.
    pub(super) fn diagonal(&mut self, value: Expr, ty: Ty, span: Span) -> Expr {
        let Some((elem, cols, rows)) = self.types.as_matrix(ty) else { return self.poison(span) };
        let scalar = Ty::scalar(elem);
        let value = self.values().cast_value(CastKind::Convert, value, scalar, span);
        let column = self.types.vector(elem, rows);
        let local = self.function.new_local(Name::EMPTY, scalar, span);
        let mut columns = Vec::new();
        for c in 0..cols {
            let parts = (0..rows)
                .map(|r| {
                    if r == c {
                        let place = Expr::place(ExprKind::Local(local), QualTy::plain(scalar), span);
                        Expr::value(ExprKind::Load(Box::new(place)), scalar, span)
                    } else {
                        self.values().zero(scalar, span)
                    }
                })
                .collect();
            columns.push(Expr::value(ExprKind::Vector(parts), column, span));
        }
        let matrix = Expr::value(ExprKind::Matrix(columns), ty, span);
        Expr::value(ExprKind::Let(local, Some(Box::new(value)), Box::new(matrix)), ty, span)
    }

    // --- classes

    /// An object of a class from arguments in parentheses.
    pub(super) fn construct_record(&mut self, record: RecordId, args: Vec<Arg<'a>>, span: Span) -> Expr {
        if !self.complete_record(record, span) {
            return self.poison(span);
        }
        let ty = self.records.get(record).ty;
        if args.is_empty() {
            return self.value_init(ty, span);
        }
        if let [Arg::Expr(only)] = args.as_slice()
            && (only.ty.ty == ty || self.is_derived(only.ty.ty, ty))
        {
            let Some(Arg::Expr(only)) = args.into_iter().next() else { return self.poison(span) };
            return self.perform(only, QualTy::plain(ty));
        }
        let constructors = self.records.get(record).constructors.clone();
        let has_deleted =
            constructors.iter().any(|&id| matches!(self.functions.decl(id).ast.body, FunctionBody::Delete));
        if self.is_aggregate(record) && !has_deleted {
            return self.construct_aggregate(record, args, span);
        }
        let name = self.types.record(record).name.clone();
        let call =
            Call { name: &name, decls: &constructors, explicit: None, object: None, args: &args, span };
        match self.find_overload(&call) {
            Ok(func) => self.construct_with(func, args, ty, span),
            Err(problem) => {
                // A conversion operator of the argument may give the class itself.
                if let [Arg::Expr(only)] = args.as_slice()
                    && self.conversion_of(only, QualTy::plain(ty), true).is_some()
                {
                    let only = only.clone();
                    return self.perform(only, QualTy::plain(ty));
                }
                let _: NoOverload = problem;
                self.resolve_call(&call);
                self.poison(span)
            }
        }
    }

    /// `S(a, b)` of a class without constructors: as `S{a, b}`.
    fn construct_aggregate(&mut self, record: RecordId, args: Vec<Arg<'a>>, span: Span) -> Expr {
        let ty = self.records.get(record).ty;
        if let [Arg::Expr(only)] = args.as_slice()
            && self.conversion_of(only, QualTy::plain(ty), true).is_some()
        {
            let only = only.clone();
            return self.perform(only, QualTy::plain(ty));
        }
        self.aggregate_from_args(record, args, span)
    }

    fn construct_with(&mut self, func: FuncId, args: Vec<Arg<'a>>, ty: Ty, span: Span) -> Expr {
        let params = self.functions.inst(func).params.clone();
        let mut values: Vec<Expr> =
            args.into_iter().zip(params.iter()).map(|(arg, &param)| self.convert_arg(arg, param)).collect();
        self.default_arguments(func, &mut values, span);
        if values.len() < params.len() || values.iter().any(|value| value.ty.ty.is_error()) {
            return self.poison(span);
        }
        if self.is_defaulted(func) {
            return match values.into_iter().next() {
                // A defaulted copy.
                Some(pointer) => {
                    let place = self.dereference(pointer, span);
                    self.copied(place)
                }
                None => self.values().zero(ty, span),
            };
        }
        self.constructed(func, values, ty, span)
    }

    pub(super) fn is_defaulted(&self, func: FuncId) -> bool {
        match self.functions.inst(func).origin {
            super::function::Origin::Decl(decl) => {
                matches!(self.functions.decl(decl).ast.body, FunctionBody::Default)
            }
            super::function::Origin::Synthesised(_)
            | super::function::Origin::Dispatch
            | super::function::Origin::Linked => false,
        }
    }

    /// The object that `S{args}` makes when the class has constructors.
    pub(super) fn construct_by_list(
        &mut self,
        record: RecordId,
        clauses: &'a [InitClause],
        span: Span,
    ) -> Expr {
        let Some(args) = self.clause_args(clauses) else { return self.poison(span) };
        self.construct_record(record, args, span)
    }
}
