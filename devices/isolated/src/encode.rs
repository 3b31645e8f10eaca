//! Submissions as messages.
//!
//! Owns [`Encoder`]. Invariant: each object that a message names is of this device and among `needs`.

use std::sync::Arc;

use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{BoundResource, Command, CommandList, Dispatch};
use anymetal_hal::error::DeviceError;
use anymetal_hal::matrix_product;

use crate::device::{DEVICE, DeviceShared, unsupported};
use crate::link::Remote;
use crate::memory::IsolatedBuffer;
use crate::pipeline::{IsolatedIndirect, IsolatedPipeline, wrong_device};
use crate::wire::{Bytes, WireCommand, WireLaunch, WireResource, WireWork};

/// Writes commands as messages.
pub(crate) struct Encoder<'a, 'b> {
    device: &'a Arc<DeviceShared>,
    /// The bytes of the message.
    blob: &'b mut Vec<u8>,
    /// The objects that the message names; some more than once.
    pub(crate) needs: Vec<&'a dyn Remote>,
}

impl<'a, 'b> Encoder<'a, 'b> {
    /// An encoder into the bytes of a message.
    pub(crate) fn new(device: &'a Arc<DeviceShared>, blob: &'b mut Vec<u8>) -> Self {
        Encoder { device, blob, needs: Vec::new() }
    }

    /// A submission.
    pub(crate) fn work(&mut self, submission: &'a CommandList) -> Result<WireWork, DeviceError> {
        let resident = submission.resident.iter().map(|named| Ok((self.buffer(&named.buffer)?, named.usage)));
        let resident = resident.collect::<Result<_, DeviceError>>()?;
        Ok(WireWork {
            commands: self.commands(&submission.commands)?,
            deadline: submission.deadline,
            timestamps: submission.timestamps,
            label: submission.label.clone(),
            resident,
        })
    }

    /// Commands.
    pub(crate) fn commands(&mut self, commands: &'a [Command]) -> Result<Vec<WireCommand>, DeviceError> {
        commands.iter().map(|command| self.command(command)).collect()
    }

    fn command(&mut self, command: &'a Command) -> Result<WireCommand, DeviceError> {
        Ok(match command {
            Command::Dispatch(dispatch) => {
                let (grid, cooperative) = (dispatch.grid(), dispatch.is_cooperative());
                WireCommand::Dispatch { launch: self.launch(dispatch)?, grid, cooperative }
            }
            Command::DispatchIndirect(dispatch) => {
                let (launch, counts) = (self.launch(dispatch.dispatch())?, self.buffer(dispatch.counts())?);
                WireCommand::DispatchIndirect { launch, counts, offset: dispatch.counts_offset() }
            }
            Command::Copy(copy) => WireCommand::Copy {
                source: self.buffer(copy.source())?,
                source_offset: copy.source_offset(),
                destination: self.buffer(copy.destination())?,
                destination_offset: copy.destination_offset(),
                length: copy.length(),
            },
            Command::Fill(fill) => WireCommand::Fill {
                buffer: self.buffer(fill.buffer())?,
                offset: fill.offset(),
                length: fill.length(),
                value: fill.value(),
            },
            Command::SampleTime(sample) => {
                WireCommand::SampleTime { buffer: self.buffer(sample.buffer())?, offset: sample.offset() }
            }
            Command::ExecuteIndirect(indirect) => {
                let own = indirect.as_any().downcast_ref::<IsolatedIndirect>();
                let own = own.filter(|own| Arc::ptr_eq(&own.device, self.device));
                let own = own.ok_or_else(|| wrong_device("indirect command buffer"))?;
                self.needs.push(own);
                WireCommand::ExecuteIndirect(own.id())
            }
            Command::WaitEvent { event, value } => {
                WireCommand::WaitEvent { value: *value, is_reached: event.signaled_value() >= *value }
            }
            Command::SignalEvent { value, .. } => WireCommand::SignalEvent { value: *value },
            Command::UpdateFence(_) | Command::WaitFence(_) => WireCommand::Fence,
            Command::MatrixProduct(_) => return Err(matrix_product::unsupported(DEVICE)),
            Command::ExecuteEncoded(_) => {
                return Err(unsupported("the execution of commands that kernels encode"));
            }
        })
    }

    fn launch(&mut self, dispatch: &'a Dispatch) -> Result<WireLaunch, DeviceError> {
        let own = dispatch.pipeline().as_any().downcast_ref::<IsolatedPipeline>();
        let own = own.filter(|own| Arc::ptr_eq(&own.device, self.device));
        let own = own.ok_or_else(|| wrong_device("pipeline"))?;
        self.needs.push(own);
        let bindings = dispatch.bindings().iter();
        let bindings = bindings.map(|binding| Ok((binding.index, self.resource(&binding.resource)?)));
        Ok(WireLaunch {
            pipeline: own.id(),
            bindings: bindings.collect::<Result<_, DeviceError>>()?,
            threadgroup_memory: dispatch.threadgroup_memory().to_vec(),
            group_size: dispatch.group_size(),
        })
    }

    fn resource(&mut self, resource: &'a BoundResource) -> Result<WireResource, DeviceError> {
        Ok(match resource {
            BoundResource::Buffer { buffer, offset, length } => {
                WireResource::Buffer { buffer: self.buffer(buffer)?, offset: *offset, length: *length }
            }
            BoundResource::Bytes(bytes) => WireResource::Bytes(Bytes::append(self.blob, bytes)),
            BoundResource::Unbound => WireResource::Unbound,
        })
    }

    fn buffer(&mut self, buffer: &'a Arc<dyn Buffer>) -> Result<u64, DeviceError> {
        let own = buffer.as_any().downcast_ref::<IsolatedBuffer>();
        let own = own.filter(|own| Arc::ptr_eq(&own.device, self.device));
        let own = own.ok_or_else(|| wrong_device("buffer"))?;
        self.needs.push(own);
        Ok(own.id())
    }
}
