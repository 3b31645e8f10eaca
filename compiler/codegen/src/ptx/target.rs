//! What target-specific passes may know of the GPU.

use anymetal_ir::{Function, Value};
use anymetal_opt::TargetInfo;

use super::PtxOptions;
use crate::cpu::shape::queries::Geometry;
use crate::cpu::shape::range::upper_bound;

/// A kernel's code for the GPU.
#[derive(Debug)]
pub(super) struct PtxTarget {
    whole: Option<[u32; 3]>,
}

impl PtxTarget {
    pub(super) fn new(options: &PtxOptions) -> Self {
        Self { whole: options.group_size.filter(|_| options.whole_threadgroups_only) }
    }

    /// What is known of the threadgroups.
    pub(super) fn geometry(&self) -> Geometry {
        self.whole.map_or(Geometry::Any, Geometry::Full)
    }
}

impl TargetInfo for PtxTarget {
    fn upper_bound(&self, function: &Function, value: Value) -> u64 {
        upper_bound(function, self.geometry(), value)
    }

    fn group_size(&self) -> Option<[u32; 3]> {
        self.whole
    }
}
