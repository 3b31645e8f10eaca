//! Which accesses of a loop may alias.
//!
//! Device memory does not alias threadgroup memory, and constant memory does not change while a kernel runs.
//! Other accesses of one kind of memory are disjoint if their addresses differ by a constant. Two arguments
//! may be bound to the same buffer: their accesses are disjoint only under the condition that the arguments
//! are, which a comparison tests ([`CmpOp::Disjoint`]). A pointer that is loaded, selected or carried by a
//! loop may point into any buffer.

use anymetal_analysis::{Linear, Memory, TermClass, TermPolicy, walk_insts};
use anymetal_ir::{BinOp, CmpOp, Effect, Function, Inst, Op, Space, Type, Value, ValueDef};

/// An access of memory that threads share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) inst: Inst,
    pub(super) ptr: Value,
    /// The accessed type; `None`: a range, of any length.
    pub(super) ty: Option<Type>,
    pub(super) stores: bool,
}

/// Two arguments in device memory, the one with the lower number first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in super::super) struct ArgumentPair(pub(in super::super) Value, pub(in super::super) Value);

impl ArgumentPair {
    fn of(a: Value, b: Value) -> Self {
        assert_ne!(a, b, "{a} has all its bytes in common with itself");
        Self(a.min(b), a.max(b))
    }
}

/// Adds the pairs of arguments that are disjoint where a condition is true.
pub(in super::super) fn add_disjoint_pairs(function: &Function, cond: Value, pairs: &mut Vec<ArgumentPair>) {
    match function.def(cond) {
        Some(&Op::Binary(BinOp::And, a, b)) => {
            add_disjoint_pairs(function, a, pairs);
            add_disjoint_pairs(function, b, pairs);
        }
        Some(&Op::Compare(CmpOp::Disjoint, a, b)) => {
            if let [Some(a), Some(b)] = [a, b].map(|pointer| argument_of(function, pointer))
                && a != b
            {
                pairs.push(ArgumentPair::of(a, b));
            }
        }
        _ => {}
    }
}

/// The argument in device memory that a pointer is made of by adding.
fn argument_of(function: &Function, mut pointer: Value) -> Option<Value> {
    while let Some(&Op::PtrAdd { base, .. }) = function.def(pointer) {
        pointer = base;
    }
    let is_parameter = matches!(function.values[pointer.index()].def, ValueDef::Param(_));
    (is_parameter && function.ty(pointer) == Type::Ptr(Space::Device)).then_some(pointer)
}

/// The accesses of one pointer that no access through another pointer may alias.
pub(super) struct Unaliased {
    pub(super) accesses: Vec<Access>,
    /// The arguments that have to be disjoint for that, besides those that are known to be.
    pub(super) under: Vec<ArgumentPair>,
}

/// The accesses of a loop to shared memory, by pointer, each in textual order.
pub(super) struct SharedAccesses(Vec<Vec<Access>>);

impl SharedAccesses {
    /// The accesses of a loop; `None` if the loop synchronises with other threads.
    pub(super) fn of(function: &Function, looping: Inst) -> Option<Self> {
        let mut by_pointer: Vec<Vec<Access>> = Vec::new();
        let mut places = rustc_hash::FxHashMap::default();
        let mut orders = false;
        for block in function.inst(looping).op.blocks() {
            walk_insts(function, block, &mut |inst| {
                let Some(accesses) = accesses_of(function, inst) else {
                    orders = true;
                    return;
                };
                for access in accesses.into_iter().flatten() {
                    if !Memory::Any.has(function, access.ptr) {
                        continue;
                    }
                    let place = *places.entry(access.ptr).or_insert_with(|| {
                        by_pointer.push(Vec::new());
                        by_pointer.len() - 1
                    });
                    by_pointer[place].push(access);
                }
            });
        }
        (!orders).then_some(Self(by_pointer))
    }

    /// The number of distinct pointers.
    pub(super) fn pointers(&self) -> usize {
        self.0.len()
    }

    /// The accesses of each pointer that no access through another pointer may alias: neither is a store, or
    /// the addresses differ. `known` are arguments that are disjoint.
    pub(super) fn unaliased(&self, function: &Function, known: &[ArgumentPair]) -> Vec<Unaliased> {
        let extents: Vec<Extent> = self.0.iter().map(|same| Extent::of(function, same)).collect();
        let alone_under = |at: usize| {
            let mut under = Vec::new();
            let may_conflict = |&other: &usize| other != at && (extents[at].stores || extents[other].stores);
            for other in (0..extents.len()).filter(may_conflict) {
                match extents[at].overlap(&extents[other]) {
                    Overlap::Never => {}
                    Overlap::Possible => return None,
                    Overlap::UnlessDisjoint(pair) if known.contains(&pair) || under.contains(&pair) => {}
                    Overlap::UnlessDisjoint(pair) => under.push(pair),
                }
            }
            Some(under)
        };
        let unaliased = |at: usize| Some(Unaliased { accesses: self.0[at].clone(), under: alone_under(at)? });
        (0..self.0.len()).filter_map(unaliased).collect()
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

/// Whether two extents have bytes in common.
enum Overlap {
    Never,
    Possible,
    /// Only if these arguments have.
    UnlessDisjoint(ArgumentPair),
}

/// The bytes that are accessed through one pointer.
struct Extent {
    stores: bool,
    space: Space,
    /// The argument that the pointer is made of; `None`: not known, or threadgroup memory.
    argument: Option<Value>,
    /// The address; `None`: not known.
    start: Option<Linear<Value>>,
    /// The number of bytes; `None`: not known.
    bytes: Option<u64>,
}

impl Extent {
    fn of(function: &Function, same: &[Access]) -> Self {
        let ptr = same[0].ptr;
        let Type::Ptr(space) = function.ty(ptr) else {
            unreachable!("{ptr} is accessed, so it is a pointer")
        };
        let sizes = same.iter().map(|access| access.ty.map(|ty| u64::from(ty.size())));
        Self {
            stores: same.iter().any(|access| access.stores),
            space,
            argument: argument_of(function, ptr),
            start: Linear::of(function, ptr, &Values),
            bytes: sizes.reduce(|a, b| Some(a?.max(b?))).flatten(),
        }
    }

    fn overlap(&self, other: &Self) -> Overlap {
        if self.space != other.space || self.is_at_a_distance(other) {
            return Overlap::Never;
        }
        match (self.argument, other.argument) {
            (Some(own), Some(others)) if own != others => {
                Overlap::UnlessDisjoint(ArgumentPair::of(own, others))
            }
            _ => Overlap::Possible,
        }
    }

    /// Whether the addresses differ by a constant that is large enough.
    fn is_at_a_distance(&self, other: &Self) -> bool {
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
