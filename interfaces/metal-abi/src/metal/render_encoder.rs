//! `MTLRenderCommandEncoder` of a pass that clears textures and draws nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::command_buffer::CommandBuffer;
use super::commands::check_ended;
use super::device::Device;
use super::event::Fence;
use super::label::Label;
use super::pass::Samples;
use super::violation;
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
