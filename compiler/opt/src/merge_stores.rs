//! Merges adjacent stores of a thread to threadgroup memory into one vector store, as LLVM's SLP vectoriser
//! and store merging do.
//!
//! A structure's members are stored one by one. Neighbouring threads' stores of one member are then not
//! contiguous, and a vectorising code generator would scatter each; stored as one vector they are. Requires
//! that between the stores there are only pure operations and accesses of thread memory. Stores to other
//! address spaces stay: at the end of a buffer one store of a pair may be in bounds and must take effect.
//!
//! Runs for code generators, after all other passes: parts of a merged store cannot be forwarded to loads.

use super::address::Address;
use anymetal_analysis::{Bounds, leaves_shared_memory};
use anymetal_ir::{CastOp, Function, Inst, Op, Scalar, Space, Type, Value};

/// Elements of the longest vector.
const VECTOR_ELEMENTS: u8 = 4;

/// Merges stores of one function; returns whether anything changed.
pub fn merge_stores(function: &mut Function, bounds: Bounds<'_>) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        // A merged store may be merged again.
        while merge_in_block(function, block, bounds) {
            changed = true;
        }
    }
    changed
}

/// A store that a later one may be merged with.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Its index in the rewritten block.
    at: usize,
    ptr: Value,
    address: Address,
    value: Value,
    align: u32,
}

fn merge_in_block(function: &mut Function, block: usize, bounds: Bounds<'_>) -> bool {
    let insts = std::mem::take(&mut function.blocks[block].insts);
    let mut out = Vec::with_capacity(insts.len());
    let (mut candidate, mut changed): (Option<Candidate>, bool) = (None, false);
    for inst in insts {
        match candidate_of(function, inst, out.len(), bounds) {
            Some(second) => match candidate.take().and_then(|first| merge(function, inst, &first, &second)) {
                Some((first, added)) => {
                    let removed = out.remove(first);
                    assert!(matches!(function.inst(removed).op, Op::Store { .. }), "a store is merged");
                    out.extend(added);
                    changed = true;
                }
                None => {
                    candidate = Some(second);
                    out.push(inst);
                }
            },
            None => {
                if !leaves_shared_memory(function, &function.inst(inst).op) {
                    candidate = None;
                }
                out.push(inst);
            }
        }
    }
    function.blocks[block].insts = out;
    changed
}

/// The store, if it may be merged.
fn candidate_of(function: &Function, inst: Inst, at: usize, bounds: Bounds<'_>) -> Option<Candidate> {
    match function.inst(inst).op {
        Op::Store { ptr, value, align, volatile: false } => {
            let ty = function.ty(value);
            let fits =
                ty.lanes() < VECTOR_ELEMENTS && ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
            let fits = fits && function.ty(ptr) == Type::Ptr(Space::Threadgroup);
            fits.then(|| Candidate { at, ptr, address: Address::of(function, ptr, bounds), value, align })
        }
        _ => None,
    }
}

/// Merges two stores if they are adjacent. Returns the index of the first, which is removed, and the
/// instructions that replace the second.
fn merge(
    function: &mut Function,
    inst: Inst,
    first: &Candidate,
    second: &Candidate,
) -> Option<(usize, Vec<Inst>)> {
    let (ty, other) = (function.ty(first.value), function.ty(second.value));
    let scalar = if other.scalar()?.size() > ty.scalar()?.size() { other.scalar()? } else { ty.scalar()? };
    let (part, other_part) = (in_elements(ty, scalar)?, in_elements(other, scalar)?);
    let lanes = part.lanes() + other_part.lanes();
    if lanes > VECTOR_ELEMENTS {
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
        inst
    };
    let mut values = [(first.value, ty, part), (second.value, other, other_part)];
    for (value, from, to) in &mut values {
        if from != to {
            assert_eq!(from.size(), to.size(), "a part of a merged store keeps its bytes");
            let cast = add(function, Op::Cast(CastOp::Bitcast, *value), Some(*to));
            *value = function.result(cast);
        }
    }
    let [value, second_value] = values.map(|(value, ..)| value);
    let (ptr, align, values) = if second_is_high {
        (first.ptr, first.align, vec![value, second_value])
    } else {
        (second.ptr, second.align, vec![second_value, value])
    };
    let both = add(function, Op::Compose(values), Some(Type::Vector(scalar, lanes)));
    let both = function.result(both);
    add(function, Op::Store { ptr, value: both, align, volatile: false }, None);
    Some((first.at, added))
}

/// The type of the same size with elements of type `scalar`; `None` if there is none.
fn in_elements(ty: Type, scalar: Scalar) -> Option<Type> {
    let lanes = ty.size() / scalar.size();
    match lanes {
        _ if !ty.size().is_multiple_of(scalar.size()) => None,
        1 => Some(Type::Scalar(scalar)),
        2..=4 => Some(Type::Vector(scalar, lanes as u8)),
        _ => None,
    }
}
