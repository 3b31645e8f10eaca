//! `MTLIndirectCommandBuffer` for compute commands.
//!
//! Owns the commands, by index. An encoder that executes them encodes them as they are at that
//! moment, so changes that the host makes later are for later executions. Once kernels may encode commands,
//! these are elsewhere ([`super::encoded`]).

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anymetal::command::IndirectCommand as MemoryCommand;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::buffer::Buffer;
use super::commands::Commands;
use super::descriptor::descriptor;
use super::device::Device;
use super::dispatches::{Bindings, Grid, MAX_BUFFERS, Slot, UnboundReference, check_threadgroup_memory};
use super::encoded::Executed;
use super::label::Label;
use super::pipeline::Pipeline;
use super::size::{ResourceId, Size};
use super::violation;
use crate::foundation::{NSString, Range};

/// `MTLIndirectCommandTypeConcurrentDispatch` and `MTLIndirectCommandTypeConcurrentDispatchThreads`.
const DISPATCHES: usize = 1 << 5 | 1 << 6;

descriptor! {
    /// What indirect command buffer to make.
    IndirectDescriptor = "MTLIndirectCommandBufferDescriptor", IndirectProperties;
    values {
        types, set_types: usize = 0, [commandTypes] [setCommandTypes:];
        inherits_pipeline, set_inherits_pipeline: objc2::runtime::Bool = objc2::runtime::Bool::NO, [inheritPipelineState] [setInheritPipelineState:];
        inherits_buffers, set_inherits_buffers: objc2::runtime::Bool = objc2::runtime::Bool::NO, [inheritBuffers] [setInheritBuffers:];
        vertex_buffers, set_vertex_buffers: usize = MAX_BUFFERS, [maxVertexBufferBindCount] [setMaxVertexBufferBindCount:];
        fragment_buffers, set_fragment_buffers: usize = MAX_BUFFERS, [maxFragmentBufferBindCount] [setMaxFragmentBufferBindCount:];
        kernel_buffers, set_kernel_buffers: usize = MAX_BUFFERS, [maxKernelBufferBindCount] [setMaxKernelBufferBindCount:];
        threadgroup_memories, set_threadgroup_memories: usize = MAX_BUFFERS, [maxKernelThreadgroupMemoryBindCount] [setMaxKernelThreadgroupMemoryBindCount:];
    }
    objects {}
}

/// A command, or none yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndirectCommand {
    pub(crate) pipeline: Option<Retained<Pipeline>>,
    pub(crate) bindings: Bindings,
    pub(crate) dispatch: Option<(Grid, Size)>,
}

/// The instance variables of an indirect command buffer.
#[derive(Debug)]
pub(crate) struct IndirectIvars {
    pub(crate) device: Retained<Device>,
    pub(crate) label: Label,
    pub(crate) inherits_pipeline: bool,
    pub(crate) inherits_buffers: bool,
    /// Indices of buffers, and of threadgroup memory, are below these.
    pub(crate) buffers: usize,
    pub(crate) threadgroup_memories: usize,
    commands: Mutex<Vec<IndirectCommand>>,
    /// Once kernels may encode commands.
    pub(crate) encoded: OnceLock<anymetal::command::IndirectCommandBuffer>,
}

impl IndirectIvars {
    /// The memory that kernels encode, if they may.
    pub(crate) fn encoded(&self) -> Option<&anymetal::command::IndirectCommandBuffer> {
        self.encoded.get()
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalIndirectCommandBuffer"]
    #[ivars = IndirectIvars]
    #[derive(Debug)]
    pub(crate) struct IndirectBuffer;

    impl IndirectBuffer {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method(gpuResourceID))]
        fn resource_id(&self) -> ResourceId {
            let memory = self.shared_memory("MTLIndirectCommandBuffer gpuResourceID");
            ResourceId { number: memory.gpu_resource_id() }
        }

        #[unsafe(method(size))]
        fn size(&self) -> usize {
            self.lock().len()
        }

        #[unsafe(method(allocatedSize))]
        fn allocated_size(&self) -> usize {
            self.lock().len() * size_of::<IndirectCommand>()
        }

        #[unsafe(method(resetWithRange:))]
        fn reset_range(&self, range: Range) {
            self.reset("MTLIndirectCommandBuffer resetWithRange:", range);
        }

        #[unsafe(method_id(indirectComputeCommandAtIndex:))]
        fn command_at(&self, index: usize) -> Retained<ComputeCommand> {
            self.check("MTLIndirectCommandBuffer indirectComputeCommandAtIndex:", Range { location: index, length: 1 });
            crate::foundation::object(CommandIvars { buffer: self.retain(), index })
        }
    }
);

/// The commands that an indirect command buffer may have.
const MAX_COMMANDS: usize = 1 << 20;

