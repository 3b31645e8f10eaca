//! Prefetches what the next iteration of a loop around barriers will load.
//!
//! Such a loop copies tile after tile from device to threadgroup memory and computes on it in between. Its
//! threads read short pieces of many rows, which hardware prefetchers do not follow, and out-of-order
//! execution does not reach over the computation. So each load of a tile also prefetches its address plus
//! the stride of one iteration. Where panel micro-kernels follow, they issue the prefetches (`queued`).
//!
//! A prefetch of an address that is never read, or does not exist, only costs time.

use std::collections::BTreeMap;

use anymetal_ir::{BinOp, Block, CastOp, Inst, Op, PrefetchHint, Scalar, Space, Value};
use anymetal_opt::Feature;

use super::queued::PrefetchQueue;
use crate::cpu::emit::Emitter;
use crate::cpu::emit::group::for_each_inst;
use crate::cpu::emit::memory::Address;
use crate::cpu::emit::prefetch::LINE;
use crate::cpu::llvm_text::Opd;
use crate::cpu::storage::{Pointer, Root};

/// Maximum depth of followed definitions.
const DEPTH: u32 = 16;
/// The maximum number of requests for one access.
const MAX_LINES: i64 = 32;

/// A loop around barriers.
#[derive(Clone, Debug)]
pub(in crate::cpu::emit) struct TileLoop {
    /// By instruction: whether it is in the loop.
    in_loop: Vec<bool>,
    /// By promoted variable that is written in the loop: what one iteration adds, if that is all that
    /// happens to it. Variables of one iteration count as adding nothing.
    vars: BTreeMap<usize, Option<Step>>,
    /// Its prefetch queue.
    pub(in crate::cpu::emit) prefetch_queue: Option<PrefetchQueue>,
}

/// `index × scale + offset`.
#[derive(Clone, Copy, Debug)]
struct Step {
    index: Option<Value>,
    scale: i64,
    offset: i64,
}

impl Emitter<'_, '_> {
    /// What loads in this loop will need.
    pub(in crate::cpu::emit) fn tile_loop(&self, blocks: [Block; 2]) -> TileLoop {
        let function = self.facts.function;
        let storage = self.facts.storage;
        let mut found = TileLoop {
            in_loop: vec![false; function.insts.len()],
            vars: BTreeMap::new(),
            prefetch_queue: None,
        };
        let mut started = Vec::new();
        let mut note = |inst: Inst| {
            found.in_loop[inst.index()] = true;
            match &function.inst(inst).op {
                Op::LocalStart(local) => started.extend(storage.vars_in(*local, 0, i64::MAX)),
                Op::Store { ptr, value, .. } => {
                    let size = i64::from(function.ty(*value).size());
                    for var in storage.vars_at(*ptr, size).unwrap_or(0..0) {
                        // A second store makes the promoted variable's course unknown.
                        let step =
                            if found.vars.contains_key(&var) { None } else { self.step_of(var, *value) };
                        found.vars.insert(var, step);
                    }
                }
                _ => {}
            }
        };
        for block in blocks {
            for &inst in function.block(block) {
                for_each_inst(function, inst, &mut note);
            }
        }
        for var in started {
            found.vars.insert(var, Some(Step { index: None, scale: 0, offset: 0 }));
        }
        found
    }

