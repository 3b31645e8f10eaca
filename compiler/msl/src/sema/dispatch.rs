//! Calls through pointers: a function for each, which chooses by the number.
//!
//! A dispatch is a switch over all functions of the pointer's type that have numbers: those of handles, those
//! of other libraries that are linked, and those whose address is taken somewhere. Which these are is known
//! once everything that the kernel reaches was checked; until then a dispatch has no code. Behind this stage
//! all calls are direct.
//!
//! Invariant: a number that no function has, 0 included, is an access out of bounds of memory that has no
//! bytes and a name that says what was called ([`anymetal_abi::functions`]).

use super::checker::Checker;
use super::function::{BodyState, FnInst, Functions, Origin, function_type};
use super::function_pointer::FunctionNumbers;
use super::scopes::{ScopeId, Scopes};
use super::table::NsId;
use super::{Links, function_pointer, kernel};
use crate::functions::FunctionHandle;
use crate::hir::{
    self, Block, CastKind, Expr, ExprKind, FuncId, Local, LocalId, QualTy, ScalarTy, Stmt, StmtKind,
    SwitchCase, Ty, TyKind, Types,
};
use crate::token::{FpPragmas, Name};
use anymetal_abi::functions;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The dispatches of a program, and the functions of other libraries.
#[derive(Debug, Default)]
struct Dispatches {
    /// By function type and place of the call, so that an error names the place.
    known: FxHashMap<(Ty, Span), FuncId>,
    all: Vec<(Ty, FuncId)>,
    /// By position among the handles.
    linked: FxHashMap<usize, FuncId>,
}

/// Everything that pointers to functions may lead to.
#[derive(Debug)]
pub(super) struct Linking<'a> {
    pub(super) links: Links<'a>,
    pub(super) numbers: FunctionNumbers,
    dispatches: Dispatches,
}

impl<'a> Linking<'a> {
    pub(super) fn new(links: Links<'a>) -> Self {
        Self { links, numbers: FunctionNumbers::new(links.next), dispatches: Dispatches::default() }
    }

    /// How many functions and dispatches there are: where it does not change, nothing does.
    pub(super) fn dispatch_size(&self) -> (usize, usize) {
        (self.dispatches.all.len(), self.numbers.functions.len())
    }

    /// The n-th dispatch.
    pub(super) fn dispatch(&self, n: usize) -> FuncId {
        self.dispatches.all[n].1
    }
}

/// The function that calls through a pointer: its first argument, before those of the function.
pub(super) fn function_of(cx: &mut Checker<'_>, signature: Ty, span: Span) -> FuncId {
    if let Some(&known) = cx.linking.dispatches.known.get(&(signature, span)) {
        return known;
    }
    let (ret, given) = function_type(&cx.types, signature).unwrap_or((QualTy::plain(Ty::VOID), Rc::from([])));
    let mut params = vec![QualTy::plain(cx.types.pointer(QualTy::plain(signature)))];
    params.extend(given.iter().copied());
    let name = format!("call of {}", cx.types.display(signature));
    let function = add_made_function(
        &mut cx.scopes,
        &mut cx.functions,
        name,
        Origin::Dispatch,
        params.into(),
        ret,
        span,
    );
    number_handles(cx);
    cx.linking.dispatches.known.insert((signature, span), function);
    cx.linking.dispatches.all.push((signature, function));
    function
}

fn add_made_function(
    scopes: &mut Scopes<'_>,
    functions: &mut Functions<'_>,
    name: String,
    origin: Origin,
    params: Rc<[QualTy]>,
    ret: QualTy,
    span: Span,
) -> FuncId {
    let scope: ScopeId = scopes.namespace(NsId::GLOBAL);
    functions.add(FnInst {
        name,
        origin,
        args: Rc::from([]),
        scope,
        params,
        ret: Some(ret),
        this: None,
        state: BodyState::Checked,
        hir: None,
        has_errors: false,
        trace: None,
        span,
        requested: span,
        definition: None,
    })
}

/// Gives the program's own functions the numbers of their handles.
pub(super) fn number_handles(cx: &mut Checker<'_>) {
    if std::mem::replace(&mut cx.linking.numbers.has_handles, true) {
        return;
    }
    for handle in cx.linking.links.handles.iter().filter(|handle| handle.signature.is_none()) {
        let entrance = cx.linking.links.entrances.iter().find(|entrance| entrance.name == handle.name);
        if let Some(entrance) = entrance
            && let Some(function) = kernel::function(cx, entrance)
        {
            cx.linking.numbers.insert(handle.number, function);
        }
    }
}

