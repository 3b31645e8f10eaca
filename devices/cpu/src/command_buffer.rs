//! A submitted command buffer: validated, with its launch tables laid out, ready to run.
//!
//! Owns [`CommandBuffer`] and [`prepare`], which runs on the submitting thread. Invariant: every pointer in
//! `tables` points into a buffer or inline block that `submission` or `inline` holds alive, and every range
//! was checked against it.

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::Arc;

use anymetal_hal::artifact::{ArgumentKind, KernelInfo};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::{Binding, BoundResource, Command, CommandList, Dispatch, IndirectDispatch};
use anymetal_hal::encoded_commands::{EncodedExecution, ExecutedRange};
use anymetal_hal::error::DeviceError;
use anymetal_hal::fence::{Fence, HostFence};
use anymetal_hal::launch::{BoundBuffer, ThreadgroupSlot};
use anymetal_hal::matrix_product;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::{self, DispatchShape};

use crate::aligned::AlignedMemory;
use crate::cooperative;
use crate::guarded::Guard;
use crate::indirect::{CpuIndirect, cpu_indirect};
use crate::memory::{CpuBuffer, MemoryAccount};
use crate::pipeline::{Code, CpuPipeline, cpu_pipeline};
use crate::residency::Residency;
use crate::stack::WORKER_BYTES;
use crate::worker_memory::WorkerNeeds;

/// The alignment of inline bytes: at least that of any MSL type.
const INLINE_ALIGNMENT: usize = 64;
/// Zeros before each of them, for programs that read a little before what they set.
const INLINE_BEFORE: usize = INLINE_ALIGNMENT;

/// The stack that kernels of encoded commands may need: that of a worker, less what lies below a kernel.
pub(crate) const ENCODED_STACK_BYTES: usize = WORKER_BYTES - (1 << 20);

/// The launch tables of all dispatches of a command buffer.
#[derive(Debug, Default)]
pub(crate) struct LaunchTables {
    /// One per command, in order.
    pub(crate) steps: Vec<CommandStep>,
    buffers: Vec<BoundBuffer>,
    /// The bytes of the buffer before each of `buffers`.
    before: Vec<u64>,
    threadgroup_slots: Vec<ThreadgroupSlot>,
    /// Holds the inline bytes that `buffers` points to.
    inline: Option<AlignedMemory>,
    /// The most stack that one of the kernels needs.
    pub(crate) stack_bytes: usize,
    /// What pointers in memory may lead to.
    pub(crate) residency: Residency,
    /// Whether one of the kernels loads pointers from memory.
    loads_pointers: bool,
}

// SAFETY: the pointers lead to buffers and inline memory that travel with the tables (module invariant) and
// whose owners are `Send`.
unsafe impl Send for LaunchTables {}
// SAFETY: a shared table is only read; what its pointers lead to is reached by kernels alone, under the rules
// of `anymetal_hal::launch`.
unsafe impl Sync for LaunchTables {}

/// The stack that the kernels of a command need at most.
fn stack_bytes(command: &Command) -> usize {
    let of = |pipeline: &Arc<dyn Pipeline>| cpu_pipeline(pipeline).map_or(0, CpuPipeline::stack_bytes);
    match command {
        Command::Dispatch(dispatch) => of(dispatch.pipeline()),
        Command::DispatchIndirect(indirect) => of(indirect.dispatch().pipeline()),
        Command::ExecuteIndirect(indirect) => cpu_indirect(indirect).map_or(0, |own| own.tables.stack_bytes),
        // Which kernels there are is known when their turn comes.
        Command::ExecuteEncoded(_) => ENCODED_STACK_BYTES,
        _ => 0,
    }
}

/// What preparing a command has found out.
#[derive(Debug)]
pub(crate) enum CommandStep {
    /// A dispatch with threads in it.
    Dispatch(PreparedDispatch),
    /// A dispatch of nothing.
    EmptyDispatch,
    /// A dispatch whose grid is read when its turn comes; its shape so far is that of one threadgroup.
    Indirect(PreparedDispatch),
    /// Any other command.
    Other,
}

/// A validated dispatch.
#[derive(Debug, Clone)]
pub(crate) struct PreparedDispatch {
    /// The grid.
    pub(crate) shape: DispatchShape,
    /// Memory for each worker.
    pub(crate) needs: WorkerNeeds,
    buffers: std::ops::Range<usize>,
    threadgroup_slots: std::ops::Range<usize>,
}

impl PreparedDispatch {
    /// The same dispatch over another grid of the same threadgroups.
    pub(crate) fn with_shape(&self, shape: DispatchShape) -> Self {
        PreparedDispatch { shape, ..self.clone() }
    }
}

