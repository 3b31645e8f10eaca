//! x86-64: `cpuid`, through the standard library's feature test and directly for the identity.

use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::__cpuid_count;

use super::{CpuLevel, VectorFacts};

pub(super) fn vector_facts() -> VectorFacts {
    let avx512f = has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq");
    VectorFacts {
        avx512f,
        avx2: has!("avx2"),
        fma: has!("fma"),
        f16c: has!("f16c"),
        avx512bf16: avx512f && has!("avx512bf16"),
        avx512fp16: avx512f && has!("avx512fp16"),
        neon: false,
        amd: vendor() == *b"AuthenticAMD",
    }
}

/// Who made the processor.
fn vendor() -> [u8; 12] {
    let leaf = __cpuid_count(0, 0);
    let mut name = [0; 12];
    for (part, word) in name.as_chunks_mut().0.iter_mut().zip([leaf.ebx, leaf.edx, leaf.ecx]) {
        *part = word.to_le_bytes();
    }
    name
}

/// What the standard library can test of a level's instructions, which is all that compilers use.
pub(super) fn has_level(level: CpuLevel) -> bool {
    match level {
        CpuLevel::X86_64 => true,
        CpuLevel::X86_64V3 => {
            let second = has!("cmpxchg16b") && has!("popcnt") && has!("sse4.2") && has!("ssse3");
            let vectors = has!("avx2") && has!("fma") && has!("f16c");
            second && vectors && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("movbe")
        }
        CpuLevel::X86_64V4 => has_level(CpuLevel::X86_64V3) && vector_facts().avx512f && has!("avx512cd"),
    }
}

/// The feature words of `cpuid` in hexadecimal. The fields that differ between cores (APIC ids) and
/// hybrid marks are left out.
pub(super) fn identity() -> String {
    let basic = __cpuid_count(0, 0);
    let model = __cpuid_count(1, 0);
    let mut words = vec![model.eax, model.ecx, model.edx];
    if basic.eax >= 7 {
        let features = __cpuid_count(7, 0);
        words.extend([features.ebx, features.ecx, features.edx & !HYBRID]);
        if features.eax >= 1 {
            let more = __cpuid_count(7, 1);
            words.extend([more.eax, more.edx]);
        }
    }
    if __cpuid_count(0x8000_0000, 0).eax >= 0x8000_0001 {
        let extended = __cpuid_count(0x8000_0001, 0);
        words.extend([extended.ecx, extended.edx]);
    }
    words.iter().map(|word| format!("{word:08x}")).collect()
}

/// Bit of leaf 7 that distinguishes performance cores from efficiency cores of one processor.
const HYBRID: u32 = 1 << 15;
