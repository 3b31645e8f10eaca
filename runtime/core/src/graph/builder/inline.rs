//! Inlining: the nodes of a graph that was built, as nodes of another.
//!
//! Invariant: what was checked in the inner graph holds in the outer one: its bytes lie within the outer
//! graph's, its names are made new where they are taken, its order is kept.

use std::sync::Arc;

use super::{GraphBuilder, Inlined};
use crate::graph::error::GraphError;
use crate::graph::node::{
    Access, Bound, Branch, CheckedBranch, CheckedCondition, Conditional, HostWork, KernelWork, Node, NodeId,
    NodeWork,
};
use crate::graph::resource::{Bytes, BytesId, InlineBytes, Resource};

impl GraphBuilder {
    /// Adds all nodes of a graph as if they had been added here, their names behind `name/`.
    pub fn subgraph(&mut self, name: impl Into<String>, branch: Branch) -> Result<Inlined, GraphError> {
        let name = name.into();
        let outer = self.outer_bytes(&name, &branch)?;
        let data = Arc::clone(&branch.graph.data);
        let prefix = |inner: &str| format!("{name}/{inner}");
        for resource in data.table.resources.iter().zip(&outer).filter(|(_, outer)| outer.is_none()) {
            let resource = Resource { name: self.fresh_name(&name, &resource.0.name), ..resource.0.clone() };
            self.table.resources.push(resource);
        }
        let places = self.places_of(&outer);
        let first_inline = self.table.inline.len() as u32;
        for inline in &data.table.inline {
            let inline = InlineBytes { name: self.fresh_name(&name, &inline.name), ..inline.clone() };
            self.table.inline.push(inline);
        }
        let first = self.nodes.len() as u32;
        for node in &data.nodes {
            self.check_node_name(&prefix(&node.name))?;
            let accesses = node.accesses.iter();
            let accesses = accesses.map(|access| Access { bytes: moved(access.bytes, &places), ..*access });
            let node = Node {
                name: prefix(&node.name),
                accesses: accesses.collect(),
                work: self.moved_work(&node.work, &places, first_inline, data.id),
            };
            self.nodes.push(node);
        }
        self.edges.extend(data.edges.iter().map(|(from, to)| (first + from, first + to)));
        let ends = |is_end: &dyn Fn(u32) -> bool| {
            let nodes = (0..data.nodes.len() as u32).filter(|node| is_end(*node));
            nodes.map(|node| NodeId { graph: self.id, index: first + node }).collect()
        };
        Ok(Inlined {
            first: ends(&|node| data.edges.iter().all(|(_, to)| *to != node)),
            last: ends(&|node| data.edges.iter().all(|(from, _)| *from != node)),
        })
    }

    fn moved_work(&self, work: &NodeWork, places: &[Bytes], first_inline: u32, inner: u64) -> NodeWork {
        match work {
            NodeWork::Copy { source, destination } => {
                NodeWork::Copy { source: moved(*source, places), destination: moved(*destination, places) }
            }
            NodeWork::Fill { target, value } => {
                NodeWork::Fill { target: moved(*target, places), value: *value }
            }
            NodeWork::Kernel(kernel) => {
                let bindings = kernel.bindings.iter().map(|(index, bound)| {
                    let bound = match bound {
                        Bound::Range(bytes) => Bound::Range(moved(*bytes, places)),
                        Bound::Parameter(id) => {
                            Bound::Parameter(BytesId { graph: self.id, index: first_inline + id.index })
                        }
                        Bound::Bytes(bytes) => Bound::Bytes(bytes.clone()),
                        Bound::Unbound => Bound::Unbound,
                    };
                    (*index, bound)
                });
                NodeWork::Kernel(KernelWork { bindings: bindings.collect(), ..kernel.clone() })
            }
            NodeWork::Host(host) => {
                let through = host.moved.as_ref();
                let now = through.map(|inner| inner.iter().map(|bytes| moved(*bytes, places)).collect());
                let now = now.unwrap_or_else(|| places.to_vec());
                debug_assert!(through.is_some() || host.home == inner);
                let callback = Arc::clone(&host.callback);
                NodeWork::Host(Arc::new(HostWork { callback, home: host.home, moved: Some(now) }))
            }
            NodeWork::Conditional(conditional) => {
                let branch = |branch: &CheckedBranch| CheckedBranch {
                    graph: branch.graph.clone(),
                    arguments: branch
                        .arguments
                        .iter()
                        .map(|(inner, bytes)| (*inner, moved(*bytes, places)))
                        .collect(),
                };
                let condition = match &conditional.condition {
                    CheckedCondition::NotZero(bytes) => CheckedCondition::NotZero(moved(*bytes, places)),
                    CheckedCondition::Host(decide) => CheckedCondition::Host(Arc::clone(decide)),
                };
                let [then, otherwise] = &conditional.branches;
                let branches = [then.as_ref().map(branch), otherwise.as_ref().map(branch)];
                NodeWork::Conditional(Arc::new(Conditional { condition, branches }))
            }
        }
    }

    /// The outer bytes of each inner resource; `None` for those that are fixed inside.
    pub(super) fn outer_bytes(&self, node: &str, branch: &Branch) -> Result<Vec<Option<Bytes>>, GraphError> {
        let data = &branch.graph.data;
        let mut outer = vec![None; data.table.resources.len()];
        for (parameter, range) in &branch.arguments {
            let inner = data.table.resources.get(parameter.index as usize);
            let inner =
                inner.filter(|_| parameter.graph == data.id).ok_or_else(|| self.of_another("resource"))?;
            if !inner.is_parameter {
                let what = "buffer parameter";
                return Err(GraphError::NotAParameter { name: inner.name.clone(), what });
            }
            let bytes = self.bytes(node, *range)?;
            if bytes.length != inner.length {
                let (parameter, expected) = (inner.name.clone(), inner.length);
                return Err(GraphError::WrongLength { parameter, expected, got: bytes.length });
            }
            outer[parameter.index as usize] = Some(bytes);
        }
        let unset = data
            .table
            .resources
            .iter()
            .zip(&outer)
            .find(|(inner, outer)| inner.is_parameter && outer.is_none());
        match unset {
            Some((inner, _)) => Err(GraphError::Unset { parameter: inner.name.clone() }),
            None => Ok(outer),
        }
    }

    /// Where each inner resource is, the fixed ones having just been added at the end.
    pub(super) fn places_of(&self, outer: &[Option<Bytes>]) -> Vec<Bytes> {
        let fixed = outer.iter().filter(|outer| outer.is_none()).count();
        let mut next = (self.table.resources.len() - fixed) as u32;
        let place = |outer: &Option<Bytes>| {
            outer.unwrap_or_else(|| {
                let resource = next;
                next += 1;
                Bytes { resource, offset: 0, length: self.table.resources[resource as usize].length }
            })
        };
        outer.iter().map(place).collect()
    }

    pub(super) fn fresh_name(&self, node: &str, inner: &str) -> String {
        self.free_name(format!("{node}/{inner}"))
    }

    pub(super) fn free_name(&self, name: String) -> String {
        if self.check_new_resource(&name).is_ok() {
            return name;
        }
        let numbered = (2u64..).map(|number| format!("{name} {number}"));
        let mut free = numbered.filter(|name| self.check_new_resource(name).is_ok());
        free.next().unwrap_or(name)
    }
}

/// Bytes of an inner resource, seen from outside.
pub(super) fn moved(bytes: Bytes, places: &[Bytes]) -> Bytes {
    let place = places[bytes.resource as usize];
    Bytes { resource: place.resource, offset: place.offset + bytes.offset, length: bytes.length }
}
