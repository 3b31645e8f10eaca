//! Graphs: work that is described once and run many times with changed arguments.
//!
//! Owns [`GraphBuilder`], [`Graph`] and [`Branch`], thin over the runtime's, and values: arguments that may
//! change from run to run. Invariant: a value is converted by the signature of each kernel that takes it, by
//! the converter that launches use; it has bytes in the graph for each type that it is converted to.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anymetal_core::graph as runtime;
use anymetal_core::graph::resource::BytesId;
use anymetal_core::submission::argument::{Argument, ArgumentTarget};
use anymetal_hal::artifact::ArgumentInfo;
use anymetal_hal::command::BoundResource;
use bytemuck::Pod;

use crate::buffer::BufferSlice;
use crate::error::Error;
use crate::memory::bytes_of;

pub use anymetal_core::graph::node::{Condition, HostContext, HostNode, HostResult, NodeId};
pub use anymetal_core::graph::resource::{ResourceId, ResourceRange};
pub use anymetal_core::graph::{GraphError, Hazard, Inlined, Pass, PassKind, Plan, PlanOptions, Stage};

pub use crate::executable::Executable;
pub use crate::node::{KernelNode, NodeArgument, NodeBinding, NodeBuilder};

/// Tells the values of one graph from those of another.
static GRAPHS: AtomicU64 = AtomicU64::new(0);

/// Names a value of one graph: an argument of kernels that may be another in the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId {
    graph: u64,
    index: u32,
}

/// One type that a value is converted to: the kernel argument that declares it, and the bytes.
#[derive(Debug, Clone)]
struct ValueUse {
    target: ValueTarget,
    bytes: BytesId,
}

/// The kernel argument that a value is for.
#[derive(Debug, Clone)]
pub(crate) struct ValueTarget {
    kernel: String,
    argument: ArgumentInfo,
}

impl ValueTarget {
    pub(crate) fn new(target: ArgumentTarget<'_>) -> Self {
        ValueTarget { kernel: target.kernel.to_owned(), argument: target.argument.clone() }
    }

    /// Whether values for both are converted to the same bytes.
    fn is_alike(&self, other: &ValueTarget) -> bool {
        let kind = |target: &ValueTarget| {
            let ArgumentInfo { element, element_size, element_align, is_reference, .. } = &target.argument;
            (element.clone(), *element_size, *element_align, *is_reference)
        };
        kind(self) == kind(other)
    }

    fn convert(&self, value: &(impl Argument + ?Sized)) -> Result<Vec<u8>, Error> {
        let target = ArgumentTarget::new(&self.kernel, &self.argument);
        match value.bind(target)? {
            BoundResource::Bytes(bytes) => Ok(bytes),
            BoundResource::Buffer { .. } => {
                Err(target.wrong_type("a buffer; a graph takes it as a resource or a parameter").into())
            }
            BoundResource::Unbound => Err(target.wrong_type("nothing").into()),
        }
    }
}

/// A value while its graph is built.
struct Value {
    name: String,
    initial: Box<dyn Argument + Send + Sync>,
    uses: Vec<ValueUse>,
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Value").field("name", &self.name).field("uses", &self.uses).finish()
    }
}

/// Collects the nodes of a graph and their order: kernels ([`crate::Pipeline::node`]), copies, fills, host
/// callbacks, conditional and inlined graphs, over buffers and values. Its name is the label of what it
/// submits.
#[derive(Debug)]
pub struct GraphBuilder {
    id: u64,
    name: String,
    inner: runtime::GraphBuilder,
    values: Vec<Value>,
}

impl GraphBuilder {
    /// An empty graph of that name.
    pub fn new(name: impl Into<String>) -> Self {
        let (id, name) = (GRAPHS.fetch_add(1, Ordering::Relaxed), name.into());
        GraphBuilder { id, inner: runtime::GraphBuilder::new(name.clone()), name, values: Vec::new() }
    }

