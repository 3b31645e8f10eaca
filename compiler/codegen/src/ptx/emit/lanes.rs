//! The active lanes of the SIMD-group, as a mask that is kept through control flow.

use super::Emitter;
use crate::llvm::{I1, I32, IntPredicate, Opd};

/// How the mask is kept.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// The variable; none if all lanes are always active.
    variable: Option<Opd>,
    /// The mask changes in constructs whose condition varies.
    is_tracked: bool,
}

impl Lanes {
    /// Whether the active lanes are the first ones everywhere: those that exist.
    pub(super) fn are_first_lanes(&self) -> bool {
        !self.is_tracked
    }
}

impl Emitter<'_> {
    /// Sets the mask to the lanes that exist, at the start of the kernel.
    pub(super) fn start_lanes(&mut self, threads: Option<&Opd>) {
        if !self.facts.convergence.is_needed() {
            return;
        }
        let is_tracked = self.input.order.iter().any(|&inst| self.facts.convergence.is_tracked(inst));
        self.lanes.is_tracked = is_tracked;
        let Some(threads) = threads else {
            if is_tracked {
                let variable = self.t.alloca(I32, 4);
                self.lanes.variable = Some(variable);
                self.set_active_lanes(&Opd::i32(-1));
            }
            return;
        };
        let variable = self.t.alloca(I32, 4);
        self.lanes.variable = Some(variable);
        let first = self.t.and(&self.grid.linear, -32);
        let left = self.t.sub(threads, &first);
        let is_full = self.t.icmp(IntPredicate::UGe, &left, 32);
        let amount = self.t.and(&left, 31);
        let bit = self.t.shl(&Opd::int(I32, 1), &amount);
        let some = self.t.sub(&bit, 1);
        let mask = self.t.select(&is_full, &Opd::int(I32, -1), &some);
        self.set_active_lanes(&mask);
    }

    /// The lanes that execute this together.
    pub(super) fn active_lanes(&mut self) -> Opd {
        match self.lanes.variable.clone() {
            Some(variable) => self.t.load(I32, &variable, 4),
            None => Opd::i32(-1),
        }
    }

    pub(super) fn set_active_lanes(&mut self, mask: &Opd) {
        assert!(
            self.lanes.variable.is_some() || !self.lanes.is_tracked,
            "lanes that are tracked have a variable"
        );
        if let Some(variable) = self.lanes.variable.clone() {
            self.t.store(mask, &variable, 4);
        }
    }

    /// The lanes of `mask` for which the `i1` holds; all of them that have not returned must execute it.
    pub(super) fn ballot(&mut self, mask: &Opd, condition: &Opd) -> Opd {
        self.t.expect(mask, I32);
        self.t.expect(condition, I1);
        self.t.call_declared(I32, "llvm.nvvm.vote.ballot.sync", &[mask, condition])
    }
}
