//! Buffers whose contents follow the work from device to device.
//!
//! Owns [`ManagedBuffer`] and [`ManagedView`], typed handles of a [`Memory`]. Invariant: the host
//! reads and writes in turn with executions that use the buffer.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use anymetal::argument::{ArgumentTarget, BoundResource};
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::{Argument, Error};
use anymetal_hal::clock::wait_for;
use bytemuck::Pod;

use super::core::Core;
use super::error::ManagerError;
use super::gate::{BufferUses, Pass};
use super::host_bytes::HostBytes;
use super::memory::{CopyError, Durability, Memory};
use anymetal::call::fits;

/// Elements of one type that every device of a manager can use. Clones are the same buffer.
///
/// The contents are where they were last written, and are copied to the device that runs when an
/// execution needs them there. See [`Durability`] for what a loss of a device means for them.
pub struct ManagedBuffer<T> {
    core: Arc<Core>,
    memory: Arc<Memory>,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> ManagedBuffer<T> {
    pub(super) fn new(
        core: &Arc<Core>,
        len: usize,
        label: String,
        durability: Durability,
        host: HostBytes,
    ) -> Self {
        let bytes = (len * size_of::<T>()) as u64;
        let memory = Memory::new(core, bytes, label, durability, host);
        ManagedBuffer { core: Arc::clone(core), memory, len, element: PhantomData }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its name for messages and listings; may be empty.
    pub fn label(&self) -> &str {
        self.memory.label()
    }

    /// How its host copy is kept.
    pub fn durability(&self) -> Durability {
        self.memory.durability()
    }

    /// A copy of all elements, once executions that write them have ended.
    pub fn read(&self) -> Result<Vec<T>, ManagerError> {
        self.read_range(0..self.len)
    }

    /// A copy of some elements, once executions that write the buffer have ended.
    pub fn read_range(&self, range: Range<usize>) -> Result<Vec<T>, ManagerError> {
        let (bytes, count) = (self.bytes(&range)?, range.len());
        let _turn = turn(&self.core, &self.memory, false);
        let read = read_bytes(&self.core, &self.memory, bytes)?;
        Ok(elements(&read, count))
    }

    /// Overwrites all elements, in turn with executions that use them. It must be as many. A buffer
    /// whose contents were lost is whole again.
    pub fn write(&self, elements: &[T]) -> Result<(), ManagerError> {
        if elements.len() != self.len {
            let (end, len) = (elements.len(), self.len);
            return Err(Error::RangeOutsideBuffer { start: 0, end, len }.into());
        }
        self.write_at(0, elements)
    }

    /// Overwrites elements from `start` on, in turn with executions that use the buffer.
    pub fn write_at(&self, start: usize, elements: &[T]) -> Result<(), ManagerError> {
        let bytes = self.bytes(&(start..start.saturating_add(elements.len())))?;
        let _turn = turn(&self.core, &self.memory, true);
        overwrite(&self.core, &self.memory, bytes.start, bytemuck::cast_slice(elements))
    }

    /// Says that the contents are no longer needed: all bytes are zero, nothing is moved for the
    /// next execution, and a loss of the device that had them is none of this buffer's.
    pub fn discard(&self) {
        let _turn = turn(&self.core, &self.memory, true);
        self.memory.replace(HostBytes::Zeros);
    }

    /// A part of it, to bind as an argument.
    pub fn view(&self, range: Range<usize>) -> Result<ManagedView<T>, ManagerError> {
        let bytes = self.bytes(&range)?;
        Ok(ManagedView { memory: Arc::clone(&self.memory), bytes, element: PhantomData })
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn bytes(&self, range: &Range<usize>) -> Result<Range<u64>, Error> {
        let Range { start, end } = *range;
        if start > end || end > self.len {
            return Err(Error::RangeOutsideBuffer { start, end, len: self.len });
        }
        Ok((start * size_of::<T>()) as u64..(end * size_of::<T>()) as u64)
    }
}

/// Waits until no execution uses a memory in a way that excludes the host's access.
pub(super) fn turn(core: &Core, memory: &Memory, writes: bool) -> Pass<BufferUses> {
    let entered = core.gate.enter(BufferUses::new([(memory.id(), writes)]));
    wait_for(&*core.clock, None, entered).expect("waiting without a limit ends with the future")
}

/// Overwrites bytes from an offset on; the others are those of another copy if a device that has one is lost.
pub(super) fn overwrite(core: &Core, memory: &Memory, offset: u64, bytes: &[u8]) -> Result<(), ManagerError> {
    loop {
        match memory.write(offset, bytes) {
            Ok(()) => return Ok(()),
            Err(error) => resolve(core, memory, error)?,
        }
    }
}

/// Reads bytes of the present contents, from another copy if a device that has one is lost.
pub(super) fn read_bytes(core: &Core, memory: &Memory, bytes: Range<u64>) -> Result<Vec<u8>, ManagerError> {
    loop {
        match memory.read(bytes.clone()) {
            Ok(read) => return Ok(read),
            Err(error) => resolve(core, memory, error)?,
        }
    }
}

/// Whether another copy can be tried: a device that fails to give its own as lost is lost.
pub(super) fn resolve(core: &Core, memory: &Memory, error: CopyError) -> Result<(), ManagerError> {
    match error {
        CopyError::Lost(device) => Err(contents_lost(memory, &device)),
        CopyError::Target(error) => Err((*error).into()),
        CopyError::Source { slot, generation, error } if error.class() == ErrorClass::Lost => {
            core.lose(slot, generation, &error.to_string());
            Ok(())
        }
        CopyError::Source { error, .. } => Err((*error).into()),
    }
}

pub(super) fn contents_lost(memory: &Memory, device: &str) -> ManagerError {
    ManagerError::ContentsLost { label: memory.label().to_owned(), device: device.to_owned() }
}

/// Bytes as elements; whole ones, so many.
pub(super) fn elements<T: Pod>(bytes: &[u8], count: usize) -> Vec<T> {
    let mut elements = vec![T::zeroed(); count];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    elements
}

impl<T> Clone for ManagedBuffer<T> {
    fn clone(&self) -> Self {
        let (core, memory) = (Arc::clone(&self.core), Arc::clone(&self.memory));
        ManagedBuffer { core, memory, len: self.len, element: PhantomData }
    }
}

impl<T: Pod> fmt::Debug for ManagedBuffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element, len, label) = (std::any::type_name::<T>(), self.len, self.label());
        write!(formatter, "ManagedBuffer<{element}>({len} elements)")?;
        if label.is_empty() { Ok(()) } else { write!(formatter, " `{label}`") }
    }
}

