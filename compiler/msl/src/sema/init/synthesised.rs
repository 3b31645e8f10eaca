//! Functions that a class has without declaring them: default and inherited constructors, and copies,
//! moves and assignments of its members.
//!
//! Invariant: each is made once, and only where it does more than copy bytes.

use crate::hir::{self, Expr, ExprKind, FuncId, LocalId, QualTy, RecordId, Stmt, StmtKind, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::fn_context::FnContext;
use crate::sema::function::{BodyState, FnInst, Origin};
use crate::sema::special::Source;
use crate::token::{FpPragmas, Name};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// How the members of one object become those of another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::sema) enum Memberwise {
    Construct,
    Assign,
}

/// The kinds of synthesised functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::sema) enum Synthesised {
    DefaultConstructor(RecordId),
    /// Constructs a base with this constructor of it, and the other members as declared.
    Inherited(RecordId, FuncId),
    /// Copies, or moves, the members of an object or the elements of an array.
    Parts {
        how: Memberwise,
        to: QualTy,
        from: QualTy,
        is_move: bool,
    },
}

impl<'a> Checker<'a> {
    /// The function, made if this is the first use.
    pub(in crate::sema) fn synthesise(&mut self, which: Synthesised, span: Span) -> FuncId {
        if let Some(known) = self.functions.synthesised(which) {
            return known;
        }
        let func = self.new_synthesised(which, span);
        self.functions.set_synthesised(which, func);
        func
    }

    fn new_synthesised(&mut self, which: Synthesised, span: Span) -> FuncId {
        let (what, this, params): (_, _, Rc<[QualTy]>) = match which {
            Synthesised::DefaultConstructor(record) => {
                ("(default constructor)", QualTy::plain(self.records.get(record).ty), Rc::from([]))
            }
            Synthesised::Inherited(record, func) => {
                let base = self.functions.inst(func);
                let this = base.this.expect("a constructor has an object");
                let params = base.params.clone();
                ("(inherited constructor)", this.with_ty(self.records.get(record).ty), params)
            }
            Synthesised::Parts { how, to, from, is_move } => {
                let param = QualTy::plain(self.types.reference(from, is_move));
                let what = match how {
                    Memberwise::Construct => "(copy constructor)",
                    Memberwise::Assign => "(assignment)",
                };
                (what, to, Rc::from([param]))
            }
        };
        let record = self.types.as_record(this.ty).map(|record| self.records.get(record));
        let (scope, declared) = match record {
            Some(record) => (record.scope, record.ast.map(|ast| ast.span)),
            None => (self.scopes.current(), None),
        };
        let span = declared.unwrap_or(span);
        self.functions.add(FnInst {
            name: format!("{}::{what}", self.types.display(this.ty)),
            origin: Origin::Synthesised(which),
            args: Rc::from([]),
            scope,
            params,
            ret: Some(QualTy::plain(Ty::VOID)),
            this: Some(this),
            state: BodyState::Unchecked,
            hir: None,
            trace: self.diagnostics.trace(),
            span,
            requested: span,
            definition: None,
        })
    }

    pub(in crate::sema) fn synthesised_body(&mut self, id: FuncId, which: Synthesised) -> hir::Function {
        let inst = self.functions.inst(id);
        let (span, name, types) = (inst.span, inst.name.clone(), inst.params.clone());
        let this = inst.this.expect("a synthesised function has an object");
        self.function = FnContext::outside(self.function.serial);
        let pointer = self.types.pointer(this);
        let mut params = vec![self.function.new_local(self.names.this, pointer, span)];
        self.function.this = Some((params[0], this));
        for &ty in types.iter() {
            let repr = self.values().value_repr(ty);
            params.push(self.function.new_local(Name::EMPTY, repr, span));
        }
        let mut stmts = Vec::new();
        self.in_block(|s| s.synthesised_stmts(which, &params[1..], &mut stmts, span));
        hir::Function {
            name,
            params,
            ret: Ty::VOID,
            locals: std::mem::take(&mut self.function.locals),
            body: hir::Block { stmts },
            fp: FpPragmas::default(),
            span,
            linked: None,
        }
    }

