//! Values: scalars, vectors and pointers.

use super::function::FunctionLowerer;
use super::kernel::thread_fact;
use super::place::Place;
use super::purity::{is_cheap, is_constant};
use super::recursion::too_deep;
use super::{aggregate, builtin, convert, encoding, logging, place, textures, wide_vector};
use crate::hir::{self, BinaryOp, CastKind, CompareOp, ConstValue, ExprKind, LogicalOp, UnaryOp};
use anymetal_ir as ir;

fn function_constant(
    f: &mut FunctionLowerer<'_, '_, '_>,
    id: hir::FunctionConstantId,
    ty: ir::Type,
) -> ir::Value {
    let ir::Type::Vector(scalar, _) = ty else {
        // A scalar has one component.
        return f.b.value(ir::Op::FunctionConstant(ir::FunctionConstantId(id.0)), ty);
    };
    let mut parts = Vec::new();
    for lane in f.module.constant_lanes(id) {
        parts.push(f.b.value(ir::Op::FunctionConstant(lane), ir::Type::Scalar(scalar)));
    }
    f.b.value(ir::Op::Compose(parts), ty)
}

/// Evaluates an expression and drops its value.
pub(super) fn effects(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) {
    if expr.is_place {
        // Not even loaded; but what computes the place may have effects.
        place::lower(f, expr);
    } else if f.types().element(expr.ty.ty).is_some() && f.module.value_type(expr.ty.ty).is_some() {
        lower(f, expr);
    } else {
        any_value(f, expr);
    }
}

/// A value of any type, dropped.
fn any_value(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) {
    if f.module.is_aggregate(expr.ty.ty) {
        let temporary = f.temporary(expr.ty.ty);
        aggregate::into(f, expr, temporary);
    } else if f.module.is_void(expr.ty.ty) {
        void(f, expr);
    } else {
        lower(f, expr);
    }
}

/// Evaluates an expression of type `void`.
fn void(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) {
    f.at(expr.span);
    match &expr.kind {
        ExprKind::Call(id, args) => {
            call(f, *id, None, args);
        }
        ExprKind::Builtin(id, args) => {
            builtin::lower(f, *id, args, expr);
        }
        ExprKind::Cast(CastKind::ToVoid, operand) => effects(f, operand),
        ExprKind::Conditional(cond, then, otherwise) => {
            let cond = lower(f, cond);
            branch(f, cond, |f| void(f, then), |f| void(f, otherwise));
        }
        ExprKind::Comma(first, rest) => {
            effects(f, first);
            any_value(f, rest);
        }
        ExprKind::Let(local, init, rest) => {
            place::bind(f, *local, init.as_deref());
            any_value(f, rest);
        }
        ExprKind::Zero | ExprKind::Undef => {}
        other => panic!("lowering took this for void: {other:?}"),
    }
}

