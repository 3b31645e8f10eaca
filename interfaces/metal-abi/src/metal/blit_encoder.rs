//! `MTLBlitCommandEncoder`.

use std::sync::atomic::{AtomicBool, Ordering};

use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::buffer::Buffer;
use super::command_buffer::CommandBuffer;
use super::commands::{Commands, check_ended};
use super::counters::SampleBuffer;
use super::device::Device;
use super::event::Fence;
use super::indirect::IndirectBuffer;
use super::label::Label;
use super::pass::Samples;
use super::residency::Allocation;
use super::size::{Origin, Size};
use super::texture::Texture;
use super::texture_blit::{InBuffer, InTexture, Levels};
use super::{texture_blit, violation};
use crate::foundation::{NSString, Range};

/// The instance variables of a blit encoder.
#[derive(Debug)]
pub(crate) struct BlitIvars {
    command_buffer: Retained<CommandBuffer>,
    samples: Vec<Samples>,
    label: Label,
    ended: AtomicBool,
}

impl BlitIvars {
    pub(crate) fn new(command_buffer: Retained<CommandBuffer>, samples: Vec<Samples>) -> Self {
        BlitIvars { command_buffer, samples, label: Label::default(), ended: AtomicBool::new(false) }
    }
}

impl Drop for BlitIvars {
    fn drop(&mut self) {
        check_ended("MTLBlitCommandEncoder dealloc", *self.ended.get_mut());
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalBlitCommandEncoder"]
    #[ivars = BlitIvars]
    #[derive(Debug)]
    pub(crate) struct BlitEncoder;

    impl BlitEncoder {
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
            const METHOD: &str = "MTLBlitCommandEncoder endEncoding";
            let BlitIvars { command_buffer, samples, ended, .. } = self.ivars();
            if ended.swap(true, Ordering::AcqRel) {
                violation(METHOD, "encoding has ended");
            }
            Samples::end(samples, METHOD, command_buffer.commands());
            command_buffer.commands().end_encoder();
        }

        // Commands run in order, so each sample has a barrier before it.
        #[unsafe(method(sampleCountersInBuffer:atSampleIndex:withBarrier:))]
        fn sample_counters(&self, buffer: &SampleBuffer, index: usize, _barrier: bool) {
            const METHOD: &str = "MTLBlitCommandEncoder sampleCountersInBuffer:atSampleIndex:withBarrier:";
            buffer.sample(METHOD, index, self.commands(METHOD));
        }

        #[unsafe(method(resolveCounters:inRange:destinationBuffer:destinationOffset:))]
        fn resolve_counters(&self, samples: &SampleBuffer, range: Range, destination: &Buffer, offset: usize) {
            const METHOD: &str = "MTLBlitCommandEncoder resolveCounters:inRange:destinationBuffer:destinationOffset:";
            samples.resolve_to(METHOD, range, (destination, offset), self.commands(METHOD));
        }

        #[unsafe(method(insertDebugSignpost:))]
        fn signpost(&self, _name: &NSString) {}

        #[unsafe(method(pushDebugGroup:))]
        fn push_group(&self, _name: &NSString) {}

        #[unsafe(method(popDebugGroup))]
        fn pop_group(&self) {}

        #[unsafe(method(copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:))]
        fn copy(&self, source: &Buffer, source_offset: usize, destination: &Buffer, destination_offset: usize, size: usize) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:";
            self.require_open(METHOD);
            let (from, to) = (source.part(METHOD, source_offset, size), destination.part(METHOD, destination_offset, size));
            self.ivars().command_buffer.commands().encode(METHOD, |commands| {
                commands.blit_encoder().copy_region(&from, &to)
            });
        }

        #[unsafe(method(fillBuffer:range:value:))]
        fn fill(&self, buffer: &Buffer, range: Range, value: u8) {
            const METHOD: &str = "MTLBlitCommandEncoder fillBuffer:range:value:";
            self.require_open(METHOD);
            let region = buffer.part(METHOD, range.location, range.length);
            self.ivars().command_buffer.commands().encode(METHOD, |commands| {
                commands.blit_encoder().fill_region(&region, value)
            });
        }

