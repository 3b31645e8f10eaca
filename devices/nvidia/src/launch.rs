//! Validation of commands, and the parameters of a dispatch.
//!
//! The rules are [`anymetal_hal::validate`]'s; here are what is this device's own and what a card counts.

use std::num::NonZero;
use std::sync::Arc;

use anymetal_hal::artifact::{ArgumentInfo, ArgumentKind, KernelInfo};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{BoundResource, Command, Dispatch};
use anymetal_hal::error::DeviceError;
use anymetal_hal::fence::HostFence;
use anymetal_hal::launch::nvidia::{Parameter, Signature, parameter_offsets, parameters};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::{self, DispatchShape};

use crate::device_shared::DeviceShared;
use crate::graph::NvidiaIndirect;
use crate::memory::NvidiaBuffer;
use crate::pipeline::NvidiaPipeline;
use crate::residency::Table;

/// Threadgroups along y and z.
const MAX_GROUPS_Y: u32 = 65_535;
/// Threadgroups along x.
const MAX_GROUPS_X: u32 = i32::MAX as u32;
/// The alignment of a slot of threadgroup memory.
const SLOT_ALIGNMENT: u64 = 16;

/// Bytes of a word.
const WORD: usize = 4;

/// Checks commands, of a queue or for later.
pub(crate) fn check_commands(
    device: &Arc<DeviceShared>,
    commands: &[Command],
    queue: Option<NonZero<usize>>,
) -> Result<(), DeviceError> {
    commands.iter().try_for_each(|command| check(device, command, queue))
}

fn check(
    device: &Arc<DeviceShared>,
    command: &Command,
    queue: Option<NonZero<usize>>,
) -> Result<(), DeviceError> {
    let limits = &device.capabilities;
    let mut foreign = false;
    command.each_buffer(&mut |buffer| foreign |= own(device, buffer).is_none());
    if foreign {
        return Err(device.wrong_device("buffer"));
    }
    match command {
        Command::Dispatch(dispatch) => {
            let pipeline = pipeline(device, dispatch.pipeline())?;
            if let Some(shape) = dispatch.check_complete(limits)?.shape {
                check_groups(&pipeline.kernel().name, &shape)?;
                if pipeline.kernel().grid_barriers {
                    check_resident(device, pipeline, dispatch, &shape)?;
                }
            }
        }
        Command::DispatchIndirect(indirect) => {
            pipeline(device, indirect.dispatch().pipeline())?;
            indirect.dispatch().check_complete(limits)?;
        }
        Command::MatrixProduct(_) => {
            device.driver.can_multiply().map_err(|error| error.of(&device.name, 0))?;
        }
        Command::UpdateFence(fence) | Command::WaitFence(fence) => {
            let own = fence.as_any().downcast_ref::<HostFence>();
            let own = own.ok_or_else(|| device.wrong_device("fence"))?;
            if queue.is_some_and(|queue| !own.bind_queue(queue)) {
                return Err(DeviceError::FenceAcrossQueues);
            }
        }
        Command::ExecuteIndirect(indirect) => {
            // Its commands were checked when it was made.
            let own = indirect.as_any().downcast_ref::<NvidiaIndirect>();
            if own.is_none_or(|own| !Arc::ptr_eq(&own.owner, device)) {
                return Err(device.wrong_device("indirect command buffer"));
            }
        }
        // These are within their buffers since they were made.
        Command::ExecuteEncoded(_)
        | Command::Copy(_)
        | Command::Fill(_)
        | Command::SampleTime(_)
        | Command::WaitEvent { .. }
        | Command::SignalEvent { .. } => {}
    }
    Ok(())
}

/// A card counts fewer threadgroups than Metal.
pub(crate) fn check_groups(kernel: &str, shape: &DispatchShape) -> Result<(), DeviceError> {
    let [x, y, z] = shape.groups;
    if x <= MAX_GROUPS_X && y <= MAX_GROUPS_Y && z <= MAX_GROUPS_Y {
        return Ok(());
    }
    let (groups, size) = (shape.groups, shape.group_size);
    Err(DeviceError::GridTooLarge { kernel: kernel.to_owned(), groups, size })
}

/// Refuses a cooperative launch of more threadgroups than the card has room for at once.
fn check_resident(
    device: &Arc<DeviceShared>,
    pipeline: &NvidiaPipeline,
    dispatch: &Dispatch,
    shape: &DispatchShape,
) -> Result<(), DeviceError> {
    let kernel = pipeline.kernel();
    let shared = shared_memory(device, dispatch)?.1;
    let limit = device.driver.resident_groups(pipeline.function, shape.threads_per_group(), shared);
    let limit = limit.map_err(|error| error.of(&device.name, 0))?.min(u64::from(u32::MAX));
    if shape.group_count > limit {
        let (kernel, groups) = (kernel.name.clone(), shape.group_count);
        return Err(DeviceError::CooperativeGridTooLarge { kernel, groups, limit });
    }
    Ok(())
}

pub(crate) fn own<'b>(device: &Arc<DeviceShared>, buffer: &'b Arc<dyn Buffer>) -> Option<&'b NvidiaBuffer> {
    buffer.as_any().downcast_ref::<NvidiaBuffer>().filter(|buffer| buffer.belongs_to(device))
}

