//! What a host callback reads and writes a graph's resources with.
//!
//! Invariant: bytes that the node does not declare are neither read nor written, and asking for them fails
//! the run.

use std::cell::RefCell;
use std::fmt;

use crate::graph::error::GraphError;
use crate::graph::node::{Access, HostResult, HostWork, Node};
use crate::graph::resource::{Bytes, ResourceId, Table};
use crate::memory::MemoryError;
use crate::memory::view::BufferView;

/// What a host callback may touch: what its node declares.
pub struct HostContext<'a> {
    pub(crate) work: &'a HostWork,
    pub(crate) node: &'a Node,
    pub(crate) table: &'a Table,
    /// The first misuse; it fails the run even if the callback goes on.
    pub(crate) misuse: RefCell<Option<GraphError>>,
}

impl HostContext<'_> {
    /// Copies bytes of a resource out. Refused bytes leave the destination as it is, and fail the run.
    pub fn read(&self, resource: ResourceId, offset: u64, destination: &mut [u8]) -> HostResult {
        let length = destination.len() as u64;
        self.access(resource, offset, length, false, |view| view.read(offset, destination))
    }

    /// Copies bytes into a resource. Refused bytes are not written, and fail the run.
    pub fn write(&self, resource: ResourceId, offset: u64, source: &[u8]) -> HostResult {
        self.access(resource, offset, source.len() as u64, true, |view| view.write(offset, source))
    }

    fn access(
        &self,
        resource: ResourceId,
        offset: u64,
        length: u64,
        writes: bool,
        act: impl FnOnce(&BufferView) -> Result<(), MemoryError>,
    ) -> HostResult {
        let resource = self.find(resource).ok_or("the resource is of another graph")?;
        let known = self.table.resource(resource);
        let end = offset.checked_add(length).filter(|end| *end <= resource.length);
        let start = resource.offset + offset;
        let declared = |access: &Access| {
            let bytes = access.bytes;
            let within = bytes.offset <= start && end.is_some_and(|end| resource.offset + end <= bytes.end());
            bytes.resource == resource.resource && within && access.writes == writes
        };
        if !self.node.accesses.iter().any(declared) {
            let error = GraphError::Undeclared {
                node: self.node.name.clone(),
                resource: known.name.clone(),
                verb: if writes { "writes" } else { "reads" },
            };
            let message = error.to_string();
            self.misuse.borrow_mut().get_or_insert(error);
            return Err(message);
        }
        let view = known.view.as_ref().ok_or("the parameter has no buffer")?;
        let view = view.slice(resource.offset..resource.offset + resource.length);
        view.and_then(|view| act(&view)).map_err(|error| error.to_string())
    }

    /// Where a resource of the callback's own graph is in this one.
    fn find(&self, resource: ResourceId) -> Option<Bytes> {
        if resource.graph != self.work.home {
            return None;
        }
        match &self.work.moved {
            Some(moved) => moved.get(resource.index as usize).copied(),
            None => {
                let known = self.table.resources.get(resource.index as usize)?;
                Some(Bytes { resource: resource.index, offset: 0, length: known.length })
            }
        }
    }
}

impl fmt::Debug for HostContext<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostContext").field("node", &self.node.name).finish_non_exhaustive()
    }
}
