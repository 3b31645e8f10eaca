//! Control flow of a SIMD-group: masks.
//!
//! `active` holds the lanes that execute. Every open construct has a [`Frame`] with two sets of lanes: those
//! that wait at its end (`exit`) and those whose turn comes within it (`pending`):
//!
//! | frame  | `exit`                     | `pending`                        |
//! |--------|----------------------------|----------------------------------|
//! | if     | done with `then`           | to run `otherwise`               |
//! | loop   | broke                      | continued, wait for `continuing` |
//! | switch | done with a case, or broke | matched no case yet              |
//! | scope  | broke                      |                                  |
//! | call   | returned                   |                                  |
//!
//! So a lane is active, or in exactly one set of one frame, or has never existed. When a step leaves no lane
//! active it jumps to its region's end marker, which brings lanes back or jumps on.

use anymetal_ir::BarrierScope;

use super::{Environment, Machine};
use crate::lanes::mask_of;
use crate::observer::{BarrierArrival, EarlyReturn};
use crate::program::Program;
use crate::program::step::{Pc, Slot, SlotRange, Step};
use crate::report::PartialBarrier;

/// An open construct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    exit: u32,
    pending: u32,
    /// Where a call returns to; of the scope that is the kernel: where it begins; 0 for other constructs.
    resume: Pc,
}

impl Frame {
    fn new(pending: u32) -> Self {
        Self { exit: 0, pending, resume: 0 }
    }

    pub(super) fn call(resume: Pc) -> Self {
        Self { exit: 0, pending: 0, resume }
    }
}

impl Machine {
    fn top(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("lowering balances frames")
    }

    /// Jumps if no lane is active.
    fn skip_if_idle(&mut self, to: Pc) {
        if self.active == 0 {
            self.pc = to;
        }
    }

    /// Executes a control step; false if the step is none.
    pub(super) fn control(&mut self, program: &Program, step: &Step) -> bool {
        match *step {
            Step::If { cond, otherwise } => {
                let taken = mask_of(&self.registers[cond.index()]) & self.active;
                self.frames.push(Frame::new(self.active & !taken));
                self.active = taken;
                self.skip_if_idle(otherwise);
            }
            Step::Loop => self.frames.push(Frame::new(0)),
            Step::Scope => {
                let at = self.pc - 1;
                let is_body = program.body_scope == Some(at);
                self.frames.push(if is_body { Frame::call(at) } else { Frame::new(0) });
            }
            Step::Switch => {
                let frame = Frame::new(self.active);
                self.frames.push(frame);
                self.active = 0;
            }
            Step::Case { selector, values, next } => {
                let matching = self.matching(program, selector.index(), values);
                let frame = self.top();
                let taken = frame.pending & matching;
                frame.pending &= !taken;
                self.active = taken;
                self.skip_if_idle(next);
            }
            Step::Else { end } | Step::Default { end } => {
                let active = self.active;
                let frame = self.top();
                frame.exit |= active;
                self.active = std::mem::take(&mut frame.pending);
                self.skip_if_idle(end);
            }
            Step::EndCase => {
                let active = std::mem::take(&mut self.active);
                self.top().exit |= active;
            }
            Step::Continuing { end } => {
                let continued = std::mem::take(&mut self.top().pending);
                self.active |= continued;
                self.skip_if_idle(end);
            }
            Step::EndIf { skip }
            | Step::EndLoop { skip }
            | Step::EndSwitch { skip }
            | Step::EndScope { skip } => {
                let frame = self.frames.pop().expect("lowering balances frames");
                if self.frames.len() == 1 && frame.resume != 0 {
                    self.left |= frame.exit;
                }
                self.active |= frame.exit | frame.pending;
                self.skip_if_idle(skip);
            }
            Step::Leave { frame, skip } => {
                let index = self.frames.len() - 1 - frame as usize;
                self.frames[index].exit |= std::mem::take(&mut self.active);
                self.pc = skip;
            }
            Step::Continue { frame, skip } => {
                let index = self.frames.len() - 1 - frame as usize;
                self.frames[index].pending |= std::mem::take(&mut self.active);
                self.pc = skip;
            }
            _ => return false,
        }
        true
    }

    fn matching(&self, program: &Program, selector: usize, values: SlotRange) -> u32 {
        let values = &program.case_values[values.indices()];
        let mut matching = 0;
        for (lane, selector) in self.registers[selector].iter().enumerate() {
            matching |= u32::from(values.contains(selector)) << lane;
        }
        matching
    }

    pub(super) fn call(&mut self, entry: Pc) {
        let frame = Frame::call(self.pc);
        self.frames.push(frame);
        self.pc = entry;
    }

    /// Returns to the caller; true if there is none.
    pub(super) fn end_function(&mut self) -> bool {
        let frame = self.frames.pop().expect("lowering balances frames");
        if self.frames.len() <= 1 {
            self.left |= frame.exit;
        }
        self.active |= frame.exit;
        self.pc = frame.resume;
        self.frames.is_empty()
    }

    /// The active lanes arrive at a barrier; returns the first of them.
    pub(super) fn arrive(
        &self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        scope: BarrierScope,
        flags: Option<Slot>,
    ) -> u32 {
        let lane = self.active.trailing_zeros();
        let loc = env.program.locs[pc as usize];
        let thread = env.thread(self.simdgroup, lane);
        let memory = flags.map(|flags| self.registers[flags.index()][lane as usize & 31] as u32);
        env.observer.on_barrier(&BarrierArrival { scope, thread, arrived: self.active, memory, loc });
        let returned = self.returned();
        let missing = self.elsewhere();
        if scope != BarrierScope::Simdgroup && missing != 0 {
            env.partial_barrier(PartialBarrier { loc, thread, arrived: self.active, missing });
        }
        // It has no effect here; on devices the others are waited for.
        if scope == BarrierScope::Simdgroup && missing != 0 {
            env.observer.on_partial_barrier(&PartialBarrier { loc, thread, arrived: self.active, missing });
        }
        if scope != BarrierScope::Simdgroup && returned != 0 {
            let returned = env.thread(self.simdgroup, returned.trailing_zeros());
            env.observer.on_early_return(&EarlyReturn { loc, waiting: thread, returned });
        }
        lane
    }

    /// The lanes that have returned from the kernel, or from the function or scope that it consists of.
    pub(super) fn returned(&self) -> u32 {
        let of_body = if self.is_body(1) { self.frames[1].exit } else { 0 };
        self.frames[0].exit | of_body
    }

    /// Whether to leave the frame of that number is to return from the kernel.
    pub(super) fn is_body(&self, frame: usize) -> bool {
        frame == 0 || frame == 1 && self.frames.get(1).is_some_and(|frame| frame.resume != 0)
    }

    /// The lanes that have not returned and are not active.
    pub(super) fn elsewhere(&self) -> u32 {
        self.existing & !self.returned() & !self.active
    }
}
