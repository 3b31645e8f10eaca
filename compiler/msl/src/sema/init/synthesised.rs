//! Functions that a class has without declaring them: default and inherited constructors, and copies,
//! moves and assignments of its members.
//!
//! Invariant: each is made once, and only where it does more than copy bytes.

use super::{constructor, inherited};
use crate::hir::{self, Expr, ExprKind, FuncId, LocalId, QualTy, RecordId, Stmt, StmtKind, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::fn_context::FnContext;
use crate::sema::function::{BodyState, FnInst, Origin};
use crate::sema::special::Source;
use crate::sema::{assign, call, convert, expr, function, record, special, stmt};
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
    /// Calls this function of a closure without captures. The closure converts to a pointer to it.
    Invoker(FuncId),
    /// Copies, or moves, the members of an object or the elements of an array.
    Parts {
        how: Memberwise,
        to: QualTy,
        from: QualTy,
        is_move: bool,
    },
}

/// The function, made if this is the first use.
pub(in crate::sema) fn synthesise(cx: &mut Checker<'_>, which: Synthesised, span: Span) -> FuncId {
    if let Some(known) = cx.functions.synthesised(which) {
        return known;
    }
    let func = new_synthesised(cx, which, span);
    cx.functions.set_synthesised(which, func);
    func
}

fn new_synthesised(cx: &mut Checker<'_>, which: Synthesised, span: Span) -> FuncId {
    if let Synthesised::Invoker(call) = which {
        return new_invoker(cx, call, span);
    }
    let (what, this, params): (_, _, Rc<[QualTy]>) = match which {
        Synthesised::Invoker(_) => unreachable!("it is made above"),
        Synthesised::DefaultConstructor(record) => {
            ("(default constructor)", QualTy::plain(cx.records.get(record).ty), Rc::from([]))
        }
        Synthesised::Inherited(record, func) => {
            let base = cx.functions.inst(func);
            let this = base.this.expect("a constructor has an object");
            let params = base.params.clone();
            ("(inherited constructor)", this.with_ty(cx.records.get(record).ty), params)
        }
        Synthesised::Parts { how, to, from, is_move } => {
            let param = QualTy::plain(cx.types.reference(from, is_move));
            let what = match how {
                Memberwise::Construct => "(copy constructor)",
                Memberwise::Assign => "(assignment)",
            };
            (what, to, Rc::from([param]))
        }
    };
    let record = cx.types.as_record(this.ty).map(|record| cx.records.get(record));
    let (scope, declared) = match record {
        Some(record) => (record.scope, record.ast.map(|ast| ast.span)),
        None => (cx.scopes.current(), None),
    };
    let span = declared.unwrap_or(span);
    cx.functions.add(FnInst {
        name: format!("{}::{what}", cx.types.display(this.ty)),
        origin: Origin::Synthesised(which),
        args: Rc::from([]),
        scope,
        params,
        ret: Some(QualTy::plain(Ty::VOID)),
        this: Some(this),
        state: BodyState::Unchecked,
        hir: None,
        has_errors: false,
        trace: cx.diagnostics.trace(),
        span,
        requested: span,
        definition: None,
    })
}

fn new_invoker(cx: &mut Checker<'_>, call: FuncId, span: Span) -> FuncId {
    let ret = function::return_type(cx, call, span);
    let inst = cx.functions.inst(call);
    cx.functions.add(FnInst {
        name: format!("{}(invoker)", inst.name),
        origin: Origin::Synthesised(Synthesised::Invoker(call)),
        args: Rc::from([]),
        scope: inst.scope,
        params: inst.params.clone(),
        ret: Some(ret),
        this: None,
        state: BodyState::Unchecked,
        hir: None,
        trace: cx.diagnostics.trace(),
        span: inst.span,
        requested: span,
        definition: None,
        has_errors: false,
    })
}

fn invoker_body(cx: &mut Checker<'_>, id: FuncId, call: FuncId) -> hir::Function {
    let inst = cx.functions.inst(id);
    let (span, name, types) = (inst.span, inst.name.clone(), inst.params.clone());
    let ret = inst.ret.expect("the result of an invoker is known");
    let closure = cx.functions.inst(call).this.expect("a closure's function has an object");
    cx.function = FnContext::outside(cx.function.serial);
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for &ty in types.iter() {
        let repr = cx.values().value_repr(ty);
        let local = cx.function.new_local(Name::EMPTY, repr, span);
        params.push(local);
        let place = Expr::place(ExprKind::Local(local), QualTy::plain(repr), span);
        args.push(Expr::value(ExprKind::Load(Box::new(place)), repr, span));
    }
    let object = expr::materialize(Expr::value(ExprKind::Struct(Vec::new()), closure.ty, span));
    let result = call::function(cx, call, Some(object), args, span);
    let repr = cx.values().value_repr(ret);
    let stmt = if ret.ty == Ty::VOID {
        StmtKind::Expr(result)
    } else if result.is_place {
        StmtKind::Return(Some(Expr::value(ExprKind::AddressOf(Box::new(result)), repr, span)))
    } else {
        StmtKind::Return(Some(result))
    };
    hir::Function {
        name,
        params,
        ret: repr,
        locals: std::mem::take(&mut cx.function.locals),
        body: hir::Block { stmts: vec![Stmt { kind: stmt, span }] },
        fp: FpPragmas::default(),
        span,
        linked: None,
    }
}

