//! Observers: code that watches a run. The sanitizer is one, in a crate of its own, so that the interpreter
//! itself stays the plain meaning of the IR.
//!
//! Events of one SIMD-group come in program order; the accesses of all its lanes by one instruction are one
//! event. SIMD-groups of a threadgroup run in turns (see the crate documentation), threadgroups one after
//! the other (in a cooperative launch: from one barrier of the grid to the next). An event for accesses in
//! bounds comes before the accesses. To add an observer: one file here, an explicit re-export in `lib.rs`.

mod accesses;
mod arithmetic;
mod trace;

pub use accesses::{AccessOp, Accesses};
pub(crate) use accesses::{State, Stored};
pub use arithmetic::{ArithmeticKind, ArithmeticLint};
pub use trace::Trace;

use anymetal_ir::{BarrierScope, FuncId, Loc, Local};

use crate::report::{DivergentBarrier, Fault, MemoryPlace, PartialBarrier, ThreadId, Variable};
use crate::{Dispatch, Program};

/// The accesses that an observer is notified of. A notification costs a multiple of executing the access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interests {
    /// Accesses to buffers, threadgroup memory and constant data.
    pub shared: bool,
    /// Accesses to locals that are kept in memory, and the starts of their lifetimes; a local that is a
    /// single value and that every path stores before it loads it is kept in registers.
    pub private: bool,
    /// SIMD-group operations under divergence, indices outside of a vector, and returns.
    pub lanes: bool,
    /// Arithmetic with a result that the source hardly wants: [`ArithmeticLint`].
    pub arithmetic: bool,
    /// Each step, with the lanes that execute it; it makes every one slower, too.
    pub steps: bool,
}

impl Interests {
    /// All but arithmetic and steps, which make every instruction slower.
    pub const ALL: Self = Self { shared: true, private: true, lanes: true, arithmetic: false, steps: false };

    pub(crate) fn accesses(self) -> bool {
        self.shared | self.private
    }
}

/// An access in bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The thread.
    pub thread: ThreadId,
    /// What the pointer points into.
    pub variable: Variable,
    /// Where the bytes are.
    pub place: MemoryPlace,
    /// The byte offset from the variable's start.
    pub offset: u64,
    /// The bytes.
    pub bytes: u64,
    /// The alignment that the instruction promises.
    pub align: u32,
    /// The instruction.
    pub loc: Loc,
    /// The number of the instruction's step in its program.
    pub site: u32,
    /// What is in memory before the access.
    pub before: Bytes,
    /// What a store writes; empty if the access does not write, or its value is computed only then.
    pub written: Bytes,
}

/// The first bytes of a value in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bytes {
    len: u8,
    bytes: [u8; Self::MAX],
}

impl Bytes {
    /// The most bytes that are kept: those of a vector of four `long`.
    pub const MAX: usize = 32;

    pub(crate) fn new(bytes: &[u8]) -> Self {
        let len = bytes.len().min(Self::MAX);
        let mut kept = [0; Self::MAX];
        kept[..len].copy_from_slice(&bytes[..len]);
        Self { len: len as u8, bytes: kept }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A fence in some lanes of a SIMD-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceExecuted {
    /// The first thread.
    pub thread: ThreadId,
    /// Bit per lane.
    pub lanes: u32,
    /// The memory flags, as MSL's `mem_flags`.
    pub memory: u32,
    /// The order, as MSL's `memory_order`.
    pub order: u32,
    /// The scope, as MSL's `thread_scope`.
    pub scope: u32,
    /// The instruction.
    pub loc: Loc,
}

/// A SIMD-group operation that not all lanes of the SIMD-group execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DivergentSimd {
    /// The first thread that executes it.
    pub thread: ThreadId,
    /// Whether it is an operation on matrices, which all lanes must execute.
    pub matrix: bool,
    /// Bit per lane that executes it.
    pub active: u32,
    /// Bit per lane that does not execute it and has not returned.
    pub elsewhere: u32,
    /// Bit per lane that executes it and takes the value of one that does not.
    pub undefined: u32,
    /// The instruction.
    pub loc: Loc,
}

/// An index outside of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VectorIndex {
    /// The thread.
    pub thread: ThreadId,
    /// The index.
    pub index: u64,
    /// The vector's components.
    pub count: u32,
    /// The instruction.
    pub loc: Loc,
}

/// Threads that wait at a barrier of the threadgroup while others have returned from the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlyReturn {
    /// The barrier.
    pub loc: Loc,
    /// A thread that waits there.
    pub waiting: ThreadId,
    /// A thread that has returned.
    pub returned: ThreadId,
}

/// What a SIMD-group of the running threadgroup does when a limit ends the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished {
    /// Its first thread that executes or waits.
    pub thread: ThreadId,
    /// Bit per lane that does.
    pub lanes: u32,
    /// The loop that it is in, the call that it makes, or the barrier that it waits at.
    pub loc: Loc,
    /// Whether it waits at a barrier of the threadgroup.
    pub waits: bool,
}

/// Lanes of a SIMD-group that return from the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LanesExit {
    /// The first thread.
    pub thread: ThreadId,
    /// Bit per lane that returns.
    pub lanes: u32,
    /// The instruction.
    pub loc: Loc,
}

/// What an atomic does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and (if it is a compare-and-exchange: perhaps) writes.
    ReadModifyWrite,
}

/// The start of a local's lifetime in the lanes of a SIMD-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalStart {
    /// The first thread.
    pub thread: ThreadId,
    /// Bit per lane.
    pub lanes: u32,
    /// The function.
    pub function: FuncId,
    /// The local.
    pub local: Local,
    /// Where it begins in the private memory of each lane; see [`Accesses::private_index`].
    pub private_index: usize,
    /// Its bytes.
    pub bytes: u64,
    /// The instruction.
    pub loc: Loc,
}

