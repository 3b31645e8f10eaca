//! Default and value initialisation: `T x;` and `T()`.
//!
//! Invariant: a default constructor is synthesised once a class, and only where it would do something.

use super::{DefaultInit, Synthesised};
use crate::ast;
use crate::hir::{Expr, ExprKind, FuncId, RecordId, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::overload::Call;
use crate::token::Name;
use anymetal_diagnostics::Span;

/// The largest array whose elements are initialised one by one.
const MAX_ELEMENTS: u64 = 65_536;

impl<'a> Checker<'a> {
    /// Whether the default constructor that a class declares as defaulted may be used here; reports if not.
    pub(in crate::sema) fn check_default_access(&mut self, ty: Ty, span: Span) -> bool {
        let record = self.types.as_record(self.element_of_arrays(ty));
        let defaulted = record.and_then(|record| self.records.get(record).defaulted);
        defaulted.is_none_or(|func| self.check_function_access(func, None, span))
    }

    /// What `T x;` does.
    pub(in crate::sema) fn default_init(&mut self, ty: Ty, span: Span) -> DefaultInit {
        match *self.types.kind(ty) {
            TyKind::Array(elem, _) => self.default_init(elem, span),
            TyKind::Record(record) => self.default_init_record(record, span),
            _ => DefaultInit::Trivial,
        }
    }

    fn default_init_record(&mut self, record: RecordId, span: Span) -> DefaultInit {
        if !self.complete_record(record, span) {
            return DefaultInit::Trivial;
        }
        if let Some(known) = self.records.get(record).default_init {
            return known;
        }
        let init = self.find_default_init(record, span);
        self.records.get_mut(record).default_init = Some(init);
        init
    }

    fn find_default_init(&mut self, record: RecordId, span: Span) -> DefaultInit {
        let constructors = self.own_constructors(record);
        if !constructors.is_empty() {
            let name = self.types.record(record).name.clone();
            let call =
                Call { name: &name, decls: &constructors, explicit: None, object: None, args: &[], span };
            return match self.default_constructor_among(&call) {
                Some(func) if self.is_defaulted(func) => {
                    self.records.get_mut(record).defaulted = Some(func);
                    self.implicit_default_init(record, span)
                }
                Some(func) if self.is_deleted(func) => {
                    DefaultInit::Deleted(self.default_constructor_deletion(func))
                }
                Some(func) => DefaultInit::Constructor(func),
                None => DefaultInit::Impossible,
            };
        }
        self.implicit_default_init(record, span)
    }

    /// Constructors overloaded by address space are told apart by where the object lives: thread.
    fn default_constructor_among(&mut self, call: &Call<'_, 'a>) -> Option<FuncId> {
        if let Ok(func) = self.find_overload(call) {
            return Some(func);
        }
        let in_thread: Vec<_> = call
            .decls
            .iter()
            .copied()
            .filter(|&decl| {
                let method = self.functions.decl(decl).ast.method;
                method.space.is_none_or(|space| space == ast::AddressSpace::Thread)
            })
            .collect();
        let narrowed = Call { decls: &in_thread, ..*call };
        self.find_overload(&narrowed).ok()
    }

    fn implicit_default_init(&mut self, record: RecordId, span: Span) -> DefaultInit {
        let has_initialisers = self.records.get(record).field_inits.iter().any(Option::is_some);
        let mut needed = has_initialisers;
        if let Some(deletion) = self.default_deletion(record) {
            return DefaultInit::Deleted(deletion);
        }
        let inits = self.records.get(record).field_inits.clone();
        let fields = self.types.record(record).fields.iter().zip(inits);
        let mut parts: Vec<(Name, Ty)> =
            fields.filter(|(_, init)| init.is_none()).map(|(field, _)| (field.name, field.ty.ty)).collect();
        let empty = self.records.get(record).bases.iter().filter(|(_, field)| field.is_none());
        let empty_bases: Vec<Ty> = empty.map(|&(base, _)| self.records.get(base).ty).collect();
        parts.extend(empty_bases.iter().map(|&ty| (Name::EMPTY, ty)));
        for (name, ty) in parts {
            match self.default_init(ty, span) {
                DefaultInit::Trivial => {}
                _ if self.types.record(record).is_union => {
                    if !has_initialisers {
                        return DefaultInit::Deleted(self.variant_deletion(record, name));
                    }
                }
                DefaultInit::Constructor(func) if !self.is_accessible_in(record, func) => {
                    return DefaultInit::Deleted(self.part_deletion(record, name));
                }
                DefaultInit::Constructor(_) => needed |= !empty_bases.contains(&ty),
                DefaultInit::Impossible | DefaultInit::Deleted(_) => {
                    return DefaultInit::Deleted(self.part_deletion(record, name));
                }
            }
        }
        if !needed {
            return DefaultInit::Trivial;
        }
        DefaultInit::Constructor(self.synthesise(Synthesised::DefaultConstructor(record), span))
    }

    /// The value of `T()` and `T{}`.
    pub(in crate::sema) fn value_init(&mut self, ty: Ty, span: Span) -> Expr {
        let init = self.default_init(ty, span);
        if !self.check_default_access(ty, span) {
            return self.poison(span);
        }
        match init {
            DefaultInit::Trivial => self.values().zero(ty, span),
            DefaultInit::Impossible | DefaultInit::Deleted(_) => {
                self.report_no_default(ty, init, span);
                self.poison(span)
            }
            DefaultInit::Constructor(func) => self.default_constructed(ty, func, span),
        }
    }

    /// Reports that an object has no default constructor, or a deleted one.
    pub(in crate::sema) fn report_no_default(&mut self, ty: Ty, init: DefaultInit, span: Span) {
        let element = self.element_of_arrays(ty);
        if let DefaultInit::Deleted(deletion) = init {
            return self.report_deletion("default constructor", element, deletion, span);
        }
        let shown = self.types.display(element);
        self.error("no-default-constructor", span, format!("`{shown}` has no default constructor"));
    }

    /// The type of the innermost elements of an array, other types themselves.
    fn element_of_arrays(&self, ty: Ty) -> Ty {
        let mut inner = ty;
        while let Some((elem, _)) = self.types.as_array(inner) {
            inner = elem;
        }
        inner
    }

    /// Reports an array that has too many objects with constructors, those of inner arrays counted.
    pub(super) fn refuse_too_many_elements(&mut self, ty: Ty, span: Span) -> bool {
        let (mut inner, mut count) = (ty, 1_u64);
        while let Some((elem, len)) = self.types.as_array(inner) {
            (inner, count) = (elem, count.saturating_mul(len));
        }
        if count > MAX_ELEMENTS {
            let message =
                format!("an array of more than {MAX_ELEMENTS} objects with constructors is not supported");
            self.error("array-length", span, message);
        }
        count > MAX_ELEMENTS
    }

    /// An object (or array of them) made by a default constructor.
    pub(in crate::sema) fn default_constructed(&mut self, ty: Ty, func: FuncId, span: Span) -> Expr {
        if let Some((elem, len)) = self.types.as_array(ty) {
            if self.refuse_too_many_elements(ty, span) {
                return self.poison(span);
            }
            let one = self.default_constructed(elem, func, span);
            let values = (0..len).map(|_| one.clone()).collect();
            return Expr::value(ExprKind::Array(values), ty, span);
        }
        if !self.check_usable(func, None, span) {
            return self.poison(span);
        }
        let mut args = Vec::new();
        self.default_arguments(func, &mut args, span);
        Expr::value(ExprKind::Construct(func, args), ty, span)
    }
}