        // Indirect commands of the host alone are copied and forgotten here, because what executes them takes
        // them as they are when it is encoded.
        #[unsafe(method(resetCommandsInBuffer:withRange:))]
        fn reset_commands(&self, buffer: &IndirectBuffer, range: Range) {
            const METHOD: &str = "MTLBlitCommandEncoder resetCommandsInBuffer:withRange:";
            self.require_open(METHOD);
            buffer.reset_later(METHOD, range, self.ivars().command_buffer.commands());
        }

        #[unsafe(method(copyIndirectCommandBuffer:sourceRange:destination:destinationIndex:))]
        fn copy_commands(&self, source: &IndirectBuffer, range: Range, destination: &IndirectBuffer, index: usize) {
            const METHOD: &str = "MTLBlitCommandEncoder copyIndirectCommandBuffer:sourceRange:destination:destinationIndex:";
            self.require_open(METHOD);
            let target = self.ivars().command_buffer.commands();
            source.copy_to(METHOD, range, (destination, index), target);
        }

        #[unsafe(method(optimizeIndirectCommandBuffer:withRange:))]
        fn optimize_commands(&self, _buffer: &IndirectBuffer, _range: Range) {
            self.require_open("MTLBlitCommandEncoder optimizeIndirectCommandBuffer:withRange:");
        }

        // Managed buffers have one copy where host and device share memory.
        #[unsafe(method(synchronizeResource:))]
        fn synchronize(&self, _resource: &Allocation) {
            self.require_open("MTLBlitCommandEncoder synchronizeResource:");
        }

        #[unsafe(method(synchronizeTexture:slice:level:))]
        fn synchronize_texture(&self, _texture: &Texture, _slice: usize, _level: usize) {
            self.require_open("MTLBlitCommandEncoder synchronizeTexture:slice:level:");
        }

