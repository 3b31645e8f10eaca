//! Plans: in which order, in which encoders and with which barriers a graph runs.
//!
//! Owns [`Plan`]. Nodes that one encoder can take are put into one [`Pass`]; inside a pass, nodes that
//! nothing orders share a [`Stage`], and a barrier stands between stages. The number of passes is the fewest
//! possible for graphs without host nodes (and found by search with bounded width for others); the number of
//! barriers in a pass is the fewest possible, since each stands for one step of the longest chain in it.
//!
//! Invariant: for every order that matters, the first node is in an earlier pass or an earlier stage.

use std::collections::BTreeSet;
use std::fmt;

use anymetal_hal::command::Grid;

use crate::graph::builder::Graph;
use crate::graph::fuse::fuse_kernels;
use crate::graph::node::NodeWork;
use crate::graph::order::Order;
use crate::graph::resource::Table;
use crate::graph::svg;
use crate::graph::transform::{PlanNode, merge_transfers, needed_edges};

/// How many states of the search for few passes are kept at each step.
const SEARCH_WIDTH: usize = 64;

/// Which transformations a plan may use; all by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Join copies and fills of contiguous bytes.
    pub merge_transfers: bool,
    /// Order nodes so that few encoders are needed. Without it, they keep the graph's order.
    pub group_passes: bool,
    /// Put barriers only where something must be ordered. Without it, there is one after each node.
    pub few_barriers: bool,
    /// Make one launch of a chain of kernels where their [`Fuser`](crate::graph::fuse::Fuser) shows that it
    /// does the same. Nodes without one stay as they are.
    pub fusion: bool,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions::new()
    }
}

impl PlanOptions {
    /// All transformations.
    pub const fn new() -> Self {
        PlanOptions { merge_transfers: true, group_passes: true, few_barriers: true, fusion: true }
    }

    /// With or without [`merge_transfers`](#structfield.merge_transfers).
    pub const fn merge_transfers(mut self, merged: bool) -> Self {
        self.merge_transfers = merged;
        self
    }

    /// With or without [`group_passes`](#structfield.group_passes).
    pub const fn group_passes(mut self, grouped: bool) -> Self {
        self.group_passes = grouped;
        self
    }

    /// With or without [`few_barriers`](#structfield.few_barriers).
    pub const fn few_barriers(mut self, few: bool) -> Self {
        self.few_barriers = few;
        self
    }

    /// With or without [`fusion`](#structfield.fusion).
    pub const fn fusion(mut self, fused: bool) -> Self {
        self.fusion = fused;
        self
    }

    /// No transformation at all.
    pub fn none() -> Self {
        PlanOptions { merge_transfers: false, group_passes: false, few_barriers: false, fusion: false }
    }
}

/// What takes a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PassKind {
    /// A compute encoder.
    Compute,
    /// A blit encoder.
    Blit,
    /// The host, between command buffers.
    Host,
}

impl PassKind {
    const ALL: [PassKind; 3] = [PassKind::Compute, PassKind::Blit, PassKind::Host];

    fn of(work: &NodeWork) -> Self {
        match work {
            NodeWork::Kernel(_) => PassKind::Compute,
            NodeWork::Copy { .. } | NodeWork::Fill { .. } => PassKind::Blit,
            NodeWork::Host(_) | NodeWork::Conditional(_) => PassKind::Host,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            PassKind::Compute => "compute",
            PassKind::Blit => "blit",
            PassKind::Host => "host",
        }
    }
}

/// Nodes that one encoder takes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// What takes it.
    pub kind: PassKind,
    /// Its stages in order, a barrier between each two.
    pub stages: Vec<Stage>,
}

/// Nodes that may run at the same time, by their numbers in the plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stage {
    /// The numbers.
    pub nodes: Vec<usize>,
}

/// In which order, in which encoders and with which barriers a graph runs.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) graph: String,
    pub(crate) nodes: Vec<PlanNode>,
    /// The orders that matter.
    pub(crate) edges: Vec<(u32, u32)>,
    pub(crate) passes: Vec<Pass>,
    merged: usize,
    fused: usize,
}

impl Plan {
    /// Plans a graph.
    pub fn new(graph: &Graph, options: PlanOptions) -> Self {
        Self::with_arguments(graph, &graph.data.table, &[], options)
    }

