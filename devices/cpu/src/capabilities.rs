//! What this machine's processor can do, from queries of the machine (DEV-2).
//!
//! Invariant: a query that fails gives a smaller answer, never an error; nothing is looked up in a table of
//! machines. The threadgroup limits are Metal's, so that what runs here runs on an Apple GPU.

use anymetal_hal::artifact::{MAX_THREADS_PER_THREADGROUP, SIMD_WIDTH};
use anymetal_hal::capabilities::{Capabilities, DeviceKind};

/// Metal's limit on Apple GPUs.
const MAX_THREADGROUP_MEMORY: u64 = 32 * 1024;
/// Metal's limit for `setBytes`.
const MAX_INLINE_BYTES: u64 = 4096;
/// What is assumed if the machine does not tell its memory.
const UNKNOWN_MEMORY: u64 = 1 << 30;

/// Asks the machine.
pub(crate) fn query(threads: usize, extension: Option<&'static str>) -> Capabilities {
    let information = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let limit = container_limit().unwrap_or(u64::MAX);
    let memory_bytes =
        kilobytes(&information, "MemTotal:").or_else(physical_memory).unwrap_or(UNKNOWN_MEMORY);
    let memory_bytes = memory_bytes.min(limit);
    let available = kilobytes(&information, "MemAvailable:").unwrap_or(memory_bytes / 2);
    Capabilities::new(DeviceKind::Cpu, processor_name())
        .architecture(architecture(extension.unwrap_or_else(vector_extension)))
        .unified_memory(true)
        .memory_bytes(memory_bytes)
        .working_set_bytes(available.min(memory_bytes))
        .max_buffer_bytes(memory_bytes.min(isize::MAX as u64))
        .max_threads_per_dimension([MAX_THREADS_PER_THREADGROUP; 3])
        .max_threads_per_threadgroup(MAX_THREADS_PER_THREADGROUP)
        .max_threadgroup_memory_bytes(MAX_THREADGROUP_MEMORY)
        .max_inline_bytes(MAX_INLINE_BYTES)
        .simd_width(SIMD_WIDTH)
        .compute_units(threads as u32)
        .supports_half(true)
        .supports_bfloat(true)
        .supports_64_bit_atomics(cfg!(target_has_atomic = "64"))
        .supports_timestamps(true)
        .supports_priorities(true)
        .checks_accesses(true)
        .supports_deadlines(true)
        .supports_cancellation(true)
        .supports_cooperative_launches(crate::context::IS_SUPPORTED)
}

/// A line `Name:   123 kB` in bytes.
fn kilobytes(information: &str, name: &str) -> Option<u64> {
    let line = information.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn physical_memory() -> Option<u64> {
    // SAFETY: the calls only return numbers.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(page).ok()?)
}

/// The memory limit of the container the process is in, if there is one.
fn container_limit() -> Option<u64> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let text = files.iter().find_map(|file| std::fs::read_to_string(file).ok())?;
    text.trim().parse().ok()
}

fn processor_name() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| format!("{} processor", std::env::consts::ARCH), |(_, name)| name.trim().to_owned())
}

/// The instruction set with a vector extension.
fn architecture(extension: &str) -> String {
    match extension {
        "" => std::env::consts::ARCH.to_owned(),
        extension => format!("{} {extension}", std::env::consts::ARCH),
    }
}

/// The widest that the processor has.
#[cfg(target_arch = "x86_64")]
fn vector_extension() -> &'static str {
    if std::arch::is_x86_feature_detected!("avx512f") {
        "avx512"
    } else if std::arch::is_x86_feature_detected!("avx2") {
        "avx2"
    } else {
        "sse2"
    }
}

#[cfg(target_arch = "aarch64")]
fn vector_extension() -> &'static str {
    if std::arch::is_aarch64_feature_detected!("sve") { "sve" } else { "neon" }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn vector_extension() -> &'static str {
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_lines_are_read() {
        let text = "MemTotal:       24600000 kB\nMemFree: 12 kB\nBroken: x kB\n";
        assert_eq!(kilobytes(text, "MemTotal:"), Some(24_600_000 * 1024));
        assert_eq!(kilobytes(text, "MemFree:"), Some(12 * 1024));
        assert_eq!(kilobytes(text, "Broken:"), None);
        assert_eq!(kilobytes(text, "Missing:"), None);
    }

    #[test]
    fn this_machine_has_memory_and_a_name() {
        let capabilities = query(2, None);
        assert!(capabilities.memory_bytes > 0 && capabilities.working_set_bytes <= capabilities.memory_bytes);
        assert!(!capabilities.hardware_name.is_empty());
        assert_eq!(capabilities.compute_units, 2);
        assert!(query(2, Some("sse2")).architecture.ends_with(" sse2"));
    }
}
