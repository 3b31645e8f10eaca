//! What a compute encoder or an indirect command has bound, and how a dispatch of it is encoded.
//!
//! Bindings stay for later dispatches, as in Metal. An argument that is not bound is bound to
//! nothing: a kernel that accesses it all the same ends its command buffer with an error that names
//! it. A reference that is not bound is zeros, as kernels have references that only some of their versions
//! read; with exact bounds it is an error.

use std::sync::Arc;

use anymetal::Argument;
use anymetal::BufferSlice;
use anymetal::argument::{InlineBytes, Unbound};
use anymetal::reflection::ArgumentKind;
use anymetal::stage_input::StageInRegion;
use anymetal::texture::BindingRole;
use objc2::Message;
use objc2::rc::Retained;

use super::allocation::is_exact;
use super::buffer::Buffer;
use super::commands::Commands;
use super::pipeline::Pipeline;
use super::size::Size;
use super::texture_bindings::TextureBindings;
use super::used::Used;
use super::violation;

/// How many buffers a kernel can have.
pub(crate) const MAX_BUFFERS: usize = 31;

/// What lengths of threadgroup memory are multiples of (`MTLComputeCommandEncoder.h`).
const THREADGROUP_MEMORY_ALIGNMENT: usize = 16;

/// What is bound at an index.
#[derive(Debug, Clone, Default)]
pub(crate) enum Slot {
    /// Nothing.
    #[default]
    Empty,
    /// A buffer from an offset on.
    Buffer {
        /// It.
        buffer: Retained<Buffer>,
        /// From the offset on.
        region: BufferSlice,
    },
    /// Bytes of the command itself.
    Bytes(Arc<[u8]>),
}

impl Slot {
    /// A buffer from an offset on, for a method that binds it.
    pub(crate) fn of_buffer(method: &str, buffer: Option<&Buffer>, offset: usize) -> Slot {
        buffer.map_or(Slot::Empty, |buffer| Slot::Buffer {
            buffer: buffer.retain(),
            region: buffer.from_offset(method, offset),
        })
    }
}

/// What a dispatch runs.
#[derive(Debug, Clone)]
pub(crate) enum Grid {
    /// So many threads.
    Threads(Size),
    /// So many threadgroups.
    Threadgroups(Size),
    /// As many threadgroups as a buffer says when the turn comes.
    Indirect(BufferSlice),
}

/// What becomes of a reference (`constant T&`) to which nothing is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnboundReference {
    /// It is zeros: code loads references before it is known whether it needs them.
    Zeros,
    /// An error.
    Refused,
}

impl UnboundReference {
    /// That of a pipeline, by its device's settings.
    pub(crate) fn of(pipeline: &Pipeline) -> UnboundReference {
        match is_exact(pipeline.ivars().device.inner()) {
            true => UnboundReference::Refused,
            false => UnboundReference::Zeros,
        }
    }
}

/// Buffers, bytes, textures, samplers and lengths of threadgroup memory, by index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bindings {
    slots: Vec<Slot>,
    threadgroup_memory: Vec<(u32, u64)>,
    resources: TextureBindings,
    used: Used,
    region: Option<GridRegion>,
}

/// The part of the grid that stage-in data are for.
#[derive(Debug, Clone)]
pub(crate) enum GridRegion {
    /// That one.
    Given(StageInRegion),
    /// As a buffer says when the turn comes.
    Indirect(BufferSlice),
}

