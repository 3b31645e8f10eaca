//! One simple instruction as a line of text.

use std::fmt::{self, Write};

use crate::eval::{sign_extend, widen};
use crate::{Function, Inst, Loc, Op, Pieces, Scalar, Type, Value};

pub(crate) fn instruction(out: &mut String, function: &Function, inst: Inst) -> fmt::Result {
    let Some(data) = function.insts.get(inst.index()) else {
        return write!(out, "; {inst} does not exist");
    };
    if let Some(result) = data.result {
        write!(out, "{result} = ")?;
    }
    let fp = if data.op.has_fp_mode() { format!(".{}", data.fp.name()) } else { String::new() };
    // A value's type belongs to the value table; a broken module may lack the entry.
    let ty = data.result.and_then(|value| function.values.get(value.index())).map(|value| value.ty);
    operation(out, &data.op, ty, &fp)?;
    if let Some(ty) = ty {
        write!(out, " : {ty}")?;
    }
    out.push_str(&loc_suffix(data.loc));
    Ok(())
}

/// ` @file:line:column`, or nothing for an unknown position.
pub(super) fn loc_suffix(loc: Loc) -> String {
    if loc == Loc::default() { String::new() } else { format!(" @{}:{}:{}", loc.file, loc.line, loc.column) }
}

fn operation(out: &mut String, op: &Op, ty: Option<Type>, fp: &str) -> fmt::Result {
    match op {
        Op::Const(bits) => write!(out, "const {}", constant(*bits, ty)),
        Op::Undef => write!(out, "undef"),
        Op::FunctionConstant(id) => write!(out, "function_constant {id}"),
        Op::FunctionConstantDefined(id) => write!(out, "function_constant_defined {id}"),
        Op::Unary(op, a) => write!(out, "{}{fp} {a}", op.name()),
        Op::Binary(op, a, b) => write!(out, "{}{fp} {a}, {b}", op.name()),
        Op::Compare(op, a, b) => write!(out, "{}{fp} {a}, {b}", op.name()),
        Op::Select(a, b, c) => write!(out, "select {a}, {b}, {c}"),
        Op::Cast(op, a) => write!(out, "{}{fp} {a}", op.name()),
        Op::Math(function, args) => write!(out, "math.{}{fp} {}", function.name(), list(args)),
        Op::Simd(op, args) => write!(out, "{}", format!("simd.{}{fp} {}", op.name(), list(args)).trim_end()),
        Op::Matrix(op, args) => write!(out, "matrix.{}{fp} {}", op.name(), list(args)),
        Op::Call(function, args) => write!(out, "call {function}({})", list(args)),
        Op::Splat(..)
        | Op::Compose(..)
        | Op::Extract(..)
        | Op::ExtractDynamic(..)
        | Op::Insert(..)
        | Op::InsertDynamic(..)
        | Op::Shuffle(..) => vector(out, op),
        Op::Fence(None) => write!(out, "fence"),
        Op::Fence(Some(operands)) => write!(out, "fence({})", list(operands)),
        Op::Query(query) => write!(out, "query.{}", query.name()),
        Op::Barrier(scope, None) => write!(out, "barrier.{}", scope.name()),
        Op::Barrier(scope, Some(flags)) => write!(out, "barrier.{}({flags})", scope.name()),
        Op::If { .. } | Op::Loop { .. } | Op::Switch { .. } | Op::Scope { .. } => {
            unreachable!("constructs are printed region by region")
        }
        Op::Break(label, values) => write!(out, "{}", format!("break {label} {}", list(values)).trim_end()),
        Op::Continue(label, values) => {
            write!(out, "{}", format!("continue {label} {}", list(values)).trim_end())
        }
        Op::Yield(values) => write!(out, "yield {}", list(values)),
        Op::Return(None) => write!(out, "return"),
        Op::Return(Some(value)) => write!(out, "return {value}"),
        _ => memory(out, op, fp),
    }
}

