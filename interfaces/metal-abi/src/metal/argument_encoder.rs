//! `MTLArgumentEncoder`: writes addresses and values into a structure by the numbers of its members.
//!
//! Owns [`ArgumentEncoder`]. Invariant: it writes within the length of the buffer that was set, and only at
//! places of the layout.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anymetal::reflection::{ArgumentLayout, ArgumentMember, ArgumentMemberKind};
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::argument_descriptor::layout_of;
use super::buffer::Buffer;
use super::device::Device;
use super::functions::Table;
use super::indirect::IndirectBuffer;
use super::label::Label;
use super::pipeline::Pipeline;
use super::sampler::Sampler;
use super::texture::Texture;
use super::{checked_range, violation};
use crate::arguments::List;
use crate::foundation::{NSArray, NSString, Range};

/// The instance variables of an argument encoder.
#[derive(Debug)]
pub(crate) struct EncoderIvars {
    /// Its members by their numbers.
    pub(crate) layout: ArgumentLayout,
    /// Where the layout comes from, if from a function.
    pub(crate) source: Option<Source>,
    pub(crate) device: Retained<Device>,
    pub(crate) label: Label,
    /// Where the structure is.
    pub(crate) target: Mutex<Option<(Retained<Buffer>, usize)>>,
}

/// A structure that a kernel reads: the argument of a kernel, and the members that lead to the structure.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) library: anymetal::Library,
    pub(crate) kernel: String,
    pub(crate) index: u32,
    pub(crate) path: Vec<u32>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalArgumentEncoder"]
    #[ivars = EncoderIvars]
    #[derive(Debug)]
    pub(crate) struct ArgumentEncoder;

    impl ArgumentEncoder {
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

        #[unsafe(method(encodedLength))]
        fn encoded_length(&self) -> usize {
            self.length()
        }

        #[unsafe(method(alignment))]
        fn alignment(&self) -> usize {
            self.align()
        }

        #[unsafe(method(setArgumentBuffer:offset:))]
        fn set_target(&self, buffer: Option<&Buffer>, offset: usize) {
            self.point("MTLArgumentEncoder setArgumentBuffer:offset:", buffer, offset);
        }

        #[unsafe(method(setArgumentBuffer:startOffset:arrayElement:))]
        fn set_element(&self, buffer: Option<&Buffer>, start: usize, element: usize) {
            const METHOD: &str = "MTLArgumentEncoder setArgumentBuffer:startOffset:arrayElement:";
            let offset = element.checked_mul(self.length()).and_then(|bytes| bytes.checked_add(start));
            self.point(METHOD, buffer, offset.unwrap_or(usize::MAX));
        }

        #[unsafe(method(setBuffer:offset:atIndex:))]
        fn set_buffer(&self, buffer: Option<&Buffer>, offset: usize, index: usize) {
            self.put("MTLArgumentEncoder setBuffer:offset:atIndex:", buffer, offset, index);
        }

        #[unsafe(method(setBuffers:offsets:withRange:))]
        fn set_buffers(&self, buffers: List<Option<&Buffer>>, offsets: List<usize>, range: Range) {
            const METHOD: &str = "MTLArgumentEncoder setBuffers:offsets:withRange:";
            let range = self.range(METHOD, range);
            for ((buffer, offset), index) in buffers.read(range.len()).zip(offsets.read(range.len())).zip(range) {
                self.put(METHOD, buffer, offset, index);
            }
        }

        #[unsafe(method(setVisibleFunctionTable:atIndex:))]
        fn set_function_table(&self, table: Option<&Table>, index: usize) {
            const METHOD: &str = "MTLArgumentEncoder setVisibleFunctionTable:atIndex:";
            self.put(METHOD, table.map(|table| &*table.ivars().buffer), 0, index);
        }

        #[unsafe(method(setVisibleFunctionTables:withRange:))]
        fn set_function_tables(&self, tables: List<Option<&Table>>, range: Range) {
            const METHOD: &str = "MTLArgumentEncoder setVisibleFunctionTables:withRange:";
            let range = self.range(METHOD, range);
            for (table, index) in tables.read(range.len()).zip(range) {
                self.put(METHOD, table.map(|table| &*table.ivars().buffer), 0, index);
            }
        }

        #[unsafe(method(constantDataAtIndex:))]
        fn constant_data(&self, index: usize) -> *mut c_void {
            const METHOD: &str = "MTLArgumentEncoder constantDataAtIndex:";
            let member = self.member(METHOD, index, ArgumentMemberKind::Constant);
            self.place(METHOD, member).cast()
        }

        #[unsafe(method(setTexture:atIndex:))]
        fn set_texture(&self, texture: Option<&Texture>, index: usize) {
            self.put_texture("MTLArgumentEncoder setTexture:atIndex:", texture, index);
        }

        #[unsafe(method(setTextures:withRange:))]
        fn set_textures(&self, textures: List<Option<&Texture>>, range: Range) {
            const METHOD: &str = "MTLArgumentEncoder setTextures:withRange:";
            let range = self.range(METHOD, range);
            for (texture, index) in textures.read(range.len()).zip(range) {
                self.put_texture(METHOD, texture, index);
            }
        }

        #[unsafe(method(setSamplerState:atIndex:))]
        fn set_sampler(&self, sampler: Option<&Sampler>, index: usize) {
            self.put_sampler("MTLArgumentEncoder setSamplerState:atIndex:", sampler, index);
        }

        #[unsafe(method(setSamplerStates:withRange:))]
        fn set_samplers(&self, samplers: List<Option<&Sampler>>, range: Range) {
            const METHOD: &str = "MTLArgumentEncoder setSamplerStates:withRange:";
            let range = self.range(METHOD, range);
            for (sampler, index) in samplers.read(range.len()).zip(range) {
                self.put_sampler(METHOD, sampler, index);
            }
        }

        #[unsafe(method(setComputePipelineState:atIndex:))]
        fn set_pipeline(&self, pipeline: Option<&Pipeline>, index: usize) {
            self.put_pipeline("MTLArgumentEncoder setComputePipelineState:atIndex:", pipeline, index);
        }

        #[unsafe(method(setComputePipelineStates:withRange:))]
        fn set_pipelines(&self, pipelines: List<Option<&Pipeline>>, range: Range) {
            const METHOD: &str = "MTLArgumentEncoder setComputePipelineStates:withRange:";
            let range = self.range(METHOD, range);
            for (pipeline, index) in pipelines.read(range.len()).zip(range) {
                self.put_pipeline(METHOD, pipeline, index);
            }
        }

        #[unsafe(method(setIndirectCommandBuffer:atIndex:))]
        fn set_commands(&self, commands: Option<&IndirectBuffer>, index: usize) {
            self.put_commands("MTLArgumentEncoder setIndirectCommandBuffer:atIndex:", commands, index);
        }

        #[unsafe(method(setIndirectCommandBuffers:withRange:))]
        fn set_several_commands(&self, commands: List<Option<&IndirectBuffer>>, range: Range) {
            const METHOD: &str = "MTLArgumentEncoder setIndirectCommandBuffers:withRange:";
            let range = self.range(METHOD, range);
            for (commands, index) in commands.read(range.len()).zip(range) {
                self.put_commands(METHOD, commands, index);
            }
        }

        #[unsafe(method_id(newArgumentEncoderForBufferAtIndex:))]
        fn nested(&self, index: usize) -> Option<Retained<ArgumentEncoder>> {
            const METHOD: &str = "MTLArgumentEncoder newArgumentEncoderForBufferAtIndex:";
            let member = self.member(METHOD, index, ArgumentMemberKind::Pointer);
            let Some(source) = &self.ivars().source else {
                violation(METHOD, "the encoder was made of descriptors, so its pointers have no structures");
            };
            let source = Source { path: [&source.path[..], &[member.id]].concat(), ..source.clone() };
            Some(ArgumentEncoder::of(METHOD, source, self.ivars().device.clone()))
        }
    }
);

