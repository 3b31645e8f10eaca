//! `MTLComputeCommandEncoder`. What it binds is in [`super::dispatches`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal::command::ResourceUsage;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::buffer::Buffer;
use super::command_buffer::CommandBuffer;
use super::commands::check_ended;
use super::counters::SampleBuffer;
use super::device::Device;
use super::dispatches::{
    Bindings, Grid, GridRegion, MAX_BUFFERS, Slot, UnboundReference, check_threadgroup_memory, checked_index,
};
use super::encoded::Executed;
use super::event::Fence;
use super::functions::Table;
use super::heap::Heap;
use super::indirect::IndirectBuffer;
use super::label::Label;
use super::pass::Samples;
use super::pipeline::Pipeline;
use super::residency::{Allocation, usage_of, use_all};
use super::sampler::Sampler;
use super::size::{Size, TextureRegion};
use super::stage_input::region_of;
use super::texture::Texture;
use super::texture_bindings::{MAX_SAMPLERS, MAX_TEXTURES, checked_sampler, checked_texture, state_of};
use super::{checked_range, violation};
use crate::arguments::{Bytes, List};
use crate::foundation::{NSString, Range};

/// The most bytes of `setBytes:length:atIndex:`, as in Metal.
const MAX_INLINE_BYTES: usize = 4096;

/// The instance variables of a compute encoder.
#[derive(Debug)]
pub(crate) struct ComputeIvars {
    command_buffer: Retained<CommandBuffer>,
    dispatch_type: usize,
    samples: Vec<Samples>,
    label: Label,
    state: Mutex<State>,
}

impl ComputeIvars {
    pub(crate) fn new(
        command_buffer: Retained<CommandBuffer>,
        dispatch_type: usize,
        samples: Vec<Samples>,
    ) -> Self {
        let (label, state) = (Label::default(), Mutex::default());
        ComputeIvars { command_buffer, dispatch_type, samples, label, state }
    }
}

impl Drop for ComputeIvars {
    fn drop(&mut self) {
        let ended = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).ended;
        check_ended("MTLComputeCommandEncoder dealloc", ended);
    }
}

#[derive(Debug, Default)]
struct State {
    ended: bool,
    pipeline: Option<Retained<Pipeline>>,
    bindings: Bindings,
    groups: usize,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalComputeCommandEncoder"]
    #[ivars = ComputeIvars]
    #[derive(Debug)]
    pub(crate) struct ComputeEncoder;

