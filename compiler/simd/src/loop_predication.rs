//! Loop predication: one test before a loop instead of bounds checks in each iteration.
//!
//! In `for (k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column]` the offsets grow by the same amount
//! in each iteration, so what is in bounds in the first and in the last is in bounds in all. The test
//! evaluates the addresses for the first, the second and the last iteration. Where it fails, the loop with
//! checks runs.
//!
//! Invariant: the offset of each access in iteration `t` is `c + s * t` modulo 2^64, or `c + scale *
//! extend(l(t))`, where `l` is linear modulo 2^32 and the scale is small. The test demands that the counter
//! does not wrap, that there are fewer than 2^31 iterations, that the first two offsets differ by less than
//! 2^31, and that the last offset is where this difference leads. So nothing has wrapped between the first
//! and the last iteration: in the first form no sum can, and in the second a wrap of `l` would have moved
//! the last offset by a multiple of `scale << 32`, which is below 2^64.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anymetal_analysis::divergence::Divergence;
use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_analysis::{CountedLoop, walk_insts};
use anymetal_ir::{BinOp, Block, CastOp, CmpOp, Function, Inst, Op, Scalar, Type, Value, ValueDef};

use crate::constructs::{Constructs, LoopForm};
use crate::facts::Facts;
use crate::limits::{MAX_PREDICATED_LOOP, MAX_WIDENED_SCALE, MIN_PREDICATED_TRIPS};

/// A loop whose accesses can be tested before it.
#[derive(Debug)]
pub struct PredicatedLoop {
    /// The counter, its limit and its step. The loop goes on while the counter is below the limit or,
    /// perhaps, equal to it.
    pub counted: CountedLoop,
    /// What computes the addresses, in order.
    pub slice: Vec<Inst>,
    /// The loads of the slice that read a variable that grows by a constant in each iteration, and by how
    /// much.
    pub inductions: BTreeMap<Inst, i64>,
    /// The accesses, in order.
    pub accesses: Vec<PredicatedAccess>,
}

/// An access that is tested before a loop.
#[derive(Clone, Debug)]
pub struct PredicatedAccess {
    /// The load or store; of loads that are done together the first.
    pub inst: Inst,
    /// Its pointer.
    pub pointer: Value,
    /// The bytes that a lane accesses, from the pointer.
    pub range: Range<i64>,
    /// Whether its address changes.
    pub changes: bool,
}

/// How a value depends on the iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependence {
    /// Not at all.
    Invariant,
    /// It is the counter, which does not wrap while the loop goes on.
    Counter,
    /// Linear, modulo 2 to the number of its bits.
    Linear,
    /// The sum of an invariant and one value that is linear modulo 2^32 and was widened, times a small scale.
    Widened,
}

impl PredicatedLoop {
    /// The accesses of a loop that can be tested before it, if there are any. `range_of`: the bytes
    /// that a lane accesses, if all lanes access one allocation at places with a pattern.
    pub(crate) fn new(
        (facts, divergence, constructs): (Facts<'_>, &Divergence, &Constructs),
        inst: Inst,
        range_of: &dyn Fn(Inst) -> Option<Range<i64>>,
    ) -> Option<Self> {
        let (_, body, continuing) = facts.function.as_loop(inst)?;
        let counted = facts.loops.find(inst)?;
        let is_uniform = |value| divergence.shape(value).is_uniform();
        let goes_up = counted.step > 0
            && matches!(counted.goes_on, CmpOp::SLt | CmpOp::ULt | CmpOp::SLe | CmpOp::ULe)
            && is_uniform(counted.start)
            && is_uniform(counted.limit);
        if !goes_up
            || constructs.of_loop(inst) != LoopForm::Uniform
            || runs_few_times(facts.function, &counted)
        {
            return None;
        }
        let mut inside = Vec::new();
        for block in [body, continuing] {
            walk_insts(facts.function, block, &mut |inst| inside.push(inst));
        }
        let is_plain = |&inst: &Inst| {
            let op = &facts.function.inst(inst).op;
            op.only_computes()
                || op.is_terminator()
                || matches!(
                    op,
                    Op::Load { .. }
                        | Op::Store { .. }
                        | Op::LocalStart(_)
                        | Op::If { .. }
                        | Op::Prefetch { .. }
                )
        };
        if inside.len() > MAX_PREDICATED_LOOP || !inside.iter().all(is_plain) {
            return None;
        }
        let is_continue = |inst: &&Inst| matches!(facts.function.inst(**inst).op, Op::Continue(..));
        if inside.iter().filter(is_continue).count() > 1 {
            // Variables may stay as they are in some iterations.
            return None;
        }
        let mut reader = Reader::new(facts, &counted, [body, continuing], inside);
        let mut accesses = Vec::new();
        // Not those in branches, which may be there because the first or the last iteration is not like
        // others.
        for &inst in [body, continuing].iter().flat_map(|&block| facts.function.block(block)) {
            let Some(range) = range_of(inst) else { continue };
            let pointer = match facts.function.inst(inst).op {
                Op::Load { ptr, .. } | Op::Store { ptr, .. } => ptr,
                ref op => unreachable!("{op:?} is no load or store"),
            };
            let changes = match reader.dependence(pointer, MAX_DEPTH) {
                Some(Dependence::Invariant) => false,
                Some(Dependence::Linear | Dependence::Widened) => true,
                Some(Dependence::Counter) => unreachable!("a pointer is no counter"),
                None => continue,
            };
            accesses.push(PredicatedAccess { inst, pointer, range, changes });
        }
        let (slice, inductions) = reader.slice(accesses.iter().map(|access| access.pointer).collect());
        (!accesses.is_empty()).then_some(Self { counted, slice, inductions, accesses })
    }
}

/// Whether a loop has so few iterations that a test before it costs more than it saves.
fn runs_few_times(function: &Function, counted: &CountedLoop) -> bool {
    let [start, limit] = [counted.start, counted.limit].map(|value| function.as_const(value));
    let (Some(start), Some(limit)) = (start, limit) else {
        // Only known at run time.
        return false;
    };
    limit.wrapping_sub(start) as i64 / counted.step < MIN_PREDICATED_TRIPS
}

/// Follows addresses through a loop.
struct Reader<'a> {
    facts: Facts<'a>,
    /// The blocks of the loop, and all instructions in them, in order.
    blocks: [Block; 2],
    inside: Vec<Inst>,
    /// Where each is.
    order: BTreeMap<Inst, usize>,
    /// Where promoted variables are stored to in the loop.
    stores: BTreeMap<usize, Vec<Inst>>,
    /// The variable of the counter.
    counter: Option<usize>,
    /// How the counter is widened without a wrap.
    widened: CastOp,
    dependences: BTreeMap<Value, Option<Dependence>>,
    inductions: BTreeMap<Inst, i64>,
}

