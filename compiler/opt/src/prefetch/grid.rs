//! Prefetches of loads that each thread executes once: what a later threadgroup loads.
//!
//! If addresses are contiguous along the first axis, the prefetch distance is a constant. Otherwise it is the
//! distance to the next threadgroup, or to a later one if threadgroups are small: along the first axis or, if
//! the grid has one threadgroup per row, along the second. The change of an address per step along an axis
//! ([`Advance`]) is derived from its definition. A prefetch is a hint, so wrap-around is ignored.

use super::hints::PrefetchBuilder;
use super::run_ahead::AddressSlice;
use super::{CountedRange, Finder, MAX_DEPTH};
use crate::limits::MAX_PREFETCHED_LOADS;
use anymetal_analysis::limits::MAX_DEFINITIONS;
use anymetal_analysis::walk_insts;
use anymetal_ir::{
    BinOp, Block, CastOp, CmpOp, Function, Inst, Op, PrefetchHint, Query, Scalar, Space, Type, Value,
};

/// Prefetch distance in bytes of a contiguous stream. Measured: 1 KiB is 1.15 times as fast as none on
/// streams from memory.
const STREAM_DISTANCE: i64 = 1024;

/// The change of a value per step along an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Advance {
    /// A constant.
    Known(i64),
    /// The threads of a threadgroup along the axis.
    Threads(u8),
    Sum(Box<Advance>, Box<Advance>),
    /// Times an invariant value.
    Times(Box<Advance>, Value),
    /// Times a constant.
    Scaled(Box<Advance>, i64),
}

impl Advance {
    pub(super) const ZERO: Self = Self::Known(0);

    fn scaled(self, by: i64) -> Self {
        match self {
            Self::Known(known) => Self::Known(known.wrapping_mul(by)),
            advance => Self::Scaled(Box::new(advance), by),
        }
    }
}

/// A load and its prefetch distance.
pub(super) struct LoadAhead {
    pub(super) block: Block,
    pub(super) access: Inst,
    pub(super) root: Value,
    pub(super) pointer: Value,
    pub(super) bytes: u32,
    pub(super) step: PrefetchDistance,
}

pub(super) enum PrefetchDistance {
    Stream,
    /// To the next threadgroup along the first axis, or the second.
    Threadgroup(Advance, Option<Advance>),
    /// The address is recomputed for a later thread.
    AddressSlice(AddressSlice),
}

/// The loads to prefetch, except of arguments that have prefetches already (`has_site`).
pub(super) fn single_loads(
    finder: &Finder<'_>,
    loads: &BufferLoads,
    has_site: &dyn Fn(Value) -> bool,
) -> Vec<LoadAhead> {
    let mut found: Vec<LoadAhead> = Vec::new();
    for &(block, access, root, pointer) in &loads.single {
        let is_planned = found.iter().any(|ahead| ahead.root == root);
        if is_planned
            || has_site(root)
            || loads.in_loops.contains(&root)
            || loads.of(root) > MAX_PREFETCHED_LOADS
        {
            continue;
        }
        let bytes = finder.function.ty(finder.function.result(access)).size();
        let slice = || finder.slice(block, access, pointer).map(PrefetchDistance::AddressSlice);
        if let Some(step) = finder.distance_of_load(pointer, bytes).or_else(slice) {
            found.push(LoadAhead { block, access, root, pointer, bytes, step });
        }
    }
    found
}

/// The loads from buffers.
#[derive(Default)]
pub(super) struct BufferLoads {
    /// BufferLoads outside of loops: block, instruction, argument and pointer.
    single: Vec<(Block, Inst, Value, Value)>,
    /// The arguments of loads in loops.
    in_loops: Vec<Value>,
}

impl BufferLoads {
    pub(super) fn new(finder: &Finder<'_>) -> Self {
        let mut loads = Self::default();
        finder.collect(finder.function.body, &mut loads);
        loads
    }

    /// The number of loads of an argument.
    pub(super) fn of(&self, root: Value) -> usize {
        let single = self.single.iter().filter(|load| load.2 == root).count();
        single + self.in_loops.iter().filter(|&&other| other == root).count()
    }
}

