//! Capabilities of the running processor, detected without LLVM.
//!
//! A warm start from the disk cache needs a cache key before, or without, loading LLVM; so the facts
//! and the key's processor part come from the processor itself. One file per architecture, each with
//! the same functions; `other.rs` is their twin that knows nothing. `level.rs` reads the user's limit to an
//! older processor level.

mod level;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod processor;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "other.rs"]
mod processor;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod processor;

use std::sync::OnceLock;

pub use level::{CpuLevel, CpuLevelError, LEVEL_VARIABLE};

/// Which vector instructions the generated code may use. All false is valid, and slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VectorFacts {
    /// AVX-512 foundation together with VL, BW and DQ: 512-bit vectors and mask registers.
    pub avx512f: bool,
    /// 256-bit integer and float vectors.
    pub avx2: bool,
    /// Fused multiply-add instructions.
    pub fma: bool,
    /// Conversions between `half` and `float` in hardware (x86 F16C, or Arm, which always has them).
    pub f16c: bool,
    /// bfloat16 conversions and dot products in hardware.
    pub avx512bf16: bool,
    /// `half` arithmetic in hardware.
    pub avx512fp16: bool,
    /// Arm's 128-bit vectors.
    pub neon: bool,
    /// AMD made the processor; for what differs in speed alone.
    pub amd: bool,
}

impl VectorFacts {
    /// Guaranteed by `x86-64-v3`.
    pub const X86_64_V3: Self = Self {
        avx512f: false,
        avx2: true,
        fma: true,
        f16c: true,
        avx512bf16: false,
        avx512fp16: false,
        neon: false,
        amd: false,
    };

    /// Guaranteed by `x86-64-v4`.
    pub const X86_64_V4: Self = Self { avx512f: true, ..Self::X86_64_V3 };

    /// Bytes in the widest vector register, 16 when nothing is known.
    pub fn register_bytes(self) -> u32 {
        if self.avx512f {
            64
        } else if self.avx2 {
            32
        } else {
            16
        }
    }

    /// Whether gathers of 32 and 64 bits beat loads lane by lane, which they do on Intel's servers since
    /// Sapphire Rapids: 1.4 against 2.0 ms for a pass of a bitonic sort. On those before them, the remedy for
    /// Gather Data Sampling (CVE-2022-40982) makes them slow, and on AMD's up to Zen 4 they are microcode.
    pub fn has_fast_gather(self) -> bool {
        self.avx512fp16
    }

    /// Whether streams that hardware prefetchers follow too are better prefetched into the second-level cache
    /// than into the first-level one. On AMD's Zen 4 they are: saxpy 10.1 and 9.2 ms, softmax 6.9 and 5.9. On
    /// Intel's servers the first level is better by 3 to 13 %.
    pub fn wants_streams_in_second_level(self) -> bool {
        self.amd
    }

    /// Number of vector registers of that width.
    pub fn register_count(self) -> u32 {
        if self.avx512f || self.neon { 32 } else { 16 }
    }
}

/// The running processor, possibly limited to a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCpu {
    /// Instructions that generated code may use.
    pub vector: VectorFacts,
    /// Changes whenever the processor's capabilities do; the same on every core and in every run. With a
    /// level, the same on every processor.
    pub fingerprint: String,
    /// The level that code is limited to, if the user set one.
    pub level: Option<CpuLevel>,
}

impl HostCpu {
    /// The processor's capabilities, limited by `ANYMETAL_CPU_LEVEL`. The variable is read once, so that
    /// all code of a process is for the same level.
    pub fn detect() -> Result<&'static Self, CpuLevelError> {
        static DETECTED: OnceLock<Result<HostCpu, CpuLevelError>> = OnceLock::new();
        let detect = || {
            let setting = anymetal_environment::text(LEVEL_VARIABLE);
            CpuLevel::from_setting(setting.as_deref(), CpuLevel::is_available).map(Self::limited_to)
        };
        DETECTED.get_or_init(detect).as_ref().map_err(Clone::clone)
    }

    /// The processor as if it had only that level, which it must have.
    fn limited_to(level: Option<CpuLevel>) -> Self {
        let (vector, identity) = match level {
            Some(level) => (level.vector(), level.name().to_owned()),
            None => (processor::vector_facts(), processor::identity()),
        };
        Self { vector, fingerprint: format!("{}:{identity}", std::env::consts::ARCH), level }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detection_is_stable() {
        let all = HostCpu::limited_to(None);
        assert_eq!(all, HostCpu::limited_to(None));
        assert!(all.fingerprint.starts_with(std::env::consts::ARCH));
    }

    #[test]
    fn a_level_has_facts_and_a_fingerprint_of_its_own() {
        let mut prints = vec![HostCpu::limited_to(None).fingerprint];
        for level in CpuLevel::ALL {
            let limited = HostCpu::limited_to(Some(level));
            assert_eq!(limited.vector, level.vector());
            assert!(!prints.contains(&limited.fingerprint));
            prints.push(limited.fingerprint);
        }
    }

    #[test]
    fn register_shape_follows_the_widest_extension() {
        assert_eq!(VectorFacts::default().register_bytes(), 16);
        assert_eq!(VectorFacts::X86_64_V3.register_bytes(), 32);
        assert_eq!(VectorFacts::X86_64_V4.register_bytes(), 64);
        assert_eq!(VectorFacts::X86_64_V4.register_count(), 32);
    }
}
