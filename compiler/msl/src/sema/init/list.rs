//! Lists in braces, with brace elision.
//!
//! Invariant: a [`Cursor`] only goes forward, and a clause that was looked at is checked once.

use super::DefaultInit;
use crate::ast::{Designator, ExprKind as Ast, InitClause};
use crate::hir::{Expr, ExprKind, QualTy, RecordId, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::construct::ConstructArgs;
use crate::sema::convert::{Conversion, Rank};
use anymetal_diagnostics::Span;

/// Reads the clauses of a list one after the other, as brace elision wants them.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) clauses: &'a [InitClause],
    pub(super) at: usize,
    /// The value of the current clause, when it was looked at and not used.
    pub(super) pending: Option<Expr>,
}

impl<'a> Checker<'a> {
    /// Whether a list can initialise a type; how well does not matter much.
    pub(in crate::sema) fn list_conversion(
        &mut self,
        clauses: &'a [InitClause],
        to: QualTy,
    ) -> Option<Conversion> {
        if !self.limits.enter_tried_list() {
            return Some(Conversion::new(Rank::User, 1));
        }
        let value = self.quietly(|s| {
            let span = clauses.first().map_or(Span::NONE, |clause| clause.value.span);
            s.list_value(clauses, to, span)
        });
        self.limits.leave_tried_list();
        value.ok().filter(|value| !value.ty.ty.is_error()).map(|_| Conversion::new(Rank::User, 1))
    }

