//! Graphs: work that is described once, checked, planned, and run many times with changed arguments.
//!
//! 1. A [`GraphBuilder`] collects [`node`]s (kernels, copies, fills, host callbacks, conditionals, inlined
//!    sub-graphs) over [`resource`]s, and the edges between them.
//! 2. [`GraphBuilder::build`] checks it: no cycle, and no two nodes that touch the same bytes, one of them
//!    writing, without an order between them.
//! 3. [`Plan`] orders the nodes into the fewest passes (encoders) and the fewest barriers inside them, after
//!    merging contiguous copies and fills and fusing kernels ([`PlanOptions`]). It prints as text and as
//!    a picture.
//! 4. An [`Executable`] lowers the plan to commands of a device and runs it again and again, on one stream or
//!    spread over several.
//!
//! Invariant: running an executable has the same effect on every byte as running the nodes one after the
//! other in any order that the edges allow. That is why a graph with an unordered hazard is refused: its
//! orders would differ.
//!
//! Chains of elementwise kernels become one launch only where a node brings a [`fuse::Fuser`] along: that
//! each thread reads no element that another thread of the same launch writes is known above, where the
//! kernels are.

mod builder;
mod encodings;
mod error;
mod executable;
pub mod fuse;
pub mod node;
mod order;
mod partition;
mod plan;
pub mod resource;
mod svg;
mod transform;

pub use builder::{Graph, GraphBuilder, Inlined};
pub use error::{GraphError, Hazard};
pub use executable::Executable;
pub use plan::{Pass, PassKind, Plan, PlanOptions, Stage};
