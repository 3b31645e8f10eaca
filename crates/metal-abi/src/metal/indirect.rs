//! `MTLIndirectCommandBuffer` for compute commands that the host encodes.
//!
//! Owns the commands, by index. An encoder that executes them encodes them as they are at that
//! moment, so changes that the host makes later are for later executions. Kernels do not encode
//! commands.

use std::sync::{Mutex, MutexGuard, PoisonError};

use objc2::rc::Retained;
use objc2::runtime::NSObject;
use objc2::{DefinedClass, Message, define_class};

use super::buffer::Buffer;
use super::commands::Commands;
use super::descriptor::descriptor;
use super::device::Device;
use super::dispatches::{Bindings, Grid, MAX_BUFFERS, Slot, UnboundReference};
use super::label::Label;
use super::pipeline::Pipeline;
use super::size::Size;
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
struct IndirectCommand {
    pipeline: Option<Retained<Pipeline>>,
    bindings: Bindings,
    dispatch: Option<(Grid, Size)>,
}

/// The instance variables of an indirect command buffer.
#[derive(Debug)]
pub(crate) struct IndirectIvars {
    device: Retained<Device>,
    label: Label,
    inherits_pipeline: bool,
    inherits_buffers: bool,
    /// Indices of buffers, and of threadgroup memory, are below these.
    buffers: usize,
    threadgroup_memories: usize,
    commands: Mutex<Vec<IndirectCommand>>,
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
        crate::foundation::object(IndirectIvars {
            device,
            label: Label::default(),
            inherits_pipeline: properties.inherits_pipeline().as_bool(),
            inherits_buffers: properties.inherits_buffers().as_bool(),
            buffers: properties.kernel_buffers().min(MAX_BUFFERS),
            threadgroup_memories: properties.threadgroup_memories().min(MAX_BUFFERS),
            commands: Mutex::new(vec![IndirectCommand::default(); count]),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<IndirectCommand>> {
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
        let count = range.len();
        let old: Vec<IndirectCommand> =
            self.lock().splice(range, std::iter::repeat_n(IndirectCommand::default(), count)).collect();
        // Outside the lock: their objects may end.
        drop(old);
    }

    /// Copies commands to the place of others.
    pub(crate) fn copy_to(&self, method: &str, range: Range, to: &IndirectBuffer, index: usize) {
        let range = self.check(method, range);
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
            let old = self.change(|command| command.pipeline.replace(pipeline));
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
            let old = self.change(|command| command.bindings.put(index, slot));
            drop(old);
        }

        #[unsafe(method(setThreadgroupMemoryLength:atIndex:))]
        fn set_threadgroup_memory(&self, length: usize, index: usize) {
            const METHOD: &str = "MTLIndirectComputeCommand setThreadgroupMemoryLength:atIndex:";
            let most = self.ivars().buffer.ivars().threadgroup_memories;
            if index >= most {
                violation(METHOD, format_args!("the index {index} is not below maxKernelThreadgroupMemoryBindCount, {most}"));
            }
            self.change(|command| command.bindings.set_threadgroup_memory(index, length));
        }

        #[unsafe(method(concurrentDispatchThreadgroups:threadsPerThreadgroup:))]
        fn dispatch_threadgroups(&self, groups: Size, group: Size) {
            self.change(|command| command.dispatch = Some((Grid::Threadgroups(groups), group)));
        }

        #[unsafe(method(concurrentDispatchThreads:threadsPerThreadgroup:))]
        fn dispatch_threads(&self, threads: Size, group: Size) {
            self.change(|command| command.dispatch = Some((Grid::Threads(threads), group)));
        }

        // Commands run in order, and each sees what those before it wrote.
        #[unsafe(method(setBarrier))]
        fn set_barrier(&self) {}

        #[unsafe(method(clearBarrier))]
        fn clear_barrier(&self) {}

        #[unsafe(method(reset))]
        fn reset(&self) {
            let old = self.change(std::mem::take);
            drop(old);
        }
    }
);

impl ComputeCommand {
    fn change<R>(&self, change: impl FnOnce(&mut IndirectCommand) -> R) -> R {
        let CommandIvars { buffer, index } = self.ivars();
        change(&mut buffer.lock()[*index])
    }
}
