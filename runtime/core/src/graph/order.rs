//! Orders over nodes: cycles, reachability, levels, conflicts.
//!
//! Owns [`Order`] (a topological order of edges known to have no cycle), [`conflicts`] and [`check`].
//! Invariant: everything here depends on node numbers alone, so the same graph gives the same answers,
//! whatever the addresses of its buffers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::error::{GraphError, Hazard};
use crate::graph::node::{Access, Node};
use crate::graph::resource::{ByteRange, Table};

/// Two nodes that touch the same bytes, one of them writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) first: u32,
    pub(crate) second: u32,
    /// The first node's access.
    access: Access,
    /// The shared bytes, from the access's start.
    shared: (u64, u64),
    both_write: bool,
}

/// All conflicts, by node numbers; one for each pair of nodes.
pub(crate) fn conflicts(table: &Table, nodes: &[Node]) -> Vec<Conflict> {
    let numbered = nodes.iter().enumerate();
    let all = numbered.flat_map(|(node, at)| at.accesses.iter().map(move |access| (node as u32, *access)));
    let mut placed: Vec<(ByteRange, u32, Access)> =
        all.map(|(node, access)| (table.place(access.bytes), node, access)).collect();
    placed.retain(|(place, ..)| place.start < place.end);
    placed.sort_unstable_by_key(|(place, node, _)| (*place, *node));
    let mut found = Vec::new();
    for (position, (place, node, access)) in placed.iter().enumerate() {
        let later = placed[position + 1..].iter();
        // Sorted by start: the first that starts at or after the end is the last to look at.
        for (other_place, other, other_access) in later.take_while(|(other, ..)| place.overlaps(other)) {
            if node != other && (access.writes || other_access.writes) {
                found.push(conflict((place, *node, access), (other_place, *other, other_access)));
            }
        }
    }
    found.sort_unstable_by_key(|conflict| (conflict.first, conflict.second, conflict.shared));
    found.dedup_by_key(|conflict| (conflict.first, conflict.second));
    found
}

fn conflict(one: (&ByteRange, u32, &Access), other: (&ByteRange, u32, &Access)) -> Conflict {
    let (first, second) = if one.1 < other.1 { (one, other) } else { (other, one) };
    let (start, end) = (first.0.start.max(second.0.start), first.0.end.min(second.0.end));
    Conflict {
        first: first.1,
        second: second.1,
        access: *first.2,
        shared: (start - first.0.start, end - start),
        both_write: first.2.writes && second.2.writes,
    }
}

/// Checks that the edges have no cycle and order every conflict.
pub(crate) fn check(
    graph: &str,
    table: &Table,
    nodes: &[Node],
    edges: &[(u32, u32)],
) -> Result<(), GraphError> {
    if let Some(cycle) = find_cycle(nodes.len(), edges) {
        let path = cycle.into_iter().map(|node| nodes[node].name.clone()).collect();
        return Err(GraphError::Cycle { graph: graph.to_owned(), path });
    }
    check_hazards(graph, table, nodes, edges)
}

/// Checks that the edges order every conflict.
pub(crate) fn check_hazards(
    graph: &str,
    table: &Table,
    nodes: &[Node],
    edges: &[(u32, u32)],
) -> Result<(), GraphError> {
    let reach = Order::new(nodes.len(), edges).reachability();
    let unordered = conflicts(table, nodes).into_iter().filter(|conflict| {
        let (first, second) = (conflict.first as usize, conflict.second as usize);
        !reach.contains(first, second) && !reach.contains(second, first)
    });
    let named = unordered.map(|conflict| Hazard {
        first: nodes[conflict.first as usize].name.clone(),
        second: nodes[conflict.second as usize].name.clone(),
        resource: table.resource(conflict.access.bytes).name.clone(),
        offset: conflict.access.bytes.offset + conflict.shared.0,
        length: conflict.shared.1,
        both_write: conflict.both_write,
    });
    match named.collect::<Vec<_>>() {
        hazards if hazards.is_empty() => Ok(()),
        hazards => Err(GraphError::Hazards { graph: graph.to_owned(), hazards }),
    }
}

/// The nodes of one cycle in order, if there is one.
fn find_cycle(count: usize, edges: &[(u32, u32)]) -> Option<Vec<usize>> {
    let order = Order::new(count, edges);
    if order.nodes.len() == count {
        return None;
    }
    // Every node that is left has a predecessor that is left: walking back must come round.
    let mut left = vec![true; count];
    order.nodes.iter().for_each(|&node| left[node] = false);
    let mut position = vec![None; count];
    let mut path = Vec::new();
    let mut node = left.iter().position(|&left| left)?;
    while position[node].is_none() {
        position[node] = Some(path.len());
        path.push(node);
        node = *order.before[node].iter().find(|&&before| left[before])?;
    }
    let mut cycle = path.split_off(position[node]?);
    cycle.reverse();
    // From its lowest number on, so that the message does not depend on where the walk began.
    let lowest = cycle.iter().enumerate().min_by_key(|(_, node)| **node)?.0;
    cycle.rotate_left(lowest);
    Some(cycle)
}

/// A topological order: among nodes that could be next, the lowest number is.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) nodes: Vec<usize>,
    pub(crate) before: Vec<Vec<usize>>,
    pub(crate) after: Vec<Vec<usize>>,
}

impl Order {
    /// The order; nodes on or behind a cycle are missing from it.
    pub(crate) fn new(count: usize, edges: &[(u32, u32)]) -> Self {
        let (mut before, mut after) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for &(from, to) in edges {
            before[to as usize].push(from as usize);
            after[from as usize].push(to as usize);
        }
        let mut missing: Vec<usize> = before.iter().map(Vec::len).collect();
        let ready = (0..count).filter(|&node| missing[node] == 0);
        let mut ready: BinaryHeap<Reverse<usize>> = ready.map(Reverse).collect();
        let mut nodes = Vec::with_capacity(count);
        while let Some(Reverse(node)) = ready.pop() {
            nodes.push(node);
            for &next in &after[node] {
                missing[next] -= 1;
                if missing[next] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        Order { nodes, before, after }
    }

    /// For each node, the length of the longest path to it.
    pub(crate) fn levels(&self) -> Vec<usize> {
        let mut levels = vec![0; self.before.len()];
        for &node in &self.nodes {
            levels[node] = self.before[node].iter().map(|&before| levels[before] + 1).max().unwrap_or(0);
        }
        levels
    }

    /// Which nodes come after which.
    pub(crate) fn reachability(&self) -> Reachability {
        let words = self.before.len().div_ceil(64);
        let mut rows = vec![0u64; words * self.before.len()];
        for &node in self.nodes.iter().rev() {
            for &next in &self.after[node] {
                rows[node * words + next / 64] |= 1 << (next % 64);
                for word in 0..words {
                    rows[node * words + word] |= rows[next * words + word];
                }
            }
        }
        Reachability { words, rows }
    }
}

/// A bit for each pair of nodes.
#[derive(Debug)]
pub(crate) struct Reachability {
    words: usize,
    rows: Vec<u64>,
}

impl Reachability {
    /// Whether a path leads from one node to another.
    pub(crate) fn contains(&self, from: usize, to: usize) -> bool {
        self.rows[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }
}
