//! Running a planned graph, again and again.
//!
//! Owns [`Executable`]. Invariant: the buffers that are set never make a hazard that the graph's edges do not
//! order: setting is refused as a whole otherwise. When resources begin or cease to share bytes the plan is
//! made anew; else setting a buffer costs a look at the resources only. What a device has encoded is what the
//! present arguments say.

mod arguments;
mod command;
mod run;
#[cfg(all(test, not(loom)))]
mod tests;

use anymetal_hal::command::Grid;

use crate::graph::builder::Graph;
use crate::graph::encodings::Encodings;
use crate::graph::error::GraphError;
use crate::graph::node::{CheckedBranch, NodeWork};
use crate::graph::plan::{Plan, PlanOptions};
use crate::graph::resource::Table;

/// A planned graph with its arguments.
#[derive(Debug)]
pub struct Executable {
    graph: Graph,
    options: PlanOptions,
    table: Table,
    aliased: bool,
    plan: Plan,
    /// Grids that replace those of the graph's kernels, by the graph's node numbers.
    grids: Vec<Option<Grid>>,
    /// Whether a grid was set of a kernel that was fused.
    regrouped: bool,
    /// The branches of conditional nodes, by the graph's node numbers.
    branches: Vec<[Option<Box<Executable>>; 2]>,
    /// Anew whenever an argument changes.
    encodings: Encodings,
}

impl Executable {
    /// Plans a graph and makes it ready to run once its parameters are set.
    pub fn new(graph: &Graph, options: PlanOptions) -> Result<Self, GraphError> {
        let data = &graph.data;
        let branches = data.nodes.iter().map(|node| match &node.work {
            NodeWork::Conditional(conditional) => {
                let [then, otherwise] = &conditional.branches;
                Ok([Self::of_branch(then.as_ref(), options)?, Self::of_branch(otherwise.as_ref(), options)?])
            }
            NodeWork::Kernel(_) | NodeWork::Copy { .. } | NodeWork::Fill { .. } | NodeWork::Host(_) => {
                Ok([None, None])
            }
        });
        let branches = branches.collect::<Result<Vec<_>, GraphError>>()?;
        let mut executable = Executable {
            graph: graph.clone(),
            options,
            table: data.table.clone(),
            aliased: data.table.has_aliases(),
            plan: Plan::new(graph, options),
            grids: vec![None; data.nodes.len()],
            regrouped: false,
            branches,
            encodings: Encodings::default(),
        };
        executable.set_branches()?;
        Ok(executable)
    }

    fn of_branch(
        branch: Option<&CheckedBranch>,
        options: PlanOptions,
    ) -> Result<Option<Box<Self>>, GraphError> {
        branch.map(|branch| Executable::new(&branch.graph, options).map(Box::new)).transpose()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
