//! The device: makes buffers, pipelines, queues and events.
//!
//! Owns the [`Device`] trait, the root of the family [`Buffer`], [`Heap`], [`Pipeline`], [`Queue`],
//! [`Event`], [`Fence`], [`IndirectCommandBuffer`].
//!
//! - *Who validates*: the device, at the call that names the mistake: ranges when a buffer is touched, all of
//!   a command buffer in [`Queue::submit`], by the rules in [`crate::validate`] that every device shares.
//! - *Who owns*: handles are `Arc`s. Submitted work holds what it uses, so dropping a handle is always fine.
//! - *What may block*: `Completion::wait`, `Buffer::wait_unused`, `Event::wait` and a full queue's `submit`;
//!   nothing else waits for the device.
//! - *Errors*: [`DeviceError`], with a class.

use std::fmt;
use std::sync::Arc;

use crate::artifact::Artifact;
use crate::buffer::{Buffer, BufferDescriptor};
use crate::capabilities::Capabilities;
use crate::command::Command;
use crate::error::DeviceError;
use crate::event::Event;
use crate::fence::Fence;
use crate::heap::{Heap, HeapDescriptor};
use crate::host_pages::{HostPages, ImportError};
use crate::indirect::IndirectCommandBuffer;
use crate::matrix_product;
use crate::peer::{PeerHandle, PeerLink};
use crate::pipeline::Pipeline;
use crate::queue::{Queue, QueueDescriptor};
use crate::time_sample;

pub use crate::lent_memory::LentMemory;

/// A machine's processor or GPU.
pub trait Device: Send + Sync + fmt::Debug {
    /// The name by which it is chosen: `cpu`, `nvidia:0`.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// Makes a buffer, all zero.
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError>;

    /// Makes a kernel of the artifact ready to run.
    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError>;

    /// Makes a queue.
    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError>;

    /// Makes an event with the value 0.
    fn event(&self) -> Result<Arc<dyn Event>, DeviceError>;

    /// Makes a fence.
    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError>;

    /// Makes a heap; all its memory is taken at once.
    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError>;

    /// Makes a shared buffer of memory that the host has, without a copy, and owns it from then on. A device
    /// that cannot gives the pages back with [`DeviceError::Unsupported`].
    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        let error = DeviceError::Unsupported {
            device: self.name().to_owned(),
            what: format!("import of host memory (`{label}`)"),
            alternative: "make a buffer and copy the bytes".to_owned(),
        };
        Err(Box::new(ImportError { pages, error }))
    }

    /// Makes a shared buffer of memory that the host keeps and lends, without a copy. A device that cannot
    /// refuses with [`DeviceError::Unsupported`].
    fn borrow_host(&self, memory: LentMemory, label: &str) -> Result<Arc<dyn Buffer>, DeviceError> {
        Err(DeviceError::Unsupported {
            device: self.name().to_owned(),
            what: format!("{} bytes of lent host memory (`{label}`)", memory.length()),
            alternative: "make a buffer and copy the bytes".to_owned(),
        })
    }

    /// Checks and encodes dispatches, copies and fills, to be executed often. A device without such a form
    /// refuses with [`DeviceError::Unsupported`].
    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        Err(DeviceError::Unsupported {
            device: self.name().to_owned(),
            what: format!("an indirect command buffer of {} commands", commands.len()),
            alternative: "encode them into each command buffer".to_owned(),
        })
    }

    /// Whether it takes [`Command::MatrixProduct`]; the error says why not.
    fn matrix_products(&self) -> Result<(), DeviceError> {
        Err(matrix_product::unsupported(self.name()))
    }

    /// What its clock shows now, in nanoseconds, if it takes [`Command::SampleTime`]; the error says that it
    /// does not.
    fn clock_ns(&self) -> Result<u64, DeviceError> {
        Err(time_sample::unsupported(self.name()))
    }

    /// What another device of the same maker needs to copy to this one; `None` if it cannot.
    fn peer_handle(&self) -> Option<PeerHandle> {
        None
    }

    /// Makes a way for copies from its buffers to those of another device. One that has none, or none to that
    /// device, refuses with [`DeviceError::Unsupported`].
    fn link_to(&self, peer: &dyn Device) -> Result<Arc<dyn PeerLink>, DeviceError> {
        Err(DeviceError::Unsupported {
            device: self.name().to_owned(),
            what: format!("copies to the memory of `{}`", peer.name()),
            alternative: "read the bytes from one buffer and write them to the other".to_owned(),
        })
    }

    /// The bytes of its memory that live buffers take; imported memory does not count.
    fn allocated_bytes(&self) -> u64;
}