impl Finder<'_> {
    fn buffer_load(&self, inst: Inst) -> Option<(Value, Value)> {
        match self.function.inst(inst).op {
            Op::Load { ptr, .. }
                if matches!(self.function.ty(ptr), Type::Ptr(Space::Device | Space::Constant)) =>
            {
                Some((self.root(ptr)?, ptr))
            }
            _ => None,
        }
    }

    fn collect(&self, block: Block, loads: &mut BufferLoads) {
        for &inst in self.function.block(block) {
            if let Some((root, pointer)) = self.buffer_load(inst) {
                loads.single.push((block, inst, root, pointer));
            }
            let op = &self.function.inst(inst).op;
            for nested in op.blocks() {
                if let Op::Loop { .. } = op {
                    walk_insts(self.function, nested, &mut |inst| {
                        loads.in_loops.extend(self.buffer_load(inst).map(|(root, _)| root));
                    });
                } else {
                    self.collect(nested, loads);
                }
            }
        }
    }

    fn distance_of_load(&self, pointer: Value, bytes: u32) -> Option<PrefetchDistance> {
        let thread = Op::Query(Query::ThreadPositionInGrid(0));
        let is_thread = |value| self.function.def(value) == Some(&thread);
        let per_thread = self.advance(pointer, &|value| is_thread(value).then_some(Advance::Known(1)))?;
        if per_thread == Advance::Known(i64::from(bytes)) {
            return Some(PrefetchDistance::Stream);
        }
        self.distance_to_next_threadgroup(pointer, None)
    }

    /// The distance from an address of this threadgroup to that of the next one, if there is any, with equal
    /// values of the loop counter.
    pub(super) fn distance_to_next_threadgroup(
        &self,
        pointer: Value,
        counted: Option<&CountedRange>,
    ) -> Option<PrefetchDistance> {
        let counter = counted.and_then(|counted| counted.counter);
        let along = |value, axis| {
            self.advance(value, &|value| match self.function.def(value) {
                _ if Some(value) == counter => Some(Advance::ZERO),
                Some(&Op::Query(Query::ThreadPositionInGrid(at))) if at == axis => {
                    Some(Advance::Threads(axis))
                }
                Some(&Op::Query(Query::ThreadgroupPositionInGrid(at))) if at == axis => {
                    Some(Advance::Known(1))
                }
                _ => None,
            })
        };
        let start = counted.and_then(|counted| counted.start);
        if start.is_some_and(|start| (0..2).any(|axis| along(start, axis) != Some(Advance::ZERO))) {
            return None;
        }
        let first = along(pointer, 0)?;
        let second = along(pointer, 1).filter(|advance| *advance != Advance::ZERO);
        (first != Advance::ZERO || second.is_some()).then_some(PrefetchDistance::Threadgroup(first, second))
    }

    pub(super) fn advance(&self, value: Value, known: &dyn Fn(Value) -> Option<Advance>) -> Option<Advance> {
        self.advance_within(value, known, MAX_DEPTH, &mut { MAX_DEFINITIONS })
    }

    /// The change of the value, given that of the values for which `known` returns one.
    fn advance_within(
        &self,
        value: Value,
        known: &dyn Fn(Value) -> Option<Advance>,
        depth: u32,
        left: &mut u32,
    ) -> Option<Advance> {
        let depth = depth.checked_sub(1)?;
        *left = left.checked_sub(1)?;
        if let Some(advance) = known(value) {
            return Some(advance);
        }
        let Some(op) = self.function.def(value) else {
            return self.is_param(value).then_some(Advance::ZERO);
        };
        let mut of = |value: Value| self.advance_within(value, known, depth, left);
        match op {
            Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => of(*a),
            Op::Binary(BinOp::Add, a, b) => Some(sum(of(*a)?, of(*b)?)),
            Op::Binary(BinOp::Mul, a, b) => match (of(*a)?, of(*b)?) {
                (Advance::ZERO, Advance::ZERO) => Some(Advance::ZERO),
                (advance, Advance::ZERO) => Some(self.times_value(advance, *b)),
                (Advance::ZERO, advance) => Some(self.times_value(advance, *a)),
                _ => None,
            },
            Op::Binary(BinOp::Shl, a, by) => match (of(*a)?, self.function.as_const(*by)) {
                (Advance::ZERO, _) => (of(*by) == Some(Advance::ZERO)).then_some(Advance::ZERO),
                (advance, Some(by @ 0..32)) => Some(advance.scaled(1 << by)),
                _ => None,
            },
            Op::PtrAdd { base, index, scale, .. } => {
                let index = index.map_or(Some(Advance::ZERO), &mut of)?;
                Some(sum(of(*base)?, index.scaled(i64::from(*scale))))
            }
            Op::Load { ptr, .. } if self.function.ty(*ptr) == Type::Ptr(Space::Constant) => {
                of(*ptr).filter(|advance| *advance == Advance::ZERO)
            }
            Op::Query(_) | Op::Const(_) => Some(Advance::ZERO),
            op => {
                let mut none = op.is_pure();
                op.for_each_operand(|operand| none = none && of(operand) == Some(Advance::ZERO));
                none.then_some(Advance::ZERO)
            }
        }
    }

    fn times_value(&self, advance: Advance, by: Value) -> Advance {
        match self.function.as_const(by).and_then(|by| i64::try_from(by).ok()) {
            Some(by) => advance.scaled(by),
            None => Advance::Times(Box::new(advance), by),
        }
    }
}

