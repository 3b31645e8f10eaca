//! One access for each thread of the grid: what a later threadgroup will load is asked for.
//!
//! Where the address follows the thread's position along the first axis, element after element, that is a
//! fixed stretch ahead; elsewhere it is what the next threadgroup loads, or a later one if they are small: along the first axis
//! or, where the grid has one threadgroup in a row, along the second. What an address gains by a step along an axis
//! ([`Rate`]) is worked out from its definition; it is a hint, so wrapped arithmetic is taken as it comes.

use super::hints::Hints;
use super::run_ahead::Slice;
use super::{Counted, DEPTH, Finder};
use crate::analysis::walk_insts;
use crate::{
    BinOp, Block, CastOp, CmpOp, Function, Inst, Op, PrefetchHint, Query, Scalar, Space, Type, Value,
};

/// Bytes ahead in a stretch. Measured: 1 KiB is 1.15 times as fast as none on streams from memory.
const STRETCH: i64 = 1024;
/// Loads of one argument. More of them look around in a neighbourhood, which is in the caches.
const MAX_LOADS: usize = 2;
/// Operations in all rates of one access.
const MAX_OPERATIONS: u32 = 200;

/// What a value gains by a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Rate {
    /// So much.
    Known(i64),
    /// As many as a threadgroup has threads along the axis.
    Threads(u8),
    Sum(Box<Rate>, Box<Rate>),
    /// Times a value that does not change with the step.
    Times(Box<Rate>, Value),
    /// Times a constant.
    Scaled(Box<Rate>, i64),
}

impl Rate {
    pub(super) const ZERO: Self = Self::Known(0);

    fn scaled(self, by: i64) -> Self {
        match self {
            Self::Known(known) => Self::Known(known.wrapping_mul(by)),
            rate => Self::Scaled(Box::new(rate), by),
        }
    }
}

/// A load and how far ahead to ask.
pub(super) struct Ahead {
    pub(super) block: Block,
    pub(super) access: Inst,
    pub(super) root: Value,
    pub(super) pointer: Value,
    pub(super) bytes: u32,
    pub(super) step: Step,
}

pub(super) enum Step {
    Stretch,
    /// To the next threadgroup along the first axis, or the second.
    Threadgroup(Rate, Option<Rate>),
    /// The address is computed for a later thread.
    Slice(Slice),
}

/// The loads to ask ahead for, but of arguments that `is_known`.
pub(super) fn loads_ahead(
    finder: &Finder<'_>,
    loads: &Loads,
    is_known: &dyn Fn(Value) -> bool,
) -> Vec<Ahead> {
    let mut found: Vec<Ahead> = Vec::new();
    for &(block, access, root, pointer) in &loads.single {
        let asked = found.iter().any(|ahead| ahead.root == root);
        if asked || is_known(root) || loads.repeated.contains(&root) || loads.of(root) > MAX_LOADS {
            continue;
        }
        let Some(result) = finder.function.inst(access).result else { continue };
        let bytes = finder.function.ty(result).size();
        let slice = || finder.slice(block, access, pointer).map(Step::Slice);
        if let Some(step) = finder.step_of_load(pointer, bytes).or_else(slice) {
            found.push(Ahead { block, access, root, pointer, bytes, step });
        }
    }
    found
}

/// Loads from buffers.
#[derive(Default)]
pub(super) struct Loads {
    /// Outside of loops: block, instruction, argument and pointer.
    single: Vec<(Block, Inst, Value, Value)>,
    /// The arguments of those in loops.
    repeated: Vec<Value>,
}

impl Loads {
    pub(super) fn new(finder: &Finder<'_>) -> Self {
        let mut loads = Self::default();
        finder.collect(finder.function.body, &mut loads);
        loads
    }

    /// How many there are of an argument.
    pub(super) fn of(&self, root: Value) -> usize {
        let single = self.single.iter().filter(|load| load.2 == root).count();
        single + self.repeated.iter().filter(|&&other| other == root).count()
    }
}

