//! Devices: which there are, and what is made from them.
//!
//! Owns [`Device`], a cheap handle. Invariant: there is one CPU device per process, so that all handles share
//! its workers.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anymetal_device_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::QueueDescriptor;
use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::compile::CompiledLibrary;
use crate::config;
use crate::error::Error;
use crate::library::{CompileOptions, Library};
use crate::queue::Queue;

/// A processor or GPU that runs Metal kernels.
#[derive(Debug, Clone)]
pub struct Device {
    inner: Arc<dyn HalDevice>,
}

impl Device {
    /// The device that `ANYMETAL_DEVICE` names, or else this machine's best: so far its processor.
    pub fn system_default() -> Result<Device, Error> {
        match config::device_name() {
            Some(name) => Device::by_name(&name),
            None => Device::cpu(),
        }
    }

    /// All devices of this machine, the default one first.
    pub fn all() -> Result<Vec<Device>, Error> {
        Ok(vec![Device::cpu()?])
    }

    /// The device of that name, such as `cpu`.
    pub fn by_name(name: &str) -> Result<Device, Error> {
        let mut devices = Device::all()?;
        match devices.iter().position(|device| device.name().eq_ignore_ascii_case(name.trim())) {
            Some(position) => Ok(devices.swap_remove(position)),
            None => {
                let existing = devices.iter().map(|device| device.name().to_owned()).collect();
                Err(DeviceError::UnknownDevice { name: name.to_owned(), existing }.into())
            }
        }
    }

    /// A device made elsewhere: with options of its own, or one that wraps another.
    pub fn from_hal(inner: Arc<dyn HalDevice>) -> Device {
        Device { inner }
    }

    fn cpu() -> Result<Device, Error> {
        static CPU: OnceLock<Result<Device, Error>> = OnceLock::new();
        let make = || {
            let device = CpuDevice::new(&CpuDeviceOptions::from_environment()?)?;
            Ok(Device::from_hal(Arc::new(device)))
        };
        CPU.get_or_init(make).clone()
    }

    /// The name by which it is chosen.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// What it can do.
    pub fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    /// Bytes that live buffers take of its memory.
    pub fn allocated_bytes(&self) -> u64 {
        self.inner.allocated_bytes()
    }

    /// A buffer with a copy of those elements.
    pub fn buffer<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.buffer_zeroed(elements.len())?;
        buffer.write(elements)?;
        Ok(buffer)
    }

    /// A buffer of so many elements, all bytes zero.
    pub fn buffer_zeroed<T: Pod>(&self, count: usize) -> Result<Buffer<T>, Error> {
        let element_size = size_of::<T>();
        let bytes = count.checked_mul(element_size).ok_or(Error::TooManyElements { count, element_size })?;
        let inner = self.inner.buffer(&BufferDescriptor::shared(bytes as u64))?;
        Ok(Buffer::new(inner, count))
    }

    /// Compiles MSL source with default options.
    pub fn library_from_source(&self, source: &str) -> Result<Library, Error> {
        self.library_from_source_with(source, &CompileOptions::default())
    }

    /// Compiles MSL source. Kernels are compiled down to device code when their pipeline is made.
    pub fn library_from_source_with(&self, source: &str, options: &CompileOptions) -> Result<Library, Error> {
        let compiled = CompiledLibrary::from_source(source, options)?;
        Ok(Library::new(self.clone(), compiled))
    }

    /// Compiles a file of MSL; its folder is searched for includes first.
    pub fn library_from_file(
        &self,
        path: impl Into<PathBuf>,
        options: &CompileOptions,
    ) -> Result<Library, Error> {
        let compiled = CompiledLibrary::from_file(&path.into(), options)?;
        Ok(Library::new(self.clone(), compiled))
    }

    /// A library of code that was compiled before. Machine code in it runs with the rights of the process, so
    /// take it only from where you would take a program.
    pub fn library_from_artifact(&self, artifact: Arc<Artifact>) -> Library {
        Library::new(self.clone(), CompiledLibrary::from_artifact(artifact))
    }

    /// A queue.
    pub fn queue(&self) -> Result<Queue, Error> {
        self.queue_with(&QueueDescriptor::default())
    }

    /// A queue with a label and limits.
    pub fn queue_with(&self, descriptor: &QueueDescriptor) -> Result<Queue, Error> {
        Ok(Queue::new(self.inner.queue(descriptor)?))
    }

    /// The device below, for what this crate does not wrap.
    pub fn hal(&self) -> &Arc<dyn HalDevice> {
        &self.inner
    }
}