impl LaunchTables {
    /// Empties all but the block of inline bytes.
    fn clear(&mut self) {
        let LaunchTables { steps, buffers, before, threadgroup_slots, .. } = self;
        steps.clear();
        buffers.clear();
        before.clear();
        threadgroup_slots.clear();
        (self.stack_bytes, self.loads_pointers) = (0, false);
        self.residency = Residency::default();
    }

    /// Has zeros for so many inline bytes, in the block of before if that is as long.
    fn set_inline(&mut self, total: usize, guard: Option<Guard>) -> Result<(), DeviceError> {
        let fits = |block: &&AlignedMemory| block.len() == total && block.guard() == guard;
        if total > 0
            && let Some(block) = self.inline.as_ref().filter(fits)
        {
            // SAFETY: the block is as long, and nobody else has these tables.
            unsafe { std::ptr::write_bytes(block.start().as_ptr(), 0, total) };
            return Ok(());
        }
        self.inline = None;
        if total > 0 {
            let memory = AlignedMemory::zeroed_beside(total, guard);
            self.inline = Some(memory.ok_or(DeviceError::OutOfMemory { requested: total as u64 })?);
        }
        Ok(())
    }

    /// The buffer table of a dispatch.
    pub(crate) fn buffers(&self, dispatch: &PreparedDispatch) -> &[BoundBuffer] {
        &self.buffers[dispatch.buffers.clone()]
    }

    /// The bytes of the buffer before each entry of [`Self::buffers`].
    pub(crate) fn before(&self, dispatch: &PreparedDispatch) -> &[u64] {
        &self.before[dispatch.buffers.clone()]
    }

    /// The threadgroup table of a dispatch.
    pub(crate) fn threadgroup_slots(&self, dispatch: &PreparedDispatch) -> &[ThreadgroupSlot] {
        &self.threadgroup_slots[dispatch.threadgroup_slots.clone()]
    }
}

/// The device's side of validation.
pub(crate) struct Preparer<'a> {
    pub(crate) account: &'a Arc<MemoryAccount>,
    pub(crate) limits: &'a Capabilities,
    pub(crate) device: &'a str,
    /// Names the queue to its fences.
    pub(crate) queue: NonZero<usize>,
}

