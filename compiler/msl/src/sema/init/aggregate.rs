//! Classes without constructors: one value for each member, in their order.
//!
//! Members that no clause names take their declared initialiser, or their default value.

use super::list::Cursor;
use crate::ast::{self, Designator, InitClause};
use crate::hir::{self, Expr, ExprKind, QualTy, RecordId, StmtKind};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::expr::after;
use crate::sema::lookup::Found;
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

impl<'a> Checker<'a> {
    /// Whether the class has no constructors but defaulted and deleted ones, and all its data are public.
    pub(in crate::sema) fn is_aggregate(&self, record: RecordId) -> bool {
        let inst = self.records.get(record);
        !inst.hides_data
            && inst.constructors.iter().all(|&id| {
                let ast = self.functions.decl(id).ast;
                let has_code = !matches!(ast.body, ast::FunctionBody::Default | ast::FunctionBody::Delete);
                !has_code && !ast.specifiers.is_explicit
            })
    }

    /// Initialises the members of a class without constructors from the cursor.
    pub(super) fn aggregate(&mut self, record: RecordId, cursor: &mut Cursor<'a>, span: Span) -> Expr {
        let count = self.types.record(record).fields.len();
        if self.types.record(record).is_union {
            return self.union_aggregate(record, cursor, span);
        }
        let slots = self.aggregate_slots(record);
        let mut values: Vec<Option<Expr>> = vec![None; count];
        let mut effects = Vec::new();
        let mut next = 0;
        while let Some(clause) = cursor.clauses.get(cursor.at) {
            if let Some(Designator::Field(name, at)) = clause.designators.first() {
                let Some(path) = self.designated_field(record, *name, *at) else { return self.poison(span) };
                let field = path[0] as usize;
                let value = self.designated_value(record, &path, clause, cursor);
                values[field] = Some(value);
                let slot = slots.iter().position(|(slot, _)| *slot == Some(field));
                next = slot.expect("each field has a slot") + 1;
                continue;
            }
            let Some(&(field, ty)) = slots.get(next) else { break };
            let value = self.element(ty, cursor);
            match field {
                Some(field) => values[field] = Some(value),
                None => effects.push(value),
            }
            next += 1;
        }
        let object = self.aggregate_of(record, values, span);
        self.after_all(effects, object)
    }

    /// The elements of an aggregate in their order: bases, then members. An empty base has no field.
    fn aggregate_slots(&mut self, record: RecordId) -> Vec<(Option<usize>, QualTy)> {
        let bases = self.records.get(record).bases.clone();
        let with_fields = bases.iter().filter(|(_, field)| field.is_some()).count();
        let base = |(base, field): (RecordId, Option<u32>)| {
            (field.map(|field| field as usize), QualTy::plain(self.records.get(base).ty))
        };
        let mut slots: Vec<_> = bases.into_iter().map(base).collect();
        let fields = self.types.record(record).fields.clone();
        for (n, field) in fields.iter().enumerate().skip(with_fields) {
            slots.push((Some(n), self.declared_field_type(field).unqualified()));
        }
        slots
    }

    /// A value after the effects of others; in error if one of them is.
    fn after_all(&mut self, first: Vec<Expr>, then: Expr) -> Expr {
        if first.iter().any(|value| value.ty.ty.is_error()) {
            return self.poison(then.span);
        }
        first.into_iter().rev().fold(then, |then, value| after(value, then))
    }

    fn aggregate_of(&mut self, record: RecordId, mut values: Vec<Option<Expr>>, span: Span) -> Expr {
        let defaults = self.records.get(record).field_inits.clone();
        if values.iter().zip(&defaults).any(|(value, default)| value.is_none() && default.is_some()) {
            return self.aggregate_with_defaults(record, values, span);
        }
        self.struct_of(record, span, |_, n| values[n].take())
    }

    /// An object from the values of its members, one after the other; a missing one is as declared.
    fn struct_of(
        &mut self,
        record: RecordId,
        span: Span,
        mut value_of: impl FnMut(&mut Self, usize) -> Option<Expr>,
    ) -> Expr {
        let count = self.types.record(record).fields.len();
        let mut fields = Vec::with_capacity(count);
        for n in 0..count {
            let value = match value_of(self, n) {
                Some(value) => value,
                None => self.missing_field(record, n as u32, span),
            };
            if value.ty.ty.is_error() {
                return self.poison(span);
            }
            fields.push(value);
        }
        Expr::value(ExprKind::Struct(fields), self.records.get(record).ty, span)
    }

