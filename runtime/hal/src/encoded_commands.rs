//! Indirect command buffers that kernels encode: their memory, and commands made of it again.
//!
//! Owns [`CommandMemory`], in which kernels and the host write commands ([`anymetal_abi::commands`]);
//! [`EncodedExecution`], the command that executes them; and [`attach`], which gives a command buffer's work
//! what encoding and executing need before a queue has it. Invariant: whatever the memory holds, decoding
//! gives a dispatch of buffers that its command buffer holds, which devices check like any other, or a typed
//! error. Decision 0031 says why.

mod counts;
mod residency;

use std::ops::Range;
use std::sync::Arc;

use anymetal_abi::commands::{
    Command as Encoded, CommandGrid, CommandLayout, MAX_BINDINGS, MAX_COMMANDS, MAX_ENCODED_BUFFERS,
    ResourceTable,
};

use crate::artifact::{ArgumentKind, KernelInfo};
use crate::binding::{Binding, BoundResource, ThreadgroupMemory};
use crate::buffer::{Buffer, BufferDescriptor};
use crate::capabilities::Capabilities;
use crate::command::{Command, Dispatch};
use crate::device::Device;
use crate::error::DeviceError;
use crate::grid::Grid;
use crate::pipeline::Pipeline;
use crate::stage_input;
use crate::validate::bound_length;
use anymetal_types::texture::BindingRole;

pub use crate::error::InvalidCommand;
pub use anymetal_abi::commands as memory_layout;
pub use anymetal_abi::commands::EncodingError;
pub use counts::ExecutionCounts;
pub use residency::Residency;

/// Maximum number of executions of one [`Repeat::WhileEncoded`].
pub const MAX_DEPTH: u32 = 1 << 16;

/// The memory of an indirect command buffer. Clones share it.
#[derive(Debug, Clone)]
pub struct CommandMemory {
    buffer: Arc<dyn Buffer>,
    layout: CommandLayout,
}

impl CommandMemory {
    /// Memory for commands that do nothing.
    pub fn new(device: &dyn Device, layout: CommandLayout, label: &str) -> Result<Self, DeviceError> {
        let refused = |what: String, alternative: &str| {
            let (device, alternative) = (device.name().to_owned(), alternative.to_owned());
            Err(DeviceError::Unsupported { device, what, alternative })
        };
        if layout.capacity > MAX_COMMANDS {
            let what = format!("an indirect command buffer of {} commands", layout.capacity);
            return refused(what, &format!("use several of at most {MAX_COMMANDS}"));
        }
        if layout.buffers.max(layout.threadgroup_memories) > MAX_BINDINGS {
            let what = format!("commands with more than {MAX_BINDINGS} buffers or threadgroup memories");
            return refused(what, "put several values into one buffer");
        }
        let descriptor =
            BufferDescriptor { label: label.to_owned(), ..BufferDescriptor::shared(layout.bytes()) };
        let buffer = device.buffer(&descriptor)?;
        if buffer.device_address().is_none() {
            return refused(
                "indirect command buffers that kernels encode".to_owned(),
                "encode the commands on the host",
            );
        }
        buffer.write(0, &layout.header())?;
        Ok(CommandMemory { buffer, layout })
    }

    /// The buffer that it is in.
    pub fn buffer(&self) -> &Arc<dyn Buffer> {
        &self.buffer
    }

    /// Its sizes.
    pub fn layout(&self) -> &CommandLayout {
        &self.layout
    }

    /// What stands for it in argument buffers: its address.
    pub fn handle(&self) -> u64 {
        self.buffer.device_address().unwrap_or(0)
    }

    /// A range of commands, if it has them.
    pub fn check(&self, range: Range<u64>) -> Result<Range<u32>, DeviceError> {
        let capacity = self.layout.capacity;
        if range.start > range.end || range.end > capacity.into() {
            let label = self.buffer.label().to_owned();
            return Err(DeviceError::CommandsOutsideBuffer {
                label,
                start: range.start,
                end: range.end,
                capacity,
            });
        }
        Ok(range.start as u32..range.end as u32)
    }

    /// Where commands are in the buffer.
    pub fn bytes_of(&self, commands: &Range<u32>) -> Range<u64> {
        self.layout.command_offset(commands.start)..self.layout.command_offset(commands.end)
    }

    /// Writes a command from the host.
    pub fn write(&self, number: u32, command: &Encoded) -> Result<(), DeviceError> {
        let range = self.check(number.into()..u64::from(number) + 1)?;
        let bytes: Vec<u8> = command.encode(&self.layout).into_iter().flat_map(u32::to_le_bytes).collect();
        self.buffer.write(self.bytes_of(&range).start, &bytes)
    }