    /// A buffer that is the same in every run: `graph.buffer("x", &x)`. Kernels, copies and fills name it by
    /// what this gives; a kernel may be given the buffer itself as well.
    pub fn buffer(
        &mut self,
        name: impl Into<String>,
        buffer: impl Into<BufferSlice>,
    ) -> Result<ResourceId, Error> {
        Ok(self.inner.buffer(name, buffer.into())?)
    }

    /// The resource of exactly those bytes that is the same in every run: one that there is, or a new one,
    /// its name with a number if it is taken.
    pub fn view(&mut self, name: impl Into<String>, buffer: impl Into<BufferSlice>) -> ResourceId {
        self.inner.view(name, buffer.into())
    }

    /// A buffer of that many bytes that is set before a run with [`Executable::set_buffer`], and may be
    /// another in the next.
    pub fn parameter(&mut self, name: impl Into<String>, bytes: u64) -> Result<ResourceId, Error> {
        Ok(self.inner.parameter(name, bytes)?)
    }

    /// As [`GraphBuilder::parameter`], in elements of a type.
    pub fn parameter_of<T: Pod>(
        &mut self,
        name: impl Into<String>,
        elements: usize,
    ) -> Result<ResourceId, Error> {
        self.parameter(name, bytes_of::<T>(elements)?)
    }

    /// An argument of kernels that may be another in the next run ([`Executable::set_value`]), and
    /// what it is until then: whatever a launch takes for an argument, except buffers; of structures,
    /// [`crate::argument::Plain`]. It is converted to what each kernel that it is given to declares, and
    /// refused there if that cannot be.
    pub fn value(
        &mut self,
        name: impl Into<String>,
        initial: impl Argument + Send + Sync + 'static,
    ) -> Result<ValueId, Error> {
        let name = name.into();
        if self.values.iter().any(|known| known.name == name) {
            let (graph, what) = (self.name.clone(), "value");
            return Err(GraphError::DuplicateName { graph, what, name }.into());
        }
        self.values.push(Value { name, initial: Box::new(initial), uses: Vec::new() });
        Ok(ValueId { graph: self.id, index: self.values.len() as u32 - 1 })
    }

    /// Adds a kernel launch.
    pub fn kernel(&mut self, name: impl Into<String>, node: KernelNode) -> Result<NodeId, Error> {
        let KernelNode { mut inner, values } = node;
        for (index, value, target) in values {
            inner = inner.bind_parameter(index, self.bytes_for(value, target)?);
        }
        Ok(self.inner.kernel(name, inner)?)
    }

    /// The bytes that a value has for an argument.
    fn bytes_for(&mut self, value: ValueId, target: ValueTarget) -> Result<BytesId, Error> {
        let foreign = || GraphError::OfAnotherGraph { graph: self.name.clone(), what: "value" };
        let known = self.values.get_mut(value.index as usize).filter(|_| value.graph == self.id);
        let known = known.ok_or_else(foreign)?;
        if let Some(found) = known.uses.iter().find(|known| known.target.is_alike(&target)) {
            return Ok(found.bytes);
        }
        let initial = target.convert(&*known.initial)?;
        let name = match known.uses.len() {
            0 => known.name.clone(),
            _ => format!("{} as `{}`", known.name, target.argument.type_name),
        };
        let bytes = self.inner.bytes_parameter(name, initial)?;
        known.uses.push(ValueUse { target, bytes });
        Ok(bytes)
    }

    /// Adds a copy between ranges of one length.
    pub fn copy(
        &mut self,
        name: impl Into<String>,
        source: impl Into<ResourceRange>,
        destination: impl Into<ResourceRange>,
    ) -> Result<NodeId, Error> {
        Ok(self.inner.copy(name, source, destination)?)
    }

