//! Barriers of threadgroups that are one SIMD-group.
//!
//! The lanes of a SIMD-group run together, so a barrier of a threadgroup with no other threads only orders
//! memory, as `simdgroup_barrier` does. With that, values stay in registers across it, and loops around it
//! are loops of the SIMD-group. LLVM does the same for AMD's GPUs, whose workgroups of one wave have wave
//! barriers.

use anymetal_analysis::divergence::{Geometry, LANES};
use anymetal_analysis::walk_insts;
use anymetal_ir::{BarrierScope, Function, Op};

/// Narrows the scope of barriers; returns whether there were any.
pub fn simdgroup_barriers(function: &mut Function, geometry: Geometry) -> bool {
    if geometry.threads().is_none_or(|threads| threads > LANES as u32) {
        return false;
    }
    let mut barriers = Vec::new();
    walk_insts(function, function.body, &mut |inst| {
        if matches!(function.inst(inst).op, Op::Barrier(BarrierScope::Threadgroup, _)) {
            barriers.push(inst);
        }
    });
    for inst in &barriers {
        if let Op::Barrier(scope, _) = &mut function.insts[inst.index()].op {
            *scope = BarrierScope::Simdgroup;
        }
    }
    !barriers.is_empty()
}