    /// Reads a command to the host.
    pub fn read(&self, number: u32) -> Result<Encoded, DeviceError> {
        let range = self.bytes_of(&self.check(number.into()..u64::from(number) + 1)?);
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.buffer.read(range.start, &mut bytes)?;
        Encoded::decode(&words(&bytes), &self.layout).map_err(|error| self.invalid(number, error))
    }

    /// Makes commands do nothing, from the host.
    pub fn reset(&self, range: Range<u64>) -> Result<(), DeviceError> {
        let range = self.bytes_of(&self.check(range)?);
        self.buffer.write(range.start, &vec![0; (range.end - range.start) as usize])
    }

    fn invalid(&self, command: u32, error: EncodingError) -> DeviceError {
        self.refuse(command, InvalidCommand::Encoding(error))
    }

    fn refuse(&self, command: u32, reason: InvalidCommand) -> DeviceError {
        let label = self.buffer.label().to_owned();
        DeviceError::InvalidCommand { label, command, reason: Box::new(reason) }
    }
}

/// The words of commands, as a device has read them.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Finds pipelines by the handles that commands have. Called on threads of devices: it may compile, but waits
/// for no work.
pub trait IndirectPipelines: Send + Sync + std::fmt::Debug {
    /// The pipeline to run such a dispatch; `None`: the handle is of none.
    fn pipeline(
        &self,
        handle: u64,
        grid: Grid,
        group_size: [u32; 3],
    ) -> Result<Option<Arc<dyn Pipeline>>, DeviceError>;
}

/// Which commands are executed.
#[derive(Debug, Clone)]
pub enum ExecutedRange {
    /// These.
    Commands(Range<u32>),
    /// As two 32-bit words in a buffer say when the execution's turn comes: the first command, and how many.
    Indirect {
        /// The buffer.
        buffer: Arc<dyn Buffer>,
        /// The first byte of the words, a multiple of 4.
        offset: u64,
    },
}

/// The bytes of [`ExecutedRange::Indirect`].
pub const INDIRECT_RANGE_BYTES: u64 = 8;

/// How often an [`EncodedExecution`] goes through its ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Once.
    Once,
    /// One after the other, over and over, until one is empty. More than `max_depth` executions end the
    /// command buffer with [`DeviceError::NestingTooDeep`].
    WhileEncoded {
        /// The most executions.
        max_depth: u32,
    },
}

/// Executes commands that kernels have encoded.
///
/// Invariant: its ranges are within their indirect command buffers or, as far as they are read from buffers,
/// these are long enough.
#[derive(Debug, Clone)]
pub struct EncodedExecution {
    ranges: Vec<(CommandMemory, ExecutedRange)>,
    repeat: Repeat,
    pipelines: Arc<dyn IndirectPipelines>,
    inherited_pipeline: u64,
    inherited_bindings: Vec<Binding>,
    pub(crate) used: Vec<Arc<dyn Buffer>>,
    pub(crate) encodes: Vec<CommandMemory>,
    /// Checked before those of the device that executes the commands.
    limits: Vec<Arc<Capabilities>>,
    /// The buffers that commands may have, once [`attach`] has found them.
    residency: Arc<Residency>,
    counts: Arc<ExecutionCounts>,
}

impl EncodedExecution {
    /// Executes these ranges of indirect command buffers in order, with pipelines that are found by their
    /// handles.
    ///
    /// # Errors
    /// [`DeviceError::CommandsOutsideBuffer`]; [`DeviceError::MisalignedCounts`] and
    /// [`DeviceError::RangeOutsideBuffer`] for a range that is read from a buffer.
    pub fn new(
        ranges: Vec<(CommandMemory, ExecutedRange)>,
        repeat: Repeat,
        pipelines: Arc<dyn IndirectPipelines>,
    ) -> Result<Self, DeviceError> {
        for (memory, range) in &ranges {
            match range {
                ExecutedRange::Commands(range) => {
                    memory.check(range.start.into()..range.end.into())?;
                }
                ExecutedRange::Indirect { buffer, offset } => {
                    let what = "an execution of encoded commands";
                    if !offset.is_multiple_of(4) {
                        return Err(DeviceError::MisalignedCounts { kernel: what.into(), offset: *offset });
                    }
                    crate::validate::check_range(*offset, INDIRECT_RANGE_BYTES, buffer.length())?;
                }
            }
        }
        Ok(EncodedExecution {
            ranges,
            repeat,
            pipelines,
            inherited_pipeline: 0,
            inherited_bindings: Vec::new(),
            used: Vec::new(),
            encodes: Vec::new(),
            limits: Vec::new(),
            residency: Arc::default(),
            counts: Arc::default(),
        })
    }

