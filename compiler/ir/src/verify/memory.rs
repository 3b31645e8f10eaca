//! Memory. Addresses name what exists; `ptr_add` keeps its base's type and its index is `i64`;
//! alignments are powers of two; nothing writes to constant memory; atomics work on device or
//! threadgroup memory and `i32`, `i64` or `f32` (`fadd` on `f32` only, the other arithmetic on
//! integers only).

use super::walk::Subject;
use super::{Checked, require};
use crate::{AtomicOp, Op, Pieces, Scalar, Space, Type, Value};

pub(super) fn address(subject: &Subject<'_>, op: &Op) -> Checked {
    let exists =
        |exists: bool, what: &dyn std::fmt::Display| require(exists, || format!("{what} does not exist"));
    match op {
        Op::LocalStart(local) => {
            exists(local.index() < subject.function.locals.len(), local)?;
            subject.gives_nothing()
        }
        Op::LocalAddr(local) => {
            exists(local.index() < subject.function.locals.len(), local)?;
            subject.gives(Type::Ptr(Space::Thread))
        }
        Op::ThreadgroupAddr(var) => {
            exists(var.index() < subject.module.threadgroup_vars.len(), var)?;
            subject.gives(Type::Ptr(Space::Threadgroup))
        }
        Op::GlobalAddr(global) => {
            exists(global.index() < subject.module.globals.len(), global)?;
            subject.gives(Type::Ptr(Space::Constant))
        }
        Op::PtrAdd { base, index, .. } => {
            pointer(subject, *base)?;
            if let Some(index) = index {
                subject.operand(*index, Type::I64)?;
            }
            subject.gives(subject.ty(*base))
        }
        _ => unreachable!("{op:?} is not an address"),
    }
}

fn pointer(subject: &Subject<'_>, value: Value) -> Result<Space, String> {
    match subject.ty(value) {
        Type::Ptr(space) => Ok(space),
        other => Err(format!("{value} must be a pointer, is {other}")),
    }
}

fn writable(subject: &Subject<'_>, value: Value) -> Checked {
    require(pointer(subject, value)? != Space::Constant, || "constant memory is read-only".to_owned())
}

fn alignment(align: u32) -> Checked {
    require(align.is_power_of_two(), || format!("the alignment {align} is not a power of two"))
}

pub(super) fn access(subject: &Subject<'_>, op: &Op) -> Checked {
    match op {
        Op::Load { ptr, align, .. } => {
            pointer(subject, *ptr)?;
            alignment(*align)?;
            subject.gives_something().map(|_| ())
        }
        Op::Store { ptr, align, .. } => {
            writable(subject, *ptr)?;
            alignment(*align)?;
            subject.gives_nothing()
        }
        Op::MemCopy { dst, src, size, align, pieces } => {
            writable(subject, *dst)?;
            pointer(subject, *src)?;
            alignment(*align)?;
            range(*size, *pieces)?;
            subject.gives_nothing()
        }
        Op::MemZero { dst, size, align, pieces } => {
            writable(subject, *dst)?;
            alignment(*align)?;
            range(*size, *pieces)?;
            subject.gives_nothing()
        }
        Op::Prefetch { ptr, .. } => {
            pointer(subject, *ptr)?;
            subject.gives_nothing()
        }
        _ => unreachable!("{op:?} is not an access"),
    }
}

pub(super) fn atomic(subject: &Subject<'_>, op: &Op) -> Checked {
    match op {
        Op::AtomicLoad(ptr) => atomic_operand(subject, *ptr, subject.gives_something()?),
        Op::AtomicStore(ptr, value) => {
            atomic_operand(subject, *ptr, subject.ty(*value))?;
            subject.gives_nothing()
        }
        Op::AtomicRmw(op, ptr, value) => {
            let ty = subject.ty(*value);
            atomic_operand(subject, *ptr, ty)?;
            let fits = match op {
                AtomicOp::Exchange => true,
                AtomicOp::FAdd => ty == Type::F32,
                _ => ty != Type::F32,
            };
            require(fits, || format!("no atomic {} of {ty}", op.name()))?;
            subject.gives(ty)
        }
        Op::AtomicCas(ptr, expected, desired) => {
            subject.same(*expected, *desired)?;
            atomic_operand(subject, *ptr, subject.ty(*expected))?;
            subject.gives(subject.ty(*expected))
        }
        _ => unreachable!("{op:?} is not atomic"),
    }
}

fn atomic_operand(subject: &Subject<'_>, ptr: Value, ty: Type) -> Checked {
    let space = pointer(subject, ptr)?;
    require(matches!(space, Space::Device | Space::Threadgroup), || {
        format!("no atomics in {} memory", space.name())
    })?;
    let fits = matches!(ty, Type::Scalar(Scalar::I32 | Scalar::I64 | Scalar::F32));
    require(fits, || format!("no atomics on {ty}"))
}

/// The pieces of a range: elements that may be accessed at once, and that end where the range does.
fn range(size: u64, pieces: Pieces) -> Checked {
    let Pieces { size: piece, stride } = pieces;
    let is_access = pieces.of_integers(8).is_some();
    require(is_access && piece <= stride && size.is_multiple_of(stride.into()), || {
        format!("{size} bytes do not consist of pieces of {piece} bytes at each multiple of {stride}")
    })
}