impl<'a> Reader<'a> {
    fn new(facts: Facts<'a>, counted: &CountedLoop, blocks: [Block; 2], inside: Vec<Inst>) -> Self {
        let order = inside.iter().enumerate().map(|(at, &inst)| (inst, at)).collect();
        let mut stores: BTreeMap<usize, Vec<Inst>> = BTreeMap::new();
        for &inst in &inside {
            if let Op::Store { ptr, value, .. } = facts.function.inst(inst).op {
                let size = i64::from(facts.function.ty(value).size());
                for variable in facts.storage.vars_at(ptr, size).unwrap_or(0..0) {
                    stores.entry(variable).or_default().push(inst);
                }
            }
        }
        let mut reader = Self {
            facts,
            blocks,
            inside,
            order,
            stores,
            counter: None,
            widened: if counted.is_signed() { CastOp::SExt } else { CastOp::ZExt },
            dependences: BTreeMap::new(),
            inductions: BTreeMap::new(),
        };
        reader.counter = reader.compared_variable(counted);
        reader
    }

    /// The instructions of the loop that compute these values, in order, and the inductions among them.
    fn slice(mut self, mut values: Vec<Value>) -> (Vec<Inst>, BTreeMap<Inst, i64>) {
        let function = self.facts.function;
        let mut found = BTreeSet::new();
        while let Some(value) = values.pop() {
            let ValueDef::Inst(inst) = function.values[value.index()].def else { continue };
            if self.order.contains_key(&inst) && found.insert(inst) && !self.is_load(inst) {
                function.inst(inst).op.for_each_operand(|operand| values.push(operand));
            }
        }
        self.inductions.retain(|load, _| found.contains(load));
        (self.inside.into_iter().filter(|inst| found.contains(inst)).collect(), self.inductions)
    }

    fn is_top_level(&self, inst: Inst) -> bool {
        self.blocks.iter().any(|&block| self.facts.function.block(block).contains(&inst))
    }

    fn is_load(&self, inst: Inst) -> bool {
        matches!(self.facts.function.inst(inst).op, Op::Load { .. })
    }

    /// The variable that the exit test compares with the limit.
    fn compared_variable(&self, counted: &CountedLoop) -> Option<usize> {
        let function = self.facts.function;
        let mut compared = None;
        let mut cond = counted.test.cond;
        while let Some(&Op::Unary(_, inner)) = function.def(cond) {
            cond = inner;
        }
        if let Some(&Op::Compare(_, a, b)) = function.def(cond) {
            compared = Some(if b == counted.limit { a } else { b });
        }
        match *function.def(compared?)? {
            Op::Load { ptr, .. } => self.variable(ptr, counted.scalar),
            _ => None,
        }
    }

    fn variable(&self, pointer: Value, scalar: Scalar) -> Option<usize> {
        let variables = self.facts.storage.vars_at(pointer, i64::from(scalar.size()))?;
        (variables.len() == 1).then_some(variables.start)
    }

