//! Building graphs.
//!
//! Owns [`GraphBuilder`] and [`Graph`]. Invariant: what a builder has taken is within its resources and named
//! once; what it has built has no cycle and no hazard without an order.

mod inline;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anymetal_hal::artifact::ArgumentKind;
use anymetal_hal::validate::surplus;

use crate::graph::error::GraphError;
use crate::graph::node::{
    Access, Bound, Branch, CheckedBranch, CheckedCondition, Condition, Conditional, HostNode, HostWork,
    KernelNode, KernelWork, Node, NodeBinding, NodeId, NodeWork,
};
use crate::graph::order::Order;
use crate::graph::resource::{Bytes, BytesId, InlineBytes, Resource, ResourceId, ResourceRange, Table};
use crate::memory::view::BufferView;
use inline::moved;

/// Tells the ids of one graph from those of another.
static GRAPHS: AtomicU64 = AtomicU64::new(0);

/// A checked graph. Clones share it.
#[derive(Debug, Clone)]
pub struct Graph {
    pub(crate) data: Arc<GraphData>,
}

#[derive(Debug)]
pub(crate) struct GraphData {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) table: Table,
    pub(crate) nodes: Vec<Node>,
    /// From, to.
    pub(crate) edges: Vec<(u32, u32)>,
}

impl Graph {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.data.name
    }

    /// How many nodes it has, inlined ones included.
    pub fn node_count(&self) -> usize {
        self.data.nodes.len()
    }

    /// The names of its nodes by level: a node's level is the length of the longest path to it.
    pub fn levels(&self) -> Vec<Vec<&str>> {
        let order = Order::new(self.data.nodes.len(), &self.data.edges);
        let mut levels: Vec<Vec<&str>> = Vec::new();
        for (node, level) in order.levels().into_iter().enumerate() {
            levels.resize(levels.len().max(level + 1), Vec::new());
            levels[level].push(&self.data.nodes[node].name);
        }
        levels
    }
}

/// Collects nodes and edges.
#[derive(Debug)]
pub struct GraphBuilder {
    id: u64,
    name: String,
    table: Table,
    nodes: Vec<Node>,
    edges: Vec<(u32, u32)>,
}

/// The nodes of a graph that was inlined into another.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inlined {
    /// Those that nothing in it comes before.
    pub first: Vec<NodeId>,
    /// Those that nothing in it comes after.
    pub last: Vec<NodeId>,
}