fn vector(out: &mut String, op: &Op) -> fmt::Result {
    match op {
        Op::Splat(a) => write!(out, "splat {a}"),
        Op::Compose(parts) => write!(out, "compose {}", list(parts)),
        Op::Extract(a, n) => write!(out, "extract {a}, {n}"),
        Op::ExtractDynamic(a, n) => write!(out, "extract_dynamic {a}, {n}"),
        Op::Insert(a, n, b) => write!(out, "insert {a}, {n}, {b}"),
        Op::InsertDynamic(a, n, b) => write!(out, "insert_dynamic {a}, {n}, {b}"),
        Op::Shuffle(a, b, picks) => {
            let picks: Vec<_> = picks.iter().map(u8::to_string).collect();
            write!(out, "shuffle {a}, {b}, [{}]", picks.join(", "))
        }
        _ => unreachable!("not a vector operation"),
    }
}

fn memory(out: &mut String, op: &Op, fp: &str) -> fmt::Result {
    let volatile = |volatile: bool| if volatile { ", volatile" } else { "" };
    match op {
        Op::LocalStart(local) => write!(out, "local_start {local}"),
        Op::LocalAddr(local) => write!(out, "local_addr {local}"),
        Op::ThreadgroupAddr(var) => write!(out, "threadgroup_addr {var}"),
        Op::GlobalAddr(global) => write!(out, "global_addr {global}"),
        Op::PtrAdd { base, index, scale, offset } => {
            write!(out, "ptr_add {base}")?;
            if let Some(index) = index {
                write!(out, " + {index} * {scale}")?;
            }
            if *offset != 0 || index.is_none() {
                write!(out, " + {offset}")?;
            }
            Ok(())
        }
        Op::Load { ptr, align, volatile: v } => write!(out, "load {ptr}, align {align}{}", volatile(*v)),
        Op::Store { ptr, value, align, volatile: v } => {
            write!(out, "store {ptr}, {value}, align {align}{}", volatile(*v))
        }
        Op::MemCopy { dst, src, size, align, pieces } => {
            write!(out, "mem_copy {dst}, {src}, size {size}, align {align}{}", shown(*pieces, *size, *align))
        }
        Op::Prefetch { ptr, bytes, access } => write!(out, "{} {ptr}, size {bytes}", access.name()),
        Op::MemZero { dst, size, align, pieces } => {
            write!(out, "mem_zero {dst}, size {size}, align {align}{}", shown(*pieces, *size, *align))
        }
        Op::AtomicLoad(ptr) => write!(out, "atomic_load {ptr}"),
        Op::AtomicStore(ptr, value) => write!(out, "atomic_store {ptr}, {value}"),
        Op::AtomicRmw(op, ptr, value) => write!(out, "atomic.{}{fp} {ptr}, {value}", op.name()),
        Op::AtomicCas(ptr, expected, desired) => write!(out, "atomic_cas {ptr}, {expected}, {desired}"),
        _ => unreachable!("not a memory operation"),
    }
}

/// The pieces of a range, unless they are the integers that are expected.
fn shown(pieces: Pieces, size: u64, align: u32) -> String {
    match pieces == Pieces::integers(size, align) {
        true => String::new(),
        false => format!(", pieces {} of {}", pieces.size, pieces.stride),
    }
}

/// A constant as people write it: signed integers, decimal floats; bits in hexadecimal for the rest.
fn constant(bits: u64, ty: Option<Type>) -> String {
    match ty {
        Some(Type::Scalar(Scalar::Bool)) if bits < 2 => (bits == 1).to_string(),
        Some(Type::Ptr(_)) if bits == 0 => "null".to_owned(),
        Some(Type::Scalar(scalar)) if bits & !crate::eval::mask(scalar) == 0 => match scalar {
            Scalar::Bool => format!("{bits:#x}"),
            Scalar::F32 if f32::from_bits(bits as u32).is_finite() => {
                format!("{:?}", f32::from_bits(bits as u32))
            }
            Scalar::F16 | Scalar::Bf16 if widen(scalar, bits).is_finite() => {
                format!("{:?}", widen(scalar, bits))
            }
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 => format!("{bits:#x}"),
            Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => sign_extend(scalar, bits).to_string(),
        },
        _ => format!("{bits:#x}"),
    }
}

/// Values with their types, as definitions of a construct.
pub(super) fn typed(function: &Function, values: &[Value]) -> Vec<String> {
    let ty = |value: &Value| function.values.get(value.index()).map(|data| data.ty.to_string());
    values.iter().map(|value| format!("{value}: {}", ty(value).unwrap_or_else(|| "?".to_owned()))).collect()
}

fn list(values: &[Value]) -> String {
    let values: Vec<_> = values.iter().map(Value::to_string).collect();
    values.join(", ")
}
