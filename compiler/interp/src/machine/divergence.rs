//! What observers are told of lanes: operations of a SIMD-group under divergence, indices outside of vectors,
//! fences. None of it changes what is executed.

use anymetal_ir::SimdOp;

use super::{Environment, Machine, simd};
use crate::lanes::lanes_in;
use crate::observer::{DivergentSimd, FenceExecuted, LanesExit, VectorIndex};
use crate::program::step::{Pc, Slot, Step};

impl Machine {
    /// Tells of a step that is about to be executed, if it is of interest.
    pub(super) fn tell_lanes(&self, env: &mut Environment<'_, '_>, pc: Pc, step: &Step) {
        match *step {
            Step::Simd { op, args, .. } => {
                let elsewhere = self.elsewhere();
                if self.active == u32::MAX || matches!(op, SimdOp::ActiveMask | SimdOp::IsFirst) {
                    return;
                }
                let args = args.map(|arg| &self.registers[arg.index()]);
                let undefined = simd::lanes_without_source(op, self.active, args);
                self.tell_divergent(env, pc, elsewhere, undefined, false);
            }
            Step::MatrixLoad { .. } | Step::MatrixStore { .. } | Step::MatrixMultiply { .. }
                if self.active != u32::MAX =>
            {
                self.tell_divergent(env, pc, !self.active, 0, true);
            }
            Step::Leave { frame, .. } => {
                self.tell_exit(env, pc, self.is_body(self.frames.len() - 1 - frame as usize));
            }
            Step::Pick { index, from, .. } => self.tell_index(env, pc, index, from.len),
            Step::Replace { index, count, position: 0, .. } => {
                self.tell_index(env, pc, index, u32::from(count))
            }
            _ => {}
        }
    }

    fn tell_divergent(
        &self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        elsewhere: u32,
        undefined: u32,
        matrix: bool,
    ) {
        if elsewhere == 0 && undefined == 0 {
            return;
        }
        let first = if undefined != 0 { undefined } else { self.active };
        let thread = env.thread(self.simdgroup, first.trailing_zeros());
        let loc = env.program.locs[pc as usize];
        let active = self.active;
        env.observer.on_divergent_simd(&DivergentSimd { thread, matrix, active, elsewhere, undefined, loc });
    }

    /// The active lanes leave a construct; they return if that is the kernel.
    pub(super) fn tell_exit(&self, env: &mut Environment<'_, '_>, pc: Pc, is_kernel: bool) {
        if is_kernel && self.active != 0 {
            let thread = env.thread(self.simdgroup, self.active.trailing_zeros());
            let loc = env.program.locs[pc as usize];
            env.observer.on_exit(&LanesExit { thread, lanes: self.active, loc });
        }
    }

    fn tell_index(&self, env: &mut Environment<'_, '_>, pc: Pc, index: Slot, count: u32) {
        for lane in lanes_in(self.active) {
            let index = self.registers[index.index()][lane];
            if index >= u64::from(count) {
                let thread = env.thread(self.simdgroup, lane as u32);
                let loc = env.program.locs[pc as usize];
                env.observer.on_vector_index(&VectorIndex { thread, index, count, loc });
            }
        }
    }

    pub(super) fn fence(&self, env: &mut Environment<'_, '_>, pc: Pc, operands: [Slot; 3]) {
        let lane = self.active.trailing_zeros();
        let [memory, order, scope] =
            operands.map(|operand| self.registers[operand.index()][lane as usize & 31] as u32);
        let (thread, lanes) = (env.thread(self.simdgroup, lane), self.active);
        let loc = env.program.locs[pc as usize];
        env.observer.on_fence(&FenceExecuted { thread, lanes, memory, order, scope, loc });
    }
}
