//! Structured bindings: names for the elements of an unnamed variable.
//!
//! The elements are those of an array, of a vector (Clang's extension), or the data members of a class, all
//! of which must be direct members of it or of one base. Metal has no `std::tuple_size`, so nothing else has
//! any.

use super::checker::{Checker, LocalDecl};
use crate::ast::{self, Initialiser, TypeKind};
use crate::hir::{Expr, ExprKind, QualTy, RecordId, ScalarTy, Stmt, StmtKind, Ty};
use crate::sema::expr::scalar_const;
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

impl<'a> Checker<'a> {
    /// A declaration of structured bindings in a block.
    pub(super) fn local_bindings(&mut self, bindings: &'a ast::Bindings, out: &mut Vec<Stmt>) {
        let variable = &bindings.variable;
        let place = variable.init.as_ref().and_then(|init| self.bound_object(variable, init, out));
        self.bind_names(&bindings.names, place, variable.span);
    }

    /// The unnamed variable, declared.
    fn bound_object(
        &mut self,
        variable: &'a ast::Variable,
        init: &'a Initialiser,
        out: &mut Vec<Stmt>,
    ) -> Option<Expr> {
        let written = self.single_initialiser(init, variable.span)?;
        let value = self.expr(written);
        let is_array = self.types.as_array(value.ty.ty).is_some();
        let (ty, value) = if is_array && matches!(variable.ty.kind, TypeKind::Auto) {
            // An array is copied whole here, where `auto` of a variable would make a pointer of it.
            let ty = self.qualify(QualTy::plain(value.ty.ty), variable.ty.quals, variable.span);
            (ty, self.copied_array(value))
        } else {
            self.auto_variable(variable, value)?
        };
        if value.ty.ty.is_error() {
            return None;
        }
        let span = variable.span;
        let repr = self.values().value_repr(ty);
        let local = self.function.new_local(Name::EMPTY, repr, span);
        out.push(Stmt { kind: StmtKind::Declare { local, init: Some(value) }, span });
        Some(self.values().variable_place(local, ty, span))
    }

    /// Declares the names for the elements of a place; all are in error without one.
    pub(super) fn bind_names(&mut self, names: &[(Name, Span)], place: Option<Expr>, span: Span) {
        let elements = place.and_then(|place| self.elements_to_bind(place, names.len(), span));
        for (n, &(name, at)) in names.iter().enumerate() {
            let element = match &elements {
                Some(elements) => Expr { span: at, ..elements[n].clone() },
                None => self.poison(at),
            };
            let function = self.function.serial;
            self.declare_local(name, LocalDecl::Binding { element: Rc::new(element), function }, at);
        }
    }

    /// The elements of an object, as many as there are names.
    fn elements_to_bind(&mut self, place: Expr, wanted: usize, span: Span) -> Option<Vec<Expr>> {
        let ty = place.ty;
        let count = self.countable_elements(ty.ty);
        if let Some(count) = count {
            self.check_binding_count(ty, count, wanted, span).then_some(())?;
            let index = |n: usize| scalar_const(ScalarTy::I32, n as u64, span);
            return Some((0..wanted).map(|n| self.index_checked(place.clone(), index(n), span)).collect());
        }
        let Some(record) = self.types.as_record(ty.ty) else {
            let shown = self.show(ty.unqualified());
            self.error("bad-bindings", span, format!("a value of type `{shown}` has no elements to bind"));
            return None;
        };
        if !self.complete_record(record, span) {
            return None;
        }
        let (place, record) = self.bound_class(place, record, span)?;
        let fields = self.types.record(record).fields.len() as u64;
        self.check_binding_count(ty, fields, wanted, span).then_some(())?;
        let found = |n: usize| super::lookup::Found::Field(record, Rc::from([n as u32]));
        for n in 0..wanted {
            let name = self.types.record(record).fields[n].name;
            if !self.check_access(record, name, &found(n), true, span) {
                return None;
            }
        }
        Some((0..wanted).map(|n| self.member_value(place.clone(), found(n), span)).collect())
    }

    fn countable_elements(&self, ty: Ty) -> Option<u64> {
        self.types
            .as_array(ty)
            .map(|(_, len)| len)
            .or_else(|| self.types.as_vector(ty).map(|(_, len)| u64::from(len)))
    }

    /// The class whose direct members all data members are: the object's or one of its bases.
    fn bound_class(&mut self, mut place: Expr, mut record: RecordId, span: Span) -> Option<(Expr, RecordId)> {
        loop {
            let info = self.types.record(record);
            let nameless = info.fields.iter().any(|field| field.name == Name::EMPTY);
            if !nameless && !info.is_union {
                return Some((place, record));
            }
            let bases = self.records.get(record).bases.clone();
            let base = bases.iter().find(|(_, field)| field.is_some()).map(|&(base, _)| base);
            let only = self.types.record(record).fields.len() == 1;
            let Some(base) = base.filter(|_| only) else {
                let shown = self.types.record(record).name.clone();
                let message = format!(
                    "the members of `{shown}` cannot be bound: they are not all direct members of one class"
                );
                self.error("bad-bindings", span, message);
                return None;
            };
            let ty = self.records.get(base).ty;
            let qual = place.ty.with_ty(ty);
            place = Expr::place(ExprKind::Field(Box::new(place), record, 0), qual, span);
            record = base;
        }
    }

    fn check_binding_count(&mut self, ty: QualTy, have: u64, wanted: usize, span: Span) -> bool {
        if have == wanted as u64 {
            return true;
        }
        let shown = self.show(ty.unqualified());
        let message = format!("`{shown}` has {have} elements, but {wanted} names are given");
        self.error("binding-count", span, message);
        false
    }
}