/// Writes the code of all dispatches as far as their functions are known now.
pub(super) fn write(cx: &mut Checker<'_>) {
    let mut next = 0;
    while next < cx.linking.dispatches.all.len() {
        let (signature, function) = cx.linking.dispatches.all[next];
        next += 1;
        let code = code(cx, signature, function);
        cx.functions.inst_mut(function).hir = Some(Rc::new(code));
    }
}

/// The functions that a pointer of this type may name, with their numbers.
fn candidates(cx: &mut Checker<'_>, signature: Ty) -> Vec<(u32, FuncId)> {
    let mut found = Vec::new();
    for (number, function) in cx.linking.numbers.functions.clone() {
        let span = cx.functions.inst(function).span;
        if function_pointer::signature_of(cx, function, span) == Some(signature) {
            found.push((number, function));
        }
    }
    let key = signature_key(&cx.types, signature);
    for (position, handle) in cx.linking.links.handles.iter().enumerate() {
        if handle.is_in_tables && handle.signature.as_ref() == Some(&key) {
            let span = cx.linking.links.span;
            found.push((handle.number, linked_function(cx, position, handle, signature, span)));
        }
    }
    // A function may be named twice, once as one of the library's own and once as a linked one.
    let mut numbers = FxHashSet::default();
    found.retain(|(number, _)| numbers.insert(*number));
    found
}

/// The function of another library that a handle is of.
fn linked_function(
    cx: &mut Checker<'_>,
    position: usize,
    handle: &FunctionHandle,
    signature: Ty,
    span: Span,
) -> FuncId {
    if let Some(&known) = cx.linking.dispatches.linked.get(&position) {
        return known;
    }
    let (ret, params) =
        function_type(&cx.types, signature).unwrap_or((QualTy::plain(Ty::VOID), Rc::from([])));
    let function = add_made_function(
        &mut cx.scopes,
        &mut cx.functions,
        handle.name.clone(),
        Origin::Linked,
        params,
        ret,
        span,
    );
    let code = linked_code(cx, position, function);
    cx.functions.inst_mut(function).hir = Some(Rc::new(code));
    cx.linking.dispatches.linked.insert(position, function);
    function
}

/// A function without code, of another library.
pub(super) fn linked_code(cx: &mut Checker<'_>, position: usize, function: FuncId) -> hir::Function {
    let (params, locals) = made_params(cx, function);
    let inst = cx.functions.inst(function);
    let (name, span, ret) = (inst.name.clone(), inst.span, inst.ret.unwrap_or(QualTy::plain(Ty::VOID)));
    let ret = cx.values().value_repr(ret);
    let (body, linked) = (Block::default(), Some(position));
    hir::Function { name, params, ret, locals, body, fp: FpPragmas::default(), span, linked }
}

/// The linked function that stands for a declaration without a definition, if there is one.
pub(super) fn linked_declaration(
    cx: &mut Checker<'_>,
    function: FuncId,
    name: &str,
    span: Span,
) -> Option<usize> {
    let is_wanted = |handle: &FunctionHandle| handle.signature.is_some() && handle.name == name;
    let position = cx.linking.links.handles.iter().position(is_wanted)?;
    let signature = function_pointer::signature_of(cx, function, span)?;
    let (own, given) =
        (signature_key(&cx.types, signature), cx.linking.links.handles[position].signature.clone()?);
    if own != given {
        let shown = |key: &str| key.split('#').next().unwrap_or_default().to_owned();
        let message = format!(
            "`{name}` is declared as `{}`, but the linked function is `{}`",
            shown(&own),
            shown(&given)
        );
        cx.report(Diagnostic::error("function-pointer", span, message));
    }
    Some(position)
}

/// A function type as other libraries have it: its text, and the sizes of the records in it.
pub(super) fn signature_key(types: &Types, signature: Ty) -> String {
    let mut key = types.display(signature);
    let Some((ret, params)) = function_type(types, signature) else { return key };
    for ty in std::iter::once(&ret).chain(params.iter()) {
        let ty = match types.kind(ty.ty) {
            TyKind::Pointer(to) | TyKind::Reference { to, .. } => to.ty,
            _ => ty.ty,
        };
        if types.as_record(ty).is_some() {
            let layout = types.layout(ty);
            key += &format!("#{}:{}", layout.size, layout.align);
        }
    }
    key
}