    fn synthesised_stmts(
        &mut self,
        which: Synthesised,
        params: &[LocalId],
        stmts: &mut Vec<Stmt>,
        span: Span,
    ) {
        match which {
            Synthesised::DefaultConstructor(record) => {
                self.clear_bit_fields(record, stmts, span);
                for field in 0..self.types.record(record).fields.len() as u32 {
                    self.default_field(record, field, stmts, span);
                }
            }
            Synthesised::Inherited(record, func) => {
                let args = params.iter().map(|&param| self.param_value(param, span)).collect();
                self.inherited_stmts(record, func, args, stmts, span);
            }
            Synthesised::Parts { how, from, is_move, .. } => {
                let pointer = self.param_value(params[0], span);
                let source = Expr::place(ExprKind::Deref(Box::new(pointer)), from, span);
                let source = if is_move { self.values().as_xvalue(source) } else { source };
                let object = self.this_object(span).expect("the function has an object");
                self.copy_parts(how, &object, &source, stmts);
            }
        }
    }

    fn param_value(&mut self, param: LocalId, span: Span) -> Expr {
        let ty = self.function.local_ty(param);
        let place = Expr::place(ExprKind::Local(param), QualTy::plain(ty), span);
        Expr::value(ExprKind::Load(Box::new(place)), ty, span)
    }

    /// Copies each member of a class, or each element of an array.
    fn copy_parts(&mut self, how: Memberwise, to: &Expr, from: &Expr, stmts: &mut Vec<Stmt>) {
        let span = to.span;
        match *self.types.kind(to.ty.ty) {
            TyKind::Record(record) => {
                if how == Memberwise::Construct {
                    self.clear_bit_fields(record, stmts, span);
                }
                for index in 0..self.types.record(record).fields.len() as u32 {
                    let mut source = self.values().raw_field(from.clone(), record, index, span);
                    source.ty.is_const = from.ty.is_const;
                    let target = self.values().raw_field(to.clone(), record, index, span);
                    self.copy_part(how, target, source, stmts);
                }
            }
            TyKind::Array(elem, len) => self.copy_elements(how, to, from, (elem, len), stmts),
            _ => panic!("only classes and arrays have parts: {}", self.types.display(to.ty.ty)),
        }
    }

    fn copy_elements(
        &mut self,
        how: Memberwise,
        to: &Expr,
        from: &Expr,
        (elem, len): (Ty, u64),
        stmts: &mut Vec<Stmt>,
    ) {
        let span = to.span;
        self.counted_loop(len, None, span, stmts, |s, index| {
            let element = |array: &Expr| {
                let kind = ExprKind::Element(Box::new(array.clone()), Box::new(index.clone()));
                Expr::place(kind, array.ty.with_ty(elem), span)
            };
            let mut stmts = Vec::new();
            s.copy_part(how, element(to), element(from), &mut stmts);
            hir::Block { stmts }
        });
    }

    fn copy_part(&mut self, how: Memberwise, to: Expr, from: Expr, stmts: &mut Vec<Stmt>) {
        let span = to.span;
        if self.types.as_array(to.ty.ty).is_some() && self.copies_by_code(how, to.ty.ty) {
            return self.copy_parts(how, &to, &from, stmts);
        }
        let stored = match (how, self.types.as_record(to.ty.ty)) {
            (Memberwise::Assign, Some(_)) => self.assign_value(to, from, span),
            (Memberwise::Construct, Some(_)) => {
                let value = self.copied(from);
                assigned(to, value, span)
            }
            (_, None) => {
                let value = self.values().whole_value(from);
                assigned(to, value, span)
            }
        };
        if !stored.ty.ty.is_error() {
            stmts.push(Stmt { kind: StmtKind::Expr(stored), span });
        }
    }

