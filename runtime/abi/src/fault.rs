//! Faults: what a checked access does, the function that generated code calls, the record of the first fault.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::tables::CpuLaunch;

/// What a checked access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AccessKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads, writes or both, atomically.
    Atomic,
}

impl AccessKind {
    /// The noun for a message: "a {} of 4 bytes".
    pub const fn word(self) -> &'static str {
        match self {
            AccessKind::Load => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic => "atomic operation",
        }
    }
}

/// The external symbol that generated code calls for an access out of bounds.
pub const FAULT_SYMBOL: &str = "anymetal_fault";

/// The type of the function [`FAULT_SYMBOL`], which records the first fault of a dispatch. `thread_in_group`
/// is the linear index within the threadgroup, x fastest, by the full group size; `base` the address of the
/// first byte of what was to be accessed, 0 of nothing.
pub type FaultFunction = unsafe extern "C" fn(
    launch: *const CpuLaunch,
    site: u32,
    byte_offset: i64,
    bound_len: u64,
    group_linear: u64,
    thread_in_group: u32,
    base: u64,
);

/// A first fault of a dispatch. The rule of all executors: the record is the first fault, in the order of the
/// program, of one thread. Who has one exchanges `claimed` from 0 to 1; only the one that succeeds writes the
/// rest, and so the record is of one thread as a whole. Of the threads that fault it is that of one which
/// claimed first: the CPU claims at the end of the threadgroup, an NVIDIA GPU at the end of the thread, so a
/// launch may tell of another thread the next time. The device reads the record after all of them are done,
/// so the plain fields are atomics only to stay in safe Rust.
#[repr(C)]
#[derive(Debug, Default)]
pub struct FaultRecord {
    /// 0: no fault; 1: claimed.
    pub claimed: AtomicU32,
    /// The number of the access in the artifact's table of fault sites.
    pub site: AtomicU32,
    /// The byte offset of the access from the start of what was bound, as two's complement.
    pub byte_offset: AtomicU64,
    /// The bytes that were bound.
    pub bound_len: AtomicU64,
    /// The linear index of the threadgroup.
    pub group_linear: AtomicU64,
    /// The linear index of the thread in its threadgroup.
    pub thread_in_group: AtomicU32,
    /// The address of the first byte of what was to be accessed; 0: nothing, or not known.
    pub base: AtomicU64,
}

/// A fault as the device reads it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedFault {
    /// The number of the access in the artifact's table of fault sites.
    pub site: u32,
    /// The byte offset of the access from the start of what was bound.
    pub byte_offset: i64,
    /// The bytes that were bound.
    pub bound_len: u64,
    /// The linear index of the threadgroup.
    pub group_linear: u64,
    /// The linear index of the thread in its threadgroup.
    pub thread_in_group: u32,
    /// The address of the first byte of what was to be accessed; 0: nothing, or not known.
    pub base: u64,
}

impl FaultRecord {
    /// Records a fault if it is the first since [`FaultRecord::clear`].
    pub fn record(&self, fault: RecordedFault) {
        // A kernel that faults in every thread calls this very often: look before the exchange.
        if self.claimed.load(Ordering::Relaxed) != 0 {
            return;
        }
        if self.claimed.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        self.site.store(fault.site, Ordering::Relaxed);
        self.byte_offset.store(fault.byte_offset as u64, Ordering::Relaxed);
        self.bound_len.store(fault.bound_len, Ordering::Relaxed);
        self.group_linear.store(fault.group_linear, Ordering::Relaxed);
        self.thread_in_group.store(fault.thread_in_group, Ordering::Relaxed);
        self.base.store(fault.base, Ordering::Relaxed);
    }

    /// The fault recorded, if any. Meaningful only once every worker has finished (the device's completion
    /// count orders the workers' stores before this).
    pub fn recorded(&self) -> Option<RecordedFault> {
        (self.claimed.load(Ordering::Relaxed) != 0).then(|| RecordedFault {
            site: self.site.load(Ordering::Relaxed),
            byte_offset: self.byte_offset.load(Ordering::Relaxed) as i64,
            bound_len: self.bound_len.load(Ordering::Relaxed),
            group_linear: self.group_linear.load(Ordering::Relaxed),
            thread_in_group: self.thread_in_group.load(Ordering::Relaxed),
            base: self.base.load(Ordering::Relaxed),
        })
    }

    /// Forgets the fault, for the next dispatch.
    pub fn clear(&self) {
        self.claimed.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_fault_is_kept() {
        let record = FaultRecord::default();
        assert_eq!(record.recorded(), None);
        let fault = |site| RecordedFault {
            site,
            byte_offset: -4,
            bound_len: 8,
            group_linear: 7,
            thread_in_group: 3,
            base: 64,
        };
        record.record(fault(1));
        record.record(fault(2));
        assert_eq!(record.recorded(), Some(fault(1)));
        record.clear();
        assert_eq!(record.recorded(), None);
    }
}