/// A made function's parameters as variables.
fn made_params(cx: &mut Checker<'_>, function: FuncId) -> (Vec<LocalId>, Vec<Local>) {
    let (params, span) = (cx.functions.inst(function).params.clone(), cx.functions.inst(function).span);
    let mut locals = Vec::new();
    for &param in params.iter() {
        locals.push(Local { name: Name::EMPTY, ty: cx.values().value_repr(param), span });
    }
    ((0..locals.len() as u32).map(LocalId).collect(), locals)
}

fn code(cx: &mut Checker<'_>, signature: Ty, dispatch: FuncId) -> hir::Function {
    let candidates = candidates(cx, signature);
    let (params, mut locals) = made_params(cx, dispatch);
    let inst = cx.functions.inst(dispatch);
    let (name, span, ret) = (inst.name.clone(), inst.span, inst.ret.unwrap_or(QualTy::plain(Ty::VOID)));
    let ret = cx.values().value_repr(ret);
    let load = |local: LocalId, ty: Ty| {
        let place = Expr::place(ExprKind::Local(local), QualTy::plain(ty), span);
        Expr::value(ExprKind::Load(Box::new(place)), ty, span)
    };
    let number = Expr::value(
        ExprKind::Cast(CastKind::Bitcast, Box::new(load(params[0], locals[0].ty))),
        Ty::ULONG,
        span,
    );
    let result = (ret != Ty::VOID).then(|| {
        locals.push(Local { name: Name::EMPTY, ty: ret, span });
        LocalId(locals.len() as u32 - 1)
    });
    let keep = |value: Expr| match result {
        None => value,
        Some(result) => {
            let place = Expr::place(ExprKind::Local(result), QualTy::plain(ret), span);
            Expr::place(ExprKind::Assign(Box::new(place), Box::new(value)), QualTy::plain(ret), span)
        }
    };
    let stmt = |kind| Stmt { kind, span };
    let mut cases = Vec::new();
    for (number, function) in candidates {
        let args = params[1..].iter().map(|&param| load(param, locals[param.0 as usize].ty)).collect();
        let call = Expr::value(ExprKind::Call(function, args), ret, span);
        let body = Block { stmts: vec![stmt(StmtKind::Expr(keep(call)))] };
        cases.push(SwitchCase { values: vec![i64::from(number)], is_default: false, body });
    }
    let mut otherwise = vec![stmt(StmtKind::Expr(invalid_call(cx, signature, number.clone(), span)))];
    if result.is_some() {
        otherwise.push(stmt(StmtKind::Expr(keep(Expr::value(ExprKind::Zero, ret, span)))));
    }
    cases.push(SwitchCase { values: Vec::new(), is_default: true, body: Block { stmts: otherwise } });
    let mut stmts: Vec<Stmt> =
        result.iter().map(|&local| stmt(StmtKind::Declare { local, init: None })).collect();
    stmts.push(stmt(StmtKind::Switch { selector: number, cases }));
    stmts.extend(result.map(|local| stmt(StmtKind::Return(Some(load(local, ret))))));
    let body = Block { stmts };
    hir::Function { name, params, ret, locals, body, fp: FpPragmas::default(), span, linked: None }
}

/// The access that is out of bounds whatever the number.
fn invalid_call(cx: &mut Checker<'_>, signature: Ty, number: Expr, span: Span) -> Expr {
    let element = Ty::scalar(ScalarTy::I8);
    let table = cx.types.array(element, 0);
    let name = functions::invalid_call(&cx.types.display(signature));
    let global = cx.data.named_global(name, table, span);
    let qual = QualTy { is_const: true, is_volatile: true, ..QualTy::in_space(table, Space::Constant) };
    let place = Expr::place(ExprKind::Global(global), qual, span);
    let pointer = cx.types.pointer(qual.with_ty(element));
    let first = Expr::value(ExprKind::ArrayDecay(Box::new(place)), pointer, span);
    let number = cx.values().cast_value(CastKind::Convert, number, Ty::LONG, span);
    let at = Expr::value(ExprKind::PointerAdd(Box::new(first), Box::new(number)), pointer, span);
    let place = Expr::place(ExprKind::Deref(Box::new(at)), qual.with_ty(element), span);
    Expr::value(ExprKind::Load(Box::new(place)), element, span)
}
