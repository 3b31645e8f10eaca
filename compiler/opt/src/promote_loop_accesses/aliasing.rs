//! Which accesses of a loop may alias.
//!
//! Device memory does not alias threadgroup memory, and constant memory does not change while a kernel runs.
//! Other accesses of one kind of memory are disjoint only if their addresses differ by a constant: two
//! arguments may be bound to the same buffer.

use anymetal_analysis::{Linear, Memory, TermClass, TermPolicy, walk_insts};
use anymetal_ir::{Effect, Function, Inst, Op, Space, Type, Value};

/// An access of memory that threads share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) inst: Inst,
    pub(super) ptr: Value,
    /// The accessed type; `None`: a range, of any length.
    pub(super) ty: Option<Type>,
    pub(super) stores: bool,
}

/// The accesses of a loop to shared memory that may change, by pointer, each in textual order.
pub(super) struct SharedAccesses(Vec<Vec<Access>>);

impl SharedAccesses {
    /// The accesses of a loop; `None` if the loop does not store to shared memory, or synchronises with other
    /// threads.
    pub(super) fn of(function: &Function, looping: Inst) -> Option<Self> {
        let mut by_pointer: Vec<Vec<Access>> = Vec::new();
        let mut places = rustc_hash::FxHashMap::default();
        let (mut stores, mut orders) = (false, false);
        for block in function.inst(looping).op.blocks() {
            walk_insts(function, block, &mut |inst| {
                let Some(accesses) = accesses_of(function, inst) else {
                    orders = true;
                    return;
                };
                for access in accesses.into_iter().flatten() {
                    if !Memory::Any.has(function, access.ptr)
                        || function.ty(access.ptr) == Type::Ptr(Space::Constant)
                    {
                        continue;
                    }
                    stores |= access.stores;
                    let place = *places.entry(access.ptr).or_insert_with(|| {
                        by_pointer.push(Vec::new());
                        by_pointer.len() - 1
                    });
                    by_pointer[place].push(access);
                }
            });
        }
        (stores && !orders).then_some(Self(by_pointer))
    }

    /// The number of distinct pointers.
    pub(super) fn pointers(&self) -> usize {
        self.0.len()
    }

    /// The accesses of each pointer that no access through another pointer may alias, where there is a store.
    pub(super) fn unaliased(&self, function: &Function) -> Vec<Vec<Access>> {
        let extents: Vec<Extent> = self.0.iter().map(|same| Extent::of(function, same)).collect();
        let is_alone = |at: usize| {
            let others = (0..extents.len()).filter(|&other| other != at);
            others.into_iter().all(|other| extents[at].is_disjoint(&extents[other]))
        };
        let has_store = |at: &usize| self.0[*at].iter().any(|access| access.stores);
        (0..self.0.len()).filter(has_store).filter(|&at| is_alone(at)).map(|at| self.0[at].clone()).collect()
    }
}

/// The accesses of an instruction; `None` if it may do more than plain loads and stores.
fn accesses_of(function: &Function, inst: Inst) -> Option<[Option<Access>; 2]> {
    let data = function.inst(inst);
    let access = |ptr, ty, stores| Some(Access { inst, ptr, ty, stores });
    Some(match data.op {
        Op::Load { ptr, volatile: false, .. } => {
            [access(ptr, Some(function.ty(function.result(inst))), false), None]
        }
        Op::Store { ptr, value, volatile: false, .. } => [access(ptr, Some(function.ty(value)), true), None],
        Op::MemCopy { dst, src, .. } => [access(dst, None, true), access(src, None, false)],
        Op::MemZero { dst, .. } => [access(dst, None, true), None],
        ref op => match op.effect() {
            Effect::Pure
            | Effect::Undefined
            | Effect::StartsLocal
            | Effect::Prefetches
            | Effect::ExchangesLanes
            | Effect::MultipliesMatrices
            | Effect::Nests
            | Effect::Jumps => [None, None],
            // Volatile accesses, atomics, fences, barriers, calls, and matrices.
            Effect::Reads { .. }
            | Effect::Writes { .. }
            | Effect::Atomic
            | Effect::Fences
            | Effect::Barrier
            | Effect::ReadsMatrix
            | Effect::WritesMatrix
            | Effect::Calls => return None,
        },
    })
}

/// The bytes that are accessed through one pointer.
struct Extent {
    is_threadgroup: bool,
    /// The address; `None`: not known.
    start: Option<Linear<Value>>,
    /// The number of bytes; `None`: not known.
    bytes: Option<u64>,
}

impl Extent {
    fn of(function: &Function, same: &[Access]) -> Self {
        let ptr = same[0].ptr;
        let sizes = same.iter().map(|access| access.ty.map(|ty| u64::from(ty.size())));
        Self {
            is_threadgroup: Memory::Threadgroup.has(function, ptr),
            start: Linear::of(function, ptr, &Values),
            bytes: sizes.reduce(|a, b| Some(a?.max(b?))).flatten(),
        }
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        if self.is_threadgroup != other.is_threadgroup {
            return true;
        }
        let distance = match (&self.start, &other.start) {
            (Some(a), Some(b)) => {
                let mut distance = b.clone();
                distance.add(a, -1);
                distance.as_constant()
            }
            _ => None,
        };
        match (distance, self.bytes, other.bytes) {
            (Some(distance), Some(own), Some(others)) => {
                let distance = distance as u64;
                distance >= own && distance.wrapping_neg() >= others
            }
            _ => false,
        }
    }
}

/// Every value that is not arithmetic is a term.
struct Values;

impl TermPolicy for Values {
    type Term = Value;

    fn find(&self, _: Value) -> Option<TermClass<Value>> {
        Some(TermClass::Arithmetic)
    }

    fn opaque(&self, value: Value) -> Option<Linear<Value>> {
        Some(Linear::term(value))
    }
}