        #[unsafe(method(copyFromBuffer:sourceOffset:sourceBytesPerRow:sourceBytesPerImage:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:))]
        fn copy_to_texture(&self, buffer: &Buffer, offset: usize, row_bytes: usize, plane_bytes: usize, size: Size, texture: &Texture, slice: usize, level: usize, origin: Origin) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromBuffer:sourceOffset:sourceBytesPerRow:sourceBytesPerImage:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:";
            let from = InBuffer { buffer, offset, row_bytes, plane_bytes };
            texture_blit::to_texture(self.commands(METHOD), METHOD, &from, size, &InTexture { texture, slice, level, origin });
        }

        #[unsafe(method(copyFromBuffer:sourceOffset:sourceBytesPerRow:sourceBytesPerImage:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:options:))]
        fn copy_to_texture_with(&self, buffer: &Buffer, offset: usize, row_bytes: usize, plane_bytes: usize, size: Size, texture: &Texture, slice: usize, level: usize, origin: Origin, options: usize) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromBuffer:sourceOffset:sourceBytesPerRow:sourceBytesPerImage:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:options:";
            require_no_options(METHOD, options);
            let from = InBuffer { buffer, offset, row_bytes, plane_bytes };
            texture_blit::to_texture(self.commands(METHOD), METHOD, &from, size, &InTexture { texture, slice, level, origin });
        }

        #[unsafe(method(copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toBuffer:destinationOffset:destinationBytesPerRow:destinationBytesPerImage:))]
        fn copy_from_texture(&self, texture: &Texture, slice: usize, level: usize, origin: Origin, size: Size, buffer: &Buffer, offset: usize, row_bytes: usize, plane_bytes: usize) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toBuffer:destinationOffset:destinationBytesPerRow:destinationBytesPerImage:";
            let to = InBuffer { buffer, offset, row_bytes, plane_bytes };
            texture_blit::from_texture(self.commands(METHOD), METHOD, &InTexture { texture, slice, level, origin }, size, &to);
        }

        #[unsafe(method(copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toBuffer:destinationOffset:destinationBytesPerRow:destinationBytesPerImage:options:))]
        fn copy_from_texture_with(&self, texture: &Texture, slice: usize, level: usize, origin: Origin, size: Size, buffer: &Buffer, offset: usize, row_bytes: usize, plane_bytes: usize, options: usize) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toBuffer:destinationOffset:destinationBytesPerRow:destinationBytesPerImage:options:";
            require_no_options(METHOD, options);
            let to = InBuffer { buffer, offset, row_bytes, plane_bytes };
            texture_blit::from_texture(self.commands(METHOD), METHOD, &InTexture { texture, slice, level, origin }, size, &to);
        }

        #[unsafe(method(copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:))]
        fn copy_texture(&self, source: &Texture, slice: usize, level: usize, origin: Origin, size: Size, destination: &Texture, to_slice: usize, to_level: usize, to_origin: Origin) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromTexture:sourceSlice:sourceLevel:sourceOrigin:sourceSize:toTexture:destinationSlice:destinationLevel:destinationOrigin:";
            let from = InTexture { texture: source, slice, level, origin };
            let to = InTexture { texture: destination, slice: to_slice, level: to_level, origin: to_origin };
            texture_blit::between(self.commands(METHOD), METHOD, &from, size, &to);
        }

        #[unsafe(method(copyFromTexture:sourceSlice:sourceLevel:toTexture:destinationSlice:destinationLevel:sliceCount:levelCount:))]
        fn copy_levels(&self, source: &Texture, slice: usize, level: usize, destination: &Texture, to_slice: usize, to_level: usize, slices: usize, levels: usize) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromTexture:sourceSlice:sourceLevel:toTexture:destinationSlice:destinationLevel:sliceCount:levelCount:";
            let from = Levels { texture: source, slice, level };
            let to = Levels { texture: destination, slice: to_slice, level: to_level };
            texture_blit::levels(self.commands(METHOD), METHOD, &from, &to, [slices, levels]);
        }

        #[unsafe(method(copyFromTexture:toTexture:))]
        fn copy_whole(&self, source: &Texture, destination: &Texture) {
            const METHOD: &str = "MTLBlitCommandEncoder copyFromTexture:toTexture:";
            texture_blit::whole(self.commands(METHOD), METHOD, source, destination);
        }

        #[unsafe(method(generateMipmapsForTexture:))]
        fn generate_mipmaps(&self, texture: &Texture) {
            const METHOD: &str = "MTLBlitCommandEncoder generateMipmapsForTexture:";
            texture_blit::mipmaps(self.commands(METHOD), METHOD, texture);
        }

        // Texels are stored in one way.
        #[unsafe(method(optimizeContentsForGPUAccess:))]
        fn optimize_for_gpu(&self, _texture: &Texture) {}

        #[unsafe(method(optimizeContentsForGPUAccess:slice:level:))]
        fn optimize_level_for_gpu(&self, _texture: &Texture, _slice: usize, _level: usize) {}

        #[unsafe(method(optimizeContentsForCPUAccess:))]
        fn optimize_for_cpu(&self, _texture: &Texture) {}

        #[unsafe(method(optimizeContentsForCPUAccess:slice:level:))]
        fn optimize_level_for_cpu(&self, _texture: &Texture, _slice: usize, _level: usize) {}

        #[unsafe(method(updateFence:))]
        fn update_fence(&self, fence: &Fence) {
            self.fence("MTLBlitCommandEncoder updateFence:", fence, true);
        }

        #[unsafe(method(waitForFence:))]
        fn wait_for_fence(&self, fence: &Fence) {
            self.fence("MTLBlitCommandEncoder waitForFence:", fence, false);
        }
    }
);

impl BlitEncoder {
    fn require_open(&self, method: &str) {
        if self.ivars().ended.load(Ordering::Acquire) {
            violation(method, "encoding has ended");
        }
    }

    /// The commands to encode to, for a method that is sent before the end.
    fn commands(&self, method: &str) -> &Commands {
        self.require_open(method);
        self.ivars().command_buffer.commands()
    }

    fn fence(&self, method: &str, fence: &Fence, update: bool) {
        self.require_open(method);
        self.ivars().command_buffer.commands().encode(method, |commands| {
            let mut encoder = commands.blit_encoder();
            match update {
                true => encoder.update_fence(&fence.ivars().fence),
                false => encoder.wait_for_fence(&fence.ivars().fence),
            }
            Ok(())
        });
    }
}

/// Options are of formats with stencils and of compressed ones.
fn require_no_options(method: &str, options: usize) {
    if options != 0 {
        violation(method, format_args!("anymetal has no formats that the options {options:#x} are for"));
    }
}
