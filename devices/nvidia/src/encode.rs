//! Commands as what is put into a stream.
//!
//! Owns [`StreamCommand`]. Encoding looks up addresses and writes the parameters; nothing runs.

use std::sync::Arc;

use anymetal_hal::artifact::{ArgumentKind, KernelInfo};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{Binding, BoundResource, Command, Dispatch};
use anymetal_hal::error::DeviceError;
use anymetal_hal::launch::nvidia::{GRID_BARRIER_BYTES, grid_barrier_words};
use anymetal_hal::matrix_product::MatrixProduct;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::DispatchShape;

use crate::arena::{Arena, ArenaUse, Inline, inline_room};
use crate::device_shared::DeviceShared;
use crate::driver::{Driver, DriverError, KernelLaunch};
use crate::launch::{self, Signals};
use crate::memory::NvidiaBuffer;
use crate::pipeline::NvidiaPipeline;
use crate::residency::Table;

/// One thing that a stream does.
#[derive(Debug)]
pub(crate) enum StreamCommand {
    Launch { function: u64, shape: DispatchShape, shared_bytes: u32, cooperative: bool, parameters: Vec<u8> },
    Copy { to: u64, from: u64, bytes: u64 },
    Fill { to: u64, value: u8, bytes: u64 },
    Multiply(Box<MatrixProduct<u64>>),
}

impl StreamCommand {
    /// Puts it into the stream.
    pub(crate) fn put(&self, driver: &dyn Driver, stream: u64) -> Result<(), DriverError> {
        match self {
            StreamCommand::Launch { function, shape, shared_bytes, cooperative, parameters } => {
                let launch = KernelLaunch {
                    function: *function,
                    groups: shape.groups,
                    group_size: shape.group_size,
                    shared_bytes: *shared_bytes,
                    cooperative: *cooperative,
                    parameters,
                };
                driver.launch(launch, stream)
            }
            StreamCommand::Copy { to, from, bytes } => driver.copy(*to, *from, *bytes, stream),
            StreamCommand::Fill { to, value, bytes } => driver.fill(*to, *value, *bytes, stream),
            StreamCommand::Multiply(product) => driver.multiply(product, stream),
        }
    }
}

/// A dispatch that is encoded.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) launch: StreamCommand,
    /// The number of its fault record; none if it cannot fault.
    pub(crate) record: Option<usize>,
}

/// The bytes of an arena that a dispatch's inline bytes take.
pub(crate) fn inline_bytes(kernel: &KernelInfo, bindings: &[Binding]) -> u64 {
    let bytes = |binding: &Binding| match &binding.resource {
        BoundResource::Bytes(bytes) => {
            let argument = kernel.argument(ArgumentKind::Buffer, binding.index);
            let in_memory = argument.is_some_and(|argument| !launch::is_by_value(argument, bytes));
            if in_memory { inline_room(bytes.len()) } else { 0 }
        }
        _ => 0,
    };
    bindings.iter().map(bytes).sum()
}

/// Encodes a dispatch, which was checked; the arena must have room for it. Its inline bytes are to be
/// uploaded before it is launched.
pub(crate) fn dispatch(
    device: &Arc<DeviceShared>,
    pipeline: &NvidiaPipeline,
    shape: &DispatchShape,
    dispatch: &Dispatch,
    (stop, residents): (u64, Table),
    (arena, room, uploads): (&Arena, &mut ArenaUse, &mut Inline),
) -> Result<Encoded, DeviceError> {
    let (record, fault) = room.record(arena);
    let meets_grid = pipeline.kernel().grid_barriers;
    let barrier_bytes = if meets_grid { inline_room(GRID_BARRIER_BYTES as usize) } else { 0 };
    let inline = inline_bytes(pipeline.kernel(), dispatch.bindings()) + barrier_bytes;
    let start = room.inline(arena, inline);
    let mut bytes = Vec::with_capacity(inline as usize);
    if meets_grid {
        // `launch::check` refused more than the card holds at once.
        let groups = u32::try_from(shape.group_count).expect("a cooperative grid's threadgroups fit a card");
        bytes.extend(grid_barrier_words(groups));
        bytes.resize(barrier_bytes as usize, 0);
    }
    let put = |own: &[u8]| {
        let at = start + bytes.len() as u64;
        bytes.extend_from_slice(own);
        bytes.resize(inline_room(bytes.len()) as usize, 0);
        at
    };
    // The words of barriers, if there are any, come first.
    let signals = Signals { fault, stop, grid_barrier: start, residents };
    let encoded = launch::encode(device, pipeline, dispatch, shape.grid_threads, signals, put)?;
    uploads.add(start, &bytes);
    let launch = StreamCommand::Launch {
        function: pipeline.function,
        shape: *shape,
        shared_bytes: encoded.shared_bytes,
        cooperative: meets_grid,
        parameters: encoded.parameters,
    };
    Ok(Encoded { launch, record: pipeline.can_fault().then_some(record) })
}

/// Encodes a copy, a fill or a product, which was checked; none if it does nothing or is another command.
pub(crate) fn blit(
    device: &Arc<DeviceShared>,
    command: &Command,
) -> Result<Option<StreamCommand>, DeviceError> {
    Ok(match command {
        Command::Copy(copy) if copy.length() > 0 => {
            let (source, destination) =
                (NvidiaBuffer::of(copy.source(), device)?, NvidiaBuffer::of(copy.destination(), device)?);
            Some(StreamCommand::Copy {
                to: destination.address() + copy.destination_offset(),
                from: source.address() + copy.source_offset(),
                bytes: copy.length(),
            })
        }
        Command::Fill(fill) if fill.length() > 0 => {
            let to = NvidiaBuffer::of(fill.buffer(), device)?.address() + fill.offset();
            Some(StreamCommand::Fill { to, value: fill.value(), bytes: fill.length() })
        }
        Command::MatrixProduct(product) => {
            let address =
                |buffer: &Arc<dyn Buffer>| NvidiaBuffer::of(buffer, device).map(NvidiaBuffer::address);
            Some(StreamCommand::Multiply(Box::new(product.try_map(address)?)))
        }
        _ => None,
    })
}

/// The pipeline and the shape of a direct dispatch; no shape if its grid is empty.
pub(crate) fn shape_of<'c>(
    device: &Arc<DeviceShared>,
    dispatch: &'c anymetal_hal::command::Dispatch,
) -> Result<(&'c NvidiaPipeline, Option<DispatchShape>), DeviceError> {
    let pipeline = launch::pipeline(device, dispatch.pipeline())?;
    Ok((pipeline, dispatch.check(&device.capabilities)?.shape))
}
