//! Joins stores of a thread to threadgroup memory that lie side by side to one store of a vector.
//!
//! A structure's members are stored one by one. Between such stores of neighbouring threads lie the other
//! members, and a code generator for vectors of threads would scatter each; as one vector the bytes of all
//! threads lie side by side. Only where nothing is between the stores but computing and the thread's own memory. Stores to other
//! memory stay: there a pair at the end of what is bound may have one store inside, which is to be done.
//!
//! For code generators, after all other passes: what is stored as one could not be forwarded in parts.

use super::address::Address;
use crate::analysis::{Bounds, leaves_shared_memory};
use crate::op::CastOp;
use crate::{Function, Inst, Op, Scalar, Space, Type, Value};

/// Elements of the longest vector.
const MAX_LANES: u8 = 4;
/// Joins stores of one function; returns whether there were any.
pub fn merge_stores(function: &mut Function, bounds: Bounds<'_>) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        // What was joined may be joined again.
        while pair_block(function, block, bounds) {
            changed = true;
        }
    }
    changed
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

fn pair_block(function: &mut Function, block: usize, bounds: Bounds<'_>) -> bool {
    let insts = std::mem::take(&mut function.blocks[block].insts);
    let mut out = Vec::with_capacity(insts.len());
    let (mut open, mut changed): (Option<Open>, bool) = (None, false);
    for inst in insts {
        match open_store(function, inst, out.len(), bounds) {
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
                if !leaves_shared_memory(function, &function.inst(inst).op) {
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
fn open_store(function: &Function, inst: Inst, at: usize, bounds: Bounds<'_>) -> Option<Open> {
    let Op::Store { ptr, value, align, volatile: false } = function.inst(inst).op else { return None };
    let ty = function.ty(value);
    let fits = ty.lanes() < MAX_LANES && ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    let fits = fits && function.ty(ptr) == Type::Ptr(Space::Threadgroup);
    fits.then(|| Open { at, ptr, address: Address::of(function, ptr, bounds), value, align })
}

/// Turns the second store into one of both, if they lie side by side. Returns the place of the first, which is
/// no more, and what comes in the place of the second.
fn join(function: &mut Function, inst: Inst, first: &Open, second: &Open) -> Option<(usize, Vec<Inst>)> {
    let (ty, other) = (function.ty(first.value), function.ty(second.value));
    let scalar = if other.scalar()?.size() > ty.scalar()?.size() { other.scalar()? } else { ty.scalar()? };
    let (part, other_part) = (in_elements(ty, scalar)?, in_elements(other, scalar)?);
    let lanes = part.lanes() + other_part.lanes();
    if lanes > MAX_LANES {
        return None;
    }
    let second_is_high = match first.address.distance(&second.address)? {
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
    let mut values = [(first.value, ty, part), (second.value, other, other_part)];
    for (value, from, to) in &mut values {
        if from != to {
            *value = add(function, Op::Cast(CastOp::Bitcast, *value), Some(*to))?;
        }
    }
    let [value, second_value] = values.map(|(value, ..)| value);
    let (ptr, align, values) = if second_is_high {
        (first.ptr, first.align, vec![value, second_value])
    } else {
        (second.ptr, second.align, vec![second_value, value])
    };
    let both = add(function, Op::Compose(values), Some(Type::Vector(scalar, lanes)))?;
    add(function, Op::Store { ptr, value: both, align, volatile: false }, None);
    Some((first.at, added))
}

/// The type of as many bytes with such elements; `None` if there is none.
fn in_elements(ty: Type, scalar: Scalar) -> Option<Type> {
    let lanes = ty.size() / scalar.size();
    match lanes {
        _ if !ty.size().is_multiple_of(scalar.size()) => None,
        1 => Some(Type::Scalar(scalar)),
        2..=4 => Some(Type::Vector(scalar, lanes as u8)),
        _ => None,
    }
}
