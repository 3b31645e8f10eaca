//! The rights that a worker gives up before it takes its first request.
//!
//! Owns [`close`]. Three layers: limits of the process, Landlock (no file, no TCP port, no signal to other
//! processes) and filters of system calls (`calls.rs`). Invariant: after [`close`] returned, the calling
//! thread and all threads that it starts can compute, and read and write one connection; nothing of that can
//! be undone.

mod calls;

use std::time::{Duration, Instant};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreated,
    RulesetError, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::channel::Channel;

/// Whether a closed process can make code of its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// No memory is executable.
    Denied,
    /// Memory becomes executable when it stops to be writable.
    Allowed,
}

/// How long threads that were joined may take to end.
const THREADS_END_WITHIN: Duration = Duration::from_secs(5);

/// Landlock and seccomp, as messages name them.
const LANDLOCK: &str = "Landlock";
const SECCOMP: &str = "seccomp";

/// The parts of a sandbox that this system lacks. Changes nothing.
pub fn missing() -> Vec<String> {
    let landlock = ruleset(CompatLevel::HardRequirement, ABI::V1).is_ok();
    let actions = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let seccomp = actions.split_whitespace().any(|action| action == "kill_process") && calls::is_supported();
    let parts = [(landlock, LANDLOCK), (seccomp, SECCOMP)].into_iter();
    parts.filter(|(exists, _)| !exists).map(|(_, name)| name.to_owned()).collect()
}

/// Closes the sandbox of this process, in which `memory_bytes` more can be allocated from now on. To be
/// called while no other thread exists: Landlock is a property of threads. Returns the parts that the system
/// lacks.
///
/// # Panics
/// A limit or a filter that the system has is refused: nothing may run then.
pub fn close(channel: &Channel, memory_bytes: u64, code: Code) -> Vec<String> {
    // Before files cannot be read any more.
    let has_seccomp = !missing().iter().any(|part| part == SECCOMP);
    limit(memory_bytes);
    let mut missing = Vec::new();
    let restricted = ruleset(CompatLevel::BestEffort, ABI::V6).and_then(RulesetCreated::restrict_self);
    if !restricted.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced) {
        missing.push(LANDLOCK.to_owned());
    }
    if has_seccomp {
        calls::filter(channel.descriptor(), code);
    } else {
        missing.push(SECCOMP.to_owned());
    }
    missing
}

/// A ruleset that denies all that the ABI can deny.
fn ruleset(level: CompatLevel, abi: ABI) -> Result<RulesetCreated, RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(level).handle_access(AccessFs::from_all(abi))?;
    let ruleset = match abi {
        ABI::V1 => ruleset,
        _ => ruleset.handle_access(AccessNet::from_all(abi))?.scope(Scope::from_all(abi))?,
    };
    ruleset.create()
}

fn limit(memory_bytes: u64) {
    let taken = data_bytes().expect("the kernel reports this process's memory");
    let data = taken.saturating_add(memory_bytes);
    for (resource, most) in [(Resource::Data, data), (Resource::Core, 0), (Resource::Fsize, 0)] {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).unwrap_or_else(|error| panic!("no limit for {resource:?}: {error}"));
    }
}

/// Bytes of private writable memory, as `RLIMIT_DATA` counts them.
fn data_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Waits until the calling thread is the only one: a thread that was joined may be listed a moment longer.
///
/// # Panics
/// Another thread runs.
pub fn wait_for_threads() {
    let started = Instant::now();
    while threads() > 1 {
        assert!(started.elapsed() < THREADS_END_WITHIN, "the worker has other threads before its sandbox");
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Number of threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}