/// Arrival of a SIMD-group at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierArrival {
    /// Who meets.
    pub scope: BarrierScope,
    /// The first thread that arrived; its `generation` is the one that the barrier ends.
    pub thread: ThreadId,
    /// Bit per lane that arrived.
    pub arrived: u32,
    /// The memory flags, as MSL's `mem_flags`; `None`: all memory.
    pub memory: Option<u32>,
    /// The instruction.
    pub loc: Loc,
}

/// A threadgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its position in the grid.
    pub position: [u32; 3],
    /// Its linear number, x fastest.
    pub linear: u64,
    /// Its threads.
    pub size: [u32; 3],
    /// Its SIMD-groups.
    pub simdgroups: u32,
}

/// The sizes an observer needs for shadow memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemorySizes {
    /// Bytes of a threadgroup's memory: [`MemoryPlace::Threadgroup`] offsets are below it.
    pub threadgroup: u64,
    /// Bytes of a SIMD-group's private memory: [`MemoryPlace::Private`] offsets are below it.
    pub private: u64,
}

/// Watches a run. Every method has an empty default.
#[expect(unused_variables, reason = "the defaults ignore what they are told")]
pub trait Observer {
    /// Asked once, before the run.
    fn interests(&self) -> Interests {
        Interests::default()
    }
    /// The run begins.
    fn on_dispatch(&mut self, program: &Program, dispatch: &Dispatch, sizes: MemorySizes) {}
    /// A threadgroup begins; its memory's contents are undefined.
    fn on_group_start(&mut self, group: &Group) {}
    /// A threadgroup ended.
    fn on_group_end(&mut self, group: &Group) {}
    /// An instruction's accesses in all lanes. The default passes each lane on, in ascending order, to
    /// [`Self::on_load`], [`Self::on_store`] or [`Self::on_atomic`], which costs several times as much.
    fn on_accesses(&mut self, accesses: &Accesses<'_>) {
        for lane in accesses.each_lane() {
            let access = accesses.access(lane);
            match accesses.op.atomic() {
                Some(kind) => self.on_atomic(&access, kind),
                None if accesses.op == AccessOp::Load => self.on_load(&access),
                None => self.on_store(&access),
            }
        }
    }
    /// Copies in all lanes. The default passes each lane on to [`Self::on_copy`].
    fn on_copies(&mut self, source: &Accesses<'_>, target: &Accesses<'_>) {
        for lane in target.each_lane() {
            self.on_copy(&source.access(lane), &target.access(lane));
        }
    }
    /// Objects of which the next access writes a part, such as a component of a vector, in all lanes.
    fn on_whole_writes(&mut self, objects: &Accesses<'_>) {}
    /// A plain read.
    fn on_load(&mut self, access: &Access) {}
    /// A plain write.
    fn on_store(&mut self, access: &Access) {}
    /// A copy from memory to memory: a read and a write, reported as one so that shadow memory can follow it.
    fn on_copy(&mut self, source: &Access, target: &Access) {}
    /// An atomic access.
    fn on_atomic(&mut self, access: &Access, kind: AtomicKind) {}
    /// A local's contents became undefined.
    fn on_local_start(&mut self, start: &LocalStart) {}
    /// A SIMD-group arrived at a barrier.
    fn on_barrier(&mut self, arrival: &BarrierArrival) {}
    /// All SIMD-groups of the threadgroup that still run have arrived and go on, in generation `generation`.
    fn on_barrier_passed(&mut self, group: &Group, generation: u32) {}
    /// In a cooperative launch: a threadgroup has come to a barrier of the grid, and another runs next.
    fn on_group_parked(&mut self, group: &Group) {}
    /// All threadgroups that still run have come to a barrier of the grid; what happened before it is ordered
    /// before all that follows.
    fn on_grid_barrier_passed(&mut self) {}
    /// A threadgroup that was parked goes on.
    fn on_group_resumed(&mut self, group: &Group) {}
    /// A fence whose memory, order and scope the module gives.
    fn on_fence(&mut self, fence: &FenceExecuted) {}
    /// A SIMD-group operation under divergence.
    fn on_divergent_simd(&mut self, operation: &DivergentSimd) {}
    /// An index outside of a vector; the component is taken modulo their number.
    fn on_vector_index(&mut self, access: &VectorIndex) {}
    /// Lanes, a bit for each, execute a step of the program ([`Program::step_origin`]).
    fn on_step(&mut self, site: u32, lanes: u32) {}
    /// A division by zero, a shift by too many bits, or a NaN of operands that are none.
    fn on_arithmetic(&mut self, lint: &ArithmeticLint) {}
    /// Lanes return from the kernel. A SIMD-group's last ones may do so at the kernel's end.
    fn on_exit(&mut self, exit: &LanesExit) {}
    /// A barrier that threads wait at which others will never reach, as they have returned.
    fn on_early_return(&mut self, barrier: &EarlyReturn) {}
    /// SIMD-groups of a threadgroup wait at different barriers, which ends the run unless
    /// [`crate::Limits::continue_after_divergence`] is set.
    fn on_divergent_barrier(&mut self, barrier: &DivergentBarrier) {}
    /// The run is about to end by a limit or by its stop flag, before this SIMD-group has ended.
    fn on_unfinished(&mut self, simdgroup: &Unfinished) {}
    /// An access out of bounds.
    fn on_fault(&mut self, fault: &Fault) {}
    /// A barrier that not all lanes reached.
    fn on_partial_barrier(&mut self, barrier: &PartialBarrier) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {}