pub(in crate::sema) fn synthesised_body(
    cx: &mut Checker<'_>,
    id: FuncId,
    which: Synthesised,
) -> hir::Function {
    if let Synthesised::Invoker(call) = which {
        return invoker_body(cx, id, call);
    }
    let inst = cx.functions.inst(id);
    let (span, name, types) = (inst.span, inst.name.clone(), inst.params.clone());
    let this = inst.this.expect("a synthesised function has an object");
    cx.function = FnContext::outside(cx.function.serial);
    let pointer = cx.types.pointer(this);
    let mut params = vec![cx.function.new_local(cx.names.this, pointer, span)];
    cx.function.this = Some((params[0], this));
    for &ty in types.iter() {
        let repr = cx.values().value_repr(ty);
        params.push(cx.function.new_local(Name::EMPTY, repr, span));
    }
    let mut stmts = Vec::new();
    cx.in_block(|cx| synthesised_stmts(cx, which, &params[1..], &mut stmts, span));
    hir::Function {
        name,
        params,
        ret: Ty::VOID,
        locals: std::mem::take(&mut cx.function.locals),
        body: hir::Block { stmts },
        fp: FpPragmas::default(),
        span,
        linked: None,
    }
}

fn synthesised_stmts(
    cx: &mut Checker<'_>,
    which: Synthesised,
    params: &[LocalId],
    stmts: &mut Vec<Stmt>,
    span: Span,
) {
    match which {
        Synthesised::Invoker(_) => unreachable!("its body is a call"),
        Synthesised::DefaultConstructor(record) => {
            constructor::clear_bit_fields(cx, record, stmts, span);
            constructor::construct_empty_bases(cx, record, &[], stmts, span);
            for field in 0..cx.types.record(record).fields.len() as u32 {
                constructor::default_field(cx, record, field, stmts, span);
            }
        }
        Synthesised::Inherited(record, func) => {
            let args = params.iter().map(|&param| param_value(&cx.function, param, span)).collect();
            inherited::inherited_stmts(cx, record, func, args, stmts, span);
        }
        Synthesised::Parts { how, from, is_move, .. } => {
            let pointer = param_value(&cx.function, params[0], span);
            let source = Expr::place(ExprKind::Deref(Box::new(pointer)), from, span);
            let source = if is_move { cx.values().as_xvalue(source) } else { source };
            let object = call::this_object(cx, span).expect("the function has an object");
            copy_parts(cx, how, &object, &source, stmts);
        }
    }
}

fn param_value(function: &FnContext, param: LocalId, span: Span) -> Expr {
    let ty = function.local_ty(param);
    let place = Expr::place(ExprKind::Local(param), QualTy::plain(ty), span);
    Expr::value(ExprKind::Load(Box::new(place)), ty, span)
}

/// Copies each member of a class, or each element of an array.
fn copy_parts(cx: &mut Checker<'_>, how: Memberwise, to: &Expr, from: &Expr, stmts: &mut Vec<Stmt>) {
    let span = to.span;
    match *cx.types.kind(to.ty.ty) {
        TyKind::Record(record) => {
            if how == Memberwise::Construct {
                constructor::clear_bit_fields(cx, record, stmts, span);
            }
            for index in 0..cx.types.record(record).fields.len() as u32 {
                let mut source = cx.values().raw_field(from.clone(), record, index, span);
                source.ty.is_const = from.ty.is_const;
                let target = cx.values().raw_field(to.clone(), record, index, span);
                copy_part(cx, how, target, source, stmts);
            }
        }
        TyKind::Array(elem, len) => copy_elements(cx, how, to, from, (elem, len), stmts),
        _ => panic!("only classes and arrays have parts: {}", cx.types.display(to.ty.ty)),
    }
}

fn copy_elements(
    cx: &mut Checker<'_>,
    how: Memberwise,
    to: &Expr,
    from: &Expr,
    (elem, len): (Ty, u64),
    stmts: &mut Vec<Stmt>,
) {
    let span = to.span;
    stmt::counted_loop(cx, len, None, span, stmts, |cx, index| {
        let element = |array: &Expr| {
            let kind = ExprKind::Element(Box::new(array.clone()), Box::new(index.clone()));
            Expr::place(kind, array.ty.with_ty(elem), span)
        };
        let mut stmts = Vec::new();
        copy_part(cx, how, element(to), element(from), &mut stmts);
        hir::Block { stmts }
    });
}

fn copy_part(cx: &mut Checker<'_>, how: Memberwise, to: Expr, from: Expr, stmts: &mut Vec<Stmt>) {
    let span = to.span;
    if cx.types.as_array(to.ty.ty).is_some() && copies_by_code(cx, how, to.ty.ty) {
        return copy_parts(cx, how, &to, &from, stmts);
    }
    let stored = match (how, cx.types.as_record(to.ty.ty)) {
        (Memberwise::Assign, Some(_)) => assign::store_value(cx, to, from, span),
        (Memberwise::Construct, Some(_)) => {
            let value = convert::copied(cx, from);
            assigned(to, value, span)
        }
        (_, None) => {
            let value = cx.values().whole_value(from);
            assigned(to, value, span)
        }
    };
    if !stored.ty.ty.is_error() {
        stmts.push(Stmt { kind: StmtKind::Expr(stored), span });
    }
}