    /// Plans a graph whose parameters may have buffers and whose kernels may have other grids.
    pub(crate) fn with_arguments(
        graph: &Graph,
        table: &Table,
        grids: &[Option<Grid>],
        options: PlanOptions,
    ) -> Self {
        let data = &graph.data;
        let order = Order::new(data.nodes.len(), &data.edges);
        // Numbered along the graph's own order, so that the plan without transformations follows it.
        let mut number = vec![0; data.nodes.len()];
        order.nodes.iter().enumerate().for_each(|(position, &node)| number[node] = position as u32);
        let nodes = order
            .nodes
            .iter()
            .map(|&node| PlanNode { node: data.nodes[node].clone(), origin: vec![node as u32] });
        let needed = needed_edges(table, &data.nodes, &data.edges);
        let needed = needed.into_iter().map(|(from, to)| (number[from as usize], number[to as usize]));
        let (nodes, edges): (Vec<PlanNode>, Vec<(u32, u32)>) = (nodes.collect(), needed.collect());
        let plain = |nodes, edges| Self::of_nodes(data.name.clone(), nodes, edges, options);
        let mut plan = plain(nodes, edges);
        // What waits for one node then waits for all that it is joined with, which may cost an encoder.
        let better = |plan: &mut Plan, joined: (Vec<PlanNode>, Vec<(u32, u32)>)| {
            let gone = plan.nodes.len() - joined.0.len();
            let joined = plain(joined.0, joined.1);
            let is_better = gone > 0 && joined.encoders() <= plan.encoders();
            if is_better {
                *plan = Plan { merged: plan.merged, fused: plan.fused, ..joined };
            }
            if is_better { gone } else { 0 }
        };
        if options.fusion {
            let fused = fuse_kernels(table, &plan.nodes, &plan.edges, grids);
            plan.fused = better(&mut plan, fused);
        }
        if options.merge_transfers {
            let merged = merge_transfers(table, plan.nodes.clone(), plan.edges.clone());
            plan.merged = better(&mut plan, merged);
        }
        plan
    }

    fn of_nodes(graph: String, nodes: Vec<PlanNode>, edges: Vec<(u32, u32)>, options: PlanOptions) -> Self {
        let order = Order::new(nodes.len(), &edges);
        let kinds: Vec<PassKind> = nodes.iter().map(|node| PassKind::of(&node.node.work)).collect();
        let groups = if options.group_passes { few_groups(&order, &kinds) } else { runs(&order, &kinds) };
        let passes = groups.into_iter().map(|(kind, group)| {
            // The host runs one thing at a time.
            let stages = match options.few_barriers && kind != PassKind::Host {
                true => stages(&order, &group),
                false => group.into_iter().map(|node| Stage { nodes: vec![node] }).collect(),
            };
            Pass { kind, stages }
        });
        Plan { graph, passes: passes.collect(), nodes, edges, merged: 0, fused: 0 }
    }

    /// The passes in order.
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// The name of a node of the plan.
    pub fn node_name(&self, node: usize) -> Option<&str> {
        self.nodes.get(node).map(|node| node.node.name.as_str())
    }

    /// How many encoders it needs; the host's passes need none.
    pub fn encoders(&self) -> usize {
        self.passes.iter().filter(|pass| pass.kind != PassKind::Host).count()
    }

    /// How many barriers stand inside its encoders.
    pub fn barriers(&self) -> usize {
        let encoders = self.passes.iter().filter(|pass| pass.kind != PassKind::Host);
        encoders.map(|pass| pass.stages.len().saturating_sub(1)).sum()
    }

    /// How many kernels were fused into others.
    pub fn fused(&self) -> usize {
        self.fused
    }

    /// How many transfers were joined to others.
    pub fn merged(&self) -> usize {
        self.merged
    }

