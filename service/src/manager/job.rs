//! Work that can be attempted again: a kernel with its arguments, or a graph.
//!
//! Owns [`Job`]. Invariant: its commands are encoded anew for each attempt from what it keeps, and
//! use no buffer that is not in `memories`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use anymetal::argument::BoundResource;
use anymetal::command::{Deadline, Grid};
use anymetal::reflection::{Access, ArgumentInfo, ArgumentKind};
use anymetal::{Error, Queue, Submission};
use anymetal_policy::idempotence::BoundArgument;

use super::buffer::{Bound, ManagedBinding};
use super::core::Core;
use super::error::ManagerError;
use super::gate::BufferUses;
use super::generation::Generation;
use super::graph::{GraphShared, Placed, undeclared};
use super::kernel::KernelShared;
use super::launch::{Piece, Split};
use super::memory::Memory;
use anymetal::call::FinishedCall;
use anymetal::call::Signature;

pub(super) struct Job<'a> {
    name: Arc<str>,
    work: JobWork<'a>,
    arguments: Vec<BoundArgument>,
    memories: Vec<JobMemory>,
}

enum JobWork<'a> {
    Kernel {
        kernel: &'a KernelShared,
        /// In its place in a degraded mode.
        reduced: Option<&'a KernelShared>,
        call: FinishedCall<ManagedBinding>,
        split: Option<Split<'a>>,
    },
    Graph(&'a GraphShared),
}

/// A buffer of a job; each is there once.
pub(super) struct JobMemory {
    pub(super) memory: Arc<Memory>,
    pub(super) writes: bool,
    /// All of it is written, and none of it read: its contents before do not matter.
    pub(super) overwritten: bool,
}

/// What is committed at once.
pub(super) enum JobPiece<'j> {
    Call { kernel: &'j KernelShared, call: Cow<'j, FinishedCall<ManagedBinding>> },
    Graph,
}

impl JobPiece<'_> {
    /// Makes what it needs on that device, which may compile.
    pub(super) fn prepare(&self, site: &Generation) -> Result<(), Error> {
        match self {
            JobPiece::Call { kernel, .. } => kernel.pipeline(site).map(drop),
            JobPiece::Graph => Ok(()),
        }
    }
}

impl<'a> Job<'a> {
    pub(super) fn kernel(
        core: &Arc<Core>,
        kernel: &'a KernelShared,
        reduced: Option<&'a KernelShared>,
        call: FinishedCall<ManagedBinding>,
        split: Option<Split<'a>>,
    ) -> Result<Self, ManagerError> {
        if [Some(kernel), reduced].into_iter().flatten().any(|kernel| !kernel.is_of(core)) {
            return Err(ManagerError::Foreign { what: "kernel" });
        }
        if let Some(reduced) = reduced.filter(|reduced| !takes_the_same(reduced, kernel)) {
            let (kernel, reduced) = (kernel.name().to_string(), reduced.name().to_string());
            return Err(ManagerError::ReducedDiffers { kernel, reduced });
        }
        let (arguments, memories) = arguments(kernel.signature(), &call);
        let name = Arc::clone(kernel.name());
        Job { name, work: JobWork::Kernel { kernel, reduced, call, split }, arguments, memories }.of(core)
    }

    pub(super) fn graph(core: &Arc<Core>, graph: &'a GraphShared) -> Result<Self, ManagerError> {
        if !graph.is_of(core) {
            return Err(ManagerError::Foreign { what: "graph" });
        }
        let mut memories = Vec::new();
        let declared = graph.declared().iter().enumerate().map(|(index, declared)| {
            note(&mut memories, &declared.memory, declared.access, false);
            BoundArgument {
                index: index as u32,
                name: declared.memory.label().to_owned(),
                access: declared.access,
                memory: declared.memory.id(),
                bytes: 0..declared.memory.length(),
                can_snapshot: true,
            }
        });
        let arguments = declared.collect();
        Job { name: Arc::clone(graph.name()), work: JobWork::Graph(graph), arguments, memories }.of(core)
    }

