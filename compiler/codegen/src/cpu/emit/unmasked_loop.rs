//! Mask-free copies of loops for the iterations in which all lanes are active.
//!
//! `for (i = thread; i < n; i += threads)` keeps all lanes except in its last iteration. The copy runs
//! without masks while a scalar test shows that the last lane stays too; then the masked loop continues.
//! Both use the same promoted variables, so no state is copied.

use anymetal_analysis::{exit_test, jumps_out};
use anymetal_ir::{Block, Inst, Label, Op, Value};
use anymetal_opt::Feature;

use super::control::Context;
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{BlockName, Bound};
use crate::limits::cpu::MAX_LOOP_COPY;

impl Emitter<'_, '_> {
    /// Writes the copy, which continues at `masked` with the lanes that are left, or at `exit`; `false` if
    /// there is none.
    pub(super) fn loop_while_all_stay(
        &mut self,
        inst: Inst,
        (label, body, continuing): (Label, Block, Block),
        (masked, exit): (BlockName, BlockName),
    ) -> bool {
        let function = self.plan.facts.function;
        let construct = self.plan.divergence.construct(inst);
        let is_on = self.has(Feature::UnmaskedLoop);
        if !is_on || self.mask != Mask::All || !construct.lanes_leave || construct.is_crossed {
            return false;
        }
        let Some(test) = exit_test(function, inst) else {
            // The loop has no test at its top.
            return false;
        };
        let insts = function.block(body);
        let at = insts.iter().position(|&inst| inst == test.inst).expect("the exit test is in the body");
        let (top, rest) = (&insts[..at], &insts[at + 1..]);
        // What precedes the test may run twice.
        let is_repeatable = |inst: &Inst| {
            let op = &function.inst(*inst).op;
            matches!(op, Op::Load { .. }) || op.only_computes()
        };
        if !top.iter().all(is_repeatable) {
            return false;
        }
        let size = self.size(rest) + self.size(function.block(continuing));
        if size > MAX_LOOP_COPY
            || jumps_out(function, rest)
            || jumps_out(function, function.block(continuing))
        {
            return false;
        }
        let (cond, stays_if) = (test.cond, !test.leaves_when);
        if !self.has_lane_tests(cond) {
            return false;
        }
        let (head, go, left) = (self.t.block(), self.t.block(), self.t.block());
        self.t.loop_header(head, self.loops.polls.of_loop(inst).trips().map(Bound::Trips));
        self.contexts.push(Context::Construct {
            inst,
            label,
            exit,
            continuing: None,
            exit_slot: None,
            continue_slot: None,
        });
        let outer = self.bail.replace(masked);
        for &inst in top {
            // The test's vector would only stand in the way.
            if function.inst(inst).result != Some(cond) || self.uses(cond) > 1 {
                self.instructions(&[inst]);
            }
        }
        let (any, all) = self.lane_tests(cond).expect("the condition has tests of lanes");
        let (some_stay, all_stay) = match stays_if {
            true => (any, all),
            false => (self.negated(&all), self.negated(&any)),
        };
        self.t.branch_likely(&all_stay, go, left);
        self.t.label(left);
        self.t.branch_if(&some_stay, masked, exit);
        self.t.label(go);
        self.aside(|this| this.instructions(rest));
        self.block(continuing);
        self.end_iteration(inst);
        self.t.branch(head);
        self.bail = outer;
        let left = self.contexts.pop();
        assert!(
            matches!(left, Some(Context::Construct { exit: left, .. }) if left == exit),
            "constructs nest"
        );
        true
    }

    fn uses(&self, value: Value) -> usize {
        let mut uses = 0;
        for inst in &self.plan.facts.function.insts {
            inst.op.for_each_operand(|operand| uses += usize::from(operand == value));
        }
        uses
    }
}