    /// Sets what commands inherit: the handle of a pipeline, 0 for none, and bindings.
    #[must_use]
    pub fn inherited(self, pipeline: u64, bindings: Vec<Binding>) -> Self {
        EncodedExecution { inherited_pipeline: pipeline, inherited_bindings: bindings, ..self }
    }

    /// Sets the buffers that the commands use in addition to those of their command buffer.
    #[must_use]
    pub fn using(self, used: Vec<Arc<dyn Buffer>>) -> Self {
        EncodedExecution { used, ..self }
    }

    /// Sets the indirect command buffers that the commands encode.
    ///
    /// # Errors
    /// [`DeviceError::TooManyEncodedBuffers`].
    pub fn encoding(self, encodes: Vec<CommandMemory>) -> Result<Self, DeviceError> {
        check_encodes(&encodes)?;
        Ok(EncodedExecution { encodes, ..self })
    }

    /// The indirect command buffers and their executed ranges, in order.
    pub fn ranges(&self) -> &[(CommandMemory, ExecutedRange)] {
        &self.ranges
    }

    /// The bindings for commands that inherit them.
    pub(crate) fn inherited_bindings(&self) -> &[Binding] {
        &self.inherited_bindings
    }

    /// What it did, once it has ended. Clones share it.
    pub fn counts(&self) -> &Arc<ExecutionCounts> {
        &self.counts
    }

    /// The range to execute as the `depth`-th, from 0; `None` after the last one.
    pub fn range(&self, depth: u32) -> Option<&(CommandMemory, ExecutedRange)> {
        match self.repeat {
            Repeat::Once => self.ranges.get(depth as usize),
            Repeat::WhileEncoded { .. } => self.ranges.get(depth as usize % self.ranges.len().max(1)),
        }
    }

    /// Whether to execute these commands as the `depth`-th execution, from 0.
    ///
    /// # Errors
    /// [`DeviceError::NestingTooDeep`] at the limit of [`Repeat::WhileEncoded`].
    pub fn should_execute(&self, depth: u32, commands: &Range<u32>) -> Result<bool, DeviceError> {
        let Repeat::WhileEncoded { max_depth } = self.repeat else { return Ok(true) };
        let limit = max_depth.min(MAX_DEPTH);
        if !commands.is_empty() && depth >= limit {
            return Err(DeviceError::NestingTooDeep { limit });
        }
        Ok(!commands.is_empty())
    }

    /// The dispatch that a command stands for, checked with the limits of [`Command::limit`]; `None`: it does
    /// nothing.
    pub fn dispatch(
        &self,
        memory: &CommandMemory,
        number: u32,
        words: &[u32],
    ) -> Result<Option<Dispatch>, DeviceError> {
        let refuse = |reason| memory.refuse(number, reason);
        let command =
            Encoded::decode(words, memory.layout()).map_err(|error| memory.invalid(number, error))?;
        let grid = match command.grid {
            None => return Ok(None),
            Some(CommandGrid::Threadgroups(groups)) => Grid::Threadgroups(groups),
            Some(CommandGrid::Threads(threads)) => Grid::Threads(threads),
        };
        let inherits = memory.layout().inherits_pipeline;
        let handle = if inherits { self.inherited_pipeline } else { command.pipeline };
        if handle == 0 {
            return Err(refuse(InvalidCommand::NoPipeline));
        }
        let found = self.pipelines.pipeline(handle, grid, command.group_size)?;
        let pipeline = found.ok_or_else(|| refuse(InvalidCommand::UnknownPipeline { handle }))?;
        let kernel = pipeline.kernel();
        if kernel.has_messages() {
            return Err(refuse(InvalidCommand::Messages { kernel: kernel.name.clone() }));
        }
        let bindings = self.bindings(memory, kernel, &command).map_err(refuse)?;
        let threadgroup_memory = threadgroup_memory(kernel, &command.threadgroup_memory);
        let dispatch = Dispatch::new(pipeline, grid, command.group_size);
        let dispatch = dispatch.with_bindings(bindings).with_threadgroup_memory(threadgroup_memory);
        self.limits.iter().try_for_each(|limits| dispatch.check_alone(limits).map(drop))?;
        Ok(Some(dispatch))
    }

    /// Also checks the commands with these limits when they are known.
    pub(crate) fn limit(&mut self, limits: &Arc<Capabilities>) {
        self.limits.push(Arc::clone(limits));
    }