impl ArgumentEncoder {
    /// An encoder for a structure, for a method that makes one.
    pub(crate) fn of(method: &str, source: Source, device: Retained<Device>) -> Retained<ArgumentEncoder> {
        let Source { library, kernel, index, path } = &source;
        let layout = library.argument_layout(kernel, *index, path);
        let layout = layout.unwrap_or_else(|error| violation(method, error));
        let Some(layout) = layout else {
            let last = path.last().unwrap_or(index);
            violation(method, format_args!("the argument {last} of `{kernel}` points to no structure"));
        };
        ArgumentEncoder::new(layout, Some(source), device)
    }

    /// An encoder for the structure that descriptors describe, for a method that makes one.
    pub(crate) fn described(
        method: &str,
        arguments: &NSArray,
        device: Retained<Device>,
    ) -> Retained<ArgumentEncoder> {
        ArgumentEncoder::new(layout_of(method, arguments), None, device)
    }

    fn new(
        mut layout: ArgumentLayout,
        source: Option<Source>,
        device: Retained<Device>,
    ) -> Retained<ArgumentEncoder> {
        layout.members.sort_by_key(|member| member.id);
        let (label, target) = (Label::default(), Mutex::default());
        crate::foundation::object(EncoderIvars { layout, source, device, label, target })
    }

