//! Setting what a run takes: buffers, bytes, grids; of branches too.
//!
//! Invariant: a refused argument changes nothing; what was taken is in the encodings of the next run.

use anymetal_hal::command::Grid;

use super::Executable;
use super::command::view_of;
use crate::graph::error::GraphError;
use crate::graph::node::{NodeId, NodeWork};
use crate::graph::order::check_hazards;
use crate::graph::plan::Plan;
use crate::graph::resource::{BytesId, ResourceId};
use crate::graph::transform::PlanNode;
use crate::memory::view::BufferView;

impl Executable {
    /// Sets the buffer of a parameter.
    pub fn set_buffer(&mut self, parameter: ResourceId, view: BufferView) -> Result<(), GraphError> {
        self.set_buffers([(parameter, view)])
    }

    /// Sets the buffers of several parameters at once, all or none: two that swap their buffers never share
    /// one.
    pub fn set_buffers(
        &mut self,
        arguments: impl IntoIterator<Item = (ResourceId, BufferView)>,
    ) -> Result<(), GraphError> {
        self.encodings.forget();
        let mut table = self.table.clone();
        for (parameter, view) in arguments {
            self.check_own(parameter.graph, "resource")?;
            let resource = &mut table.resources[parameter.index as usize];
            if !resource.is_parameter {
                let (name, what) = (resource.name.clone(), "buffer parameter");
                return Err(GraphError::NotAParameter { name, what });
            }
            if view.length() != resource.length {
                let (parameter, expected) = (resource.name.clone(), resource.length);
                return Err(GraphError::WrongLength { parameter, expected, got: view.length() });
            }
            resource.view = Some(view);
        }
        let aliased = table.has_aliases();
        if aliased || self.aliased {
            let data = &self.graph.data;
            check_hazards(&data.name, &table, &data.nodes, &data.edges)?;
            self.plan = Plan::with_arguments(&self.graph, &table, &self.grids, self.options);
        }
        let before = std::mem::replace(&mut self.table, table);
        let set = self.set_branches();
        if let Err(error) = set {
            self.table = before;
            self.replan();
            // What was set before was accepted then.
            self.set_branches()?;
            return Err(error);
        }
        self.aliased = aliased;
        Ok(())
    }

    /// Hands the buffers of the outer resources to the branches of conditional nodes.
    pub(super) fn set_branches(&mut self) -> Result<(), GraphError> {
        for (node, executables) in self.graph.data.nodes.iter().zip(&mut self.branches) {
            let NodeWork::Conditional(conditional) = &node.work else { continue };
            for (branch, executable) in conditional.branches.iter().zip(executables) {
                let (Some(branch), Some(executable)) = (branch, executable) else { continue };
                let inner = branch.graph.data.id;
                let mut arguments = Vec::new();
                for (index, bytes) in &branch.arguments {
                    if let Some(view) = view_of(&self.table, *bytes) {
                        arguments.push((ResourceId { graph: inner, index: *index }, view));
                    }
                }
                executable.set_buffers(arguments)?;
            }
        }
        Ok(())
    }

    /// Sets inline bytes; their length stays.
    pub fn set_bytes(&mut self, parameter: BytesId, bytes: &[u8]) -> Result<(), GraphError> {
        self.check_own(parameter.graph, "resource")?;
        let inline = &mut self.table.inline[parameter.index as usize];
        if inline.bytes.len() != bytes.len() {
            return Err(GraphError::WrongLength {
                parameter: inline.name.clone(),
                expected: inline.bytes.len() as u64,
                got: bytes.len() as u64,
            });
        }
        inline.bytes.copy_from_slice(bytes);
        self.encodings.forget();
        Ok(())
    }

    /// Sets the grid of a kernel node.
    pub fn set_grid(&mut self, node: NodeId, grid: Grid) -> Result<(), GraphError> {
        self.check_own(node.graph, "node")?;
        let known = &self.graph.data.nodes[node.index as usize];
        if !matches!(known.work, NodeWork::Kernel(_)) {
            let (name, what) = (known.name.clone(), "kernel node");
            return Err(GraphError::NotAParameter { name, what });
        }
        self.grids[node.index as usize] = Some(grid);
        self.encodings.forget();
        // One launch has one grid: what is fused may have to part, and once parted may belong together again.
        let is_fused = |planned: &PlanNode| planned.origin.len() > 1 && planned.origin.contains(&node.index);
        if self.regrouped || self.plan.nodes.iter().any(is_fused) {
            self.regrouped = true;
            self.replan();
        }
        Ok(())
    }

    fn replan(&mut self) {
        self.plan = Plan::with_arguments(&self.graph, &self.table, &self.grids, self.options);
    }

    fn check_own(&self, graph: u64, what: &'static str) -> Result<(), GraphError> {
        if graph == self.graph.data.id {
            return Ok(());
        }
        Err(GraphError::OfAnotherGraph { graph: self.graph.data.name.clone(), what })
    }
}
