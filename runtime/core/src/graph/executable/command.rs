//! The commands of nodes, with the arguments as they are set.

use std::sync::Arc;

use anymetal_hal::command::{Binding, BoundResource, BufferCopy, BufferFill, Command, Dispatch, Grid};

use super::Executable;
use crate::graph::error::GraphError;
use crate::graph::node::{Bound, KernelWork, NodeWork};
use crate::graph::resource::{Bytes, Table};
use crate::memory::view::BufferView;

impl Executable {
    /// All nodes in the order of the plan, by their numbers there.
    pub(super) fn order(&self) -> impl Iterator<Item = usize> + Clone {
        self.plan.passes.iter().flat_map(|pass| &pass.stages).flat_map(|stage| stage.nodes.iter().copied())
    }

    pub(super) fn commands(&self, nodes: impl Iterator<Item = usize>) -> Result<Vec<Command>, GraphError> {
        nodes.map(|node| self.command(node)).collect()
    }

    pub(super) fn unset(&self, bytes: Bytes) -> GraphError {
        GraphError::Unset { parameter: self.table.resource(bytes).name.clone() }
    }

    /// The command of a device node.
    fn command(&self, number: usize) -> Result<Command, GraphError> {
        let planned = &self.plan.nodes[number];
        let place = |bytes: Bytes| {
            let (buffer, offset) = self.table.buffer(bytes).ok_or_else(|| self.unset(bytes))?;
            Ok::<_, GraphError>((Arc::clone(buffer), offset))
        };
        match &planned.node.work {
            NodeWork::Kernel(kernel) => {
                let grid = planned.origin.first().and_then(|&node| self.grids[node as usize]);
                self.dispatch(kernel, grid.unwrap_or(kernel.grid))
            }
            NodeWork::Copy { source, destination } => {
                let (from, source_offset) = place(*source)?;
                let (to, destination_offset) = place(*destination)?;
                let range = source_offset..source_offset + source.length;
                Ok(Command::Copy(BufferCopy::new(from, range, to, destination_offset)?))
            }
            NodeWork::Fill { target, value } => {
                let (buffer, offset) = place(*target)?;
                Ok(Command::Fill(BufferFill::new(buffer, offset..offset + target.length, *value)?))
            }
            NodeWork::Host(_) | NodeWork::Conditional(_) => Err(GraphError::NeedsHost {
                graph: self.graph.data.name.clone(),
                node: planned.node.name.clone(),
            }),
        }
    }

    fn dispatch(&self, kernel: &KernelWork, grid: Grid) -> Result<Command, GraphError> {
        let mut bindings = Vec::with_capacity(kernel.bindings.len());
        for (index, bound) in &kernel.bindings {
            let resource = match bound {
                Bound::Range(bytes) => {
                    let (buffer, offset) = self.table.buffer(*bytes).ok_or_else(|| self.unset(*bytes))?;
                    let buffer = Arc::clone(buffer);
                    BoundResource::Buffer { buffer, offset, length: Some(bytes.length) }
                }
                Bound::Bytes(bytes) => BoundResource::Bytes(bytes.clone()),
                Bound::Parameter(id) => {
                    BoundResource::Bytes(self.table.inline[id.index as usize].bytes.clone())
                }
                Bound::Unbound => BoundResource::Unbound,
            };
            bindings.push(Binding::new(*index, resource));
        }
        let dispatch = Dispatch::new(Arc::clone(&kernel.pipeline), grid, kernel.group_size)
            .with_bindings(bindings)
            .with_threadgroup_memory(kernel.threadgroup_memory.clone());
        Ok(Command::Dispatch(dispatch))
    }
}

/// The view of bytes, if their resource has a buffer.
pub(super) fn view_of(table: &Table, bytes: Bytes) -> Option<BufferView> {
    let (buffer, offset) = table.buffer(bytes)?;
    Some(BufferView::within(Arc::clone(buffer), offset, bytes.length))
}
