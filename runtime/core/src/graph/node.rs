//! Nodes: what a graph does.
//!
//! Owns [`KernelNode`], [`HostNode`], [`Condition`], and the checked form of all work; [`HostContext`] has a
//! file of its own. Invariant: the accesses of a node are all it can do to the graph's resources: kernels
//! reach only what is bound, and a host callback only what it declares.

mod host_context;

use std::fmt;
use std::sync::Arc;

use anymetal_hal::artifact::{Access as KernelAccess, ArgumentKind};
use anymetal_hal::command::{BoundResource, Grid, ThreadgroupMemory};
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::bound_length;

use crate::graph::builder::Graph;
use crate::graph::fuse::Fuser;
use crate::graph::resource::{Bytes, BytesId, ResourceId, ResourceRange};
use crate::memory::view::BufferView;
use crate::submission::argument::{Argument, ArgumentTarget};
pub use host_context::HostContext;

/// Names a node of one graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    pub(crate) graph: u64,
    pub(crate) index: u32,
}

/// What a kernel node's buffer argument is bound to.
#[derive(Debug, Clone)]
pub enum NodeBinding {
    /// Bytes of a resource.
    Range(ResourceRange),
    /// Bytes of a buffer, which becomes a resource of the graph under its argument's name.
    View(BufferView),
    /// Inline bytes that stay the same.
    Bytes(Vec<u8>),
    /// Inline bytes that may change from run to run.
    Parameter(BytesId),
    /// Nothing, on purpose.
    Unbound,
}

/// What can be given to a kernel node as an argument: resources of the graph, and whatever a launch takes.
pub trait NodeArgument {
    /// What to bind, converted to the type that the kernel declares.
    fn bind_to_node(&self, target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError>;
}

impl NodeArgument for ResourceId {
    fn bind_to_node(&self, _target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError> {
        Ok(NodeBinding::Range((*self).into()))
    }
}

impl NodeArgument for ResourceRange {
    fn bind_to_node(&self, _target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError> {
        Ok(NodeBinding::Range(*self))
    }
}

impl NodeArgument for BytesId {
    fn bind_to_node(&self, _target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError> {
        Ok(NodeBinding::Parameter(*self))
    }
}

impl<A: Argument> NodeArgument for A {
    fn bind_to_node(&self, target: ArgumentTarget<'_>) -> Result<NodeBinding, DeviceError> {
        Ok(match self.bind(target)? {
            BoundResource::Buffer { buffer, offset, length } => {
                let length = bound_length(offset, length, buffer.length())?;
                NodeBinding::View(BufferView::within(buffer, offset, length))
            }
            BoundResource::Bytes(bytes) => NodeBinding::Bytes(bytes),
            BoundResource::Unbound => NodeBinding::Unbound,
        })
    }
}

/// What a checked kernel node's buffer argument is bound to.
#[derive(Debug, Clone)]
pub(crate) enum Bound {
    Range(Bytes),
    Bytes(Vec<u8>),
    Parameter(BytesId),
    Unbound,
}

/// A kernel launch to add to a graph.
#[derive(Debug, Clone)]
pub struct KernelNode {
    pub(crate) pipeline: Arc<dyn Pipeline>,
    pub(crate) bindings: Vec<(u32, NodeBinding)>,
    pub(crate) threadgroup_memory: Vec<ThreadgroupMemory>,
    pub(crate) grid: Grid,
    pub(crate) group_size: [u32; 3],
    pub(crate) fuser: Option<Arc<dyn Fuser>>,
}

impl KernelNode {
    /// A launch over that grid.
    pub fn new(pipeline: Arc<dyn Pipeline>, grid: Grid, group_size: [u32; 3]) -> Self {
        let (bindings, threadgroup_memory) = (Vec::new(), Vec::new());
        KernelNode { pipeline, bindings, threadgroup_memory, grid, group_size, fuser: None }
    }

    /// Lets plans make one launch of this and others where the fuser shows that it does the same.
    pub fn fused_by(mut self, fuser: Arc<dyn Fuser>) -> Self {
        self.fuser = Some(fuser);
        self
    }

    /// Binds bytes of a resource.
    pub fn bind(self, index: u32, range: impl Into<ResourceRange>) -> Self {
        self.bind_to(index, NodeBinding::Range(range.into()))
    }

    /// Binds inline bytes that stay the same.
    pub fn bind_bytes(self, index: u32, bytes: impl Into<Vec<u8>>) -> Self {
        self.bind_to(index, NodeBinding::Bytes(bytes.into()))
    }

    /// Binds inline bytes that may change from run to run.
    pub fn bind_parameter(self, index: u32, bytes: BytesId) -> Self {
        self.bind_to(index, NodeBinding::Parameter(bytes))
    }

    /// Binds nothing, on purpose.
    pub fn bind_nothing(self, index: u32) -> Self {
        self.bind_to(index, NodeBinding::Unbound)
    }

    /// Binds what a [`NodeArgument`] has become.
    pub fn bind_to(mut self, index: u32, binding: NodeBinding) -> Self {
        self.bindings.push((index, binding));
        self
    }

