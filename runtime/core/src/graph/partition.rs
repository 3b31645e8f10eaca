//! Partitions a plan over several streams.
//!
//! Owns [`Partition`], the nodes of one command buffer, and [`partitions`]. Invariant: a node follows its
//! predecessors in the same part, or is in a later part of the same stream, or in a part that depends on
//! theirs; a part depends on earlier parts only, so submitting parts in order never waits for one that is
//! not submitted.

use crate::graph::plan::Plan;

/// Nodes that one command buffer takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// Which of the streams.
    pub(crate) stream: usize,
    /// The nodes in order, by their numbers in the plan.
    pub(crate) nodes: Vec<usize>,
    /// The parts of other streams that must have ended.
    pub(crate) after: Vec<usize>,
    /// Whether another stream waits for it, so that it takes no more nodes.
    closed: bool,
}

impl Partition {
    /// A part without dependencies.
    pub(crate) fn alone(nodes: Vec<usize>) -> Self {
        Partition { stream: 0, nodes, after: Vec::new(), closed: true }
    }
}

/// The parts of a plan over so many streams, at least one.
pub(crate) fn partitions(plan: &Plan, streams: usize) -> Vec<Partition> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); plan.nodes.len()];
    plan.edges.iter().for_each(|&(from, to)| before[to as usize].push(from as usize));
    let mut partitions: Vec<Partition> = Vec::new();
    let mut part_of = vec![0; plan.nodes.len()];
    // Of each stream: its newest part and how many nodes it has in all.
    let mut newest: Vec<Option<usize>> = vec![None; streams.max(1)];
    let mut load = vec![0usize; streams.max(1)];
    for &node in plan.passes.iter().flat_map(|pass| &pass.stages).flat_map(|stage| &stage.nodes) {
        let waits_for = |partition: usize| before[node].iter().any(|&before| part_of[before] == partition);
        // Where what it waits for has just been put, if anywhere: then nobody waits across streams.
        let follows = (0..newest.len()).filter(|&stream| newest[stream].is_some_and(waits_for));
        let stream = follows.min_by_key(|&stream| load[stream]);
        let stream = stream.unwrap_or_else(|| least(&load));
        let mut after: Vec<usize> = before[node].iter().map(|&before| part_of[before]).collect();
        after.retain(|&partition| partitions[partition].stream != stream);
        after.sort_unstable();
        after.dedup();
        after.iter().for_each(|&partition| partitions[partition].closed = true);
        let open = newest[stream].filter(|&partition| {
            !partitions[partition].closed
                && after.iter().all(|waited| partitions[partition].after.contains(waited))
        });
        let partition = open.unwrap_or_else(|| {
            partitions.push(Partition { stream, nodes: Vec::new(), after, closed: false });
            partitions.len() - 1
        });
        partitions[partition].nodes.push(node);
        part_of[node] = partition;
        newest[stream] = Some(partition);
        load[stream] += 1;
    }
    partitions
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
    fn partition(nodes: usize, edges: &[(usize, usize)], streams: usize) -> Vec<Partition> {
        let mut builder = GraphBuilder::new("g");
        let nodes: Vec<_> = (0..nodes)
            .map(|node| {
                let buffer = builder.parameter(format!("b{node}"), 4).unwrap();
                builder.fill(format!("n{node}"), buffer, 1).unwrap()
            })
            .collect();
        edges.iter().for_each(|&(from, to)| builder.edge(nodes[from], nodes[to]).unwrap());
        partitions(&Plan::new(&builder.build().unwrap(), PlanOptions::none()), streams)
    }

    #[test]
    fn independent_nodes_are_balanced_over_lanes_without_dependencies() {
        let partitions = partition(6, &[], 3);
        assert_eq!(partitions.iter().map(|partition| partition.nodes.len()).collect::<Vec<_>>(), [2, 2, 2]);
        assert!(partitions.iter().all(|partition| partition.after.is_empty()));
        assert_eq!(partition(6, &[], 1).len(), 1, "one stream needs one command buffer");
    }
}
