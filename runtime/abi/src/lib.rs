//! The launch ABI of the CPU: what generated code and the CPU device agree on. That of NVIDIA GPUs is in
//! [`nvidia`].
//!
//! Owns the `repr(C)` tables ([`CpuLaunch`], [`CpuWorker`]) with their byte [`offsets`], the rule that gives
//! arguments their slots ([`argument_slots`]), and what is recorded of a fault ([`FaultRecord`]). Invariant:
//! everything here is plain data; the code generator writes the offsets into machine code, so a change of a
//! layout or of a rule needs a new [`ABI_VERSION`], which is part of every cache fingerprint.
//!
//! # Who does what
//!
//! The **device** fills in one [`CpuLaunch`] per dispatch and one [`CpuWorker`] per worker thread, and calls
//! the entry ([`CpuEntry`]) any number of times, from several threads at once, each time with a worker and a
//! range of threadgroups that no other call has. Together the ranges cover each threadgroup of the grid
//! exactly once, in no order. Threadgroups are numbered linearly, x fastest:
//! `index = x + groups[0] * (y + groups[1] * z)`.
//!
//! The **generated code** runs the threadgroups `first_group .. end_group` one after the other and returns.
//! - *Partial threadgroups*: a thread whose position in the grid is not below `grid_threads` does not exist.
//!   Generated code computes each group's real size (`min(group_size, grid_threads - group * group_size)` per
//!   dimension), as Metal's `dispatchThreads` does. `[[threads_per_threadgroup]]` is that real size,
//!   `[[dispatch_threads_per_threadgroup]]` the full one. With `dispatchThreadgroups` the device sets
//!   `grid_threads = groups * group_size`.
//! - *Bounds*: an access is in bounds if `0 <= offset` and `offset + access_bytes <= len` of its
//!   [`BoundBuffer`]; code that is bounded by whole buffers takes `-before <= offset`
//!   ([`CpuLaunch::before`]). Out of bounds a load gives zero, a store is dropped, an atomic gives zero and
//!   changes nothing, and the code calls [`FAULT_SYMBOL`] ([`FaultFunction`]) once per faulting access (for a
//!   vector of lanes: with the first faulting lane). It goes on after that.
//! - *Stop*: on every loop iteration that can repeat without bound, and before each threadgroup, the code
//!   reads `*stop` (a relaxed 4-byte load) and returns soon after it is nonzero. Results are then
//!   unspecified.
//! - *Grid barriers*: the code of a kernel with [grid](self#grid-barriers) barriers calls
//!   [`GRID_SYNC_SYMBOL`] at each. Such a kernel runs in cooperative launches only.
//! - It never unwinds, and it touches no memory but the bound buffers within their lengths, the worker's
//!   memory, its own stack and its own read-only data.
//!
//! # Pointers in memory
//!
//! The eight bytes of a pointer to a buffer are its address. Code that loads one looks it up in the launch's
//! table of [`resident`] buffers, and checks accesses against the buffer that it finds.
//!
//! # Lifetime and ordering
//!
//! The tables and everything they point to outlive the call; the code keeps no pointer past its return. All
//! fields but `*stop` and `*fault` are constant during a dispatch. The device makes what was written before
//! the dispatch (by the host or by earlier commands) visible to every worker before it calls the entry, and
//! what workers wrote visible to the threads that wait. Within a dispatch, threadgroups see each other's
//! memory only as Metal's atomics and coherent accesses allow.
//!
//! # Grid barriers
//!
//! In a cooperative launch each call of the entry has one threadgroup, a [`CpuWorker`] with memory of its own
//! until it returns, and a stack of its own. [`GridSyncFunction`] returns once every other threadgroup that
//! has not ended has called it, too; another thread may go on with the threadgroup than the one before.
//! What any threadgroup wrote before the call is visible to all of them after it.
//!
//! # Independent SIMD-groups
//!
//! The code of a kernel whose SIMD-groups may wait for each other runs one SIMD-group per call: that of
//! [`CpuWorker::simdgroup`], on a stack of its own. It calls [`SIMDGROUP_YIELD_SYMBOL`]
//! ([`SimdgroupYieldFunction`]) in each iteration of a loop that may wait, and at each barrier. The calls for
//! one threadgroup are made by one thread and share the worker's memory; each takes its own part of the
//! scratch. A SIMD-group leaves a barrier once all others of its threadgroup that have not returned have come
//! to one.
//!
//! # Memory of a worker
//!
//! `threadgroup_memory` holds the static part at offset 0 and each dynamic slot at the offset that
//! [`ThreadgroupLayout`] gives it; `scratch` holds the bytes that the code generator reports as the kernel's
//! scratch, for the code's own use (frames of barrier regions). Both are aligned to [`WORKER_ALIGNMENT`],
//! their contents are undefined at each call and may be left in any state.
#![forbid(unsafe_code)]

pub mod commands;
mod fault;
pub mod functions;
mod limits;
pub mod logging;
pub mod nvidia;
pub mod offsets;
pub mod resident;
mod slots;
pub mod stage_input;
mod tables;
pub mod tensors;
pub mod textures;

pub use fault::{AccessKind, FAULT_SYMBOL, FaultFunction, FaultRecord, RecordedFault};
pub use limits::{MAX_BOUND_BUFFERS, MAX_THREADS_PER_THREADGROUP};
pub use slots::argument_slots;
pub use tables::{
    BoundBuffer, CpuEntry, CpuLaunch, CpuWorker, GRID_SYNC_SYMBOL, GridSyncFunction, SIMDGROUP_YIELD_SYMBOL,
    SimdgroupYieldFunction, ThreadgroupLayout, ThreadgroupSlot, YieldReason,
};

/// The version of everything in this module; part of a cache fingerprint.
pub const ABI_VERSION: u32 = 6;

/// The alignment of a worker's threadgroup memory and scratch, and of each dynamic slot.
pub const WORKER_ALIGNMENT: u64 = 64;

/// The most stack that an entry may use, calls included; larger frames belong in the scratch. The thread that
/// runs it may be a program's own with a small stack.
pub const MAX_ENTRY_STACK_BYTES: u64 = 256 * 1024;
