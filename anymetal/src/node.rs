//! The node builder: one kernel, its arguments, its grid, as a node of a graph.
//!
//! Owns [`NodeBuilder`], [`KernelNode`] and what a node takes for an argument. Invariant: as for a launch,
//! the first mistake is kept and told at the end.

use anymetal_core::graph::node as runtime;
use anymetal_core::submission::argument::ArgumentTarget;
use anymetal_hal::error::DeviceError;

use crate::call::{FinishedCall, KernelCall};
use crate::error::Error;
use crate::fusion::PipelineFuser;
use crate::graph::{ValueId, ValueTarget};
use crate::pipeline::Pipeline;
use crate::{call_setters, texture_setters};

/// What can be given to a kernel node as an argument: resources and values of the graph, and whatever a
/// launch takes.
pub trait NodeArgument {
    /// What to bind, converted to the type that the kernel declares.
    fn bind_to_node(&self, target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError>;
}

/// What an argument of a kernel node has become.
#[derive(Debug, Clone)]
pub struct NodeBinding {
    bound: Bound,
}

#[derive(Debug, Clone)]
enum Bound {
    Fixed(runtime::NodeBinding),
    Value(ValueId, ValueTarget),
}

impl<A: runtime::NodeArgument> NodeArgument for A {
    fn bind_to_node(&self, target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError> {
        Ok(NodeBinding { bound: Bound::Fixed(runtime::NodeArgument::bind_to_node(self, target)?) })
    }
}

impl NodeArgument for ValueId {
    fn bind_to_node(&self, target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError> {
        Ok(NodeBinding { bound: Bound::Value(*self, ValueTarget::new(target)) })
    }
}

/// A kernel launch for [`crate::graph::GraphBuilder::kernel`]; [`Pipeline::node`] begins one.
#[derive(Debug, Clone)]
pub struct KernelNode {
    pub(crate) inner: runtime::KernelNode,
    /// By Metal's index: values of the graph, and the arguments that they are for.
    pub(crate) values: Vec<(u32, ValueId, ValueTarget)>,
}

/// A kernel node in the making; [`Pipeline::node`] begins one. It takes what a launch takes, and resources
/// and values of the graph. A buffer that is given directly becomes a resource of the graph.
///
/// Chains of kernels whose threads keep to their own elements become one launch, if it can be shown that this
/// gives the same bytes:
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
/// use anymetal::Device;
///
/// let device = Device::system_default()?;
/// let library = device.library_from_source(
///     "kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
///          y[i] = 2 * x[i];
///      }
///      kernel void sum(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
///          y[i] += x[i];
///      }",
/// )?;
/// let (twice, sum) = (library.pipeline("twice")?, library.pipeline("sum")?);
/// let (x, y) = (device.buffer(&[1.0f32; 100])?, device.acquire::<f32>(100)?);
/// let z = device.buffer(&[5.0f32; 100])?;
/// let mut graph = GraphBuilder::new("fused");
/// graph.kernel("twice", twice.node().arg(&x).arg(&y).threads(100).build()?)?;
/// graph.kernel("sum", sum.node().arg(&y).arg(&z).threads(100).build()?)?;
/// graph.order_as_added();
/// let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
/// assert_eq!(graph.plan().node_name(0), Some("twice + sum"));
///
/// device.queue()?.submit_graph(&graph)?.wait()?;
/// assert_eq!((y.read()?, z.read()?), (vec![2.0; 100], vec![7.0; 100]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a node is added to a graph with `GraphBuilder::kernel`"]
pub struct NodeBuilder<'a> {
    pipeline: &'a Pipeline,
    call: KernelCall<'a, NodeBinding>,
}

impl<'a> NodeBuilder<'a> {
    pub(crate) fn new(pipeline: &'a Pipeline) -> Self {
        NodeBuilder { pipeline, call: KernelCall::new(pipeline.signature()) }
    }

    call_setters!(NodeArgument, bind_to_node);
    texture_setters!(NodeArgument, bind_to_node, crate::texture::Texture);

    /// The node, for [`crate::graph::GraphBuilder::kernel`].
    pub fn build(self) -> Result<KernelNode, Error> {
        let pipeline = self.pipeline;
        let FinishedCall { bindings, threadgroup_memory, grid, group_size, known, .. } =
            self.call.finish()?;
        // For any grid: a later run may have another.
        let node = runtime::KernelNode::new(pipeline.for_group_size(group_size, &known)?, grid, group_size);
        let node = match PipelineFuser::of(pipeline) {
            Some(fuser) => node.fused_by(fuser),
            None => node,
        };
        let mut node = threadgroup_memory
            .into_iter()
            .fold(node, |node, memory| node.threadgroup_memory(memory.index, memory.length));
        let mut values = Vec::new();
        for (index, binding) in bindings {
            match binding.bound {
                Bound::Fixed(binding) => node = node.bind_to(index, binding),
                Bound::Value(value, target) => values.push((index, value, target)),
            }
        }
        Ok(KernelNode { inner: node, values })
    }
}
