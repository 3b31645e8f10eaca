//! What constructors do before their bodies: member initialisers, default values, delegation.
//!
//! Invariant: members are initialised in the order of their declaration, whatever the order of the
//! initialisers.

use super::DefaultInit;
use super::synthesised::assigned;
use crate::ast;
use crate::hir::{Expr, ExprKind, QualTy, RecordId, Stmt, StmtKind};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::construct::ConstructArgs;
use crate::sema::lookup::Found;
use crate::sema::spelling;
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// A member initialiser, of a pack with the element's number, and the path to its member.
type FieldInit<'a> = (&'a ast::MemInit, Option<usize>, Rc<[u32]>);

impl<'a> Checker<'a> {
    /// Initialises one member as its declaration says.
    pub(super) fn default_field(&mut self, record: RecordId, index: u32, stmts: &mut Vec<Stmt>, span: Span) {
        let init = self.records.get(record).field_inits.get(index as usize).copied().flatten();
        let field = self.types.record(record).fields[index as usize].clone();
        let value = match init {
            Some(init) => {
                let ty = self.declared_field_type(&field);
                let scope = self.records.get(record).scope;
                self.in_scope(scope, |s| s.initial_value(ty, init, span))
            }
            None if field.is_reference => return self.uninitialised_member(field.name, span),
            None => match self.default_init(field.ty.ty, span) {
                DefaultInit::Constructor(func) => self.default_constructed(field.ty.ty, func, span),
                DefaultInit::Trivial => {
                    if field.ty.is_const && !self.may_be_const_without_value(field.ty.ty) {
                        self.uninitialised_member(field.name, span);
                    }
                    return;
                }
                init @ (DefaultInit::Impossible | DefaultInit::Deleted(_)) => {
                    return self.report_no_default(field.ty.ty, init, span);
                }
            },
        };
        self.store_field(record, index, value, stmts, span);
    }

    /// Reports a const or reference member without a value.
    pub(super) fn uninitialised_member(&mut self, name: Name, span: Span) {
        let message = format!("member `{name}` is const or a reference, and has no initialiser");
        self.error("uninitialised-member", span, message);
    }

    pub(super) fn store_field(
        &mut self,
        record: RecordId,
        index: u32,
        value: Expr,
        stmts: &mut Vec<Stmt>,
        span: Span,
    ) {
        let Some(object) = self.this_object(span) else { return };
        if value.ty.ty.is_error() {
            return;
        }
        let place = self.values().raw_field(object, record, index, span);
        stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
    }

    /// What a constructor does before its body: member initialisers and default values, in the order of
    /// the members.
    pub(in crate::sema) fn constructor_prologue(
        &mut self,
        function: &'a ast::Function,
        stmts: &mut Vec<Stmt>,
    ) {
        let Some((_, this)) = self.function.this else { return };
        let Some(record) = self.types.as_record(this.ty) else { return };
        if !self.complete_record(record, function.span) {
            return;
        }
        if let [only] = function.mem_inits.as_slice()
            && self.is_delegation(only, record)
        {
            self.delegate(only, record, stmts);
            return;
        }
        self.clear_bit_fields(record, stmts, function.span);
        let mut by_field: Vec<Vec<FieldInit<'a>>> = vec![Vec::new(); self.types.record(record).fields.len()];
        for (init, element) in self.expanded_inits(&function.mem_inits) {
            let member = self.with_element(element, |s| s.member_of_init(init, record));
            match member {
                Some(path) if !path.is_empty() => by_field[path[0] as usize].push((init, element, path)),
                Some(_) => self.with_element(element, |s| s.empty_base_init(init, stmts)),
                None => {}
            }
        }
        for (index, inits) in by_field.into_iter().enumerate() {
            let index = index as u32;
            if inits.is_empty() && !self.types.record(record).is_union {
                self.default_field(record, index, stmts, function.span);
            }
            for (init, element, path) in inits {
                self.with_element(element, |s| s.member_init(record, init, &path, stmts));
            }
        }
    }

    /// The initialisers, those of packs once for each element.
    fn expanded_inits(&mut self, inits: &'a [ast::MemInit]) -> Vec<(&'a ast::MemInit, Option<usize>)> {
        let mut expanded = Vec::with_capacity(inits.len());
        for init in inits {
            if !init.is_pack {
                expanded.push((init, None));
                continue;
            }
            match self.scopes.pack_length_of_path(&init.name) {
                Some(length) => expanded.extend((0..length).map(|n| (init, Some(n)))),
                None => self.error("not-a-pack", init.span, "`...` needs a parameter pack before it"),
            }
        }
        expanded
    }