pub(crate) fn pipeline<'p>(
    device: &Arc<DeviceShared>,
    pipeline: &'p Arc<dyn Pipeline>,
) -> Result<&'p NvidiaPipeline, DeviceError> {
    let own = pipeline.as_any().downcast_ref::<NvidiaPipeline>();
    own.filter(|own| own.belongs_to(device)).ok_or_else(|| device.wrong_device("pipeline"))
}

/// The parameters of a launch, and its dynamic shared memory.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) parameters: Vec<u8>,
    pub(crate) shared_bytes: u32,
}

/// Addresses that every launch of a queue has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signals {
    pub(crate) fault: u64,
    pub(crate) stop: u64,
    /// The words of barriers of the grid, if the kernel has any.
    pub(crate) grid_barrier: u64,
    /// What pointers in memory may lead to, if the kernel loads any.
    pub(crate) residents: Table,
}

/// What a dispatch binds. It was checked; `inline` gives the address that bytes will have in the card.
pub(crate) fn encode(
    device: &Arc<DeviceShared>,
    pipeline: &NvidiaPipeline,
    dispatch: &Dispatch,
    grid_threads: [u32; 3],
    signals: Signals,
    mut inline: impl FnMut(&[u8]) -> u64,
) -> Result<Encoded, DeviceError> {
    let kernel = pipeline.kernel();
    let mut buffers = vec![(0u64, 0u64); kernel.buffer_slots() as usize];
    let mut given = vec![&[][..]; buffers.len()];
    for binding in dispatch.bindings() {
        let Some(argument) = kernel.argument(ArgumentKind::Buffer, binding.index) else { continue };
        buffers[argument.slot as usize] = match &binding.resource {
            BoundResource::Unbound => (0, 0),
            BoundResource::Bytes(bytes) if bytes.is_empty() => (0, 0),
            BoundResource::Bytes(bytes) if is_by_value(argument, bytes) => {
                given[argument.slot as usize] = bytes;
                (0, bytes.len() as u64)
            }
            BoundResource::Bytes(bytes) => (inline(bytes), bytes.len() as u64),
            BoundResource::Buffer { buffer, offset, length } => {
                let own = own(device, buffer).ok_or_else(|| device.wrong_device("buffer"))?;
                (own.address() + offset, validate::bound_length(*offset, *length, own.length())?)
            }
        };
    }
    let (slots, shared_bytes) = shared_memory(device, dispatch)?;
    let signature = Signature {
        values: &words_of_slots(kernel),
        threadgroup_slots: kernel.threadgroup_slots(),
        meets_grid: kernel.grid_barriers,
        loads_pointers: kernel.loads_pointers,
    };
    let list = parameters(signature);
    let offsets = parameter_offsets(&list);
    let mut out = Vec::new();
    for (parameter, offset) in list.iter().zip(offsets) {
        let value = match *parameter {
            Parameter::BufferPointer(slot) => buffers[slot as usize].0,
            Parameter::BufferLength(slot) => buffers[slot as usize].1,
            Parameter::ThreadgroupOffset(slot) => slots[slot as usize].0,
            Parameter::ThreadgroupLength(slot) => slots[slot as usize].1,
            Parameter::Fault => signals.fault,
            Parameter::Stop => signals.stop,
            Parameter::GridBarrier => signals.grid_barrier,
            Parameter::Residents => signals.residents.address,
            Parameter::ResidentCount => signals.residents.count,
            Parameter::GridThreads(axis) => grid_threads[usize::from(axis)].into(),
            Parameter::Value { slot, word } => word_of(given[slot as usize], word),
        };
        out.resize(offset as usize, 0);
        out.extend_from_slice(&value.to_le_bytes()[..parameter.size() as usize]);
    }
    Ok(Encoded { parameters: out, shared_bytes })
}

/// Whether bytes are given by value.
pub(crate) fn is_by_value(argument: &ArgumentInfo, bytes: &[u8]) -> bool {
    argument.value_words > 0 && bytes.len() >= WORD * argument.value_words as usize
}

/// How many words each buffer slot takes by value.
fn words_of_slots(kernel: &KernelInfo) -> Vec<u32> {
    let mut words = vec![0; kernel.buffer_slots() as usize];
    let buffers = kernel.arguments.iter().filter(|argument| argument.enabled);
    for argument in buffers.filter(|argument| argument.kind == ArgumentKind::Buffer) {
        words[argument.slot as usize] = argument.value_words;
    }
    words
}

/// A word of bytes; 0 if there are none.
fn word_of(bytes: &[u8], word: u32) -> u64 {
    let (words, _) = bytes.as_chunks::<WORD>();
    words.get(word as usize).map_or(0, |word| u32::from_le_bytes(*word).into())
}

/// Where each slot of threadgroup memory begins in dynamic shared memory, its length, and the bytes of all.
pub(crate) fn shared_memory(
    device: &DeviceShared,
    dispatch: &Dispatch,
) -> Result<(Vec<(u64, u64)>, u32), DeviceError> {
    let layout = &dispatch.check(&device.capabilities)?.threadgroup_layout;
    let mut shared = 0u64;
    let slots = layout.slots.iter().map(|slot| {
        let start = shared;
        shared = (shared + slot.len).next_multiple_of(SLOT_ALIGNMENT);
        (start, slot.len)
    });
    let slots = slots.collect();
    Ok((slots, shared as u32))
}