impl Bindings {
    /// Binds, at an index below [`MAX_BUFFERS`]; gives what was bound before.
    pub(crate) fn put(&mut self, index: usize, slot: Slot) -> Slot {
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, Slot::default);
        }
        std::mem::replace(&mut self.slots[index], slot)
    }

    /// What is bound at an index.
    pub(crate) fn slot(&self, index: usize) -> &Slot {
        self.slots.get(index).unwrap_or(&Slot::Empty)
    }

    /// What is bound, by index.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The buffers that are bound.
    pub(crate) fn regions(&self) -> impl Iterator<Item = &BufferSlice> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Buffer { region, .. } => Some(region),
            Slot::Empty | Slot::Bytes(_) => None,
        })
    }

    /// The lengths of threadgroup memory, by index.
    pub(crate) fn threadgroup_memory(&self) -> &[(u32, u64)] {
        &self.threadgroup_memory
    }

    /// Sets the buffers and bytes on an encoder, for commands that inherit them.
    pub(crate) fn set<'a>(&'a self, encoder: &mut anymetal::ComputeEncoder<'a>) {
        for (slot, index) in self.slots.iter().zip(0..) {
            encoder.set_argument(index, slot);
        }
    }

    /// What is used without being bound.
    pub(crate) fn used(&self) -> &Used {
        &self.used
    }

    /// What is used without being bound.
    pub(crate) fn used_mut(&mut self) -> &mut Used {
        &mut self.used
    }

    /// The textures and samplers.
    pub(crate) fn resources_mut(&mut self) -> &mut TextureBindings {
        &mut self.resources
    }

    /// Sets the region that stage-in data are for; gives what was set before.
    pub(crate) fn set_region(&mut self, region: GridRegion) -> Option<GridRegion> {
        self.region.replace(region)
    }

    /// Whether a region was set.
    pub(crate) fn has_region(&self) -> bool {
        self.region.is_some()
    }

    /// Sets a length of threadgroup memory.
    pub(crate) fn set_threadgroup_memory(&mut self, index: usize, length: usize) {
        let index = index as u32;
        self.threadgroup_memory.retain(|(known, _)| *known != index);
        self.threadgroup_memory.push((index, length as u64));
    }

    /// Takes the lengths of threadgroup memory of others.
    pub(crate) fn with_threadgroup_memory_of(mut self, other: &Bindings) -> Bindings {
        self.threadgroup_memory.clone_from(&other.threadgroup_memory);
        self
    }

    /// Encodes a dispatch, for a method that makes it.
    pub(crate) fn encode(
        &self,
        commands: &Commands,
        method: &str,
        (pipeline, unbound): (&anymetal::Pipeline, UnboundReference),
        grid: &Grid,
        group: Size,
    ) {
        let kernel = pipeline.kernel();
        self.resources.check(method, kernel);
        commands.encode(method, |commands| {
            let mut encoder = commands.compute_encoder();
            encoder.set_pipeline(pipeline);
            if kernel.encodes_commands() {
                self.used.tell(&mut encoder)?;
            }
            let buffers = kernel.arguments.iter().filter(|argument| {
                argument.kind == ArgumentKind::Buffer && argument.role() == BindingRole::Buffer
            });
            for argument in buffers.filter(|argument| argument.enabled) {
                match self.slot(argument.index as usize) {
                    Slot::Empty if argument.is_reference && unbound == UnboundReference::Zeros => {
                        encoder.set_argument(argument.index, zeros(argument.min_bytes));
                    }
                    slot => encoder.set_argument(argument.index, slot),
                };
            }
            self.resources.bind(kernel, &mut encoder);
            match &self.region {
                Some(GridRegion::Given(region)) => encoder.set_stage_in_region(*region),
                Some(GridRegion::Indirect(region)) => encoder.set_stage_in_region_indirect(region),
                None => {}
            }
            for (index, length) in &self.threadgroup_memory {
                encoder.set_threadgroup_memory_length(*index, *length);
            }
            match grid {
                Grid::Threads(threads) => encoder.dispatch_threads(threads.extents(), group.extents()),
                Grid::Threadgroups(groups) => {
                    encoder.dispatch_threadgroups(groups.extents(), group.extents())
                }
                Grid::Indirect(counts) => {
                    encoder.dispatch_threadgroups_indirect_region(counts, group.extents())
                }
            }
        });
    }
}

impl Argument for Slot {
    fn bind(
        &self,
        target: anymetal::argument::ArgumentTarget<'_>,
    ) -> Result<anymetal::argument::BoundResource, anymetal::error::DeviceError> {
        match self {
            Slot::Empty => Unbound.bind(target),
            Slot::Buffer { region, .. } => region.bind(target),
            Slot::Bytes(bytes) => InlineBytes(bytes).bind(target),
        }
    }
}

/// What stands for a reference that is not bound.
fn zeros(bytes: u64) -> Slot {
    Slot::Bytes(vec![0; usize::try_from(bytes).unwrap_or(0)].into())
}

/// Checks a length of threadgroup memory, for a method that takes it.
pub(crate) fn check_threadgroup_memory(method: &str, length: usize) {
    if !length.is_multiple_of(THREADGROUP_MEMORY_ALIGNMENT) {
        let rule =
            format_args!("length({length}) must be a multiple of {THREADGROUP_MEMORY_ALIGNMENT} bytes");
        violation(method, rule);
    }
}

/// An index that a kernel can have, for a method that takes it.
pub(crate) fn checked_index(method: &str, index: usize) -> usize {
    if index >= MAX_BUFFERS {
        violation(method, format_args!("index({index}) must be < {MAX_BUFFERS}."));
    }
    index
}
