//! Rewriting a graph before it is planned, without changing what it does to any byte.
//!
//! Owns [`needed_edges`], which keeps the orders that matter, and [`merge_transfers`], which joins copies
//! (and fills) of contiguous bytes. Each is tested by running random graphs with and without it.
//!
//! Why they are right. Two device nodes that share no written byte commute, so only conflicting nodes, and
//! host nodes with everything, need their order. Two transfers that do not conflict and have no third node
//! ordered between them can run at one moment, and then one longer transfer does the same.

use crate::graph::node::{Access, Node, NodeWork};
use crate::graph::order::{Order, conflicts};
use crate::graph::resource::{ByteRange, Bytes, Table};

/// A node of a plan: one of the graph's, or several in one.
#[derive(Debug, Clone)]
pub(crate) struct PlanNode {
    pub(crate) node: Node,
    /// The numbers of the graph's nodes that it stands for.
    pub(crate) origin: Vec<u32>,
}

/// The orders that matter, all of them, between the graph's nodes.
pub(crate) fn needed_edges(table: &Table, nodes: &[Node], edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let reach = Order::new(nodes.len(), edges).reachability();
    let directed = |(one, other): (u32, u32)| {
        if reach.contains(one as usize, other as usize) {
            Some((one, other))
        } else {
            reach.contains(other as usize, one as usize).then_some((other, one))
        }
    };
    let in_conflict = conflicts(table, nodes).into_iter().map(|conflict| (conflict.first, conflict.second));
    let all = 0..nodes.len() as u32;
    let host = all.clone().filter(|&node| nodes[node as usize].work.is_host());
    let with_host =
        host.flat_map(|host| all.clone().filter(move |&node| node != host).map(move |node| (host, node)));
    let mut needed: Vec<(u32, u32)> = in_conflict.chain(with_host).filter_map(directed).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// Joins contiguous transfers; gives the nodes that are left and the orders between them.
pub(crate) fn merge_transfers(
    table: &Table,
    nodes: Vec<PlanNode>,
    edges: Vec<(u32, u32)>,
) -> (Vec<PlanNode>, Vec<(u32, u32)>) {
    let mut merger = Merger::new(table, nodes, edges);
    for kind in [Transfer::copy, Transfer::fill] {
        let live = merger.nodes.iter().enumerate();
        let transfers = live.filter_map(|(node, live)| Some((node, kind(table, &live.as_ref()?.node.work)?)));
        let mut transfers: Vec<(usize, Transfer)> = transfers.collect();
        transfers.sort_unstable_by_key(|(node, transfer)| (transfer.key, transfer.start, *node));
        let mut last: Option<(usize, Transfer)> = None;
        for (node, transfer) in transfers {
            let joined = last.filter(|(_, before)| before.is_followed_by(&transfer));
            last = match joined.filter(|(before, _)| merger.join(*before, node)) {
                Some((before, first)) => Some((before, Transfer { end: transfer.end, ..first })),
                None => Some((node, transfer)),
            };
        }
    }
    merger.finish()
}

/// What two transfers must have in common to be one, and where this one is along it.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    /// Source and destination resource and their distance; or the filled resource and the value.
    key: (u32, u32, i128),
    start: u64,
    end: u64,
}

impl Transfer {
    fn copy(_: &Table, work: &NodeWork) -> Option<Self> {
        let NodeWork::Copy { source, destination } = work else { return None };
        let distance = i128::from(source.offset) - i128::from(destination.offset);
        let key = (source.resource, destination.resource, distance);
        Some(Transfer { key, start: source.offset, end: source.end() })
    }

    fn fill(_: &Table, work: &NodeWork) -> Option<Self> {
        let NodeWork::Fill { target, value } = work else { return None };
        let key = (target.resource, target.resource, i128::from(*value));
        Some(Transfer { key, start: target.offset, end: target.end() })
    }

    fn is_followed_by(&self, other: &Transfer) -> bool {
        self.key == other.key && self.end == other.start
    }
}