    /// What is added to a promoted variable, if the value is the promoted variable's contents plus that.
    fn step_of(&self, var: usize, value: Value) -> Option<Step> {
        let function = self.facts.function;
        let is_promoted = |value: Value| match function.def(value) {
            Some(Op::Load { ptr, .. }) => self.facts.storage.vars_at(*ptr, 1) == Some(var..var + 1),
            _ => false,
        };
        let index = |index: Value| Step { index: Some(index), scale: 1, offset: 0 };
        match *function.def(value)? {
            Op::Binary(BinOp::Add, a, b) if is_promoted(a) => Some(index(b)),
            Op::Binary(BinOp::Add, a, b) if is_promoted(b) => Some(index(a)),
            Op::PtrAdd { base, index, scale, offset } if is_promoted(base) => {
                Some(Step { index, scale: i64::from(scale), offset })
            }
            // A narrow counter is widened, counted and narrowed again.
            Op::Cast(CastOp::Trunc, wide) => match *function.def(wide)? {
                Op::Binary(BinOp::Add, a, b) => match function.def(a)? {
                    Op::Cast(CastOp::SExt | CastOp::ZExt, narrow) if is_promoted(*narrow) => Some(index(b)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// Prefetches what the access at these offsets from its allocation will load in the next iteration:
    /// `(offset, bytes)`.
    pub(in crate::cpu::emit) fn prefetch_next(&mut self, address: &Address, pieces: &[(Opd, i64)]) {
        let is_on = self.has(Feature::TilePrefetch) && !self.tile_loops.is_empty();
        let (Some(pointer), true) = (address.value, is_on) else { return };
        let is_device = match address.place.root {
            Root::Argument(index) => self.shared.kernel.args[index].space == Space::Device,
            _ => false,
        };
        let lines = |bytes: i64| (bytes + LINE - 1) / LINE;
        if !is_device || pieces.iter().map(|&(_, bytes)| lines(bytes)).sum::<i64>() > MAX_LINES {
            return;
        }
        let Some(Some(step)) = self.advance(pointer, DEPTH) else { return };
        if self.queue_prefetch(address, pieces, &step) {
            return;
        }
        for (offset, bytes) in pieces {
            let next = self.t.add("i64", offset, &step);
            let at = self.t.offset(&address.place.base, &next);
            // To the second level: rows of a matrix often share the few places of the first.
            self.prefetch_lines(&at, *bytes, PrefetchHint::ReadL2);
        }
    }

    /// What one iteration of the innermost loop around barriers adds to a value, the same in all lanes:
    /// `Some(None)` is nothing, `None` unknown.
    fn advance(&mut self, value: Value, depth: u32) -> Option<Option<Opd>> {
        let function = self.facts.function;
        let anymetal_ir::ValueDef::Inst(inst) = function.values[value.index()].def else { return Some(None) };
        if !self.tile_loops.last()?.in_loop[inst.index()] {
            return Some(None);
        }
        if depth == 0 {
            return None;
        }
        match function.inst(inst).op.clone() {
            Op::Const(_) | Op::Query(_) => Some(None),
            Op::Load { ptr, .. } => {
                let size = i64::from(function.ty(value).size());
                let vars = self.facts.storage.vars_at(ptr, size)?;
                if vars.len() != 1 {
                    return None;
                }
                match self.tile_loops.last()?.vars.get(&vars.start).copied() {
                    None => Some(None),
                    Some(step) => self.step_operand(step?),
                }
            }
            Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => self.advance(a, depth - 1),
            Op::Binary(BinOp::Add, a, b) => {
                let (a, b) = (self.advance(a, depth - 1)?, self.advance(b, depth - 1)?);
                Some(self.sum_of_steps(a, b))
            }
            Op::Binary(BinOp::Mul, a, b) => {
                match (self.advance(a, depth - 1)?, self.advance(b, depth - 1)?) {
                    (None, None) => Some(None),
                    (Some(step), None) => self.times(&step, b).map(Some),
                    (None, Some(step)) => self.times(&step, a).map(Some),
                    (Some(_), Some(_)) => None,
                }
            }
            Op::PtrAdd { base, index, scale, .. } => {
                let base = self.advance(base, depth - 1)?;
                let index = match index {
                    Some(index) => self.advance(index, depth - 1)?,
                    None => None,
                };
                let index = index.map(|index| self.t.mul("i64", &index, &Opd::Int(i64::from(scale))));
                Some(self.sum_of_steps(base, index))
            }
            Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Select(..) => {
                let mut all = true;
                let mut operands = Vec::new();
                function.inst(inst).op.for_each_operand(|operand| operands.push(operand));
                for operand in operands {
                    all &= self.advance(operand, depth - 1)?.is_none();
                }
                all.then_some(None)
            }
            _ => None,
        }
    }

    fn sum_of_steps(&mut self, a: Option<Opd>, b: Option<Opd>) -> Option<Opd> {
        for step in a.iter().chain(&b) {
            self.t.expect(step, "i64");
        }
        match (a, b) {
            (Some(a), Some(b)) => Some(self.t.add("i64", &a, &b)),
            (a, b) => a.or(b),
        }
    }

    fn times(&mut self, step: &Opd, factor: Value) -> Option<Opd> {
        if !self.shape(factor, 0).is_uniform() {
            return None;
        }
        let factor = self.uniform_as_i64(factor)?;
        Some(self.t.mul("i64", step, &factor))
    }

    fn step_operand(&mut self, step: Step) -> Option<Option<Opd>> {
        let offset = (step.offset != 0).then_some(Opd::Int(step.offset));
        let Some(index) = step.index else { return Some(offset) };
        let index = self.known_step(index, DEPTH)?;
        let index = self.t.mul("i64", &index, &Opd::Int(step.scale));
        Some(self.sum_of_steps(Some(index), offset))
    }

    /// The operand of a step, which may come after the load: known to the whole threadgroup, or made of
    /// such.
    fn known_step(&mut self, value: Value, depth: u32) -> Option<Opd> {
        let function = self.facts.function;
        if let Some(bits) = function.as_const(value) {
            return Some(Opd::Int(bits as i64));
        }
        let anymetal_ir::ValueDef::Inst(inst) = function.values[value.index()].def else {
            // Only pointers are parameters, and a step is a number.
            return None;
        };
        let is_in_loop = self.tile_loops.last()?.in_loop[inst.index()];
        if !is_in_loop
            && self.plan.is_group_value(function, self.flow, value)
            && self.shape(value, 0).is_uniform()
        {
            return self.uniform_as_i64(value);
        }
        if depth == 0 {
            return None;
        }
        match function.inst(inst).op {
            Op::Cast(CastOp::ZExt | CastOp::SExt, a) => self.known_step(a, depth - 1),
            Op::Binary(op @ (BinOp::Add | BinOp::Mul), a, b) => {
                let (a, b) = (self.known_step(a, depth - 1)?, self.known_step(b, depth - 1)?);
                Some(if op == BinOp::Add { self.t.add("i64", &a, &b) } else { self.t.mul("i64", &a, &b) })
            }
            Op::Load { ptr, .. } => self.load_constant(ptr, value),
            _ => None,
        }
    }

    /// Loads a parameter again.
    fn load_constant(&mut self, pointer: Value, value: Value) -> Option<Opd> {
        let scalar = self.facts.function.ty(value).scalar().filter(|scalar| scalar.is_int())?;
        let Pointer { root: root @ Root::Argument(index), offset: Some(offset), .. } =
            self.facts.storage.pointer(pointer)
        else {
            // Its place is known only in the loop.
            return None;
        };
        if self.shared.kernel.args[index].space != Space::Constant || scalar == Scalar::Bool {
            return None;
        }
        let place = self.place(root);
        let start = Opd::Int(offset);
        let ok = self.in_bounds(&place, &start, i64::from(scalar.size()));
        let at = self.t.offset(&place.base, &start);
        let at = self.t.select("i1", &ok, "ptr", &at, &Opd::text("@am.zeros"));
        let ty = format!("i{}", scalar.bits());
        let one = self.t.value(format_args!("load {ty}, ptr {at}, align 1, !invariant.load !1"));
        Some(if scalar == Scalar::I64 { one } else { self.t.value(format_args!("sext {ty} {one} to i64")) })
    }

    fn uniform_as_i64(&mut self, value: Value) -> Option<Opd> {
        let scalar = self.facts.function.ty(value).scalar()?;
        let known = self.shape(value, 0).affine().is_some_and(|lanes| lanes.is_constant);
        let is_at_hand = known || self.values[value.index()].is_some() && self.is_here(value);
        if !scalar.is_int() || scalar == Scalar::Bool || !is_at_hand {
            return None;
        }
        let one = self.uniform(value, 0);
        Some(match (scalar, &one) {
            (Scalar::I64, _) | (_, Opd::Int(_)) => one,
            _ => self.t.value(format_args!("sext i{} {one} to i64", scalar.bits())),
        })
    }
}