    impl ComputeEncoder {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().command_buffer.device_object()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method(dispatchType))]
        fn dispatch_type(&self) -> usize {
            self.ivars().dispatch_type
        }

        #[unsafe(method(endEncoding))]
        fn end(&self) {
            const METHOD: &str = "MTLComputeCommandEncoder endEncoding";
            self.open(METHOD).ended = true;
            let ComputeIvars { command_buffer, samples, .. } = self.ivars();
            Samples::end(samples, METHOD, command_buffer.commands());
            command_buffer.commands().end_encoder();
        }

        // Commands run in order, so each sample has a barrier before it.
        #[unsafe(method(sampleCountersInBuffer:atSampleIndex:withBarrier:))]
        fn sample_counters(&self, buffer: &SampleBuffer, index: usize, _barrier: bool) {
            const METHOD: &str = "MTLComputeCommandEncoder sampleCountersInBuffer:atSampleIndex:withBarrier:";
            drop(self.open(METHOD));
            buffer.sample(METHOD, index, self.ivars().command_buffer.commands());
        }

        #[unsafe(method(insertDebugSignpost:))]
        fn signpost(&self, _name: &NSString) {}

        #[unsafe(method(pushDebugGroup:))]
        fn push_group(&self, _name: &NSString) {
            self.open("MTLComputeCommandEncoder pushDebugGroup:").groups += 1;
        }

        #[unsafe(method(popDebugGroup))]
        fn pop_group(&self) {
            const METHOD: &str = "MTLComputeCommandEncoder popDebugGroup";
            let mut state = self.open(METHOD);
            match state.groups.checked_sub(1) {
                Some(groups) => state.groups = groups,
                None => {
                    drop(state);
                    violation(METHOD, "no debug group was pushed");
                }
            }
        }

        #[unsafe(method(setComputePipelineState:))]
        fn set_pipeline(&self, pipeline: Option<&Pipeline>) {
            const METHOD: &str = "MTLComputeCommandEncoder setComputePipelineState:";
            let pipeline = pipeline.unwrap_or_else(|| violation(METHOD, "the pipeline state is nil"));
            self.open(METHOD).pipeline = Some(pipeline.retain());
        }

        #[unsafe(method(setBuffer:offset:atIndex:))]
        fn set_buffer(&self, buffer: Option<&Buffer>, offset: usize, index: usize) {
            self.bind_buffer("MTLComputeCommandEncoder setBuffer:offset:atIndex:", buffer, offset, index);
        }

        #[unsafe(method(setBuffers:offsets:withRange:))]
        fn set_buffers(&self, buffers: List<Option<&Buffer>>, offsets: List<usize>, range: Range) {
            const METHOD: &str = "MTLComputeCommandEncoder setBuffers:offsets:withRange:";
            let range = checked_range(METHOD, range, MAX_BUFFERS);
            for ((buffer, offset), index) in buffers.read(range.len()).zip(offsets.read(range.len())).zip(range) {
                self.bind_buffer(METHOD, buffer, offset, index);
            }
        }

        #[unsafe(method(setVisibleFunctionTable:atBufferIndex:))]
        fn set_function_table(&self, table: Option<&Table>, index: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder setVisibleFunctionTable:atBufferIndex:";
            self.bind_buffer(METHOD, table.map(|table| &*table.ivars().buffer), 0, index);
        }

        #[unsafe(method(setVisibleFunctionTables:withBufferRange:))]
        fn set_function_tables(&self, tables: List<Option<&Table>>, range: Range) {
            const METHOD: &str = "MTLComputeCommandEncoder setVisibleFunctionTables:withBufferRange:";
            let range = checked_range(METHOD, range, MAX_BUFFERS);
            for (table, index) in tables.read(range.len()).zip(range) {
                let buffer = table.map(|table| &*table.ivars().buffer);
                self.bind_buffer(METHOD, buffer, 0, index);
            }
        }

        #[unsafe(method(setBufferOffset:atIndex:))]
        fn set_offset(&self, offset: usize, index: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder setBufferOffset:atIndex:";
            let bound = self.open(METHOD).bindings.slot(index).clone();
            match bound {
                Slot::Buffer { buffer, .. } => self.bind_buffer(METHOD, Some(&buffer), offset, index),
                Slot::Empty | Slot::Bytes(_) => violation(METHOD, format_args!("no buffer is bound at index {index}")),
            }
        }

        #[unsafe(method(setBytes:length:atIndex:))]
        fn set_bytes(&self, bytes: Bytes, length: usize, index: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder setBytes:length:atIndex:";
            // Empty lists of programs: nothing is bound, and nothing may be read.
            if length == 0 {
                self.put(METHOD, index, Slot::Empty);
                return;
            }
            if length > MAX_INLINE_BYTES {
                violation(METHOD, format_args!("length({length}) must be <= {MAX_INLINE_BYTES}"));
            }
            let bytes: Arc<[u8]> = bytes.read(length).into();
            self.put(METHOD, index, Slot::Bytes(bytes));
        }

        #[unsafe(method(setTexture:atIndex:))]
        fn set_texture(&self, texture: Option<&Texture>, index: usize) {
            self.bind_texture("MTLComputeCommandEncoder setTexture:atIndex:", texture, index);
        }

        #[unsafe(method(setTextures:withRange:))]
        fn set_textures(&self, textures: List<Option<&Texture>>, range: Range) {
            const METHOD: &str = "MTLComputeCommandEncoder setTextures:withRange:";
            let range = checked_range(METHOD, range, MAX_TEXTURES);
            for (texture, index) in textures.read(range.len()).zip(range) {
                self.bind_texture(METHOD, texture, index);
            }
        }

        #[unsafe(method(setSamplerState:atIndex:))]
        fn set_sampler(&self, sampler: Option<&Sampler>, index: usize) {
            self.bind_sampler("MTLComputeCommandEncoder setSamplerState:atIndex:", sampler, None, index);
        }

        #[unsafe(method(setSamplerState:lodMinClamp:lodMaxClamp:atIndex:))]
        fn set_clamped_sampler(&self, sampler: Option<&Sampler>, least: f32, largest: f32, index: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder setSamplerState:lodMinClamp:lodMaxClamp:atIndex:";
            self.bind_sampler(METHOD, sampler, Some([least, largest]), index);
        }

        #[unsafe(method(setSamplerStates:withRange:))]
        fn set_samplers(&self, samplers: List<Option<&Sampler>>, range: Range) {
            const METHOD: &str = "MTLComputeCommandEncoder setSamplerStates:withRange:";
            let range = checked_range(METHOD, range, MAX_SAMPLERS);
            for (sampler, index) in samplers.read(range.len()).zip(range) {
                self.bind_sampler(METHOD, sampler, None, index);
            }
        }

        #[unsafe(method(setSamplerStates:lodMinClamps:lodMaxClamps:withRange:))]
        fn set_clamped_samplers(&self, samplers: List<Option<&Sampler>>, least: List<f32>, largest: List<f32>, range: Range) {
            const METHOD: &str = "MTLComputeCommandEncoder setSamplerStates:lodMinClamps:lodMaxClamps:withRange:";
            let range = checked_range(METHOD, range, MAX_SAMPLERS);
            let clamps = least.read(range.len()).zip(largest.read(range.len()));
            for ((sampler, (least, largest)), index) in samplers.read(range.len()).zip(clamps).zip(range) {
                self.bind_sampler(METHOD, sampler, Some([least, largest]), index);
            }
        }

        #[unsafe(method(setThreadgroupMemoryLength:atIndex:))]
        fn set_threadgroup_memory(&self, length: usize, index: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder setThreadgroupMemoryLength:atIndex:";
            let index = checked_index(METHOD, index);
            check_threadgroup_memory(METHOD, length);
            self.open(METHOD).bindings.set_threadgroup_memory(index, length);
        }

        #[unsafe(method(setStageInRegion:))]
        fn set_region(&self, region: TextureRegion) {
            self.put_region("MTLComputeCommandEncoder setStageInRegion:", GridRegion::Given(region_of(region)));
        }

        #[unsafe(method(setStageInRegionWithIndirectBuffer:indirectBufferOffset:))]
        fn set_indirect_region(&self, buffer: &Buffer, offset: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder setStageInRegionWithIndirectBuffer:indirectBufferOffset:";
            let region = buffer.part(METHOD, offset, size_of::<[u32; 6]>());
            self.put_region(METHOD, GridRegion::Indirect(region));
        }

        #[unsafe(method(dispatchThreads:threadsPerThreadgroup:))]
        fn dispatch_threads(&self, threads: Size, group: Size) {
            self.dispatch("MTLComputeCommandEncoder dispatchThreads:threadsPerThreadgroup:", &Grid::Threads(threads), group);
        }

        #[unsafe(method(dispatchThreadgroups:threadsPerThreadgroup:))]
        fn dispatch_threadgroups(&self, groups: Size, group: Size) {
            self.dispatch("MTLComputeCommandEncoder dispatchThreadgroups:threadsPerThreadgroup:", &Grid::Threadgroups(groups), group);
        }

        #[unsafe(method(dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:))]
        fn dispatch_indirect(&self, buffer: &Buffer, offset: usize, group: Size) {
            const METHOD: &str = "MTLComputeCommandEncoder dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:";
            let counts = buffer.part(METHOD, offset, size_of::<[u32; 3]>());
            self.dispatch(METHOD, &Grid::Indirect(counts), group);
        }

        #[unsafe(method(executeCommandsInBuffer:withRange:))]
        fn execute(&self, commands: &IndirectBuffer, range: Range) {
            const METHOD: &str = "MTLComputeCommandEncoder executeCommandsInBuffer:withRange:";
            let (pipeline, bindings) = {
                let state = self.open(METHOD);
                (state.pipeline.clone(), state.bindings.clone())
            };
            let target = self.ivars().command_buffer.commands();
            commands.execute(METHOD, range, target, pipeline.as_deref(), &bindings);
        }

        #[unsafe(method(executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:))]
        fn execute_indirect(&self, commands: &IndirectBuffer, buffer: &Buffer, offset: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:";
            let range = buffer.part(METHOD, offset, size_of::<[u32; 2]>());
            let (pipeline, bindings) = {
                let state = self.open(METHOD);
                (state.pipeline.clone(), state.bindings.clone())
            };
            let target = self.ivars().command_buffer.commands();
            let what = Executed::Indirect(range);
            commands.execute_encoded(METHOD, what, target, pipeline.as_deref(), &bindings);
        }

        #[unsafe(method(updateFence:))]
        fn update_fence(&self, fence: &Fence) {
            self.fence("MTLComputeCommandEncoder updateFence:", fence, true);
        }

        #[unsafe(method(waitForFence:))]
        fn wait_for_fence(&self, fence: &Fence) {
            self.fence("MTLComputeCommandEncoder waitForFence:", fence, false);
        }

        // Commands of a queue run in order, and each sees what those before it wrote.
        #[unsafe(method(memoryBarrierWithScope:))]
        fn barrier(&self, _scope: usize) {
            drop(self.open("MTLComputeCommandEncoder memoryBarrierWithScope:"));
        }

        #[unsafe(method(memoryBarrierWithResources:count:))]
        fn barrier_for(&self, resources: List<&Allocation>, count: usize) {
            resources.read(count).for_each(|_| {});
            drop(self.open("MTLComputeCommandEncoder memoryBarrierWithResources:count:"));
        }

        // Kernels reach what is used by its address, and encoded commands can have it.
        #[unsafe(method(useResource:usage:))]
        fn use_resource(&self, resource: &Allocation, usage: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder useResource:usage:";
            let resource = resource.object();
            self.open(METHOD).bindings.used_mut().note(&resource);
            self.make_resident(METHOD, vec![resource], usage_of(usage));
        }

        #[unsafe(method(useResources:count:usage:))]
        fn use_resources(&self, resources: List<&Allocation>, count: usize, usage: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder useResources:count:usage:";
            let resources: Vec<_> = resources.read(count).map(Allocation::object).collect();
            resources.iter().for_each(|resource| self.open(METHOD).bindings.used_mut().note(resource));
            self.make_resident(METHOD, resources, usage_of(usage));
        }

        #[unsafe(method(useHeap:))]
        fn use_heap(&self, heap: &Heap) {
            const METHOD: &str = "MTLComputeCommandEncoder useHeap:";
            self.make_resident(METHOD, vec![Retained::into_super(Retained::into_super(heap.retain()))], ResourceUsage::ReadWrite);
        }

        #[unsafe(method(useHeaps:count:))]
        fn use_heaps(&self, heaps: List<&Heap>, count: usize) {
            const METHOD: &str = "MTLComputeCommandEncoder useHeaps:count:";
            let heaps = heaps.read(count).map(|heap| Retained::into_super(Retained::into_super(heap.retain())));
            self.make_resident(METHOD, heaps.collect(), ResourceUsage::ReadWrite);
        }
    }
);