/// Evaluates a value of scalar, vector or pointer type.
pub(super) fn lower(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) -> ir::Value {
    f.at(expr.span);
    let ty = expr.ty.ty;
    match &expr.kind {
        ExprKind::Const(value) => constant(f, value, ty),
        ExprKind::Zero => zero(f, ty),
        ExprKind::Undef | ExprKind::Error => {
            let ty = f.value_type(ty);
            f.b.value(ir::Op::Undef, ty)
        }
        ExprKind::Load(place) => {
            let target = place::lower(f, place);
            f.at(expr.span);
            place::read(f, &target, place.ty)
        }
        ExprKind::AddressOf(place) | ExprKind::ArrayDecay(place) => place::address(f, place).0,
        ExprKind::Unary(op, operand) => unary(f, *op, operand),
        ExprKind::Binary(op, a, b) => binary(f, *op, a, b, expr.span),
        ExprKind::Compare(op, a, b) => compare(f, *op, a, b, expr.span),
        ExprKind::Logical(op, a, b) => logical(f, *op, a, b),
        ExprKind::Conditional(cond, a, b) => conditional(f, cond, a, b, ty),
        ExprKind::Select(cond, a, b) => {
            let (cond, a, b) = (lower(f, cond), lower(f, a), lower(f, b));
            f.b.infer(ir::Op::Select(cond, a, b))
        }
        ExprKind::Cast(kind, operand) => convert::cast(f, *kind, operand, ty),
        ExprKind::PointerAdd(pointer, index) => pointer_add(f, pointer, index),
        ExprKind::PointerDiff(a, b) => pointer_diff(f, a, b),
        ExprKind::Vector(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| lower(f, part)).collect();
            match (f.value_type(ty), &parts[..]) {
                (ir::Type::Scalar(_), &[one]) => one,
                (ty, _) => f.b.value(ir::Op::Compose(parts), ty),
            }
        }
        ExprKind::Call(id, args) => call(f, *id, None, args).expect("a call with a value"),
        ExprKind::Builtin(id, args) => builtin::lower(f, *id, args, expr).expect("a builtin with a value"),
        ExprKind::FunctionConstant(id) => {
            let ty = f.value_type(ty);
            function_constant(f, *id, ty)
        }
        ExprKind::Resource(_) => unreachable!("resources at program scope are parameters of functions"),
        ExprKind::ThreadFact { query, elem, len } => thread_fact(&mut f.b, *query, *elem, *len),
        ExprKind::FunctionConstantDefined(id) => {
            f.b.infer(ir::Op::FunctionConstantDefined(ir::FunctionConstantId(id.0)))
        }
        ExprKind::Let(local, init, rest) => {
            place::bind(f, *local, init.as_deref());
            lower(f, rest)
        }
        ExprKind::Comma(first, rest) => {
            effects(f, first);
            lower(f, rest)
        }
        ExprKind::Update { yields_old: true, .. } => place::update(f, expr).1,
        ExprKind::Swizzle(base, picks) => swizzle_value(f, base, picks),
        ExprKind::VectorElement(base, index) => element_value(f, base, index),
        ExprKind::Column(base, index) => column_value(f, base, index, expr),
        other if expr.is_place => panic!("lowering took a place for a value: {other:?}"),
        other => panic!("lowering took an aggregate for a value: {other:?}"),
    }
}

fn constant(f: &mut FunctionLowerer<'_, '_, '_>, value: &ConstValue, ty: hir::Ty) -> ir::Value {
    match value {
        ConstValue::Scalar(bits) => match f.value_type(ty) {
            ir::Type::Scalar(scalar) => f.b.const_bits(scalar, *bits),
            other => f.b.value(ir::Op::Const(*bits), other),
        },
        ConstValue::Vector(elements) => {
            let vector = f.value_type(ty);
            let scalar = vector.scalar().expect("a vector has elements");
            let parts: Vec<_> = elements.iter().map(|&bits| f.b.const_bits(scalar, bits)).collect();
            match parts[..] {
                [one] => one,
                _ => f.b.value(ir::Op::Compose(parts), vector),
            }
        }
        ConstValue::Null => {
            let ty = f.value_type(ty);
            f.b.value(ir::Op::Const(0), ty)
        }
        ConstValue::Address(global, offset) => {
            let start = f.b.infer(ir::Op::GlobalAddr(ir::GlobalId(global.0)));
            f.b.ptr_offset(start, *offset)
        }
        ConstValue::Bytes(_) => panic!("tables are globals"),
    }
}

pub(super) fn zero(f: &mut FunctionLowerer<'_, '_, '_>, ty: hir::Ty) -> ir::Value {
    match f.value_type(ty) {
        ir::Type::Scalar(scalar) => f.b.const_bits(scalar, 0),
        ir::Type::Vector(scalar, n) => {
            let zero = f.b.const_bits(scalar, 0);
            f.b.value(ir::Op::Splat(zero), ir::Type::Vector(scalar, n))
        }
        pointer => f.b.value(ir::Op::Const(0), pointer),
    }
}

fn unary(f: &mut FunctionLowerer<'_, '_, '_>, op: UnaryOp, operand: &hir::Expr) -> ir::Value {
    let elem = pick_element(f, operand.ty.ty);
    let value = lower(f, operand);
    f.b.unary(unary_op(op, elem), value)
}

fn binary(
    f: &mut FunctionLowerer<'_, '_, '_>,
    op: BinaryOp,
    a: &hir::Expr,
    b: &hir::Expr,
    span: anymetal_diagnostics::Span,
) -> ir::Value {
    let elem = pick_element(f, a.ty.ty);
    let (a, b) = (lower(f, a), lower(f, b));
    f.at(span);
    f.b.binary(binary_op(op, elem), a, b)
}