    /// Adds a fill.
    pub fn fill(
        &mut self,
        name: impl Into<String>,
        target: impl Into<ResourceRange>,
        value: u8,
    ) -> Result<NodeId, Error> {
        Ok(self.inner.fill(name, target, value)?)
    }

    /// Adds a host callback.
    pub fn host(&mut self, name: impl Into<String>, host: HostNode) -> Result<NodeId, Error> {
        Ok(self.inner.host(name, host)?)
    }

    /// Adds a node that runs the first graph if the condition holds, and else the second if there is one.
    pub fn conditional(
        &mut self,
        name: impl Into<String>,
        condition: Condition,
        then: Branch,
        otherwise: Option<Branch>,
    ) -> Result<NodeId, Error> {
        Ok(self.inner.conditional(name, condition, then.inner, otherwise.map(|branch| branch.inner))?)
    }

    /// Adds all nodes of a graph as if they had been added here, their names after `name/`. Its values stay
    /// what they were there.
    pub fn subgraph(&mut self, name: impl Into<String>, branch: Branch) -> Result<Inlined, Error> {
        Ok(self.inner.subgraph(name, branch.inner)?)
    }

    /// Has one node come before another.
    pub fn edge(&mut self, before: NodeId, after: NodeId) -> Result<(), Error> {
        Ok(self.inner.edge(before, after)?)
    }

    /// Has each of the first nodes come before each of the second.
    pub fn edges_between(&mut self, before: &[NodeId], after: &[NodeId]) -> Result<(), Error> {
        Ok(self.inner.edges_between(before, after)?)
    }

    /// Adds an edge wherever two nodes touch the same bytes and one writes, in the order in which they were
    /// added: as if they ran one after the other. Host nodes keep their place among all others.
    pub fn order_as_added(&mut self) {
        self.inner.order_as_added();
    }

    /// Checks the whole: cycles, and nodes that touch the same bytes without an order, are refused by name.
    pub fn build(self) -> Result<Graph, Error> {
        let values = self.values.into_iter().map(|value| value.uses).collect();
        Ok(Graph { id: self.id, inner: self.inner.build()?, values })
    }
}

/// A checked graph. Clones share it.
#[derive(Debug, Clone)]
pub struct Graph {
    id: u64,
    inner: runtime::Graph,
    values: Arc<[Vec<ValueUse>]>,
}

impl Graph {
    /// Its name.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// How many nodes it has, inlined ones included.
    pub fn node_count(&self) -> usize {
        self.inner.node_count()
    }

    /// The names of its nodes by level: a node's level is the length of the longest path to it.
    pub fn levels(&self) -> Vec<Vec<&str>> {
        self.inner.levels()
    }

    pub(crate) fn inner(&self) -> &runtime::Graph {
        &self.inner
    }

    /// The value's bytes for each type that kernels take it as, all converted before any is set.
    pub(crate) fn convert(
        &self,
        value: ValueId,
        argument: &impl Argument,
    ) -> Result<Vec<(BytesId, Vec<u8>)>, Error> {
        let foreign = || GraphError::OfAnotherGraph { graph: self.name().to_owned(), what: "value" };
        let uses = self.values.get(value.index as usize).filter(|_| value.graph == self.id);
        let uses = uses.ok_or_else(foreign)?.iter();
        uses.map(|known| Ok((known.bytes, known.target.convert(argument)?))).collect()
    }
}

/// A graph as part of another: which outer bytes stand for its parameters.
#[derive(Debug, Clone)]
pub struct Branch {
    inner: runtime::node::Branch,
}

impl Branch {
    /// A graph whose parameters have no outer bytes so far.
    pub fn new(graph: Graph) -> Self {
        Branch { inner: runtime::node::Branch::new(graph.inner) }
    }

    /// Outer bytes for one of its parameters; the lengths must be the same.
    pub fn argument(self, parameter: ResourceId, range: impl Into<ResourceRange>) -> Self {
        Branch { inner: self.inner.argument(parameter, range) }
    }
}