    /// Default member initialisers may mention earlier members: the object is built in a variable that
    /// they see as `*this`.
    fn aggregate_with_defaults(&mut self, record: RecordId, values: Vec<Option<Expr>>, span: Span) -> Expr {
        let ty = self.records.get(record).ty;
        let object = QualTy::plain(ty);
        let pointer_ty = self.types.pointer(object);
        let local = self.function.new_local(Name::EMPTY, ty, span);
        let pointer = self.function.new_local(self.names.this, pointer_ty, span);
        let outer = self.function.this.replace((pointer, object));
        let mut stmts = Vec::new();
        for (n, value) in values.into_iter().enumerate() {
            match value {
                Some(value) => self.store_field(record, n as u32, value, &mut stmts, span),
                None => self.default_field(record, n as u32, &mut stmts, span),
            }
        }
        self.function.this = outer;
        let place = Expr::place(ExprKind::Local(local), object, span);
        let mut body = Expr::value(ExprKind::Load(Box::new(place.clone())), ty, span);
        for stmt in stmts.into_iter().rev() {
            if let StmtKind::Expr(store) = stmt.kind {
                body = Expr::value(ExprKind::Comma(Box::new(store), Box::new(body)), ty, span);
            }
        }
        let address = Expr::value(ExprKind::AddressOf(Box::new(place)), pointer_ty, span);
        let body = Expr::value(ExprKind::Let(pointer, Some(Box::new(address)), Box::new(body)), ty, span);
        let zero = Expr::value(ExprKind::Zero, ty, span);
        Expr::value(ExprKind::Let(local, Some(Box::new(zero)), Box::new(body)), ty, span)
    }

    fn union_aggregate(&mut self, record: RecordId, cursor: &mut Cursor<'a>, span: Span) -> Expr {
        let ty = self.records.get(record).ty;
        let Some(clause) = cursor.clauses.get(cursor.at) else { return self.values().zero(ty, span) };
        let (index, value) = match clause.designators.first() {
            Some(Designator::Field(name, at)) => {
                let Some(path) = self.designated_field(record, *name, *at) else { return self.poison(span) };
                (path[0], self.designated_value(record, &path, clause, cursor))
            }
            _ => {
                let Some(first) = self.types.record(record).fields.first() else {
                    return self.values().zero(ty, span);
                };
                let first = first.ty.unqualified();
                (0, self.element(first, cursor))
            }
        };
        if value.ty.ty.is_error() {
            return value;
        }
        Expr::value(ExprKind::Union(index, Box::new(value)), ty, span)
    }

    fn designated_field(
        &mut self,
        record: RecordId,
        name: crate::token::Name,
        span: Span,
    ) -> Option<Rc<[u32]>> {
        match self.lookup_in_record(record, name) {
            Some(Found::Field(owner, path)) if owner == record => Some(path),
            _ => {
                let class = self.types.record(record).name.clone();
                self.error("unknown-member", span, format!("no member named `{name}` in `{class}`"));
                None
            }
        }
    }

    fn designated_value(
        &mut self,
        record: RecordId,
        path: &[u32],
        clause: &'a InitClause,
        cursor: &mut Cursor<'a>,
    ) -> Expr {
        let span = clause.value.span;
        if clause.designators.len() > 1 || path.len() > 1 {
            self.error("nested-designator", span, "designators of nested members are not supported");
            cursor.at += 1;
            return self.poison(span);
        }
        let field = self.types.record(record).fields[path[0] as usize].clone();
        let ty = self.declared_field_type(&field).unqualified();
        self.element(ty, cursor)
    }

    /// The value of a member that no clause names.
    fn missing_field(&mut self, record: RecordId, index: u32, span: Span) -> Expr {
        let init = self.records.get(record).field_inits.get(index as usize).copied().flatten();
        let field = &self.types.record(record).fields[index as usize];
        let (name, field, is_reference) = (field.name, field.ty, field.is_reference);
        match init {
            Some(init) => {
                let scope = self.records.get(record).scope;
                self.in_scope(scope, |s| s.initial_value(field, init, span))
            }
            None if is_reference => {
                self.uninitialised_member(name, span);
                self.poison(span)
            }
            None => self.value_init(field.ty, span),
        }
    }

    /// A class without constructors from arguments in parentheses.
    pub(in crate::sema) fn aggregate_from_args(
        &mut self,
        record: RecordId,
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Expr {
        let slots = self.aggregate_slots(record);
        // Parentheses convert no argument to an empty base, which has no member.
        let is_base = |(arg, (field, ty)): (&Arg<'a>, &(Option<usize>, QualTy))| {
            field.is_some() || matches!(arg, Arg::Expr(value) if value.ty.ty == ty.ty)
        };
        let fits = args.len() <= slots.len() && args.iter().zip(&slots).all(is_base);
        if !fits || self.types.record(record).is_union {
            let name = self.types.record(record).name.clone();
            let types: Vec<String> = args.iter().map(|arg| self.show_call_arg(arg)).collect();
            let message = format!("`{name}` has no constructor that takes ({})", types.join(", "));
            self.error("no-matching-function", span, message);
            return self.poison(span);
        }
        let mut values = vec![None; self.types.record(record).fields.len()];
        let mut effects = Vec::new();
        for (arg, (field, ty)) in args.into_iter().zip(slots) {
            let value = self.convert_arg(arg, ty);
            match field {
                Some(field) => values[field] = Some(value),
                None => effects.push(value),
            }
        }
        let object = self.struct_of(record, span, |_, n| values[n].take());
        self.after_all(effects, object)
    }

    pub(super) fn declared_field_type(&mut self, field: &hir::FieldInfo) -> QualTy {
        match (field.is_reference, self.types.pointee(field.ty.ty)) {
            (true, Some(to)) => QualTy::plain(self.types.reference(to, false)),
            _ => field.ty,
        }
    }
}
