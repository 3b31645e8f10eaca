//! Partitions a plan over several streams.
//!
//! Owns [`Part`], the nodes of one command buffer, and [`parts`]. Invariant: a node follows its predecessors
//! in the same part, or is in a later part of the same stream, or in a part that depends on theirs; a part
//! depends on earlier parts only, so submitting parts in order never waits for one that is not submitted.

use crate::graph::plan::Plan;

/// Nodes that one command buffer takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Which of the streams.
    pub(crate) stream: usize,
    /// The nodes in order, by their numbers in the plan.
    pub(crate) nodes: Vec<usize>,
    /// The parts of other streams that must have ended.
    pub(crate) after: Vec<usize>,
    /// Whether another stream waits for it, so that it takes no more nodes.
    closed: bool,
}

impl Part {
    /// A part without dependencies.
    pub(crate) fn alone(nodes: Vec<usize>) -> Self {
        Part { stream: 0, nodes, after: Vec::new(), closed: true }
    }
}

/// The parts of a plan over so many streams, at least one.
pub(crate) fn parts(plan: &Plan, streams: usize) -> Vec<Part> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); plan.nodes.len()];
    plan.edges.iter().for_each(|&(from, to)| before[to as usize].push(from as usize));
    let mut parts: Vec<Part> = Vec::new();
    let mut part_of = vec![0; plan.nodes.len()];
    // Of each stream: its newest part and how many nodes it has in all.
    let mut newest: Vec<Option<usize>> = vec![None; streams.max(1)];
    let mut load = vec![0usize; streams.max(1)];
    for &node in plan.passes.iter().flat_map(|pass| &pass.stages).flat_map(|stage| &stage.nodes) {
        let waits_for = |part: usize| before[node].iter().any(|&before| part_of[before] == part);
        // Where what it waits for has just been put, if anywhere: then nobody waits across streams.
        let follows = (0..newest.len()).filter(|&stream| newest[stream].is_some_and(waits_for));
        let stream = follows.min_by_key(|&stream| load[stream]);
        let stream = stream.unwrap_or_else(|| least(&load));
        let mut after: Vec<usize> = before[node].iter().map(|&before| part_of[before]).collect();
        after.retain(|&part| parts[part].stream != stream);
        after.sort_unstable();
        after.dedup();
        after.iter().for_each(|&part| parts[part].closed = true);
        let open = newest[stream].filter(|&part| {
            !parts[part].closed && after.iter().all(|waited| parts[part].after.contains(waited))
        });
        let part = open.unwrap_or_else(|| {
            parts.push(Part { stream, nodes: Vec::new(), after, closed: false });
            parts.len() - 1
        });
        parts[part].nodes.push(node);
        part_of[node] = part;
        newest[stream] = Some(part);
        load[stream] += 1;
    }
    parts
}

/// The first stream with the fewest nodes.
fn least(load: &[usize]) -> usize {
    load.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(stream, _)| stream)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::graph::{GraphBuilder, PlanOptions};

    /// A graph of fills with these edges, partitioned.
    fn partition(nodes: usize, edges: &[(usize, usize)], streams: usize) -> Vec<Part> {
        let mut builder = GraphBuilder::new("g");
        let nodes: Vec<_> = (0..nodes)
            .map(|node| {
                let buffer = builder.parameter(format!("b{node}"), 4).unwrap();
                builder.fill(format!("n{node}"), buffer, 1).unwrap()
            })
            .collect();
        edges.iter().for_each(|&(from, to)| builder.edge(nodes[from], nodes[to]).unwrap());
        parts(&Plan::new(&builder.build().unwrap(), PlanOptions::none()), streams)
    }

    #[test]
    fn independent_nodes_are_balanced_over_lanes_without_dependencies() {
        let parts = partition(6, &[], 3);
        assert_eq!(parts.iter().map(|part| part.nodes.len()).collect::<Vec<_>>(), [2, 2, 2]);
        assert!(parts.iter().all(|part| part.after.is_empty()));
        assert_eq!(partition(6, &[], 1).len(), 1, "one stream needs one command buffer");
    }
}