/// Whether copying, or assigning, an object of the type calls functions of classes.
pub(in crate::sema) fn copies_by_code(cx: &mut Checker<'_>, how: Memberwise, ty: Ty) -> bool {
    let record = match *cx.types.kind(ty) {
        TyKind::Array(elem, _) => return copies_by_code(cx, how, elem),
        TyKind::Record(record) => record,
        _ => return false,
    };
    let info = cx.types.record(record);
    if !info.is_complete {
        return false;
    }
    if let Some(known) = cx.records.get(record).special.copies_by_code[how as usize] {
        return known;
    }
    let is_union = info.is_union;
    let members: Vec<Ty> =
        info.fields.iter().filter(|field| !field.is_reference).map(|field| field.ty.ty).collect();
    let found = declares_copy(cx, how, record)
        || (!is_union && members.into_iter().any(|ty| copies_by_code(cx, how, ty)));
    cx.records.get_mut(record).special.copies_by_code[how as usize] = Some(found);
    found
}

/// Whether the class declares a copy or move constructor, or assignment, that is not defaulted.
pub(in crate::sema) fn declares_copy(cx: &mut Checker<'_>, how: Memberwise, record: RecordId) -> bool {
    let decls = match how {
        Memberwise::Construct => cx.records.get(record).constructors.clone(),
        Memberwise::Assign => record::assignment_operators(cx, record),
    };
    decls.into_iter().any(|decl| special::copies_objects_of(cx, decl, record))
}

/// The copy of a whole array.
pub(in crate::sema) fn copied_array(cx: &mut Checker<'_>, array: Expr) -> Expr {
    if array.is_place && !special::check_copying(cx, Memberwise::Construct, &array) {
        return cx.poison(array.span);
    }
    if array.is_place && copies_by_code(cx, Memberwise::Construct, array.ty.ty) {
        return copied_parts(cx, array);
    }
    cx.values().whole_value(array)
}

/// A new object that has copies of the parts of a place, or what is moved from them.
pub(in crate::sema) fn copied_parts(cx: &mut Checker<'_>, place: Expr) -> Expr {
    let (ty, span) = (place.ty.ty, place.span);
    let (func, address) = parts_function(cx, Memberwise::Construct, QualTy::plain(ty), place);
    Expr::value(ExprKind::Construct(func, vec![address]), ty, span)
}

/// Assigns the parts of one place to those of another.
pub(in crate::sema) fn assigned_parts(cx: &mut Checker<'_>, to: Expr, from: Expr, span: Span) -> Expr {
    if !assign::check_modifiable(&cx.types, &mut cx.diagnostics, &to, span) {
        return cx.poison(span);
    }
    let from = convert::upcast_place(cx, from, to.ty.ty);
    let ty = to.ty;
    let (func, address) = parts_function(cx, Memberwise::Assign, ty, from);
    let pointer = cx.types.pointer(ty);
    let target = Expr::value(ExprKind::AddressOf(Box::new(to)), pointer, span);
    // The function returns nothing: calls of functions that return pointers are always inlined.
    let local = cx.function.new_local(Name::EMPTY, pointer, span);
    let variable = Expr::place(ExprKind::Local(local), QualTy::plain(pointer), span);
    let value = Expr::value(ExprKind::Load(Box::new(variable)), pointer, span);
    let call = Expr::value(ExprKind::Call(func, vec![value.clone(), address]), Ty::VOID, span);
    let rest = Expr::value(ExprKind::Comma(Box::new(call), Box::new(value)), pointer, span);
    let kind = ExprKind::Let(local, Some(Box::new(target)), Box::new(rest));
    Expr::place(ExprKind::Deref(Box::new(Expr::value(kind, pointer, span))), ty, span)
}

/// The function that copies or moves from a place to an object, and the place's address.
fn parts_function(cx: &mut Checker<'_>, how: Memberwise, to: QualTy, place: Expr) -> (FuncId, Expr) {
    let span = place.span;
    let is_move = cx.functions.is_rvalue(&cx.types, &place) && !place.ty.is_const;
    let takes_mutable = match cx.types.as_record(place.ty.ty) {
        Some(record) => special::copy_source(cx, how, record) == Source::Mutable,
        None => !place.ty.is_const,
    };
    let from = QualTy { is_const: !is_move && !takes_mutable, ..place.ty };
    let func = synthesise(cx, Synthesised::Parts { how, to, from, is_move }, span);
    let pointer = cx.types.pointer(from);
    (func, Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span))
}

/// Stores the first value of a place, which may be const.
pub(in crate::sema) fn assigned(place: Expr, value: Expr, span: Span) -> Expr {
    let ty = place.ty;
    Expr::place(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span)
}
