//! What a device can do.
//!
//! Owns [`Capabilities`], filled in by each device from queries of the machine. Invariant: no number here
//! comes from a table of known machines (DEV-2).

use anymetal_types::setters;

use crate::artifact::SIMD_WIDTH;

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// This machine's processor.
    Cpu,
    /// An NVIDIA GPU.
    Nvidia,
    /// An Apple GPU.
    Apple,
    /// No hardware: it validates everything and runs nothing.
    Null,
}

impl DeviceKind {
    /// Its name in one lower-case word, for listings.
    pub fn word(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Nvidia => "nvidia",
            DeviceKind::Apple => "apple",
            DeviceKind::Null => "null",
        }
    }
}

/// What a device can do and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The hardware's own name, such as the processor's brand string.
    pub hardware_name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// The instruction set or chip generation, such as `x86_64 avx512f`.
    pub architecture: String,
    /// Whether host and device share memory.
    pub unified_memory: bool,
    /// All of its memory in bytes.
    pub memory_bytes: u64,
    /// The bytes that a program should stay within: what was free when the device was made, under any limit
    /// set on the process.
    pub working_set_bytes: u64,
    /// The largest buffer in bytes.
    pub max_buffer_bytes: u64,
    /// The most threads per threadgroup in each dimension.
    pub max_threads_per_dimension: [u32; 3],
    /// The most threads per threadgroup in all.
    pub max_threads_per_threadgroup: u32,
    /// The most threadgroup memory in bytes.
    pub max_threadgroup_memory_bytes: u64,
    /// The most inline bytes per argument.
    pub max_inline_bytes: u64,
    /// Threads per SIMD-group.
    pub simd_width: u32,
    /// Processor cores or their like that run threadgroups at once.
    pub compute_units: u32,
    /// Whether `half` works.
    pub supports_half: bool,
    /// Whether `bfloat` works.
    pub supports_bfloat: bool,
    /// Whether 64-bit atomics work.
    pub supports_64_bit_atomics: bool,
    /// Whether completions carry the device's own start and end times.
    pub supports_timestamps: bool,
    /// Whether queues may have different priorities.
    pub supports_priorities: bool,
    /// Whether kernels can be made to check each access against what is bound. A device that compiles
    /// kernels itself may not: what an access out of bounds does is then the device's affair.
    pub checks_accesses: bool,
    /// Whether work is stopped at the deadline that its submission gives. Otherwise a submission with one is
    /// refused with [`crate::error::DeviceError::Unsupported`], and the device's own limit counts.
    pub supports_deadlines: bool,
    /// Whether a queue can take work back that has not started; otherwise
    /// [`crate::queue::Queue::cancel`] is always too late.
    pub supports_cancellation: bool,
    /// Whether all threadgroups of a launch can be in progress at once, so that they may wait for each other:
    /// what kernels with barriers of the grid need.
    pub supports_cooperative_launches: bool,
}

impl Capabilities {
    /// A device of that kind and name with the least that a device can have: no memory of a known size, one
    /// thread per threadgroup, no optional feature. Each device states what it has beyond that.
    pub fn new(kind: DeviceKind, hardware_name: impl Into<String>) -> Self {
        Capabilities {
            hardware_name: hardware_name.into(),
            kind,
            architecture: String::new(),
            unified_memory: false,
            memory_bytes: 0,
            working_set_bytes: 0,
            max_buffer_bytes: 0,
            max_threads_per_dimension: [1; 3],
            max_threads_per_threadgroup: 1,
            max_threadgroup_memory_bytes: 0,
            max_inline_bytes: 0,
            simd_width: SIMD_WIDTH,
            compute_units: 1,
            supports_half: false,
            supports_bfloat: false,
            supports_64_bit_atomics: false,
            supports_timestamps: false,
            supports_priorities: false,
            checks_accesses: false,
            supports_deadlines: false,
            supports_cancellation: false,
            supports_cooperative_launches: false,
        }
    }
}

setters!(Capabilities {
    kind: DeviceKind,
    unified_memory: bool,
    memory_bytes: u64,
    working_set_bytes: u64,
    max_buffer_bytes: u64,
    max_threads_per_dimension: [u32; 3],
    max_threads_per_threadgroup: u32,
    max_threadgroup_memory_bytes: u64,
    max_inline_bytes: u64,
    simd_width: u32,
    compute_units: u32,
    supports_half: bool,
    supports_bfloat: bool,
    supports_64_bit_atomics: bool,
    supports_timestamps: bool,
    supports_priorities: bool,
    checks_accesses: bool,
    supports_deadlines: bool,
    supports_cancellation: bool,
    supports_cooperative_launches: bool,
} into { hardware_name: String, architecture: String });