    fn of(self, core: &Arc<Core>) -> Result<Self, ManagerError> {
        match self.memories.iter().all(|used| used.memory.is_of(core)) {
            true => Ok(self),
            false => Err(ManagerError::Foreign { what: "buffer" }),
        }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What it does with which bytes, by reflection or as the graph declares.
    pub(super) fn arguments(&self) -> &[BoundArgument] {
        &self.arguments
    }

    pub(super) fn memories(&self) -> &[JobMemory] {
        &self.memories
    }

    pub(super) fn memory(&self, id: u64) -> Option<&Arc<Memory>> {
        self.memories.iter().map(|used| &used.memory).find(|memory| memory.id() == id)
    }

    pub(super) fn written(&self) -> impl Iterator<Item = &Arc<Memory>> {
        self.memories.iter().filter(|used| used.writes).map(|used| &used.memory)
    }

    pub(super) fn uses(&self) -> BufferUses {
        BufferUses::new(self.memories.iter().map(|used| (used.memory.id(), used.writes)))
    }

    /// The most degraded level: 1 is alone on its device, each further one halves the pieces.
    pub(super) fn most_degraded(&self) -> u8 {
        match &self.work {
            JobWork::Kernel { split: Some(_), .. } => u8::MAX,
            JobWork::Kernel { split: None, .. } | JobWork::Graph(_) => 1,
        }
    }

    /// Whether another kernel does it at that level.
    pub(super) fn is_reduced(&self, level: u8) -> bool {
        level > 0 && matches!(self.work, JobWork::Kernel { reduced: Some(_), .. })
    }

    /// What is committed one after the other at that level.
    pub(super) fn pieces(&self, level: u8) -> Result<Vec<JobPiece<'_>>, ManagerError> {
        let JobWork::Kernel { kernel, reduced, call, split } = &self.work else {
            return Ok(vec![JobPiece::Graph]);
        };
        let kernel = reduced.filter(|_| level > 0).unwrap_or(kernel);
        match split.as_ref().filter(|_| level > 1) {
            None => Ok(vec![JobPiece::Call { kernel, call: Cow::Borrowed(call) }]),
            Some(split) => {
                let count = 1usize.checked_shl(u32::from(level) - 1).unwrap_or(usize::MAX);
                let pieces = (0..count).map(|number| {
                    let piece =
                        split(Piece::new(number, count), super::launch::PieceCall::new(kernel.signature()));
                    let call = piece.finish()?;
                    self.check_declared(kernel.signature(), &call)?;
                    Ok(JobPiece::Call { kernel, call: Cow::Owned(call) })
                });
                pieces.collect()
            }
        }
    }

    /// Whether a piece keeps to the buffers of the whole, and writes no other.
    fn check_declared(
        &self,
        signature: &Signature,
        call: &FinishedCall<ManagedBinding>,
    ) -> Result<(), ManagerError> {
        let (_, memories) = arguments(signature, call);
        let is_declared = |used: &JobMemory| {
            let mut whole = self.memories.iter();
            whole.any(|whole| whole.memory.id() == used.memory.id() && (whole.writes || !used.writes))
        };
        match memories.iter().find(|used| !is_declared(used)) {
            Some(used) => Err(undeclared(&self.name, &used.memory)),
            None => Ok(()),
        }
    }

    /// Commits a piece with the buffers as they are placed on that device.
    pub(super) fn submit(
        &self,
        piece: &JobPiece<'_>,
        site: &Generation,
        queue: &Queue,
        placed: &Placed,
        deadline: Deadline,
    ) -> Result<Submission, ManagerError> {
        match (piece, &self.work) {
            (JobPiece::Call { kernel, call }, _) => {
                let call = call.with_bindings(|binding| match &binding.bound {
                    Bound::Memory(memory, bytes) => bound(&self.name, placed, memory, bytes),
                    Bound::Value(value) => Ok(value.clone()),
                })?;
                Ok(call.submit(queue, &kernel.pipeline(site)?, &self.name, deadline)?)
            }
            (_, JobWork::Graph(graph)) => {
                let built = graph.built(site, placed)?;
                Ok(match deadline {
                    Deadline::After(limit) => queue.submit_graph_within(built.executable(), limit),
                    _ => queue.submit_graph(built.executable()),
                }?)
            }
            (JobPiece::Graph, JobWork::Kernel { .. }) => unreachable!("pieces of a kernel are calls"),
        }
    }
}