    /// Whether copying, or assigning, an object of the type calls functions of classes.
    pub(in crate::sema) fn copies_by_code(&mut self, how: Memberwise, ty: Ty) -> bool {
        let record = match *self.types.kind(ty) {
            TyKind::Array(elem, _) => return self.copies_by_code(how, elem),
            TyKind::Record(record) => record,
            _ => return false,
        };
        let info = self.types.record(record);
        if !info.is_complete {
            return false;
        }
        if let Some(known) = self.records.get(record).copies_by_code[how as usize] {
            return known;
        }
        let is_union = info.is_union;
        let members: Vec<Ty> =
            info.fields.iter().filter(|field| !field.is_reference).map(|field| field.ty.ty).collect();
        let found = self.declares_copy(how, record)
            || (!is_union && members.into_iter().any(|ty| self.copies_by_code(how, ty)));
        self.records.get_mut(record).copies_by_code[how as usize] = Some(found);
        found
    }

    /// Whether the class declares a copy or move constructor, or assignment, that is not defaulted.
    pub(in crate::sema) fn declares_copy(&mut self, how: Memberwise, record: RecordId) -> bool {
        let decls = match how {
            Memberwise::Construct => self.records.get(record).constructors.clone(),
            Memberwise::Assign => self.assignment_operators(record),
        };
        decls.into_iter().any(|decl| self.copies_objects_of(decl, record))
    }

    /// The copy of a whole array.
    pub(in crate::sema) fn copied_array(&mut self, array: Expr) -> Expr {
        if array.is_place && !self.check_copying(Memberwise::Construct, &array) {
            return self.poison(array.span);
        }
        if array.is_place && self.copies_by_code(Memberwise::Construct, array.ty.ty) {
            return self.copied_parts(array);
        }
        self.values().whole_value(array)
    }

    /// A new object that has copies of the parts of a place, or what is moved from them.
    pub(in crate::sema) fn copied_parts(&mut self, place: Expr) -> Expr {
        let (ty, span) = (place.ty.ty, place.span);
        let (func, address) = self.parts_function(Memberwise::Construct, QualTy::plain(ty), place);
        Expr::value(ExprKind::Construct(func, vec![address]), ty, span)
    }

    /// Assigns the parts of one place to those of another.
    pub(in crate::sema) fn assigned_parts(&mut self, to: Expr, from: Expr, span: Span) -> Expr {
        if !self.check_modifiable(&to, span) {
            return self.poison(span);
        }
        let from = self.upcast_place(from, to.ty.ty);
        let ty = to.ty;
        let (func, address) = self.parts_function(Memberwise::Assign, ty, from);
        let pointer = self.types.pointer(ty);
        let target = Expr::value(ExprKind::AddressOf(Box::new(to)), pointer, span);
        // The function returns nothing: calls of functions that return pointers are always inlined.
        let local = self.function.new_local(Name::EMPTY, pointer, span);
        let variable = Expr::place(ExprKind::Local(local), QualTy::plain(pointer), span);
        let value = Expr::value(ExprKind::Load(Box::new(variable)), pointer, span);
        let call = Expr::value(ExprKind::Call(func, vec![value.clone(), address]), Ty::VOID, span);
        let rest = Expr::value(ExprKind::Comma(Box::new(call), Box::new(value)), pointer, span);
        let kind = ExprKind::Let(local, Some(Box::new(target)), Box::new(rest));
        Expr::place(ExprKind::Deref(Box::new(Expr::value(kind, pointer, span))), ty, span)
    }

    /// The function that copies or moves from a place to an object, and the place's address.
    fn parts_function(&mut self, how: Memberwise, to: QualTy, place: Expr) -> (FuncId, Expr) {
        let span = place.span;
        let is_move = self.functions.is_rvalue(&self.types, &place) && !place.ty.is_const;
        let takes_mutable = match self.types.as_record(place.ty.ty) {
            Some(record) => self.copy_source(how, record) == Source::Mutable,
            None => !place.ty.is_const,
        };
        let from = QualTy { is_const: !is_move && !takes_mutable, ..place.ty };
        let func = self.synthesise(Synthesised::Parts { how, to, from, is_move }, span);
        let pointer = self.types.pointer(from);
        (func, Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span))
    }
}

/// Stores the first value of a place, which may be const.
pub(in crate::sema) fn assigned(place: Expr, value: Expr, span: Span) -> Expr {
    let ty = place.ty;
    Expr::place(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span)
}
