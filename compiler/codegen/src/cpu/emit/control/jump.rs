//! Jumps: masks of lanes that wait for a target, and exits from the kernel.

use anymetal_abi::offsets::LAUNCH_STOP;
use anymetal_ir::{Label, Op};

use super::Context;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{BlockName, IntPredicate, MASK, MemFlags, Opd, PTR};

impl Emitter<'_, '_> {
    /// Adds the lanes of `mask` to a slot.
    pub(super) fn collect(&mut self, slot: &Opd, mask: &Mask) {
        self.t.expect(slot, PTR);
        self.t.expect(&mask.operand(), MASK);
        let old = self.t.load(MASK, slot, 4);
        let new = self.t.or(&old, &mask.operand());
        self.t.store(&new, slot, 4);
    }

    /// Where the nearest lanes wait on the way to a target (`None`: to the end of the region).
    /// Returns the index of the target's context too.
    pub(super) fn waiting_point(
        &self,
        target: Option<Label>,
        is_continue: bool,
    ) -> (BlockName, Option<usize>) {
        let mut wait: Option<BlockName> = None;
        for (index, context) in self.position.contexts.iter().enumerate().rev() {
            match context {
                Context::Arm { end } => wait = wait.or(Some(*end)),
                Context::Construct { inst, label, exit, continuing, .. } => {
                    let construct = self.plan.divergence.construct(*inst);
                    let body_waits = continuing.filter(|_| construct.continue_waits);
                    if Some(*label) == target {
                        let destination = match continuing {
                            Some(continuing) if is_continue => *continuing,
                            _ => body_waits.unwrap_or(*exit),
                        };
                        return (wait.unwrap_or(destination), Some(index));
                    }
                    wait = wait.or(body_waits);
                    if construct.break_waits {
                        wait = wait.or(Some(*exit));
                    }
                }
            }
        }
        assert!(target.is_none(), "the label of a jump belongs to an enclosing construct");
        (wait.unwrap_or(self.position.exit), None)
    }

    /// Notes the lanes that jump, where anyone wants to know.
    pub(super) fn record_jump(&mut self, target: Option<usize>, is_continue: bool, mask: &Mask) {
        let Some(index) = target else {
            // A return: lanes that leave the region are not collected.
            return;
        };
        let Context::Construct { exit_slot, continue_slot, .. } = &self.position.contexts[index] else {
            unreachable!("a jump leads to a construct with a label")
        };
        let slot = if is_continue { continue_slot.clone() } else { exit_slot.clone() };
        if let Some(slot) = slot {
            self.collect(&slot, mask);
        }
    }

    /// All active lanes jump.
    pub(super) fn jump(&mut self, target: Option<Label>, is_continue: bool) {
        let (destination, context) = self.waiting_point(target, is_continue);
        let mask = self.position.mask.clone();
        self.record_jump(context, is_continue, &mask);
        self.t.branch(destination);
    }

    /// Goes on only if lanes are left.
    pub(in crate::cpu::emit) fn leave_if_none(&mut self) {
        let mask = self.position.mask.clone();
        let any = self.any(&mask);
        let (destination, _) = self.waiting_point(None, false);
        let go = self.t.block();
        self.t.branch_if(&any, go, destination);
        self.t.label(go);
    }

    /// Leaves the kernel soon after the device asks.
    pub(in crate::cpu::emit) fn poll(&mut self) {
        let stop = self.stop_flag();
        let go_on = self.t.icmp(IntPredicate::Eq, &stop, 0);
        let go = self.t.block();
        let exit = self.position.exit;
        self.t.branch_likely(&go_on, go, exit);
        self.t.label(go);
    }

    /// What the device sets when it wants kernels to stop.
    pub(in crate::cpu::emit) fn stop_flag(&mut self) -> Opd {
        let slot = self.stop_pointer();
        self.t.load_stop_flag(&slot)
    }

    pub(in crate::cpu::emit) fn stop_pointer(&mut self) -> Opd {
        if let Some(slot) = &self.registers.stop {
            return slot.clone();
        }
        let launch = self.group.launch.clone();
        let field = self.t.in_entry(|t| t.field(&launch, LAUNCH_STOP));
        let slot = self.t.in_entry(|t| t.load(PTR, &field, MemFlags::with(8, ", !invariant.load !1")));
        self.registers.stop = Some(slot.clone());
        slot
    }
}

pub(super) fn jump_of(op: &Op) -> Option<(Option<Label>, bool)> {
    match op {
        Op::Break(label, _) => Some((Some(*label), false)),
        Op::Continue(label, _) => Some((Some(*label), true)),
        Op::Return(_) => Some((None, false)),
        _ => None,
    }
}