fn sum(a: Advance, b: Advance) -> Advance {
    match (a, b) {
        (Advance::Known(a), Advance::Known(b)) => Advance::Known(a.wrapping_add(b)),
        (Advance::ZERO, advance) | (advance, Advance::ZERO) => advance,
        (a, b) => Advance::Sum(Box::new(a), Box::new(b)),
    }
}

impl LoadAhead {
    /// Inserts the prefetch after the load.
    pub(super) fn insert(&self, function: &mut Function) {
        if let PrefetchDistance::AddressSlice(slice) = &self.step {
            return slice.insert(function, self.block, self.access, self.pointer, self.bytes);
        }
        let mut hints = PrefetchBuilder::new(function);
        let (address, hint) = match &self.step {
            PrefetchDistance::AddressSlice(_) => unreachable!("a slice computes its own address"),
            PrefetchDistance::Stream => {
                let ahead = Op::PtrAdd { base: self.pointer, index: None, scale: 1, offset: STREAM_DISTANCE };
                (ahead, PrefetchHint::StreamRead)
            }
            PrefetchDistance::Threadgroup(first, second) => {
                let mut step = emit_advance(&mut hints, first);
                if let Some(second) = second {
                    let second = emit_advance(&mut hints, second);
                    let int = Type::Scalar(Scalar::I32);
                    let row = hints.value(Op::Query(Query::ThreadgroupsPerGrid(0)), int);
                    let one = hints.value(Op::Const(1), int);
                    let single = hints.value(Op::Compare(CmpOp::Eq, row, one), Type::Scalar(Scalar::Bool));
                    step = hints.value(Op::Select(single, second, step), Type::Scalar(Scalar::I64));
                }
                let step = hints.threadgroups_ahead(step, self.bytes);
                let next = Op::PtrAdd { base: self.pointer, index: Some(step), scale: 1, offset: 0 };
                (next, PrefetchHint::ReadL2)
            }
        };
        hints.prefetch_after(self.pointer, address, (self.bytes, hint), self.block, self.access);
    }
}

/// Emits the change as a value.
fn emit_advance(hints: &mut PrefetchBuilder<'_>, advance: &Advance) -> Value {
    let long = Type::Scalar(Scalar::I64);
    match advance {
        Advance::Known(known) => hints.constant(known.cast_unsigned()),
        Advance::Threads(axis) => {
            let query = Op::Query(Query::DispatchThreadsPerThreadgroup(*axis));
            let threads = hints.value(query, Type::Scalar(Scalar::I32));
            hints.long(threads)
        }
        Advance::Sum(a, b) => {
            let (a, b) = (emit_advance(hints, a), emit_advance(hints, b));
            hints.value(Op::Binary(BinOp::Add, a, b), long)
        }
        Advance::Times(advance, by) if **advance == Advance::Known(1) => hints.long(*by),
        Advance::Times(advance, by) => {
            let (advance, by) = (emit_advance(hints, advance), hints.long(*by));
            hints.value(Op::Binary(BinOp::Mul, advance, by), long)
        }
        Advance::Scaled(advance, by) => {
            let advance = emit_advance(hints, advance);
            hints.product(advance, *by)
        }
    }
}