    /// The value that `{clauses}` gives for a type.
    pub(in crate::sema) fn list_value(&mut self, clauses: &'a [InitClause], to: QualTy, span: Span) -> Expr {
        if to.ty.is_error() {
            return self.poison(span);
        }
        let clauses = self.made.expanded_clauses(&self.scopes, clauses);
        if let TyKind::Reference { to: referent, rvalue } = *self.types.kind(to.ty) {
            if !referent.is_const && !rvalue {
                self.error("no-conversion", span, "a list cannot be bound to a reference to non-const");
                return self.poison(span);
            }
            let value = self.list_value(clauses, referent.unqualified(), span);
            let place = self.materialize(value);
            let pointer = self.types.pointer(referent);
            return Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span);
        }
        match *self.types.kind(to.ty) {
            TyKind::Record(record) => self.list_record(record, clauses, span),
            TyKind::Array(elem, len) => self.list_array(to.ty, elem, len, clauses, span),
            TyKind::Vector { .. } if clauses.iter().all(|clause| clause.designators.is_empty()) => {
                self.construct(to, ConstructArgs::Brace(clauses), span)
            }
            TyKind::Vector { .. } | TyKind::Matrix { .. } => {
                let Some(args) = self.clause_args(clauses) else { return self.poison(span) };
                self.construct(to, ConstructArgs::Paren(args), span)
            }
            _ => self.list_scalar(clauses, to, span),
        }
    }

    fn list_scalar(&mut self, clauses: &'a [InitClause], to: QualTy, span: Span) -> Expr {
        match clauses {
            [] => self.values().zero(to.ty, span),
            [only] if only.designators.is_empty() => {
                if let Ast::InitList(inner) = &only.value.kind {
                    return self.list_value(inner, to, span);
                }
                let value = self.expr(&only.value);
                self.convert(value, to.unqualified(), "in this initialiser")
            }
            _ => {
                let shown = self.show(to);
                self.error("excess-initialisers", span, format!("`{shown}` is initialised by one value"));
                self.poison(span)
            }
        }
    }

    fn list_record(&mut self, record: RecordId, clauses: &'a [InitClause], span: Span) -> Expr {
        if !self.complete_record(record, span) {
            return self.poison(span);
        }
        let ty = self.records.get(record).ty;
        let is_aggregate = self.is_aggregate(record);
        if clauses.is_empty()
            && !(is_aggregate && matches!(self.default_init(ty, span), DefaultInit::Deleted(_)))
        {
            return self.value_init(ty, span);
        }
        if !is_aggregate {
            return self.construct_by_list(record, clauses, span);
        }
        if let [only] = clauses
            && only.designators.is_empty()
            && !matches!(only.value.kind, Ast::InitList(_))
        {
            // `S{other}` copies.
            let value = self.expr(&only.value);
            if value.ty.ty.is_error() {
                return value;
            }
            if value.ty.ty == ty || self.is_derived(value.ty.ty, ty) {
                return self.perform(value, QualTy::plain(ty));
            }
            return self.list_aggregate(record, Cursor { clauses, at: 0, pending: Some(value) }, span);
        }
        self.list_aggregate(record, Cursor { clauses, at: 0, pending: None }, span)
    }

    fn list_aggregate(&mut self, record: RecordId, mut cursor: Cursor<'a>, span: Span) -> Expr {
        let value = self.aggregate(record, &mut cursor, span);
        self.check_consumed(&cursor);
        value
    }

    fn check_consumed(&mut self, cursor: &Cursor<'a>) {
        if let Some(extra) = cursor.clauses.get(cursor.at) {
            self.error("excess-initialisers", extra.value.span, "more initialisers than members or elements");
        }
    }

    /// One element of an aggregate: a whole clause, or by brace elision as many as it takes.
    pub(super) fn element(&mut self, to: QualTy, cursor: &mut Cursor<'a>) -> Expr {
        let ty = to.ty;
        let Some(clause) = cursor.clauses.get(cursor.at) else {
            return self.value_init(ty, Span::NONE);
        };
        let span = clause.value.span;
        if cursor.pending.is_none()
            && let Ast::InitList(inner) = &clause.value.kind
        {
            cursor.at += 1;
            return self.list_value(inner, to, span);
        }
        if let Some(value) = self.characters(&clause.value, ty) {
            cursor.at += 1;
            cursor.pending = None;
            return value;
        }
        let value = match cursor.pending.take() {
            Some(value) => value,
            None => self.expr(&clause.value),
        };
        if value.ty.ty.is_error() {
            cursor.at += 1;
            return value;
        }
        let is_aggregate = match *self.types.kind(ty) {
            TyKind::Array(..) => true,
            TyKind::Record(record) => self.complete_record(record, span) && self.is_aggregate(record),
            _ => false,
        };
        if !is_aggregate || self.conversion_of(&value, to, true).is_some() {
            cursor.at += 1;
            return self.convert(value, to, "in this initialiser");
        }
        cursor.pending = Some(value);
        match *self.types.kind(ty) {
            TyKind::Record(record) => self.aggregate(record, cursor, span),
            TyKind::Array(elem, len) => self.array_elements(ty, elem, len, cursor, span),
            _ => self.poison(span),
        }
    }

    fn list_array(&mut self, ty: Ty, elem: Ty, len: u64, clauses: &'a [InitClause], span: Span) -> Expr {
        if let [only] = clauses
            && let Some(value) = self.characters(&only.value, ty)
        {
            return value;
        }
        let mut cursor = Cursor { clauses, at: 0, pending: None };
        let value = self.array_elements(ty, elem, len, &mut cursor, span);
        self.check_consumed(&cursor);
        value
    }

    fn array_elements(&mut self, ty: Ty, elem: Ty, len: u64, cursor: &mut Cursor<'a>, span: Span) -> Expr {
        let mut values = Vec::new();
        while (values.len() as u64) < len && cursor.at < cursor.clauses.len() {
            if let Some(Designator::Index(_)) = cursor.clauses[cursor.at].designators.first() {
                self.error("array-designator", span, "designators of array elements are not supported");
                cursor.at = cursor.clauses.len();
                return self.poison(span);
            }
            let value = self.element(QualTy::plain(elem), cursor);
            if value.ty.ty.is_error() {
                // The rest is not in excess.
                cursor.at = cursor.clauses.len();
                return value;
            }
            values.push(value);
        }
        if (values.len() as u64) < len && self.default_init(elem, span) != DefaultInit::Trivial {
            if self.refuse_too_many_elements(ty, span) {
                return self.poison(span);
            }
            while (values.len() as u64) < len {
                values.push(self.value_init(elem, span));
            }
        }
        Expr::value(ExprKind::Array(values), ty, span)
    }
}