impl IndirectBuffer {
    /// One of so many commands, for a method that makes it.
    pub(crate) fn make(
        method: &str,
        device: Retained<Device>,
        descriptor: &IndirectDescriptor,
        count: usize,
    ) -> Retained<IndirectBuffer> {
        let properties = descriptor.ivars();
        if properties.types() & !DISPATCHES != 0 || properties.types() == 0 {
            violation(method, "the command types are those of compute commands, and at least one");
        }
        if count > MAX_COMMANDS {
            violation(method, format_args!("{count} commands are more than {MAX_COMMANDS}"));
        }
        let bindings = [
            ("maxKernelBufferBindCount", properties.kernel_buffers()),
            ("maxKernelThreadgroupMemoryBindCount", properties.threadgroup_memories()),
        ];
        if let Some((name, bound)) = bindings.into_iter().find(|(_, bound)| *bound > MAX_BUFFERS) {
            violation(method, format_args!("{name} is {bound}, and at most {MAX_BUFFERS}"));
        }
        crate::foundation::object(IndirectIvars {
            device,
            label: Label::default(),
            inherits_pipeline: properties.inherits_pipeline().as_bool(),
            inherits_buffers: properties.inherits_buffers().as_bool(),
            buffers: properties.kernel_buffers(),
            threadgroup_memories: properties.threadgroup_memories(),
            commands: Mutex::new(vec![IndirectCommand::default(); count]),
            encoded: OnceLock::new(),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<IndirectCommand>> {
        self.ivars().commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The range as one of its commands, for a method that takes it.
    fn check(&self, method: &str, range: Range) -> std::ops::Range<usize> {
        let count = self.lock().len();
        range
            .within(count)
            .unwrap_or_else(|| violation(method, format_args!("{range:?} is not within {count} commands")))
    }

    /// Forgets commands.
    pub(crate) fn reset(&self, method: &str, range: Range) {
        let range = self.check(method, range);
        let (range_start, count) = (range.start, range.len());
        let old: Vec<IndirectCommand> =
            self.lock().splice(range, std::iter::repeat_n(IndirectCommand::default(), count)).collect();
        // Outside the lock: their objects may end.
        drop(old);
        if let Some(memory) = self.ivars().encoded() {
            let commands = range_start as u32..(range_start + count) as u32;
            memory.reset(commands).unwrap_or_else(|error| violation(method, error));
        }
    }

    /// Forgets commands: where kernels may encode them, when the command buffer's turn comes.
    pub(crate) fn reset_later(&self, method: &str, range: Range, target: &Commands) {
        let Some(memory) = self.ivars().encoded() else { return self.reset(method, range) };
        let range = self.check(method, range);
        let commands = range.start as u32..range.end as u32;
        target.encode(method, |target| target.blit_encoder().reset_commands(memory, commands));
    }

    /// Copies commands to the place of others; in memory, when the command buffer's turn comes.
    pub(crate) fn copy_to(
        &self,
        method: &str,
        range: Range,
        (to, index): (&IndirectBuffer, usize),
        target: &Commands,
    ) {
        let range = self.check(method, range);
        if self.ivars().encoded().is_some() || to.ivars().encoded().is_some() {
            let (from, to) = (self.shared_memory(method), to.shared_memory(method));
            let (first, commands) = (index as u32, range.start as u32..range.end as u32);
            let copy = |target: &mut anymetal::CommandBuffer| {
                target.blit_encoder().copy_commands(from, commands, to, first)
            };
            return target.encode(method, copy);
        }
        let copies = self.lock()[range].to_vec();
        let place = to.check(method, Range { location: index, length: copies.len() });
        let old: Vec<IndirectCommand> = to.lock().splice(place, copies).collect();
        drop(old);
    }

    /// Encodes commands. What they inherit comes from the encoder.
    pub(crate) fn execute(
        &self,
        method: &str,
        range: Range,
        target: &Commands,
        pipeline: Option<&Pipeline>,
        bindings: &Bindings,
    ) {
        let range = self.check(method, range);
        if self.ivars().encoded().is_some() {
            let what = Executed::Commands(range.start as u32..range.end as u32);
            return self.execute_encoded(method, what, target, pipeline, bindings);
        }
        let commands = self.lock()[range].to_vec();
        for command in &commands {
            let Some((grid, group)) = &command.dispatch else { continue };
            let own = command.pipeline.as_deref();
            let pipeline = if self.ivars().inherits_pipeline { pipeline } else { own };
            let Some(pipeline) = pipeline else {
                violation(method, "a command has no compute pipeline state");
            };
            let pipeline = (&pipeline.ivars().pipeline, UnboundReference::of(pipeline));
            if self.ivars().inherits_buffers {
                let bindings = bindings.clone().with_threadgroup_memory_of(&command.bindings);
                bindings.encode(target, method, pipeline, grid, *group);
            } else {
                command.bindings.encode(target, method, pipeline, grid, *group);
            }
        }
    }
}

/// The instance variables of a command's handle.
#[derive(Debug)]
pub(crate) struct CommandIvars {
    buffer: Retained<IndirectBuffer>,
    index: usize,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalIndirectComputeCommand"]
    #[ivars = CommandIvars]
    #[derive(Debug)]
    pub(crate) struct ComputeCommand;

    impl ComputeCommand {
        #[unsafe(method(setComputePipelineState:))]
        fn set_pipeline(&self, pipeline: &Pipeline) {
            const METHOD: &str = "MTLIndirectComputeCommand setComputePipelineState:";
            if self.ivars().buffer.ivars().inherits_pipeline {
                violation(METHOD, "the indirect command buffer inherits the pipeline state");
            }
            if !pipeline.ivars().supports_indirect {
                violation(METHOD, "the pipeline state was made without supportIndirectCommandBuffers");
            }
            let pipeline = pipeline.retain();
            let to_memory = |command: &mut MemoryCommand<'_>| command.set_pipeline(&pipeline.ivars().pipeline).map(drop);
            let old = self.change(METHOD, |command| command.pipeline.replace(pipeline.clone()), to_memory);
            drop(old);
        }

        #[unsafe(method(setKernelBuffer:offset:atIndex:))]
        fn set_buffer(&self, buffer: &Buffer, offset: usize, index: usize) {
            const METHOD: &str = "MTLIndirectComputeCommand setKernelBuffer:offset:atIndex:";
            let IndirectIvars { inherits_buffers, buffers, .. } = self.ivars().buffer.ivars();
            if *inherits_buffers {
                violation(METHOD, "the indirect command buffer inherits buffers");
            }
            if index >= *buffers {
                violation(METHOD, format_args!("the index {index} is not below maxKernelBufferBindCount, {buffers}"));
            }
            let slot = Slot::of_buffer(METHOD, Some(buffer), offset);
            let region = buffer.from_offset(METHOD, offset);
            let to_memory = |command: &mut MemoryCommand<'_>| command.set_region(index as u32, &region).map(drop);
            let old = self.change(METHOD, |command| command.bindings.put(index, slot), to_memory);
            drop(old);
        }

        #[unsafe(method(setThreadgroupMemoryLength:atIndex:))]
        fn set_threadgroup_memory(&self, length: usize, index: usize) {
            const METHOD: &str = "MTLIndirectComputeCommand setThreadgroupMemoryLength:atIndex:";
            let most = self.ivars().buffer.ivars().threadgroup_memories;
            if index >= most {
                violation(METHOD, format_args!("the index {index} is not below maxKernelThreadgroupMemoryBindCount, {most}"));
            }
            check_threadgroup_memory(METHOD, length);
            let to_memory = |command: &mut MemoryCommand<'_>| {
                let length = u32::try_from(length).unwrap_or(u32::MAX);
                command.set_threadgroup_memory_length(index as u32, length).map(drop)
            };
            self.change(METHOD, |command| command.bindings.set_threadgroup_memory(index, length), to_memory);
        }

        #[unsafe(method(concurrentDispatchThreadgroups:threadsPerThreadgroup:))]
        fn dispatch_threadgroups(&self, groups: Size, group: Size) {
            const METHOD: &str = "MTLIndirectComputeCommand concurrentDispatchThreadgroups:threadsPerThreadgroup:";
            let to_memory = |command: &mut MemoryCommand<'_>| {
                command.dispatch_threadgroups(groups.extents(), group.extents()).map(drop)
            };
            self.change(METHOD, |command| command.dispatch = Some((Grid::Threadgroups(groups), group)), to_memory);
        }

        #[unsafe(method(concurrentDispatchThreads:threadsPerThreadgroup:))]
        fn dispatch_threads(&self, threads: Size, group: Size) {
            const METHOD: &str = "MTLIndirectComputeCommand concurrentDispatchThreads:threadsPerThreadgroup:";
            let to_memory = |command: &mut MemoryCommand<'_>| {
                command.dispatch_threads(threads.extents(), group.extents()).map(drop)
            };
            self.change(METHOD, |command| command.dispatch = Some((Grid::Threads(threads), group)), to_memory);
        }

        // Commands run in order, and each sees what those before it wrote.
        #[unsafe(method(setBarrier))]
        fn set_barrier(&self) {}

        #[unsafe(method(clearBarrier))]
        fn clear_barrier(&self) {}

        #[unsafe(method(reset))]
        fn reset(&self) {
            let CommandIvars { buffer, index } = self.ivars();
            buffer.reset("MTLIndirectComputeCommand reset", Range { location: *index, length: 1 });
        }
    }
);

impl ComputeCommand {
    /// Changes the command, in memory too where it is; gives what was there before.
    fn change<R>(
        &self,
        method: &str,
        change: impl FnOnce(&mut IndirectCommand) -> R,
        to_memory: impl FnOnce(&mut MemoryCommand<'_>) -> Result<(), anymetal::Error>,
    ) -> R {
        let CommandIvars { buffer, index } = self.ivars();
        let mut commands = buffer.lock();
        let before = change(&mut commands[*index]);
        let memory = buffer.ivars().encoded();
        drop(commands);
        let written =
            memory.map(|memory| memory.command(*index as u32).and_then(|mut to| to_memory(&mut to)));
        if let Some(Err(error)) = written {
            violation(method, error);
        }
        before
    }
}