fn compare(
    f: &mut FunctionLowerer<'_, '_, '_>,
    op: CompareOp,
    a: &hir::Expr,
    b: &hir::Expr,
    span: anymetal_diagnostics::Span,
) -> ir::Value {
    // Pointers compare as their addresses do, numbers of functions as numbers.
    let elem = f.types().element(a.ty.ty).unwrap_or(hir::ScalarTy::U64);
    let (a, b) = (lower(f, a), lower(f, b));
    let scalar = f.b.func.ty(a).scalar().unwrap_or(ir::Scalar::I64);
    assert_eq!(scalar, elem.into(), "the comparison is of the operands' type");
    f.at(span);
    f.b.compare(compare_op(op, elem), a, b)
}

/// The scalar of a number or vector.
pub(super) fn pick_element(f: &FunctionLowerer<'_, '_, '_>, ty: hir::Ty) -> hir::ScalarTy {
    match f.types().element(ty) {
        Some(element) => element,
        None => panic!("lowering took `{}` for a number", f.types().display(ty)),
    }
}

/// An index as another integer.
pub(super) fn index_value(
    f: &mut FunctionLowerer<'_, '_, '_>,
    index: &hir::Expr,
    to: hir::ScalarTy,
) -> ir::Value {
    let scalar = f.types().scalar_repr(index.ty.ty);
    let scalar = scalar.filter(|scalar| !scalar.is_float()).expect("an index is an integer");
    let index = lower(f, index);
    convert::convert_scalar(f, index, scalar, to)
}

/// Whether an expression may be evaluated without need.
fn may_evaluate(f: &FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) -> bool {
    if f.module.for_sanitizer { is_constant(expr) } else { is_cheap(expr) }
}

fn logical(f: &mut FunctionLowerer<'_, '_, '_>, op: LogicalOp, a: &hir::Expr, b: &hir::Expr) -> ir::Value {
    let left = lower(f, a);
    if may_evaluate(f, b) {
        let right = lower(f, b);
        let op = if op == LogicalOp::And { ir::BinOp::And } else { ir::BinOp::Or };
        return f.b.binary(op, left, right);
    }
    let slot = f.temporary(hir::Ty::BOOL);
    f.b.store(slot, left, 1);
    let right = |f: &mut FunctionLowerer<'_, '_, '_>| {
        let right = lower(f, b);
        f.b.store(slot, right, 1);
    };
    match op {
        LogicalOp::And => branch(f, left, right, |_| {}),
        LogicalOp::Or => branch(f, left, |_| {}, right),
    }
    f.b.load(slot, ir::Type::BOOL, 1)
}

fn conditional(
    f: &mut FunctionLowerer<'_, '_, '_>,
    cond: &hir::Expr,
    a: &hir::Expr,
    b: &hir::Expr,
    ty: hir::Ty,
) -> ir::Value {
    let cond = lower(f, cond);
    if may_evaluate(f, a) && may_evaluate(f, b) {
        let (a, b) = (lower(f, a), lower(f, b));
        return f.b.infer(ir::Op::Select(cond, a, b));
    }
    let slot = f.temporary(ty);
    let align = f.access_align(ty);
    let side = |side: &hir::Expr, f: &mut FunctionLowerer<'_, '_, '_>| {
        let value = lower(f, side);
        f.b.store(slot, value, align);
    };
    branch(f, cond, |f| side(a, f), |f| side(b, f));
    let ty = f.value_type(ty);
    f.b.load(slot, ty, align)
}