/// A part of a managed buffer. It holds the buffer's memory.
#[derive(Clone)]
pub struct ManagedView<T> {
    memory: Arc<Memory>,
    bytes: Range<u64>,
    element: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for ManagedView<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "bytes {:?} of `{}`", self.bytes, self.memory.label())
    }
}

/// What an argument of a managed launch has become.
#[derive(Debug, Clone)]
pub struct ManagedBinding {
    pub(super) bound: Bound,
}

#[derive(Debug, Clone)]
pub(super) enum Bound {
    Memory(Arc<Memory>, Range<u64>),
    Value(BoundResource),
}

/// What can be given to a managed launch as an argument: managed buffers and their views, and
/// whatever a launch takes except buffers of one device.
pub trait ManagedArgument {
    /// What to bind, converted to the type that the kernel declares.
    fn bind_managed(&self, target: ArgumentTarget<'_>) -> Result<ManagedBinding, DeviceError>;
}

impl<A: Argument> ManagedArgument for A {
    fn bind_managed(&self, target: ArgumentTarget<'_>) -> Result<ManagedBinding, DeviceError> {
        match self.bind(target)? {
            BoundResource::Buffer { .. } => {
                Err(target.wrong_type("a buffer of one device, where a managed one is needed"))
            }
            value => Ok(ManagedBinding { bound: Bound::Value(value) }),
        }
    }
}

impl<T: Pod> ManagedArgument for ManagedBuffer<T> {
    fn bind_managed(&self, target: ArgumentTarget<'_>) -> Result<ManagedBinding, DeviceError> {
        bind::<T>(target, &self.memory, 0..self.memory.length())
    }
}

impl<T: Pod> ManagedArgument for &ManagedBuffer<T> {
    fn bind_managed(&self, target: ArgumentTarget<'_>) -> Result<ManagedBinding, DeviceError> {
        (**self).bind_managed(target)
    }
}

impl<T: Pod> ManagedArgument for ManagedView<T> {
    fn bind_managed(&self, target: ArgumentTarget<'_>) -> Result<ManagedBinding, DeviceError> {
        bind::<T>(target, &self.memory, self.bytes.clone())
    }
}

impl<T: Pod> ManagedArgument for &ManagedView<T> {
    fn bind_managed(&self, target: ArgumentTarget<'_>) -> Result<ManagedBinding, DeviceError> {
        (**self).bind_managed(target)
    }
}

fn bind<T: Pod>(
    target: ArgumentTarget<'_>,
    memory: &Arc<Memory>,
    bytes: Range<u64>,
) -> Result<ManagedBinding, DeviceError> {
    if !fits::<T>(target.argument) {
        return Err(target.wrong_type(format!("a buffer of `{}`", std::any::type_name::<T>())));
    }
    Ok(ManagedBinding { bound: Bound::Memory(Arc::clone(memory), bytes) })
}