impl ComputeEncoder {
    /// Its state, for a method that is sent before the end.
    fn open(&self, method: &str) -> MutexGuard<'_, State> {
        let state = self.ivars().state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ended {
            drop(state);
            violation(method, "encoding has ended");
        }
        state
    }

    fn make_resident(&self, method: &str, objects: Vec<Retained<AnyObject>>, usage: ResourceUsage) {
        drop(self.open(method));
        self.ivars().command_buffer.commands().encode(method, |commands| {
            use_all(commands, objects, usage);
            Ok(())
        });
    }

    fn bind_buffer(&self, method: &str, buffer: Option<&Buffer>, offset: usize, index: usize) {
        self.put(method, index, Slot::of_buffer(method, buffer, offset));
    }

    fn bind_texture(&self, method: &str, texture: Option<&Texture>, index: usize) {
        let index = checked_texture(method, index);
        let before = self.open(method).bindings.resources_mut().set_texture(index, texture);
        // Outside the lock: it may be the last reference.
        drop(before);
    }

    fn bind_sampler(&self, method: &str, sampler: Option<&Sampler>, clamp: Option<[f32; 2]>, index: usize) {
        let index = checked_sampler(method, index);
        self.open(method).bindings.resources_mut().set_sampler(index, state_of(sampler, clamp));
    }

    fn put(&self, method: &str, index: usize, slot: Slot) {
        let index = checked_index(method, index);
        let before = self.open(method).bindings.put(index, slot);
        // Outside the lock: it may be the last reference.
        drop(before);
    }

    fn put_region(&self, method: &str, region: GridRegion) {
        let before = self.open(method).bindings.set_region(region);
        // Outside the lock: it may be the last reference.
        drop(before);
    }

    fn fence(&self, method: &str, fence: &Fence, update: bool) {
        drop(self.open(method));
        self.ivars().command_buffer.commands().encode(method, |commands| {
            let mut encoder = commands.compute_encoder();
            match update {
                true => encoder.update_fence(&fence.ivars().fence),
                false => encoder.wait_for_fence(&fence.ivars().fence),
            }
            Ok(())
        });
    }

    fn dispatch(&self, method: &str, grid: &Grid, group: Size) {
        let state = self.open(method);
        let Some(pipeline) = &state.pipeline else {
            drop(state);
            violation(method, "no compute pipeline state is set");
        };
        let commands = self.ivars().command_buffer.commands();
        let code = pipeline.for_region(method, state.bindings.has_region());
        let pipeline = (code, UnboundReference::of(pipeline));
        state.bindings.encode(commands, method, pipeline, grid, group);
    }
}