    /// The plan as an SVG picture.
    pub fn to_svg(&self) -> String {
        svg::svg(self)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (encoders, barriers) = (self.encoders(), self.barriers());
        let (name, nodes) = (&self.graph, self.nodes.len());
        writeln!(formatter, "graph `{name}`: {nodes} nodes, {encoders} encoders, {barriers} barriers")?;
        for (number, pass) in self.passes.iter().enumerate() {
            writeln!(formatter, "pass {number}: {}", pass.kind.word())?;
            for (number, stage) in pass.stages.iter().enumerate() {
                if number > 0 && pass.kind != PassKind::Host {
                    writeln!(formatter, "  -- barrier --")?;
                }
                for &node in &stage.nodes {
                    let node = &self.nodes[node].node;
                    writeln!(formatter, "  {} {}", node.work.word(), node.name)?;
                }
            }
        }
        Ok(())
    }
}

type Groups = Vec<(PassKind, Vec<usize>)>;

/// Runs of one kind along the order.
fn runs(order: &Order, kinds: &[PassKind]) -> Groups {
    let mut groups: Groups = Vec::new();
    for &node in &order.nodes {
        match groups.last_mut() {
            Some((kind, group)) if *kind == kinds[node] => group.push(node),
            _ => groups.push((kinds[node], vec![node])),
        }
    }
    groups
}

/// A state of the search: what is done, and the groups that led there.
struct Progress {
    missing: Vec<usize>,
    done: usize,
    groups: Groups,
}

/// Few groups of one kind each. Once a kind is chosen, taking all that can be taken is never worse than
/// taking less, so the only question is which kind comes next: with two kinds, which comes first.
fn few_groups(order: &Order, kinds: &[PassKind]) -> Groups {
    let missing = order.before.iter().map(Vec::len).collect();
    let mut frontier = vec![Progress { missing, done: 0, groups: Vec::new() }];
    loop {
        if let Some(finished) = frontier.iter().position(|progress| progress.done == kinds.len()) {
            return frontier.swap_remove(finished).groups;
        }
        let mut seen = BTreeSet::new();
        let mut next = Vec::new();
        for progress in &frontier {
            for kind in PassKind::ALL {
                // Without a step forward it is the last kind again, or none of it is ready.
                if let Some(further) = advance(progress, kind, order, kinds)
                    && seen.insert((kind, further.missing.clone()))
                {
                    next.push(further);
                }
            }
        }
        next.sort_by_key(|progress: &Progress| std::cmp::Reverse(progress.done));
        next.truncate(SEARCH_WIDTH);
        if next.is_empty() {
            // Not for orders without a cycle; the graph's own order is always right.
            return runs(order, kinds);
        }
        frontier = next;
    }
}

/// Takes everything of the kind that can be taken.
fn advance(progress: &Progress, kind: PassKind, order: &Order, kinds: &[PassKind]) -> Option<Progress> {
    let taken: BTreeSet<usize> =
        progress.groups.iter().flat_map(|(_, group)| group.iter().copied()).collect();
    let mut missing = progress.missing.clone();
    let mut group = Vec::new();
    // Along the order, one look at each node is enough.
    for &node in &order.nodes {
        if kinds[node] == kind && missing[node] == 0 && !taken.contains(&node) {
            group.push(node);
            order.after[node].iter().for_each(|&after| missing[after] -= 1);
        }
    }
    if group.is_empty() {
        return None;
    }
    let done = progress.done + group.len();
    let mut groups = progress.groups.clone();
    groups.push((kind, group));
    Some(Progress { missing, done, groups })
}

/// A group's nodes by the length of the longest chain inside the group that leads to them.
fn stages(order: &Order, group: &[usize]) -> Vec<Stage> {
    let mut level = vec![None; order.before.len()];
    let mut stages: Vec<Stage> = Vec::new();
    for &node in group {
        let before = order.before[node].iter().filter_map(|&before| level[before]);
        let own: usize = before.map(|level: usize| level + 1).max().unwrap_or(0);
        level[node] = Some(own);
        stages.resize_with(stages.len().max(own + 1), Stage::default);
        stages[own].nodes.push(node);
    }
    stages
}

/// How many passes nodes of two kinds need, for tests.
#[cfg(all(test, not(loom)))]
pub(crate) fn fewest_passes_of(is_blit: &[bool], edges: &[(u32, u32)]) -> usize {
    let kind = |blit: &bool| if *blit { PassKind::Blit } else { PassKind::Compute };
    let kinds: Vec<PassKind> = is_blit.iter().map(kind).collect();
    few_groups(&Order::new(kinds.len(), edges), &kinds).len()
}