    fn dependence(&mut self, value: Value, depth: u32) -> Option<Dependence> {
        if let Some(&known) = self.dependences.get(&value) {
            return known;
        }
        let ValueDef::Inst(inst) = self.facts.function.values[value.index()].def else {
            // A parameter of the kernel.
            return Some(Dependence::Invariant);
        };
        if !self.order.contains_key(&inst) {
            return Some(Dependence::Invariant);
        }
        let found = self.dependence_of(inst, value, depth.checked_sub(1)?);
        self.dependences.insert(value, found);
        found
    }

    fn dependence_of(&mut self, inst: Inst, value: Value, depth: u32) -> Option<Dependence> {
        use Dependence::{Counter, Invariant, Linear, Widened};
        let function = self.facts.function;
        match function.inst(inst).op {
            Op::Load { ptr, .. } => self.of_variable(inst, ptr, value),
            Op::Binary(BinOp::Add | BinOp::Sub, a, b) => {
                sum(self.dependence(a, depth)?, self.dependence(b, depth)?)
            }
            Op::Binary(BinOp::Mul, a, b) => match (self.dependence(a, depth)?, self.dependence(b, depth)?) {
                (Invariant, other) | (other, Invariant) => multiple(other),
                _ => None,
            },
            Op::Binary(BinOp::Shl, a, b) => match (self.dependence(a, depth)?, self.dependence(b, depth)?) {
                (other, Invariant) => multiple(other),
                _ => None,
            },
            Op::Cast(cast @ (CastOp::SExt | CastOp::ZExt), a) => match self.dependence(a, depth)? {
                Invariant => Some(Invariant),
                _ if function.ty(a) != Type::I32 => None,
                Counter if cast == self.widened => Some(Linear),
                Counter | Linear => Some(Widened),
                Widened => unreachable!("what was widened has 64 bits"),
            },
            Op::PtrAdd { base, index, scale, .. } => {
                let base = self.dependence(base, depth)?;
                match index.map(|index| self.dependence(index, depth)) {
                    None => sum(base, Invariant),
                    Some(Some(Widened)) if scale > MAX_WIDENED_SCALE => None,
                    Some(index) => sum(base, index?),
                }
            }
            ref op if op.only_computes() => {
                let mut operands = Vec::new();
                op.for_each_operand(|operand| operands.push(operand));
                let mut all = operands.into_iter().map(|operand| self.dependence(operand, depth));
                all.all(|operand| operand == Some(Invariant)).then_some(Invariant)
            }
            _ => None,
        }
    }

    /// A load of a variable: one that stays, or one that grows by a constant and is read before.
    fn of_variable(&mut self, load: Inst, pointer: Value, value: Value) -> Option<Dependence> {
        let function = self.facts.function;
        let size = i64::from(function.ty(value).size());
        let variables = self.facts.storage.vars_at(pointer, size)?;
        if variables.clone().all(|variable| !self.stores.contains_key(&variable)) {
            return Some(Dependence::Invariant);
        }
        // What has several parts does not grow by a number.
        let variable = (variables.len() == 1).then_some(variables.start)?;
        let [store] = *self.stores[&variable].as_slice() else {
            // Several places set it.
            return None;
        };
        let Op::Store { value: next, .. } = function.inst(store).op else {
            unreachable!("{store} is a store")
        };
        if self.order[&load] > self.order[&store] || !self.is_top_level(store) {
            return None;
        }
        let is_it = |other: Value| match function.def(other) {
            Some(&Op::Load { ptr, .. }) => {
                self.facts.storage.vars_at(ptr, size).is_some_and(|read| read == variables)
            }
            _ => false,
        };
        let constant = |value: Value| {
            let bits = function.as_const(value)?;
            Some(if function.ty(value) == Type::I32 { i64::from(bits as u32 as i32) } else { bits as i64 })
        };
        let step = match *function.def(next)? {
            Op::Binary(BinOp::Add, a, b) if is_it(a) => constant(b)?,
            Op::Binary(BinOp::Add, a, b) if is_it(b) => constant(a)?,
            Op::PtrAdd { base, index: None, offset, .. } if is_it(base) => offset,
            _ => return None,
        };
        self.inductions.insert(load, step);
        let is_counter = self.counter == Some(variable);
        Some(if is_counter { Dependence::Counter } else { Dependence::Linear })
    }
}

/// The dependence of a sum. A widened value and another one that changes are too much: their wraps might
/// cancel each other.
fn sum(a: Dependence, b: Dependence) -> Option<Dependence> {
    use Dependence::{Counter, Invariant, Linear, Widened};
    match (a, b) {
        (Invariant, Invariant) => Some(Invariant),
        (Widened, Invariant) | (Invariant, Widened) => Some(Widened),
        (Widened, _) | (_, Widened) => None,
        (Counter | Linear, _) | (_, Counter | Linear) => Some(Linear),
    }
}

/// The dependence of a value times an invariant.
fn multiple(of: Dependence) -> Option<Dependence> {
    use Dependence::{Counter, Invariant, Linear, Widened};
    match of {
        Invariant => Some(Invariant),
        Counter | Linear => Some(Linear),
        Widened => None,
    }
}