    /// Gives an argument dynamic threadgroup memory.
    pub fn threadgroup_memory(mut self, index: u32, length: u64) -> Self {
        self.threadgroup_memory.push(ThreadgroupMemory::new(index, length));
        self
    }
}

/// What a host callback is given, and how it fails.
pub type HostResult = Result<(), String>;

type Callback = dyn Fn(&HostContext<'_>) -> HostResult + Send + Sync;

/// A host callback to add to a graph. It runs when everything before it has ended on the device.
#[derive(Clone)]
pub struct HostNode {
    pub(crate) reads: Vec<ResourceRange>,
    pub(crate) writes: Vec<ResourceRange>,
    pub(crate) callback: Arc<Callback>,
}

impl HostNode {
    /// A callback that touches no resource so far. It runs again with every run of the graph.
    pub fn new(callback: impl Fn(&HostContext<'_>) -> HostResult + Send + Sync + 'static) -> Self {
        HostNode { reads: Vec::new(), writes: Vec::new(), callback: Arc::new(callback) }
    }

    /// Declares that it reads.
    pub fn reads(mut self, range: impl Into<ResourceRange>) -> Self {
        self.reads.push(range.into());
        self
    }

    /// Declares that it writes.
    pub fn writes(mut self, range: impl Into<ResourceRange>) -> Self {
        self.writes.push(range.into());
        self
    }
}

impl fmt::Debug for HostNode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostNode").field("reads", &self.reads).field("writes", &self.writes).finish()
    }
}

/// When the first branch of a conditional node is taken.
#[derive(Clone)]
#[non_exhaustive]
pub enum Condition {
    /// A 32-bit number at the start of the range is not zero, once everything before has ended.
    NotZero(ResourceRange),
    /// The host says so.
    Host(Arc<dyn Fn() -> bool + Send + Sync>),
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::NotZero(range) => formatter.debug_tuple("NotZero").field(range).finish(),
            Condition::Host(_) => formatter.write_str("Host"),
        }
    }
}

/// A graph as part of another: which outer bytes stand for its parameters.
#[derive(Debug, Clone)]
pub struct Branch {
    pub(crate) graph: Graph,
    pub(crate) arguments: Vec<(ResourceId, ResourceRange)>,
}

impl Branch {
    /// A graph whose parameters have no outer bytes so far.
    pub fn new(graph: Graph) -> Self {
        Branch { graph, arguments: Vec::new() }
    }

    /// Outer bytes for one of its parameters; the lengths must be the same.
    pub fn argument(mut self, parameter: ResourceId, range: impl Into<ResourceRange>) -> Self {
        self.arguments.push((parameter, range.into()));
        self
    }
}

/// A branch with its arguments checked.
#[derive(Debug, Clone)]
pub(crate) struct CheckedBranch {
    pub(crate) graph: Graph,
    /// Inner resource index, outer bytes.
    pub(crate) arguments: Vec<(u32, Bytes)>,
}

/// One node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) work: NodeWork,
    pub(crate) accesses: Vec<Access>,
}

/// What a node does to bytes of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) bytes: Bytes,
    pub(crate) writes: bool,
}

/// The work of a node, its ranges checked.
#[derive(Debug, Clone)]
pub(crate) enum NodeWork {
    Kernel(KernelWork),
    Copy { source: Bytes, destination: Bytes },
    Fill { target: Bytes, value: u8 },
    Host(Arc<HostWork>),
    Conditional(Arc<Conditional>),
}

#[derive(Debug, Clone)]
pub(crate) struct KernelWork {
    pub(crate) pipeline: Arc<dyn Pipeline>,
    pub(crate) bindings: Vec<(u32, Bound)>,
    pub(crate) threadgroup_memory: Vec<ThreadgroupMemory>,
    pub(crate) grid: Grid,
    pub(crate) group_size: [u32; 3],
    pub(crate) fuser: Option<Arc<dyn Fuser>>,
}

pub(crate) struct HostWork {
    pub(crate) callback: Arc<Callback>,
    /// The graph whose names the callback uses.
    pub(crate) home: u64,
    /// Where that graph's resources are in this one; `None`: it is this one.
    pub(crate) moved: Option<Vec<Bytes>>,
}

impl fmt::Debug for HostWork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HostWork")
    }
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: CheckedCondition,
    pub(crate) branches: [Option<CheckedBranch>; 2],
}

pub(crate) enum CheckedCondition {
    NotZero(Bytes),
    Host(Arc<dyn Fn() -> bool + Send + Sync>),
}

impl fmt::Debug for CheckedCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckedCondition::NotZero(bytes) => formatter.debug_tuple("NotZero").field(bytes).finish(),
            CheckedCondition::Host(_) => formatter.write_str("Host"),
        }
    }
}

impl NodeWork {
    /// Whether the host takes part: such nodes keep their place whatever they touch.
    pub(crate) fn is_host(&self) -> bool {
        matches!(self, NodeWork::Host(_) | NodeWork::Conditional(_))
    }

    /// What it is, in one word.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            NodeWork::Kernel(_) => "kernel",
            NodeWork::Copy { .. } => "copy",
            NodeWork::Fill { .. } => "fill",
            NodeWork::Host(_) => "host",
            NodeWork::Conditional(_) => "conditional",
        }
    }
}

impl KernelWork {
    /// What the launch does to each bound range, as the kernel's reflection tells.
    pub(crate) fn accesses(&self) -> Vec<Access> {
        let kernel = self.pipeline.kernel();
        let of_binding = |(index, bound): &(u32, Bound)| match bound {
            Bound::Range(bytes) => {
                let argument = kernel.argument(ArgumentKind::Buffer, *index);
                let writes = argument.is_none_or(|argument| argument.access != KernelAccess::Read);
                Some(Access { bytes: *bytes, writes })
            }
            Bound::Bytes(_) | Bound::Parameter(_) | Bound::Unbound => None,
        };
        self.bindings.iter().filter_map(of_binding).collect()
    }
}
