//! Mask-free copies of loops for the iterations in which all lanes are active.
//!
//! `for (i = thread; i < n; i += threads)` keeps all lanes except in its last iteration. The copy runs
//! without masks while a scalar test shows that the last lane stays too; then the masked loop continues.
//! Both use the same promoted variables, so no state is copied.

use anymetal_ir::{Block, Inst, Label, Value};
use anymetal_simd::constructs::LoopForm;

use super::control::Context;
use super::{Emitter, Mask};
use crate::llvm::{BlockName, Bound};

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
        let LoopForm::Masked { unmasked: Some(test) } = self.plan.constructs.of_loop(inst) else {
            return false;
        };
        if self.position.mask != Mask::All {
            return false;
        }
        let insts = function.block(body);
        let at = insts.iter().position(|&inst| inst == test.inst).expect("the exit test is in the body");
        let (top, rest) = (&insts[..at], &insts[at + 1..]);
        let (cond, stays_if) = (test.cond, !test.leaves_when);
        let (head, go, left) = (self.t.block(), self.t.block(), self.t.block());
        self.t.loop_header(head, self.plan.polls.of_loop(inst).trips().map(Bound::Trips));
        self.position.contexts.push(Context::Construct {
            inst,
            label,
            exit,
            continuing: None,
            exit_slot: None,
            continue_slot: None,
        });
        let outer = self.position.bail.replace(masked);
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
        self.position.bail = outer;
        let left = self.position.contexts.pop();
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