/// Nodes of which some are joined to others.
pub(crate) struct Merger<'a> {
    table: &'a Table,
    /// `None`: joined to another.
    nodes: Vec<Option<PlanNode>>,
    edges: Vec<(u32, u32)>,
}

impl<'a> Merger<'a> {
    pub(crate) fn new(table: &'a Table, nodes: Vec<PlanNode>, edges: Vec<(u32, u32)>) -> Self {
        Merger { table, nodes: nodes.into_iter().map(Some).collect(), edges }
    }

    pub(crate) fn table(&self) -> &'a Table {
        self.table
    }

    /// How many nodes there were at first.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A node that is not joined to another.
    pub(crate) fn node(&self, node: usize) -> Option<&PlanNode> {
        self.nodes[node].as_ref()
    }

    pub(crate) fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// Puts one node in the place of the first and the others.
    pub(crate) fn replace(&mut self, first: usize, others: &[usize], node: PlanNode) {
        self.nodes[first] = Some(node);
        others.iter().for_each(|&other| self.nodes[other] = None);
        for (from, to) in &mut self.edges {
            for end in [from, to] {
                if others.contains(&(*end as usize)) {
                    *end = first as u32;
                }
            }
        }
        self.edges.retain(|(from, to)| from != to);
        self.edges.sort_unstable();
        self.edges.dedup();
    }

    /// Joins the second transfer to the first if that changes nothing; says whether it did.
    fn join(&mut self, first: usize, second: usize) -> bool {
        let (Some(one), Some(other)) = (&self.nodes[first], &self.nodes[second]) else { return false };
        let Some(work) = joined(self.table, &one.node.work, &other.node.work) else { return false };
        let order = Order::new(self.nodes.len(), &self.edges);
        let reach = order.reachability();
        // With an order between them they conflict, or a third node lies between.
        if reach.contains(first, second) || reach.contains(second, first) {
            return false;
        }
        let accesses = accesses_of(&work);
        let name = format!("{} + {}", one.node.name, other.node.name);
        let mut origin = one.origin.clone();
        origin.extend(&other.origin);
        self.replace(first, &[second], PlanNode { node: Node { name, work, accesses }, origin });
        true
    }

    /// Numbers what is left anew.
    pub(crate) fn finish(self) -> (Vec<PlanNode>, Vec<(u32, u32)>) {
        let mut number = Vec::with_capacity(self.nodes.len());
        let mut next = 0;
        for node in &self.nodes {
            number.push(next);
            next += u32::from(node.is_some());
        }
        let edges = self.edges.into_iter().map(|(from, to)| (number[from as usize], number[to as usize]));
        (self.nodes.into_iter().flatten().collect(), edges.collect())
    }
}

/// One transfer in the place of two contiguous ones, unless it would overlap itself.
fn joined(table: &Table, first: &NodeWork, second: &NodeWork) -> Option<NodeWork> {
    let longer = |bytes: &Bytes, by: &Bytes| Bytes { length: bytes.length + by.length, ..*bytes };
    match (first, second) {
        (
            NodeWork::Copy { source, destination },
            NodeWork::Copy { source: next_source, destination: next_destination },
        ) => {
            let (source, destination) = (longer(source, next_source), longer(destination, next_destination));
            let places: [ByteRange; 2] = [table.place(source), table.place(destination)];
            (!places[0].overlaps(&places[1])).then_some(NodeWork::Copy { source, destination })
        }
        (NodeWork::Fill { target, value }, NodeWork::Fill { target: next, .. }) => {
            Some(NodeWork::Fill { target: longer(target, next), value: *value })
        }
        _ => None,
    }
}

fn accesses_of(work: &NodeWork) -> Vec<Access> {
    match work {
        NodeWork::Copy { source, destination } => {
            vec![Access { bytes: *source, writes: false }, Access { bytes: *destination, writes: true }]
        }
        NodeWork::Fill { target, .. } => vec![Access { bytes: *target, writes: true }],
        NodeWork::Kernel(_) | NodeWork::Host(_) | NodeWork::Conditional(_) => Vec::new(),
    }
}