    fn length(&self) -> usize {
        self.ivars().layout.size as usize
    }

    fn align(&self) -> usize {
        self.ivars().layout.align as usize
    }

    fn target(&self) -> MutexGuard<'_, Option<(Retained<Buffer>, usize)>> {
        self.ivars().target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn point(&self, method: &str, buffer: Option<&Buffer>, offset: usize) {
        let length = self.length();
        if let Some(buffer) = buffer {
            buffer.part(method, offset, length);
            if !offset.is_multiple_of(self.align().max(1)) {
                violation(method, format_args!("the offset is a multiple of {}", self.align()));
            }
        }
        let before = std::mem::replace(&mut *self.target(), buffer.map(|buffer| (buffer.retain(), offset)));
        // Outside the lock: it may be the last reference.
        drop(before);
    }

    /// Indices of members, of which the structure has that many.
    fn range(&self, method: &str, range: Range) -> std::ops::Range<usize> {
        let last = self.ivars().layout.members.last().map_or(0, |member| member.id as usize + 1);
        checked_range(method, range, last)
    }

    fn member(&self, method: &str, index: usize, kind: ArgumentMemberKind) -> ArgumentMember {
        let members = &self.ivars().layout.members;
        let Ok(at) = members.binary_search_by_key(&index, |member| member.id as usize) else {
            violation(method, format_args!("the structure has no member with the index {index}"));
        };
        let member = &members[at];
        if member.kind != kind {
            let what = match kind {
                ArgumentMemberKind::Pointer => "pointer",
                ArgumentMemberKind::Constant => "value",
                ArgumentMemberKind::Texture => "texture",
                ArgumentMemberKind::Sampler => "sampler",
                ArgumentMemberKind::IndirectCommandBuffer => "indirect command buffer",
                ArgumentMemberKind::ComputePipeline => "compute pipeline state",
            };
            violation(method, format_args!("the member with the index {index} is no {what}"));
        }
        member.clone()
    }

    /// The bytes of a member for the host.
    fn place(&self, method: &str, member: ArgumentMember) -> *mut u8 {
        let target = self.target().clone();
        let Some((buffer, offset)) = target else { violation(method, "no argument buffer is set") };
        let start = buffer.address();
        if start.is_null() {
            violation(method, "the argument buffer is private: the host cannot write to it");
        }
        // Within the buffer's length, as `point` checked.
        start.wrapping_add(offset + member.offset as usize)
    }

    fn put(&self, method: &str, buffer: Option<&Buffer>, offset: usize, index: usize) {
        let address = buffer.map_or(0, |buffer| {
            buffer.from_offset(method, offset);
            let address = buffer.address_for_kernels();
            address.unwrap_or_else(|error| violation(method, error)) + offset as u64
        });
        self.write(method, self.member(method, index, ArgumentMemberKind::Pointer), address);
    }

    fn put_texture(&self, method: &str, texture: Option<&Texture>, index: usize) {
        let id =
            texture.map(|texture| texture.resource_id().unwrap_or_else(|error| violation(method, error)));
        let member = self.member(method, index, ArgumentMemberKind::Texture);
        self.write(method, member, id.unwrap_or(anymetal::texture::GpuResourceId::NULL_TEXTURE).bits());
    }

    fn put_sampler(&self, method: &str, sampler: Option<&Sampler>, index: usize) {
        let bits = sampler.map_or(0, |sampler| sampler.resource_id(method).bits());
        self.write(method, self.member(method, index, ArgumentMemberKind::Sampler), bits);
    }

    fn put_pipeline(&self, method: &str, pipeline: Option<&Pipeline>, index: usize) {
        let bits = pipeline.map_or(0, |pipeline| pipeline.number_for_kernels(method));
        self.write(method, self.member(method, index, ArgumentMemberKind::ComputePipeline), bits);
    }

    fn put_commands(&self, method: &str, commands: Option<&IndirectBuffer>, index: usize) {
        let bits = commands.map_or(0, |commands| commands.shared_memory(method).gpu_resource_id());
        self.write(method, self.member(method, index, ArgumentMemberKind::IndirectCommandBuffer), bits);
    }

    /// Writes the eight bytes of a member that is no value.
    fn write(&self, method: &str, member: ArgumentMember, bits: u64) {
        debug_assert_eq!(member.size, 8, "what is no value has eight bytes");
        let place = self.place(method, member);
        // SAFETY: the member's eight bytes are within the buffer that is set, which it holds; who writes to
        // them while work uses them is the program's business, as in Metal.
        unsafe { place.cast::<u64>().write_unaligned(bits) };
    }
}