/// Whether a kernel can have the arguments of another.
fn takes_the_same(kernel: &KernelShared, other: &KernelShared) -> bool {
    let of = |kernel: &KernelShared| {
        let arguments = kernel.signature().kernel().arguments.iter();
        let shape = |argument: &ArgumentInfo| {
            (argument.kind, argument.index, argument.element_size, argument.access, argument.is_reference)
        };
        arguments.map(shape).collect::<Vec<_>>()
    };
    of(kernel) == of(other)
}

fn bound(
    work: &str,
    placed: &Placed,
    memory: &Arc<Memory>,
    bytes: &Range<u64>,
) -> Result<BoundResource, ManagerError> {
    let buffer = placed.get(&memory.id()).ok_or_else(|| undeclared(work, memory))?;
    let slice = buffer.region().slice(bytes.clone()).map_err(Error::from)?;
    Ok(slice.resource())
}

/// The threads of a call's grid along each axis.
fn threads(call: &FinishedCall<ManagedBinding>) -> [u64; 3] {
    match call.grid {
        Grid::Threads(threads) => threads.map(u64::from),
        Grid::Threadgroups(groups) => {
            std::array::from_fn(|axis| u64::from(groups[axis]) * u64::from(call.group_size[axis]))
        }
    }
}

/// What a call does with which bytes, and each of its buffers once.
fn arguments(
    signature: &Signature,
    call: &FinishedCall<ManagedBinding>,
) -> (Vec<BoundArgument>, Vec<JobMemory>) {
    let (mut arguments, mut memories) = (Vec::new(), Vec::new());
    let threads = threads(call);
    for (index, binding) in &call.bindings {
        let Bound::Memory(memory, bytes) = &binding.bound else { continue };
        let info = signature.kernel().argument(ArgumentKind::Buffer, *index);
        let mut argument = info.and_then(|info| BoundArgument::new(info, memory.id(), bytes.clone(), true));
        let is_whole = *bytes == (0..memory.length());
        let overwritten =
            is_whole && info.is_some_and(|info| is_overwritten(info, signature, threads, memory));
        if let Some(argument) = argument.as_mut().filter(|argument| argument.access == Access::Write)
            && !overwritten
        {
            // What it does not write stays, so it is changed in place, and restored before another attempt.
            argument.access = Access::ReadWrite;
        }
        let access = argument.as_ref().map_or(Access::Read, |argument| argument.access);
        note(&mut memories, memory, access, overwritten);
        arguments.extend(argument);
    }
    (arguments, memories)
}

/// Notes a use of a buffer. One that is overwritten by one argument and used by another may be read, and
/// counts as changed in place.
fn note(memories: &mut Vec<JobMemory>, memory: &Arc<Memory>, access: Access, overwritten: bool) {
    let writes = matches!(access, Access::Write | Access::ReadWrite);
    match memories.iter_mut().find(|known| known.memory.id() == memory.id()) {
        Some(known) => (known.writes, known.overwritten) = (known.writes || writes, false),
        None => memories.push(JobMemory { memory: Arc::clone(memory), writes, overwritten }),
    }
}

/// Whether a grid stores all bytes of an argument's buffer, which it does not read.
fn is_overwritten(info: &ArgumentInfo, signature: &Signature, threads: [u64; 3], memory: &Memory) -> bool {
    let mut stored = signature.kernel().overwritten.iter();
    let stored = stored.find(|stored| stored.argument == info.index);
    stored.is_some_and(|stored| stored.bytes(threads) >= memory.length())
}
