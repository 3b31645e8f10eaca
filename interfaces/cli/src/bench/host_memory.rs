//! The same kind of memory for all contenders.
//!
//! Large device buffers are in huge pages, which the kernel provides on request only. Ordinary vectors do not
//! request them, and lose up to half of their bandwidth to address translation. That would flatter us and
//! lower the measured limits, so the benchmark makes the C library's allocator request them too: it reads its
//! settings once, when a process starts.

/// glibc's settings (`mallopt` has none for this).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// Starts this program anew with huge pages for everyone, unless somebody chose settings already. Where that
/// cannot be had, measuring goes on without.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn ask_for_huge_pages() {
    use std::os::unix::process::CommandExt;

    let (name, value) = SETTINGS;
    if std::env::var_os(name).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        // Returns only when it failed.
        let _ = std::process::Command::new(program).args(std::env::args_os().skip(1)).env(name, value).exec();
    }
}

/// Nothing to be had here.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn ask_for_huge_pages() {}
