//! Validation of commands.
//!
//! The rules are [`anymetal_hal::validate`]'s; here is what is this device's own.

use std::num::NonZero;
use std::sync::Arc;

use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::Command;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::indirect::HostIndirect;
use anymetal_hal::matrix_product;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::time_sample;

use crate::device::DeviceShared;
use crate::event::AppleEvent;
use crate::fence::AppleFence;
use crate::memory::AppleBuffer;
use crate::pipeline::ApplePipeline;

/// Checks commands, of a queue or for later.
pub(crate) fn check_commands(
    device: &Arc<DeviceShared>,
    commands: &[Command],
    queue: Option<NonZero<usize>>,
) -> Result<(), DeviceError> {
    commands.iter().try_for_each(|command| check(device, command, queue))
}

/// Commands that kernels encode are in memory that Metal does not know.
pub(crate) fn encoded_unsupported(device: &DeviceShared) -> DeviceError {
    DeviceError::Unsupported {
        device: device.name.clone(),
        what: "indirect command buffers that kernels encode".to_owned(),
        alternative: "encode the commands on the host".to_owned(),
    }
}

fn check(
    device: &Arc<DeviceShared>,
    command: &Command,
    queue: Option<NonZero<usize>>,
) -> Result<(), DeviceError> {
    let limits = &device.capabilities;
    let mut foreign = false;
    command.each_buffer(&mut |known| foreign |= buffer(device, known).is_err());
    if foreign {
        return Err(device.wrong_device("buffer"));
    }
    match command {
        Command::Dispatch(dispatch) if dispatch.is_cooperative() => {
            return Err(DeviceError::Unsupported {
                device: device.name.clone(),
                what: "cooperative launches: Metal promises no progress between threadgroups".to_owned(),
                alternative:
                    "split the kernel at its grid barriers into kernels that are launched one after \
                              the other"
                        .to_owned(),
            });
        }
        Command::Dispatch(dispatch) => {
            pipeline(device, dispatch.pipeline())?;
            dispatch.check_complete(limits)?;
        }
        Command::DispatchIndirect(indirect) => {
            pipeline(device, indirect.dispatch().pipeline())?;
            indirect.dispatch().check_complete(limits)?;
        }
        Command::MatrixProduct(_) => return Err(matrix_product::unsupported(&device.name)),
        Command::SampleTime(_) => return Err(time_sample::unsupported(&device.name)),
        // Their ranges are within their buffers.
        Command::Copy(_) | Command::Fill(_) => {}
        Command::UpdateFence(known) | Command::WaitFence(known) => {
            let own = fence(device, known)?;
            if queue.is_some_and(|queue| !own.bind_queue(queue)) {
                return Err(DeviceError::FenceAcrossQueues);
            }
        }
        Command::ExecuteIndirect(indirect) => {
            // Its commands were checked when it was made.
            let own = indirect.as_any().downcast_ref::<HostIndirect<Arc<DeviceShared>>>();
            if own.is_none_or(|own| !Arc::ptr_eq(&own.owner, device)) {
                return Err(device.wrong_device("indirect command buffer"));
            }
        }
        Command::ExecuteEncoded(_) => return Err(encoded_unsupported(device)),
        Command::WaitEvent { event: known, .. } | Command::SignalEvent { event: known, .. } => {
            event(device, known)?;
        }
    }
    Ok(())
}

/// The device's own buffer.
pub(crate) fn buffer<'b>(
    device: &Arc<DeviceShared>,
    buffer: &'b Arc<dyn Buffer>,
) -> Result<&'b AppleBuffer, DeviceError> {
    let own = buffer.as_any().downcast_ref::<AppleBuffer>();
    own.filter(|own| own.belongs_to(device)).ok_or_else(|| device.wrong_device("buffer"))
}

/// The device's own pipeline.
pub(crate) fn pipeline<'p>(
    device: &Arc<DeviceShared>,
    pipeline: &'p Arc<dyn Pipeline>,
) -> Result<&'p ApplePipeline, DeviceError> {
    let own = pipeline.as_any().downcast_ref::<ApplePipeline>();
    own.filter(|own| own.belongs_to(device)).ok_or_else(|| device.wrong_device("pipeline"))
}

/// The device's own event: its queues wait for no others.
pub(crate) fn event<'e>(
    device: &Arc<DeviceShared>,
    event: &'e Arc<dyn Event>,
) -> Result<&'e AppleEvent, DeviceError> {
    let own = event.as_any().downcast_ref::<AppleEvent>();
    own.filter(|own| own.belongs_to(device)).ok_or_else(|| device.wrong_device("event"))
}

/// The device's own fence.
pub(crate) fn fence<'f>(
    device: &Arc<DeviceShared>,
    fence: &'f Arc<dyn Fence>,
) -> Result<&'f AppleFence, DeviceError> {
    let own = fence.as_any().downcast_ref::<AppleFence>();
    own.filter(|own| own.belongs_to(device)).ok_or_else(|| device.wrong_device("fence"))
}
