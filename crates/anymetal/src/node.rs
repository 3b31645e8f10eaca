//! The node builder: one kernel, its arguments, its grid, as a node of a graph.
//!
//! Owns [`NodeBuilder`]. Invariant: as for a launch, the first mistake is kept and told at the end.

use anymetal_hal::command::Grid;
use anymetal_runtime::graph::node::{KernelNode, NodeArgument, NodeBinding};

use crate::call::{FinishedCall, KernelCall, call_setters};
use crate::error::Error;
use crate::extent::Extent;
use crate::pipeline::Pipeline;

/// A kernel node in the making; [`Pipeline::node`] begins one. It takes what a launch takes, and resources and
/// parameters of the graph. A buffer that is given directly becomes a resource of the graph.
#[derive(Debug)]
#[must_use = "a node is added to a graph with `GraphBuilder::kernel`"]
pub struct NodeBuilder<'a> {
    call: KernelCall<'a, NodeBinding>,
}

impl<'a> NodeBuilder<'a> {
    pub(crate) fn new(pipeline: &'a Pipeline) -> Self {
        NodeBuilder { call: KernelCall::new(pipeline) }
    }

    call_setters!(NodeArgument, bind_to_node);

    /// The node, for [`anymetal_runtime::graph::GraphBuilder::kernel`].
    pub fn build(self) -> Result<KernelNode, Error> {
        let pipeline = self.call.pipeline;
        let FinishedCall { bindings, threadgroup_memory, grid, group_size } = self.call.finish()?;
        // For any grid: a later run may have another.
        let node = KernelNode::new(pipeline.for_group_size(group_size)?, grid, group_size);
        let node = threadgroup_memory
            .into_iter()
            .fold(node, |node, memory| node.threadgroup_memory(memory.index, memory.length));
        Ok(bindings.into_iter().fold(node, |node, (index, binding)| node.bind_to(index, binding)))
    }
}
