//! `MTLRenderCommandEncoder` of a pass that clears textures and draws nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::buffer::Buffer;
use super::command_buffer::CommandBuffer;
use super::commands::check_ended;
use super::device::Device;
use super::event::Fence;
use super::heap::Heap;
use super::label::Label;
use super::pass::Samples;
use super::render_pipeline::DepthStencil;
use super::residency::Allocation;
use super::sampler::Sampler;
use super::texture::Texture;
use super::violation;
use crate::arguments::List;
use crate::foundation::NSString;

/// The instance variables of a render encoder.
#[derive(Debug)]
pub(crate) struct RenderIvars {
    command_buffer: Retained<CommandBuffer>,
    samples: Vec<Samples>,
    label: Label,
    ended: AtomicBool,
}

impl RenderIvars {
    pub(crate) fn new(command_buffer: Retained<CommandBuffer>, samples: Vec<Samples>) -> Self {
        RenderIvars { command_buffer, samples, label: Label::default(), ended: AtomicBool::new(false) }
    }
}

impl Drop for RenderIvars {
    fn drop(&mut self) {
        check_ended("MTLRenderCommandEncoder dealloc", *self.ended.get_mut());
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalRenderCommandEncoder"]
    #[ivars = RenderIvars]
    #[derive(Debug)]
    pub(crate) struct RenderEncoder;

    impl RenderEncoder {
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

        #[unsafe(method(endEncoding))]
        fn end(&self) {
            const METHOD: &str = "MTLRenderCommandEncoder endEncoding";
            let RenderIvars { command_buffer, samples, ended, .. } = self.ivars();
            if ended.swap(true, Ordering::AcqRel) {
                violation(METHOD, "encoding has ended");
            }
            Samples::end(samples, METHOD, command_buffer.commands());
            command_buffer.commands().end_encoder();
        }

        #[unsafe(method(insertDebugSignpost:))]
        fn signpost(&self, _name: &NSString) {}

        #[unsafe(method(pushDebugGroup:))]
        fn push_group(&self, _name: &NSString) {}

        #[unsafe(method(popDebugGroup))]
        fn pop_group(&self) {}

        // What draws would use. There are none, so nothing is kept.
        #[unsafe(method(setVertexBuffer:offset:atIndex:))]
        fn set_vertex_buffer(&self, _buffer: Option<&Buffer>, _offset: usize, _index: usize) {}
        #[unsafe(method(setVertexTexture:atIndex:))]
        fn set_vertex_texture(&self, _texture: Option<&Texture>, _index: usize) {}
        #[unsafe(method(setVertexSamplerState:atIndex:))]
        fn set_vertex_sampler(&self, _sampler: Option<&Sampler>, _index: usize) {}
        #[unsafe(method(setFragmentBuffer:offset:atIndex:))]
        fn set_fragment_buffer(&self, _buffer: Option<&Buffer>, _offset: usize, _index: usize) {}
        #[unsafe(method(setFragmentTexture:atIndex:))]
        fn set_fragment_texture(&self, _texture: Option<&Texture>, _index: usize) {}
        #[unsafe(method(setFragmentSamplerState:atIndex:))]
        fn set_fragment_sampler(&self, _sampler: Option<&Sampler>, _index: usize) {}
        #[unsafe(method(setCullMode:))]
        fn set_cull_mode(&self, _mode: usize) {}
        #[unsafe(method(setFrontFacingWinding:))]
        fn set_winding(&self, _winding: usize) {}
        #[unsafe(method(setTriangleFillMode:))]
        fn set_fill_mode(&self, _mode: usize) {}
        #[unsafe(method(setDepthStencilState:))]
        fn set_depth_stencil(&self, _state: Option<&DepthStencil>) {}
        #[unsafe(method(setStencilReferenceValue:))]
        fn set_stencil(&self, _value: u32) {}
        #[unsafe(method(useResource:usage:))]
        fn use_resource(&self, _resource: &Allocation, _usage: usize) {}
        #[unsafe(method(useResource:usage:stages:))]
        fn use_resource_in(&self, _resource: &Allocation, _usage: usize, _stages: usize) {}
        #[unsafe(method(useResources:count:usage:))]
        fn use_resources(&self, resources: List<&Allocation>, count: usize, _usage: usize) {
            drop(resources.read(count));
        }
        #[unsafe(method(useResources:count:usage:stages:))]
        fn use_resources_in(&self, resources: List<&Allocation>, count: usize, _usage: usize, _stages: usize) {
            drop(resources.read(count));
        }
        #[unsafe(method(useHeap:))]
        fn use_heap(&self, _heap: &Heap) {}
        #[unsafe(method(useHeap:stages:))]
        fn use_heap_in(&self, _heap: &Heap, _stages: usize) {}
        #[unsafe(method(useHeaps:count:))]
        fn use_heaps(&self, heaps: List<&Heap>, count: usize) {
            drop(heaps.read(count));
        }
        #[unsafe(method(useHeaps:count:stages:))]
        fn use_heaps_in(&self, heaps: List<&Heap>, count: usize, _stages: usize) {
            drop(heaps.read(count));
        }

        // Commands run in order, so fences of passes that draw nothing have nothing to separate.
        #[unsafe(method(updateFence:afterStages:))]
        fn update_fence(&self, fence: &Fence, _stages: usize) {
            const METHOD: &str = "MTLRenderCommandEncoder updateFence:afterStages:";
            self.ivars().command_buffer.commands().encode(METHOD, |commands| {
                commands.blit_encoder().update_fence(&fence.ivars().fence);
                Ok(())
            });
        }

        #[unsafe(method(waitForFence:beforeStages:))]
        fn wait_for_fence(&self, fence: &Fence, _stages: usize) {
            const METHOD: &str = "MTLRenderCommandEncoder waitForFence:beforeStages:";
            self.ivars().command_buffer.commands().encode(METHOD, |commands| {
                commands.blit_encoder().wait_for_fence(&fence.ivars().fence);
                Ok(())
            });
        }
    }
);
