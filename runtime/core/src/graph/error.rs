//! Why a graph was refused or failed.
//!
//! Owns [`GraphError`] and [`Hazard`]. Invariant: nodes and resources are named as the user named them.

use std::fmt;

use anymetal_hal::error::{DeviceError, ErrorClass};

use crate::submission::ExecError;

/// Two nodes that touch the same bytes, one of them writing, without an order between them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hazard {
    /// The node that was added first.
    pub first: String,
    /// The other.
    pub second: String,
    /// The resource, as the first node names it.
    pub resource: String,
    /// The first byte of that resource that both touch.
    pub offset: u64,
    /// How many bytes both touch.
    pub length: u64,
    /// Whether both write.
    pub both_write: bool,
}

impl fmt::Display for Hazard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hazard { first, second, resource, offset, length, .. } = self;
        let what = if self.both_write { "both write" } else { "one writes and one reads" };
        let end = offset.saturating_add(*length);
        write!(formatter, "`{first}` and `{second}`: {what} bytes {offset}..{end} of `{resource}`")
    }
}

/// Why a graph was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The edges lead back to where they began.
    #[error("the graph `{graph}` has a cycle: {}", describe_path(path))]
    Cycle {
        /// The graph.
        graph: String,
        /// The nodes on the cycle, in order; the last leads back to the first.
        path: Vec<String>,
    },
    /// Nodes that touch the same bytes have no order.
    #[error("the graph `{graph}` has nodes that need an order: {}; add an edge", describe_hazards(hazards))]
    Hazards {
        /// The graph.
        graph: String,
        /// All of them.
        hazards: Vec<Hazard>,
    },
    /// Two nodes, or two resources, of one name.
    #[error("the graph `{graph}` already has a {what} `{name}`")]
    DuplicateName {
        /// The graph.
        graph: String,
        /// "node" or "resource".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A node or resource of another graph.
    #[error("a {what} of another graph was used in `{graph}`")]
    OfAnotherGraph {
        /// The graph.
        graph: String,
        /// "node" or "resource".
        what: &'static str,
    },
    /// A range beyond its resource.
    #[error("node `{node}`: bytes {offset}..{} are not within `{resource}` of {available} bytes", offset.saturating_add(*length))]
    RangeOutside {
        /// The node.
        node: String,
        /// The resource.
        resource: String,
        /// The first byte.
        offset: u64,
        /// How many.
        length: u64,
        /// The resource's bytes.
        available: u64,
    },
    /// The two sides of a copy differ in length.
    #[error("node `{node}` copies {source_len} bytes to {destination_len}; give both the same length")]
    CopyLengths {
        /// The node.
        node: String,
        /// The source's bytes.
        source_len: u64,
        /// The destination's bytes.
        destination_len: u64,
    },
    /// A parameter that has no buffer yet.
    #[error("the parameter `{parameter}` has no buffer; set it before the graph runs")]
    Unset {
        /// The parameter.
        parameter: String,
    },
    /// An argument of the wrong length.
    #[error("the parameter `{parameter}` takes {expected} bytes, not {got}")]
    WrongLength {
        /// The parameter.
        parameter: String,
        /// Its bytes.
        expected: u64,
        /// The bytes given.
        got: u64,
    },
    /// Something set that the graph fixed when it was built.
    #[error("`{name}` is not a {what} of the graph and cannot be changed")]
    NotAParameter {
        /// Its name.
        name: String,
        /// "buffer parameter", "bytes parameter" or "kernel node".
        what: &'static str,
    },
    /// A host callback touched what its node does not declare.
    #[error("the host node `{node}` touched `{resource}` without declaring that it {verb} it")]
    Undeclared {
        /// The node.
        node: String,
        /// The resource.
        resource: String,
        /// "reads" or "writes".
        verb: &'static str,
    },
    /// A host callback gave up.
    #[error("the host node `{node}` failed: {message}")]
    HostFailed {
        /// The node.
        node: String,
        /// Why.
        message: String,
    },
    /// A graph with host nodes cannot be handed to a queue as a whole.
    #[error("the graph `{graph}` has the host node `{node}`, so it cannot be submitted at once; use `run`")]
    NeedsHost {
        /// The graph.
        graph: String,
        /// The first of its host nodes.
        node: String,
    },
    /// Streams to spread the graph over, but none was given.
    #[error("the graph `{graph}` was given no stream")]
    NoStream {
        /// The graph.
        graph: String,
    },
    /// The stream refused, or the work ended without a result.
    #[error(transparent)]
    Exec(Box<ExecError>),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl GraphError {
    /// The class, by which policies decide.
    pub fn class(&self) -> ErrorClass {
        match self {
            GraphError::Device(error) => error.class(),
            GraphError::Exec(error) => error.class(),
            GraphError::Cycle { .. }
            | GraphError::Hazards { .. }
            | GraphError::DuplicateName { .. }
            | GraphError::OfAnotherGraph { .. }
            | GraphError::RangeOutside { .. }
            | GraphError::CopyLengths { .. }
            | GraphError::Unset { .. }
            | GraphError::WrongLength { .. }
            | GraphError::NotAParameter { .. }
            | GraphError::Undeclared { .. }
            | GraphError::HostFailed { .. }
            | GraphError::NoStream { .. }
            | GraphError::NeedsHost { .. } => ErrorClass::Caller,
        }
    }
}

impl From<ExecError> for GraphError {
    fn from(error: ExecError) -> Self {
        GraphError::Exec(Box::new(error))
    }
}

fn describe_path(path: &[String]) -> String {
    let closed = path.iter().chain(path.first());
    closed.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" -> ")
}

fn describe_hazards(hazards: &[Hazard]) -> String {
    hazards.iter().map(Hazard::to_string).collect::<Vec<_>>().join("; ")
}