impl Finder<'_> {
    fn buffer_load(&self, inst: Inst) -> Option<(Value, Value)> {
        let Op::Load { ptr, .. } = self.function.inst(inst).op else { return None };
        let is_buffer = matches!(self.function.ty(ptr), Type::Ptr(Space::Device | Space::Constant));
        if is_buffer { Some((self.root(ptr)?, ptr)) } else { None }
    }

    fn collect(&self, block: Block, loads: &mut Loads) {
        for &inst in self.function.block(block) {
            if let Some((root, pointer)) = self.buffer_load(inst) {
                loads.single.push((block, inst, root, pointer));
            }
            let op = &self.function.inst(inst).op;
            for nested in op.blocks() {
                if let Op::Loop { .. } = op {
                    walk_insts(self.function, nested, &mut |inst| {
                        loads.repeated.extend(self.buffer_load(inst).map(|(root, _)| root));
                    });
                } else {
                    self.collect(nested, loads);
                }
            }
        }
    }

    fn step_of_load(&self, pointer: Value, bytes: u32) -> Option<Step> {
        let thread = Op::Query(Query::ThreadPositionInGrid(0));
        let per_thread = self.rate(pointer, &|op| (*op == thread).then_some(Rate::Known(1)))?;
        if per_thread == Rate::Known(i64::from(bytes)) {
            return Some(Step::Stretch);
        }
        self.next_threadgroup(pointer, None)
    }

    /// What lies between an address of this threadgroup and that of the next one, if anything does. A loop that counts
    /// has counted as far in both.
    pub(super) fn next_threadgroup(&self, pointer: Value, counted: Option<&Counted>) -> Option<Step> {
        let counter = counted.and_then(|counted| counted.counter);
        let along = |value, axis| {
            self.rate(value, &|op| match *op {
                Op::Query(Query::ThreadPositionInGrid(at)) if at == axis => Some(Rate::Threads(axis)),
                Op::Query(Query::ThreadgroupPositionInGrid(at)) if at == axis => Some(Rate::Known(1)),
                Op::Load { ptr, .. } if counter.is_some() && self.variable(ptr) == counter => {
                    Some(Rate::ZERO)
                }
                _ => None,
            })
        };
        let start = counted.and_then(|counted| counted.start);
        if start.is_some_and(|start| (0..2).any(|axis| along(start, axis) != Some(Rate::ZERO))) {
            return None;
        }
        let first = along(pointer, 0)?;
        let second = along(pointer, 1).filter(|rate| *rate != Rate::ZERO);
        (first != Rate::ZERO || second.is_some()).then_some(Step::Threadgroup(first, second))
    }

    pub(super) fn rate(&self, value: Value, known: &dyn Fn(&Op) -> Option<Rate>) -> Option<Rate> {
        self.rate_within(value, known, DEPTH, &mut { MAX_OPERATIONS })
    }

    /// What the value gains when that for which `known` gives a rate does.
    fn rate_within(
        &self,
        value: Value,
        known: &dyn Fn(&Op) -> Option<Rate>,
        depth: u32,
        left: &mut u32,
    ) -> Option<Rate> {
        let depth = depth.checked_sub(1)?;
        *left = left.checked_sub(1)?;
        let Some(op) = self.function.def(value) else { return Some(Rate::ZERO) };
        if let Some(rate) = known(op) {
            return Some(rate);
        }
        let mut of = |value: Value| self.rate_within(value, known, depth, left);
        match op {
            Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => of(*a),
            Op::Binary(BinOp::Add, a, b) => Some(sum(of(*a)?, of(*b)?)),
            Op::Binary(BinOp::Mul, a, b) => match (of(*a)?, of(*b)?) {
                (Rate::ZERO, Rate::ZERO) => Some(Rate::ZERO),
                (rate, Rate::ZERO) => Some(self.multiplied(rate, *b)),
                (Rate::ZERO, rate) => Some(self.multiplied(rate, *a)),
                _ => None,
            },
            Op::Binary(BinOp::Shl, a, by) => match (of(*a)?, self.function.as_const(*by)) {
                (Rate::ZERO, _) => Some(Rate::ZERO).filter(|_| of(*by) == Some(Rate::ZERO)),
                (rate, Some(by @ 0..32)) => Some(rate.scaled(1 << by)),
                _ => None,
            },
            Op::PtrAdd { base, index, scale, .. } => {
                let index = index.map_or(Some(Rate::ZERO), &mut of)?;
                Some(sum(of(*base)?, index.scaled(i64::from(*scale))))
            }
            Op::Load { ptr, .. } if self.function.ty(*ptr) == Type::Ptr(Space::Constant) => {
                of(*ptr).filter(|rate| *rate == Rate::ZERO)
            }
            Op::Query(_) | Op::Const(_) => Some(Rate::ZERO),
            op => {
                let mut none = op.is_pure();
                op.for_each_operand(|operand| none = none && of(operand) == Some(Rate::ZERO));
                none.then_some(Rate::ZERO)
            }
        }
    }

    fn multiplied(&self, rate: Rate, by: Value) -> Rate {
        match self.function.as_const(by).and_then(|by| i64::try_from(by).ok()) {
            Some(by) => rate.scaled(by),
            None => Rate::Times(Box::new(rate), by),
        }
    }
}

fn sum(a: Rate, b: Rate) -> Rate {
    match (a, b) {
        (Rate::Known(a), Rate::Known(b)) => Rate::Known(a.wrapping_add(b)),
        (Rate::ZERO, rate) | (rate, Rate::ZERO) => rate,
        (a, b) => Rate::Sum(Box::new(a), Box::new(b)),
    }
}

impl Ahead {
    /// Puts the hint behind the load.
    pub(super) fn insert(&self, function: &mut Function) {
        if let Step::Slice(slice) = &self.step {
            return slice.insert(function, self.block, self.access, self.pointer, self.bytes);
        }
        let mut hints = Hints::new(function);
        let (address, hint) = match &self.step {
            Step::Slice(_) | Step::Stretch => {
                let ahead = Op::PtrAdd { base: self.pointer, index: None, scale: 1, offset: STRETCH };
                (ahead, PrefetchHint::StreamRead)
            }
            Step::Threadgroup(first, second) => {
                let mut step = write(&mut hints, first);
                if let Some(second) = second {
                    let second = write(&mut hints, second);
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
        hints.finish(self.pointer, address, (self.bytes, hint), self.block, self.access);
    }
}

/// The rate as a value.
fn write(hints: &mut Hints<'_>, rate: &Rate) -> Value {
    let long = Type::Scalar(Scalar::I64);
    match rate {
        Rate::Known(known) => hints.constant(known.cast_unsigned()),
        Rate::Threads(axis) => {
            let query = Op::Query(Query::DispatchThreadsPerThreadgroup(*axis));
            let threads = hints.value(query, Type::Scalar(Scalar::I32));
            hints.long(threads)
        }
        Rate::Sum(a, b) => {
            let (a, b) = (write(hints, a), write(hints, b));
            hints.value(Op::Binary(BinOp::Add, a, b), long)
        }
        Rate::Times(rate, by) if **rate == Rate::Known(1) => hints.long(*by),
        Rate::Times(rate, by) => {
            let (rate, by) = (write(hints, rate), hints.long(*by));
            hints.value(Op::Binary(BinOp::Mul, rate, by), long)
        }
        Rate::Scaled(rate, by) => {
            let rate = write(hints, rate);
            hints.product(rate, *by)
        }
    }
}
