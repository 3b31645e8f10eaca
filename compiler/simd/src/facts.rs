//! The analyses of a kernel's function that its emission uses, for one geometry.

use std::ops::Range;

use anymetal_analysis::CountedLoops;
use anymetal_analysis::divergence::{
    Divergence, DivergenceContext, Geometry, PointerForm, PrivateAccess, VariableType,
};
use anymetal_ir::{Block, Function, Inst, Value};

use crate::bundles::Bundles;
use crate::group_level::GroupLevel;
use crate::liveness::Liveness;
use crate::storage::{PromotedType, Root, Storage};

/// The analyses that do not depend on the shapes of values.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The kernel's function, whose loops have variables.
    pub function: &'a Function,
    /// Its loops, when they had parameters.
    pub loops: &'a CountedLoops<'a>,
    /// Its storage.
    pub storage: &'a Storage,
    /// Its liveness.
    pub liveness: &'a Liveness,
    /// Its group-level constructs.
    pub group_level: &'a GroupLevel,
    /// Its loads that belong together.
    pub bundles: &'a Bundles,
    /// What is known of the threadgroup.
    pub geometry: Geometry,
}

impl Facts<'_> {
    /// The shapes of the function's values and promoted variables.
    pub fn divergence(&self) -> Divergence {
        Divergence::of(self.function, self.geometry, self)
    }
}

/// Promoted variables are the context's variables; arrays are not followed.
impl DivergenceContext for Facts<'_> {
    fn pointer_form(&self, _function: &Function, pointer: Value) -> PointerForm {
        self.storage.pointer(pointer).root.form()
    }

    fn private_access(&self, _function: &Function, pointer: Value, bytes: i64) -> PrivateAccess {
        self.storage.vars_at(pointer, bytes).map_or(PrivateAccess::Untracked, PrivateAccess::Variables)
    }

    fn variables(&self) -> usize {
        self.storage.vars.len()
    }

    fn variable_type(&self, variable: usize) -> VariableType {
        match self.storage.vars[variable].ty {
            PromotedType::Scalar(scalar) => VariableType::Scalar(scalar),
            PromotedType::Pointer(root, _) => VariableType::Pointer(root.form()),
        }
    }

    fn copied_variable(&self, to: usize, dst: Value, src: Value, bytes: i64) -> Option<usize> {
        let (storage, from) = (self.storage, self.storage.pointer(src));
        let (Root::Local(local), Some(_)) = (from.root, storage.vars_at(src, bytes)) else {
            // From an array, or memory that threads share.
            return None;
        };
        let of = |pointer: Value| {
            storage.pointer(pointer).offset.expect("promoted variables are at known offsets")
        };
        let to = storage.vars[to];
        let mut same: Range<usize> = storage.vars_in(local, of(src) + to.offset - of(dst), to.size);
        same.next()
    }

    fn is_live_at_entry(&self, block: Block, variable: usize) -> bool {
        self.liveness.at_entry(block).contains(variable)
    }

    fn is_live_after(&self, inst: Inst, variable: usize) -> bool {
        self.liveness.after(inst).contains(variable)
    }

    fn runs_per_threadgroup(&self, construct: Inst) -> bool {
        self.group_level.contains(construct)
    }
}