/// An `if` whose sides are built by closures over this lowerer.
pub(super) fn branch(
    f: &mut FunctionLowerer<'_, '_, '_>,
    cond: ir::Value,
    then: impl FnOnce(&mut FunctionLowerer<'_, '_, '_>),
    otherwise: impl FnOnce(&mut FunctionLowerer<'_, '_, '_>),
) {
    let loc = f.b.loc;
    let then = nested(f, then);
    let otherwise = nested(f, otherwise);
    f.b.loc = loc;
    f.b.push(ir::Op::branch(cond, then, otherwise));
}

/// Builds into a fresh block.
pub(super) fn nested(
    f: &mut FunctionLowerer<'_, '_, '_>,
    build: impl FnOnce(&mut FunctionLowerer<'_, '_, '_>),
) -> ir::Block {
    let block = f.b.func.add_block();
    let outer = f.b.switch_to(block);
    let targets = f.targets.len();
    build(f);
    assert_eq!(f.targets.len(), targets, "a loop or switch in the block is still open");
    let last = f.b.switch_to(outer);
    assert_eq!(last, block, "a nested block is built until its end, without another one after it");
    block
}

fn pointer_add(f: &mut FunctionLowerer<'_, '_, '_>, pointer: &hir::Expr, index: &hir::Expr) -> ir::Value {
    let pointee = f.types().pointee(pointer.ty.ty).expect("pointer arithmetic is on pointers");
    let size = f.types().layout(pointee.ty).size;
    let base = lower(f, pointer);
    let index = lower(f, index);
    match f.b.func.as_const(index) {
        Some(index) => f.b.ptr_offset(base, (index as i64).wrapping_mul(size as i64)),
        None => f.b.ptr_index(base, index, size as u32),
    }
}

fn pointer_diff(f: &mut FunctionLowerer<'_, '_, '_>, a: &hir::Expr, b: &hir::Expr) -> ir::Value {
    let pointee = f.types().pointee(a.ty.ty).expect("pointer arithmetic is on pointers");
    let size = f.types().layout(pointee.ty).size.max(1);
    let a = lower(f, a);
    let a = f.b.cast(ir::CastOp::PtrToInt, a, ir::Type::I64);
    let b = lower(f, b);
    let b = f.b.cast(ir::CastOp::PtrToInt, b, ir::Type::I64);
    let bytes = f.b.binary(ir::BinOp::Sub, a, b);
    let size = f.b.i64(size as i64);
    f.b.binary(ir::BinOp::SDiv, bytes, size)
}

/// Calls a function; aggregate results go to `into`.
pub(super) fn call(
    f: &mut FunctionLowerer<'_, '_, '_>,
    id: hir::FuncId,
    into: Option<ir::Value>,
    args: &[hir::Expr],
) -> Option<ir::Value> {
    let loc = f.b.loc;
    let Some(instance) = f.module.cycles.callee(f.instance, id) else {
        // The deepest copy of a function that calls itself.
        too_deep(&mut f.b);
        let ty = f.module.value_type(f.module.program.function(id).ret);
        return ty.map(|ty| f.b.value(ir::Op::Undef, ty));
    };
    let target = f.module.function_id(instance);
    let mut values: Vec<_> = into.into_iter().collect();
    for arg in args {
        let value = if f.module.is_aggregate(arg.ty.ty) {
            let copy = f.temporary(arg.ty.ty);
            aggregate::into(f, arg, copy);
            copy
        } else {
            lower(f, arg)
        };
        values.push(value);
    }
    f.b.loc = loc;
    if f.module.messages.logs(id) {
        values.extend(logging::pointers(f));
    }
    if f.module.encoding.encodes(id) {
        values.push(encoding::record_pointer(f));
    }
    if f.module.textures.uses(id) {
        values.push(textures::record(f));
    }
    // A function that is being written is out of the module.
    let callee = f.module.module.function(target);
    assert!(
        callee.name.is_empty() || callee.params.len() == values.len(),
        "{} has {} parameters, and is called with {values:?}",
        callee.name,
        callee.params.len(),
    );
    let op = ir::Op::Call(target, values);
    match f.module.value_type(f.module.program.function(id).ret) {
        Some(ty) => Some(f.b.value(op, ty)),
        None => {
            f.b.push(op);
            None
        }
    }
}

fn swizzle_value(f: &mut FunctionLowerer<'_, '_, '_>, base: &hir::Expr, picks: &[u8]) -> ir::Value {
    if wide_vector::is_wide(f, base.ty.ty) {
        return wide_vector::swizzle(f, base, picks);
    }
    let vector = lower(f, base);
    if let ir::Type::Scalar(_) = f.b.func.ty(vector) {
        return match picks.len() {
            1 => vector,
            n => {
                let ty = f.b.func.ty(vector).scalar().expect("a scalar");
                f.b.value(ir::Op::Splat(vector), ir::Type::Vector(ty, n as u8))
            }
        };
    }
    match picks {
        [one] => f.b.infer(ir::Op::Extract(vector, *one)),
        _ => f.b.infer(ir::Op::Shuffle(vector, vector, picks.to_vec())),
    }
}

fn element_value(f: &mut FunctionLowerer<'_, '_, '_>, base: &hir::Expr, index: &hir::Expr) -> ir::Value {
    if wide_vector::is_wide(f, base.ty.ty) {
        let place = wide_vector::stored_element(f, base, index);
        let (elem, _) = f.types().as_vector(base.ty.ty).expect("elements are of vectors");
        return place::read(f, &place, hir::QualTy::plain(hir::Ty::scalar(elem)));
    }
    let vector = lower(f, base);
    let index = index_value(f, index, hir::ScalarTy::I32);
    let lanes = f.b.func.ty(vector).lanes();
    match f.b.func.as_const(index) {
        _ if lanes == 1 => vector,
        Some(index) => f.b.infer(ir::Op::Extract(vector, (index % u64::from(lanes)) as u8)),
        None => f.b.infer(ir::Op::ExtractDynamic(vector, index)),
    }
}

/// A column of a matrix that is a value: through memory.
fn column_value(
    f: &mut FunctionLowerer<'_, '_, '_>,
    base: &hir::Expr,
    index: &hir::Expr,
    expr: &hir::Expr,
) -> ir::Value {
    let ty = base.ty.ty;
    let (elem, _, rows) = f.types().as_matrix(ty).expect("columns are of matrices");
    let temporary = f.temporary(ty);
    aggregate::into(f, base, temporary);
    let index = index_value(f, index, hir::ScalarTy::I64);
    let stride = f.types().column_stride(elem, rows);
    let ptr = f.b.ptr_index(temporary, index, stride as u32);
    let column = Place::Memory { ptr, align: elem.size() };
    place::read(f, &column, expr.ty)
}

pub(super) fn unary_op(op: UnaryOp, elem: hir::ScalarTy) -> ir::UnOp {
    match op {
        UnaryOp::Neg if elem.is_float() => ir::UnOp::FNeg,
        UnaryOp::Neg => ir::UnOp::INeg,
        UnaryOp::BitNot | UnaryOp::Not => ir::UnOp::Not,
    }
}

pub(super) fn binary_op(op: BinaryOp, elem: hir::ScalarTy) -> ir::BinOp {
    use ir::BinOp as B;
    let signed = elem.is_signed();
    match op {
        BinaryOp::Add if elem.is_float() => B::FAdd,
        BinaryOp::Sub if elem.is_float() => B::FSub,
        BinaryOp::Mul if elem.is_float() => B::FMul,
        BinaryOp::Div if elem.is_float() => B::FDiv,
        BinaryOp::Rem if elem.is_float() => B::FRem,
        BinaryOp::Add => B::Add,
        BinaryOp::Sub => B::Sub,
        BinaryOp::Mul => B::Mul,
        BinaryOp::Div if signed => B::SDiv,
        BinaryOp::Div => B::UDiv,
        BinaryOp::Rem if signed => B::SRem,
        BinaryOp::Rem => B::URem,
        BinaryOp::Shl => B::Shl,
        BinaryOp::Shr if signed => B::AShr,
        BinaryOp::Shr => B::LShr,
        BinaryOp::And => B::And,
        BinaryOp::Or => B::Or,
        BinaryOp::Xor => B::Xor,
    }
}

pub(super) fn compare_op(op: CompareOp, elem: hir::ScalarTy) -> ir::CmpOp {
    use ir::CmpOp as C;
    let pick = |float, signed, unsigned| {
        if elem.is_float() {
            float
        } else if elem.is_signed() {
            signed
        } else {
            unsigned
        }
    };
    match op {
        CompareOp::Eq => pick(C::FEq, C::Eq, C::Eq),
        CompareOp::Ne => pick(C::FNe, C::Ne, C::Ne),
        CompareOp::Lt => pick(C::FLt, C::SLt, C::ULt),
        CompareOp::Le => pick(C::FLe, C::SLe, C::ULe),
        CompareOp::Gt => pick(C::FGt, C::SGt, C::UGt),
        CompareOp::Ge => pick(C::FGe, C::SGe, C::UGe),
    }
}
