//! Fusing chains of kernel launches into one launch each.
//!
//! Owns [`Fuser`], what nodes bring along to be fused by, and [`fuse_kernels`], which finds the chains.
//! Invariant: a fused launch writes everything that its parts write, in an order that the graph's edges
//! allow; what cannot be shown to be so is not fused. The graph shows what lies outside the kernels, here:
//! the same grid of threads, nothing that must run in between, no branch that would run at the same time,
//! and arguments that are bound to the same bytes or share none that is written. The fuser shows the rest:
//! that no thread needs another's result.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use anymetal_hal::artifact::{Access as KernelAccess, ArgumentKind};
use anymetal_hal::command::Grid;
use anymetal_hal::pipeline::Pipeline;

use crate::graph::node::{Access, Bound, KernelWork, Node, NodeWork};
use crate::graph::order::{Order, Reachability};
use crate::graph::resource::{ByteRange, Table};
use crate::graph::transform::{Merger, PlanNode};

/// The most launches made into one: the work of compiling grows faster than what one more saves.
const MAX_LAUNCHES: usize = 8;

/// What a kernel's node can be fused by: knows the kernel better than its pipeline does.
pub trait Fuser: Send + Sync + fmt::Debug {
    /// Why launches over the same grid must stay apart; `None`: they need not. The first of them is this
    /// fuser's.
    fn refusal(&self, launches: &[Launch<'_>]) -> Option<String>;

    /// One pipeline in their place, for that threadgroup size.
    fn fuse(&self, launches: &[Launch<'_>]) -> Result<Fused, String>;

    /// Whether a launch of so many threadgroups keeps the whole device busy, so that two independent ones
    /// gain nothing by running at the same time.
    fn fills_device(&self, threadgroups: u64) -> bool;

    /// For fusers of one kind to know each other.
    fn as_any(&self) -> &dyn Any;
}

/// One of the launches to be fused.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Launch<'a> {
    /// What its node brought along.
    pub fuser: &'a dyn Fuser,
    /// For each bound buffer argument, by Metal's index, what it is bound to: the same number for exactly the
    /// same bytes. Arguments with different numbers share no byte that a kernel writes.
    pub places: Vec<(u32, u32)>,
    /// Those of them that are bound to bytes which stay as they are, and those bytes.
    pub bytes: Vec<(u32, &'a [u8])>,
    /// The threads of all of them, along each axis.
    pub threads: [u32; 3],
    /// The threadgroup size of all of them.
    pub group_size: [u32; 3],
}

/// What stands for several launches.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fused {
    /// The code.
    pub pipeline: Arc<dyn Pipeline>,
    /// Metal's index of each of its arguments, and the launch and the argument there that it stands for.
    pub arguments: Vec<(u32, usize, u32)>,
}

impl Fused {
    /// A pipeline whose arguments stand for arguments of the launches.
    pub fn new(pipeline: Arc<dyn Pipeline>, arguments: Vec<(u32, usize, u32)>) -> Self {
        Fused { pipeline, arguments }
    }
}

/// Fuses chains of kernels; gives the nodes that are left and the orders between them. `grids`: those set for
/// nodes of the graph.
pub(crate) fn fuse_kernels(
    table: &Table,
    nodes: &[PlanNode],
    edges: &[(u32, u32)],
    grids: &[Option<Grid>],
) -> (Vec<PlanNode>, Vec<(u32, u32)>) {
    let mut merger = Merger::new(table, nodes.to_vec(), edges.to_vec());
    let mut paths = Paths::of(&merger);
    for first in 0..nodes.len() {
        let Some(chain) = Chain::from(&merger, &paths, first, grids) else { continue };
        if let Some(node) = chain.fused(table) {
            let others = chain.members[1..].to_vec();
            merger.replace(first, &others, node);
            paths = Paths::of(&merger);
        }
    }
    merger.finish()
}

/// The orders of a merger's nodes.
struct Paths {
    order: Order,
    reach: Reachability,
}

impl Paths {
    fn of(merger: &Merger<'_>) -> Self {
        let order = Order::new(merger.len(), merger.edges());
        let reach = order.reachability();
        Paths { order, reach }
    }
}

/// A node that can be fused, its grid being the one that counts.
fn launch_of<'n>(node: &'n PlanNode, grids: &[Option<Grid>]) -> Option<(&'n KernelWork, Grid)> {
    let NodeWork::Kernel(kernel) = &node.node.work else { return None };
    let set = node.origin.first().and_then(|&node| grids.get(node as usize).copied().flatten());
    let grid = set.unwrap_or(kernel.grid);
    (kernel.fuser.is_some() && kernel.threadgroup_memory.is_empty()).then_some((kernel, grid))
}

/// The threads of a grid; `None`: there are too many to be launched.
fn threads_of(grid: Grid, group_size: [u32; 3]) -> Option<[u32; 3]> {
    match grid {
        Grid::Threads(threads) => Some(threads),
        Grid::Threadgroups([x, y, z]) => Some([
            x.checked_mul(group_size[0])?,
            y.checked_mul(group_size[1])?,
            z.checked_mul(group_size[2])?,
        ]),
    }
}

/// Nodes that one launch can stand for, in order.
struct Chain<'m> {
    merger: &'m Merger<'m>,
    grid: Grid,
    members: Vec<usize>,
}

impl<'m> Chain<'m> {
    /// The longest that begins with a node, if it has more than one. There is none if an earlier chain has
    /// the node.
    fn from(merger: &'m Merger<'m>, paths: &Paths, first: usize, grids: &[Option<Grid>]) -> Option<Self> {
        let (kernel, grid) = launch_of(merger.node(first)?, grids)?;
        let fills_device = kernel.fuser.as_ref()?.fills_device(grid.threadgroup_count(kernel.group_size));
        let mut chain = Chain { merger, grid, members: vec![first] };
        while chain.members.len() < MAX_LAUNCHES {
            let next = chain.members.iter().flat_map(|&member| paths.order.after[member].iter().copied());
            let mut next: Vec<usize> = next.filter(|node| !chain.members.contains(node)).collect();
            next.sort_unstable();
            next.dedup();
            let taken = next.into_iter().find(|&node| {
                let launch = merger.node(node).and_then(|node| launch_of(node, grids));
                let fits =
                    launch.is_some_and(|(next, at)| at == grid && next.group_size == kernel.group_size);
                // An independent branch runs at the same time where there is room for it.
                let is_of_path = chain.members.last().is_some_and(|&last| paths.reach.contains(last, node));
                fits && (is_of_path || fills_device)
                    && chain.is_followed_by(node, &paths.reach)
                    && chain.is_proved_with(node)
            });
            match taken {
                Some(node) => chain.members.push(node),
                None => break,
            }
        }
        (chain.members.len() > 1).then_some(chain)
    }

