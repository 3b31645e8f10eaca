//! What goes into code generation for NVIDIA GPUs and what comes out. Plain data.

use anymetal_analysis::divergence::Geometry;
use anymetal_opt::PassOptions;

use crate::cpu::FaultSite;

/// How to generate code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxOptions {
    /// The architecture that the code needs at least: 75 for `sm_75`, 80 for `sm_80`.
    pub sm: u32,
    /// Check every access whose bounds are known only at run time, and its alignment. Without checks an
    /// access out of bounds ends CUDA for the whole process.
    pub checks: bool,
    /// Loops that can repeat without bound look at the stop flag of the launch now and then.
    pub stoppable: bool,
    /// The threadgroup size that every launch of this code uses; `None`: any.
    pub group_size: Option<[u32; 3]>,
    /// With a size given: no launch has threadgroups cut off at the grid's edge.
    pub whole_threadgroups_only: bool,
    /// The name of the entry.
    pub symbol: String,
    /// Which of the target's passes run.
    pub passes: PassOptions,
}

impl PtxOptions {
    /// How the threads that the code is for are assigned to SIMD-groups.
    pub(super) fn geometry(&self) -> Geometry {
        let whole = self.group_size.filter(|_| self.whole_threadgroups_only);
        whole.map_or(Geometry::Any, Geometry::Full)
    }
}

impl Default for PtxOptions {
    fn default() -> Self {
        Self {
            sm: 80,
            checks: true,
            stoppable: true,
            group_size: None,
            whole_threadgroups_only: false,
            symbol: "kernel".to_owned(),
            passes: PassOptions::new(),
        }
    }
}

/// What is known of a kernel's code without writing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxDescription {
    /// The entry's symbol.
    pub symbol: String,
    /// As [`PtxCode::threadgroup_static_bytes`].
    pub threadgroup_static_bytes: u64,
    /// As [`PtxCode::value_words`].
    pub value_words: Vec<u32>,
    /// As [`PtxCode::loads_pointers`].
    pub loads_pointers: bool,
}

/// The result of code generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxCode {
    /// A module of LLVM IR text for `nvptx64`, to be read by LLVM 18 to 23.
    pub llvm_ir: String,
    /// The entry's symbol.
    pub symbol: String,
    /// Bytes of threadgroup memory that static variables take. The launch gives memory for dynamic
    /// arguments only.
    pub threadgroup_static_bytes: u64,
    /// For each argument of the kernel how many 32-bit words a launch may give by value; 0: none.
    pub value_words: Vec<u32>,
    /// Whether it looks addresses up that it loads: its launch has the table of resident buffers.
    pub loads_pointers: bool,
    /// The accesses that can fault, by the number in the fault record.
    pub fault_sites: Vec<FaultSite>,
}