impl Preparer<'_> {
    /// Validates a submission and lays out its tables.
    pub(crate) fn prepare(&self, submission: &CommandList) -> Result<LaunchTables, DeviceError> {
        let mut tables = LaunchTables::default();
        self.prepare_again(submission, &mut tables)?;
        Ok(tables)
    }

    /// As [`Preparer::prepare`], in the memory of tables that nobody uses any more.
    pub(crate) fn prepare_again(
        &self,
        submission: &CommandList,
        tables: &mut LaunchTables,
    ) -> Result<(), DeviceError> {
        tables.clear();
        tables.set_inline(inline_bytes(submission), self.account.guard)?;
        tables.steps.reserve(submission.commands.len());
        let mut inline = InlineCursor { memory: tables.inline.as_ref().map(AlignedMemory::start), used: 0 };
        for command in &submission.commands {
            let step = match command {
                Command::Dispatch(dispatch) => self.dispatch(dispatch, tables, &mut inline)?,
                Command::DispatchIndirect(dispatch) => self.indirect(dispatch, tables, &mut inline)?,
                // Their ranges are within their buffers.
                Command::Copy(copy) => {
                    self.own(copy.source())?;
                    self.own(copy.destination())?;
                    CommandStep::Other
                }
                Command::Fill(fill) => self.own(fill.buffer()).map(|_| CommandStep::Other)?,
                Command::SampleTime(sample) => self.own(sample.buffer()).map(|_| CommandStep::Other)?,
                Command::MatrixProduct(_) => return Err(matrix_product::unsupported(self.device)),
                Command::ExecuteIndirect(indirect) => {
                    let own = cpu_indirect(indirect).filter(|own| own.belongs_to(self.account));
                    let own = own.ok_or_else(|| self.wrong_device("indirect command buffer"))?;
                    tables.loads_pointers |= own.tables.loads_pointers;
                    CommandStep::Other
                }
                Command::ExecuteEncoded(execution) => self.encoded(execution)?,
                // Any event can be signalled and subscribed to from the host, which is this device.
                Command::WaitEvent { .. } | Command::SignalEvent { .. } => CommandStep::Other,
                Command::UpdateFence(fence) | Command::WaitFence(fence) => self.fence(fence)?,
            };
            tables.steps.push(step);
            tables.stack_bytes = tables.stack_bytes.max(stack_bytes(command));
        }
        for resident in &submission.resident {
            self.own(&resident.buffer)?;
        }
        if tables.loads_pointers {
            let indirect = submission.commands.iter().filter_map(|command| match command {
                Command::ExecuteIndirect(indirect) => cpu_indirect(indirect),
                _ => None,
            });
            let bound = indirect.flat_map(|own| &own.tables.buffers).chain(&tables.buffers);
            tables.residency = Residency::of(submission, bound)?;
        }
        Ok(())
    }

    fn dispatch(
        &self,
        dispatch: &Dispatch,
        tables: &mut LaunchTables,
        inline: &mut InlineCursor,
    ) -> Result<CommandStep, DeviceError> {
        let kernel = self.kernel(dispatch.pipeline())?;
        let prepared = self.arguments(kernel, dispatch, tables, inline)?;
        if let Some(prepared) = prepared.as_ref().filter(|_| kernel.grid_barriers)
            && let Some(pipeline) = cpu_pipeline(dispatch.pipeline())
            // The interpreter has limits of its own.
            && let Code::Native { .. } = pipeline.code()
        {
            let groups = prepared.shape.group_count;
            let threads = prepared.shape.threads_per_group();
            cooperative::check(kernel, groups, prepared.needs, pipeline.stack_needs(threads))?;
        }
        Ok(prepared.map_or(CommandStep::EmptyDispatch, CommandStep::Dispatch))
    }

    fn indirect(
        &self,
        indirect: &IndirectDispatch,
        tables: &mut LaunchTables,
        inline: &mut InlineCursor,
    ) -> Result<CommandStep, DeviceError> {
        self.own(indirect.counts())?;
        let kernel = self.kernel(indirect.dispatch().pipeline())?;
        let prepared = self.arguments(kernel, indirect.dispatch(), tables, inline)?;
        Ok(prepared.map_or(CommandStep::EmptyDispatch, CommandStep::Indirect))
    }

    fn kernel<'b>(&self, pipeline: &'b Arc<dyn Pipeline>) -> Result<&'b KernelInfo, DeviceError> {
        Ok(cpu_pipeline(pipeline).ok_or_else(|| self.wrong_device("pipeline"))?.kernel())
    }

    /// Checks a dispatch and lays out its arguments; `None` if its grid is empty.
    fn arguments(
        &self,
        kernel: &KernelInfo,
        dispatch: &Dispatch,
        tables: &mut LaunchTables,
        inline: &mut InlineCursor,
    ) -> Result<Option<PreparedDispatch>, DeviceError> {
        let checked = dispatch.check_complete(self.limits)?;
        tables.loads_pointers |= kernel.loads_pointers;
        let first_buffer = tables.buffers.len();
        tables.buffers.resize(first_buffer + kernel.buffer_slots() as usize, BoundBuffer::UNBOUND);
        tables.before.resize(tables.buffers.len(), 0);
        for binding in dispatch.bindings() {
            let argument = kernel.argument(ArgumentKind::Buffer, binding.index);
            let argument = argument.expect("a checked dispatch binds arguments of its kernel");
            let slot = first_buffer + argument.slot as usize;
            assert!(slot < tables.buffers.len(), "slot {} is not one of the kernel's", argument.slot);
            tables.buffers[slot] = self.bound(binding, inline)?;
            tables.before[slot] = before(kernel, &binding.resource);
        }
        let Some(shape) = checked.shape else {
            return Ok(None);
        };
        let layout = match kernel.threadgroup_reserve {
            0 => Cow::Borrowed(&checked.threadgroup_layout),
            reserve => Cow::Owned(checked.threadgroup_layout.clone().with_reserve(reserve)),
        };
        let first_slot = tables.threadgroup_slots.len();
        tables.threadgroup_slots.extend_from_slice(&layout.slots);
        Ok(Some(PreparedDispatch {
            shape,
            needs: WorkerNeeds {
                threadgroup_bytes: layout.total_bytes,
                scratch_bytes: kernel.scratch_bytes_for(shape.threads_per_group()),
            },
            buffers: first_buffer..tables.buffers.len(),
            threadgroup_slots: first_slot..tables.threadgroup_slots.len(),
        }))
    }

    fn bound(&self, binding: &Binding, inline: &mut InlineCursor) -> Result<BoundBuffer, DeviceError> {
        match &binding.resource {
            BoundResource::Unbound => Ok(BoundBuffer::UNBOUND),
            BoundResource::Bytes(bytes) => Ok(inline.place(bytes)),
            BoundResource::Buffer { buffer, offset, length } => {
                let buffer = self.own(buffer)?;
                let mut len = validate::bound_length(*offset, *length, buffer.length())?;
                // What ends with the buffer ends where its memory does.
                if offset + len == buffer.length() {
                    let memory = buffer.reachable();
                    len = memory.length - memory.offset - offset;
                }
                // The offset is within the buffer or at its end; no dereference happens for length 0.
                Ok(BoundBuffer { base: buffer.start().wrapping_add(*offset as usize), len })
            }
        }
    }

    fn encoded(&self, execution: &EncodedExecution) -> Result<CommandStep, DeviceError> {
        for (memory, range) in execution.ranges() {
            self.own(memory.buffer())?;
            if let ExecutedRange::Indirect { buffer, .. } = range {
                self.own(buffer)?;
            }
        }
        Ok(CommandStep::Other)
    }

    fn fence(&self, fence: &Arc<dyn Fence>) -> Result<CommandStep, DeviceError> {
        let own = fence.as_any().downcast_ref::<HostFence>().ok_or_else(|| self.wrong_device("fence"))?;
        if own.bind_queue(self.queue) { Ok(CommandStep::Other) } else { Err(DeviceError::FenceAcrossQueues) }
    }

    fn own<'b>(&self, buffer: &'b Arc<dyn Buffer>) -> Result<&'b CpuBuffer, DeviceError> {
        own_buffer(buffer, self.account, self.device)
    }

    fn wrong_device(&self, what: &'static str) -> DeviceError {
        DeviceError::WrongDevice { what, device: self.device.to_owned() }
    }
}

