//! Guard versioning: code after the bounds checks of several stencil rows.
//!
//! Checked one by one, each row ends in a branch and a merge with its slow path; LLVM then sinks the
//! arithmetic below the last row and spills all rows until there. So one guard precedes the first row, and
//! the code after it has two versions: with all lanes active and no checks between the rows, and the
//! general one.
//!
//! Invariant: [`Emitter::versioned_rows`] holds the first loads of rows whose checks dominate the position.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::Inst;
use anymetal_opt::{Feature, RemarkId};

use super::control::Context;
use super::{Emitter, Mask};
use crate::llvm::MASK;
use anymetal_simd::limits::MAX_COPY;

impl Emitter<'_, '_> {
    /// Emits the instructions twice, if they begin with a stencil row; `false` if nothing was emitted.
    pub(super) fn version_rest(&mut self, rest: &[Inst]) -> bool {
        let plan = self.plan;
        let Some(row_set) = rest.first().and_then(|&first| plan.stencil_rows.rows_checked_with(first)) else {
            // No stencil row begins here.
            return false;
        };
        // What a block of an arm or a region defines is used in it alone.
        let is_closed = self.position.contexts.iter().all(|context| matches!(context, Context::Arm { .. }));
        let may_version = self.position.may_version_guards && self.has(Feature::GuardVersioning);
        if !may_version || !is_closed || self.size(rest) > MAX_COPY {
            return false;
        }
        let (ok, open) = self.check_stencil_rows(row_set);
        assert!(
            self.rows.versioned_rows.is_empty() && self.rows.clamped_rows.is_empty(),
            "guard versioning does not nest"
        );
        self.remark(rest[0], RemarkId::GuardVersioned, |_, remark| remark.with("rows", open.len() as i64));
        let before = self.position.mask.clone();
        let slot = self.t.alloca(MASK, 4);
        let (in_bounds, edge, done) = (self.t.block(), self.t.block(), self.t.block());
        self.position.may_version_guards = false;
        self.t.branch_likely(&ok, in_bounds, edge);
        let mut changed = self.arm_to(in_bounds, &Mask::All, &slot, done, |this| {
            this.rows.versioned_rows = open.clone();
            this.instructions(rest);
            this.rows.versioned_rows = BTreeSet::new();
        });
        self.t.label(edge);
        self.position.mask = before.clone();
        let otherwise = self.t.block();
        // The other way has computed these for itself.
        self.compute_ahead(&row_set.ahead);
        if let Some((ok, clamped)) = self.check_clamped_rows(&open) {
            let near = self.t.block();
            self.t.branch_likely(&ok, near, otherwise);
            changed |= self.arm_to(near, &before, &slot, done, |this| {
                this.rows.clamped_rows = clamped;
                this.instructions(rest);
                this.rows.clamped_rows = BTreeMap::new();
            });
        } else {
            self.t.branch(otherwise);
        }
        changed |= self.arm_to(otherwise, &before, &slot, done, |this| this.instructions(rest));
        self.position.may_version_guards = true;
        self.t.label(done);
        self.position.mask = if changed { Mask::Some(self.t.load(MASK, &slot, 4)) } else { before };
        true
    }
}
