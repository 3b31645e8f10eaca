//! How many threads of a kernel a core of a GPU holds, by the limits that vendors publish.
//!
//! NVIDIA: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability". Apple: Metal
//! Feature Set Tables, "Implementation Limits"; Apple publishes no size of register files, so that only
//! threads and threadgroup memory limit there.

use serde::Serialize;

/// The limits of a family.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct DeviceFamily {
    /// Its name.
    pub name: &'static str,
    /// Threads of a threadgroup.
    pub threads_per_threadgroup: u32,
    /// Bytes of threadgroup memory of a threadgroup.
    pub threadgroup_memory: u64,
    /// What a core holds, where it is published.
    pub core: Option<Core>,
}

/// What a core holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Core {
    /// Threads.
    pub threads: u32,
    /// Threadgroups.
    pub threadgroups: u32,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Bytes of threadgroup memory.
    pub memory: u64,
    /// Bytes that the system takes for each threadgroup.
    pub reserved: u64,
}

const fn nvidia(
    name: &'static str,
    threads: u32,
    threadgroups: u32,
    per_group: u64,
    memory: u64,
) -> DeviceFamily {
    let core = Core { threads, threadgroups, registers: 65_536, memory: memory << 10, reserved: 1024 };
    DeviceFamily {
        name,
        threads_per_threadgroup: 1024,
        threadgroup_memory: per_group << 10,
        core: Some(core),
    }
}

/// The families that are reported.
pub const FAMILIES: &[DeviceFamily] = &[
    DeviceFamily { name: "Apple4+", threads_per_threadgroup: 1024, threadgroup_memory: 32 << 10, core: None },
    nvidia("NVIDIA 8.0", 2048, 32, 163, 164),
    nvidia("NVIDIA 8.6", 1536, 16, 99, 100),
    nvidia("NVIDIA 8.9", 1536, 24, 99, 100),
    nvidia("NVIDIA 9.0", 2048, 32, 227, 228),
];

/// What limits the number of threadgroups of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Threads of a core.
    Threads,
    /// Threadgroups of a core.
    Threadgroups,
    /// Registers.
    Registers,
    /// Threadgroup memory.
    ThreadgroupMemory,
    /// The threadgroup does not fit at all.
    TooLarge,
    /// The vendor publishes no more.
    NotPublished,
}

/// The threads of a kernel that a core of a family holds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Occupancy {
    /// The family.
    pub family: &'static str,
    /// Threadgroups of a core at once; `None`: not published.
    pub threadgroups: Option<u32>,
    /// Threads of a core, as a part of those that it can hold.
    pub part: Option<f64>,
    /// What limits them.
    pub limit: Limit,
}

/// The occupancy of a threadgroup of `threads` threads that need `registers` registers each and `memory`
/// bytes
/// of threadgroup memory together.
pub fn occupancy(family: &DeviceFamily, threads: u32, registers: u32, memory: u64) -> Occupancy {
    let result = |threadgroups, part, limit| Occupancy { family: family.name, threadgroups, part, limit };
    if threads == 0 || threads > family.threads_per_threadgroup || memory > family.threadgroup_memory {
        return result(Some(0), Some(0.0), Limit::TooLarge);
    }
    let Some(core) = family.core else { return result(None, None, Limit::NotPublished) };
    // Registers are allocated to a SIMD-group in units of 256, and a thread has at least 16 and at most 255.
    let simdgroups = threads.div_ceil(32);
    let each = (registers.clamp(16, 255) * 32).div_ceil(256) * 256;
    let of_memory = core.memory / (memory + core.reserved);
    let limits = [
        (core.threads / (simdgroups * 32), Limit::Threads),
        (core.threadgroups, Limit::Threadgroups),
        (core.registers / each / simdgroups, Limit::Registers),
        (u32::try_from(of_memory).unwrap_or(u32::MAX), Limit::ThreadgroupMemory),
    ];
    let (groups, limit) = limits.into_iter().min_by_key(|limit| limit.0).unwrap_or((0, Limit::TooLarge));
    result(Some(groups), Some(f64::from(groups * simdgroups * 32) / f64::from(core.threads)), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_limits() {
        let of = |threads, registers, memory| {
            let found = occupancy(&FAMILIES[4], threads, registers, memory);
            (found.threadgroups, found.part, found.limit)
        };
        assert_eq!(of(256, 32, 0), (Some(8), Some(1.0), Limit::Threads));
        assert_eq!(of(256, 64, 0), (Some(4), Some(0.5), Limit::Registers));
        assert_eq!(of(32, 32, 0), (Some(32), Some(0.5), Limit::Threadgroups));
        assert_eq!(of(256, 32, 100 << 10), (Some(2), Some(0.25), Limit::ThreadgroupMemory));
        assert_eq!(of(2048, 32, 0).2, Limit::TooLarge);
        assert_eq!(occupancy(&FAMILIES[0], 256, 32, 1 << 15).limit, Limit::NotPublished);
    }
}
