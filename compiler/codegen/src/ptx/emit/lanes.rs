//! The active lanes of the SIMD-group, as a mask that is kept through control flow.

use super::Emitter;
use crate::llvm_text::Opd;

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
                let variable = self.t.alloca("i32", 4);
                self.lanes.variable = Some(variable);
                self.set_active_lanes(&Opd::Int(-1));
            }
            return;
        };
        let variable = self.t.alloca("i32", 4);
        self.lanes.variable = Some(variable);
        let first = self.t.value(format_args!("and i32 {}, -32", self.grid.linear));
        let left = self.t.value(format_args!("sub i32 {threads}, {first}"));
        let is_full = self.t.value(format_args!("icmp uge i32 {left}, 32"));
        let amount = self.t.value(format_args!("and i32 {left}, 31"));
        let bit = self.t.value(format_args!("shl i32 1, {amount}"));
        let some = self.t.value(format_args!("sub i32 {bit}, 1"));
        let mask = self.t.value(format_args!("select i1 {is_full}, i32 -1, i32 {some}"));
        self.set_active_lanes(&mask);
    }

    /// The lanes that execute this together.
    pub(super) fn active_lanes(&mut self) -> Opd {
        match self.lanes.variable.clone() {
            Some(variable) => self.t.load("i32", &variable, 4),
            None => Opd::Int(-1),
        }
    }

    pub(super) fn set_active_lanes(&mut self, mask: &Opd) {
        assert!(
            self.lanes.variable.is_some() || !self.lanes.is_tracked,
            "lanes that are tracked have a variable"
        );
        if let Some(variable) = self.lanes.variable.clone() {
            self.t.store("i32", mask, &variable, 4);
        }
    }

    /// The lanes of `mask` for which the `i1` holds; all of them that have not returned must execute it.
    pub(super) fn ballot(&mut self, mask: &Opd, condition: &Opd) -> Opd {
        self.t.expect(mask, "i32");
        self.t.expect(condition, "i1");
        self.call("i32", "llvm.nvvm.vote.ballot.sync", &[("i32", mask), ("i1", condition)])
    }
}