    fn bindings(
        &self,
        memory: &CommandMemory,
        kernel: &KernelInfo,
        command: &Encoded,
    ) -> Result<Vec<Binding>, InvalidCommand> {
        let takes = |index| kernel.argument(ArgumentKind::Buffer, index).is_some();
        let mut bindings = Vec::new();
        if memory.layout().inherits_buffers {
            let taken = self.inherited_bindings.iter().filter(|binding| takes(binding.index));
            bindings.extend(taken.cloned());
        } else {
            let set =
                command.buffers.iter().zip(0..).filter(|&(&address, index)| address != 0 && takes(index));
            for (&address, index) in set {
                let found = self.residency.find(address);
                let (buffer, offset) = found.ok_or(InvalidCommand::NotResident { index, address })?;
                let resource = BoundResource::Buffer { buffer: Arc::clone(buffer), offset, length: None };
                bindings.push(Binding { index, resource });
            }
        }
        if kernel.encodes_commands() {
            bindings.extend(encoded_bindings(&self.encodes));
            complete(kernel, &mut bindings);
        }
        stage_input::complete(kernel, &mut bindings);
        Ok(bindings)
    }
}

fn threadgroup_memory(kernel: &KernelInfo, lengths: &[u32]) -> Vec<ThreadgroupMemory> {
    let takes = |index| kernel.argument(ArgumentKind::ThreadgroupMemory, index).is_some();
    let set = lengths.iter().zip(0..).filter(|&(&length, index)| length != 0 && takes(index));
    set.map(|(&length, index)| ThreadgroupMemory { index, length: length.into() }).collect()
}

/// Refuses more indirect command buffers than a kernel can be given.
pub fn check_encodes(memories: &[CommandMemory]) -> Result<(), DeviceError> {
    match memories.len() {
        given if given > MAX_ENCODED_BUFFERS as usize => {
            Err(DeviceError::TooManyEncodedBuffers { given, limit: MAX_ENCODED_BUFFERS })
        }
        _ => Ok(()),
    }
}

/// What binds indirect command buffers to a kernel that encodes.
pub fn encoded_bindings(memories: &[CommandMemory]) -> impl Iterator<Item = Binding> {
    memories.iter().zip(0..MAX_ENCODED_BUFFERS).filter_map(|(memory, number)| {
        let index = BindingRole::EncodedCommands(number).index()?;
        let resource = BoundResource::Buffer { buffer: Arc::clone(memory.buffer()), offset: 0, length: None };
        Some(Binding { index, resource })
    })
}

/// Gives the work of a command buffer what encoding and executing need: the resources of kernels that encode,
/// and the buffers that encoded commands may have. To be called once, when everything else is bound.
pub fn attach(commands: &mut [Command]) {
    let mut executes = false;
    for command in &mut *commands {
        executes |= matches!(command, Command::ExecuteEncoded(_));
        let Some(dispatch) = command.dispatch_mut() else { continue };
        let (kernel, bindings) = dispatch.late_bindings();
        if kernel.encodes_commands() {
            complete(kernel, bindings);
        }
    }
    if !executes {
        return;
    }
    let residency = Arc::new(Residency::of(commands));
    for command in commands {
        if let Command::ExecuteEncoded(execution) = command {
            execution.residency = Arc::clone(&residency);
        }
    }
}

/// Binds what a kernel that encodes still lacks: nothing for indirect command buffers that there are not, and
/// the table.
fn complete(kernel: &KernelInfo, bindings: &mut Vec<Binding>) {
    let bound = |bindings: &[Binding], index: u32| {
        let binding = bindings.iter().rev().find(|binding| binding.index == index);
        binding.and_then(|binding| place(&binding.resource)).unwrap_or((0, 0))
    };
    let mut table = ResourceTable::default();
    let buffers = kernel.arguments.iter().filter(|argument| argument.kind == ArgumentKind::Buffer);
    for argument in buffers {
        match argument.role() {
            BindingRole::Buffer => table.buffers.push(bound(bindings, argument.index)),
            BindingRole::EncodedCommands(number) => {
                if bindings.iter().all(|binding| binding.index != argument.index) {
                    bindings.push(Binding { index: argument.index, resource: BoundResource::Unbound });
                }
                table.commands[number as usize] = bound(bindings, argument.index).0;
            }
            BindingRole::ResourceTable => {
                let resource = BoundResource::Bytes(table.to_bytes());
                bindings.push(Binding { index: argument.index, resource });
            }
            _ => {}
        }
    }
}

/// Address and length of what is bound; `None` if it has no address for good.
fn place(resource: &BoundResource) -> Option<(u64, u64)> {
    let BoundResource::Buffer { buffer, offset, length } = resource else { return None };
    let length = bound_length(*offset, *length, buffer.length()).ok()?;
    Some((buffer.device_address()?.checked_add(*offset)?, length))
}
