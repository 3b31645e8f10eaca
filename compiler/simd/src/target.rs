//! What the plan takes from a processor.

/// Vector instructions of the processor that code is generated for. All false is valid and slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CpuFeatures {
    /// AVX-512 F, VL, BW and DQ.
    pub avx512: bool,
    /// AVX2.
    pub avx2: bool,
    /// Fused multiply-add.
    pub fma: bool,
    /// Hardware conversions between `half` and `float`.
    pub f16c: bool,
    /// Arm's 128-bit vectors.
    pub neon: bool,
    /// Gathers of 32 and 64 bits that are faster than loads lane by lane.
    pub fast_gather: bool,
    /// Lines of streams are to be asked for in the second level of caches, not in the first.
    pub streams_in_second_level: bool,
}

impl CpuFeatures {
    /// Bytes of a vector register.
    pub fn register_bytes(&self) -> i64 {
        match self {
            Self { avx512: true, .. } => 64,
            Self { avx2: true, .. } => 32,
            _ => 16,
        }
    }
}