impl GraphBuilder {
    /// An empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        let id = GRAPHS.fetch_add(1, Ordering::Relaxed);
        GraphBuilder { id, name: name.into(), table: Table::default(), nodes: Vec::new(), edges: Vec::new() }
    }

    /// A resource that is the same in every run.
    pub fn buffer(&mut self, name: impl Into<String>, view: BufferView) -> Result<ResourceId, GraphError> {
        let length = view.length();
        self.resource(Resource { name: name.into(), length, is_parameter: false, view: Some(view) })
    }

    /// A resource whose buffer is set before a run, and may be another in the next.
    pub fn parameter(&mut self, name: impl Into<String>, length: u64) -> Result<ResourceId, GraphError> {
        self.resource(Resource { name: name.into(), length, is_parameter: true, view: None })
    }

    fn resource(&mut self, resource: Resource) -> Result<ResourceId, GraphError> {
        self.check_new_resource(&resource.name)?;
        self.table.resources.push(resource);
        Ok(ResourceId { graph: self.id, index: self.table.resources.len() as u32 - 1 })
    }

    /// The resource of exactly those bytes that is the same in every run: one that there is, or a new one,
    /// its name with a number if it is taken.
    pub fn view(&mut self, name: impl Into<String>, view: BufferView) -> ResourceId {
        let same = |known: &Resource| {
            let known = known.view.as_ref().filter(|_| !known.is_parameter);
            known.is_some_and(|known| known.is_same(&view))
        };
        let index = self.table.resources.iter().position(same).unwrap_or_else(|| {
            let (name, length) = (self.free_name(name.into()), view.length());
            self.table.resources.push(Resource {
                name,
                length,
                is_parameter: false,
                view: Some(view.clone()),
            });
            self.table.resources.len() - 1
        });
        ResourceId { graph: self.id, index: index as u32 }
    }

    /// Inline bytes that may be others in the next run, and what they are until then.
    pub fn bytes_parameter(
        &mut self,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<BytesId, GraphError> {
        let name = name.into();
        self.check_new_resource(&name)?;
        self.table.inline.push(InlineBytes { name, bytes: bytes.into() });
        Ok(BytesId { graph: self.id, index: self.table.inline.len() as u32 - 1 })
    }

    fn check_new_resource(&self, name: &str) -> Result<(), GraphError> {
        let table = &self.table;
        let taken = table.resources.iter().any(|known| known.name == name)
            || table.inline.iter().any(|known| known.name == name);
        self.check_name("resource", name, taken)
    }

    fn check_name(&self, what: &'static str, name: &str, taken: bool) -> Result<(), GraphError> {
        if taken {
            let (graph, name) = (self.name.clone(), name.to_owned());
            return Err(GraphError::DuplicateName { graph, what, name });
        }
        Ok(())
    }

    /// Adds a kernel launch.
    pub fn kernel(&mut self, name: impl Into<String>, kernel: KernelNode) -> Result<NodeId, GraphError> {
        let name = name.into();
        let KernelNode { pipeline, bindings, threadgroup_memory, grid, group_size, fuser } = kernel;
        let mut checked = Vec::with_capacity(bindings.len());
        for (index, bound) in bindings {
            let argument = pipeline.kernel().argument(ArgumentKind::Buffer, index);
            let argument = argument.ok_or_else(|| surplus(pipeline.kernel(), ArgumentKind::Buffer, index))?;
            let bound = match bound {
                NodeBinding::Range(range) => Bound::Range(self.bytes(&name, range)?),
                NodeBinding::View(view) => {
                    let resource = self.view(format!("{name}/{}", argument.name), view);
                    Bound::Range(self.bytes(&name, resource.into())?)
                }
                NodeBinding::Parameter(id) if id.graph != self.id => {
                    return Err(self.of_another("resource"));
                }
                NodeBinding::Parameter(id) => Bound::Parameter(id),
                NodeBinding::Bytes(bytes) => Bound::Bytes(bytes),
                NodeBinding::Unbound => Bound::Unbound,
            };
            checked.push((index, bound));
        }
        let work = KernelWork { pipeline, bindings: checked, threadgroup_memory, grid, group_size, fuser };
        let accesses = work.accesses();
        self.node(name, NodeWork::Kernel(work), accesses)
    }

    /// Adds a copy between ranges of one length.
    pub fn copy(
        &mut self,
        name: impl Into<String>,
        source: impl Into<ResourceRange>,
        destination: impl Into<ResourceRange>,
    ) -> Result<NodeId, GraphError> {
        let name = name.into();
        let source = self.bytes(&name, source.into())?;
        let destination = self.bytes(&name, destination.into())?;
        if source.length != destination.length {
            let (source_len, destination_len) = (source.length, destination.length);
            return Err(GraphError::CopyLengths { node: name, source_len, destination_len });
        }
        if self.table.place(source).overlaps(&self.table.place(destination)) {
            return Err(GraphError::Device(anymetal_hal::error::DeviceError::OverlappingCopy {
                source_offset: source.offset,
                destination_offset: destination.offset,
                len: source.length,
            }));
        }
        let accesses =
            vec![Access { bytes: source, writes: false }, Access { bytes: destination, writes: true }];
        self.node(name, NodeWork::Copy { source, destination }, accesses)
    }

    /// Adds a fill.
    pub fn fill(
        &mut self,
        name: impl Into<String>,
        target: impl Into<ResourceRange>,
        value: u8,
    ) -> Result<NodeId, GraphError> {
        let name = name.into();
        let target = self.bytes(&name, target.into())?;
        let accesses = vec![Access { bytes: target, writes: true }];
        self.node(name, NodeWork::Fill { target, value }, accesses)
    }

    /// Adds a host callback.
    pub fn host(&mut self, name: impl Into<String>, host: HostNode) -> Result<NodeId, GraphError> {
        let name = name.into();
        let mut accesses = Vec::new();
        for (ranges, writes) in [(&host.reads, false), (&host.writes, true)] {
            for range in ranges {
                accesses.push(Access { bytes: self.bytes(&name, *range)?, writes });
            }
        }
        let work = HostWork { callback: host.callback, home: self.id, moved: None };
        self.node(name, NodeWork::Host(Arc::new(work)), accesses)
    }

    /// Adds a node that runs the first graph if the condition holds, and else the second if there is one.
    pub fn conditional(
        &mut self,
        name: impl Into<String>,
        condition: Condition,
        then: Branch,
        otherwise: Option<Branch>,
    ) -> Result<NodeId, GraphError> {
        let name = name.into();
        let mut accesses = Vec::new();
        let condition = match condition {
            Condition::Host(decide) => CheckedCondition::Host(decide),
            Condition::NotZero(range) => {
                let mut bytes = self.bytes(&name, range)?;
                if bytes.length < 4 {
                    return Err(self.outside(&name, ResourceRange { length: Some(4), ..range }));
                }
                bytes.length = 4;
                accesses.push(Access { bytes, writes: false });
                CheckedCondition::NotZero(bytes)
            }
        };
        let then = self.branch(&name, then, &mut accesses)?;
        let otherwise = match otherwise {
            Some(branch) => Some(self.branch(&name, branch, &mut accesses)?),
            None => None,
        };
        let conditional = Conditional { condition, branches: [Some(then), otherwise] };
        self.node(name, NodeWork::Conditional(Arc::new(conditional)), accesses)
    }

    /// Checks a branch and adds what it does, seen from here.
    fn branch(
        &mut self,
        node: &str,
        branch: Branch,
        accesses: &mut Vec<Access>,
    ) -> Result<CheckedBranch, GraphError> {
        let outer = self.outer_bytes(node, &branch)?;
        let data = &branch.graph.data;
        let mut arguments = Vec::new();
        for (index, outer) in outer.iter().enumerate() {
            match outer {
                Some(bytes) => arguments.push((index as u32, *bytes)),
                // Fixed inside: seen from here it is a resource like any other.
                None => {
                    let resource = Resource {
                        name: self.fresh_name(node, &data.table.resources[index].name),
                        ..data.table.resources[index].clone()
                    };
                    self.table.resources.push(resource);
                }
            }
        }
        let places = self.places_of(&outer);
        let inner = data.nodes.iter().flat_map(|node| &node.accesses);
        accesses.extend(inner.map(|access| Access { bytes: moved(access.bytes, &places), ..*access }));
        Ok(CheckedBranch { graph: branch.graph, arguments })
    }

    fn check_node_name(&self, name: &str) -> Result<(), GraphError> {
        self.check_name("node", name, self.nodes.iter().any(|node| node.name == name))
    }

    fn node(&mut self, name: String, work: NodeWork, accesses: Vec<Access>) -> Result<NodeId, GraphError> {
        self.check_node_name(&name)?;
        self.nodes.push(Node { name, work, accesses });
        Ok(NodeId { graph: self.id, index: self.nodes.len() as u32 - 1 })
    }

    fn bytes(&self, node: &str, range: ResourceRange) -> Result<Bytes, GraphError> {
        let ResourceRange { resource, offset, length } = range;
        let known = self.table.resources.get(resource.index as usize).filter(|_| resource.graph == self.id);
        let known = known.ok_or_else(|| self.of_another("resource"))?;
        let length = length.unwrap_or(known.length.saturating_sub(offset));
        match offset.checked_add(length) {
            Some(end) if end <= known.length => Ok(Bytes { resource: resource.index, offset, length }),
            _ => Err(self.outside(node, ResourceRange { length: Some(length), ..range })),
        }
    }

    fn outside(&self, node: &str, range: ResourceRange) -> GraphError {
        let resource = &self.table.resources[range.resource.index as usize];
        GraphError::RangeOutside {
            node: node.to_owned(),
            resource: resource.name.clone(),
            offset: range.offset,
            length: range.length.unwrap_or_default(),
            available: resource.length,
        }
    }

    fn of_another(&self, what: &'static str) -> GraphError {
        GraphError::OfAnotherGraph { graph: self.name.clone(), what }
    }

    /// Has one node come before another.
    pub fn edge(&mut self, before: NodeId, after: NodeId) -> Result<(), GraphError> {
        self.edges_between(&[before], &[after])
    }

    /// Has each of the first nodes come before each of the second.
    pub fn edges_between(&mut self, before: &[NodeId], after: &[NodeId]) -> Result<(), GraphError> {
        if before.iter().chain(after).any(|node| node.graph != self.id) {
            return Err(self.of_another("node"));
        }
        self.edges.extend(before.iter().flat_map(|from| after.iter().map(|to| (from.index, to.index))));
        Ok(())
    }

    /// Adds an edge wherever two nodes touch the same bytes and one writes, in the order in which they were
    /// added: as if they ran one after the other. Host nodes keep their place among all others.
    pub fn order_as_added(&mut self) {
        let hazards = crate::graph::order::conflicts(&self.table, &self.nodes);
        self.edges.extend(hazards.iter().map(|conflict| (conflict.first, conflict.second)));
        let host = (0..self.nodes.len()).filter(|node| self.nodes[*node].work.is_host());
        for host in host {
            self.edges.extend((0..host).map(|node| (node as u32, host as u32)));
            self.edges.extend((host + 1..self.nodes.len()).map(|node| (host as u32, node as u32)));
        }
    }

    /// Checks the whole.
    pub fn build(mut self) -> Result<Graph, GraphError> {
        self.edges.sort_unstable();
        self.edges.dedup();
        let GraphBuilder { id, name, table, nodes, edges } = self;
        crate::graph::order::check(&name, &table, &nodes, &edges)?;
        Ok(Graph { data: Arc::new(GraphData { id, name, table, nodes, edges }) })
    }
}
