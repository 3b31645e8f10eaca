//! The report of a run, and the types that it shares with observers: threads, variables, positions.

pub use anymetal_abi::AccessKind;

use anymetal_ir::{FuncId, GlobalId, Loc, Local, ThreadgroupId};

/// A thread, and how many threadgroup barriers its threadgroup has passed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ThreadId {
    /// The threadgroup's position in the grid.
    pub group: [u32; 3],
    /// The threadgroup's linear number, x fastest.
    pub group_linear: u64,
    /// The linear index in the threadgroup, x fastest, by the threadgroup's real size.
    pub index_in_group: u32,
    /// The position in the threadgroup.
    pub position_in_group: [u32; 3],
    /// The position in the grid.
    pub position_in_grid: [u32; 3],
    /// The SIMD-group's index in the threadgroup.
    pub simdgroup: u32,
    /// The lane in the SIMD-group.
    pub lane: u32,
    /// Threadgroup barriers passed. Accesses of one threadgroup with different generations are ordered.
    pub generation: u32,
}

/// What a pointer points into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Variable {
    /// Nothing: null, or bits that never were a pointer.
    Nothing,
    /// A kernel argument, by position.
    Argument(u32),
    /// A threadgroup variable.
    Threadgroup(ThreadgroupId),
    /// A constant datum.
    Global(GlobalId),
    /// A local of a function.
    Local(FuncId, Local),
    /// A buffer that a loaded pointer leads to, by its place in [`crate::Memory::resident`].
    Resident(u32),
    /// An address that belongs to no resident buffer; offsets are from address 0.
    Address,
}

/// Where bytes really are: equal places are the same memory, whatever variable names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryPlace {
    /// In a buffer of [`crate::Memory`].
    Buffer {
        /// Which.
        buffer: u32,
        /// The first byte.
        offset: u64,
    },
    /// In the threadgroup's memory.
    Threadgroup {
        /// The first byte.
        offset: u64,
    },
    /// In the private memory of a SIMD-group (that of all its lanes, one after the other).
    Private {
        /// The first byte.
        offset: u64,
    },
    /// In constant data.
    Constant {
        /// Which.
        global: GlobalId,
        /// The first byte.
        offset: u64,
    },
}

/// An access outside its allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What it did.
    pub kind: AccessKind,
    /// What it was to access; [`crate::Program::variable_name`] names it.
    pub variable: Variable,
    /// The byte offset from the variable's start.
    pub offset: i64,
    /// The variable's bytes; 0 if nothing is bound.
    pub bound: u64,
    /// The bytes accessed.
    pub bytes: u64,
    /// The instruction.
    pub loc: Loc,
    /// The thread.
    pub thread: ThreadId,
}

/// Some threads of a SIMD-group arrived at a threadgroup barrier while others, that have not returned, are
/// elsewhere. Execution goes on as GPUs do: the SIMD-group counts as arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartialBarrier {
    /// The barrier.
    pub loc: Loc,
    /// A thread that arrived.
    pub thread: ThreadId,
    /// Bit per lane that arrived.
    pub arrived: u32,
    /// Bit per lane that should have.
    pub missing: u32,
}

/// Two SIMD-groups of a threadgroup, or two threadgroups of a cooperative launch, wait at different barriers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DivergentBarrier {
    /// One barrier.
    pub first: Loc,
    /// A thread that waits there.
    pub first_thread: ThreadId,
    /// The other.
    pub second: Loc,
    /// A thread that waits there.
    pub second_thread: ThreadId,
}

/// The outcome of a finished run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The first faults.
    pub faults: Vec<Fault>,
    /// All faults.
    pub fault_count: u64,
    /// The first partial barriers.
    pub partial_barriers: Vec<PartialBarrier>,
    /// All partial barriers.
    pub partial_barrier_count: u64,
    /// The first divergent barriers that the run went on after.
    pub divergent_barriers: Vec<DivergentBarrier>,
    /// All of them.
    pub divergent_barrier_count: u64,
    /// Steps of SIMD-groups executed.
    pub steps: u64,
}

impl Report {
    /// Whether the kernel did nothing wrong that the interpreter itself notices.
    pub fn is_clean(&self) -> bool {
        self.fault_count == 0 && self.partial_barrier_count == 0 && self.divergent_barrier_count == 0
    }
}