    /// Whether nothing must run between the chain and a node.
    fn is_followed_by(&self, node: usize, reach: &Reachability) -> bool {
        let is_behind = |other| self.members.iter().any(|&member| reach.contains(member, other));
        let between =
            |other| !self.members.contains(&other) && reach.contains(other, node) && is_behind(other);
        !(0..self.merger.len()).any(between)
    }

    fn kernels(&self, members: &[usize]) -> Vec<&'m KernelWork> {
        let merger = self.merger;
        let kernel = |&member: &usize| match &merger.node(member)?.node.work {
            NodeWork::Kernel(kernel) => Some(kernel),
            _ => None,
        };
        members.iter().filter_map(kernel).collect()
    }

    fn is_proved_with(&self, node: usize) -> bool {
        let members: Vec<usize> = self.members.iter().copied().chain([node]).collect();
        let launches = self.launches(&members);
        launches.is_some_and(|launches| launches[0].fuser.refusal(&launches).is_none())
    }

    /// As the fuser takes them; `None` if arguments share bytes in part that one of them may write.
    fn launches(&self, members: &[usize]) -> Option<Vec<Launch<'m>>> {
        // By number: where it is, and whether it is written.
        let mut known: Vec<(Option<ByteRange>, bool)> = Vec::new();
        let mut launches = Vec::new();
        for kernel in self.kernels(members) {
            let (mut places, mut bytes) = (Vec::new(), Vec::new());
            for (index, bound) in &kernel.bindings {
                let place = match bound {
                    Bound::Range(range) => Some(self.merger.table().place(*range)),
                    Bound::Bytes(_) | Bound::Parameter(_) => None,
                    Bound::Unbound => continue,
                };
                let writes = writes(kernel, *index);
                let same = known.iter().position(|(known, _)| place.is_some() && *known == place);
                let number = same.unwrap_or_else(|| {
                    known.push((place, false));
                    known.len() - 1
                });
                known[number].1 |= writes;
                places.push((*index, number as u32));
                if let Bound::Bytes(inline) = bound {
                    bytes.push((*index, inline.as_slice()));
                }
            }
            let (fuser, group_size) = (&**kernel.fuser.as_ref()?, kernel.group_size);
            let threads = threads_of(self.grid, group_size)?;
            launches.push(Launch { fuser, places, bytes, threads, group_size });
        }
        let in_part = |(number, (place, written)): (usize, &(Option<ByteRange>, bool))| {
            known[..number].iter().any(|(other, other_written)| {
                let overlap = place.zip(*other).is_some_and(|(place, other)| place.overlaps(&other));
                overlap && (*written || *other_written)
            })
        };
        (!known.iter().enumerate().any(in_part)).then_some(launches)
    }

    /// One node for all.
    fn fused(&self, table: &Table) -> Option<PlanNode> {
        let launches = self.launches(&self.members)?;
        let Fused { pipeline, arguments } = launches[0].fuser.fuse(&launches).ok()?;
        let kernels = self.kernels(&self.members);
        let first = *kernels.first()?;
        let threads = first.group_size.iter().try_fold(1u32, |product, &size| product.checked_mul(size))?;
        if threads > pipeline.kernel().max_threads_per_threadgroup {
            return None;
        }
        let mut bindings = Vec::with_capacity(arguments.len());
        for (index, launch, of_launch) in arguments {
            let bound = kernels.get(launch)?.bindings.iter().find(|(index, _)| *index == of_launch);
            bindings.push((index, bound.map_or(Bound::Unbound, |(_, bound)| bound.clone())));
        }
        let members: Vec<&PlanNode> =
            self.members.iter().filter_map(|&node| self.merger.node(node)).collect();
        let names: Vec<&str> = members.iter().map(|member| member.node.name.as_str()).collect();
        let mut accesses: Vec<Access> =
            members.iter().flat_map(|member| &member.node.accesses).copied().collect();
        accesses.sort_by_key(|access| (table.place(access.bytes), access.writes));
        accesses.dedup();
        let work = KernelWork { pipeline, bindings, fuser: None, grid: self.grid, ..first.clone() };
        let node = Node { name: names.join(" + "), work: NodeWork::Kernel(work), accesses };
        Some(PlanNode { node, origin: members.iter().flat_map(|member| &member.origin).copied().collect() })
    }
}

/// Whether the kernel may write the argument.
fn writes(kernel: &KernelWork, index: u32) -> bool {
    let argument = kernel.pipeline.kernel().argument(ArgumentKind::Buffer, index);
    argument.is_none_or(|argument| argument.access != KernelAccess::Read)
}
