//! Findings as typed values: what is wrong, in which kernel, and what each thread involved did.
//!
//! A [`Finding`] owns everything that a report shows except the text of source lines, so that it outlives
//! the program and the run.

use anymetal_interp::AccessOp;
use serde::{Deserialize, Serialize};

use crate::FindingKind;

/// One thing that is wrong, with how often it occurred.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The kernel.
    pub kernel: String,
    /// The launch of this kernel in which it occurred first, from 0, counted over the session.
    pub launch: u64,
    /// The seed of the schedule that showed it; none for the plain order.
    pub seed: Option<u64>,
    /// One sentence on this occurrence, without positions: "index 1024 of `out`, which has 1000 elements".
    pub message: String,
    /// What the threads did, in order of execution: one for most kinds, two for races.
    pub sides: Vec<Side>,
    /// What was accessed, if the kind is of memory.
    pub memory: Option<AccessedMemory>,
    /// What would mend it: the barrier that is missing and its scope, the condition to add.
    pub remedy: Option<String>,
    /// Occurrences at the same places, this one included.
    pub count: u64,
}

/// What one thread did.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Side {
    /// What it did.
    pub action: Action,
    /// Which thread.
    pub thread: Position,
    /// Bytes accessed; 0 where nothing is accessed.
    pub bytes: u64,
    /// The byte offset from the start of the memory object.
    pub offset: i64,
    /// What was read or is written, if it is known.
    pub value: Option<Value>,
    /// Where in the source.
    pub place: SourcePlace,
}

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic read.
    AtomicLoad,
    /// An atomic write.
    AtomicStore,
    /// An atomic read-modify-write or compare-and-exchange.
    AtomicReadModifyWrite,
    /// Arrived at a barrier.
    Barrier,
    /// Executed a SIMD-group function.
    SimdgroupFunction,
    /// Computed.
    Arithmetic,
    /// Returned from the kernel.
    Return,
}

impl Action {
    /// What an instruction does.
    pub(crate) fn of(op: AccessOp) -> Self {
        match op {
            AccessOp::Load => Self::Read,
            AccessOp::Store => Self::Write,
            AccessOp::AtomicLoad => Self::AtomicLoad,
            AccessOp::AtomicStore => Self::AtomicStore,
            AccessOp::AtomicRmw | AccessOp::AtomicCas => Self::AtomicReadModifyWrite,
        }
    }
}

/// Where a thread is in its launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Position {
    /// `threadgroup_position_in_grid`.
    pub threadgroup: [u32; 3],
    /// `thread_position_in_threadgroup`.
    pub thread: [u32; 3],
    /// `thread_position_in_grid`.
    pub grid: [u32; 3],
    /// `simdgroup_index_in_threadgroup`.
    pub simdgroup: u32,
    /// `thread_index_in_simdgroup`.
    pub lane: u32,
}

/// The bytes of a value, little endian, as they are in memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Value(pub Vec<u8>);

/// A place in the source, with the way through macros and templates that led to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourcePlace {
    /// The file's name as it was given; empty if unknown.
    pub file: String,
    /// 1-based; 0 if unknown.
    pub line: u32,
    /// 1-based, in bytes; 0 if unknown.
    pub column: u32,
    /// The function it is in, with its template arguments.
    pub function: String,
    /// Outwards: the macro uses that the place is expanded from, then the calls that led to it.
    pub through: Vec<Through>,
}

/// One step outwards from a place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Through {
    /// "in expansion of macro `STORE`", "called from `main_kernel`".
    pub what: String,
    /// The file's name.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in bytes.
    pub column: u32,
}

/// The object that was accessed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessedMemory {
    /// Its address space.
    pub space: MemorySpace,
    /// The name in the kernel's source: the argument, the variable.
    pub name: String,
    /// The label that the program gave the buffer.
    pub label: Option<String>,
    /// Its bytes: of the binding for an argument.
    pub bytes: u64,
    /// Bytes of an element; 1 if the type has no elements.
    pub element_bytes: u64,
}

/// Metal's address spaces, as findings name them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemorySpace {
    /// Device memory.
    Device,
    /// Constant memory.
    Constant,
    /// Threadgroup memory.
    Threadgroup,
    /// A thread's own variables.
    Thread,
}