    fn with_element<R>(&mut self, element: Option<usize>, f: impl FnOnce(&mut Self) -> R) -> R {
        match element {
            Some(n) => self.with_pack_index(n, f),
            None => f(self),
        }
    }

    fn is_delegation(&self, init: &ast::MemInit, record: RecordId) -> bool {
        let name = init.name.segments.last().map(|segment| segment.name);
        name.is_some() && name == self.records.get(record).name
    }

    fn delegate(&mut self, init: &'a ast::MemInit, record: RecordId, stmts: &mut Vec<Stmt>) {
        let Some(args) = self.clause_args(&init.args) else { return };
        let value = self.construct_record(record, args, init.span);
        let Some(object) = self.this_object(init.span) else { return };
        if !value.ty.ty.is_error() {
            stmts.push(Stmt { kind: StmtKind::Expr(assigned(object, value, init.span)), span: init.span });
        }
    }

    /// The path to the member (or base) a member initialiser names; empty for an empty base.
    fn member_of_init(&mut self, init: &'a ast::MemInit, record: RecordId) -> Option<Rc<[u32]>> {
        if let [only] = init.name.segments.as_slice()
            && only.args.is_none()
            && let Some(Found::Field(owner, path)) = self.lookup_in_record(record, only.name)
            && owner == record
        {
            return Some(path);
        }
        let base = self.quietly(|s| s.resolve_type_path(&init.name)).ok().flatten();
        if let Some(base) = base.and_then(|ty| self.types.as_record(ty.ty))
            && let Some(path) = self.base_path(record, base)
        {
            return Some(path.into());
        }
        let class = self.types.record(record).name.clone();
        let name = spelling::path(&init.name);
        self.error("unknown-member", init.span, format!("no member named `{name}` in `{class}`"));
        None
    }

    fn member_init(&mut self, record: RecordId, init: &'a ast::MemInit, path: &[u32], stmts: &mut Vec<Stmt>) {
        let span = init.span;
        let Some(mut place) = self.this_object(span) else { return };
        let mut at = record;
        let mut declared = place.ty;
        for &index in path {
            let field = self.types.record(at).fields[index as usize].clone();
            declared = self.declared_field_type(&field);
            place = self.values().raw_field(place, at, index, span);
            at = self.types.as_record(field.ty.ty).unwrap_or(at);
        }
        let value = self.mem_init_value(init, declared, span);
        if !value.ty.ty.is_error() {
            stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
        }
    }

    /// An empty base has no member to store its value in, but its constructor runs.
    fn empty_base_init(&mut self, init: &'a ast::MemInit, stmts: &mut Vec<Stmt>) {
        let Some(base) = self.resolve_type_path(&init.name) else { return };
        let value = self.mem_init_value(init, base.unqualified(), init.span);
        if !value.ty.ty.is_error() {
            stmts.push(Stmt { kind: StmtKind::Expr(value), span: init.span });
        }
    }

    fn mem_init_value(&mut self, init: &'a ast::MemInit, declared: QualTy, span: Span) -> Expr {
        if init.braced {
            return self.list_value(&init.args, declared, span);
        }
        let Some(args) = self.clause_args(&init.args) else { return self.poison(span) };
        let to = self.initialised_type(declared);
        if self.types.referent(declared.ty).is_some() {
            return self.bound_argument(args, to, span);
        }
        if let ([Arg::Expr(only)], Some(_)) = (args.as_slice(), self.types.as_array(to.ty))
            && only.ty.ty == to.ty
        {
            let only = only.clone();
            return self.copied_array(only);
        }
        if args.is_empty() {
            return self.value_init(to.ty, span);
        }
        self.construct(to, ConstructArgs::Paren(args), span)
    }

    /// At the start of a constructor: an object with bit-fields begins as zero, because a write to a
    /// bit-field reads the bytes around it.
    pub(super) fn clear_bit_fields(&mut self, record: RecordId, stmts: &mut Vec<Stmt>, span: Span) {
        if self.types.record(record).fields.iter().all(|field| field.bits.is_none()) {
            return;
        }
        let Some(object) = self.this_object(span) else { return };
        let ty = self.records.get(record).ty;
        let zero = Expr::value(ExprKind::Zero, ty, span);
        let place = ExprKind::Assign(Box::new(object), Box::new(zero));
        let store = Expr::place(place, QualTy::plain(ty), span);
        stmts.push(Stmt { kind: StmtKind::Expr(store), span });
    }
}