/// The buffer, if it belongs to the device.
pub(crate) fn own_buffer<'b>(
    buffer: &'b Arc<dyn Buffer>,
    account: &Arc<MemoryAccount>,
    device: &str,
) -> Result<&'b CpuBuffer, DeviceError> {
    let own = cpu_buffer(buffer).filter(|buffer| buffer.belongs_to(account));
    own.ok_or_else(|| DeviceError::WrongDevice { what: "buffer", device: device.to_owned() })
}

/// The CPU device's own type behind a buffer handle.
pub(crate) fn cpu_buffer(buffer: &Arc<dyn Buffer>) -> Option<&CpuBuffer> {
    buffer.as_any().downcast_ref::<CpuBuffer>()
}

/// Calls `visit` for every buffer that the submission names; some more than once.
pub(crate) fn each_buffer<'a>(submission: &'a CommandList, visit: &mut dyn FnMut(&'a CpuBuffer)) {
    for command in &submission.commands {
        match command {
            Command::ExecuteIndirect(indirect) => {
                cpu_indirect(indirect).into_iter().flat_map(CpuIndirect::buffers).for_each(&mut *visit);
            }
            other => other.each_buffer(&mut |buffer| cpu_buffer(buffer).into_iter().for_each(&mut *visit)),
        }
    }
    submission.resident.iter().filter_map(|resident| cpu_buffer(&resident.buffer)).for_each(&mut *visit);
}

/// The bytes before what is bound that code of a module with whole buffers may access: those of its memory,
/// and with the bounds of Metal's GPUs those of the page that holds inline bytes.
fn before(kernel: &KernelInfo, resource: &BoundResource) -> u64 {
    match resource {
        BoundResource::Bytes(bytes) if !bytes.is_empty() && kernel.threadgroup_reserve != 0 => {
            INLINE_BEFORE as u64
        }
        BoundResource::Buffer { buffer, offset, .. } => {
            offset + cpu_buffer(buffer).map_or(0, |buffer| buffer.reachable().offset)
        }
        BoundResource::Bytes(_) | BoundResource::Unbound => 0,
    }
}

/// The length of one block for all inline bytes of the submission.
fn inline_bytes(submission: &CommandList) -> usize {
    let mut total = 0usize;
    for command in &submission.commands {
        for binding in command.dispatch().map_or(&[][..], Dispatch::bindings) {
            if let BoundResource::Bytes(bytes) = &binding.resource {
                total += INLINE_BEFORE + bytes.len().next_multiple_of(INLINE_ALIGNMENT);
            }
        }
    }
    total
}

/// Where the next inline bytes go.
struct InlineCursor {
    memory: Option<std::ptr::NonNull<u8>>,
    used: usize,
}

impl InlineCursor {
    fn place(&mut self, bytes: &[u8]) -> BoundBuffer {
        let Some(memory) = self.memory.filter(|_| !bytes.is_empty()) else {
            return BoundBuffer::UNBOUND;
        };
        let base = memory.as_ptr().wrapping_add(self.used + INLINE_BEFORE);
        self.used += INLINE_BEFORE + bytes.len().next_multiple_of(INLINE_ALIGNMENT);
        // SAFETY: `inline_bytes` summed up the same steps over the same bindings, so the block has room from
        // `base` on, and nobody else has it yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base, bytes.len()) };
        BoundBuffer { base, len: bytes.len() as u64 }
    }
}
