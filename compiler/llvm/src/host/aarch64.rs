//! 64-bit Arm: the standard library's feature test.

use std::arch::is_aarch64_feature_detected as has;

use super::{CpuLevel, VectorFacts};

pub(super) fn vector_facts() -> VectorFacts {
    let neon = has!("neon");
    VectorFacts { fma: neon, f16c: neon, neon, avx512bf16: has!("bf16"), ..VectorFacts::default() }
}

/// The names of the features that code generation for this family may use.
pub(super) fn identity() -> String {
    let features = [
        ("neon", has!("neon")),
        ("fp16", has!("fp16")),
        ("bf16", has!("bf16")),
        ("i8mm", has!("i8mm")),
        ("dotprod", has!("dotprod")),
        ("fhm", has!("fhm")),
        ("lse", has!("lse")),
        ("rcpc", has!("rcpc")),
        ("sve", has!("sve")),
        ("sve2", has!("sve2")),
    ];
    features.iter().filter(|(_, present)| *present).map(|(name, _)| *name).collect::<Vec<_>>().join("+")
}

/// The levels are x86-64's.
pub(super) fn has_level(_level: CpuLevel) -> bool {
    false
}
