//! Graphs that every device of a manager can run.
//!
//! Owns [`ManagedGraph`]: a closure that builds the graph for a device, and the buffers that it
//! declares. Invariant: a graph that was built for a device runs only while its buffers there are
//! the ones that it was built with.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use anymetal::graph::Executable;
use anymetal::reflection::Access;
use anymetal::{Buffer, BufferSlice, Device, Error, Pipeline};
use bytemuck::Pod;

use super::buffer::ManagedBuffer;
use super::core::Core;
use super::error::ManagerError;
use super::generation::Generation;
use super::kernel::ManagedKernel;
use super::memory::Memory;

/// The buffers of one execution on one device, by the numbers of their memories.
pub(super) type Placed = BTreeMap<u64, Buffer<u8>>;

type Build = Box<dyn Fn(&GraphSite<'_>) -> Result<Executable, ManagerError> + Send + Sync>;

/// A graph for all devices of a manager. Clones are the same graph.
#[derive(Clone)]
pub struct ManagedGraph {
    pub(super) shared: Arc<GraphShared>,
}

pub(super) struct GraphShared {
    core: Weak<Core>,
    number: u64,
    name: Arc<str>,
    declared: Vec<DeclaredBuffer>,
    build: Build,
}

/// A buffer that a graph uses.
#[derive(Debug)]
pub(super) struct DeclaredBuffer {
    pub(super) memory: Arc<Memory>,
    pub(super) access: Access,
}

/// A graph as it was built for a device.
#[derive(Debug)]
pub(super) struct BuiltGraph {
    executable: Executable,
    buffers: Vec<BufferSlice>,
}

/// Where a graph is built: a device, with the buffers that the graph declares.
#[derive(Debug)]
pub struct GraphSite<'a> {
    graph: &'a str,
    generation: &'a Generation,
    placed: &'a Placed,
}

impl GraphSite<'_> {
    /// The device.
    pub fn device(&self) -> &Device {
        self.generation.device()
    }

    /// The buffer's copy on this device. The graph must have declared it.
    pub fn buffer<T: Pod>(&self, buffer: &ManagedBuffer<T>) -> Result<Buffer<T>, ManagerError> {
        let placed = self.placed.get(&buffer.memory().id());
        let placed = placed.ok_or_else(|| undeclared(self.graph, buffer.memory()))?;
        Ok(placed.of_elements(buffer.len()))
    }

    /// The kernel's pipeline on this device.
    pub fn pipeline(&self, kernel: &ManagedKernel) -> Result<Pipeline, Error> {
        kernel.shared.pipeline(self.generation)
    }
}

pub(super) fn undeclared(work: &str, memory: &Memory) -> ManagerError {
    let (work, label) = (work.to_owned(), memory.label().to_owned());
    ManagerError::Undeclared { work, label }
}

/// A graph in the making; [`super::Manager::graph`] begins one.
#[must_use = "the graph is made by `build`"]
pub struct ManagedGraphBuilder {
    core: Arc<Core>,
    name: String,
    declared: Vec<DeclaredBuffer>,
}

impl ManagedGraphBuilder {
    pub(super) fn new(core: &Arc<Core>, name: String) -> Self {
        ManagedGraphBuilder { core: Arc::clone(core), name, declared: Vec::new() }
    }

    /// The graph only reads it.
    pub fn reads<T: Pod>(self, buffer: &ManagedBuffer<T>) -> Self {
        self.with(buffer, Access::Read)
    }

    /// The graph reads no byte of it that it has not written before.
    pub fn writes<T: Pod>(self, buffer: &ManagedBuffer<T>) -> Self {
        self.with(buffer, Access::Write)
    }

    /// The graph reads and changes it: it is restored before another attempt.
    pub fn updates<T: Pod>(self, buffer: &ManagedBuffer<T>) -> Self {
        self.with(buffer, Access::ReadWrite)
    }

    fn with<T: Pod>(mut self, buffer: &ManagedBuffer<T>, access: Access) -> Self {
        self.declared.push(DeclaredBuffer { memory: Arc::clone(buffer.memory()), access });
        self
    }

    /// The graph. The closure builds it for a device, when it is first needed there and after a
    /// loss; it must build the same each time.
    pub fn build(
        self,
        build: impl Fn(&GraphSite<'_>) -> Result<Executable, ManagerError> + Send + Sync + 'static,
    ) -> Result<ManagedGraph, ManagerError> {
        let ManagedGraphBuilder { core, name, declared } = self;
        if declared.iter().any(|declared| !declared.memory.is_of(&core)) {
            return Err(ManagerError::Foreign { what: "buffer" });
        }
        let (number, name, build) = (core.next_id(), Arc::from(name), Box::new(build));
        let shared = GraphShared { core: Arc::downgrade(&core), number, name, declared, build };
        Ok(ManagedGraph { shared: Arc::new(shared) })
    }
}

impl GraphShared {
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn declared(&self) -> &[DeclaredBuffer] {
        &self.declared
    }

    pub(super) fn is_of(&self, core: &Arc<Core>) -> bool {
        std::ptr::eq(self.core.as_ptr(), Arc::as_ptr(core))
    }

    /// The graph for that device and those buffers.
    pub(super) fn built(&self, site: &Generation, placed: &Placed) -> Result<Arc<BuiltGraph>, ManagerError> {
        let regions = || placed.values().map(Buffer::region);
        let fits = |built: &BuiltGraph| {
            let mut pairs = regions().zip(&built.buffers);
            built.buffers.len() == placed.len() && pairs.all(|(one, other)| one.is_same(other))
        };
        site.graph(self.number, fits, || {
            let site = GraphSite { graph: &self.name, generation: site, placed };
            Ok(BuiltGraph { executable: (self.build)(&site)?, buffers: regions().collect() })
        })
    }
}

impl BuiltGraph {
    pub(super) fn executable(&self) -> &Executable {
        &self.executable
    }
}

impl Drop for GraphShared {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.forget_work(self.number);
        }
    }
}

impl fmt::Debug for ManagedGraph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ManagedGraph").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ManagedGraphBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ManagedGraphBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
