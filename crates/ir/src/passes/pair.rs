//! Joins stores of a thread to threadgroup memory that lie side by side to one store of a vector.
//!
//! A structure's members are stored one by one. Between such stores of neighbouring threads lie the other
//! members, and a code generator for vectors of threads would scatter each; as one vector the bytes of all
//! threads lie side by side. Only where nothing but computing is between the stores. Stores to other
//! memory stay: there a pair at the end of what is bound may have one store inside, which is to be done.
//!
//! For code generators, after all other passes: what is stored as one could not be forwarded in parts.

use super::reuse::is_pure;
use crate::op::CastOp;
use crate::{Function, Inst, Op, Scalar, Space, Type, Value};

/// Elements of the longest vector.
const MAX_LANES: u8 = 4;
/// How far the parts of an address are followed.
const DEPTH: u32 = 16;

/// Joins stores of one function; returns whether there were any.
pub fn pair(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        // What was joined may be joined again.
        while pair_block(function, block) {
            changed = true;
        }
    }
    changed
}

/// An address: a pointer, a scaled index and a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Address {
    base: Value,
    index: Option<(Value, u32)>,
    offset: i64,
}

/// A store that another one may join.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its place in the block as it will be.
    at: usize,
    ptr: Value,
    address: Address,
    value: Value,
    align: u32,
}

fn pair_block(function: &mut Function, block: usize) -> bool {
    let insts = std::mem::take(&mut function.blocks[block].insts);
    let mut out = Vec::with_capacity(insts.len());
    let (mut open, mut changed): (Option<Open>, bool) = (None, false);
    for inst in insts {
        match open_store(function, inst, out.len()) {
            Some(second) => match open.take().and_then(|first| join(function, inst, &first, &second)) {
                Some((first, added)) => {
                    out.remove(first);
                    out.extend(added);
                    changed = true;
                }
                None => {
                    open = Some(second);
                    out.push(inst);
                }
            },
            None => {
                if !is_pure(&function.inst(inst).op) {
                    open = None;
                }
                out.push(inst);
            }
        }
    }
    function.blocks[block].insts = out;
    changed
}

/// The store, if it is one that may be joined.
fn open_store(function: &Function, inst: Inst, at: usize) -> Option<Open> {
    let Op::Store { ptr, value, align, volatile: false } = function.inst(inst).op else { return None };
    let ty = function.ty(value);
    let fits = ty.lanes() < MAX_LANES && ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    let fits = fits && function.ty(ptr) == Type::Ptr(Space::Threadgroup);
    fits.then(|| Open { at, ptr, address: address(function, ptr, DEPTH), value, align })
}

fn address(function: &Function, ptr: Value, depth: u32) -> Address {
    let plain = Address { base: ptr, index: None, offset: 0 };
    let (Some(Op::PtrAdd { base, index, scale, offset }), Some(depth)) =
        (function.def(ptr), depth.checked_sub(1))
    else {
        return plain;
    };
    let inner = address(function, *base, depth);
    match index {
        None => Address { offset: inner.offset.wrapping_add(*offset), ..inner },
        Some(index) if inner.index.is_none() => Address {
            base: inner.base,
            index: Some((*index, *scale)),
            offset: inner.offset.wrapping_add(*offset),
        },
        Some(_) => plain,
    }
}

/// Turns the second store into one of both, if they lie side by side. Returns the place of the first, which is
/// no more, and what comes in the place of the second.
fn join(function: &mut Function, inst: Inst, first: &Open, second: &Open) -> Option<(usize, Vec<Inst>)> {
    let (ty, other) = (function.ty(first.value), function.ty(second.value));
    let (scalar, of_second) = (ty.scalar()?, other.scalar()?);
    let lanes = ty.lanes() + other.lanes();
    let same_place = first.address.base == second.address.base && first.address.index == second.address.index;
    if scalar.size() != of_second.size() || lanes > MAX_LANES || !same_place {
        return None;
    }
    let second_is_high = match second.address.offset.wrapping_sub(first.address.offset) {
        distance if distance == i64::from(ty.size()) => true,
        distance if distance == -i64::from(other.size()) => false,
        _ => return None,
    };
    let (fp, loc) = (function.inst(inst).fp, function.inst(inst).loc);
    let mut added = Vec::new();
    let mut add = |function: &mut Function, op: Op, ty: Option<Type>| {
        let inst = function.add_inst(op, ty, fp, loc);
        added.push(inst);
        function.inst(inst).result
    };
    let mut value = second.value;
    if scalar != of_second {
        value = add(function, Op::Cast(CastOp::Bitcast, value), Some(other.with_scalar(scalar)))?;
    }
    let (ptr, align, values) = if second_is_high {
        (first.ptr, first.align, vec![first.value, value])
    } else {
        (second.ptr, second.align, vec![value, first.value])
    };
    let both = add(function, Op::Compose(values), Some(Type::Vector(scalar, lanes)))?;
    add(function, Op::Store { ptr, value: both, align, volatile: false }, None);
    Some((first.at, added))
}
