//! Which lane holds which elements of 8×8 matrices.
//!
//! Metal's layout is seen by programs that look at `thread_elements`. Where none does, matrices are kept as
//! the tensor cores want them, and a product moves nothing between lanes but the transposition of B.

use anymetal_analysis::IncomingValues;
use anymetal_ir::{Function, Inst, Local, MatrixOp, Op, Type, Value};

use anymetal_analysis::divergence::Divergence;
use anymetal_analysis::roots::{Pointer, Root};

/// Who holds what; each lane has two elements side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MatrixLayout {
    /// As [`anymetal_ir::MatrixOp`] says.
    Metal,
    /// Lane `l` holds `(l / 4, l % 4 * 2)` and the element after it, as the accumulators of `mma`.
    Hardware,
}

impl MatrixLayout {
    /// The layout of a function's matrices; `order`: its instructions.
    pub(super) fn of(
        function: &Function,
        order: &[Inst],
        pointers: &[Pointer],
        divergence: &Divergence,
    ) -> Self {
        let incoming = IncomingValues::of(function);
        let values = vec![false; function.values.len()];
        let locals = vec![false; function.locals.len()];
        let mut solver = Solver { function, pointers, divergence, values, locals, changed: true };
        while std::mem::take(&mut solver.changed) {
            order.iter().for_each(|&inst| solver.spread(inst));
            incoming.definitions(function).for_each(|(value, _)| solver.tie_carried(value, &incoming));
        }
        if order.iter().all(|&inst| solver.keeps_elements(inst)) { Self::Hardware } else { Self::Metal }
    }
}

/// Finds the values and locals that are fragments of matrices.
struct Solver<'a> {
    function: &'a Function,
    pointers: &'a [Pointer],
    divergence: &'a Divergence,
    values: Vec<bool>,
    locals: Vec<bool>,
    changed: bool,
}

impl Solver<'_> {
    /// What an instruction does to all elements alike, so that its operands are fragments if its result is.
    fn is_elementwise(op: &Op) -> bool {
        matches!(
            op,
            Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Select(..) | Op::Cast(..) | Op::Math(..)
        )
    }

    fn is_pair(&self, value: Value) -> bool {
        self.function.ty(value).lanes() == 2
    }

    fn local(&self, pointer: Value) -> Option<Local> {
        match self.pointers[pointer.index()].root {
            Root::Local(local) => Some(local),
            _ => None,
        }
    }

    fn note(&mut self, value: Value) {
        self.changed |= !std::mem::replace(&mut self.values[value.index()], true);
    }

    fn note_local(&mut self, local: Local) {
        self.changed |= !std::mem::replace(&mut self.locals[local.index()], true);
    }

    /// A value and what it is kept in are fragments together.
    fn tie(&mut self, value: Value, pointer: Value) {
        let Some(local) = self.local(pointer) else { return };
        if self.values[value.index()] {
            self.note_local(local);
        } else if self.locals[local.index()] {
            self.note(value);
        }
    }

    /// A parameter or result and what is passed to it are fragments together.
    fn tie_carried(&mut self, value: Value, incoming: &IncomingValues) {
        let mut together = vec![value];
        incoming.each_source(self.function, value, |source| together.push(source));
        if together.iter().any(|value| self.values[value.index()]) {
            together.into_iter().for_each(|value| self.note(value));
        }
    }

    fn spread(&mut self, inst: Inst) {
        let data = self.function.inst(inst);
        match &data.op {
            Op::Matrix(_, operands) => {
                let fragments = operands.iter().copied().chain(data.result);
                let fragments: Vec<Value> = fragments.filter(|&value| self.is_pair(value)).collect();
                fragments.into_iter().for_each(|value| self.note(value));
            }
            Op::Load { ptr, .. } => data.result.iter().for_each(|&result| self.tie(result, *ptr)),
            Op::Store { ptr, value, .. } => self.tie(*value, *ptr),
            Op::MemCopy { dst, src, .. } => {
                if let (Some(to), Some(from)) = (self.local(*dst), self.local(*src))
                    && (self.locals[to.index()] || self.locals[from.index()])
                {
                    self.note_local(to);
                    self.note_local(from);
                }
            }
            op if Self::is_elementwise(op) => {
                let mut fragments: Vec<Value> = data.result.into_iter().collect();
                op.for_each_operand(|operand| fragments.push(operand));
                fragments.retain(|&value| self.is_pair(value));
                if fragments.iter().any(|value| self.values[value.index()]) {
                    fragments.into_iter().for_each(|value| self.note(value));
                }
            }
            _ => {}
        }
    }

    /// Whether the instruction does not tell one element of a matrix from another.
    fn keeps_elements(&self, inst: Inst) -> bool {
        let data = self.function.inst(inst);
        let is_fragment = |value: Value| self.values[value.index()];
        let mut touches = data.result.is_some_and(is_fragment);
        let mut leads_there = false;
        data.op.for_each_operand(|operand| {
            touches |= is_fragment(operand);
            leads_there |= self.function.ty(operand).is_ptr()
                && self.local(operand).is_some_and(|local| self.locals[local.index()]);
        });
        match &data.op {
            // Whole fragments, into and out of locals of fragments only.
            Op::Load { ptr, .. } => {
                let whole = data.result.is_some_and(|result| self.is_pair(result));
                if leads_there { whole } else { !touches || self.local(*ptr).is_some() }
            }
            Op::Store { ptr, value, .. } => {
                if leads_there {
                    self.is_pair(*value)
                } else {
                    !touches || self.local(*ptr).is_some()
                }
            }
            Op::MemCopy { dst, src, .. } => {
                !leads_there || (self.local(*dst).is_some() && self.local(*src).is_some())
            }
            Op::LocalStart(_) | Op::MemZero { .. } | Op::PtrAdd { .. } => true,
            // What they pass on is a fragment as a whole.
            Op::Loop { .. } | Op::Break(..) | Op::Continue(..) | Op::Yield(_) => true,
            Op::Matrix(MatrixOp::Load { .. } | MatrixOp::Store { .. }, operands) => {
                // A matrix in a variable of the thread would be another one in each lane.
                !leads_there && self.function.ty(operands[0]) != Type::Ptr(anymetal_ir::Space::Thread)
            }
            Op::Matrix(MatrixOp::MultiplyAccumulate, _) | Op::Const(_) | Op::Undef => true,
            Op::Splat(scalar) => !touches || self.divergence.is_uniform(*scalar),
            op if Self::is_elementwise(op) => !leads_there && self.has_uniform_scalars(op, touches),
            _ => !touches && !leads_there,
        }
    }

    /// The condition of a selection between fragments is the same in all lanes.
    fn has_uniform_scalars(&self, op: &Op, touches: bool) -> bool {
        match op {
            Op::Select(cond, ..) if touches && !self.is_pair(*cond) => self.divergence.is_uniform(*cond),
            _ => true,
        }
    }
}
